"""`pnyx annotate label --annotations-out`: each pair once, whatever is killed; qrels."""

from __future__ import annotations

import gzip
import json
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chat_server import ChatServer
from pnyx.cli import main
from pnyx.core.errors import InputError, ModelError
from pnyx.core.records import Document
from pnyx.formats import faults, read_qrels
from pnyx.judging.answers import Judged, Provenance, Unscored
from pnyx.judging.questions import Support
from pnyx.judging.runs.engine import partial_of
from pnyx.judging.runs.pairs import pairs_of_corpus, pairs_of_items, pairs_of_run
from pnyx.judging.runs.results import apply_judge
from pnyx.judging.stances import ask_relevance
from pnyx.judging.verdicts import Verdict, read_annotations
from pnyx.relevance.grades import write_graded_qrels
from pnyx.search.build import build_index
from tries import tries

QUESTIONS = "q1\tIs tea healthy?\nq2\tIs coffee healthy?\n"


class Counting:
    """Says yes with the probability that ends a text; remembers what it was asked."""

    name, card, kinds = "counting", "counts", frozenset({Support})

    def __init__(self, stop_after=None):
        self.asked: list[str] = []
        self.blocks: list[int] = []
        self.stop_after = stop_after

    async def answer(self, questions, emit):
        self.blocks.append(len(questions))
        for position, question in reversed(list(enumerate(questions))):
            await anyio.lowlevel.checkpoint()
            if self.stop_after is not None and len(self.asked) >= self.stop_after:
                raise ModelError("the line is dead")
            self.asked.append(question.id)
            last = question.text.split()[-1]
            if last == "none":
                emit(position, Unscored("refusal: no", Provenance(self.name)))
            else:
                emit(position, Judged(float(last) >= 0.5, Provenance(self.name), float(last)))


def some_pairs(count, start=0):
    return [
        ask_relevance(
            f"p{n}",
            "Is tea healthy?",
            f"Text {n} {'none' if n % 10 == 3 else (n * 37 % 101) / 100}",
            group="q1",
            extra={"question_id": "q1", "doc_id": f"d{n}", "long": "x" * 300, "rank": n},
        )
        for n in range(start, start + count)
    ]


def lines(path):
    opened = gzip.open if str(path).endswith(".gz") else open
    with opened(path, "rt", encoding="utf-8") as stream:
        return [json.loads(line) for line in stream]


@pytest.fixture(autouse=True)
def _no_environment(monkeypatch, tmp_path):
    monkeypatch.delenv("PNYX_LLM", raising=False)
    monkeypatch.setenv("PNYX_STORE", str(tmp_path / "store.sqlite"))


@pytest.fixture(scope="module")
def index(tmp_path_factory):
    folder = tmp_path_factory.mktemp("apply") / "i"
    texts = {"a": "Tea calms.", "b": "Coffee wakes.", "c": "Stones are hard."}
    build_index([Document(k, text, title=k.upper()) for k, text in texts.items()], folder)
    return folder


@pytest.fixture
def topics(tmp_path):
    path = tmp_path / "topics.tsv"
    path.write_text(QUESTIONS)
    return path


def run(capsys, *arguments):
    with pytest.raises(SystemExit) as stopped:
        main(["annotate", "label", *map(str, arguments)])
    captured = capsys.readouterr()
    return stopped.value.code, captured.out, captured.err


# --- from Python


def test_every_pair_gets_its_line_in_order_and_unscored_says_why(tmp_path):
    out, judge = tmp_path / "a.jsonl", Counting()
    applied = apply_judge(judge, some_pairs(25), out, block=10)
    rows = lines(out)
    assert judge.blocks == [10, 10, 5]
    assert [row["id"] for row in rows] == [f"p{n}" for n in range(25)]
    assert rows[2] == {
        "id": "p2", "question_id": "q1", "doc_id": "d2", "group": "q1", "task": "relevance",
        "value": True, "probability": 0.74, "unscored": None, "judge": "counting",
        "prompt_hash": "", "rank": 2,
    }  # fmt: skip
    assert rows[3] | {"value": None, "probability": None, "unscored": "refusal: no"} == rows[3]
    assert applied.counts == {
        "asked": 25, "scored": 22, "unscored": 3, "reasons": {"refusal": 3},
    }  # fmt: skip
    assert list(faults(str(out), "answers")) == []
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.jsonl", "a.jsonl.manifest.json"]


