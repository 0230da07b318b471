"""Drafts of questions with opposing perspectives, by a language model and, for claims, by rule.

BERDS, section 4.1 and Appendix B.1, with prompts of our own
(docs/decisions/building-perspectives.md).
"""

from __future__ import annotations

import contextlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias, TypeVar

from pnyx.corpora.benchmarks.draft_sources import ArgumentPair, DebateClaim, SurveyQuestion
from pnyx.corpora.benchmarks.drafts import clean
from pnyx.corpora.text.segment import trim, word_weight
from pnyx.drafts.replies import claim_reply, pair_reply, survey_reply
from pnyx.errors import shorten
from pnyx.judge.claims import question_from
from pnyx.judge.llm.prompting import load_prompt
from pnyx.judge.llm.reading import ask_structured
from pnyx.judge.store.completions import StoredModel
from pnyx.models.http.flow import run_all, run_blocking

S = TypeVar("S")
R = TypeVar("R")

Progress: TypeAlias = Callable[[int, int, str], None]
"""Called with how many are done, of how many, and a word on them."""

Source: TypeAlias = ArgumentPair | DebateClaim | SurveyQuestion
Views: TypeAlias = Sequence[tuple[str, str | None]]
Made: TypeAlias = tuple[str, Views, dict[str, Any]]
"""A question, the perspectives on it, and what they were made of."""

_WORDS = 500  # Of an argument, what the model is shown, as `corpora.segment.trim` counts words


@dataclass(frozen=True, slots=True)
class Drafted:
    """The outcome of drafting from one source: a row of the format `drafts`, or a reason.

    `failed` means no reply, or none that can be read: the source may hold a question all the same.
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
    """Draft questions with opposing perspectives, one for each source, in order.

    Args:
        sources: pairs of arguments: the question on which they disagree and both answers, of the
            first 500 words of each; claims: the question that a claim answers with yes, with the
            views on it as they are; or survey questions: a perspective for each end of a scale, or
            for each choice.
        model: drafts; what was asked before is not asked again. Only claims can do without it.
        rules: whether a claim whose verb is certain becomes a question without being asked about
            (`pnyx.judge.claims.question_from`).
        on_done: told of each source that is done.

    Raises:
        ModelError: the model cannot be asked at all.
    """

    async def work(source: Any) -> Drafted:
        if isinstance(source, DebateClaim) and (found := _by_rule(source, model, rules)):
            return found
        if model is None:
            raise ValueError("only claims can be drafted from without a language model")
        return await _by_model(source, model)

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
        return Drafted(claim.id, _row(claim.id, by, *_of_claim(claim, question)))
    if model is None:
        reason = "no rule turns the claim into a question, and no language model was asked"
        return Drafted(claim.id, None, reason, failed=True)
    return None


async def _by_model(source: Source, model: StoredModel) -> Drafted:
    prompt, inputs, shape, read = _asking(source)
    loaded = load_prompt(prompt)
    request = loaded.request(inputs, items=len(inputs.get("options", ())))
    reply, problems = await ask_structured(model, request, shape)
    if reply is None:
        return Drafted(source.id, None, problems[-1], failed=True)
    found = read(reply)
    if isinstance(found, str):
        return Drafted(source.id, None, found)
    question, views, made_of = found
    by = f"{shorten(model.name, 100)} ({loaded.label})"
    draft = _row(source.id, by, clean(question), views, made_of)
    return Drafted(source.id, draft, problems=tuple(problems))


def _row(source_id: str, by: str, question: str, views: Views, source: Any) -> dict[str, Any]:
    return {
        "id": source_id,
        "question": question,
        "perspectives": [{"text": clean(text), "stance": side} for text, side in views],
        "drafted_by": by,
        "drafted_from": source,
    }


def _asking(source: Source) -> tuple[str, dict[str, Any], Any, Callable[[Any], Made | str]]:
    """Return prompt, inputs, the shape of a reply, and what reads it."""
    if isinstance(source, ArgumentPair):
        first, second = (_shortened(text) for text in (source.a, source.b))
        inputs = {"first": first, "second": second}
        return "question-pair", inputs, pair_reply(), partial(_of_pair, first, second)
    if isinstance(source, DebateClaim):
        read = partial(_of_claim_reply, source)
        return "question-claim", {"claim": source.claim}, claim_reply(), read
    options = list(source.options)
    asked = {"question": source.question, "options": options}
    return "question-survey", asked, survey_reply(len(options)), partial(_of_survey, asked)


def _of_pair(first: str, second: str, reply: Any) -> Made | str:
    if reply.opposed == "no":
        return "the model finds no question on which the two disagree"
    pro, con = (second, first) if reply.yes_from == "second" else (first, second)
    views = (reply.pro, "pro"), (reply.con, "con")
    return reply.question, views, {"kind": "pairs", "pro": pro, "con": con}


def _of_claim_reply(claim: DebateClaim, reply: Any) -> Made | str:
    if reply.debatable == "no":
        return "the model finds nothing that could be debated"
    return _of_claim(claim, reply.question)


def _of_claim(claim: DebateClaim, question: str) -> Made:
    return question, claim.views, {"kind": "claims", "claim": claim.claim}


def _of_survey(asked: Mapping[str, Any], reply: Any) -> Made | str:
    if reply.form == "none":
        return "the model finds no view in the answers"
    read = reply.perspectives
    if reply.form == "scale":
        read = sorted(read, key=lambda one: one.side, reverse=True)  # pro before con
    views = [(one.statement, None if one.side == "none" else one.side) for one in read]
    stands_for = [asked["options"][one.option - 1] for one in read]
    return reply.question, views, {"kind": "survey", **asked, "stands_for": stands_for}


def _shortened(text: str) -> str:
    line = clean(text)
    return trim(line, _WORDS) if word_weight(line) > _WORDS else line
