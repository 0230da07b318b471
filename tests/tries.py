"""What `make test` tries of many cases, and how often it tries a property.

It tries a fifth of the examples of a property; `make test-all` tries all of them.
"""

from __future__ import annotations

import os
from collections.abc import Container, Iterable
from typing import Any

import pytest

ALL = os.environ.get("PNYX_TRIES") == "all"


def tries(examples: int) -> int:
    """Return how many of a property's examples this run tries."""
    return examples if ALL else max(5, examples // 5)


def quick_cases(cases: Iterable[Any], quick: Container[Any]) -> list[Any]:
    """Return the cases of a test; those that are not `quick` are left to `make test-all`."""
    return [pytest.param(case, marks=() if case in quick else pytest.mark.all) for case in cases]
