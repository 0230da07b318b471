"""Sentences and the table of a check of pairs judged in both orders."""

from __future__ import annotations

from pnyx.audit.checks.pairs import PairCheck
from pnyx.core.errors import count_of
from pnyx.display.figures import percent, percent_ends, share
from pnyx.display.tables import Column, Part, Table, draws_legend
from pnyx.display.text import listed
from pnyx.stats.base import Measured


def pair_sentences(check: PairCheck) -> list[str]:
    """Return the findings, one or two sentences per line."""
    return [*_flips(check), *_position(check), *_people(check)]


def pair_parts(check: PairCheck) -> list[Part]:
    """Return the sentences, and the figures as a table."""
    rows = [
        ("flips: the two orders differ", check.flips),
        ("text shown first wins, ties as half", check.first_slot),
        ("agrees with people: combined verdict", check.combined),
        ("agrees with people: A shown first", check.a_first),
        ("agrees with people: B shown first", check.b_first),
        ("agrees with people: same text in both orders", check.settled),
    ]
    figures = [(name, value, value) for name, value in rows if value.value is not None]
    columns = (
        Column("measure", "measure"),
        Column("value, 95 % interval", "figure"),
        Column("pairs", "counts"),
    )
    legend = draws_legend(f"{check.clusters} groups or single pairs", check.bootstrap)
    return [pair_sentences(check), Table(columns, figures, legend=legend)]


def _count(measured: Measured) -> int:
    return round((measured.value or 0.0) * measured.scored)


def _flips(check: PairCheck) -> list[str]:
    if not check.both_orders:
        return [f"No pair has a verdict in both orders ({count_of(check.pairs, 'pair')})."]
    flipped = check.both_orders - check.agree
    ends = share(check.flips, "95 % interval ", inside=True)
    line = (
        f"The two orders agree on {check.agree} of {check.both_orders} pairs; "
        f"{flipped} {_verb(flipped, 'flip')} ({ends})."
    )
    if not flipped:
        return [line]
    ties = flipped - check.reversed
    parts = [
        f"{check.first_both} {_verb(check.first_both, 'favour')} the text shown first both times",
        f"{check.second_both} {_verb(check.second_both, 'favour')} the text shown second",
        f"{ties} {'is' if ties == 1 else 'are'} a tie in one order only",
    ]
    counts = (check.first_both, check.second_both, ties)
    named = [part for part, count in zip(parts, counts, strict=True) if count]
    return [f"{line} Of these, {listed(named)}."]


def _verb(count: int, verb: str) -> str:
    return f"{verb}s" if count == 1 else verb


def _position(check: PairCheck) -> list[str]:
    wins = check.first_slot
    if wins.value is None:
        return []
    ends = f"{percent_ends(wins)}; " if wins.low is not None else ""
    line = f"The text shown first wins {percent(wins.value)} of the time ({ends}ties count as half)"
    if check.position_bias is None:
        return [f"{line}; there are too few pairs or groups for an interval."]
    if check.position_bias:
        which = "first" if wins.value > 0.5 else "second"
        return [f"{line}: the judge favours the text shown {which}."]
    return [f"{line}: no position bias is shown, as the interval includes 50 %."]


def _people(check: PairCheck) -> list[str]:
    if not check.labels:
        return ["There are no human labels to compare with."] * (not check.tied_labels)
    combined = check.combined
    if combined.value is None:
        return [f"None of the {count_of(check.labels, 'labelled pair')} has a verdict."]
    line = (
        f"The combined verdict (a tie where the orders differ) agrees with people on "
        f"{_count(combined)} of {combined.scored} pairs ({share(combined, inside=True)})"
    )
    orders = [
        f"{percent(value.value)} with {name} shown first"
        for name, value in (("A", check.a_first), ("B", check.b_first))
        if value.value is not None and check.both_orders
    ]
    lines = [f"{line}; {', '.join(orders)}." if orders else f"{line}."]
    if check.settled.value is not None and check.settled.scored < combined.scored:
        settled = check.settled
        lines.append(
            f"Where both orders prefer the same text, it is people's choice on {_count(settled)} "
            f"of {settled.scored} pairs ({share(settled, inside=True)})."
        )
    return lines
