"""Adapters for coordinators: one module each, which needs its extra."""
