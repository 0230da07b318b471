"""Relevance annotated at scale (DIRAS): what is relevant, which pairs, whose labels."""
