"""Judges and packaged models in Ray workers: `--engine ray` (docs/recipes/many-machines.md)."""
