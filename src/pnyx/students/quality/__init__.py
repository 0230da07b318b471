"""The models of argument quality that are packaged, and the judge made of them."""
