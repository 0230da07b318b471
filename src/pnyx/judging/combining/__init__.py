"""Several judges as one: panels, cascades, votes."""
