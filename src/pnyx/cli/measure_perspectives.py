"""`pnyx measure perspectives`: TREC runs against the perspectives on their questions (BERDS)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal, TypeAlias

import click

from pnyx.app.measure_specs import ComparingSpec
from pnyx.app.spec import Spec, opt
from pnyx.cli.measure_perspectives_report import notes, report
from pnyx.cli.measure_runs import finish, named_runs, run_names
from pnyx.cli.options import refuse_same_file, warn
from pnyx.cli.params import SpecOption, json_option, takes, verb
from pnyx.cli.values import Raw
from pnyx.errors import InputError, OptionError, shorten

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pnyx.measure.perspective_leaning import Leaning
    from pnyx.measure.perspective_verdicts import Verdicts
    from pnyx.records import Perspective, Qrel, RunEntry

__all__ = ["PerspectivesSpec", "perspectives"]

_HELP = """Do the results of RUNs (TREC run files) cover every perspective (BERDS)?

MRecall@k is 1 where the first k documents support all perspectives, or k of them where there are
more; Precision@k is the share of them that support some perspective. Where questions have two
opposite perspectives (stance pro and con), it also says which side is covered. Each comes with a
95 % interval from drawing questions anew.

\b
--verdicts takes
  the results of pnyx judge support --run --perspectives;
  labels (JSONL) with question_id, doc_id and perspective_id, or with ids
  QUESTION/DOCUMENT/PERSPECTIVE;
  TREC diversity qrels: question perspective document grade

A pair without a verdict is never taken for a no: a question whose value it could change has none,
the mean is over the others, and bounds say what it can be over all. --labelled also gives the
values corrected for the judge's own errors: label the first documents of some of the measured
questions, picked at random. docs/measures.md defines all of this.
Exit status 3: a pair within the depth is unscored.
"""

_EXAMPLE = """\b
Example:
  pnyx search my.index --topics questions.jsonl --out bm25.run
  pnyx judge support --run bm25.run --perspectives views.jsonl \\
    --index my.index --depth 5 --out judged
  pnyx measure perspectives bm25.run --perspectives views.jsonl \\
    --verdicts judged
  pnyx measure perspectives bm25.run mmr.run --perspectives views.jsonl \\
    --verdicts judged --k 5 --k 10 --baseline bm25.run
