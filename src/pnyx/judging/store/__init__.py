"""The store of what was asked and answered."""
