"""`pnyx files validate RUN`: warnings of what a run may hold and still be measured."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from command import caller, refuser

call = caller("files", "validate")

CLEAN = "1 Q0 a 1 2.0 r\n1 Q0 b 2 1.0 r\n2 Q0 a 1 0.5 r\n"
TIES = "trec_eval orders equal scores by document id, last first"


@pytest.fixture
def warned(tmp_path, call):
    """Return a function that validates a run and returns its warnings, without the file's name."""

    def warned(content: str, name: str = "run.trec") -> list[str]:
        path = tmp_path / name
        path.write_text(content)
        code, out, err = call(str(path))
        lines = err.splitlines()
        assert code == 0
        assert out.count("\n") == 1
        assert ("warning" in out) == bool(lines)
        start = f"pnyx: warning: {path}:"
        assert all(line.startswith(start) for line in lines)
        return [line.removeprefix(start).strip() for line in lines]

    return warned


def test_a_clean_run_has_no_warning(warned):
    assert warned(CLEAN) == []


def test_ranks_against_scores(warned):
    swapped = CLEAN.replace("a 1 2.0", "a 2 2.0").replace("b 2 1.0", "b 1 1.0")
    assert warned(swapped) == [
        "2: ranks disagree with scores in 1 of 2 topics (first in topic 1: b has rank 1 and a "
        "lower score than a on rank 2); the scores are used, as in trec_eval"
    ]
    assert warned(CLEAN.replace("b 2 1.0", "b 1 1.0")) == []  # the same rank: no other order


def test_the_first_topic_in_the_file_is_named_and_all_are_counted(warned):
    rows = "".join(f"{t} Q0 a 2 2 r\n{t} Q0 b 3 1.5 r\n{t} Q0 c 1 1 r\n" for t in (9, 4))
    (warning,) = warned(CLEAN + rows)
    assert warning.startswith("6: ranks disagree with scores in 2 of 4 topics (first in topic 9: c")
    assert "than b on rank 3" in warning  # the worst rank above it


@pytest.mark.parametrize(("rank", "warns"), [(-1, True), (0, True), (1, False)])
def test_ranks_start_at_one(warned, rank, warns):
    expected = (
        f"1: 1 of 3 ranks are below 1 (first in topic 1: a has rank {rank}); ranks start at 1"
    )
    assert warned(CLEAN.replace("a 1 2.0", f"a {rank} 2.0")) == [expected] * warns


def test_several_tags(warned):
    expected = "2: 2 tags ('r', 's') (first in topic 1: 's'); all are measured as one run"
    assert warned(CLEAN.replace("1.0 r", "1.0 s")) == [expected]
    three = CLEAN.replace("1.0 r", "1.0 s").replace("0.5 r", "0.5 t")
    assert warned(three) == [expected.replace("2 tags", "3 tags").replace("'s') (", "'s', ...) (")]


@pytest.mark.parametrize(
    ("second", "ties"),
    [("2.0", True), ("1.99999999", True), ("1.9999999", False)],  # floats near 2 are 1.2e-7 apart
)
def test_equal_scores_are_those_of_single_precision(warned, second, ties):
    expected = "2: 2 documents share a score with another in 1 of 2 topics (first in topic 1: a "
    expected += f"and b); {TIES}, not by rank as 1 of 2 topics"
    assert warned(CLEAN.replace("b 2 1.0", f"b 2 {second}")) == [expected] * ties


def test_ties_that_trec_eval_breaks_as_the_ranks_do(warned):
    (warning,) = warned("1 Q0 b 1 2.0 r\n1 Q0 a 2 2.0 r\n1 Q0 d 3 1 r\n1 Q0 c 4 1 r\n")
    assert warning == (
        "2: 4 documents share a score with another in 1 of 1 topic (first in topic 1: b and a); "
        + TIES
    )


@pytest.mark.parametrize(("documents", "deep"), [(1000, False), (1001, True)])
def test_more_documents_than_usual(warned, documents, deep):
    rows = [f"1 Q0 d{n} {n} {-n} r\n" for n in range(1, documents + 1)]
    expected = "1001: more than 1,000 documents in 1 of 1 topic (first in topic 1: 1,001); "
    assert warned("".join(rows)) == [expected + "TREC accepts no more"] * deep


def test_a_document_twice_in_a_topic_is_an_error(tmp_path, call):
    path = tmp_path / "run.trec"
    path.write_text(CLEAN + "1 Q0 a 3 0.5 r\n")
    code, out, _ = call(str(path))
    assert (code, out) == (2, f"{path}:4: duplicate topic and document '1 a', first in line 1\n")


def test_strict_makes_them_errors(tmp_path, call, capsys):
    path = tmp_path / "run.trec"
    path.write_text(CLEAN.replace("a 1 2.0", "a 0 2.0"))
    code, out, err = call(str(path), "--fail-on-warnings")
    assert (code, err) == (2, "")
    assert out.startswith(f"{path}:1: 1 of 3 ranks are below 1")
    path.write_text(CLEAN)
    assert call(str(path), "--fail-on-warnings")[0] == 0
    Path(path).write_text("1\tShould zoos be banned?\n")
    assert "--fail-on-warnings requires a run" in refuser("files", "validate")(
        capsys, path, "--fail-on-warnings"
    )


def test_json_has_warnings_with_their_category(tmp_path, call):
    path = tmp_path / "run.trec"
    path.write_text("1 Q0 a 0 2.0 r\n1 Q0 b 0 2.0 s\n")
    code, out, err = call(str(path), "--json")
    result = json.loads(out)
    assert (code, err, result["ok"], result["warning_count"]) == (0, "", True, 3)
    places = [(w["category"], w["line"], w["topic"]) for w in result["warnings"]]
    assert places == [("tags", 2, "1"), ("rank_zero", 1, "1"), ("ties", 2, "1")]


def test_rows_of_a_table_and_topics_of_json_are_no_lines(warned):
    """PyTerrier counts ranks from 0; the JSON of ranx has none."""
    table = "qid,docno,rank,score\n1,a,0,2.0\n1,b,1,1.0\n"
    expected = "1 of 2 ranks are below 1 (first in topic 1: a has rank 0); ranks start at 1"
    assert warned(table, "run.csv") == [expected]
    (tie,) = warned('{"1": {"a": 1.0, "b": 1.0}}', "run.json")
    assert tie.endswith(f"(first in topic 1: b and a); {TIES}")
