"""`pnyx annotate apply`: a judge's relevance labels for every pair, resumable, also as qrels."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from pnyx.cli import EXIT_INTERRUPTED, EXIT_UNSCORED
from pnyx.cli.answering import check_options
from pnyx.cli.judging import (
    Opened,
    asked_models,
    asking_options,
    combining_options,
    names_student,
    open_judge,
    prices_of,
)
from pnyx.cli.options import (
    json_option,
    model_options,
    refuse_same_file,
    spending_options,
    warn,
)
from pnyx.cli.progress import watched
from pnyx.errors import InputError, shorten

if TYPE_CHECKING:
    from pnyx.annotate.applying import Applied
    from pnyx.annotate.pairs import PairSource

__all__ = ["apply", "deciding_settings"]

_FILES = ("calibration", "cascade", "cheap", "labels", "lookup", "student")
"""Options that name a file, or a folder, which decides the answers."""

_HELP = """Label every pair of question and document, and write the labels to --out as they come.

\b
PAIRS                                 relevance items (JSONL; - is standard input)
--run RUN --index --topics            the first --depth documents of each topic
--all --index INDEX --topics FILE     every document of the index for every question

The judge is that of pnyx judge: the packaged judge, a language model (--llm), a cascade. --out
is .jsonl, .jsonl.gz or .parquet (pip install 'pnyx[tables]'), one line a pair: id, question_id,
doc_id, value, probability, unscored, judge and what the pair carried. While it grows, what is
labelled is in OUT.partial: the same command goes on from there, even after a crash, and labels
nothing twice. OUT.manifest.json says what it was made with.

--qrels grades by the judge's verdict, 1 or 0; --thresholds 0.3,0.7 cuts the probabilities into 0, 1
and 2. Once OUT is finished, the same command with other --thresholds judges nothing. Exit status 3:
some pairs are unscored.
"""

_EXAMPLE = """\b
Example:
  pnyx annotate apply --all --index my.index --topics questions.md --out labels.jsonl.gz
  pnyx annotate apply pairs.jsonl --out labels.jsonl --qrels qrels.txt
