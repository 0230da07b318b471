"""JSON documents of Pnyx without results to show, and a description of each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from pnyx.core.errors import escaped

LISTED: Final = "docs/recipes/viewing.md lists them"
_OUT: Final = "give the file of --out"

_BY_FORMAT: Final = {
    "pnyx-annotations": ("the manifest of annotations", "give the file that it is next to"),
    "pnyx-formats": (
        "the summary of pnyx audit run --judge-format",
        "give its folder, which has the trials",
    ),
    "pnyx-results": ("the manifest of a run", "give the folder of the run"),
    "pnyx-sample": ("the record of pnyx label sample", "give its folder"),
}
"""`format` of a document -> what it is, and what to give instead."""

_BY_FIELDS: Final = (
    ("sources runs topics scored asked", "what pnyx view --json prints", LISTED),
    ("check judges decision", "what pnyx check writes", "pnyx check --html writes its page"),
    ("card margin worse figures", "what pnyx audit card --against prints", "give the cards"),
    ("measure options best cross_validation", "what pnyx search tune prints", LISTED),
    ("dependencies environment will_use", "what pnyx doctor prints", LISTED),
    ("record same files", "what pnyx files repeat prints", LISTED),
    ("file format ok faults", "what pnyx files validate prints", LISTED),
    ("models questions", "a plan (--plan)", LISTED),
    ("prompt prompt_hash messages", "what pnyx prompt prints", LISTED),
    ("out banks nuggets", "what pnyx nuggets create prints", _OUT),
    ("out given left apart", "what pnyx nuggets merge prints", _OUT),
    ("index reports", "what pnyx report prints", _OUT),
    ("index documents", "what pnyx index prints", "give the index"),
)
"""Fields of a document without a `format`, what it is, and what to give; the first that fits."""


def other_document(document: Mapping[str, Any]) -> str:
    """Return what a document without results is, and what to give; empty if not written by Pnyx."""
    named = _BY_FORMAT.get(str(document.get("format")))
    fits = (how for fields, *how in _BY_FIELDS if {*fields.split()} <= document.keys())
    what, advice = named or next(fits, ("", ""))
    return what and f"{what}, expected results: {advice}"


def unknown_file(problem: str, document: Mapping[str, Any] | None) -> str:
    """Return the message about a file whose format is not recognised, given the reason."""
    if document is not None:
        fields = ", ".join(escaped(name, 30) for name in list(document)[:8]) or "none"
        return f"found a JSON object with the fields {fields}, expected results: {LISTED}"
    return problem.replace(": name it", f", expected results: {LISTED}")
