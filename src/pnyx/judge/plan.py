"""What a run would ask, before anything is asked.

The judge answers from the store alone (`StoredModel(offline=True)`), so the plan knows what is
stored already, what a cascade would pass on, and how questions fall into calls. Repair turns and
splits cannot be foreseen; neither can failed attempts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from pnyx.judge.base import Judge, ask
from pnyx.judge.completions import StoredModel
from pnyx.judge.questions import JudgeQuestion
from pnyx.models.ledger import Estimate, estimate, prompt_bytes
from pnyx.models.prices import Price
from pnyx.models.replies import ChatRequest, Message

__all__ = ["PlannedModel", "plan_run", "planned_models"]

_PAST = 500
_LOOKED_AT = 5000
"""Stored replies that an estimate rests on, and that are looked at for it, at most. They come in
the order of their keys, which are hashes: a random sample."""


@dataclass(frozen=True, slots=True)
class PlannedModel:
    """What one model would be asked.

    Attributes:
        model: its name.
        from_store: requests that the store answers.
        estimate: of the requests that it does not.
        learnt_from: how many stored replies of this model the estimate's ranges rest on; 0 where
            they are bounds.
    """

    model: str
    from_store: int
    estimate: Estimate
    learnt_from: int


def plan_run(
    judge: Judge,
    models: Sequence[StoredModel],
    questions: Sequence[JudgeQuestion],
    prices: Mapping[str, Price | None],
) -> list[PlannedModel]:
    """Return what a judge would ask its models.

    Args:
        judge: asks `models`, all of them offline.
        models: each once.
        questions: what the judge is to answer.
        prices: by the model's name; None where it is not known.

    Raises:
        ValueError: a model is not offline.
    """
    if not all(model.offline for model in models):
        raise ValueError("a plan needs models that are offline")
    ask(judge, questions)
    return planned_models(models, prices)


def planned_models(
    models: Sequence[StoredModel], prices: Mapping[str, Price | None]
) -> list[PlannedModel]:
    """Return what offline models would have been asked, had they been asked.

    Args:
        models: each once; their `missing` requests are estimated.
        prices: by the model's name; None where it is not known.
    """
    planned = []
    for model in models:
        past = list(islice(_past(model), _PAST))
        estimated = estimate(model.missing.values(), prices.get(model.name), past)
        learnt = len(past) if len(past) >= 5 else 0
        planned.append(PlannedModel(model.name, model.counts.from_store, estimated, learnt))
    return planned


def _past(model: StoredModel) -> Iterator[tuple[int, Mapping[str, int]]]:
    """Yield the size of stored requests that resemble the missing ones, and what they used."""
    wanted = {_first_words(request) for request in model.missing.values()}
    for row in islice(model.store.rows(model=model.name, skip_damaged=True), _LOOKED_AT):
        if _first_words(row.request) in wanted:
            yield prompt_bytes(row.request), row.reply.usage


def _first_words(request: ChatRequest) -> str:
    """Return what tells one prompt from another: its first message, the system's."""
    first: Message = request.messages[0]
    return first.content if first.role == "system" else ""
