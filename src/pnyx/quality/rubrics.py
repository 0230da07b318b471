"""Rubrics drafted by a language model for a person to review: dimensions, scale and examples."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any

from pnyx.core.errors import InputError, escaped, shorten
from pnyx.judging.dimensions import dimensions_of
from pnyx.judging.dimensions.own import NAME, OwnDimensions, parse_draft
from pnyx.judging.llm.concurrent import each
from pnyx.judging.llm.prompts import load_prompt
from pnyx.judging.llm.structured_replies import ask_structured
from pnyx.judging.store.completions import StoredModel

_UNSEEN = re.compile(r"[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
"""Invisible control characters, such as direction marks; escaped so that the reviewer sees them."""
MOST_POINTS = 11
"""Maximum points of a scale; each point is given a meaning."""


@dataclass(frozen=True, slots=True)
class DraftedRubric:
    """The TOML of a draft and its parsed content; both None if no reply could be parsed.

    `problems` lists what went wrong, one line each.
    """

    toml: str | None
    dimensions: OwnDimensions | None
    problems: tuple[str, ...] = ()


def draft_rubric(
    purpose: str, model: StoredModel, *, low: int = 1, high: int = 5, most: int = 5
) -> DraftedRubric:
    """Let a language model draft dimensions for rating texts.

    The draft says `reviewed = false`; it cannot be used until a person sets that to true.

    Args:
        purpose: what is to be rated and for what purpose, in plain words.
        model: its stored replies are used again instead of asking twice.
        low: lowest score.
        high: highest score, above `low` by 1 to 10.
        most: dimensions, at least 1.

    Raises:
        ModelError: the model cannot be reached.
    """
    if not low < high < low + MOST_POINTS:
        raise InputError(f"high: found {high}, expected {low + 1} to {low + MOST_POINTS - 1}")

    async def work(_: None) -> DraftedRubric:
        inputs = {
            "purpose": purpose,
            "points": f"whole numbers from {low} to {high}",
            "room": str(most),
            "names": ", ".join(dimensions_of("quality")),
        }
        request = load_prompt("rubric").request(inputs, items=most)
        reply, problems = await ask_structured(model, request, rubric_shape(low, high, most))
        if reply is None:
            return DraftedRubric(None, None, (f"{shorten(model.name, 40)}: {problems[-1]}",))
        toml = _toml(reply, low, high, model.name)
        return DraftedRubric(toml, parse_draft(toml), tuple(problems))

    return each([None], work, model)[0]


@cache
def rubric_shape(low: int, high: int, most: int) -> Any:
    """Return the schema of a reply to `rubric`; it accepts only what `--dimensions` can read."""
    from pydantic import ConfigDict, Field, StringConstraints, create_model, model_validator

    strict: Any = {"__config__": ConfigDict(strict=True, extra="forbid", str_strip_whitespace=True)}

    def text(most: int) -> Any:
        return Annotated[str, StringConstraints(min_length=1, max_length=most)]

    def some(kind: Any, least: int, most: int) -> Any:
        return Annotated[list[kind], Field(min_length=least, max_length=most)]

    name = Annotated[str, StringConstraints(pattern=rf"^{NAME}$")]
    points = Annotated[int, Field(ge=low, le=high)]
    score = create_model("Scored", **strict, dimension=(name, ...), score=(points, ...))
    example = create_model(
        "Example", **strict, text=(text(4000), ...), scores=(some(score, 1, most), ...)
    )
    dimension = create_model(
        "Drafted", **strict, name=(name, ...), label=(text(100), ...),
        definition=(text(2000), ...),
    )  # fmt: skip

    def readable(reply: Any) -> Any:
        try:
            parse_draft(_toml(reply, low, high, "model"))
        except InputError as error:
            raise ValueError(error.problem) from error
        return reply

    checks: Any = {"readable": model_validator(mode="after")(readable)}
    return create_model(
        "Rubric",
        **strict,
        __validators__=checks,
        dimensions=(some(dimension, 1, most), ...),
        levels=(some(text(300), high - low + 1, high - low + 1), ...),
        examples=(some(example, 1, 6), ...),
    )


def _toml(reply: Any, low: int, high: int, model: str) -> str:
    """Return a file of dimensions; JSON strings are valid TOML except for DEL."""

    def text(value: str) -> str:
        return _UNSEEN.sub(lambda m: f"\\u{ord(m[0]):04x}", json.dumps(value, ensure_ascii=False))

    levels = ",\n".join(
        f"    {text(f'{point}: {_unnumbered(meaning, point)}')}"
        for point, meaning in enumerate(reply.levels, low)
    )
    lines = [
        "# A draft. Read and correct it; with the next line set to true, --dimensions takes it.",
        "reviewed = false",
        f"drafted_by = {text(escaped(model))}",
        f"\n[scale]\nlow = {low}\nhigh = {high}\nlevels = [\n{levels},\n]",
    ]
    for dimension in reply.dimensions:
        label, definition = (
            text(" ".join(v.split())) for v in (dimension.label, dimension.definition)
        )
        lines.append(f"\n[dimensions.{dimension.name}]\nlabel = {label}\ndefinition = {definition}")
    for example in reply.examples:
        scores = ", ".join(f"{s.dimension} = {s.score}" for s in example.scores)
        lines.append(f"\n[[examples]]\ntext = {text(example.text)}\nscores = {{ {scores} }}")
    return "\n".join(lines) + "\n"


def _unnumbered(meaning: str, point: int) -> str:
    return re.sub(rf"^\s*{point}\s*[:.)-]\s*", "", " ".join(meaning.split()))
