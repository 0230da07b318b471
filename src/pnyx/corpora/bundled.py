"""The example that comes with the package: passages, questions, perspectives and labels.

All of it was written for this project (Apache-2.0), with weak, one-sided, off-topic and hostile
passages among the sound ones. The labels are the authors' own.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any, Literal

from pnyx.corpora import read_evidence, read_questions
from pnyx.files import read_jsonl
from pnyx.records import Argument, Perspective, Question

__all__ = ["Example", "ExampleLabel", "load_example"]


@dataclass(frozen=True, slots=True)
class ExampleLabel:
    """What the authors say of one passage with regard to one question.

    Attributes:
        question_id: the question.
        doc_id: the passage.
        relevance: 0 off topic, 1 touches the question, 2 argues it.
        stance: the side it serves; `both` weighs the sides, `none` is off topic.
        quality: 1 weak, 2 sound, 3 strong.
        perspectives: ids of the perspectives that it supports.
    """

    question_id: str
    doc_id: str
    relevance: int
    stance: Literal["pro", "con", "both", "none"]
    quality: int
    perspectives: frozenset[str]


@dataclass(frozen=True, slots=True)
class Example:
    """The bundled example, whole; it is small."""

    arguments: tuple[Argument, ...]
    questions: tuple[Question, ...]
    perspectives: tuple[Perspective, ...]
    labels: tuple[ExampleLabel, ...]


def load_example() -> Example:
    """Read the bundled example: 128 passages on 8 questions, 48 perspectives, 128 labels."""
    with resources.as_file(resources.files("pnyx.corpora") / "example") as folder:
        return Example(
            arguments=tuple(
                record
                for record in read_evidence(str(folder / "arguments.jsonl"), format="arguments")
                if isinstance(record, Argument)
            ),
            questions=tuple(read_questions(str(folder / "questions.jsonl"))),
            perspectives=tuple(
                Perspective(row["id"], row["question_id"], row["text"], row["stance"])
                for row in _rows(folder / "perspectives.jsonl")
            ),
            labels=tuple(
                ExampleLabel(
                    question_id=row["question_id"],
                    doc_id=row["doc_id"],
                    relevance=row["relevance"],
                    stance=row["stance"],
                    quality=row["quality"],
                    perspectives=frozenset(row["perspectives"]),
                )
                for row in _rows(folder / "labels.jsonl")
            ),
        )


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    for _, row in read_jsonl(path):
        yield row
