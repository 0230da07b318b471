"""Compare rankings of Pnyx and a peer, document by document and score by score."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from corpus import VOCABULARY, read_lines, texts, write_features
from engines import pnyx_ask, put_features
from processes import WC, WQ, Lucene, read_rankings, search_job

from pnyx.core.records import Document
from pnyx.search.build import build_index
from pnyx.search.features.clusters import clusters_of
from pnyx.search.index import Index
from pnyx.search.lexical.postings import LENGTHS, encode_lengths
from pnyx.search.lexical.record_codec import searched_text
from pnyx.search.ranking.models import CollectionStatistics, Term, make_model

NEAR = 1e-5
"""Scores this close, relative to the best, count as tied, because Lucene sums in float32."""

Rankings = Sequence[tuple[np.ndarray, np.ndarray]]


class Parity(NamedTuple):
    """The similarity of the rankings of two engines.

    Attributes:
        questions: number of questions.
        identical: share of questions with the same documents in the same order.
        tied: the same, but documents with scores within `NEAR` may be exchanged.
        overlap: mean share of our documents that the other engine returns, too.
        difference: largest difference between the two scores of a document.
    """

    questions: int
    identical: float
    tied: float
    overlap: float
    difference: float


def compare(ours: Rankings, theirs: Rankings, *, positive: bool = False) -> Parity:
    """Compare question by question; `positive` ignores documents with score 0."""
    if positive:
        ours = [(n[s > 0], s[s > 0]) for n, s in ours]
        theirs = [(n[s > 0], s[s > 0]) for n, s in theirs]
    rows = [_compare(*a, *b) for a, b in zip(ours, theirs, strict=True)]
    identical, tied, overlap, difference = np.array(rows, dtype=float).T
    return Parity(
        questions=len(rows),
        identical=float(identical.mean()),
        tied=float(tied.mean()),
        overlap=float(overlap.mean()),
        difference=float(difference.max()),
    )


def _compare(
    ours: np.ndarray, our_scores: np.ndarray, theirs: np.ndarray, their_scores: np.ndarray
) -> tuple[bool, bool, float, float]:
    near = NEAR * max(1.0, our_scores.max(initial=0.0))
    _, left, right = np.intersect1d(ours, theirs, assume_unique=True, return_indices=True)
    gaps = np.abs(our_scores[left] - their_scores[right])
    same_length = len(ours) == len(theirs)
    tied = (
        same_length
        # By rank and by document: then only documents with close scores can be exchanged.
        and bool((np.abs(our_scores - their_scores) <= near).all())
        and bool((gaps <= near).all())
        # A document that only one engine returns must have a score close to the last one.
        and bool((np.delete(our_scores, left) - our_scores[-1:] <= near).all())
        and bool((np.delete(their_scores, right) - their_scores[-1:] <= near).all())
    )
    overlap = len(left) / len(ours) if len(ours) else float(len(theirs) == 0)
    return np.array_equal(ours, theirs), tied, overlap, float(gaps.max(initial=0.0))


def our_rankings(index: Index, corpus: Path, model: str, top: int) -> Rankings:
    """Return Pnyx's rankings of the questions of a corpus."""
    job = {"model": model, "top": top, "wc": WC, "wq": WQ}
    ask = pnyx_ask(index, corpus, job)
    return [ask(at) for at in range(len(read_lines(corpus / "questions.txt")))]


def write_cosines(index: Index, corpus: Path) -> None:
    """Write the cosines of each question with the topics, in [0, 1], for peers without vectors."""
    clusters = clusters_of(index)
    rows = [clusters.cosines(vector) for vector in np.load(corpus / "vectors.npy")]
    np.savetxt(corpus / "cosines.txt", rows, fmt="%.17g")


