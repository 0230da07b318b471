"""Which judge `pnyx judge` asks: its options, and what they open."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from pnyx.cli.options import open_models
from pnyx.cli.values import NumberRange
from pnyx.errors import InputError, shorten

if TYPE_CHECKING:
    from pnyx.judge.base import Judge
    from pnyx.judge.completions import StoredModel
    from pnyx.judge.llm import LlmJudge
    from pnyx.judge.prompting import Prompt
    from pnyx.judge.students.judge import StudentJudge
    from pnyx.judge.tasks import Task
    from pnyx.models.ledger import Ledger
    from pnyx.models.prices import Price

__all__ = [
    "Opened",
    "asked_models",
    "asking_options",
    "books",
    "check_batch",
    "combining_options",
    "names_student",
    "open_judge",
    "prices_of",
    "student_decides",
]

F = TypeVar("F", bound=Callable[..., Any])
_PERSPECTIVE_PROMPT = "support-perspective"
"""Asks what BERDS asks; the usual ones ask whether statements follow. It takes one a call."""

_WARM = 0.7
"""Temperature of repeats where nothing can be reordered: at 0 they would all be the same."""


def asking_options(function: F) -> F:
    """Add how a language model is asked."""
    for option in (
        click.option(
            "--max-tokens",
            type=click.IntRange(1, 1_000_000),
            help="Longest reply  [default: the prompt's own, and twice that for a second try where "
            "one is cut off].",
        ),
        click.option(
            "--temperature",
            type=NumberRange(0, 2),
            help="[default: 0; 0.7 for --samples where nothing can be reordered]",
        ),
        click.option(
            "--batch",
            type=click.IntRange(1, 100),
            default=1,
            show_default=True,
            help="support: statements about one text in one call.",
        ),
        click.option(
            "--probability",
            type=click.Choice(["auto", "ask", "tok", "both"]),
            default="auto",
            show_default=True,
            help="Of yes: stated by the model (ask), from its token probabilities (tok), their "
            "mean (both), or tok where the endpoint gives them and else ask (auto).",
        ),
        click.option(
            "--prompt",
            metavar="NAME",
            help="Another prompt of the task (pnyx prompt list), or a prompt file (.toml).",
        ),
    ):
        function = option(function)
    return function


def combining_options(function: F) -> F:
    """Add who else answers, and how several answers become one."""
    for option in (
        click.option(
            "--cheap",
            metavar="SPEC",
            help="Language model, or a student's folder, that --cascade asks first  [default: "
            "--student if there is an --llm, else the packaged judge].",
        ),
        click.option(
            "--cascade",
            metavar="FILE",
            help="Ask --cheap first, and where it is not sure the judge that would answer without "
            "it, by the thresholds in this file of pnyx calibrate --error.",
        ),
        click.option(
            "--calibration",
            metavar="FILE",
            help="Recalibrate the probabilities by this file of pnyx calibrate.",
        ),
        click.option(
            "--combine",
            type=click.Choice(["auto", "majority", "mean"]),
            default="auto",
            show_default=True,
            help="How --samples, or several models, become one answer.",
        ),
        click.option(
            "--samples",
            type=click.IntRange(1, 100),
            default=1,
            show_default=True,
            help="Ask each question so often, dimensions and documents in another order.",
        ),
        click.option(
            "--student",
            metavar="STUDENT",
            help="relevance: answer by a student of pnyx annotate distil; with --cascade it is "
            "asked after --cheap or, without that, before --llm.",
        ),
        click.option("--lookup", metavar="RESULTS", help="Answer from a former run's answers."),
        click.option("--labels", metavar="FILE", help="Answer from people's labels (JSONL)."),
    ):
        function = option(function)
    return function


@dataclass(frozen=True, slots=True)
class Opened:
    """A judge and what it asks.

    Attributes:
        judge: answers the questions.
        models: the language models behind it, each once.
        prompts: what they are asked with, as for the manifest.
        settings: what else decides the answers, as for the manifest.
    """

    judge: Judge
    models: Sequence[StoredModel] = ()
    prompts: Sequence[dict[str, Any]] = ()
    settings: dict[str, Any] = field(default_factory=dict)


def asked_models(options: dict[str, Any]) -> tuple[str, ...]:
    """Return the specifications of --llm (or $PNYX_LLM) that are asked: none if others answer."""
    if options["labels"] is not None or options["lookup"] is not None:
        return ()
    return () if student_decides(options) else tuple(options["llm"])


def student_decides(options: dict[str, Any]) -> bool:
    """Tell whether --student answers alone, or after --cheap: whether it has the last word."""
    alone = options["cascade"] is None or options["cheap"] is not None
    return options["student"] is not None and alone


def names_student(cheap: str | None) -> bool:
    """Tell whether --cheap names a student's folder, and no language model."""
    if cheap is None:
        return False
    from pnyx.judge.students.files import MANIFEST

    # Any other folder is one as well, so that the message is about the folder.
    return (Path(cheap) / MANIFEST).is_file() or (cheap != "local" and Path(cheap).is_dir())


