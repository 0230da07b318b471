"""Tables: the same rows as text of any width, Markdown, HTML and JSON."""

from __future__ import annotations

from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from rich.cells import cell_len

from pnyx.display.tables import Column, Marked, Table, filled
from pnyx.stats.base import Measured

MEAN = Measured(0.7123, 96, 128, 0.65, 0.77)
NONE = Measured(None, 0, 128)
TABLE = Table(
    (
        Column("measure"),
        Column("value", "figure"),
        Column("scored", "counts"),
        Column("part", "share", key="share"),
        Column("meaning"),
    ),
    [
        ("P@10", Marked(MEAN, "▲"), MEAN, 0.125, "of the first 10 found, the share relevant"),
        (),
        ("F1", Marked(NONE), NONE, None, None),
    ],
    notes=("Two questions are left out.",),
    legend=("▲ higher than the baseline",),
    title="What was found",
)
HOSTILE = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)


def test_a_table_that_fits_stands_as_it_is() -> None:
    assert TABLE.text(110).splitlines() == [
        "What was found",
        "",
        "measure                   value     scored   part  meaning",
        "P@10     0.712 ▲ [0.650, 0.770]  96 of 128  12.5%  of the first 10 found, "
        "the share relevant",
        "",
        "F1           -                    0 of 128      -",
        "",
        "Two questions are left out.",
        "▲ higher than the baseline",
    ]


def test_the_widest_column_of_text_is_folded_at_words() -> None:
    lines = TABLE.text(80).splitlines()
    assert lines[3:5] == [
        "P@10     0.712 ▲ [0.650, 0.770]  96 of 128  12.5%  of the first 10 found, the",
        " " * 51 + "share relevant",
    ]


def test_a_table_with_too_many_columns_continues_below_itself() -> None:
    columns = (Column("run"), *(Column(f"measure {n}", "figure") for n in range(4)))
    table = Table(columns, [("bm25.run", *[MEAN] * 4), ("日本語.run", *[MEAN] * 4)])
    blocks = table.text(60).split("\n\n")
    assert [block.splitlines()[0].split() for block in blocks] == [
        ["run", "measure", "0", "measure", "1"],
        ["run", "measure", "2", "measure", "3"],
    ]
    assert all(block.splitlines()[2].startswith("日本語.run") for block in blocks)


@pytest.mark.parametrize("width", [60, 80, 120])
@pytest.mark.parametrize("run", ["bm25", "a-run-of-a-very-long-name-" * 3, "x" * 90])
def test_names_of_measures_are_never_broken(width: int, run: str) -> None:
    names = ["sentence_precision_weighted", "nDCG(dcg='exp-log2')@10", "AP"]
    rows = [(name, run, Marked(MEAN, "▲"), MEAN, f"{run} {run}") for name in names]
    columns = [Column("measure", "measure"), Column("run", "name"), Column("mean", "figure")]
    text = Table([*columns, Column("topics", "counts"), Column("note")], rows).text(width)
    assert max(map(len, text.splitlines())) <= width
    words = {line.split()[0] for line in text.splitlines() if line and line[0] != " "}
    assert words == {"measure", *names}
    assert text.count("[0.650, 0.770]") % 3 == 0  # a run's name gives way before a number does


def test_a_measure_wider_than_the_line_is_broken_last() -> None:
    table = Table([Column("measure", "measure"), Column("n", "count")], [("m" * 40, 1)])
    assert [line.split() for line in table.text(30).splitlines()] == [
        ["measure", "n"],
        ["m" * 27, "1"],
        ["m" * 13],
    ]


def test_pages_can_tell_the_names_of_measures() -> None:
    table = Table([Column("measure", "measure"), Column("n", "count")], [("f1_weighted", 1)])
    assert '<td class="measure">f1_weighted</td><td class="number">1</td>' in table.html()


def test_the_width_is_the_terminals(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "50")
    assert max(map(len, TABLE.text().splitlines())) <= 50
    assert max(map(len, filled("many words " * 20).splitlines())) <= 50


@given(
    st.lists(st.tuples(HOSTILE, HOSTILE), max_size=4),
    st.lists(HOSTILE, min_size=3, max_size=3),
    st.integers(10, 90),
)
def test_no_line_is_wider_than_told_and_none_holds_control_characters(
    texts: list[tuple[str, str]], words: list[str], width: int
) -> None:
    columns = (Column(words[0]), Column("value", "figure"), Column(words[1]))
    rows = [(one, MEAN, other) for one, other in texts]
    drawn = Table(columns, rows, notes=[words[2]], title=words[2]).text(width)
    for line in drawn.split("\n"):
        assert cell_len(line) <= width
        assert line.isprintable()


@pytest.mark.parametrize("width", range(8, 40))
def test_a_number_and_its_percent_sign_stay_on_one_line(width):
    text = "Of 60 pairs 16 flip (27 %, 17 to 40 %), and 5 % of the rest."
    lines = filled(text, width).splitlines()
    assert not [line for line in lines if line.startswith("%")]
    assert " ".join(lines) == text


def test_markdown_shows_every_cell_and_nothing_else() -> None:
    table = Table((Column("a|b"), Column("n", "count")), [("<b>*x*</b> | [y](z)\n# h", 1234)])
    tokens = MarkdownIt("commonmark").enable("table").parse(table.markdown())
    cells = [t for t in tokens if t.type == "inline"]
    assert [cell.content for cell in cells[1::2]] == ["n", "1,234"]
    assert {child.type for cell in cells for child in cell.children or ()} == {"text"}
    shown = "".join(child.content for child in cells[2].children or ())
    assert shown == r"<b>*x*</b> | [y](z)\n# h"


def test_html_is_escaped_and_whole() -> None:
    opened: list[str] = []

    class Parser(HTMLParser):
        def handle_starttag(self, tag: str, attrs: object) -> None:
            opened.append(tag)

    table = Table((Column("<i>"),), [("<script>",), (), ("&",)], notes=["<b>"], title="<u>")
    Parser().feed(table.html())
    assert set(opened) == {"table", "caption", "thead", "tbody", "tr", "th", "td", "p"}
    assert opened.count("tbody") == 2


def test_json_rows_are_unrounded() -> None:
    first, second = TABLE.json()
    assert first["value"] == MEAN.row()
    assert (first["share"], second["share"], second["meaning"]) == (0.125, None, None)
