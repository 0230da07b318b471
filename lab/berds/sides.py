"""How often does the detector of perspectives find the side of an argument? On development pages.

    PNYX_DATA=DATA python lab/berds/sides.py [--folder FOLDER]

The arguments are those of the Debatewise pages with which the detector was chosen
(`debate_sets.parts_of`: development). The detector judges whether an argument supports the
statements of pro and of con on the title of its page (`pnyx.judging.statements`). The slope that
turns the difference of log-odds into a probability is fitted on each half of the pages and measured
on the other; so is the share of right sides among the most confident predictions. FOLDER contains
another detector, as written by lab/training/train_perspectives.py. For the results of the former
stance head of the encoder see docs/explain/decisions/sides.md.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from debate_sets import Debates, parts_of, tidy
from detector_figures import open_detector

from pnyx.judging.passages import pieces_of
from pnyx.judging.questions import Support
from pnyx.judging.statements import statements
from pnyx.judging.students.judge import load_perspective_student

DATA = Path(os.environ.get("PNYX_DATA", "../shared/data"))
_DRAWS = 2000
_SHARES = (0.25, 0.5, 0.65, 0.8)

Floats = npt.NDArray[np.float64]


def pages() -> list[tuple[str, str, str, str, int]]:
    """Return (page, pro's statement, con's, argument, side) of the development pages."""
    debates = Debates(DATA)
    parts = parts_of(debates)
    raw = json.loads((DATA / "perspectrum/debatewise_raw.json").read_text("utf-8"))
    rows = []
    for key, part in parts.items():
        if part != "development":
            continue
        page = raw[int(key.split()[1])]
        pro, con = statements(tidy(page["claim_title"]))
        for column, side in (("perspectives_for", 1), ("perspectives_against", -1)):
            for row in page[column]:
                text = " ".join(" ".join(row["argument"]["description"]).split())
                if len(text.split()) >= 25:
                    rows.append((key, pro, con, text, side))
    return rows


def log_odds(answers: Sequence[Any]) -> Floats:
    p = np.array([0.5 if (x := getattr(a, "probability", None)) is None else x for a in answers])
    return np.log(p) - np.log1p(-p)


def slope(x: Floats, y: Floats) -> float:
    """Return the best slope of P(for) = logistic(slope x) by bisection of the log loss."""
    low, high = 1e-3, 1e3
    for _ in range(80):
        middle = (low * high) ** 0.5
        if float(x @ (1 / (1 + np.exp(-middle * x)) - y)) > 0:
            high = middle
        else:
            low = middle
    return float(low)


def figures(name: str, x: Floats, y: Floats, groups: npt.NDArray[Any]) -> None:
    names = sorted(set(groups))
    random.Random(0).shuffle(names)
    half = np.isin(groups, names[::2])
    p = np.empty_like(x)
    for fitted in (half, ~half):
        p[~fitted] = 1 / (1 + np.exp(-slope(x[fitted], y[fitted]) * x[~fitted]))
    hits = np.where(x == 0, 0.0, (x > 0) == (y > 0.5))
    by = {g: np.flatnonzero(groups == g) for g in names}
    rng = np.random.default_rng(0)
    draws = []
    for _ in range(_DRAWS):
        rows = np.concatenate([by[g] for g in rng.choice(names, len(names))])
        draws.append(hits[rows].mean())
    low, high = np.quantile(draws, [0.025, 0.975])
    order = np.argsort(np.argsort(x)) + 1.0
    auroc = (order[y > 0.5].mean() - (y.sum() + 1) / 2) / (len(y) - y.sum())
    print(f"{name}: right {hits.mean():.3f} [{low:.3f}, {high:.3f}], AUROC {auroc:.3f}, "
          f"Brier {np.mean((p - y) ** 2):.3f}, slope {slope(x, y):.3f}", end="")  # fmt: skip
    sure = np.maximum(p, 1 - p)
    for least in (0.6, 0.65):
        confident = sure >= least
        print(f"; from {least}: {hits[confident].mean():.2f} of {confident.mean():.2f}", end="")
    first = np.argsort(-sure, kind="stable")
    for share in _SHARES:
        print(f"; surest {share}: {hits[first[: round(share * len(y))]].mean():.3f}", end="")
    print(flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", type=Path, help="a detector; the packaged one by default")
    folder = parser.parse_args().folder
    rows = pages()
    groups = np.array([r[0] for r in rows])
    y = np.array([float(r[4] == 1) for r in rows])
    print(f"{len(rows)} arguments of {len(set(groups))} pages, {int(y.sum())} for the claim")
    detector = open_detector(folder) if folder else load_perspective_student()
    questions = [
        [Support("", piece, statement) for piece in pieces_of(text) for statement in pair]
        for _, *pair, text, _ in rows
    ]
    odds = log_odds(
        detector.judge([question for text_questions in questions for question in text_questions])
    )
    ends = np.cumsum([len(text_questions) for text_questions in questions])
    parts = [values.reshape(-1, 2) for values in np.split(odds, ends[:-1])]
    ways: dict[str, Callable[[Floats], float]] = {
        "best passage": lambda z: float(np.subtract(*z.max(0))),
        "mean of passages": lambda z: float(np.subtract(*z.mean(0))),
        "mean times the root of their number": lambda z: (
            float(np.subtract(*z.sum(0))) / len(z) ** 0.5
        ),
        "first passage": lambda z: float(np.subtract(*z[0])),
    }
    for name, way in ways.items():
        figures(name, np.array([way(z) for z in parts]), y, groups)


if __name__ == "__main__":
    sys.exit(main())
