"""The prompts of `pnyx build`."""
