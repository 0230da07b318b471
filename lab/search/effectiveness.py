"""Effectiveness on three real sets: the Touché model, plain ranking, dense, hybrid, diversified.

    PNYX_DATA=DATA python lab/search/effectiveness.py --work FOLDER    # needs pnyx[test]
    ... --write docs/lab/search-effectiveness.md   # updates its section
    ... --json FILE                                                          # every figure

The first run embeds about 8,000 arguments twice (with and without their conclusions), which takes
most of the time; FOLDER stores the indexes for later runs. Nothing is tuned here. The weights are
those of the paper and of BERDS. Two defaults were chosen on about half of these questions: the
fusion of the hybrid (`hybrid.py`) and the topic space (`spaces.py`); those scripts report on the
other half. Systems see only texts, without topics, sides or labels.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from effectiveness_sets import Collection, debates, sigir, webis, without_sides
from effectiveness_systems import (
    BASELINE,
    DEFAULT,
    LAMBDA,
    RERANKED,
    Prepared,
    prepare,
    rankings,
    within_pools,
)

from pnyx.core.records import SIDES, Qrel, RunEntry
from pnyx.models.embed.embedder import Embedder, embedder_from
from pnyx.search.measures.retrieval import MeasuredRun, measure_retrieval
from pnyx.stats.base import Bootstrap
from pnyx.stats.significance import ONE_SIDED, SIGNIFICANT, Comparison, Conclusion

sys.path.insert(0, str(Path(__file__).parents[1] / "judging"))

from common import Report, arguments

DEPTH = 100
"""Number of documents ranked for a debate; a debate has 8 arguments on average."""
TOP = 5
MARGIN = 0.02
"""A relevant loss of nDCG: the most that a default may lose to any of its parts. Smaller
differences are often reversed on another 50 topics (Voorhees and Buckley, SIGIR 2002)."""
WHOLE, POOLS = "all arguments", "judged pools"

Runs = Mapping[str, Sequence[RunEntry]]


@dataclass(frozen=True)
class Column:
    """One measure of all systems.

    Attributes:
        label: its heading.
        qrels: its judgements.
        measure: the measure, in the notation of ir-measures.
        scale: factor of the values.
    """

    label: str
    qrels: Sequence[Qrel]
    measure: str
    scale: float = 1.0


@dataclass
class Findings:
    """All results, and the verdicts."""

    rows: list[dict[str, Any]] = field(default_factory=list)
    verdicts: list[str] = field(default_factory=list)
    labelled: dict[str, list[tuple[Runs, Column]]] = field(default_factory=dict)
    """Runs and quality columns of the sets with quality labels, to measure them together."""


class MeasuredColumn:
    """The values of a column and comparisons with the baseline, corrected over the systems."""

    def __init__(self, runs: Runs, column: Column) -> None:
        result = measure_retrieval(
            runs, column.qrels, [column.measure], baseline=BASELINE, test="t", margin=MARGIN
        )
        self.column = column
        self.name = next(iter(result.runs[0].measures))
        self.runs: dict[str, MeasuredRun] = {run.name: run for run in result.runs}
        self.against: dict[str, Comparison] = {
            comparison.run: comparison for comparison in result.comparisons
        }
        self.topics = len(result.runs[0].per_topic)
        self.row = result.row()

    def mean(self, system: str) -> str:
        """Return mean and interval, with a mark if better or worse after correction."""
        measure, scale = self.runs[system].measures[self.name], self.column.scale
        value = f"{scale * measure.value:.3f} {_bounds(measure, scale)}"
        return value + _mark(self.against.get(system))

    def difference(self, system: str) -> str:
        """Return the difference from the baseline with interval and p, before and after Holm."""
        if system not in self.against:
            return "–"
        comparison, scale = self.against[system], self.column.scale
        value = f"{scale * comparison.test.difference:+.3f} {_bounds(comparison, scale, '+')}"
        return f"{value} {_p(comparison.test.p)} ({_p(comparison.p_holm)})"


def _bounds(measured: Any, scale: float, sign: str = "") -> str:
    """Return the interval of a mean or a difference; there is none if all values are equal."""
    if measured.low is None or measured.high is None:
        return "[no interval]"
    return f"[{scale * measured.low:{sign}.3f}, {scale * measured.high:{sign}.3f}]"


def _mark(comparison: Comparison | None) -> str:
    if comparison is None or not comparison.significant:
        return ""
    return " ▲" if comparison.test.difference > 0 else " ▼"


def _p(value: float | None) -> str:
    if value is None:
        return "–"
    return "<.001" if value < 0.0005 else f"{value:.3f}".removeprefix("0")


def tables(
    report: Report,
    findings: Findings,
    title: str,
    runs: Runs,
    columns: Sequence[Column],
    compared: Sequence[str],
) -> dict[str, MeasuredColumn]:
    """Report means of all columns and differences of some; return the measurements by label."""
    measured = {column.label: MeasuredColumn(runs, column) for column in columns}
    topics = next(iter(measured.values())).topics
    labels = [column.label for column in columns]
    report.head(f"{title}, {topics} questions", *labels)
    for system in runs:
        report.row(system, *(values.mean(system) for values in measured.values()))
    report.head(f"{title}: minus {BASELINE}, p (Holm)", *compared)
    for system in runs:
        if system != BASELINE:
            report.row(system, *(measured[label].difference(system) for label in compared))
    findings.rows += [
        {"table": title, "column": label, "result": values.row}
        for label, values in measured.items()
    ]
    return measured


# --- the acceptance ---------------------------------------------------------------------------


WORDS: Mapping[Conclusion, str] = {
    "higher": "better",
    "lower": "worse",
    "equivalent": "equivalent",
    "not lower": "not worse",
    "inconclusive": "inconclusive",
}


def verdict(
    report: Report, findings: Findings, title: str, measured: Mapping[str, MeasuredColumn]
) -> None:
    """Report whether the default is better than the baseline, with p corrected over the systems."""
    parts = [f"{label} {_shown(values.against[DEFAULT])}" for label, values in measured.items()]
    topics = next(iter(measured.values())).topics
    line = f"- {title}, {topics} questions, nDCG@5: " + "; ".join(parts) + "."
    findings.verdicts.append(line)
    report.line()
    report.line(line.removeprefix("- "))


def _shown(comparison: Comparison) -> str:
    against, test = comparison.against, comparison.test
    return (
        f"{test.difference:+.3f} {_bounds(comparison, 1.0, '+')}, p {_p(test.p)}, Holm "
        f"{_p(comparison.p_holm)}; a loss of {MARGIN:g} rejected with p "
        f"{_p(against.p_not_lower)}, Holm {_p(against.p_not_lower_holm)}: "
        f"**{WORDS[comparison.conclusion]}**"
    )


# --- sets with graded judgements --------------------------------------------------------------


def graded(
    report: Report, findings: Findings, collection: Collection, work: Path, embedder: Embedder
) -> None:
    """Report relevance and quality on Webis or SIGIR, over the whole index and within the pools."""
    prepared = prepare(collection, work, embedder)
    texts = len(collection.records)
    report.line()
    report.line(
        f"**{collection.name}**: {texts} arguments, {len(collection.questions)} questions, "
        f"{prepared.clusters} topic clusters; quality by {collection.predicted_by}."
    )
    columns = [Column(gain, qrels, "nDCG@5") for gain, qrels in collection.qrels.items()]
    check_shipped(report, collection, columns)
    runs = rankings(prepared, embedder, texts)
    pools = within_pools(runs, collection)
    for title, some in ((WHOLE, runs), (POOLS, pools)):
        name = f"{collection.name}, {title}"
        measured = tables(report, findings, name, some, columns, ("relevance", "quality"))
        findings.labelled.setdefault(title, []).append((some, measured["quality"].column))
        verdict(report, findings, name, {n: measured[n] for n in ("relevance", "quality")})


def check_shipped(report: Report, collection: Collection, columns: Sequence[Column]) -> None:
    """Report nDCG@5 of the authors' published rankings, as a check of the judgements."""
    parts = []
    for column in columns:
        result = measure_retrieval(
            collection.shipped, column.qrels, ["nDCG@5"], bootstrap=Bootstrap(0)
        )
        values = ", ".join(f"{run.name} {run.measures['nDCG@5'].value:.3f}" for run in result.runs)
        parts.append(f"{column.label}: {values}")
    report.line("Check, the authors' own rankings, nDCG@5: " + "; ".join(parts) + ".")