def test_the_packaged_judge_gets_blocks_that_fill_both_cores(tmp_path, monkeypatch):
    judge = Counting()
    apply_judge(judge, some_pairs(1500), tmp_path / "a.jsonl")
    assert judge.blocks == [1024, 476]
    # Long texts are held in fewer pairs, but one text of many pairs counts once and stays whole.
    monkeypatch.setattr("pnyx.judging.runs.engine._CHARACTERS", 3200)
    long = "x" * 96 + " 0.5"
    judge = Counting()
    same = [ask_relevance(f"p{n}", "Is it?", long) for n in range(1100)]
    apply_judge(judge, same, tmp_path / "b.jsonl")
    assert judge.blocks == [1100]
    judge = Counting()
    several = [ask_relevance(f"p{n}", "Is it?", f"{n:100} 0.5"[-100:]) for n in range(80)]
    apply_judge(judge, several, tmp_path / "c.jsonl")
    assert judge.blocks == [64, 16]
    judge = Counting()
    short = [ask_relevance(f"p{n}", "Is it?", f"{n:10} 0.5") for n in range(600)]
    apply_judge(judge, short, tmp_path / "d.jsonl")
    assert judge.blocks == [256, 256, 88]


@settings(max_examples=tries(25), deadline=None)
@given(
    stops=st.lists(st.integers(0, 30), max_size=3),
    cut=st.integers(0, 400),
    block=st.integers(1, 20),
    data=st.data(),
)
def test_what_is_written_is_not_asked_again_whatever_is_cut_off(
    tmp_path_factory, stops, cut, block, data
):
    folder = tmp_path_factory.mktemp("resume")
    pairs = some_pairs(37)
    apply_judge(Counting(), pairs, folder / "whole.jsonl")
    out = folder / "a.jsonl"
    kept: set[str] = set()
    for stop in stops:
        judge = Counting(stop_after=stop)
        with suppress(ModelError):
            apply_judge(judge, pairs, out, block=data.draw(st.integers(1, 20)))
        assert not kept & set(judge.asked)
        kept |= set(judge.asked)
    if partial_of(out).exists():  # as a kill in the middle of a line leaves it
        path = partial_of(out) / "answers.jsonl"
        path.write_bytes(path.read_bytes()[: -cut or None])
    judge = Counting()
    apply_judge(judge, pairs, out, block=block)
    assert len(judge.asked) == len(set(judge.asked))
    assert out.read_bytes() == (folder / "whole.jsonl").read_bytes()


def test_two_kills_in_the_middle_of_a_line_lose_nothing_but_these_lines(tmp_path):
    out, pairs = tmp_path / "a.jsonl", some_pairs(20)
    for stop in (5, 7):
        with pytest.raises(ModelError):
            apply_judge(Counting(stop_after=stop), pairs, out)
        path = partial_of(out) / "answers.jsonl"
        path.write_bytes(path.read_bytes()[:-9])
    judge = Counting()
    assert apply_judge(judge, pairs, out).reused == 10
    assert len(judge.asked) == 10
    assert [row["id"] for row in lines(out)] == [p.id for p in pairs]


@pytest.mark.parametrize("line", ["{", "5", "[1, 2, 3]", '["x", "y", {}]', "\xff", "[" * 100_000])
def test_damage_among_what_is_kept_is_asked_again(tmp_path, line):
    out, pairs = tmp_path / "a.jsonl", some_pairs(20)
    with pytest.raises(ModelError):
        apply_judge(Counting(stop_after=13), pairs, out, block=10)
    damaged = line.encode("latin-1") + b"\n"
    path = partial_of(out) / "answers.jsonl"
    _, *others = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([damaged, *others]))
    judge, noted = Counting(stop_after=2), []
    with pytest.raises(ModelError):
        apply_judge(judge, pairs, out, block=10, on_start=lambda *some: noted.append(some))
    assert noted == [(12, 1)]
    kept = {json.loads(line)[3]["id"] for line in others}
    assert not kept & set(judge.asked)  # which stood behind the damage
    judge = Counting()
    apply_judge(judge, pairs, out, block=10)
    assert len(judge.asked) == 6
    apply_judge(Counting(), pairs, tmp_path / "whole.jsonl")
    assert out.read_bytes() == (tmp_path / "whole.jsonl").read_bytes()


