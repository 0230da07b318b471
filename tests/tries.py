"""How often a property is tried: `make test` tries a fifth of its examples, `make test-all` all."""

from __future__ import annotations

import os

ALL = os.environ.get("PNYX_TRIES") == "all"


def tries(examples: int) -> int:
    """Return how many of a property's examples this run tries."""
    return examples if ALL else max(5, examples // 5)
