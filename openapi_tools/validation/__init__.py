"""Check a model's input against its schema, and say what is wrong with it."""
