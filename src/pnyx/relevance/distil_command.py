"""`pnyx annotate distil` and `apply`: train a student on a teacher's labels, and label with it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from pnyx.cli.judge_runs import ShardSpec, counts_line, needs_out, plan_items, say_judge
from pnyx.cli.options import (
    Outcome,
    refuse_same_file,
    refuse_two_outputs,
    say,
    warn,
    warn_undefined,
)
from pnyx.cli.params import verb
from pnyx.core.errors import InputError, OptionError, escaped, shorten
from pnyx.core.progress import reporting
from pnyx.core.spec import Spec, file_opt, opt, out_opt, topics_opt
from pnyx.formats.text_types import ModelName, SourceName
from pnyx.judging.counted_judge import watched
from pnyx.judging.open_judge import open_judge
from pnyx.judging.opened_judge import OpenedJudge, deciding_settings
from pnyx.judging.options import JudgeSpec
from pnyx.relevance.tables import distilled_table

if TYPE_CHECKING:
    from pnyx.judging.questions import PairSource
    from pnyx.judging.runs.results import Applied
    from pnyx.judging.runs.shards import Shard
    from pnyx.judging.students.trainer import Trainer
    from pnyx.relevance.labelled_pairs import LabelledPair

_TRAINED = (
    "--kind combined, late-interaction or lora",
    lambda spec: spec.kind in ("combined", "late-interaction", "lora"),
)


class DistilSpec(Spec, heading="Student", rare="epochs batch learning_rate four_bit seed"):
    """What to train, and how."""

    out: str = out_opt(..., "Folder of the student to write.", metavar="STUDENT", writes="folder")
    kind: Literal["combined", "late-interaction", "lexical", "lora"] = opt(
        "combined",
        "late-interaction: an encoder trained on the CPU; combined: the same with two quick models "
        "added; lexical: only shared words, in seconds; lora: a language model with low-rank "
        "adapters.",
    )
    name: str | None = opt(
        None, "Name of the student.", metavar="NAME", default_text="the folder's"
    )
    held_out: float = opt(
        0.25, "Share of pairs, in whole questions, to calibrate and test on.", within="(0, 1)"
    )
    curve: Literal["platt", "isotonic", "temperature"] = opt("platt", "Calibration method.")
    base: ModelName | None = file_opt(
        None,
        "BERT folder to train; for lora a folder, a GGUF file or a hub name.",
        metavar="MODEL",
        default_text="packaged",
        needs=_TRAINED,
    )
    epochs: int | None = opt(
        None,
        "How often each pair is seen.",
        within="[1, 1000]",
        default_text="the kind's",
        needs=_TRAINED,
    )
    batch: int | None = opt(
        None, "Batch size, in pairs.", within="[1, 4096]", default_text="the kind's", needs=_TRAINED
    )
    learning_rate: float | None = opt(
        None, "Learning rate.", within="(0, 1]", default_text="the kind's", needs=_TRAINED
    )
    reason: bool = opt(
        False, "lora: learn to give a reason, too.", "--reason/--no-reason", needs="kind=lora"
    )
    four_bit: bool = opt(
        False, "lora: base weights in 4 bits; needs a GPU.", "--4bit", needs="kind=lora"
    )
    seed: int = opt(0, "Random seed of the held-out questions and the training.", low=0)
    force: bool = opt(False, "Replace the folder if it exists.")

    def trainer(self) -> Trainer:
        """Return the trainer of the chosen kind, with the options that were set."""
        import pnyx

        if self.kind == "lexical":
            return pnyx.judging.LexicalTrainer()
        names = ("base", "epochs", "batch", "learning_rate")
        options = {name: getattr(self, name) for name in names if self.given(name)}
        options["seed"] = self.seed
        if self.kind == "lora":
            return pnyx.judging.LoraTrainer(reason=self.reason, four_bit=self.four_bit, **options)
        late = pnyx.judging.LateTrainer(**options)
        return late if self.kind == "late-interaction" else pnyx.judging.CombinedTrainer(late)


@verb("distil", short_help="Train a small judge of relevance on labelled pairs.")
@click.argument("labelled", nargs=-1, required=True)
def distil(labelled: tuple[str, ...], spec: DistilSpec) -> Outcome:
    """Train a small judge of relevance on LABELLED pairs (files or results folders of label).

    Whole questions are held out to calibrate the probabilities and to measure how well the student
    follows its teacher. Pairs without a verdict are counted and left out; for a question without a
    definition, the question itself is used. Run the same command again to resume an interrupted
    training. STUDENT gets weights that contain no executable code, student.json and card.md; use
    it with --judge.

    \b
    Example:
      pnyx annotate distil labels --kind late-interaction --out student
      pnyx judge relevance items.jsonl --judge student --out results
    """
    spec.check_needs()
    from pnyx.relevance.distillation import Distillation
    from pnyx.relevance.distillation import distil as train

    pairs = _read(labelled)
    unscored = sum(pair.value is None for pair in pairs)
    if unscored:
        warn(f"{unscored} of {len(pairs)} pairs have no verdict; training on the rest")
    warn_undefined([(pair.group, pair.definition.strip()) for pair in pairs])
    plan = Distillation(spec.name or Path(spec.out).name, spec.held_out, spec.curve, spec.seed)
    with reporting() as report:
        result = train(pairs, spec.trainer(), plan, spec.out, report=report, replace=spec.force)
    rows = {measure: measured.row() for measure, measured in result.figures.items()}
    row = {"student": result.student.name, **result.counts, "figures": rows}
    return Outcome(row, [distilled_table(result, spec.out)], ascii=True)


def _read(paths: Sequence[str]) -> list[LabelledPair]:
    """Read all files; InputError if a pair appears twice."""
    from pnyx.relevance.labelled_pairs import read_labelled

    pairs: list[LabelledPair] = []
    seen: dict[tuple[str, str], str] = {}
    for path in paths:
        for pair in read_labelled(path):
            key = (pair.group, pair.document)
            if key in seen:
                problem = f"pair {shorten(pair.id, 40)!r} has a label in {seen[key]} already"
                raise InputError(problem, path=path)
            pairs.append(pair)
            seen[key] = f"{shorten(path, 80)} ({shorten(pair.id, 40)})"
    return pairs


# Apply -------------------------------------------------------------------------------------------


class PairSpec(Spec, heading="Pairs"):
    """Which pairs to label, if not those of a file."""

    run: str | None = file_opt(None, "Label the documents of this TREC run.", metavar="RUN")
    every: bool = opt(False, "Label every document of --index.", "--all")
    index: SourceName | None = file_opt(None, "Index that holds the documents.", metavar="INDEX")
    topics: str | None = topics_opt(None, "Questions, with their definitions if any.")
    depth: int = opt(100, "Documents of each topic of --run.", low=1, needs="run")

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
                    problem = f"{shorten(pair.id, 40)!r} has no {name}, which --qrels needs"
                    raise InputError(problem, path=pairs)
                a_token(str(pair.extra[name]), f"--qrels: {name}")
        return rows


class AnnotationOutputSpec(ShardSpec, heading="Output", rare="with_text unscored"):
    """Which files to write."""

    out: str | None = out_opt(None, "Annotations to write; required without --plan.")
    qrels: str | None = out_opt(None, "Write TREC qrels, too; - is stdout.")
    with_text: bool = opt(False, "Write question, definition and document, too.")
    thresholds: tuple[float, ...] | None = opt(
        None,
        "Thresholds of grades 1, 2 ... in --qrels.",
        metavar="P[,P...]",
        each=True,
        default_text="the verdict",
        needs="qrels",
    )
    unscored: Literal["error", "skip", "zero"] | None = opt(
        None,
        "Unscored pairs in --qrels: no file, no line, or grade 0.",
        default_text="skip; error with --thresholds",
        needs="qrels",
    )

    def check(self, *, as_json: bool, **inputs: str | None) -> None:
        """Reject options that would have no effect, and two results in one place."""
        from pnyx.judging.runs.results import manifest_path
        from pnyx.relevance.grades import check_thresholds

        self.check_needs()
        if self.thresholds is not None:
            check_thresholds(self.thresholds)
        refuse_two_outputs("--qrels", self.qrels, as_json=as_json)
        manifest = None if self.out is None else manifest_path(self.out)
        refuse_same_file("--qrels", self.qrels, manifest=manifest, **inputs)


@verb(
    "apply",
    resumes=True,
    short_help="Let a judge label every pair.",
)
@click.argument("pairs", required=False)
def apply(
    pairs: str | None, output: AnnotationOutputSpec, pool: PairSpec, judge: JudgeSpec, as_json: bool
) -> int | Outcome:
    """Label every pair of question and document; labels are written to --out as they come.

    \b
    PAIRS                              relevance items (JSONL; - is stdin)
    --run RUN --index --topics         the first --depth documents of each topic
    --all --index INDEX --topics FILE  every document of the index, every question

    The judge is chosen as in pnyx judge: the packaged judge, a language model (--judge), a cascade.
    --out is .jsonl, .jsonl.gz or .parquet (pip install 'pnyx[tables]'), one line per pair: id,
    question_id, doc_id, value, probability, unscored, judge and the pair's other fields. Labels are
    collected in OUT.partial: running the command again resumes from there, even after a crash, and
    labels nothing twice. OUT.manifest.json records how it was made.

    --qrels writes the judge's verdicts as grades 1 and 0; --thresholds 0.3,0.7 cuts the
    probabilities into grades 0, 1 and 2. Once OUT is finished, the same command with other
    --thresholds judges nothing again. Exit status 3: some pairs are unscored.

    \b
    Example:
      pnyx annotate apply --all --index my.index --topics q.md --out a.jsonl
      pnyx annotate apply pairs.jsonl --out labels.jsonl --qrels qrels.txt
    """
    from pnyx.judging.tasks import TASKS
    from pnyx.judging.verdicts import read_annotations
    from pnyx.relevance.grades import write_graded_qrels

    needs_out(output.out, judge)
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
    output: AnnotationOutputSpec,
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
            str(output.out),
            settings=deciding_settings(opened, spec),
            with_text=output.with_text,
            on_start=started,
            shard=shard,
        )
