"""models: see docs/architecture.md."""
