"""The only definition of the version number."""

__version__ = "1.0.0"