def together(report: Report, findings: Findings) -> None:
    """Report quality on all questions of both sets together, because each set has few."""
    for title, parts in findings.labelled.items():
        runs: dict[str, list[RunEntry]] = {name: [] for name in parts[0][0]}
        qrels: list[Qrel] = []
        for number, (some, column) in enumerate(parts):  # topics of two sets may share a name
            for name, entries in runs.items():
                entries += [replace(e, topic_id=f"{number}/{e.topic_id}") for e in some[name]]
            qrels += [replace(q, topic_id=f"{number}/{q.topic_id}") for q in column.qrels]
        values = MeasuredColumn(runs, Column("quality", qrels, "nDCG@5"))
        verdict(report, findings, f"Webis and SIGIR together, {title}", {"quality": values})


# --- debates ----------------------------------------------------------------------------------


def all_debates(report: Report, findings: Findings, work: Path, embedder: Embedder) -> None:
    """Search three corpora separately, and measure their questions together."""
    runs: dict[str, list[RunEntry]] = {}
    qrels: list[Qrel] = []
    quality: dict[str, list[float]] = {}
    parts = []
    for collection in debates():
        prepared = prepare(collection, work, embedder)
        parts.append(
            f"{collection.name} ({len(collection.records)} arguments, "
            f"{len(collection.questions)} debates, {prepared.clusters} clusters)"
        )
        for name, entries in rankings(prepared, embedder, DEPTH).items():
            runs.setdefault(name, []).extend(entries)
            quality.setdefault(name, []).extend(_top_quality(prepared, entries))
        qrels += collection.qrels["sides"]
    report.line()
    report.line("**debates**: " + ", ".join(parts) + "; quality by the packaged model.")
    plain = without_sides(qrels)
    columns = [Column(m, plain, m) for m in ("nDCG@5", "nDCG@10", "nDCG@20", "AP@100", "R@100")]
    measured = tables(report, findings, "debates", runs, columns, ("nDCG@5", "AP@100", "R@100"))
    verdict(report, findings, "debates", {"relevance": measured["nDCG@5"]})
    both = _two_sided(qrels)
    sides(report, findings, runs, both, quality)
    by_corpus(report, findings, runs, qrels, both)


