"""Fit the probability that a passage argues a side of a question (`pnyx.cases.passage_sides`).

    PNYX_DATA=DATA python lab/argue/fit_passages.py --work FOLDER [--out FILE]

The data are the first 30 passages for each question of the development folders, and of the
development debates asked by their titles and in people's own words. Both kinds of collection have
the same total weight. The probability that the documents contain a side at all is fitted on the
same rankings, with each side removed in turn. FOLDER stores the indexes and the network's output
for each passage. Prints cross-validated figures (folders and debates left out in turn), also for
several minimum probabilities, and writes the weights.
"""

from __future__ import annotations

import argparse
import json
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from folder_sources import Folder, paragraph_of, read_folders
from folders import SOURCES, open_folder, source_of
from numpy.typing import NDArray
from pages import collections, indexed, reworded
from scipy.optimize import minimize
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from pnyx.cases.passage_sides import (
    PassageSides,
    chances_of,
    features_of,
    network_digest,
    side_inputs,
)
from pnyx.cases.plan import Plan
from pnyx.cases.retrieved_documents import retrieve
from pnyx.core.records import Evidence, Question
from pnyx.formats.text.segment import split_sentences
from pnyx.models.embed.embedder import embedder_from
from pnyx.search.open_search import open_searcher
from pnyx.search.options import SearchSpec
from pnyx.search.pipeline import Searcher
from pnyx.search.plan import Scoring, SearchPlan

DATA = Path(os.environ.get("PNYX_DATA", "../shared/data"))
OUT = Path("src/pnyx/cases/weights/passages.json")
CARD = (
    "whether a passage argues yes or no on a question; fitted on 3 development folders and the "
    "development debates of lab/argue (docs/lab/argue-folders.md)"
)
RIDGE = 1e-3
"""Penalty on the squared weights, with standardised inputs."""

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Ranking:
    """The passages of a question, the network's output for them, and which side each argues."""

    kind: str  # folders, titles or own words
    group: str  # folder or debate
    question: str
    classes: Floats  # log-probabilities [passages, 2 statements, 3 classes]
    cosines: Floats
    stances: NDArray[np.str_]  # yes, no, mixed, none, other

    def inputs(self) -> Floats:
        """Return the features [passages, 2 sides, features]."""
        return features_of(self.classes, self.cosines)

    def without(self, stance: str) -> Ranking:
        """Return the ranking without the passages that argue one side."""
        left = ~np.isin(self.stances, (stance, "mixed"))
        return Ranking(
            self.kind, self.group, self.question, self.classes[left], self.cosines[left],
            self.stances[left],
        )  # fmt: skip


def folder_stance(document: Evidence, folder: Folder, question: object) -> str:
    """Return the side that a passage of a folder argues, from its labelled paragraphs."""
    blocks = source_of(document.id, folder)
    read = (paragraph_of(sentence, blocks) for sentence in split_sentences(document.text))
    stances = {block.stance(question) for block in read if block is not None}  # type: ignore[arg-type]
    sides = stances & {"yes", "no", "mixed"}
    if len(sides) > 1:
        return "mixed"
    return next(iter(sides), "none" if "none" in stances else "other")


def of_folders(work: Path) -> Iterator[Ranking]:
    """Yield the rankings of the development folders."""
    for folder in read_folders(SOURCES / "development"):
        searcher = open_searcher(open_folder(folder, work).index, SearchSpec(), None, None, print)
        for labelled in folder.questions:
            question = Question(labelled.id, labelled.text)
            documents = retrieve(searcher, question, Plan()).documents
            stances = np.array([folder_stance(d, folder, labelled) for d in documents])
            yield ranking("folders", folder.name, question, searcher, documents, stances)


def of_debates(work: Path) -> Iterator[Ranking]:
    """Yield the rankings of the development debates, asked by titles and in people's own words."""
    by_name, embedder = collections(DATA), embedder_from()
    titles = [("titles", c, item) for c in by_name.values() for item in c.questions]
    reworded(by_name)
    in_own_words = [("own words", c, item) for c in by_name.values() for item in c.questions]
    names = {1: "yes", -1: "no", None: "other"}
    for kind, collection, item in (*titles, *in_own_words):
        if item.part != "development":
            continue
        index = indexed(collection, work, embedder)
        plan = SearchPlan(scoring=Scoring("hybrid"))
        searcher = Searcher(index, plan, embedder=embedder)
        documents = retrieve(searcher, item.question, Plan()).documents
        stances = np.array([names[collection.side(item, d.id)] for d in documents])
        group = re.sub(r" [+-]$", "", item.question.id)
        yield ranking(kind, group, item.question, searcher, documents, stances)


