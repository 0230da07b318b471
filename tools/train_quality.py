"""Train the packaged quality model on Webis-ArgQuality-20 and IBM-ArgQ-30k.

    PNYX_DATA=DATA python tools/train_quality.py      # about half a minute; needs scikit-learn

Writes src/pnyx/search/weights/quality.json and quality.npz; with the same data and versions the
bytes are the same. What was compared, and why this model: docs/decisions/quality-model.md. The
figures are printed by benchmarks/search/quality.py, which trains with the functions below.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import hashlib
import io
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from sklearn.linear_model import Ridge

from pnyx.search.quality import Head, QualityModel
from pnyx.search.quality_features import HASH_BITS, SURFACE, VERSION, Features, extract

DATA = Path(os.environ.get("PNYX_DATA", "../shared/data"))
OUT = Path(__file__).parents[1] / "src" / "pnyx" / "search" / "weights"

NAME = "surface-words@1"
GATE = (4.0, 8.0, 30.0, 60.0)
BASE, SPREAD = 0.25, 0.15
"""Where short arguments lie on the scale of the debate portals, and how far labels move them."""
PENALTY = {"long": 6.0, "short": 3.0}
SURFACE_SCALE = 0.1
"""Surface features get a hundredth of the words' penalty: they are few and dense."""


@dataclass(frozen=True)
class Arguments:
    """Labelled texts with what the model sees of them.

    Attributes:
        texts: as published.
        topics: topic of each.
        split: `train`, `dev` or `test` where the set has a split of its own, else empty.
        labels: (n, k); see the reader.
        argument: whether it is an argument.
        seen: features of each.
    """

    texts: list[str]
    topics: np.ndarray
    split: np.ndarray
    labels: np.ndarray
    argument: np.ndarray
    seen: list[Features]


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
    seen = []
    for text in texts:
        one = extract(text)
        if one is None:
            raise SystemExit(f"a labelled text holds no word: {text[:40]!r}")
        seen.append(one)
    splits = np.array(split or [""] * len(texts))
    return Arguments(texts, np.array(topics), splits, labels, argument, seen)


def train(
    webis: Arguments, ibm: Arguments, webis_rows: np.ndarray, ibm_rows: np.ndarray
) -> QualityModel:
    """Train on some rows of both sets, as the packaged model was on all that may be used."""
    parts = {"long": (webis, webis_rows), "short": (ibm, ibm_rows)}
    used = [part.seen[row] for part, rows in parts.values() for row in rows]
    surface = np.stack([one.surface for one in used])
    documents = np.bincount(np.concatenate([one.slots for one in used]), minlength=2**HASH_BITS)
    blank = Head(0.0, np.zeros(len(SURFACE)), np.zeros(2**HASH_BITS))
    model = QualityModel(
        name=NAME,
        neutral=0.5,
        mean=_stored(surface.mean(axis=0)),
        deviation=_stored(np.maximum(surface.std(axis=0), 1e-3)),
        idf=_stored(np.log((len(used) + 1) / (documents + 1)) + 1, np.float16),
        long=blank,
        short=blank,
        base=BASE,
        spread=SPREAD,
        gate=GATE,
    )
    labels = ibm.labels[ibm_rows]
    targets = {
        "long": webis.labels[webis_rows, 0],
        "short": ((labels - labels.mean(axis=0)) / labels.std(axis=0)).mean(axis=1),
    }
    heads = {
        name: fit_head(matrix(model, [part.seen[row] for row in rows]), targets[name], name)
        for name, (part, rows) in parts.items()
    }
    model = _replaced(model, heads, model.neutral)
    mean = float(np.mean(model.predict([webis.texts[row] for row in webis_rows])))
    return _replaced(model, heads, round(mean, 4))


def fit_head(inputs: sp.csr_matrix, target: np.ndarray, name: str) -> Head:
    ridge = Ridge(PENALTY[name], solver="sparse_cg", tol=1e-6).fit(inputs, target)
    surface = _stored(ridge.coef_[: len(SURFACE)] * SURFACE_SCALE)
    words = _stored(ridge.coef_[len(SURFACE) :], np.float16)
    return Head(round(float(ridge.intercept_), 6), surface, words)


def matrix(model: QualityModel, seen: Sequence[Features]) -> sp.csr_matrix:
    """Return what a model's heads see, one row a text: scaled surface, then words."""
    inputs = [model.inputs(one) for one in seen]
    surface = np.stack([shape for shape, _ in inputs]) * SURFACE_SCALE
    starts = np.cumsum([0, *(len(one.slots) for one in seen)])
    words = sp.csr_matrix(
        (
            np.concatenate([w for _, w in inputs]),
            np.concatenate([one.slots for one in seen]),
            starts,
        ),
        shape=(len(seen), 2**HASH_BITS),
    )
    return sp.hstack([sp.csr_matrix(surface), words]).tocsr()


def _replaced(model: QualityModel, heads: dict[str, Head], neutral: float) -> QualityModel:
    fields = {name: getattr(model, name) for name in model.__dataclass_fields__}
    return QualityModel(**{**fields, **heads, "neutral": neutral})


def _stored(values: np.ndarray, dtype: type = np.float32) -> np.ndarray:
    """Round as the file will, so that a model trained and one loaded say the same."""
    return values.astype(dtype).astype(np.float64)


def save(model: QualityModel, folder: Path, trained_on: dict[str, int]) -> None:
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
        "neutral": model.neutral,
        "base": model.base,
        "spread": model.spread,
        "gate": list(model.gate),
        "intercepts": {"long": model.long.intercept, "short": model.short.intercept},
        "surface": list(SURFACE),
    }
    (folder / "quality.npz").write_bytes(data)
    (folder / "quality.json").write_text(json.dumps(manifest, indent=1) + "\n", encoding="utf-8")
    print(f"{model.name}: {len(data):,} bytes, sha256 {manifest['sha256']}")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--out", type=Path, default=OUT, help="folder of the weights")
    arguments = parser.parse_args()
    webis, ibm = read_webis(), read_ibm()
    # IBM's dev and test topics stay unseen, so that figures on them are the shipped model's own.
    ibm_rows = np.flatnonzero(ibm.split == "train")
    model = train(webis, ibm, np.arange(len(webis.texts)), ibm_rows)
    counts = {"webis-argquality-20": len(webis.texts), "ibm-argq-30k train": len(ibm_rows)}
    save(model, arguments.out, counts)


if __name__ == "__main__":
    main()
