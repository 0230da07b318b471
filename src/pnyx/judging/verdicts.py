"""Verdicts of a judge or labels of people on items: one row type, and the only reader of rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from sys import intern
from typing import Any, Literal, TypeAlias, TypeVar

from pnyx.core.errors import InputError, shorten
from pnyx.core.folders import file_in
from pnyx.formats.base import Row, located, parse_rows, scan_json_objects, strict, unique
from pnyx.formats.fields import Fields, number, string
from pnyx.formats.items import ITEM_FORMATS
from pnyx.formats.label_words import LABEL_WORDS
from pnyx.judging.answers import ANSWERS, Answer, Judged, Unscored, answer_rows
from pnyx.judging.value_rows import rows_in_form

T = TypeVar("T")
V = TypeVar("V", "Verdict", "VerdictRow")

YES_NO_TASKS = ("nugget", "negative", "needs-citation", "unanswerable")
"""Yes/no tasks that can be measured as support or as relevance."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """A judge's verdict on an item, or a person's label; fields missing in the file are empty.

    Attributes:
        id: id of the item.
        question_id: id of its question, else its group.
        value: the answer; None if it is unscored.
        probability: of yes, in [0, 1]; None if none is stated.
        unscored: the reason if there is no value.
        judge: name of the judge; `annotator` is the person of a label.
        extra: all other fields of the line.
        task: the task; `dimension` is that of a rating.
        line: line of the file, or position in a list.
    """

    id: str = ""
    question_id: str = ""
    doc_id: str = ""
    value: Any = None
    probability: float | None = None
    unscored: str = ""
    judge: str = ""
    extra: Mapping[str, Any] = field(default_factory=dict, hash=False, repr=False)
    task: str = ""
    dimension: str = ""
    perspective_id: str = ""
    group: str = ""
    annotator: str = ""
    line: int = field(default=0, compare=False, repr=False)

    @property
    def confidence(self) -> float | None:
        """The probability of the value: that of yes or, for a no, 1 minus that."""
        if self.probability is None:
            return None
        return self.probability if self.value else 1.0 - self.probability

    @property
    def key(self) -> tuple[str, str]:
        """Id and dimension, by which answers and labels are joined."""
        return self.id, self.dimension


Source: TypeAlias = str | Path | Mapping[str, Any] | Iterable[Mapping[str, Any] | Answer | Verdict]
"""A file, `-`, a results folder, the result of `pnyx.ask`, rows, verdicts, or id -> value."""


def read_verdicts(
    source: Source, form: str | None = "answers", *, files: tuple[str, ...] = (ANSWERS,)
) -> Iterator[Verdict]:
    """Yield the verdicts of a source, streaming, including unscored ones.

    `form` is the format (`ITEM_FORMATS`) of its lines; None accepts any row with an id, a value and
    a probability. `files` are the names to look for in a results folder. InputError at the first
    malformed row.
    """
    if not isinstance(source, str | Path):
        yield from _in_memory(source, form, _verdict)
        return
    path = file_of(source, files)
    rows, unit = _rows_of(path)
    yield from _checked(rows, form, path, unit, _verdict)


VerdictRow: TypeAlias = tuple[Verdict, str, Any, float | None, int]
"""A verdict (shared by rows that differ only in the other fields), id, value, probability, line.
Its `extra` has only the fields that `measure` reads."""

_ALIKE = ("question_id", "group", "judge", "task", "unscored", "dimension", "doc_id",
          "perspective_id", "annotator")  # fmt: skip
_KEPT = ("label", "method", "text_id", "gain", "uncertain")
_PLAIN = frozenset((str, bool, type(None)))


def read_verdict_rows(source: Source, form: str = "answers") -> Iterator[VerdictRow]:
    """Yield the same as `read_verdicts`, faster and with far less memory."""
    seen: dict[Any, Verdict] = {}

    def verdict_row(row: Mapping[str, Any], line: int) -> VerdictRow:
        value, probability, parts = row.get("value"), row.get("probability"), row.get
        alike = (value is None, *map(parts, _ALIKE), *map(parts, _KEPT))
        sound = probability is None or (type(probability) is float and 0 <= probability <= 1)
        if not (sound and type(row.get("id")) is str and _PLAIN.issuperset(map(type, alike))):
            verdict = _verdict(row, line, _KEPT)
            return verdict, verdict.id, verdict.value, verdict.probability, line
        if alike not in seen:
            if len(seen) >= 4096:
                seen.clear()
            seen[alike] = _verdict(row, line, _KEPT)
        return seen[alike], row["id"], value, None if value is None else probability, line

    if isinstance(source, str | Path):
        path = file_of(source)
        rows, unit = _rows_of(path)
        yield from _checked(rows, form, path, unit, verdict_row)
        return
    for item in _in_memory(source, form, verdict_row):
        is_verdict = isinstance(item, Verdict)
        yield (item, item.id, item.value, item.probability, item.line) if is_verdict else item


def _rows_of(path: str) -> tuple[Iterator[Row[dict[str, Any]]], str]:
    """Return the rows of a file, and the word for a row in messages."""
    if path.endswith(".parquet"):
        from pnyx.formats.documents.tables import read_parquet

        return read_parquet(path), "row"
    return scan_json_objects(path), "line"


def _checked(
    rows: Iterable[Row[dict[str, Any]]],
    form: str | None,
    path: str,
    unit: str,
    make: Callable[[Mapping[str, Any], int], T],
) -> Iterator[T]:
    if form is None:
        numbered = (row if isinstance(row, InputError) else (row[0], row) for row in rows)
        verdicts = parse_rows(numbered, lambda row: make(row[1], row[0]), path, unit)
        for _, verdict in strict(unique(verdicts, _by_judge, path, "id", unit), path, "labels"):
            yield verdict
        return
    item = ITEM_FORMATS[form]
    parsed = parse_rows(rows, item.parse, path, unit)
    what = " and ".join(item.key)
    once = unique(parsed, item.identities(), path, what, unit, identity=item.identity)
    for position, row in strict(once, path, "items"):
        try:
            yield make(row, position)
        except InputError as error:
            raise located(error, path, position, unit) from error


def _by_judge(verdict: Any) -> tuple[str, str]:
    return verdict.id, verdict.judge


def _in_memory(
    source: Iterable[Any], form: str | None, make: Callable[[Mapping[str, Any], int], T]
) -> Iterator[Any]:
    """Yield existing verdicts unchanged, and check rows and answers."""
    items = iter(rows_in_form(source, form or "answers"))
    first = next(items, None)
    if isinstance(first, Verdict):
        return chain([first], items)
    rows = (row for item in chain(() if first is None else (first,), items)
            for row in _rows(item, form))  # fmt: skip
    return _checked(enumerate(rows, 1), form, "rows", "row", make)


def _rows(item: Any, form: str | None) -> list[dict[str, Any]]:
    if not isinstance(item, Judged | Unscored):
        return [dict(item)]
    if item.question is None:
        raise InputError("found an answer without its question, expected what pnyx.ask returned")
    if form == "labels" and isinstance(item, Unscored):
        return []  # a label without a value does not count
    return answer_rows(item.question, item)


def file_of(path: str | Path, files: tuple[str, ...] = (ANSWERS,)) -> str:
    """Return a file, or the file in a results folder; InputError if there is none."""
    folder = Path(path)
    if str(path) == "-" or not folder.is_dir():
        return str(path)
    for name in files:
        if (file := file_in(folder, name)) is not None:
            return str(file)
    partial = any((folder / f"{name}.partial").exists() for name in files)
    why = "its run has not ended" if partial else "expected the results folder of a run"
    raise InputError(f"holds no {' or '.join(files)}: {why}", path=path)


def of_one_judge(
    verdicts: Iterable[V],
    judge: str | None,
    source: Source,
    check: Callable[[V], V] | None = None,
    what: str = "answers",
) -> Iterator[V]:
    """Yield one judge's verdicts, each through `check`; InputError if several need a name."""
    path = file_of(source) if isinstance(source, str | Path) else "rows"
    names: dict[str, None] = {}
    any_scored = False
    for verdict in verdicts:
        name = verdict[0].judge if isinstance(verdict, tuple) else verdict.judge
        names[name] = None
        try:
            if judge is None and len(names) > 1:
                listing = ", ".join(repr(shorten(name, 40)) for name in names)
                problem = f"holds {what} of several judges ({listing}): name one with --by"
                raise InputError(problem)
            if judge is None or name == judge:
                any_scored = True
                yield verdict if check is None else check(verdict)
        except InputError as error:
            line = verdict[4] if isinstance(verdict, tuple) else verdict.line
            raise located(error, path, line) from error
    if not any_scored:
        listing = ", ".join(shorten(name, 40) for name in list(names)[:5])
        problem = f"holds no {what} of {shorten(judge or '', 40)!r} (judges found: {listing})"
        raise InputError(problem, path=path)


