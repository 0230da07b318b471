"""Features of documents: vectors, clusters, topics."""
