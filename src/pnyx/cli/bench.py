"""`pnyx bench`: whole evaluations, from an index to a table."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, cast

import click

from pnyx.cli import EXIT_INTERRUPTED, EXIT_UNSCORED
from pnyx.cli.annotate_apply import deciding_settings
from pnyx.cli.answering import check_options
from pnyx.cli.judging import (
    Opened,
    asked_models,
    asking_options,
    combining_options,
    open_judge,
    prices_of,
)
from pnyx.cli.measure_runs import shift_option
from pnyx.cli.options import json_option, model_options, open_model, spending_options, warn
from pnyx.cli.progress import watched
from pnyx.cli.values import NumberRange
from pnyx.errors import shorten

if TYPE_CHECKING:
    from pnyx.audit.perspective_bench import Benched, PerspectiveBench
    from pnyx.measure.gold import Joined
    from pnyx.measure.perspectives import Questions
    from pnyx.models.embedding import Embedder
    from pnyx.search.index import Index
    from pnyx.search.perspectives import PerspectiveSource

__all__ = ["command"]

_RETRIEVERS = "bm25,dirichlet,touche,dense,hybrid"

_HELP = """Retrieve for questions, judge what is found, measure whether it shows every side (BERDS).

Each retriever runs as it is and with maximal marginal relevance (mmr), whose lambda is chosen on
--dev of the questions, which are not measured; with --expand also once for each perspective of
another source than the one to be covered. Every pair of passage and perspective is judged once.

--out gets runs/SYSTEM.run, verdicts.jsonl, verdicts-dev.jsonl and measures.json. Interrupted, the
same command goes on from the verdicts that are there. Exit status 3: some pairs are unscored.
"""

_EXAMPLE = """\b
Example:
  pnyx index debates.jsonl --out debates.index --quality --clusters --vectors
  pnyx bench perspectives --index debates.index --questions kialo.jsonl --sides order --out bench
  pnyx bench perspectives --index debates.index --questions views.jsonl --retrievers bm25,dense \\
    --expand index --k 5 --llm openai:gpt-4o-mini --budget 5 --out bench
