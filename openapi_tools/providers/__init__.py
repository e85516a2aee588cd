"""Tool definitions for model providers: their subsets of JSON Schema, there and back."""
