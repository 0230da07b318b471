"""Small models of argument quality."""
