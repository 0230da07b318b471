"""Fit the probability that a retrieved passage is about the question (`pnyx.search.relevance`).

    PNYX_DATA=DATA python lab/training/train_relevance.py --work FOLDER [--out FILE]

Questions are the development pages of lab/argue: their titles, and wordings in people's own words
(own_words.txt). Each is also asked of an index without the arguments about it, so that every
retrieved passage is wrong (half the weight). FOLDER stores the indexes. Prints figures of
cross-validation over questions, then writes the weights.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GroupKFold

sys.path.insert(0, str(Path(__file__).parents[1] / "argue"))

from pages import Collection, DebateQuestion, collections, indexed, reworded, without

from pnyx.models.embed.embedder import Embedder, embedder_from
from pnyx.search.index import Index
from pnyx.search.plan import Scoring
from pnyx.search.relevance import NEARBY, RANKED, YES, RankedRelevance

DATA = Path(os.environ.get("PNYX_DATA", "../shared/data"))
OUT = Path("src/pnyx/search/weights/relevance.json")
MODELS = {"vectors": Scoring("hybrid"), "words": Scoring("dirichlet")}
ALONE = [0, 1, 3, 4, 5]
"""Inputs that need no neighbours."""
ABSENT = 0.5
"""Weight of a question whose passages were removed from the index."""


def rows(
    collection: Collection, item: DebateQuestion, index: Index, kind: str, embedder: Embedder
) -> Iterator[tuple[list[float], bool]]:
    """Yield input and label of each passage retrieved for a question."""
    text = item.question.text
    hits = index.retrieve(text, MODELS[kind], NEARBY, embedder)
    judge = RankedRelevance(index, embedder, by="words" if kind == "words" else None)
    documents = index.fetch([hit.doc_id for hit in hits[:RANKED]])
    table = judge.features(text, hits, documents)
    for hit, row in zip(hits, table.tolist(), strict=False):
        yield row, collection.side(item, hit.doc_id) is not None


def questions(
    work: Path, embedder: Embedder
) -> Iterator[tuple[Collection, Index, DebateQuestion, bool]]:
    """Yield the questions for development: titles, then those in own words (True)."""
    by_name = collections(DATA)
    for in_own_words in (False, True):
        if in_own_words:
            reworded(by_name)
        for collection in by_name.values():
            index = indexed(collection, work, embedder)
            for item in collection.questions:
                if item.part == "development":
                    yield collection, index, item, in_own_words


def fit(kind: str, work: Path) -> dict[str, Any]:
    """Fit one regression, and print its figures on held-out questions."""
    embedder = embedder_from()
    table, labels, ids, absent, in_own_words = [], [], [], [], []
    for collection, index, item, words in questions(work, embedder):
        if words and kind == "words":
            continue  # a ranking by words finds little for questions in other words
        less = without(collection, item, index, work)
        for gone, searched in enumerate((index, less)):
            for row, label in rows(collection, item, searched, kind, embedder):
                table.append(row)
                labels.append(label)
                ids.append(item.question.id)
                absent.append(bool(gone))
                in_own_words.append(words)
    x, y, q, a, o = map(np.array, (table, labels, ids, absent, in_own_words))
    debates = [_debate(question_id) for question_id in ids]
    weights = np.where(a, ABSENT, 1.0)
    mean, scale = x.mean(axis=0), x.std(axis=0)
    z, p = (x - mean) / scale, np.zeros(len(y))
    for train, test in GroupKFold(10).split(z, y, debates):
        coef, bias = regression(kind, z[train], y[train], weights[train], o[train])
        p[test] = 1.0 / (1.0 + np.exp(-(z[test] @ coef + bias)))
    for name, some in (("titles", ~o), ("own words", o)):
        if not some.any():
            continue
        print(name, end=" ")
        report(kind, y[some], p[some], q[some], a[some])
    card = report(kind, y, p, q, a)
    coef, bias = regression(kind, z, y, weights, o)
    slopes = coef / scale
    bias -= float(slopes @ mean)
    return {"weights": [round(float(s), 6) for s in slopes], "bias": round(bias, 6), **card}


def regression(kind: str, z: Any, y: Any, weights: Any, in_own_words: Any) -> tuple[Any, float]:
    """Return coefficients and intercept.

    With vectors, they are the mean of two fits: on all questions, and on titles without the inputs
    from neighbours. The first fit alone finds more for own words, but nothing for more titles.
    """
    every = LogisticRegression().fit(z, y, weights)
    if kind == "words":
        return every.coef_[0], float(every.intercept_[0])
    titles = LogisticRegression().fit(
        z[~in_own_words][:, ALONE], y[~in_own_words], weights[~in_own_words]
    )
    coef = every.coef_[0] / 2
    coef[ALONE] += titles.coef_[0] / 2
    return coef, float(every.intercept_[0] + titles.intercept_[0]) / 2


def _debate(question: str) -> str:
    return re.sub(r" [+-]$", "", question)


def report(kind: str, y: Any, p: Any, q: Any, absent: Any) -> dict[str, Any]:
    """Print and return the figures of cross-validation over questions."""
    there, yes = ~absent, p >= YES
    figures = {
        "questions": len(set(q)),
        "debates": len(set(map(_debate, q))),
        "auroc": round(float(roc_auc_score(y[there], p[there])), 3),
        "right_of_yes": round(float(y[there & yes].mean()), 3),
        "right_of_sure": round(float(y[there & (p >= 0.5)].mean()), 3),
        "yes_a_question": round(float((there & yes).sum() / len(set(q))), 2),
        "yes_where_there_is_none": round(float((absent & yes).sum() / len(set(q))), 2),
    }
    print(kind, figures)
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--work", type=Path, required=True, help="folder of the indexes")
    parser.add_argument("--out", type=Path, default=OUT)
    options = parser.parse_args()
    fitted = {kind: fit(kind, options.work) for kind in MODELS}
    for weights in fitted.values():
        weights["card"] = (
            f"of what it calls relevant {weights['right_of_yes']:.2f} is about the question, and "
            f"{weights['right_of_sure']:.2f} of what it gives .5 or more, on "
            f"{weights['questions']} questions on {weights['debates']} debates that it was not "
            f"fitted on in turn; AUROC {weights['auroc']:.2f}"
        )
    text = json.dumps(fitted, indent=1)
    options.out.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
