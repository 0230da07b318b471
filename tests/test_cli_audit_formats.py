"""`pnyx audit run` with several formats, and scores of single documents, on planted judges."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import planted_judges as planted
from chat_server import ChatServer
from command import run

pytestmark = pytest.mark.usefixtures("own_place")

TOWNS = ("Ashville", "Birchville")
SOME = ("--judge-format", "support", "--judge-format", "direct")
ALL = ("--judge-format", "all")
BOTH = ("--judge-format", "direct", "--judge-format", "listwise-rag-fine")
OTHER = ("--qrels", "other.txt")
LABELS = (1, 1, 1, 0)
"""Of a town's four documents, three are relevant to its question."""


def write(name: str, lines) -> str:
    Path(name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return name


def rag_items(*, argument: bool = True, **more) -> str:
    rows = []
    for place, town in enumerate(TOWNS):
        told = [f"{town} sold {20 + 7 * place + 31 * n} large parks." for n in range(4)]
        rows.append(
            {"id": town, "query": f"Should {town} keep its parks?", "group": f"t{place}", **more,
             "documents": [{"id": f"d{place}{n}", "text": text} for n, text in enumerate(told)],
             **({"argument": " ".join(told[:2])} if argument else {})}
        )  # fmt: skip
    return write("rag.jsonl", map(json.dumps, rows))


def qrels() -> str:
    lines = [f"t{p} 0 d{p}{n} {label}" for p in (0, 1) for n, label in enumerate(LABELS)]
    return write("qrels.txt", lines)


def reply(prompt: str) -> str:
    """One call a dimension: always 8 of 10. Else a document has 4 of 5 if it names the town, else
    1, and groundedness is the share of the argument's sentences that the documents assert."""
    blocks = planted.blocks(prompt)
    documents = [text for label, text in blocks if label == "document"]
    if "quality" in dict(blocks):
        (name,) = re.findall(r"^([\w ]+): ", dict(blocks)["quality"], re.MULTILINE)[:1]
        return json.dumps({name: {"reason": "", "score": 8}})
    (town,) = re.findall(r"\w+ville", dict(blocks)["question"])
    scores = {f"document {n}": 4 if town in text else 1 for n, text in enumerate(documents, 1)}
    names = re.findall(r"^([\w ]+): ", dict(blocks)["qualities"], re.MULTILINE)
    borne = round(5 * planted.share_borne_out(dict(blocks).get("argument", ""), documents))
    scores |= {name: borne for name in names if name != "context_relevance"}
    return json.dumps({name: {"reason": "", "score": score} for name, score in scores.items()})


def compared(*more: str, items: str | None = None, answer=reply) -> tuple[int, dict]:
    with ChatServer(reply=answer) as server:
        path = items or rag_items()
        status = run(
            "audit", "run", path, *BOTH,
            "--levels", "0,.5,1", "--sentences", "0,2", "--judge", server.spec, "--out", "F", *more,
        )  # fmt: skip
    return status, json.loads(Path("F/formats.json").read_text())


def values(curve: dict) -> list[float | None]:
    return [point["value"] for point in curve["points"]]


def test_formats_are_compared_as_worked_by_hand(capsys):
    """Half of four documents is two: (2 x .8 + 2 x .2) / 4 = .5, so steps of .3 and .3."""
    status, found = compared()
    assert status == 0
    direct, fine = found["formats"]["direct"], found["formats"]["listwise-rag-fine"]
    assert values(direct["context_relevance"]) == pytest.approx([0.8, 0.8, 0.8])
    assert direct["context_relevance"]["pearson"]["value"] is None  # it never changes
    assert direct["context_relevance"]["strictly_decreasing"] is False
    assert values(fine["context_relevance"]) == pytest.approx([0.8, 0.5, 0.2])
    assert fine["context_relevance"]["pearson"]["value"] == pytest.approx(-1)
    assert fine["context_relevance"]["strictly_decreasing"] is True
    assert values(direct["groundedness"]) == pytest.approx([0.8, 0.8])
    assert values(fine["groundedness"]) == [1, 0]
    shown = capsys.readouterr().out
    for title in ("Table 16", "Table 17", "Table 18", "Table 7"):
        assert title in shown
        assert title in Path("F/formats.md").read_text()
    steps = Path("F/formats.md").read_text().partition("Table 17")[2].partition("Table 18")[0]
    assert "| direct | no | 0.000 | 0 %, 50 % | 6 |" in steps
    assert "| listwise-rag-fine | yes | 0.300 | 0 %, 50 % | 6 |" in steps
    picture = Path("F/formats.svg").read_text()
    assert picture.startswith("<svg")
    assert "listwise-rag-fine" in picture
    for trial in ("noise", "hallucination"):  # folders of `audit run`, which `view` shows
        assert (Path("F") / f"{trial}-direct" / "summary.json").exists()


def test_nothing_is_asked_twice_and_view_shows_each_trial(capsys):
    asking = ("audit", "run", rag_items(), *BOTH, "--levels", "0,1")
    with ChatServer(reply=reply) as server:
        more = ("--sentences", "0,1", "--judge", server.spec, "--out", "F")
        assert run(*asking, *more) == 0
        calls, first = len(server.asked()), Path("F/formats.json").read_bytes()
        # Of each item, direct: 3 dimensions; then the 2 that see documents, and the 2 that see
        # arguments. Of each item, listwise-rag-fine: as it is, with other documents, contradicted.
        assert calls == 2 * (3 + 2 + 2) + 2 * 3
        assert run(*asking, *more) == 0
        assert len(server.asked()) == calls
    assert Path("F/formats.json").read_bytes() == first
    settings = json.loads(Path("F/noise-direct/manifest.json").read_text())["settings"]
    assert "nuggets" not in settings
    capsys.readouterr()
    assert run("view", "F", "--json") == 0
    sources = json.loads(capsys.readouterr().out)["sources"]
    assert {(one["name"], one["kind"], one["problem"]) for one in sources} == {
        (f"{trial}-{name}", "stress", None)
        for trial in ("noise", "hallucination") for name in ("direct", "listwise-rag-fine")
    }  # fmt: skip


def test_true_and_predicted_precision_of_single_documents_by_hand():
    """Without noise .8 is predicted and 3 of 4 are relevant; with all replaced .2, and none is."""
    status, found = compared("--qrels", qrels())
    assert status == 0
    assert "documents" not in found["formats"]["direct"]
    first, half, last = found["formats"]["listwise-rag-fine"]["documents"]
    for row, true, predicted in ((first, 0.75, 0.8), (last, 0, 0.2)):
        assert row["true"]["value"] == pytest.approx(true)
        assert row["predicted"]["value"] == pytest.approx(predicted)
        assert row["error"]["value"] == pytest.approx(predicted - true)
        assert (row["true"]["scored"], row["true"]["asked"]) == (8, 8)
        assert (row["separation"]["value"], row["separation"]["asked"]) == (None, 0)
    lines = Path("F/noise-listwise-rag-fine/items.jsonl").read_text().splitlines()
    asked = [row for row in map(json.loads, lines) if row["variant"] == "0.5"]
    kept = [LABELS[n] for row in asked for n in range(4) if n not in row["replaced"]]
    assert half["true"]["value"] == sum(kept) / 8
    assert half["predicted"]["value"] == pytest.approx(0.5)
    assert half["separation"]["value"] == 1
    low, high = last["true"]["low"], last["true"]["high"]
    assert low == 0 < high  # 0 of 8 in two topics is no proof


def test_an_answer_that_leaves_out_a_document_scores_none():
    def forgetful(prompt):
        said = json.loads(reply(prompt))
        if "Birchville" in prompt.rpartition("question in dispute")[2]:
            said.pop("document 2", None)
        return json.dumps(said)

    status, found = compared("--qrels", qrels(), answer=forgetful)
    assert status == 3
    first = found["formats"]["listwise-rag-fine"]["documents"][0]
    assert (first["predicted"]["scored"], first["predicted"]["asked"]) == (4, 8)
    assert first["predicted"]["value"] == pytest.approx(0.8)
    curve = found["formats"]["listwise-rag-fine"]["context_relevance"]
    assert (curve["points"][0]["scored"], curve["points"][0]["asked"]) == (1, 2)


def test_documents_of_answers_are_measured_against_qrels(capsys):
    """Ashville's documents have .8, .8, .2 and .2, people say yes to three: one yes is missed.

    2 of 3 yes are found and no wrong one: F1 = 2 x 2 / (2 + 3) = .8. Of the pairs of a yes and a
    no, 2 are won and 1 is tied: AUROC = 2.5 / 3. Birchville's topic has one judged document.
    """

    def third_and_fourth_low(prompt):
        said = json.loads(reply(prompt))
        low = {f"document {n}": {"reason": "", "score": 1} for n in (3, 4)}
        return json.dumps(said | low)

    with ChatServer(reply=third_and_fourth_low) as server:
        asking = ("--judge-format", "listwise-rag-fine", "--judge", server.spec, "--out", "R")
        assert run("judge", "rag", rag_items(), *asking) == 0
    lines = [f"t0 0 d0{n} {label}" for n, label in enumerate(LABELS)]
    capsys.readouterr()
    assert run("measure", "R", "--qrels", write("q.txt", lines), "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["measures"]["f1"]["value"] == pytest.approx(0.8)
    assert found["measures"]["auroc"]["value"] == pytest.approx(2.5 / 3)
    assert found["counts"]["answers_without_label"] == 4
    assert found["counts"]["asked"] == found["counts"]["scored"] == 4
    assert json.loads(Path("R/measures.json").read_text()) == found
    labels = write("l.jsonl", [json.dumps({"id": "Birchville/d13", "value": True})])
    assert run("measure", "R", "--labels", labels, "--json") == 0
    assert json.loads(capsys.readouterr().out)["measures"]["accuracy"]["value"] == 0


def test_formats_need_no_model_and_plans_ask_nothing(capsys):
    path = rag_items(argument=False)
    assert (
        run(
            "audit", "run", path, "--judge-format", "all", "--levels", "0,1", "--out", "F", "--json"
        )
        == 0
    )
    shown = capsys.readouterr()
    found = json.loads(shown.out)
    assert list(found["formats"]) == ["support"]
    assert found["formats"]["support"]["groundedness"] is None
    assert "2 of 2 items have no argument" in shown.err
    assert "documents" in found["formats"]["support"]
    with ChatServer(reply=reply) as server:
        asking = ("--judge-format", "all", "--judge", server.spec, "--plan", "--json")
        assert run("audit", "run", rag_items(), *asking) == 0
        planned = json.loads(capsys.readouterr().out)
        assert server.asked() == []
    assert planned["models"][0]["model"].startswith("rag-direct: ")
    assert len(planned["formats"]) == 9


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (
            (
                "audit",
                "run",
                "rag.jsonl",
                "--out",
                "F",
                "--judge-format",
                "x",
                "--judge-format",
                "direct",
            ),
            "found x, expected",
        ),
        (
            ("audit", "run", "rag.jsonl", "--out", "F", "--judge-format", "direct"),
            "requires a language model (--judge)",
        ),
        (
            ("audit", "run", "rag.jsonl", "--out", "F", *SOME),
            "--judge-format direct requires a language model (--judge)",
        ),
        (
            ("audit", "run", "rag.jsonl", "--out", "F", *ALL, "--set", "nuggets=3"),
            "--set nuggets requires --judge-format",
        ),
        (("audit", "run", "bare.jsonl", "--out", "F", *ALL), "expected context_relevance among"),
        (("audit", "run", "rag.jsonl", "--out", "F", *ALL, *OTHER), "is judged for"),
        (("audit", "run", "nameless.jsonl", "--out", "F", *ALL, *OTHER), "no ids of"),
        (
            ("audit", "run", "rag.jsonl", "--out", "F", *ALL, "--trial", "order"),
            "compared in noise and hallucination",
        ),
        (("audit", "run", "rag.jsonl", "--out", "F", *ALL, "--repeats", "2"), "is only for repeat"),
        (("audit", "run", "rag.jsonl", "--out", "F", *ALL, "--task", "quality"), "rag only"),
        (("audit", "run", "rag.jsonl", "--out", "F", *ALL, "--margin", "0.2"), "--margin is for"),
        (
            ("audit", "formats", "rag.jsonl", "--out", "F"),
            "formats was removed: use pnyx audit run ITEMS --judge-format",
        ),
        (
            ("audit", "pairs", "rag.jsonl", "--out", "p"),
            "pairs was removed: use pnyx audit run ITEMS --trial self --write-pairs PAIRS",
        ),
        (
            ("audit", "check", "--card", "c.json", "--out", "F"),
            "check was removed: use pnyx audit card NOW --against CARD",
        ),
        (
            ("audit", "run", "--trial", "order", "rag.jsonl", "--out", "S", "--qrels", "q"),
            "is only for noise",
        ),
        (("measure", "text.jsonl", "--qrels", "other.txt"), "no scores of single documents"),
        (
            ("measure", "ids.jsonl", "--qrels", "other.txt"),
            "ids.jsonl:1: answer 'a' does",
        ),
        (("measure", "bad.jsonl", "--qrels", "other.txt"), "bad.jsonl:1: notes, scale or"),
        (("measure", "good.jsonl", "--qrels", "other.txt"), "is labelled for its topic"),
    ],
)
def test_bad_input_is_one_line(command, said, capsys):
    rag_items()
    documents = ["One text.", "Another text."]
    bare = {"query": "Q?", "argument": "A.", "documents": documents}
    write("bare.jsonl", [json.dumps({"id": "1", **bare, "dimensions": ["groundedness"]})])
    both = [{"id": f"{n}", "group": f"g{n}", **bare, "documents": [f"{n}."]} for n in range(2)]
    write("nameless.jsonl", map(json.dumps, both))
    write("other.txt", ["t9 0 d9 1"])
    answer = {"id": "a", "task": "rag", "dimension": "context_relevance", "value": 4, "group": "t",
              "unscored": None, "judge": "j", "scale": [0, 5],
              "notes": {"documents": [4]}}  # fmt: skip
    write("ids.jsonl", [json.dumps(answer)])
    write("good.jsonl", [json.dumps({**answer, "doc_ids": ["d"]})])
    write("bad.jsonl", [json.dumps({**answer, "doc_ids": ["d", "e"]})])
    write("text.jsonl", [json.dumps({**answer, "doc_ids": ["d"], "notes": None})])
    assert run(*command) == 2
    shown = capsys.readouterr().err
    assert said in shown
    assert "Traceback" not in shown
    assert not Path("F").exists()
