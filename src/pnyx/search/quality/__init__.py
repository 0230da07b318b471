"""The model of argument quality: its features, training and files."""
