"""Tables: types of columns in Parquet, rows after broken ones, what a table cannot hold."""

from __future__ import annotations

import io
import json
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import pnyx
from pnyx.core.errors import InputError
from pnyx.core.records import Argument, Document, Premise
from pnyx.formats import FORMATS
from pnyx.formats.base import Options, files_of
from pnyx.formats.documents.tables import (
    delimiter_of,
    first_line,
    numbered_rows,
    read_parquet,
    write_parquet,
)
from pnyx.formats.file_account import FileAccount, FileOutcome


@pytest.mark.parametrize(
    ("column", "read"),
    [
        ([1, 2.5], [1.0, 2.5]),
        ([None, True], [None, True]),
        ([None, 1, None], [None, 1, None]),
        ([True, 1], ["true", "1"]),
        ([1, "a"], ["1", "a"]),
        ([2.5, "a", None], ["2.5", "a", None]),
        ([[1], {"b": "ä"}], ["[1]", '{"b": "ä"}']),
        ([None, None], [None, None]),
    ],
)
def test_a_column_of_parquet_has_one_type(
    column: list[Any], read: list[Any], tmp_path: Path
) -> None:
    rows = [{"n": value} for value in column]
    write_parquet(tmp_path / "a.parquet", partial(iter, rows), {})
    found = list(read_parquet(tmp_path / "a.parquet"))
    assert found == [(number, {"n": value}) for number, value in enumerate(read, 1)]
    assert [type(row["n"]) for _, row in found] == list(map(type, read))


def test_columns_of_parquet_may_be_given_and_missing(tmp_path: Path) -> None:
    rows = [{"b": 1}, {"c": 2}]
    write_parquet(tmp_path / "a.parquet", partial(iter, rows), {"a": str, "c": float})
    found = [row for _, row in read_parquet(tmp_path / "a.parquet")]
    assert found == [{"a": None, "c": None, "b": 1}, {"a": None, "c": 2.0, "b": None}]
    (tmp_path / "b.parquet").write_bytes(b"PAR1 broken")
    with pytest.raises(InputError, match="cannot be read as Parquet"):
        list(read_parquet(tmp_path / "b.parquet"))


def rows_of(lines: Iterable[str], delimiter: str = ",", *, resume: bool = False) -> list[Any]:
    return list(numbered_rows(enumerate(lines, 1), delimiter, [], resume=resume))


def test_reading_stops_at_a_broken_row_or_goes_on_after_its_first_line() -> None:
    lines = ["a,b\n", '1,"x\ny"z\n', "2,c\n", '3,"d\n', "4,e\n"]
    stopped = rows_of(lines)
    assert stopped[0] == (1, ["a", "b"])
    assert [number for number, _ in stopped] == [1, 2]
    assert stopped[1][1].startswith("not valid CSV (")
    resumed = rows_of(lines, resume=True)
    assert [(n, row) for n, row in resumed if isinstance(row, list)] == [
        (1, ["a", "b"]), (3, ["2", "c"]), (5, ["4", "e"]),
    ]  # fmt: skip
    assert [n for n, row in resumed if isinstance(row, str)] == [2, 4]


def test_the_first_line_of_a_table_and_its_delimiter() -> None:
    assert first_line(b"\r\n\na;b,c\r\nd") == "a;b,c"
    assert delimiter_of(b"a;b;c,d\n,,,,") == ";"
    assert delimiter_of(b"a\tb") == "\t"
    assert delimiter_of(b"a,b;c") == ","


def written(name: str, *records: Any) -> str:
    stream = io.StringIO()
    writer = FORMATS[name].writer
    assert writer is not None
    writer(stream, records)
    return stream.getvalue()


def test_documents_and_arguments_are_written_as_tables() -> None:
    document = Document("d", 'a "b", c', extra={"year": "2024"})
    assert written("csv", document, Document("e", "x\ry")) == (
        'id,title,text,url,source,year\nd,,"a ""b"", c",,,2024\ne,,"x\ry",,,\n'
    )
    assert written("tsv", document).splitlines()[1] == 'd\t\t"a ""b"", c"\t\t\t2024'
    argument = Argument("a", "C", (Premise("p"), Premise("ä")), "pro", "T")
    assert written("csv", argument).splitlines()[1] == 'a,C,"[""p"", ""ä""]",pro,C. p. ä.,T,,'
    assert written("csv") == ""


