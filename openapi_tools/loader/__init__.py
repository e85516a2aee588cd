"""Build time: from a document to operations."""
