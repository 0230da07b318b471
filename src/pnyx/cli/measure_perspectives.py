"""`pnyx measure perspectives`: TREC runs against the perspectives on their questions (BERDS)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from pnyx.cli.measure_perspectives_report import notes, report
from pnyx.cli.measure_runs import (
    drawing_options,
    finish,
    run_names,
    shift_option,
    with_baseline,
)
from pnyx.cli.options import json_option, refuse_same_file
from pnyx.errors import InputError, shorten

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pnyx.measure.base import Bootstrap
    from pnyx.measure.gold import Joined
    from pnyx.measure.perspective_leaning import Leaning
    from pnyx.measure.perspective_verdicts import Verdicts
    from pnyx.records import Perspective, Qrel, RunEntry

__all__ = ["perspectives"]

_HELP = """Do the results of RUNs (TREC run files) cover every perspective (BERDS)?

MRecall@k is 1 where the first k documents support all perspectives, or k of them where there are
more; Precision@k is the share of them that support some perspective. Where questions have two
opposite perspectives (stance pro and con), it also says which side is covered. Each comes with a
95 % interval from drawing questions anew.

\b
--verdicts takes   the results of pnyx judge support --run --perspectives;
                   labels JSONL with question_id, doc_id and perspective_id, or
                   ids QUESTION/DOCUMENT/PERSPECTIVE;
                   TREC diversity qrels: question perspective document grade

A pair without a verdict is never taken for a no: a question whose value it could change has none,
the mean is over the others, and bounds say what it can be over all. --labelled also gives the
values with the judge's own errors taken into account: label the first documents of some of the
measured questions, picked at random. docs/measures.md defines all of this.
Exit status 3: a pair within the depth is unscored.
"""

_EXAMPLE = """\b
Example:
  pnyx search my.index --topics questions.jsonl --out bm25.run
  pnyx judge support --run bm25.run --perspectives views.jsonl --index my.index --depth 5 \\
    --out judged
  pnyx measure perspectives bm25.run --perspectives views.jsonl --verdicts judged
  pnyx measure perspectives bm25.run mmr.run --perspectives views.jsonl --verdicts judged \\
    --k 5 --k 10 --baseline bm25.run
