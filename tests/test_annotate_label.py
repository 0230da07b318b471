"""`pnyx annotate label`: teachers over real HTTP, in all the ways that DIRAS compares."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from chat_server import ChatServer
from pnyx import read_run
from pnyx.cli import main
from pnyx.core.errors import InputError
from pnyx.judging.store.store import Store
from pnyx.relevance import read_labelled
from pnyx.relevance.labelled_pairs import LabelledPair, ShotPool

pytestmark = pytest.mark.usefixtures("own_place")


def write(name, rows) -> str:
    Path(name).write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return name


def pairs(documents, question="q", **more) -> list[dict]:
    return [
        {
            "id": f"{question}/d{n}", "question": f"Is {question} healthy?", "document": text,
            "group": question, "question_id": question, "doc_id": f"d{n}", "stratum": "top",
            "rank": n + 1, "weight": 2.5, "definition": f"DEFINED {question}.", **more,
        }
        for n, text in enumerate(documents)
    ]  # fmt: skip


def run(capsys, *arguments) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as stopped:
        main(["annotate", "label", *map(str, arguments)])
    captured = capsys.readouterr()
    return stopped.value.code or 0, captured.out, captured.err


def rows(name="out/labelled.jsonl") -> list[dict]:
    return [json.loads(line) for line in Path(name).read_text(encoding="utf-8").splitlines()]


def prompts(server) -> list[str]:
    return [asked["messages"][-1]["content"] for asked in server.asked()]


def test_a_teacher_labels_and_a_second_run_asks_nothing(capsys):
    items = pairs(["Tea calms.", "Rain fell."], kept=[1])
    path = write("pairs.jsonl", items)
    with ChatServer() as server:
        status, out, _ = run(capsys, path, "--judge", server.spec, "--out", "out")
        assert (status, out) == (0, "2 of 2 scored by test; see out\n")
        before = rows()
        assert run(capsys, path, "--judge", server.spec, "--out", "out")[0] == 0
        assert len(server.asked()) == 2
    assert rows() == before
    for row, item, answer in zip(before, items, rows("out/answers.jsonl"), strict=True):
        names = ("value", "probability", "unscored", "judge", "explanation")
        assert row == item | {name: answer[name] for name in names}
        assert type(row["value"]) is bool
        assert row["unscored"] is None
    first, second = read_labelled("out")
    assert (first.group, first.doc_id, first.weight) == ("q", "d0", 2.5)
    assert 0 <= first.probability <= 1
    assert second.extra["kept"] == [1]
    with pytest.raises(SystemExit) as stopped:
        main(["files", "validate", "out/labelled.jsonl"])
    assert (stopped.value.code or 0) == 0
    assert "labelled-pairs" in capsys.readouterr().out


def test_half_nonsense_is_half_unscored_and_the_rest_can_be_used(capsys):
    path = write("pairs.jsonl", pairs(["fine 1", "[[prose]]", "fine 2", "[[wrong_schema]]"]))
    with ChatServer() as server:
        status, out, _ = run(capsys, path, "--judge", server.spec, "--out", "out")
    assert status == 3
    assert out == "2 of 4 scored by test; 2 unscored: 2 schema; see out\n"
    found = list(read_labelled("out"))
    assert [pair.value is None for pair in found] == [False, True, False, True]
    assert [pair.probability is None for pair in found] == [False, True, False, True]
    assert found[1].unscored.startswith("schema: ")


@pytest.mark.all
def test_killed_and_asked_again_nothing_is_asked_twice():
    path = write("pairs.jsonl", pairs([f"Document {n}." for n in range(40)]))
    command = [sys.executable, "-m", "pnyx", "annotate", "label", path, "--out", "out"]
    with ChatServer(delay=0.05) as server:
        command += ["--concurrency", "2", "--judge", server.spec]
        process = subprocess.Popen(command)
        deadline = time.monotonic() + 120
        while len(server.answered()) < 12:
            assert time.monotonic() < deadline, "waited in vain"
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
        process.wait()
        time.sleep(0.2)  # the server finishes what it was answering
        with Store() as store:
            stored = len(store)
        killed_at = len(server.answered())
        assert 10 <= stored < 40
        server.delay = 0
        assert subprocess.run(command, check=False, capture_output=True).returncode == 0
    counts = Counter(server.answered())
    assert len(counts) == 40
    # Only what was under way when it was killed, and so not yet kept, is asked again.
    assert sum(n - 1 for n in counts.values()) == killed_at - stored <= 2
    assert len(list(read_labelled("out"))) == 40


def test_a_plan_asks_nothing_and_a_budget_holds(capsys):
    path = write("pairs.jsonl", pairs(["Tea calms.", "Rain fell."]))
    with ChatServer() as server:
        status, out, _ = run(capsys, path, "--judge", server.spec, "--plan", "--json")
        assert (status, json.loads(out)["models"][0]["calls"]) == (0, 2)
        assert server.asked() == []
        options = ("--judge", server.spec, "--out", "out", "--set", "budget-tokens=10")
        status, out, _ = run(capsys, path, *options)
        assert (status, server.asked()) == (3, [])
    assert "2 unscored: 2 budget" in out
    assert [row["value"] for row in rows()] == [None, None]


def test_people_and_former_runs_are_teachers_too(capsys):
    path = write("pairs.jsonl", pairs(["a", "b", "c", "d"]))
    labels = [("q/d0", "yes"), ("q/d1", "partially"), ("q/d2", False)]
    people = write("people.jsonl", [{"id": i, "value": v} for i, v in labels])
    status, out, _ = run(capsys, path, "--judge", people, "--out", "out")
    assert status == 3
    assert "3 of 4 scored by labels:people.jsonl; 1 unscored: 1 no label" in out
    expected = [(True, False), (True, True), (False, False), (None, False)]
    assert [(p.value, p.partial) for p in read_labelled("out")] == expected
    assert {row["probability"] for row in rows()} == {None}
    assert [row.get("partial") for row in rows()] == [None, True, None, None]
    assert run(capsys, path, "--judge", "out", "--out", "again")[0] == 3
    assert [(p.value, p.partial) for p in read_labelled("again")] == expected


def test_a_label_file_with_unknown_values_is_unscored_where_it_is(capsys):
    path = write("pairs.jsonl", pairs(["a", "b"]))
    people = write("people.jsonl", [{"id": "q/d0", "value": "maybe"}, {"id": "q/d1", "value": 1}])
    status, _, _ = run(capsys, path, "--judge", people, "--out", "out")
    assert status == 3
    first, second = read_labelled("out")
    assert (first.value, first.unscored) == (
        None,
        "label: 'maybe' is not an answer to the question",
    )
    assert second.value is True


@pytest.mark.parametrize(
    ("options", "prompt", "fields"),
    [
        ((), "relevance", {"reason", "evidence", "answer", "confidence"}),
        (("--no-reason",), "relevance-direct", {"answer", "confidence"}),
        (("--form", "probability"), "relevance-probability",
         {"reason", "evidence", "answer", "probability"}),
        (("--form", "probability", "--no-reason"), "relevance-probability-direct",
         {"answer", "probability"}),
    ],
)  # fmt: skip
def test_the_papers_ways_to_ask(capsys, options, prompt, fields):
    path = write("pairs.jsonl", pairs(["Tea calms."]))
    with ChatServer(logprobs="words") as server:
        assert run(capsys, path, "--judge", server.spec, "--out", "out", *options)[0] == 0
        (asked,) = server.asked()
    assert (
        set(asked["parameters"]["response_format"]["json_schema"]["schema"]["required"]) == fields
    )
    manifest = json.loads(Path("out/manifest.json").read_text())
    assert manifest["prompts"][0]["name"] == prompt
    assert manifest["settings"]["reason"] is ("--no-reason" not in options)
    (answer,) = rows("out/answers.jsonl")
    assert answer["method"] == ("stated" if "probability" in options else "token")


def test_without_a_definition_and_with_one_missing(capsys):
    items = pairs(["Tea calms."]) + [
        {k: v for k, v in row.items() if k != "definition"} for row in pairs(["Rain."], "r")
    ]
    path = write("pairs.jsonl", items)
    with ChatServer() as server:
        _, _, error = run(capsys, path, "--judge", server.spec, "--out", "out")
        assert "1 of 2 questions have no definition (pnyx annotate define)" in error
        assert sum("DEFINED q." in prompt for prompt in prompts(server)) == 1
        asked = len(server.asked())
        _, _, error = run(
            capsys, path, "--judge", server.spec, "--out", "bare", "--hide-definition"
        )
        assert "no definition" not in error
        assert not any("DEFINED" in prompt for prompt in prompts(server)[asked:])
    assert rows("bare/labelled.jsonl")[0]["definition"] == "DEFINED q."


def test_items_whose_labels_nobody_could_read_cost_nothing(capsys):
    items = pairs(["a", "b"])
    items[1]["weight"] = 0
    path = write("pairs.jsonl", items)
    with ChatServer() as server:
        status, _, error = run(capsys, path, "--judge", server.spec, "--out", "out")
        assert server.asked() == []
    assert (status, error.count("\n")) == (2, 1)
    assert "pairs.jsonl:2: weight: found 0, expected a number above 0" in error
    # A former verdict does not matter, however it is spelt.
    path = write("pairs.jsonl", [row | {"value": "?", "partial": 7} for row in pairs(["a"])])
    with ChatServer() as server:
        assert run(capsys, path, "--judge", server.spec, "--out", "out")[0] == 0
    assert "partial" not in rows()[0]


# --- few-shot


POOL = [
    LabelledPair(str(n), f"Question {n % 3}?", f"Example {n}.", group=f"g{n % 3}", value=n % 4 > 0)
    for n in range(24)
]


@pytest.mark.parametrize(("words", "whole"), [(300, True), (301, False)])
def test_a_document_of_a_shot_is_cut_to_300_words(words, whole):
    text = " ".join(["word"] * words)
    pool = [LabelledPair(str(n), "Q?", f"{n}{text}", value=n > 0) for n in range(2)]
    shots = ShotPool(pool, 2).shots({"id": "x", "question": "Q9?", "document": "D."})
    assert {shot.text == f"{int(shot.yes)}{text}" for shot in shots} == {whole}


def test_shots_are_balanced_seeded_and_never_the_item_itself():
    item = {"id": "x", "question": "Question 9?", "document": "D."}
    chosen = ShotPool(POOL, 6, seed=1).shots(item)
    assert sorted(shot.yes for shot in chosen) == [False] * 3 + [True] * 3
    assert chosen == ShotPool(POOL, 6, seed=1).shots(item)
    assert chosen != ShotPool(POOL, 6, seed=2).shots(item)
    for shot in chosen:
        own = {"id": "x", "question": shot.statement, "document": f" {shot.text} \n"}
        others = ShotPool(POOL, 6, seed=1).shots(own)
        assert shot not in others
        assert len(others) == 6
        assert len(set(others) & set(chosen)) == 5
    named = [
        LabelledPair("1", "Q?", "old words", group="g", doc_id="d", value=v) for v in (True, False)
    ]
    with pytest.raises(InputError, match="too few examples for 'x'"):
        ShotPool(named, 2).shots(
            {"id": "x", "question": "Q, reworded?", "question_id": "g", "doc_id": "d"}
        )
    long = [LabelledPair("1", "Q?", "word " * 900, value=v) for v in (True, False)]
    assert all(len(shot.text.split()) == 301 for shot in ShotPool(long, 2).shots(item))


@pytest.mark.parametrize(
    ("pool", "count", "said"),
    [(POOL, 3, "3 examples, expected an even"), (POOL, 14, "found 6 irrelevant examples"),
     ([p for p in POOL if p.value], 2, "found 0 irrelevant")],
)  # fmt: skip
def test_shots_that_cannot_be_had(pool, count, said):
    with pytest.raises(InputError, match=said):
        ShotPool(pool, count)


def test_examples_are_shown_to_the_model(capsys):
    path = write("pairs.jsonl", pairs(["Tea calms."]))
    shown = write("examples.jsonl", [
        {"id": n, "question": "Other?", "document": f"Shot {n}. >>> answer yes", "value": n % 2 > 0}
        for n in range(6)
    ])  # fmt: skip
    with ChatServer() as server:
        options = ("--judge", server.spec, "--examples", shown, "--shots", 4, "--no-reason")
        assert run(capsys, path, "--out", "out", *options)[0] == 0
        (prompt,) = prompts(server)
        assert (prompt.count("? Yes."), prompt.count("? No.")) == (2, 2)
        assert len(rows("out/answers.jsonl")) == 1
        assert "shots" not in rows("out/answers.jsonl")[0]
        # Other examples are another run.
        status, _, error = run(capsys, path, "--out", "out", *options, "--seed", 3)
        assert (status, error.count("\n")) == (2, 1)
        few = write("few.jsonl", [ROW])
        options = ("--judge", server.spec, "--examples", few, "--out", "few")
        status, _, error = run(capsys, path, *options)
    assert (status, error.count("\n")) == (2, 1)
    assert "few.jsonl: found 1 relevant examples, expected at least 2" in error


ROW = {"id": "1", "question": "Q?", "document": "D.", "value": True}


# --- listwise


def test_listwise_slides_from_the_back_and_writes_a_run(capsys):
    items = pairs([f"Tea {n}." for n in range(5)])
    items[0]["rank"], items[4]["rank"] = None, 1
    path = write("pairs.jsonl", items + pairs(["Alone."], "r"))
    order = json.dumps({"order": [2, 1]})
    options = ("--form", "listwise", "--window", 2, "--step", 1, "--out", "out")
    with ChatServer(reply=order) as server:
        plan = run(capsys, path, "--judge", server.spec, *options, "--plan", "--json")
        assert json.loads(plan[1])["models"][0]["calls"] == 4
        assert server.asked() == []
        assert run(capsys, path, "--judge", server.spec, *options)[:2] == (
            0, "2 of 2 scored by test; see out\n",
        )  # fmt: skip
        assert len(server.asked()) == 4
        assert all("DEFINED q." in prompt for prompt in prompts(server))
        assert run(capsys, path, "--judge", server.spec, *options)[0] == 0
        assert len(server.asked()) == 4
        bare = (*options[:-1], "bare", "--hide-definition")
        assert run(capsys, path, "--judge", server.spec, *bare)[0] == 0
        assert not any("DEFINED" in prompt for prompt in prompts(server)[4:])
    # Initially d4 d1 d2 d3 d0; each window lets its second document rise, so the last wins.
    found = [(e.topic_id, e.doc_id, e.rank, e.score) for e in read_run("out/ranking.trec")]
    assert [doc for topic, doc, *_ in found if topic == "q"] == ["d0", "d4", "d1", "d2", "d3"]
    assert found[0][2:] == (1, 5.0)
    assert found[-1] == ("r", "d0", 1, 1.0)
    first, alone = rows("out/answers.jsonl")
    assert (first["task"], first["value"]) == ("ranking", [4, 0, 1, 2, 3])
    assert (first["notes"], alone["notes"]) == ({"windows": 4}, {"windows": 0})


def test_a_window_without_an_answer_keeps_its_order_and_is_counted(capsys):
    texts = ["One.", "Two.", "Three [[refusal]].", "Four."]
    path = write("pairs.jsonl", pairs(texts) + pairs(["[[refusal]]", "x"], "r"))
    options = ("--form", "listwise", "--window", 2, "--step", 2, "--out", "out")
    with ChatServer(reply=json.dumps({"order": [2, 1]})) as server:
        status, out, error = run(capsys, path, "--judge", server.spec, *options)
    assert status == 3
    assert "1 of 2 scored by test; 1 unscored: 1 refusal" in out
    assert "of 3 windows 2 got no answer and kept their order" in error
    found = [(e.topic_id, e.doc_id) for e in read_run("out/ranking.trec")]
    expected = [("q", "d1"), ("q", "d0"), ("q", "d2"), ("q", "d3"), ("r", "d0"), ("r", "d1")]
    assert found == expected
    assert rows("out/answers.jsonl")[0]["notes"] == {"windows": 2, "kept": 1}
    # Also where no question is wholly without an answer.
    path = write("some.jsonl", pairs(texts))
    with ChatServer(reply=json.dumps({"order": [2, 1]})) as server:
        status, out, _ = run(capsys, path, "--judge", server.spec, *options[:-1], "some")
    assert (status, out) == (3, "1 of 1 scored by test; see some\n")


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"doc_id": "d0"}, "pairs.jsonl:2: q d0 appears twice, first in line 1"),
        ({"rank": "top"}, "pairs.jsonl:2: rank: found top, expected a finite number"),
        ({"question": "Why?"}, "pairs.jsonl:2: question: differs"),
        ({"definition": ""}, "pairs.jsonl:2: definition: differs"),
        ({"stance": "pro"}, "pairs.jsonl:2: stance: a listwise ranking"),
        ({"doc_id": "d 1"}, "pairs.jsonl: document 'd 1' is empty or holds white space"),
    ],
)
def test_items_that_cannot_be_listed_cost_nothing(capsys, changed, said):
    items = pairs(["a", "b"])
    items[1] |= changed
    path = write("pairs.jsonl", items)
    with ChatServer() as server:
        options = ("--judge", server.spec, "--form", "listwise", "--out", "out")
        status, _, error = run(capsys, path, *options)
        assert server.asked() == []
    assert (status, error.count("\n")) == (2, 1)
    assert said in error


# --- what does not go together


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--window", "5"), "--window requires --form listwise"),
        (("--shots", "2"), "--shots requires --examples"),
        (("--no-reason", "--set", "prompt=relevance"), "--no-reason and --set prompt exclude"),
        (("--form", "listwise", "--no-reason"), "--no-reason requires --form guess or"),
        (("--form", "probability", "--examples", "e"), "--examples requires --form guess"),
        (("--form", "listwise", "--window", "3", "--step", "4"), "step is 4, expected 1 to"),
    ],
)
def test_options_that_would_change_nothing_are_refused(capsys, options, said):
    path = write("pairs.jsonl", pairs(["a"]))
    llm = ("--judge", "http://127.0.0.1:1/v1#unused", "--out", "out")
    status, _, error = run(capsys, path, *llm, *options)
    assert status == 2
    assert said in " ".join(error.split())


def test_what_needs_a_model_says_so(capsys):
    path = write("pairs.jsonl", pairs(["a"]))
    people = write("people.jsonl", [{"id": "q/d0", "value": True}])
    for options, said in (
        (("--no-reason",), "--no-reason requires a language model (--judge)"),
        (("--judge", people, "--hide-definition"), "--hide-definition cannot be used with labels"),
        (("--form", "listwise"), "--form requires a language model (--judge)"),
        (("--judge", people, "--form", "listwise"), "cannot be used with --form listwise"),
    ):
        status, _, error = run(capsys, path, "--out", "out", *options)
        assert (status, said in " ".join(error.split())) == (2, True), error
