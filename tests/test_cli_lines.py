"""Lines that the command line prints, options that exclude each other, and outcomes."""

from __future__ import annotations

import math
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import click
import pytest

from command import called
from pnyx.cli.calibrate import _warnings
from pnyx.cli.judge_runs import counts_line, needs_out, say_kept
from pnyx.cli.measure.commands import _task_of
from pnyx.cli.measure.tables import PlotSpec, compared_legend, named_runs, run_notes, untested_note
from pnyx.cli.options import (
    ColumnSpec,
    Outcome,
    OutSpec,
    check_question,
    reasons_shown,
    refuse_same_file,
    refuse_two_outputs,
    say_account,
    warn_first,
    warn_undefined,
)
from pnyx.cli.settings import Number, NumberRange, Text, _setting
from pnyx.cli.spec_options import _joined, _shown, _without_none, plain_type
from pnyx.core.errors import InputError, OptionError
from pnyx.formats.text_types import FileName, TextKind

# --- what is printed


@pytest.mark.parametrize(("count", "more"), [(0, 0), (5, 0), (6, 1), (8, 3)])
def test_five_warnings_are_printed_and_the_others_counted(count, more, capsys):
    warn_first([f"w{n}" for n in range(count)], "warnings")
    lines = [f"pnyx: warning: w{n}" for n in range(min(count, 5))]
    lines += [f"pnyx: warning: {more} more warnings"] if more else []
    assert capsys.readouterr().err.splitlines() == lines


def test_questions_without_a_definition_are_counted_once(capsys):
    warn_undefined([("a", "d"), ("a", None), ("b", None), ("b", ""), ("c", None)])
    assert "2 of 3 questions have no definition" in capsys.readouterr().err
    warn_undefined([("a", "d"), ("a", None)])
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("skipped", "files", "said"),
    [(1, 3, "warning: f: line"), (0, 2, "f: line"), (0, 1, None)],
)
def test_files_of_a_folder_are_mentioned_if_there_are_several(skipped, files, said, capsys):
    account: Any = SimpleNamespace(
        source="f", skipped=skipped, files=[0] * files, line=lambda: "line", notes=lambda: ["note"]
    )
    say_account(account)
    lines = [said] if said else []
    assert capsys.readouterr().err.splitlines() == [f"pnyx: {line}" for line in (*lines, "f: note")]


@pytest.mark.parametrize(
    ("outcome", "as_json", "status", "out", "err"),
    [
        (Outcome({"a": "é"}, "line", notes=["note"]), False, 0, "line\n", "pnyx: note\n"),
        (Outcome({"a": "é"}, "line", True, err=True), False, 3, "", "line\n"),
        (Outcome({"a": "é"}, "line"), True, 0, '{"a": "é"}\n', ""),
        (Outcome({"a": "é"}, "line", ascii=True), True, 0, '{"a": "\\u00e9"}\n', ""),
        (Outcome({"a": 1}, "line", indent=1), True, 0, '{\n "a": 1\n}\n', ""),
        (Outcome({"a": 1}, lambda: [["x"], ["y"]], 1), False, 3, "x\n\ny\n", ""),
        (Outcome({"a": 1}), False, 0, "", ""),
    ],
)
def test_an_outcome_is_printed_for_people_or_as_json(outcome, as_json, status, out, err, capsys):
    assert outcome.show(as_json=as_json) == status
    assert capsys.readouterr() == (out, err)
    with pytest.raises(ValueError, match="JSON compliant"):
        Outcome({"a": math.nan}).show(as_json=True)


def test_how_many_items_are_scored_and_why_others_are_not(capsys):
    counts = {"scored": 3, "asked": 3, "unscored": 0, "reasons": {}}
    assert counts_line(counts, "scored", "j") == "3 of 3 scored by j"
    counts |= {"scored": 1, "unscored": 2, "reasons": {"timeout": 1, "x" * 41: 1}}
    line = counts_line(counts | {"read_leniently": 1, "partly_ranked": 2}, "ranked", "j")
    assert line.startswith("1 of 3 ranked by j; 2 unscored: 1 timeout, 1 " + "x" * 37)
    assert line.endswith(
        "; 2 rank only some of the texts (the others are unranked)"
        "; 1 read leniently (their notes say how)"
    )
    assert reasons_shown({}) == ""
    say_kept(0)
    say_kept(2, "items")
    assert capsys.readouterr().err == "pnyx: 2 items are answered already, going on\n"


# --- what cannot be combined


