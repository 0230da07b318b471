"""Sentences that say on what no evidence was found: negative statements, which cite nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from pnyx.corpora import ReportRequest
from pnyx.corpora.text.segment import trim
from pnyx.records import Sentence
from pnyx.write.reports.limits import Limits

__all__ = ["of_parts", "of_request"]

_SHARE: Final = 0.25
"""How much of a report's limit the parts without evidence may take."""

_WORDS: Final = 40
_SHORT: Final = (
    "No evidence on this request was found in the collection.",
    "No evidence was found.",
)


def of_request(
    request: ReportRequest, parts: Sequence[str], limits: Limits
) -> tuple[Sentence, ...]:
    """Return what is said where there is no evidence: of the request, and of each of its parts.

    It is shorter, and at last nothing, where the limit is short.
    """
    wanted = [_stated(request.title), *_SHORT]
    whole = next((text for text in wanted if limits.fits([text])), None)
    if whole is None:
        return ()
    rest = [part for part in parts if part != request.title]
    return Sentence(whole), *_fitting(rest, limits.left([whole]))


def of_parts(parts: Sequence[str], limits: Limits) -> tuple[Sentence, ...]:
    """Return what is said of parts without evidence, in a part of the limit."""
    return _fitting(parts, limits.share(_SHARE))


def _fitting(parts: Sequence[str], limits: Limits) -> tuple[Sentence, ...]:
    kept: list[str] = []
    for part in map(_stated, parts):
        if limits.fits([*kept, part]):
            kept.append(part)
    return tuple(map(Sentence, kept))


def _stated(asked: str) -> str:
    line = trim(" ".join(asked.replace('"', "'").split()), _WORDS)
    return f'No evidence was found in the collection on "{line}".'
