"""`pnyx audit run`: one trial of a judge, or every trial that applies, with one card."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

import click

from pnyx.audit.format_comparison import ALL, compare_formats, formats_of
from pnyx.audit.own_pairs import write_own_pairs
from pnyx.audit.trial_run import (
    StressSpec,
    TrialJudgeSpec,
    ask_trial,
    posed_trial,
    sized_by,
    task_of,
)
from pnyx.cli.judge_runs import judge_all, plan_items, say_judge
from pnyx.cli.options import Outcome, say
from pnyx.cli.params import verb
from pnyx.cli.record import record_of_command
from pnyx.core.errors import InputError, OptionError, count_of, escaped
from pnyx.core.spec import Spec, file_opt, opt, out_opt
from pnyx.display.results import plan_lines, plan_row
from pnyx.display.tables import Column, Table, draws_legend
from pnyx.display.trials import trial_lines, trial_tables
from pnyx.formats.text_types import FileName, Words
from pnyx.judging.format_options import FormatSpec
from pnyx.judging.open_judge import open_judge
from pnyx.judging.open_models import prices_by_model
from pnyx.judging.opened_judge import OpenedJudge
from pnyx.judging.options import JudgeSpec
from pnyx.judging.tasks import TASKS

if TYPE_CHECKING:
    from pnyx.audit.trials.trial_items import TrialQuestions
    from pnyx.display.tables import Part
    from pnyx.judging.formats import JudgingFormat
    from pnyx.judging.questions import JudgeQuestion

MARGIN = 0.1


TrialName: TypeAlias = Literal[
    "noise", "hallucination", "joint", "order", "length", "injection", "paraphrase",
    "repeat", "stance", "self", "format", "asker", "verbosity",
]  # fmt: skip


class AuditRunSpec(Spec, heading="Card", rare="pairs"):
    """Which trials are run and how the judge is asked, what the card is based on, its margin."""

    trials: tuple[TrialName, ...] = opt(
        (),
        "Trial to run.",
        "--trial",
        metavar="TRIAL",
        default_text="all that apply to the items",
        heading="Trial",
    )
    formats: tuple[Words, ...] = opt(
        (),
        "",
        "--judge-format",
        metavar="NAME",
        default_text="as in pnyx judge",
        heading="Trial",
        replaces=("--format",),
    )
    pairs: FileName | None = out_opt(
        None,
        "self: run no trial. Have the judge write an argument on each item of rag, and write pairs "
        "of it and the item's own, as items of preference.",
        "--write-pairs",
        metavar="PAIRS",
        heading="Output",
    )
    labels: tuple[FileName, ...] = file_opt(())
    margin: float = opt(MARGIN, within="[0, 1]")

    def check(self) -> None:
        """Reject options of the card where none is written, and formats without trials."""
        if self.pairs is not None and (set(self.trials) != {"self"} or self.formats):
            raise OptionError(
                "--write-pairs requires --trial self, and no other, nor --judge-format"
            )
        others = set(self.trials) - {"noise", "hallucination"}
        if self.compares_formats and (others or len(set(self.trials)) == 1):
            raise OptionError(
                "--judge-format: several are compared in noise and hallucination; leave out --trial"
            )
        for name in ("labels", "margin"):
            if (len(set(self.trials)) == 1 or self.compares_formats) and self.given(name):
                raise OptionError(
                    f"{self.flag(name)} is for the card of several trials; for that of results "
                    "and single trials: pnyx audit card"
                )

    @property
    def compares_formats(self) -> bool:
        """Whether several formats are compared."""
        return len(set(self.formats)) > 1 or ALL in self.formats


@dataclass(frozen=True, slots=True)
class _Trials:
    """The trials of a task's items: questions by trial, and why others do not apply."""

    task: str
    items: Sequence[JudgeQuestion]
    posed: Mapping[str, TrialQuestions]
    left_out: Mapping[str, str]
    needed: Mapping[str, int | None]

    def rows(self) -> list[dict[str, Any]]:
        """Return each trial with its questions, and the clusters (topics) it has and needs."""
        from pnyx.audit.trials.trials import clusters_of

        posed_rows = [
            {"trial": name, "questions": len(trial.questions), "clusters": clusters_of(trial),
             "clusters_needed": self.needed[name], "why_not": None}
            for name, trial in self.posed.items()
        ]  # fmt: skip
        empty = {"questions": 0, "clusters": None, "clusters_needed": None}
        return posed_rows + [
            {"trial": n, **empty, "why_not": why} for n, why in self.left_out.items()
        ]

    def table(self) -> Table:
        """Return the table of the trials."""
        columns = [Column("trial", "name"), Column("questions", "count")]
        columns += [Column("clusters", "count"), Column("needed", "count"), Column("", "name")]
        rows = [
            (r["trial"], r["questions"], r["clusters"], r["clusters_needed"], _said(r))
            for r in self.rows()
        ]
        legend = "clusters: topics, or items without one; needed: for a good judge to pass reliably"
        return Table(columns, rows, legend=[legend])