@pytest.mark.parametrize(
    ("columns", "mapping"),
    [
        (("id=docno", "text=a=b"), {"id": "docno", "text": "a=b"}),
        (("id",), None),
        (("=x",), None),
        (("id=",), None),
        (("id=a", "id=b"), None),
    ],
)
def test_a_column_is_named_once_as_field_and_column(columns, mapping):
    if mapping is not None:
        assert ColumnSpec(columns=columns).mapping == mapping
        return
    with pytest.raises(InputError, match=r"--column id.*(expected FIELD=COLUMN|given twice)|=x"):
        _ = ColumnSpec(columns=columns).mapping


def test_outputs_that_would_be_lost_are_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for out, other in (("a", "b"), (None, "a"), ("a", None), ("-", "-"), ("a", "-"), ("-", "a")):
        refuse_same_file("--out", out, IN=other)
    with pytest.raises(OptionError, match="--out names the same file as IN"):
        refuse_same_file("--out", "a", OTHER="b", IN=str(tmp_path / "a"))
    refuse_two_outputs("--out", "-", as_json=False)
    refuse_two_outputs("--out", "a", as_json=True)
    with pytest.raises(OptionError, match="both write to standard output"):
        refuse_two_outputs("--out", "-", as_json=True)
    OutSpec(out="a").check_json("rows", as_json=True)
    OutSpec().check_json("rows", as_json=False)
    with pytest.raises(OptionError, match="--json requires --out FILE: the rows"):
        OutSpec().check_json("rows", as_json=True)
    PlotSpec(plot="a.svg").check_plot()
    with pytest.raises(OptionError, match=r"expected a name that ends in \.svg"):
        PlotSpec(plot="a.png").check_plot()


def test_answers_need_a_place_unless_they_are_planned():
    checked: list[tuple[str, ...]] = []

    def spec(*, plan: bool) -> Any:
        return SimpleNamespace(plan=plan, check=lambda *refused: checked.append(refused))

    needs_out("out", spec(plan=False), "student")
    needs_out(None, spec(plan=True))
    assert checked == [("student",), ()]
    with pytest.raises(OptionError, match="Missing option"):
        needs_out(None, spec(plan=False))


@pytest.mark.parametrize(("question", "problem"), [(" \n", "is empty"), ("Why \udcff?", "UTF-8")])
def test_a_question_has_words(question, problem):
    check_question("Why?")
    with pytest.raises(InputError, match=problem):
        check_question(question)


def test_runs_are_named_once_and_the_baseline_may_be_another(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "b.run").write_text("")
    assert named_runs(["x/a.run", "x/c.run"], None) == ({"a": "x/a.run", "c": "x/c.run"}, None)
    assert named_runs(["x/a.run"], "a") == ({"a": "x/a.run"}, "a")
    assert named_runs(["x/a.run"], "x/a.run")[1] == "a"
    names, baseline = named_runs(["a.run"], "b.run")
    assert (list(names), baseline) == (["b", "a"], "b")
    with pytest.raises(InputError, match="the run is given twice"):
        named_runs(["a", "b", "a"], None)
    with pytest.raises(InputError, match="is neither a file nor one of a, c"):
        named_runs(["a", "c"], "missing")
    named_runs(["-", "a"], None, "x")
    for runs, other in ((["-", "-"], None), (["-"], "-")):
        with pytest.raises(OptionError, match="only one file can be standard input"):
            named_runs(runs, None, other)


def test_notes_on_runs_and_comparisons():
    notes = [(1, "one"), (0, "none"), ("x", "two")]
    assert run_notes("r", notes, 0) == ["r: one", "r: two"]
    assert run_notes("r", [], 1)[0].startswith("r: 1 topic has a different order")
    assert run_notes("r", [], 2)[0].startswith("r: 2 topics have a different order")
    compared: Any = [SimpleNamespace(p_holm=p) for p in (None, 0.1, None)]
    assert untested_note(compared, "topics") == [
        "2 comparisons have too few topics or no variance for the test"
    ]
    result: Any = SimpleNamespace(baseline=None)
    assert compared_legend(result) == []
    against = SimpleNamespace(margin=0.05)
    rows = [SimpleNamespace(p_holm=0.1, against=None), SimpleNamespace(p_holm=1, against=against)]
    result = SimpleNamespace(baseline="b", test="t", comparisons=rows)
    marks, margin = map(str, compared_legend(result))
    assert marks.endswith("lower than b: p < 0.05 in a two-sided paired t-test, Holm-Bonferroni "
                          "over 2 comparisons")  # fmt: skip
    assert margin.startswith(
        "not lower: not below the baseline by 0.05 or more, one-sided p (Holm)"
    )
    result.test = "randomisation"
    assert "randomisation test" in str(compared_legend(result)[0])


