"""How an API departs from its document, learned from what was seen of it."""