@settings(max_examples=tries(60), deadline=None)
@given(st.data())
def test_a_flipped_bit_of_what_is_kept_changes_no_label(tmp_path_factory, data):
    folder = tmp_path_factory.mktemp("flipped")
    out, pairs = folder / "a.jsonl", some_pairs(20)
    with pytest.raises(ModelError):
        apply_judge(Counting(stop_after=13), pairs, out, block=10)
    path = partial_of(out) / "answers.jsonl"
    content = bytearray(path.read_bytes())
    content[data.draw(st.integers(0, len(content) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    path.write_bytes(content)
    judge, noted = Counting(), []
    apply_judge(judge, pairs, out, block=10, on_start=lambda *some: noted.append(some))
    ((_, damaged),) = noted
    # a line that has lost its end is no damage: a kill does it
    assert damaged or len(judge.asked) > 7
    apply_judge(Counting(), pairs, folder / "whole.jsonl")
    assert out.read_bytes() == (folder / "whole.jsonl").read_bytes()


def test_other_inputs_another_judge_and_strangers_are_refused(tmp_path):
    out, pairs = tmp_path / "a.jsonl", some_pairs(20)
    with pytest.raises(ModelError, match="dead; 13 answers are kept for the next run"):
        apply_judge(Counting(stop_after=13), pairs, out, block=10)

    def refused(judge, some, **more):
        with pytest.raises(InputError) as caught:
            apply_judge(judge, some, out, **more)
        return str(caught.value)

    # Of the second block, three are there already: p17, p18 and p19.
    swapped = [*some_pairs(17), *some_pairs(3, start=17)[::-1]]
    assert "a.jsonl.partial: was begun with other inputs (item 'p19' is not the same)" in refused(
        Counting(stop_after=0), swapped
    )
    assert "(item 'p5' is not the same)" in refused(Counting(), some_pairs(1) + some_pairs(9, 5))
    assert "(4 items are left of at least 20)" in refused(Counting(), some_pairs(4))
    other = Counting()
    other.name = "other"
    assert "of another judge, or of the same with other settings" in refused(other, pairs)
    assert "another judge" in refused(Counting(), pairs, settings={"prompt": 2})
    assert "--with-text" in refused(Counting(), pairs, with_text=True)
    judge = Counting()
    assert apply_judge(judge, pairs, out).reused == 13
    assert len(judge.asked) == 7
    # Finished: the same is not done again, anything else is refused.
    judge = Counting()
    assert apply_judge(judge, pairs, out).reused == 20
    assert judge.asked == []
    assert "a.jsonl: holds the annotations of another judge" in refused(other, pairs)
    (tmp_path / "b.jsonl").write_text("mine\n")
    with pytest.raises(InputError, match="exists already, and not as annotations"):
        apply_judge(judge, pairs, tmp_path / "b.jsonl")
    with pytest.raises(InputError, match=r"ends in one of \.jsonl"):
        apply_judge(judge, pairs, tmp_path / "b.csv")
    with pytest.raises(InputError, match="found no pairs"):
        apply_judge(judge, [], tmp_path / "c.jsonl")
    assert not (tmp_path / "c.jsonl.partial").exists()
    partial_of(tmp_path / "d.jsonl").mkdir()
    (partial_of(tmp_path / "d.jsonl") / "manifest.json").write_text("[")
    with pytest.raises(InputError, match="is damaged: remove it"):
        apply_judge(judge, pairs, tmp_path / "d.jsonl")


SLOW_JUDGE = """
import sys, anyio, pathlib
from pnyx.judging.runs.results import apply_judge
from pnyx.judging.answers import Judged, Provenance
from pnyx.judging.questions import Support
from pnyx.judging.stances import ask_relevance
class Slow:
    name, card, kinds = "slow", "", frozenset({Support})
    async def answer(self, questions, emit):
        for position, question in enumerate(questions):
            await anyio.sleep(0.002)
            with open(sys.argv[2], "a") as log:
                log.write(question.id + "\\n")
            emit(position, Judged(True, Provenance("slow"), 0.75))
pairs = [ask_relevance(f"p{n}", "Is it?", f"Text {n}") for n in range(400)]
apply_judge(Slow(), pairs, sys.argv[1], block=64)
"""


@pytest.mark.all
def test_a_killed_run_goes_on_and_asks_nothing_twice(tmp_path):
    out, log = tmp_path / "a.jsonl", tmp_path / "log"
    command = [sys.executable, "-c", SLOW_JUDGE, str(out), str(log)]
    kills = 0
    while not out.exists():
        before = log.read_text().count("\n") if log.exists() else 0
        process = subprocess.Popen(command)
        while process.poll() is None:
            done = log.read_text().count("\n") - before if log.exists() else 0
            if kills < 2 and done > 90:
                os.kill(process.pid, signal.SIGKILL)
                process.wait()
                kills += 1
                break
            time.sleep(0.005)
        else:
            assert process.returncode == 0
    assert kills == 2
    assert [row["id"] for row in lines(out)] == [f"p{n}" for n in range(400)]
    # Each was asked once, but for the answer that was on its way to the file at a kill.
    assert 400 <= log.read_text().count("\n") <= 402


# --- where pairs come from


def test_the_pairs_of_a_corpus_and_of_a_run_come_document_by_document(index, topics, tmp_path):
    source = pairs_of_corpus(index, str(topics))
    assert source.count == 6
    assert [p.id for p in source] == ["q1/a", "q2/a", "q1/b", "q2/b", "q1/c", "q2/c"]
    assert [p.id for p in source] == [p.id for p in source]
    assert next(iter(source)).text == "A\nTea calms."
    trec = tmp_path / "r.run"
    trec.write_text("q2 Q0 a 1 1 x\nq1 Q0 c 1 9 x\nq1 Q0 a 2 8 x\nq1 Q0 b 3 7 x\n")
    source = pairs_of_run(str(trec), index, str(topics), 2)
    assert [(p.id, p.extra["rank"]) for p in source] == [("q2/a", 1), ("q1/a", 2), ("q1/c", 1)]
    for text, said in (
        ("q9 Q0 a 1 1 x\n", "topic 'q9' is not in"),
        ("q1 Q0 z 1 1 x\n", "document 'z' is not in"),
    ):
        trec.write_text(text)
        with pytest.raises(InputError, match=said):
            pairs_of_run(str(trec), index, str(topics), 2)
    topics.write_text(QUESTIONS.replace("q2", "q1"))
    with pytest.raises(InputError, match="q1"):
        pairs_of_corpus(index, str(topics))


def test_a_fault_in_the_last_line_shows_before_anything_is_judged(tmp_path, capsys):
    path = tmp_path / "pairs.jsonl"
    good = {"id": "1", "question": "Is tea healthy?", "document": "Tea calms."}
    path.write_text(json.dumps(good) + "\n" + json.dumps({"id": "2"}) + "\n")
    with pytest.raises(InputError, match=r"pairs\.jsonl:2: no question"):
        pairs_of_items(path)
    status, _, error = run(capsys, path, "--annotations-out", tmp_path / "a.jsonl")
    assert (status, error.count("\n")) == (2, 1)
    assert list(tmp_path.iterdir()) == [path]


# --- formats


def test_gzip_and_texts(tmp_path):
    out = tmp_path / "a.jsonl.gz"
    apply_judge(Counting(), some_pairs(3), out, with_text=True)
    assert [row["document"] for row in lines(out)] == [p.text for p in some_pairs(3)]
    assert {row["question"] for row in lines(out)} == {"Is tea healthy?"}


def test_parquet_holds_the_same_rows_with_fixed_types(tmp_path):
    pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    apply_judge(Counting(), some_pairs(30), tmp_path / "a.jsonl")
    apply_judge(Counting(), some_pairs(30), tmp_path / "a.parquet")
    assert pq.read_table(tmp_path / "a.parquet").to_pylist() == lines(tmp_path / "a.jsonl")
    assert list(read_annotations(tmp_path / "a.parquet")) == list(
        read_annotations(tmp_path / "a.jsonl")
    )
    odd = [
        ask_relevance(f"p{n}", "Is it?", "A text none", extra={"n": value})
        for n, value in enumerate([1, 2.5, None, "w", [1]])
    ]
    apply_judge(Counting(), odd, tmp_path / "b.parquet")
    table = pq.read_table(tmp_path / "b.parquet")
    assert table.column("n").to_pylist() == ["1", "2.5", None, "w", "[1]"]
    assert str(table.schema.field("value").type) == "bool"  # though all are null
    (tmp_path / "c.parquet").write_text("no")
    with pytest.raises(InputError, match="cannot be read as Parquet"):
        list(read_annotations(tmp_path / "c.parquet"))


@pytest.mark.parametrize("column", ["text", "date"])
def test_parquet_that_python_has_no_values_for_is_one_line(tmp_path, column):
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    ends = [pa.py_buffer(b) for b in (b"\0\0\0\0\2\0\0\0", b"\xff\xfe")]
    odd = {
        "text": pa.Array.from_buffers(pa.string(), 1, [None, *ends]),  # not UTF-8
        "date": pa.array([2**62], pa.timestamp("us")),  # in the year 146,000
    }
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"id": ["a"], "value": [True], "odd": odd[column]}), path)
    with pytest.raises(InputError, match=r"a\.parquet: cannot be read as Parquet"):
        list(read_annotations(path))


