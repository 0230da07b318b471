"""Recalibrated probabilities and selective answers."""
