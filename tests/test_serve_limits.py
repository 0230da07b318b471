"""Limits of `pnyx serve`, each at its last value on one side and its first on the other."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from types import SimpleNamespace

import pytest

pytest.importorskip("starlette", reason="starlette is not installed")

from asking_fixture import example_index, service_of
from pnyx.cases.options import ArgueSpec
from pnyx.core.errors import InputError
from pnyx.core.records import Argument, Document, Passage, Premise
from pnyx.formats.text.tokens import Tokenizer
from pnyx.judging.options import AskingSpec, CombiningSpec
from pnyx.models.http.flow import cores
from pnyx.search import Index, build_index
from pnyx.search.options import SearchSpec
from pnyx.web.ask.address import read_search_query
from pnyx.web.ask.choices import chosen, question_text, whole
from pnyx.web.ask.document_content import document_view, parts_view
from pnyx.web.ask.examples import example_questions, label_topics
from pnyx.web.ask.highlights import Marker
from pnyx.web.ask.pool import Busy
from pnyx.web.rendering import Links

VOTING = "Should voting be compulsory?"


# What a request may choose ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("spec", "name", "most"),
    [
        (ArgueSpec(), "asked", 200),
        (ArgueSpec(), "context", 32_000),
        (ArgueSpec(), "per_side", 100),
        (ArgueSpec(), "points", 20),
        (ArgueSpec(), "retrieve", 200),
        (ArgueSpec(), "words", 2000),
        (SearchSpec(), "depth", 1000),
        (SearchSpec(), "feedback", 100),
        (SearchSpec(), "window", 200),
        (AskingSpec(), "max_tokens", 16_000),
        (CombiningSpec(), "samples", 10),
    ],
)
def test_a_request_chooses_numbers_up_to_a_limit(spec, name, most):
    assert getattr(chosen(spec, {name: most}), name) == most
    for refused in (most + 1, str(most + 1)):
        with pytest.raises(InputError, match=f"{name}: found {most + 1:g}, expected at most"):
            chosen(spec, {name: refused})


def test_a_server_may_choose_more_than_a_request():
    assert chosen(SearchSpec(depth=2000), {"window": 5}).depth == 2000


def test_a_request_chooses_twenty_topics_of_2000_characters_at_most():
    topics = ["t" * 2000] * 20
    assert len(chosen(SearchSpec(), {"topic": topics}).topic) == 20
    for refused, message in (
        (["t"] * 21, "topic: found 21 values, expected at most 20"),
        (["t" * 2001], "topic: found 2,001 characters, expected at most 2,000"),
    ):
        with pytest.raises(InputError, match=message):
            chosen(SearchSpec(), {"topic": refused})
    assert chosen(ArgueSpec(), {"definition": "d" * 2000}).definition == "d" * 2000
    with pytest.raises(InputError, match="definition: found 2,001 characters"):
        chosen(ArgueSpec(), {"definition": "d" * 2001})


def test_true_is_not_a_number():
    with pytest.raises(InputError, match="points: found true, expected another type"):
        chosen(ArgueSpec(), {"points": True})


def test_a_question_has_2000_characters_at_most():
    assert len(question_text("q" * 2000)) == 2000
    with pytest.raises(InputError, match="found 2,001 characters, expected at most 2,000"):
        question_text("q" * 2001)


@pytest.mark.parametrize(
    ("value", "number"),
    [("1", 1), ("100", 100), (" 7 ", 7), ("000000001", 1), (1, 1), ("0", None), ("101", None),
     ("0000000001", None), (True, None), (1.0, None), ("٣", None), ("-1", None), ("", None)],
)  # fmt: skip
def test_a_number_of_documents_is_whole_and_from_1_to_100(value, number):
    if number is None:
        with pytest.raises(InputError, match=r"k: found .*, expected a number from 1 to 100"):
            whole("k", value, 1, 100)
    else:
        assert whole("k", value, 1, 100) == number


def test_a_page_has_twenty_documents_unless_the_address_says_up_to_100():
    assert read_search_query({"q": "Why?"}).count == 20
    assert read_search_query({"q": "Why?", "n": "100"}).count == 100
    assert "n" in read_search_query({"q": "Why?", "n": "21"}).fields()
    assert "n" not in read_search_query({"q": "Why?", "n": "20"}).fields()


@pytest.mark.parametrize(("topic", "kept"), [("999999999", True), ("1000000000", False)])
def test_a_topic_in_an_address_has_nine_digits_at_most(topic, kept):
    assert read_search_query({"q": "Why?", "topic": topic}).topic == (topic if kept else "")


@pytest.fixture(scope="module")
def small(tmp_path_factory) -> Path:
    """An index of one document, which it has by its words alone."""
    folder = tmp_path_factory.mktemp("limits") / "one.index"
    build_index([Document("one", "A text.")], folder)
    return folder


def test_answers_have_at_most_100_documents_50_perspectives_and_256_items(small):
    """What passes the limit fails at something else, so that nothing is judged."""

    async def message(asked) -> str:
        with pytest.raises(InputError) as caught:
            await asked
        return str(caught.value)

    async def main() -> list[str]:
        return [
            await message(service.search(VOTING, k=101)),
            await message(service.search(VOTING, facet=1_000_001)),
            await message(service.perspectives(VOTING, {"count": 51})),
            await message(service.judge_items("support", [{}] * 257)),
            await message(service.judge_items("support", [*items, "odd"])),
        ]

    items = [{"id": str(n), "text": "Fares fell.", "statement": "It fell."} for n in range(255)]
    with service_of(small) as service:
        assert service._viewed(VOTING, {"count": 50}, 100)[2:] == (50, 100)
        assert asyncio.run(main()) == [
            "k: found 101, expected a number from 1 to 100",
            "facet: found 1000001, expected a number from 0 to 1000000",
            "count: found 51, expected a number from 1 to 50",
            "items: found 257, expected at most 256",
            "items[255]: found 'odd', expected an object",
        ]


def test_a_server_is_busy_once_its_threads_and_its_queue_are_full(small):
    """Two arguments at once, and 64 wait; searches: one for each of 2 to 4 cores, and 400 wait."""
    searches = {1: 2, 2: 2, 3: 3}.get(cores(), 4)

    async def fill(pool, most: int) -> None:
        go = threading.Event()
        waiting = [asyncio.ensure_future(pool.run(lambda: go.wait(20))) for _ in range(most)]
        await asyncio.sleep(0)
        with pytest.raises(Busy):
            await pool.run(lambda: None)
        go.set()
        assert all(await asyncio.gather(*waiting))

    async def main() -> None:
        await fill(service._slow, 2 + 64)
        await fill(service._quick, searches + 400)

    with service_of(small) as service:
        assert service._slow._threads._max_workers == 2
        assert service._quick._threads._max_workers == searches
        asyncio.run(main())


# A document's page --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def empty(small) -> Index:
    """An index that does not have the documents shown."""
    return Index.open(small)


def view(index: Index, document, question: str = ""):
    return document_view(index, document, Marker(Tokenizer(), question), question, Links())


def text_of(segments) -> str:
    return "".join(segment.text for segment in segments)


def test_a_page_shows_200000_characters_of_a_document(empty):
    whole_page = view(empty, Document("d", "a" * 200_000))
    assert (len(text_of(whole_page["body"])), whole_page["cut"]) == (200_000, "")
    page = view(empty, Document("d", "a" * 200_001))
    assert len(text_of(page["body"])) == 200_000
    assert page["cut"] == "The first 200,000 of 200,001 characters are shown."


@pytest.mark.parametrize(
    ("lengths", "shown"),
    [
        ((150_000, 0, 49_999, 1, 1), [150_000, 49_999, 1]),
        ((150_000, 49_999, 2, 1), [150_000, 49_999, 1]),
    ],
)
def test_premises_share_200000_characters(empty, lengths, shown):
    argument = Argument("a", "Yes.", tuple(Premise("p" * length, "pro") for length in lengths))
    premises = view(empty, argument)["premises"]
    assert [(len(text_of(segments)), side) for segments, side in premises] == [
        (length, "pro") for length in shown
    ]


def test_names_on_a_documents_page_have_300_characters(empty):
    name = "n" * 1201
    document = Document(
        name, "Two words.", name, f"ftp:{name}", name,
        {f"field {n:02}": "v" * 2001 for n in range(30)} | {"last": "x"},
        Passage("other", 2, 3, name, name),
    )  # fmt: skip
    page = view(empty, document)
    assert (len(page["title"]), len(page["heading"])) == (300, 1200)
    facts = dict(page["facts"])
    assert {label: len(facts[label]) for label in ("Under", "Speaker", "Source", "Id")} == {
        "Under": 300, "Speaker": 300, "Source": 300, "Id": 300,
    }  # fmt: skip
    assert facts["Passage"] == "2 of 3"
    assert facts["Length"] == "2 words"
    assert facts["Address"] == f"not shown as a link: ftp:{'n' * 296}"
    assert [(label, len(value)) for label, value in page["extra"]] == [
        (f"field {n:02}", 2000) for n in range(30)
    ]
    long_name = Document("d", "Text.", extra={"k" * 61: "v", "empty": "", "number": 3})
    assert view(empty, long_name)["extra"] == [("k" * 60, "v"), ("number", "3")]
    topic = view(empty, Argument("a", "Yes.", topic="t" * 301, stance="pro"))
    assert dict(topic["facts"])["On"] == "t" * 300


def test_the_body_of_an_argument_is_shown_if_it_says_more_than_the_premises(empty):
    premises = (Premise("Fares fell."), Premise("Riders came."))
    for body, shown in (
        ("Buses won. Fares fell.\nRiders came.", ""),
        ("Buses won. Fares fell. Riders left.", "Buses won. Fares fell. Riders left."),
        (None, ""),
    ):
        page = view(empty, Argument("a", "Buses won.", premises, body=body))
        assert text_of(page["body"]) == shown
    page = view(empty, Argument("a", "Buses won.", body="Buses won."))
    assert text_of(page["body"]) == "Buses won."


@pytest.mark.parametrize(
    ("lengths", "hit", "shown"),
    [
        # 100,000 characters are left: half of them before the passage, the rest after it.
        ((9, 50_000, 100_000, 50_000, 9), 3, (2, 4)),
        ((9, 50_001, 100_000, 50_000, 50_000), 3, (3, 5)),
        ((9, 50_000, 100_000, 50_001, 9), 3, (2, 3)),
        ((9, 9, 200_000, 9, 9), 3, (3, 3)),
        ((9, 9, 9, 9), 2, (1, 4)),
    ],
)
def test_passages_around_the_one_found_are_shown_as_far_as_they_fit(tmp_path, lengths, hit, shown):
    passages = [
        Document(f"d#{n}", ("word " * length)[:length], passage=Passage("d", n, len(lengths)))
        for n, length in enumerate(lengths, 1)
    ]
    build_index(passages, tmp_path / "passages.index")
    index = Index.open(tmp_path / "passages.index")
    parts = parts_view(index, passages[hit - 1], Marker(Tokenizer(), ""))
    first, last = shown
    assert [part.number for part in parts.parts] == list(range(first, last + 1))
    assert [part.number for part in parts.parts if part.is_found] == [hit]
    whole_document = (first, last) == (1, len(lengths))
    said = f"Passages {first} to {last} of {len(lengths)} are shown."
    assert parts.cut == ("" if whole_document else said)


def test_headings_of_passages_are_repeated_only_where_they_change(tmp_path):
    headings = ("Costs", "Costs", "h" * 301, "Costs")
    passages = [
        Document(f"d#{n}", "A text.", passage=Passage("d", n, 4, heading, "s" * 301))
        for n, heading in enumerate(headings, 1)
    ]
    build_index(passages, tmp_path / "passages.index")
    index = Index.open(tmp_path / "passages.index")
    parts = parts_view(index, passages[0], Marker(Tokenizer(), "")).parts
    assert [part.heading for part in parts] == ["Costs", "", "h" * 300, "Costs"]
    assert [part.speaker for part in parts] == ["s" * 300, "", "", ""]


def test_six_similar_documents_are_named_with_their_cosines():
    index = Index.open(example_index())
    document = index.document("compulsory-voting-01")
    near = view(index, document)["near"]
    cosines = [float(said.rpartition(", ")[2]) for _, _, said in near]
    assert len(near) == 6
    assert cosines == sorted(cosines, reverse=True)
    assert 0.3 < cosines[-1] <= cosines[0] < 1  # it is not near itself
    assert "/doc/compulsory-voting-01" not in [address for address, _, _ in near]
    facts = dict(view(index, document)["facts"])
    assert facts["Quality"].endswith("% of all documents")
    assert facts["Words in it"]


# Examples of questions ----------------------------------------------------------------------------


class Stored:
    """An index that holds these documents and nothing else."""

    def __init__(self, documents) -> None:
        self.documents = documents

    def __len__(self) -> int:
        return len(self.documents)

    def documents_at(self, places):
        return [self.documents[place] for place in places]

    def feature_info(self, _):
        return None


def argument(topic: str, stance: str = "pro") -> Argument:
    return Argument(topic, topic, topic=topic, stance=stance)


@pytest.mark.parametrize(("count", "is_read"), [(2000, True), (2001, False)])
def test_examples_are_of_2000_documents_spread_over_the_index(count, is_read):
    """Of 2,001 documents, the one before the last is left out."""
    documents = [Document("d", "A text.")] * count
    documents[0] = argument("Should zoos close?")
    documents[1999] = argument("Should zoos close?", "con")
    if count == 2001:
        documents[2000] = argument("Should zoos close?")
    assert example_questions(Stored(documents)) == (("Should zoos close?",) if is_read else ())


def test_three_examples_are_shown_those_with_most_arguments_of_the_weaker_side_first():
    counts = {"Is tea good?": (1, 9), "Is rum good?": (2, 2), "Is ale good?": (2, 3),
              "Is gin good?": (1, 1), "Is sake odd?": (5, 0)}  # fmt: skip
    documents = [
        argument(topic, stance)
        for topic, sides in counts.items()
        for stance, count in zip(("pro", "con"), sides, strict=True)
        for _ in range(count)
    ]
    shown = ("Is ale good?", "Is rum good?", "Is gin good?")
    assert example_questions(Stored(documents)) == shown


@pytest.mark.parametrize(
    ("topic", "shown"),
    [
        ("three words here", True),
        ("two words", False),
        ("a b " + "c" * 116, True),  # 120 characters
        ("a b " + "c" * 117, False),
    ],
)
def test_an_example_has_three_words_and_120_characters_at_most(topic, shown):
    documents = [argument(topic, stance) for stance in ("pro", "con")]
    assert example_questions(Stored(documents)) == ((topic,) if shown else ())


def test_2000_topics_of_labels_are_prepared_of_20000_documents():
    documents = [argument(f"topic {n}") for n in range(2001)]
    topics = label_topics(Stored([*documents, argument("topic 2000")]))
    assert (len(topics), topics[0], topics[-1]) == (2000, "topic 2000", "topic 1998")
    for count, is_read in ((20_000, True), (20_001, False)):
        documents = [Document("d", "A text.")] * count
        documents[19_999] = argument("Should zoos close?")
        assert label_topics(Stored(documents)) == (("Should zoos close?",) if is_read else ())
    assert label_topics(Stored([argument("Is tea good?", "neutral")])) == ()


class Clustered(Stored):
    """An index of documents with topics: the number of each, and None for one."""

    def feature_info(self, name):
        return SimpleNamespace(documents=len(self)) if name == "clusters" else None

    def topics(self, names):
        labels = ["A rare one here", *["Tea is a drink"] * 2, None, *["Too short"] * 4]
        return [None if label is None else SimpleNamespace(label=label) for label in labels]


def test_without_labels_examples_are_the_most_frequent_topics_of_clusters():
    documents = [Document("d", "A text.")] * 8
    assert example_questions(Clustered(documents)) == ("Tea is a drink", "A rare one here")
    assert example_questions(Clustered([])) == ()
    both = [*[argument("Is tea good?", side) for side in ("pro", "con")], *documents[2:]]
    assert example_questions(Clustered(both)) == ("Is tea good?",)
