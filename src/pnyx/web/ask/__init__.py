"""Pages to search an index and argue from it."""
