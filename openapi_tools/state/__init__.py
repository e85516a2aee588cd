"""State that processes share, and files that do not pass through the model."""