# --- qrels


def test_a_grade_is_how_many_thresholds_are_reached(tmp_path):
    out = tmp_path / "qrels.txt"
    at = [0.0, 0.299, 0.3, 0.69, 0.7, 1.0]
    annotations = [Verdict(f"p{n}", "q", f"d{n}", p >= 0.5, p) for n, p in enumerate(at)]
    assert write_graded_qrels(out, annotations, (0.3, 0.7)) == {0: 2, 1: 2, 2: 2}
    assert [q.grade for q in read_qrels(str(out))] == [0, 0, 1, 1, 2, 2]
    missing = [*annotations, Verdict("u", "q", "u", None, None, "refusal")]
    out.unlink()
    with pytest.raises(InputError, match="1 pairs are unscored, so no qrels are written"):
        write_graded_qrels(out, missing, (0.5,))
    assert not out.exists()
    assert write_graded_qrels(out, missing, (0.5,), unscored="skip") == {0: 3, 1: 3}
    assert write_graded_qrels(out, missing, (0.5,), unscored="zero") == {0: 4, 1: 3}
    for wrong in ((), (0.7, 0.3), (0.0,), (1.1,), (0.5, 0.5)):
        with pytest.raises(InputError, match="thresholds: found"):
            write_graded_qrels(out, annotations, wrong)
    twice = [*annotations, annotations[0]]
    with pytest.raises(InputError, match="document 'd0' appear twice"):
        write_graded_qrels(out, twice)
    with pytest.raises(InputError, match="pair 'x' has no question_id or doc_id"):
        write_graded_qrels(out, [Verdict("x", "q", "", True, 1.0)])


