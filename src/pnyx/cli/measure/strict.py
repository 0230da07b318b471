"""`--strict` of pnyx measure: a campaign's rules, coverage, and the record of a leaderboard."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pnyx.cli.record import record_of_command
from pnyx.core.errors import InputError, escaped

if TYPE_CHECKING:
    pass


def enough(shares: dict[str, float], what: str, least: float) -> dict[str, float]:
    """Return the shares; InputError if one is below the minimum."""
    low = min(shares, key=shares.__getitem__)
    if shares[low] < least:
        raise InputError(
            f"no leaderboard: {escaped(low)}: {shares[low]:.0%} of {what} are judged; "
            f"--min-judged requires {least:.0%}"
        )
    return shares


def said_strictly(
    rules: Sequence[str], of: str, judged: Mapping[str, float]
) -> tuple[dict[str, Any], list[str]]:
    """Return what --json and the notes add for runs under the rules of a campaign."""
    shares = ", ".join(f"{escaped(name)} {share:.0%}" for name, share in judged.items())
    row = {"rules": rules, "judged": judged, "record": record_of_command()}
    return row, [*rules, f"judged of {of}: {shares}"]
