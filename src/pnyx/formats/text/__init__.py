"""Text: encodings, tokens, sentences, passages, pages."""
