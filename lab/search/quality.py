"""Quality prediction: reproduce the Touché paper's model, and compare candidates.

    PNYX_DATA=DATA python lab/search/quality.py     # some minutes; needs pnyx[test]
    ... --write docs/lab/argument-quality.md   # updates its section
    ... --predictions FILE.csv                             # for each Webis text, its topic unseen

All figures are for texts that were not used in training. Webis: 10 random folds, as in the paper,
and leave-one-topic-out. IBM: trained on the train topics, measured on the dev topics. Intervals: 95
%, by the bootstrap over topics. All rows except the last are trained on each set separately, which
is an advantage, because the packaged model uses one scale for both kinds of text. Its penalties,
gate, base and spread are chosen in each fold, on the training rows. Its features, and the settings
of the other rows, were chosen with these figures in view.
"""

from __future__ import annotations

import csv
import json
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path

import numpy as np
from sklearn.base import clone
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import Ridge
from sklearn.metrics import f1_score
from sklearn.model_selection import GroupKFold, KFold, LeaveOneGroupOut, cross_val_score
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVR

from pnyx.judging.measures.binary import weighted_brier as weighted_mse
from pnyx.judging.measures.binary import weighted_ece
from pnyx.judging.students.surface_quality import QualityModel
from pnyx.models.embed.encoder import load_encoder
from pnyx.stats.base import Bootstrap
from pnyx.stats.correlation import weighted_pearson, weighted_spearman
from pnyx.stats.intervals import draw_weights, percentile_interval

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "lab" / "training"), str(ROOT / "lab" / "judging")]

from common import Report, arguments, read_csv  # noqa: E402
from train_quality import DATA, Arguments, Settings, read_ibm, read_webis, train_and_choose  # noqa: E402

DRAWS = 1000
LENGTHS = slice(0, 6)
"""The surface features of length: the logarithm of the distinct words, with five knots."""

Rows = np.ndarray
Predictor = Callable[[Arguments, np.ndarray, Rows, Rows], np.ndarray]
"""(set, target, training rows, test rows) -> predictions for the test rows."""


# --- measures ---------------------------------------------------------------------------------


