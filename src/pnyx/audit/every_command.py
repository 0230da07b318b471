"""`pnyx audit all`: every trial that applies to a judge's task, with one plan and one card."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pnyx.audit.trials_command import (
    StressSpec,
    TrialJudgeSpec,
    ask_trial,
    posed_trial,
    sized_by,
    task_of,
)
from pnyx.cli.judge_runs import judge_all, say_judge
from pnyx.cli.options import Outcome, say
from pnyx.cli.params import verb
from pnyx.cli.record import record_of_command
from pnyx.core.errors import InputError, escaped
from pnyx.core.spec import Spec, file_opt, opt
from pnyx.display.results import plan_lines, plan_row
from pnyx.display.tables import Column, Table
from pnyx.formats.text_types import FileName
from pnyx.judging.open_judge import OpenedJudge, open_judge
from pnyx.judging.open_models import prices_by_model
from pnyx.judging.options import FormatSpec, JudgeSpec
from pnyx.judging.tasks import TASKS

if TYPE_CHECKING:
    from pnyx.audit.trials.trial_items import TrialQuestions
    from pnyx.display.tables import Part
    from pnyx.judging.questions import JudgeQuestion

MARGIN = 0.1


class AuditAllSpec(Spec, heading="Card"):
    """What the card is based on, and its margin."""

    labels: tuple[FileName, ...] = file_opt((), "People's labels (JSONL) of ITEMS. Repeatable.")
    margin: float = opt(
        MARGIN,
        "By how much a figure may become worse before pnyx audit check fails. Stored in the card.",
        within="[0, 1]",
    )


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
    "all",
    resumes=True,
    records=True,
    short_help="Every trial that applies, with one plan and one card.",
)
@click.argument("items")
def every(
    items: FileName,
    card: AuditAllSpec,
    options: StressSpec,
    format_spec: FormatSpec,
    spec: TrialJudgeSpec,
    as_json: bool,
) -> int | Outcome:
    """Run every trial that applies to ITEMS on a judge, and write its card.

    It asks about ITEMS as they are, then in each trial (pnyx audit stress lists them). --plan
    shows the total cost first, and how many clusters (topics) each trial has and needs. S gets a
    folder for each trial, TASK with the answers to the items, and card.html, card.md and card.json,
    with which pnyx audit check compares a later judge. Running the command again, even after a
    crash, asks only what is missing. Exit status 3: finished, but some questions are unscored.

    \b
    Example:
      pnyx audit all items.jsonl --labels people.jsonl --plan
      pnyx audit all items.jsonl --labels people.jsonl --out audit
      pnyx audit check --card audit/card.json --out later
    """
    from pnyx.judging.measures.raters import check_labels

    options.check_judge(spec, "labels", "results")
    task = task_of(items, options.task)
    format_spec.chosen(TASKS[task], spec)
    spec = format_spec.prompted(spec)
    form, items_read = format_spec.prepared(TASKS[task], spec, format_spec.read(TASKS[task], items))
    trials = _posed(task, list(items_read), options, spec)
    check_labels(card.labels, {item.id for item in trials.items})
    with open_judge(TASKS[task], spec, say, form=form) as opened:
        if spec.plan:
            return _plan(opened, trials, spec).show(as_json=as_json)
        rows = _ask(items, trials, options, spec, sized_by(opened, format_spec.settings))
    say_judge(rows[0]["judge"], rows[0]["card"])
    card_ = _card(trials, card, options)
    lines = [f"{row['trial']}: {row['outcome']}" for row in rows if "trial" in row]
    lines += [f"{name}: left out: {why}" for name, why in trials.left_out.items()]
    see = (
        f"{len(card_['not_for'])} reasons against a use; see {escaped(str(options.out))}/card.html"
    )
    return Outcome(card_, [[*lines, see]], any(row["counts"]["unscored"] for row in rows))


def _posed(
    task: str, items: Sequence[JudgeQuestion], options: StressSpec, spec: JudgeSpec
) -> _Trials:
    """Return the questions of every trial; InputError if none applies."""
    from pnyx.audit.trials.trial_items import sampled
    from pnyx.audit.trials.trials import TRIALS, clusters_needed
    from pnyx.judging.runs.results import check_folder

    if options.out is not None and not spec.plan:
        for name in (task, *TRIALS):
            check_folder(Path(options.out) / name, {"task": task})
    posed: dict[str, TrialQuestions] = {}
    left_out: dict[str, str] = {}
    for name in TRIALS:
        qrels = options.qrels if name == "noise" and task == "rag" else None
        try:
            trial_options = replace(options, qrels=qrels)
            posed[name] = posed_trial(name, task, items, trial_options, spec, warns=False)
        except InputError as error:
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


def _card(trials: _Trials, card: AuditAllSpec, options: StressSpec) -> dict[str, Any]:
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
