"""Rating: all dimensions of one text in one call ("listwise", ConQRet section 5.1)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from pnyx.judge.dimensions import definition
from pnyx.judge.forms.base import Reading, by_name, keyed, reordered
from pnyx.judge.prompting import Prompt
from pnyx.judge.questions import Rating
from pnyx.judge.reading import UnreadableReply, one_object, validated_value
from pnyx.models.replies import ChatRequest

if TYPE_CHECKING:
    from pydantic import BaseModel

__all__ = ["RatingForm"]


class RatingForm:
    """Asks for a score on each dimension; a sample reorders the dimensions."""

    kind: type = Rating
    inputs: Mapping[str, bool] = MappingProxyType(
        {"text": False, "topic": False, "stance": False, "documents": True, "dimensions": True}
    )

    def request(self, prompt: Prompt, questions: Sequence[Rating], sample: int) -> ChatRequest:
        """See `Form.request`; one question a call."""
        (question,) = questions
        shown = reordered(question.dimensions, sample, question.text)
        names = [name for _, name in shown]
        inputs = {
            "text": question.text,
            "topic": question.question,
            "stance": question.stance,
            "documents": list(question.documents),
            "dimensions": [f"{name}: {definition(question.task, name)}" for name in names],
        }
        schema = keyed(prompt.schema or {}, names)
        return prompt.request(
            {name: inputs[name] for name in prompt.inputs}, items=len(names), schema=schema
        )

    def read(
        self, prompt: Prompt, questions: Sequence[Rating], sample: int, text: str
    ) -> list[Reading | None]:
        """See `Form.read`; each dimension that the reply omits is unscored."""
        (question,) = questions
        given = by_name(one_object(text))
        unknown = [name for name in given if name not in question.dimensions]
        if unknown:
            raise UnreadableReply(f"found a score on {unknown[0][:40]!r}, not asked for")
        model = _score_model(*question.scale)
        scores: list[Any] = []
        reasons = {}
        missing = {}
        for name in question.dimensions:
            if name not in given:
                scores.append(None)
                missing[name] = "missing: not in the reply"
                continue
            entry = validated_value(model, given[name], name)
            scores.append(entry.score)
            reasons[name] = entry.reason
        if len(missing) == len(scores):
            raise UnreadableReply("it scores none of the dimensions")
        return [
            Reading(
                value=scores if len(scores) > 1 else scores[0],
                notes={"reasons": reasons, **({"dimensions": missing} if missing else {})},
            )
        ]

    def reorders(self, prompt: Prompt) -> bool:
        """See `Form.reorders`."""
        return "dimensions" in prompt.inputs


@cache
def _score_model(low: float, high: float) -> type[BaseModel]:
    from typing import Annotated

    from pydantic import BaseModel, ConfigDict, Field

    class Score(BaseModel):
        model_config = ConfigDict(strict=True, extra="forbid", frozen=True)

        reason: str
        score: Annotated[int, Field(ge=low, le=high)]

    return Score
