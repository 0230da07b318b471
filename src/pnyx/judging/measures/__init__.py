"""Measures of answers against labels."""
