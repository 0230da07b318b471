"""Pnyx as a part of other libraries, with small stand-ins for the libraries.

`test_interop.py` tries the real ones, where they are installed.
"""

from __future__ import annotations

import asyncio
import importlib
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from types import ModuleType, SimpleNamespace
from typing import Any

import pandas as pd
import pytest
from pydantic import BaseModel, ConfigDict

import pnyx
from pnyx.judging import Provenance

TEXTS = [
    {"id": f"d{n}", "text": f"Tea number {n} is good for people.", "title": f"Tea {n}"}
    for n in range(1, 1003)
]


@pytest.fixture(scope="module")
def opened() -> pnyx.Collection:
    return pnyx.open(TEXTS, features=())


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Return a function that installs stand-ins and imports the module of Pnyx that uses them."""
    imported = []

    def use(name: str, modules: dict[str, dict[str, Any]]) -> Any:
        for module, members in modules.items():
            stand_in = ModuleType(module)
            vars(stand_in).update(members)
            monkeypatch.setitem(sys.modules, module, stand_in)
        imported.append(f"pnyx.interop.{name}")
        sys.modules.pop(imported[-1], None)
        return importlib.import_module(imported[-1])

    yield use
    for name in imported:  # the next test that needs it imports the real library
        sys.modules.pop(name, None)


@dataclass
class Found:
    """A document or a node of the libraries."""

    page_content: str = ""
    text: str = ""
    id: str = ""
    id_: str = ""
    metadata: dict[str, Any] = field(default_factory=dict)


@dataclass
class Scored:
    """A node with its score."""

    node: Found
    score: float


class _Base(BaseModel):
    model_config = ConfigDict(arbitrary_types_allowed=True)

    def invoke(self, query: str) -> Any:
        return self._get_relevant_documents(query, run_manager=None)  # type: ignore[attr-defined]


def test_langchain_gets_ten_documents_with_the_fields_of_hits(opened: Any, library: Any) -> None:
    module = library(
        "langchain",
        {
            "langchain_core": {},
            "langchain_core.callbacks": {"CallbackManagerForRetrieverRun": object},
            "langchain_core.documents": {"Document": Found},
            "langchain_core.retrievers": {"BaseRetriever": _Base},
        },
    )
    documents = module.PnyxRetriever(documents=opened).invoke("tea number 7")
    hits = opened.search("tea number 7", 10)
    assert [d.id for d in documents] == [hit.id for hit in hits]
    assert (documents[0].id, documents[0].page_content) == ("d7", TEXTS[6]["text"])
    assert (documents[0].metadata["rank"], documents[0].metadata["title"]) == (1, "Tea 7")
    assert documents[0].metadata["score"] == hits[0].score
    assert "text" not in documents[0].metadata
    few = module.PnyxRetriever(documents=TEXTS[:4], k=3, options={"model": "bm25"})
    assert len(few.invoke("tea")) == 3
    few.options["model"] = "none such"
    with pytest.raises(pnyx.InputError, match="model"):
        few.invoke("tea")


def test_llama_index_gets_ten_nodes_with_their_scores(opened: Any, library: Any) -> None:
    class Base:
        pass

    module = library(
        "llama_index",
        {
            "llama_index": {},
            "llama_index.core": {},
            "llama_index.core.retrievers": {"BaseRetriever": Base},
            "llama_index.core.schema": {
                "NodeWithScore": Scored,
                "QueryBundle": SimpleNamespace,
                "TextNode": Found,
            },
        },
    )
    query = SimpleNamespace(query_str="tea number 7")
    nodes = module.PnyxRetriever(opened)._retrieve(query)
    hits = opened.search("tea number 7", 10)
    assert [(n.node.id_, n.score) for n in nodes] == [(hit.id, hit.score) for hit in hits]
    assert (nodes[0].node.text, nodes[0].node.metadata["rank"]) == (TEXTS[6]["text"], 1)
    assert not {"text", "score"} & nodes[0].node.metadata.keys()
    few = module.PnyxRetriever(opened, 3, model="bm25")._retrieve(query)
    assert len(few) == 3
    with pytest.raises(pnyx.InputError, match="model"):
        module.PnyxRetriever(opened, 3, model="none such")._retrieve(query)


@pytest.fixture
def pyterrier(library: Any) -> Any:
    return library("pyterrier", {"pyterrier": {"Transformer": type("Transformer", (), {})}})


def test_pyterrier_gets_a_thousand_documents_of_each_query(opened: Any, pyterrier: Any) -> None:
    queries = pd.DataFrame({"qid": [1, 2], "query": ["tea", "number 7"]})
    ranked = pyterrier.PnyxRetriever(opened, model="bm25").transform(queries)
    assert list(ranked.columns) == ["qid", "query", "docno", "rank", "score", "text"]
    assert ranked.groupby("qid").size().to_dict() == {"1": 1000, "2": 1000}
    first = ranked[ranked["qid"] == "2"].iloc[0]
    assert (first["docno"], first["query"], first["rank"]) == ("d7", "number 7", 0)
    assert first["text"] == TEXTS[6]["text"]
    few = pyterrier.PnyxRetriever(opened, 2, model="bm25").transform(queries)
    assert few["rank"].tolist() == [0, 1, 0, 1]


class Listed:
    """A judge that answers by document; `None` leaves it unscored."""

    name, kinds, card = "listed", frozenset({pnyx.Support}), ""

    def __init__(self, answers: dict[str, tuple[bool, float | None] | None]) -> None:
        self.answers = answers
        self.asked: list[Any] = []

    async def answer(self, questions: Any, emit: Any) -> None:
        self.asked += questions
        for place, question in enumerate(questions):
            given = self.answers[question.id.rpartition("/")[2]]
            source = Provenance("listed")
            if given is None:
                emit(place, pnyx.Unscored("refused", source))
            else:
                value, probability = given
                why = "It is so." * (probability == 0.2)
                emit(place, pnyx.Judged(value, source, probability, why))


def test_pyterrier_reranks_by_probability_and_leaves_the_unscored_last(pyterrier: Any) -> None:
    judge = Listed({"a": None, "b": (True, 0.4), "c": (True, None), "d": (False, None), "e": None})
    rows = [("2", "tea", name, f"Text {name}.") for name in "abcde"]
    rows += [("1", "cocoa", name, f"Text {name}.") for name in "db"]
    ranked = pd.DataFrame(rows, columns=["qid", "query", "docno", "text"])
    reranked = pyterrier.PnyxReranker(judge).transform(ranked)
    # 1.0 for yes without a probability and 0.0 for no; the unscored stay in their order.
    assert list(zip(reranked["qid"], reranked["docno"], reranked["rank"], strict=True)) == [
        ("1", "b", 0), ("1", "d", 1),
        ("2", "c", 0), ("2", "b", 1), ("2", "d", 2), ("2", "a", 3), ("2", "e", 4),
    ]  # fmt: skip
    assert reranked["judged"].tolist() == [True, True, True, True, True, False, False]
    assert reranked["score"].tolist()[:5] == [0.4, 0.0, 1.0, 0.4, 0.0]
    first = judge.asked[0]
    assert (first.id, first.text, first.statement) == ("2/a", "Text a.", "tea")
    assert (first.task, first.group) == ("relevance", "2")


def test_pyterrier_reranks_by_the_packaged_judge_of_relevance_by_default(
    pyterrier: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[str] = []
    monkeypatch.setattr("pnyx.judging.students.judge.PackagedJudge", made.append)
    pyterrier.PnyxReranker()
    assert made == ["relevance"]


def test_inspect_scores_answers_by_a_target_or_by_metadata(
    library: Any, monkeypatch: pytest.MonkeyPatch
) -> Any:
    @dataclass
    class Score:
        value: str
        answer: str
        explanation: str | None
        metadata: dict[str, Any]

    module = library(
        "inspect_ai",
        {
            "inspect_ai": {},
            "inspect_ai.scorer": {
                "CORRECT": "C",
                "INCORRECT": "I",
                "Score": Score,
                "Scorer": object,
                "Target": object,
                "accuracy": str,
                "stderr": str,
                "scorer": lambda metrics: lambda function: function,
            },
            "inspect_ai.solver": {"TaskState": object},
        },
    )
    judge = Listed({"yes": (True, 0.9), "no": (False, 0.2), "open": None})

    def scored(sample: str, text: str | None = None) -> Any:
        state = SimpleNamespace(
            sample_id=sample,
            metadata={"page": "The page."},
            output=SimpleNamespace(completion="The answer."),
        )
        return asyncio.run(
            module.supported(judge, text)(state, SimpleNamespace(text="The target."))
        )

    assert scored("yes") == Score("C", "The answer.", None, {"probability": 0.9, "judge": "listed"})
    assert scored("no", "page") == Score(
        "I", "The answer.", "It is so.", {"probability": 0.2, "judge": "listed"}
    )
    assert scored("open") is None
    assert [(q.text, q.statement, q.cites) for q in judge.asked] == [
        ("The target.", "The answer.", True),
        ("The page.", "The answer.", True),
        ("The target.", "The answer.", True),
    ]
    made: list[str] = []
    monkeypatch.setattr("pnyx.judging.students.judge.PackagedJudge", made.append)
    module.supported()
    assert made == ["citation"]
