"""Train the packaged quality model on Webis-ArgQuality-20 and IBM-ArgQ-30k.

    PNYX_DATA=DATA python lab/training/train_quality.py      # some minutes; needs scikit-learn

Writes src/pnyx/judging/students/weights/surface.json and surface.npz; the same data and
versions give the same bytes. docs/explain/decisions/quality-model.md compares models and explains
the choice. lab/search/quality.py prints the figures, using the functions below. Settings are chosen
by cross-validation over topics of the training rows, never on the rows that are measured.
"""

from __future__ import annotations

import argparse
import csv
import dataclasses
import gzip
import hashlib
import io
import itertools
import json
import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from quality_recipes import (
    PENALTIES,
    SURFACE_SCALE,
    RatedTexts,
    fit_head,
    left_out,
    ridge_inputs,
    scaled_model,
)

from pnyx.judging.students.surface_quality import SURFACE, VERSION, Features, Head, QualityModel

DATA = Path(os.environ.get("PNYX_DATA", "../shared/data"))
OUT = Path(__file__).parents[2] / "src" / "pnyx" / "judging" / "students" / "weights"

NAME = "surface-words@2"
SHORTEST = (4.0, 8.0)
"""Numbers of words at which the short head starts to count, and counts fully. Few labelled texts
are shorter, so these could not be fitted."""
FULL_UNTIL = (15.0, 20.0, 30.0, 40.0)
NONE_FROM = (30.0, 40.0, 60.0, 80.0, 120.0)
"""Candidates: the words up to which it counts fully, and from which it does not count."""


@dataclass(frozen=True)
class Arguments:
    """Labelled texts with their features.

    Attributes:
        rated: texts, topics, whether they are arguments; the quality is that of the first label.
        split: `train`, `dev` or `test` if the set has its own split, else empty.
        labels: (n, k); see the reader.
    """

    rated: RatedTexts
    split: np.ndarray
    labels: np.ndarray

    @property
    def texts(self) -> list[str]:
        return list(self.rated.texts)

    @property
    def topics(self) -> np.ndarray:
        return self.rated.topics

    @property
    def argument(self) -> np.ndarray:
        return self.rated.argument

    @property
    def seen(self) -> list[Features]:
        return list(self.rated.seen)


@dataclass(frozen=True)
class Settings:
    """The settings: penalties of both heads, and how texts are divided between them.

    Attributes:
        long, short: penalties.
        base, spread: where short arguments lie on the scale of the debate portals, and how far a
            standard deviation of the short head moves them.
        gate: see `QualityModel`.
    """

    long: float
    short: float
    base: float
    spread: float
    gate: tuple[float, float, float, float]


def read_webis() -> Arguments:
    """Webis-ArgQuality-20: the combined quality, min-max over arguments; non-arguments are 0."""
    path = DATA / "webis_argquality20" / "webis-argquality20-arguments.csv"
    with path.open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    argument = np.array([row["Is Argument?"] == "True" for row in rows])
    quality = np.array([float(row["Combined Quality"]) for row in rows])
    low, high = quality[argument].min(), quality[argument].max()
    labels = np.where(argument, (quality - low) / (high - low), 0.0)[:, None]
    return _arguments(
        [row["Premise"] for row in rows], [row["Topic ID"] for row in rows], "", labels, argument
    )