"""

_LABELLED = ("--labelled", lambda spec: spec.labelled is not None)


@dataclass(frozen=True, kw_only=True)
class CoverageSpec(Spec):
    """What of runs is measured against which perspectives."""

    heading: ClassVar[str] = "Measures"

    views: str = opt(
        ...,
        "Perspectives (JSONL; also BERDS's, of whose query expansion those count that a retrieval "
        "must cover).",
        "--perspectives",
        metavar="FILE",
        raw=True,
    )
    verdicts: str = opt(
        ..., "Verdicts on pairs of document and perspective.", metavar="FILE", raw=True
    )
    judge: str | None = opt(
        None, "Judge whose verdicts are measured, if the file has several.", metavar="NAME"
    )
    depths: tuple[int, ...] = opt((5,), "Cutoff rank k. Repeatable.", "--k", low=1, high=1_000_000)
    measures: tuple[str, ...] = opt(
        (),
        "Instead of those of --k: MRecall@5, Precision@5, CoverDepth@100, MinCover@100, ProLead@5 "
        "..., or alpha_nDCG@10, ERR_IA@10, StRecall@10 of ir-measures. Repeatable.",
        "--measure",
        metavar="MEASURE",
    )
    union_depth: int | None = opt(
        None,
        "Also report the rank at which each run covers everything, and what the first DEPTH "
        "documents of all runs cover together (BERDS, Tables 5 and 6: 100).",
        "--depth",
        low=1,
        high=1_000_000,
        metavar="DEPTH",
    )
    sides: Literal["stance", "order"] = opt(
        "stance",
        "Which perspective supports the question: as the file says, or the first of two that have "
        "no stance, as in BERDS.",
        rare=True,
    )
    topics_of: Literal["perspectives", "run", "both"] = opt(
        "perspectives",
        "Questions that are measured: all with perspectives (one that a run lacks counts as an "
        "empty ranking), of these those of the run, or those of every run.",
        rare=True,
    )
    labelled: str | None = opt(
        None,
        "The same judge's answers to pairs that people labelled (field `label`, or --labels): "
        "corrects for its errors.",
        metavar="ANSWERS",
        raw=True,
    )
    labels: str | None = opt(
        None,
        "The labels of --labelled (JSONL), by id.",
        metavar="LABELS",
        raw=True,
        needs=_LABELLED,
    )
    shift: float = opt(
        0.0,
        "If --labelled is from another corpus or retriever: standard deviation of a common error "
        "of the judge's log-odds (0.7: odds doubled or halved).",
        low=0,
        metavar="S",
        needs=_LABELLED,
        rare=True,
    )
    unjudged: Literal["unscored", "no"] = opt(
        "unscored",
        "How to treat pairs missing from qrels; no for qrels that list only supporting pairs.",
        rare=True,
    )
    per_topic: bool = opt(False, "Show each question, too.", "--per-topic", "--by-topic")
    qrels_out: str | None = opt(
        None,
        "Write the verdicts as TREC diversity qrels, for pnyx measure retrieval and others.",
        metavar="FILE",
        raw=True,
        rare=True,
    )
    unscored: Literal["error", "skip", "zero"] = opt(
        "error",
        "Unscored pairs in --qrels-out: refuse to write, no line, or grade 0.",
        rare=True,
    )


@dataclass(frozen=True, kw_only=True)
class PerspectivesSpec(ComparingSpec, CoverageSpec):
    """All that is chosen."""

    test: Literal["t", "randomisation"] = opt("randomisation", "Paired test of two runs.")


Asked: TypeAlias = tuple[tuple[str, str, str], ...]


@verb("perspectives", short_help="TREC runs, on perspectives.", help=_HELP, epilog=_EXAMPLE)
@click.argument("runs", nargs=-1, required=True, metavar="RUN...")
@takes("spec", PerspectivesSpec)
@click.option(
    "--leaning",
    nargs=3,
    multiple=True,
    type=Raw(),
    cls=SpecOption,
    heading="More options",
    metavar="RUN PRO CON",
    help="One retriever's runs for the questions, for the supporting perspectives in their "
    "place, and for the opposing ones: how far it follows its question (Fig. 3). Repeatable.",
)
@json_option
def perspectives(
    runs: tuple[str, ...], spec: PerspectivesSpec, leaning: Asked, as_json: bool
) -> int:
    """Measure runs; see `_HELP`."""
    names, baseline = _checked(runs, spec, leaning, as_json)
    from pnyx.corpora import read_run
    from pnyx.corpora.perspectives import read_perspectives
    from pnyx.measure.gold import join_labels
    from pnyx.measure.perspective_verdicts import read_verdicts
    from pnyx.measure.perspectives import by_question, measure_perspectives

    known = by_question(
        read_perspectives(spec.views, gold=True), sides_by_order=spec.sides == "order"
    )
    verdicts = read_verdicts(spec.verdicts, judge=spec.judge, unjudged=spec.unjudged)
    labelled = None
    if spec.labelled is not None:
        labelled = join_labels(spec.labelled, spec.labels, "support", judge=spec.judge)
    entries = {name: list(read_run(path)) for name, path in names.items()}
    found = measure_perspectives(
        entries,
        known,
        verdicts,
        spec.measures,
        depths=spec.depths,
        union_depth=spec.union_depth,
        labelled=labelled,
        shift=spec.shift,
        topics_of=spec.topics_of,
        baseline=baseline,
        test=spec.test,
        bootstrap=spec.bootstrap,
    )
    leans = _leaning(leaning, spec, known, verdicts)
    if spec.qrels_out is not None:
        _write_qrels(spec.qrels_out, spec, entries, known, verdicts)
    shows = spec.qrels_out != "-"
    return finish(
        {**found.row(), "leaning": [one.row() for one in leans]},
        notes(found, leans),
        (lambda: report(found, leans, spec.views, spec.per_topic)) if shows else None,
        as_json,
        unscored=found.unscored or any(one.unscored for one in leans),
    )


def _checked(
    runs: Sequence[str], spec: PerspectivesSpec, leaning: Asked, as_json: bool
) -> tuple[dict[str, str], str | None]:
    """Return name -> file of the runs and the baseline, of choices that go together."""
    others = [path for three in leaning for path in three]
    others += filter(None, (spec.views, spec.verdicts, spec.labelled, spec.labels))
    names, baseline = named_runs(runs, spec.baseline, *others)
    if spec.qrels_out == "-" and as_json:
        raise OptionError("--json and --qrels-out - both write to standard output")
    spec.check_needs()
    if spec.qrels_out is not None:
        sources = {f"file {n}": path for n, path in enumerate([*names.values(), *others], 1)}
        refuse_same_file("--qrels-out", spec.qrels_out, **sources)
    return names, baseline


def _leaning(
    leaning: Asked,
    spec: PerspectivesSpec,
    known: Mapping[str, Sequence[Perspective]],
    verdicts: Verdicts,
) -> list[Leaning]:
    """Measure each --leaning, at the first --k."""
    from pnyx.measure.perspective_leaning import ASKED_AS, measure_leaning

    names = run_names([question for question, _, _ in leaning])
    return [
        measure_leaning(
            name,
            dict(zip(ASKED_AS, paths, strict=True)),
            known,
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
    known: Mapping[str, Sequence[Perspective]],
    verdicts: Verdicts,
) -> None:
    from pnyx.corpora import write_qrels
    from pnyx.files import atomic_text
    from pnyx.measure.perspectives import perspective_qrels

    depth = max(*spec.depths, spec.union_depth or 0)
    try:
        qrels = perspective_qrels(runs.values(), known, verdicts, depth, spec.unscored)
    except InputError as error:
        problem = error.problem.removeprefix("qrels: ")
        raise InputError(f"--qrels-out: {problem} with --unscored") from error
    with atomic_text(out) as stream:
        write_qrels(stream, qrels)
    _warn_lost(qrels, known)


def _warn_lost(qrels: Sequence[Qrel], known: Mapping[str, Sequence[Perspective]]) -> None:
    """Say which perspectives have no line: to other tools they do not exist."""
    written = {(q.topic_id, q.subtopic) for q in qrels}
    topics = {q.topic_id for q in qrels}
    lost = [
        f"{topic}/{one.id}"
        for topic, views in known.items()
        for one in views
        if topic in topics and (topic, one.id) not in written
    ]
    if lost:
        shown = ", ".join(shorten(name, 40) for name in lost[:3])
        warn(
            f"{len(lost)} perspectives have no scored pair and no line in the qrels, which "
            f"therefore do not know them ({shown})"
        )
