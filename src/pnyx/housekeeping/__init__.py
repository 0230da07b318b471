"""Commands around the work: demo, doctor, validate, convert, store, prompt, repeat."""
