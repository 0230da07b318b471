"""Retrieval-augmented generation: groundedness, answers, contexts."""
