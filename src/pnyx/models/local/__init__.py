"""Language models on this machine, each in its own process."""
