"""The tour of the documentation, run as it stands; the README shows a part of it."""

from __future__ import annotations

import contextlib
import importlib.util
import io
import json
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from chat_server import ChatServer
from command import rows_of, run
from pnyx.formats.bundled_example import load_example

pytestmark = pytest.mark.all

START = Path(__file__).parents[1] / "docs" / "start"
TOUR = (START / "tour.md", START / "tour-judges.md")
README = Path(__file__).parents[1] / "README.md"
TRAINS = importlib.util.find_spec("torch") is not None


def blocks(language: str, *pages: Path) -> list[str]:
    """Return the blocks of pages, by default of the tour, in a language, in order."""
    text = "".join(page.read_text("utf-8") for page in pages or TOUR)
    return re.findall(rf"^```{language}\n(.*?)^```$", text, flags=re.S | re.M)


def printed(work: Callable[[], Any]) -> str:
    """Return what it writes to standard output and standard error."""
    stream = io.StringIO()
    with contextlib.redirect_stdout(stream), contextlib.redirect_stderr(stream):
        work()
    return stream.getvalue()


def command_line(arguments: list[str]) -> None:
    assert run(*arguments) == 0, arguments


@pytest.fixture(scope="module")
def said(run_once, tmp_path_factory) -> Iterator[tuple[Path, dict[str, str]]]:
    """The folder in which every command ran, in order, and what each said, by its first words.

    The first runs as a process, the others in this one, which imports and loads everything once.
    """
    folder = tmp_path_factory.mktemp("readme")
    found = {}
    with ChatServer() as server, pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("PNYX_STORE", str(folder / "store.sqlite"))
        patch.delenv("PNYX_LLM", raising=False)
        for command in "".join(blocks("sh")).splitlines():
            if command.startswith("export PNYX_LLM="):
                patch.setenv("PNYX_LLM", f"{server.url}#my-model")  # a port that is free
                continue
            if command == "unset PNYX_LLM":
                patch.delenv("PNYX_LLM")
                continue
            if not TRAINS:
                command = command.replace("--kind late-interaction", "--kind lexical")
            program, *arguments = shlex.split(command)
            assert program == "pnyx"
            if not found:
                arguments = [Path(sys.executable).with_name(program), *arguments]
                done = subprocess.run(arguments, check=True, capture_output=True, text=True)
                said = done.stdout + done.stderr
            else:
                said = printed(lambda given=arguments: command_line(given))
            found[" ".join(re.findall(r"[a-z-]+", command)[1:3])] = said
        yield folder, found


def test_the_readme_is_short_and_shows_what_the_tour_runs() -> None:
    assert len(README.read_text("utf-8").splitlines()) <= 120
    ran = "".join(blocks("sh")).splitlines()
    assert set("".join(blocks("sh", README)).splitlines()) <= set(ran)
    assert blocks("python", README) == blocks("python")


def test_the_script_in_python_works(said):
    (script,) = blocks("python")
    assert len([line for line in script.splitlines() if line]) <= 15
    out = printed(lambda: exec(script, {"__name__": "__main__"}))
    folder, _ = said
    assert "Does rent control reduce" in (folder / "report.html").read_text("utf-8")
    (auroc,) = re.findall(r"^auroc +(\S+) .*240 of 240 *$", out, re.M)
    assert float(auroc) > 0.6


def test_the_walk_through_ends_in_labels_for_all_pairs(said):
    folder, _ = said
    example = load_example()
    pairs = {(q.id, a.id) for q in example.questions for a in example.arguments}
    annotations = rows_of(folder / "annotations.jsonl")
    assert {(row["question_id"], row["doc_id"]) for row in annotations} == pairs
    assert all(0 < row["probability"] < 1 for row in annotations)
    assert {row["judge"].partition("@")[0] for row in annotations} == {"student:student"}
    qrels = [line.split() for line in (folder / "annotations.qrels").read_text().splitlines()]
    assert {(topic, doc) for topic, _, doc, _ in qrels} == pairs
    by_pair = {(row["question_id"], row["doc_id"]): row["value"] for row in annotations}
    assert all(int(grade) == by_pair[topic, doc] for topic, _, doc, grade in qrels)


def test_people_s_labels_teach_it(said):
    folder, output = said
    labels = {row["id"]: row["value"] for row in rows_of(folder / "example/labels.jsonl")}
    assert len(labels) == 8 * 128
    labelled = rows_of(folder / "labels/labelled.jsonl")
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
    assert figures["auroc"]["value"] > (0.75 if TRAINS else 0.6)
    assert f"{figures['auroc']['value']:.3f}" in output["annotate distil"]


def test_its_measures_are_of_all_pairs_and_better_than_a_guess(said):
    _, output = said
    (auroc,) = re.findall(r"^auroc +(\S+) .* 1,024 ", output["measure annotations"], re.M)
    assert float(auroc) > (0.9 if TRAINS else 0.8)
    taus = re.findall(r"^(?:bm25|touche) +(0\.\d+) ", output["measure retrieval"], re.M)
    assert len(taus) == 2
    assert all(float(tau) > 0.15 for tau in taus)
