"""Specs: the same choices from the command line, from JSON and from Python."""

import dataclasses
import functools
import math
import typing
from typing import Literal

import click
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from pnyx.cli import app
from pnyx.cli.params import verb
from pnyx.cli.spec_options import MORE, SETTINGS
from pnyx.core.errors import InputError, OptionError
from pnyx.core.rooms import offered
from pnyx.core.spec import Opt, Spec, help_of, opt, opts_of
from pnyx.search.options import SearchSpec
from tries import tries

for _door in offered("COMMANDS"):
    _door.load()


def _below(kind: type[Spec]) -> list[type[Spec]]:
    return [below for one in kind.__subclasses__() for below in (one, *_below(one))]


SPECS = [spec for spec in dict.fromkeys(_below(Spec)) if spec.__module__.startswith("pnyx.")]


def _values(hint: object, told: Opt) -> st.SearchStrategy[object]:
    """Draw values of a field's type and range."""
    if typing.get_origin(hint) is Literal:
        return st.sampled_from(typing.get_args(hint))
    if typing.get_origin(hint) is tuple and Ellipsis not in typing.get_args(hint):
        return st.tuples(*(_values(one, told) for one in typing.get_args(hint)))
    if typing.get_origin(hint) is tuple:
        return st.lists(_values(typing.get_args(hint)[0], told), max_size=3).map(tuple)
    if typing.get_args(hint):
        return st.one_of(*(_values(one, told) for one in typing.get_args(hint)))
    low, high, _, _ = told.bounds
    low = low or 0
    high = high or low + 50
    kinds = {
        bool: st.booleans(),
        int: st.integers(math.ceil(low), math.floor(high)).filter(told.allows),
        float: st.floats(low, high).filter(told.allows),
        str: st.text(max_size=8),
        type(None): st.none(),
    }
    return kinds[hint]


@functools.cache
def _choices(spec: type[Spec]) -> st.SearchStrategy[dict[str, object]]:
    """Draw what a spec needs, and some of the rest."""
    hints = typing.get_type_hints(spec)
    required, optional = {}, {}
    for field, told in opts_of(spec):
        kind = required if field.default is dataclasses.MISSING else optional
        kind[field.name] = _values(hints[field.name], told)
    return st.fixed_dictionaries(required, optional=optional)


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec.__name__)
@settings(deadline=None, max_examples=tries(20))  # the first use of a spec builds its validator
@given(data=st.data())
def test_a_spec_survives_json(spec, data):
    made = spec(**data.draw(_choices(spec)))
    assert spec.from_row(made.row()) == made


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec.__name__)
def test_every_choice_has_a_line_of_help(spec):
    for field, option in opts_of(spec):
        text = help_of(field, option)
        assert text.endswith("."), field.name
        assert "default" not in text, field.name  # it is added from the field


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ({"modle": "bm25"}, "SearchSpec has no field 'modle'"),
        ({"model": "tfidf"}, "SearchSpec.model: found tfidf"),
        ({"depth": "many"}, "SearchSpec.depth: found many"),
        ({"depth": 0}, "--depth: found 0, expected at least 1"),
        ({"mu": float("nan")}, "--set mu: found nan, expected "),
        ({"model": "bm25\ud800"}, "SearchSpec.model"),
    ],
)
def test_a_row_that_is_no_spec_is_refused_in_one_line(row, problem):
    with pytest.raises(InputError, match=problem):
        SearchSpec.from_row(row)


def test_a_choice_that_would_change_nothing_is_refused():
    SearchSpec(diversify="mmr", lam=0.5).check_needs()
    with pytest.raises(OptionError, match=r"^--set lambda requires --diversify mmr$"):
        SearchSpec(lam=0.5).check_needs()
    with pytest.raises(OptionError, match="--set fusion requires --model hybrid"):
        SearchSpec(fusion="rrf").check_needs()
    SearchSpec(fusion="rrf").check_needs(model="hybrid")  # what auto turned out to be


