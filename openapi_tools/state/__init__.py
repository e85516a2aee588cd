"""State that processes share, and files that do not pass the model."""
