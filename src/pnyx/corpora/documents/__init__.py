"""Formats of documents and arguments."""
