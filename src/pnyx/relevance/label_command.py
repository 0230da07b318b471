"""`pnyx annotate label`: a judge's verdict on each pair of question and document."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from pnyx.cli import EXIT_UNSCORED
from pnyx.cli.judge_runs import answer_into
from pnyx.cli.options import Outcome, warn, warn_undefined
from pnyx.cli.params import verb
from pnyx.core.errors import InputError, OptionError, shorten
from pnyx.core.spec import Spec, file_opt, opt
from pnyx.formats.text_types import FileName
from pnyx.judging.options import JudgeSpec
from pnyx.relevance.annotation_file import LabelOutputSpec, PairSpec, annotate

if TYPE_CHECKING:
    from pnyx.judging.answers import Answer
    from pnyx.judging.base import Judge
    from pnyx.judging.questions import Support

RANKING = "ranking.trec"
"""Name of the run in a results folder of `--form listwise`."""

_POINTWISE = ("--form guess or probability", lambda spec: spec.form != "listwise")


class LabelSpec(Spec, heading="Form", rare="reason definition examples shots seed window step"):
    """What to ask the teacher for."""

    form: Literal["guess", "probability", "listwise"] = opt(
        "guess",
        "Ask for a guess with its confidence; a guess with the probability of relevance; or a "
        "ranking of each question's documents (ranking.trec, no labels).",
    )
    reason: bool = opt(True, needs=_POINTWISE)
    definition: bool = opt(
        True,
        "Show the model the definition of relevance, or only the question.",
        "--show-definition/--hide-definition",
        replaces=("--definition",),
    )
    examples: FileName | None = file_opt(None, needs="form=guess")
    shots: int = opt(4, low=2, needs="examples")
    seed: int = opt(0, needs="examples")
    window: int = opt(20, low=2, needs="form=listwise")
    step: int = opt(
        10, "listwise: window stride, from the back to the front.", low=1, needs="form=listwise"
    )

    def check(self, judge: JudgeSpec) -> None:
        """Reject options that would have no effect."""
        self.check_needs()
        named = [n for n in ("form", "reason", "examples") if self.given(n)]
        if self.form == "listwise":
            for name in _POINTWISE_ONLY:
                if judge.given(name):
                    raise OptionError(f"{judge.flag(name)} cannot be used with --form listwise")
            if judge.answered_by in ("labels", "results"):
                raise OptionError(
                    f"--judge {shorten(judge.judge[0], 40)} cannot be used with --form listwise"
                )
        for name in named:
            if judge.prompt is not None:
                raise OptionError(f"{self.flag(name)} and --set prompt exclude each other")
            if not judge.asks_models:
                raise OptionError(f"{self.flag(name)} requires a language model (--judge)")
        if self.given("definition") and judge.answered_by in ("labels", "results"):
            raise OptionError("--hide-definition cannot be used with labels or earlier results")

    @property
    def prompt(self) -> str:
        """The packaged prompt that asks in this way."""
        kind = "-examples" if self.examples is not None else ""
        kind = "-probability" if self.form == "probability" else kind
        return f"relevance{kind}{'' if self.reason else '-direct'}"


_POINTWISE_ONLY = (*("probability", "prompt", "batch", "calibration", "cascade", "cheap"),)


@verb(
    "label",
    resumes=True,
    records=True,
    short_help="Let a teacher, or its student, label pairs.",
)
@click.argument("pairs", required=False)
def label(
    pairs: FileName | None,
    output: LabelOutputSpec,
    pool: PairSpec,
    spec: LabelSpec,
    judge: JudgeSpec,
    as_json: bool,
) -> int | Outcome:
    """Let a judge label pairs of question and document.

    PAIRS are relevance items, as written by sample. The judge is a teacher (a language model,
    people's labels, an earlier run) or a student.

    \b
    Example:
      $ pnyx demo --files-only --out ex
      $ pnyx annotate sample ex/arguments.jsonl ex/questions.md --out pairs.jsonl
      $ pnyx annotate label pairs.jsonl --judge ex/labels.jsonl --out labels
      ...
      160 of 160 scored by labels:labels.jsonl; see labels

    \b
    More: pnyx annotate label --help-all, docs/recipes/annotate.md.
    \f
    \b
    PAIRS                              relevance items, as written by sample
    --run RUN --index --topics         the first --depth documents of each topic
    --all --index INDEX --topics FILE  every document of the index, every question

    Run the command again, even after a crash, to ask only what is missing. Exit status 3: some
    pairs are unscored; the others can be used.

    --out is for the labels of a teacher: RESULTS gets labelled.jsonl, each line of PAIRS with the
    verdict, and the answers.jsonl and manifest.json of pnyx judge. --form decides how the teacher
    is asked. --examples are labelled pairs. listwise orders --window documents at once.

    --annotations-out is for any number of pairs: a line for each as it comes, with id, question_id,
    doc_id, value, probability, unscored, judge and the pair's other fields (.parquet: pip install
    'pnyx[tables]'). FILE.manifest.json records how it was made. --qrels-out writes the verdicts as
    grades 1 and 0; --thresholds 0.3,0.7 cuts the probabilities into grades 0, 1 and 2. Once FILE is
    finished, the same command with other --thresholds judges nothing again.

    \b
      pnyx annotate label pairs.jsonl --judge openai:gpt-4o-mini --out labels
      pnyx annotate label pairs.jsonl --judge local --form listwise --out ranked
      pnyx annotate label --all --index my.index --topics q.md --judge student \\
        --annotations-out a.jsonl --qrels-out qrels.txt
    """
    judge.check()
    output.check_places(plan=judge.plan)
    pooled = [name for name in ("run", "every", "index", "topics", "depth") if pool.given(name)]
    if output.annotations_out is None and (output.out is not None or not pooled):
        if pooled or output.shard is not None:
            flag = pool.flag(pooled[0]) if pooled else "--shard"
            raise OptionError(f"{flag} requires --annotations-out")
        if pairs is None:
            raise OptionError("expected PAIRS, or --run or --all")
        output.check_needs()
        spec.check(judge)
        ask = _rank if spec.form == "listwise" else _label
        return ask(pairs, output.out, spec, judge, as_json)
    for name in ("form", "reason", "definition", "examples"):
        if spec.given(name):
            raise OptionError(f"{spec.flag(name)} requires --out")
    spec.check_needs()
    return annotate(pairs, output, pool, judge, as_json)


def _read(items: str, spec: LabelSpec) -> list[tuple[int, dict[str, Any]]]:
    """Return the items with their line numbers, and report questions without a definition."""
    from pnyx.formats import read_items
    from pnyx.judging.tasks import TASKS
    from pnyx.relevance.labelled_pairs import group_of

    rows = list(read_items(items, TASKS["relevance"].items))
    if spec.definition:
        warn_undefined([(group_of(r), (r.get("definition") or "").strip()) for _, r in rows])
    return rows


def _label(items: str, out: str | None, spec: LabelSpec, judge: JudgeSpec, as_json: bool) -> int:
    """Judge each pair on its own."""
    from pnyx.core.files import write_jsonl
    from pnyx.relevance.labelled_pairs import LABELLED, labelled_row

    if judge.asks_models and judge.prompt is None:
        judge = replace(judge, prompt=spec.prompt)
    if spec.form == "probability" and judge.probability == "auto":
        judge = replace(judge, probability="ask")  # the prompt asks for it in words
    rows = _labellable(items, spec)
    questions = _questions(rows, spec)

    def write(answers: Sequence[Answer]) -> None:
        write_jsonl(Path(str(out)) / LABELLED, map(labelled_row, rows, answers))

    names = ["form", "reason", "definition"] if judge.asks_models else []
    names += ["examples", "shots", "seed"] if spec.examples is not None else []
    settings = {name: getattr(spec, name) for name in names}
    return answer_into(
        out, "relevance", items, questions, judge, as_json=as_json, settings=settings, also=write
    )


def _labellable(items: str, spec: LabelSpec) -> list[dict[str, Any]]:
    """Return the items; an item whose label could not be read back fails here, before any cost."""
    from pnyx.formats.items import ITEM_FORMATS
    from pnyx.judging.answers import Provenance, Unscored
    from pnyx.relevance.labelled_pairs import FORMAT, labelled_row

    rows = _read(items, spec)
    for line, row in rows:
        try:
            ITEM_FORMATS[FORMAT].parse(labelled_row(row, Unscored("not asked", Provenance(""))))
        except InputError as error:
            raise InputError(error.problem, path=items, line=line) from error
    return [row for _, row in rows]


def _questions(rows: Sequence[Mapping[str, Any]], spec: LabelSpec) -> list[Support]:
    from pnyx.judging.tasks import question_of

    questions = [question_of(row) for row in rows]
    if not spec.definition:
        questions = [replace(question, guideline="") for question in questions]
    if spec.examples is None:
        return questions
    from pnyx.relevance.labelled_pairs import ShotPool, read_labelled

    pairs = list(read_labelled(spec.examples))
    try:
        pool = ShotPool(pairs, spec.shots, spec.seed)
        shots = [pool.shots(row) for row in rows]
    except InputError as error:
        raise InputError(error.problem, path=spec.examples) from error
    return [replace(q, shots=examples) for q, examples in zip(questions, shots, strict=True)]


def _rank(items: str, out: str | None, spec: LabelSpec, judge: JudgeSpec, as_json: bool) -> int:
    """Rank the documents of each question."""
    from pnyx.core.files import atomic_text
    from pnyx.judging.answers import Provenance, Unscored
    from pnyx.relevance.listwise import SlidingJudge, listed_by_question, write_ranking
    from pnyx.search.plan import Listwise

    how = Listwise(spec.window, spec.step)
    listed = listed_by_question(_read(items, spec), items, definition=spec.definition)
    nothing = [Unscored("not asked", Provenance(""))] * len(listed)
    try:
        write_ranking(io.StringIO(), listed, nothing)  # fail on invalid ids before paying a model
    except InputError as error:
        raise InputError(error.problem, path=items) from error
    sliding: list[SlidingJudge] = []

    def adapt(inner_judge: Judge) -> Judge:
        sliding.append(SlidingJudge(inner_judge, how))
        return sliding[0]

    def write(answers: Sequence[Answer]) -> None:
        with atomic_text(Path(str(out)) / RANKING) as stream:
            write_ranking(stream, listed, answers, answers[0].provenance.judge)
        _say(sliding[0].counts)

    settings = {name: getattr(spec, name) for name in ("form", "definition", "window", "step")}
    rankings = [row.ranking for row in listed]
    status = answer_into(
        out,
        "ranking",
        items,
        rankings,
        judge,
        as_json=as_json,
        settings=settings,
        adapt=adapt,
        also=write,
    )
    unanswered = not judge.plan and sliding and sliding[0].counts["kept"]
    return EXIT_UNSCORED if status == 0 and unanswered else status


def _say(counts: Mapping[str, int]) -> None:
    """Summarize in one line what went wrong in the windows, if anything did."""
    problems = {
        "kept": "got no answer and kept their order",
        "missing": "times a document was left out; it is ranked behind the others",
        "repeated": "times a document was named twice; the first counts",
        "invented": "times a document was named that was not shown",
        "trimmed": "documents were trimmed to 300 words",
    }
    parts = [f"{counts[name]} {what}" for name, what in problems.items() if counts[name]]
    if parts:
        warn(f"of {counts['windows']} windows {'; '.join(parts)}")
