"""`pnyx annotate apply`: a judge's relevance labels for every pair, resumable, also as qrels."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

import click

from pnyx.app.judge_specs import JudgeSpec
from pnyx.app.open_judge import Opened, deciding_settings, open_judge
from pnyx.app.spec import Spec, opt
from pnyx.cli import EXIT_INTERRUPTED, EXIT_UNSCORED
from pnyx.cli.answering import counts_line, needs_out, plan_items
from pnyx.cli.options import refuse_same_file, say, warn
from pnyx.cli.params import json_option, takes, verb
from pnyx.cli.progress import watched
from pnyx.errors import InputError, OptionError, shorten

if TYPE_CHECKING:
    from pnyx.runs.pairs import PairSource
    from pnyx.runs.results import Applied

__all__ = ["apply"]

_HELP = """Label every pair of question and document, and write the labels to --out as they come.

\b
PAIRS                              relevance items (JSONL; - is stdin)
--run RUN --index --topics         the first --depth documents of each topic
--all --index INDEX --topics FILE  every document of the index, every question

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
  pnyx annotate apply --all --index my.index --topics q.md --out a.jsonl
  pnyx annotate apply pairs.jsonl --out labels.jsonl --qrels qrels.txt
"""


_QRELS = ("--qrels", lambda spec: spec.qrels is not None)


@dataclass(frozen=True, kw_only=True)
class PairSpec(Spec):
    """Which pairs are labelled, in place of a file of them."""

    heading: ClassVar[str] = "Pairs"

    run: str | None = opt(None, "Label the documents of this TREC run.", metavar="RUN", raw=True)
    every: bool = opt(False, "Label every document of --index.", "--all")
    index: str | None = opt(None, "Index that holds the documents.", metavar="INDEX", raw=True)
    topics: str | None = opt(
        None, "Questions, with their definitions if any.", metavar="FILE", raw=True
    )
    depth: int = opt(
        100,
        "Documents of each topic of --run.",
        low=1,
        needs=("--run", lambda spec: spec.run is not None),
    )

    def pairs(self, pairs: str | None, *, graded: bool) -> PairSource:
        """Return the pairs that are meant.

        Args:
            pairs: file of pairs.
            graded: whether they become qrels, which needs the ids of question and document.

        Raises:
            OptionError: choices do not go together.
            InputError: a file is broken, or pairs lack their ids.
        """
        from pnyx.runs.pairs import pairs_of_corpus, pairs_of_items, pairs_of_run

        self.check_needs()
        chosen = sum((pairs is not None, self.run is not None, self.every))
        located = self.index is not None and self.topics is not None
        if chosen != 1 or (pairs is None) != located:
            raise OptionError("expected PAIRS, or --run or --all with both --index and --topics")
        if self.run is not None:
            return pairs_of_run(self.run, str(self.index), str(self.topics), self.depth)
        if self.every:
            return pairs_of_corpus(str(self.index), str(self.topics))
        found = pairs_of_items(str(pairs))
        if graded and found.count is not None:
            first = next(iter(found)).extra
            if first.get("question_id") is None or first.get("doc_id") is None:
                problem = "lacks question_id or doc_id, which --qrels needs"
                raise InputError(problem, path=pairs, line=1)
        return found


@dataclass(frozen=True, kw_only=True)
class OutputSpec(Spec):
    """What is written."""

    heading: ClassVar[str] = "Output"

    out: str | None = opt(
        None, "Annotations to write; needed without --plan.", metavar="FILE", raw=True
    )
    qrels: str | None = opt(None, "Write TREC qrels, too; - is stdout.", metavar="FILE", raw=True)
    with_text: bool = opt(False, "Write question, definition and document, too.", rare=True)
    thresholds: tuple[float, ...] | None = opt(
        None,
        "Probability thresholds of grades 1, 2 ... in --qrels.",
        metavar="P[,P...]",
        each=True,
        shown="the verdict",
        needs=_QRELS,
    )
    unscored: Literal["error", "skip", "zero"] | None = opt(
        None,
        "Pairs without a verdict in --qrels: write no file, no line, or grade 0.",
        shown="skip; error with --thresholds",
        needs=_QRELS,
        rare=True,
    )

    def check(self, *, as_json: bool, **inputs: str | None) -> None:
        """Refuse choices that would change nothing, and two results in one place.

        Raises:
            OptionError: there are such.
            InputError: the thresholds do not rise.
        """
        from pnyx.annotate.grades import check_thresholds
        from pnyx.runs.results import manifest_path

        self.check_needs()
        if self.thresholds is not None:
            check_thresholds(self.thresholds)
        if self.qrels is None:
            return
        if self.qrels == "-" and as_json:
            raise OptionError("--json and --qrels - both write to standard output")
        refuse_same_file("--qrels", self.qrels, out=self.out, **inputs)
        if self.out is not None:
            refuse_same_file("--qrels", self.qrels, manifest=manifest_path(self.out))


@verb("apply", short_help="A judge's labels for every pair.", help=_HELP, epilog=_EXAMPLE)
@click.argument("pairs", required=False)
@takes("output", OutputSpec)
@takes("pool", PairSpec)
@takes("judge", JudgeSpec, rare=("samples", "batch", "lookup"))
@json_option
def apply(
    pairs: str | None, output: OutputSpec, pool: PairSpec, judge: JudgeSpec, as_json: bool
) -> int:
    """Label pairs; see `_HELP`."""
    from pnyx.judge.tasks import TASKS

    needs_out(output.out, judge)
    output.check(
        as_json=as_json, PAIRS=pairs, run=pool.run, topics=pool.topics, labels=judge.labels
    )
    source = pool.pairs(pairs, graded=output.qrels is not None)
    with open_judge(TASKS["relevance"], judge, say) as opened:
        if judge.plan:
            return plan_items(opened, source, judge, as_json)
        try:
            applied = _apply(source, opened, output, judge)
        except KeyboardInterrupt:
            say("interrupted; the same command goes on where it stopped")
            return EXIT_INTERRUPTED
    _report(applied, output, as_json)
    return EXIT_UNSCORED if applied.counts["unscored"] else 0


def _apply(source: PairSource, opened: Opened, output: OutputSpec, spec: JudgeSpec) -> Applied:
    from pnyx.runs.results import apply_judge

    left = source.count

    def started(kept: int, damaged: int) -> None:
        nonlocal left
        if damaged:
            warn(f"{damaged} labels of the earlier run are damaged; these pairs are labelled again")
        if kept:
            say(f"{kept} pairs are labelled already, going on")
        left = None if source.count is None else source.count - kept

    with watched(opened.judge, opened.models, lambda: left) as judge:
        return apply_judge(
            judge,
            source,
            str(output.out),
            settings=deciding_settings(opened, spec),
            with_text=output.with_text,
            on_start=started,
        )


def _report(applied: Applied, output: OutputSpec, as_json: bool) -> None:
    """Write the qrels, and say what came of it."""
    grades: dict[int, int] | None = None
    if output.qrels is not None:
        from pnyx.annotate.grades import write_graded_qrels
        from pnyx.judge.verdicts import read_annotations

        try:
            grades = write_graded_qrels(
                output.qrels,
                read_annotations(applied.path),
                output.thresholds,
                output.unscored,
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
    line = counts_line(counts, "pairs labelled", judge)
    if applied.kept == counts["asked"]:
        line += "; all of them before"
    if grades is not None:
        line += "; qrels: " + ", ".join(f"{n} of grade {g}" for g, n in grades.items())
        without = counts["asked"] - sum(grades.values())
        line += f", {without} without a line" if without else ""
    click.echo(f"{line}; see {shorten(str(applied.path), 200)}", err=output.qrels == "-")