def _said(row: Mapping[str, Any]) -> str:
    if row["why_not"] is not None:
        return f"left out: {row['why_not']}"
    if row["clusters_needed"] is None:
        return "no number is enough (--tolerance)"
    return "" if row["clusters"] >= row["clusters_needed"] else "too few: may stay unclear"


@verb(
    "run",
    resumes=True,
    records=True,
    short_help="Does a judge notice what it should, and ignore the rest?",
    without={"format_spec": "format"},
)
@click.argument("items")
def run(
    items: FileName,
    card: AuditRunSpec,
    options: StressSpec,
    format_spec: FormatSpec,
    spec: TrialJudgeSpec,
    as_json: bool,
) -> int | Outcome:
    """Change ITEMS (of pnyx judge, JSONL) in ways whose effect is known, and ask the judge.

    Some changes must lower the score (noise, hallucination), others must not change the verdict
    (order, length, asker, ...). The judge's card is written, too.

    \b
    Example:
      $ pnyx demo --files-only --out ex
      $ pnyx audit run ex/items.jsonl --trial noise --trial asker --limit 20 \\
          --labels ex/item-labels.jsonl --out audit
      ...
      noise: passed
      asker: unclear
      1 reason against a use; see audit/card.html

    \b
    More: pnyx audit run --help-all, docs/reference/measures/trials.md.
    \f
    The score must fall: noise (documents of other topics), hallucination (contradicted sentences),
    joint (both). The verdict must stay the same: order (of arguments, dimensions or documents),
    length (added words without content), injection (the text tells the judge what to answer),
    paraphrase, repeat (asked again), stance (the other side: yes to at most one), self (the text is
    presented as the judge's own), format (a list, emphasis, a heading), asker (the question says
    which answer the asker hopes for), verbosity (more words).

    S (--out, required without --plan) gets a folder for each trial, TASK with the answers to ITEMS
    as they are, and the judge's card (card.html, card.md, card.json; see pnyx audit card). With one
    --trial, S is the folder of that trial. Running the command again asks only what is missing.
    --margin is stored in the card. --qrels, for noise of task rag: which documents are relevant, to
    show their true precision next to that by the scores of single documents. Exit status 3:
    finished, but some questions are unscored.

    With several --judge-format, or all, noise and hallucination run under each format of judge rag:
    S gets the folders noise-FORMAT and hallucination-FORMAT, and formats.json, formats.md and
    formats.svg with the tables and the figure of ConQRet.

    With --write-pairs, the judge writes texts that --trial self then judges: of each item, its own
    argument and the item's, of similar length. a_by and b_by say who wrote which; no judge sees it.

    \b
      pnyx audit run items.jsonl --labels people.jsonl --plan
      pnyx audit run items.jsonl --judge-format direct --judge-format g-eval \\
        --out formats
    """
    card.check()
    if card.pairs is not None:
        return write_own_pairs(items, card.pairs, options, spec, as_json)
    options.check_judge(spec, "labels", "results")
    if card.compares_formats:
        if options.task not in (None, "rag"):
            raise OptionError("--judge-format: several formats are compared on the task rag only")
        names = formats_of(card.formats, spec)
        return compare_formats(items, names, options, format_spec, spec, as_json)
    options.check_trials(card.trials or get_args(TrialName))
    format_spec = replace(format_spec, format=card.formats[0] if card.formats else None)
    task = task_of(items, options.task)
    format_spec.chosen(TASKS[task], spec)
    spec = format_spec.prompted(spec)
    form, items_read = format_spec.prepared(TASKS[task], spec, format_spec.read(TASKS[task], items))
    asked_about = _TrialItems(items, task, list(items_read), form, format_spec.settings)
    if len(set(card.trials)) == 1:
        return _run_one(card.trials[0], asked_about, options, spec, as_json)
    return _run_several(asked_about, card, options, spec)


@dataclass(frozen=True, slots=True)
class _TrialItems:
    """The items that trials change, and how their judge is asked."""

    source: str
    task: str
    questions: Sequence[JudgeQuestion]
    form: JudgingFormat | None
    settings: Mapping[str, Any]


def _run_one(
    trial: str, items: _TrialItems, options: StressSpec, spec: JudgeSpec, as_json: bool
) -> int | Outcome:
    """Run one trial into the folder --out."""
    from pnyx.judging.runs.results import check_folder

    task = items.task
    if options.out is not None and not spec.plan:
        check_folder(Path(options.out), {"task": task})
    posed = posed_trial(trial, task, items.questions, options, spec)
    with open_judge(TASKS[task], spec, say, form=items.form) as opened:
        if spec.plan:
            return plan_items(opened, posed.questions, spec, as_json)
        sized = sized_by(opened, items.settings)
        row = ask_trial(trial, task, items.source, posed, options, spec, sized)
    say_judge(row["judge"], row["card"])
    drawn = f"{row['interval']['clusters']} {row['interval']['clustered_by']}s"
    head = [*trial_lines(row), f"see {escaped(str(options.out))}"]
    parts: list[Part] = [head, *trial_tables(row), draws_legend(drawn, options.bootstrap)]
    return Outcome(row, parts, row["counts"]["unscored"])


