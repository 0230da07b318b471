"""The questions of a trial: changed items, each asked once, and where each answer counts."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from pnyx.core.errors import InputError, shorten
from pnyx.judging.questions import JudgeQuestion, Preference, Ranking, Rating, Support
from pnyx.judging.runs.engine import item_bytes

Cell: TypeAlias = tuple[str | float, ...]
"""How the items of a cell were changed: a level, or a way with its direction."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stress:
    """Settings for changing items.

    Attributes:
        levels: noise: shares of the documents to replace, in [0, 1].
        sentences: hallucination: number of sentences to contradict.
        padding: length: words to add, as shares of the text's length.
        orders: order: number of other orders to try.
        repeats: repeat: how often to ask each question again.
        writer: self: the name of the judge as a writer in the items; empty: the prompt names it.
        tolerance: maximum mean change of a steady judge's verdicts, in [0, 1], and minimum fall of
            a score that must fall.
        limit: maximum items, drawn by `seed`; 0 for all.
        draws: number of bootstrap draws; 0 for no intervals.
        seed: for everything random.
    """

    levels: Sequence[float] = (0.0, 0.1, 0.2, 0.5, 0.7, 1.0)
    sentences: Sequence[int] = (0, 1, 2, 5)
    padding: Sequence[float] = (0.5, 1.0, 2.0)
    orders: int = 2
    repeats: int = 3
    writer: str = ""
    tolerance: float = 0.1
    limit: int = 0
    draws: int = 1000
    seed: int = 0

    def __post_init__(self) -> None:
        if not all(0 <= level <= 1 for level in self.levels) or len(set(self.levels)) < 2:
            raise InputError("levels: expected two or more different shares from 0 to 1")
        if min(self.sentences, default=-1) < 0 or len(set(self.sentences)) < 2:
            raise InputError("sentences: expected two or more different counts from 0")
        if min(self.padding, default=0) <= 0:
            raise InputError("padding: expected shares above 0")


@dataclass(frozen=True, slots=True)
class TrialQuestions:
    """The questions of a trial.

    Attributes:
        items: the items that take part.
        questions: the questions, each once; `extra` names the item and the change.
        uses: cell -> (index of the item, index of the question) of each that counts there.
        left_out: why items take no part -> how many.
        facts: other facts for the report, ready for JSON.
    """

    items: Sequence[JudgeQuestion]
    questions: Sequence[JudgeQuestion]
    uses: Mapping[Cell, Sequence[tuple[int, int]]]
    left_out: Mapping[str, int] = field(default_factory=dict)
    facts: Mapping[str, Any] = field(default_factory=dict)


class Poser:
    """Collects questions; a question with the same words as an earlier one is not added again."""

    def __init__(self, items: Sequence[JudgeQuestion]) -> None:
        self._items = items
        self._questions: list[JudgeQuestion] = []
        self._known: dict[tuple[int, bytes], int] = {}
        self._uses: dict[Cell, list[tuple[int, int]]] = {}
        self.left_out = Counter[str]()
        self.facts: dict[str, Any] = {}

    def put(self, item: int, cell: Cell, question: JudgeQuestion, **carried: Any) -> None:
        """Add a question made from the item at an index to a cell; `carried` goes to its answer."""
        original = self._items[item]
        key = item, item_bytes(replace(question, id="", extra=carried))
        if key not in self._known:
            self._known[key] = len(self._questions)
            name = " ".join(map(_named, cell))
            extra = {**original.extra, **carried, "of": original.id, "variant": name}
            if getattr(question, "documents", ()) != getattr(original, "documents", ()):
                extra.pop("doc_ids", None)  # they name the original documents, in their order
            # The part after the last "~" is added here, so that all ids are distinct.
            variant_question = replace(question, id=f"{original.id}~{name}", extra=extra)
            self._questions.append(variant_question)
        self._uses.setdefault(cell, []).append((item, self._known[key]))

    @property
    def cells(self) -> list[Cell]:
        """The cells so far."""
        return list(self._uses)

    def posed(self, trial: str) -> TrialQuestions:
        """Return the collected questions; InputError if there are none."""
        if not self._questions:
            why = ", ".join(f"{n} {what}" for what, n in self.left_out.items())
            raise InputError(f"{trial}: no item can be changed" + (f" ({why})" if why else ""))
        return TrialQuestions(
            self._items, self._questions, self._uses, dict(self.left_out), dict(self.facts)
        )


def _named(part: str | float) -> str:
    return part if isinstance(part, str) else f"{part:g}"


def sampled(items: Sequence[JudgeQuestion], stress: Stress) -> list[JudgeQuestion]:
    """Return the items that take part, in their order."""
    if not stress.limit or stress.limit >= len(items):
        return list(items)
    chosen = random.Random(stress.seed).sample(range(len(items)), stress.limit)
    return [items[index] for index in sorted(chosen)]


