"""`pnyx measure report`: measure judged reports by topic and run, and export for other tools."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from pnyx.cli.measure.tables import (
    compared_legend,
    few_warning,
    listed,
    runs_table,
    topics_table,
    untested_note,
)
from pnyx.cli.options import Outcome, warn
from pnyx.cli.params import verb
from pnyx.core.errors import InputError, OptionError, count_of, escaped, shorten
from pnyx.core.spec import Spec, file_opt, opt, out_opt, topics_opt
from pnyx.display.tables import Column, OwnWords, draws_legend
from pnyx.formats.runs.sources import run_names
from pnyx.formats.text_types import FileName, Words
from pnyx.judging.measures.options import ComparingSpec
from pnyx.reports.strict import (
    check_coverage,
    judged_strictly,
    left_out_notes,
    rules_of,
    write_record,
    zero_notes,
)
from pnyx.reports.tree.plan import MIN_SCORED
from pnyx.search.measure_leaderboard import LeaderboardSpec, refused

if TYPE_CHECKING:
    from pnyx.core.records import LeaderboardCell, Qrel
    from pnyx.display.tables import Part
    from pnyx.formats.reports.judged_report import JudgedReport
    from pnyx.reports.measures.report_measures import MeasuredReports, Reports


_FILES = {"leaderboard": "--leaderboard", "diversity_qrels": "--diversity-qrels",
          "nuggetizer": "--nuggetizer"}  # fmt: skip
_HOW = "; --min-scored says from which share on it counts"


class _MeasuresSpec(Spec, heading="Measures", rare="weight missing"):
    """What to measure, and on which topics."""

    measures: tuple[Words, ...] = opt(
        (),
        "",
        "--measure",
        metavar="MEASURE",
        default_text="all are shown; precision, recall and F1 are compared and written",
    )
    weights: tuple[Words, ...] = opt(
        (),
        "Weight of nuggets by importance, at least 0; other: any other or none.",
        "--weight",
        metavar="IMPORTANCE=X",
        default_text="vital=2, okay=1, other=1",
    )
    topics: FileName | None = topics_opt(None, default_text="those of R")
    missing: Literal["skip", "zero"] = opt(
        "skip",
        "How to treat a topic without a report of a run: leave it out of the mean, or count it as "
        "0. An empty report always counts as 0.",
    )
    per_topic: bool = opt(False)
    strict: bool = opt(False, restricts=True)


class _ExportSpec(
    LeaderboardSpec,
    heading=LeaderboardSpec.heading,
    rare="nuggetizer diversity_qrels nuggets min_scored",
):
    """What to write for other tools."""

    nuggetizer: FileName | None = out_opt(None, "Write nuggetizer's metrics (JSONL).")
    diversity_qrels: FileName | None = out_opt(
        None, "Write which cited document attests which nugget, as TREC diversity qrels."
    )
    nuggets: FileName | None = file_opt(None, needs="diversity_qrels")
    min_scored: float = opt(
        MIN_SCORED,
        "Minimum share of its items (sentences, nuggets) that a value must be based on; values "
        "below it are left out of these files with a warning.",
        within="[0, 1]",
    )


class MeasureReportSpec(ComparingSpec, _ExportSpec, _MeasuresSpec):
    """All options of `pnyx measure report`."""

    def files(self) -> dict[str, str]:
        """Flag -> file to write."""
        named = ((flag, getattr(self, field)) for field, flag in _FILES.items())
        return {flag: path for flag, path in named if path is not None}

    def weighted(self) -> dict[str, float]:
        """Importance -> weight; OptionError if one is not IMPORTANCE=X."""
        weights = {}
        for option in self.weights:
            name, _, text = option.rpartition("=")
            try:
                weight = float(text)
            except ValueError:
                weight = math.nan
            if not name.strip() or not 0 <= weight < math.inf:
                raise OptionError(
                    f"--weight {shorten(option, 40)}: expected IMPORTANCE=X, with X at least 0"
                )
            weights[name.strip().lower()] = weight
        return weights


@verb(
    "report",
    restricts=True,
    records=True,
    short_help="Judged reports: precision, nugget recall, F1 (ARGUE).",
)
@click.argument("folders", nargs=-1, required=True, metavar="R...")
def report(folders: tuple[FileName, ...], spec: MeasureReportSpec, as_json: bool) -> Outcome:
    """Measure the judged reports of R (results of pnyx judge report, or its reports.jsonl).

    Precision of sentences and citations, recall of nuggets, and F1, as means over topics with 95 %
    intervals. With --baseline, each other run is compared with it.

    \b
    Example, after that of pnyx judge report:
      $ pnyx measure report judged --leaderboard board.txt
      ...
      measure                        mean, 95 % interval  topics  scored
      sentence_precision        1.000 [0.676, 1.000]           8  23 sentences
      ...
      nugget_recall             0.375 [0.224, 0.555]           8  24 nuggets

    \b
    More: pnyx measure report --help-all, docs/recipes/reports.md.
    \f
    \b
    sentence_precision   sentences attested by each of their citations
    sentence_precision_own   the same without sentences that quote what they cite
    citation_precision   citations that attest their sentence
    citation_relevance   citations of relevant documents
    citation_recall      relevant documents of the bank that are cited
    nugget_recall        nuggets answered: all answers of an AND, one of an OR
    f1                   of sentence_precision and nugget_recall

    _weighted counts a vital nugget twice. There are also nuggetizer's scores, negative statements,
    rewards and penalties, and lengths; docs/reference/measures.md defines each. Unscored items are
    left out: each value shows the number of topics and items (sentences, nuggets) that it is based
    on. An empty report counts as 0, a missing one as --missing says. Comparisons are paired tests
    with Holm-Bonferroni. --nuggets: for --diversity-qrels, take the documents that attest a nugget
    from this bank, not from the judge. Exit status 3: something is unscored.

    With --strict: R must be judged with --strict, missing topics and measures of items that a
    report has none of count as 0, repeated sentences gain nothing, no leaderboard is written below
    --min-scored, and a record of everything that affects the result is written next to it.

    \b
      pnyx measure report judged --baseline run-1 --leaderboard board.txt
    """
    _check(folders, spec, as_json)
    from pnyx.core.placement import placed_together
    from pnyx.reports.measures.registry import MAIN
    from pnyx.reports.measures.report_measures import measure_reports

    weights = spec.weighted()
    judged = judged_strictly(folders) if spec.strict else {}
    rules = rules_of(judged) if spec.strict else ()
    runs, runs_of = _read(folders)
    result = measure_reports(
        runs,
        topics=_topics(spec.topics),
        missing="zero" if spec.strict else spec.missing,
        strict=spec.strict,
        weights=weights,
        compared=spec.measures or MAIN,
        baseline=_baseline(spec.baseline, runs_of),
        test=spec.test,
        bootstrap=spec.bootstrap,
    )
    if spec.strict:
        check_coverage(result, spec.measures or MAIN, spec.min_scored)
    with placed_together():
        _write(result, runs, spec)
        if spec.strict and spec.leaderboard is not None:
            write_record(spec.leaderboard, result, judged, spec.min_scored)
    return Outcome(
        result.row(),
        (lambda: _report(result, spec)) if spec.prints else "",
        any(run.unscored for run in result.runs),
        [*left_out_notes(judged), *rules, *report_notes(result, runs, spec.min_scored)],
    )


def _check(folders: Sequence[str], spec: MeasureReportSpec, as_json: bool) -> None:
    """Reject options that exclude each other."""
    from pnyx.reports.measures.registry import report_measures

    spec.check_needs()
    if spec.strict and spec.unscored != "error":
        raise OptionError("--strict and --unscored exclude each other: no value is not 0")
    if spec.strict and "-" in (*folders, spec.leaderboard):
        raise OptionError("--strict writes a record: name files, not standard input or output")
    for name in spec.measures:
        if name not in report_measures():
            expected = ", ".join(report_measures())
            raise OptionError(f"--measure {shorten(name, 40)}: expected one of {expected}")
    if [*folders, spec.topics, spec.nuggets].count("-") > 1:
        raise OptionError("only one file can be standard input")
    read = {f"R {n}": _file(folder) for n, folder in enumerate(folders, 1)}
    spec.check_files({**read, "--topics": spec.topics, "--nuggets": spec.nuggets}, as_json=as_json)


def _file(folder: str) -> Path:
    from pnyx.reports.tree.report_reader import REPORTS

    return Path(folder) / REPORTS if folder != "-" and Path(folder).is_dir() else Path(folder)


def _read(folders: Sequence[str]) -> tuple[dict[str, list[JudgedReport]], dict[str, list[str]]]:
    """Return run -> reports (named after the folder if names clash), and R -> runs."""
    from pnyx.reports.tree.report_reader import read_judged_reports

    twice = next((folder for folder in folders if folders.count(folder) > 1), None)
    if twice is not None:
        raise InputError("is named twice", path=twice)
    by_folder: dict[str, dict[str, list[JudgedReport]]] = {}
    for folder in folders:
        by_run = by_folder.setdefault(folder, {})
        for judged_report in read_judged_reports(folder):
            by_run.setdefault(judged_report.run_id, []).append(judged_report)
    every = Counter(run for by_run in by_folder.values() for run in by_run)
    runs: dict[str, list[JudgedReport]] = {}
    runs_of: dict[str, list[str]] = {}
    for short, (folder, by_run) in zip(run_names(folders), by_folder.items(), strict=True):
        for run, reports in by_run.items():
            name = run if every[run] == 1 else f"{short}/{run}"
            if name in runs or (name != run and name in every):
                raise InputError(
                    f"two runs would be called {escaped(name)!r}: measure {folder} on its own"
                )
            runs[name] = reports
            runs_of.setdefault(folder, []).append(name)
    return runs, runs_of


def _topics(path: str | None) -> list[str] | None:
    if path is None:
        return None
    from pnyx.formats import read_questions

    return [question.id for question in read_questions(path, on_warning=warn)]


def _baseline(name: str | None, runs_of: Mapping[str, Sequence[str]]) -> str | None:
    """Return the run that --baseline names, directly or as the only run of an R."""
    runs = [run for names in runs_of.values() for run in names]
    if name is None or name in runs:
        return name
    if len(runs_of.get(name, ())) == 1:
        return runs_of[name][0]
    expected = escaped(", ".join(runs))
    raise OptionError(f"--baseline {escaped(name)}: expected one of the runs {expected}")


def _write(
    result: Reports, runs: Mapping[str, Sequence[JudgedReport]], spec: MeasureReportSpec
) -> None:
    """Write the requested files; InputError, before any is written, if one is refused."""
    from pnyx.core.files import atomic_text, write_jsonl
    from pnyx.formats import write_qrels
    from pnyx.reports.measures.exports import NUGGETIZER, nuggetizer_rows
    from pnyx.reports.measures.registry import MAIN

    cells = _cells(result, spec.measures or MAIN, spec, "--leaderboard")
    scores = _cells(result, NUGGETIZER, spec, "--nuggetizer")
    qrels = _qrels(runs, spec)
    spec.write_leaderboard(cells)
    if spec.nuggetizer is not None:
        write_jsonl(spec.nuggetizer, nuggetizer_rows(scores))
    if spec.diversity_qrels is not None:
        with atomic_text(spec.diversity_qrels) as stream:
            write_qrels(stream, qrels)


def _cells(
    result: Reports, measures: Sequence[str], spec: MeasureReportSpec, flag: str
) -> list[LeaderboardCell]:
    """Return the cells of a file, without those that have no value; InputError if refused."""
    from pnyx.reports.measures.exports import leaderboard_cells

    if flag not in spec.files():
        return []
    cells = list(leaderboard_cells(result, measures, spec.min_scored))
    return spec.settled_cells(cells, flag, _HOW)


def _qrels(runs: Mapping[str, Sequence[JudgedReport]], spec: MeasureReportSpec) -> list[Qrel]:
    """Return the diversity qrels, if requested; InputError if refused."""
    from pnyx.formats import read_nugget_banks
    from pnyx.reports.measures.exports import nugget_qrels

    if spec.diversity_qrels is None:
        return []
    banks = None if spec.nuggets is None else list(read_nugget_banks(spec.nuggets))
    judged = (judged_report for reports in runs.values() for judged_report in reports)
    with refused("--diversity-qrels", _HOW):
        return nugget_qrels(judged, banks, spec.unscored)


def _report(result: Reports, spec: MeasureReportSpec) -> list[Part]:
    """Return the tables for people."""
    from pnyx.reports.measures.registry import report_measures

    names = spec.measures or tuple(report_measures())
    table_runs = [replace(run, measures={n: run.measures[n] for n in names}) for run in result.runs]
    several = len(table_runs) > 1
    runs = f"{len(table_runs)} runs" if several else f"run {escaped(table_runs[0].name)}"
    topics = count_of(len(result.topics), "topic")

    def items(run: MeasuredReports, name: str) -> list[str]:
        kind = report_measures()[name].items
        count = Column("", "counts").shown(run.items[name])
        return [f"{count} {'items' if ', ' in kind else kind}"]

    means = runs_table(
        replace(result, runs=tuple(table_runs)),
        "topics",
        lambda run, name: run.measures[name],
        ([Column("scored", "name")], items),
        title=f"reports: {runs} on {topics}",
        name_runs=several,
    )
    words = "d: mean difference in standard deviations of the topics' differences"
    effect = [OwnWords(words)]
    legend = [*compared_legend(result), *draws_legend("the topics", result.bootstrap)]
    per_topic = [topics_table(run, "topic") for run in table_runs] if spec.per_topic else []
    return [means, *per_topic, [*effect * bool(result.comparisons), *legend]]


def report_notes(
    result: Reports, runs: Mapping[str, Sequence[JudgedReport]], min_scored: float
) -> list[str]:
    """Return notes for readers of the figures, one line each; reports by run."""
    notes: list[str] = []
    for run in result.runs:
        name = escaped(run.name)
        if run.missing:
            count, of = len(run.missing), len(run.per_topic)
            how = f"counted as 0 in the means over {of}"
            if result.missing == "skip":
                how = f"left out: means are over at most {of - count} of {of} topics"
                how += "; --missing zero counts them as 0, as an empty report is in any case"
            notes.append(f"warning: {name}: no report on {listed(run.missing)}, {how}")
        if run.unscored:
            parts = (f"{n} of {of} {kind}" for kind, (n, of) in run.unscored.items())
            notes.append(f"{name}: unscored and left out: {', '.join(parts)}")
        empty = [judged.topic_id for judged in runs[run.name] if judged.empty]
        if empty := [topic for topic in empty if topic in run.per_topic]:
            rule = "as 0; --missing only applies to topics without a report"
            notes.append(f"warning: {name}: the report on {listed(empty)} is empty, counted {rule}")
        if run.repeated:
            notes.append(_repeated_note(run, name, strict=result.strict))
        if result.strict:
            notes += zero_notes(run, result.compared, empty)
        notes += _too_few(result, run, name, min_scored)
    nuggets = (n for reports in runs.values() for judged in reports for n in judged.nuggets)
    importances = {nugget.importance.strip().lower() for nugget in nuggets}
    if others := sorted(importances - {"", *result.weights}):
        names = ", ".join(shorten(other, 30) for other in others)
        notes.append(f"nuggets of importance {names} weigh {result.weights['other']:g} (--weight)")
    notes += untested_note(result.comparisons, "topics")
    return notes + few_warning(result.bootstrap, len(result.topics), "topic")


def _repeated_note(run: MeasuredReports, name: str, *, strict: bool) -> str:
    """Return how many sentences are repetitions, and sentence precision without them."""
    counted = f"{name}: {count_of(run.repeated, 'repeated sentence')}"
    if strict:
        return f"{counted}: attested ones count once"
    once = "not defined" if run.precision_once is None else f"{run.precision_once:.3f}"
    return f"{counted}; sentence_precision without repetitions: {once}"


def _too_few(result: Reports, run: MeasuredReports, name: str, least: float) -> Iterator[str]:
    """Yield warnings of values based on less than a share of their topics or items."""
    from pnyx.reports.measures.exports import rests_on

    topics = len(result.topics)
    few = [n for n in result.compared if 0 < run.measures[n].scored < least * topics]
    if few:
        values = f"a value on less than {least:.0%} of the topics, not necessarily the same ones"
        yield f"warning: {name}: {', '.join(few)} have {values}"
    thin = {
        n: f"{n} on {sum(low)} of {topics} topics"
        for n in result.compared
        if any(low := [rests_on(values, n) < least for values in run.per_topic.values()])
    }
    if thin:
        rest = f"are based on less than {least:.0%} of their items (--min-scored)"
        yield f"warning: {name}: these {rest}: {', '.join(thin.values())}"
