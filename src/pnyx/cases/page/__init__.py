"""The page of an argued case: HTML, Markdown, JSON."""
