"""`pnyx annotate distil`: a student trained on a teacher's labels."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from pnyx.cli.options import json_option, warn, warn_undefined
from pnyx.cli.progress import reporting
from pnyx.cli.tables import interval, number, table
from pnyx.cli.values import NumberRange
from pnyx.errors import InputError, shorten

if TYPE_CHECKING:
    from pnyx.annotate.distil import Distilled
    from pnyx.annotate.labelled import LabelledPair
    from pnyx.students.train.base import Trainer

__all__ = ["distil"]

_KINDS = ("combined", "late-interaction", "logistic", "lexical", "lora")
_TRAINED = ("combined", "late-interaction", "lora")
_OF_KIND = {
    "base": _TRAINED,
    "epochs": _TRAINED,
    "batch": _TRAINED,
    "learning_rate": _TRAINED,
    "reason": ("lora",),
    "four_bit": ("lora",),
}
"""Option -> the kinds of student that it is for."""


@click.command()
@click.argument("labelled", nargs=-1, required=True, type=click.Path())
@click.option("--out", required=True, metavar="STUDENT", help="Folder of the student to write.")
@click.option(
    "--kind",
    type=click.Choice(_KINDS),
    default="combined",
    show_default=True,
    help="A small encoder whose sentences meet, alone or added to shared words and the packaged "
    "encoder (combined), trained on the CPU; a logistic regression over the packaged encoder, or "
    "over shared words alone, in seconds; or a language model with low-rank adapters.",
)
@click.option("--name", metavar="NAME", help="Of the student  [default: the folder's].")
@click.option(
    "--held-out",
    type=NumberRange(0, 1, min_open=True, max_open=True),
    default=0.25,
    show_default=True,
    help="Share of pairs, in whole questions, to calibrate and test on.",
)
@click.option(
    "--curve",
    type=click.Choice(["platt", "isotonic", "temperature"]),
    default="platt",
    show_default=True,
    help="What calibrates it.",
)
@click.option(
    "--base",
    metavar="MODEL",
    help="Folder of a BERT model  [default: the packaged encoder]; lora: folder, GGUF file or hub "
    "name of a language model.",
)
@click.option("--epochs", type=click.IntRange(1, 1000), help="[default: the kind's]")
@click.option("--batch", type=click.IntRange(1, 4096), help="Pairs a step  [default: the kind's]")
@click.option(
    "--learning-rate", type=NumberRange(0, 1, min_open=True), help="[default: the kind's]"
)
@click.option(
    "--reason/--no-reason",
    default=False,
    show_default=True,
    help="lora: learn the teacher's reasons too, and give one before each verdict.",
)
@click.option("--4bit", "four_bit", is_flag=True, help="lora: base weights in 4 bits (a GPU).")
@click.option(
    "--seed",
    type=click.IntRange(0),
    default=0,
    show_default=True,
    help="Of the choice of questions and of the training.",
)
@click.option("--force", is_flag=True, help="Replace the folder if it exists.")
@json_option
@click.pass_context
def distil(ctx: click.Context, /, labelled: tuple[str, ...], as_json: bool, **options: Any) -> int:
    """Train a small judge of relevance on LABELLED pairs (files or results folders of label).

    Whole questions are held out: the probabilities are calibrated on them, and the figures say
    how well the student follows its teacher there. Pairs without a verdict are counted and left
    out; where a question has no definition, its words stand for it. An interrupted training goes
    on when the same command is given again. STUDENT gets weights that cannot execute,
    student.json and card.md; use it by --student.

    \b
    Example:
      pnyx annotate distil labels --kind logistic --out student
      pnyx judge relevance items.jsonl --student student --out results
    """
    _check_kind(ctx, options)
    from pnyx.annotate.distil import Distillation
    from pnyx.annotate.distil import distil as train

    pairs = _read(labelled)
    unscored = sum(pair.value is None for pair in pairs)
    if unscored:
        warn(f"{unscored} of {len(pairs)} pairs have no verdict; training on the rest")
    asked = {pair.group for pair in pairs}
    defined = {pair.group for pair in pairs if pair.definition.strip()}
    warn_undefined(len(asked) - len(defined), len(asked))
    name = options["name"] or Path(options["out"]).name
    plan = Distillation(name, options["held_out"], options["curve"], options["seed"])
    trainer = _trainer(options)
    with reporting() as report:
        found = train(pairs, trainer, plan, options["out"], report=report, replace=options["force"])
    if as_json:
        rows = {measure: measured.row() for measure, measured in found.figures.items()}
        click.echo(json.dumps({"student": found.student.name, **found.counts, "figures": rows}))
    else:
        click.echo("\n".join(_report(found, options["out"])))
    return 0


def _check_kind(ctx: click.Context, options: dict[str, Any]) -> None:
    """Refuse options that would change nothing: whoever gives one means it."""
    for name, kinds in _OF_KIND.items():
        given = ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE
        if given and options["kind"] not in kinds:
            flag = "--4bit" if name == "four_bit" else f"--{name.replace('_', '-')}"
            raise click.UsageError(f"{flag} is for --kind {' or '.join(kinds)}")


def _read(paths: Sequence[str]) -> list[LabelledPair]:
    """Read all files; an id that comes in two of them is another pair in each, as a rule.

    Raises:
        InputError: a file is no file of labelled pairs, or a pair comes twice.
    """
    from pnyx.annotate.labelled import read_labelled

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


def _trainer(options: dict[str, Any]) -> Trainer:
    """Return the trainer of the kind that is asked for, with the settings that were given."""
    import pnyx

    kind = options["kind"]
    if kind in ("logistic", "lexical"):
        return pnyx.LogisticTrainer() if kind == "logistic" else pnyx.LexicalTrainer()
    names = ("base", "epochs", "batch", "learning_rate")
    given = {name: options[name] for name in names if options[name] is not None}
    given["seed"] = options["seed"]
    if kind == "lora":
        return pnyx.LoraTrainer(reason=options["reason"], four_bit=options["four_bit"], **given)
    late = pnyx.LateTrainer(**given)
    return late if kind == "late-interaction" else pnyx.CombinedTrainer(late)


def _report(found: Distilled, out: str) -> list[str]:
    counts = found.counts
    student = found.student
    rows: list[Sequence[str]] = [
        ("held-out questions", "value", "95 % interval", "scored of asked")
    ]
    for name, m in found.figures.items():
        bounds = interval(m.low, m.high)
        rows.append((name, number(m.value), bounds, f"{m.scored} of {m.asked}"))
    return [
        f"{student.kind}: trained on {counts['trained_on']} pairs, calibrated on "
        f"{counts['held_out']} pairs of {len(counts['held_out_questions'])} other questions; yes "
        f"from {student.threshold:.3f}",
        "",
        *table(rows),
        "",
        f"wrote {shorten(out, 200)}: use it by --student {shorten(out, 200)}",
    ]
