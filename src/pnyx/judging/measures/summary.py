"""Summary of a judge's answers without labels: shares of yes and mean ratings, with intervals."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from pnyx.core.errors import InputError, shorten
from pnyx.core.restricted_mode import reason_word
from pnyx.core.tabular import Result
from pnyx.judging.rag.rag_items import RECORD
from pnyx.judging.verdicts import Source, Verdict, file_of, of_one_judge, read_verdicts
from pnyx.stats.base import BOOTSTRAP, Bootstrap, Measured
from pnyx.stats.intervals import cluster_mean

FEW_YES, MOST_YES = 0.05, 0.95
"""Shares of yes below and above which a threshold may not fit the data."""
LEAST_WARNED = 20
"""Scored answers required for a warning about such a share."""
_WARNED: Final = ("support", "rag")
"""Tasks in which such shares are unusual; in a deep run, few relevant documents are normal."""

_UNITS: Final = {
    "support": ("statement", "supported"),
    "nugget": ("nugget", "given"),
    "relevance": ("document", "relevant"),
    "stance": ("text", "for the side asked about"),
    "negative": ("sentence", "statements that something is not known"),
    "needs-citation": ("sentence", "in need of a citation"),
    "unanswerable": ("statement", "about what the question asks"),
}
"""Yes/no task -> the judged unit, and its description if the answer is yes."""

RULE: Final = "An answer is supported if each of its sentences is."


@dataclass(frozen=True, slots=True)
class YesShare:
    """The share of units with a yes, such as supported answers."""

    unit: str
    word: str
    yes: int
    share: Measured


@dataclass(frozen=True, slots=True)
class RunSummary:
    """Shares of yes and mean ratings, of one run or of all."""

    shares: Sequence[YesShare]
    means: Mapping[str, Measured] = field(default_factory=dict)

    @property
    def measures(self) -> dict[str, Measured]:
        """Shares and means by name, such as `supported_answers`."""
        shares = {f"{s.word.replace(' ', '_')}_{s.unit}s": s.share for s in self.shares}
        return {**shares, **self.means}

    def measure_rows(self) -> dict[str, dict[str, Any]]:
        """Return the object `measures` in `--json` output."""
        return {name: measured.row() for name, measured in self.measures.items()}


@dataclass(frozen=True, repr=False)
class AnswerSummary(Result):
    """Summary of a judge's answers without labels.

    Attributes:
        whole: of all answers: shares of yes, of which the first is the headline, and mean ratings.
        runs: the same for each run, if there are several.
        clusters: the units that intervals are drawn from: groups (questions), or single answers.
        reasons: the reasons of unscored answers, with their counts.
    """

    task: str
    judge: str
    whole: RunSummary
    runs: Mapping[str, RunSummary]
    clusters: int
    reasons: Mapping[str, int]
    bootstrap: Bootstrap = BOOTSTRAP

    @property
    def is_by_answer(self) -> bool:
        """Whether sentences are counted by the answer that contains them."""
        return len(self.whole.shares) > 1

    @property
    def headline(self) -> YesShare | None:
        """The first share; None if there are only ratings."""
        return next(iter(self.whole.shares), None)

    @property
    def warned(self) -> YesShare | None:
        """The headline, if it is beyond `FEW_YES` or `MOST_YES`: the threshold may not fit."""
        share = self.headline
        if share is None or share.share.value is None or self.task not in _WARNED:
            return None
        unusual = not FEW_YES <= share.share.value <= MOST_YES
        return share if unusual and share.share.scored >= LEAST_WARNED else None

    def rows(self) -> list[dict[str, Any]]:
        """Return one flat object for each share and mean, of all answers and of each run."""
        return [
            {**({"run": run} if self.runs else {}), "measure": name, **row}
            for run, summary in {"": self.whole, **self.runs}.items()
            for name, row in summary.measure_rows().items()
        ]

    def row(self) -> dict[str, Any]:
        """Return the object that `--json` prints."""
        runs = [{"run": run, "measures": part.measure_rows()} for run, part in self.runs.items()]
        return {
            "task": self.task,
            "judge": self.judge,
            "measures": self.whole.measure_rows(),
            **({"per_run": runs} if runs else {}),
            "reasons": dict(self.reasons),
            "interval": self.bootstrap.row("bootstrap", clusters=self.clusters),
        }


def summarise_answers(
    answers: Source, *, judge: str | None = None, bootstrap: Bootstrap = BOOTSTRAP
) -> AnswerSummary:
    """Summarise a judge's answers without labels.

    Args:
        answers: answers JSONL, a results folder, `-`, or what `pnyx.ask` returned.
        judge: the judge whose answers count, if there are several.
        bootstrap: how intervals are drawn: over groups, as answers of one group correlate.

    Raises:
        InputError: a line is malformed, or the answers are neither yes and no nor ratings.
    """
    lines = list(of_one_judge(read_verdicts(answers), judge, answers))
    task = lines[0].task
    if any(line.task != task for line in lines):
        raise InputError("holds answers of several tasks, expected one", path=_path(answers))
    has_ratings = task == "quality" or any(line.dimension for line in lines)
    make = _ratings if has_ratings else _yes_shares
    by_run: dict[str, list[Verdict]] = {}
    for line in lines:
        by_run.setdefault(str(line.extra.get("run_id") or ""), []).append(line)
    try:
        whole = make(lines, bootstrap)
        runs = {run: make(part, bootstrap) for run, part in by_run.items()}
    except _OtherValueError as error:
        problem = f"{error}, expected yes and no, or ratings: {task} has no such summary"
        raise InputError(problem, path=_path(answers)) from None
    unscored = (reason_word(line.unscored) for line in lines if line.value is None)
    return AnswerSummary(
        task,
        lines[0].judge,
        whole,
        runs if len(runs) > 1 else {},
        len({_cluster(line) for line in lines}),
        dict(Counter(unscored).most_common()),
        bootstrap,
    )


class _OtherValueError(Exception):
    """An answer has an unexpected value."""


def _path(answers: Source) -> str:
    return file_of(answers) if isinstance(answers, str | Path) else "rows"


def _cluster(line: Verdict) -> str:
    return line.question_id or line.id


def _mean(
    values: Iterable[float | None],
    clusters: Sequence[str],
    bootstrap: Bootstrap,
    bounds: tuple[float, float] | None = None,
) -> Measured:
    numbers = [math.nan if value is None else value for value in values]
    return cluster_mean(numbers, clusters, bootstrap, bounds=bounds)


def _share(
    unit: str, word: str, verdicts: Sequence[tuple[bool | None, str]], bootstrap: Bootstrap
) -> YesShare:
    values = [None if yes is None else float(yes) for yes, _ in verdicts]
    share = _mean(values, [cluster for _, cluster in verdicts], bootstrap)
    return YesShare(unit, word, sum(yes is True for yes, _ in verdicts), share)


def _yes_shares(lines: Sequence[Verdict], bootstrap: Bootstrap) -> RunSummary:
    """Return the share of yes: of answers, if lines are their sentences, and of lines."""
    verdicts = [(_yes(line), _cluster(line)) for line in lines]
    task = lines[0].task
    unit, word = _UNITS.get(task, ("answer", "yes"))
    records = [str(line.extra.get(RECORD) or "") for line in lines]
    if task != "support" or not all(records):
        return RunSummary([_share(unit, word, verdicts, bootstrap)])
    sentences = _share("sentence", word, verdicts, bootstrap)
    by_record: dict[str, list[tuple[bool | None, str]]] = {}
    for record, verdict in zip(records, verdicts, strict=True):
        by_record.setdefault(record, []).append(verdict)
    answers = [(all_supported([yes for yes, _ in part]), part[0][1]) for part in by_record.values()]
    return RunSummary([_share("answer", word, answers, bootstrap), sentences])


def all_supported(sentences: Sequence[bool | None]) -> bool | None:
    """Return whether all are supported: False if one is not, else None if one is unscored."""
    if False in sentences:
        return False
    return None if None in sentences or not sentences else True


def _yes(line: Verdict) -> bool | None:
    if line.value is None or isinstance(line.value, bool):
        return line.value
    raise _OtherValueError(f"found the value {shorten(repr(line.value), 40)}")


def _ratings(lines: Sequence[Verdict], bootstrap: Bootstrap) -> RunSummary:
    """Return the mean of each dimension and, for groundedness by sentences, shares of yes."""
    by_dimension: dict[str, list[Verdict]] = {}
    for line in lines:
        by_dimension.setdefault(line.dimension or "rating", []).append(line)
    means = {
        name: _mean(map(_number, part), [_cluster(line) for line in part], bootstrap, _scale(part))
        for name, part in by_dimension.items()
    }
    grounded = by_dimension.get("groundedness", ())
    verdicts = [list(_sentences(line)) for line in grounded]
    if not any(verdicts):
        return RunSummary([], means)
    clusters = [_cluster(line) for line in grounded]
    parts = list(zip(verdicts, clusters, strict=True))
    answers = [(all_supported(part), cluster) for part, cluster in parts]
    sentences = [(yes, cluster) for part, cluster in parts for yes in part]
    shares = [
        _share("answer", "supported", answers, bootstrap),
        _share("sentence", "supported", sentences, bootstrap),
    ]
    return RunSummary(shares, means)


def _sentences(line: Verdict) -> Iterator[bool | None]:
    """Yield whether each sentence of a judged answer is supported, if the format says so."""
    notes = line.extra.get("notes")
    rows = notes.get("sentences") if isinstance(notes, dict) else None
    for row in rows if isinstance(rows, list) else ():
        supported = row.get("supported") if isinstance(row, dict) else None
        yield supported if isinstance(supported, bool) else None


def _number(line: Verdict) -> float | None:
    value = line.value
    if value is None:
        return None
    if isinstance(value, int | float) and math.isfinite(value):
        return float(value)
    raise _OtherValueError(f"found the value {shorten(repr(value), 40)}")


def _scale(lines: Sequence[Verdict]) -> tuple[float, float] | None:
    """Return the scale that all lines state, else None."""
    first = lines[0].extra.get("scale")
    same = all(line.extra.get("scale") == first for line in lines)
    if not (same and isinstance(first, list) and len(first) == 2):
        return None
    low, high = first
    numbers = isinstance(low, int | float) and isinstance(high, int | float)
    return (float(low), float(high)) if numbers and low < high else None