"""


@click.group(name="bench", no_args_is_help=True)
def command() -> None:
    """Evaluate retrievers as a whole: retrieve, judge, measure.

    \b
    Example:
      pnyx bench perspectives --index debates.index --questions views.jsonl --out bench
    """


def _names(_: click.Context, __: click.Parameter, value: str) -> tuple[str, ...]:
    """Read names between commas."""
    return tuple(part.strip() for part in value.split(",") if part.strip())


@command.command(
    name="perspectives",
    short_help="Do retrievers show every side?",
    help=_HELP,
    epilog=_EXAMPLE,
)
@click.option("--index", required=True, metavar="INDEX", help="Index that is searched.")
@click.option(
    "--questions",
    required=True,
    metavar="FILE",
    help="Perspectives with their questions (JSONL; also both of BERDS's files).",
)
@click.option("--out", required=False, metavar="FOLDER", help="Needed without --plan.")
@click.option(
    "--retrievers",
    default=_RETRIEVERS,
    show_default=True,
    callback=_names,
    metavar="NAME[,NAME...]",
    help="touche needs an index with --quality and --clusters, dense and hybrid one with "
    "--vectors.",
)
@click.option(
    "--variants",
    default="plain,mmr",
    show_default=True,
    callback=_names,
    metavar="NAME[,NAME...]",
    help="Of plain and mmr; --expand adds perspectives.",
)
@click.option(
    "--expand",
    metavar="SOURCE",
    help="What writes the perspectives that are searched: a file of perspectives (of BERDS's query "
    "expansion what its model wrote), `index` or `llm` (the model of --llm).",
)
@click.option(
    "--k",
    "depths",
    type=click.IntRange(1, 1000),
    multiple=True,
    default=(5, 10),
    show_default=True,
    help="First documents that count; lambda is chosen by the first. Repeatable.",
)
@click.option(
    "--lambda",
    "lambdas",
    type=NumberRange(0, 1),
    multiple=True,
    help="Of mmr; of several one is chosen  [default: .5, .75, .9, .95, .99, as in BERDS].",
)
@click.option(
    "--dev",
    type=NumberRange(0, 1, min_open=True, max_open=True),
    default=0.25,
    show_default=True,
    help="Share of the questions on which lambda is chosen.",
)
@click.option(
    "--leaning",
    is_flag=True,
    help="Also ask each retriever each side in place of the question: how far it follows it.",
)
@click.option(
    "--sides",
    type=click.Choice(["stance", "order"]),
    default="stance",
    show_default=True,
    help="Which perspective supports the question: as the file says, or the first of two that have "
    "no stance, as in BERDS.",
)
@click.option(
    "--words",
    type=click.IntRange(0),
    default=100,
    show_default=True,
    help="Longest passage that is judged by itself; 0 leaves documents whole.",
)
@click.option(
    "--labelled",
    metavar="ANSWERS",
    help="The same judge's answers to pairs that people labelled (field `label`, or --human): "
    "takes its errors into account.",
)
@click.option("--human", metavar="LABELS", help="The labels of --labelled (JSONL), by id.")
@shift_option
@click.option(
    "--draws",
    type=click.IntRange(0, 1_000_000),
    default=1000,
    show_default=True,
    help="Of the bootstrap over questions; 0 for no intervals.",
)
@click.option(
    "--seed",
    type=click.IntRange(0),
    default=0,
    show_default=True,
    help="Of the questions for lambda, and of all that is drawn.",
)
@combining_options
@asking_options
@model_options
@spending_options
@json_option
@click.pass_context
def perspectives(context: click.Context, /, as_json: bool, **options: Any) -> int:
    """Compare retrievers; see `_HELP`."""
    from pnyx.judge.tasks import TASKS
    from pnyx.search.index import Index

    check_options(context, options["out"], options)
    bench = _bench(options)
    views = _views(options)
    opened_index = Index.open(options["index"])
    with contextlib.ExitStack() as stack:
        expansions = stack.enter_context(_expansions(opened_index, options))
        work = _Work(opened_index, views, bench, _embedder(bench), expansions)
        llm = asked_models(options)
        del options["llm"]
        options["offline"] = options["offline"] or options["plan"]
        options["as_perspectives"] = True
        opened = stack.enter_context(open_judge(TASKS["support"], llm, **options))
        if options["plan"]:
            return _plan(work, opened, options, as_json)
        try:
            found = _run(work, opened, options)
        except KeyboardInterrupt:
            click.echo("pnyx: interrupted; the same command goes on where it stopped", err=True)
            return EXIT_INTERRUPTED
        card = opened.judge.card
    _report(found, card, options, as_json)
    unscored = found.coverage.unscored or any(one.unscored for one in found.leaning)
    return EXIT_UNSCORED if unscored else 0


class _Work:
    """What is compared, on what."""

    def __init__(
        self,
        index: Index,
        views: Questions,
        bench: PerspectiveBench,
        embedder: Embedder | None,
        expansions: PerspectiveSource | None,
    ) -> None:
        self.index, self.views, self.bench = index, views, bench
        self.embedder, self.expansions = embedder, expansions


def _bench(options: dict[str, Any]) -> PerspectiveBench:
    from pnyx.audit.perspective_bench import LAMBDAS, PerspectiveBench, Variant
    from pnyx.search.scoring import Scoring

    expand = options["expand"]
    variants = [*options["variants"], *(["perspectives"] if expand is not None else [])]
    if expand is None and "perspectives" in variants:
        raise click.UsageError("--variants perspectives needs --expand")
    if options["lambdas"] and "mmr" not in variants:
        raise click.UsageError("--lambda goes with --variants mmr")
    return PerspectiveBench(
        [Scoring(name) for name in options["retrievers"]],
        cast("list[Variant]", list(dict.fromkeys(variants))),
        tuple(dict.fromkeys(options["depths"])),
        tuple(dict.fromkeys(options["lambdas"])) or LAMBDAS,
        options["dev"],
        options["leaning"],
        options["words"],
        options["draws"],
        options["seed"],
    )


def _views(options: dict[str, Any]) -> Questions:
    from pnyx.corpora.perspectives import read_perspectives
    from pnyx.measure.perspectives import by_question

    found = read_perspectives(options["questions"], gold=True)
    return by_question(found, sides_by_order=options["sides"] == "order")


def _embedder(bench: PerspectiveBench) -> Embedder | None:
    from pnyx.models.embedding import embedder_from

    embeds = "mmr" in bench.variants or any(scoring.embeds for scoring in bench.retrievers)
    return embedder_from() if embeds else None


@contextlib.contextmanager
def _expansions(index: Index, options: dict[str, Any]) -> Iterator[PerspectiveSource | None]:
    """Open what writes the perspectives that are searched."""
    expand = options["expand"]
    if expand is None:
        yield None
    elif expand == "index":
        from pnyx.search.perspectives_index import IndexPerspectives

        yield IndexPerspectives(index)
    elif expand == "llm":
        if options["plan"]:
            raise click.UsageError("--plan cannot know what --expand llm will write")
        from pnyx.search.perspectives import LlmPerspectives

        with open_model(
            options["llm"], options["store"], options["concurrency"], options["timeout"]
        ) as model:
            if model is None:
                raise click.UsageError("--expand llm needs --llm")
            yield LlmPerspectives(model)
    else:
        from pnyx.search.perspectives import FilePerspectives

        _warn_if_told(expand, options["questions"])
        yield FilePerspectives(expand)


def _warn_if_told(expand: str, questions: str) -> None:
    """Warn where what is searched is what is to be covered: that is the answer."""
    from pnyx.corpora.perspectives import read_perspectives

    searched = {one.text for one in read_perspectives(expand)}
    if all(one.text in searched for one in read_perspectives(questions, gold=True)):
        warn("--expand holds the perspectives to be covered: its figures are an upper bound")


def _plan(work: _Work, opened: Opened, options: dict[str, Any], as_json: bool) -> int:
    """Print what judging would ask at most: no lambda is chosen yet, so all of them count."""
    from pnyx.audit.perspective_bench import pairs_at_most
    from pnyx.cli.planning import print_plan

    pairs = pairs_at_most(
        work.index, work.views, work.bench, embedder=work.embedder, expansions=work.expansions
    )
    prices = prices_of(options)
    names = [model.name for model in opened.models]
    return print_plan(opened, pairs, {name: prices(name) for name in names}, as_json)


def _labelled(options: dict[str, Any]) -> Joined | None:
    if options["labelled"] is None:
        if options["shift"] is not None:
            raise click.UsageError("--shift goes with --labelled")
        if options["human"] is not None:
            raise click.UsageError("--human goes with --labelled")
        return None
    from pnyx.measure.gold import join_labels

    return join_labels(options["labelled"], options["human"], "support")


def _run(work: _Work, opened: Opened, options: dict[str, Any]) -> Benched:
    from pnyx.audit.perspective_bench import bench_perspectives

    labelled = _labelled(options)
    expected: int | None = None

    def to_judge(pairs: int) -> None:
        nonlocal expected
        expected = (expected or 0) + pairs

    with watched(opened.judge, opened.models, lambda: expected) as judge:
        return bench_perspectives(
            work.index,
            work.views,
            judge,
            options["out"],
            work.bench,
            embedder=work.embedder,
            expansions=work.expansions,
            labelled=labelled,
            shift=options["shift"] or 0.0,
            settings=deciding_settings(opened, options),
            on_pairs=to_judge,
        )


def _report(found: Benched, card: str, options: dict[str, Any], as_json: bool) -> None:
    from pathlib import Path

    from pnyx.cli.bench_report import lines
    from pnyx.cli.measure_perspectives_report import notes
    from pnyx.files import atomic_text

    row = json.dumps(found.row(), ensure_ascii=False, allow_nan=False)
    with atomic_text(Path(options["out"]) / "measures.json") as stream:
        stream.write(row + "\n")
    for problem in found.problems[:3]:
        warn(problem)
    if len(found.problems) > 3:
        warn(f"{len(found.problems) - 3} more such; --json names them")
    for line in notes(found.coverage, found.leaning):
        click.echo(f"pnyx: {line}", err=True)
    click.echo(f"judge {shorten(found.coverage.judge)}: {shorten(card, 400)}", err=True)
    if as_json:
        click.echo(row)
        return
    click.echo("\n".join(lines(found, options["questions"])))
    folder = shorten(options["out"], 200)
    click.echo(
        f"see {folder}: measures.json has p values and each question; pnyx measure perspectives "
        f"{folder}/runs/*.run measures anew"
    )
