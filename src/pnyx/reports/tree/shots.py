"""Examples for the questions of the report tree (few-shot: Auto-ARGUE, 2.1)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice, product
from typing import Any

from pnyx.core.errors import InputError
from pnyx.formats.base import Options, scanned, strict
from pnyx.formats.format_table import FORMATS
from pnyx.formats.label_words import LABEL_WORDS, PARTLY
from pnyx.formats.text.segment import trim
from pnyx.judging.base import Emit, Judge
from pnyx.judging.questions import Shot, Support
from pnyx.judging.shots import SHOT_WORDS, hash_of
from pnyx.reports.tree.node_questions import NEEDS_CITATION, NEGATIVE, NUGGET, SUPPORT, UNANSWERABLE
from pnyx.reports.tree.word_rules import plain_words

EXAMPLES = "report-examples"
"""Format of a file of examples (docs/reference/formats.md)."""

TASK_OF = {
    "relevant": NUGGET,
    "attests": SUPPORT,
    "answers": NUGGET,
    "negative": NEGATIVE,
    "unanswerable": UNANSWERABLE,
    "needs_citation": NEEDS_CITATION,
    "said_before": SUPPORT,
}
"""Node of the tree -> the task that is asked there."""

_OF_SENTENCE = frozenset({"attests", "negative", "needs_citation", "said_before"})
"""Nodes at which the statement is the judged sentence, whatever the text."""


class ReportShots:
    """Examples, half of them a yes, in the order of their ids' hashes, without the judged items."""

    def __init__(self, examples: Iterable[ReportExample], count: int) -> None:
        if count < 2 or count % 2:
            raise InputError(f"{count} examples, expected an even number: half of them yes")
        self._half = count // 2
        self._of: dict[str, list[ReportExample]] = {}
        for example in sorted(examples, key=lambda example: hash_of(example.id)):
            self._of.setdefault(example.node, []).append(example)
        for (node, some), yes in product(self._of.items(), (True, False)):
            n = sum(example.shot.yes is yes for example in some)
            if n < self._half:
                word = "yes" if yes else "no"
                raise InputError(
                    f"found {n} examples at {node} that are {word}, expected {self._half}"
                )
        self.left_out: dict[str, None] = {}

    @property
    def tasks(self) -> list[str]:
        """The tasks of the tree that have examples."""
        return list(dict.fromkeys(TASK_OF[node] for node in self._of))

    def shown(self, question: Support) -> Support:
        """Return a question of the tree with the examples for its node."""
        some = self._of.get(question.extra.get("node", ""))
        if some is None:
            return question
        same_items = {example.id for example in some if example.is_asked(question)}
        self.left_out |= dict.fromkeys(same_items)
        taken = {
            example.id
            for yes in (True, False)
            for example in islice(
                (o for o in some if o.shot.yes is yes and o.id not in same_items), self._half
            )
        }
        return replace(question, shots=tuple(s.shot for s in some if s.id in taken))


class ShotJudge:
    """Wraps a judge, and shows it examples with each question of the tree."""

    def __init__(self, judge: Judge, shots: ReportShots) -> None:
        self.name, self.kinds, self.card = judge.name, judge.kinds, judge.card
        self._judge, self._shots = judge, shots

    async def answer(self, questions: Sequence[Any], emit: Emit) -> None:
        """See `pnyx.judging.base.Judge`."""
        await self._judge.answer([self._shots.shown(question) for question in questions], emit)


@dataclass(frozen=True, slots=True)
class ReportExample:
    """An answered question of a node; `statement` and `text` are its plain words."""

    id: str
    node: str
    shot: Shot
    statement: str
    text: str

    def is_asked(self, question: Support) -> bool:
        """Return whether a question asks this: by id, or if one text contains the other."""
        if self.id == question.id:
            return True
        if self.statement != _words(question.statement):
            return False
        text = _words(question.text)
        return self.node in _OF_SENTENCE or self.text in text or text in self.text


def read_examples(path: str) -> list[ReportExample]:
    """Read a file of examples; InputError if a line is invalid, or there is none."""
    rows = FORMATS[EXAMPLES].scan(path, Options())
    return [example for _, example in strict(scanned(path, _example, rows=rows), path, "examples")]


def _example(row: Mapping[str, Any]) -> ReportExample:
    text, statement, value = row["text"], row["statement"], row["value"]
    word = value.strip().lower() if isinstance(value, str) else ""
    partial = word == PARTLY
    yes = value if not word else LABEL_WORDS[word] and not partial
    shot = Shot(trim(text, SHOT_WORDS), statement, yes, partial, row.get("question") or "")
    return ReportExample(row["id"], row["node"], shot, _words(statement), _words(text))


def _words(text: str) -> str:
    return f" {' '.join(plain_words(text))} "
