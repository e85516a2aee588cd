"""ExAthena: a document's tools as Elixir modules."""