def read_ibm() -> Arguments:
    """IBM-ArgQ-Rank-30kArgs: WA and MACE-P, both in [0, 1]."""
    path = DATA / "ibm_argq_rank_30k" / "arg_quality_rank_30k.csv.gz"
    with gzip.open(path, "rt", encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    labels = np.array([[float(row["WA"]), float(row["MACE-P"])] for row in rows])
    return _arguments(
        [row["argument"] for row in rows],
        [row["topic"] for row in rows],
        [row["set"] for row in rows],
        labels,
        np.ones(len(rows), dtype=bool),
    )


def _arguments(
    texts: list[str],
    topics: list[str],
    split: list[str] | str,
    labels: np.ndarray,
    argument: np.ndarray,
) -> Arguments:
    rated = RatedTexts.of(texts, labels[:, 0], argument, topics)
    return Arguments(rated, np.array(split or [""] * len(texts)), labels)


def train(
    webis: Arguments, ibm: Arguments, webis_rows: np.ndarray, ibm_rows: np.ndarray
) -> QualityModel:
    """Train on some rows of both sets, as for the packaged model, which uses all allowed rows."""
    return train_and_choose(webis, ibm, webis_rows, ibm_rows)[0]


def train_and_choose(
    webis: Arguments, ibm: Arguments, webis_rows: np.ndarray, ibm_rows: np.ndarray
) -> tuple[QualityModel, Settings]:
    """Train on some rows of both sets, and choose the settings on the same rows."""
    long, short = webis.rated.part(webis_rows), ibm.rated.part(ibm_rows)
    target = standard_target(ibm, ibm_rows)
    model = scaled_model([*long.seen, *short.seen], NAME)
    inputs, ours = ridge_inputs(model, short.seen), ridge_inputs(model, long.seen)
    penalty, unseen = short_choice(ibm, ibm_rows)
    head = fit_head(inputs, target, penalty)
    heads = [fit_head(ours, long.quality, candidate) for candidate in PENALTIES]
    settings = choose(
        HeldOutScores(
            long, left_out(ours, long.quality, long.topics), [heads_scores(head, ours)] * len(heads)
        ),
        HeldOutScores(
            short,
            [heads_scores(long_head, inputs) for long_head in heads],
            [unseen] * len(heads),
            target,
        ),
        penalty,
    )
    model = dataclasses.replace(
        model,
        long=fit_head(ours, long.quality, settings.long),
        short=head,
        base=settings.base,
        spread=settings.spread,
        gate=settings.gate,
    )
    neutral = round(float(np.mean(model.predict(long.texts))), 4)
    return dataclasses.replace(model, neutral=neutral), settings


def standard_target(ibm: Arguments, rows: np.ndarray) -> np.ndarray:
    """Return the mean of the labels, each standardised on these rows."""
    labels = ibm.labels[rows]
    return ((labels - labels.mean(axis=0)) / labels.std(axis=0)).mean(axis=1)


_CHOICES: dict[tuple[bytes, bytes], tuple[float, np.ndarray]] = {}


def short_choice(ibm: Arguments, rows: np.ndarray) -> tuple[float, np.ndarray]:
    """Return the short head's penalty, and its predictions for each row without the row's topic.

    It is chosen only on IBM's rows, by squared error, and computed once.
    """
    key = rows.tobytes(), ibm.labels[rows].tobytes()
    if key not in _CHOICES:
        part, target = ibm.rated.part(rows), standard_target(ibm, rows)
        inputs = ridge_inputs(scaled_model(part.seen, NAME), part.seen)
        predictions = left_out(inputs, target, part.topics)
        best = int(np.argmin([((out - target) ** 2).mean() for out in predictions]))
        _CHOICES[key] = PENALTIES[best], predictions[best]
    return _CHOICES[key]


@dataclass(frozen=True)
class HeldOutScores:
    """Texts of one set, with predictions of heads that have not seen their topic.

    Attributes:
        rated: the texts.
        long, short: predictions of both heads, for each penalty of the long one.
        target: the value to predict; None: the quality.
    """

    rated: RatedTexts
    long: list[np.ndarray]
    short: list[np.ndarray]
    target: np.ndarray | None = None

    @property
    def words(self) -> np.ndarray:
        return np.array([features.words for features in self.rated.seen])

    def value(self, index: int, settings: Settings) -> np.ndarray:
        share = share_of(self.words, settings.gate)
        short = settings.base + settings.spread * self.short[index]
        return np.clip((1 - share) * self.long[index] + share * short, 0, 1)

    def pearson(self, index: int, settings: Settings) -> float:
        target = self.rated.quality if self.target is None else self.target
        return float(np.corrcoef(self.value(index, settings), target)[0, 1])


def choose(long: HeldOutScores, short: HeldOutScores, short_penalty: float) -> Settings:
    """Choose the long head's penalty and the gate by the best mean of both sets' correlations.

    A single set would bias the gate towards its own texts. Base and spread are fitted by least
    squares on the debate portals, whose scale they use.
    """
    candidates = []
    for index, penalty in enumerate(PENALTIES):
        for full, none in itertools.product(FULL_UNTIL, NONE_FROM):
            if full < none:
                gate = (*SHORTEST, full, none)
                share = share_of(long.words, gate)
                base, spread = share_fit(
                    long.rated.quality, long.long[index], long.short[index], share
                )
                settings = Settings(penalty, short_penalty, base, spread, gate)
                both = [part.pearson(index, settings) for part in (long, short)]
                candidates.append((sum(both) / 2, settings))
    return max(candidates, key=lambda pair: pair[0])[1]


def share_of(words: np.ndarray, gate: tuple[float, ...]) -> np.ndarray:
    return np.interp(np.log1p(words), np.log1p(gate), [0.0, 1.0, 1.0, 0.0])


def share_fit(
    quality: np.ndarray, long: np.ndarray, short: np.ndarray, share: np.ndarray
) -> tuple[float, float]:
    """Return base and spread by least squares; a negative spread would invert the short head."""
    rest = quality - (1 - share) * long
    columns = np.column_stack([share, share * short])
    base, spread = np.linalg.lstsq(columns, rest, rcond=None)[0]
    return round(float(base), 2), max(0.01, round(float(spread), 2))


def heads_scores(head: Head, inputs: np.ndarray) -> np.ndarray:
    surface = inputs[:, : len(SURFACE)].toarray() / SURFACE_SCALE
    return head.intercept + surface @ head.surface + inputs[:, len(SURFACE) :] @ head.words


def save(model: QualityModel, settings: Settings, folder: Path, trained_on: dict[str, int]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    arrays = {
        "mean": model.mean.astype(np.float32),
        "deviation": model.deviation.astype(np.float32),
        "idf": model.idf.astype(np.float16),
    }
    for name, head in (("long", model.long), ("short", model.short)):
        arrays[f"{name}_surface"] = head.surface.astype(np.float32)
        arrays[f"{name}_words"] = head.words.astype(np.float16)
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **arrays)
    data = buffer.getvalue()
    manifest = {
        "name": model.name,
        "features": VERSION,
        "sha256": hashlib.sha256(data).hexdigest(),
        "trained_on": trained_on,
        "chosen": {"penalties": {"long": settings.long, "short": settings.short}},
        "neutral": model.neutral,
        "base": model.base,
        "spread": model.spread,
        "gate": list(model.gate),
        "intercepts": {"long": model.long.intercept, "short": model.short.intercept},
        "surface": list(SURFACE),
    }
    (folder / "surface.npz").write_bytes(data)
    (folder / "surface.json").write_text(json.dumps(manifest, indent=1) + "\n", encoding="utf-8")
    print(f"{model.name}: {len(data):,} bytes, sha256 {manifest['sha256']}")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--out", type=Path, default=OUT, help="folder of the weights")
    arguments = parser.parse_args()
    webis, ibm = read_webis(), read_ibm()
    # IBM's dev and test topics stay unseen, so that figures on them are the shipped model's own.
    ibm_rows = np.flatnonzero(ibm.split == "train")
    model, settings = train_and_choose(webis, ibm, np.arange(len(webis.texts)), ibm_rows)
    counts = {"webis-argquality-20": len(webis.texts), "ibm-argq-30k train": len(ibm_rows)}
    save(model, settings, arguments.out, counts)
    print(settings)


if __name__ == "__main__":
    main()
