"""`pnyx audit formats`: noise and contradictions under each format of asking about arguments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pnyx.audit.trial_run import StressSpec, TrialJudgeSpec, ask_trial, posed_trial, sized_by
from pnyx.cli.judge_runs import print_planned
from pnyx.cli.options import Outcome, say
from pnyx.cli.params import verb
from pnyx.core.errors import InputError, OptionError, escaped, shorten
from pnyx.core.spec import Spec, opt
from pnyx.display.tables import draws_legend
from pnyx.formats.text_types import FileName, Words
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
_SHOWS = {"noise": "context_relevance", "hallucination": "groundedness"}
"""Trial -> the dimension that is measured."""


class ComparedSpec(Spec, heading="Formats"):
    """Which formats to compare."""

    format: tuple[Words, ...] = opt(
        (),
        "",
        "--judge-format",
        metavar="NAME",
        default_text="all; without a language model, support",
        replaces=("--format",),
    )

    def names(self, spec: JudgeSpec, format_spec: FormatSpec) -> list[str]:
        """Return the formats; OptionError: one is unknown, or `nuggets` has no effect."""
        usual = [f.name for f in _TASK.formats if spec.asks_models or f.packaged]
        chosen = list(dict.fromkeys(self.format)) or usual
        if format_spec.nuggets is not None and not any(
            _TASK.format(n).makes_points for n in chosen
        ):
            raise OptionError("--set nuggets requires --judge-format query-rubric or rag-rubric")
        return chosen


@verb(
    "formats",
    resumes=True,
    records=True,
    short_help="Which format notices noise and contradictions in arguments?",
    without={
        "options": "task padding orders",
        "format_spec": "format scale shots examples dimensions",
        "spec": "prompt",
    },
)
@click.argument("items")
def formats(
    items: FileName,
    compared: ComparedSpec,
    options: StressSpec,
    format_spec: FormatSpec,
    spec: TrialJudgeSpec,
    as_json: bool,
) -> int | Outcome:
    """Run the trials noise and hallucination on ITEMS (of pnyx judge rag, JSONL), by format.

    The tables are those of ConQRet, with a row for each format in which a judge can be asked. S
    gets formats.json, formats.md (the tables) and formats.svg.

    \b
    Example:
      $ echo '{"id": "1", "query": "Are zoos bad?", "argument": "Yes [1].",' \\
          '"documents": ["Cages harm animals."]}' > items.jsonl
      $ echo '{"id": "2", "query": "Is tax fair?", "argument": "Yes [1].",' \\
          '"documents": ["The rich pay more."]}' >> items.jsonl
      $ pnyx audit formats items.jsonl --out formats
      ...
      format                    0 %                  10 %                  20 %
      support  0.259 [0.052, 0.466]  0.236 [0.007, 0.466]  0.236 [0.007, 0.466]

    \b
    More: pnyx audit formats --help-all, docs/lab/trials.md.
    \f
    Context relevance by share of replaced documents (Table 16), whether it falls at every step
    (17), groundedness by contradicted sentences (18); for formats that score single documents,
    precision (7); formats.svg is Figure 13. S also gets for each format the folders noise-FORMAT
    and hallucination-FORMAT of pnyx audit run. Running the command again, even after a crash, asks
    only what is missing. Exit status 3: finished, but some questions are unscored.

    \b
      pnyx audit formats items.jsonl --judge-format direct \\
        --judge-format listwise-rag-fine \\
        --judge http://127.0.0.1:8000/v1#my-model --out formats
    """
    options.check_judge(spec)
    read = list(_TASK.read(items))
    trials = _trials(read)
    from pnyx.judging.runs.results import check_folder

    for name in () if spec.plan else compared.names(spec, format_spec):
        for trial in trials:
            check_folder(Path(str(options.out)) / f"{trial}-{name}", {"task": "rag"})
    # Prepare all formats before asking: what cannot be asked fails first.
    every = [
        _prepared(n, trials, read, format_spec, options, spec)
        for n in compared.names(spec, format_spec)
    ]
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
