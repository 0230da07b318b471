"""The numpy and the compiled kernel: equal bit for bit, on anything."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pnyx.search import compiled, kernels
from pnyx.search.kernels import Boosts, Kernel, SegmentPart, TermPart, best
from pnyx.search.postings import PostingsBuilder

LENGTHS = np.linspace(0.5, 0.01, 256)


def make_part(rng, documents, terms):
    """Return a segment of random postings, some of them exceptions, for the given term sizes."""
    postings, parts, first = [], [], 0
    for size in terms:
        numbers = np.sort(rng.choice(documents, size=min(size, documents), replace=False))
        frequencies = rng.integers(1, 256, len(numbers)) * (rng.random(len(numbers)) > 0.05)
        postings.append((numbers << 8 | frequencies).astype(np.uint32))
        exceptions = numbers[frequencies == 0]
        parts.append(
            TermPart(
                first=first,
                stop=first + len(numbers),
                weight=float(rng.integers(1, 4)) * rng.random() + 0.1,
                values=rng.normal(0.1, 0.5, 256),
                exception_documents=exceptions.astype(np.int64),
                exception_values=rng.normal(0.1, 0.5, len(exceptions)),
            )
        )
        first += len(numbers)
    every = np.concatenate(postings) if postings else np.zeros(0, np.uint32)
    lengths = rng.integers(0, 256, documents).astype(np.uint8)
    for array in (every, lengths):
        array.flags.writeable = False  # as a memory map is
    return SegmentPart(lengths, every, parts)


@settings(max_examples=60, deadline=None)
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
    """Return a segment of two terms whose scores have a given shape, by the frequency's value."""
    levels = {
        "rising": np.linspace(1.0, 1e6, 256),  # each block beats all before it
        "falling": np.linspace(1e6, 1.0, 256),
        "tied": np.ones(256),
        "narrow": 1.0 + np.arange(256) * 2.0**-50,
        "wide": 2.0 ** np.linspace(-300, 300, 256),
        "clipped": np.where(np.arange(256) < 200, -1.0, 1.0),
    }[shape]
    ordered = shape in ("rising", "falling")
    parts, postings, first = [], [], 0
    for share in (1.0, 0.3):
        numbers = np.flatnonzero(rng.random(documents) < share)
        frequencies = rng.integers(1, 256, len(numbers))
        frequencies = np.sort(frequencies) if ordered else frequencies
        postings.append((numbers << 8 | frequencies).astype(np.uint32))
        stop = first + len(numbers)
        parts.append(TermPart(first, stop, 1.0, levels, np.zeros(0, np.int64), np.zeros(0)))
        first = stop
    return SegmentPart(np.zeros(documents, np.uint8), np.concatenate(postings), parts)


def some_boosts(rng, documents):
    factors = 1.0 + 5.0 * rng.random(7)
    steps, quality = rng.integers(0, 4, documents), rng.random(documents).astype(np.float32)
    steps = np.maximum(steps, np.ceil(quality * 3)).astype(np.uint16)
    codes = (rng.integers(0, 7, documents) << 2).astype(np.uint16) + steps
    bounds = np.multiply.outer(factors, 1.0 + 2.0 * np.arange(4) / 3).reshape(-1)
    return Boosts(codes, 2, (bounds * 1.001).astype(np.float32), factors, quality, 2.0)


@pytest.mark.parametrize("shape", ["rising", "falling", "tied", "narrow", "wide", "clipped"])
@pytest.mark.parametrize("boosted", [False, True])
def test_the_best_are_found_whatever_the_scores_look_like(shape, boosted):
    rng = np.random.default_rng(len(shape))
    parts = [levels_part(shape, documents, rng) for documents in (30_000, 11_000)]
    boosts = some_boosts(rng, 41_000) if boosted else None
    for k in (1, 3, 100, 2500, 50_000):
        numbers, values = Kernel("numpy").top(parts, np.zeros(256), "add", k, boosts)
        numbers_fast, values_fast = Kernel("numba").top(parts, np.zeros(256), "add", k, boosts)
        assert numbers_fast.tolist() == numbers.tolist()
        assert values_fast.tobytes() == values.tobytes()


def test_a_process_moves_to_compiled_code_once_it_pays(monkeypatch):
    monkeypatch.setattr(kernels, "_SWITCH_AFTER", 25)
    kernel = Kernel()
    part = make_part(np.random.default_rng(1), 100, [10])
    for expected in (None, None, compiled):
        kernel.top([part], LENGTHS, "add", 3)
        assert kernel._compiled is expected


def test_postings_out_of_order_cannot_write_outside_of_the_scores():
    # Nothing but a forged index can hold such postings: its checksums are right, its order is not.
    wild = np.array([5 << 8 | 1, 2 << 8 | 1, 0xFFFFFF << 8 | 1], dtype=np.uint32)
    term = TermPart(0, 3, 1.0, np.ones(256), np.array([2**40]), np.ones(1))
    lengths = np.zeros(10, dtype=np.uint8)
    wild.flags.writeable = lengths.flags.writeable = False
    part = SegmentPart(lengths, wild, [term])
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
    loud=st.lists(st.tuples(st.integers(0, 11), st.integers(200, 700)), max_size=3),
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
            found.append((posting >> 8, int(exceptions.get(at, posting & 255))))
        assert found == expected
        assert got.collection_frequencies[term] == sum(tf for _, tf in expected)
    assert all(tf > 255 for tf in exceptions.values())


@pytest.mark.parametrize("k", [1, 2**40])
def test_any_depth_is_accepted(k):
    part = make_part(np.random.default_rng(1), 100, [10])
    for name in ("numpy", "numba"):
        assert len(Kernel(name).top([part], LENGTHS, "add", k)[0]) == min(k, 10)
