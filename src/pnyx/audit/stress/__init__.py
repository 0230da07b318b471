"""Trials of a judge: items changed in ways whose effect on a good verdict is known."""
