"""Open the language models that a spec names, with store, ledger and shared addresses."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from pnyx.core.errors import InputError, escaped, shorten

if TYPE_CHECKING:
    from pnyx.judging.options import ConnectionSpec, SpendingSpec
    from pnyx.judging.store.completions import StoredModel
    from pnyx.judging.store.store import Store
    from pnyx.models.chat.ledger import Ledger
    from pnyx.models.chat.model import ChatModel
    from pnyx.models.chat.prices import Price

_SIGN_SECONDS = 10.0

Say: TypeAlias = Callable[[str], None]
"""Shows the user a message; called with one line."""


@contextlib.contextmanager
def open_model(
    spec: ConnectionSpec | None,
    say: Say,
    spending: SpendingSpec | None = None,
    *,
    cost: bool = True,
) -> Iterator[StoredModel | None]:
    """Open the only language model that a spec names, with its store; None if it names none.

    At the end its cost is reported, if it was used.
    """
    if spec is None:
        yield None
        return
    with open_models(spec, spec.models, say, spending, cost=cost) as models:
        yield one_model(models)


def one_model(models: Sequence[StoredModel]) -> StoredModel | None:
    """Return the only model, or None; InputError: there are several."""
    if len(models) > 1:
        names = ", ".join(model.name for model in models)
        raise InputError(f"expected one language model, found {shorten(names)}")
    return models[0] if models else None


@contextlib.contextmanager
def open_models(
    spec: ConnectionSpec,
    named: Sequence[str],
    say: Say,
    spending: SpendingSpec | None = None,
    *,
    cost: bool = True,
) -> Iterator[list[StoredModel]]:
    """Open the models of a spec, with their store; the addresses of one model share its questions.

    At the end the cost of each used model is reported.
    """
    if not named:
        yield []
        return
    from pnyx.judging.store.completions import StoredModel
    from pnyx.judging.store.store import Store

    endpoints = _by_model(named, spec)
    sign = _throttled(say)
    ledger = None if spending is None else _books(spending, len(endpoints))
    for endpoint in endpoints:
        endpoint.on_retry = sign
        endpoint.on_wait = say
        if ledger is not None:
            endpoint.ledger = ledger(endpoint.model)
    offline = spending is not None and (spending.offline or spending.plan)
    with Store.for_reading(spec.store) if offline else Store(spec.store) as opened:
        models = [StoredModel(e, opened, offline=offline) for e in endpoints]
        try:
            yield models
        finally:
            _warn_damaged(opened, offline, say)
            if cost and not offline:
                _say_cost(models, say)


def _say_cost(models: Sequence[StoredModel], say: Say) -> None:
    from pnyx.judging.counted_judge import spending_line

    for model in models:
        counts = model.counts
        if counts.asked or counts.failed or counts.from_store:
            say(f"cost: {spending_line(model)}")


def _warn_damaged(store: Store, offline: bool, say: Say) -> None:
    if store.damaged:
        number = len(store.damaged)
        key, damage = next(iter(store.damaged.items()))
        are = "reply is damaged and counts" if number == 1 else "replies are damaged and count"
        again = "" if offline else ", so that the question is asked again"
        path = escaped(str(store.path))
        say(f"warning: {path}: {number} stored {are} as missing{again} ({key[:12]} {damage})")


def _by_model(named: Sequence[str], spec: ConnectionSpec) -> list[ChatModel]:
    """Return one model for each name, with all of its addresses."""
    from pnyx.models.chat.open_endpoint import endpoint_from
    from pnyx.models.http.responses import RetryPolicy

    retry = RetryPolicy(timeout=spec.timeout, loading=spec.wait)
    fields = spec.fields
    by_name: dict[str, list[Any]] = {}
    for address in dict.fromkeys(named):
        endpoint = endpoint_from(address, retry=retry, concurrency=spec.concurrency, fields=fields)
        by_name.setdefault(endpoint.model, []).append(endpoint)
    models: list[ChatModel] = []
    for endpoints in by_name.values():
        if len(endpoints) > 1:
            from pnyx.models.chat.pool import EndpointPool

            models.append(EndpointPool(endpoints))
        else:
            models += endpoints
    return models


def _throttled(say: Say) -> Say:
    """Return a function that reports repeated calls, at most every few seconds."""
    shown_at = time.monotonic()

    def sign(line: str) -> None:
        nonlocal shown_at
        if time.monotonic() - shown_at > _SIGN_SECONDS:
            shown_at = time.monotonic()
            say(f"asking the model again: {line}")

    return sign


def _books(spec: SpendingSpec, models: int) -> Callable[[str], Ledger]:
    """Return a function that makes the ledger of each model; models share a budget evenly."""
    from pnyx.models.chat.ledger import Ledger, check_budget

    usd = None if spec.budget is None else spec.budget / models
    tokens = None if spec.budget_tokens is None else spec.budget_tokens // models
    prices = prices_of(spec)

    def ledger(model: str) -> Ledger:
        check_budget(spec.budget, model, prices(model))
        return Ledger(prices(model), budget_usd=usd, budget_tokens=tokens)

    return ledger


def prices_of(spec: SpendingSpec) -> Callable[[str], Price | None]:
    """Return a function from a model's name to its price, from the file of prices first."""
    from pnyx.models.chat.prices import price_of, read_prices

    overrides = {} if spec.prices is None else read_prices(spec.prices)
    return lambda model: price_of(model, overrides)


def prices_by_model(spec: SpendingSpec, models: Sequence[StoredModel]) -> dict[str, Price | None]:
    """Return the prices of models by name."""
    prices = prices_of(spec)
    return {model.name: prices(model.name) for model in models}
