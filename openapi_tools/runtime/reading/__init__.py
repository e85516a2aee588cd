"""What an answer says, by media type, cut to what a model can take."""