"""


def _thresholds(
    _: click.Context, __: click.Parameter, value: str | None
) -> tuple[float, ...] | None:
    """Read numbers between commas."""
    if value is None:
        return None
    try:
        return tuple(float(part) for part in value.split(","))
    except ValueError:
        shown = shorten(value, 40)
        raise click.BadParameter(f"found {shown!r}, expected numbers like 0.3,0.7") from None


@click.command(
    name="apply", short_help="A judge's labels for every pair.", help=_HELP, epilog=_EXAMPLE
)
@click.argument("pairs", required=False)
@click.option(
    "--out",
    required=False,
    type=click.Path(dir_okay=False),
    help="Annotations; needed without --plan.",
)
@click.option("--run", metavar="RUN", help="Label the documents of this TREC run.")
@click.option("--index", metavar="INDEX", help="Index that holds the documents.")
@click.option("--topics", metavar="FILE", help="Questions, with their definitions if any.")
@click.option("--all", "every", is_flag=True, help="Label every document of --index.")
@click.option(
    "--depth",
    type=click.IntRange(1),
    default=100,
    show_default=True,
    help="Documents of each topic of --run.",
)
@click.option("--with-text", is_flag=True, help="Write question, definition and document, too.")
@click.option("--qrels", metavar="FILE", help="Write TREC qrels, too; - is stdout.")
@click.option(
    "--thresholds",
    callback=_thresholds,
    metavar="P[,P...]",
    help="Probabilities from which on a grade of --qrels is 1, 2 ...  [default: the verdict].",
)
@click.option(
    "--unscored",
    type=click.Choice(["error", "skip", "zero"]),
    help="What pairs without a verdict are in --qrels: no file at all, no line, or grade 0  "
    "[default: skip; error with --thresholds].",
)
@combining_options
@asking_options
@model_options
@spending_options
@json_option
@click.pass_context
def apply(context: click.Context, /, pairs: str | None, as_json: bool, **options: Any) -> int:
    """Label pairs; see `_HELP`."""
    from pnyx.annotate.grades import check_thresholds
    from pnyx.judge.tasks import TASKS

    check_options(context, options["out"], options)
    _check_qrels(context, pairs, options, as_json)
    if options["thresholds"] is not None:
        check_thresholds(options["thresholds"])
    source = _source(context, pairs, options)
    llm = asked_models(options)
    del options["llm"]
    options["offline"] = options["offline"] or options["plan"]
    with open_judge(TASKS["relevance"], llm, **options) as opened:
        if options["plan"]:
            from pnyx.cli.planning import print_plan

            prices = prices_of(options)
            names = [model.name for model in opened.models]
            return print_plan(opened, list(source), {n: prices(n) for n in names}, as_json)
        try:
            applied = _apply(source, opened, options)
        except KeyboardInterrupt:
            click.echo("pnyx: interrupted; the same command goes on where it stopped", err=True)
            return EXIT_INTERRUPTED
    _report(applied, options, as_json)
    return EXIT_UNSCORED if applied.counts["unscored"] else 0


def _check_qrels(
    context: click.Context, pairs: str | None, options: dict[str, Any], as_json: bool
) -> None:
    """Refuse options that would change nothing, and two results in one place."""
    if options["qrels"] is None:
        for name in ("thresholds", "unscored"):
            if context.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE:
                raise click.UsageError(f"--{name} goes with --qrels")
        return
    if options["qrels"] == "-" and as_json:
        raise click.UsageError("--json and --qrels - both write to standard output")
    from pnyx.annotate.partial import manifest_path

    out = options["out"]
    inputs = {name: options[name] for name in ("run", "topics", "labels")}
    refuse_same_file("--qrels", options["qrels"], out=out, PAIRS=pairs, **inputs)
    if out is not None:
        refuse_same_file("--qrels", options["qrels"], manifest=manifest_path(out))


def _source(context: click.Context, pairs: str | None, options: dict[str, Any]) -> PairSource:
    """Return the pairs that the options name."""
    from pnyx.annotate.pairs import pairs_of_corpus, pairs_of_items, pairs_of_run

    run, index, topics = options["run"], options["index"], options["topics"]
    every = options["every"]
    depth_given = context.get_parameter_source("depth") is click.core.ParameterSource.COMMANDLINE
    if depth_given and run is None:
        raise click.UsageError("--depth goes with --run")
    chosen = sum((pairs is not None, run is not None, every))
    located = index is not None and topics is not None
    if chosen != 1 or (pairs is None) != located:
        raise click.UsageError("expected PAIRS, or --run or --all with both --index and --topics")
    if run is not None:
        return pairs_of_run(run, index, topics, options["depth"])
    if every:
        return pairs_of_corpus(index, topics)
    found = pairs_of_items(str(pairs))
    if options["qrels"] is not None and found.count is not None:
        first = next(iter(found)).extra
        if first.get("question_id") is None or first.get("doc_id") is None:
            raise InputError("lacks question_id or doc_id, which --qrels needs", path=pairs, line=1)
    return found


def _apply(source: PairSource, opened: Opened, options: dict[str, Any]) -> Applied:
    from pnyx.annotate.applying import apply_judge

    left = source.count

    def started(kept: int) -> None:
        nonlocal left
        if kept:
            click.echo(f"pnyx: {kept} pairs are labelled already, going on", err=True)
        left = None if source.count is None else source.count - kept

    def damaged(count: int) -> None:
        warn(f"{count} labels of the earlier run are damaged; these pairs are labelled again")

    with watched(opened.judge, opened.models, lambda: left) as judge:
        return apply_judge(
            judge,
            source,
            options["out"],
            settings=deciding_settings(opened, options),
            with_text=options["with_text"],
            on_start=started,
            on_damaged=damaged,
        )


def deciding_settings(opened: Opened, options: dict[str, Any]) -> dict[str, Any]:
    """Return what decides the answers beside the judge's name; files by what they hold."""
    from pnyx.annotate.pairs import file_hash

    settings = {k: v for k, v in opened.settings.items() if k not in _FILES}
    named = {name: options[name] for name in _FILES if options.get(name) is not None}
    if not names_student(options["cheap"]):
        named.pop("cheap", None)  # a model, which the judge's name holds
    return {
        "prompts": list(opened.prompts),
        "settings": settings if opened.models else {},
        "files": {name: file_hash(path) for name, path in named.items()},
        "from_store": bool(options["offline"]),
    }


def _report(applied: Applied, options: dict[str, Any], as_json: bool) -> None:
    """Write the qrels, and say what came of it."""
    grades: dict[int, int] | None = None
    if options["qrels"] is not None:
        from pnyx.annotate.grades import write_graded_qrels
        from pnyx.judge.verdicts import read_annotations

        try:
            grades = write_graded_qrels(
                options["qrels"],
                read_annotations(applied.path),
                options["thresholds"],
                options["unscored"],
            )
        except InputError as error:
            raise InputError(f"{error} ({shorten(str(applied.path), 200)} is complete)") from error
    judge = applied.manifest["judge"]["name"]
    card = applied.manifest["card"]
    click.echo(f"judge {shorten(judge)}: {shorten(card, 400)}", err=True)
    if as_json:
        row = {**applied.manifest, "kept": applied.kept}
        click.echo(json.dumps(row if grades is None else {**row, "qrels": grades}))
        return
    counts = applied.counts
    line = f"{counts['scored']} of {counts['asked']} pairs labelled by {shorten(judge)}"
    if counts["unscored"]:
        reasons = ", ".join(f"{n} {shorten(reason, 40)}" for reason, n in counts["reasons"].items())
        line += f"; {counts['unscored']} unscored: {reasons}"
    if applied.kept == counts["asked"]:
        line += "; all of them before"
    if grades is not None:
        line += "; qrels: " + ", ".join(f"{n} of grade {g}" for g, n in grades.items())
        without = counts["asked"] - sum(grades.values())
        line += f", {without} without a line" if without else ""
    click.echo(f"{line}; see {shorten(str(applied.path), 200)}", err=options["qrels"] == "-")
