"""view: see docs/architecture.md."""
