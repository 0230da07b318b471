"""Drafts: questions with opposing perspectives on their way to a benchmark (BERDS, section 4.1)."""
