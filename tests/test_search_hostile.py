"""Index folders by a malicious hand, whose checksums are right: one line, never a wrong access."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import hostile_index
from hostile_index import QUESTION, change
from index_fixture import Fake, full_index, needs_graphs
from pnyx.cli import main
from pnyx.core.errors import IndexFolderError
from pnyx.search.features.clusters import clusters_of
from pnyx.search.index import Index
from pnyx.search.open_engine import verify_index
from pnyx.search.ranking.dense import dense_rank
from pnyx.search.ranking.scores import touche_rank

HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def pristine(tmp_path_factory):
    return full_index(tmp_path_factory.mktemp("hostile") / "pristine")


@pytest.fixture
def folder(pristine, tmp_path):
    return Path(shutil.copytree(pristine, tmp_path / "i"))


def put(at, value):
    def edit(values):
        values[at] = value

    return edit


def swap(before, after):
    def edit(values):
        raw = values.tobytes()
        assert before in raw
        values[:] = np.frombuffer(raw.replace(before, after.ljust(len(before))), dtype=np.uint8)

    return edit


def fetch(index):
    return list(index.documents())


def ask(index):
    return index.search(QUESTION, "bm25", 20), index.search(QUESTION, k=20)


def ask_ids(index):
    return index.doc_ids(np.arange(len(index)))


def by_vectors(index):
    return dense_rank(index, Fake().encode(["x"])[0], 10, ann=False)


def by_topic(index):
    return touche_rank(index, QUESTION, Fake(), 10)


@pytest.mark.parametrize("kernel", ["numpy", pytest.param("numba", marks=pytest.mark.all)])
@pytest.mark.parametrize(
    ("section", "edit", "use"),
    [
        ("postings.highs", put(slice(None), 0xF1), ask),  # documents that are not there
        ("postings.lows", put(slice(None), 7), ask),  # one document many times
        ("postings.highs", put(slice(None), 0x00), ask),  # exceptions that are none
        ("postings.highs", lambda highs: np.maximum(highs, 1, out=highs), ask),  # listed only
        ("postings.offsets", put(slice(3, None), 2**63), ask),
        ("postings.offsets", put(slice(None, None, 2), 0), ask),  # not ascending
        ("terms.numbers", put(slice(None), 2**32 - 1), ask),
        ("terms.frequencies", put(slice(None), 0), ask),
        ("terms.frequencies", put(slice(None), 2**64 - 1), ask),
        ("exceptions.positions", put(slice(None), 2**64 - 1), ask),
        ("exceptions.positions", put(slice(None), 10**6), ask),
        ("exceptions.frequencies", put(slice(None), 0), ask),
        ("ids.bytes", put(slice(None), 0xFF), ask_ids),
        ("ids.offsets", put(5, 2**63), ask_ids),
        ("documents.offsets", put(slice(1, None), 2**64 - 1), fetch),
        ("documents.bytes", swap(b'"id": "doc1"', b'"id": 12345'), fetch),
        ("documents.bytes", swap(b'"kind": "document"', b'"kind": "d","x": 1'), fetch),
        ("documents.bytes", swap(b'"text": "word3 ', b'"text": 1e999,"'), fetch),
        ("documents.bytes", swap(b'"premises": [{', b'"premises": [['), fetch),
        ("documents.bytes", put(slice(0, 400), ord("[")), fetch),
        ("cluster", put(0, 5), by_topic),
        ("centroids", put(0, np.nan), by_topic),
        ("centroids", put(0, 3e38), by_topic),
        ("labels", put(slice(None), ord("[")), by_topic),
        ("labels", swap(b'"label": "word', b'"label": "\\ud8'), by_topic),
        ("values", put(0, 2.0), by_topic),
        ("vectors", put((0,), np.nan), by_vectors),
        ("vectors", put((0,), np.inf), by_vectors),
    ],
)
def test_what_does_not_fit_is_refused_where_it_is_touched(folder, section, edit, use, kernel):
    change(folder, section, edit)
    with pytest.raises(IndexFolderError, match=r"the index is damaged, index the corpus again$"):
        use(Index.open(folder, kernel=kernel))


def graph_of(folder):
    """Where the parts of the graph begin: head, numbers, levels, nodes."""
    index = Index.open(folder)
    count, width = len(index), 2 * Fake.dimensions
    head = 8 + count * width
    return head, head + 64, head + 104, head + 104 + 2 * count


@needs_graphs
@pytest.mark.parametrize(
    ("part", "offset", "value"),
    [
        (0, 0, 255),  # magic
        (0, 7, 3),  # major version
        (0, 13, 99),  # metric
        (0, 17, 1),  # number of vectors
        (0, 33, 255),  # dimensions
        (1, 0, 255),  # number of nodes
        (1, 8, 255),  # connectivity
        (1, 24, 9),  # top level
        (1, 32, 255),  # entry
        (2, 3, 1),  # a level
        (2, 3, 128),  # a negative level
        (3, 0, 255),  # a key
        (3, 8, 9),  # a node's own level
        (3, 11, 255),  # how many neighbours
        (3, 17, 255),  # a neighbour
    ],
)
def test_a_graph_is_checked_before_it_is_searched(folder, part, offset, value):
    at = graph_of(folder)[part] + offset

    def edit(values):
        assert values[at] != value
        values[at] = value

    change(folder, "graph", edit)
    with pytest.raises(IndexFolderError, match="vectors_ann cannot be read"):
        dense_rank(Index.open(folder), Fake().encode(["x"])[0], 10, ann=True)


@needs_graphs
def test_upper_levels_of_a_graph_are_checked(folder):
    levels, nodes = graph_of(folder)[2:]

    def edit(values):
        found = values[levels:nodes].view("<i2").astype(int)
        above = int(np.flatnonzero(found)[0])
        node = nodes + int((270 + found[:above] * 132).sum())
        assert values[node + 8] == found[above]
        list_ = node + 270
        values[list_] = max(1, values[list_])
        below = int(np.flatnonzero(found == 0)[0])
        values[list_ + 4 : list_ + 8] = np.frombuffer(np.uint32(below).tobytes(), np.uint8)

    change(folder, "graph", edit)
    with pytest.raises(IndexFolderError, match="a neighbour does not exist"):
        dense_rank(Index.open(folder), Fake().encode(["x"])[0], 10, ann=True)


def test_verifying_finds_what_a_search_would_refuse(folder):
    change(folder, "postings.highs", put(slice(None), 0xF1))
    with pytest.raises(IndexFolderError, match="damaged"):
        verify_index(folder)


def test_the_command_line_says_it_in_one_line(folder, capsys):
    change(folder, "ids.bytes", put(slice(None), 0xFF))
    with pytest.raises(SystemExit) as stopped:
        main(["search", str(folder), QUESTION, "--model", "dirichlet"])
    captured = capsys.readouterr()
    assert (stopped.value.code, captured.out, captured.err.count("\n")) == (2, "", 1)
    assert "one of its ids is not text: the index is damaged" in captured.err


@pytest.mark.all
def test_nothing_crashes_whatever_is_changed(pristine, tmp_path):
    script = [sys.executable, HERE / "hostile_index.py", pristine, tmp_path / "i", "0", "10"]
    env = {**os.environ, "PYTHONPATH": str(HERE)}
    done = subprocess.run(script, capture_output=True, text=True, timeout=300, env=env)
    assert done.returncode == 0, done.stdout[-20:] + done.stderr
    counts = done.stdout.splitlines()[-1].split()
    assert counts[0] == "10"
    assert int(counts[2]) > 5


@pytest.mark.all
def test_what_is_not_changed_is_used_without_an_error(folder):
    assert hostile_index.refused(folder) == 0
    assert len(clusters_of(Index.open(folder))) == 5
