"""Report requests: the topic, audience and maximum length of a report."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from pnyx.core.errors import InputError, shorten
from pnyx.core.records import Question
from pnyx.formats.base import strict


@dataclass(frozen=True, slots=True)
class ReportRequest:
    """A request for a report.

    Attributes:
        id: the topic's id.
        title: a line on what is wanted; the problem statement if there is no title.
        problem: what the report must answer (`problem_statement`); empty if only a title is
            given.
        background: who asks, and why (`background`, a user story).
        limit: characters (after NFKC) that the report may have; None if not specified.
        word_limit: words that it may have, likewise.
        collection_ids: where its evidence is.
    """

    id: str
    title: str
    problem: str = ""
    background: str = ""
    limit: int | None = None
    word_limit: int | None = None
    collection_ids: tuple[str, ...] = ()

    @property
    def asked(self) -> str:
        """Title and problem statement as one text."""
        parts = (self.title, "" if self.problem == self.title else self.problem)
        return "\n".join(part for part in parts if part.strip())


def request_of(question: Question) -> ReportRequest:
    """Read a question as a request; InputError: a limit is not a positive whole number."""
    collections = question.extra.get("collection_ids") or ()
    if isinstance(collections, str):
        collections = (collections,)
    if not isinstance(collections, list | tuple):
        raise InputError(
            f"{shorten(question.id, 40)!r}: collection_ids: found {shorten(collections, 40)}, "
            "expected a list of text"
        )
    return ReportRequest(
        id=question.id,
        title=question.text,
        problem=question.description,
        background=question.narrative,
        limit=_limit(question, "limit"),
        word_limit=_limit(question, "word_limit"),
        collection_ids=tuple(map(str, collections)),
    )


def _limit(question: Question, name: str) -> int | None:
    value: Any = question.extra.get(name)
    if value is None:
        return None
    if isinstance(value, int) and not isinstance(value, bool) and value > 0:
        return value
    limit_found, question_id = shorten(value, 40), shorten(question.id, 40)
    raise InputError(
        f"{question_id!r}: {name}: found {limit_found}, expected a positive whole number"
    )


def read_requests(path: str) -> Iterator[ReportRequest]:
    """Yield the requests of a file of topics; InputError with its line at the first fault."""
    from pnyx.formats.base import Options
    from pnyx.formats.recognition import find_format

    detected = find_format(path, None, "questions")
    options = Options(on_warning=partial(warnings.warn, stacklevel=2))
    for line, question in strict(detected.scan(path, options), path, "requests"):
        try:
            yield request_of(question)
        except InputError as error:
            raise InputError(error.problem, path=path, line=line) from None