def ranking(
    kind: str,
    group: str,
    question: Question,
    searcher: Searcher,
    documents: Sequence[Evidence],
    stances: NDArray[np.str_],
) -> Ranking:
    """Return a ranking with the output of the packaged network."""
    classes, cosines = PassageSides(searcher.engine, searcher.embedder).read(question, documents)
    return Ranking(kind, group, question.id, classes, cosines, stances)


def store(rankings: Sequence[Ranking], folder: Path) -> None:
    """Write each ranking into a file."""
    part = folder.with_suffix(".part")
    part.mkdir(exist_ok=True)
    for number, ranking in enumerate(rankings):
        np.savez(part / f"{number:04}.npz", **vars(ranking))
    part.rename(folder)


def stored_rankings(folder: Path) -> list[Ranking]:
    """Return the rankings that `store` wrote."""
    return [
        Ranking(**{name: value if value.ndim else str(value) for name, value in stored.items()})
        for path in sorted(folder.glob("*.npz"))
        for stored in [np.load(path)]  # without pickles
    ]


# Fitting -----------------------------------------------------------------------------------------


def fitted(rankings: Sequence[Ranking]) -> tuple[Floats, float]:
    """Return weights and bias of the multinomial regression; both kinds of collection weigh 1."""
    kinds = [ranking.kind == "folders" for ranking in rankings]
    share = {kind: 1.0 / max(1, kinds.count(kind)) for kind in (True, False)}
    x = np.concatenate([ranking.inputs() for ranking in rankings])
    stances = np.concatenate([ranking.stances for ranking in rankings])
    weight = np.concatenate(
        [
            np.full(len(ranking.stances), share[kind])
            for ranking, kind in zip(rankings, kinds, strict=True)
        ]
    )
    one_sided = stances != "mixed"
    x, stances, weight = (
        x[one_sided],
        stances[one_sided],
        weight[one_sided] / weight[one_sided].sum(),
    )
    target = np.where(stances == "yes", 0, np.where(stances == "no", 1, 2))
    middle, spread = x.mean((0, 1)), x.std((0, 1)) + 1e-9
    z, rows = (x - middle) / spread, np.arange(len(x))

    def loss(parameters: Floats) -> tuple[float, Floats]:
        odds = z @ parameters[:-1] + parameters[-1]
        every = np.concatenate([odds, np.zeros((len(odds), 1))], axis=1)
        total = np.logaddexp.reduce(every, axis=1)
        gradient = np.exp(every - total[:, None])
        gradient[rows, target] -= 1.0
        gradient = gradient[:, :2] * weight[:, None]
        value = weight @ (total - every[rows, target]) + RIDGE * parameters[:-1] @ parameters[:-1]
        slope = np.einsum("ij,ijk->k", gradient, z) + 2 * RIDGE * parameters[:-1]
        return float(value), np.concatenate([slope, [gradient.sum()]])

    solution = minimize(loss, np.zeros(z.shape[-1] + 1), jac=True).x
    weights = solution[:-1] / spread
    return weights, float(solution[-1] - weights @ middle)


def side_rows(rankings: Sequence[Ranking], by: tuple[Floats, float]) -> tuple[Floats, Floats]:
    """Return inputs and labels of sides: present ones, and the same after the side is removed."""
    rows, labels = [], []
    for ranking in rankings:
        for column, side in enumerate(("yes", "no")):
            if side in ranking.stances:
                rows.append(side_inputs(chances_of(ranking.inputs() @ by[0] + by[1])[:, column]))
                labels.append(1.0)
            left = ranking.without(side)
            if len(left.stances):
                rows.append(side_inputs(chances_of(left.inputs() @ by[0] + by[1])[:, column]))
                labels.append(0.0)
    return np.array(rows), np.array(labels)


def side_fit(rankings: Sequence[Ranking], by: tuple[Floats, float]) -> LogisticRegression:
    """Return the model of whether a side is present, given the probabilities of its passages."""
    kinds = [ranking.kind == "folders" for ranking in rankings]
    rows, labels, weights = [], [], []
    for kind in (True, False):
        of = [
            ranking for ranking, is_folder in zip(rankings, kinds, strict=True) if is_folder == kind
        ]
        if of:
            x, y = side_rows(of, by)
            rows.append(x)
            labels.append(y)
            weights.append(np.full(len(y), 1000.0 / len(y)))
    return LogisticRegression().fit(
        np.concatenate(rows), np.concatenate(labels), np.concatenate(weights)
    )


# Figures -----------------------------------------------------------------------------------------


