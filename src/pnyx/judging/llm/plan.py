"""The calls of a run, before any is made: the judge answers from the store alone.

Second attempts are estimated; repair turns, splits and failed attempts cannot be predicted.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from pnyx.judging.base import Judge, ask
from pnyx.judging.questions import JudgeQuestion
from pnyx.judging.store.completions import StoredModel
from pnyx.judging.store.rows import StoredRow
from pnyx.models.chat.ledger import Estimate, estimate, expected_of, prompt_bytes
from pnyx.models.chat.prices import Price
from pnyx.models.chat.types import ChatRequest, Message, cuts_prompt

_PAST = 500
_LOOKED_AT = 5000
"""Maximum number of stored replies used for an estimate, and read for it. They are in the order of
their keys, which are hashes: a random sample."""


@dataclass(frozen=True, slots=True)
class PlannedModel:
    """The calls to one model."""

    model: str
    from_store: int
    estimate: Estimate  # of the requests that are not in the store
    learnt_from: int  # stored replies behind the ranges; 0 for upper bounds
    second_tries: int = 0  # requests that repeat a call after a truncated reply
    expected: Estimate | None = None  # of requests that depend on unknown answers
    least: int | None = None


def plan_run(
    judge: Judge,
    models: Sequence[StoredModel],
    questions: Sequence[JudgeQuestion],
    prices: Mapping[str, Price | None],
) -> list[PlannedModel]:
    """Return the calls of a judge to its models, all offline; a price of None is unknown."""
    if not all(model.offline for model in models):
        raise ValueError("a plan needs models that are offline")
    if models:
        ask(judge, questions)
    return planned_models(models, prices)


def planned_models(
    models: Sequence[StoredModel],
    prices: Mapping[str, Price | None],
    chances: Mapping[str, Mapping[str, float]] | None = None,
) -> list[PlannedModel]:
    """Return the calls to offline models; `chances`: model -> key -> probability of the call."""
    planned = []
    for model in models:
        rows = list(islice(_past(model), _PAST))
        past = [
            (prompt_bytes(row.request), row.reply.usage)
            for row in rows
            if not cuts_prompt(row.request, row.reply.usage)
        ]
        learnt = len(past) if len(past) >= 5 else 0
        again = _second_tries(model, rows) if learnt else []
        estimated = estimate([*model.missing.values(), *again], prices.get(model.name), past)
        stored = model.counts.from_store
        plan = PlannedModel(model.name, stored, estimated, learnt, len(again))
        if chances is not None:
            plan = _uncertain(plan, model, chances[model.name], prices.get(model.name), past)
        planned.append(plan)
    return planned


def _uncertain(
    planned: PlannedModel,
    model: StoredModel,
    chances: Mapping[str, float],
    price: Price | None,
    past: Sequence[tuple[int, Mapping[str, int]]],
) -> PlannedModel:
    """Let the ranges start at the certain calls, and add the expected calls."""
    certain = [request for key, request in model.missing.items() if chances[key] == 1.0]
    least, most = estimate(certain, price, past), planned.estimate
    cost = most.cost_usd
    if price is not None and cost is not None:  # a server may have cached the start of a prompt
        tokens = least.prompt_tokens[0]
        cost = min(price.cost(tokens, least.completion_tokens[0], c) for c in (0, tokens)), cost[1]
    ranges = replace(
        most,
        prompt_tokens=(least.prompt_tokens[0], most.prompt_tokens[1]),
        completion_tokens=(least.completion_tokens[0], most.completion_tokens[1]),
        cost_usd=cost,
    )
    weighted = [(request, chances[key]) for key, request in model.missing.items()]
    expected = expected_of(weighted, price, past)
    return replace(planned, estimate=ranges, expected=expected, least=len(certain))


def _past(model: StoredModel) -> Iterator[StoredRow]:
    wanted = {_first_words(request) for request in model.missing.values()}
    for row in islice(model.store.rows(model=model.name, skip_damaged=True), _LOOKED_AT):
        if _first_words(row.request) in wanted:
            yield row


def _second_tries(model: StoredModel, past: Sequence[StoredRow]) -> list[ChatRequest]:
    """Return the expected second attempts of the missing requests: the same share as before."""
    firsts = [row for row in past if not _is_second(model, row.request)]
    cut = [row.request for row in firsts if row.reply.finish_reason == "length"]
    tried = [r for r in cut if model.store.get(model.key(_roomier(r))) is not None]
    missing = [r for r in model.missing.values() if not _is_second(model, r)]
    expected = math.ceil(len(missing) * len(tried) / max(1, len(firsts)))
    return [_roomier(request) for request in missing[:expected]]


def _roomier(request: ChatRequest) -> ChatRequest:
    return replace(request, max_tokens=2 * request.max_tokens)


def _is_second(model: StoredModel, request: ChatRequest) -> bool:
    """Whether a request repeats a truncated one with twice the token limit."""
    if request.max_tokens % 2:
        return False
    first = model.store.get(model.key(replace(request, max_tokens=request.max_tokens // 2)))
    return first is not None and first.reply.finish_reason == "length"


def _first_words(request: ChatRequest) -> str:
    """Return the first message, the system's, which distinguishes prompts."""
    first: Message = request.messages[0]
    return first.content if first.role == "system" else ""
