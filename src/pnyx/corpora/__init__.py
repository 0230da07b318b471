"""corpora: see docs/architecture.md."""
