"""The bundled example, written for this project (Apache-2.0); its labels are the authors' own."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from importlib import resources
from pathlib import Path
from typing import IO, Any, Literal

from pnyx.core.files import atomic_folder, json_line, read_jsonl
from pnyx.core.records import Argument, Perspective, Qrel, Question
from pnyx.formats import read_evidence, read_questions, write_qrels
from pnyx.formats.base import Writer
from pnyx.formats.label_words import PARTLY
from pnyx.formats.markdown import write_guidelines
from pnyx.formats.perspectives import write_perspectives

_PASSAGES = 5
"""Passages per question in `items.jsonl`."""

EXAMPLE_FOLDER = "rent"
"""Name of the folder of ordinary files: 14 about rents in an invented town, 2 on other topics."""
EXAMPLE_QUESTION = "Does rent control reduce the supply of housing?"
"""A question that these files argue on both sides."""

_LABEL = ("question_id", "doc_id", "relevance", "stance", "quality")
_SAID = ("no", PARTLY, "yes")
"""Relevance 0, 1 and 2 in the words of a labels file."""


@dataclass(frozen=True, slots=True)
class ExampleLabel:
    """The authors' labels of one passage for one question.

    `relevance`: 0 off topic, 1 touches the question, 2 argues it. `stance`: the side it supports;
    `both` weighs the sides, `none` is off topic. `quality`: 1 weak, 2 sound, 3 strong.
    `perspectives`: ids of those it supports.
    """

    question_id: str
    doc_id: str
    relevance: int
    stance: Literal["pro", "con", "both", "none"]
    quality: int
    perspectives: frozenset[str]


@dataclass(frozen=True, slots=True)
class ExampleWording:
    """How the demo words a question; `text` is set if it differs from the question."""

    id: str
    how: Literal["own_words", "other_words", "no_labels"]
    text: str


@dataclass(frozen=True, slots=True)
class Example:
    """The bundled example, whole."""

    arguments: tuple[Argument, ...]
    questions: tuple[Question, ...]
    perspectives: tuple[Perspective, ...]
    labels: tuple[ExampleLabel, ...]
    wordings: tuple[ExampleWording, ...]


def write_example_folder(folder: Path) -> None:
    """Write the example of ordinary, unlabelled files as a new folder, all or nothing."""
    with (
        resources.as_file(resources.files("pnyx.formats") / "example" / EXAMPLE_FOLDER) as source,
        atomic_folder(folder) as new,
    ):
        shutil.copytree(source, new, dirs_exist_ok=True)


def load_example() -> Example:
    """Read the bundled example: 128 passages on 8 questions, 48 perspectives, 128 labels."""
    with resources.as_file(resources.files("pnyx.formats") / "example") as folder:
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
            wordings=tuple(ExampleWording(**row) for row in _rows(folder / "asked.jsonl")),
        )


def write_example(example: Example, folder: Path) -> None:
    """Write the example into an existing folder, as files like those of users.

    `labels.jsonl` has all 1,024 pairs by `QUESTION/PASSAGE`; `items.jsonl` five passages of each
    question with each perspective on it.
    """
    passages = resources.files("pnyx.formats") / "example" / "arguments.jsonl"
    (folder / "arguments.jsonl").write_bytes(passages.read_bytes())
    questions = (replace(question, description="") for question in example.questions)
    _write(folder / "questions.md", questions, write_guidelines)
    relevances = {(label.question_id, label.doc_id): label.relevance for label in example.labels}
    labels = (
        {
            "id": f"{question.id}/{argument.id}",
            "value": _SAID[relevances.get((question.id, argument.id), 0)],
            "group": question.id,
        }
        for question in example.questions
        for argument in example.arguments
    )
    _write(folder / "labels.jsonl", labels)
    qrels = (Qrel(*pair, relevance) for pair, relevance in relevances.items() if relevance)
    _write(folder / "qrels.txt", qrels, write_qrels)
    question_texts = {question.id: question.text for question in example.questions}
    perspectives = (
        replace(
            perspective,
            extra={**perspective.extra, "question": question_texts[perspective.question_id]},
        )
        for perspective in example.perspectives
    )
    _write(folder / "perspectives.jsonl", perspectives, write_perspectives)
    items, item_labels = zip(*_items(example, question_texts), strict=True)
    _write(folder / "items.jsonl", items)
    _write(folder / "item-labels.jsonl", item_labels)


def _items(
    example: Example, question_texts: Mapping[str, str]
) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Yield passages with perspectives on their question, and the label of each pair."""
    texts = {argument.id: argument.text for argument in example.arguments}
    taken = Counter[str]()
    for label in example.labels:
        taken[label.question_id] += 1
        if taken[label.question_id] > _PASSAGES:
            continue
        for view in example.perspectives:
            if view.question_id == label.question_id:
                pair = {"id": f"{label.doc_id}/{view.id}"}
                group = {"group": label.question_id}
                item = {
                    "text": texts[label.doc_id],
                    "statement": view.text,
                    "question": question_texts[label.question_id],
                }
                value = "yes" if view.id in label.perspectives else "no"
                yield {**pair, **item, **group}, {**pair, "value": value, **group}


def _write_rows(stream: IO[str], rows: Iterable[Mapping[str, Any]]) -> None:
    stream.writelines(json_line(row) + "\n" for row in rows)


def _write(path: Path, records: Iterable[Any], writer: Writer = _write_rows) -> None:
    with path.open("w", encoding="utf-8") as stream:
        writer(stream, records)


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    return (row for _, row in read_jsonl(path))