def _two_sided(qrels: Sequence[Qrel]) -> list[Qrel]:
    by_topic: dict[str, set[str]] = {}
    for q in qrels:
        by_topic.setdefault(q.topic_id, set()).add(q.subtopic)
    return [q for q in qrels if len(by_topic[q.topic_id]) == len(SIDES)]


def _top_quality(prepared: Prepared, entries: Sequence[RunEntry]) -> list[float]:
    numbers = {record.id: n for n, record in enumerate(prepared.collection.records)}
    return [float(prepared.quality[numbers[e.doc_id]]) for e in entries if e.rank <= TOP]


def by_corpus(
    report: Report, findings: Findings, runs: Runs, qrels: Sequence[Qrel], both: Sequence[Qrel]
) -> None:
    """Report relevance and sides in each corpus."""
    measured: dict[str, MeasuredColumn] = {}
    for corpus in dict.fromkeys(q.topic_id.split("-")[0] for q in qrels):
        corpus_runs = {name: _of(corpus, entries) for name, entries in runs.items()}
        for label, judged, measure, scale in (
            ("nDCG@5", without_sides(qrels), "nDCG@5", 1.0),
            ("sides in the top 5", both, "StRecall@5", float(len(SIDES))),
        ):
            column = Column(f"{corpus}: {label}", _of(corpus, judged), measure, scale)
            measured[column.label] = MeasuredColumn(corpus_runs, column)
    report.head("debates by corpus", *measured)
    for system in runs:
        report.row(system, *(values.mean(system) for values in measured.values()))
    findings.rows += [
        {"table": "debates by corpus", "column": label, "result": values.row}
        for label, values in measured.items()
    ]
    report.line()
    report.line(
        "The stance model behind the perspectives was trained on sentences of idebate, not of the "
        "others."
    )


