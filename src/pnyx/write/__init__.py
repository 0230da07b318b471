"""write: see docs/architecture.md."""
