"""Trials of who asks, who wrote and how a text looks: bad judges fail, good ones pass."""

from __future__ import annotations

import json
import re
from collections import Counter

import pytest

import planted_judges as planted
from chat_server import ChatServer
from command import called, rows_of, write_rows
from pnyx.audit.trials.patterns import lengthened, patterns
from pnyx.audit.trials.presentation import FORMATS
from test_cli_audit import ALWAYS_YES, MAKE, run, trial

pytestmark = pytest.mark.usefixtures("own_place")


def stance_items(count: int = 40) -> str:
    sides = ("pro", "con")
    rows = [
        {"id": f"t{n}", "question": "Should parks be sold?", "stance": sides[n % 2],
         "text": f"Number {n}: keep the parks.", "group": f"g{n}"}
        for n in range(count)
    ]  # fmt: skip
    return write_rows("stance.jsonl", rows)


def side_of(prompt: str) -> str:
    """Good: whatever the text says against selling is no reason for it."""
    return planted.verdict("not" in planted.text_of(prompt, "side"))


def signed(prompt: str) -> str:
    """Bad: the higher where it is told that it wrote the text itself."""
    return planted.scores(prompt, 3 if "you, the model" in planted.text_of(prompt, "text") else 1)


def tidy(prompt: str) -> str:
    """Bad: a list is better than the same sentences."""
    listed = re.search(r"^(-|1\.) ", planted.text_of(prompt, "text"), re.MULTILINE)
    return planted.scores(prompt, 3 if listed else 1)


def flatterer(prompt: str) -> str:
    """Bad: says what the asker hopes for."""
    hoped = re.search(r'right answer is "(yes|no)"', prompt)
    return planted.verdict(hoped[1] == "yes") if hoped else planted.good_support(prompt)


def wordy(prompt: str) -> str:
    """Bad: each stock phrase is a merit."""
    return planted.scores(prompt, 3 if "due to the fact" in planted.text_of(prompt, "text") else 1)


MEANT = [
    ("repeat", "support", planted.good_support, "passed"),
    ("stance", "stance", ALWAYS_YES, "failed"),
    ("stance", "stance", side_of, "passed"),
    ("self", "quality", signed, "failed"),
    pytest.param("self", "quality", planted.good_quality, "passed", marks=pytest.mark.all),
    pytest.param("self", "preference", planted.good_preference, "passed", marks=pytest.mark.all),
    ("format", "quality", tidy, "failed"),
    pytest.param("format", "quality", planted.good_quality, "passed", marks=pytest.mark.all),
    ("asker", "support", flatterer, "failed"),
    pytest.param("asker", "support", planted.good_support, "passed", marks=pytest.mark.all),
    pytest.param("asker", "quality", planted.good_quality, "passed", marks=pytest.mark.all),
    ("verbosity", "quality", wordy, "failed"),
    ("verbosity", "quality", planted.good_quality, "passed"),
    pytest.param("verbosity", "ranking", planted.good_ranking, "passed", marks=pytest.mark.all),
]


@pytest.mark.parametrize(("name", "task", "reply", "outcome"), MEANT)
def test_bad_judges_fail_and_good_ones_pass(name, task, reply, outcome, monkeypatch):
    monkeypatch.setitem(MAKE, "stance", stance_items)
    found = trial(name, task, reply)
    assert found["outcome"] == outcome, found["problems"]
    assert found["interval"]["clusters"] == 40


