"""`pnyx compare retrievers` on the bundled example: retrieve, judge, measure, in one go."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from chat_server import ChatServer
from command import called, rows_of, write_rows
from command import run as pnyx
from pnyx import Judged
from pnyx.core.files import json_line
from pnyx.formats import load_example
from pnyx.formats.perspectives import perspective_line
from pnyx.judging.answers import Provenance, Unscored
from pnyx.search.lexical.record_codec import to_row

pytestmark = pytest.mark.usefixtures("run_once")


@pytest.fixture(autouse=True)
def _no_environment(monkeypatch, tmp_path):
    monkeypatch.delenv("PNYX_LLM", raising=False)
    monkeypatch.setenv("PNYX_STORE", str(tmp_path / "store.sqlite"))


@pytest.fixture(scope="module")
def example():
    return load_example()


@pytest.fixture(scope="module")
def topics(example):
    """Three questions of the example that have perspectives."""
    known = [
        q for q in example.questions if any(p.question_id == q.id for p in example.perspectives)
    ]
    return known[:3]


@pytest.fixture(scope="module")
def index(example, topics, tmp_path_factory):
    """Some passages on three questions, with vectors."""
    folder = tmp_path_factory.mktemp("bench")
    relevant = {x.doc_id for x in example.labels if x.question_id in {q.id for q in topics}}
    some = [a for a in example.arguments if a.id in relevant][:30]
    path = folder / "arguments.jsonl"
    path.write_text("".join(json_line(to_row(a)) + "\n" for a in some))
    assert pnyx("index", path, "--out", folder / "x.index", "--vectors") == 0
    return folder / "x.index"


@pytest.fixture
def views(example, topics, tmp_path):
    path = tmp_path / "views.jsonl"
    texts = {q.id: q.text for q in topics}
    path.write_text(
        "".join(
            perspective_line(replace(p, extra={**p.extra, "question": texts[p.question_id]}))
            for p in example.perspectives
            if p.question_id in texts
        )
    )
    return path


def _bench(index, views, out, *more):
    return ("compare", "retrievers", "--index", index, "--perspectives", views, "--out", out,
            "--retrievers", "bm25,dense", "--cutoff", 3, "--draws", 50, *more)  # fmt: skip


@pytest.mark.all
@pytest.mark.slow
def test_from_an_index_to_a_table(capsys, index, views, topics, tmp_path):
    out = tmp_path / "out"
    code, said, err = called(capsys, *_bench(index, views, out))
    assert code == 0
    systems = [line.split()[0] for line in said.splitlines() if line.startswith(("bm25", "dense"))]
    assert systems == ["bm25", "bm25+mmr", "dense", "dense+mmr"]
    assert "chosen on 1 other question" in said
    assert "judge packaged" in err
    found = json.loads((out / "measures.json").read_text())
    assert sorted([*found["dev"], *found["test"]]) == sorted(q.id for q in topics)
    assert set(found["lambdas"]) == {"bm25", "dense"}
    for name, rows in found["tuning"].items():
        best = max(rows, key=lambda row: (row["mrecall"], row["lambda"]))
        assert found["lambdas"][name] == best["lambda"]
    verdicts = rows_of(out / "verdicts.jsonl")
    pairs = [(v["question_id"], v["text_id"], v["perspective_id"]) for v in verdicts]
    assert len(set(pairs)) == len(pairs)
    assert {v["question_id"] for v in verdicts} == set(found["test"])


@pytest.mark.all
def test_the_parts_measure_alike_by_themselves(capsys, index, views, tmp_path):
    out = tmp_path / "out"
    called(capsys, *_bench(index, views, out, "--variants", "plain"))
    whole = json.loads((out / "measures.json").read_text())
    runs = sorted((out / "runs").iterdir())
    code, said, _ = called(
        capsys, "measure", "perspectives", *runs, "--perspectives", views, "--verdicts",
        out / "verdicts.jsonl", "--cutoff", 3, "--draws", 50, "--json",
    )  # fmt: skip
    assert code == 0
    parts = {run["run"].removesuffix(".run"): run["measures"] for run in json.loads(said)["runs"]}
    assert parts == {run["run"]: run["measures"] for run in whole["runs"]}


@pytest.mark.all
def test_nothing_is_judged_twice(capsys, index, views, tmp_path, monkeypatch):
    from pnyx.judging.students.student import StudentJudge

    out = tmp_path / "out"
    _, first, _ = called(capsys, *_bench(index, views, out))
    asked = []
    monkeypatch.setattr(StudentJudge, "judge", lambda self, questions: asked.append(questions))
    code, again, _ = called(capsys, *_bench(index, views, out))
    assert (code, again, asked) == (0, first, [])


def test_a_language_model_is_asked_what_berds_asks(capsys, index, views, tmp_path):
    out = tmp_path / "out"
    more = ("--variants", "plain", "--retrievers", "bm25", "--cutoff", 1)
    with ChatServer() as server:
        code, _, _ = called(capsys, *_bench(index, views, out), *more, "--judge", server.spec)
        (system,) = {row["messages"][0]["content"] for row in server.asked()}
    assert code == 0
    assert "You decide whether a document supports a perspective." in system


def test_the_first_of_two_rounds_foretells_no_end(capsys, index, views, tmp_path, monkeypatch):
    from contextlib import contextmanager

    shown: list[tuple[int, int]] = []

    @contextmanager
    def reporting(doing):
        yield lambda done, of, word, *, free=False: shown.append((done, of))

    monkeypatch.setattr("pnyx.core.progress.reporting", reporting)
    command = (*_bench(index, views, tmp_path / "out"), "--retrievers", "bm25")
    assert called(capsys, *command)[0] == 0
    dev = (tmp_path / "out" / "verdicts-dev.jsonl").read_text().count("\n")
    test = (tmp_path / "out" / "verdicts.jsonl").read_text().count("\n")
    assert shown == [(0, -dev), *((n, -dev) for n in range(1, dev + 1)), (dev, dev + test),
                     *((dev + n, dev + test) for n in range(1, test + 1))]  # fmt: skip


def test_what_is_unscored_is_no_no(capsys, index, views, tmp_path, monkeypatch):
    from pnyx.judging.students.student import StudentJudge

    def judge(self, questions):
        by = Provenance(self.name, method="calibrated")
        return [
            Unscored("refused", by) if number % 7 == 0 else Judged(number % 3 == 0, by, 0.5)
            for number, _ in enumerate(questions)
        ]

    monkeypatch.setattr(StudentJudge, "judge", judge)
    more = ("--variants", "plain", "--json")
    code, said, err = called(capsys, *_bench(index, views, tmp_path / "out", *more))
    found = json.loads(said)
    assert code == 3
    assert "pairs are unscored: " in err
    pairs = found["runs"][0]["pairs"]
    assert pairs["unscored"] > 0
    assert pairs["asked"] == pairs["scored"] + pairs["unscored"]
    precision = found["runs"][0]["measures"]["Precision@3"]
    assert precision["bounds"]["least"] <= precision["bounds"]["most"]


@pytest.mark.all
def test_each_perspective_of_another_source_is_searched(capsys, index, views, topics, tmp_path):
    written = tmp_path / "written.jsonl"
    rows = [
        {"id": f"{q.id}-{n}", "question_id": q.id, "text": f"{text} {q.text}", "stance": None}
        for q in topics
        for n, text in enumerate(("It is good for people to say:", "It costs too much to ask:"))
    ]
    write_rows(written, rows)
    more = ("--variants", "plain", "--expand", written)
    code, said, _ = called(capsys, *_bench(index, views, tmp_path / "out", *more))
    assert code == 0
    assert "bm25+perspectives" in said
    assert "lambda" not in said


@pytest.mark.all
def test_each_side_is_asked_in_place_of_the_question(capsys, index, views, tmp_path):
    out = tmp_path / "out"
    rows = rows_of(views)
    two = {}
    for row in rows:  # two of each question: one for it, one against it
        two.setdefault((row["question_id"], row["stance"]), row)
    views.write_text("".join(json.dumps(two[key]) + "\n" for key in two))
    more = ("--variants", "plain", "--leaning", "--cutoff", 1)
    code, said, _ = called(capsys, *_bench(index, views, out, *more))
    assert code == 0
    assert "supporting" in said
    assert "opposing" in said
    found = json.loads((out / "measures.json").read_text())
    assert [one["run"] for one in found["leaning"]] == ["bm25", "dense"]
    for one in found["leaning"]:
        assert list(one["asked_as"]) == ["question", "pro", "con"]
        assert one["unscored"] == 0  # what a side finds is judged, too


@pytest.mark.all
def test_a_plan_judges_nothing(capsys, index, views, tmp_path):
    arguments = [a for a in _bench(index, views, tmp_path / "out") if a != "--out"]
    arguments.remove(tmp_path / "out")
    code, said, _ = called(capsys, *arguments, "--plan")
    assert code == 0
    assert "no language model is asked" in said
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("more", "line"),
    [
        (("--retrievers", "bm25,bm42"), "unknown model 'bm42'"),
        (("--retrievers", "bm25,bm25"), "a retriever is named twice"),
        (("--retrievers", "touche"), "--clusters"),
        (("--variants", "perspectives"), "--variants perspectives requires --expand"),
        (("--variants", "plain,best"), "variants: expected some of plain, mmr, perspectives"),
        (("--variants", "plain", "--lambda", "0.5"), "--lambda requires --variants mmr"),
        (("--expand", "llm"), "--expand llm requires a language model"),
        (("--expand", "none.jsonl"), "none.jsonl"),
        (("--gold", "labels.jsonl"), "--gold requires --labelled"),
    ],
)
def test_what_cannot_be_is_said_in_one_line(capsys, index, views, tmp_path, more, line):
    code, out, err = called(capsys, *_bench(index, views, tmp_path / "out", *more))
    assert (code, out) == (2, "")
    assert line in err
    assert len(err.splitlines()) == 1


def test_a_question_without_its_text(capsys, index, tmp_path):
    path = tmp_path / "views.jsonl"
    path.write_text('{"id": "p", "question_id": "q", "text": "Zoos are good.", "stance": "pro"}\n')
    code, _, err = called(capsys, *_bench(index, path, tmp_path / "out", "--variants", "plain"))
    assert code == 2
    assert "question 'q': its perspectives do not name its text" in err


@pytest.mark.all
def test_other_pairs_under_the_same_name_are_refused(capsys, index, views, tmp_path):
    out = tmp_path / "out"
    called(capsys, *_bench(index, views, out, "--variants", "plain"))
    before = {path.name: path.read_bytes() for path in (out / "runs").iterdir()}
    more = ("--variants", "plain", "--words", 20, "--cutoff", 1)
    code, _, err = called(capsys, *_bench(index, views, out, *more))
    assert code == 2
    assert "verdicts.jsonl" in err
    assert {path.name: path.read_bytes() for path in (out / "runs").iterdir()} == before


def test_labelled_pairs_of_another_judge_are_refused_before_anything_is_judged(
    capsys, index, views, tmp_path
):
    labelled = tmp_path / "labelled.jsonl"
    row = {"id": "1", "task": "support", "value": True, "unscored": None, "judge": "other@1"}
    row |= {"label": 1, "probability": 0.9, "group": "q", "prompt_hash": ""}
    labelled.write_text(json.dumps(row) + "\n")
    out = tmp_path / "out"
    code, _, err = called(capsys, *_bench(index, views, out, "--labelled", labelled))
    assert code == 2
    assert "answered by 'other@1', expected 'student:perspectives@" in err
    assert not out.exists()


@pytest.mark.all
def test_searching_for_what_is_to_be_covered_is_said_to_be_an_upper_bound(
    capsys, index, views, tmp_path
):
    more = ("--variants", "plain", "--expand", views)
    code, _, err = called(capsys, *_bench(index, views, tmp_path / "out", *more))
    assert code == 0
    assert "its figures are an upper bound" in err
