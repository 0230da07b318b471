"""Measures of runs against perspectives (BERDS)."""
