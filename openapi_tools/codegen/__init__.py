"""Generating: from tools to files that a team commits, reviews and ships."""
