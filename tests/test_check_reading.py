"""How `pnyx check` reads tables that say the same in other shapes, and what it refuses."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from pnyx.audit.checks.columns import read_check_items
from pnyx.audit.checks.json_rows import parse_document
from pnyx.audit.checks.table import read_table_rows
from pnyx.core.errors import InputError

YES_NO = ["yes", "no"]


def columns(count: int = 8, **cells: list[Any]) -> dict[str, list[Any]]:
    """Return columns of `count` rows that repeat their cells."""
    return {name: [some[n % len(some)] for n in range(count)] for name, some in cells.items()}


def refused(source: Any, **options: Any) -> str:
    with pytest.raises(InputError) as caught:
        read_check_items(source, **options)
    return caught.value.problem


def answers(source: Any, **options: Any) -> list[tuple[str, Any, Any]]:
    """Return the id, the first verdict and the first label of each item."""
    return [
        (item.id, next(iter(item.verdicts.values())), next(iter(item.labels.values()), None))
        for item in read_check_items(source, **options).items
    ]


def saved(path: Path, value: Any) -> str:
    path.write_text(value if isinstance(value, str) else json.dumps(value))
    return str(path)


# JSON --------------------------------------------------------------------------------------------

ROWS = [{"id": "x", "verdict": "yes", "label": "no"}, {"id": "y", "verdict": "no", "label": "no"}]
READ = [("x", True, False), ("y", False, False)]


@pytest.mark.parametrize(
    "value",
    [
        ROWS,
        {"model": "m", "rows": ROWS, "tags": ["a"]},
        {"model": "m", "rows": ROWS, "more": []},
        {"columns": ["id", "verdict", "label"], "data": [["x", "yes", "no"], ["y", "no", "no"]]},
        {"id": ["x", "y"], "verdict": ["yes", "no"], "label": ["no", "no"]},
        {"x": {"verdict": "yes", "label": "no"}, "y": {"verdict": "no", "label": "no"}},
        "\n".join(map(json.dumps, ROWS)),
        "\n\n".join(map(json.dumps, ROWS)) + "\n",
        "\ufeff" + json.dumps(ROWS),
    ],
)
def test_json_in_any_usual_shape(tmp_path, value):
    assert answers(saved(tmp_path / "t.json", value)) == READ


def test_columns_by_row_are_recognised_by_their_number_or_their_keys():
    """Two columns of three rows; three rows of two columns; as many rows, with their numbers."""
    wide = {"verdict": {"x": "yes", "y": "no", "z": "no"}, "label": {"x": "yes", "y": "no"}}
    assert answers(wide) == [("x", True, True), ("y", False, False), ("z", False, None)]
    long = {key: {"verdict": "yes", "label": "no"} for key in "xyz"}
    assert answers(long) == [(key, True, False) for key in "xyz"]
    square = {"verdict": {"0": "yes", "1": "no"}, "label": {"0": "yes", "1": "no"}}
    assert answers(square) == [("0", True, True), ("1", False, False)]
    even = {"x": {"verdict": "yes", "label": "no"}, "y": {"verdict": "no", "label": "no"}}
    assert answers(even) == READ


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ({"a": [1], "b": 2}, "found an object with a, b, expected a list of objects"),
        ({f"k{n}": [n] if n else 1 for n in range(9)}, "an object with k0, k1, k2, k3, k4, k5, k6"),
        ({letter: [{"x": 1}] for letter in "abcdefg"}, "(a, b, c, d, e, f), expected one"),
        ([ROWS[0], 3], "item 2: found 3, expected an object"),
        ({"verdict": ["yes"], "label": ["yes", "no"]}, "(verdict 1, label 2)"),
        ("[1,\n2,\n", "not valid JSON"),
    ],
)
def test_json_without_one_table_is_refused(tmp_path, value, problem):
    assert problem in refused(saved(tmp_path / "t.json", value))


def test_a_column_in_memory_is_a_list():
    assert refused({"verdict": "yes", "label": ["no"]}) == (
        "column 'verdict': found yes, expected a list of cells"
    )
    assert "column 'verdict': found 3, expected a list" in refused({"verdict": 3, "label": ["no"]})
    assert "columns have different lengths (a 1, b 2)" in refused({"a": [1], "b": [1, 2]})


def test_broken_json_lines_are_counted(tmp_path):
    rows = [json.dumps(ROWS[0]), "{", json.dumps(ROWS[1]), "[1]", "", "3"]
    items = read_check_items(saved(tmp_path / "t.jsonl", "\n".join(rows)))
    assert [item.line for item in items.items] == [1, 3]
    assert items.notes[0] == (
        "3 broken rows were skipped (line 2: not valid JSON; line 4: found [1], expected a JSON "
        "object; line 6: found 3, expected a JSON object)"
    )
    only = saved(tmp_path / "u.jsonl", '{"a": 1\n{"b"\n')
    with pytest.raises(InputError) as caught:
        read_check_items(only)
    assert caught.value.problem.startswith("not valid JSON (")
    assert caught.value.line == 2


def test_a_document_of_json_has_no_nan():
    assert parse_document('\ufeff{"a": NaN, "b": [Infinity, 1]}') == {"a": None, "b": [None, 1]}
    with pytest.raises(InputError, match=r"^not valid JSON") as caught:
        parse_document("{\n\n  1}")
    assert caught.value.line == 3
    with pytest.raises(InputError, match="not valid JSON") as caught:
        parse_document("[" * 100_000)
    assert caught.value.line is None


# Rows of cells -----------------------------------------------------------------------------------


def test_cells_beyond_the_header_count_unless_they_are_blank(tmp_path):
    path = saved(tmp_path / "t.csv", "verdict,label\nyes,no,,\nno,no, \nyes,yes\nno,no,x\n")
    items = read_check_items(path)
    assert [item.line for item in items.items] == [2, 3, 4]
    assert "1 broken row was skipped (line 5: found 3 columns, expected 2 as in the header)" in (
        items.notes
    )
    few = read_check_items(saved(tmp_path / "u.csv", "verdict,label\nyes,no\nno\n"))
    assert "(line 3: found 1 column, expected 2 as in the header)" in few.notes[0]


def test_a_table_without_any_readable_row_names_the_first(tmp_path):
    path = saved(tmp_path / "t.csv", "verdict,label\nyes\nno\n")
    assert "has no row that can be read (line 2: found 1 column, expected 2" in refused(path)


def test_a_zip_file_is_not_a_table(tmp_path):
    with zipfile.ZipFile(tmp_path / "t.zip", "w") as archive:
        archive.writestr("t.csv", "verdict,label\nyes,no\n")
    assert "is a ZIP file without a table: unpack it" in refused(str(tmp_path / "t.zip"))


def test_a_damaged_log_of_inspect_says_how_to_convert_it(tmp_path):
    with zipfile.ZipFile(tmp_path / "t.eval", "w") as archive:
        archive.writestr("samples/1.json", "{")
    problem = refused(str(tmp_path / "t.eval"))
    assert problem.startswith("cannot be read as a log of Inspect: not valid JSON")
    assert problem.endswith("(convert it: inspect log convert --to json)")


def test_samples_of_a_log_are_numbered_from_one(tmp_path):
    sample = {"id": "s", "epoch": 1, "input": "Q", "scores": {"m": {"value": "C"}}}
    with zipfile.ZipFile(tmp_path / "t.eval", "w") as archive:
        archive.writestr("samples/1.json", json.dumps(sample))
    assert [line for line, _ in read_table_rows(str(tmp_path / "t.eval")).rows] == [1]


def test_names_of_columns_are_on_one_line_and_different(tmp_path):
    path = saved(tmp_path / "t.csv", 'verdict,"my\n label",,note,note,note (2)\nyes,no,1,a,b,c\n')
    table = read_table_rows(path)
    assert table.columns == ("verdict", "my label", "column 3", "note", "note (3)", "note (2)")
    assert "'note' is the name of several columns; they were numbered" in table.notes


@pytest.mark.parametrize(
    ("source", "problem"),
    [
        ([], "has no rows, expected a table with a header and rows"),
        ([{"verdict": "yes"}, 3], "found int, expected a dict of column and value"),
        ([{"verdict": " ", "label": None}], "has no rows"),
    ],
)
def test_rows_in_memory_are_dicts_with_cells(source, problem):
    assert problem in refused(source)


# Cells -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cell", "expected"),
    [
        ([True], True),
        ([["no"]], False),
        (float("nan"), None),
        (1, True),
        (0.0, False),
        ("100 %", True),
        ("1,0", True),
        ("**Yes.**", True),
        ("not-relevant", False),
        ("👍🏽", True),
        ("N/A", None),
        ("Unsure", None),
        ("Timeout error", None),
        (10**400, None),
    ],
)
def test_a_cell_is_an_answer(cell, expected):
    source = {"verdict": [cell, "yes", "no"], "label": ["yes", "yes", "no"]}
    assert read_check_items(source, judge="verdict").items[0].verdicts["verdict"] is expected


# What counts as yes ------------------------------------------------------------------------------


def verdicts(cells: list[Any], **options: Any) -> list[Any]:
    source = {"verdict": cells, "label": [YES_NO[n % 2] for n in range(len(cells))]}
    return [
        item.verdicts["verdict"]
        for item in read_check_items(source, judge="verdict", **options).items
    ]


@pytest.mark.parametrize(
    ("bound", "expected"),
    [
        ("verdict>=3", [False, True, True]),
        ("verdict > 3", [False, False, True]),
        ("verdict<=3", [True, True, False]),
        ("verdict<3", [True, False, False]),
        ("verdict=3", [False, True, False]),
        ("verdict==3", [False, True, False]),
        ("verdict=2,4", [True, False, True]),
        (["verdict=2", "verdict=4"], [True, False, True]),
    ],
)
def test_numbers_that_count_as_yes(bound, expected):
    assert verdicts([2, 3, 4], yes=bound) == expected
    turned = [not answer for answer in expected]
    assert verdicts([2, 3, 4], no=bound) == turned


def test_words_that_count_as_yes():
    assert verdicts(["fine", "poor", "fine, mostly"], yes="verdict=fine", no="verdict=poor") == [
        True, False, None,
    ]  # fmt: skip
    assert verdicts(["fine, mostly", "poor"], yes="verdict=fine, mostly") == [True, False]
    assert verdicts(["fine", "good", "poor"], yes="verdict=fine,good") == [True, True, False]
    assert verdicts(["fine", "poor"], no="verdict=poor") == [True, False]


@pytest.mark.parametrize(
    ("cells", "options", "problem"),
    [
        (["a", "b"], {"yes": "verdict=a", "no": "verdict=a"}, "'a' is named by --yes and by --no"),
        ([1, 2], {"yes": "verdict>=x"}, "--yes: found '>=x', expected a number after >="),
        ([1, 2], {"no": "verdict<x"}, "--no: found '<x', expected a number after <"),
        (["a", "b"], {"yes": "verdict=c"}, "--yes: no cell is 'c' (found: a, b)"),
        ([1, 2], {"yes": "verdict=7"}, "--yes: no cell is '7' (found: 1, 2)"),
    ],
)
def test_values_that_cannot_count_are_refused(cells, options, problem):
    source = {"verdict": cells, "label": YES_NO}
    assert refused(source, judge="verdict", **options) == problem


def test_one_number_of_a_scale_must_occur():
    assert verdicts([1, 2], yes="verdict=2,3,4") == [False, True]


@pytest.mark.parametrize(
    ("labels", "options", "problem"),
    [
        (["fine", "yes", "no"], {"yes": "label=fine"},
         "label: 'yes' usually counts as yes, but --yes does not name it: add it"),
        (["fine", "yes", "no"], {"no": "label=fine"},
         "label: 'no' usually counts as no, but --no does not name it: add it"),
        (["yes", "no", "odd"], {},
         "label: found 'odd', expected yes or no as in 'yes', 'no': name it with --yes or --no, "
         "or leave it empty"),
        (["fine", "poor", "odd"], {"yes": "label=fine", "no": "label=poor"},
         "label: found 'odd', expected yes or no: name it with --yes or --no, or leave it empty"),
        ([1, 2, 3], {"yes": "label=3", "no": "label=1"},
         "label: found '2', expected yes or no: name it with --yes or --no, or leave it empty"),
        ([0.25, 0.5, 0.75], {"yes": "verdict=yes"},
         'label holds numbers (0.25 to 0.75): say which count as yes, such as --yes "label>=0.5"'),
    ],
)  # fmt: skip
def test_a_label_that_is_not_understood_is_named(labels, options, problem):
    source = {"verdict": ["yes", "no", "yes"], "label": labels}
    assert refused(source, judge="verdict", human="label", **options) == problem


def test_other_whole_numbers_count_as_the_opposite():
    """For a column without the number, only if it is a scale of whole numbers."""
    source = {"verdict": [1, 2, 3], "label": [1, 2, 5]}
    items = read_check_items(source, yes="5").items
    assert [item.verdicts["verdict"] for item in items] == [False] * 3
    shares = {"verdict": [0.1, 0.2, 0.3], "label": [1, 2, 5]}
    assert "verdict holds numbers (0.1 to 0.3): say which count as yes" in refused(shares, yes="5")


# Columns and who answers -------------------------------------------------------------------------


def test_a_named_column_may_be_written_otherwise():
    source = columns(Verdict=YES_NO, humanLabel=YES_NO)
    items = read_check_items(source, judge=" verdict", human="human_label")
    assert (items.judges, items.people) == (("Verdict",), ("humanLabel",))
    two = columns(Verdict=YES_NO, VERDICT=YES_NO, label=YES_NO)
    assert refused(two, judge="verdict") == "column 'verdict' is one of Verdict, VERDICT"
    assert read_check_items(two, judge="VERDICT").judges == ("VERDICT",)
    assert "did you mean Verdict?" in refused(two, judge="verdikt")
    assert "did you mean" not in refused(two, judge="xyz")


def test_numbered_columns_are_of_several_judges_and_people():
    source = columns(judge_1=YES_NO, judge_2=YES_NO, rater_a=YES_NO, rater_b=YES_NO)
    items = read_check_items(source)
    assert (items.judges, items.people) == (("judge_1", "judge_2"), ("rater_a", "rater_b"))
    assert items.notes[0] == (
        "judge: columns judge_1, judge_2; people: columns rater_a, rater_b (guessed; name them "
        "with --verdict and --human)"
    )


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"judge": "label", "human": "label"},
         "column 'label' is named by --verdict and by --human"),
        ({"judge": ["verdict", "verdict"], "human": "label"},
         "--verdict: a column is named twice"),
        ({"human": ["label", "label"]}, "--human: a column is named twice"),
        ({"judge": "verdict", "human": "label", "probability": ["p", "p"]},
         "--probability: found 2 for 1 judges, expected one for each --verdict"),
    ],
)  # fmt: skip
def test_columns_named_twice_are_refused(options, problem):
    source = columns(verdict=YES_NO, label=YES_NO, p=[0.5])
    assert refused(source, **options) == problem


def long_rows(*cells: tuple[str, str, str, str]) -> list[dict[str, str]]:
    names = ("id", "annotator", "verdict", "label")
    return [dict(zip(names, row, strict=True)) for row in cells]


def test_rows_of_several_people_become_one_item():
    rows = long_rows(
        ("x", "ann", "yes", "yes"),
        ("x", "bob", "", "no"),
        ("y", "ann", "", ""),
        ("y", "bob", "no", "no"),
        ("x", "ann", "yes", "no"),
        ("y", "ann", "no", ""),
    )
    items = read_check_items(rows)
    assert items.people == ("ann", "bob")
    assert [(i.id, i.verdicts["verdict"], dict(i.labels)) for i in items.items] == [
        ("x", True, {"ann": False, "bob": False}),
        ("y", False, {"ann": None, "bob": False}),
    ]
    assert "1 label was replaced by a later one of the same person on the same item" in items.notes
    again = [*rows, *long_rows(("y", "bob", "no", "yes"))]
    assert any(note.startswith("2 labels were replaced") for note in read_check_items(again).notes)


def test_two_verdicts_of_one_judge_on_one_item_are_refused():
    rows = long_rows(("x", "ann", "yes", "yes"), ("x", "bob", "no", "no"))
    assert refused(rows) == "x: found the verdicts 'yes' and 'no' of verdict on one item"
    rows[1]["verdict"] = "YES"
    assert len(read_check_items(rows).items) == 1


def test_without_ids_rows_with_the_same_other_cells_are_one_item():
    rows = [
        {"answer": f"text {n}", "annotator": name, "verdict": YES_NO[n % 2], "label": label}
        for n in range(3)
        for name, label in (("ann", "yes"), ("bob", "no"))
    ]
    items = read_check_items(rows)
    assert [dict(item.labels) for item in items.items] == [{"ann": True, "bob": False}] * 3
    assert [item.texts for item in items.items] == [{"answer": f"text {n}"} for n in range(3)]


def test_one_of_the_judges_and_people_that_rows_name():
    rows = [
        {"id": key, "judge_name": judge, "verdict": verdict, "label": "yes"}
        for key in "xy"
        for judge, verdict in (("m1", "yes"), ("m2", "no"))
    ]
    both = read_check_items(rows)
    assert both.judges == ("m1", "m2")
    one = read_check_items(rows, judge="m2", human="label")
    assert [dict(item.verdicts) for item in one.items] == [{"m2": False}] * 2
    people = long_rows(("x", "ann", "yes", "yes"), ("x", "bob", "yes", "no"))
    (item,) = read_check_items(people, human="bob").items
    assert dict(item.labels) == {"bob": False}


# Labels in a second table ------------------------------------------------------------------------


def test_labels_are_joined_by_id():
    judged = [{"id": key, "verdict": "yes"} for key in "xyz"]
    labels = [{"id": "x", "label": "no"}, {"id": "z", "label": "yes"}, {"id": "w", "label": "yes"},
              {"id": "", "label": "yes"}, {"id": "x", "label": ""}]  # fmt: skip
    items = read_check_items(judged, labels=labels)
    assert [item.labels.get("label") for item in items.items] == [False, None, True]
    assert "1 row has a label without an id, which is left out" in items.notes
    assert "1 of 3 labelled ids have no verdict and are left out" in items.notes
    none = [{"id": "q", "label": "yes"}]
    assert refused(judged, labels=none) == (
        "no verdict has the id of a label (verdicts: 'x', 'y'; labels: 'q')"
    )
    bare = [{"verdict": "yes"}, {"verdict": "no"}]
    assert refused(bare, labels=none) == (
        "labels are joined by id: name its column with --id-column"
    )
    assert "no column of ids found (columns: label)" in refused(judged, labels=[{"label": "yes"}])


def test_ids_are_repeated_or_missing():
    """Rows of one id are one group; an item without an id is called by its line."""
    rows = [{"id": key, "verdict": "yes", "label": "no"} for key in ("x", "", "x", "2", "")]
    items = read_check_items(rows)
    assert [item.id for item in items.items] == ["x", "line 2", "x (2)", "2", "5"]
    assert [item.group for item in items.items] == ["x", "", "x", "2", ""]
    assert items.group == "id"
    assert "id: 3 rows have 2 different ids; rows of one id count as one group (another: --group " \
        "COLUMN)" in items.notes  # fmt: skip
    assert "id: 2 rows have no id; the line counts as the id" in items.notes
    grouped = [{**row, "question": "q"} for row in rows]
    items = read_check_items(grouped, group="question")
    assert items.group == "question"
    assert "id: 1 row has an id that occurs before; it was numbered" in items.notes


def test_an_adjudicated_label_counts_alone():
    rows = [{"id": key, "annotator": name, "verdict": "yes", "label": label}
            for key, name, label in (("x", "ann", "yes"), ("x", "adjudicated", "no"),
                                     ("y", "ann", "yes"), ("y", "adjudicated", ""))]  # fmt: skip
    items = read_check_items(rows)
    labels = [{n: v for n, v in item.labels.items() if v is not None} for item in items.items]
    assert labels == [{"adjudicated": False}, {"ann": True}]
    assert "1 item has an adjudicated label, which counts alone" in items.notes