def read_annotations(source: Source, *, judge: str | None = None) -> Iterator[Verdict]:
    """Yield labels of relevance, by a judge or by people, streaming, including unscored ones.

    The sources are outputs of `pnyx annotate` and `pnyx judge relevance`: lines with an id, a value
    and a probability. For a value without a probability, it is 1 or 0.

    Args:
        source: JSONL, gzip or not; Parquet; a results folder; `-`; or the result of `pnyx.ask`.
        judge: the judge whose labels count, if there are several.

    Raises:
        InputError: at the first malformed row, naming file and line; also if there are no labels,
            or labels of several judges and `judge` is None.
        MissingExtra: the file is Parquet and pyarrow is not installed.
    """
    files = ("labelled.jsonl", ANSWERS)
    verdicts = read_verdicts(source, None, files=files)
    named = file_of(source, files) if isinstance(source, str | Path) else source
    return of_one_judge(verdicts, judge, named, _annotation, "labels")


def _annotation(verdict: Verdict) -> Verdict:
    if verdict.task not in ("", "relevance", *YES_NO_TASKS):
        raise InputError(f"task: found {shorten(verdict.task, 40)!r}, expected relevance")
    value, probability = yes_or_no(verdict.value), verdict.probability
    if value is not None and probability is None:
        probability = float(value)
    return replace(verdict, value=value, probability=probability)


