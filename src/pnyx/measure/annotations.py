"""Files of relevance labels, a judge's or people's, and what others say of the same pairs.

What `pnyx annotate apply` writes is read here, as are the answers of `pnyx judge relevance` and the
pairs of `pnyx annotate label`: all have an id, a value and a probability.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from pnyx.corpora import read_qrels
from pnyx.corpora.base import parse_rows, scan_json_objects, strict, unique
from pnyx.corpora.fields import Fields, number
from pnyx.corpora.items import LABEL_WORDS
from pnyx.corpora.parquet import read_parquet
from pnyx.errors import InputError, shorten
from pnyx.measure.gold import read_labels

__all__ = ["Annotation", "Truth", "read_annotations", "truth_of_labels", "truth_of_qrels"]

_FILES = ("labelled.jsonl", "answers.jsonl")
"""What a results folder may hold."""
_TASK = "relevance"


@dataclass(frozen=True, slots=True)
class Annotation:
    """A judge's label for one pair of question and document.

    Attributes:
        id: of the pair.
        question_id: of the question, or the pair's group; empty where the file names neither.
        doc_id: of the document; empty where the file names none.
        value: relevant or not; None where it is unscored.
        probability: that it is relevant, in [0, 1]; 1 or 0 of a value without one, None where it
            is unscored.
        unscored: why there is no value.
        judge: who said so; empty where the file does not say.
        extra: all other fields of the line.
    """

    id: str
    question_id: str = ""
    doc_id: str = ""
    value: bool | None = None
    probability: float | None = None
    unscored: str = ""
    judge: str = ""
    extra: Mapping[str, Any] = field(default_factory=dict, hash=False, repr=False)

    @property
    def confidence(self) -> float | None:
        """The probability of the value given: that of relevant or, of a no, 1 less that.

        For a judge that says yes from a probability of one half on, the greater of the two.
        """
        if self.probability is None:
            return None
        return self.probability if self.value else 1.0 - self.probability


Truth: TypeAlias = Callable[[Annotation], bool | None]
"""Says whether a pair is relevant; None if there is no label."""


def read_annotations(path: str | Path, *, judge: str | None = None) -> Iterator[Annotation]:
    """Yield the labels of a file, streaming; also the unscored.

    Args:
        path: JSONL, gzip or not; Parquet; or a results folder; `-` for standard input.
        judge: whose labels, where the file holds those of several.

    Raises:
        InputError: at the first fault, naming file and line; also where there are no labels, or
            those of several judges and `judge` is None.
        MissingExtra: the file is Parquet and pyarrow is not installed.
    """
    source = _file(path)
    parquet = source.endswith(".parquet")
    scanned = read_parquet(source) if parquet else scan_json_objects(source)
    rows = parse_rows(scanned, _parse, source, "row" if parquet else "line")
    names: dict[str, None] = {}
    found = False
    for _, one in strict(unique(rows, lambda a: (a.id, a.judge), source, "id"), source, "labels"):
        names[one.judge] = None
        if judge is None and len(names) > 1:
            shown = ", ".join(repr(shorten(name, 40)) for name in names)
            problem = f"holds the labels of several judges ({shown}): name one with --judge"
            raise InputError(problem, path=path)
        if judge is None or one.judge == judge:
            found = True
            yield one
    if not found:
        shown = ", ".join(shorten(name, 40) for name in list(names)[:5])
        problem = f"holds no labels of {shorten(judge or '', 40)!r} (judges found: {shown})"
        raise InputError(problem, path=path)


def _file(path: str | Path) -> str:
    folder = Path(path)
    if str(path) == "-" or not folder.is_dir():
        return str(path)
    for name in _FILES:
        if (folder / name).exists():
            return str(folder / name)
    raise InputError(f"holds no {' or '.join(_FILES)}", path=path)


def _parse(row: Mapping[str, Any]) -> Annotation:
    fields = Fields(row)
    identifier, task = fields.identifier("id"), fields.text("task")
    if task not in ("", _TASK):
        raise InputError(f"task: found {shorten(task, 40)!r}, expected {_TASK}")
    value = _value(fields.take("value"))
    unscored = fields.text("unscored")
    stated = fields.take("probability")
    probability = None if value is None else float(value) if stated is None else _share(stated)
    question_id, group = _identifier(fields, "question_id"), _identifier(fields, "group")
    return Annotation(
        identifier,
        question_id or group,
        _identifier(fields, "doc_id"),
        value,
        probability,
        "" if value is not None else unscored or "no verdict",
        fields.text("judge"),
        fields.rest,
    )


def _value(value: Any) -> bool | None:
    if value is None or isinstance(value, bool):
        return value
    word = value.strip().lower() if isinstance(value, str) else ""
    if word in LABEL_WORDS:
        return LABEL_WORDS[word]
    raise InputError(f"value: found {shorten(repr(value), 40)}, expected true, false or null")


def _share(value: Any) -> float:
    if not 0 <= number(value, "probability") <= 1:
        raise InputError(f"probability: found {shorten(value, 40)}, expected 0 to 1")
    return float(value)


def _identifier(fields: Fields, name: str) -> str:
    value = fields.take(name)
    return "" if value is None else str(value)


def truth_of_labels(path: str | Path) -> Truth:
    """Return what people's labels (JSONL) say, joined on id; of several, the majority.

    Raises:
        InputError: a line is no label.
    """
    gold = read_labels(path, _TASK).gold

    def truth(annotation: Annotation) -> bool | None:
        found = gold.get((annotation.id, ""))
        return None if found is None else found.yes

    return truth


def truth_of_qrels(path: str | Path, *, least: int = 1, unjudged: bool = False) -> Truth:
    """Return what qrels say, joined on question and document.

    Args:
        path: TREC or BEIR qrels.
        least: the least grade that counts as relevant.
        unjudged: pairs that are not there count as irrelevant, as in collections whose people
            looked for what is relevant and wrote down only that.

    Raises:
        InputError: a line is broken.
    """
    found: dict[tuple[str, str], bool] = {}
    for qrel in read_qrels(str(path)):
        key = qrel.topic_id, qrel.doc_id
        found[key] = found.get(key, False) or qrel.grade >= least

    def truth(annotation: Annotation) -> bool | None:
        if not (annotation.question_id and annotation.doc_id):
            raise InputError(
                f"pair {shorten(annotation.id, 40)!r} lacks question_id or doc_id, which qrels need"
            )
        default = False if unjudged else None
        return found.get((annotation.question_id, annotation.doc_id), default)

    return truth
