"""Specs: ranges of options, what they need, their rows; the order of commands."""

from __future__ import annotations

import pytest

from pnyx.core.errors import InputError, OptionError
from pnyx.core.rooms import room_commands
from pnyx.core.spec import Spec, opt


class Shape(Spec):
    sides: int = opt(4, "How many sides.", low=3)
    share: float = opt(0.5, "A share.", within="[0, 1)")
    round: bool = opt(True, "A circle.")
    radius: float | None = opt(None, "Radius.", needs="round")
    kind: str = opt("regular", "A kind.")
    colour: str = opt("red", "A colour.", needs="kind=convex")
    names: tuple[str, ...] = opt((), "Names.")


def test_a_spec_checks_its_numbers_and_texts():
    assert Shape(sides=3).sides == 3
    for wrong, words in (
        ({"sides": 2}, "--sides: found 2, expected at least 3"),
        ({"share": 1.0}, r"--share: found 1, expected a number in \[0, 1\)"),
        ({"share": float("nan")}, "--share: found nan"),
        ({"names": ("a", "\ud800")}, "--names: found text that is not UTF-8"),
    ):
        with pytest.raises(OptionError, match=words):
            Shape(**wrong)


def test_an_option_without_effect_is_refused():
    Shape(colour="blue", kind="convex").check_needs()
    with pytest.raises(OptionError, match="--colour requires --kind convex"):
        Shape(colour="blue").check_needs()
    Shape(colour="blue").check_needs(kind="convex")
    with pytest.raises(OptionError, match="--radius requires --round"):
        Shape(radius=1.0).check_needs()
    Shape(radius=1.0, round=False).check_needs()  # given, as it differs from its default
    assert Shape(round=False).flag("round") == "--no-round"
    assert Shape().flag("round") == "--round"
    assert (Shape().given("round"), Shape(round=False).given("round")) == (False, True)


def test_a_spec_is_its_differences_from_the_defaults():
    row = Shape(names=("a",), round=False).row()
    assert row == {"names": ["a"], "round": False}
    assert Shape.from_row(row) == Shape(names=("a",), round=False)
    for wrong, words in (
        ({"other": 1}, "Shape has no field 'other'"),
        ({"sides": "many"}, "Shape.sides: found many"),
    ):
        with pytest.raises(InputError, match=words):
            Shape.from_row(wrong)


def test_commands_are_in_the_order_of_their_sections_and_numbers():
    shown = ["demo", "serve", "argue", "audit", "label", "view", "annotate"]
    assert [name for name in room_commands() if name in shown] == shown
