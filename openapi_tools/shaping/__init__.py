"""How users shape tools: configuration, overlays, files, paging, long-running operations."""