def _of(corpus: str, judged: Sequence[Any]) -> list[Any]:
    return [entry for entry in judged if entry.topic_id.startswith(f"{corpus}-")]


def sides(
    report: Report,
    findings: Findings,
    runs: Runs,
    both: Sequence[Qrel],
    quality: Mapping[str, Sequence[float]],
) -> None:
    """Report how well both sides are covered, on debates that have both."""
    columns = [
        *(
            Column(f"{side} alone: nDCG@5", without_sides([q for q in both if q.subtopic == side]),
                   "nDCG@5")
            for side in SIDES
        ),
        Column("alpha-nDCG@5", both, "alpha_nDCG@5"),
        Column("alpha-nDCG@10", both, "alpha_nDCG@10"),
        Column("sides in the top 5", both, "StRecall@5", scale=float(len(SIDES))),
    ]  # fmt: skip
    last = columns[-1].label
    compared = [columns[0].label, columns[1].label, last]
    covered = tables(report, findings, "debates, sides", runs, columns, compared)[last]
    report.head("debates, top 5", "both sides", "one side", "none", "mean predicted quality")
    for system in runs:
        values = [v[covered.name].value for v in covered.runs[system].per_topic.values()]
        shares = [float(np.mean([v == part for v in values])) for part in (1.0, 0.5, 0.0)]
        cells = (f"{share:.1%}" for share in shares)
        report.row(system, *cells, f"{np.mean(quality[system]):.3f}")
    report.line()
    report.line("Mean predicted quality is descriptive only: the Touché model ranks by it.")


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--work", type=Path, metavar="FOLDER", help="keep the indexes here")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every figure")
    options = parser.parse_args()
    report, findings = Report("effectiveness"), Findings()
    embedder = embedder_from()
    start = time.process_time()
    report.line(
        "Cells: mean [95 % bootstrap interval over questions]; ▲ better, ▼ worse than "
        f"{BASELINE}: paired t-test, p < .05 after Holm's correction over the systems. "
        "wC/wQ: weights of topic and quality; R = 1: the paper's last two runs. Hybrid: "
        f"{BASELINE} and dense. MMR: lambda {LAMBDA:g} over the best {RERANKED}. "
        "Each set is a part of what was published. **Chosen on half of these questions**: the "
        "hybrid's partner, fusion and weight, and the space of the topics; what they are worth on "
        "the other half is in hybrid-search.md and topic-spaces.md. Quality is predicted by models "
        "that did not see the text or, on Webis, its topic; what they were trained on chose their "
        "settings."
    )
    with tempfile.TemporaryDirectory() as temporary:
        work = options.work or Path(temporary)
        work.mkdir(parents=True, exist_ok=True)
        for collection in (webis(), sigir()):
            graded(report, findings, collection, work, embedder)
        together(report, findings)
        all_debates(report, findings, work, embedder)
    report.line()
    report.line(f"**{DEFAULT} against {BASELINE}**")
    report.line()
    report.line(
        f"Better, worse: two-sided p below {SIGNIFICANT:g} after Holm's correction over the "
        f"systems. Not worse: a loss of {MARGIN:g} nDCG or more is rejected, one-sided p below "
        f"{ONE_SIDED:g} after the same correction; equivalent: so is a gain of as much. The margin "
        "is what would matter, not set by these runs. Inconclusive: shown neither better nor not "
        "worse."
    )
    report.line()
    for line in findings.verdicts:
        report.line(line)
    report.line()
    report.line(f"{time.process_time() - start:.0f} CPU seconds, reusing what was in FOLDER.")
    report.write(options.write)
    if options.json is not None:
        options.json.write_text(json.dumps(findings.rows, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
