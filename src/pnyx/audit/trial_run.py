"""One trial of a judge: its options, its questions, and the folder with its results."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pnyx.cli.judge_runs import judge_all, needs_out
from pnyx.cli.options import say, warn, warn_first
from pnyx.core.errors import InputError, OptionError, escaped, shorten
from pnyx.core.spec import file_opt, opt, out_opt
from pnyx.formats.text_types import FileName, LanguageModelName, Words
from pnyx.judging.measures.options import BootstrapSpec
from pnyx.judging.open_models import open_model
from pnyx.judging.options import JudgeSpec, ModelSpec
from pnyx.judging.tasks import TASKS

if TYPE_CHECKING:
    from pnyx.audit.trials.trial_items import Stress, TrialQuestions
    from pnyx.judging.judge_kinds import JudgeKind
    from pnyx.judging.opened_judge import OpenedJudge
    from pnyx.judging.questions import JudgeQuestion

_SUMMARY, _ITEMS = "summary.json", "items.jsonl"
_SAME = ("custom", "shots")  # the same in all questions, and recorded in the settings


class StressSpec(
    BootstrapSpec,
    heading="Trial",
    rare="task levels sentences editor padding orders repeats writer control tolerance qrels",
):
    """How to change items; see `pnyx.audit.trials.trial_items.Stress`."""

    out: FileName | None = out_opt(None, metavar="S", heading="Output", writes="files")
    task: Words | None = opt(
        None, "Task of the items.", metavar="TASK", default_text="by the fields of the first item"
    )
    limit: int = opt(
        0, "Maximum number of items, drawn by --seed; 0 for all.", low=0, default_text="all"
    )
    levels: tuple[float, ...] = opt(
        (),
        "noise, joint: shares of the documents to replace.",
        each=True,
        within="[0, 1]",
        metavar="X,X[,...]",
        default_text="0, 0.1, 0.2, 0.5, 0.7, 1; joint: 0, 0.5, 1",
    )
    sentences: tuple[int, ...] = opt(
        (0, 1, 2, 5),
        "hallucination, joint: number of sentences to contradict.",
        each=True,
        within="[0, 1000]",
        metavar="N,N[,...]",
    )
    editor: LanguageModelName | None = file_opt(
        None,
        "hallucination, joint, paraphrase: language model that writes the contradictions or "
        "rewordings.",
        metavar="SPEC",
        default_text="rules: numbers, negations, names; word lists",
    )
    qrels: FileName | None = file_opt(None, metavar="QRELS")
    padding: tuple[float, ...] = opt(
        (0.5, 1.0, 2.0),
        "length: words to add, as shares of the text's length.",
        each=True,
        within="(0, 20]",
        metavar="X[,X...]",
    )
    writer: Words = opt(
        "",
        "self, of preferences: the judge's name in the items' a_by and b_by; its preference for "
        "its own texts is compared with people's (label).",
        "--judge-name",
        metavar="NAME",
        default_text="texts are presented as the judge's own",
        replaces=("--writer",),
    )
    control: FileName | None = file_opt(
        None,
        "self with --judge-name: people's labels of the items (JSONL), or another judge's results, "
        "instead of the items' labels.",
        metavar="LABELS|RESULTS",
        needs="writer",
    )
    repeats: int = opt(3, "repeat: how often to ask each question again.", within="[1, 100]")
    orders: int = opt(2, "order: number of other orders to try.", low=1)
    tolerance: float = opt(
        0.1,
        "Maximum mean change of a stable judge, and minimum drop of a score that must fall.",
        within="[0, 1]",
    )

    def plan_of(self, trial: str) -> Stress:
        """Return the settings of a trial."""
        from pnyx.audit.trials.trial_items import Stress

        joint = (0.0, 0.5, 1.0)
        usual = joint if trial == "joint" else (0.0, 0.1, 0.2, 0.5, 0.7, 1.0)
        return self.make(Stress, levels=self.levels or usual)

    def check_trials(self, chosen: Collection[str]) -> None:
        """Reject options of trials that were not chosen."""
        taken = {
            "levels": ("noise", "joint"),
            "sentences": ("hallucination", "joint"),
            "editor": ("hallucination", "joint", "paraphrase"),
            "qrels": ("noise",),
            "padding": ("length",),
            "orders": ("order",),
            "repeats": ("repeat",),
            "writer": ("self",),
            "control": ("self",),
        }
        for name, trials in taken.items():
            if self.given(name) and not set(trials) & set(chosen):
                others = ", ".join(chosen)
                flag = self.flag(name)
                raise OptionError(f"{flag} is only for {', '.join(trials)}, not {others}")
        self.check_needs()

    def check_judge(self, spec: TrialJudgeSpec, *refused: JudgeKind) -> None:
        """Require a place for the answers, and reject options that exclude each other."""
        needs_out(self.out, spec, *refused)
        if spec.offline and not spec.asks_models and self.editor is None:
            raise OptionError("--from-store requires a language model, or --editor")


class TrialJudgeSpec(JudgeSpec, rare="offline"):
    """The judge under test; stored replies may be those of the judge or of --editor."""

    offline: bool = opt(False, "", "--from-store")


def sized_by(opened: OpenedJudge, chosen: Mapping[str, Any]) -> OpenedJudge:
    """Return a judge whose settings record the other choices (`FormatSpec.settings`)."""
    return replace(opened, settings={**opened.settings, **chosen})


def task_of(path: str, named: str | None) -> str:
    """Return the named task, else the task of the items, by the fields of the first."""
    task = named or _task_of(path)
    if task not in TASKS:
        raise OptionError(
            f"--task: found {shorten(task, 40)!r}, expected one of {', '.join(TASKS)}"
        )
    return task


def _task_of(path: str) -> str:
    """Return the task of items: the one that requires, then accepts, most fields of the first."""
    from pnyx.core.files import read_jsonl
    from pnyx.formats.items import ITEM_FORMATS

    if path == "-":
        raise OptionError("items from standard input require --task")
    first = next(iter(read_jsonl(path)), None)
    if first is None:
        raise InputError("holds no items", path=path)
    fields = set(first[1])
    fits: dict[str, tuple[int, int, int]] = {}
    seen: set[tuple[type, frozenset[str]]] = set()
    for name, task in TASKS.items():
        format_ = ITEM_FORMATS[task.items]
        needed = frozenset(format_.required)
        if needed <= fields and (task.kind, needed) not in seen:
            seen.add((task.kind, needed))
            known_fields = needed | set(format_.optional)
            fits[name] = len(needed), len(fields & known_fields), -len(known_fields)
    best = [name for name, count in fits.items() if count == max(fits.values())]
    if len(best) != 1:
        tasks = ", ".join(best) or "of no task"
        raise InputError(f"the fields are {tasks}: name the task with --task", path=path, line=1)
    return best[0]


def posed_trial(
    trial: str,
    task: str,
    items: Sequence[JudgeQuestion],
    options: StressSpec,
    spec: JudgeSpec,
    *,
    warns: bool = True,
) -> TrialQuestions:
    """Return the questions of a trial on items; with `warns`, warn of too few topics."""
    from pnyx.audit.trials.trial_items import labelled_by, sampled
    from pnyx.audit.trials.trials import pose, too_few
    from pnyx.judging.measures.ground_truth import truth_of_qrels
    from pnyx.judging.verdicts import Verdict

    plan = options.plan_of(trial)
    if trial == "self" and options.control is not None:
        items = _controlled(items, options.control, options.writer)
    edits = _edited(trial, sampled(items, plan), options, spec)
    posed = pose(trial, items, plan, edits)
    if trial == "noise" and options.qrels is not None:
        if task != "rag":
            raise OptionError(f"--qrels requires --task rag, not {task}")
        truth = truth_of_qrels(options.qrels)
        labelled = labelled_by(
            posed.items, lambda topic, doc: truth(Verdict(question_id=topic, doc_id=doc))
        )
        posed = replace(posed, items=labelled)
    if warns and (few := too_few(trial, posed, plan)):
        warn(few)
    return posed


def _controlled(items: Sequence[JudgeQuestion], path: str, writer: str) -> list[JudgeQuestion]:
    """Return items labelled with the preferences of people, or of another judge."""
    from pnyx.judging.answers import Judged
    from pnyx.judging.base import ask
    from pnyx.judging.lookup import HumanLabels, Lookup

    control: Lookup | HumanLabels = Lookup(path) if Path(path).is_dir() else HumanLabels(path)
    if isinstance(control, Lookup) and control.judge == writer:
        problem = f"--control: found answers of {escaped(writer, 40)} itself, expected others'"
        raise InputError(problem, path=path)
    answers = ask(control, items)
    values = (answer.value if isinstance(answer, Judged) else None for answer in answers)
    pairs = zip(items, values, strict=True)
    return [replace(item, extra={**item.extra, "label": value}) for item, value in pairs]


def _edited(
    trial: str, items: Sequence[JudgeQuestion], options: StressSpec, spec: JudgeSpec
) -> Mapping[str, str] | None:
    """Return a language model's edits of the items' sentences; None if rules make them."""
    from pnyx.audit.trials.trials import TRIALS

    if options.editor is None or not TRIALS[trial].edits:
        return None
    from pnyx.audit.trials.model_edits import edit_by_model

    models = ModelSpec(
        llm=(options.editor,),
        store=spec.store,
        concurrency=spec.concurrency,
        timeout=spec.timeout,
        wait=spec.wait,
    )
    with open_model(models, say, spec) as model:
        if model is None:
            raise OptionError("--editor: expected a language model")
        edits = edit_by_model(TRIALS[trial].edits, items, model)
        if spec.plan and model.missing:
            say(
                f"{len(model.missing)} calls to --editor come first; the plan below assumes the "
                "changes that rules make"
            )
            return None
    warn_first([shorten(problem, 200) for problem in edits.problems], "that were not edited")
    say(f"{len(edits.by_text)} of {edits.requested} edited by {shorten(model.name)}")
    return edits.by_text


def ask_trial(
    trial: str,
    task: str,
    source: str,
    posed: TrialQuestions,
    options: StressSpec,
    spec: JudgeSpec,
    opened: OpenedJudge,
) -> dict[str, Any]:
    """Ask the judge, write the folder `own.out`, return the summary."""
    from pnyx.audit.card import cost_of
    from pnyx.audit.trials.trials import sum_up
    from pnyx.core.files import write_json, write_jsonl
    from pnyx.core.placement import placed_together

    summary: dict[str, Any] = {}

    def take(rows: Any) -> None:
        summary.update(sum_up(trial, posed, rows, options.plan_of(trial)))

    named = {"trial": trial}
    out, questions = str(options.out), posed.questions
    manifest = judge_all(out, task, source, questions, opened, spec, named, named, also=take)
    row = {
        "format": "pnyx-stress",
        "format_version": 1,
        "task": task,
        "judge": manifest["judge"],
        "card": manifest["card"],
        "source": manifest["items"],
        **summary,
        "counts": manifest["counts"],
        "choices": options.row(),
        "cost": cost_of(manifest),
    }
    item_rows = (
        {f.name: getattr(q, f.name) for f in fields(q) if f.name not in _SAME} for q in questions
    )
    with placed_together():
        write_jsonl(Path(out) / _ITEMS, ({**row.pop("extra"), **row} for row in item_rows))
        write_json(Path(out) / _SUMMARY, row)
    return row
