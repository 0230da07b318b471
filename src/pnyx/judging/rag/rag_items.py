"""Make questions from RAG records: each sentence of an answer, or the answer with its documents."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from pnyx.formats.rag.rag_files import read_rag
from pnyx.formats.rag.rag_rows import RagRecord, RagRecords
from pnyx.formats.text.citations import cited_sentences
from pnyx.judging.questions import JudgeQuestion, Rating, Support
from pnyx.judging.rag.rag import dimensions_for

RAG_TASKS: Final = ("support", "rag")
"""Tasks whose items can also be made from RAG records."""

RECORD: Final = "record"
"""Field of an answer about a sentence: the id of the record that contains the sentence."""


@dataclass(frozen=True, slots=True)
class RagItems:
    """The questions about RAG records, and how these were read."""

    task: str
    read: RagRecords
    questions: Sequence[JudgeQuestion]

    def lines(self) -> list[str]:
        """Return what was read and which rows were skipped, one line each."""
        what = "sentence" if self.task == "support" else "answer"
        count = len(self.questions)
        lines = [self.read.line(count, f"{what}{'s' * (count != 1)} to judge")]
        return [*lines, self.read.skipped_line()] if self.read.skipped else lines


def read_rag_items(
    source: str | Iterable[Mapping[str, Any]],
    task: str,
    columns: Mapping[str, str] | None = None,
    items: Sequence[str] = (),
) -> RagItems | None:
    """Return the questions of a task about the RAG records of a file, or of rows in memory.

    See `read_rag`; `items` are the fields of the task's own items, which are read differently.
    """
    read = read_rag(source, columns, items=items, needs_question=task == "rag")
    if read is None:
        return None
    questions: list[JudgeQuestion] = []
    for record in read.records:
        questions += _sentences(record) if task == "support" else [_whole(record)]
    return RagItems(task, read, questions)


def _sentences(record: RagRecord) -> Iterator[Support]:
    """Yield a question for each sentence of an answer: do its contexts support it?"""
    text = "\n\n".join(record.contexts)
    for number, (sentence, _) in enumerate(cited_sentences(record.answer), 1):
        yield Support(
            f"{record.id}#{number}",
            text,
            sentence,
            question=record.question,
            group=record.group,
            extra={RECORD: record.id, **_run(record)},
            from_answer=True,
        )


def _whole(record: RagRecord) -> Rating:
    """Return the question about an answer with its documents."""
    return Rating(
        id=record.id,
        text=record.answer,
        dimensions=dimensions_for(record.answer, ""),
        scale=(0, 1),
        task="rag",
        question=record.question,
        documents=record.contexts,
        group=record.group,
        extra={RECORD: record.id, **_run(record)},
    )


def _run(record: RagRecord) -> dict[str, str]:
    return {"run_id": record.run_id} if record.run_id else {}
