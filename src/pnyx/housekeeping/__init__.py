"""Auxiliary commands: demo, doctor, validate, convert, store, prompt, repeat."""
