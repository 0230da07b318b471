"""Drafts of questions with opposing perspectives, by a language model and, for claims, by rule.

BERDS (Chen and Choi), section 4.1 and Appendix B.1, with prompts of our own wording. Its second
step, from the question to a statement and its negation, is part of the same call here
(docs/decisions/building-perspectives.md).
"""

from __future__ import annotations

import contextlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

from pnyx.corpora.draft_sources import ArgumentPair, DebateClaim, SurveyQuestion
from pnyx.corpora.drafts import clean
from pnyx.corpora.segment import trim, word_weight
from pnyx.drafts.replies import claim_reply, pair_reply, survey_reply
from pnyx.errors import shorten
from pnyx.judge.base import run_blocking
from pnyx.judge.claims import question_from
from pnyx.judge.completions import StoredModel
from pnyx.judge.prompting import load_prompt
from pnyx.judge.reading import ask_structured
from pnyx.models.flow import run_all

__all__ = ["Drafted", "Progress", "draft_questions", "each"]

S = TypeVar("S")
R = TypeVar("R")

Progress: TypeAlias = Callable[[int, int, str], None]
"""Called with how many are done, of how many, and a word on them."""

_WORDS = 500
"""Of an argument, what the model is shown, as `corpora.segment.trim` counts words."""


@dataclass(frozen=True, slots=True)
class Drafted:
    """What became of one source.

    Attributes:
        source_id: the source's.
        draft: a row of the format `drafts`; None where there is none.
        reason: why there is none.
        failed: nobody could say whether there is one: no reply, or none that can be read. It is
            not to be taken for a source that holds no question.
        problems: what a reader must know of the draft, one line each.
    """

    source_id: str
    draft: Mapping[str, Any] | None
    reason: str = ""
    failed: bool = False
    problems: tuple[str, ...] = ()


def draft_questions(
    sources: Sequence[ArgumentPair] | Sequence[DebateClaim] | Sequence[SurveyQuestion],
    model: StoredModel | None = None,
    *,
    rules: bool = True,
    on_done: Progress | None = None,
) -> list[Drafted]:
    """Draft questions with opposing perspectives.

    Args:
        sources: pairs of arguments: the question on which they disagree and both answers to it, of
            the first 500 words of each; claims: the question that a claim answers with yes (what
            is a question already is taken as it is), with the views on it as they are; or survey
            questions: a perspective for each end of a scale, or for each choice.
        model: drafts; what was asked before is not asked again. Only claims can do without, by
            rules alone.
        rules: whether a claim whose verb is certain becomes a question without being asked about
            (`pnyx.judge.claims.question_from`).
        on_done: told of each source that is done.

    Returns:
        One for each source, in order. `drafted_from` of a draft holds what it was made of, and
        what each perspective stands for.

    Raises:
        ModelError: the model cannot be asked at all.
    """

    async def work(source: Any) -> Drafted:
        if isinstance(source, DebateClaim) and (found := _by_rule(source, model, rules)):
            return found
        if model is None:
            raise ValueError("only claims can be drafted from without a language model")
        return await _FROM[type(source)](source, model)

    return each(sources, work, model, on_done, "drafting")


def each(
    sources: Sequence[S],
    work: Callable[[S], Awaitable[R]],
    model: StoredModel | None,
    on_done: Progress | None,
    doing: str,
) -> list[R]:
    """Return what `work` makes of each, in order; as many at once as the model takes."""
    results: dict[int, R] = {}

    async def place(item: tuple[int, S]) -> None:
        results[item[0]] = await work(item[1])
        if on_done is not None:
            on_done(len(results), len(sources), doing)

    async def all_() -> None:
        async with contextlib.AsyncExitStack() as stack:
            if model is not None:
                await stack.enter_async_context(model.running())
            workers = 1 if model is None else model.concurrency
            await run_all(enumerate(sources), place, workers=workers)

    run_blocking(all_)
    return [results[position] for position in range(len(sources))]


