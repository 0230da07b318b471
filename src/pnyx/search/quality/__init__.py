"""Argument quality of indexed documents."""
