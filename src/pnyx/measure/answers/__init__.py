"""Measures of a judge's answers."""
