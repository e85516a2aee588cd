"""Find tools: index, producers, stubs, and the tools that search and call."""
