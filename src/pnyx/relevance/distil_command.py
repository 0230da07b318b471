"""`pnyx annotate distil`: train a student on a teacher's labels."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from pnyx.cli.options import Outcome, warn, warn_undefined
from pnyx.cli.params import verb
from pnyx.core.errors import InputError, OptionError, PluginError, escaped, shorten
from pnyx.core.plugins import APART
from pnyx.core.progress import reporting
from pnyx.core.spec import Spec, file_opt, opt, out_opt
from pnyx.display.tables import Column, Table
from pnyx.formats.text_types import ModelName

if TYPE_CHECKING:
    from pnyx.judging.students.trainer import Trainer
    from pnyx.relevance.distillation import DistilledStudent
    from pnyx.relevance.labelled_pairs import LabelledPair


_KINDS = ("combined", "late-interaction", "lexical", "lora")
_TRAINED = (
    "--kind combined, late-interaction or lora",
    lambda spec: spec.kind != "lexical",
)


class DistilSpec(Spec, heading="Student", rare="epochs batch learning_rate four_bit seed"):
    """What to train, and how."""

    out: str = out_opt(..., metavar="STUDENT", writes="folder")
    kind: str = opt(
        "combined",
        "late-interaction: an encoder trained on the CPU; combined: the same with two quick models "
        "added; lexical: only shared words, in seconds; lora: a language model with low-rank "
        "adapters.",
        metavar=f"[{'|'.join(_KINDS)}]",
    )
    name: str | None = opt(
        None, "Name of the student.", metavar="NAME", default_text="the folder's"
    )
    held_out: float = opt(
        0.25, "Share of pairs, in whole questions, to calibrate and test on.", within="(0, 1)"
    )
    curve: Literal["platt", "isotonic", "temperature"] = opt("platt", "Calibration method.")
    base: ModelName | None = file_opt(
        None,
        "BERT folder to train; for lora a folder, a GGUF file or a hub name.",
        metavar="MODEL",
        default_text="packaged",
        needs=_TRAINED,
    )
    epochs: int | None = opt(
        None,
        "How often each pair is seen.",
        within="[1, 1000]",
        default_text="the kind's",
        needs=_TRAINED,
    )
    batch: int | None = opt(
        None, "Batch size, in pairs.", within="[1, 4096]", default_text="the kind's", needs=_TRAINED
    )
    learning_rate: float | None = opt(
        None, "Learning rate.", within="(0, 1]", default_text="the kind's", needs=_TRAINED
    )
    reason: bool = opt(False, "", "--reason/--no-reason", needs="kind=lora")
    four_bit: bool = opt(
        False, "lora: base weights in 4 bits; needs a GPU.", "--4bit", needs="kind=lora"
    )
    seed: int = opt(0, low=0)
    force: bool = opt(False)

    def trainer(self) -> Trainer:
        """Return the trainer of the chosen kind, with the options that were set."""
        from pnyx.judging.students.lexical import LexicalTrainer
        from pnyx.judging.students.student import plugin_kind, plugin_kinds

        if self.kind == LexicalTrainer.kind:
            return LexicalTrainer()
        names = ("base", "epochs", "batch", "learning_rate", "reason", "four_bit")
        options = {name: getattr(self, name) for name in names if self.given(name)}
        if (kind := plugin_kind(self.kind)) is not None:
            for name in options:
                if not _takes(kind.trainer, name):
                    raise OptionError(f"--kind {self.kind} has no option {self.flag(name)}")
            return kind.trainer(**options, seed=self.seed)
        if package := APART.get(f"--kind {self.kind}"):
            raise PluginError(
                f"--kind {self.kind} is a plugin: pip install {package}; --kind lexical needs none"
            )
        expected = ", ".join(dict.fromkeys([*_KINDS, *plugin_kinds()]))
        raise OptionError(f"--kind: found {shorten(self.kind, 40)!r}, expected {expected}")


def _takes(trainer: Callable[..., Trainer], option: str) -> bool:
    try:
        inspect.signature(trainer).bind_partial(**{option: None})
    except TypeError:
        return False
    return True


@verb("distil", short_help="Train a small judge of relevance on labelled pairs.")
@click.argument("labelled", nargs=-1, required=True)
def distil(labelled: tuple[str, ...], spec: DistilSpec) -> Outcome:
    """Train a small judge of relevance on LABELLED pairs (files or results folders of label).

    Whole questions are held out to calibrate the probabilities and to measure how well the student
    follows its teacher. Use the student with --judge STUDENT.

    \b
    Example:
      $ pnyx demo --files-only --out ex
      $ pnyx annotate sample ex/arguments.jsonl ex/questions.md --out pairs.jsonl
      $ pnyx annotate label pairs.jsonl --judge ex/labels.jsonl --out labels
      $ pnyx annotate distil labels --kind lexical --out student
      lexical: trained on ...

    \b
    More: pnyx annotate distil --help-all, docs/recipes/distil.md.
    \f
    Pairs without a verdict are counted and left out; for a question without a definition, the
    question itself is used. Run the same command again to resume an interrupted training. STUDENT
    gets weights that contain no executable code, student.json and card.md. --reason, for lora: the
    student learns to give a reason, too.

    \b
      pnyx annotate distil labels --kind late-interaction --out student
      pnyx judge relevance items.jsonl --judge student --out results
    """
    spec.check_needs()
    from pnyx.relevance.distillation import Distillation
    from pnyx.relevance.distillation import distil as train

    trainer = spec.trainer()
    pairs = _read(labelled)
    unscored = sum(pair.value is None for pair in pairs)
    if unscored:
        warn(f"{unscored} of {len(pairs)} pairs have no verdict; training on the rest")
    warn_undefined([(pair.group, pair.definition.strip()) for pair in pairs])
    plan = Distillation(spec.name or Path(spec.out).name, spec.held_out, spec.curve, spec.seed)
    with reporting() as report:
        result = train(pairs, trainer, plan, spec.out, report=report, replace=spec.force)
    rows = {measure: measured.row() for measure, measured in result.figures.items()}
    row = {"student": result.student.name, **result.counts, "figures": rows}
    return Outcome(row, [distilled_table(result, spec.out)], ascii=True)


def _read(paths: Sequence[str]) -> list[LabelledPair]:
    """Read all files; InputError if a pair appears twice."""
    from pnyx.relevance.labelled_pairs import read_labelled

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


def distilled_table(distilled: DistilledStudent, out: str) -> Table:
    """Return the table of a student's measures on held-out questions."""
    counts, student = distilled.counts, distilled.student
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
    rows = [(name, m, m, f"{m.scored} of {m.asked}") for name, m in distilled.figures.items()]
    use = f"wrote {escaped(out)}: use it with --judge {escaped(out)}"
    return Table(columns, rows, notes=(use,), title=head)