def test_by_default_a_grade_is_the_verdict_whatever_the_judge_says_yes_from(tmp_path):
    out = tmp_path / "qrels.txt"
    at = [0.1, 0.275, 0.276, 0.49, 0.5, 0.9]  # of a student that says yes from .276 on
    annotations = [Verdict(f"p{n}", "q", f"d{n}", p >= 0.276, p) for n, p in enumerate(at)]
    annotations += [Verdict("u", "q", "u", None, None, "refusal")]
    assert write_graded_qrels(out, annotations) == {0: 2, 1: 4}
    assert [q.grade for q in read_qrels(str(out))] == [0, 0, 1, 1, 1, 1]  # none for what is open
    assert write_graded_qrels(out, annotations[:-1], (0.5,)) == {0: 4, 1: 2}
    assert write_graded_qrels(out, annotations, unscored="zero") == {0: 3, 1: 4}
    with pytest.raises(InputError, match="1 pairs are unscored"):
        write_graded_qrels(out, annotations, unscored="error")
    out.unlink()
    for policy in (None, "skip"):
        with pytest.raises(InputError, match="all 1 pairs are unscored, so no qrels"):
            write_graded_qrels(out, annotations[-1:], unscored=policy)
    assert not out.exists()


def test_more_thresholds_than_a_byte_counts(tmp_path):
    cuts = [n / 1000 for n in range(1, 301)]
    annotations = [Verdict("p", "q", "d", True, 0.9)]
    assert write_graded_qrels(tmp_path / "q", annotations, cuts)[300] == 1


