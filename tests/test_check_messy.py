"""`pnyx check` on tables as people have them: the right figures, or one line that says what to do.

Each table holds the same 30 rows: of 15 that people pass the judge passes 12, of 15 that they fail
it fails 11, so that kappa is (23/30 - 1/2) / (1 - 1/2) = 8/15.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import pnyx
from command import called, refuser
from pnyx.audit.checks.json_rows import json_rows
from pnyx.core.errors import InputError

ROWS = [("yes", "yes")] * 12 + [("no", "yes")] * 3 + [("yes", "no")] * 4 + [("no", "no")] * 11
KAPPA = 8 / 15
Cells = Callable[[int, str, str], Iterable[Any]]


def plain(number: int, verdict: str, label: str) -> tuple[Any, ...]:
    return f"a{number}", f"q{number % 10}", verdict, label


def text(header: str, cells: Cells = plain, delimiter: str = ",") -> str:
    """Return the 30 rows as CSV; the header has commas between its names."""
    stream = io.StringIO()
    writer = csv.writer(stream, delimiter=delimiter)
    writer.writerow(header.split(","))
    writer.writerows([*cells(n, *pair)] for n, pair in enumerate(ROWS))
    return stream.getvalue()


HEADER = "id,question,verdict,label"
PLAIN = text(HEADER)


def checked(capsys: Any, path: Path, content: str | bytes, *options: str) -> dict[str, Any]:
    """Check a file; return what `--json` prints."""
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    code, out, _ = called(capsys, "check", path, *options, "--json")
    assert code == 0
    printed: dict[str, Any] = json.loads(out)
    return printed


def measures(printed: dict[str, Any]) -> dict[str, Any]:
    return {name: m["value"] for name, m in printed["judges"][0]["measures"].items()}


GERMAN = {"yes": "Ja", "no": "Nein"}
CASES = {"yes": ("yes", "Yes", "YES", "ja"), "no": ("no", "No", "NO", "nein")}
SAME: dict[str, str | bytes] = {
    "German Excel": "\ufeff"
    + text(
        "Nr,Frage,Urteil,Mensch,Dauer",
        lambda n, v, la: (n, f"Frage {n % 10}", GERMAN[v], GERMAN[la], f"{n},5"),
        ";",
    ),
    "stated delimiter": "sep=;\n" + text(HEADER, delimiter=";"),
    "tabs": text(HEADER, delimiter="\t"),
    "bars": text(HEADER, delimiter="|"),
    "byte order mark": "\ufeff" + PLAIN,
    "UTF-16": PLAIN.encode("utf-16"),
    "Windows-1252": text(HEADER, lambda n, v, la: (n, f"Größe {n % 10}", v, la)).encode("cp1252"),
    "Mac line ends": PLAIN.replace("\r\n", "\r"),
    "one note above": "Results of round 2\n" + PLAIN,
    "notes above": "Results of round 2\nContact: Jo\n\n" + PLAIN,
    "wide notes above": "Results of round 2,,,\nContact: Jo,,,\n,,,\n" + PLAIN,
    "notes with a comma above": "Results, second round\n" + text(HEADER, delimiter=";"),
    "empty columns": text(
        "id,question,,verdict,label,,notes",
        lambda n, v, la: (n, f"q{n % 10}", "", v, la, "", ""),
    ),
    "blank rows": PLAIN.replace("\r\n", "\r\n,,,\r\n"),
    "mixed case": text(
        HEADER, lambda n, v, la: (n, f"q{n % 10}", CASES[v][n % 4], CASES[la][(n + 1) % 4])
    ),
    "TRUE and FALSE": text(
        HEADER, lambda n, v, la: (n, f"q{n % 10}", str(v == "yes").upper(), str(la == "yes"))
    ),
    "1 and 0": text(
        HEADER, lambda n, v, la: (n, f"q{n % 10}", int(v == "yes"), f"{la == 'yes':.1f}")
    ),
    "words of both sides": text(
        HEADER, lambda n, v, la: (n, f"q{n % 10}", {"yes": "PASS", "no": "FAIL"}[v], GERMAN[la])
    ),
    "quoted newlines": text(
        "id,question,verdict,label,answer", lambda *row: (*plain(*row), 'two\nlines, "quoted"')
    ),
    "a huge line": text(
        "id,question,verdict,label,answer",
        lambda n, v, la: (*plain(n, v, la), "x" * (3_000_000 if n == 3 else 1)),
    ),
    "too many cells": PLAIN + "a90,q1,yes,no,more\r\n",
    "too few cells": PLAIN + "a90,q1,yes\r\n",
    "empty cells at the end": PLAIN.replace("\r\n", ",,\r\n"),
    "broken quotes": PLAIN + 'a90,q1,"ye"s,no\r\n',
    "NUL": PLAIN.replace("a29", "a\0"),
}


@pytest.mark.parametrize("name", SAME)
def test_a_messy_table_has_the_figures_of_the_plain_one(tmp_path, capsys, name):
    printed = checked(capsys, tmp_path / "t.csv", SAME[name])
    assert measures(printed)["kappa"] == pytest.approx(KAPPA)
    assert printed["judges"][0]["clusters"] == 10


@pytest.mark.parametrize(
    ("name", "note"),
    [
        ("Windows-1252", "read as Windows-1252"),
        ("one note above", "the header is in row 2; the rows above it were left out"),
        ("notes above", "the header is in row 4; the rows above it were left out"),
        ("notes with a comma above", "the header is in row 2; the rows above it were left out"),
        ("too many cells", "(line 32: found 5 columns, expected 4 as in the header)"),
        ("too few cells", "(line 32: found 3 columns, expected 4 as in the header)"),
        ("broken quotes", "1 broken row was skipped (line 32: not valid CSV"),
        ("words of both sides", "PASS, Ja count as yes; Nein, FAIL count as no"),
    ],
)
def test_what_was_assumed_or_left_out_is_said(tmp_path, capsys, name, note):
    printed = checked(capsys, tmp_path / "t.csv", SAME[name])
    assert any(note in line for line in printed["notes"])


RATED = text(HEADER, lambda n, v, _: (n, f"q{n % 10}", v, 1 + n % 5))
TEXT = "a long text of an answer to a question, number {}"
REFUSED: dict[str, tuple[str | bytes, tuple[str, ...], str]] = {
    "empty": ("", (), "is empty, expected a table with a header and rows"),
    "blank": (" \n\n", (), "is empty, expected a table with a header and rows"),
    "a header alone": (HEADER, (), "has no rows"),
    "one column": ("verdict\nyes\nno\n", (), "found one column ('verdict')"),
    "not text": (bytes(range(256)) * 9, (), "is not text"),
    "no people": (
        text("id,question,verdict,answer", lambda n, v, _: (n, n % 10, v, TEXT.format(n))),
        (),
        "no column of labels found (columns: id, question, verdict, answer): name it with "
        "--human COLUMN, or give labels in a second table with --labels FILE",
    ),
    "no judge": (
        text("id,question,answer,label", lambda n, _, la: (n, n % 10, TEXT.format(n), la)),
        (),
        "no column of verdicts found (columns: id, question, answer, label): name it with "
        "--verdict COLUMN",
    ),
    "no such column": (PLAIN, ("--human", "lable"), "did you mean label?"),
    "empty verdicts": (text(HEADER, lambda n, _, la: (n, "q", "", la)), (), "no row has a verdict"),
    "empty labels": (text(HEADER, lambda n, v, _: (n, "q", v, "")), (), "no row has a label"),
    "repeated names": (
        text("id,verdict,label,label", lambda n, v, la: (n, v, la, la)),
        (),
        "several columns could hold labels (label, label (2))",
    ),
    "ratings and words": (RATED, (), 'say which numbers count as yes, such as --yes "label=4,5"'),
    "ratings, half of them words": (
        text(HEADER, lambda n, v, _: (n, "q", v, "good" if n == 5 else 1 + n % 5)),
        (),
        "label: found 'good', expected a number (1 to 5), or an empty cell",
    ),
    "shares and words": (
        text(HEADER, lambda n, v, la: (n, "q", "90 %" if v == "yes" else "10%", la)),
        (),
        'say which numbers count as yes, such as --yes "verdict>=0.5"',
    ),
    "other words": (
        text(HEADER, lambda n, v, la: (n, "q", v, {"yes": "fine", "no": "poor"}[la])),
        (),
        "label holds 'fine', 'poor': say which count as yes, such as --yes 'fine'",
    ),
    "a value that is not there": (PLAIN, ("--yes", "maybe"), "no cell is 'maybe' (found: yes, no)"),
    "a probability that is none": (
        PLAIN,
        ("--probability", "question"),
        "found q0, expected a number",
    ),
    "several lists": (
        '{"a": [{"x": 1}], "b": [{"x": 1}]}',
        (),
        "holds several lists of objects (a, b)",
    ),
    "broken JSON": ('[{"verdict": "yes"},', (), "not valid JSON"),
    "a list of lines with a comma missing": (
        '[\n{"verdict": "yes", "label": "no"}\n{"verdict": "no", "label": "no"}\n]',
        (),
        "t.csv:3: not valid JSON (Expecting ',' delimiter)",
    ),
    "a list of numbers": ("[1, 2]", (), "item 1: found 1, expected an object"),
    "uneven columns": ('{"verdict": ["yes"], "label": []}', (), "columns have different lengths"),
    "old Excel": (b"\xd0\xcf\x11\xe0" * 9, (), "is an older Excel file (.xls): save it as .xlsx"),
    "a broken ZIP file": (b"PK\x03\x04 no", (), "cannot be read as a ZIP file"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_table_that_cannot_be_checked_is_one_line(tmp_path, capsys, name):
    content, options, problem = REFUSED[name]
    path = tmp_path / "t.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    assert problem in refuser("check", path, *options)(capsys)


def test_repeated_names_are_numbered(tmp_path, capsys):
    table = text("id,verdict,label,label", lambda n, v, la: (n, v, la, v))
    first = checked(capsys, tmp_path / "t.csv", table, "--human", "label")
    assert measures(first)["kappa"] == pytest.approx(KAPPA)
    assert "'label' is the name of several columns; they were numbered" in first["notes"]
    second = checked(capsys, tmp_path / "t.csv", table, "--human", "label (2)")
    assert measures(second)["kappa"] == 1.0


def test_ratings_count_as_named(tmp_path, capsys):
    """Of 30 ratings 1 to 5 in turn, 12 are 4 or 5: rows 3, 4, 8, 9, ... of which the judge
    passes 3, 4, 8, 9 and 18."""
    for option in ("4,5", "label=4,5", "label>=4", "label>3"):
        printed = checked(capsys, tmp_path / "t.csv", RATED, "--yes", option)
        assert measures(printed)["sensitivity"] == pytest.approx(5 / 12)
    ratings = text(HEADER, lambda n, _v, _: (n, "q", 1 + n % 5, f"{1 + (n + 1) % 5},0"), ";")
    printed = checked(capsys, tmp_path / "t.csv", ratings)
    assert printed["kind"] == "rating"
    assert measures(printed)["mean_absolute_error"] == pytest.approx((4 * 1 + 1 * 4) / 5)


def test_probabilities_are_shares_or_percentages(tmp_path, capsys):
    header = HEADER + ",confidence"
    cells: dict[str, tuple[str, str]] = {
        "shares": ("0.9", "0.1"), "German": ("0,9", "0,1"), "percentages": ("90", "10"),
        "with signs": ("90 %", "10%"),
    }  # fmt: skip
    for pair in cells.values():
        table = text(header, lambda n, v, la, pair=pair: (*plain(n, v, la), pair[v != "yes"]))
        printed = checked(capsys, tmp_path / "t.csv", table, "--probability", "confidence")
        # (0.1 ** 2 * 23 + 0.9 ** 2 * 7) / 30
        assert measures(printed)["brier"] == pytest.approx((0.01 * 23 + 0.81 * 7) / 30)
    wrong = text(header, lambda n, v, la: (*plain(n, v, la), 0.5 if n else 1.5))
    (tmp_path / "t.csv").write_text(wrong)
    refused = refuser("check", tmp_path / "t.csv", "--probability", "confidence")
    assert "t.csv:2: probability of verdict: found 1.5, expected 0 to 1" in refused(capsys)


def test_blank_labels_correct_the_rate(tmp_path, capsys):
    table = text(HEADER, lambda n, v, la: (n, f"q{n % 10}", v, la if n % 2 else "n/a"))
    (judge,) = checked(capsys, tmp_path / "t.csv", table)["judges"]
    assert judge["counts"]["scored"] == 15
    assert judge["rate"]["judged"]["asked"] == 30


@pytest.mark.parametrize(
    ("verdict", "label", "kappa"), [("yes", "", 0.0), ("", "yes", 0.0), ("yes", "yes", None)]
)
def test_a_constant_column_has_no_kappa_above_chance(tmp_path, capsys, verdict, label, kappa):
    """A judge that always says yes, people who do, and both: there is nothing to decide on."""
    table = text(HEADER, lambda n, v, la: (n, f"q{n % 10}", verdict or v, label or la))
    printed = checked(capsys, tmp_path / "t.csv", table)
    assert measures(printed).get("kappa") == kappa
    assert called(capsys, "check", tmp_path / "t.csv", "--bar", "kappa=0.6")[0] in (1, 3)


# Formats -----------------------------------------------------------------------------------------


def write_sheet(path: Path, rows: list[dict[str, Any]], *, second: bool = False) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for row in [list(rows[0]), *map(list, map(dict.values, rows))]:
        book.active.append(row)
    if second:
        book.create_sheet("Notes").append(["label", "verdict"])
    book.save(path)


def write_table(path: Path, rows: list[dict[str, Any]]) -> None:
    """Write rows in the format that the ending names."""
    columns = {name: [row[name] for row in rows] for name in rows[0]}
    kind = path.suffix.lstrip(".")
    if kind in ("csv", "tsv"):
        with path.open("w", newline="", encoding="utf-8") as stream:
            writer = csv.DictWriter(stream, list(rows[0]), delimiter="\t" if kind == "tsv" else ",")
            writer.writeheader()
            writer.writerows(rows)
    elif kind == "xlsx":
        write_sheet(path, rows)
    elif kind == "parquet":
        pyarrow = pytest.importorskip("pyarrow")
        import pyarrow.parquet as parquet

        parquet.write_table(pyarrow.table(columns), path)
    elif kind == "jsonl":
        path.write_text("\n".join(map(json.dumps, rows)))
    else:
        path.write_text(json.dumps(rows if kind == "json" else columns))


def test_a_column_of_a_json_table_may_be_called_columns():
    assert list(json_rows({"columns": ["x"], "label": ["y"]})) == [{"columns": "x", "label": "y"}]
    assert list(json_rows({"columns": ["a"], "data": [["x"]]})) == [{"a": "x"}]


NAMES = ("t.csv", "t.tsv", "t.json", "t.columns", "t.jsonl", "t.parquet", "t.xlsx")
WORDS = [("yes", "no"), ("pass", "fail"), ("Ja", "Nein"), ("1", "0"), ("TRUE", "FALSE")]


@settings(
    deadline=None, max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    st.lists(
        st.tuples(st.booleans(), st.sampled_from((True, False, None))), min_size=4, max_size=20
    ),
    st.sampled_from(WORDS),
    st.text(st.characters(exclude_categories=("C",), codec="utf-8"), max_size=8).filter(
        lambda text: not text.startswith("=")  # a formula, where XLSX is written
    ),
)
def test_every_format_gives_the_same_figures(tmp_path, pairs, words, remark):
    rows = [
        {
            "id": f"r{n}",
            "question": f"q{n % 3}",
            "verdict": words[not verdict],
            "label": "" if label is None else words[not label],
            "remark": f'{remark}, "{n}"',
        }
        for n, (verdict, label) in enumerate(pairs)
    ]
    figures = []
    for name in NAMES:
        write_table(tmp_path / name, rows)
        try:
            result = pnyx.check(str(tmp_path / name), judge="verdict", human="label")
        except InputError as error:
            figures.append(error.problem)
            continue
        row = {**result.row(), "source": ""}
        for disagreement in row["judges"][0]["disagreements"]:
            del disagreement["line"]
        figures.append([row, *(item.texts for item in result.items.items)])
    assert figures == figures[:1] * len(NAMES)
    agreed = [(v, la) for v, la in pairs if la is not None]
    if agreed:
        accuracy = result.judges[0].figures["accuracy"]
        assert accuracy.scored == len(agreed)
        assert accuracy.value == pytest.approx(sum(v == la for v, la in agreed) / len(agreed))


def test_the_second_sheet_is_not_read(tmp_path, capsys):
    rows = [
        dict(zip(HEADER.split(","), plain(n, *pair), strict=True)) for n, pair in enumerate(ROWS)
    ]
    write_sheet(tmp_path / "t.xlsx", rows, second=True)
    code, out, _ = called(capsys, "check", tmp_path / "t.xlsx", "--json")
    assert code == 0
    printed = json.loads(out)
    assert measures(printed)["kappa"] == pytest.approx(KAPPA)
    assert "read the sheet 'Sheet'; other sheets were not" in printed["notes"]


def test_data_in_memory_has_the_same_figures():
    pandas = pytest.importorskip("pandas")
    verdicts, labels = ([pair[side] for pair in ROWS] for side in (0, 1))
    ids = [f"a{n}" for n in range(30)]
    columns = {"verdict": verdicts, "label": labels}
    by_id = dict(zip(ids, verdicts, strict=True)), dict(zip(ids, labels, strict=True))
    same: list[tuple[Any, dict[str, Any]]] = [
        (columns, {}),
        (pandas.DataFrame(columns), {}),
        (pandas.DataFrame(columns, index=pandas.Index(ids, name="id")), {}),
        (by_id[0], {"labels": by_id[1]}),
        (verdicts, {"labels": labels}),
        (pandas.Series(by_id[0]), {"labels": pandas.Series(by_id[1])}),
        ({key: {"verdict": value} for key, value in by_id[0].items()}, {"labels": by_id[1]}),
    ]
    for source, options in same:
        (judge,) = pnyx.check(source, **options).judges
        assert judge.figures["kappa"].value == pytest.approx(KAPPA)
        assert judge.figures["kappa"].scored == 30
    with pytest.raises(InputError, match="found str, expected a dict of column and value"):
        pnyx.check(verdicts)
    with pytest.raises(InputError, match="no verdict has the id of a label"):
        pnyx.check(by_id[0], labels={"x": "yes"})


def test_ties_of_chatbot_arena_are_ties(tmp_path, capsys):
    """LMSYS writes `tie (bothbad)` for two poor answers; both orders agree on 5 of 6 pairs."""
    words = ["model_a", "model_b", "tie", "tie (bothbad)", "tie (bothbad)", "model_b"]
    table = "forward,backward\n" + "".join(f"{w},{w}\n" for w in words[:5]) + "model_a,model_b\n"
    (tmp_path / "p.csv").write_text(table)
    named = "--a-first", "forward", "--b-first", "backward"
    code, out, _ = called(capsys, "check", tmp_path / "p.csv", *named, "--json")
    assert code == 0
    assert json.loads(out)["flips"]["value"] == pytest.approx(1 / 6)
