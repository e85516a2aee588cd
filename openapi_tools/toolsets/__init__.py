"""Toolsets: tools by name, their pages, packages on disk, and mounting into coordinators."""