def write_matrix(corpus: Path, documents: int, seed: int) -> None:
    """Write the weight of every posting for bm25s, computed without an index.

    indptr.npy, indices.npy: terms in order (w0, w1, ...), each sorted by document; dirichlet.npy
    and bm25.npy: the weights, float32.
    """
    words = list(texts(documents, seed))
    lengths = np.array([len(part) for part in words])
    keys = np.concatenate(words).astype(np.int64) << 32 | np.repeat(np.arange(documents), lengths)
    keys.sort()
    starts = np.flatnonzero(np.diff(keys, prepend=-1))
    frequencies = np.diff(starts, append=len(keys))
    terms, places = keys[starts] >> 32, keys[starts] & 0xFFFFFFFF
    indptr = np.searchsorted(terms, np.arange(VOCABULARY + 1))
    np.save(corpus / "indptr.npy", indptr)
    np.save(corpus / "indices.npy", places.astype(np.int32))
    counted = np.bincount(terms, weights=frequencies, minlength=VOCABULARY)
    collection = CollectionStatistics(documents=documents, tokens=len(keys))
    rounded = LENGTHS[encode_lengths(lengths)].astype(float)[places]
    for name in ("dirichlet", "bm25"):
        weights = _weights(name, collection, indptr, counted, frequencies, rounded)
        np.save(corpus / f"{name}.npy", weights)


def _weights(
    name: str,
    collection: CollectionStatistics,
    indptr: np.ndarray,
    counted: np.ndarray,
    frequencies: np.ndarray,
    lengths: np.ndarray,
) -> np.ndarray:
    model = make_model(name, {})
    by_length = model.length_values(lengths, collection)
    out = np.empty(len(frequencies), dtype=np.float32)
    for term in np.flatnonzero(np.diff(indptr)):
        part = slice(indptr[term], indptr[term + 1])
        statistics = Term(part.stop - part.start, int(counted[term]))
        a = model.term_values(frequencies[part].astype(float), statistics, collection)
        b, weight = by_length[part], model.weight(statistics, collection)
        out[part] = (
            np.maximum(a + b, 0) if model.combine == "add" else weight - weight / (1 + a * b)
        )
    return out


def with_lucene(
    records: Sequence[Document], questions: Sequence[str], folder: Path, lucene: Lucene, top: int
) -> dict[str, Parity]:
    """Compare with Lucene for each model, including the analysis of documents and questions."""
    corpus = folder / "corpus"
    corpus.mkdir(parents=True)
    build_index(records, folder / "pnyx")
    index = Index.open(folder / "pnyx")
    distinct = dict.fromkeys(map(_one_line, questions))
    searchable = [line for line in distinct if index.tokenizer.terms(line)]
    _write_lines(corpus / "questions.txt", searchable)
    write_features(corpus, len(records), len(searchable), seed=1)
    put_features(folder / "pnyx", corpus)
    index = Index.open(folder / "pnyx")
    write_cosines(index, corpus)
    models = ("dirichlet", "bm25", "touche")
    ours = {model: our_rankings(index, corpus, model, top) for model in models}
    # Each document is a line; a line break separates words like a space.
    lines = [re.sub(r"[\r\n]", " ", searched_text(record)) for record in records]
    _write_lines(corpus / "documents.txt", [f"{n} {line}" for n, line in enumerate(lines)])
    lucene.index(corpus, corpus / "lucene")
    out = {}
    for model in models:
        job = search_job(corpus, "lucene", model, top)
        lucene.search(job)
        out[model] = compare(ours[model], read_rankings(Path(job["rankings"])))
    return out


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _write_lines(path: Path, lines: Sequence[str]) -> None:
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def idebate(data: Path) -> tuple[list[Document], list[str]]:
    """Return the arguments of idebate.org and, as questions, the titles of their debates."""
    folder = data / "arguana_counterargs"
    with gzip.open(folder / "arguments.jsonl.gz", "rt", encoding="utf-8") as stream:
        rows = [json.loads(line) for line in stream]
    with gzip.open(folder / "debates.jsonl.gz", "rt", encoding="utf-8") as stream:
        titles = [json.loads(line)["title"] for line in stream]
    return [Document(row["id"], row["premise"], row["conclusion"]) for row in rows], titles
