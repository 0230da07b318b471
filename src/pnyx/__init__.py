"""Pnyx: find all sides of a contentious question, argue each with evidence, measure the trust."""

from pnyx._version import __version__

__all__ = ["__version__"]
