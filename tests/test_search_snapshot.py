"""An index that is searched while it is updated: a reader sees the old one or the new, whole."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from index_fixture import Fake, full_index
from pnyx.core.errors import IndexFolderError
from pnyx.core.records import Document, Question
from pnyx.search.build import add_to_index, build_index
from pnyx.search.features.access import put_feature
from pnyx.search.features.clusters import cluster_documents, clusters_of
from pnyx.search.features.vectors import document_vectors, embed_documents
from pnyx.search.index import Index
from pnyx.search.lexical import index as index_module
from pnyx.search.pipeline import Searcher
from pnyx.search.plan import Scoring, SearchPlan

QUESTION = Question("q", "word3 word17 often")


def put_quality(folder, documents):
    values = np.full(documents, 0.5, dtype=np.float32)
    meta = {"model": "m@1", "unscored": 0}
    put_feature(folder, "quality", {"values": values}, documents=documents, meta=meta)


@pytest.fixture
def folder(tmp_path):
    build_index([Document(f"d{n}", f"tea {n}") for n in range(4)], tmp_path / "i")
    put_quality(tmp_path / "i", 4)
    return tmp_path / "i"


def replace(folder, times):
    """What a writer may have done between a reader's manifest and its files."""
    if times == 1:
        put_quality(folder, 4)
    elif times == 2:
        add_to_index([Document("d4", "more tea")], folder)
        put_quality(folder, 5)
    elif times == 3:
        build_index([Document(f"e{n}", "other tea") for n in range(7)], folder, replace=True)
        put_quality(folder, 7)


def test_a_reader_between_manifest_and_files_gets_the_new_index(folder, monkeypatch):
    real, reads = index_module.read_manifest, []

    def read_manifest(path):
        manifest = real(path)
        reads.append(path)
        with monkeypatch.context() as writer:  # which opens what it wrote
            writer.setattr(index_module, "read_manifest", real)
            replace(folder, len(reads))
        return manifest

    monkeypatch.setattr(index_module, "read_manifest", read_manifest)
    index = Index.open(folder)
    assert len(reads) == 4
    assert (len(index), len(index.search("tea"))) == (7, 7)
    assert len(index.feature("quality", "make it").array("values")) == 7


def test_a_file_that_is_really_missing_is_still_said(folder):
    (file,) = folder.glob("feature-quality-*")
    file.unlink()
    index = Index.open(folder)
    assert len(index.search("tea")) == 4  # which needs no quality
    for use in (lambda: index.known("quality"), index.verify):
        with pytest.raises(IndexFolderError, match=r"feature-quality-000001\.data cannot be read"):
            use()


def test_no_search_is_refused_while_features_are_replaced(folder):
    stop, failed = threading.Event(), []

    def write():
        while not stop.is_set():
            put_quality(folder, 4)

    def read():
        try:
            for _ in range(150):
                index = Index.open(folder)
                assert index.feature("quality", "make it").array("values").tolist() == [0.5] * 4
        except Exception as error:
            failed.append(error)

    writer = threading.Thread(target=write)
    readers = [threading.Thread(target=read) for _ in range(2)]
    for thread in (writer, *readers):
        thread.start()
    for thread in readers:
        thread.join()
    stop.set()
    writer.join()
    assert failed == []


def test_a_searcher_held_open_goes_on_with_what_it_found(tmp_path):
    folder = full_index(tmp_path / "i", graph=False)
    plans = [
        SearchPlan(Scoring(model), diversify=diversify)
        for model, diversify in (
            ("touche", None),
            ("hybrid", None),
            ("dense", None),
            ("bm25", "mmr"),
        )
    ]

    def found(index):
        searchers = [Searcher(index, plan, embedder=Fake()) for plan in plans]
        return [next(iter(s.search([QUESTION], 10))).hits for s in searchers]

    expected = found(Index.open(folder))
    held = Index.open(folder)  # nothing of it is read before all of it is replaced
    add_to_index([Document("late", "word3 often")], folder)
    embed_documents(folder, Fake())
    cluster_documents(folder, Fake(), k=3, space="text")
    build_index([Document("other", "tea")], folder, replace=True)
    assert found(held) == expected
    assert (len(clusters_of(held)), len(document_vectors(held).rows)) == (5, len(held))
