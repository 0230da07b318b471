"""`pnyx view`: a catalogue of results, pages made of it for a server and for files alike."""
