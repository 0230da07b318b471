"""`pnyx bench`: whole evaluations, from an index to a table."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal, cast

import click

from pnyx.app.judge_specs import JudgeSpec
from pnyx.app.measure_specs import BootstrapSpec
from pnyx.app.open_judge import Opened, deciding_settings, open_judge
from pnyx.app.open_models import open_model
from pnyx.app.spec import opt
from pnyx.audit.perspective_plan import LAMBDAS, RETRIEVERS, PerspectiveBench
from pnyx.cli import EXIT_INTERRUPTED, EXIT_UNSCORED
from pnyx.cli.answering import needs_out, plan_items
from pnyx.cli.options import say, warn
from pnyx.cli.params import Command, Group, json_option, takes
from pnyx.cli.progress import watched
from pnyx.errors import OptionError, shorten

if TYPE_CHECKING:
    from pnyx.audit.perspective_bench import Benched, BenchSearch
    from pnyx.audit.perspective_plan import Variant
    from pnyx.measure.gold import Joined
    from pnyx.measure.perspectives import Questions
    from pnyx.search.index import Index
    from pnyx.search.perspectives import PerspectiveSource

__all__ = ["command"]

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
  pnyx bench perspectives --index debates.index --questions kialo.jsonl \\
    --sides order --out bench
  pnyx bench perspectives --index debates.index --questions views.jsonl \\
    --retrievers bm25,dense --k 5 --llm openai:gpt-4o-mini --out bench
"""


@click.group(cls=Group, name="bench", no_args_is_help=True)
def command() -> None:
    """Evaluate retrievers as a whole: retrieve, judge, measure.

    \b
    Example:
      pnyx bench perspectives --index my.index --questions views.jsonl --out bench
    """


_LABELLED = ("--labelled", lambda spec: spec.labelled is not None)


@dataclass(frozen=True, kw_only=True)
class BenchSpec(BootstrapSpec):
    """What is compared; see `pnyx.audit.perspective_plan.PerspectiveBench`."""

    heading: ClassVar[str] = "Retrieval"

    index: str = opt(..., "Index that is searched.", metavar="INDEX", raw=True)
    questions: str = opt(
        ...,
        "Perspectives with their questions (JSONL; also both of BERDS's files).",
        metavar="FILE",
        raw=True,
    )
    out: str | None = opt(
        None, "Output folder; required without --plan.", metavar="FOLDER", raw=True
    )
    retrievers: tuple[str, ...] = opt(
        RETRIEVERS,
        "touche needs an index with --quality and --clusters, dense and hybrid one with --vectors.",
        metavar="NAME[,NAME...]",
        each=True,
    )
    variants: tuple[str, ...] = opt(
        ("plain", "mmr"),
        "Variants to run, of plain and mmr; --expand adds perspectives.",
        metavar="NAME[,NAME...]",
        each=True,
    )
    expand: str | None = opt(
        None,
        "Source of the perspectives to search for: a file of perspectives (of BERDS's query "
        "expansion what its model wrote), `index` or `llm` (the model of --llm).",
        metavar="SOURCE",
        raw=True,
    )
    depths: tuple[int, ...] = opt(
        (5, 10),
        "First documents that count; lambda is chosen by the first. Repeatable.",
        "--k",
        low=1,
        high=1000,
    )
    lambdas: tuple[float, ...] = opt(
        (),
        "Lambda of mmr; if there are several, one is chosen on --dev. Repeatable.",
        "--lambda",
        low=0,
        high=1,
        shown=".5, .75, .9, .95, .99, as in BERDS",
        rare=True,
    )
    dev: float = opt(
        0.25,
        "Share of the questions on which lambda is chosen.",
        low=0,
        high=1,
        above=True,
        below=True,
        rare=True,
    )
    leaning: bool = opt(
        False,
        "Also query each retriever with each side, to measure how far it follows the query.",
    )
    sides: Literal["stance", "order"] = opt(
        "stance",
        "Which perspective supports the question: as the file says, or the first of two that have "
        "no stance, as in BERDS.",
        rare=True,
    )
    words: int = opt(
        100,
        "Maximum words of a passage that is judged separately; 0 does not split documents.",
        low=0,
        rare=True,
    )
    labelled: str | None = opt(
        None,
        "The same judge's answers to pairs that people labelled (field `label`, or --human): "
        "corrects for its errors.",
        metavar="ANSWERS",
        raw=True,
        rare=True,
    )
    human: str | None = opt(
        None,
        "The labels of --labelled (JSONL), by id.",
        metavar="LABELS",
        raw=True,
        needs=_LABELLED,
        rare=True,
    )
    shift: float | None = opt(
        None,
        "If --labelled is from another corpus or retriever: standard deviation of the difference "
        "in the judge's log-odds (0.7: odds twice or half).",
        low=0,
        shown="0",
        needs=_LABELLED,
        rare=True,
    )

    def plan(self) -> PerspectiveBench:
        """Return the systems to compare.

        Raises:
            OptionError: choices do not go together.
            InputError: a name is unknown, or a number out of range.
        """
        self.check_needs()
        variants = [*self.variants, *(["perspectives"] if self.expand is not None else [])]
        if self.expand is None and "perspectives" in variants:
            raise OptionError("--variants perspectives needs --expand")
        if self.lambdas and "mmr" not in variants:
            raise OptionError("--lambda goes with --variants mmr")
        return PerspectiveBench(
            retrievers=self.retrievers,
            variants=cast("list[Variant]", list(dict.fromkeys(variants))),
            depths=tuple(dict.fromkeys(self.depths)),
            lambdas=tuple(dict.fromkeys(self.lambdas)) or LAMBDAS,
            dev_share=self.dev,
            leaning=self.leaning,
            words=self.words,
            draws=self.draws,
            seed=self.seed,
        )


