"""Pages on which people label."""
