"""Fit the calibrations of the packaged encoder's judge.

    PNYX_DATA=DATA python lab/training/calibrate_encoder.py [--cache FILE.npz] [--date YYYY-MM-DD]
    ... --measure [TASK ...]      # keep the curves, update only figures and card

Writes src/pnyx/judging/calibrations/minilm-int8.json and prints every held-out figure. Needs
scikit-learn. The data of each fit, and the figure behind each choice, are documented in
docs/explain/decisions/packaged-encoder.md. Intervals come from bootstrap samples of questions or
pages.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import hashlib
import json
import os
import random
import sys
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import brier_score_loss
from sklearn.model_selection import GroupKFold

sys.path.insert(0, str(Path(__file__).parents[1] / "berds"))

from claim_rules import opposite

from pnyx.judging.encoder import Calibration, EncoderJudge
from pnyx.judging.measures.binary import (
    weighted_auroc,
    weighted_average_precision,
    weighted_ece,
    weighted_f1,
)
from pnyx.judging.passages import is_negator, read_passage, tokens
from pnyx.judging.questions import Support
from pnyx.models.embed.encoder import load_encoder
from pnyx.stats.base import Bootstrap
from pnyx.stats.intervals import draw_weights, percentile_interval

DATA = Path(os.environ.get("PNYX_DATA", "../shared/data"))
OUT = Path("src/pnyx/judging/calibrations/minilm-int8.json")
TASKS = ("support", "relevance", "relevance+guideline")
DRAWS = 2000

OUTSIDE = {
    "relevance+guideline": {"auroc": 0.870, "questions": 6},
}
"""Figures of the shipped judge that others measured on held-out parts of ChatReportRetrieve, which
are not available here."""


class CachedEncoder:
    """The packaged encoder, with a file that caches vectors between runs of this script."""

    def __init__(self, file: Path | None) -> None:
        self.encoder, self.file, self.rows = load_encoder(), file, {}
        self.name, self.dimensions = self.encoder.name, self.encoder.dimensions
        if file is not None and file.exists():
            stored = np.load(file)
            self.rows = dict(zip(stored["keys"].tolist(), stored["rows"], strict=True))

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        keys = [hashlib.md5(t.encode("utf-8", "replace")).hexdigest() for t in texts]
        new = {k: t for k, t in zip(keys, texts, strict=True) if k not in self.rows}
        if new:
            self.rows.update(zip(new, self.encoder.encode(list(new.values())), strict=True))
        return np.stack([self.rows[k] for k in keys])

    def save(self) -> None:
        if self.file is not None:
            keys, rows = np.array(list(self.rows)), np.array(list(self.rows.values()))
            np.savez(self.file, keys=keys, rows=rows)


def table(path: str, **options: Any) -> list[dict[str, str]]:
    opener = gzip.open if path.endswith(".gz") else open
    with opener(DATA / path, "rt", encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream, **options))


# --- labelled pairs ---------------------------------------------------------------------------


def berds() -> list[tuple[Support, bool]]:
    """Passages and perspectives of BERDS: does the passage support it?"""
    return [
        (
            Support(str(i), r["document"], r["perspective"], group=r["question"]),
            r["label"] == "1",
        )
        for i, r in enumerate(table("berds/pers_det.test.tsv", delimiter="\t"))
    ]


def chatreport() -> list[tuple[Support, bool]]:
    """Report paragraphs and questions with definitions; 'partially' counts as relevant."""
    return [
        (
            Support(
                str(i),
                r["Paragraphs"],
                r["Questions"],
                task="relevance",
                guideline=r["Background"],
                group=r["Questions"],
            ),
            r["gold"] != "no",
        )
        for i, r in enumerate(table("chatreportretrieve/chatreport_test.csv"))
    ]


def argument_pools() -> list[tuple[Support, bool]]:
    """Judged args.me pools of two Webis studies, each item also paired with another topic.

    Relevant: graded 3 or 4 of 4 (2019); an argument above the lowest quarter of the relevance
    scores (2020). The pairing with another topic is a negative: it represents off-topic results,
    which are rare in these pools, because they were collected by topic.
    """
    topics = {t["Topic ID"]: t["Query"] for t in table("sigir19_argsearch/topics.csv")}
    rows = [
        (f"2019/{r['Topic ID']}", topics[r["Topic ID"]], f"{r['Conclusion']}. {r['Premise']}",
         int(r["Relevance"] or -2) >= 3)
        for r in table("sigir19_argsearch/arguments.csv")
    ]  # fmt: skip
    folder = "webis_argquality20/webis-argquality20-"
    topics = {t["Topic ID"]: t["Long Query"] for t in table(folder + "topics.csv")}
    items = table(folder + "arguments.csv")
    scores = [float(r["Relevance"]) for r in items if r["Is Argument?"] == "True"]
    cut = float(np.quantile(scores, 0.25))
    rows += [
        (f"2020/{r['Topic ID']}", topics[r["Topic ID"]], r["Premise"],
         r["Is Argument?"] == "True" and float(r["Relevance"]) > cut)
        for r in items
    ]  # fmt: skip
    queries = dict(sorted((group, query) for group, query, _, _ in rows))
    names, rng, pairs = list(queries), random.Random(0), []
    for i, (group, query, text, label) in enumerate(rows):
        pairs.append((Support(f"{i}", text, query, task="relevance", group=group), label))
        other = rng.choice(names)
        if other != group:
            off = Support(f"{i}x", text, queries[other], task="relevance", group=other)
            pairs.append((off, False))
    return pairs


def anchors(pairs: list[tuple[Support, bool]]) -> list[tuple[Support, bool]]:
    """Near-copies made by rule: a passage's sentences, also shortened, negated, miscounted."""
    rng, statements = random.Random(1), []
    for text in sorted({q.text for q, _ in pairs}):
        sentences = [s for s in read_passage(text).sentences if 6 <= len(tokens(s)) <= 45]
        if not sentences:
            continue
        sentence = rng.choice(sentences)
        statements.append((sentence, text, True))
        words = sentence.split()
        free = [i for i, w in enumerate(words) if w.isalpha() and not is_negator(w.lower())]
        if len(free) > 4:
            gone = set(rng.sample(free, 1 + len(free) // 12))
            statements.append(
                (" ".join(w for i, w in enumerate(words) if i not in gone), text, True)
            )
        negated = opposite(sentence)
        if negated is not None and not negated.startswith("It is not"):
            statements.append((negated, text, False))
        digits = [i for i, w in enumerate(words) if w.isdigit()]
        if digits:
            words[digits[0]] = str(int(words[digits[0]]) * 2 + 3)
            statements.append((" ".join(words), text, False))
    return [
        (Support(f"a{i}", text, statement), label)
        for i, (statement, text, label) in enumerate(statements)
    ]


def wording_weights(fixed: np.ndarray, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Fit the weights of copy and conflict on near-copies, with fixed log-odds of the rest."""
    from scipy.optimize import minimize

    def loss(w: np.ndarray) -> float:
        z = fixed + x @ w
        return float(np.logaddexp(0, np.where(y, -z, z)).sum() + 0.01 * w @ w)

    return minimize(loss, np.zeros(2)).x


def near_copy_figures(accepted: np.ndarray, copies: np.ndarray) -> dict[str, float]:
    """Return how many near-copies are accepted, and how many contradictions rejected."""
    return {
        "pairs": len(copies),
        "copies_accepted": round(float(accepted[copies].mean()), 3),
        "contradictions_rejected": round(float((~accepted[~copies]).mean()), 3),
    }


# --- fitting ----------------------------------------------------------------------------------


def features(judge: EncoderJudge, pairs: list[tuple[Support, bool]]) -> tuple[Any, ...]:
    """Return (features, labels, groups) of the pairs that can be judged."""
    rows = []
    for start in range(0, len(pairs), 200):
        rows.extend(judge.features([q for q, _ in pairs[start : start + 200]]))
    usable = [i for i, f in enumerate(rows) if not isinstance(f, str)]
    labels = np.array([pairs[i][1] for i in usable])
    return [rows[i] for i in usable], labels, np.array([pairs[i][0].group for i in usable])


def platt(x: np.ndarray, y: np.ndarray) -> tuple[float, float]:
    """Fit log-odds = slope * x + intercept by (all but unpenalised) maximum likelihood."""
    model = LogisticRegression(C=1e6, max_iter=1000).fit(x[:, None], y)
    return float(model.coef_[0, 0]), float(model.intercept_[0])


def logistic(z: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-z))


def best_threshold(p: np.ndarray, y: np.ndarray, groups: np.ndarray) -> float:
    """Return the threshold of highest F1, averaged over 100 bootstrap samples of the groups.

    A single maximum jumps between neighbouring pairs; the average is stable.
    """
    rng, names, thresholds = np.random.default_rng(0), np.unique(groups), []
    members = {name: np.flatnonzero(groups == name) for name in names}
    for _ in range(100):
        rows = np.concatenate([members[n] for n in rng.choice(names, len(names))])
        order = np.argsort(-p[rows], kind="stable")
        hits = np.cumsum(y[rows][order])
        if hits[-1]:
            scores = 2 * hits / (np.arange(1, len(rows) + 1) + hits[-1])
            thresholds.append(p[rows][order][int(np.argmax(scores))])
    return float(np.mean(thresholds))


def with_intervals(
    measures: Mapping[str, tuple[Callable[..., np.ndarray], np.ndarray]],
    y: np.ndarray,
    groups: np.ndarray,
) -> dict[str, float]:
    """Return each measure of the scores, with its interval from bootstrap samples of groups."""
    gold, clusters = y.astype(float), np.unique(groups, return_inverse=True)[1]
    figures = {}
    for name, (measure, scores) in measures.items():
        score = scores.astype(float)
        drawn = [
            measure(gold, score, weights) for weights in draw_weights(clusters, Bootstrap(DRAWS))
        ]
        low, high = percentile_interval(np.concatenate(drawn))
        value = measure(gold, score, np.ones((1, len(gold))))[0]
        figures |= {name: value, f"{name}_low": low, f"{name}_high": high}
    return {name: round(float(value), 3) for name, value in figures.items()}


def cross_fitted(x: np.ndarray, y: np.ndarray, groups: np.ndarray) -> dict[str, float]:
    """AUROC and AP of the feature; F1, ECE, Brier with curve and threshold from other groups."""
    p, decided = np.zeros(len(y)), np.zeros(len(y), dtype=bool)
    for train, test in GroupKFold(5, shuffle=True, random_state=0).split(x, y, groups):
        slope, intercept = platt(x[train], y[train])
        threshold = best_threshold(logistic(slope * x[train] + intercept), y[train], groups[train])
        p[test] = logistic(slope * x[test] + intercept)
        decided[test] = p[test] >= threshold
    return {
        "pairs": len(y),
        "positive": int(y.sum()),
        "groups": len(np.unique(groups)),
        **with_intervals(
            {
                "auroc": (weighted_auroc, x),
                "ap": (weighted_average_precision, x),
                "f1": (weighted_f1, decided),
                "ece": (weighted_ece, p),
            },
            y,
            groups,
        ),
        "brier": round(float(brier_score_loss(y, p)), 4),
        "brier_base_rate": round(float(y.mean() * (1 - y.mean())), 4),
    }


def sample(pairs: list[tuple[Support, bool]]) -> list[tuple[Support, bool]]:
    """Return the pairs of the first five groups, which are few enough for a test."""
    first = sorted({q.group for q, _ in pairs})[:5]
    return [(q, label) for q, label in pairs if q.group in first]


def fit_similarity(judge: EncoderJudge, pairs: list[tuple[Support, bool]]) -> dict[str, Any]:
    seen, y, groups = features(judge, pairs)
    x = np.array([f["similarity"] for f in seen])
    slope, intercept = platt(x, y)
    p = logistic(slope * x + intercept)
    return {
        "weights": {"similarity": round(slope, 4)},
        "intercept": round(intercept, 4),
        "threshold": round(best_threshold(p, y, groups), 4),
        "figures": cross_fitted(x, y, groups),
    }


def fit_support(judge: EncoderJudge) -> dict[str, Any]:
    """Fit similarity on people's labels, then the wording on near-copies with similarity fixed."""
    pairs = berds()
    entry = fit_similarity(judge, pairs)
    slope, intercept = entry["weights"]["similarity"], entry["intercept"]
    seen, y, _ = features(judge, anchors(pairs))
    z = slope * np.array([f["similarity"] for f in seen]) + intercept
    x = np.array([[f["copy"], f["conflict"]] for f in seen])
    weights = np.zeros(2)
    for _ in range(100):  # Newton's method with a weak Gaussian prior on the two weights
        p = logistic(z + x @ weights)
        gradient = x.T @ (y - p) - 0.1 * weights
        hessian = (x * (p * (1 - p))[:, None]).T @ x + 0.1 * np.eye(2)
        weights += np.linalg.solve(hessian, gradient)
    entry["weights"] |= {
        "copy": round(float(weights[0]), 4),
        "conflict": round(float(weights[1]), 4),
    }
    again = fit_similarity(judge, sample(pairs))["figures"]
    entry["figures"] |= {f"sample_{name}": again[name] for name in ("auroc", "ap", "f1", "brier")}
    decided = logistic(z + x @ weights) >= entry["threshold"]
    entry["figures"] |= {
        "made_pairs": len(y),
        "made_copies_accepted": round(float(decided[y].mean()), 3),
        "made_contradictions_rejected": round(float((~decided[~y]).mean()), 3),
    }
    entry["data"] = (
        f"similarity: BERDS perspective detection, {len(pairs)} pairs; copy and conflict: "
        f"{len(y)} near-copies made by rule from its passages"
    )
    return entry


def card(tasks: dict[str, Any]) -> dict[str, str]:
    """Return the judge's card: the figures of each task, and what they were used to choose."""
    s, r, g = (tasks[task]["figures"] for task in TASKS)
    other = OUTSIDE["relevance+guideline"]

    def with_bounds(row: Mapping[str, float], name: str) -> str:
        low, high = row[f"{name}_low"], row[f"{name}_high"]
        return f"{short(row[name])} [{short(low)}, {short(high)}]"

    defined = ", ".join(f"{name.upper()} {with_bounds(g, name)}" for name in SHOWN)
    support = f"support AUROC {short(s['auroc'])}, F1 {short(s['f1'])} ({s['pairs']} BERDS pairs)"
    relevance = (
        f"relevance with a definition {defined} ({g['pairs']} ChatReportRetrieve pairs, "
        f"similarity chosen on them; {short(other['auroc'])} on {other['questions']} unseen "
        f"questions), without {short(r['auroc'])} (args.me, mostly other topics), but among "
        f"arguments found for one question {AMONG_ARGUMENTS}"
    )
    return {"support": support, "relevance": relevance}


SHOWN = ("auroc", "ap", "f1", "ece")
AMONG_ARGUMENTS = ".64 (Webis, 12 questions) and .59 (SIGIR-19, 20)"
"""AUROC of the closest window, of lab/diras/argument_sets.py."""


def short(value: float) -> str:
    return f"{value:.2f}".removeprefix("0")


def fit_all(encoder: CachedEncoder, judge: EncoderJudge) -> dict[str, Any]:
    tasks = {
        "support": fit_support(judge),
        "relevance": fit_similarity(judge, argument_pools()),
        "relevance+guideline": fit_similarity(judge, chatreport()),
    }
    encoder.save()
    tasks["relevance"]["data"] = (
        "args.me pools of Potthast et al. 2019 and Gienapp et al. 2020 (Webis), each argument "
        "with its own topic and with another one"
    )
    tasks["relevance+guideline"]["data"] = "ChatReportRetrieve (DIRAS), with definitions"
    return tasks


def measure_again(judge: EncoderJudge, tasks: dict[str, Any], names: Sequence[str]) -> None:
    """Update the figures of some tasks; the fit and the judge's name stay the same."""
    pairs = {"support": berds, "relevance": argument_pools, "relevance+guideline": chatreport}
    for name in names:
        tasks[name]["figures"] |= fit_similarity(judge, pairs[name]())["figures"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cache", type=Path, help="keep embeddings in this .npz file")
    parser.add_argument("--date", default=datetime.now(UTC).date().isoformat())
    parser.add_argument("--measure", nargs="*", choices=TASKS, metavar="TASK")
    arguments = parser.parse_args()
    csv.field_size_limit(10**8)
    encoder = CachedEncoder(arguments.cache)
    blank = Calibration("", {"similarity": 1.0}, 0.0, 0.5, "", {})
    judge = EncoderJudge(encoder, dict.fromkeys(TASKS, blank))  # type: ignore[arg-type]
    content = {"judge": "minilm-int8@1", "encoder": "minilm-int8", "fitted": arguments.date}
    if arguments.measure is None:
        tasks = fit_all(encoder, judge)
    else:
        content = json.loads(OUT.read_text(encoding="utf-8"))
        tasks = content["tasks"]
        measure_again(judge, tasks, arguments.measure or TASKS)
    encoder.save()
    for name, outside in OUTSIDE.items():
        tasks[name]["figures"] |= {f"outside_{key}": value for key, value in outside.items()}
    content |= {"card": card(tasks), "tasks": tasks}
    OUT.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    for task, entry in tasks.items():
        print(task, json.dumps(entry, indent=1))
    print(content["card"])


if __name__ == "__main__":
    main()
