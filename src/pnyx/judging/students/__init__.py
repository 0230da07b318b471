"""Packaged judges: small models that run on any computer."""
