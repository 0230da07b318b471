"""A language model as a judge: a prompt, a strict reading of its reply, a stated probability."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from pnyx.errors import shorten
from pnyx.judge.answers import Answer, Judged, Provenance, Unscored
from pnyx.judge.base import Emit
from pnyx.judge.completions import StoredModel
from pnyx.judge.prompting import Prompt, load_prompt
from pnyx.judge.questions import JudgeQuestion, Support
from pnyx.judge.tasks import TASKS
from pnyx.models.chat import CallFailed, ChatRequest, Reply

if TYPE_CHECKING:
    from pydantic import BaseModel

__all__ = ["LlmJudge", "UnreadableReply", "find_evidence", "read_verdict"]

_CUT = ("length", "content_filter", "refusal")
_MAX_EVIDENCE = 4000


class UnreadableReply(ValueError):  # noqa: N818 - reads as what happened
    """The reply is not the one JSON object that was asked for; `str()` says what it lacks."""


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
        under_way: dict[int, tuple[Support, Prompt, ChatRequest]] = {}

        def requests() -> Iterator[ChatRequest]:
            for position, question in enumerate(questions):
                if not isinstance(question, Support):
                    raise TypeError(f"{self.name} does not answer {type(question).__name__}")
                prompt = prompt_for(question)
                request = prompt.request(**_inputs(prompt, question))
                under_way[position] = (question, prompt, request)
                yield request

        def receive(position: int, outcome: Reply | CallFailed) -> None:
            question, prompt, request = under_way.pop(position)
            emit(position, self._answer(question, prompt, request, outcome))

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
        if outcome.finish_reason in _CUT:
            return Unscored(_cut_reason(outcome, request), provenance, outcome.text)
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


def prompt_for(question: Support) -> Prompt:
    """Return the packaged prompt of a question's task."""
    task = TASKS.get(question.task)
    return load_prompt(question.task if task is None else task.prompt)


def _inputs(prompt: Prompt, question: Support) -> dict[str, str]:
    return {name: getattr(question, name) for name in prompt.inputs}


def _cut_reason(reply: Reply, request: ChatRequest) -> str:
    if reply.finish_reason == "refusal":
        return f"refusal: {shorten(reply.text)}"
    if reply.finish_reason == "length":
        return f"length: the reply was cut off; {request.max_tokens} tokens were allowed"
    return "content_filter: the endpoint withheld the reply"


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
    from pydantic import ValidationError

    try:
        return _verdict_model().model_validate(_one_object(text))
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(str(part) for part in first["loc"]) or "the reply"
        raise UnreadableReply(shorten(f"{place}: {first['msg']}", 120)) from error


_FENCE = re.compile(r"```(?:json)?[ \t]*\n(.*?)\n[ \t]*```", re.DOTALL | re.IGNORECASE)
_THINKING = re.compile(r"\s*<think>.*?</think>", re.DOTALL)


def _one_object(text: str) -> dict[str, Any]:
    """Decode the only JSON object of a reply; an object with a key twice is none."""
    import json

    text = _THINKING.sub("", text, count=1) if _THINKING.match(text) else text
    fences = _FENCE.findall(text)
    if "```" in text:
        outside = _FENCE.sub("", text)
        if len(fences) != 1 or "{" in outside or "```" in outside:
            raise UnreadableReply("found several or broken blocks, expected one JSON object")
        text = fences[0]
    try:
        value = json.loads(text.strip(), object_pairs_hook=_distinct, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        shown = repr(shorten(text.strip(), 60)) if text.strip() else "nothing"
        raise UnreadableReply(f"found {shown}, expected one JSON object") from error
    if not isinstance(value, dict):
        raise UnreadableReply("found another JSON value, expected an object")
    return value


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len({key for key, _ in pairs}) != len(pairs):
        raise ValueError("a key comes twice")
    return dict(pairs)


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


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
