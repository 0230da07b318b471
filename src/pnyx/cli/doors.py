"""What this room adds to Pnyx."""

from __future__ import annotations

from typing import Final

from pnyx.core.rooms import CommandDoor, MeasureDoor

COMMANDS: Final = (
    CommandDoor(
        "judge",
        "pnyx.cli.judge:command",
        20,
        "Judges",
        "Ask a judge about each item of a file.",
    ),
    CommandDoor(
        "measure",
        "pnyx.cli.measure.commands:command",
        30,
        "Judges",
        "Measure answers against labels, and runs against qrels.",
    ),
    CommandDoor("judge calibrate", "pnyx.cli.calibrate:command", 30),
    CommandDoor("label sample", "pnyx.cli.sample:command", 10),
)

_ANSWERS: Final = "pnyx.cli.measure.answer_measures:measure_answers"
_RATINGS: Final = frozenset(("labels", "draws", "seed"))
_YES_NO: Final = MeasureDoor(_ANSWERS, _RATINGS | {"plot"})

MEASURED: Final = {
    "support": _YES_NO,
    "perspectives": _YES_NO,
    "stance": _YES_NO,
    "nugget": _YES_NO,
    "negative": _YES_NO,
    "needs-citation": _YES_NO,
    "unanswerable": _YES_NO,
    "relevance": _YES_NO,
    "quality": MeasureDoor(_ANSWERS, _RATINGS),
    "rag": MeasureDoor(
        "pnyx.cli.measure.answer_measures:measure_documents",
        _YES_NO.options | {"qrels", "relevant_from", "unjudged"},
    ),
}
"""Task -> how `pnyx measure RESULTS` measures its answers."""
