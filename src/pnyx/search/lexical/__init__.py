"""The lexical engine: index files, postings, scoring."""
