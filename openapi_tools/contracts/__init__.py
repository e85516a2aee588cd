"""Tools for each coordinator: one module for each, which needs its extra."""
