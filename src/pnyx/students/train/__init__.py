"""Training of students, one file a kind; `pnyx.annotate.distil` does what is common to all."""
