"""How users shape tools: configuration, overlays, budgets, answers, paging, long work, files."""
