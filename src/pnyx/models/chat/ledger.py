"""The cost of requests: counted from the server's own figures, and kept below a budget.

A budget is enforced by reserving upper bounds. If an attempt may have been billed without a count,
its bound counts as spent (docs/explain/decisions/pace-and-budget.md).
"""

from __future__ import annotations

import json
import math
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from pnyx.core.errors import InputError, PnyxError, shorten
from pnyx.models.chat.prices import Price
from pnyx.models.chat.types import ChatRequest
from pnyx.models.http.flow import Ticket, WaitQueue

_PER_MESSAGE, _PER_REQUEST = 16, 128
_BYTES_PER_TOKEN, _LEAST_LETTERS = 6.0, 2.5
"""Few tokenizers put more bytes of running text, or fewer Latin letters and spaces, into a token on
average; of other characters, a byte is at most one token."""
_LETTERS = bytes(range(65, 91)) + bytes(range(97, 123)) + b" "
_USUAL_BYTES, _USUAL_LENGTHS = (3.5, 5.0), (0.1, 0.5)
"""Typical for English: bytes per token, and the share of the allowed tokens that replies use."""


class BudgetReached(PnyxError):  # noqa: N818 - the name says what happened
    """The rest of the budget is smaller than what the request may use."""


@dataclass(frozen=True, slots=True)
class Bound:
    """The maximum number of tokens that a request can use."""

    prompt: int
    completion: int


def prompt_bytes(request: ChatRequest) -> int:
    """Return the number of UTF-8 bytes of a request's messages and schema."""
    return len(_sent(request))


def _sent(request: ChatRequest) -> bytes:
    """Return the messages and the schema of a request, concatenated, as UTF-8."""
    schema = "" if request.schema is None else json.dumps(request.schema, ensure_ascii=False)
    texts = [*(message.content for message in request.messages), schema]
    return b"".join(text.encode("utf-8", "replace") for text in texts)


def bound_of(request: ChatRequest) -> Bound:
    """Return the most tokens a request can use: one per byte, 16 per message and 128 in total."""
    extra = _PER_REQUEST + _PER_MESSAGE * len(request.messages)
    return Bound(prompt_bytes(request) + extra, request.max_tokens)


def check_budget(budget_usd: float | None, model: str, price: Price | None) -> None:
    """Refuse a budget in money if the price is unknown."""
    if budget_usd is not None and price is None:
        raise InputError(
            f"--budget: the price of {shorten(model)!r} is not known; give it in a file with "
            "--set prices=FILE, or limit tokens instead"
        )


@dataclass(slots=True)
class _Sum:
    """Tokens of one state: settled, reserved, or assumed because a count is missing."""

    prompt: int = 0
    completion: int = 0
    cached: int = 0

    def add(self, bound: Bound, sign: int = 1) -> None:
        self.prompt += sign * bound.prompt
        self.completion += sign * bound.completion

    def tokens(self) -> int:
        return self.prompt + self.completion

    def cost(self, price: Price) -> float:
        return price.cost(self.prompt, self.completion, self.cached)


@dataclass(slots=True)
class Reservation:
    """Permission for one attempt; released without a verdict, uncertain if it was cancelled."""

    bound: Bound
    usage: Mapping[str, int] = field(default_factory=dict)
    verdict: str = "released"

    def settle(self, usage: Mapping[str, int]) -> None:
        """Record a reply with the server's count; without a count, the bound is used."""
        self.verdict, self.usage = "settled", usage

    def lose(self) -> None:
        """Record an attempt that may have been billed by an unknown amount."""
        self.verdict = "uncertain"


