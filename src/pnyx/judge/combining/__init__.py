"""Judges made of judges: panels, repeats, cascades."""
