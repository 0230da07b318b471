"""Perspectives from a model over real HTTP, from files and from an index; a search for each."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chat_server import ChatServer
from pnyx.core.errors import InputError
from pnyx.core.records import Argument, Document, Perspective, Premise, Question
from pnyx.formats import load_example
from pnyx.formats.perspectives import perspective_line, read_perspectives
from pnyx.judging.answers import Judged, Provenance, Unscored
from pnyx.judging.questions import Support
from pnyx.judging.store.completions import StoredModel
from pnyx.judging.store.store import Store
from pnyx.models.chat.endpoint import ChatEndpoint
from pnyx.models.embed.encoder import load_encoder
from pnyx.models.http.responses import RetryPolicy
from pnyx.search.build import build_index
from pnyx.search.engine import Hit
from pnyx.search.features.access import put_feature
from pnyx.search.index import Index
from pnyx.search.perspectives import (
    FilePerspectives,
    LlmPerspectives,
    distinct,
    perspectives_of,
    query_for,
    search_perspectives,
)
from pnyx.search.perspectives_index import IndexPerspectives, _Candidate, _grouped, _states

ZOOS = Question("zoos", "Should zoos be phased out?")


@pytest.fixture
def store(tmp_path):
    with Store(tmp_path / "store.sqlite") as opened:
        yield opened


def llm(server, store, **options):
    retry = RetryPolicy(timeout=60, first_wait=0.01, attempts=2)
    return LlmPerspectives(
        StoredModel(ChatEndpoint(server.url, "test", retry=retry), store), **options
    )


def reply(*statements):
    rows = [{"statement": text, "side": side} for text, side in statements]
    return json.dumps({"perspectives": rows})


# --- from a language model


def test_each_perspective_has_its_side_and_says_where_it_comes_from(store):
    said = reply(
        ("Zoos are\n cruel.", "pro"), ("Zoos breed rare animals.", "con"),
        ("ZOOS ARE CRUEL", "pro"), ("It depends on the zoo.", "neutral"),
    )  # fmt: skip
    with ChatServer(reply=said) as server:
        found = perspectives_of(ZOOS, llm(server, store))
        (asked,) = server.asked()
    assert [(p.id, p.question_id, p.text, p.stance) for p in found.perspectives] == [
        ("zoos-p1", "zoos", "Zoos are cruel.", "pro"),
        ("zoos-p2", "zoos", "Zoos breed rare animals.", "con"),
        ("zoos-p4", "zoos", "It depends on the zoo.", "neutral"),
    ]
    assert {p.extra["origin"] for p in found.perspectives} == {"test (perspectives@1)"}
    assert found.problems == ("1 of 4 repeat another, left out",)
    assert not found.failed
    system, user = (message["content"] for message in asked["messages"])
    assert "Write 8 perspectives" in system
    assert ZOOS.text in user


def test_too_many_and_one_side_alone_are_said(store):
    said = reply(*((f"Reason number {n}.", "pro") for n in range(5)))
    with ChatServer(reply=said) as server:
        found = perspectives_of(ZOOS, llm(server, store, count=3))
    assert len(found.perspectives) == 3
    assert found.problems == ("2 more than asked for, left out", "they do not cover both sides")


def test_an_open_question_has_no_sides(store):
    with ChatServer() as server:
        found = perspectives_of(ZOOS, llm(server, store, prompt="perspectives-open"))
    assert len(found.perspectives) == 2
    assert {p.stance for p in found.perspectives} == {None}
    assert found.problems == ()


def test_a_reply_that_cannot_be_read_gets_one_repair_turn(store):
    with ChatServer(["wrong_schema"]) as server:
        found = perspectives_of(ZOOS, llm(server, store))
        assert len(server.asked()) == 2
        again = perspectives_of(ZOOS, llm(server, store))
        assert len(server.asked()) == 2  # both replies came from the store
    assert len(found.perspectives) == 2
    assert found.problems[0] == "the reply was read after a repair turn"
    assert again == found


@pytest.mark.parametrize(
    ("server", "reason", "asked"),
    [
        ({"default": "prose"}, "schema: ", 2),
        ({"default": "refusal"}, "refusal: ", 1),
        ({"default": "length"}, "length: ", 2),
        ({"default": "empty"}, "empty", None),
        ({"reply": '{"perspectives": []}'}, "schema: perspectives", 2),
        ({"reply": reply(("Yes.", "pro"), ("No.", "con"))}, "schema: perspectives.0.statement", 2),
        ({"reply": reply(("x" * 1001, "pro"))}, "schema: perspectives.0.statement", 2),
        ({"reply": reply(("Zoos are fair.", "left"))}, "schema: perspectives.0.side", 2),
        ({"reply": '{"perspectives": [], "note": 1}'}, "schema: ", 2),
    ],
)
def test_without_a_usable_reply_there_are_none_and_the_reason_is_said(store, server, reason, asked):
    with ChatServer(**server) as running:
        found = perspectives_of(ZOOS, llm(running, store))
        assert asked in (None, len(running.asked()))
    assert (found.perspectives, found.failed) == ((), True)
    assert found.problems[0].startswith(f"test gave no perspectives: {reason}")


def test_many_questions_are_asked_at_once(store):
    questions = [Question(f"q{n}", f"Is number {n} fair?") for n in range(6)]
    with ChatServer(delay=0.1) as server:
        found = llm(server, store).find(questions)
        assert server.busiest > 1
    assert [p.question_id for s in found for p in s.perspectives[:1]] == [q.id for q in questions]


def test_what_cannot_be_asked_is_one_clear_line(store):
    with ChatServer() as server:
        for count in (0, 51):
            with pytest.raises(InputError, match="expected 1 to 50"):
                llm(server, store, count=count)
        with pytest.raises(InputError, match="asks support, not perspectives"):
            llm(server, store, prompt="support")
        with pytest.raises(InputError, match="the question is empty"):
            perspectives_of(Question("q", " ?! "), llm(server, store))
        assert server.asked() == []


@given(st.lists(st.sampled_from(["Zoos harm.", "zoos  harm!", "Zoos do not harm.", "Zoo."])))
def test_only_the_same_words_are_the_same(texts):
    given_ones = [Perspective(str(n), "q", text) for n, text in enumerate(texts)]
    kept = [p.text for p in distinct(given_ones)]
    assert len(kept) == len({t.lower().replace("!", ".").replace("  ", " ") for t in texts})
    assert distinct(distinct(given_ones)) == distinct(given_ones)


# --- from a file


def lines(path, *rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_a_file_of_ours_is_looked_up_by_id_or_by_the_questions_text(tmp_path):
    rows = [
        {"id": "1", "question_id": "a", "text": "Yes, for A.", "stance": "PRO", "note": 1},
        {"id": "1", "question_id": "b", "text": "No, for B.", "question": "Is B good?"},
    ]
    source = FilePerspectives(lines(tmp_path / "p.jsonl", *rows))
    (one,) = perspectives_of(Question("a", "Whatever?"), source).perspectives
    assert (one.text, one.stance, dict(one.extra)) == (
        "Yes, for A.", "pro", {"note": 1, "origin": "p.jsonl"},
    )  # fmt: skip
    (other,) = perspectives_of(Question("?", " is b  GOOD?"), source).perspectives
    assert other.text == "No, for B."
    with pytest.raises(InputError, match=r"p.jsonl: holds perspectives on 2 questions"):
        perspectives_of(ZOOS, source)


def test_both_files_of_berds(tmp_path):
    expansion = {
        "org_id": "7", "id": 11, "org_q": "Is tea good?", "perspective": "Health_View",
        "text": "Yes, it calms.", "question": "Is tea good? Yes, it calms.",
        "input": "Is tea good? Yes, it calms.", "perspectives": ["Tea is good.", "Tea is bad."],
    }  # fmt: skip
    other = {**expansion, "org_id": "8", "org_q": "Is ale good?", "id": 12, "text": "No."}
    source = FilePerspectives(lines(tmp_path / "x.jsonl", expansion, other))
    (one,) = perspectives_of(Question("q", "Is tea good?"), source).perspectives
    assert (one.id, one.question_id, one.text, one.stance) == ("11", "7", "Yes, it calms.", None)
    assert one.extra["perspective"] == "Health_View"
    row = {"question": "Is tea good?", "perspectives": ["Tea is good.", "Tea is bad."], "ctxs": []}
    source = FilePerspectives(lines(tmp_path / "r.jsonl", row), count=1)
    assert [p.text for p in perspectives_of(ZOOS, source).perspectives] == ["Tea is good."]


def test_the_real_files_of_berds_are_read_whole():
    folder = Path(os.environ.get("PNYX_DATA", Path(__file__).parents[2] / "shared/data")) / "berds"
    paths = sorted(folder.glob("*_query_exp.dev.jsonl"))
    if not paths:
        pytest.skip("BERDS is not at hand: set PNYX_DATA")
    for path in paths:
        rows = [json.loads(line) for line in path.read_text().splitlines()]
        asked = {row["org_q"]: row["org_id"] for row in rows}
        source = FilePerspectives(path)
        for text, identifier in list(asked.items())[:50]:
            own = [row["text"] for row in rows if row["org_id"] == identifier]
            found = perspectives_of(Question("?", text), source).perspectives
            assert [p.text for p in found] == list(dict.fromkeys(own))


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ({"question_id": "q", "text": "x"}, "no id"),
        ({"id": "1", "question_id": "q", "text": " "}, "text is empty"),
        ({"id": "1", "question_id": "q", "text": "x", "stance": "left"}, "expected one of pro"),
        ({"question": "q?", "perspectives": "['a']"}, "expected a list"),
        ({"question": "q?", "perspectives": []}, "perspectives is empty"),
        ({"question": "q?", "perspectives": ["a", " "]}, r"perspectives\[1\] is empty"),
    ],
)
def test_a_bad_line_is_named(tmp_path, row, problem):
    good = {"id": "0", "question_id": "q", "text": "Fine."}
    with pytest.raises(InputError, match=r"p.jsonl:2: .*" + problem):
        FilePerspectives(lines(tmp_path / "p.jsonl", good, row))


def test_an_id_twice_on_one_question_and_an_empty_file_are_refused(tmp_path):
    good = {"id": "0", "question_id": "q", "text": "Fine."}
    with pytest.raises(InputError, match=r"p.jsonl:2: duplicate id"):
        FilePerspectives(lines(tmp_path / "p.jsonl", good, good))
    with pytest.raises(InputError, match="holds no perspectives"):
        FilePerspectives(lines(tmp_path / "p.jsonl"))


def test_what_is_written_is_read_back(tmp_path):
    known = list(load_example().perspectives)
    path = tmp_path / "p.jsonl"
    path.write_text("".join(map(perspective_line, known)))
    assert read_perspectives(path) == known


# --- from an index


@pytest.fixture(scope="module")
def example(tmp_path_factory):
    path = tmp_path_factory.mktemp("perspectives") / "example.index"
    build_index(load_example().arguments, path)
    return Index.open(path)


def test_an_index_gives_conclusions_of_both_sides_in_turns(example):
    found = perspectives_of(ZOOS, IndexPerspectives(example, count=6))
    conclusions = {a.id: a for a in load_example().arguments}
    assert [p.stance for p in found.perspectives] == ["pro", "con"] * 3
    for one in found.perspectives:
        argument = conclusions[one.extra["documents"][0]]
        assert one.text == " ".join(argument.conclusion.split())
        assert one.extra["origin"] == "index example.index"
        assert (one.stance, one.extra["side_by"]) == (argument.stance, "corpus label")
    assert found.perspectives == perspectives_of(
        ZOOS, IndexPerspectives(example, count=6)).perspectives  # fmt: skip
    more = perspectives_of(ZOOS, IndexPerspectives(example, count=4)).perspectives
    assert more == found.perspectives[:4]


@pytest.mark.all
def test_they_are_on_the_question_and_cover_what_the_authors_labelled(example):
    known = load_example()
    labels = {(label.question_id, label.doc_id): label for label in known.labels}
    on = covered = shown = 0
    for question in known.questions:
        hold: set[str] = set()
        for one in perspectives_of(question, IndexPerspectives(example)).perspectives:
            shown += 1
            found = [labels.get((question.id, d)) for d in one.extra["documents"]]
            on += found[0] is not None and found[0].relevance > 0
            hold |= {p for label in found if label for p in label.perspectives}
        covered += len(hold)
    assert on / shown > 0.85
    assert covered / len(known.perspectives) > 0.65


def index_of(tmp_path, *records):
    build_index(records, tmp_path / "i")
    return Index.open(tmp_path / "i")


def test_arguments_that_say_the_same_are_one_perspective(tmp_path):
    topic = "Should zoos be phased out?"
    cruel = Argument("a", "Zoos are cruel to animals.", (Premise("Cages."),), "pro", topic)
    records = [
        cruel,
        replace(cruel, id="b"),
        replace(cruel, id="c", conclusion="Zoos are so cruel to the animals."),
        replace(cruel, id="d", conclusion="Zoos breed endangered species.", stance="con"),
    ]
    found = perspectives_of(ZOOS, IndexPerspectives(index_of(tmp_path, *records)))
    assert [(p.stance, len(p.extra["documents"])) for p in found.perspectives] == [
        ("pro", 3), ("con", 1),
    ]  # fmt: skip
    assert set(found.perspectives[0].extra["documents"]) == {"a", "b", "c"}


def test_an_argument_against_its_own_conclusion_stands_for_its_own_words(tmp_path):
    """args.me: no topic, the stance is towards the conclusion, here the question itself."""
    claim = "Zoos should be phased out."
    records = [
        Argument("for", claim, (Premise("Zoos are cruel."),), "pro"),
        Argument("against", claim, (Premise("Zoos teach children about animals."),), "con"),
    ]
    found = perspectives_of(ZOOS, IndexPerspectives(index_of(tmp_path, *records))).perspectives
    assert [(p.text, p.stance) for p in found] == [
        (claim, "pro"),
        ("Zoos teach children about animals.", "con"),
    ]


class Sure:
    """Says of every text that it is on the con side."""

    name, card, kinds = "sure", "", frozenset({Support})

    def __init__(self, answer=None):
        self.given = answer

    async def answer(self, questions, emit):
        for position, question in enumerate(questions):
            yes = question.id.startswith("stance/con")
            emit(position, self.given or Judged(yes, Provenance("sure"), 0.9))


def test_documents_without_conclusions_stand_for_their_sentence_on_the_question(tmp_path):
    records = [
        Document("d1", "The weather was fine. Zoos should be phased out, for cages harm animals. "
                       "Should zoos be phased out? We ate an ice cream."),
        Document("d2", "Bananas are phased out of zoos."),
        Document("d3", "out zoos " * 5),
    ]  # fmt: skip
    index = index_of(tmp_path, *records)
    found = perspectives_of(ZOOS, IndexPerspectives(index, judge=Sure()))
    first = found.perspectives[0]
    assert first.text == "Zoos should be phased out, for cages harm animals."
    assert (first.stance, first.extra["side_by"], first.extra["kind"]) == (
        "con", "sure", "sentence",
    )  # fmt: skip
    assert found.problems == ("they do not cover both sides",)
    gone = Unscored("timeout: 3 attempts", Provenance("sure"))
    found = perspectives_of(ZOOS, IndexPerspectives(index, judge=Sure(gone)))
    assert {p.stance for p in found.perspectives} == {None}
    assert found.problems[0].endswith("conclusions is not known")
    assert "unscored: timeout: 3 attempts" in found.problems[1]


def test_conclusions_are_on_the_question_from_a_cosine_of_0_4_and_the_same_from_0_7(tmp_path):
    conclusions = {
        "cruel": "Zoos are cruel to animals.",  # cosine to the question: 0.693
        "prisons": "Zoos are prisons for animals.",  # 0.659, and 0.710 to "cruel"
        "rare": "Zoos protect rare species.",  # 0.605, and 0.692 to "cruel"
        "coal": "Coal should be phased out.",  # 0.414
        "elephants": "Elephants live short lives in captivity.",  # 0.396
    }
    premises = (Premise("Zoos should be phased out."),)
    records = [Argument(name, text, premises) for name, text in conclusions.items()]
    index = index_of(tmp_path, *records)
    perspectives = perspectives_of(ZOOS, IndexPerspectives(index, judge=Sure())).perspectives
    groups = {frozenset(p.extra["documents"]) for p in perspectives}
    assert groups == {frozenset({"cruel", "prisons"}), frozenset({"rare"}), frozenset({"coal"})}


@pytest.mark.parametrize(("cosine", "order"), [(0.45, ["a", "c", "b"]), (0.3, ["a", "b", "c"])])
def test_conclusions_are_ordered_by_closeness_and_novelty_alike(cosine, order):
    # After a, b is worth 0.5 (0.9 - its cosine to a): 0.225 or 0.3; c is worth 0.5 x 0.5.
    vectors = {"a": [1, 0, 0], "b": [cosine, (1 - cosine**2) ** 0.5, 0], "c": [0, 0, 1]}
    nearness = {"a": 1.0, "b": 0.9, "c": 0.5}
    candidates = [
        _Candidate(Document(n, n), n, "sentence", np.array(v, dtype=np.float32), nearness[n])
        for n, v in vectors.items()
    ]
    assert [candidate.text for candidate in _grouped(candidates)] == order


@pytest.mark.parametrize(("before", "count"), [(11, 1), (12, 0)])
def test_twelve_sentences_of_a_document_are_read(tmp_path, before, count):
    text = "We ate an ice cream in the sun. " * before + "Zoos should be phased out."
    index = index_of(tmp_path, Document("d", text))
    perspectives = perspectives_of(ZOOS, IndexPerspectives(index, judge=Sure())).perspectives
    assert len(perspectives) == count


@pytest.mark.parametrize(
    ("text", "states"), [("Ban all zoos.", True), ("Ban zoos.", False), ("Why ban zoos?", False)]
)
def test_a_statement_has_three_words(text, states):
    assert _states(text) is states


def test_an_index_without_anything_on_the_question_says_so(tmp_path):
    index = index_of(tmp_path, Document("d", "Bananas are phased in."), Document("e", "?! 👍"))
    for text in ("Should zoos be phased out?", "Is xylophone qwertz?"):
        found = perspectives_of(Question("q", text), IndexPerspectives(index))
        assert found.perspectives == ()
        assert found.problems[0].endswith("documents found contain a conclusion on it")
        assert not found.failed
    with pytest.raises(InputError, match="expected at least 1"):
        IndexPerspectives(index, count=0)


@pytest.mark.parametrize("spaces", [1, pytest.param(2, marks=pytest.mark.all)])
def test_the_topic_clusters_add_conclusions_that_share_no_word_with_the_question(tmp_path, spaces):
    records = [
        Argument("same", "Zoos should be phased out, for they are cruel.", (), "pro"),
        Argument("other", "Keeping wild animals in cages harms them.", (), "pro"),
        Argument("third", "Bananas are a healthy fruit.", (), "pro"),
        Argument("lions", "Children love to see lions.", (), "pro"),  # its cosine is 0.311
        Argument("bags", "Plastic bags should be banned.", (), "pro"),  # 0.294
    ]
    index = index_of(tmp_path, *records)
    plain = perspectives_of(ZOOS, IndexPerspectives(index)).perspectives
    assert [p.extra["documents"] for p in plain] == [["same"]]
    near, far = load_encoder().encode(["Zoos harm animals in cages.", "Bananas are healthy."])
    centroids = np.tile(np.stack([near, far]), (1, spaces)) / np.float32(np.sqrt(spaces))
    labels = [{"label": name, "terms": [], "documents": 1} for name in ("harm", "fruit")]
    arrays = {
        "cluster": np.array([0, 0, 1, 0, 0], dtype=np.uint32),
        "centroids": centroids,
        "labels": np.frombuffer(json.dumps(labels).encode(), dtype=np.uint8),
    }
    space = {1: "conclusion", 2: "dual"}[spaces]
    for embedder, expected in (("another", ["same"]), ("minilm-int8", ["same", "other", "lions"])):
        meta = {"embedder": embedder, "space": space}
        put_feature(index.path, "clusters", arrays, documents=5, meta=meta)
        found = perspectives_of(ZOOS, IndexPerspectives(Index.open(index.path))).perspectives
        assert sorted(p.extra["documents"][0] for p in found) == sorted(expected)


# --- a search for each

VIEWS = [Perspective(name, "q", f"View {name}.") for name in "abc"]


def test_the_search_for_each_is_merged_in_turns_by_hand():
    found = {"a": [1, 2, 3], "b": [1, 4], "c": [5, 2]}
    asked = []

    def search(text, k):
        asked.append((text, k))
        numbers = found[text.rstrip(".")[-1]]
        return [Hit(f"d{n}", r, 9.0 - r) for r, n in enumerate(numbers, start=1)]

    hits = search_perspectives(search, ZOOS, VIEWS, 4)
    # rounds: 1a 1b 5c | 2a 4b 2c | 3a
    assert [(h.hit.doc_id, h.perspective.id, h.found_by) for h in hits] == [
        ("d1", "a", ("a", "b")), ("d5", "c", ("c",)), ("d2", "a", ("a", "c")), ("d4", "b", ("b",)),
    ]  # fmt: skip
    assert [(h.hit.rank, h.hit.score) for h in hits] == [(1, 1), (2, 1 / 2), (3, 1 / 3), (4, 1 / 4)]
    assert asked == [(query_for(ZOOS, view), 4) for view in VIEWS]
    assert asked[0][0] == "Should zoos be phased out? View a."
    with pytest.raises(InputError, match="no perspectives"):
        search_perspectives(search, ZOOS, [], 4)
    with pytest.raises(InputError, match="k is 0"):
        search_perspectives(search, ZOOS, VIEWS, 0)


def test_the_search_for_each_covers_more_of_the_labelled_perspectives(example):
    """BERDS's gain, on the example: perspectives among the first five, with and without."""
    known = load_example()
    holds = {(q.question_id, q.doc_id): q.perspectives for q in known.labels}

    def search(text, k):
        return example.search(text, k=k)

    plain = expanded = 0
    for question in known.questions:
        views = [p for p in known.perspectives if p.question_id == question.id]
        hits = [h.hit for h in search_perspectives(search, question, views, 5)]
        expanded += len(set().union(*(holds.get((question.id, h.doc_id), ()) for h in hits)))
        hits = search(question.text, 5)
        plain += len(set().union(*(holds.get((question.id, h.doc_id), ()) for h in hits)))
    assert expanded > plain
