"""Every question about a document shows the judge the same text (decisions/judged-text.md)."""

from __future__ import annotations

import json

import numpy as np
import pytest

from pnyx.cli import main
from pnyx.core.records import Argument, Document, Premise, judged_text
from pnyx.judging.answers import Judged, Provenance
from pnyx.judging.encoder import EncoderJudge
from pnyx.judging.students.reader import ReaderScorer
from pnyx.judging.students.student import StudentJudge
from pnyx.search.build import build_index

QUESTION = "Is tea healthy?"
SHOWN = "Tea and health\nTea calms."


def test_a_title_stands_first_and_a_conclusion_counts_once():
    assert judged_text(Document("d", "Tea calms.", title=" Tea and health ")) == SHOWN
    assert judged_text(Document("d", "Tea calms.")) == "Tea calms."
    assert judged_text(Argument("a", "Tea is good", (Premise("It calms."),))) == (
        "Tea is good. It calms."
    )
    assert judged_text(Argument("a", "Tea is good", body="It calms.")) == "Tea is good\nIt calms."


@pytest.fixture
def texts(monkeypatch):
    """What packaged judges are asked about; they say yes."""
    seen: list[str] = []

    async def answer(self, questions, emit):
        for position, question in enumerate(questions):
            seen.append(question.text)
            emit(position, Judged(True, Provenance(self.name), 0.9, evidence="Tea calms."))

    def classes(self, pairs):
        seen.extend(text for text, _ in pairs)
        return np.zeros((len(pairs), 3))

    for judge in (EncoderJudge, StudentJudge):
        monkeypatch.setattr(judge, "answer", answer)
    monkeypatch.setattr(ReaderScorer, "classes", classes)
    return seen


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PNYX_LLM", raising=False)
    monkeypatch.setenv("PNYX_STORE", "store.sqlite")
    build_index([Document("d", "Tea calms.", title="Tea and health")], "i")
    (tmp_path / "topics.tsv").write_text(f"q\t{QUESTION}\n")
    (tmp_path / "x.run").write_text("q Q0 d 1 1.0 x\n")
    view = {"id": "v", "question_id": "q", "text": "Tea is good.", "question": QUESTION}
    (tmp_path / "views.jsonl").write_text(json.dumps({**view, "stance": "pro"}) + "\n")
    return tmp_path


ON_RUN = "--run x.run --index i".split()
ANNOTATIONS = ["--annotations-out", "a.jsonl"]
ASKED = ["--index", "i", "--topics", "topics.tsv"]
WAYS = {
    "judge relevance": ["judge", "relevance", *ON_RUN, "--topics", "topics.tsv", "--out", "o"],
    "judge support": ["judge", "support", *ON_RUN, "--perspectives", "views.jsonl", "--out", "o"],
    "annotate label --run": ["annotate", "label", "--run", "x.run", *ASKED, *ANNOTATIONS],
    "annotate label --all": ["annotate", "label", "--all", *ASKED, *ANNOTATIONS],
    "rerank": ["search", "i", QUESTION, "--rerank"],
    "sides": ["search", "i", QUESTION, "--stance", "pro"],
    "bench": ["compare", "retrievers", "--index", "i", "--perspectives", "views.jsonl",
              "--out", "o", "--retrievers", "bm25", "--variants", "plain"],
    "argue": ["argue", "i", QUESTION],
}  # fmt: skip


@pytest.mark.parametrize("way", WAYS)
def test_every_way_of_asking_shows_the_same_text(folder, texts, way):
    _call(*WAYS[way])
    assert set(texts) == {SHOWN}


def test_so_do_sampled_pairs_that_are_labelled(folder, texts):
    _call("annotate", "sample", "i", "topics.tsv", "--out", "pairs.jsonl")
    _call("annotate", "label", "pairs.jsonl", "--out", "labels")
    assert set(texts) == {SHOWN}


def _call(*arguments: str) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(list(arguments))
    assert not stopped.value.code
