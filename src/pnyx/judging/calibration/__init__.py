"""Calibrated probabilities, and regions in which answers are confident."""
