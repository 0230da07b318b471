"""Ranking: models, fusion, dense vectors, reranking, diversity."""
