"""`pnyx serve`: questions asked of one index, by people and by programs."""
