from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pnyx.core.errors import IndexFolderError, InputError
from pnyx.core.records import Document
from pnyx.search.build import add_to_index, build_index
from pnyx.search.features.access import put_feature, read_feature
from pnyx.search.index import Index
from pnyx.search.lexical.manifest import read_manifest
from pnyx.search.open_engine import verify_index
from pnyx.search.pipeline import Searcher
from pnyx.search.plan import FEATURES
from tries import tries


@pytest.fixture
def folder(tmp_path):
    build_index([Document(str(n), f"tea number {n}") for n in range(5)], tmp_path / "i")
    return tmp_path / "i"


def put(folder, values, **fields):
    put_feature(folder, "quality", {"values": values}, documents=5, meta={"model": "m@1"}, **fields)


@pytest.mark.parametrize("dtype", ["u1", "i1", "<u4", "<u8", "<f2", "<f4"])
def test_a_feature_comes_back_as_it_was(folder, dtype):
    values = np.arange(15).reshape(5, 3).astype(dtype)
    put(folder, values)
    manifest = read_manifest(folder)
    feature = Index.open(folder).feature("quality", "run it")
    assert list(manifest["features"]) == ["quality"]
    assert feature.meta == {"model": "m@1"}
    assert feature.array("values").dtype == np.dtype(dtype)
    np.testing.assert_array_equal(feature.array("values"), values)
    with pytest.raises(IndexFolderError, match="no section other"):
        feature.array("other")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=tries(20))
@given(st.lists(st.floats(width=32, allow_nan=False), min_size=5, max_size=5))
def test_a_newer_feature_takes_the_place_of_the_older(folder, values):
    put(folder, np.array(values, dtype=np.float32))
    feature = Index.open(folder).feature("quality", "run it")
    np.testing.assert_array_equal(feature.array("values"), np.array(values, dtype=np.float32))
    assert len(list(folder.glob("feature-*"))) == 1
    assert len(Index.open(folder).search("tea")) == 5
    verify_index(folder)


def test_what_is_not_there_or_not_for_all_is_one_line(folder):
    assert read_feature(folder, read_manifest(folder), "quality") is None
    with pytest.raises(InputError, match="has no quality: run it"):
        Index.open(folder).feature("quality", "run it")
    put(folder, np.zeros(5, dtype=np.float32))
    add_to_index([Document("new", "more tea")], folder)
    with pytest.raises(InputError, match="quality of 5 of its 6 documents: run it"):
        Index.open(folder).feature("quality", "run it")
    with pytest.raises(InputError, match="has 6 documents, expected 5"):
        put(folder, np.zeros(5, dtype=np.float32))


def test_damage_is_found(folder):
    put(folder, np.ones(5, dtype=np.float32))
    (file,) = folder.glob("feature-*")
    content = bytearray(file.read_bytes())
    content[2] ^= 1
    file.write_bytes(content)
    feature = read_feature(folder, read_manifest(folder), "quality")
    with pytest.raises(IndexFolderError, match="checksum"):
        feature.array("values")
    file.unlink()
    with pytest.raises(IndexFolderError, match="cannot be read"):
        read_feature(folder, read_manifest(folder), "quality")


def test_an_index_is_built_with_what_the_default_search_needs(tmp_path):
    tea = [Document(str(n), f"tea number {n}") for n in range(3)]
    index = build_index(tea, tmp_path / "i", features=FEATURES)
    assert Searcher(index).plan.scoring.model == "hybrid"
    index = add_to_index([Document("new", "more tea")], tmp_path / "i")
    assert Searcher(index).plan.scoring.model == "dirichlet"
    index = add_to_index([Document("newer", "and more tea")], tmp_path / "i", features=FEATURES)
    assert {name: one["documents"] for name, one in index.manifest["features"].items()} == {
        "quality": 5,
        "vectors": 5,
    }
    assert (index.statistics.documents, index.statistics.added) == (5, 1)
    with pytest.raises(InputError, match="unknown feature 'topics', expected: quality, vectors"):
        build_index(tea, tmp_path / "j", features=["topics"])
    assert not (tmp_path / "j").exists()
