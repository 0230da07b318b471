"""Fit what tells how likely a retrieved passage is about the question (`pnyx.search.relevance`).

    PNYX_DATA=DATA python lab/training/train_relevance.py --work FOLDER [--out FILE]

Questions are the development pages of lab/argue, by their titles and in people's own words
(own_words.txt); each is also asked of an index without the
arguments that are about it, where nothing found is right (half the weight). FOLDER keeps the
indexes. Prints figures by questions left out in turn, then writes the weights.
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

from pages import Asked, Collection, collections, indexed, reworded, without

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
"""Weight of a question whose passages were taken away."""


def rows(
    collection: Collection, asked: Asked, index: Index, kind: str, embedder: Embedder
) -> Iterator[tuple[list[float], bool]]:
    """Yield input and label of what one question finds."""
    text = asked.question.text
    hits = index.retrieve(text, MODELS[kind], NEARBY, embedder)
    judge = RankedRelevance(index, embedder, by="words" if kind == "words" else None)
    documents = index.fetch([hit.doc_id for hit in hits[:RANKED]])
    table = judge.features(text, hits, documents)
    for hit, row in zip(hits, table.tolist(), strict=False):
        yield row, collection.side(asked, hit.doc_id) is not None


def questions(work: Path, embedder: Embedder) -> Iterator[tuple[Collection, Index, Asked, bool]]:
    """Yield the questions for development: titles, then those in own words (True)."""
    found = collections(DATA)
    for own in (False, True):
        if own:
            reworded(found)
        for collection in found.values():
            index = indexed(collection, work, embedder)
            for asked in collection.asked:
                if asked.part == "development":
                    yield collection, index, asked, own


def fit(kind: str, work: Path) -> dict[str, Any]:
    """Fit one regression and print how it does on questions that it was not fitted on."""
    embedder = embedder_from()
    table, labels, ids, absent, own = [], [], [], [], []
    for collection, index, asked, words in questions(work, embedder):
        if words and kind == "words":
            continue  # a ranking by words finds little of what is asked in others
        less = without(collection, asked, index, work)
        for gone, searched in enumerate((index, less)):
            for row, label in rows(collection, asked, searched, kind, embedder):
                table.append(row)
                labels.append(label)
                ids.append(asked.question.id)
                absent.append(bool(gone))
                own.append(words)
    x, y, q, a, o = map(np.array, (table, labels, ids, absent, own))
    debates = [_debate(one) for one in ids]
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


def regression(kind: str, z: Any, y: Any, weights: Any, own: Any) -> tuple[Any, float]:
    """Return coefficients and intercept.

    With vectors the mean of two: on all questions; and on titles, without what neighbours tell. The
    first alone finds more in own words, but for fewer titles anything at all.
    """
    every = LogisticRegression().fit(z, y, weights)
    if kind == "words":
        return every.coef_[0], float(every.intercept_[0])
    titles = LogisticRegression().fit(z[~own][:, ALONE], y[~own], weights[~own])
    coef = every.coef_[0] / 2
    coef[ALONE] += titles.coef_[0] / 2
    return coef, float(every.intercept_[0] + titles.intercept_[0]) / 2


def _debate(question: str) -> str:
    return re.sub(r" [+-]$", "", question)


def report(kind: str, y: Any, p: Any, q: Any, absent: Any) -> dict[str, Any]:
    """Print and return figures of questions left out in turn."""
    there, yes = ~absent, p >= YES
    found = {
        "questions": len(set(q)),
        "debates": len(set(map(_debate, q))),
        "auroc": round(float(roc_auc_score(y[there], p[there])), 3),
        "right_of_yes": round(float(y[there & yes].mean()), 3),
        "right_of_sure": round(float(y[there & (p >= 0.5)].mean()), 3),
        "yes_a_question": round(float((there & yes).sum() / len(set(q))), 2),
        "yes_where_there_is_none": round(float((absent & yes).sum() / len(set(q))), 2),
    }
    print(kind, found)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--work", type=Path, required=True, help="keeps the indexes")
    parser.add_argument("--out", type=Path, default=OUT)
    options = parser.parse_args()
    fitted = {kind: fit(kind, options.work) for kind in MODELS}
    for one in fitted.values():
        one["card"] = (
            f"of what it calls relevant {one['right_of_yes']:.2f} is about the question, and "
            f"{one['right_of_sure']:.2f} of what it gives .5 or more, on {one['questions']} "
            f"questions on {one['debates']} debates that it was not fitted on in turn; "
            f"AUROC {one['auroc']:.2f}"
        )
    text = json.dumps(fitted, indent=1)
    options.out.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