def test_repeats_are_asked_anew_and_counted_by_hand(capsys):
    """10 of 40 verdicts differ when asked again; a second run asks nothing."""
    seen = Counter[str]()

    def fickle(prompt: str) -> str:
        seen[prompt] += 1
        number = int(re.search(r"its (\d+) large", planted.text_of(prompt, "document"))[1])
        return planted.verdict(seen[prompt] == 1 or (number - 20) // 7 >= 10)

    path = MAKE["support"](40)
    with ChatServer(reply=fickle) as server:
        asking = ("audit", "run", "--trial", "repeat", path, "--repeats", "1", "--out", "S",
                  "--concurrency", "1", "--judge", server.spec, "--json")  # fmt: skip
        code, out, _ = called(capsys, *asking)
        assert code == 0
        assert len(server.asked()) == 80
        assert called(capsys, *asking)[0] == 0
        assert len(server.asked()) == 80
    found = json.loads(out)
    assert found["measures"]["changed"]["value"] == pytest.approx(0.25)
    assert found["outcome"] == "failed"
    assert (
        "verdicts change where the same is asked again: found 0.250" in found["problems"][0]["said"]
    )
    assert Counter(row["variant"] for row in rows_of("S")) == {"clean": 40, "again 1": 40}


def test_yes_to_both_sides_is_counted_by_hand(capsys):
    """Of 8 texts, 2 get yes for both sides, 1 for neither."""

    def reply(prompt: str) -> str:
        number = int(re.search(r"Number (\d+)", prompt)[1])
        con = planted.text_of(prompt, "side").endswith(" No.")
        return planted.verdict(number < 2 or (con and number != 7))

    path = stance_items(8)
    with ChatServer(reply=reply) as server:
        _, out, _ = called(capsys, "audit", "run", "--trial", "stance", path, "--task", "stance",
                           "--out", "S", "--judge", server.spec, "--json")  # fmt: skip
        statements = {planted.text_of(r["messages"][-1]["content"], "side")
                      for r in server.asked()}  # fmt: skip
    measures = json.loads(out)["measures"]
    assert measures["both"]["value"] == pytest.approx(2 / 8)
    assert measures["neither"]["value"] == pytest.approx(1 / 8)
    assert len(statements) == 2


@pytest.mark.parametrize(
    "name",
    [
        "repeat",
        pytest.param("self", marks=pytest.mark.all),
        pytest.param("format", marks=pytest.mark.all),
        pytest.param("asker", marks=pytest.mark.all),
        pytest.param("verbosity", marks=pytest.mark.all),
    ],
)
def test_the_packaged_judge_is_tried(name, capsys):
    """Without a language model; what comes of it is for docs/lab/trials.md."""
    code, out, _ = called(capsys, "audit", "run", "--trial", name, MAKE["support"](6), "--out", "S",
                          "--draws", "50", "--json")  # fmt: skip
    found = json.loads(out)
    assert code == 0
    assert found["counts"]["scored"] > 6
    if name == "repeat":
        assert found["measures"]["changed"]["value"] == 0


def test_tasks_for_which_a_trial_has_no_meaning_are_refused(capsys):
    support, ranking = MAKE["support"](4), MAKE["ranking"](4)
    for name, path, why in (
        ("stance", support, "no item can be changed (4 no side (stance) of a question"),
        ("asker", ranking, "asker does not apply to ranking"),
    ):
        assert run("run", "--trial", name, path, "--out", "S") == 2
        assert why in capsys.readouterr().err
    assert run("run", "--trial", "noise", support, "--repeats", "2", "--out", "S") == 2
    assert "--repeats is only for repeat, not noise" in capsys.readouterr().err


TEXT = "Fares fell because the city paid. Buses often came late. Is that so? It is 3.5 percent."


@pytest.mark.parametrize("way", FORMATS)
def test_a_format_keeps_every_word(way):
    set_ = FORMATS[way](TEXT)
    assert set_ != TEXT
    plain = re.sub(r"^(- |\d\. |## )|\*\*", "", set_, flags=re.MULTILINE)
    assert plain.split() == TEXT.split()
    assert FORMATS[way]("One sentence.") == "One sentence."


def test_more_words_say_the_same():
    assert lengthened(TEXT).startswith("Fares fell due to the fact that the city paid. ")
    assert "Buses on many occasions came late" in lengthened(TEXT)
    # Phrases that keep their own words, and what is no whole word.
    assert lengthened("As soon as they whenever") == "As soon as they whenever"
    table = patterns()["rewordings"]["wordy"]
    assert all(len(after.split()) >= len(before.split()) for before, after in table.items())


def test_a_taste_for_its_own_texts_is_held_against_peoples_by_hand(capsys):
    """8 pairs: the judge prefers its own in 6, people in 3: (6 - 3) / 8."""
    rows = []
    for n in range(8):
        own = "ab"[n % 2]
        label = own if n < 2 else "tie" if n < 4 else "ab"[1 - n % 2]
        by = {"a_by": "m", "b_by": "other"} if own == "a" else {"a_by": "other", "b_by": "m"}
        texts = {own: f"Mine {n}" if n < 6 else f"Plain {n}", "ab"[1 - n % 2]: f"Theirs {n}"}
        rows.append({"id": f"p{n}", "question": "Which?", "group": f"g{n}", **texts, **by,
                     "label": label})  # fmt: skip
    rows.append({**rows[0], "id": "both", "b_by": "m"})
    rows.append({key: value for key, value in rows[0].items() if key != "label"} | {"id": "open"})
    path = write_rows("pairs.jsonl", rows)

    def vain(prompt: str) -> str:
        """Prefers `Mine`, else `Theirs`."""
        texts = {side: planted.text_of(prompt, side) for side in ("first", "second")}
        liked = "Mine" if "Mine" in "".join(texts.values()) else "Theirs"
        return planted.winner(next(side for side, text in texts.items() if liked in text))

    with ChatServer(reply=vain) as server:
        code, out, _ = called(
            capsys,
            "audit",
            "run",
            "--trial",
            "self",
            path,
            "--judge-name",
            "m",
            "--out",
            "S",
            "--task",
            "preference",
            "--judge",
            server.spec,
            "--json",
        )
    found = json.loads(out)
    assert code == 0
    assert found["measures"]["own_preferred"]["value"] == pytest.approx(6 / 8)
    assert found["measures"]["by_people"]["value"] == pytest.approx(3 / 8)
    assert found["measures"]["excess"]["value"] == pytest.approx(3 / 8)
    assert found["items"]["left_out"] == {
        "no label: a, b or tie": 1, "not one of both (a_by, b_by) by the writer": 1
    }  # fmt: skip
    assert run("run", "--trial", "self", MAKE["support"](4), "--judge-name", "m", "--out", "T") == 2
    assert "--judge-name requires preference, not support" in capsys.readouterr().err


def argued(count: int) -> str:
    rows = [
        {"id": f"r{n}", "query": f"Which way, {n}?", "group": f"g{n}", "stance": "pro",
         "documents": ["Left is near.", "Right is far."], "by": "test" if n == 8 else "ann",
         "argument": f"Theirs {n}, as is said [1]." if n else ""}
        for n in range(count)
    ]  # fmt: skip
    return write_rows("argued.jsonl", rows)


def author(prompt: str) -> str:
    """Writes, but on 5; of two texts it prefers its own, but on 2 and 4."""
    number = re.search(r"Which way, (\d)", prompt)[1]
    if "Answer in about" in prompt:
        assert "as in [2]" in prompt
        assert planted.text_of(prompt, "passage") in ("Left is near.", "Right is far.")
        return "{}" if number == "5" else json.dumps({"text": f"Mine {number} [2]."})
    texts = {side: planted.text_of(prompt, side) for side in ("first", "second")}
    liked = "Theirs" if number in "24" else "Mine"
    return planted.winner(next(side for side, text in texts.items() if liked in text))


def test_a_judge_writes_the_texts_that_it_is_asked_about(capsys):
    items = argued(9)
    with ChatServer(reply=author) as server:
        self_trial = ("audit", "run", "--trial", "self", "--judge", server.spec)
        writing = (*self_trial, items, "--write-pairs")
        code, out, _ = called(capsys, *writing, "p.jsonl", "--plan", "--json")
        plan = json.loads(out)
        assert (code, plan["items"], plan["models"][0]["calls"], server.asked()) == (0, 7, 7, [])
        code, out, err = called(capsys, *writing, "pairs.jsonl", "--json")
        assert code == 3  # one got no argument, one had none to stand beside, one is its own
        assert json.loads(out) == {
            "out": "pairs.jsonl", "items": 9, "pairs": 6, "failed": 1,
            "left_out": {"no argument": 1, "an argument by the judge": 1},
        }  # fmt: skip
        assert "r5: schema" in err
        asked = len(server.asked())
        for _ in range(2):  # what could not be read is asked once more, and then no more
            assert called(capsys, *writing, "again.jsonl")[0] == 3
            assert len(server.asked()) == asked + 1
        rows = rows_of("pairs.jsonl")
        fewer = write_rows("fewer.jsonl", rows_of(items)[4:])
        assert called(capsys, *self_trial, fewer, "--write-pairs", "fewer")[0] == 3
        assert rows_of("fewer") == rows[3:]  # which text comes first stays: people's labels hold
        own = {row["id"]: "a" if row["a_by"] == "test" else "b" for row in rows}
        assert list(own) == ["r1", "r2", "r3", "r4", "r6", "r7"]
        assert set(own.values()) == {"a", "b"}
        assert all(row[own[row["id"]]].startswith("Mine") for row in rows)
        people = write_rows("people.jsonl", [
            {"id": "r1", "value": own["r1"]}, {"id": "r2", "value": "tie"},
            *({"id": i, "value": "ab".replace(own[i], "")} for i in ("r3", "r6")),
            {"id": "r4", "value": "neither"},
        ])  # fmt: skip
        trying = (*self_trial, "pairs.jsonl", "--json")
        own_taste = (*trying, "--judge-name", "test", "--control")
        found = json.loads(called(capsys, *own_taste, people, "--out", "S")[1])
        # A second judge that prefers whatever comes first: a tie in both orders.
        with ChatServer(reply=planted.winner("first")) as second:
            llm = second.spec.replace("#test", "#second")
            judging = ("judge", "preference", "pairs.jsonl", "--judge", llm)
            assert called(capsys, *judging, "--out", "second")[0] == 0
        beside = json.loads(called(capsys, *own_taste, "second", "--out", "T")[1])
        judging = ("judge", "preference", "pairs.jsonl", "--judge", server.spec)
        assert called(capsys, *judging, "--out", "own")[0] == 0
        code, _, err = called(capsys, *own_taste, "own", "--out", "U")
        assert (code, "found answers of test itself" in err) == (2, True), err
    # Of r1, r2, r3 and r6 the judge prefers its own but on r2, people on r1 and half on r2.
    values = {name: one["value"] for name, one in found["measures"].items()}
    assert values == pytest.approx(
        {"own_preferred": 3 / 4, "by_people": 1.5 / 4, "excess": 1.5 / 4}
    )
    assert found["items"]["left_out"] == {"no label: a, b or tie": 2}
    assert "no more often than by people, or another judge" in found["expects"]
    assert {row["id"].rpartition("~")[2] for row in rows_of("S")} == {"clean", "swapped"}
    assert beside["measures"]["own_preferred"]["value"] == pytest.approx(4 / 6)
    assert beside["measures"]["by_people"]["value"] == pytest.approx(1 / 2)


def test_what_cannot_be_paired_is_one_line(capsys):
    llm = ("--judge", "http://127.0.0.1:9/v1#m")
    pairs = ("--trial", "self", "--write-pairs", "p.jsonl")
    for count, more, said in (
        (1, (*llm, *pairs), "no item has an argument"),
        (2, pairs, "requires a language model: add --judge"),
        (2, (*llm, *pairs[2:]), "--write-pairs requires --trial self"),
        (2, (*llm, *pairs, "--trial", "order"), "--write-pairs requires --trial self"),
        (2, (*llm, *pairs, "--out", "S"), "--out has no effect with --write-pairs"),
        (2, (*llm, *pairs, "--set", "batch=2"), "--set batch has no effect with --write-pairs"),
        (2, ("--judge", "people.jsonl", *pairs), "cannot answer here"),
    ):
        write_rows("people.jsonl", [{"id": "r1", "value": "a"}])
        code, _, err = called(capsys, "audit", "run", argued(count), *more)
        assert (code, said in err) == (2, True), err
    trying = (
        "audit",
        "run",
        "--trial",
        "self",
        MAKE["preference"](4),
        "--control",
        "p.jsonl",
        "--judge",
        llm[1],
    )
    code, _, err = called(capsys, *trying, "--out", "S")
    assert (code, "--control requires --judge-name" in err) == (2, True), err
