"""Summaries of results in words, the same as those of `pnyx measure RESULTS`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Final

from pnyx.core.errors import InputError
from pnyx.web.results.records import SourceRow

_MOST_ANSWERS: Final = 100_000
"""Most answers of a source that is summarised: pages are made while people wait."""
_MOST_SOURCES: Final = 10
"""Sources that are summarised on one page."""


@dataclass(frozen=True, slots=True)
class SourceSummary:
    """The summary of one source, and warnings."""

    source: str
    sentences: Sequence[str]
    warnings: Sequence[str]


def summaries_of(sources: Sequence[SourceRow]) -> list[SourceSummary]:
    """Return summaries of the first results that can be summarised."""
    return list(islice(_summaries(sources), _MOST_SOURCES))


def _summaries(sources: Sequence[SourceRow]) -> Iterator[SourceSummary]:
    for source in sources:
        path = source.files.get("answers")
        if source.kind != "results" or path is None or not 0 < source.asked <= _MOST_ANSWERS:
            continue
        try:
            status = Path(path).stat()
            sentences, warnings = _sentences(path, status.st_size, status.st_mtime_ns)
        except OSError:  # removed since the results were read
            continue
        if sentences:
            yield SourceSummary(source.name, sentences, warnings)


@lru_cache(maxsize=64)
def _sentences(path: str, _size: int, _changed: int) -> tuple[Sequence[str], Sequence[str]]:
    from pnyx.display.summary import summary_lines, warning_lines
    from pnyx.judging.measures.summary import summarise_answers

    try:
        summary = summarise_answers(path)
    except InputError:  # answers without a summary; the list of sources says what is broken
        return (), ()
    return summary_lines(summary), warning_lines(summary)
