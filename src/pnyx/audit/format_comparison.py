"""Compare formats of asking about arguments: noise and contradictions under each (ConQRet)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pnyx.audit.trial_run import StressSpec, TrialJudgeSpec, ask_trial, posed_trial, sized_by
from pnyx.cli.judge_runs import print_planned
from pnyx.cli.options import Outcome, say
from pnyx.core.errors import InputError, OptionError, escaped, shorten
from pnyx.display.tables import draws_legend
from pnyx.judging.format_options import FormatSpec
from pnyx.judging.open_judge import open_judge
from pnyx.judging.open_models import prices_by_model
from pnyx.judging.options import JudgeSpec
from pnyx.judging.questions import Rating
from pnyx.judging.tasks import TASKS

if TYPE_CHECKING:
    from pnyx.audit.trials.trial_items import TrialQuestions
    from pnyx.display.tables import Part
    from pnyx.judging.formats import JudgingFormat
    from pnyx.judging.llm.plan import PlannedModel

_TASK = TASKS["rag"]
ALL = "all"
"""Name of all formats that the judge can be asked in."""

_SHOWS = {"noise": "context_relevance", "hallucination": "groundedness"}
"""Trial -> the dimension that is measured."""


def formats_of(names: Sequence[str], spec: JudgeSpec) -> list[str]:
    """Return the named formats; for `all`, every one in which the judge can be asked."""
    if ALL not in names:
        return list(dict.fromkeys(names))
    return [form.name for form in _TASK.formats if spec.asks_models or form.packaged]


def compare_formats(
    items: str,
    names: Sequence[str],
    options: StressSpec,
    format_spec: FormatSpec,
    spec: TrialJudgeSpec,
    as_json: bool,
) -> int | Outcome:
    """Run the trials noise and hallucination under each format, into folders below --out."""
    options.check_trials(tuple(_SHOWS))
    for chosen, flags in ((format_spec, "scale shots examples dimensions"), (spec, "prompt")):
        for name in flags.split():
            if chosen.given(name):
                raise OptionError(f"{chosen.flag(name)} cannot be used with several formats")
    if format_spec.nuggets is not None and not any(_TASK.format(n).makes_points for n in names):
        raise OptionError("--set nuggets requires --judge-format query-rubric or rag-rubric")
    read = list(_TASK.read(items))
    trials = _trials(read)
    from pnyx.judging.runs.results import check_folder

    for name in () if spec.plan else names:
        for trial in trials:
            check_folder(Path(str(options.out)) / f"{trial}-{name}", {"task": "rag"})
    # Prepare all formats before asking: what cannot be asked fails first.
    every = [_prepared(n, trials, read, format_spec, options, spec) for n in names]
    if spec.plan:
        return _plan(every, spec, as_json)
    rows: dict[str, dict[str, Any]] = {}
    for prepared in every:
        with open_judge(_TASK, spec, say, form=prepared.form) as opened:
            sized = sized_by(
                opened, {} if prepared.nuggets is None else {"nuggets": prepared.nuggets}
            )
            for trial, posed in prepared.posed.items():
                name = prepared.form.name
                say(f"{name}, {trial}:")
                part = replace(options, out=str(Path(str(options.out)) / f"{trial}-{name}"))
                row = ask_trial(trial, "rag", items, posed, part, spec, sized)
                rows.setdefault(name, {})[trial] = row
    return _outcome(rows, options)


@dataclass(frozen=True, slots=True)
class _Prepared:
    """A format, how many nuggets it generates if chosen, and its questions by trial."""

    form: JudgingFormat
    nuggets: int | None
    posed: Mapping[str, TrialQuestions]


def _plan(every: Sequence[_Prepared], spec: JudgeSpec, as_json: bool) -> int:
    """Print how much each model would be asked, format by format, and return the exit status."""
    from pnyx.judging.llm.plan import plan_run

    planned: list[PlannedModel] = []
    count = 0
    for prepared in every:
        with open_judge(_TASK, spec, say, form=prepared.form) as opened:
            questions = [
                question for posed in prepared.posed.values() for question in posed.questions
            ]
            prices = prices_by_model(spec, opened.models)
            plans = plan_run(opened.judge, opened.models, questions, prices)
        planned += [replace(m, model=f"{prepared.form.name}: {m.model}") for m in plans]
        count += len(questions)
    names = [prepared.form.name for prepared in every]
    line = f"{count} questions in {len(names)} formats"
    return print_planned(line, {"questions": count, "formats": names}, planned, as_json=as_json)


def _taking(trial: str, items: Sequence[Any]) -> list[Rating]:
    return [item for item in items if trial == "noise" or item.text]


def _prepared(
    name: str,
    trials: Sequence[str],
    items: Sequence[Any],
    format_spec: FormatSpec,
    options: StressSpec,
    spec: JudgeSpec,
) -> _Prepared:
    form = _TASK.format(name)
    nuggets = format_spec.nuggets if form.makes_points else None
    chosen, shaped = replace(format_spec, format=name, nuggets=nuggets).prepared(_TASK, spec, items)
    questions = list(shaped)
    posed = {t: posed_trial(t, "rag", _taking(t, questions), options, spec) for t in trials}
    return _Prepared(chosen or form, nuggets, posed)


def _trials(items: Sequence[Any]) -> list[str]:
    """Return the trials that apply to the items; InputError if they lack a needed dimension."""
    trials = [trial for trial in _SHOWS if _taking(trial, items)]
    if not items:
        raise InputError("found no items")
    without = sum(not item.text for item in items)
    if without:
        say(f"{without} of {len(items)} items have no argument and are left out of hallucination")
    for trial in trials:
        for item in _taking(trial, items):
            if _SHOWS[trial] not in item.dimensions:
                raise InputError(
                    f"item {shorten(item.id, 40)!r}: dimensions: expected {_SHOWS[trial]} among "
                    f"them, which {trial} changes"
                )
    return trials


def _outcome(rows: Mapping[str, Mapping[str, Any]], spec: StressSpec) -> Outcome:
    """Write the results for all formats, and return them."""
    from pnyx.core.files import write_json, write_text
    from pnyx.core.placement import placed_together
    from pnyx.display.trials import format_tables, sensitivity_plot

    first = next(iter(rows.values()))["noise"]
    row = {
        "format": "pnyx-formats",
        "format_version": 1,
        "task": "rag",
        "source": first["source"],
        "formats": {name: _summed(trials) for name, trials in rows.items()},
        "interval": first["interval"],
        "choices": spec.row(),
    }
    tables, out = format_tables(row), Path(str(spec.out))
    with placed_together():
        write_json(out / "formats.json", row)
        write_text(out / "formats.md", "\n".join(table.markdown() for table in tables))
        write_text(out / "formats.svg", sensitivity_plot(row))
    drawn = f"{first['interval']['clusters']} {first['interval']['clustered_by']}s"
    parts: list[Part] = [*tables, draws_legend(drawn, spec.bootstrap), [f"see {escaped(str(out))}"]]
    unscored = (r["counts"]["unscored"] for trials in rows.values() for r in trials.values())
    return Outcome(row, parts, any(unscored))


def _summed(trials: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Return the results of one format's trials for comparison."""
    summed = {"judge": trials["noise"]["judge"]}
    for trial, dimension in _SHOWS.items():
        curves = trials[trial]["curves"] if trial in trials else {}
        # With a single dimension, the score is that dimension's.
        summed[dimension] = curves.get(dimension, curves.get("score"))
    counts = {trial: row["counts"] for trial, row in trials.items()}
    outcomes = {trial: row["outcome"] for trial, row in trials.items()}
    documents = {k: v for k, v in trials["noise"].items() if k == "documents"}
    return {**summed, **documents, "outcomes": outcomes, "counts": counts}
