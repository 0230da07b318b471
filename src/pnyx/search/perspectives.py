"""The perspectives on a question, and a search for each of them (BERDS, section 5)."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, Protocol, TypeAlias

from pnyx.core.errors import InputError, shorten
from pnyx.core.records import Perspective, Question, Stance
from pnyx.formats.text.words import folded, words_of
from pnyx.models.http.flow import run_all, run_blocking
from pnyx.search.engine import Hit
from pnyx.search.plan import PERSPECTIVES, check_least

if TYPE_CHECKING:
    from pnyx.judging.store.completions import StoredModel

_MAX_STATEMENT = 1000
_STATEMENT = re.compile(r"\w+\W+\w+\W+\w+|\w{8}")
"""Minimum length: three words, or as much in a script without spaces; "yes" is too short."""

Search: TypeAlias = Callable[[str, int], Sequence[Hit]]
"""A search function: (text, k) -> the best k, best first."""


@dataclass(frozen=True, slots=True)
class PerspectiveSet:
    """The perspectives on one question; `failed` if the source gave no usable answer."""

    perspectives: tuple[Perspective, ...]
    source: str
    problems: tuple[str, ...] = ()
    failed: bool = False


class PerspectiveSource(Protocol):
    """A source of perspectives on questions: a language model, a file, an index."""

    @property
    def name(self) -> str:
        """Short, for people."""

    def find(self, questions: Sequence[Question]) -> list[PerspectiveSet]:
        """Return the perspectives on each question, in order."""


def perspectives_of(question: Question, source: PerspectiveSource) -> PerspectiveSet:
    """Return the perspectives on one question; `source.find` takes many at once.

    Raises InputError if the question has no words, or the source cannot be used.
    """
    if not re.search(r"\w", question.text):
        raise InputError("the question is empty, expected words")
    return source.find([question])[0]


def distinct(perspectives: Sequence[Perspective]) -> list[Perspective]:
    """Remove each perspective with the same words as an earlier one."""
    seen: dict[tuple[str, ...], Perspective] = {}
    for perspective in perspectives:
        seen.setdefault(words_of(perspective.text), perspective)
    return list(seen.values())


class LlmPerspectives:
    """Asks a language model; a reply that cannot be read gets one repair turn.

    Asks for `count` perspectives, 1 to 50, by the prompt `perspectives` (each with its side) or,
    for open questions, `perspectives-open`. Earlier answers are reused. Raises
    InputError for a `count` out of range, or a prompt for another task.
    """

    def __init__(
        self, model: StoredModel, *, count: int = PERSPECTIVES, prompt: str = "perspectives"
    ) -> None:
        from pnyx.judging.llm.prompts import load_prompt

        if not 1 <= count <= 50:
            raise InputError(f"the number of perspectives is {count}, expected 1 to 50")
        self.model = model
        self.count = count
        self.prompt = load_prompt(prompt)
        if self.prompt.task != "perspectives":
            raise InputError(
                f"prompt {self.prompt.label} asks {self.prompt.task}, not perspectives"
            )
        self._sided = self.prompt.name != "perspectives-open"

    @property
    def name(self) -> str:
        """The model's name and the prompt's."""
        return f"{self.model.name} ({self.prompt.label})"

    def find(self, questions: Sequence[Question]) -> list[PerspectiveSet]:
        """See `PerspectiveSource`; several questions are asked concurrently."""
        results: dict[int, PerspectiveSet] = {}

        async def work(item: tuple[int, Question]) -> None:
            results[item[0]] = await self._find(item[1])

        async def all_() -> None:
            async with self.model.running():
                await run_all(enumerate(questions), work, workers=self.model.concurrency)

        run_blocking(all_)
        return [results[position] for position in range(len(questions))]

    async def _find(self, question: Question) -> PerspectiveSet:
        from pnyx.judging.llm.structured_replies import ask_structured

        inputs = {"question": question.text, "count": str(self.count)}
        request = self.prompt.request(inputs, items=self.count)
        reply, problems = await ask_structured(self.model, request, _reply_model(self._sided))
        if reply is None:
            fault = f"{shorten(self.model.name, 40)} gave no perspectives: {problems[-1]}"
            return PerspectiveSet((), self.name, (fault,), failed=True)
        listed = [
            Perspective(
                f"{question.id}-p{number}",
                question.id,
                " ".join(item.statement.split()),
                item.side if self._sided else None,
                {"origin": self.name},
            )
            for number, item in enumerate(reply.perspectives, start=1)
        ]
        perspectives = distinct(listed)
        if len(perspectives) < len(listed):
            repeated = len(listed) - len(perspectives)
            problems.append(f"{repeated} of {len(listed)} repeat another, left out")
        if len(perspectives) > self.count:
            problems.append(f"{len(perspectives) - self.count} more than asked for, left out")
            perspectives = perspectives[: self.count]
        sides: set[Stance | None] = {p.stance for p in perspectives}
        if self._sided and not {"pro", "con"} <= sides:
            problems.append("they do not cover both sides")
        return PerspectiveSet(tuple(perspectives), self.name, tuple(problems))


def _statement(text: str) -> str:
    if len(text) > _MAX_STATEMENT or not _STATEMENT.search(text):
        raise ValueError(f"expected a full sentence of at most {_MAX_STATEMENT} characters")
    return text


@cache
def _reply_model(sided: bool) -> Any:
    """Build the reply's schema on first use: pydantic is slow to import."""
    import pydantic

    strict = pydantic.ConfigDict(strict=True, extra="forbid", frozen=True)
    words = pydantic.AfterValidator(_statement)
    fields: dict[str, Any] = {"statement": (Annotated[str, words], ...)}
    if sided:
        fields["side"] = (Literal["pro", "con", "neutral"], ...)
    item: Any = pydantic.create_model("Item", __config__=strict, **fields)
    some = pydantic.Field(min_length=1)
    return pydantic.create_model("Reply", __config__=strict, perspectives=(list[item], some))


