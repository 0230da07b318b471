"""A language model as a judge: a prompt, a strict reading of its reply, a stated probability."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from pnyx.errors import shorten
from pnyx.judge.answers import Answer, Judged, Provenance, Unscored
from pnyx.judge.base import Emit, of_kind
from pnyx.judge.completions import StoredModel
from pnyx.judge.prompting import Prompt, load_prompt
from pnyx.judge.questions import JudgeQuestion, Support, blank
from pnyx.judge.reading import UnreadableReply, cut_reason, validated
from pnyx.judge.tasks import TASKS
from pnyx.models.chat import CallFailed, ChatRequest, Reply

if TYPE_CHECKING:
    from pydantic import BaseModel

__all__ = ["LlmJudge", "find_evidence", "read_verdict"]

_MAX_EVIDENCE = 4000


class LlmJudge:
    """Asks a chat model; answers Support questions with its stated confidence (DIRAS "Ask").

    The prompt follows from the question's task. A reply that is not exactly what was asked for
    gives `Unscored`: no verdict is ever fished out of other text.

    Args:
        model: the model with its store.
    """

    kinds: frozenset[type] = frozenset({Support})

    def __init__(self, model: StoredModel) -> None:
        self.model = model

    @property
    def name(self) -> str:
        """The model's name."""
        return self.model.name

    @property
    def card(self) -> str:
        """That nothing is known of this judge until it is measured."""
        return (
            f"no measured card for {shorten(self.name)}: "
            "run pnyx measure against labels before trusting it"
        )

    async def answer(self, questions: Sequence[JudgeQuestion], emit: Emit) -> None:
        """Answer each question through `emit`; see `pnyx.judge.base.Judge`."""
        asked = []
        for position, question in enumerate(of_kind(Support, questions, self.name)):
            if problem := blank(question) or _no_prompt(question):
                emit(position, Unscored(problem, Provenance(self.name, method="stated")))
            else:
                asked.append((position, question))
        under_way: dict[int, tuple[Prompt, ChatRequest]] = {}

        def requests() -> Iterator[ChatRequest]:
            for place, (_, question) in enumerate(asked):
                prompt = load_prompt(TASKS[question.task].prompt)
                request = prompt.request(**_inputs(prompt, question))
                under_way[place] = (prompt, request)
                yield request

        def receive(place: int, outcome: Reply | CallFailed) -> None:
            position, question = asked[place]
            emit(position, self._answer(question, *under_way.pop(place), outcome))

        await self.model.complete_all(requests(), receive)

    def _answer(
        self, question: Support, prompt: Prompt, request: ChatRequest, outcome: Reply | CallFailed
    ) -> Answer:
        details: dict[str, Any] = {"prompt": prompt.label, "prompt_file": prompt.hash}
        if isinstance(outcome, CallFailed):
            provenance = Provenance(self.name, request.hash, "stated", details)
            return Unscored(outcome.reason, provenance)
        details |= {
            "model": outcome.model,
            "finish_reason": outcome.finish_reason,
            "response_format": outcome.response_format,
            "usage": dict(outcome.usage),
            "store_key": self.model.key(request),
        }
        provenance = Provenance(self.name, request.hash, "stated", details)
        if cut := cut_reason(outcome, request):
            return Unscored(cut, provenance, outcome.text)
        try:
            verdict: Any = read_verdict(outcome.text)
        except UnreadableReply as error:
            return Unscored(f"schema: {error}", provenance, outcome.text)
        yes = verdict.answer == "yes"
        return Judged(
            value=yes,
            provenance=provenance,
            probability=verdict.confidence if yes else 1.0 - verdict.confidence,
            explanation=verdict.reason,
            evidence=find_evidence(verdict.evidence, question.text),
            raw=outcome.text,
        )


def _no_prompt(question: Support) -> str:
    if question.task in TASKS:
        return ""
    return f"task: no prompt for {shorten(question.task, 40)!r}"


def _inputs(prompt: Prompt, question: Support) -> dict[str, str]:
    return {name: getattr(question, name) for name in prompt.inputs}


@cache
def _verdict_model() -> type[BaseModel]:
    from typing import Annotated, Literal

    from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

    def plain(value: Any) -> Any:
        return value.strip().lower() if isinstance(value, str) else value

    class Verdict(BaseModel):
        model_config = ConfigDict(strict=True, extra="forbid", frozen=True)

        reason: str
        evidence: str
        answer: Annotated[Literal["yes", "no"], BeforeValidator(plain)]
        confidence: Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]

    return Verdict


def read_verdict(text: str) -> Any:
    """Read a reply to a Support question.

    Args:
        text: one JSON object, alone or in one Markdown fence; a leading `<think>` block is
            passed over. Spelling of yes and no is taken in any case.

    Returns:
        An object with `reason`, `evidence`, `answer` ("yes" or "no") and `confidence` in [0, 1].

    Raises:
        UnreadableReply: anything else: no or several objects, a field too many or too few, a
            confidence out of range. A half-valid reply is not an answer.
    """
    return validated(_verdict_model(), text)


def find_evidence(quote: str, text: str) -> str:
    """Return the span of `text` that a quote repeats word for word, or an empty string.

    White space may differ; the span is returned as it stands in the text. Quotation marks or an
    ellipsis that a model puts around its quote are passed over.
    """
    quote = quote.strip(" \t\r\n\"'“”‘’….")
    words = quote.split()
    if not words or len(quote) > _MAX_EVIDENCE:
        return ""
    if quote in text:
        return quote
    found = re.search(r"\s+".join(map(re.escape, words)), text)
    return found.group() if found else ""
