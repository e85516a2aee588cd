"""Read answers by media type, cut to what a model can take."""
