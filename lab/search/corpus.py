"""A synthetic corpus of the size of args.me, in files that every engine can read.

Words follow a shifted Zipf law and document lengths are log-normal; the parameters are chosen so
that 387,740 documents have 75.9 million tokens and 58.4 million postings. A question has five to
eight words of a document, without the most frequent words, so that it has about 76,000 postings.
Every document has a random topic and quality. Every question has a vector close to a few topics:
its cosines with the topics are like those of real questions, mostly small and a few large.

    documents.txt   lines "ID WORD WORD ..."; ids count from 0
    questions.txt   lines "WORD WORD ..."
    features.txt    lines "TOPIC QUALITY", one per document
    centroids.npy   vectors of the topics, float32 [topics, dimensions], length 1
    vectors.npy     vectors of the questions, float32 [questions, dimensions], length 1
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import numpy as np

ARGS_ME = 387_740
"""Number of documents in args.me."""

VOCABULARY = 300_000
_SHIFT, _EXPONENT = 2.7, 1.058
_MEAN_LENGTH, _SPREAD = 196.9, 0.75
_FREQUENT = 75
"""Number of most frequent words, which do not occur in questions."""

TOPICS = 300
DIMENSIONS = 384


def texts(count: int, seed: int) -> Iterator[np.ndarray]:
    """Yield the word numbers of each document."""
    rng = np.random.default_rng(seed)
    share = np.cumsum(1.0 / (np.arange(VOCABULARY) + _SHIFT) ** _EXPONENT)
    share /= share[-1]
    centre = np.log(_MEAN_LENGTH) - _SPREAD**2 / 2
    lengths = np.maximum(3, rng.lognormal(centre, _SPREAD, count)).astype(int)
    for first in range(0, count, 10_000):
        part = lengths[first : first + 10_000]
        words = np.searchsorted(share, rng.random(part.sum()))
        yield from np.split(words, np.cumsum(part)[:-1])


def questions(count: int, documents: int, seed: int) -> list[str]:
    rng = np.random.default_rng(seed + 1)
    out: list[str] = []
    for words in islice(texts(documents, seed), 20 * count):
        rest = words[words >= _FREQUENT]
        chosen = np.unique(rng.choice(rest, rng.integers(5, 9))) if len(rest) else rest
        if len(chosen) >= 5 and len(out) < count:
            out.append(" ".join(f"w{word}" for word in chosen))
    return out


def unit(rows: np.ndarray) -> np.ndarray:
    scaled: np.ndarray = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return scaled.astype(np.float32)


def topics(seed: int) -> np.ndarray:
    """Return the centroids."""
    return unit(np.random.default_rng(seed).normal(size=(TOPICS, DIMENSIONS)))


def features(documents: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the topic of each document, and its quality in [0, 1] as float32."""
    rng = np.random.default_rng(seed + 2)
    cluster = rng.integers(0, TOPICS, documents).astype(np.uint32)
    return cluster, rng.beta(4, 4, documents).astype(np.float32)


def vectors(count: int, centroids: np.ndarray, seed: int) -> np.ndarray:
    """Return a unit vector for each question: a random mixture of three topics with noise."""
    rng = np.random.default_rng(seed + 3)
    near = centroids[rng.integers(0, len(centroids), (count, 3))] * rng.random((count, 3, 1))
    rows = near.sum(axis=1) + rng.normal(scale=0.03, size=(count, centroids.shape[1]))
    return unit(rows)


def write_features(folder: Path, documents: int, queries: int, seed: int) -> None:
    """Write topics and quality of documents, and the vectors of topics and questions."""
    cluster, quality = features(documents, seed)
    with (folder / "features.txt").open("w") as stream:
        # str() of a float32 is the shortest text that reads back as the same float32.
        stream.writelines(f"{c} {q!s}\n" for c, q in zip(cluster.tolist(), quality, strict=True))
    centroids = topics(seed)
    np.save(folder / "centroids.npy", centroids)
    np.save(folder / "vectors.npy", vectors(queries, centroids, seed))


def write_corpus(folder: Path, documents: int, queries: int, seed: int) -> int:
    """Write all files; return the number of tokens in the documents."""
    names = [f"w{number}" for number in range(VOCABULARY)]
    tokens = 0
    with (folder / "documents.txt").open("w") as stream:
        for number, words in enumerate(texts(documents, seed)):
            tokens += len(words)
            stream.write(f"{number} {' '.join([names[word] for word in words.tolist()])}\n")
    lines = questions(queries, documents, seed)
    (folder / "questions.txt").write_text("".join(f"{line}\n" for line in lines))
    write_features(folder, documents, len(lines), seed)
    return tokens


def read_lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines()


def read_documents(path: Path) -> Iterator[tuple[str, str]]:
    """Yield id and text of each document."""
    with path.open(encoding="utf-8", newline="\n") as stream:
        for line in stream:
            doc_id, _, text = line.rstrip("\n").partition(" ")
            yield doc_id, text


def read_features(path: Path) -> tuple[np.ndarray, np.ndarray]:
    rows = [line.split() for line in read_lines(path)]
    cluster = np.array([int(row[0]) for row in rows], dtype=np.uint32)
    return cluster, np.array([np.float32(row[1]) for row in rows], dtype=np.float32)
