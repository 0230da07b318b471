"""Leaderboards: how their columns are recognised, and what is written in each layout."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path

import pytest

from pnyx.core.errors import InputError
from pnyx.core.records import LeaderboardCell
from pnyx.formats.reports.leaderboard_layouts import (
    UnscoredCells,
    averaged,
    columns_of,
    detect_layout,
    header_of,
    settled,
    write_ranking,
    write_trec_eval,
)
from pnyx.formats.reports.leaderboards import Leaderboard, _file_run, read_leaderboard


@pytest.mark.parametrize(
    ("line", "wide", "cells"),
    [
        ("a\tb c\td", (3,), ["a", "b c", "d"]),
        ("a\tb c\td", (4,), ["a", "b", "c", "d"]),
        (" a  b\tc \r\n", (3,), ["a", "b", "c"]),
        ("a\u00a0b c", (2,), ["a\u00a0b", "c"]),
    ],
)
def test_a_line_is_split_at_tabs_or_spaces(
    line: str, wide: tuple[int, ...], cells: list[str]
) -> None:
    assert columns_of(line, wide) == cells


def test_a_header_names_a_measure_and_a_value() -> None:
    assert header_of("RunTag Metric qid Score".split()) == ("run", "measure", "topic", "value")
    assert header_of("measure topic x".split()) is None
    assert header_of("x value".split()) is None


UNCLEAR = "is a line of a leaderboard, its columns"


@pytest.mark.parametrize(
    ("lines", "layout", "sure"),
    [
        ([], None, None),
        (["run measure topic value"], "tot", "tot"),
        (["measure run topic value"], None, None),
        (["map all 0.5"], "trec_eval", "trec_eval"),
        (["all map 0.5"], "ir_measures", "ir_measures"),
        (["map q1 0.5"], None, "trec_eval"),
        (["q1 map 0.5"], None, "ir_measures"),
        (["runid all r", "map q1 0.5", "map all 1"], "trec_eval", "trec_eval"),
        (["x all y"], None, None),
        (["all all 1"], None, UNCLEAR),
        (["all Q0 r 1 0.5 m"], "ranking", "ranking"),
        (["1 Q0 r 1 0.5 m"], None, "ranking"),
        (["all Q0 r 1 x m"], None, "ranking"),
        (["r m all 0.5"], "tot", "tot"),
        (["r all m 0.5"], "ir_measures", "ir_measures"),
        (["all r m 0.5"], "rag4reports", "rag4reports"),
        (["1 0 d 1"], None, UNCLEAR),  # qrels
        (["r m all 1"], "tot", "tot"),
        (["all r m 1"], None, "rag4reports"),  # or qrels of a topic named all
        (["r map 1 0.5"], "tot", "tot"),
        (["a b c 0.5"], None, UNCLEAR),  # four words may be anything
        (["a b c 0.5", "a b d 0.6"], UNCLEAR, UNCLEAR),
        (["all 1 c 1", "b 2 all 2"], None, UNCLEAR),
        (["r m all 0.5", "r m"], None, "tot"),
        (["r m all 0.5", "r m 1 x"], None, "tot"),
        (["a b c d e"], None, None),
        (["r m all nan", "r m 1 0.5"], "tot", "tot"),
    ],
)
def test_the_layout_of_lines(lines: list[str], layout: str | None, sure: str | None) -> None:
    for is_sure, expected in ((False, layout), (True, sure)):
        if expected == UNCLEAR:
            with pytest.raises(InputError, match=UNCLEAR):
                detect_layout(lines, sure=is_sure)
        else:
            assert detect_layout(lines, sure=is_sure) == expected


@pytest.mark.parametrize(
    ("known", "layout"),
    [
        ({"run": ["a"], "topic": ["b"], "measure": ["c"]}, "ir_measures"),
        ({"run": ["b"], "topic": ["a"], "measure": ["c"]}, "rag4reports"),
        ({"run": ["a"], "topic": ["c"], "measure": ["b"]}, "tot"),
        ({"run": ["x"], "topic": ["b"], "measure": ["c"]}, None),
    ],
)
def test_another_leaderboard_tells_columns_apart(
    known: dict[str, Sequence[str]], layout: str | None
) -> None:
    if layout is None:
        with pytest.raises(InputError, match=UNCLEAR):
            detect_layout(["a b c 0.5"], sure=True, known_ids=known)
    else:
        assert detect_layout(["a b c 0.5"], sure=True, known_ids=known) == layout


def cell(run: str, topic: str, value: float | None, measure: str = "m") -> LeaderboardCell:
    return LeaderboardCell(run, topic, measure, value)


CELLS = [cell("r", "1", 0.5), cell("s", "1", 0.5), cell("t", "1", 0.3), cell("t", "2", None)]


@pytest.mark.parametrize(("unscored", "more"), [("skip", []), ("zero", ["2\tQ0\tt\t1\t0.0\tm"])])
def test_equal_values_have_the_same_rank(unscored: UnscoredCells, more: list[str]) -> None:
    stream = io.StringIO()
    write_ranking(stream, settled(CELLS, unscored))
    lines = ["1\tQ0\tr\t1\t0.5\tm", "1\tQ0\ts\t1\t0.5\tm", "1\tQ0\tt\t3\t0.3\tm"]
    assert stream.getvalue().splitlines() == lines + more


def test_unscored_cells_are_refused_unless_something_else_is_chosen() -> None:
    with pytest.raises(InputError, match=r"^t, topic 2: m is unscored: choose whether to skip it"):
        list(settled(CELLS))


def test_a_mean_is_over_the_scored_topics() -> None:
    cells = [cell("r", "1", 0.5), cell("r", "2", 1.0), cell("r", "3", None), cell("s", "1", None)]
    assert list(averaged(cells)) == [*cells, cell("r", "all", 0.75), cell("s", "all", None)]


@pytest.mark.parametrize(
    ("cells", "problem"),
    [
        ([cell("r", "1", float("inf"))], "'r': value inf is not finite"),
        ([cell("r", "1", 1, "runid")], "trec_eval cannot hold a measure named runid"),
        ([cell("r", "1", 1), cell("s", "1", 1)], "one run per file, found 'r' and 's'"),
        ([cell("r r", "1", 1)], "run 'r r' is empty or holds white space"),
    ],
)
def test_what_trec_eval_cannot_hold(cells: list[LeaderboardCell], problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        write_trec_eval(io.StringIO(), cells)


def test_trec_eval_names_the_run_first() -> None:
    stream = io.StringIO()
    write_trec_eval(stream, [cell("r", "1", 1), cell("r", "all", 0.5)])
    assert stream.getvalue() == "runid\tall\tr\nm\t1\t1.0\nm\tall\t0.5\n"


@pytest.mark.parametrize(
    ("path", "run"),
    [
        ("-", "stdin"),
        ("a/run.txt.gz", "run"),
        ("x.eval", "x"),
        ("x.run.txt", "x.run"),
        (".txt", ".txt"),
        ("a.b.TREC_EVAL", "a.b"),
    ],
)
def test_a_run_is_named_after_its_file(path: str, run: str) -> None:
    assert _file_run(path) == run


def test_rows_of_a_leaderboard_begin_with_those_over_all_topics() -> None:
    board = Leaderboard("n", (CELLS[0], CELLS[3]), (cell("u", "all", 0.5, "k"),))
    assert board.rows() == [
        {"run": "u", "measure": "k", "topic": None, "value": 0.5},
        {"run": "r", "measure": "m", "topic": "1", "value": 0.5},
        {"run": "t", "measure": "m", "topic": "2", "value": None},
    ]
    assert (board.runs, board.topics, board.measures) == (["r", "t", "u"], ["1", "2"], ["m", "k"])
    assert board.values == {("m", "r", "1"): 0.5, ("m", "t", "2"): None}
    assert str(board).splitlines()[0] == "Leaderboard n: 3 runs, 2 topics"


def test_a_folder_of_leaderboards_has_each_cell_once(tmp_path: Path) -> None:
    for run in "ab":
        (tmp_path / f"{run}.txt").write_text("map\t1\t0.5\nmap\tall\t0.5\n")
    board = read_leaderboard(tmp_path)
    assert [(c.run_id, c.topic_id) for c in board.cells] == [("a", "1"), ("b", "1")]
    assert [(c.run_id, c.topic_id) for c in board.stated] == [("a", "all"), ("b", "all")]
    (tmp_path / "c.txt").write_text("runid\tall\ta\nmap\t2\t1\nmap\t1\t0.5\n")
    with pytest.raises(InputError, match=r"c\.txt: duplicate cell 'a 1 map', also in .*a\.txt$"):
        read_leaderboard(tmp_path)
    (tmp_path / "manifest.json").write_text("{}")
    with pytest.raises(InputError, match="is a results folder"):
        read_leaderboard(tmp_path)
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="is a folder without files"):
        read_leaderboard(tmp_path / "empty")
