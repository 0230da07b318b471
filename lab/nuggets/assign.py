"""How well do judges decide whether a text contains a nugget? Tables of docs/lab/nuggets.md.

    PNYX_DATA=DATA python lab/nuggets/assign.py [--llm local --sample 60] [--cone 150]

Key points: IBM's arguments with people's labels (KPA 2021), on topics that the packaged detector
was not trained on. Those of the train split were used to choose the weights of the packaged judge,
and are used here to choose the thresholds of the other judges; those of the dev split are held out.
CONE-RAG: a nugget from a response, and one from a response to another turn of the same
conversation.
"""

from __future__ import annotations

import argparse
import gzip
import importlib
import json
import random
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pnyx.core.records import Document
from pnyx.judging.answers import Judged
from pnyx.judging.base import Judge, ask
from pnyx.judging.encoder import EncoderJudge
from pnyx.judging.measures.binary import weighted_auroc, weighted_average_precision
from pnyx.judging.passages import read_passage
from pnyx.judging.questions import Support
from pnyx.judging.students.judge import PackagedJudge
from pnyx.models.embed.encoder import load_encoder
from pnyx.search.build import build_index
from pnyx.search.index import Index

sys.path.insert(0, "lab/training")
_tool = importlib.import_module("calibrate_nuggets")
DRAWS = 1000

Pairs = Sequence[tuple[Support, bool]]
Numbers = np.ndarray[Any, Any]


def by_judge(judge: Judge, task: str) -> Callable[[Pairs], Numbers]:
    """Return a function that scores pairs by a judge's probability of yes; NaN if unscored."""

    def score(pairs: Pairs) -> Numbers:
        questions = [Support(p.id, p.text, p.statement, task=task) for p, _ in pairs]
        answers = ask(judge, questions)
        return np.array([(a.probability or 0.0) if isinstance(a, Judged) else np.nan
                         for a in answers])  # fmt: skip

    return score


def cosine(pairs: Pairs) -> Numbers:
    """Return the cosine of each statement with the closest window of its text."""
    windows = {pair.text: read_passage(pair.text).windows or (pair.text,) for pair, _ in pairs}
    texts = dict.fromkeys([*(w for some in windows.values() for w in some),
                           *(pair.statement for pair, _ in pairs)])  # fmt: skip
    vectors = dict(zip(texts, load_encoder().encode(list(texts)), strict=True))
    return np.array([max(float(vectors[w] @ vectors[p.statement]) for w in windows[p.text])
                     for p, _ in pairs])  # fmt: skip


def bm25(pairs: Pairs) -> Numbers:
    """Return BM25 of each text for its statement, in an index of all the texts."""
    positions = {text: n for n, text in enumerate(dict.fromkeys(p.text for p, _ in pairs))}
    with tempfile.TemporaryDirectory() as folder:
        documents = [Document(str(n), text) for text, n in positions.items()]
        build_index(documents, Path(folder) / "i", features=())
        index = Index.open(Path(folder) / "i")
        scores = {s: index.score_all(s, "bm25") for s in {p.statement for p, _ in pairs}}
        return np.array([scores[p.statement][positions[p.text]] for p, _ in pairs])


def threshold_of(scores: Numbers, labels: Numbers) -> float:
    """Return the threshold with the best F1."""
    order = np.argsort(-scores, kind="stable")
    hits = np.cumsum(labels[order])
    f1 = 2 * hits / (np.arange(1, len(order) + 1) + labels.sum())
    return float(scores[order][f1.argmax()])


def figures(s: Numbers, y: Numbers, threshold: float, weights: Numbers | None = None) -> Numbers:
    """Return F1, AP, AUROC and Krippendorff's alpha (nominal, judge and people as two raters)."""
    w = np.ones(len(y)) if weights is None else weights
    predicted = s >= threshold
    hits, yes, positives = w[predicted & y].sum(), w[predicted].sum(), w[y].sum()
    f1 = 2 * hits / (yes + positives) if yes + positives else np.nan
    total = w.sum()
    differ = w[predicted != y].sum() / total
    share = (yes + positives) / (2 * total)
    expected = 2 * share * (1 - share) * 2 * total / (2 * total - 1)
    alpha = 1 - differ / expected if expected else np.nan
    gold, rows = y.astype(float), w[None, :]
    ap = weighted_average_precision(gold, s, rows)[0]
    return np.array([f1, ap, weighted_auroc(gold, s, rows)[0], alpha])


def row(name: str, s: Numbers, y: Numbers, groups: Numbers, threshold: float) -> str:
    """Return a row of a table; intervals are from samples of whole groups."""
    is_scored = ~np.isnan(s)
    scored, total = int(is_scored.sum()), len(s)
    s, y, groups = s[is_scored], y[is_scored], groups[is_scored]
    names, inverse = np.unique(groups, return_inverse=True)
    rng, draws = np.random.default_rng(0), []
    for _ in range(DRAWS):
        times = np.bincount(rng.integers(len(names), size=len(names)), minlength=len(names))
        w = times[inverse].astype(float)
        if 0 < w[y].sum() < w.sum():
            draws.append(figures(s, y, threshold, w))
    low, high = np.nanpercentile(draws, [2.5, 97.5], axis=0)
    values = figures(s, y, threshold)
    cells = [f"{v:.3f} [{a:.3f}, {b:.3f}]" for v, a, b in zip(values, low, high, strict=True)]
    return f"| {name} | {' | '.join(cells)} | {scored:,} of {total:,} |"


