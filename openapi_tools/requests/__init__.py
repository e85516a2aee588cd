"""Build requests: URLs, parameter styles, bodies."""
