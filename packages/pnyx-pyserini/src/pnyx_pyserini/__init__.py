"""Published Lucene indexes as an engine of Pnyx: `pyserini:FOLDER_OR_NAME` (docs/lucene.md)."""
