"""A student that is trained in a second or two on a part of the bundled example, and commands."""

from __future__ import annotations

import functools
import tempfile
from pathlib import Path
from typing import Any

from command import run
from pnyx.core.files import json_line
from pnyx.formats.bundled_example import load_example
from pnyx.judging.students.lexical import LexicalTrainer
from pnyx.judging.students.student import StudentJudge, open_student
from pnyx.relevance.distillation import Distillation, distil
from pnyx.relevance.labelled_pairs import read_labelled


def labelled_rows(questions: int = 4, passages: int = 4) -> list[dict[str, Any]]:
    """Return the pairs of the first questions with the first conclusions of each, labelled."""
    example = load_example()
    asked = example.questions[:questions]
    relevance = {(x.question_id, x.doc_id): x.relevance > 0 for x in example.labels}
    shown = []
    for question in asked:
        own = [a for a in example.arguments if (question.id, a.id) in relevance]
        shown += own[:passages]
    return [
        {
            "id": f"{q.id}/{a.id}",
            "question": q.text,
            "definition": q.definition,
            "document": a.conclusion,
            "question_id": q.id,
            "doc_id": a.id,
            "value": relevance.get((q.id, a.id), False),
            "judge": "people",
        }
        for q in asked
        for a in shown
    ]


def write_rows(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json_line(row) + "\n" for row in rows), encoding="utf-8")
    return path


@functools.cache
def tiny_student() -> StudentJudge:
    """Train once for all tests of a session."""
    with tempfile.TemporaryDirectory() as folder:
        path = write_rows(Path(folder) / "labelled.jsonl", labelled_rows())
        out = Path(folder) / "tiny"
        distil(list(read_labelled(path)), LexicalTrainer(), Distillation("tiny"), out)
        return open_student(out)


def distilled(out: Path, kind: str, questions: int = 4) -> Path:
    """Train a student by the command line, its labels beside it; return its folder."""
    path = write_rows(out.parent / "labelled.jsonl", labelled_rows(questions))
    assert run("annotate", "distil", path, "--out", out, "--kind", kind) == 0
    return out


def refused(result: tuple[int, str, str]) -> str:
    """Check that a command ended with one line and status 2; return the line."""
    status, out, error = result
    assert (status, out, error.count("\n")) == (2, "", 1), result
    return error
