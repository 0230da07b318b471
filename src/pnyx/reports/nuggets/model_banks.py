"""Nugget banks drafted from relevant documents by a language model.

It reads passages in windows, with the list so far in each prompt, then rates importance in batches:
Pradeep et al., The Great Nugget Recall (2025), with our own prompts. Each reply is kept in the
judgement store, so that an interrupted run resumes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any, Literal

from pnyx.core.errors import shorten
from pnyx.core.nuggets import Nugget, NuggetBank
from pnyx.core.records import Evidence, Question, judged_text
from pnyx.formats.text.segment import trim, word_weight
from pnyx.judging.llm.concurrent import Progress, each
from pnyx.judging.llm.prompts import load_prompt
from pnyx.judging.llm.structured_replies import ask_structured
from pnyx.judging.store.completions import StoredModel
from pnyx.reports.nuggets.growth import Growing, Style, reply_shape, stated

if TYPE_CHECKING:
    from pydantic import BaseModel

WINDOW, MOST_NUGGETS, PASSAGE_WORDS = 10, 30, 400
"""Passages per call and nuggets per topic, as in nuggetizer; words of a passage that are shown."""

_RATED_AT_ONCE = 10


@dataclass(frozen=True, slots=True)
class NuggetSource:
    """A topic with its relevant documents, in the order in which they are read."""

    topic: Question
    documents: tuple[Evidence, ...] = ()


@dataclass(frozen=True, slots=True)
class DraftedBank:
    """A topic's bank, and what went wrong on the way (one line each).

    Attributes:
        failed: how many windows or lists of nuggets got no usable reply.
        calls: how many windows or lists were sent.
    """

    bank: NuggetBank
    problems: tuple[str, ...] = ()
    failed: int = 0
    calls: int = 0


def create_banks(
    sources: Sequence[NuggetSource],
    model: StoredModel,
    *,
    style: Style = "questions",
    most: int = MOST_NUGGETS,
    window: int = WINDOW,
    words: int = PASSAGE_WORDS,
    rate: bool = True,
    on_done: Progress | None = None,
) -> list[DraftedBank]:
    """Draft a nugget bank for each topic, in order.

    Args:
        sources: topics with their relevant documents.
        model: its stored replies are used again instead of asking twice.
        style: questions with answers, or claims; each is linked to the documents that attest it.
        most: maximum nuggets per topic, at least 1; nuggets found when the list is full are
            counted in `problems`.
        window: passages per call, at least 1.
        words: words of a document to show, as `corpora.text.segment.trim` counts them.
        rate: whether the model also says which nuggets are vital and which okay.
        on_done: called with each topic that is done.

    Raises:
        ModelError: the model cannot be reached.
    """

    async def work(source: NuggetSource) -> DraftedBank:
        drafted = await _draft(source, model, Growing(style, most), window, words)
        return await _rated(drafted, source.topic, model) if rate else drafted

    return each(sources, work, model, on_done, "creating")


def rate_banks(
    banks: Sequence[tuple[NuggetBank, Question]],
    model: StoredModel,
    *,
    on_done: Progress | None = None,
) -> list[DraftedBank]:
    """Let a model rate each nugget without importance as vital or okay.

    Args:
        banks: each with its topic.
        model: see `create_banks`.
        on_done: called with each bank that is done.
    """

    async def work(bank_and_question: tuple[NuggetBank, Question]) -> DraftedBank:
        return await _rated(DraftedBank(bank_and_question[0]), bank_and_question[1], model)

    return each(banks, work, model, on_done, "rating")


async def _draft(
    source: NuggetSource, model: StoredModel, growing: Growing, window: int, words: int
) -> DraftedBank:
    topic, documents = source.topic, source.documents
    prompt = load_prompt(f"nugget-{growing.style}")
    windows = [documents[i : i + window] for i in range(0, len(documents), window)]
    problems: list[str] = []
    failed = 0
    for number, some in enumerate(windows, 1):
        inputs = {
            **_about(topic),
            "documents": [_shortened(judged_text(document), words) for document in some],
            "statements": growing.shown(),
            "room": str(growing.room),
        }
        request = prompt.request(inputs, items=growing.most)
        reply, faults = await ask_structured(model, request, reply_shape(growing.style))
        if reply is None:
            failed += 1
            problems.append(f"window {number} of {len(windows)}: {faults[-1]}")
            if model.offline:
                growing.imagine(len(windows))
            continue
        problems += [f"window {number} of {len(windows)}: {fault}" for fault in faults]
        growing.fold(reply, [document.id for document in some])
    problems += _losses(source, growing, words)
    bank = NuggetBank(topic.id, growing.nuggets(), title=topic.text)
    return DraftedBank(bank, tuple(problems), failed, len(windows))


def _losses(source: NuggetSource, growing: Growing, words: int) -> list[str]:
    """Describe what was not read, and what was not added."""
    cut = sum(word_weight(judged_text(document)) > words for document in source.documents)
    losses = {
        f"of {cut} documents only the first {words} words were shown": cut,
        f"{growing.left_out} nuggets were left out: the list was full": growing.left_out,
        f"{growing.unattested} entries named no passage or no nugget that was shown": (
            growing.unattested
        ),
        "no document is relevant": not source.documents,
    }
    return [line for line, count in losses.items() if count]


def _about(topic: Question) -> dict[str, str]:
    background = "\n".join(filter(None, (topic.description, topic.narrative)))
    return {"topic": topic.text, "background": background}


def _shortened(text: str, words: int) -> str:
    return trim(text, words) if word_weight(text) > words else text


async def _rated(drafted: DraftedBank, topic: Question, model: StoredModel) -> DraftedBank:
    """Fill in missing importances; those that no reply states stay empty."""
    nuggets = list(drafted.bank.nuggets)
    todo = [index for index, nugget in enumerate(nuggets) if not nugget.importance]
    problems, failed, calls = [], 0, 0
    for start in range(0, len(todo), _RATED_AT_ONCE):
        some = todo[start : start + _RATED_AT_ONCE]
        calls += 1
        importances, faults = await _importance([nuggets[index] for index in some], topic, model)
        failed += importances is None
        problems += [f"importance: {fault}" for fault in faults]
        for index, importance in zip(some, importances or (), strict=False):
            nuggets[index] = replace(nuggets[index], importance=importance)
    return replace(
        drafted,
        bank=replace(drafted.bank, nuggets=tuple(nuggets)),
        problems=(*drafted.problems, *problems),
        failed=drafted.failed + failed,
        calls=drafted.calls + calls,
    )


async def _importance(
    nuggets: Sequence[Nugget], topic: Question, model: StoredModel
) -> tuple[list[str] | None, list[str]]:
    prompt = load_prompt("nugget-importance")
    listed = [stated(nugget.text, [answer.text for answer in nugget.answers]) for nugget in nuggets]
    inputs: dict[str, Any] = {**_about(topic), "statements": listed}
    request = prompt.request(inputs, items=len(listed))
    reply, problems = await ask_structured(model, request, importance_shape(len(listed)))
    if reply is None:
        return None, [f"{shorten(model.name, 40)}: {problems[-1]}"]
    return [getattr(reply, str(n)) for n in range(1, len(listed) + 1)], problems


@cache
def importance_shape(count: int) -> type[BaseModel]:
    """Return the schema of a reply to `nugget-importance` on `count` nuggets."""
    from pydantic import ConfigDict, create_model

    strict = ConfigDict(strict=True, extra="forbid", frozen=True)
    parts: dict[str, Any] = {str(n): (Literal["vital", "okay"], ...) for n in range(1, count + 1)}
    return create_model("Importance", __config__=strict, **parts)