def yes_or_no(value: Any) -> bool | None:
    """Return a yes/no value (people may write words), None if it is open."""
    if value is None or isinstance(value, bool):
        return value
    word = value.strip().lower() if isinstance(value, str) else ""
    if word in LABEL_WORDS:
        return LABEL_WORDS[word]
    raise InputError(f"value: found {shown_value(value)}, expected true, false or null")


def shown_value(value: Any) -> str:
    """Return a value as text for messages."""
    return shorten(repr(value), 40)


def _verdict(row: Mapping[str, Any], line: int, fields: tuple[str, ...] = ()) -> Verdict:
    rest = dict(row)
    take = rest.pop
    value, probability = take("value", None), take("probability", None)
    if probability is not None and not 0 <= number(probability, "probability") <= 1:
        raise InputError(f"probability: found {shorten(probability, 40)}, expected 0 to 1")
    question = _identifier(take("question_id", None), "question_id")
    group = _identifier(take("group", None), "group")
    reason = _text(take("unscored", None), "unscored")
    key = rest.get("id")
    if not isinstance(key, str) or not key.strip():
        key = Fields(rest).identifier("id")
    del rest["id"]
    return Verdict(
        id=key,
        question_id=question or group,
        value=value,
        probability=None if value is None or probability is None else float(probability),
        unscored="" if value is not None else reason or "no verdict",
        judge=_text(take("judge", None), "judge"),
        task=_text(take("task", None), "task"),
        dimension=_text(take("dimension", None), "dimension"),
        doc_id=_identifier(take("doc_id", None), "doc_id"),
        perspective_id=_identifier(take("perspective_id", None), "perspective_id"),
        group=group,
        annotator=_identifier(take("annotator", None), "annotator"),
        # A copy, to drop the capacity used for the other fields.
        extra={name: rest[name] for name in fields if name in rest} if fields else dict(rest),
        line=line,
    )


def _text(value: Any, name: str) -> str:
    return "" if value is None else intern(string(value, name))


def _identifier(value: Any, name: str) -> str:
    if isinstance(value, str):
        return intern(value)
    if isinstance(value, bool | list | dict):
        raise InputError(f"{name}: found {shown_value(value)}, expected an id")
    return "" if value is None else str(value)


UnscoredPairs: TypeAlias = Literal["error", "skip", "zero"]
"""How to write unscored pairs in qrels: an error, no line, or grade 0."""