def _run_several(
    items: _TrialItems, card: AuditRunSpec, options: StressSpec, spec: JudgeSpec
) -> Outcome:
    """Run the chosen trials, or all that apply, into folders below --out, and write the card."""
    from pnyx.judging.measures.raters import check_labels

    trials = _posed(items.task, items.questions, card.trials, options, spec)
    check_labels(card.labels, {item.id for item in trials.items})
    with open_judge(TASKS[items.task], spec, say, form=items.form) as opened:
        if spec.plan:
            return _plan(opened, trials, spec)
        rows = _ask(items.source, trials, options, spec, sized_by(opened, items.settings))
    say_judge(rows[0]["judge"], rows[0]["card"])
    card_ = _card(trials, card, options)
    lines = [f"{row['trial']}: {row['outcome']}" for row in rows if "trial" in row]
    lines += [f"{name}: left out: {why}" for name, why in trials.left_out.items()]
    reasons = count_of(len(card_["not_for"]), "reason")
    see = f"{reasons} against a use; see {escaped(str(options.out))}/card.html"
    return Outcome(card_, [[*lines, see]], any(row["counts"]["unscored"] for row in rows))


def _posed(
    task: str,
    items: Sequence[JudgeQuestion],
    names: Collection[str],
    options: StressSpec,
    spec: JudgeSpec,
) -> _Trials:
    """Return the questions of the chosen trials, or of all that apply; InputError if none does."""
    from pnyx.audit.trials.trial_items import sampled
    from pnyx.audit.trials.trials import TRIALS, clusters_needed
    from pnyx.judging.runs.results import check_folder

    if options.out is not None and not spec.plan:
        for name in (task, *TRIALS):
            check_folder(Path(options.out) / name, {"task": task})
    posed: dict[str, TrialQuestions] = {}
    left_out: dict[str, str] = {}
    for name in TRIALS:
        if names and name not in names:
            continue
        qrels = options.qrels if name == "noise" else None
        try:
            trial_options = replace(options, qrels=qrels)
            posed[name] = posed_trial(name, task, items, trial_options, spec, warns=False)
        except OptionError:
            raise
        except InputError as error:
            if names:
                raise
            left_out[name] = error.problem
    if not posed:
        raise InputError(f"no trial applies: {'; '.join(left_out.values())}")
    needed = {name: clusters_needed(name, options.plan_of(name)) for name in posed}
    chosen = sampled(items, options.plan_of("order"))
    return _Trials(task, chosen, posed, left_out, needed)


def _plan(opened: OpenedJudge, trials: _Trials, spec: JudgeSpec) -> Outcome:
    """Return how much each model would be asked in total, and the trials with their clusters."""
    from pnyx.judging.llm.plan import plan_run

    questions = [*trials.items, *(q for trial in trials.posed.values() for q in trial.questions)]
    planned = plan_run(opened.judge, opened.models, questions, prices_by_model(spec, opened.models))
    row = {
        "judge": opened.judge.name,
        "questions": len(questions),
        "trials": trials.rows(),
        "models": list(map(plan_row, planned)),
    }
    line = f"{len(questions)} questions for {escaped(opened.judge.name)}: "
    line += f"{len(trials.items)} items as they are, and {len(trials.posed)} trials"
    parts: list[Part] = [[line], trials.table(), list(plan_lines(planned))]
    return Outcome(row, parts)


def _ask(
    source: str, trials: _Trials, options: StressSpec, spec: JudgeSpec, opened: OpenedJudge
) -> list[dict[str, Any]]:
    """Ask everything; return the manifest of the items, and each trial's summary."""
    out, task = Path(str(options.out)), trials.task
    say(f"{task}:")
    rows = [judge_all(str(out / task), task, source, trials.items, opened, spec, {}, what="items")]
    for name, posed in trials.posed.items():
        say(f"{name}:")
        trial_options = replace(options, out=str(out / name))
        rows.append(ask_trial(name, task, source, posed, trial_options, spec, opened))
    return rows


def _card(trials: _Trials, card: AuditRunSpec, options: StressSpec) -> dict[str, Any]:
    """Write the card of all folders, and return it."""
    from pnyx.audit.card import make_card
    from pnyx.audit.display.card import card_html, card_markdown
    from pnyx.core.files import write_json, write_text
    from pnyx.core.placement import placed_together

    out = Path(str(options.out))
    folders = [out / trials.task, *(out / name for name in trials.posed)]
    card_ = make_card(
        folders, card.labels, bootstrap=options.bootstrap, left_out=dict(trials.left_out)
    )
    card_ |= {"margin": card.margin, "record": record_of_command()}
    with placed_together():
        write_text(str(out / "card.html"), card_html(card_))
        write_text(str(out / "card.md"), card_markdown(card_))
        write_json(out / "card.json", card_)
    return card_
