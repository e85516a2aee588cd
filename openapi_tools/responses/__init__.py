"""Results from responses: content by media type, cut to what a model can read."""