@contextlib.contextmanager
def open_judge(task: Task, llm: Sequence[str], **options: Any) -> Iterator[Opened]:
    """Open the judge that the options name.

    Args:
        task: what it is to be asked.
        llm: specifications of language models; none for the packaged judge.
        options: those of `asking_options`, `combining_options` and `model_options`; with
            `as_perspectives` support is asked as BERDS does: of the packaged detector, of a
            language model by a prompt of its own.

    Raises:
        InputError: a file cannot be used, or options exclude each other.
    """
    if options["labels"] is not None or options["lookup"] is not None:
        yield Opened(_answered_before(options))
        return
    cheap = None if names_student(options["cheap"]) else options["cheap"]
    specs = [*llm, *([cheap] if cheap is not None else [])]
    if cheap is not None:
        _check_cheap(cheap, llm)
    if options.get("as_perspectives") and options["prompt"] is None:
        options["prompt"] = _PERSPECTIVE_PROMPT
    with open_models(
        specs,
        store=options["store"],
        concurrency=options["concurrency"],
        timeout=options["timeout"],
        offline=options["offline"],
        ledger=books(options),
    ) as opened:
        first = opened[: len(opened) - 1] if cheap is not None else opened
        judge = _combined(task, first, options)
        if options["calibration"] is not None:
            from pnyx.judge.recalibration import Recalibrated, read_calibration

            judge = Recalibrated(judge, read_calibration(options["calibration"]))
        if options["cascade"] is not None:
            judge = _cascade(task, judge, opened[-1] if cheap is not None else None, options)
        yield Opened(judge, opened, _prompts(task, options) if opened else (), _settings(options))


def _check_cheap(cheap: str, llm: Sequence[str]) -> None:
    """Refuse a cascade from a model to itself: addresses of one model are opened as one."""
    from pnyx.models.chat import endpoint_from

    name = endpoint_from(cheap).model
    if name in {endpoint_from(spec).model for spec in llm}:
        raise InputError(f"--cheap and --llm name the same model, {shorten(name, 60)!r}")


def _answered_before(options: dict[str, Any]) -> Judge:
    if options["labels"] is not None:
        from pnyx.judge.labels import HumanLabels

        return HumanLabels(options["labels"])
    from pnyx.judge.lookup import Lookup

    return Lookup(options["lookup"])


def books(options: dict[str, Any]) -> Callable[[str, int], Ledger]:
    """Return what makes the ledger of one of several models, which share a budget evenly."""
    from pnyx.models.ledger import Ledger, check_budget

    usd, tokens = options["budget"], options["budget_tokens"]
    prices = prices_of(options)

    def ledger(model: str, models: int) -> Ledger:
        price = prices(model)
        check_budget(usd, model, price)
        return Ledger(
            price,
            budget_usd=None if usd is None else usd / models,
            budget_tokens=None if tokens is None else tokens // models,
        )

    return ledger


def prices_of(options: dict[str, Any]) -> Callable[[str], Price | None]:
    """Return the price of a model by its name, the file of --prices first."""
    from pnyx.models.prices import price_of, read_prices

    overrides = {} if options["prices"] is None else read_prices(options["prices"])
    return lambda model: price_of(model, overrides)


def _combined(task: Task, models: Sequence[StoredModel], options: dict[str, Any]) -> Judge:
    """Return one judge of one or several models, each asked once or several times."""
    from pnyx.judge.panel import Panel

    if not models:
        return _packaged(task, options)
    judges = [_repeated(task, model, options) for model in models]
    return judges[0] if len(judges) == 1 else Panel(judges, options["combine"])


