"""Corpora from web searches: searched, fetched and cut once, each step kept before it is used."""