def replay(
    rankings: Sequence[Ranking], chances: Sequence[Floats], least: float, most: int = 4
) -> str:
    """Describe what would be cited from a probability on, with at most `most` passages a side."""
    names = ("right", "wrong", "mixed", "none", "other")
    counts, both, possible = dict.fromkeys(names, 0), 0, 0
    for ranking, p in zip(rankings, chances, strict=True):
        rights = [False, False]
        for column, (side, opposite) in enumerate((("yes", "no"), ("no", "yes"))):
            likely = p[:, column] >= np.maximum(least, p[:, 1 - column])
            for i in [i for i in np.argsort(-p[:, column]) if likely[i]][:most]:
                stance = ranking.stances[i]
                name = {side: "right", opposite: "wrong"}.get(stance, str(stance))
                counts[name] += 1
                rights[column] |= name == "right"
        if {"yes", "no"} <= set(ranking.stances):
            possible, both = possible + 1, both + all(rights)
    total = max(1, sum(counts.values()))
    shares = "  ".join(f"{name} {count / total:.2f}" for name, count in counts.items())
    cited, rightly = sum(counts.values()) / len(rankings), both / max(1, possible)
    return f"from {least:.1f}: {cited:.1f} cited, {shares}, both rightly {rightly:.2f}"


def report(rankings: Sequence[Ranking]) -> None:
    """Print cross-validated figures by kind; folders and debates are predicted by other ones."""
    predicted: dict[int, Floats] = {}
    sides: dict[str, tuple[list[float], list[float]]] = {}
    groups = sorted({ranking.group for ranking in rankings})
    folders = {ranking.group for ranking in rankings if ranking.kind == "folders"}
    debates = [group for group in groups if group not in folders]
    parts = [{group} for group in sorted(folders)] + [set(debates[i::5]) for i in range(5)]
    for left_out in parts:
        left = [ranking for ranking in rankings if ranking.group not in left_out]
        by = fitted(left)
        exists = side_fit(left, by)
        for i, ranking in enumerate(rankings):
            if ranking.group in left_out:
                predicted[i] = chances_of(ranking.inputs() @ by[0] + by[1])
                x, y = side_rows([ranking], by)
                if len(y):
                    collected = sides.setdefault(ranking.kind, ([], []))
                    collected[0].extend(exists.predict_proba(x)[:, 1])
                    collected[1].extend(y)
    for kind in dict.fromkeys(ranking.kind for ranking in rankings):
        of = [i for i, ranking in enumerate(rankings) if ranking.kind == kind]
        of_kind, chances = [rankings[i] for i in of], [predicted[i] for i in of]
        stances, p = (
            np.concatenate([ranking.stances for ranking in of_kind]),
            np.concatenate(chances),
        )
        sided = (stances == "yes") | (stances == "no")
        argues = roc_auc_score(sided[stances != "mixed"], p.sum(1)[stances != "mixed"])
        side = roc_auc_score(stances[sided] == "yes", p[sided, 0] - p[sided, 1])
        print(f"{kind} ({len(of_kind)}): argues {argues:.3f}, side {side:.3f}")
        worth, right = p.max(1), np.where(p[:, 0] >= p[:, 1], stances == "yes", stances == "no")
        for low in (0.0, 0.2, 0.4, 0.6, 0.8):
            bin_ = (worth >= low) & (worth < low + 0.2)
            if bin_.any():
                print(f"  worth {low:.1f}: {bin_.sum()}, stated {worth[bin_].mean():.2f}, "
                      f"right {right[bin_].mean():.2f}")  # fmt: skip
        for least in (0.0, 0.2, 0.3, 0.4, 0.5, 0.6):
            print("  " + replay(of_kind, chances, least))
        likely, there = map(np.array, sides[kind])
        brier = np.mean((likely - there) ** 2)
        present, absent = likely[there == 1], likely[there == 0]
        print(f"  side there: AUROC {roc_auc_score(there, likely):.3f}, Brier {brier:.3f}")
        for least in (0.3, 0.5, 0.7):
            print(f"    from {least}: {np.mean(present >= least):.2f} of sides that are there, "
                  f"{np.mean(absent >= least):.2f} of those that are not")  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--out", type=Path, default=OUT)
    options = parser.parse_args()
    stored = options.work / "rankings"
    if not stored.exists():
        options.work.mkdir(parents=True, exist_ok=True)
        store([*of_folders(options.work / "folders"), *of_debates(options.work)], stored)
    rankings = stored_rankings(stored)
    report(rankings)
    weights, bias = fitted(rankings)
    exists = side_fit(rankings, (weights, bias))
    content = {
        "card": CARD,
        "network": network_digest(),
        "weights": np.round(weights, 6).tolist(),
        "bias": round(bias, 6),
        "side": {
            "weights": np.round(exists.coef_[0], 6).tolist(),
            "bias": round(float(exists.intercept_[0]), 6),
        },
    }
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
