"""Check a model's input against its schema, and describe its faults."""
