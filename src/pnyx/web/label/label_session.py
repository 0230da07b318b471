"""The data behind the pages: items, states, the journal, and the labels file."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from io import TextIOWrapper
from itertools import chain
from typing import Any, Final, Literal, NamedTuple, cast

from pnyx.core.errors import InputError, PnyxError
from pnyx.core.files import atomic_text, json_line
from pnyx.core.threads import start_thread
from pnyx.formats.label_words import ADJUDICATED
from pnyx.judging.questions import JudgeQuestion, Preference, Rating
from pnyx.judging.tasks import Task
from pnyx.judging.verdicts import Verdict
from pnyx.web.label.forms import Form, form_of
from pnyx.web.label.journal import LabelJournal
from pnyx.web.label.label_log import Act, Book, State, disputed, label_rows
from pnyx.web.label.people import is_turned, order_of, shared_out

Show = Literal["open", "answered", "unsure", "skipped", "commented", "differs"]
SHOWS: Final[Mapping[str, str]] = {
    "open": "Open",
    "answered": "Answered",
    "unsure": "Unsure",
    "skipped": "Skipped",
    "commented": "With a comment",
    "differs": "Unlike the judge",
}
"""Filter of a list of items -> its label."""

_REST: Final = 10.0
"""After writing LABELS, wait this many times as long as that took before writing again."""


class StaleError(PnyxError):
    """The item was answered after the page was loaded."""


@dataclass(frozen=True, slots=True)
class Share:
    """How items are assigned to annotators."""

    annotators: tuple[str, ...] = ()  # each with a token; empty: anybody who gives a name
    overlap: int | None = None  # how many label each item; None for all
    shuffle: bool = False  # whether each has an order of their own
    seed: int = 0  # seed of order, sides and shares

    def row(self) -> dict[str, Any]:
        """Return the settings that must not change when a journal is continued."""
        names = ("overlap", "shuffle", "seed")
        return {f"--{name}": getattr(self, name) for name in names} | {
            "--annotators": list(self.annotators) if self.overlap is not None else []
        }


class Progress(NamedTuple):
    """The progress of one person: items done (answered or skipped), all, skipped, unsure."""

    done: int
    all: int
    skipped: int
    unsure: int


@dataclass
class Desk:
    """The state of labelling; a judge's `suggested` answers are shown after one's own."""

    task: Task
    questions: Sequence[JudgeQuestion]
    journal: LabelJournal
    share: Share = Share()
    suggested: Mapping[tuple[str, str], Verdict] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.places = {question.id: n for n, question in enumerate(self.questions)}
        self.book = Book(self.journal.acts())
        self._orders: dict[str, list[int]] = {}
        share = self.share
        self._shares = (
            shared_out(len(self.questions), share.annotators, share.overlap, share.seed)
            if share.annotators
            else {}
        )
        self._lock = threading.Lock()
        self._lines: dict[str, bytes] = {}
        self._scales: dict[tuple[float, float], Sequence[Any]] = {}
        self._tallies: dict[str, dict[str, list[int]]] = {}
        self._file = _File(self._write)

    # What is shown ------------------------------------------------------------------------------

    def order(self, who: str) -> list[int]:
        """Return a person's items in display order."""
        if who not in self._orders:
            items = self._shares.get(who, () if self._shares else range(len(self.questions)))
            items = range(len(self.questions)) if who == ADJUDICATED else items
            shuffle = self.share.shuffle and who != ADJUDICATED
            self._orders[who] = order_of(items, who, self.share.seed, shuffle=shuffle)
        return self._orders[who]

    def form(self, question: JudgeQuestion, who: str) -> Form:
        """Return the form of an item for a person."""
        sided = isinstance(question, Preference) and who != ADJUDICATED
        return form_of(question, turned=sided and is_turned(question.id, who, self.share.seed))

    def state(self, who: str, item: int) -> State:
        """Return a person's state of an item, by its number in the file."""
        return self.book.state(who, self.questions[item].id)

    def progress(self, who: str) -> tuple[Progress, dict[str, Progress]]:
        """Return a person's progress: in total, and by group."""
        if who not in self._tallies:
            tally: dict[str, list[int]] = {}
            for item in self.order(who):
                group_tally = tally.setdefault(self.questions[item].group, [0, 0, 0, 0])
                group_tally[1] += 1
                _count(group_tally, self.state(who, item).act, 1)
            self._tallies[who] = tally
        counts = self._tallies[who]
        total = Progress(*map(sum, zip(*counts.values(), strict=True))) if counts else _NONE
        return total, {group: Progress(*numbers) for group, numbers in counts.items()}

    def shows(self, who: str, item: int, show: str) -> bool:
        """Return whether an item passes a list's filter; without a filter, all do."""
        state = self.state(who, item)
        act = state.act
        if show == "open":
            return act is None
        if show == "differs":
            return bool(self.differing(who, item))
        matches = {
            "answered": state.answered,
            "unsure": act is not None and act.unsure,
            "skipped": act is not None and act.does == "skip",
            "commented": act is not None and bool(act.comment),
        }
        return matches.get(show, True)

    def following(self, who: str, position: int, show: str = "open") -> int | None:
        """Return the next position in a person's order that passes `show`, cyclically, or None."""
        order = self.order(who)
        for n in chain(range(position + 1, len(order)), range(min(position, len(order)))):
            if self.shows(who, order[n], show):
                return n
        return None

    def differing(self, who: str, item: int) -> list[str]:
        """Return the dimensions on which the judge and a person differ."""
        question, act = self.questions[item], self.state(who, item).act
        if act is None or not act.values:
            return []
        dimensions = []
        for dimension, value in act.values.items():
            judged = self.suggested.get((question.id, dimension))
            if judged is not None and judged.value is not None:
                theirs, its = question.value_of(value), question.value_of(judged.value)
                dimensions += [dimension] if theirs != its else []
        return dimensions

    def disputes(self) -> list[int]:
        """Return the items on which people differ, by their number in the file."""
        return [n for n, question in enumerate(self.questions) if self.disputed(question)]

    def disputed(self, question: JudgeQuestion) -> list[str]:
        """Return the dimensions of an item on which people differ."""
        answers = list(self.book.answers(question.id))
        if len(answers) < 2:
            return []
        steps: Sequence[Any] = ()
        if isinstance(question, Rating):
            if question.scale not in self._scales:
                choices = form_of(question).fields[0].choices
                self._scales[question.scale] = sorted(choice.value for choice in choices)
            steps = self._scales[question.scale]
        return disputed(answers, dict.fromkeys(question.cells, steps) if steps else {})

    @property
    def trouble(self) -> str:
        """Why LABELS could not be written last time; empty if it was."""
        return self._file.trouble

    # Actions -------------------------------------------------------------------------------

    def record(self, act: Act, version: int) -> State:
        """Record an act and apply it; on StaleError, InputError or PnyxError it does not count."""
        with self._lock:
            state = self.book.state(act.who, act.item)
            if state.version != version:
                raise StaleError("this item was answered elsewhere after this page was opened")
            if act.does == "undo" and self.book.last(act.who) != act.item:
                raise InputError("only the last answer can be taken back")
            act = replace(act, at=datetime.now(UTC).isoformat(timespec="seconds"))
            self.journal.add(act)
            before = state.act
            state = self.book.apply(act)
            self._recount(act, before, state.act)
            if act.does != "draft":
                self._lines[act.item] = self._rendered(act.item)
                self._file.changed()
            return state

    def _recount(self, act: Act, before: Act | None, after: Act | None) -> None:
        tally = self._tallies.get(act.who)
        if tally is not None:
            group_tally = tally[self.questions[self.places[act.item]].group]
            _count(group_tally, before, -1)
            _count(group_tally, after, 1)

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield the lines of LABELS, in the order of the items."""
        for question in self.questions:
            yield from self._rows_of(question.id)

    def summary(self) -> dict[str, int]:
        """Return the number of answers, answered items and annotators."""
        answer_counts = [
            sum(1 for _ in self.book.answers(question.id)) for question in self.questions
        ]
        return {
            "items": len(answer_counts),
            "answered": sum(map(bool, answer_counts)),
            "answers": sum(answer_counts),
            "annotators": len(self.book.people),
        }

    def _rows_of(self, item: str) -> list[dict[str, Any]]:
        answers = self.book.answers(item, adjudicated=True)
        return label_rows(self.questions[self.places[item]], answers)

    def _rendered(self, item: str) -> bytes:
        lines = "".join(json_line(row) + "\n" for row in self._rows_of(item))
        return lines.encode("utf-8", "replace")

    def _write(self) -> None:
        with self._lock:
            lines = [self._lines.get(question.id, b"") for question in self.questions]
        with atomic_text(self.journal.labels) as stream:
            # As bytes in one call, so that other threads can continue.
            cast("TextIOWrapper", stream).buffer.write(b"".join(lines))

    # While open ---------------------------------------------------------------------------

    def __enter__(self) -> Desk:
        """Write LABELS from the journal, and again whenever it changes."""
        for question in self.questions:
            if rendered := self._rendered(question.id):
                self._lines[question.id] = rendered
        self._write()
        self._file.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._file.stop()


_NONE: Final = Progress(0, 0, 0, 0)


def _count(tally: list[int], act: Act | None, by: int) -> None:
    """Add an act to the counts of a `Progress`, or subtract it."""
    if act is not None:
        tally[0] += by
        tally[2] += by * (act.does == "skip")
        tally[3] += by * act.unsure


class _File:
    """Writes a file in a thread soon after changes (less often if large), and at the end."""

    def __init__(self, write: Callable[[], None]) -> None:
        self._write = write
        self._changed, self._ended = threading.Event(), threading.Event()
        self._thread: threading.Thread
        self.trouble = ""

    def start(self) -> None:
        self._thread = start_thread(self._run, "labels")

    def changed(self) -> None:
        self._changed.set()

    def stop(self) -> None:
        self._ended.set()
        self._changed.set()
        self._thread.join()
        self._write()

    def _run(self) -> None:
        while not self._ended.is_set():
            self._changed.wait()
            self._changed.clear()
            begun = time.monotonic()
            try:
                self._write()
                self.trouble = ""
            except PnyxError as error:  # the journal still has it; the page reports the error
                self.trouble = str(error)
            self._ended.wait(_REST * (time.monotonic() - begun))