def topic_of(item: JudgeQuestion) -> str:
    """Return the topic of an item: its group or question, else the item itself."""
    named = group_of(item)
    if named:
        return named
    question_text = getattr(item, "query", "") or getattr(item, "question", "")
    if not question_text and isinstance(item, Support) and item.task == "relevance":
        question_text = item.statement
    return question_text or item.id


def group_of(item: JudgeQuestion) -> str:
    """Return an item's topic in the form that its answers use."""
    return item.group or str(item.extra.get("question_id") or "")


def label_of(item: JudgeQuestion) -> bool | None:
    """Return people's label of a yes-no item, from its field `label`."""
    label = item.extra.get("label")
    if label is None or not isinstance(item, Support):
        return None
    from pnyx.judging.measures.ground_truth import grade_of

    try:
        return grade_of(label) > 0
    except InputError as error:
        problem = error.problem.removeprefix("value: ")
        raise InputError(f"item {item.id!r}: label: {problem}") from error


def labels_of(item: JudgeQuestion) -> tuple[bool | None, ...]:
    """Return people's label for each document of an item; see `labelled_by`."""
    return tuple(item.extra.get("doc_labels", ()))


def labelled_by(
    items: Sequence[JudgeQuestion], label: Callable[[str, str], bool | None]
) -> list[JudgeQuestion]:
    """Return items with labelled documents, by topic and id; InputError if none has labels."""
    labelled: list[JudgeQuestion] = []
    for item in items:
        topic, ids = group_of(item), item.extra.get("doc_ids")
        if not topic or not ids:
            missing = "ids of its documents" if topic else "group"
            raise InputError(f"item {shorten(item.id, 40)!r}: has no {missing}, which qrels need")
        labels = [label(topic, str(doc_id)) for doc_id in ids]
        labelled.append(replace(item, extra={**item.extra, "doc_labels": labels}))
    if all(label is None for item in labelled for label in labels_of(item)):
        raise InputError("none of the documents of the items is judged for its topic (group)")
    return labelled


def text_of(item: JudgeQuestion) -> str:
    """Return the judged text; of two, the first; of several, all."""
    if isinstance(item, Preference):
        return item.a
    return " ".join(item.texts) if isinstance(item, Ranking) else item.text


def documents_of(item: JudgeQuestion) -> tuple[str, ...]:
    """Return the documents that an item has or ranks, or its single text."""
    if isinstance(item, Support):
        return (item.text,)
    if isinstance(item, Ranking):
        return item.texts
    return item.documents if isinstance(item, Rating | Preference) else ()


def rotated_texts(items: Sequence[JudgeQuestion], seed: int) -> list[list[str]]:
    """Return as many texts of other topics for each item; InputError if there is only one topic."""
    by_topic: dict[str, list[str]] = {}
    for item in items:
        topic_texts = by_topic.setdefault(topic_of(item), [])
        topic_texts += [
            text for text in documents_of(item) if text.strip() and text not in topic_texts
        ]
    topics = sorted(topic for topic, texts in by_topic.items() if texts)
    if len(topics) < 2:
        raise InputError(
            f"noise: expected items of two topics or more (group, or question), found "
            f"{len(topics)}: irrelevant documents are other topics'"
        )
    return [_others(item, by_topic, topics, seed) for item in items]


def _others(
    item: JudgeQuestion, by_topic: Mapping[str, Sequence[str]], topics: Sequence[str], seed: int
) -> list[str]:
    """Return texts of other topics, without repetition if possible; none of the own topic's."""
    rng = random.Random(f"{seed}/{item.id}")
    own_topic = topic_of(item)
    own_texts = frozenset(by_topic.get(own_topic, ()))
    others = [
        t for t in topics if t != own_topic and any(text not in own_texts for text in by_topic[t])
    ]
    if not others:
        raise InputError(f"noise: item {item.id!r}: its topic contains all texts of other topics")
    taken: list[str] = []
    for _ in documents_of(item):
        for _ in range(100):
            free = [text for text in by_topic[rng.choice(others)] if text not in own_texts]
            other = rng.choice(free)
            if other not in taken:
                break
        taken.append(other)
    return taken


def spread(sizes: Iterable[int], seed: int) -> list[list[float]]:
    """Return a number in [0, 1) for each member of groups: those below x are a share x of each."""
    groups = []
    for number, size in enumerate(sizes):
        rng = random.Random(f"{seed}/spread/{number}")
        order = list(range(size))
        rng.shuffle(order)
        offset = rng.random()
        places = [0.0] * size
        for rank, member in enumerate(order):
            places[member] = (rank + offset) / size
        groups.append(places)
    return groups
