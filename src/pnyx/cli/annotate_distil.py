"""`pnyx annotate distil`: a student trained on a teacher's labels."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal

import click

from pnyx.app.spec import Spec, opt
from pnyx.cli.options import warn, warn_undefined
from pnyx.cli.params import json_option, takes, verb
from pnyx.cli.progress import reporting
from pnyx.errors import InputError, shorten
from pnyx.view.tables import Column, Table

if TYPE_CHECKING:
    from pnyx.annotate.distil import Distilled
    from pnyx.annotate.labelled import LabelledPair
    from pnyx.students.train.base import Trainer

__all__ = ["DistilSpec", "distil"]

_TRAINED = (
    "--kind combined, late-interaction or lora",
    lambda spec: spec.kind in ("combined", "late-interaction", "lora"),
)
_LORA = ("--kind lora", lambda spec: spec.kind == "lora")


@dataclass(frozen=True, kw_only=True)
class DistilSpec(Spec):
    """What is trained, and how."""

    heading: ClassVar[str] = "Student"

    out: str = opt(..., "Folder of the student to write.", metavar="STUDENT", raw=True)
    kind: Literal["combined", "late-interaction", "logistic", "lexical", "lora"] = opt(
        "combined",
        "A late-interaction encoder, alone or combined with shared words and the packaged encoder, "
        "trained on the CPU; a logistic regression on the packaged encoder or on shared words "
        "(lexical), in seconds; or a language model with low-rank adapters (lora).",
    )
    name: str | None = opt(None, "Name of the student.", metavar="NAME", shown="the folder's")
    held_out: float = opt(
        0.25,
        "Share of pairs, in whole questions, to calibrate and test on.",
        low=0,
        high=1,
        above=True,
        below=True,
    )
    curve: Literal["platt", "isotonic", "temperature"] = opt("platt", "Calibration method.")
    base: str | None = opt(
        None,
        "Folder of a BERT model to train; with lora: a folder, a GGUF file or the hub name of a "
        "language model.",
        metavar="MODEL",
        raw=True,
        shown="the packaged encoder; with lora, the packaged language model",
        needs=_TRAINED,
    )
    epochs: int | None = opt(
        None,
        "How often each pair is seen.",
        low=1,
        high=1000,
        shown="the kind's",
        needs=_TRAINED,
        rare=True,
    )
    batch: int | None = opt(
        None,
        "Batch size, in pairs.",
        low=1,
        high=4096,
        shown="the kind's",
        needs=_TRAINED,
        rare=True,
    )
    learning_rate: float | None = opt(
        None,
        "Learning rate.",
        low=0,
        high=1,
        above=True,
        shown="the kind's",
        needs=_TRAINED,
        rare=True,
    )
    reason: bool = opt(
        False,
        "lora: also learn the teacher's reasons, and give one before each verdict.",
        "--reason/--no-reason",
        needs=_LORA,
    )
    four_bit: bool = opt(
        False, "lora: base weights in 4 bits; needs a GPU.", "--4bit", needs=_LORA, rare=True
    )
    seed: int = opt(0, "Random seed of the held-out questions and the training.", low=0, rare=True)
    force: bool = opt(False, "Replace the folder if it exists.")

    def trainer(self) -> Trainer:
        """Return the trainer of the kind that is asked for, with the settings that were given."""
        import pnyx

        if self.kind in ("logistic", "lexical"):
            return pnyx.LogisticTrainer() if self.kind == "logistic" else pnyx.LexicalTrainer()
        names = ("base", "epochs", "batch", "learning_rate")
        given = {name: getattr(self, name) for name in names if self.given(name)}
        given["seed"] = self.seed
        if self.kind == "lora":
            return pnyx.LoraTrainer(reason=self.reason, four_bit=self.four_bit, **given)
        late = pnyx.LateTrainer(**given)
        return late if self.kind == "late-interaction" else pnyx.CombinedTrainer(late)


@verb("distil", short_help="Train a small judge of relevance on labelled pairs.")
@click.argument("labelled", nargs=-1, required=True)
@takes("own", DistilSpec)
@json_option
def distil(labelled: tuple[str, ...], own: DistilSpec, as_json: bool) -> int:
    """Train a small judge of relevance on LABELLED pairs (files or results folders of label).

    Whole questions are held out: the probabilities are calibrated on them, and the figures say
    how well the student follows its teacher there. Pairs without a verdict are counted and left
    out; a question without a definition is its own definition. Run the same command again to
    resume an interrupted training. STUDENT gets weights that cannot execute, student.json and
    card.md; use it by --student.

    \b
    Example:
      pnyx annotate distil labels --kind logistic --out student
      pnyx judge relevance items.jsonl --student student --out results
    """
    own.check_needs()
    from pnyx.annotate.distil import Distillation
    from pnyx.annotate.distil import distil as train

    pairs = _read(labelled)
    unscored = sum(pair.value is None for pair in pairs)
    if unscored:
        warn(f"{unscored} of {len(pairs)} pairs have no verdict; training on the rest")
    asked = {pair.group for pair in pairs}
    defined = {pair.group for pair in pairs if pair.definition.strip()}
    warn_undefined(len(asked) - len(defined), len(asked))
    plan = Distillation(own.name or Path(own.out).name, own.held_out, own.curve, own.seed)
    with reporting() as report:
        found = train(pairs, own.trainer(), plan, own.out, report=report, replace=own.force)
    if as_json:
        rows = {measure: measured.row() for measure, measured in found.figures.items()}
        click.echo(json.dumps({"student": found.student.name, **found.counts, "figures": rows}))
    else:
        click.echo(_report(found, own.out))
    return 0


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


def _report(found: Distilled, out: str) -> str:
    counts, student = found.counts, found.student
    columns = (
        Column("held-out questions"),
        Column("value", "number"),
        Column("95 % interval", "interval"),
        Column("scored of asked", "counts"),
    )
    head = (
        f"{student.kind}: trained on {counts['trained_on']} pairs, calibrated on "
        f"{counts['held_out']} pairs of {len(counts['held_out_questions'])} other questions; yes "
        f"from {student.threshold:.3f}"
    )
    rows = [(name, m, m, f"{m.scored} of {m.asked}") for name, m in found.figures.items()]
    use = f"wrote {shorten(out, 200)}: use it by --student {shorten(out, 200)}"
    return Table(columns, rows, notes=(use,), title=head).text()
