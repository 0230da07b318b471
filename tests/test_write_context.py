"""Context packing: every document keeps its share (ConQRet 3.2.2)."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pnyx.records import Argument, Document, Premise
from pnyx.write.generate import WORDS_PER_TOKEN, pack

texts = st.lists(st.text(max_size=400), min_size=1, max_size=12)


def test_everything_fits_and_nothing_changes() -> None:
    documents = [Document("a", "one two three"), Document("b", "four")]
    assert pack(documents, 100) == (documents, 0)


def test_each_is_cut_by_the_same_proportion_by_hand() -> None:
    # 100 + 50 + 10 short words, a budget of 80 words: each keeps half.
    documents = [Document(str(n), "word " * n) for n in (100, 50, 10)]
    packed, trimmed = pack(documents, round(80 / WORDS_PER_TOKEN) + 1)
    assert trimmed == 3
    assert [d.text.count("word") for d in packed] == [50, 25, 5]
    assert all(d.text.endswith(" …") for d in packed)


@given(texts, st.integers(1, 200))
def test_no_document_is_dropped_and_the_budget_holds(contents: list[str], tokens: int) -> None:
    documents = [Document(str(i), t) for i, t in enumerate(contents)]
    packed, trimmed = pack(documents, tokens)
    assert [d.id for d in packed] == [d.id for d in documents]
    assert trimmed == sum(a.text != b.text for a, b in zip(documents, packed, strict=True))
    budget = max(len(documents), int(tokens * WORDS_PER_TOKEN))
    words = [[w for w in d.text.split() if w != "…"] for d in packed]
    if trimmed:
        assert sum(map(len, words)) <= budget + len(documents)
    for before, after in zip(documents, words, strict=True):
        assert bool(after) == bool([w for w in before.text.split() if w != "…"])


def test_one_endless_word_does_not_crowd_out_the_rest() -> None:
    packed, trimmed = pack([Document("a", "x" * 1_000_000), Document("b", "short text")], 100)
    assert trimmed >= 1
    assert len(packed[0].text) < 1000
    assert packed[1].text


def test_an_argument_is_shown_whole() -> None:
    argument = Argument("a", "Vote.", (Premise("It counts."),), topic="t")
    packed, _ = pack([argument], 100)
    assert (packed[0].id, packed[0].text) == ("a", "Vote. It counts.")
