"""Published Lucene indexes as an engine: `pyserini:FOLDER_OR_NAME` (docs/recipes/lucene.md)."""
