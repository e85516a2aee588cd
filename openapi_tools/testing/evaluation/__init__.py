"""Run a model on tasks against a judged mock, and report what it did wrong."""
