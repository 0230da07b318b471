"""What the pages of `pnyx serve` are made of: marks, excerpts, reasons, addresses, examples."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pnyx.core.errors import InputError
from pnyx.core.records import Argument, Document
from pnyx.display.text import clean
from pnyx.formats.bundled_example import load_example
from pnyx.formats.text.tokens import Tokenizer
from pnyx.judging.students.surface_quality import QualityModel
from pnyx.search import Index, Scoring, build_index, cluster_documents, score_documents
from pnyx.search.explain import Explanation, explain
from pnyx.web.ask.address import SearchQuery, document_link, read_search_query
from pnyx.web.ask.examples import example_questions
from pnyx.web.ask.highlights import Marker
from pnyx.web.ask.rank_explanation import why_view
from pnyx.web.rendering import Links

QUESTION = "Should voting be compulsory?"


def marks(segments):
    return [one.text for one in segments if one.kind == "mark"]


def joined(segments):
    return "".join(one.text for one in segments)


def test_words_are_marked_in_any_form_and_those_of_the_form_are_not():
    marker = Marker(Tokenizer(), QUESTION)
    text = "She should vote. Voters voted; it's compulsory-ish: COMPULSORY, votes' end."
    assert marks(marker.marked(text)) == ["vote", "voted", "compulsory", "COMPULSORY", "votes"]
    assert joined(marker.marked(text)) == text
    # A question of nothing else is marked by what it has.
    assert marks(Marker(Tokenizer(), "Should we do it?").marked("We do it")) == ["We", "do"]
    assert marks(Marker(Tokenizer(), "").marked(text)) == []


def test_an_excerpt_is_where_most_of_the_question_is():
    before, after = "Nothing to see here. " * 40, " And so it goes on and on." * 40
    told = "Voting is no longer free where voting is compulsory, said some. "
    excerpt = Marker(Tokenizer(), QUESTION).excerpt(before + told + after)
    assert marks(excerpt) == ["Voting", "voting", "compulsory"]
    assert joined(excerpt).startswith("… Voting is no longer free")
    assert joined(excerpt).endswith(" …")
    assert 250 < len(joined(excerpt)) < 400
    assert joined(Marker(Tokenizer(), QUESTION).excerpt("Short.")) == "Short."


@settings(deadline=None)
@given(st.text(max_size=900), st.text(max_size=60))
def test_nothing_is_added_and_nothing_lost(text, question):
    marker = Marker(Tokenizer(), question)
    # Line ends of two characters become one where a text is made harmless.
    text = text.replace("\r", "\n")
    assert joined(marker.marked(text)) == clean(text)
    shown = joined(marker.excerpt(text, 100))
    assert shown.removeprefix("… ").removesuffix(" …") in clean(text)


@pytest.fixture(scope="module")
def index(tmp_path_factory):
    from pnyx.models.embed.embedder import embedder_from

    folder = tmp_path_factory.mktemp("pages") / "small.index"
    topics = ("compulsory-voting", "zoos")
    build_index([d for d in load_example().arguments if d.id.startswith(topics)], folder)
    score_documents(folder, QualityModel.load())
    cluster_documents(folder, embedder_from(), k=2)
    return Index.open(folder)


def test_the_parts_of_touche_multiply_to_the_score_in_words(index):
    from pnyx.models.embed.embedder import embedder_from

    scoring, embedder = Scoring("touche"), embedder_from()
    hits = index.retrieve(QUESTION, scoring, 3, embedder)
    why = explain(index, QUESTION, scoring, [hit.doc_id for hit in hits], embedder)
    for hit, one in zip(hits, why, strict=True):
        view = why_view(hit.rank, one)
        assert [row.label for row in view.rows] == ["R, relevance", "C, topic", "Q, quality"]
        product = 1.0
        for row in view.rows:
            product *= float(row.value.removeprefix("× "))
        assert product == pytest.approx(hit.score, rel=0.03)
        assert view.sentence.startswith(f"Number {hit.rank} with a score of {hit.score:.2f}")
        assert " for relevance × " in view.sentence
        assert "voting" in view.rows[0].meaning.casefold()
        assert view.rows[1].meaning.startswith("1 + 10 × 0.")
        assert view.rows[2].meaning.startswith("1 + 5 × 0.")


def test_a_hybrid_is_told_by_its_two_parts():
    words = Explanation(
        "dirichlet", 0.3, 4.2, 0.3, 1, "sum",
        (Explanation("a\u202eb", 1.0, 1.0), Explanation("tax", 3.2, 3.2)),
    )  # fmt: skip
    dense = Explanation("dense", 0.07, None, 0.7)
    view = why_view(2, Explanation("hybrid", 0.37, 0.37, combine="sum", parts=(words, dense)))
    assert view.sentence == (
        "Number 2 with a score of 0.37, which is 0.30 for words + 0.07 for meaning. "
        "Words count most."
    )
    assert view.rows[0].meaning == (
        "Dirichlet score 4.20, rank 1 by this part alone, weight 0.3: tax 3.20, ab 1.00"
    )
    assert view.rows[1].meaning == "not among the most similar in meaning"
    assert why_view(9, None).rows == ()


def test_an_address_holds_what_was_chosen_and_no_more():
    asked = SearchQuery("Tea & cake?", 40, "con", "3", "best")
    link = asked.link(Links())
    assert link == "/?q=Tea+%26+cake%3F&n=40&side=con&topic=3&quality=best"
    assert read_search_query(asked.fields()) == asked
    odd = {"q": " a\n\u202eb ", "side": "both", "topic": "x", "quality": "<b>"}
    assert read_search_query(odd) == SearchQuery("a b")
    for bad in ({}, {"q": " "}, {"q": "x", "n": "0"}, {"q": "x", "n": "101"}, {"q": "x" * 2001}):
        with pytest.raises(InputError):
            read_search_query(bad)
    assert document_link(Links(), "doc-1.a") == "/doc/doc-1.a"
    assert document_link(Links(), "../x", "q?") == "/doc?id=..%2Fx&q=q%3F"


def test_examples_are_topics_with_both_sides(index, tmp_path):
    assert set(example_questions(index)) == {
        "Should voting be compulsory?",
        "Should zoos be phased out?",
    }
    one_sided = [
        Argument(f"a{n}", "Cats are nice.", stance="pro", topic="Are cats nice?") for n in range(5)
    ]
    build_index([*one_sided, Document("d", "Dogs.")], tmp_path / "other.index")
    assert example_questions(Index.open(tmp_path / "other.index")) == ()