"""

_OPTIONS = (
    click.argument("runs", nargs=-1, required=True, metavar="RUN..."),
    click.option(
        "--perspectives",
        "views",
        required=True,
        metavar="FILE",
        help="The perspectives (JSONL; also BERDS's, of whose query expansion those count that a "
        "retrieval must cover).",
    ),
    click.option("--verdicts", required=True, metavar="FILE", help="Who supports what."),
    click.option("--judge", metavar="NAME", help="Whose verdicts, where there are several's."),
    click.option(
        "--k",
        "depths",
        type=click.IntRange(1, 1_000_000),
        multiple=True,
        default=(5,),
        show_default=True,
        help="First documents that count; repeatable.",
    ),
    click.option(
        "--measure",
        "measures",
        multiple=True,
        metavar="MEASURE",
        help="In place of those of --k: MRecall@5, Precision@5, CoverDepth@100, MinCover@100, "
        "ProLead@5 ..., or alpha_nDCG@10, ERR_IA@10, StRecall@10 of ir-measures; repeatable.",
    ),
    click.option(
        "--depth",
        "union_depth",
        type=click.IntRange(1, 1_000_000),
        help="Also: how deep each run must be read to cover everything, and what so many "
        "documents of all runs cover together (BERDS, Tables 5 and 6: 100).",
    ),
    click.option(
        "--sides",
        type=click.Choice(["stance", "order"]),
        default="stance",
        show_default=True,
        help="Which perspective supports the question: as the file says, or the first of two that "
        "have no stance, as in BERDS.",
    ),
    click.option(
        "--leaning",
        nargs=3,
        multiple=True,
        metavar="RUN PRO CON",
        help="One retriever's runs for the questions, for the supporting perspectives in their "
        "place, and for the opposing ones: how far it follows its question (Fig. 3). Repeatable.",
    ),
    click.option(
        "--labelled",
        metavar="ANSWERS",
        help="The same judge's answers to pairs that people labelled (field `label`, or --labels): "
        "takes its errors into account.",
    ),
    click.option("--labels", metavar="LABELS", help="The labels of --labelled (JSONL), by id."),
    shift_option,
    click.option(
        "--unjudged",
        type=click.Choice(["unscored", "no"]),
        default="unscored",
        show_default=True,
        help="What pairs are that qrels lack; no for qrels that list only what supports.",
    ),
    click.option("--baseline", metavar="RUN", help="Run that the others are compared with."),
    click.option(
        "--test",
        type=click.Choice(["t", "randomisation"]),
        default="randomisation",
        show_default=True,
        help="Paired test against the baseline.",
    ),
    click.option(
        "--topics-of",
        type=click.Choice(["perspectives", "run", "both"]),
        default="perspectives",
        show_default=True,
        help="Questions that are measured: all with perspectives (one that a run lacks counts as "
        "an empty ranking), of these those of the run, or those of every run.",
    ),
    click.option(
        "--per-topic", "--by-topic", "per_topic", is_flag=True, help="Show each question, too."
    ),
    click.option(
        "--qrels-out",
        metavar="FILE",
        help="Write the verdicts as TREC diversity qrels, for pnyx measure retrieval and others.",
    ),
    click.option(
        "--unscored",
        type=click.Choice(["error", "skip", "zero"]),
        default="error",
        show_default=True,
        help="Of unscored pairs in --qrels-out: refuse to write, no line, or grade 0.",
    ),
    drawing_options,
    json_option,
)


def _options(function: Any) -> Any:
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


@click.command(
    name="perspectives",
    short_help="TREC runs, on perspectives.",
    help=_HELP,
    epilog=_EXAMPLE,
)
@_options
def perspectives(as_json: bool, per_topic: bool, **options: Any) -> int:
    """Measure runs; see `_HELP`."""
    paths, chosen = with_baseline(list(options["runs"]), options["baseline"])
    _check_usage(paths, options, as_json)
    from pnyx.corpora import read_run
    from pnyx.corpora.perspectives import read_perspectives
    from pnyx.measure.base import Bootstrap
    from pnyx.measure.perspective_verdicts import read_verdicts
    from pnyx.measure.perspectives import by_question, measure_perspectives

    names = dict(zip(paths, run_names(paths), strict=True))
    known = by_question(
        read_perspectives(options["views"], gold=True), sides_by_order=options["sides"] == "order"
    )
    verdicts = read_verdicts(
        options["verdicts"], judge=options["judge"], unjudged=options["unjudged"]
    )
    runs = {names[path]: list(read_run(path)) for path in paths}
    found = measure_perspectives(
        runs,
        known,
        verdicts,
        options["measures"],
        depths=options["depths"],
        union_depth=options["union_depth"],
        labelled=_labelled(options),
        shift=options["shift"] or 0.0,
        topics_of=options["topics_of"],
        baseline=None if chosen is None else names[chosen],
        test=options["test"],
        bootstrap=(bootstrap := Bootstrap(options["draws"], options["seed"])),
    )
    leaning = _leaning(options, known, verdicts, bootstrap)
    if options["qrels_out"] is not None:
        _write_qrels(options, runs, known, verdicts)
    shows = options["qrels_out"] != "-"
    return finish(
        {**found.row(), "leaning": [one.row() for one in leaning]},
        notes(found, leaning),
        (lambda: report(found, leaning, options["views"], per_topic)) if shows else None,
        as_json,
        unscored=found.unscored or any(one.unscored for one in leaning),
    )


def _check_usage(paths: Sequence[str], options: dict[str, Any], as_json: bool) -> None:
    sources = [*paths, *(path for three in options["leaning"] for path in three)]
    sources += [options[name] for name in ("views", "verdicts", "labelled", "labels")]
    if sources.count("-") > 1:
        raise click.UsageError("only one file can be standard input")
    if options["qrels_out"] == "-" and as_json:
        raise click.UsageError("--json and --qrels-out - both write to standard output")
    if options["labels"] is not None and options["labelled"] is None:
        raise click.UsageError("--labels goes with --labelled")
    if options["shift"] is not None and options["labelled"] is None:
        raise click.UsageError("--shift goes with --labelled")
    if options["qrels_out"] is not None:
        others = {f"file {n}": path for n, path in enumerate(filter(None, sources), 1)}
        refuse_same_file("--qrels-out", options["qrels_out"], **others)


def _labelled(options: dict[str, Any]) -> Joined | None:
    if options["labelled"] is None:
        return None
    from pnyx.measure.gold import join_labels

    judge = options["judge"]
    return join_labels(options["labelled"], options["labels"], "support", judge=judge)


def _leaning(
    options: dict[str, Any],
    known: Mapping[str, Sequence[Perspective]],
    verdicts: Verdicts,
    bootstrap: Bootstrap,
) -> list[Leaning]:
    """Measure each --leaning, at the first --k."""
    from pnyx.measure.perspective_leaning import ASKED_AS, measure_leaning

    three = [dict(zip(ASKED_AS, paths, strict=True)) for paths in options["leaning"]]
    names = run_names([one["question"] for one in three])
    return [
        measure_leaning(
            name,
            paths,
            known,
            verdicts,
            options["depths"][0],
            bootstrap=bootstrap,
        )
        for name, paths in zip(names, three, strict=True)
    ]


def _write_qrels(
    options: dict[str, Any],
    runs: Mapping[str, Sequence[RunEntry]],
    known: Mapping[str, Sequence[Perspective]],
    verdicts: Verdicts,
) -> None:
    from pnyx.corpora import write_qrels
    from pnyx.files import atomic_text
    from pnyx.measure.perspectives import perspective_qrels

    depth = max([*options["depths"], options["union_depth"] or 0])
    try:
        qrels = perspective_qrels(runs.values(), known, verdicts, depth, options["unscored"])
    except InputError as error:
        problem = error.problem.removeprefix("qrels: ")
        raise InputError(f"--qrels-out: {problem} with --unscored") from error
    with atomic_text(options["qrels_out"]) as stream:
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
        click.echo(
            f"pnyx: warning: {len(lost)} perspectives have no scored pair and no line in the "
            f"qrels, which therefore do not know them ({shown})",
            err=True,
        )
