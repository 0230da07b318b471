"""Shared by commands that ask a judge: cost plan, results folder and final summary line."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from pnyx.cli.options import Outcome, reasons_shown, say, warn, warn_first
from pnyx.cli.record import record_of_command
from pnyx.core.errors import InputError, OptionError, escaped
from pnyx.core.spec import Spec, opt, out_opt
from pnyx.display.results import plan_lines, plan_row
from pnyx.formats.text_types import FileName, Words
from pnyx.judging.counted_judge import watched
from pnyx.judging.judge_names import introduced, short_name
from pnyx.judging.open_judge import SupportOf, open_judge
from pnyx.judging.open_models import prices_by_model
from pnyx.judging.opened_judge import OpenedJudge, deciding_settings, manifest_facts
from pnyx.judging.tasks import TASKS

if TYPE_CHECKING:
    from pnyx.formats.reports.submissions import Submissions
    from pnyx.judging.answers import Answer
    from pnyx.judging.base import Judge
    from pnyx.judging.formats import JudgingFormat
    from pnyx.judging.judge_kinds import JudgeKind
    from pnyx.judging.llm.plan import PlannedModel
    from pnyx.judging.options import JudgeSpec, SpendingSpec
    from pnyx.judging.questions import JudgeQuestion, PairSource
    from pnyx.judging.runs.shards import Shard
    from pnyx.judging.store.completions import StoredModel


class ShardSpec(Spec, rare="shard"):
    """The share of the items that this machine judges."""

    shard: Words | None = opt(
        None,
        "Judge only share I of N of the items; 2/8 is the second of eight. Every machine splits "
        "them the same way. Merge with pnyx files merge.",
        metavar="I/N",
    )

    @property
    def share(self) -> Shard | None:
        """The share; None for all items."""
        from pnyx.judging.runs.shards import Shard

        return Shard.read(self.shard)


class ResultsSpec(ShardSpec, heading="Output"):
    """Where answers are written."""

    out: FileName | None = out_opt(None, metavar="RESULTS", writes="files")


_MOST_SUMMARISED = 100_000
"""Answers that are summarised at the end of a run; pnyx measure summarises any number."""


def needs_out(out: str | None, spec: JudgeSpec, *refused: JudgeKind) -> None:
    """Raise if no output is given for the answers, or if options exclude each other.

    `refused` are the kinds of judges that cannot answer.
    """
    if out is None and not spec.plan:
        raise OptionError("Missing option '--out'.")
    spec.check(*refused)


def warn_of_submissions(submitted: Submissions) -> None:
    """Print problems of the submissions before anything is judged."""
    for submission in submitted.left_out:
        warn(f"left out, and not ranked: {submission}")
    warn_first(submitted.warnings, "warnings on the names of runs")


def answer_into(
    out: str | None,
    task: str,
    source: str,
    items: PairSource | Sequence[JudgeQuestion],
    spec: JudgeSpec,
    *,
    as_json: bool,
    support_of: SupportOf = "",
    form: JudgingFormat | None = None,
    settings: Mapping[str, Any] | None = None,
    facts: Mapping[str, Any] | None = None,
    adapt: Callable[[Judge], Judge] | None = None,
    also: Callable[[Sequence[Answer]], None] | None = None,
    shard: Shard | None = None,
    summarises: bool = False,
) -> int:
    """Ask the judge that a spec names, write answers.jsonl and manifest.json, return the status.

    `settings` also decide the answers, `facts` are more of the manifest, `adapt` makes another
    judge of the one that is opened, `also` gets an answer for each item, in order, when the folder
    is written (not for ratings), `shard` is the share of the items that is asked, `summarises`
    says to end with what the answers say, in words.
    """
    from pnyx.judging.answers import answer_of_row

    settings = settings or {}
    with open_judge(TASKS[task], spec, say, support_of=support_of, form=form) as opened:
        if adapt is not None:
            opened = replace(opened, judge=adapt(opened.judge))
        if spec.plan:
            return plan_items(opened, items, spec, as_json, shard)
        opened = replace(opened, settings={**opened.settings, **settings})

        def written(rows: Iterable[list[dict[str, Any]]]) -> None:
            if also is not None:
                also([answer_of_row(row) for (row,) in rows])

        manifest = judge_all(
            str(out),
            task,
            source,
            items,
            opened,
            spec,
            settings,
            facts,
            what="items",
            also=also and written,
            shard=shard,
        )
    say_judge(manifest["judge"], manifest["card"])
    line = counts_line(manifest["counts"], "scored", manifest["judge"])
    incomplete = manifest["counts"]["unscored"] or manifest.get("left_out")
    lines = [f"{line}; see {escaped(str(out))}"]
    if summarises and not as_json and shard is None:
        lines += _summary(str(out), manifest["counts"]["asked"])
    return Outcome(manifest, "\n".join(lines), bool(incomplete)).show(as_json=as_json)


def _summary(out: str, count: int) -> list[str]:
    """Return what the answers in a folder say, in words; nothing for very many or other kinds."""
    from pnyx.display.summary import summary_lines, warning_lines
    from pnyx.judging.measures.summary import summarise_answers

    if not 0 < count <= _MOST_SUMMARISED:
        return []
    try:
        summary = summarise_answers(out)
    except InputError:
        return []
    for line in warning_lines(summary):
        warn(line)
    return summary_lines(summary)


def judge_all(
    out: str,
    task: str,
    source: str,
    items: PairSource | Sequence[JudgeQuestion],
    opened: OpenedJudge,
    spec: JudgeSpec,
    settings: Mapping[str, Any],
    facts: Mapping[str, Any] | None = None,
    *,
    what: str = "questions",
    also: Callable[[Any], None] | None = None,
    shard: Shard | None = None,
) -> dict[str, Any]:
    """Ask an open judge with progress; see `judge_into`. `facts` are more of the manifest."""
    from pnyx.judging.runs.results import judge_into

    left: int | None = None

    def started(count: int, stored: int) -> None:
        nonlocal left
        left = count - stored
        say_kept(stored, what)

    with watched(opened.judge, opened.models, lambda: left) as judge:
        return judge_into(
            out,
            task,
            judge,
            items,
            lambda count: {
                **manifest_facts(opened, source, count),
                "record": record_of_command(asks=bool(opened.models)),
                **(facts or {}),
            },
            settings={**deciding_settings(opened, spec), **settings},
            from_rows=not opened.models,
            on_start=started,
            also=also,
            shard=shard,
        )


def say_kept(count: int, what: str = "questions") -> None:
    """Say how many answers are there already, if any are."""
    if count:
        say(f"{count} {what} are answered already, going on")


def say_judge(name: str, card: str) -> None:
    """Name the judge, with its card if that is short, or else where to read it."""
    for line in introduced({name: card}):
        click.echo(f"judge {escaped(line, 400)}", err=True)


def counts_line(counts: Mapping[str, Any], done: str, judge: str) -> str:
    """Return how many of all items are done, by which judge, and why others are not."""
    line = f"{counts['scored']} of {counts['asked']} {done} by {escaped(short_name(judge))}"
    if counts["unscored"]:
        line += f"; {counts['unscored']} unscored: {reasons_shown(counts['reasons'])}"
    partly = {
        "partly_ranked": "rank only some of the texts (the others are unranked)",
        "read_leniently": "read leniently (their notes say how)",
    }
    return line + "".join(f"; {counts[n]} {what}" for n, what in partly.items() if n in counts)


# --plan ------------------------------------------------------------------------------------------


def plan_items(
    opened: OpenedJudge,
    items: Iterable[JudgeQuestion],
    spec: SpendingSpec,
    as_json: bool,
    shard: Shard | None = None,
) -> int:
    """Print what asking would cost, and return the exit status."""
    from pnyx.judging.llm.plan import plan_run
    from pnyx.judging.runs.shards import Dealt

    questions = list(Dealt(items, shard))
    planned = plan_run(opened.judge, opened.models, questions, prices_by_model(spec, opened.models))
    head = {"judge": opened.judge.name, "questions": len(questions)}
    line = f"{len(questions)} questions for {escaped(short_name(opened.judge.name))}"
    return print_planned(line, head, planned, as_json=as_json)


def plan_asked(
    asked_models: StoredModel | Sequence[StoredModel] | None,
    spec: SpendingSpec,
    line: str,
    head: Mapping[str, Any],
    *,
    as_json: bool,
) -> int:
    """Print what models that were asked offline, if any, would have been asked."""
    from pnyx.judging.llm.plan import planned_models

    some = asked_models if isinstance(asked_models, Sequence) else filter(None, [asked_models])
    models = list(some)
    planned = planned_models(models, prices_by_model(spec, models))
    return print_planned(line, head, planned, as_json=as_json)


def print_planned(
    line: str, head: Mapping[str, Any], planned: Sequence[PlannedModel], *, as_json: bool
) -> int:
    """Print what models would be asked, under a line (`head` in JSON) that says what for."""
    row = {**head, "models": list(map(plan_row, planned))}
    return Outcome(row, "\n".join([line, *plan_lines(planned)])).show(as_json=as_json)
