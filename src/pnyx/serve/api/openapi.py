"""The description of the HTTP API (OpenAPI 3.1), made of the specs and the records' types."""

from __future__ import annotations

from typing import Any

from pnyx._version import __version__

__all__ = ["described"]


def described() -> dict[str, Any]:
    """Return the description as JSON values."""
    return {
        "openapi": "3.1.0",
        "info": {"title": "Pnyx", "version": __version__},
        "paths": {},
    }
