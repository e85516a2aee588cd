"""Helpers that every package may use; this package imports no other."""
