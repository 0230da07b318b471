"""What evaluation tracks ask of submissions, and whether a file obeys."""
