"""Topics, runs and relevance judgments of TREC."""
