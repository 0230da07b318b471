"""Measures of judges: how far each can be trusted; see docs/architecture.md."""