def arrays(pairs: Pairs, by_text: bool = False) -> tuple[Numbers, Numbers]:
    groups = [p.text if by_text else p.group for p, _ in pairs]
    return np.array([label for _, label in pairs]), np.array(groups)


def cone(count: int) -> list[tuple[Support, bool]]:
    """Return pairs of a response with one of its nuggets, and with a nugget of another turn."""
    folder = _tool.DATA / "reportgen/cone_rag"
    with gzip.open(folder / "automatic_response_nuggets.json.gz", "rt", encoding="utf-8") as file:
        turns: dict[str, Any] = json.load(file)
    rng = random.Random(0)
    by_turn = {t: [n for x in runs.values() for n in x["nuggets"]["matched"] if len(n.split()) > 3]
           for t, runs in turns.items()}  # fmt: skip
    pairs: list[tuple[Support, bool]] = []
    for turn, runs in turns.items():
        talk = turn.split("_")[0]
        near = [n for t in turns if t != turn and t.split("_")[0] == talk for n in by_turn[t]]
        for run, x in runs.items():
            mine = [n for n in x["nuggets"]["matched"] if len(n.split()) > 3]
            if mine and near:
                for label, nugget in ((True, rng.choice(mine)), (False, rng.choice(near))):
                    name = f"{turn}/{run}/{label}"
                    pairs.append((Support(name, x["response"], nugget, group=talk), label))
    sample = sorted(rng.sample(range(len(pairs) // 2), min(count, len(pairs) // 2)))
    return [pairs[2 * i + j] for i in sample for j in (0, 1)]


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--llm")
    parser.add_argument("--sample", type=int, default=60)
    parser.add_argument("--cone", type=int, default=150)
    options = parser.parse_args()
    unseen = _tool.unseen_topics()
    chosen = [pair for pair in _tool.key_points("train") if pair[0].group in unseen]
    held_out = [pair for pair in _tool.key_points("dev") if pair[0].group in unseen]
    talks = cone(options.cone)
    scorers: dict[str, Callable[[Pairs], Numbers]] = {
        "packaged judge of nuggets": by_judge(PackagedJudge("nugget"), "nugget"),
        "packaged judge of support": by_judge(PackagedJudge("support"), "support"),
        "packaged judge of citations": by_judge(EncoderJudge(), "support"),
        "cosine": cosine,
        "BM25": bm25,
    }
    head = "| judge | F1 | AP | AUROC | alpha | scored |\n|---|---|---|---|---|---|"
    tables: dict[str, list[str]] = {"chosen": [], "held": [], "cone": []}
    for name, score in scorers.items():
        y, groups = arrays(chosen)
        s = score(chosen)
        is_scored = ~np.isnan(s)
        threshold = threshold_of(s[is_scored], y[is_scored])
        if name == "packaged judge of nuggets":
            threshold = _THRESHOLD
        tables["chosen"].append(row(name, s, y, groups, threshold))
        tables["held"].append(
            row(name, score(held_out), *arrays(held_out, by_text=True), threshold)
        )
        tables["cone"].append(row(name, score(talks), *arrays(talks), threshold))
        print(f"{name}: yes from {threshold:.3f}", flush=True)
    if options.llm:
        tables["sample"] = sampled(options.llm, options.sample, held_out, scorers)
    for title, lines in tables.items():
        print(f"\n{title}\n{head}", *lines, sep="\n", flush=True)


def sampled(
    llm: str, count: int, held_out: Pairs, scorers: dict[str, Callable[[Pairs], Numbers]]
) -> list[str]:
    """Return the rows of a language model and of the packaged judge on a sample."""
    from pnyx.judging.llm.judge import LlmJudge
    from pnyx.judging.store.completions import StoredModel
    from pnyx.judging.store.store import Store
    from pnyx.models.chat.open_endpoint import endpoint_from

    some = random.Random(0).sample(list(held_out), count)
    lines = []
    with tempfile.TemporaryDirectory() as folder, Store(Path(folder) / "s") as store:
        judge = LlmJudge(StoredModel(endpoint_from(llm), store))
        s = by_judge(judge, "nugget")(some)
        lines.append(row(judge.name, s, *arrays(some, by_text=True), 0.5))
    name = "packaged judge of nuggets"
    s = scorers[name](some)
    return [*lines, row(name, s, *arrays(some, by_text=True), _THRESHOLD)]


_THRESHOLD = json.loads(_tool.OUT.read_text())["tasks"]["nugget"]["threshold"]

if __name__ == "__main__":
    main()
