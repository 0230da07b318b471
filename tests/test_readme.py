"""The README, run from top to bottom, word for word."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from chat_server import ChatServer
from pnyx.corpora.bundled import load_example

README = Path(__file__).parents[1] / "README.md"


def blocks(language: str) -> list[str]:
    """Return the README's blocks in a language, in order."""
    return re.findall(rf"^```{language}\n(.*?)^```$", README.read_text("utf-8"), flags=re.S | re.M)


@pytest.fixture(scope="module")
def said(tmp_path_factory) -> tuple[Path, dict[str, str]]:
    """The folder in which every command ran, in order, and what each said, by its first words."""
    folder = tmp_path_factory.mktemp("readme")
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "PNYX_STORE": str(folder / "store.sqlite")}
    environment.pop("PNYX_LLM", None)
    found = {}
    with ChatServer() as server:
        for command in "".join(blocks("sh")).splitlines():
            if command.startswith("export PNYX_LLM="):
                environment["PNYX_LLM"] = f"{server.url}#my-model"  # a port that is free
                continue
            if command == "unset PNYX_LLM":
                del environment["PNYX_LLM"]
                continue
            done = subprocess.run(
                command, shell=True, cwd=folder, env=environment, capture_output=True, text=True
            )
            assert done.returncode == 0, f"{command}\n{done.stderr}"
            name = " ".join(re.findall(r"[a-z-]+", command)[1:3])
            found[name] = done.stdout + done.stderr
    return folder, found


def test_the_script_in_python_works(said):
    folder, _ = said
    (script,) = blocks("python")
    assert len([line for line in script.splitlines() if line]) <= 15
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "compulsory-voting-" in done.stdout
    assert "# Should voting be compulsory?" in done.stdout
    (auroc,) = re.findall(r"^auroc +(\S+) .*240 +240 *$", done.stdout, re.M)
    assert float(auroc) > 0.6


def rows(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_the_walk_through_ends_in_labels_for_all_pairs(said):
    folder, _ = said
    example = load_example()
    pairs = {(q.id, a.id) for q in example.questions for a in example.arguments}
    annotations = rows(folder / "annotations.jsonl")
    assert {(row["question_id"], row["doc_id"]) for row in annotations} == pairs
    assert all(0 < row["probability"] < 1 for row in annotations)
    assert {row["judge"].partition("@")[0] for row in annotations} == {"student:student"}
    qrels = [line.split() for line in (folder / "annotations.qrels").read_text().splitlines()]
    assert {(topic, doc) for topic, _, doc, _ in qrels} == pairs
    by_pair = {(row["question_id"], row["doc_id"]): row["value"] for row in annotations}
    assert all(int(grade) == by_pair[topic, doc] for topic, _, doc, grade in qrels)


def test_people_s_labels_teach_it(said):
    folder, output = said
    labels = {row["id"]: row["value"] for row in rows(folder / "example/labels.jsonl")}
    assert len(labels) == 8 * 128
    labelled = rows(folder / "labels/labelled.jsonl")
    assert len(labelled) == 8 * 20
    for row in labelled:
        assert row["value"] is (labels[row["id"]] != "no")
        assert row.get("partial", False) is (labels[row["id"]] == "partially")
        assert row["definition"]
    manifest = json.loads((folder / "student/student.json").read_text())
    counts = manifest["about"]["counts"]
    assert counts["teachers"] == ["labels:labels.jsonl"]
    assert counts["trained_on"] + counts["held_out"] == counts["asked"] == 160
    held = set(counts["held_out_questions"])
    assert {row["question_id"] for row in labelled} > held
    assert len(held) >= 2
    assert not (folder / "student.partial").exists()
    figures = manifest["about"]["figures"]
    assert figures["auroc"]["scored"] == counts["held_out"]
    assert figures["auroc"]["value"] > 0.75
    assert f"{figures['auroc']['value']:.3f}" in output["annotate distil"]


def test_its_measures_are_of_all_pairs_and_better_than_a_guess(said):
    _, output = said
    (auroc,) = re.findall(r"^auroc +(\S+) .* 1,024 ", output["measure relevance"], re.M)
    assert float(auroc) > 0.9
    taus = re.findall(r"^(?:bm25|touche) +(0\.\d+) ", output["measure correlation"], re.M)
    assert len(taus) == 2
    assert all(float(tau) > 0.15 for tau in taus)


def test_disagreements_come_with_their_texts(said):
    folder, output = said
    drawn, of = map(int, re.findall(r"(\d+) drawn of (\d+)", output["annotate review"])[0])
    assert 0 < drawn <= of
    text = (folder / "review.csv").read_text(encoding="utf-8")
    assert "A relevant passage argues for or against" in text
