"""From a document to its tools."""
