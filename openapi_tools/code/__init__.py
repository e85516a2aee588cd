"""Programs that call tools, in a sandbox."""
