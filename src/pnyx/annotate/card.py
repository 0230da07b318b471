"""A student's card: what it is, what it learned from, how well it does, what not to use it for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pnyx.errors import shorten
from pnyx.students.files import Student

__all__ = ["student_card"]

_NAMES = {
    "f1": "F1",
    "accuracy": "accuracy",
    "auroc": "AUROC",
    "average_precision": "average precision",
    "ece": "calibration error (ECE)",
    "brier": "Brier score",
    "ndcg": "nDCG",
    "map": "MAP",
}


def student_card(student: Student) -> str:
    """Return the card of a student as Markdown."""
    about = student.about
    counts: Mapping[str, Any] = about["counts"]
    teachers = ", ".join(shorten(name, 80) for name in counts["teachers"]) or "not named"
    unscored = f", {counts['unscored']} of them without a verdict and left out"
    lines = [
        f"# {student.name}",
        "",
        f"- **What**: {student.card}.",
        f"- **Task**: is a document relevant to a question, under a definition of relevance? "
        f"Yes from a probability of {student.threshold:.3f}.",
        f"- **Teacher**: {_plain(teachers)}.",
        f"- **Labels**: {counts['asked']} pairs of {counts['questions']} questions"
        f"{unscored if counts['unscored'] else ''}; {counts['relevant']} relevant.",
        f"- **Trained on** {counts['trained_on']} pairs; **calibrated and tested on** "
        f"{counts['held_out']} pairs of {len(counts['held_out_questions'])} other questions.",
        "- **Limits**: it imitates its teacher, against whose labels the figures are; on other "
        "domains measure it anew (`pnyx measure relevance`).",
        "",
        *_figure_rows(about["figures"]),
    ]
    return "\n".join([*lines, "", f"Training: {_settings(about['training'])}.", ""])


def _figure_rows(figures: Mapping[str, Mapping[str, Any]]) -> list[str]:
    lines = [
        "| held-out questions | value | 95 % interval | scored of asked |",
        "| --- | --- | --- | --- |",
    ]
    for name, row in figures.items():
        low, high = row["low"], row["high"]
        bounds = "-" if low is None else f"{low:.3f} to {high:.3f}"
        value = "-" if row["value"] is None else f"{row['value']:.3f}"
        lines.append(f"| {_NAMES[name]} | {value} | {bounds} | {row['scored']} of {row['asked']} |")
    return lines


def _settings(row: Mapping[str, Any]) -> str:
    return ", ".join(
        f"{key} ({_settings(value)})"
        if isinstance(value, Mapping)
        else f"{key} {_plain(str(value))}"
        for key, value in row.items()
    )


def _plain(text: str) -> str:
    """Keep what a name holds from being read as Markdown or HTML."""
    return "".join(c if c.isalnum() or c in " .,:;/@+-_#()" else " " for c in text)
