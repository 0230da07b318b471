"""Training of students, one file a kind; `pnyx.annotate.distillation` does what is common."""
