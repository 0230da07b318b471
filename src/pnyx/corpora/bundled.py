"""The example that comes with the package: passages, questions, perspectives and labels.

All of it was written for this project (Apache-2.0), with weak, one-sided, off-topic and hostile
passages among the sound ones. The labels are the authors' own.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from importlib import resources
from pathlib import Path
from typing import Any, Literal

from pnyx.corpora import read_evidence, read_questions
from pnyx.corpora.guidelines import write_guidelines
from pnyx.corpora.items import PARTLY
from pnyx.corpora.perspectives import write_perspectives
from pnyx.files import json_line, read_jsonl
from pnyx.records import Argument, Perspective, Question

__all__ = ["Example", "ExampleLabel", "load_example", "write_example"]

_LABEL = ("question_id", "doc_id", "relevance", "stance", "quality")
_SAID = ("no", PARTLY, "yes")
"""Relevance 0, 1 and 2 in the words of a labels file."""


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
            perspectives=tuple(Perspective(**row) for row in _rows(folder / "perspectives.jsonl")),
            labels=tuple(
                ExampleLabel(
                    **{name: row[name] for name in _LABEL},
                    perspectives=frozenset(row["perspectives"]),
                )
                for row in _rows(folder / "labels.jsonl")
            ),
        )


def write_example(example: Example, folder: Path) -> None:
    """Write the example as files that users' own may look like.

    `arguments.jsonl` are the passages, `questions.md` the questions with what is relevant to each,
    and `labels.jsonl` people's labels of all 1,024 pairs by `QUESTION/PASSAGE`, as `pnyx annotate
    sample` and `apply` name pairs. A passage that was written for another question is irrelevant:
    the topics share words and no arguments; all pairs that share a question's words were read.
    `perspectives.jsonl` are the perspectives on the questions.

    Args:
        example: the bundled one.
        folder: an existing folder.
    """
    passages = resources.files("pnyx.corpora") / "example" / "arguments.jsonl"
    (folder / "arguments.jsonl").write_bytes(passages.read_bytes())
    with (folder / "questions.md").open("w", encoding="utf-8") as stream:
        write_guidelines(stream, (replace(q, description="") for q in example.questions))
    own = {(label.question_id, label.doc_id): label.relevance for label in example.labels}
    with (folder / "labels.jsonl").open("w", encoding="utf-8") as stream:
        for question in example.questions:
            for argument in example.arguments:
                said = _SAID[own.get((question.id, argument.id), 0)]
                row = {"id": f"{question.id}/{argument.id}", "value": said, "group": question.id}
                stream.write(json_line(row) + "\n")
    asked = {question.id: question.text for question in example.questions}
    with (folder / "perspectives.jsonl").open("w", encoding="utf-8") as stream:
        write_perspectives(
            stream,
            (
                replace(p, extra={**p.extra, "question": asked[p.question_id]})
                for p in example.perspectives
            ),
        )


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    for _, row in read_jsonl(path):
        yield row
