"""An index with everything that can be known of it, by an embedder that needs no model."""

from __future__ import annotations

import importlib.util
import zlib

import numpy as np
import pytest

from pnyx.core.records import Argument, Document, Premise
from pnyx.judging.students.surface_quality import QualityModel
from pnyx.search.build import add_to_index, build_index
from pnyx.search.document_quality import score_documents
from pnyx.search.features.clusters import cluster_documents
from pnyx.search.features.vectors import embed_documents
from pnyx.search.ranking.dense import build_ann

# Not by importing it: whoever does so before onnxruntime crashes the process (`pnyx.core.native`).
HAS_GRAPHS = importlib.util.find_spec("usearch") is not None
needs_graphs = pytest.mark.skipif(not HAS_GRAPHS, reason="needs usearch")


class Fake:
    """Embeds by a hash of the text."""

    name, dimensions = "fake", 8

    def encode(self, texts):
        rows = [np.random.default_rng(zlib.crc32(t.encode())).normal(size=8) for t in texts]
        rows = np.array(rows, dtype=np.float32).reshape(-1, 8)
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def records(first, stop):
    """Documents and arguments by turns; of some, words more frequent than a posting can hold."""
    for n in range(first, stop):
        words = " ".join(f"word{n * i % 61}" for i in range(1, 40))
        text = f"{words} rare{n} " + "often " * (20 if n % 7 == 0 else 1)
        if n % 2:
            yield Document(f"doc{n}", text, title=f"Title {n}")
        else:
            yield Argument(f"doc{n}", text, (Premise("Because tea."),), "pro", topic="tea")


def full_index(folder, *, graph=HAS_GRAPHS):
    """Build it in two segments; return the folder."""
    build_index(records(0, 120), folder)
    add_to_index(records(120, 140), folder)
    score_documents(folder, QualityModel.load())
    embed_documents(folder, Fake())
    cluster_documents(folder, Fake(), k=5, space="text")
    if graph:
        build_ann(folder)
    return folder
