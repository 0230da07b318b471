"""The judgement store: every reply of a language model, kept."""
