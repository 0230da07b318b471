"""Documents and arguments, in the formats that people have them in."""
