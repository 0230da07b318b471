"""The packaged judge of argument quality on unseen topics, with the surface model and length.

    PNYX_DATA=DATA python lab/quality/packaged.py --work FOLDER     # some minutes
    ... --write docs/lab/argument-quality.md      # updates its section

FOLDER stores the encoder's states of the labelled texts, as for
`lab/training/train_quality_judge.py`. IBM-ArgQ-30k: the shipped judge on the available topics that
were not used for training. Webis: each topic is left out in turn, and the judge is trained on the
others, including all its choices. Dagstuhl: the shipped judge, through `pnyx.ask`. Intervals: 95 %,
by the bootstrap over topics (Dagstuhl: over texts); differences use the same samples.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
from sklearn.linear_model import Ridge
from sklearn.preprocessing import StandardScaler

import pnyx
from pnyx.judging.questions import Rating
from pnyx.judging.students.overall_quality import OVERALL, load_overall_quality
from pnyx.judging.students.surface_quality import QualityModel
from pnyx.stats.base import Bootstrap
from pnyx.stats.correlation import weighted_pearson, weighted_spearman
from pnyx.stats.intervals import draw_weights, percentile_interval

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "lab" / "training"), str(ROOT / "lab" / "judging")]

from common import Report, arguments  # noqa: E402
from train_quality import DATA  # noqa: E402
from train_quality_judge import RatedStates, Ridges, read_sets, scores, train_judge  # noqa: E402

DRAWS = 2000
LENGTHS = slice(0, 6)
"""The surface features of length: the logarithm of the distinct words, with five knots."""
JUDGE, SURFACE, LENGTH = "**packaged judge**", "surface model", "length alone"
Measure = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]


def compared(
    report: Report, name: str, gold: np.ndarray, by_model: dict[str, np.ndarray], topics: np.ndarray
) -> None:
    """Report correlations for each model, and the differences of the judge from it."""
    clusters = np.unique(topics, return_inverse=True)[1]
    drawn = list(draw_weights(clusters, Bootstrap(DRAWS)))
    for model, score in by_model.items():
        cells = []
        for measure in (weighted_pearson, weighted_spearman):
            values, judge = (
                _values(measure, gold, column, drawn) for column in (score, by_model[JUDGE])
            )
            cells.append(_shown(values))
            ahead = tuple(a - b for a, b in zip(judge, values, strict=True))
            cells.append("" if model == JUDGE else _shown(ahead, sign="+"))
        report.row(name, model, len(gold), len(np.unique(topics)), *cells)


def _values(
    measure: Measure, gold: np.ndarray, score: np.ndarray, drawn: list[np.ndarray]
) -> tuple[float, np.ndarray]:
    value = float(measure(gold, score, np.ones((1, len(gold))))[0])
    return value, np.concatenate([measure(gold, score, weights) for weights in drawn])


def _shown(values: tuple[float, np.ndarray], sign: str = "") -> str:
    low, high = percentile_interval(values[1])
    return f"{values[0]:{sign}.3f} [{low:{sign}.3f}, {high:{sign}.3f}]"


def lengths_of(part: RatedStates) -> np.ndarray:
    return np.stack([features.surface for features in part.part.seen])[:, LENGTHS]


def by_length(
    part: RatedStates, target: np.ndarray, fit: np.ndarray, test: np.ndarray
) -> np.ndarray:
    scale = StandardScaler().fit(lengths_of(part)[fit])
    inputs = scale.transform(lengths_of(part))
    return Ridge(10.0).fit(inputs[fit], target[fit]).predict(inputs[test])


def ibm_rows(report: Report, ibm: RatedStates) -> None:
    judge, surface = load_overall_quality(), QualityModel.load()
    fit = np.flatnonzero(ibm.part.split == "train")
    for split in ("dev", "test"):
        test = np.flatnonzero(ibm.part.split == split)
        if not len(test):
            report.line(f"IBM's {split} topics are not in the data at hand.")
            continue
        texts = [ibm.part.texts[row] for row in test]
        shipped = scores(judge, ibm, test)
        plain = surface.predict(texts).astype(float)
        for column, label in ((1, "MACE-P"), (0, "WA")):
            gold = ibm.part.labels[:, column]
            by_model = {
                JUDGE: shipped,
                SURFACE: plain,
                LENGTH: by_length(ibm, gold, fit, test),
            }
            compared(report, f"IBM {split}, {label}", gold[test], by_model, ibm.part.topics[test])


def webis_rows(report: Report, webis: RatedStates, ibm: RatedStates) -> None:
    """Leave each topic out; the judge is trained, with all its choices, on the others."""
    part, train = webis.part, np.flatnonzero(ibm.part.split == "train")
    gold = part.labels[:, 0]
    by_model = {name: np.zeros(len(gold)) for name in (JUDGE, SURFACE, LENGTH)}
    for topic in np.unique(part.topics):
        test = np.flatnonzero(part.topics == topic)
        fit = np.flatnonzero(part.topics != topic)
        judge, _ = train_judge(webis, ibm, fit, train)
        by_model[JUDGE][test] = scores(judge, webis, test)
        by_model[SURFACE][test] = judge.surface.predict([part.texts[row] for row in test])
        by_model[LENGTH][test] = by_length(webis, gold, fit, test)
    compared(report, "Webis, all texts", gold, by_model, part.topics)
    inside = part.argument
    only = {name: score[inside] for name, score in by_model.items()}
    compared(report, "Webis, arguments", gold[inside], only, part.topics[inside])


def dimensions_table(report: Report, webis: RatedStates) -> None:
    """Compare a head for each dimension of Webis with a head for overall quality."""
    path = DATA / "webis_argquality20" / "webis-argquality20-arguments.csv"
    with path.open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    inside = np.flatnonzero(webis.part.argument)
    names = ("Rhetorical Quality", "Logical Quality", "Dialectical Quality")
    labels = {
        name: np.array([float(rows[row][name]) for row in inside])
        for name in (*names, "Combined Quality")
    }
    states = load_overall_quality().standardised(webis.states[inside])
    topics = webis.part.topics[inside]
    unseen = {name: unseen_by_states(states, target, topics) for name, target in labels.items()}
    clusters = np.unique(topics, return_inverse=True)[1]
    drawn = list(draw_weights(clusters, Bootstrap(DRAWS)))
    report.head("Webis, arguments", "head for overall: Pearson", "head of its own", "ahead by")
    for name in names:
        overall, separate = (
            _values(weighted_pearson, labels[name], unseen[dimension], drawn)
            for dimension in ("Combined Quality", name)
        )
        ahead = tuple(a - b for a, b in zip(separate, overall, strict=True))
        report.row(name, _shown(overall), _shown(separate), _shown(ahead, sign="+"))


def unseen_by_states(states: np.ndarray, target: np.ndarray, topics: np.ndarray) -> np.ndarray:
    """Return predictions of a ridge over states that has not seen the topic of the text."""
    ridges = Ridges((states * states.shape[1] ** -0.5).astype(np.float32), target)
    out = np.zeros(len(target))
    for topic in np.unique(topics):
        test = topics == topic
        [(mean, weights)] = ridges.fit(~test, (1.0,))
        out[test] = mean + ridges.rows[test] @ weights
    return out


def dagstuhl_rows(report: Report) -> None:
    with (DATA / "dagstuhl" / "dg_scores_4dims.csv").open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    texts = [row["Text"] for row in rows]
    questions = [Rating(row["arg_id"], row["Text"], (OVERALL,), (1, 3)) for row in rows]
    answers = pnyx.ask(pnyx.PackagedJudge("quality"), questions)
    by_model = {
        JUDGE: np.array([answer.value for answer in answers], dtype=float),
        SURFACE: QualityModel.load().predict(texts).astype(float),
        LENGTH: np.log1p([float(len(text.split())) for text in texts]),
    }
    dimensions = ("Cogency", "LocalAcceptability", "LocalRelevance", "LocalSufficiency")
    ratings = {name: np.array([float(row[name]) for row in rows]) for name in dimensions}
    ids = np.array([row["arg_id"] for row in rows])
    for name, gold in {"mean of four": sum(ratings.values()) / 4, **ratings}.items():
        compared(report, f"Dagstuhl, {name}", gold, by_model, ids)


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--work", type=Path, required=True, metavar="FOLDER")
    options = parser.parse_args()
    report = Report("packaged judge of quality")
    webis, ibm = read_sets(options.work)
    report.line(
        "Published for BERT, fine-tuned on the same 49 topics, on IBM's 15 test topics: Pearson "
        "about .52 (Gretz et al. 2020; not recomputed)."
    )
    report.head(
        "texts of", "rated by", "texts", "topics", "Pearson", "the judge is ahead by",
        "Spearman", "the judge is ahead by",
    )  # fmt: skip
    ibm_rows(report, ibm)
    webis_rows(report, webis, ibm)
    dagstuhl_rows(report)
    dimensions_table(report, webis)
    report.write(options.write)


if __name__ == "__main__":
    main()
