"""Students: small judges trained on a teacher's labels (DIRAS, 3.3); a file for each kind."""
