"""The tasks of `pnyx judge`, from items to questions; a new one needs an entry in `TASKS`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pnyx.core.errors import InputError, OptionError, shorten
from pnyx.formats.base import Options, scanned, strict
from pnyx.formats.fields import Fields
from pnyx.formats.format_table import FORMATS
from pnyx.formats.items import ITEM_FORMATS
from pnyx.judging.dimensions import Scale, scales_of
from pnyx.judging.formats import JudgingFormat, by_dimension, joined_ratings
from pnyx.judging.item_questions import (
    make_preference,
    make_quality,
    make_rag,
    make_ranking,
    make_relevance,
    make_sides,
    make_stance,
    make_support,
    supported_as,
)
from pnyx.judging.questions import JudgeQuestion, Preference, Ranking, Rating, Support
from pnyx.judging.rag.rag import RAG_FORMATS

if TYPE_CHECKING:
    from pnyx.judging.rag.rag_items import RagItems


@dataclass(frozen=True, slots=True)
class Task:
    """A task."""

    name: str
    kind: type
    asks: str  # its question, in one line
    prompts: tuple[str, ...]  # names of its packaged prompts, the default one first
    items: str  # format of its items file, as in `pnyx files validate`
    example: str
    question: Callable[..., JudgeQuestion]  # makes a question from the Fields of a checked line
    many: str = ""  # the prompt for several questions about one text
    graded: bool = False  # whether labels may say: partly
    formats: tuple[JudgingFormat, ...] = ()  # ways of asking a language model about its items

    @property
    def scales(self) -> Mapping[str, Scale]:
        """The scales for rating its items, the default one first; empty if there is no choice."""
        return scales_of(self.name)

    def format(self, name: str) -> JudgingFormat:
        """Return a format by its name; OptionError if the task has no such format."""
        for form in self.formats:
            if form.name == name:
                return form
        excerpt, names = shorten(name, 40), ", ".join(form.name for form in self.formats)
        if not names:
            raise OptionError(
                f"--judge-format: found {excerpt}, but {self.name} is asked in one way only"
            )
        raise OptionError(f"--judge-format: found {excerpt}, expected for {self.name}: {names}")

    def read(
        self,
        path: str,
        *,
        columns: Mapping[str, str] | None = None,
        on_rag: Callable[[RagItems], object] = lambda _: None,
        **options: Any,
    ) -> list[JudgeQuestion]:
        """Read an items file: JSONL, one question per line, ids unique; `options` of `question`.

        For the tasks support and rag it may contain RAG records instead, which are passed to
        `on_rag`; `columns` names their columns.
        """
        rag = self._rag_items(path, columns)
        if rag is not None:
            on_rag(rag)
            return list(rag.questions)
        rows = FORMATS[self.items].scan(path, Options())
        questions = scanned(path, lambda row: self.question(Fields(row), **options), rows=rows)
        return [question for _, question in strict(questions, path, "items")]

    def _rag_items(self, path: str, columns: Mapping[str, str] | None) -> RagItems | None:
        from pnyx.judging.rag.rag_items import RAG_TASKS, read_rag_items

        if self.name not in RAG_TASKS:
            if columns:
                raise OptionError(f"--column is for {' and '.join(RAG_TASKS)}, not {self.name}")
            return None
        required = ITEM_FORMATS[self.items].required
        return read_rag_items(path, self.name, columns, required)


def question_of(row: Mapping[str, Any]) -> Support:
    """Make the question from a line of relevance items that the format has checked."""
    return make_relevance(Fields(row))


_ALL = (
    # BERDS, perspective detection; Auto-ARGUE, attestation.
    Task(
        "support",
        Support,
        "does the text support the statement?",
        (
            *("support", "support-direct"),
            *("support-perspective", "support-perspective-direct"),
            *("support-perspective-one-shot", "support-perspective-one-shot-direct"),
            "support-perspective-many",
            *("support-examples", "support-citations"),
        ),
        "support-items",
        '{"id": "1", "text": "Fares fell and ridership rose.", "statement": "Buses got cheaper."}',
        make_support,
        many="support-many",
    ),
    # Auto-ARGUE, Fig. 1; nuggetizer's three grades.
    Task(
        "nugget",
        Support,
        "does the text give this answer, or claim?",
        ("nugget", "nugget-list", "nugget-examples"),
        "nugget-items",
        '{"id": "1", "text": "Fares fell, so ridership rose.", "question": "Why did ridership '
        'rise?", "statement": "Buses got cheaper."}',
        supported_as("nugget"),
        many="nugget-many",
        graded=True,
    ),
    # DIRAS, under a definition of relevance; with a stance as in ConQRet.
    Task(
        "relevance",
        Support,
        "does the document help with the question?",
        (
            *("relevance", "relevance-direct"),
            *("relevance-probability", "relevance-probability-direct"),
            *("relevance-examples", "relevance-examples-direct"),
        ),
        "relevance-items",
        '{"id": "1", "question": "Should buses be free?", "document": "Fares cost cities little."}',
        make_relevance,
        graded=True,
    ),
    # ConQRet, BERDS.
    Task(
        "stance",
        Support,
        "does the text argue for this side?",
        ("stance", "stance-direct"),
        "stance-items",
        '{"id": "1", "text": "Free buses fill up.", "question": "Should buses be free?",'
        ' "stance": "pro"}',
        make_stance,
    ),
    # 15 dimensions: ConQRet, Table 11; Wachsmuth et al. 2017b.
    Task(
        "quality",
        Rating,
        "how good is the argument, on each dimension?",
        ("quality", "quality-pointwise", "quality-own"),
        "rating-items",
        '{"id": "1", "text": "Tea is healthy, for it holds antioxidants.", "topic": "tea"}',
        make_quality,
        formats=(
            JudgingFormat("listwise", "all dimensions in one call", ("quality",), by_tokens=True),
            JudgingFormat(
                "pointwise",
                "a dimension a call",
                ("quality-pointwise",),
                parts=by_dimension,
                join=joined_ratings,
                by_tokens=True,
            ),
        ),
    ),
    # ConQRet, RAG-Direct.
    Task(
        "preference",
        Preference,
        "which of two arguments is better?",
        ("preference", "preference-points"),
        "preference-items",
        '{"id": "1", "question": "Is tea healthy?", "a": "Yes.", "b": "It depends on the cup."}',
        make_preference,
    ),
    Task(
        "sides",
        Preference,
        "which side of the question does the text argue for?",
        ("sides",),
        "sides-items",
        '{"id": "1", "text": "Free buses fill up.", "question": "Should buses be free?"}',
        make_sides,
    ),
    # ConQRet, Table 3 and Appendix D.
    Task(
        "rag",
        Rating,
        "how good are an argument and the documents it rests on?",
        (
            *("rag-triad", "rag-metric", "rag-metric-criteria", "rag-metric-steps"),
            *("rag-metric-nuggets", "rag-triad-nuggets", "rag-listwise", "rag-listwise-documents"),
        ),
        "rag-items",
        '{"id": "1", "query": "Is tea healthy?", "stance": "pro", "argument": "Tea calms [1].",'
        ' "documents": ["Tea calms nerves.", "Tea is brewed."]}',
        make_rag,
        formats=RAG_FORMATS,
    ),
    # Listwise: ConQRet, Table 9; DIRAS, 4.1.
    Task(
        "ranking",
        Ranking,
        "in what order do the documents serve the query?",
        ("ranking",),
        "ranking-items",
        '{"id": "1", "query": "Is tea healthy?", "documents": ["Tea is brewed.", '
        '"Tea calms nerves."]}',
        make_ranking,
    ),
    # Auto-ARGUE, Fig. 1: the questions about sentences without citations.
    Task(
        "negative",
        Support,
        "does the sentence of the report say that something is not known?",
        ("negative", "negative-examples"),
        "support-items",
        '{"id": "1", "text": "Fares fell. Why is not known.", "statement": "Why is not known."}',
        supported_as("negative"),
        many="negative",
    ),
    Task(
        "needs-citation",
        Support,
        "does the sentence of the report need a source?",
        ("needs-citation", "needs-citation-examples"),
        "support-items",
        '{"id": "1", "text": "Fares fell. More later.", "statement": "Fares fell."}',
        supported_as("needs-citation"),
        many="needs-citation",
    ),
    Task(
        "unanswerable",
        Support,
        "does the negative statement say that the question has no answer?",
        ("unanswerable", "unanswerable-examples"),
        "support-items",
        '{"id": "1", "text": "Why fares fell is not known.", "statement": "Why did fares fall?"}',
        supported_as("unanswerable"),
        many="unanswerable",
    ),
)
TASKS: dict[str, Task] = {task.name: task for task in _ALL}
"""Task name -> task."""


def read_items(path: str, task: str) -> list[JudgeQuestion]:
    """Read an items file as `pnyx judge TASK` does: JSONL, `-` for standard input.

    For support and rag it may also be a table or JSON of RAG records: a question, contexts and an
    answer (docs/reference/formats.md, "RAG rows").

    docs/reference/formats.md has the fields of each task (a name of `TASKS`). Returns the questions
    for a judge, in the order of the file.

    Raises:
        InputError: the task is unknown, or a line is malformed.
    """
    if task not in TASKS:
        raise InputError(f"task: found {task!r}, expected one of: {', '.join(TASKS)}")
    return TASKS[task].read(path)
