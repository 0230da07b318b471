"""Pnyx as a part of other libraries, the real ones; a test skips where its library is not."""

from __future__ import annotations

import pytest

import pnyx

pytestmark = pytest.mark.train  # `make test-all` alone installs the libraries
QUESTION = "Should voting be compulsory?"
ROWS = [
    {"id": "d1", "text": "Voting should be compulsory because turnout rises.", "title": "Duty"},
    {"id": "d2", "text": "Compulsory voting violates the freedom of citizens."},
    {"id": "d3", "text": "Zoos are cruel to animals."},
]


@pytest.fixture(scope="module")
def opened() -> pnyx.Collection:
    return pnyx.open(ROWS, features=())


def test_langchain_retrieves_what_a_search_finds(opened: pnyx.Collection) -> None:
    pytest.importorskip("langchain_core")
    from pnyx.interop.langchain import PnyxRetriever

    found = PnyxRetriever(documents=opened, k=2, options={"model": "bm25"}).invoke(QUESTION)
    hits = opened.search(QUESTION, 2, model="bm25")
    assert [(d.id, d.page_content) for d in found] == [(hit.id, hit.text) for hit in hits]
    assert found[0].metadata["score"] == hits[0].score
    assert len(PnyxRetriever(documents=ROWS, options={"model": "bm25"}).invoke("zoos")) == 1


def test_llama_index_retrieves_what_a_search_finds(opened: pnyx.Collection) -> None:
    pytest.importorskip("llama_index.core")
    from pnyx.interop.llama_index import PnyxRetriever

    found = PnyxRetriever(opened, 2, model="bm25").retrieve(QUESTION)
    hits = opened.search(QUESTION, 2, model="bm25")
    assert [(n.node.node_id, n.score) for n in found] == [(hit.id, hit.score) for hit in hits]
    assert found[0].node.get_content() == hits[0].text


def test_pyterrier_ranks_and_reranks_in_a_pipeline(opened: pnyx.Collection) -> None:
    pytest.importorskip("pyterrier")
    import pandas as pd

    from pnyx.interop.pyterrier import PnyxReranker, PnyxRetriever

    queries = pd.DataFrame({"qid": ["q1", "q2"], "query": [QUESTION, "cruel zoos"]})
    ranked = PnyxRetriever(opened, 3, model="bm25").transform(queries)
    assert list(ranked.columns) == ["qid", "query", "docno", "rank", "score", "text"]
    assert ranked.groupby("qid")["rank"].min().tolist() == [0, 0]
    pipeline = PnyxRetriever(opened, 3, model="bm25") >> PnyxReranker()
    reranked = pipeline.transform(queries)
    assert reranked["judged"].all()
    assert set(reranked["docno"]) == set(ranked["docno"])
    asked = pnyx.Support(f"q1/{ranked['docno'][0]}", "a", "b", "relevance")
    known = pnyx.ask(pnyx.PackagedJudge("relevance"), [asked])
    partly = PnyxReranker(pnyx.Lookup(known)).transform(ranked)
    assert partly.sort_values(["qid", "rank"])["judged"].tolist()[0]
    assert partly["judged"].sum() == 1


def test_inspect_scores_answers_and_leaves_the_unscored_out() -> None:
    pytest.importorskip("inspect_ai")
    import asyncio
    from types import SimpleNamespace

    from inspect_ai.scorer import Target

    from pnyx.interop.inspect_ai import supported

    def state(said: str) -> SimpleNamespace:
        return SimpleNamespace(
            sample_id="s1",
            metadata={"page": ROWS[0]["text"]},
            output=SimpleNamespace(completion=said),
        )

    class Silent:
        name, kinds, card = "silent", frozenset({pnyx.Support}), ""

        async def answer(self, questions, emit):
            for place, _ in enumerate(questions):
                emit(place, pnyx.Unscored("refused", pnyx.judging.Provenance("silent")))

    def scored(scorer, said: str):
        return asyncio.run(scorer(state(said), Target(ROWS[0]["text"])))

    yes = scored(supported(), "Voting should be compulsory because turnout rises.")
    assert yes.value == "C"
    assert yes.metadata["probability"] > 0.5
    no = scored(supported(text="page"), "Zoos are cruel to animals.")
    assert no.value == "I"
    assert scored(supported(Silent()), "anything") is None
