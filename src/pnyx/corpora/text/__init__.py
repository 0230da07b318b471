"""Words, sentences and passages of a text."""
