"""Leaderboards in the formats of the campaigns: told apart, read, written, and refused."""

from __future__ import annotations

import io
import json
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pnyx.cli import main
from pnyx.core.errors import InputError
from pnyx.core.records import LeaderboardCell as Cell
from pnyx.formats import (
    FORMATS,
    averaged,
    faults,
    read_leaderboard,
    settled,
    sniff,
    write_leaderboard,
)
from tries import tries

NAMES = [name for name, form in FORMATS.items() if form.kind == "leaderboard"]
MANY = [name for name in NAMES if name != "trec_eval"]
CELLS = [
    Cell(run, topic, measure, value)
    for run, base in (("a", 0.5), ("b", 0.25))
    for topic, more in (("t1", 0.0), ("t2", 0.125))
    for measure, value in (("ndcg", base + more), ("score", 1.0))
]


@pytest.fixture
def write(tmp_path):
    def write(text: str, name: str = "f") -> str:
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="")
        return str(path)

    return write


@pytest.fixture
def call(capsys):
    def call(*argv: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as stopped:
            main(list(argv))
        return stopped.value.code, *capsys.readouterr()

    return call


def written(cells, name: str) -> str:
    stream = io.StringIO()
    write_leaderboard(stream, cells, name)
    return stream.getvalue()


tokens = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters=" \t\r\n\0"), min_size=1, max_size=6
)
cells = st.builds(
    Cell, tokens.map("r{}".format), tokens.map("t{}".format) | st.just("all"),
    tokens.map("m{}".format), st.floats(-1e9, 1e9),
)  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=tries(40), deadline=None)
@given(
    found=st.lists(
        cells, min_size=1, max_size=6, unique_by=lambda c: (c.run_id, c.topic_id, c.measure)
    )
)
def test_what_was_written_is_read_again(name, found, tmp_path_factory):
    if name == "trec_eval":
        found = [cell for cell in found if cell.run_id == found[0].run_id]
    path = tmp_path_factory.getbasetemp() / "leaderboard"
    path.write_text(written(found, name), encoding="utf-8", newline="")
    assert list(FORMATS[name].reader(str(path))) == found


@pytest.mark.parametrize("name", MANY)
def test_with_means_a_file_is_recognised_and_topics_are_kept_apart(name, write):
    path = write(written(averaged(CELLS), name))
    assert sniff(path) == name
    board = read_leaderboard(path)
    assert list(board.cells) == CELLS
    # By hand: (.5 + .625) / 2, (.25 + .375) / 2, and twice the mean of ones.
    assert {(c.run_id, c.measure): c.value for c in board.stated} == {
        ("a", "ndcg"): 0.5625, ("b", "ndcg"): 0.3125, ("a", "score"): 1.0, ("b", "score"): 1.0
    }  # fmt: skip
    assert (board.runs, board.topics, board.measures) == (
        ["a", "b"],
        ["t1", "t2"],
        ["ndcg", "score"],
    )


def test_without_a_sign_the_format_is_asked_for(write, call):
    path = write("a t1 x 0.5\na t2 x 0.7\n")
    with pytest.raises(InputError, match=r"^[^\n]*\(tot\)[^\n]*name the format$"):
        read_leaderboard(path)
    code, out, err = call("files", "validate", path)
    assert (code, out.count("\n"), err) == (2, 1, "")
    assert "name the format" in out
    assert call("files", "validate", path, "--format", "tot")[0] == 0
    assert read_leaderboard(path, "tot").topics == ["x"]
    assert read_leaderboard(path, "rag4reports").runs == ["t1", "t2"]


def test_another_leaderboard_tells_the_columns_apart(write):
    like = read_leaderboard(write("a t1 x 0.5\na t2 x 0.7\n"), "ir_measures")
    assert read_leaderboard(write("a x t2 0.5\n", "g"), like=like).topics == ["t2"]
    assert read_leaderboard(write("t2 a x 0.5\n", "h"), like=like).runs == ["a"]
    with pytest.raises(InputError, match="name the format"):
        read_leaderboard(write("u v w 0.5\n", "i"), like=like)


