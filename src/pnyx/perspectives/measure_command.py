"""`pnyx measure perspectives`: TREC runs against the perspectives on their questions (BERDS)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import click

from pnyx.cli.measure.strict import enough, said_strictly
from pnyx.cli.measure.tables import named_runs
from pnyx.cli.options import Outcome, warn
from pnyx.cli.params import Raw, SpecOption, verb
from pnyx.core.errors import InputError, OptionError, escaped
from pnyx.core.flag_help import FLAG_HELP
from pnyx.core.spec import file_opt, opt, out_opt
from pnyx.formats.runs.sources import run_names
from pnyx.formats.text_types import FileName, TextKind, Words
from pnyx.judging.measures.options import ComparingSpec, CorrectionSpec, JudgedSpec, SidesSpec
from pnyx.perspectives.measure_tables import notes, report
from pnyx.search.measure_leaderboard import LeaderboardSpec

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pnyx.core.records import Perspective, Qrel, RunEntry
    from pnyx.perspectives.measures.lean import Leaning
    from pnyx.perspectives.measures.results import PerspectiveCoverage
    from pnyx.perspectives.measures.verdicts import Verdicts


class CoverageSpec(
    JudgedSpec,
    heading="Measures",
    rare="union_depth measures topics_of unjudged qrels_out min_judged",
):
    """What to measure of the runs, against which perspectives."""

    views: FileName = file_opt(..., "", "--perspectives")
    verdicts: FileName = file_opt(..., "Verdicts on pairs of document and perspective.")
    depths: tuple[int, ...] = opt((5,), "", "--cutoff", within="[1, 1000000]")
    measures: tuple[Words, ...] = opt((), "", "--measure", metavar="MEASURE")
    union_depth: int | None = opt(
        None,
        "Also report the rank at which each run covers everything, and what the first DEPTH "
        "documents of all runs cover together (BERDS, Tables 5 and 6: 100).",
        "--pool-depth",
        within="[1, 1000000]",
        metavar="DEPTH",
        replaces=("--depth",),
    )
    topics_of: Literal["perspectives", "run", "both"] = opt("perspectives")
    unjudged: Literal["unscored", "no"] = opt("unscored")
    per_topic: bool = opt(False)
    strict: bool = opt(False)
    min_judged: float = opt(0.8, within="[0, 1]", needs="strict")
    qrels_out: FileName | None = out_opt(None)


class PerspectivesSpec(ComparingSpec, CorrectionSpec, SidesSpec, LeaderboardSpec, CoverageSpec):
    """All options of `pnyx measure perspectives`."""

    def files(self) -> dict[str, str]:
        """Flag -> file to write."""
        qrels = {} if self.qrels_out is None else {"--qrels-out": self.qrels_out}
        return {**LeaderboardSpec.files(self), **qrels}


Asked: TypeAlias = tuple[tuple[str, str, str], ...]


@verb(
    "perspectives",
    restricts=True,
    records=True,
    gone={"--judge": "use --by NAME"},
    short_help="TREC runs on perspectives (BERDS).",
    rare={"spec": "sides"},
)
@click.argument("runs", nargs=-1, required=True, metavar="RUN...")
@click.option(
    "--leaning",
    nargs=3,
    multiple=True,
    type=Raw(),
    cls=SpecOption,
    text_kind=TextKind.FILE,
    heading="More options",
    metavar="RUN PRO CON",
    help=FLAG_HELP["--leaning"],
)
def perspectives(
    runs: tuple[FileName, ...], spec: PerspectivesSpec, leaning: Asked, as_json: bool
) -> Outcome:
    """Do the results of RUNs (TREC run files) cover every perspective (BERDS)?

    MRecall@k is 1 if the first k documents support all perspectives, or k of them if there are
    more; Precision@k is the share of documents that support some perspective.

    \b
    Example:
      $ pnyx demo --files-only --out ex
      $ pnyx search ex/arguments.jsonl --topics ex/questions.md -k 3 --out a.run
      $ pnyx judge support --run a.run --perspectives ex/perspectives.jsonl \\
          --index ex/arguments.jsonl.index --depth 3 --out judged
      $ pnyx measure perspectives a.run --perspectives ex/perspectives.jsonl \\
          --verdicts judged --cutoff 3
      ...
      measure      run   mean, 95 % interval  questions
      MRecall@3    a    0.125 [0.016, 0.561]          8

    \b
    More: pnyx measure perspectives --help-all, docs/recipes/perspectives.md.
    \f
    For questions with two opposite perspectives (stance pro and con), it also reports which side is
    covered. Each measure comes with a 95 % bootstrap interval over questions.

    --verdicts takes the results of pnyx judge support --run --perspectives; labels (JSONL) with
    question_id, doc_id and perspective_id, or with ids QUESTION/DOCUMENT/PERSPECTIVE; or TREC
    diversity qrels (question, perspective, document, grade; --unjudged no if they list only
    supporting pairs).

    A pair without a verdict never counts as a no: a question whose value depends on it has no
    value, the mean is over the others, and bounds show its range over all questions. --labelled
    adds values corrected for the judge's own errors: label the first documents of some of the
    measured questions, picked at random. --topics-of: all questions of the perspectives (one
    missing from a run counts as an empty ranking), those of the run, or those of every run.

    --measure, instead of those of --cutoff: MRecall@5, Precision@5, CoverDepth@100, MinCover@100,
    ProLead@5 ..., or alpha_nDCG@10, ERR_IA@10, StRecall@10 of ir-measures. --leaning takes one
    retriever's runs for the questions, for the supporting perspectives as queries, and for the
    opposing ones (BERDS, Figure 3).

    With --strict: all questions, unjudged pairs count as no, no figures below --min-judged (of the
    pairs of a run), and in --json a record of everything that affects the result. Exit status 3: a
    pair within the depth is unscored.

    \b
      pnyx measure perspectives bm25.run mmr.run --perspectives views.jsonl \\
        --verdicts judged --cutoff 5 --cutoff 10 --baseline bm25.run
    """
    names, baseline = _checked(runs, spec, leaning, as_json)
    from pnyx.formats import read_run
    from pnyx.formats.perspectives import by_question, read_perspectives
    from pnyx.formats.runs.run_ids import with_document_ids
    from pnyx.perspectives.measures.coverage import measure_perspectives
    from pnyx.perspectives.measures.verdicts import NO, read_verdicts

    views = by_question(
        read_perspectives(spec.views, gold=True), sides_by_order=spec.sides == "order"
    )
    verdicts = read_verdicts(spec.verdicts, judge=spec.by, unjudged=spec.unjudged)
    entries = {name: list(with_document_ids(read_run(path), path)) for name, path in names.items()}
    labelled = spec.joined(spec.by)
    if labelled is not None and labelled.scale_note:
        warn(labelled.scale_note)
    measured = partial(
        measure_perspectives,
        entries,
        views,
        measures=spec.measures,
        depths=spec.depths,
        union_depth=spec.union_depth,
        labelled=labelled,
        topics_of=spec.topics_of,
        baseline=baseline,
        test=spec.test,
    )
    judged = replace(verdicts, other=NO) if spec.strict else verdicts
    row, strict_notes = _counted(measured, verdicts, spec) if spec.strict else ({}, [])
    result = measured(verdicts=judged, bootstrap=spec.bootstrap)
    leans = _leaning(leaning, spec, views, verdicts)
    if spec.qrels_out is not None:
        _write_qrels(spec.qrels_out, spec, entries, views, verdicts)
    spec.write_runs(result)
    return Outcome(
        {**result.row(), "leaning": [lean.row() for lean in leans], **row},
        (lambda: report(result, leans, spec.views, spec.per_topic)) if spec.prints else "",
        result.unscored or any(lean.unscored for lean in leans),
        [*strict_notes, *notes(result, leans)],
    )


def _counted(
    measured: Callable[..., PerspectiveCoverage], verdicts: Verdicts, spec: PerspectivesSpec
) -> tuple[dict[str, Any], list[str]]:
    """Return what --strict adds: how many pairs have a verdict, before the rest count as no."""
    counted = measured(verdicts=verdicts, bootstrap=replace(spec.bootstrap, draws=0))
    row, lines = said_strictly(COVERAGE_RULES, "the pairs", check_pairs(counted, spec.min_judged))
    row["coverage"] = {
        run.name: {t: {"scored": n, "asked": of} for t, (n, of) in run.judged.items()}
        for run in counted.runs
    }
    return row, lines


def _checked(
    runs: Sequence[str], spec: PerspectivesSpec, leaning: Asked, as_json: bool
) -> tuple[dict[str, str], str | None]:
    """Check the options, and return name -> file of the runs, and the baseline."""
    others = [path for three in leaning for path in three]
    others += filter(None, (spec.views, spec.verdicts, spec.labelled, spec.gold))
    names, baseline = named_runs(runs, spec.baseline, *others)
    spec.check_needs()
    if spec.strict and (spec.topics_of != "perspectives" or spec.unjudged != "unscored"):
        raise OptionError("--strict excludes --topics-of and --unjudged: its rules set both")
    read = {f"file {n}": path for n, path in enumerate([*names.values(), *others], 1)}
    spec.check_files(read, as_json=as_json)
    return names, baseline


def _leaning(
    leaning: Asked,
    spec: PerspectivesSpec,
    views: Mapping[str, Sequence[Perspective]],
    verdicts: Verdicts,
) -> list[Leaning]:
    """Measure each --leaning, at the first --cutoff."""
    from pnyx.perspectives.measures.lean import ASKED_AS, measure_leaning

    names = run_names([question for question, _, _ in leaning])
    return [
        measure_leaning(
            name,
            dict(zip(ASKED_AS, paths, strict=True)),
            views,
            verdicts,
            spec.depths[0],
            bootstrap=spec.bootstrap,
        )
        for name, paths in zip(names, leaning, strict=True)
    ]


def _write_qrels(
    out: str,
    spec: PerspectivesSpec,
    runs: Mapping[str, Sequence[RunEntry]],
    views: Mapping[str, Sequence[Perspective]],
    verdicts: Verdicts,
) -> None:
    from pnyx.core.files import atomic_text
    from pnyx.formats import write_qrels
    from pnyx.perspectives.measures.coverage import perspective_qrels

    depth = max(*spec.depths, spec.union_depth or 0)
    try:
        qrels = perspective_qrels(runs.values(), views, verdicts, depth, spec.unscored)
    except InputError as error:
        problem = error.problem.removeprefix("qrels: ")
        raise InputError(f"--qrels-out: {problem} with --unscored") from error
    with atomic_text(out) as stream:
        write_qrels(stream, qrels)
    _warn_lost(qrels, views)


def _warn_lost(qrels: Sequence[Qrel], by_topic: Mapping[str, Sequence[Perspective]]) -> None:
    """Warn of perspectives without any line in the qrels: other tools will ignore them."""
    written = {(q.topic_id, q.subtopic) for q in qrels}
    topics = {q.topic_id for q in qrels}
    lost = [
        f"{topic}/{view.id}"
        for topic, views in by_topic.items()
        for view in views
        if topic in topics and (topic, view.id) not in written
    ]
    if lost:
        topic_names = ", ".join(escaped(name, 40) for name in lost[:3])
        warn(
            f"{len(lost)} perspectives have no scored pair and therefore no line in the qrels; "
            f"other tools will ignore them ({topic_names})"
        )


COVERAGE_RULES = (
    "by the campaign's rules, a question missing from a run counts as an empty ranking",
    "by the campaign's rules, a pair of document and perspective that nobody judged, or whose ids "
    "are unknown, is a no",
    "what a judge left unscored stays undecided and never counts as a no: bounds give its range",
)


def check_pairs(result: PerspectiveCoverage, least: float) -> dict[str, float]:
    """Return run -> share of its pairs of document and perspective that have a verdict.

    InputError: a run has a lower share than `least`, in [0, 1].
    """
    counts = {run.name: run.pairs for run in result.runs}
    if empty := [name for name, n in counts.items() if not n["asked"]]:
        raise InputError(f"no leaderboard: {escaped(empty[0])} has no pair to judge")
    shares = {name: n["scored"] / n["asked"] for name, n in counts.items()}
    return enough(shares, "its pairs", least)