# --- from the command line


def test_qrels_hold_the_judges_own_verdicts_unless_thresholds_are_given(capsys, tmp_path):
    answers = [("p0", True, 0.3, None), ("p1", False, 0.2, None), ("p2", None, None, "refusal: no")]
    (tmp_path / "former").mkdir()
    (tmp_path / "former" / "answers.jsonl").write_text(
        "".join(
            json.dumps({"id": i, "task": "relevance", "value": v, "probability": p, "unscored": u,
                        "judge": "student"}) + "\n"
            for i, v, p, u in answers
        )
    )  # fmt: skip
    pairs = tmp_path / "pairs.jsonl"
    pairs.write_text(
        "".join(
            json.dumps({"id": i, "question": "Is it?", "document": "A text.", "question_id": "q",
                        "doc_id": i}) + "\n"
            for i, *_ in answers
        )
    )  # fmt: skip
    qrels = tmp_path / "qrels.txt"
    options = (pairs, "--judge", tmp_path / "former", "--annotations-out", tmp_path / "a.jsonl")
    status, said, _ = run(capsys, *options, "--qrels-out", qrels)
    assert status == 3
    assert "qrels: 1 of grade 0, 1 of grade 1, 1 without a line" in said
    assert qrels.read_text() == "q 0 p0 1\nq 0 p1 0\n"
    cut = ("--qrels-out", qrels, "--thresholds", "0.5")
    assert run(capsys, *options, *cut)[0] == 2
    assert run(capsys, *options, *cut, "--unscored", "skip")[0] == 3
    assert qrels.read_text() == "q 0 p0 0\nq 0 p1 0\n"


def test_questions_by_corpus_to_labels_and_qrels_and_other_thresholds_later(
    capsys, index, topics, tmp_path
):
    out, qrels = tmp_path / "a.jsonl", tmp_path / "qrels.txt"
    options = (
        "--all",
        "--index",
        index,
        "--topics",
        topics,
        "--annotations-out",
        out,
        "--qrels-out",
        qrels,
    )
    status, said, error = run(capsys, *options, "--thresholds", "0.3,0.7")
    assert status == 0
    assert "6 of 6 pairs labelled by packaged; qrels: " in said
    assert "judge packaged (weak: treat as hints); accuracy" in error
    rows = lines(out)
    assert [row["id"] for row in rows] == ["q1/a", "q2/a", "q1/b", "q2/b", "q1/c", "q2/c"]
    expected = {(r["question_id"], r["doc_id"]): r["probability"] for r in rows}
    for t in ("0.3,0.7", "0.0000001", "0.02,0.5"):
        status, said, _ = run(capsys, *options, "--thresholds", t, "--json")
        assert (status, json.loads(said)["kept"]) == (0, 6)
        graded = {(q.topic_id, q.doc_id): q.grade for q in read_qrels(str(qrels))}
        cuts = [float(x) for x in t.split(",")]
        assert graded == {key: sum(p >= c for c in cuts) for key, p in expected.items()}