class FilePerspectives:
    """Takes up to `count` perspectives per question from a file, by its id or text.

    A file on a single question is used for any question. Raises InputError for a file that
    cannot be read, and `find` for a question without any.
    """

    def __init__(self, path: str | Path, *, count: int | None = None) -> None:
        from pnyx.formats.perspectives import read_perspectives

        self._path = str(path)
        self._count = count
        self._by_id: dict[str, list[Perspective]] = {}
        self._ids: dict[str, str] = {}
        for perspective in read_perspectives(path):
            self._by_id.setdefault(perspective.question_id, []).append(perspective)
            if text := str(perspective.extra.get("question", "")):
                self._ids.setdefault(folded(text), perspective.question_id)

    @property
    def name(self) -> str:
        """The file's name."""
        return "standard input" if self._path == "-" else Path(self._path).name

    def find(self, questions: Sequence[Question]) -> list[PerspectiveSet]:
        """See `PerspectiveSource`."""
        return [self._find(question) for question in questions]

    def _find(self, question: Question) -> PerspectiveSet:
        key = question.id
        if key not in self._by_id:
            key = self._ids.get(folded(question.text), key)
        if key not in self._by_id and len(self._by_id) == 1:
            (key,) = self._by_id
        if key not in self._by_id:
            problem = f"holds perspectives on {len(self._by_id)} questions"
            wanted = f"{shorten(question.text, 60)!r} (id {shorten(question.id, 40)!r})"
            raise InputError(f"{problem}, expected some on {wanted}", path=self._path)
        perspectives = distinct(self._by_id[key])[: self._count]
        named = (replace(p, extra={**p.extra, "origin": self.name}) for p in perspectives)
        return PerspectiveSet(tuple(named), self.name)


class PerspectiveHit(NamedTuple):
    """A document in the merged list: its perspective, and ids of all that found it."""

    hit: Hit
    perspective: Perspective
    found_by: tuple[str, ...]


def query_for(question: Question, perspective: Perspective) -> str:
    """Return the query for a perspective: the question and the perspective, as in BERDS."""
    return f"{question.text} {perspective.text}"


def search_perspectives(
    search: Search, question: Question, perspectives: Sequence[Perspective], k: int
) -> list[PerspectiveHit]:
    """Retrieve for each perspective and merge in turns (BERDS, section 5).

    `search` is any, e.g. `lambda text, k: index.search(text, "bm25", k)`; it gets the question with
    the perspective. The order of the perspectives, at least one, decides within a round. For each,
    the `k` best (at least 1) are used. Raises InputError for no perspectives, or `k` out of
    range.
    """
    if not perspectives:
        raise InputError("there are no perspectives to search for")
    rankings = [search(query_for(question, perspective), k) for perspective in perspectives]
    return merge_perspectives(rankings, perspectives, k)


def merge_perspectives(
    rankings: Sequence[Sequence[Hit]], perspectives: Sequence[Perspective], k: int
) -> list[PerspectiveHit]:
    """Merge the hits of each perspective in turns; see `search_perspectives`."""
    check_least("k", k, 1)
    owner: dict[str, Perspective] = {}
    found_by: dict[str, list[str]] = {}
    for ranking, perspective in zip(rankings, perspectives, strict=True):
        for hit in ranking[:k]:
            found_by.setdefault(hit.doc_id, []).append(perspective.id)
    for depth in range(k):  # taken for the first perspective that names it in the earliest round
        for ranking, perspective in zip(rankings, perspectives, strict=True):
            if depth < len(ranking):
                owner.setdefault(ranking[depth].doc_id, perspective)
    return [
        PerspectiveHit(Hit(doc_id, rank, 1.0 / rank), owner[doc_id], tuple(found_by[doc_id]))
        for rank, doc_id in enumerate(list(owner)[:k], start=1)
    ]
