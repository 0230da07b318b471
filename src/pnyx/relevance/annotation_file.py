"""Annotations: the labels of any number of pairs in one file, for `pnyx annotate label`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pnyx.cli.judge_runs import ShardSpec, counts_line, plan_items, say_judge
from pnyx.cli.options import Outcome, refuse_same_file, refuse_two_outputs, say, warn
from pnyx.core.errors import InputError, OptionError, escaped, shorten
from pnyx.core.spec import Spec, file_opt, opt, out_opt, topics_opt
from pnyx.formats.text_types import FileName, SourceName
from pnyx.judging.counted_judge import watched
from pnyx.judging.open_judge import open_judge
from pnyx.judging.opened_judge import OpenedJudge, deciding_settings
from pnyx.judging.options import JudgeSpec

if TYPE_CHECKING:
    from pnyx.judging.questions import PairSource
    from pnyx.judging.runs.results import Applied
    from pnyx.judging.runs.shards import Shard


class PairSpec(Spec, heading="Pairs", rare="depth"):
    """Which pairs to label, if not those of a file."""

    run: FileName | None = file_opt(None, metavar="RUN")
    every: bool = opt(False, "Label every document of --index.", "--all")
    index: SourceName | None = file_opt(None, metavar="INDEX")
    topics: FileName | None = topics_opt(None)
    depth: int = opt(100, low=1, needs="run")

    def pairs(self, pairs: str | None, *, graded: bool) -> PairSource:
        """Return the selected pairs."""
        from pnyx.formats.runs.trec import a_token
        from pnyx.judging.runs.pairs import pairs_of_corpus, pairs_of_items, pairs_of_run

        self.check_needs()
        chosen = sum((pairs is not None, self.run is not None, self.every))
        located = self.index is not None and self.topics is not None
        if chosen != 1 or (pairs is None) != located:
            raise OptionError("expected PAIRS, or --run or --all with both --index and --topics")
        if self.run is not None:
            return pairs_of_run(self.run, str(self.index), str(self.topics), self.depth)
        if self.every:
            return pairs_of_corpus(str(self.index), str(self.topics))
        rows = pairs_of_items(str(pairs))
        for pair in rows if graded and rows.count is not None else ():
            for name in ("question_id", "doc_id"):
                if pair.extra.get(name) is None:
                    problem = f"{shorten(pair.id, 40)!r} has no {name}, which --qrels-out needs"
                    raise InputError(problem, path=pairs)
                a_token(str(pair.extra[name]), f"--qrels-out: {name}")
        return rows


class LabelOutputSpec(ShardSpec, heading="Output", rare="qrels with_text thresholds unscored"):
    """Where labels are written: a results folder, or one file."""

    out: FileName | None = out_opt(None, writes="files", metavar="RESULTS")
    annotations_out: FileName | None = out_opt(
        None,
        "Write a line for each pair as it comes, in place of --out: .jsonl, .jsonl.gz or .parquet. "
        "For any number of pairs.",
    )
    qrels: FileName | None = out_opt(
        None,
        "",
        "--qrels-out",
        needs="annotations_out",
        replaces=("--qrels",),
    )
    with_text: bool = opt(
        False, "Write question, definition and document, too.", needs="annotations_out"
    )
    thresholds: tuple[float, ...] | None = opt(
        None,
        "Thresholds of grades 1, 2 ... in --qrels-out.",
        metavar="P[,P...]",
        each=True,
        default_text="the verdict",
        needs="qrels",
    )
    unscored: Literal["error", "skip", "zero"] | None = opt(
        None, default_text="skip; error with --thresholds", needs="qrels"
    )

    def check_places(self, *, plan: bool) -> None:
        """Require one place for the labels, unless nothing is asked."""
        if self.out is not None and self.annotations_out is not None:
            raise OptionError("--out and --annotations-out exclude each other")
        if self.out is None and self.annotations_out is None and not plan:
            raise OptionError("expected --out or --annotations-out")

    def check(self, *, as_json: bool, **inputs: str | None) -> None:
        """Reject options that would have no effect, and two results in one place."""
        from pnyx.judging.runs.results import manifest_path
        from pnyx.relevance.grades import check_thresholds

        self.check_needs()
        if self.thresholds is not None:
            check_thresholds(self.thresholds)
        refuse_two_outputs("--qrels-out", self.qrels, as_json=as_json)
        file = self.annotations_out
        manifest = None if file is None else manifest_path(file)
        refuse_same_file("--qrels-out", self.qrels, manifest=manifest, **inputs)


def annotate(
    pairs: str | None, output: LabelOutputSpec, pool: PairSpec, judge: JudgeSpec, as_json: bool
) -> int | Outcome:
    """Label every pair of question and document; labels are written as they come.

    They are collected in a file next to --annotations-out, from which the same command resumes.
    """
    from pnyx.judging.tasks import TASKS
    from pnyx.judging.verdicts import read_annotations
    from pnyx.relevance.grades import write_graded_qrels

    shard = output.share
    output.check(
        as_json=as_json, PAIRS=pairs, run=pool.run, topics=pool.topics, labels=judge.names.labels
    )
    source = pool.pairs(pairs, graded=output.qrels is not None)
    with open_judge(TASKS["relevance"], judge, say) as opened:
        if judge.plan:
            return plan_items(opened, source, judge, as_json, shard)
        applied = _apply(source, opened, output, judge, shard)
    grades: dict[int, int] | None = None
    if output.qrels is not None:
        annotations = read_annotations(applied.path)
        try:
            grades = write_graded_qrels(
                output.qrels, annotations, output.thresholds, output.unscored
            )
        except InputError as error:
            raise InputError(f"{error} ({escaped(str(applied.path))} is complete)") from error
    counts, name = applied.counts, applied.manifest["judge"]["name"]
    say_judge(name, applied.manifest["card"])
    row = {**applied.manifest, "kept": applied.reused}
    line = counts_line(counts, "pairs labelled", name)
    if applied.reused == counts["asked"]:
        line += "; all from an earlier run"
    if grades is not None:
        row["qrels"] = grades
        line += "; qrels: " + ", ".join(f"{n} of grade {g}" for g, n in grades.items())
        without = counts["asked"] - sum(grades.values())
        line += f", {without} without a line" if without else ""
    line = f"{line}; see {escaped(str(applied.path))}"
    return Outcome(row, line, counts["unscored"], err=output.qrels == "-", ascii=True)


def _apply(
    source: PairSource,
    opened: OpenedJudge,
    output: LabelOutputSpec,
    spec: JudgeSpec,
    shard: Shard | None,
) -> Applied:
    from pnyx.judging.runs.results import apply_judge

    left = source.count if shard is None else None

    def started(labelled: int, damaged: int) -> None:
        nonlocal left
        if damaged:
            warn(f"{damaged} labels of the earlier run are damaged; their pairs are labelled again")
        if labelled:
            say(f"{labelled} pairs are already labelled, continuing")
        left = None if left is None else left - labelled

    with watched(opened.judge, opened.models, lambda: left) as judge:
        return apply_judge(
            judge,
            source,
            str(output.annotations_out),
            settings=deciding_settings(opened, spec),
            with_text=output.with_text,
            on_start=started,
            shard=shard,
        )