class Shape(Spec, heading="Shape", rare="kind"):
    name: str = opt(..., "Required.")
    sides: int = opt(4, "Sides.", low=3)
    colours: tuple[str, ...] = opt((), "Repeatable.", "--colour")
    sizes: tuple[float, ...] = opt((1.0, 2.0), "Between commas.", each=True)
    kind: Literal["flat", "solid"] | None = opt(None, "Kind.")
    filled: bool = opt(True, "Filled.", "--filled/--hollow")


@verb("draw")
def _draw(shape: Shape) -> None:
    click.echo(repr(shape))


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--name", "a"], Shape(name="a")),
        (["--name", "a", "--sides", "3"], Shape(name="a", sides=3)),
        (["--name", "a", "--colour", "x", "--colour", "y"], Shape(name="a", colours=("x", "y"))),
        (["--name", "a", "--sizes", "0.5,3"], Shape(name="a", sizes=(0.5, 3.0))),
        (["--name", "a", "--hollow", "--kind", "flat"], Shape(name="a", filled=False, kind="flat")),
    ],
)
def test_options_make_the_spec(arguments, expected):
    done = CliRunner().invoke(_draw, arguments)
    assert done.output.strip() == repr(expected)


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ([], "Missing option '--name'"),
        (["--name", "a", "--sides", "2"], "2 is not in the range x>=3"),
        (["--name", "a", "--sizes", "1,b"], "'b' is not a valid float"),
        (["--name", "a", "--kind", "round"], "'round' is not one of 'flat', 'solid'"),
        (["--name", "\udcff"], "expected text in UTF-8"),
    ],
)
def test_bad_values_are_refused(arguments, problem):
    done = CliRunner().invoke(_draw, arguments)
    assert done.exit_code == 2
    assert problem in done.output


def _headings(lines):
    return [line for line in lines if line and not line.startswith((" ", "Usage"))]


def test_rare_options_stand_last_and_with_help_all_alone():
    few = CliRunner().invoke(_draw, ["--help"]).output.splitlines()
    assert _headings(few) == ["Shape:", "Options:"]
    assert few[-1].split() == ["--help-all", *"Show all options and details, and exit.".split()]
    done = CliRunner().invoke(_draw, ["--help-all"])
    lines = done.output.splitlines()
    assert (done.exit_code, _headings(lines)) == (0, ["Shape:", "Options:", "More options:"])
    text = "\n".join(lines)
    assert "[default: 1, 2]" in text
    assert "x>=3" not in text  # what is out of range is said when it is given


def _commands(group: click.Group, path: tuple[str, ...] = ()):
    context = click.Context(group, info_name=" ".join(path) or "pnyx")
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        yield (*path, name), command
        if isinstance(command, click.Group):
            yield from _commands(command, (*path, name))
        for word, other in getattr(command, "words", {}).items():
            yield (*path, name, word), other


ALL = dict(_commands(app))


@pytest.mark.parametrize("path", list(ALL), ids=" ".join)
def test_help_can_be_taken_in(path):
    def shown(flag):
        return CliRunner().invoke(app, [*path, flag], prog_name="pnyx", terminal_width=80).output

    text = shown("--help")
    assert len(text.splitlines()) <= 50
    text = shown("--help-all") if "--help-all" in text else text
    assert [line for line in text.splitlines() if len(line) > 80] == []
    options = [p for p in ALL[path].params if isinstance(p, click.Option) and p.name != "as_json"]
    usual = [p.opts[-1] for p in options if getattr(p, "heading", "") not in (MORE, SETTINGS)]
    assert len(usual) <= 15, usual


def test_a_mistyped_command_gets_a_suggestion():
    done = CliRunner().invoke(app, ["serch"])
    assert (done.exit_code, "Did you mean 'search'?" in done.output) == (2, True)
    done = CliRunner().invoke(app, ["nuggets", "creat"])
    assert "Did you mean 'create'?" in done.output
