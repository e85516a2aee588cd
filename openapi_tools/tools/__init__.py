"""Tools and toolsets, and what happens to a call."""