class Ledger(WaitQueue):
    """Counts the usage and keeps it below a budget. Safe in several threads and event loops.

    Args:
        price: price of the model; None if it is unknown.
        budget_usd: the most that may be spent, in US dollars; requires a price.
        budget_tokens: the maximum of prompt and completion tokens together.

    Attributes:
        requests: attempts that were answered with a completion.
        uncertain: attempts that may have been billed by an unknown amount.
        without_usage: replies without a count.
        reasoning_tokens: of the completion tokens, those spent on thinking.
    """

    def __init__(
        self,
        price: Price | None = None,
        *,
        budget_usd: float | None = None,
        budget_tokens: int | None = None,
    ) -> None:
        super().__init__()
        if budget_usd is not None and price is None:
            raise ValueError("a budget in money needs a price")
        self.price = price
        self.budget_usd = budget_usd
        self.budget_tokens = budget_tokens
        self.requests = self.uncertain = self.without_usage = self.reasoning_tokens = 0
        self._settled, self._assumed, self._reserved = _Sum(), _Sum(), _Sum()

    @property
    def limited(self) -> bool:
        """Whether there is a budget."""
        return (self.budget_usd, self.budget_tokens) != (None, None)

    @property
    def prompt_tokens(self) -> int:
        """Prompt tokens by the server's count."""
        return self._settled.prompt

    @property
    def cached_tokens(self) -> int:
        """The prompt tokens that the server had cached."""
        return self._settled.cached

    @property
    def completion_tokens(self) -> int:
        """Completion tokens by the server's count."""
        return self._settled.completion

    @property
    def assumed_tokens(self) -> int:
        """Bounds of attempts without a count: they used at most this."""
        return self._assumed.tokens()

    @property
    def cost(self) -> float | None:
        """US dollars by the server's counts; None if the price is unknown."""
        return None if self.price is None else self._settled.cost(self.price)

    @property
    def cost_at_most(self) -> float | None:
        """US dollars including the bounds of attempts without a count; None without a price."""
        if self.price is None:
            return None
        return self._settled.cost(self.price) + self._assumed.cost(self.price)

    def row(self) -> dict[str, Any]:
        """Return the totals for a manifest."""
        return {
            "requests": self.requests,
            "prompt_tokens": self.prompt_tokens,
            "cached_tokens": self.cached_tokens,
            "completion_tokens": self.completion_tokens,
            "reasoning_tokens": self.reasoning_tokens,
            "uncertain": self.uncertain,
            "without_usage": self.without_usage,
            "assumed_tokens": self.assumed_tokens,
            "cost_usd": self.cost,
            "cost_usd_at_most": self.cost_at_most,
        }

    def check(self, request: ChatRequest) -> None:
        """Raise BudgetReached if a request is too large even if all open requests cost nothing."""
        if self.limited:
            with self._lock:
                self._afford(bound_of(request))

    def count(self, request: ChatRequest, usage: Mapping[str, int]) -> None:
        """Count a reply to a request without a reservation."""
        with self._lock:
            self._settle(Reservation(bound_of(request), usage))

    @asynccontextmanager
    async def admit(self, request: ChatRequest) -> AsyncIterator[Reservation]:
        """Reserve what one attempt may use until it is over, waiting in order until it fits.

        Raises:
            BudgetReached: the budget is no longer sufficient.
        """
        ticket = Reservation(bound_of(request))
        await self._enter(ticket)
        try:
            yield ticket
        except Exception:
            raise
        except BaseException:
            ticket.verdict = "uncertain" if ticket.verdict == "released" else ticket.verdict
            raise
        finally:
            with self._lock:
                if ticket.verdict == "uncertain":
                    self.uncertain += 1
                    self._assumed.add(ticket.bound)
                elif ticket.verdict == "settled":
                    self._settle(ticket)
                self._leave(ticket)

    def _afford(self, bound: Bound) -> None:
        """Raise BudgetReached if a bound does not fit in the budget that is not yet spent."""
        if self._fits(bound, reserved=False):
            return
        tokens = bound.prompt + bound.completion
        used = self._settled.tokens() + self._assumed.tokens()
        if self.budget_tokens is not None and used + tokens > self.budget_tokens:
            raise BudgetReached(
                f"{used:,} tokens are used of {self.budget_tokens:,}, "
                f"and the request may take {tokens:,}"
            )
        most = self.price.cost_at_most(bound.prompt, bound.completion) if self.price else 0
        raise BudgetReached(
            f"${self.cost_at_most or 0:.4f} is spent of ${self.budget_usd or 0:.4f}, "
            f"and the request may take ${most:.4f}"
        )

    def _fits(self, bound: Bound, *, reserved: bool) -> bool:
        sums = [self._settled, self._assumed, *([self._reserved] if reserved else [])]
        if self.budget_tokens is not None:
            tokens = sum(part.tokens() for part in sums) + bound.prompt + bound.completion
            if tokens > self.budget_tokens:
                return False
        if self.budget_usd is not None and self.price is not None:
            cost = sum(part.cost(self.price) for part in sums)
            cost += self.price.cost_at_most(bound.prompt, bound.completion)
            if cost > self.budget_usd:
                return False
        return True

    def _take(self, ticket: Reservation) -> bool:
        if not self._fits(ticket.bound, reserved=True):
            return False
        self._reserved.add(ticket.bound)
        return True

    def _free(self, ticket: Reservation) -> None:
        self._reserved.add(ticket.bound, -1)

    def _look(self, turn: Ticket) -> float:
        self._afford(turn.wanted.bound)
        return math.inf

    def _is_hopeless(self, ticket: Reservation) -> bool:
        return not self._fits(ticket.bound, reserved=False)

    def _settle(self, ticket: Reservation) -> None:
        self.requests += 1
        usage = ticket.usage
        prompt, completion = usage.get("prompt_tokens"), usage.get("completion_tokens")
        if prompt is None or completion is None:
            self.without_usage += 1
            self._assumed.add(ticket.bound)
            return
        self._settled.add(Bound(prompt, completion))
        self._settled.cached += min(usage.get("cached_tokens", 0), prompt)
        self.reasoning_tokens += usage.get("reasoning_tokens", 0)


