"""How questions become requests to a language model: prompts, calls, repeats, token limits."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias, get_args

from pnyx.judging.forms import form_of
from pnyx.judging.forms.base import FormCall
from pnyx.judging.llm.concurrent import split_evenly
from pnyx.judging.llm.prompts import Prompt, load_prompt
from pnyx.judging.questions import AGAIN, Rating
from pnyx.judging.tasks import TASKS
from pnyx.models.chat.types import ChatRequest

_ALTERNATIVES = 10
"""Alternatives requested per token: more than the spellings of yes and no that occur."""

Probability: TypeAlias = Literal["auto", "ask", "tok", "both"]
PROBABILITIES: tuple[str, ...] = get_args(Probability)
"""The source of P(yes): `tok` from the tokens, `ask` as the model states it, `both` the mean of the
two, `auto` from the tokens if the endpoint provides them, else as stated."""

Item: TypeAlias = tuple[int, Any]
"""A question with its position in the run."""


@dataclass(frozen=True, slots=True)
class Asking:
    """How questions become requests; ValueError or InputError for an invalid value.

    Attributes:
        prompts: task -> prompt, if it is not the task's default one.
        probability: see `PROBABILITIES`; for Support.
        batch: number of Support questions about one text per call, at least 1.
        texts: maximum number of texts in a call, at least 1, if the prompt takes several.
        sample: number of the repeat: 0 keeps the original order, others reorder what they can
            (dimensions, documents, statements).
        temperature: 0 for the likeliest reply.
        max_tokens: the longest reply, instead of the prompt's own limit (a second attempt gets
            twice that).
        expected: whether ratings are means by token probabilities (`expected.py`).
    """

    prompts: Mapping[str, Prompt] = field(default_factory=dict, hash=False)
    probability: Probability = "auto"
    batch: int = 1
    texts: int = 1
    sample: int = 0
    temperature: float = 0.0
    max_tokens: int | None = None
    expected: bool = False

    def __post_init__(self) -> None:
        if self.probability not in PROBABILITIES:
            expected = ", ".join(PROBABILITIES)
            raise ValueError(f"probability is {self.probability!r}, expected one of {expected}")
        if self.batch < 1:
            raise ValueError(f"batch is {self.batch}, expected at least 1")
        if self.texts < 1:
            raise ValueError(f"texts is {self.texts}, expected at least 1")
        for name, prompt in self.prompts.items():
            prompt.check_inputs(form_of(prompt, TASKS[name].kind).inputs)

    def prompt(self, questions: Sequence[Any]) -> Prompt:
        """Return the prompt for the questions of one call."""
        task = TASKS[questions[0].task]
        chosen = self.prompts.get(task.name)
        if len(questions) > 1 and not (chosen and chosen.takes_several):
            return load_prompt(task.many)
        return chosen or load_prompt(task.prompts[0])

    def request(self, questions: Sequence[Any]) -> ChatRequest:
        """Return the exact first request for the questions of one call."""
        prompt = self.prompt(questions)
        form = form_of(prompt)
        request = form.request(FormCall(prompt, questions, self.sample))
        wants_tokens = (questions[0].yes_no or form.by_token) and self.probability != "ask"
        wants_tokens |= self.expected and isinstance(questions[0], Rating)
        return replace(
            request,
            temperature=self.temperature,
            max_tokens=self.max_tokens or request.max_tokens,
            sample=self.sample + _AGAIN_APART * asked_again(questions[0]),
            logprobs=_ALTERNATIVES if wants_tokens else 0,
        )

    def most_tokens(self, request: ChatRequest) -> int:
        """Return the token limit of a second attempt, at most `max_tokens`."""
        return self.max_tokens or 2 * request.max_tokens

    def units(self, all_items: Sequence[Item]) -> list[list[Item]]:
        """Return the calls to make, each with its questions.

        Calls that begin with the same text are adjacent, so that servers can reuse the prompt.
        """
        units = []
        for items in _grouped(all_items, lambda question: question.beginning):
            size = self.batch if TASKS[items[0][1].task].many else 1
            alike = _grouped(items, _shared) if size > 1 else [items]
            for group in alike:
                units += split_evenly(group, size)
        return self._joined(units)

    def _joined(self, units: Sequence[list[Item]]) -> list[list[Item]]:
        """Join calls on different texts if the prompt takes several."""
        joined: list[list[Item]] = []
        texts = 0
        for unit in units:
            question = unit[0][1]
            prompt = self.prompts.get(question.task)
            fits = prompt is not None and prompt.takes_texts and texts < self.texts and joined
            if fits and self._continues(joined[-1], unit):
                joined[-1] += unit
                texts += 1
            else:
                joined.append(unit)
                texts = 1
        return joined

    def _continues(self, last: Sequence[Item], unit: Sequence[Item]) -> bool:
        """Whether a call may also ask the questions of another one."""
        first, other = last[0][1], unit[0][1]
        alike = first.task == other.task and _shared(first) == _shared(other)
        return alike and len(last) + len(unit) <= self.batch


_AGAIN_APART = 1000
"""Distance of sample numbers of repeated questions; more than the samples of one question."""


def asked_again(question: Any) -> int:
    """Return the number of a question's repeat in a trial, 0 for none."""
    return int(question.extra.get(AGAIN, 0))


def _shared(question: Any) -> Hashable:
    return question.shared, asked_again(question)


def _grouped(items: Iterable[Item], key: Callable[[Any], Hashable]) -> list[list[Item]]:
    groups: dict[Hashable, list[Item]] = {}
    for item in items:
        groups.setdefault(key(item[1]), []).append(item)
    return list(groups.values())
