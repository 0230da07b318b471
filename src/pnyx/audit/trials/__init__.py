"""Trials: what changes a judge's answers and should not."""
