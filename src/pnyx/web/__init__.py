"""Corpora from the web: search APIs, pages fetched within limits, their text, what is kept of it.

Nothing here is trusted: neither the addresses that a search returns, nor where they lead, nor what
they send (`docs/decisions/web-corpus.md`).
"""