def test_well_known_measures_tell_tot_from_the_others(write):
    assert sniff(write("a ndcg_cut_10 t1 0.5\na map t1 0.5\n")) == "tot"
    assert sniff(write("a nugget_recall t1 0.5\na F1 t2 0.5\n")) == "tot"
    with pytest.raises(InputError, match="name the format"):
        sniff(write("a t1 nDCG@10 0.5\na t1 AP 0.5\n"))  # or topic run measure


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("1 0 d1 2\n1 0 d2 0\n", "qrels"),
        ("1 2 d1 1\nq 3 all 0\n", "qrels"),
        ("all 0 d1 1\n", "qrels"),
        ("1 Q0 d1 1 2.5 bm25\n", "run"),
        ("1\tis 5 more than 4\n2\tis 3 more than 2\n", "topics-tsv"),
    ],
)
def test_qrels_runs_and_topics_are_still_what_they_were(text, name, write):
    assert sniff(write(text)) == name


def test_the_output_of_trec_eval(write):
    # As trec_eval 9 prints: names padded to 22 columns, `runid` first of the rows over all topics.
    text = (
        "map                   \tq1\t0.5000\nmap                   \tq2\t0.2500\n"
        "runid                 \tall\tbm25\nmap                   \tall\t0.3750\n"
    )
    board = read_leaderboard(write(text, "x.eval"))
    assert (board.runs, board.topics, board.measures) == (["bm25"], ["q1", "q2"], ["map"])
    assert [cell.value for cell in board.stated] == [0.375]


def test_the_output_of_ir_measures_itself_is_read_and_named_by_its_file(
    write, names_of_ir_measures
):
    from ir_measures.__main__ import main_cli

    qrels, run = (
        write("q1 0 d1 1\nq2 0 d2 1\n", "q"),
        write("q1 Q0 d1 1 2 t\nq2 Q0 d3 1 1 t\n", "r"),
    )
    out = io.StringIO()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.argv", ["ir_measures", qrels, run, "AP", "nDCG@10", "-q"])
        patch.setattr("sys.stdout", out)
        main_cli()
    path = write(out.getvalue(), "bm25.v1.txt")
    board = read_leaderboard(path)
    assert (sniff(path), board.runs, board.topics) == ("ir_measures", ["bm25.v1"], ["q1", "q2"])
    assert board.values["AP", "bm25.v1", "q1"] == 1.0
    assert board.values["AP", "bm25.v1", "q2"] == 0.0


def test_a_folder_of_files_is_one_leaderboard(write, tmp_path):
    for run in ("a", "b"):
        write("map\tq1\t0.5\nmap\tall\t0.5\n", f"d/{run}.eval")
    board = read_leaderboard(tmp_path / "d")
    assert board.runs == ["a", "b"]
    write("runid\tall\ta\nmap\tq1\t0.5\nmap\tall\t0.5\n", "d/c.eval")
    with pytest.raises(InputError, match=r"c\.eval: duplicate cell 'a q1 map', also in .*a\.eval"):
        read_leaderboard(tmp_path / "d")
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="folder without files"):
        read_leaderboard(tmp_path / "empty")
    write("{}", "r/manifest.json")
    with pytest.raises(InputError, match="results folder: make a leaderboard of it"):
        read_leaderboard(tmp_path / "r")


@pytest.mark.parametrize(
    ("text", "name", "problem"),
    [
        ("a t1 x 0.5\na t1 x 0.6\n", "ir_measures",
         ":2: duplicate run, topic and measure 'a t1 x', first in line 1"),
        ("a t1 x\n", "tot", ":1: found 3 columns, expected 4 (run measure topic value)"),
        ("a t1 x much\n", "tot", ":1: value: found 'much', expected a finite number"),
        ("a t1 x inf\n", "tot", ":1: value: found 'inf', expected a finite number"),
        ("a\t\tx\t1\n", "ir_measures", ":1: the topic is empty"),
        ("run_id topic measure value\na t x 1\n", "tot",
         ":1: found the header 'run_id topic measure value', expected run measure topic value"),
        ('{"run_id": "a", "topic_id": "t", "measure": "m"}\n', "leaderboard-jsonl",
         ":1: no value (null where nothing was scored)"),
        ('{"run_id": "a", "topic_id": "t", "measure": "m", "value": true}\n', "leaderboard-jsonl",
         ":1: value: found True, expected a finite number"),
    ],
)  # fmt: skip
def test_faults_are_one_line(text, name, problem, write):
    path = write(text)
    assert [str(fault).removeprefix(path) for fault in faults(path, name)][:1] == [problem]


