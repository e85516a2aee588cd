"""Learn from recorded calls where an API departs from its document."""
