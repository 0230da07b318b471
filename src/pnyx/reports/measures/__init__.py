"""Measures of judged reports."""
