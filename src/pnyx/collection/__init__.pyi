"""The public names of this room, each with its home."""

from .argue_documents import argue
from .documents import Collection, open  # noqa: A004

__all__ = ["Collection", "argue", "open"]
