"""Several judges combined into one: panels, cascades, votes."""
