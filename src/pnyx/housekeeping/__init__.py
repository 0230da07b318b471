"""Auxiliary commands: demo, doctor, files, store, prompt."""
