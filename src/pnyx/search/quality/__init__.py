"""Qualities of documents, and models of them in files."""
