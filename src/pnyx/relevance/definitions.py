"""Definitions of relevance: drafted by a language model, edited by people (DIRAS, section 2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Annotated, Any

from pnyx.core.errors import shorten
from pnyx.core.files import clean_text
from pnyx.core.records import Question
from pnyx.formats.text.segment import trim, word_weight
from pnyx.judging.llm.concurrent import each
from pnyx.judging.llm.prompts import load_prompt
from pnyx.judging.llm.structured_replies import ask_structured
from pnyx.judging.store.completions import StoredModel

_MAX_EXAMPLES = 5
_EXAMPLE_WORDS = 200


@dataclass(frozen=True, slots=True)
class DraftedDefinition:
    """A question with its definition of relevance, and what went wrong (one line each).

    If the model gave no definition, `failed` is True and the question is unchanged.
    """

    question: Question
    problems: tuple[str, ...] = ()
    failed: bool = False


def draft_definitions(
    questions: Sequence[Question],
    model: StoredModel,
    examples: Mapping[str, Sequence[str]] | None = None,
) -> list[DraftedDefinition]:
    """Let a language model write a definition for each question that has none.

    Args:
        questions: those with a definition keep it and are not sent to the model.
        model: its stored replies are used again instead of asking twice.
        examples: question id -> passages judged relevant by people, of which the first five are
            shown (an "improved" definition: DIRAS, App. I); none for a generic one.

    Returns:
        One result for each question, in order.

    Raises:
        ModelError: the model cannot be reached.
    """
    example_texts = examples or {}
    open_ones = [question for question in questions if not question.definition.strip()]
    drafted = iter(
        each(
            open_ones,
            lambda question: _draft(question, example_texts.get(question.id, ()), model),
            model,
        )
    )
    return [DraftedDefinition(q) if q.definition.strip() else next(drafted) for q in questions]


async def _draft(
    question: Question, passages: Sequence[str], model: StoredModel
) -> DraftedDefinition:
    inputs = {
        "question": question.text,
        "background": "\n".join(
            part
            for part in (question.description, question.narrative)
            if part not in ("", question.text)
        ),
        "examples": [_shortened(text) for text in passages[:_MAX_EXAMPLES]],
    }
    request = load_prompt("definition").request(inputs)
    reply, problems = await ask_structured(model, request, _reply_model())
    if reply is None:
        fault = f"{shorten(model.name, 40)} gave no definition: {problems[-1]}"
        return DraftedDefinition(question, (fault,), failed=True)
    listed = "\n".join(f"- {' '.join(example.split())}" for example in reply.examples)
    definition = f"{' '.join(reply.meaning.split())}\n{listed}"
    return DraftedDefinition(replace(question, definition=clean_text(definition)), tuple(problems))


def _shortened(text: str) -> str:
    return trim(text, _EXAMPLE_WORDS) if word_weight(text) > _EXAMPLE_WORDS else text


@cache
def _reply_model() -> Any:
    import pydantic

    strict = pydantic.ConfigDict(strict=True, extra="forbid", frozen=True)
    words = Annotated[str, pydantic.StringConstraints(min_length=8, max_length=4000)]
    kind = Annotated[str, pydantic.StringConstraints(min_length=2, max_length=500)]
    kinds = Annotated[list[kind], pydantic.Field(min_length=1, max_length=20)]
    return pydantic.create_model(
        "Reply", __config__=strict, meaning=(words, ...), examples=(kinds, ...)
    )
