"""Rating: all dimensions of one text in one call ("listwise", ConQRet section 5.1)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any

from pnyx.judge.dimensions import definition
from pnyx.judge.forms.base import Form, Reading, by_name, reordered, strict
from pnyx.judge.prompting import Prompt
from pnyx.judge.questions import Rating
from pnyx.judge.reading import UnreadableReply, one_object, validated_value

if TYPE_CHECKING:
    from pydantic import BaseModel

__all__ = ["RatingForm"]


class RatingForm(Form):
    """Asks for a score on each dimension; a sample reorders the dimensions."""

    kind = Rating
    inputs = {  # noqa: RUF012
        **dict.fromkeys(("text", "topic", "stance"), False),
        **dict.fromkeys(("documents", "dimensions"), True),
    }
    listed = "dimensions"

    def reply(self, question: Rating) -> type[BaseModel]:
        """Return the type of the entry on one dimension: a reason and a score on the scale."""
        return _score(*question.scale)

    def score(self, question: Rating, entry: Any) -> float:
        """Return what an entry says, as a number on the question's scale."""
        number: float = entry.score
        return number

    def put(
        self, prompt: Prompt, questions: Sequence[Rating], sample: int
    ) -> tuple[dict[str, Any], Sequence[str]]:
        """See `Form.put`."""
        (question,) = questions
        names = [name for _, name in reordered(question.dimensions, sample, question.text)]
        inputs = {
            "text": question.text,
            "topic": question.question,
            "stance": question.stance,
            "documents": list(question.documents),
            "dimensions": [f"{name}: {definition(question.task, name)}" for name in names],
        }
        return {name: inputs[name] for name in prompt.inputs}, names

    def read(
        self, prompt: Prompt, questions: Sequence[Rating], sample: int, text: str
    ) -> list[Reading | None]:
        """See `Form.read`; each dimension that the reply omits is unscored."""
        (question,) = questions
        given = by_name(one_object(text))
        unknown = [name for name in given if name not in question.dimensions]
        if unknown:
            raise UnreadableReply(f"found a score on {unknown[0][:40]!r}, not asked for")
        model = self.reply(question)
        scores: list[Any] = []
        reasons = {}
        missing = {}
        for name in question.dimensions:
            if name not in given:
                scores.append(None)
                missing[name] = "missing: not in the reply"
                continue
            entry = validated_value(model, given[name], name)
            scores.append(self.score(question, entry))
            reasons[name] = entry.reason
        if len(missing) == len(scores):
            raise UnreadableReply("it scores none of the dimensions")
        return [
            Reading(
                value=scores if len(scores) > 1 else scores[0],
                notes={"reasons": reasons, **({"dimensions": missing} if missing else {})},
            )
        ]


@cache
def _score(low: float, high: float) -> type[BaseModel]:
    from pydantic import Field, WithJsonSchema, create_model

    values = list(range(math.ceil(low), math.floor(high) + 1))
    told = WithJsonSchema({"type": "integer", "enum": values})
    score = Annotated[int, Field(ge=low, le=high), told]
    return create_model("Score", __config__=strict(), reason=(str, ...), score=(score, ...))
