"""Calibrated probabilities, and when an answer is certain."""
