"""A page that shows a document's tools: served on this machine, or as one file."""