@pytest.mark.parametrize(
    ("records", "problem"),
    [
        ([Document("d", "t"), Argument("a", "C")],
         "'a': a table cannot hold documents and arguments"),
        ([Document("d", "t"), Document("e", "t", extra={"x": "y"})],
         "'e': a table cannot hold the field x, which the first record does not have"),
        ([Document("d", "t", extra={"x": 5})], "the field x (only text that is not empty)"),
        ([Document("d", "t", extra={"x": ""})], "the field x (only text that is not empty)"),
        ([Document("d", "t", extra={"premise": "y"})], "the field premise (only text"),
        ([Document("d", "t", extra={" x": "y"})], "' x' cannot be the name of a column"),
        ([Document("d", "t\0")], "'d': a table cannot hold a NUL character"),
        ([Argument("a", "C", (Premise("p", "pro"),))], "the stance or annotations of a premise"),
    ],
)  # fmt: skip
def test_what_a_table_cannot_hold(records: list[Any], problem: str) -> None:
    with pytest.raises(InputError) as caught:
        written("csv", *records)
    assert problem in caught.value.problem


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ({"id": "a", "premise": "p", "conclusion": "C"}, ("C", ["p"])),
        ({"id": "a", "premises": '["p", "q"]', "conclusion": ""}, ("", ["p", "q"])),
        ({"id": "a", "premises": "['p']", "conclusion": "C"}, ("C", ["p"])),
        ({"id": "a", "premises": "", "conclusion": "C"}, ("C", [])),
        ({"id": "a", "premises": "p", "conclusion": "C"},
         "premises: found p, expected a JSON list"),
        ({"id": "a", "premises": "[1]", "conclusion": "C"}, "premises: found [1], expected a JSON"),
        ({"id": "a", "text": ""}, "text is empty"),
    ],
)  # fmt: skip
def test_a_row_with_premises_is_an_argument(
    row: dict[str, str], expected: Any, tmp_path: Path
) -> None:
    (tmp_path / "a.csv").write_text(written_row(row))
    records = pnyx.read_evidence(tmp_path / "a.csv", format="csv", strict_files=True)
    if isinstance(expected, str):
        with pytest.raises(InputError) as caught:
            list(records)
        assert caught.value.problem.startswith(expected)
    else:
        (found,) = records
        assert isinstance(found, Argument)
        assert (found.conclusion, [p.text for p in found.premises]) == expected


def written_row(row: dict[str, str]) -> str:
    cells = (json.dumps(cell) if not cell.startswith("[") else f'"{cell}"' for cell in row.values())
    quoted = (cell.replace('["p", "q"]', '[""p"", ""q""]') for cell in cells)
    return f"{','.join(row)}\n{','.join(quoted)}\n"


# Folders -----------------------------------------------------------------------------------------


def test_files_of_a_folder_are_sorted_and_visible(tmp_path: Path) -> None:
    for name in ("b", "a", ".c"):
        (tmp_path / name).touch()
    (tmp_path / "d").mkdir()
    assert files_of(str(tmp_path)) == [str(tmp_path / "a"), str(tmp_path / "b")]
    assert files_of(str(tmp_path / "a")) == [str(tmp_path / "a")]
    assert files_of("-") == ["-"]


def test_an_account_is_reported_once_and_refused_if_strict() -> None:
    read, lost = (
        FileOutcome("a", "read", assumed="UTF-16", rows=2),
        FileOutcome("b", "other", "run"),
    )
    accounts: list[FileAccount] = []
    lines: list[str] = []
    whole = FileAccount("f", [read])
    Options(on_account=accounts.append, on_warning=lines.append).report(whole)
    assert (accounts, lines) == ([whole], [])
    Options(on_warning=lines.append).report(whole)
    assert lines == [
        "f: not in UTF-8, encoding assumed: a (UTF-16)",
        "f: rows that cannot be read were left out: a (2)",
    ]
    lines.clear()
    partly = FileAccount("f", [lost, FileOutcome("c", "read", column="x")])
    Options(on_warning=lines.append).report(partly)
    assert lines == [
        "f: 2 files: 1 read, 1 with other data (b: run)",
        "f: no column named text, longest column taken: c ('x')",
    ]
    Options(strict_files=True).report(whole)
    with pytest.raises(InputError, match=r"^f: 2 files: 1 read, 1 with other data \(b: run\)$"):
        Options(strict_files=True).report(partly)
    with pytest.raises(InputError, match=r"^f: this format has no columns to map$"):
        Options({"a": "b"}).refuse_columns("f")
    Options().refuse_columns("f")