def test_an_unscored_cell_is_never_written_by_accident(write, call, tmp_path):
    path = write('{"run_id":"a","topic_id":"t1","measure":"m","value":null}\n'
                 '{"run_id":"a","topic_id":"t2","measure":"m","value":0.5}\n')  # fmt: skip
    assert [cell.value for cell in read_leaderboard(path).cells] == [None, 0.5]
    out = str(tmp_path / "out")
    for name in NAMES:
        code, _, err = call("files", "convert", path, "--to", name, "-o", out)
        assert (code, err.count("\n")) == (2, 1)
        assert "a, topic t1: m is unscored" in err
    assert not (tmp_path / "out").exists()
    assert call("files", "convert", path, "--to", "tot", "--unscored", "skip", "-o", out)[0] == 0
    assert read_leaderboard(out, "tot").cells == (Cell("a", "t2", "m", 0.5),)
    assert call("files", "convert", path, "--to", "tot", "--unscored", "zero", "-o", out)[0] == 0
    assert [cell.value for cell in read_leaderboard(out, "tot").cells] == [0.0, 0.5]
    qrels = write("1 0 d 1\n", "q")
    assert call("files", "convert", qrels, "--to", "beir-qrels", "--unscored", "skip")[0] == 2


def test_means_are_over_what_is_scored_and_none_without_any():
    found = [Cell("a", "t1", "m", None), Cell("a", "t2", "m", 0.5), Cell("b", "t1", "m", None)]
    assert [cell.value for cell in averaged(found) if cell.over_all] == [0.5, None]
    zeros = averaged(settled(found, "zero"))
    assert [cell.value for cell in zeros if cell.over_all] == [0.25, 0.0]
    assert [cell.run_id for cell in averaged(settled(found, "skip"))] == ["a", "a"]


def test_nan_in_a_file_is_unscored(write):
    board = read_leaderboard(write("a all x NaN\na t1 x None\n"))
    assert [cell.value for cell in (*board.cells, *board.stated)] == [None, None]


def test_ranks_are_by_value_and_equal_ones_share_the_best():
    found = [Cell(run, "t", "m", v) for run, v in (("a", 0.1), ("b", 0.5), ("c", 0.5), ("d", 0.9))]
    random.Random(0).shuffle(found)
    ranks = {
        line.split("\t")[2]: line.split("\t")[3] for line in written(found, "ranking").splitlines()
    }
    assert ranks == {"a": "4", "b": "2", "c": "2", "d": "1"}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("evil", ["two words", "tab\there", "line\nend", "", "nul\0"])
def test_names_that_columns_cannot_hold_are_refused(name, evil):
    if name == "leaderboard-jsonl":
        (line,) = written([Cell("a" + evil, "t", "m", 1.0)], name).splitlines()
        assert json.loads(line)["run_id"] == "a" + evil
    else:
        with pytest.raises(InputError, match="white space"):
            written([Cell(evil, "t", "m", 1.0)], name)


def test_trec_eval_holds_one_run():
    with pytest.raises(InputError, match="one run per file, found 'a' and 'b'"):
        written(CELLS, "trec_eval")


def test_unknown_fields_are_kept_or_refused():
    cell = Cell("a", "t", "m", 1.0, {"judge": "x"})
    assert '"judge": "x"' in written([cell], "leaderboard-jsonl")
    with pytest.raises(InputError, match="cannot hold judge"):
        written([cell], "tot")
    with pytest.raises(InputError, match="no format 'html' of leaderboards"):
        written([cell], "html")