def _packaged(task: Task, options: dict[str, Any]) -> Judge:
    """Return the judge that asks no language model: the student that is named, or the packaged."""
    if options["student"] is not None:
        return _student(task, "student", options)
    from pnyx.judge.packaged import PackagedJudge

    return PackagedJudge(task.name, as_perspectives=bool(options.get("as_perspectives")))


def _student(task: Task, option: str, options: dict[str, Any]) -> StudentJudge:
    from pnyx.judge.students.judge import open_student

    if task.name != "relevance":
        raise InputError(f"--{option} answers relevance, not {task.name}")
    return open_student(options[option])


def _repeated(task: Task, model: StoredModel, options: dict[str, Any]) -> Judge:
    if options["samples"] == 1:
        return _llm(task, model, options)
    from pnyx.judge.panel import Repeats

    def make(sample: int) -> Judge:
        return _llm(task, model, options, sample)

    return Repeats(make, options["samples"], options["combine"])


def _llm(task: Task, model: StoredModel, options: dict[str, Any], sample: int = 0) -> LlmJudge:
    from pnyx.judge.asking import Asking
    from pnyx.judge.llm import LlmJudge

    prompt = _prompt(task, options["prompt"])
    asking = Asking(
        prompts={} if prompt is None else {task.name: prompt},
        probability=options["probability"],
        batch=options["batch"],
        sample=sample,
        temperature=_temperature(task, options),
        max_tokens=options["max_tokens"],
    )
    return LlmJudge(model, asking)


def _temperature(task: Task, options: dict[str, Any]) -> float:
    if options["temperature"] is not None:
        return float(options["temperature"])
    from pnyx.judge.forms import form_of

    prompt = _used_prompts(task, options)[0]
    reorders = form_of(prompt, task.kind).reorders(prompt)
    return _WARM if options["samples"] > 1 and not reorders else 0.0


def _prompt(task: Task, name: str | None) -> Prompt | None:
    """Return the prompt that --prompt names.

    Raises:
        InputError: there is none, or it is another task's.
    """
    if name is None:
        return None
    from pnyx.judge.prompting import load_prompt

    prompt = load_prompt(name)
    if prompt.task != task.name:
        raise InputError(f"--prompt {shorten(name)}: it asks {prompt.task}, not {task.name}")
    return prompt


def _used_prompts(task: Task, options: dict[str, Any]) -> list[Prompt]:
    from pnyx.judge.prompting import load_prompt

    own = _prompt(task, options["prompt"])
    if options["batch"] == 1:
        return [own or load_prompt(task.prompts[0])]
    check_batch(task, own)
    return [own] if own else [load_prompt(task.many), load_prompt(task.prompts[0])]


def check_batch(task: Task, own: Prompt | None) -> None:
    """Check that a task, and a prompt in place of its usual one, takes several questions a call.

    Raises:
        InputError: it takes one.
    """
    if not task.many:
        raise InputError(f"--batch: task {task.name} asks one question a call")
    if own is not None and "statements" not in own.inputs:
        raise InputError(f"--batch: prompt {own.label} takes one statement a call")


def _prompts(task: Task, options: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {"name": prompt.name, "version": prompt.version, "hash": prompt.hash}
        for prompt in _used_prompts(task, options)
    ]


def _settings(options: dict[str, Any]) -> dict[str, Any]:
    names = ("probability", "batch", "samples", "combine", "temperature", "max_tokens")
    files = ("calibration", "cascade", "student")
    settings = {name: options[name] for name in (*names, *files) if options[name] is not None}
    # The judge's name has a model that is asked first; its address may hold more than is told.
    return settings | ({"cheap": options["cheap"]} if names_student(options["cheap"]) else {})


def _cascade(
    task: Task, strong: Judge, cheap: StoredModel | None, options: dict[str, Any]
) -> Judge:
    from pnyx.judge.cascade import cascade_from

    if cheap is not None:
        first: Judge = _llm(task, cheap, options)
    elif options["cheap"] is not None:
        first = _student(task, "cheap", options)
        if options["student"] is not None:
            _check_students(options)
    else:
        first = _packaged(task, options)
    return cascade_from(options["cascade"], first, strong)


def _check_students(options: dict[str, Any]) -> None:
    """Refuse a cascade from a student to itself, whatever its folder is called."""
    from pnyx.judge.students.files import read_student

    if read_student(options["cheap"]).digest == read_student(options["student"]).digest:
        raise InputError("--cheap and --student are the same student")
