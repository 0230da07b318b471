"""From a query to a ranking: scoring models, fusion, diversity, reranking."""
