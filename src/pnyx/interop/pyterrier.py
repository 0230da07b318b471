"""A retriever and a reranker as transformers of PyTerrier (`python-terrier`)."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pyterrier as pt

from pnyx.collection.documents import open as open_collection
from pnyx.core.records import Question
from pnyx.judging.answers import Answer, Judged
from pnyx.judging.base import Judge, ask
from pnyx.judging.questions import Support

_RANKED = ["qid", "query", "docno", "rank", "score", "text"]


class PnyxRetriever(pt.Transformer):  # type: ignore[misc]
    """Ranks the documents of a Pnyx collection for queries.

    Takes `qid`, `query`; gives `qid`, `query`, `docno`, `rank` (from 0), `score`, `text`.

    Args:
        documents: a `pnyx.Collection`, or what `pnyx.open` takes.
        k: documents for each query.
        options: of `Collection.search`, such as `model="bm25"`.
    """

    def __init__(self, documents: object, k: int = 1000, **options: Any) -> None:
        self._collection = open_collection(documents)
        self._k, self._options = k, options

    def transform(self, inp: pd.DataFrame) -> pd.DataFrame:
        """Return the ranking of each query."""
        questions = [
            Question(str(q), text) for q, text in zip(inp["qid"], inp["query"], strict=True)
        ]
        rows = [
            (result.question.id, result.question.text, hit.id, hit.rank - 1, hit.score, hit.text)
            for result in self._collection.search(questions, self._k, **self._options)
            for hit in result
        ]
        return pd.DataFrame(rows, columns=_RANKED)


class PnyxReranker(pt.Transformer):  # type: ignore[misc]
    """Ranks documents by a judge's probability that they are relevant.

    Takes `qid`, `query`, `docno`, `text`. Documents that the judge leaves unscored come last, in
    their former order, and never count as judged not relevant: `judged` says which documents have
    a verdict.

    Args:
        judge: answers questions of relevance; by default the packaged judge.
    """

    def __init__(self, judge: Judge | None = None) -> None:
        if judge is None:
            from pnyx.judging.students.judge import PackagedJudge

            judge = PackagedJudge("relevance")
        self._judge = judge

    def transform(self, inp: pd.DataFrame) -> pd.DataFrame:
        """Return the documents in their new order."""
        questions = [
            Support(f"{row.qid}/{row.docno}", row.text, row.query, "relevance", group=str(row.qid))
            for row in inp.itertuples()
        ]
        answers = ask(self._judge, questions)
        probabilities = [_chance(answer) for answer in answers]
        judged = [probability is not None for probability in probabilities]
        order = [-1.0 - n if p is None else p for n, p in enumerate(probabilities)]
        ranked = inp.assign(score=order, judged=judged)
        ranked["rank"] = ranked.groupby("qid")["score"].rank(ascending=False, method="first") - 1
        return ranked.astype({"rank": int}).sort_values(["qid", "rank"], ignore_index=True)


def _chance(answer: Answer) -> float | None:
    """Return the probability of yes; 1 or 0 for a verdict without one, None without a verdict."""
    if not isinstance(answer, Judged):
        return None
    return float(bool(answer.value)) if answer.probability is None else answer.probability