def test_verdicts_of_standard_input_are_not_lost(monkeypatch):
    verdicts = [SimpleNamespace(task="support"), SimpleNamespace(task="other")]
    monkeypatch.setattr("pnyx.judging.verdicts.read_verdicts", lambda _: iter(verdicts))
    assert _task_of("results") == ("support", "results")
    task, source = _task_of("-")
    assert (task, list(source)) == ("support", verdicts)


# --- pnyx judge calibrate


@pytest.mark.parametrize(
    ("missed", "share", "curve", "lines"),
    [
        (0.1, 0.5, (0.2, 0.8), []),
        (0.1001, 0.5, (0.2, 0.8), ["cascade: errors; --error 0.1 limits errors among"]),
        (None, 0, (0.2, 0.8), ["cascade: all; the strong judge would answer everything"]),
        (0.1, 0.5, (0.2, 0.2), ["the curve is flat: on these labels"]),
    ],
)
def test_what_a_calibration_warns_of(missed, share, curve, lines):
    class Sure:
        error, per_class = 0.1, "errors"

        def __str__(self) -> str:
            return "all"

    sure: Any = Sure()
    sure.missed, sure.share = missed, share
    ends = SimpleNamespace(tolist=lambda: list(curve))
    calibration: Any = SimpleNamespace(sure=sure, curve=lambda _: ends)
    counts = {"unscored": 0, "without_probability": 0, "without_label": 0, "groups": 2}
    data: Any = SimpleNamespace(counts=counts, probabilities=[0.9, 0.1])
    found = _warnings(data, calibration)
    assert [line[: len(start)] for line, start in zip(found, lines, strict=True)] == lines
    calibration.sure = None
    calibration.curve = lambda _: SimpleNamespace(tolist=lambda: [0.0, 1.0])
    assert _warnings(data, calibration) == []
    counts |= {"unscored": 1, "without_probability": 2, "without_label": 3, "groups": 1}
    assert [line.split()[0] for line in _warnings(data, calibration)] == ["1", "2", "3", "all"]


# --- values


@pytest.mark.parametrize(
    ("text", "number"), [("0.5", 0.5), ("1e3", 1000.0), ("nan", None), ("inf", None), ("x", None)]
)
def test_a_number_is_finite(text, number):
    for kind in (Number(), NumberRange(0, 2000)):
        if number is not None:
            assert kind.convert(text, None, None) == number
        else:
            with pytest.raises(click.BadParameter):
                kind.convert(text, None, None)


def test_a_text_is_utf_8():
    assert Text().convert("é", None, None) == "é"
    for odd in ("\ud800", "a\udfff"):
        with pytest.raises(click.BadParameter, match="expected text in UTF-8"):
            Text().convert(odd, None, None)


@pytest.mark.parametrize(
    ("text", "setting"),
    [
        ("max_tokens=5", ("max-tokens", "5")),
        ("a = b=c", ("a", " b=c")),
        ("fast", ("fast", "true")),
        ("fast=", ("fast", "")),
    ],
)
def test_a_setting_is_a_name_and_a_value(text, setting):
    assert _setting(text) == setting


def test_types_and_defaults_of_options():
    assert (_shown(0.5), _shown(1.0), _shown(3), _shown("a")) == ("0.5", "1", "3", "a")
    assert (_joined((0.5, 2)), _joined(("a", "b"), ", ")) == ("0.5,2", "a, b")
    assert _without_none(int | None) == (int, True)
    assert _without_none(int) == (int, False)
    assert plain_type(tuple[FileName, ...] | None) == (str, TextKind.FILE)
    assert plain_type(float) == (float, None)


def test_the_last_value_of_a_setting_counts(own_place, capsys):
    saved = ("prompt", "support", "--set", "batch=3", "--set", "batch=2", "--save-config", "c.toml")
    assert called(capsys, *saved)[0] == 0
    assert "batch = 2" in Path("c.toml").read_text()
    code, _, err = called(capsys, "prompt", "support", "--set", "bach=3")
    assert code == 2
    assert "--set bach: no such setting; did you mean batch?" in err
    _, _, err = called(capsys, "prompt", "support", "--set", "odd=3")
    assert "--set odd: no such setting; expected one of batch, probability" in err
    _, out, _ = called(capsys, "files", "split", "--help-all")
    text = " ".join(out.split())
    assert "Repeatable. --strict" not in text
    assert re.search(r"--column FIELD=COLUMN [^-]*Repeatable\.", text)
