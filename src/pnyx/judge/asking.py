"""How a language model is asked: which prompt, how many questions a call, in which order."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias, get_args

from pnyx.judge.forms import form_of
from pnyx.judge.prompting import Prompt, load_prompt
from pnyx.judge.tasks import TASKS
from pnyx.models.replies import ChatRequest

__all__ = ["PROBABILITIES", "Asking", "Item", "Probability"]

_ALTERNATIVES = 10
"""Alternatives asked for of each token: more than the spellings of yes and no that occur."""

Probability: TypeAlias = Literal["auto", "ask", "tok", "both"]
PROBABILITIES: tuple[str, ...] = get_args(Probability)
"""How P(yes) is had: `tok` from the tokens, `ask` as the model states it, `both` the mean of the
two, `auto` from the tokens where the endpoint gives them and as stated otherwise."""

Item: TypeAlias = tuple[int, Any]
"""A question with its position in the run."""


@dataclass(frozen=True, slots=True)
class Asking:
    """How questions become requests; ValueError or InputError for a value that does not fit.

    Attributes:
        prompts: task -> prompt, where it is not to be the task's usual one.
        probability: see `PROBABILITIES`; for Support.
        batch: how many Support questions about one text share a call, at least 1.
        sample: number of the repeat: 0 asks in the order given, others reorder what they can
            (dimensions, documents, statements).
        temperature: 0 for the likeliest reply.
        max_tokens: the longest reply, in place of the prompt's own limit (of which a second try
            gets the double).
    """

    prompts: Mapping[str, Prompt] = field(default_factory=dict, hash=False)
    probability: Probability = "auto"
    batch: int = 1
    sample: int = 0
    temperature: float = 0.0
    max_tokens: int | None = None

    def __post_init__(self) -> None:
        if self.probability not in PROBABILITIES:
            raise ValueError(
                f"probability is {self.probability!r}, expected one of {', '.join(PROBABILITIES)}"
            )
        if self.batch < 1:
            raise ValueError(f"batch is {self.batch}, expected at least 1")
        for name, prompt in self.prompts.items():
            prompt.check_inputs(form_of(prompt, TASKS[name].kind).inputs)

    def prompt(self, questions: Sequence[Any]) -> Prompt:
        """Return the prompt that questions of one call get."""
        task = TASKS[questions[0].task]
        own = self.prompts.get(task.name)
        if len(questions) > 1 and not (own and "statements" in own.inputs):
            return load_prompt(task.many)
        return own or load_prompt(task.prompts[0])

    def request(self, questions: Sequence[Any]) -> ChatRequest:
        """Return exactly what is sent first for the questions of one call."""
        prompt = self.prompt(questions)
        request = form_of(prompt).request(prompt, questions, self.sample)
        wants_tokens = questions[0].yes_no and self.probability != "ask"
        return replace(
            request,
            temperature=self.temperature,
            max_tokens=self.max_tokens or request.max_tokens,
            sample=self.sample,
            logprobs=_ALTERNATIVES if wants_tokens else 0,
        )

    def most_tokens(self, request: ChatRequest) -> int:
        """Return how long a reply to a first request's second try may be, at most `max_tokens`."""
        return self.max_tokens or 2 * request.max_tokens

    def units(self, asked: Sequence[Item]) -> list[list[Item]]:
        """Return the calls to make, each with its questions.

        Calls that begin with the same text are adjacent, so that servers can reuse the prompt.
        """
        units = []
        for items in _grouped(asked, lambda question: question.beginning):
            size = self.batch if TASKS[items[0][1].task].many else 1
            alike = _grouped(items, lambda question: question.shared) if size > 1 else [items]
            for group in alike:
                units += [group[i : i + size] for i in range(0, len(group), size)]
        return units


def _grouped(items: Iterable[Item], key: Callable[[Any], Hashable]) -> list[list[Item]]:
    groups: dict[Hashable, list[Item]] = {}
    for item in items:
        groups.setdefault(key(item[1]), []).append(item)
    return list(groups.values())
