"""Limits in drafting and merging nuggets, each at its boundary."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from chat_server import ChatServer
from command import called
from pnyx.core.errors import InputError
from pnyx.core.nuggets import Nugget, NuggetBank, NuggetReference
from pnyx.core.records import Document, Question, md5_of
from pnyx.judging.answers import Judged, Provenance
from pnyx.judging.questions import Support
from pnyx.judging.store.completions import StoredModel
from pnyx.judging.store.store import Store
from pnyx.models.chat.endpoint import ChatEndpoint
from pnyx.reports.nuggets.claims import (
    extract_banks,
    hidden_claims,
    restored_claims,
    without_quotations,
)
from pnyx.reports.nuggets.growth import Growing, reply_shape
from pnyx.reports.nuggets.merge import merge_banks
from pnyx.reports.nuggets.model_banks import DraftedBank, NuggetSource, create_banks, rate_banks


class Vectors:
    """Embeds a text that names a cosine, such as `0.8`, at that cosine to all other texts."""

    name, dimensions = "vectors", 2

    def encode(self, texts):
        cosines = [next((float(w) for w in text.split() if w[:2] == "0."), 1.0) for text in texts]
        return np.array([(c, (1 - c * c) ** 0.5) for c in cosines], dtype=np.float32)


@pytest.mark.parametrize(("cosine", "claims"), [("0.8", 1), ("0.7999", 2)])
def test_sentences_of_a_cosine_of_0_8_are_one_claim(cosine, claims):
    texts = ("Fares of the city fell in spring.", f"Fares fell by {cosine} per cent in all towns.")
    documents = tuple(Document(str(n), text) for n, text in enumerate(texts))
    (drafted,) = extract_banks(
        [NuggetSource(Question("q", "Fares?"), documents)], embedder=Vectors()
    )
    assert [len(nugget.references) for nugget in drafted.bank.nuggets] == [2] * (claims == 1) + [
        1,
        1,
    ] * (claims == 2)


@pytest.mark.parametrize("cosines", [("0.1", "0.95"), ("0.95", "0.1")])
def test_claims_of_as_many_documents_are_in_the_order_of_their_cosine_to_the_topic(cosines):
    texts = (f"Fares fell by {cosine} per cent in all towns." for cosine in cosines)
    documents = tuple(Document(str(n), text) for n, text in enumerate(texts))
    sources = [NuggetSource(Question("q", "Fares?"), documents)]
    (drafted,) = extract_banks(sources, embedder=Vectors())
    assert ["0.95" in nugget.text for nugget in drafted.bank.nuggets] == [True, False]
    (drafted,) = extract_banks(sources, embedder=Vectors(), most=1)
    assert ["0.95" in nugget.text for nugget in drafted.bank.nuggets] == [True]


@pytest.mark.parametrize(("words", "left"), [(7, 1), (8, 0)])
def test_eight_words_in_a_row_are_a_quotation(words, left):
    document = Document("d", "one two three four five six seven eight nine")
    text = " ".join(document.text.split()[:words])
    bank = NuggetBank("q", (Nugget("n", f"They say {text} again.", is_claim=True),))
    drafted = without_quotations(DraftedBank(bank, ("before",)), [document])
    assert len(drafted.bank.nuggets) == left
    quoting = ["1 nuggets quote a document and are left out (no_text)"] * (1 - left)
    assert drafted.problems == ("before", *quoting)


def test_hidden_claims_are_found_again_in_their_documents():
    text = "Bus fares fell by a tenth in May."
    claim = Nugget(md5_of(text), text, is_claim=True, references=(NuggetReference("d"),))
    bank = NuggetBank("q", (claim, Nugget("1", "Why?")))
    hidden = hidden_claims(replace(bank, nuggets=(claim,)))
    assert text not in repr(hidden)
    both = replace(bank, nuggets=(*hidden.nuggets, bank.nuggets[1]))
    assert restored_claims(both, {"d": Document("d", text)}) == bank
    assert restored_claims(bank, {}) is bank  # nothing is hidden
    with pytest.raises(InputError, match="is in none of the documents"):
        restored_claims(both, {"d": Document("d", "Another text of the document.")})


def test_merged_nuggets_need_a_place(capsys, own_place):
    code, _, err = called(capsys, "nuggets", "merge", "bank.jsonl")
    assert code == 2
    assert "Missing option '--out'" in err
    Path("old.jsonl").write_text("mine")
    code, _, err = called(capsys, "nuggets", "merge", "bank.jsonl", "--out", "old.jsonl")
    assert code == 2
    assert "exists and may have been edited" in err
    code, _, err = called(capsys, "nuggets", "merge", "bank.jsonl", "--out", "b", "--plan")
    assert code == 2
    assert "--plan: questions on answers depend on verdicts on nuggets" in err


def fold(growing: Growing, *texts: str) -> None:
    rows = [{"number": 0, "claim": text, "documents": [1]} for text in texts]
    growing.fold(reply_shape("claims").model_validate({"nuggets": rows}), ["d"])


@pytest.mark.parametrize(("length", "kept"), [(1000, 1000), (1001, 1000)])
def test_a_nugget_has_at_most_1000_characters(length, kept):
    growing = Growing("claims", most=1)
    fold(growing, "a" * length)
    assert [len(nugget.text) for nugget in growing.nuggets()] == [kept]


def test_the_list_of_a_plan_grows_by_an_even_share_up_to_its_size():
    growing = Growing("questions", most=10)
    lengths = []
    for _ in range(4):
        growing.imagine(3)  # ten nuggets in three windows are four in each
        lengths.append((len(growing.shown()), growing.room))
    assert lengths == [(4, 6), (8, 2), (10, 0), (10, 0)]
    assert growing.shown()[0].endswith("? an answer; another (0)")


class Says:
    """Gives each pair of texts the same verdict and probability."""

    name, card, kinds = "says", "", frozenset({Support})

    def __init__(self, value: bool, probability: float | None) -> None:
        self.value, self.probability = value, probability

    async def answer(self, questions, emit):
        for place, _ in enumerate(questions):
            emit(place, Judged(self.value, Provenance("says"), self.probability))


def claims_of(*texts: str, importance: str = "") -> NuggetBank:
    nuggets = (
        Nugget(str(n), text, is_claim=True, importance=importance) for n, text in enumerate(texts)
    )
    return NuggetBank("q", tuple(nuggets))


@pytest.mark.parametrize(
    ("value", "probability", "left"),
    [(True, 0.5, 1), (True, 0.499, 2), (True, None, 1), (False, 0.9, 2)],
)
def test_nuggets_are_merged_if_a_yes_is_as_likely_as_not(value, probability, left):
    merged = merge_banks(
        [("a", claims_of("Fares fell", "Fares sank"))], Says(value, probability), embedder=Vectors()
    )
    assert len(merged.banks[0].nuggets) == left


@pytest.mark.parametrize(("cosine", "compared"), [("0.7", 1), ("0.6999", 0)])
def test_a_judge_is_asked_about_nuggets_from_a_cosine_of_0_7(cosine, compared):
    bank = claims_of("Fares fell", f"Fares fell by {cosine}")
    merged = merge_banks([("a", bank)], Says(True, 0.9), embedder=Vectors())
    assert len(merged.report) == compared
    assert [row["cosine"] for row in merged.report] == [float(cosine)] * compared


@pytest.mark.parametrize(
    ("importances", "merged"),
    [
        (("vital", "okay"), "vital"),
        (("vital", "okay", "okay"), "okay"),
        (("", "okay"), "okay"),
        (("low", "high"), "low"),
        (("", ""), ""),
    ],
)
def test_a_merged_nugget_is_vital_if_half_of_the_votes_are(importances, merged):
    banks = [
        (str(n), replace(claims_of("Fares fell", importance=importance), run_id=str(n)))
        for n, importance in enumerate(importances)
    ]
    (bank,) = merge_banks(banks, Says(True, 0.9), embedder=Vectors()).banks
    assert [nugget.importance for nugget in bank.nuggets] == [merged]


# --- by a language model


def model_at(server: ChatServer) -> StoredModel:
    return StoredModel(ChatEndpoint(server.url, "test"), Store(":memory:"), 1)


def source(count: int, words: int = 2) -> NuggetSource:
    documents = (Document(str(n), f"Fares{n} " + "word " * (words - 1)) for n in range(count))
    return NuggetSource(Question("q", "Fares?"), tuple(documents))


@pytest.mark.parametrize(("documents", "calls"), [(10, 1), (11, 2)])
def test_ten_passages_are_read_in_a_call(documents, calls):
    with ChatServer(reply='{"nuggets": []}') as server:
        model = model_at(server)
        (drafted,) = create_banks([source(documents)], model, style="claims", rate=False)
    assert (drafted.calls, drafted.failed, drafted.problems) == (calls, 0, ())


@pytest.mark.parametrize(("words", "problems"), [(400, 0), (401, 1)])
def test_400_words_of_a_passage_are_read(words, problems):
    with ChatServer(reply='{"nuggets": []}') as server:
        model = model_at(server)
        (drafted,) = create_banks([source(1, words)], model, style="claims", rate=False)
    line = "of 1 documents only the first 400 words were shown"
    assert drafted.problems == (line,) * problems


@pytest.mark.parametrize(("claims", "left_out"), [(30, 0), (31, 1)])
def test_thirty_nuggets_are_found_for_a_topic(claims, left_out):
    rows = [{"number": 0, "claim": f"Claim {n}.", "documents": [1]} for n in range(claims)]
    with ChatServer(reply=json.dumps({"nuggets": rows})) as server:
        model = model_at(server)
        (drafted,) = create_banks([source(1)], model, style="claims", rate=False)
    assert len(drafted.bank.nuggets) == 30
    line = "1 nuggets were left out: the list was full"
    assert drafted.problems == (line,) * left_out


@pytest.mark.parametrize(("nuggets", "calls"), [(10, 1), (11, 2)])
def test_the_importance_of_ten_nuggets_is_rated_in_a_call(nuggets, calls):
    bank = claims_of(*(f"Claim {n}." for n in range(nuggets)))
    rated = replace(bank, nuggets=(*bank.nuggets, Nugget("old", "Old.", (), importance="okay")))

    def vital(prompt: str) -> str:
        return json.dumps({str(n): "vital" for n in range(1, prompt.count("Piece ") + 1)})

    with ChatServer(reply=vital) as server:
        (drafted,) = rate_banks([(rated, Question("q", "Fares?"))], model_at(server))
        assert len(server.answered()) == calls
    assert (drafted.calls, drafted.failed) == (calls, 0)
    importances = [nugget.importance for nugget in drafted.bank.nuggets]
    assert importances == ["vital"] * nuggets + ["okay"]
