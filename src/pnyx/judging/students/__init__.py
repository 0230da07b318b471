"""Judges in the package: small models that a person can run anywhere."""
