"""The numpy and the compiled kernel: equal bit for bit, on anything."""

import json
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pnyx.core import native
from pnyx.core.errors import MissingExtra
from pnyx.search import lexical
from pnyx.search.lexical import compiled_kernel as compiled
from pnyx.search.lexical import index, kernels
from pnyx.search.lexical import term_numbers as term_numbering
from pnyx.search.lexical.index import WordIndex
from pnyx.search.lexical.kernels import Boosts, Kernel, SegmentPart, TermPart, best
from pnyx.search.lexical.postings import PostingsBuilder, join, split
from tries import tries

LENGTHS = np.linspace(0.5, 0.01, 256)


def make_part(rng, documents, terms):
    """Return a segment of random postings, some of them exceptions, for the given term sizes."""
    postings, parts, first = [], [], 0
    for size in terms:
        numbers = np.sort(rng.choice(documents, size=min(size, documents), replace=False))
        frequencies = rng.integers(1, 16, len(numbers)) * (rng.random(len(numbers)) > 0.05)
        postings.append((numbers << 4 | frequencies).astype(np.uint32))
        exceptions = numbers[frequencies == 0]
        parts.append(
            TermPart(
                first=first,
                stop=first + len(numbers),
                weight=float(rng.integers(1, 4)) * rng.random() + 0.1,
                values=rng.normal(0.1, 0.5, 16),
                exception_documents=exceptions.astype(np.int64),
                exception_values=rng.normal(0.1, 0.5, len(exceptions)),
            )
        )
        first += len(numbers)
    every = np.concatenate(postings) if postings else np.zeros(0, np.uint32)
    lengths = rng.integers(0, 256, documents).astype(np.uint8)
    lows, highs = split(every)
    for array in (lows, highs, lengths):
        array.flags.writeable = False  # as a memory map is
    return SegmentPart(lengths, lows, highs, parts)


@pytest.mark.all
@settings(max_examples=tries(60), deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    documents=st.lists(st.integers(1, 40_000), min_size=1, max_size=3),
    terms=st.lists(st.integers(0, 20_000), max_size=5),
    combine=st.sampled_from(["add", "saturate"]),
    k=st.integers(1, 2000),
)
def test_kernels_agree_bit_for_bit(seed, documents, terms, combine, k):
    rng = np.random.default_rng(seed)
    parts = [make_part(rng, count, terms) for count in documents]
    slow, fast = Kernel("numpy"), Kernel("numba")
    scores = slow.scores(parts, LENGTHS, combine)
    assert fast.scores(parts, LENGTHS, combine).tobytes() == scores.tobytes()
    numbers, values = slow.top(parts, LENGTHS, combine, k)
    numbers_fast, values_fast = fast.top(parts, LENGTHS, combine, k)
    assert numbers_fast.tolist() == numbers.tolist() == best(scores, k).tolist()
    assert values_fast.tobytes() == values.tobytes() == scores[numbers].tobytes()


def levels_part(shape, documents, rng):
    """Return a segment of two terms, and values by length, whose scores have a given shape."""
    by_length = {
        "rising": np.linspace(1.0, 1e6, 256),  # each block beats all before it
        "falling": np.linspace(1e6, 1.0, 256),
        "tied": np.ones(256),
        "narrow": 1.0 + np.arange(256) * 2.0**-50,
        "wide": 2.0 ** np.linspace(-300, 300, 256),
        "clipped": np.where(np.arange(256) < 200, -1.0, 1.0),
    }[shape]
    lengths = rng.integers(0, 256, documents).astype(np.uint8)
    if shape in ("rising", "falling"):
        lengths.sort()
    parts, postings, first = [], [], 0
    for share in (1.0, 0.3):
        numbers = np.flatnonzero(rng.random(documents) < share)
        postings.append((numbers << 4 | 1).astype(np.uint32))
        stop = first + len(numbers)
        parts.append(TermPart(first, stop, 1.0, np.zeros(16), np.zeros(0, np.int64), np.zeros(0)))
        first = stop
    return SegmentPart(lengths, *split(np.concatenate(postings)), parts), by_length


