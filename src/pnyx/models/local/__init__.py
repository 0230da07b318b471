"""Language models on this machine."""