@dataclass(frozen=True, slots=True)
class Estimate:
    """The expected usage of requests as ranges, low to high; `cost_usd` is None without a price."""

    requests: int
    prompt_tokens: tuple[int, int]
    completion_tokens: tuple[int, int]
    cost_usd: tuple[float, float] | None


def estimate(
    requests: Iterable[ChatRequest],
    price: Price | None = None,
    past: Sequence[tuple[int, Mapping[str, int]]] = (),
) -> Estimate:
    """Return the usage of requests if each is answered at the first attempt.

    With at least 5 replies in `past` (`prompt_bytes`, usage), the ranges are the 5th and 95th
    percentile of their usage. Otherwise they go from 6 bytes per token and one token per reply to
    2.5 Latin letters, or one byte of another character, per token and all tokens that a reply may
    have.
    """
    number = size = text = most_prompt = most_completion = 0
    for request in requests:
        bound = bound_of(request)
        number += 1
        size += prompt_bytes(request)
        text += prompt_bytes(replace(request, schema=None))
        sent = _sent(request)
        letters = len(sent) - len(sent.translate(None, _LETTERS))
        most_prompt += bound.prompt - int(letters * (1 - 1 / _LEAST_LETTERS))
        most_completion += bound.completion
    low = [round(text / _BYTES_PER_TOKEN), number]  # not every server bills the schema
    high = [most_prompt, most_completion]
    rates, lengths = _seen(past)
    if len(rates) >= 5:
        at = (int(0.05 * len(rates)), min(len(rates) - 1, int(0.95 * len(rates))))
        low = [min(int(size * rates[at[0]]), most_prompt), number * lengths[at[0]]]
        high = [min(int(size * rates[at[1]]) + 1, most_prompt), number * lengths[at[1]]]
        low[1], high[1] = min(low[1], most_completion), min(high[1], most_completion)
    cost = None
    if price is not None:
        cost = (price.cost(low[0], low[1]), price.cost_at_most(high[0], high[1]))
    return Estimate(number, (low[0], high[0]), (low[1], high[1]), cost)


def expected_of(
    requests: Iterable[tuple[ChatRequest, float]],
    price: Price | None = None,
    past: Sequence[tuple[int, Mapping[str, int]]] = (),
) -> Estimate:
    """Return the typical usage of requests, each with the probability that it is sent.

    The ranges are typical values, not bounds: the quartiles of at least 5 replies of the `past`;
    otherwise 3.5 to 5 bytes per token, and replies of a tenth to half of the allowed tokens.
    """
    number = size = allowed = 0.0
    for request, probability in requests:
        number += probability
        size += probability * prompt_bytes(request)
        allowed += probability * request.max_tokens
    prompt = (size / _USUAL_BYTES[1], size / _USUAL_BYTES[0])
    completion = (allowed * _USUAL_LENGTHS[0], allowed * _USUAL_LENGTHS[1])
    rates, lengths = _seen(past)
    if len(rates) >= 5:
        at = (len(rates) // 4, 3 * len(rates) // 4)
        prompt = (size * rates[at[0]], size * rates[at[1]])
        completion = (number * lengths[at[0]], number * lengths[at[1]])
    low, high = ((round(prompt[end]), round(completion[end])) for end in (0, 1))
    cost = None if price is None else (price.cost(*low), price.cost(*high))
    return Estimate(round(number), (low[0], high[0]), (low[1], high[1]), cost)


def _seen(past: Sequence[tuple[int, Mapping[str, int]]]) -> tuple[list[float], list[int]]:
    """Return the tokens per byte of prompt and the tokens of replies, each in ascending order."""
    counted = [
        (usage["prompt_tokens"] / sent, usage["completion_tokens"])
        for sent, usage in past
        if sent > 0 and {"prompt_tokens", "completion_tokens"} <= usage.keys()
    ]
    return sorted(rate for rate, _ in counted), sorted(length for _, length in counted)
