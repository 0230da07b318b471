"""Limits of messages, names, progress and printed results, each at its boundary."""

from __future__ import annotations

import gzip
import io
import sys
from types import SimpleNamespace
from typing import Any

import pytest

from pnyx.core import native, progress
from pnyx.core.compression import decompressed_head, plain_name, utf8_head
from pnyx.core.errors import InputError, PnyxError, count_of, escaped, shorten
from pnyx.core.files import (
    check_output,
    clean_value,
    parse_json_object,
    read_head,
    read_lines,
    scan_lines,
)
from pnyx.core.placement import make_folder, temporary, temporary_of
from pnyx.core.records import (
    Argument,
    Document,
    Passage,
    Premise,
    Question,
    as_question,
    document_id,
    judged_text,
)
from pnyx.core.restricted_mode import HiddenError, no_text, reason_word, textless
from pnyx.core.tabular import Result, cut_to, shown_cell

# Messages -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("show", "most"), [(shorten, 80), (escaped, 200), (lambda text: str(PnyxError(text)), 2000)]
)
def test_a_message_is_cut_after_its_limit(show, most):
    assert show("a" * most) == "a" * most
    assert show("a" * (most + 1)) == "a" * (most - 1) + "…"
    assert show("\n" * (most // 2)) == "\\n" * (most // 2)
    assert show("a" + "\n" * (most // 2)) == "a" + "\\n" * (most // 2 - 1) + "…"


def test_a_number_agrees_with_its_noun():
    assert [count_of(n, "file") for n in (0, 1, 2, 1000)] == [
        "0 files", "1 file", "2 files", "1,000 files"
    ]  # fmt: skip
    assert [count_of(n, "copy", "copies") for n in (1, 2)] == ["1 copy", "2 copies"]


def test_a_password_is_hidden_wherever_the_address_ends():
    assert escaped("http://ann:secret@host/x") == "http://***@host/x"
    assert escaped("x:/ann@host") == "x:/***@host"
    assert escaped("a" * 190 + " http://ann:secret" + "b" * 1900 + "@host") == (
        "a" * 190 + " http://***@host"[:9] + "…"
    )


def test_an_error_says_where_it_is():
    assert str(InputError("bad", path="a.jsonl", line=3)) == "a.jsonl:3: bad"
    assert str(InputError("bad", path="-", line=0)) == "standard input:0: bad"
    assert str(InputError("bad", path="")) == "'': bad"
    assert str(InputError("bad", line=3)) == "bad"


# Progress -----------------------------------------------------------------------------------------


@pytest.fixture
def clock(monkeypatch):
    now = SimpleNamespace(seconds=0.0)
    fake = SimpleNamespace(monotonic=lambda: now.seconds)
    monkeypatch.setattr("pnyx.core.progress.time", fake)
    return now


def test_a_log_gets_a_line_every_thirty_seconds(clock, capsys):
    show = progress._logged("judging")
    for seconds in (29.9, 30.0, 59.9, 60.0):
        clock.seconds = seconds
        show(0, None, "")
    assert capsys.readouterr().err == "pnyx: judging: 0\n" * 2


@pytest.mark.parametrize(
    ("at", "rate"),
    [
        ((0.0, 0.99, 2.98), None),  # counted from 0.99; two seconds are needed
        ((0.0, 0.99, 2.99), 5.0),  # ten more items in two seconds
        ((0.0, 1.0, 2.0), 10.0),  # the first second is over: counted from 0
        ((0.0, 1.0, 1.99), None),
    ],
)
def test_a_rate_is_measured_after_one_second_over_two(at, rate):
    pace = progress._Pace()
    for seconds, done in zip(at, (0, 10, 20), strict=True):
        pace.take(seconds, done, 100, free=False)
    assert pace.rate == pytest.approx(rate) if rate else pace.rate is None
    assert pace.left == (f"about {80 / rate:.0f} s left" if rate else "")


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0.4, "0 s"), (89.9, "90 s"), (90, "2 min"), (5399, "90 min"), (5400, "1.5 h")],
)
def test_a_duration_has_a_fitting_unit(seconds, words):
    assert progress._duration(seconds) == words


@pytest.mark.parametrize(
    ("rate", "words"), [(None, ""), (0.1, "0.1/s"), (0.099, "5.9/min"), (1234.5, "1,234.5/s")]
)
def test_a_slow_rate_is_by_the_minute(rate, words):
    assert progress._rate(rate) == words


def test_a_bar_is_shown_after_seven_tenths_of_a_second(clock, monkeypatch):
    shown: list[int] = []

    class Bar:
        def __enter__(self):
            return lambda done, of, word, *, free: shown.append(done)

        def __exit__(self, *_):
            return None

    monkeypatch.setattr(progress, "_on_terminal", lambda doing: Bar())
    monkeypatch.setattr(sys, "stderr", SimpleNamespace(isatty=lambda: True))
    monkeypatch.delenv("PNYX_PROGRESS", raising=False)
    with progress.showing("judging") as show:
        for done, seconds in enumerate((0.69, 0.7, 0.71)):
            clock.seconds = seconds
            show(done, 3, "")
    assert shown == [1, 2]


def test_a_bar_in_a_notebook_is_drawn_five_times_a_second(clock):
    drawn: list[str] = []

    def update(data: dict[str, str], **_: object) -> None:
        drawn.append(data["text/plain"])

    display: Any = lambda *_, **__: SimpleNamespace(update=update)  # noqa: E731
    clock.seconds = 10.0
    with progress._in_notebook("judging", display) as show:
        for done, seconds in enumerate((10.0, 10.125, 10.25, 10.5)):
            clock.seconds = seconds
            show(done, 4, "note")
    assert drawn == ["judging 0 of 4  note", "judging 2 of 4  note", "judging 3 of 4  note", ""]


# Compiled search ----------------------------------------------------------------------------------


def test_compiling_is_advised_from_20000_documents(monkeypatch):
    monkeypatch.setattr(native, "find_spec", lambda _: None)
    assert native.advise_compiling(19_999) == ""
    advice = "Index and search 20,000 documents faster: pip install 'pnyx[fast]'"
    assert native.advise_compiling(20_000) == advice
    monkeypatch.setattr(native, "find_spec", lambda _: object())
    assert native.advise_compiling(20_000) == ""


# Files --------------------------------------------------------------------------------------------


def test_a_line_has_16_megabytes_at_most_with_its_end(tmp_path):
    path = tmp_path / "long.txt"
    path.write_bytes(b"a" * (16 * 1024 * 1024 - 1) + b"\nb\n")
    assert [(number, len(line)) for number, line in read_lines(path)] == [(1, 16_777_215), (2, 1)]
    path.write_bytes(b"b\n" + b"a" * (16 * 1024 * 1024) + b"\n")
    with pytest.raises(InputError, match=r"long\.txt:2: line is longer than 16 MB"):
        list(read_lines(path))


@pytest.mark.parametrize(("length", "is_named"), [(200, True), (201, False)])
def test_a_temporary_is_named_after_its_target_up_to_200_bytes(tmp_path, length, is_named):
    name = "é" * (length // 2) + "a" * (length % 2)
    with temporary(tmp_path / name) as path:
        assert (temporary_of(path.name) == name) is is_named
        assert temporary_of(path.name) != ""


@pytest.mark.parametrize(("length", "allowed"), [(255, True), (256, False)])
def test_a_file_name_has_255_bytes_at_most(tmp_path, length, allowed):
    path = tmp_path / ("é" * (length // 2) + "a" * (length % 2))
    if allowed:
        check_output(path, "file")
    else:
        with pytest.raises(PnyxError, match="File name too long"):
            check_output(path, "file")


def test_outputs_are_of_the_expected_type(tmp_path):
    file = tmp_path / "file"
    file.write_text("x")
    check_output("-", "file")
    check_output(tmp_path, "folder")
    check_output(tmp_path / "new" / "deep", "files")
    for path, writes, words in (
        ("-", "folder", "expected the name of a folder to write"),
        ("", "file", "expected the name of a file to write"),
        (tmp_path, "file", "Is a directory"),
        (file, "files", "found a file, expected a folder to write into"),
        (file / "below", "file", "Not a directory"),
        ("a\0b", "file", "found a NUL byte"),
    ):
        with pytest.raises(PnyxError, match=words):
            check_output(path, writes)
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["file"]


def test_folders_are_made_with_their_parents(tmp_path):
    make_folder(tmp_path / "a" / "b", 0o700)
    assert (tmp_path / "a" / "b").stat().st_mode & 0o777 == 0o700
    assert (tmp_path / "a").stat().st_mode & 0o700 == 0o700
    (tmp_path / "file").write_text("")
    with pytest.raises(NotADirectoryError):
        make_folder(tmp_path / "file" / "below")
    with pytest.raises(FileExistsError):
        make_folder(tmp_path / "file")
    make_folder(tmp_path / "a")


def test_a_fault_of_json_has_its_line_and_column():
    for line, words in (
        ('{"a": 1,}', r"f:7: not valid JSON \(.* at column"),
        ('{"a":\n 1 x}', r"f:8: not valid JSON \(.* at column 4\)"),
        ("[1]", r"f:7: found \[1\], expected a JSON object"),
        ('{"a": NaN}', r"NaN is not a JSON number"),
        ('{"a": 1e999}', r"1e999 is out of range"),
        ('{"a": 1} {}', r"f:7: not valid JSON \(Extra data"),
    ):
        with pytest.raises(InputError, match=words):
            parse_json_object(line, path="f", number=7)
    odd = '{"a": ["\\ud800", {"\\u0000": 1}]}'
    assert parse_json_object(odd, path="f", number=7) == {"a": ["\ufffd", {"\ufffd": 1}]}
    kept = parse_json_object(odd, path="f", number=7, keep_surrogates=True)
    assert kept == {"a": ["\ud800", {"\0": 1}]}
    assert parse_json_object(' {"a": 1} ', path="f", number=7) == {"a": 1}
    assert clean_value({"a\0": ("b\0",)}) == {"a\ufffd": ("b\0",)}


def test_lines_that_are_not_text_are_named_and_the_others_read(tmp_path):
    path = tmp_path / "mixed.txt"
    path.write_bytes(b"\xef\xbb\xbffirst\r\nse\xe9\nth\0rd\n\xef\xbb\xbflast")
    lines = [line if isinstance(line, str) else str(line) for _, line in scan_lines(path)]
    assert lines[0] == "first"
    assert "mixed.txt:2: found byte 0xe9 at column 3, expected UTF-8" in lines[1]
    assert "mixed.txt:3: found a NUL byte, expected text" in lines[2]
    assert lines[3] == "\ufefflast"  # a mark of byte order is one in the first line only
    kept = [line for _, line in scan_lines(path, keepends=True) if isinstance(line, str)]
    assert kept == ["first\r\n", "\ufefflast"]


def test_the_first_bytes_of_a_file_are_decompressed_utf8(tmp_path):
    (tmp_path / "a.gz").write_bytes(gzip.compress(b"0123456789"))
    assert read_head(tmp_path / "a.gz", 4) == b"0123"
    assert decompressed_head(gzip.compress(b"0123456789"), 4) == b"0123"
    assert decompressed_head(b"plain", 4) == b"plain"
    assert utf8_head("\ufeffé".encode("utf-16-le")) == "é".encode()
    assert utf8_head(b"\xef\xbb\xbfa") == b"a"
    assert [plain_name(name) for name in ("a.JSON.GZ", "b.xz", "c.bz2", "d.zip")] == [
        "a.JSON", "b", "c", "d.zip",
    ]  # fmt: skip


# Records ------------------------------------------------------------------------------------------


def test_the_text_of_an_argument_ends_its_parts():
    parts = (Premise("It works."), Premise(" "), Premise("Is it so?"), Premise("Yes"))
    assert Argument("a", "Ban cars", parts).text == "Ban cars. It works. Is it so? Yes."
    assert Argument("a", "Ban cars", parts, body="").text == ""


def test_what_is_judged_is_the_title_and_the_text():
    assert judged_text(Document("d", "Text.", "Title")) == "Title\nText."
    assert judged_text(Document("d", "Title in text.", "Title")) == "Title\nTitle in text."
    assert judged_text(Document("d", "Text.", " ")) == "Text."
    assert judged_text(Argument("a", "Ban cars")) == "Ban cars."
    assert judged_text(Argument("a", "Ban cars", body="Other.")) == "Ban cars\nOther."
    part = Passage("d", 1, 2, "Costs", "Ann")
    assert judged_text(Document("d#1", "Text.", passage=part)) == "Costs\nAnn:\nText."
    assert document_id(Document("d#1", "Text.", passage=part)) == "d"
    assert part.described == "passage 1 of 2, under “Costs”, by Ann"
    assert Passage("d").described == ""


def test_a_question_is_a_text_or_a_question():
    question = Question("q", "Why?")
    assert as_question(question) is question
    assert as_question("E\u0301tat?").text == "État?"
    for value, words in ((" ", "found an empty text"), (3, "found int"), (None, "found NoneType")):
        with pytest.raises(InputError, match=words):
            as_question(value)  # type: ignore[arg-type]


# Restricted mode ----------------------------------------------------------------------------------


def test_a_hidden_error_names_the_last_three_places():
    def deep(levels: int) -> None:
        if not levels:
            raise ValueError("a text")
        deep(levels - 1)

    with pytest.raises(HiddenError) as caught, no_text():
        deep(3)
    message = str(caught.value)
    assert message.startswith("ValueError at test_core_limits.py:")
    assert message.count("test_core_limits.py:") == 3
    assert ": a text" not in message
    with pytest.raises(ValueError, match="a text"), no_text(ValueError):
        deep(0)


def test_texts_are_left_out_of_rows(monkeypatch):
    row = {"id": "i", "text": "secret", "unscored": "refused: secret", "notes": [1, "secret"],
           "a" * 40: 1, "a" * 41: 2, "Odd name": 3, "mine": "kept"}  # fmt: skip
    monkeypatch.setenv("PNYX_NO_TEXT", "1")
    assert textless(row, ["mine"]) == {
        "id": "i", "text": "", "unscored": "refused", "notes": [1, ""], "a" * 40: 1, "mine": "kept",
    }  # fmt: skip
    assert reason_word("A text: x") == "other"
    assert shorten("secret") == "<6 characters>"
    assert [shorten(value) for value in (3, 0.5, None, True)] == ["3", "0.5", "None", "True"]
    monkeypatch.delenv("PNYX_NO_TEXT")
    assert reason_word("A text: x") == "A text"


# Printed results ----------------------------------------------------------------------------------


class Printed(Result):
    def __init__(self, rows, heading=("Title",), ending=()) -> None:
        self._rows, self._above, self._below = rows, list(heading), list(ending)

    def rows(self):
        return self._rows

    def _heading(self):
        return self._above

    def _ending(self):
        return self._below


@pytest.mark.parametrize(
    ("rows", "heading", "lines", "rest"),
    [
        (20, 1, 22, ""),
        (21, 1, 23, "1 more row: .to_frame()"),
        (22, 1, 23, "2 more rows: .to_frame()"),
        (20, 3, 24, ""),  # 25 lines, less a heading of 3, the names and the line of the rest
        (21, 4, 25, "2 more rows: .to_frame()"),
    ],
)
def test_a_printed_result_has_twenty_rows_and_25_lines(rows, heading, lines, rest):
    result = Printed([{"name": f"r{n}"} for n in range(rows)], ["Title"] * heading)
    printed = repr(result).split("\n")
    assert len(printed) == lines
    assert (printed[-1] if rest else "") == rest
    html = result._repr_html_()
    assert html.count("<td>") == min(rows, 20)


def test_a_printed_result_is_a_hundred_columns_wide():
    def printed(width: int) -> list[str]:
        row = {"a": "x" * 60, "b": "y" * (width - 62)}
        return repr(Printed([row])).split("\n")

    assert printed(100)[2] == "x" * 60 + "  " + "y" * 38
    assert printed(101)[2] == "x" * 58 + "…  " + "y" * 39
    narrow = {f"c{n}": "z" * 30 for n in range(6)}
    assert repr(Printed([narrow])).split("\n")[-1] == "1 more column: .to_frame()"  # 5 of 16 fit
    cells = repr(Printed([narrow])).split("\n")[2].split()
    assert [len(cell) for cell in cells] == [16] * 5


@pytest.mark.parametrize(
    ("value", "shown"),
    [(True, "yes"), (False, "no"), (0.8626, "0.863"), (1200, "1,200"), (None, ""),
     ("a" * 60, "a" * 60), ("a" * 61, "a" * 59 + "…")],
)  # fmt: skip
def test_a_cell_is_short(value, shown):
    assert shown_cell(value) == shown


@pytest.mark.parametrize(
    ("text", "width", "cut"),
    [("abc", 3, "abc"), ("abcd", 3, "ab…"), ("日本", 4, "日本"), ("日本語", 5, "日本…"),
     ("日本語", 4, "日…"), ("e\u0301e\u0301", 2, "e\u0301e\u0301")],
)  # fmt: skip
def test_a_text_is_cut_to_columns(text, width, cut):
    assert cut_to(text, width) == cut


def test_cells_hold_intervals_and_counts():
    row = {"value": 0.5, "low": 0.25, "high": 0.75, "scored": 3, "asked": 4, "group": ""}
    part = {**row, "group": "g", "value": 0.1}
    without = {**row, "value": 0.7, "low": None}
    lines = repr(Printed([row, part, without])).split("\n")
    assert [line.split() for line in lines[1:]] == [
        ["value", "scored"],
        ["0.500", "[0.250,", "0.750]", "3", "of", "4"],
        ["0.700", "3", "of", "4"],
        ["1", "more", "row:", ".to_frame()"],
    ]
    assert "0.100" in repr(Printed([part]))  # there are no others


def test_standard_input_is_read_once(monkeypatch):
    stream = io.TextIOWrapper(io.BytesIO(b"first\nsecond\n"))
    monkeypatch.setattr(sys, "stdin", stream)
    assert read_head("-", 3)[:3] == b"fir"
    assert [line for _, line in read_lines("-")] == ["first", "second"]
