"""Measures of perspectives: coverage, leaning, multi-answer recall."""
