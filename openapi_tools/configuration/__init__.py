"""The configuration file of an API, and the shapes that it gives tools."""
