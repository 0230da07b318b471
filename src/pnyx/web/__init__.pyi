"""The public names of this room, each with its home."""

from .application import build_app
from .rendering import Links, render
from .server import run_app

__all__ = [
    "Links",
    "build_app",
    "render",
    "run_app",
]
