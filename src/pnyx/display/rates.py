"""A judge's share of yes, raw and corrected by labels, as a table."""

from __future__ import annotations

from pnyx.core.errors import escaped
from pnyx.display.tables import Column, Table
from pnyx.judging.measures.rates import CorrectedRate


def rate_table(rate: CorrectedRate, words: tuple[str, str] = ("yes", "no")) -> Table:
    """Return the shares of yes, or of another word for it."""
    yes, no = (escaped(word, 40) for word in words)
    rows = {
        "the judge, all answers": rate.judged,
        "people, labelled answers": rate.people,
        "corrected by Rogan and Gladen": rate.rogan_gladen,
        "corrected, prediction-powered": rate.prediction_powered,
        f"sensitivity: {yes} where people say {yes}": rate.sensitivity,
        f"specificity: {no} where people say {no}": rate.specificity,
    }
    columns = Column(f"share of {yes}", "name"), Column("value, 95 % interval", "figure")
    legend = [
        "Rogan and Gladen: sensitivity and specificity must be the same on all answers; "
        "prediction-powered: the labelled answers must be a random sample"
    ]
    counts = Column("answers", "counts")
    cells = [(name, measured, measured) for name, measured in rows.items()]
    return Table((*columns, counts), cells, legend=legend)


def rate_notes(rate: CorrectedRate) -> list[str]:
    """Say what the shares exclude, and why a correction has no value, one line each."""
    left, why = rate.judged.asked - rate.judged.scored, rate.rogan_gladen.no_interval
    notes = [f"{left} of {rate.judged.asked} answers are unscored and excluded"]
    return notes * bool(left) + [f"no Rogan-Gladen estimate: {why}"] * bool(why)