@command.command(
    name="perspectives",
    cls=Command,
    short_help="Do retrievers show every side?",
    help=_HELP,
    epilog=_EXAMPLE,
)
@takes("spec", BenchSpec)
@takes("judge", JudgeSpec, rare=("samples", "batch", "lookup", "student", "labels"))
@json_option
def perspectives(spec: BenchSpec, judge: JudgeSpec, as_json: bool) -> int:
    """Compare retrievers; see `_HELP`."""
    from pnyx.audit.perspective_bench import BenchSearch, pairs_at_most
    from pnyx.judge.tasks import TASKS
    from pnyx.search.index import Index

    needs_out(spec.out, judge)
    bench = spec.plan()
    views = _views(spec)
    opened_index = Index.open(spec.index)
    with contextlib.ExitStack() as stack:
        expansions = stack.enter_context(_expansions(opened_index, spec, judge))
        search = BenchSearch(opened_index, views, bench, expansions=expansions)
        opened = stack.enter_context(open_judge(TASKS["support"], judge, say, as_perspectives=True))
        if judge.plan:  # no lambda is chosen yet, so all of them count
            return plan_items(opened, pairs_at_most(search), judge, as_json)
        try:
            found = _run(search, opened, spec, judge)
        except KeyboardInterrupt:
            say("interrupted; the same command goes on where it stopped")
            return EXIT_INTERRUPTED
        card = opened.judge.card
    _report(found, card, spec, as_json)
    unscored = found.coverage.unscored or any(one.unscored for one in found.leaning)
    return EXIT_UNSCORED if unscored else 0


def _views(spec: BenchSpec) -> Questions:
    from pnyx.corpora.perspectives import read_perspectives
    from pnyx.measure.perspectives import by_question

    found = read_perspectives(spec.questions, gold=True)
    return by_question(found, sides_by_order=spec.sides == "order")


@contextlib.contextmanager
def _expansions(
    index: Index, spec: BenchSpec, judge: JudgeSpec
) -> Iterator[PerspectiveSource | None]:
    """Open what writes the perspectives that are searched."""
    if spec.expand is None:
        yield None
    elif spec.expand == "index":
        from pnyx.search.perspectives_index import IndexPerspectives

        yield IndexPerspectives(index)
    elif spec.expand == "llm":
        if judge.plan:
            raise OptionError("--plan cannot know what --expand llm will write")
        from pnyx.search.perspectives import LlmPerspectives

        with open_model(judge, say) as model:
            if model is None:
                raise OptionError("--expand llm needs --llm")
            yield LlmPerspectives(model)
    else:
        from pnyx.search.perspectives import FilePerspectives

        _warn_if_told(spec.expand, spec.questions)
        yield FilePerspectives(spec.expand)


def _warn_if_told(expand: str, questions: str) -> None:
    """Warn where what is searched is what is to be covered: that is the answer."""
    from pnyx.corpora.perspectives import read_perspectives

    searched = {one.text for one in read_perspectives(expand)}
    if all(one.text in searched for one in read_perspectives(questions, gold=True)):
        warn("--expand holds the perspectives to be covered: its figures are an upper bound")


def _labelled(spec: BenchSpec) -> Joined | None:
    if spec.labelled is None:
        return None
    from pnyx.measure.gold import join_labels

    return join_labels(spec.labelled, spec.human, "support")


def _run(search: BenchSearch, opened: Opened, spec: BenchSpec, asked: JudgeSpec) -> Benched:
    from pnyx.audit.perspective_bench import BenchJudge, bench_perspectives

    labelled = _labelled(spec)
    expected: list[int] = []
    with watched(opened.judge, opened.models, lambda: sum(expected) or None) as judge:
        settings = deciding_settings(opened, asked)
        judging = BenchJudge(judge, Path(str(spec.out)), settings, expected.append)
        return bench_perspectives(search, judging, labelled, spec.shift or 0.0)


def _report(found: Benched, card: str, spec: BenchSpec, as_json: bool) -> None:
    from pnyx.cli.bench_report import report
    from pnyx.cli.measure_perspectives_report import notes
    from pnyx.cli.measure_runs import shown
    from pnyx.files import atomic_text
    from pnyx.view.tables import filled

    row = json.dumps(found.row(), ensure_ascii=False, allow_nan=False)
    with atomic_text(Path(str(spec.out)) / "measures.json") as stream:
        stream.write(row + "\n")
    for problem in found.problems[:3]:
        warn(problem)
    if len(found.problems) > 3:
        warn(f"{len(found.problems) - 3} more such; --json names them")
    for line in notes(found.coverage, found.leaning):
        say(line)
    click.echo(f"judge {shorten(found.coverage.judge)}: {shorten(card, 400)}", err=True)
    if as_json:
        click.echo(row)
        return
    folder = shorten(str(spec.out), 200)
    click.echo(shown(report(found, spec.questions)))
    click.echo(
        filled(
            f"see {folder}: measures.json has p values and each question; pnyx measure "
            f"perspectives {folder}/runs/*.run measures anew"
        )
    )
