"""Call time: all that a tool needs once its document has been read."""
