"""Tables, charts and text, for terminals, Markdown and HTML."""
