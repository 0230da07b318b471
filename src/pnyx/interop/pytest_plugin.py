"""A pytest fixture that fails a test if a judge is not good enough (entry point `pytest11`).

def test_the_judge(pnyx_check):
    pnyx_check("results.csv", judge="verdict", human="label").require(kappa=0.6)

pytest imports this file at every start, so Pnyx is imported only when the fixture is used.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import pytest

if TYPE_CHECKING:
    from pnyx.audit.checks.check import Check


@dataclass(frozen=True, slots=True)
class RequiredCheck:
    """A check of a judge in a test; `check` has all its figures."""

    check: Check

    def require(self, *, undecided: Literal["fail", "skip"] = "fail", **bars: float) -> None:
        """Fail the test unless every judge reaches these minima; the message summarises the check.

        Args:
            undecided: what to do if the labels cannot decide it yet: fail the test, or skip it.
            bars: measure -> the least acceptable value, or the greatest if lower is better. By
                default a kappa of 0.6, or for ratings an ordinal alpha of 0.667.

        Raises:
            InputError: a measure is unknown, or the table does not allow it.
            ValueError: `undecided` is something else.
        """
        from pnyx.audit.checks.bars import canonical_bars

        if undecided not in ("fail", "skip"):
            raise ValueError(f"undecided: found {undecided!r}, expected fail or skip")
        check = replace(self.check, bars=canonical_bars(bars) or self.check.bars)
        passed = check.decide().passed
        if passed is None and undecided == "skip":
            pytest.skip(str(check))
        if not passed:
            pytest.fail(str(check), pytrace=False)


@pytest.fixture
def pnyx_check() -> Callable[..., RequiredCheck]:
    """Check a judge against people's labels, by the arguments of `pnyx.check`."""
    from pnyx.audit.checks.check import check

    return lambda *source, **options: RequiredCheck(check(*source, **options))
