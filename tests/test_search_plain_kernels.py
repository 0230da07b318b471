"""The code that numba compiles, run as it is written: each line against the other way."""

from __future__ import annotations

import importlib.util
import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

from pnyx.core import native
from pnyx.formats.text.tokens import Tokenizer
from pnyx.search import lexical
from pnyx.search.lexical.kernels import Boosts, Kernel, SegmentPart, TermPart
from pnyx.search.lexical.postings import split
from pnyx.search.lexical.term_numbers import WordNumbers, _Table

LENGTHS = np.linspace(0.5, 0.01, 256)


def load(name: str) -> ModuleType:
    """Return a copy of a module."""
    path = f"{lexical.__path__[0]}/{name}.py"
    spec = importlib.util.spec_from_file_location(f"plain_{name}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def plain(monkeypatch):
    """The module `compiled_kernel` without a compiler, which also lets integers wrap around."""
    numba = SimpleNamespace(njit=lambda **_: lambda function: function)
    monkeypatch.setattr(native, "load_numba", lambda: numba)
    with np.errstate(over="ignore"):
        yield load("compiled_kernel")


def part_of(rng: np.random.Generator, documents: int, sizes: tuple[int, ...]) -> SegmentPart:
    """Return a segment in which terms have so many postings; some have their own frequencies."""
    terms, postings, first = [], [], 0
    for size in sizes:
        numbers = np.sort(rng.choice(documents, size=size, replace=False))
        frequencies = rng.integers(1, 16, size) * (rng.random(size) > 0.2)
        postings.append((numbers << 4 | frequencies).astype(np.uint32))
        exceptions = numbers[frequencies == 0].astype(np.int64)
        values, exception_values = rng.normal(0.1, 0.5, 16), rng.normal(0.1, 0.5, len(exceptions))
        weight = 0.1 + rng.random()
        terms.append(TermPart(first, first + size, weight, values, exceptions, exception_values))
        first += size
    lengths = rng.integers(0, 256, documents).astype(np.uint8)
    return SegmentPart(lengths, *split(np.concatenate(postings)), terms)


def boosts_of(rng: np.random.Generator, documents: int) -> Boosts:
    factors = 1.0 + 5.0 * rng.random(3)
    quality = rng.random(documents).astype(np.float32)
    steps = np.ceil(quality * 3).astype(np.uint16)
    codes = (rng.integers(0, 3, documents) << 2).astype(np.uint16) + steps
    bounds = 1.001 * np.multiply.outer(factors, 1.0 + 2.0 * np.arange(4) / 3).reshape(-1)
    return Boosts(codes, 2, bounds.astype(np.float32), factors, quality, 2.0)


def check_equal(
    plain: ModuleType, parts: list[SegmentPart], lengths: Any, combine: Any, k: int, boosts: Any
) -> None:
    numpy, other = Kernel("numpy"), Kernel("numba")
    other._compiled = plain
    if boosts is None:
        scores = numpy.scores(parts, lengths, combine)
        assert other.scores(parts, lengths, combine).tobytes() == scores.tobytes()
    numbers, values = numpy.top(parts, lengths, combine, k, boosts)
    numbers_other, values_other = other.top(parts, lengths, combine, k, boosts)
    assert numbers_other.tolist() == numbers.tolist()
    assert values_other.tobytes() == values.tobytes()


@pytest.mark.parametrize("combine", ["add", "saturate"])
@pytest.mark.parametrize("boosted", [False, True])
@pytest.mark.parametrize("k", [1, 4, 30, 400])
def test_the_best_of_two_segments_are_those_of_numpy(plain, monkeypatch, combine, boosted, k):
    monkeypatch.setattr(plain, "BLOCK", 32)
    rng = np.random.default_rng(k)
    parts = [part_of(rng, 300, (150, 60)), part_of(rng, 130, (90, 40))]
    check_equal(plain, parts, LENGTHS, combine, k, boosts_of(rng, 430) if boosted else None)


SHAPES = {
    "rising": np.linspace(1.0, 1e6, 256),
    "falling": np.linspace(1e6, 1.0, 256),
    "tied": np.ones(256),
    "narrow": 1.0 + np.arange(256) * 2.0**-50,
    "wide": 2.0 ** np.linspace(-300, 300, 256),
    "clipped": np.where(np.arange(256) < 200, -1.0, 1.0),
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("k", [1, 3, 25])
def test_the_best_are_those_of_numpy_whatever_the_scores_look_like(plain, monkeypatch, shape, k):
    monkeypatch.setattr(plain, "BLOCK", 32)
    rng = np.random.default_rng(len(shape))
    numbers = np.arange(500)
    lengths = rng.integers(0, 256, 500).astype(np.uint8)
    if shape in ("rising", "falling"):
        lengths.sort()
    term = TermPart(0, 500, 1.0, np.zeros(16), np.zeros(0, np.int64), np.zeros(0))
    part = SegmentPart(lengths, *split((numbers << 4 | 1).astype(np.uint32)), [term])
    check_equal(plain, [part], SHAPES[shape], "add", k, None)


def test_a_posting_outside_of_its_block_stops_its_term(plain):
    postings = np.array([5 << 4 | 1, 2 << 4 | 1, 0xFFFFF << 4 | 1], dtype=np.uint32)
    term = TermPart(0, 3, 1.0, np.ones(16), np.array([2**40]), np.ones(1))
    part = SegmentPart(np.zeros(10, dtype=np.uint8), *split(postings), [term])
    kernel = Kernel("numba")
    kernel._compiled = plain
    scores = kernel.scores([part], LENGTHS, "add")
    # 2 comes after 5, but in the same block; the third posting is far beyond it.
    assert np.flatnonzero(~np.signbit(scores)).tolist() == [2, 5]
    assert scores[[2, 5]].tolist() == [1.5, 1.5]


@pytest.mark.parametrize(("count", "settled"), [(17, True), (18, False)])
def test_too_many_near_ties_are_left_to_numpy(plain, count, settled):
    """In the opposite order, 17 documents take 136 moves of at most 8 x 17; 18 take 153 of 144."""
    scores, numbers = np.linspace(1.0, 2.0, count), np.arange(count)
    ranked, ordered, in_order = plain.settle(np.arange(count), 6, scores, numbers)
    assert in_order is settled
    if settled:
        assert ordered.tolist() == numbers[::-1].tolist()
        assert ranked.tolist() == scores[::-1].tolist()


def test_ties_are_in_the_order_of_the_documents(plain):
    numbers = np.array([7, 3, 5])
    _, ordered, in_order = plain.settle(np.arange(3), 6, np.ones(3), numbers)
    assert (ordered.tolist(), in_order) == ([3, 5, 7], True)


# Words --------------------------------------------------------------------------------------------


@pytest.fixture
def scan(plain, monkeypatch):
    """The module `wordscan` without a compiler, used by every table of words."""
    monkeypatch.setitem(sys.modules, "pnyx.search.lexical.compiled_kernel", plain)
    module = load("wordscan")
    monkeypatch.setattr(lexical, "wordscan", module, raising=False)
    monkeypatch.setitem(sys.modules, "pnyx.search.lexical.wordscan", module)
    return module


def numbered(
    batches: list[list[str]],
    *,
    compiled: bool,
    language: str,
    sizes: tuple[int, int, int] | None = None,
) -> Any:
    """Number the words of texts; `sizes` are those of a small table: slots, letters, words."""
    owner = WordNumbers(Tokenizer(language), compiled=compiled)
    if sizes is not None:
        slots, letters, words = sizes
        table = owner._table = _Table(Tokenizer(language))
        table._hashes, table._slots = np.zeros(slots, np.uint64), np.full(slots, -1, np.int32)
        table._letters, table._ends = np.zeros(letters, np.uint8), np.zeros(words, np.int64)
    out = [owner.number(batch) for batch in batches]
    return [(tokens.tolist(), counts.tolist()) for tokens, counts in out], list(owner.terms)


SIZES = [None, (4, 1000, 1000), (1024, 8, 1000), (1024, 1000, 2)]
TEXTS = [
    ["Zoos don't keep zoos' bears.", "", "The O'Neill's 3 bears, the BEARS"],
    ["naïve café Ünïcödé Σίσυφος", "日本語 กขค ©", "a_b \u200d x\ufe0fy \U00010428\U0001f600 end"],
    ["\ud800 lone \udfff", "'quoted' it's -- ''", "\x00\x7f\x80ÿ tab\tnew\nline", "a" * 300 + " b"],
    ["é" * 260 + "x", "'b" * 3, "漢" * 5, "x" * 255 + "'s", "\U0001f1e6\u0301 \U00010428" * 3],
]


@pytest.mark.parametrize("language", ["english", "none"])
@pytest.mark.parametrize("sizes", SIZES)
def test_words_are_numbered_as_by_a_dictionary(scan, language, sizes):
    assert numbered(TEXTS, compiled=True, language=language, sizes=sizes) == numbered(
        TEXTS, compiled=False, language=language
    )


@pytest.mark.parametrize("sizes", SIZES)
def test_many_words_fill_and_grow_the_table(scan, sizes):
    batches = [[" ".join(f"w{n % 40}" for n in range(start, start + 30))] for start in (0, 25, 60)]
    assert numbered(batches, compiled=True, language="none", sizes=sizes) == numbered(
        batches, compiled=False, language="none"
    )


@pytest.mark.parametrize(
    "text", ["\U00010428" * 200, "x" * 254 + "\U00010428" * 2, "x" * 253 + "\U00010428", "é" * 256]
)
def test_a_long_word_is_cut_by_units_of_utf_16(scan, text):
    assert numbered([[text]], compiled=True, language="none") == numbered(
        [[text]], compiled=False, language="none"
    )