def without_length(values: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Return the residuals of a linear regression of the values on the length."""
    inputs = np.column_stack([np.ones(len(values)), lengths])
    return values - inputs @ np.linalg.lstsq(inputs, values, rcond=None)[0]


def with_interval(measure: Callable[..., np.ndarray], *pair: np.ndarray, topics: np.ndarray) -> str:
    clusters = np.unique(topics, return_inverse=True)[1]
    value = measure(*pair, np.ones((1, len(topics))))[0]
    drawn = [measure(*pair, weights) for weights in draw_weights(clusters, Bootstrap(DRAWS))]
    low, high = percentile_interval(np.concatenate(drawn))
    digits = 4 if measure is weighted_mse else 3
    return f"{value:.{digits}f} [{low:.{digits}f}, {high:.{digits}f}]"


# --- models -----------------------------------------------------------------------------------


def inputs_of(part: Arguments, embedded: bool = False) -> np.ndarray:
    surface = np.stack([features.surface for features in part.seen])
    return np.hstack([surface, load_encoder().encode(part.texts)]) if embedded else surface


def dense(make: Callable[[], object], matrices: dict[int, np.ndarray]) -> Predictor:
    """Return a predictor: a regression on standardised columns."""

    def predict(part: Arguments, target: np.ndarray, fit: Rows, test: Rows) -> np.ndarray:
        matrix = matrices[id(part)]
        pipeline = make_pipeline(StandardScaler(), make())
        return pipeline.fit(matrix[fit], target[fit]).predict(matrix[test])

    return predict


def tfidf_ridge(part: Arguments, target: np.ndarray, fit: Rows, test: Rows) -> np.ndarray:
    words = TfidfVectorizer(ngram_range=(1, 2), min_df=2, sublinear_tf=True)
    matrix = words.fit_transform([part.texts[row] for row in fit])
    ridge = Ridge(2.0, solver="sparse_cg", tol=1e-4).fit(matrix, target[fit])
    return ridge.predict(words.transform([part.texts[row] for row in test]))


def paper(part: Arguments, target: np.ndarray, fit: Rows, test: Rows) -> np.ndarray:
    """Predict by the paper's two steps: 0 if the SVM finds no argument, else by the SVR."""
    words = _paper_words()
    matrix = words.fit_transform([part.texts[row] for row in fit])
    test_matrix = words.transform([part.texts[row] for row in test])
    argument = part.argument[fit]
    out = (
        LinearSVR(random_state=0).fit(matrix[argument], target[fit][argument]).predict(test_matrix)
    )
    if not argument.all():
        out[~SVC().fit(matrix, argument).predict(test_matrix)] = 0.0
    return out


def _paper_words() -> TfidfVectorizer:
    return TfidfVectorizer(stop_words="english", max_features=2**18)


def both(part: Arguments, target: np.ndarray, fit: Rows, test: Rows) -> np.ndarray:
    """Predict by the packaged model's recipe, trained on both sets without the test rows."""
    del target
    webis, ibm = SETS["webis"], SETS["ibm"]
    train_rows = np.flatnonzero(ibm.split == "train")
    if part is webis:
        model, settings = train_and_choose(webis, ibm, fit, train_rows)
    else:
        model, settings = train_and_choose(webis, ibm, np.arange(len(webis.texts)), fit)
    CHOSEN.append(settings)
    return model.predict([part.texts[row] for row in test]).astype(float)


SETS: dict[str, Arguments] = {}
CHOSEN: list[Settings] = []
"""Settings of each fold of the packaged recipe."""


def candidates() -> dict[str, Predictor]:
    plain = {id(part): inputs_of(part) for part in SETS.values()}
    lengths = {key: matrix[:, LENGTHS] for key, matrix in plain.items()}
    embedded = {id(part): inputs_of(part, embedded=True) for part in SETS.values()}

    def network() -> MLPRegressor:
        # L-BFGS: the usual Adam finds little in some 700 texts.
        return MLPRegressor(
            hidden_layer_sizes=(32,), solver="lbfgs", alpha=100.0, max_iter=100, random_state=0
        )

    return {
        "the paper's two steps": paper,
        "length alone": dense(lambda: Ridge(10.0), lengths),
        "tf-idf of words and pairs, ridge": tfidf_ridge,
        "surface, ridge": dense(lambda: Ridge(30.0), plain),
        "MiniLM and surface, ridge": dense(lambda: Ridge(1000.0), embedded),
        "MiniLM and surface, small network": dense(network, embedded),
        "**packaged: surface and hashed words**": both,
    }


# --- the report -------------------------------------------------------------------------------


def reproduce(report: Report, webis: Arguments) -> None:
    words = _paper_words()
    every = words.fit_transform(webis.texts)
    f1 = cross_val_score(SVC(), every, webis.argument, cv=10, scoring="f1").mean()
    base = f1_score(webis.argument, np.ones(len(webis.argument)))
    argument_rows = every[webis.argument]
    target = webis.labels[webis.argument, 0]
    svr = LinearSVR(random_state=0)
    r2 = cross_val_score(clone(svr), argument_rows, target, cv=10).mean()
    mse = -cross_val_score(
        svr, argument_rows, target, cv=10, scoring="neg_mean_squared_error"
    ).mean()
    report.line(
        f"The paper's model, 10 folds, on {len(webis.texts)} of 1,610 texts "
        f"({int(webis.argument.sum())} of 1,271 arguments): SVM F1 {f1:.4f} (calling everything an "
        f"argument {base:.4f}); SVR R² {r2:.4f}, mean squared error {mse:.4f} (predicting the mean "
        f"{target.var():.4f})."
    )


def out_of_sample(
    predict: Predictor, part: Arguments, folds: list[tuple[Rows, Rows]]
) -> np.ndarray:
    out = np.zeros(len(part.texts))
    for fit, test in folds:
        out[test] = predict(part, part.labels[:, 0], fit, test)
    return np.clip(out, 0.0, 1.0)


def webis_table(report: Report, part: Arguments, models: dict[str, Predictor]) -> np.ndarray:
    every = np.arange(len(part.texts))
    by_topic = list(LeaveOneGroupOut().split(every, groups=part.topics))
    random = list(KFold(10, shuffle=True, random_state=0).split(every))
    lengths, gold = inputs_of(part)[:, LENGTHS], part.labels[:, 0]
    argument = part.argument
    report.head(
        "Webis, topic unseen", "Pearson", "Spearman", "MSE", "ECE", "Pearson, arguments only",
        "given their length", "10 folds: Pearson", "MSE", "CPU s",
    )  # fmt: skip
    score = np.zeros(len(gold))
    for name, predict in models.items():
        start = time.process_time()
        score = out_of_sample(predict, part, by_topic)
        seconds = time.process_time() - start
        folded = out_of_sample(predict, part, random)
        rest = [without_length(values[argument], lengths[argument]) for values in (gold, score)]
        ones = np.ones((1, len(gold)))
        report.row(
            name,
            with_interval(weighted_pearson, gold, score, topics=part.topics),
            with_interval(weighted_spearman, gold, score, topics=part.topics),
            with_interval(weighted_mse, gold, score, topics=part.topics),
            f"{weighted_ece(gold, score, ones)[0]:.3f}",
            f"{np.corrcoef(gold[argument], score[argument])[0, 1]:.3f}",
            f"{np.corrcoef(*rest)[0, 1]:.3f}",
            f"{np.corrcoef(gold, folded)[0, 1]:.3f}",
            f"{np.mean((gold - folded) ** 2):.4f}",
            f"{seconds:.0f}",
        )
    return score


def ibm_table(report: Report, part: Arguments, models: dict[str, Predictor]) -> None:
    fit, test = np.flatnonzero(part.split == "train"), np.flatnonzero(part.split == "dev")
    labels = part.labels
    target = ((labels - labels[fit].mean(0)) / labels[fit].std(0)).mean(1)
    topics, lengths = part.topics[test], inputs_of(part)[test, LENGTHS]
    report.head(
        "IBM, dev topics", "Pearson, MACE-P", "Pearson, WA", "Spearman, MACE-P",
        "Pearson, MACE-P, given the length", "CPU s",
    )  # fmt: skip
    for name, predict in models.items():
        start = time.process_time()
        score = predict(part, target, fit, test)
        seconds = time.process_time() - start
        weighted, mace = labels[test, 0], labels[test, 1]
        rest = [without_length(values, lengths) for values in (mace, score)]
        report.row(
            name,
            with_interval(weighted_pearson, mace, score, topics=topics),
            with_interval(weighted_pearson, weighted, score, topics=topics),
            with_interval(weighted_spearman, mace, score, topics=topics),
            f"{np.corrcoef(*rest)[0, 1]:.3f}",
            f"{seconds:.0f}",
        )


def ibm_folds(report: Report, part: Arguments) -> None:
    """Report the packaged recipe on all available IBM topics, in 8 folds of whole topics."""
    folds = list(GroupKFold(8).split(part.texts, groups=part.topics))
    score = out_of_sample(both, part, folds)
    weighted, mace = part.labels[:, 0], part.labels[:, 1]
    ones = np.ones((1, len(score)))
    report.line()
    report.line(
        f"The packaged recipe on all {len(np.unique(part.topics))} IBM topics at hand, "
        f"in 8 folds of whole topics: Pearson {_pearson(mace, score, part)} with MACE-P, "
        f"{_pearson(weighted, score, part)} with WA. Its scale is that of the debate portals: "
        f"against WA (mean {weighted.mean():.2f}) its predictions (mean {score.mean():.2f}) are "
        f"far too low, ECE {weighted_ece(weighted, score, ones)[0]:.2f}."
    )


def beyond(report: Report, webis: Arguments) -> None:
    """Report the shipped weights on sets that were used neither for training nor for choices.

    Intervals resample SIGIR's topics and Dagstuhl's texts.
    """
    model, seen = QualityModel.load(), set(webis.texts)
    rated = {
        "Dagstuhl, experts": (
            read_csv(DATA / "dagstuhl" / "dg_scores_4dims.csv"),
            "Text",
            ("Cogency", "LocalAcceptability", "LocalRelevance", "LocalSufficiency"),
        ),
        "SIGIR-19, arguments": (
            [
                row
                for row in read_csv(DATA / "sigir19_argsearch" / "arguments.csv")
                if row["Is Argument?"] == "True" and row["Premise"] not in seen
            ],
            "Premise",
            ("Logical Quality", "Rhetorical Quality", "Dialectical Quality"),
        ),
    }
    report.head("shipped weights, held-out data", "texts", "of", "Spearman", "length alone")
    for name, (rows, field, dimensions) in rated.items():
        texts = [row[field] for row in rows]
        score = model.predict(texts).astype(float)
        length = np.log1p([len(text.split()) for text in texts])
        topics = np.array([row.get("Topic ID", row.get("arg_id")) for row in rows])
        for dimension in dimensions:
            gold = np.array([float(row[dimension]) for row in rows])
            cells = [
                with_interval(weighted_spearman, gold, values, topics=topics)
                for values in (score, length)
            ]
            report.row(name, len(texts), dimension, *cells)


def chosen(report: Report) -> None:
    """Report how often each value was chosen over the folds of the packaged recipe."""
    parts = []
    for field in fields(Settings):
        counted = Counter(getattr(settings, field.name) for settings in CHOSEN).most_common()
        parts.append(f"{field.name} " + ", ".join(f"{value} ({n})" for value, n in counted))
    report.line()
    report.line(
        f"Settings of the packaged recipe in the {len(CHOSEN)} trainings above, each chosen on "
        f"what was trained on (times): {'; '.join(parts)}. Shipped: {shipped()}."
    )


def shipped() -> str:
    path = ROOT / "src" / "pnyx" / "judging" / "students" / "weights" / "surface.json"
    row = json.loads(path.read_text(encoding="utf-8"))
    penalties = ", ".join(f"{name} {value}" for name, value in row["chosen"]["penalties"].items())
    return f"{row['name']}, {penalties}, base {row['base']}, spread {row['spread']}, " + (
        f"gate {tuple(row['gate'])}"
    )


def _pearson(gold: np.ndarray, score: np.ndarray, part: Arguments) -> str:
    return with_interval(weighted_pearson, gold, score, topics=part.topics)


def reliability(report: Report, part: Arguments, score: np.ndarray) -> None:
    report.head("packaged, Webis, topic unseen", "texts", "mean predicted", "mean quality")
    bins = np.minimum((score * 5).astype(int), 4)
    for number in range(5):
        inside = bins == number
        if inside.any():
            cells = score[inside].mean(), part.labels[inside, 0].mean()
            report.row(
                f"{number / 5:.1f} to {(number + 1) / 5:.1f}",
                int(inside.sum()),
                *(f"{value:.3f}" for value in cells),
            )


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--predictions", type=Path, metavar="FILE", help="of each Webis argument")
    options = parser.parse_args()
    report = Report("argument quality")
    SETS.update(webis=read_webis(), ibm=read_ibm())
    webis, ibm = SETS["webis"], SETS["ibm"]
    reproduce(report, webis)
    report.line(
        f"Webis: {len(np.unique(webis.topics))} of 20 topics, non-arguments at 0. IBM: "
        f"{len(ibm.texts):,} of 30,497 arguments; its test topics are not at hand."
    )
    models = candidates()
    score = webis_table(report, webis, models)
    reliability(report, webis, score)
    ibm_table(report, ibm, models)
    ibm_folds(report, ibm)
    chosen(report)
    beyond(report, webis)
    if options.predictions is not None:
        with options.predictions.open("w", encoding="utf-8", newline="") as stream:
            writer = csv.writer(stream)
            writer.writerow(["topic", "text", "quality"])
            writer.writerows(zip(webis.topics, webis.texts, score, strict=True))
    report.write(options.write)


if __name__ == "__main__":
    main()
