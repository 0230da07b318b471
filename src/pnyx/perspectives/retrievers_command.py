"""`pnyx compare retrievers`: which retriever shows every side, from an index to a table."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pnyx.cli import EXIT_UNSCORED
from pnyx.cli.judge_runs import ShardSpec, counts_line, needs_out, plan_items, say_judge
from pnyx.cli.measure.tables import compared_legend, mark
from pnyx.cli.options import Outcome, say, warn, warn_first
from pnyx.cli.params import verb
from pnyx.core.errors import OptionError, count_of, escaped, shorten
from pnyx.core.spec import file_opt, opt, out_opt
from pnyx.display.tables import Column, Marked, Table, draws_legend, filled, shown
from pnyx.formats.text_types import SourceName
from pnyx.judging.counted_judge import watched
from pnyx.judging.judge_names import short_name
from pnyx.judging.measures.options import BootstrapSpec, CorrectionSpec, SidesSpec
from pnyx.judging.open_judge import open_judge
from pnyx.judging.open_models import open_model
from pnyx.judging.opened_judge import OpenedJudge, deciding_settings
from pnyx.judging.options import JudgeSpec
from pnyx.perspectives.bench_plan import LAMBDAS, RETRIEVERS, PerspectiveBench
from pnyx.perspectives.measure_tables import coverage_legend, leaning_table, notes

if TYPE_CHECKING:
    from pnyx.display.tables import Part
    from pnyx.formats.perspectives import Questions
    from pnyx.perspectives.bench import BenchJudge, BenchSearch, PerspectiveBenchResult
    from pnyx.search.engine import Engine
    from pnyx.search.perspectives import PerspectiveSource


class BenchSpec(
    BootstrapSpec,
    CorrectionSpec,
    SidesSpec,
    ShardSpec,
    heading="Retrieval",
    rare="lambdas dev words variants expand leaning",
):
    """What is compared; see `pnyx.perspectives.bench_plan.PerspectiveBench`."""

    index: SourceName = file_opt(..., metavar="INDEX")
    perspectives: str = file_opt(...)
    out: str | None = out_opt(None, metavar="FOLDER", writes="files")
    retrievers: tuple[str, ...] = opt(
        RETRIEVERS,
        "Retrievers; touche needs an index with --quality --clusters, dense and hybrid --vectors.",
        metavar="NAME[,NAME...]",
        each=True,
    )
    variants: tuple[str, ...] = opt(
        ("plain", "mmr"),
        "Variants: plain, mmr; --expand adds perspectives.",
        metavar="NAME[,...]",
        each=True,
    )
    expand: str | None = file_opt(
        None,
        "Source of the perspectives to search for: a file (for BERDS, the model output of its "
        "query expansion), `index` or `llm` (the model of --judge).",
        metavar="SOURCE",
    )
    depths: tuple[int, ...] = opt((5, 10), "", "--cutoff", within="[1, 1000]")
    lambdas: tuple[float, ...] = opt(
        (),
        "",
        "--lambda",
        within="[0, 1]",
        default_text="those of BERDS: 0.5, 0.75, 0.9, 0.95, 0.99",
    )
    dev: float = opt(0.25, "Share of the questions used to choose lambda.", within="(0, 1)")
    leaning: bool = opt(False)
    words: int = opt(100, low=0)

    def plan(self) -> PerspectiveBench:
        """Return the systems to compare."""
        self.check_needs()
        variants = [*self.variants, *(["perspectives"] if self.expand is not None else [])]
        if self.expand is None and "perspectives" in variants:
            raise OptionError("--variants perspectives requires --expand")
        if self.lambdas and "mmr" not in variants:
            raise OptionError("--lambda requires --variants mmr")
        return self.make(
            PerspectiveBench,
            variants=list(dict.fromkeys(variants)),
            depths=tuple(dict.fromkeys(self.depths)),
            lambdas=tuple(dict.fromkeys(self.lambdas)) or LAMBDAS,
            dev_share=self.dev,
        )


@verb(
    "retrievers",
    resumes=True,
    short_help="Do retrievers show every side?",
    rare={"spec": "sides labelled gold"},
)
def command(spec: BenchSpec, judge: JudgeSpec, as_json: bool) -> int:
    """Retrieve for questions, judge the results, measure whether they show every side (BERDS).

    Each retriever runs alone and with maximal marginal relevance (mmr). Every pair of passage and
    perspective is judged once.

    \b
    Example:
      $ pnyx demo --files-only --out ex
      $ pnyx index ex/arguments.jsonl --out my.index
      $ pnyx compare retrievers --index my.index --retrievers bm25 \\
          --perspectives ex/perspectives.jsonl --variants plain --cutoff 3 --out b
      ...
      system  MRecall@3, 95 % interval  Precision@3, 95 % interval
      bm25      0.000   [0.000, 0.324]      0.292   [0.073, 0.682]

    \b
    More: pnyx compare retrievers --help-all, docs/recipes/perspectives.md.
    \f
    Lambda of mmr is chosen at the first --cutoff on a share --dev of the questions, which are not
    measured. With --expand it also searches for each perspective from another source than
    --perspectives. --leaning also queries each retriever with each side. Passages have at most
    --words words; with 0, documents are not split.

    --out (required without --plan) gets runs/SYSTEM.run, verdicts.jsonl, verdicts-dev.jsonl and
    measures.json. Run the command again to resume from the stored verdicts. Exit status 3: some
    pairs are unscored.

    \b
      pnyx compare retrievers --index debates.index --perspectives kialo.jsonl \\
        --sides order --out bench
      pnyx compare retrievers --index debates.index --perspectives views.jsonl \\
        --retrievers bm25,dense --cutoff 5 --judge openai:gpt-4o-mini --out bench
    """
    from pnyx.formats.runs.trec import a_token
    from pnyx.judging.tasks import TASKS
    from pnyx.perspectives.bench import BenchSearch, pairs_at_most
    from pnyx.search.open_engine import open_index

    needs_out(spec.out, judge)
    shard = spec.share
    bench = spec.plan()
    views = _views(spec)
    for topic in views:  # fail on ids that a run cannot hold before asking a judge
        a_token(topic, "topic")
    opened_index = open_index(spec.index)
    with contextlib.ExitStack() as stack:
        expansions = stack.enter_context(_expansions(opened_index, spec, judge))
        search = BenchSearch(opened_index, views, bench, expansions=expansions)
        opened = stack.enter_context(
            open_judge(TASKS["support"], judge, say, support_of="perspectives")
        )
        if judge.plan:  # lambda is not chosen yet, so every lambda counts
            return plan_items(opened, pairs_at_most(search), judge, as_json, shard)
        if shard is not None:
            return _judge_share(search, opened, spec, judge, as_json)
        result = _run(search, opened, spec, judge)
        card = opened.judge.card
    _report(result, card, spec, as_json)
    unscored = result.coverage.unscored or any(lean.unscored for lean in result.leaning)
    return EXIT_UNSCORED if unscored else 0


def _views(spec: BenchSpec) -> Questions:
    from pnyx.formats.perspectives import by_question, read_perspectives

    views = read_perspectives(spec.perspectives, gold=True)
    return by_question(views, sides_by_order=spec.sides == "order")


@contextlib.contextmanager
def _expansions(
    index: Engine, spec: BenchSpec, judge: JudgeSpec
) -> Iterator[PerspectiveSource | None]:
    """Open the source of the perspectives to search for."""
    if spec.expand is None:
        yield None
    elif spec.expand == "index":
        from pnyx.search.perspectives_index import IndexPerspectives

        yield IndexPerspectives(index)
    elif spec.expand == "llm":
        if judge.plan:
            raise OptionError("--plan cannot predict what --expand llm will write")
        from pnyx.search.perspectives import LlmPerspectives

        with open_model(judge, say) as model:
            if model is None:
                raise OptionError("--expand llm requires a language model (--judge)")
            yield LlmPerspectives(model)
    else:
        from pnyx.search.perspectives import FilePerspectives

        _warn_if_told(spec.expand, spec.perspectives)
        yield FilePerspectives(spec.expand)


def _warn_if_told(expand: str, covered: str) -> None:
    """Warn if the perspectives to search for are those to cover, which gives the answer away."""
    from pnyx.formats.perspectives import read_perspectives

    searched = {perspective.text for perspective in read_perspectives(expand)}
    if all(perspective.text in searched for perspective in read_perspectives(covered, gold=True)):
        warn("--expand holds the perspectives to cover: its figures are an upper bound")


def _run(
    search: BenchSearch, opened: OpenedJudge, spec: BenchSpec, judge: JudgeSpec
) -> PerspectiveBenchResult:
    from pnyx.perspectives.bench import bench_perspectives

    labelled = spec.joined()
    if labelled is not None and labelled.scale_note:
        warn(labelled.scale_note)
    with _judging(opened, spec, judge) as judging:
        return bench_perspectives(search, judging, labelled)


def _judge_share(
    search: BenchSearch, opened: OpenedJudge, spec: BenchSpec, judge: JudgeSpec, as_json: bool
) -> int:
    """Judge a share of the pairs; measuring requires all shares."""
    from pnyx.core.files import read_json
    from pnyx.judging.runs.results import manifest_path
    from pnyx.perspectives.bench import judge_share

    with _judging(opened, spec, judge) as judging:
        path = judge_share(search, judging)
    manifest = read_json(manifest_path(path)) or {}
    line = counts_line(manifest["counts"], "pairs judged", manifest["judge"]["name"])
    return Outcome(
        manifest,
        f"{line}; see {escaped(str(path))}. After pnyx files merge has combined the shares into "
        "verdicts.jsonl of a folder, run the same command there without --shard to measure.",
        manifest["counts"]["unscored"],
    ).show(as_json=as_json)


@contextlib.contextmanager
def _judging(opened: OpenedJudge, spec: BenchSpec, judge_spec: JudgeSpec) -> Iterator[BenchJudge]:
    """Yield the judge, with progress."""
    from pnyx.perspectives.bench import BenchJudge

    expected = 0  # negative if another round follows

    def begun(pairs: int, last: bool) -> None:
        nonlocal expected
        expected = (abs(expected) + pairs) * (1 if last else -1)

    with watched(opened.judge, opened.models, lambda: expected or None) as judge:
        settings = deciding_settings(opened, judge_spec)
        yield BenchJudge(judge, Path(str(spec.out)), settings, begun, shard=spec.share)


def _report(result: PerspectiveBenchResult, card: str, spec: BenchSpec, as_json: bool) -> None:
    from pnyx.core.files import write_text

    row = json.dumps(result.row(), ensure_ascii=False, allow_nan=False)
    write_text(Path(str(spec.out)) / "measures.json", row + "\n")
    warn_first(result.problems, "warnings; --json lists them", 3)
    for line in notes(result.coverage, result.leaning):
        say(line)
    say_judge(result.coverage.judge, card)
    if as_json:
        click.echo(row)
        return
    folder = escaped(str(spec.out))
    click.echo(shown(_tables(result, spec.perspectives)))
    click.echo(
        filled(
            f"see {folder}: measures.json has p values and each question; pnyx measure "
            f"perspectives {folder}/runs/*.run measures again"
        )
    )


def _tables(result: PerspectiveBenchResult, source: str) -> list[Part]:
    """Return a row for each system, with columns for undecided or corrected values, if any."""
    coverage = result.coverage
    names = list(coverage.runs[0].measures)
    opened = any(mean.open for run in coverage.runs for mean in run.measures.values())
    corrected = any(run.corrected for run in coverage.runs)
    compared = {(c.run, c.measure): c for c in coverage.comparisons}
    columns = [Column("system")]
    for name in names:
        columns.append(Column(f"{name}, 95 % interval", "figure"))
        columns += [Column("bounds", "interval")] * opened
        columns += [Column("corrected, 95 % interval", "figure")] * corrected
    rows = []
    for run in coverage.runs:
        row: list[Any] = [run.name]
        for name in names:
            mean = run.measures[name]
            row.append(Marked(mean, mark(compared.get((run.name, name)))))
            row += [(mean.least, mean.most)] * opened
            row += [run.corrected.get(name, "")] * corrected
        rows.append(row)
    title = (
        f"{count_of(len(result.test), 'question')} of {shorten(source, 200)}, verdicts by "
        f"{shorten(short_name(coverage.judge), 100)}"
    )
    leaning = [leaning_table(result.leaning)] if result.leaning else []
    legend = []
    if result.lambdas:
        chosen = ", ".join(f"{name} {lam:g}" for name, lam in result.lambdas.items())
        on = f", chosen on {count_of(len(result.dev), 'other question')}" if result.dev else ""
        legend.append(f"lambda of mmr: {chosen}{on}")
    legend += coverage_legend(coverage, result.leaning) + compared_legend(coverage)
    legend += draws_legend("the questions", coverage.bootstrap)
    return [Table(columns, rows, title=title), *leaning, legend]
