"""What changed for the tools between two versions, and the lock of accepted tools."""
