"""Pages of two runs, and how `pnyx view` reads indexes and runs."""
