"""Input schemas as providers want them, and arguments by those schemas as the tool wants them."""
