"""Drafts of questions with opposing perspectives, by a language model and, for claims, by rule.

BERDS, section 4.1 and Appendix B.1, with our own prompts
(docs/explain/decisions/building-perspectives.md).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from pnyx.audit.trials.contradictions import as_question
from pnyx.core.errors import shorten
from pnyx.formats.text.segment import trim
from pnyx.formats.text.words import clean
from pnyx.judging.llm.concurrent import Progress, each
from pnyx.judging.llm.prompts import load_prompt
from pnyx.judging.llm.structured_replies import ask_structured
from pnyx.judging.store.completions import StoredModel
from pnyx_build.drafts.replies import ClaimReply, PairReply, survey_reply
from pnyx_build.drafts.sources import ArgumentPair, DebateClaim, SurveyQuestion

if TYPE_CHECKING:
    from pydantic import BaseModel

DraftSource: TypeAlias = ArgumentPair | DebateClaim | SurveyQuestion
Made: TypeAlias = tuple[str, Sequence[tuple[str, str | None]], dict[str, Any]]
"""A question, (text, side) of each perspective on it, and their source material."""

_WORDS = 500  # words of an argument shown to the model, as counted by `corpora.segment.trim`


@dataclass(frozen=True, slots=True)
class Drafted:
    """The outcome of drafting from one source: a row of the format `drafts`, or a reason.

    `failed` means no readable reply: the source may still contain a question.
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
        model: writes the drafts; earlier replies are reused. Only claims can be drafted without it.
        rules: whether a claim with a single auxiliary becomes a question without a language model
            (`pnyx.audit.trials.contradictions.as_question`).
        on_done: called for each finished source.

    Raises:
        ModelError: the model cannot be asked at all.
    """

    async def work(source: DraftSource) -> Drafted:
        if isinstance(source, DebateClaim):
            claim = source.claim
            question = claim if claim.endswith("?") else as_question(claim) if rules else None
            if question is not None:
                by = "as it is" if question == claim else "rule"
                return Drafted(source.id, _row(source.id, by, _of_claim(source, question)))
            if model is None:
                reason = "no rule turns the claim into a question, and no language model was asked"
                return Drafted(source.id, None, reason, failed=True)
        if model is None:
            raise ValueError("only claims can be drafted from without a language model")
        return await _by_model(source, model)

    listed: list[DraftSource] = [*sources]
    return each(listed, work, model, on_done, "drafting")


async def _by_model(source: DraftSource, model: StoredModel) -> Drafted:
    name, inputs, shape = _asked(source)
    prompt = load_prompt(name)
    request = prompt.request(inputs, items=len(inputs.get("options", ())))
    reply, problems = await ask_structured(model, request, shape)
    if reply is None:
        return Drafted(source.id, None, problems[-1], failed=True)
    parsed = _made(source, inputs, reply)
    if isinstance(parsed, str):
        return Drafted(source.id, None, parsed)
    draft = _row(source.id, f"{shorten(model.name, 100)} ({prompt.label})", parsed)
    return Drafted(source.id, draft, problems=tuple(problems))


def _row(source_id: str, by: str, parsed: Made) -> dict[str, Any]:
    question, views, material = parsed
    return {
        "id": source_id,
        "question": clean(question),
        "perspectives": [{"text": clean(text), "stance": side} for text, side in views],
        "drafted_by": by,
        "drafted_from": material,
    }


def _asked(source: DraftSource) -> tuple[str, dict[str, Any], type[BaseModel]]:
    """Return the prompt, its inputs and the schema of a reply."""
    if isinstance(source, ArgumentPair):
        first, second = (trim(clean(text), _WORDS) for text in (source.a, source.b))
        return "question-pair", {"first": first, "second": second}, PairReply
    if isinstance(source, DebateClaim):
        return "question-claim", {"claim": source.claim}, ClaimReply
    options = list(source.options)
    inputs = {"question": source.question, "options": options}
    return "question-survey", inputs, survey_reply(len(options))


def _made(source: DraftSource, inputs: Mapping[str, Any], reply: Any) -> Made | str:
    """Return the draft in a reply, or why the source has no question."""
    if isinstance(source, ArgumentPair):
        if reply.opposed == "no":
            return "the model finds no question on which the two disagree"
        pro, con = inputs["first"], inputs["second"]
        if reply.yes_from == "second":
            pro, con = con, pro
        views = (reply.pro, "pro"), (reply.con, "con")
        return reply.question, views, {"kind": "pairs", "pro": pro, "con": con}
    if isinstance(source, DebateClaim):
        if reply.debatable == "no":
            return "the model finds nothing debatable"
        return _of_claim(source, reply.question)
    if reply.form == "none":
        return "the model finds no view in the answers"
    reply_views = list(reply.perspectives)
    if reply.form == "scale":
        reply_views.sort(key=lambda view: view.side, reverse=True)  # pro before con
    stated = [(view.statement, None if view.side == "none" else view.side) for view in reply_views]
    stands_for = [source.options[view.option - 1] for view in reply_views]
    return reply.question, stated, {"kind": "survey", **inputs, "stands_for": stands_for}


def _of_claim(source: DebateClaim, question: str) -> Made:
    return question, source.views, {"kind": "claims", "claim": source.claim}
