"""`pnyx view`: pages of results, from a catalogue of them that is built once."""