def some_boosts(rng, documents):
    factors = 1.0 + 5.0 * rng.random(7)
    steps, quality = rng.integers(0, 4, documents), rng.random(documents).astype(np.float32)
    steps = np.maximum(steps, np.ceil(quality * 3)).astype(np.uint16)
    codes = (rng.integers(0, 7, documents) << 2).astype(np.uint16) + steps
    bounds = np.multiply.outer(factors, 1.0 + 2.0 * np.arange(4) / 3).reshape(-1)
    return Boosts(codes, 2, (bounds * 1.001).astype(np.float32), factors, quality, 2.0)


@pytest.mark.all
@pytest.mark.parametrize("shape", ["rising", "falling", "tied", "narrow", "wide", "clipped"])
@pytest.mark.parametrize("boosted", [False, True])
def test_the_best_are_found_whatever_the_scores_look_like(shape, boosted):
    rng = np.random.default_rng(len(shape))
    made = [levels_part(shape, documents, rng) for documents in (30_000, 11_000)]
    parts, values_by_length = [part for part, _ in made], made[0][1]
    boosts = some_boosts(rng, 41_000) if boosted else None
    for k in (1, 3, 100, 2500, 50_000):
        numbers, values = Kernel("numpy").top(parts, values_by_length, "add", k, boosts)
        numbers_fast, values_fast = Kernel("numba").top(parts, values_by_length, "add", k, boosts)
        assert numbers_fast.tolist() == numbers.tolist()
        assert values_fast.tobytes() == values.tobytes()


# A posting is document << 4 | frequency, 0 for exceptions; 100,000 is above the 16 low bits.
@pytest.mark.parametrize(
    ("postings", "documents", "expected"),
    [
        ([], 0, 0),
        ([0 << 4 | 1], 1, 0),
        ([0 << 4 | 1], 0, -1),  # beyond the last document
        ([3 << 4 | 15, 100_000 << 4 | 0], 100_001, 1),
        ([3 << 4 | 15, 100_000 << 4 | 0], 100_000, -1),
        ([0 << 4 | 0, 1 << 4 | 0, 2 << 4 | 1], 3, 2),
        ([2 << 4 | 1, 2 << 4 | 1], 3, -1),  # repeated
        ([70_000 << 4 | 1, 69_999 << 4 | 1, 70_001 << 4 | 1], 80_000, -1),  # falling
    ],
)
def test_the_exceptions_of_a_term_are_counted_if_its_documents_fit(postings, documents, expected):
    lows, highs = split(np.array(postings, dtype=np.uint32))
    assert kernels.count_exceptions(lows, highs, documents) == expected
    assert compiled.count_exceptions(lows, highs, documents) == expected


@pytest.mark.all
def test_a_process_moves_to_compiled_code_once_it_pays(monkeypatch):
    monkeypatch.setattr(kernels, "_SWITCH_AFTER", 25)
    kernel = Kernel()
    part = make_part(np.random.default_rng(1), 100, [10])
    for expected in (None, None, compiled):
        kernel.top([part], LENGTHS, "add", 3)
        assert kernel._compiled is expected


@pytest.mark.all
def test_postings_out_of_order_cannot_write_outside_of_the_scores():
    # Nothing but a forged index can hold such postings: its checksums are right, its order is not.
    wild = np.array([5 << 4 | 1, 2 << 4 | 1, 0xFFFFF << 4 | 1], dtype=np.uint32)
    term = TermPart(0, 3, 1.0, np.ones(16), np.array([2**40]), np.ones(1))
    lengths = np.zeros(10, dtype=np.uint8)
    lengths.flags.writeable = False
    part = SegmentPart(lengths, *split(wild), [term])
    scores = Kernel("numba").scores([part], LENGTHS, "add")
    assert len(scores) == 10
    assert np.isfinite(scores).all()


@given(st.lists(st.sampled_from([-0.0, 0.0, 0.5, 1.0, 7.25]), max_size=60), st.integers(1, 70))
def test_best_is_a_stable_sort_of_the_matched(values, k):
    scores = np.array(values)
    matched = [i for i, v in enumerate(values) if not np.signbit(v)]
    assert best(scores, k).tolist() == sorted(matched, key=lambda i: -values[i])[:k]