def test_a_model_that_refuses_is_exit_status_3_and_no_qrels(capsys, index, topics, tmp_path):
    options = ("--all", "--index", index, "--topics", topics)
    with ChatServer(default="refusal") as server:
        model = ("--judge", server.spec, "--annotations-out", tmp_path / "a.jsonl")
        assert run(capsys, *options, *model)[0] == 3
        count = len(server.asked())
        qrels = ("--qrels-out", tmp_path / "q.txt")
        status, _, error = run(capsys, *options, *model, *qrels)
        assert status == 2
        assert "6 pairs are unscored" in error
        assert error.count("\n") == 1
        assert not (tmp_path / "q.txt").exists()
        assert run(capsys, *options, *model, *qrels, "--unscored", "zero")[0] == 3
        assert {q.grade for q in read_qrels(str(tmp_path / "q.txt"))} == {0}
        assert len(server.asked()) == count
    assert {row["value"] for row in lines(tmp_path / "a.jsonl")} == {None}


def test_qrels_are_never_written_over_what_they_are_made_of(capsys, index, topics, tmp_path):
    out = tmp_path / "a.jsonl"
    options = ("--all", "--index", index, "--topics", topics, "--annotations-out", out)
    for place in (out, tmp_path / "." / "a.jsonl", f"{out}.manifest.json", topics):
        status, _, error = run(capsys, *options, "--qrels-out", place)
        assert (status, out.exists()) == (2, False)
        assert "--qrels-out names the same file as" in error


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ((), "expected PAIRS, or --run or --all with both --index and --topics"),
        (("p.jsonl", "--all"), "expected PAIRS"),
        (("--run", "r", "--index", "i"), "expected PAIRS"),
        (("p.jsonl", "--depth", "3"), "--depth requires --run"),
        (("p.jsonl", "--thresholds", "0.4"), "--thresholds requires --qrels-out"),
        (("p.jsonl", "--qrels-out", "q", "--thresholds", "a,b"), "'a' is not a valid float"),
        (("p.jsonl", "--qrels-out", "q", "--thresholds", "2"), "above 0, at most 1"),
        (("p.jsonl", "--qrels-out", "-", "--json"), "both write to standard output"),
        (("p.jsonl", "--set", "samples=3"), "--set samples requires a language model"),
    ],
)
def test_wrong_usage_is_one_line(capsys, tmp_path, monkeypatch, wrong, said):
    monkeypatch.chdir(tmp_path)
    status, _, error = run(capsys, *wrong, "--annotations-out", "a.jsonl")
    assert (status, error.count("\n")) == (2, 1)
    assert said in error
    assert list(Path().iterdir()) == []


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (("p.jsonl",), "expected --out or --annotations-out"),
        (("p.jsonl", "--out", "o", "--annotations-out", "a.jsonl"), "exclude each other"),
        (("--out", "o"), "expected PAIRS, or --run or --all"),
        (("p.jsonl", "--out", "o", "--all"), "--all requires --annotations-out"),
        (("p.jsonl", "--out", "o", "--shard", "1/2"), "--shard requires --annotations-out"),
        (("p.jsonl", "--out", "o", "--with-text"), "--with-text requires --annotations-out"),
        (("p.jsonl", "--out", "o", "--qrels-out", "q"), "--qrels-out requires --annotations-out"),
        (
            ("p.jsonl", "--annotations-out", "a.jsonl", "--form", "listwise"),
            "--form requires --out",
        ),
        (
            ("p.jsonl", "--annotations-out", "a.jsonl", "--shots", "2"),
            "--shots requires --examples",
        ),
    ],
)
def test_options_of_the_other_output_are_refused(capsys, tmp_path, monkeypatch, wrong, said):
    monkeypatch.chdir(tmp_path)
    status, _, error = run(capsys, *wrong)
    assert (status, error.count("\n")) == (2, 1)
    assert said in error
    assert list(Path().iterdir()) == []


def test_the_former_command_says_what_to_use(capsys):
    with pytest.raises(SystemExit):
        main(["annotate", "apply", "p.jsonl", "--out", "a.jsonl"])
    said = "apply was removed: use pnyx annotate label, with --annotations-out in place of --out"
    assert said in capsys.readouterr().err


def test_a_plan_asks_nothing(capsys, index, topics, tmp_path):
    with ChatServer() as server:
        options = ("--all", "--index", index, "--topics", topics, "--judge", server.spec, "--plan")
        status, said, _ = run(capsys, *options, "--json")
        assert (status, server.asked()) == (0, [])
    assert json.loads(said)
