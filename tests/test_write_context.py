"""Context packing: every document keeps its share (ConQRet 3.2.2)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chat_server import ChatServer
from pnyx.cases.context import pack, pack_for, words_per_token
from pnyx.cases.generate import LlmWriter
from pnyx.core.records import Argument, Document, Premise, Question
from pnyx.formats.text.citations import without_notes
from pnyx.judging.store.completions import StoredModel
from pnyx.judging.store.store import Store
from pnyx.models.chat.open_endpoint import endpoint_from
from pnyx.models.http.flow import run_blocking
from test_models_local import pytestmark as needs_local

texts = st.lists(st.text(max_size=400), min_size=1, max_size=12)


def test_everything_fits_and_nothing_changes() -> None:
    documents = [Document("a", "one two three"), Document("b", "four")]
    assert pack(documents, 100) == (documents, 0)


def test_each_is_cut_by_the_same_proportion_by_hand() -> None:
    # 100 + 50 + 10 short words, a budget of 80 words: each keeps half.
    documents = [Document(str(n), "word " * n) for n in (100, 50, 10)]
    packed, trimmed = pack(documents, 115)
    assert trimmed == 3
    assert [d.text.count("word") for d in packed] == [50, 25, 5]
    assert all(d.text.endswith(" …") for d in packed)


@given(texts, st.integers(1, 200))
def test_no_document_is_dropped_and_the_budget_holds(contents: list[str], tokens: int) -> None:
    documents = [Document(str(i), without_notes(t)) for i, t in enumerate(contents)]
    packed, trimmed = pack([Document(str(i), t) for i, t in enumerate(contents)], tokens)
    assert [d.id for d in packed] == [d.id for d in documents]
    assert trimmed == sum(a.text != b.text for a, b in zip(documents, packed, strict=True))
    budget = max(len(documents), int(tokens * 0.7))
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


# --- by the model's own count


@pytest.mark.parametrize("kind", ["vllm", "llama"])
def test_each_is_cut_by_the_same_share_of_its_own_tokens(kind: str, tmp_path: Path) -> None:
    """Tokens of the test server are characters: 500 + 250 + 50, a context of 400: half of each."""
    documents = [Document(str(n), "word " * (n // 5 - 1) + "word.") for n in (500, 250, 50)]
    with ChatServer(tokenizes=kind) as server, Store(tmp_path / "s.sqlite") as store:
        model = StoredModel(endpoint_from(server.spec), store)
        packed = run_blocking(pack_for(model, documents, 400, 0.7))
        whole = run_blocking(pack_for(model, documents, 800, 0.7))
    assert (packed.counted, packed.trimmed) == (True, 3)
    lengths = [len(d.text) for d in packed.documents]
    for length, budget in zip(lengths, (250, 125, 25), strict=True):
        assert budget - 12 <= length <= budget
    assert (whole.documents, whole.trimmed, whole.counted) == (documents, 0, True)


def test_a_server_without_a_tokenizer_is_asked_once_and_then_estimated(tmp_path: Path) -> None:
    documents = [Document(str(n), "many words " * 300) for n in range(3)]
    with ChatServer() as server, Store(tmp_path / "s.sqlite") as store:
        model = StoredModel(endpoint_from(server.spec), store)
        for _ in range(2):
            packed = run_blocking(pack_for(model, documents, 300, 0.7))
        assert server.tokenized == 1
    assert not packed.counted
    assert packed.documents == pack(documents, 300)[0]


def test_an_estimate_is_corrected_by_what_the_server_counted_and_asks_nothing_twice(
    tmp_path: Path,
) -> None:
    """The test server bills a token for 4 characters; "many words " is 2 words of 11."""
    documents = [Document(str(n), "many words " * 300) for n in range(3)]
    reply = json.dumps({"points": []})
    with ChatServer(reply=reply) as server, Store(tmp_path / "s.sqlite") as store:

        def write(name: str, side: str) -> None:
            model = StoredModel(endpoint_from(server.spec), store)
            writer = LlmWriter(model, context=300)
            run_blocking(writer.write(Question("q", name), side, documents))  # type: ignore[arg-type]

        for number in range(6):
            write(f"Should {number} be free?", "pro")
        model = StoredModel(endpoint_from(server.spec), store)
        first, learnt = words_per_token(model)
        assert first == 0.7
        assert learnt == pytest.approx(0.75, abs=0.15)  # of prompts, most of them other words
        before = len(server.asked())
        write("Should 0 be free?", "pro")  # asked by the first estimate: still known
        assert len(server.asked()) == before
        write("Should 9 be free?", "pro")
        write("Should 9 be free?", "pro")
        assert len(server.asked()) == before + 1


@pytest.mark.all
@needs_local
def test_the_packaged_model_counts_its_own_tokens(tmp_path: Path) -> None:
    from pnyx.models.local.model import open_local

    local = open_local("local")
    with Store(tmp_path / "s.sqlite") as store:
        model = StoredModel(local, store)
        one, two, none = run_blocking(model.count_tokens(["Buses.", "Buses. Buses.", ""])) or []
        documents = [Document("a", "Buses fill up. " * 80), Document("b", "Fares fell. " * 40)]
        packed = run_blocking(pack_for(model, documents, 100, 0.7))
        counts = run_blocking(model.count_tokens([d.text for d in packed.documents])) or []
    local.close()
    assert 0 == none < one < two <= 2 * one + 1
    assert packed.counted
    assert sum(counts) <= 100
    assert min(counts) > 10
