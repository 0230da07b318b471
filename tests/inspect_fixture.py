"""Results made by the real commands on the bundled example, for the pages that show them."""

from __future__ import annotations

import contextlib
import io
import json
import random
from pathlib import Path

import planted_judges as planted
from chat_server import ChatServer
from command import rows_of, write_rows
from pnyx.cli import main

HOSTILE = '<script>alert(1)</script> =1+1 \u202egnp\x07 "onload="x" javascript:alert(2)'


def run(*arguments: object) -> tuple[int, str]:
    """Run a command; return its exit status and what it printed."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        try:
            main([str(one) for one in arguments])
        except SystemExit as ended:
            return int(ended.code or 0), printed.getvalue()
    return 0, printed.getvalue()


def rated(prompt: str) -> str:
    """Scores that depend on the text alone; one text is refused."""
    if "REFUSE" in prompt:
        return "I would rather not."
    scores = json.loads(planted.scores(prompt, 2))
    drawn = random.Random(planted.text_of(prompt, "text"))
    for one in scores.values():
        one["score"] = drawn.choice([1, 2, 3])
    return json.dumps(scores)


def make_results(place: Path) -> Path:
    """Make results of every kind that figures are drawn of in `place/results`."""
    results = place / "results"
    results.mkdir()
    example = place / "example"
    assert run("demo", "--files-only", "--out", example)[0] == 0
    arguments = rows_of(example / "arguments.jsonl")
    texts = [
        {
            "id": one["id"],
            "text": " ".join([one["conclusion"], *one["premises"]]),
            "group": one["id"].rpartition("-")[0],
            "side": "pro" if n % 2 else "con",
        }
        for n, one in enumerate(arguments)
        if one["id"].endswith(("-01", "-02"))
    ]
    texts[1]["text"] += " REFUSE"
    texts[2]["id"] = HOSTILE
    texts[3]["group"] = f"{HOSTILE}{'x' * 200}"
    with ChatServer(reply=rated) as server:
        quality = write_rows(place / "texts.jsonl", texts)
        # Status 3: the refused text is unscored.
        args = ("--out", results / "quality", "--judge", server.spec, "--store", place / "store")
        assert run("judge", "quality", quality, *args)[0] == 3
    items, labels = example / "items.jsonl", example / "item-labels.jsonl"
    few = rows_of(items)[:40]
    items = write_rows(place / "few.jsonl", few)
    assert run("judge", "support", items, "--out", results / "support")[0] == 0
    measured = run("measure", results / "support", "--labels", labels, "--json")[1]
    (results / "measured.json").write_text(measured, encoding="utf-8")
    args = ("--labels", labels, "--out", results / "calibration.json", "--error", 0.2)
    assert run("judge", "calibrate", results / "support", *args)[0] == 0
    args = (items, "--limit", 6, "--draws", 200, "--out")
    assert run("audit", "run", "--trial", "noise", *args, results / "noise")[0] == 0
    assert run("audit", "run", "--trial", "length", *args, results / "length")[0] == 0
    card = ("--labels", labels, "--draws", 200, "--out", results / "card.json")
    run("audit", "card", results / "support", results / "noise", *card)
    _perspectives(place, results, example)
    return results


def _perspectives(place: Path, results: Path, example: Path) -> None:
    """Judge by people's labels which passages support which perspectives: quick, and exact."""
    labels = rows_of(example / "item-labels.jsonl")
    known = {one["id"]: one for one in labels}
    views = rows_of(example / "perspectives.jsonl")
    views[0]["text"] = HOSTILE
    write_rows(results / "perspectives.jsonl", views)
    lines, rows = [], []
    items = rows_of(example / "items.jsonl")
    documents: dict[str, list[str]] = {}
    for one in items:
        doc, _, view = one["id"].partition("/")
        topic = view.rpartition("-")[0]
        own = documents.setdefault(topic, [])
        if doc not in own:
            own.append(doc)
        rows.append(
            {
                "id": one["id"],
                "text": one["text"],
                "statement": one["statement"],
                "question_id": topic,
                "doc_id": doc,
                "perspective_id": view,
                "group": topic,
            }
        )
    for topic, own in documents.items():
        lines += [
            f"{topic} Q0 {doc} {n} {9 - n} turned\n" for n, doc in enumerate(reversed(own), 1)
        ]
    (results / "turned.run").write_text("".join(lines), encoding="utf-8")
    pairs = write_rows(place / "pairs.jsonl", rows)
    # Nobody said anything of one perspective, nor of two pairs of others.
    silent = {row["id"] for row in rows if row["perspective_id"] == "zoos-p1"}
    silent |= {rows[40]["id"], rows[75]["id"]}
    said = write_rows(place / "said.jsonl", [known[r["id"]] for r in rows if r["id"] not in silent])
    args = ("--judge", said, "--out", results / "views")
    assert run("judge", "support", pairs, *args)[0] == 3