@settings(deadline=None)
@given(
    documents=st.lists(st.lists(st.integers(-1, 6), max_size=30), min_size=1, max_size=12),
    loud=st.lists(st.tuples(st.integers(0, 11), st.integers(1, 700)), max_size=3),
    chunk=st.integers(1, 12),
)
def test_postings_equal_counting_by_hand(documents, loud, chunk):
    for place, times in loud:
        documents[place % len(documents)].extend([6] * times)
    builder = PostingsBuilder()
    for first in range(0, len(documents), chunk):
        part = documents[first : first + chunk]
        flat = np.array([t for d in part for t in d], dtype=np.int32)
        builder.add(flat, np.array([len(d) for d in part], dtype=np.int64), 7)
    got = builder.finish()
    exceptions = dict(zip(got.exception_positions.tolist(), got.exception_frequencies, strict=True))
    assert got.lengths.tolist() == [sum(t >= 0 for t in d) for d in documents]
    for term in range(len(got.offsets) - 1):
        expected = [(i, d.count(term)) for i, d in enumerate(documents) if term in d]
        found = []
        for at in range(got.offsets[term], got.offsets[term + 1]):
            posting = int(got.postings[at])
            found.append((posting >> 4, int(exceptions.get(at, posting & 15))))
        assert found == expected
        assert got.collection_frequencies[term] == sum(tf for _, tf in expected)
    assert all(tf > 15 for tf in exceptions.values())


@given(st.lists(st.tuples(st.integers(0, 2**20 - 1), st.integers(0, 15)), max_size=50))
def test_postings_are_split_and_joined_without_loss(pairs):
    postings = np.array([document << 4 | frequency for document, frequency in pairs], np.uint32)
    documents, frequencies = join(*split(postings))
    assert list(zip(documents.tolist(), frequencies.tolist(), strict=True)) == pairs


@pytest.mark.all
@pytest.mark.parametrize("k", [1, 2**40])
def test_any_depth_is_accepted(k):
    part = make_part(np.random.default_rng(1), 100, [10])
    for name in ("numpy", "numba"):
        assert len(Kernel(name).top([part], LENGTHS, "add", k)[0]) == min(k, 10)


def index_words(call, out):
    status, _, told = call("index", "docs.jsonl", "--out", out, "--words-only")
    assert status == 0, told
    return told


@pytest.fixture
def documents(monkeypatch, tmp_path):
    """Thirty documents in docs.jsonl; as few are worth compiling."""
    monkeypatch.chdir(tmp_path)
    rows = [{"id": f"d{n}", "text": f"voting is word{n % 7} number{n}"} for n in range(30)]
    Path("docs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    monkeypatch.setattr(native, "WORTH_COMPILING", 30)
    monkeypatch.setattr(index, "WORTH_COMPILING", 30)
    monkeypatch.setattr(kernels, "_SWITCH_AFTER", 0)
    monkeypatch.setattr(term_numbering, "_COMPILE_AFTER", 0)


@pytest.mark.all
def test_without_numba_all_is_the_same_and_how_it_is_faster_is_said(documents, monkeypatch, call):
    ask = ("search", "core.index", "word3 voting", "--model", "dirichlet", "--json")
    assert "pnyx[fast]" not in index_words(call, "fast.index")
    index_words(call, "core.index")
    expected = call(*ask)
    monkeypatch.setitem(sys.modules, "numba", None)
    find = native.find_spec
    monkeypatch.setattr(native, "find_spec", lambda name: None if name == "numba" else find(name))
    for name in ("compiled_kernel", "wordscan"):
        monkeypatch.delitem(sys.modules, f"pnyx.search.lexical.{name}", raising=False)
        monkeypatch.delattr(lexical, name, raising=False)
    shutil.rmtree("core.index")
    told = index_words(call, "core.index")
    assert "Index and search 30 documents faster: pip install 'pnyx[fast]'" in told
    segments = [Path(folder, "segment-000001.data") for folder in ("core.index", "fast.index")]
    assert segments[0].read_bytes() == segments[1].read_bytes()
    assert call(*ask) == expected
    WordIndex.open("core.index").compile()  # does without
    with pytest.raises(MissingExtra, match=r"pnyx\[fast\]"):
        WordIndex.open("core.index", kernel="numba").search("word3", "dirichlet", 3)


@pytest.mark.all
def test_only_a_large_index_is_compiled_before_it_is_asked(documents, monkeypatch, call):
    index_words(call, "my.index")
    opened = WordIndex.open("my.index")
    monkeypatch.setattr(index, "WORTH_COMPILING", 31)
    opened.compile()
    assert opened._kernel._compiled is None
    monkeypatch.setattr(index, "WORTH_COMPILING", 30)
    opened.compile()
    assert opened._kernel._compiled is compiled
