"""Language models on this machine, in a process of their own."""
