"""Tools and toolsets: what a coordinator mounts and a model calls."""
