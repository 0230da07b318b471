"""Rows of retrieval-augmented generation, as other tools write them."""