def _by_rule(claim: DebateClaim, model: StoredModel | None, rules: bool) -> Drafted | None:
    """Return the draft of a rule, or that there is none without a model; None: ask it."""
    question = question_from(claim.claim) if rules or claim.claim.endswith("?") else None
    if question is not None:
        by = "as it is" if question == claim.claim else "rule"
        return Drafted(claim.id, _claim_draft(claim, question, by))
    if model is None:
        reason = "no rule turns the claim into a question, and no language model was asked"
        return Drafted(claim.id, None, reason, failed=True)
    return None


async def _asked(
    model: StoredModel, prompt: str, inputs: Mapping[str, Any], shape: Any, items: int = 0
) -> tuple[Any, list[str], str]:
    """Return the reply (None where there is none), what went wrong, and who was asked how."""
    loaded = load_prompt(prompt)
    reply, problems = await ask_structured(model, loaded.request(inputs, items=items), shape)
    return reply, problems, f"{shorten(model.name, 100)} ({loaded.label})"


async def _from_pair(pair: ArgumentPair, model: StoredModel) -> Drafted:
    shown = [_shortened(text) for text in (pair.a, pair.b)]
    inputs = {"first": shown[0], "second": shown[1]}
    reply, problems, by = await _asked(model, "question-pair", inputs, pair_reply())
    if reply is None:
        return _failed(pair.id, problems)
    if reply.opposed == "no":
        reason = "the model finds no question on which the two disagree"
        return Drafted(pair.id, None, reason)
    if reply.yes_from == "second":
        shown.reverse()
    draft = {
        "id": pair.id,
        "question": clean(reply.question),
        "perspectives": [_view(reply.pro, "pro"), _view(reply.con, "con")],
        "drafted_by": by,
        "drafted_from": {"kind": "pairs", "pro": shown[0], "con": shown[1]},
    }
    return Drafted(pair.id, draft, problems=tuple(problems))


async def _from_claim(claim: DebateClaim, model: StoredModel) -> Drafted:
    inputs = {"claim": claim.claim}
    reply, problems, by = await _asked(model, "question-claim", inputs, claim_reply())
    if reply is None:
        return _failed(claim.id, problems)
    if reply.debatable == "no":
        return Drafted(claim.id, None, "the model finds nothing that could be debated")
    draft = _claim_draft(claim, clean(reply.question), by)
    return Drafted(claim.id, draft, problems=tuple(problems))


def _claim_draft(claim: DebateClaim, question: str, by: str) -> dict[str, Any]:
    return {
        "id": claim.id,
        "question": question,
        "perspectives": [_view(text, side) for text, side in claim.views],
        "drafted_by": by,
        "drafted_from": {"kind": "claims", "claim": claim.claim},
    }


async def _from_survey(source: SurveyQuestion, model: StoredModel) -> Drafted:
    options = list(source.options)
    inputs = {"question": source.question, "options": options}
    shape = survey_reply(len(options))
    reply, problems, by = await _asked(model, "question-survey", inputs, shape, len(options))
    if reply is None:
        return _failed(source.id, problems)
    if reply.form == "none":
        return Drafted(source.id, None, "the model finds no view in the answers")
    read = reply.perspectives
    if reply.form == "scale":
        read = sorted(read, key=lambda one: one.side, reverse=True)  # pro before con
    draft = {
        "id": source.id,
        "question": clean(reply.question),
        "perspectives": [
            _view(one.statement, None if one.side == "none" else one.side) for one in read
        ],
        "drafted_by": by,
        "drafted_from": {
            "kind": "survey",
            "question": source.question,
            "options": options,
            "stands_for": [options[one.option - 1] for one in read],
        },
    }
    return Drafted(source.id, draft, problems=tuple(problems))


def _view(text: str, side: str | None) -> dict[str, Any]:
    return {"text": clean(text), "stance": side}


def _failed(source_id: str, problems: Sequence[str]) -> Drafted:
    return Drafted(source_id, None, problems[-1], failed=True)


def _shortened(text: str) -> str:
    line = clean(text)
    return trim(line, _WORDS) if word_weight(line) > _WORDS else line


_FROM: dict[type, Callable[[Any, StoredModel], Awaitable[Drafted]]] = {
    ArgumentPair: _from_pair,
    DebateClaim: _from_claim,
    SurveyQuestion: _from_survey,
}
