"""The check of a judge against people's labels."""
