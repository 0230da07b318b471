"""What pages of results say of a document: excerpts, sides, labels, reasons of its rank."""

from __future__ import annotations

import asyncio

import pytest

pytest.importorskip("starlette", reason="starlette is not installed")

from pnyx.cases.side_choice import PlacedPassage
from pnyx.core.records import Argument, Document, Passage, Perspective, Question
from pnyx.formats.text.tokens import Tokenizer
from pnyx.judging.answers import Judged, Provenance, Unscored
from pnyx.search.engine import Hit, Topic
from pnyx.search.explain import Explanation
from pnyx.search.hits import RetrievedDocument
from pnyx.search.sides import CORPUS_LABEL, SideVerdict
from pnyx.search.topics import TopicMatch
from pnyx.web.api.rows import CoverageRow
from pnyx.web.ask.address import SearchQuery
from pnyx.web.ask.coverage import _covered, _summary
from pnyx.web.ask.highlights import Marker
from pnyx.web.ask.job import Job
from pnyx.web.ask.rank_explanation import why_view
from pnyx.web.ask.views import result_views, results_view
from pnyx.web.rendering import Links

VOTING = "Should voting be compulsory?"
MARKER = Marker(Tokenizer(), "voting")


def marks(segments) -> list[str]:
    return [segment.text for segment in segments if segment.kind == "mark"]


def joined(segments) -> str:
    return "".join(segment.text for segment in segments)


# Excerpts -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("spaces", "is_found"), [(19_994, True), (19_995, False)])
def test_an_excerpt_is_looked_for_in_20000_characters(spaces, is_found):
    excerpt = MARKER.excerpt("x" + " " * (spaces - 1) + "voting" + " and so on" * 10)
    assert marks(excerpt) == (["voting"] if is_found else [])


@pytest.mark.parametrize(("spaces", "is_marked"), [(399_994, True), (399_995, False)])
def test_words_are_marked_in_400000_characters(spaces, is_marked):
    marked = MARKER.marked("x" + " " * (spaces - 1) + "voting voting")
    assert marks(marked) == (["voting"] if is_marked else [])
    assert joined(marked).endswith("voting voting")


@pytest.mark.parametrize(("length", "is_marked"), [(99, True), (100, False)])
def test_words_of_fewer_than_a_hundred_characters_are_marked(length, is_marked):
    word = "b" * length
    assert marks(Marker(Tokenizer(), word).marked(word)) == ([word] if is_marked else [])


REST = " and so on and on" * 40


@pytest.mark.parametrize(
    ("before", "start"),
    [
        ("a" * 105 + " ", ""),  # the word is at 106, a third of 320: the excerpt begins at 0
        ("a" * 106 + " ", "… voting"),
        # The word is at 122: another begins 21 to 60 characters before it.
        ("a" * 61 + " " + "b" * 59 + " ", "… voting"),
        ("a" * 62 + " " + "b" * 58 + " ", "… " + "b" * 58 + " voting"),
        ("a" * 101 + " " + "b" * 19 + " ", "… " + "b" * 19 + " voting"),
        ("a" * 102 + " " + "b" * 18 + " ", "… voting"),
        ("a" * 40 + ". " + "b" * 90 + " ", "… " + "b" * 90 + " voting"),  # a sentence
        ("a. " + "b" * 120 + ". Its end! ", "… voting"),  # the last end counts
    ],
)
def test_an_excerpt_begins_at_a_sentence_or_a_word(before, start):
    shown = joined(MARKER.excerpt(before + "voting" + REST))
    assert shown.startswith(start or before)


def test_an_excerpt_ends_with_a_word_unless_that_is_very_long():
    def end_of(text: str) -> str:
        return joined(MARKER.excerpt(text, 20))

    assert end_of("voting " + "a" * 13) == "voting " + "a" * 13
    assert end_of("voting " + "a" * 52 + " b") == "voting " + "a" * 52 + " …"
    assert end_of("voting " + "a" * 53 + " b") == "voting " + "a" * 13 + " …"
    assert end_of("voting " + "a" * 14 + "  ") == "voting " + "a" * 14
    assert len(joined(MARKER.excerpt("voting " + "b " * 400))) == 322  # 320, to the end of a word


def test_an_excerpt_has_the_most_distinct_words():
    marker = Marker(Tokenizer(), "voting compulsory")
    gap = " x" * 100
    text = f"voting voting voting{gap} voting compulsory{gap} compulsory"
    assert marks(marker.excerpt(text, 60)) == ["voting", "compulsory"]
    both = f"voting {'x' * 2} compulsory{gap} voting compulsory"  # the first ends at 20
    assert joined(marker.excerpt(both, 20)) == "voting xx compulsory …"


# Documents in a list ------------------------------------------------------------------------------


def judged(value: bool, p: float | None = None, judge: str = "j", why: str = "") -> Judged:
    return Judged(value, Provenance(judge), p, why)


def retrieved(document=None, **more) -> RetrievedDocument:
    document = document or Document("d", "A text.", "Title")
    return RetrievedDocument(Hit(document.id, 1, 2.0), document, **more)


def view_of(hit: RetrievedDocument, placed: PlacedPassage | None = None, question: str = VOTING):
    sides = {} if placed is None else {hit.hit.doc_id: placed}
    (view,) = result_views([hit], sides, SearchQuery(question), MARKER, Links())
    return view


def placed(relevance, sides=(), by: str = "j", **chances: float | None) -> PlacedPassage:
    verdicts = {side: judged(side in sides, p, by) for side, p in chances.items()}
    return PlacedPassage(Document("d", ""), relevance, SideVerdict(verdicts, frozenset(sides)))


@pytest.mark.parametrize(
    ("share", "band"),
    [(0.0, "low"), (0.333, "low"), (0.334, "middle"), (0.666, "middle"), (0.667, "best"),
     (1.0, "best"), (None, "")],
)  # fmt: skip
def test_quality_is_in_thirds(share, band):
    assert view_of(retrieved(quality_share=share)).band == band


def test_names_in_a_list_have_300_characters_and_topics_60():
    topic = Topic(3, "label", ("a" * 21, "b" * 21, "c" * 21, "d"))
    long = Document("d", "t" * 301 + ". The text.", "t" * 301, passage=Passage("d", 2, 9))
    view = view_of(retrieved(long, topic=topic))
    assert (len(view.title), view.passage_label) == (300, "passage 2 of 9")
    assert joined(view.excerpt) == "The text."  # without the title
    assert (len(view.topic), view.topic_number) == (60, "3")
    assert view.topic.endswith("c")  # the fourth word is not shown
    assert "topic=3" in view.topic_href
    assert view_of(retrieved(topic=Topic(0, "label", ("a", "b", "c", "d")))).topic == "a, b, c"
    assert view_of(retrieved(topic=Topic(0, "label", ()))).topic == "label"
    assert view_of(retrieved(Document("", "x"))).title == "(no id)"


@pytest.mark.parametrize(
    ("passage", "standing", "said"),
    [
        (None, "", ""),
        (placed(judged(True, 0.9), ("pro",), pro=0.8, con=0.2), "pro", "For, judged, p = 0.72"),
        (placed(judged(True), ("con",), CORPUS_LABEL, con=None), "con",
         "Against, by the corpus's label"),
        (placed(judged(False, 0.1)), "off", "Argues neither side, p = 0.10"),
        (placed(judged(True, 0.5), pro=0.6, con=0.4), "undecided",
         "Not likely enough, for p = 0.30, against p = 0.20"),
        (PlacedPassage(Document("d", ""), judged(True), SideVerdict(
            {"pro": Unscored("refused: " + "x" * 300, Provenance("j"))}, frozenset())),
         "undecided", "No verdict: refused: " + "x" * 191),
    ],
)  # fmt: skip
def test_the_side_of_a_document_is_said_with_its_probability(passage, standing, said):
    view = view_of(retrieved(), passage)
    assert view.standing == standing
    assert view.side_said == said
    assert view.side == (standing if standing in ("pro", "con") else "")


def test_verdicts_are_in_the_judges_words():
    passage = placed(judged(True, 0.9, why="It says so."), ("pro",), pro=0.8)
    assert view_of(retrieved(), passage).verdicts == (
        "Argues a side? yes, p = 0.90, j: It says so.", "For? yes, p = 0.80, j",
    )  # fmt: skip
    long = placed(judged(False, None, why="w" * 301))
    assert view_of(retrieved(), long).verdicts == ("Argues a side? no, j: " + "w" * 300,)
    unscored = placed(Unscored("r" * 201, Provenance("j")))
    assert view_of(retrieved(), unscored).verdicts[0].endswith("Unscored: " + "r" * 200)


@pytest.mark.parametrize(
    ("match", "label"),
    [
        (None, "labelled pro on “Zoos”"),
        (TopicMatch("Zoos", 1.0, 0.0, "words", used=True), "labelled pro on this question"),
        (TopicMatch("Zoos", 0.1, 0.1, "meaning", used=False),
         "labelled pro on “Zoos”, perhaps this question (p = 0.20)"),
        (TopicMatch("Zoos", 0.1, 0.09, "meaning", used=False),
         "labelled pro on “Zoos”, another question (p = 0.19)"),
    ],
)  # fmt: skip
def test_a_label_says_whether_it_is_on_the_question(match, label):
    document = Argument("a", "Zoos are bad.", topic="Zoos", stance="pro")
    assert view_of(retrieved(document, match=match)).label == label
    meaning = TopicMatch("Zoos", 0.9, 0.0, "meaning", used=True)
    said = view_of(retrieved(document, match=meaning)).label
    assert said.startswith("labelled pro on “Zoos”, which ")
    assert view_of(retrieved()).label == ""


# The page -----------------------------------------------------------------------------------------


def page_of(query: SearchQuery, count: int, **more):
    hits = [
        retrieved(Document(f"d{n}", "x"), topic=Topic(n % 12, f"t{n % 12}", ()), **more)
        for n in range(count)
    ]
    views = result_views(hits, None, query, MARKER, Links())
    return results_view(query, views, Links(), waiting=True, summary="")


@pytest.mark.parametrize(
    ("asked", "found", "more"),
    [(20, 20, "n=40"), (20, 19, ""), (80, 80, "n=100"), (99, 99, "n=100"), (100, 100, "")],
)
def test_twenty_more_documents_are_offered_up_to_100(asked, found, more):
    link = page_of(SearchQuery("Why?", asked), found)["more"]
    assert link.endswith(more)
    assert bool(link) is bool(more)


def test_ten_values_of_a_filter_are_offered_the_chosen_one_first():
    page = page_of(SearchQuery("Why?", topic="11"), 30)
    side, topic = page["facets"]
    offers = topic["offers"]
    assert [offer["label"] for offer in offers][:8] == [
        "t11", "t0", "t1", "t2", "t3", "t4", "t5", "t6",
    ]  # fmt: skip
    assert (len(offers), offers[0]["count"], offers[1]["count"]) == (10, 2, 3)
    assert [offer["count"] for offer in side["offers"]] == [None] * 4  # not decided yet
    assert not any(offer["href"] for offer in side["offers"])
    assert [result.title for result in page["shown"]] == ["d11", "d23"]
    assert page["chips"] == [("t11", "/?q=Why%3F")]
    rated = page_of(SearchQuery("Why?", quality="best"), 2, quality_share=0.9)
    assert [facet["name"] for facet in rated["facets"]] == ["side", "topic", "quality"]
    assert rated["chips"] == [("Best third", "/?q=Why%3F")]
    assert page_of(SearchQuery("Why?", topic="99"), 2)["chips"][0][0] == "topic 99"


def test_documents_are_listed_by_side_once_it_is_decided():
    query = SearchQuery(VOTING, side="con")
    hits = [retrieved(Document(f"d{n}", "x")) for n in range(4)]
    sides = {
        "d0": placed(judged(True, 0.9), ("pro",), pro=0.9),
        "d1": placed(judged(True, 0.9), ("con",), con=0.9),
        "d2": placed(judged(False, 0.1)),
        "d3": placed(judged(True, 0.9), ("con",), con=0.9),
    }
    views = result_views(hits, sides, query, MARKER, Links())
    page = results_view(query, views, Links(), waiting=False, summary="")
    assert [result.title for result in page["shown"]] == ["d1", "d3"]
    assert [(group["name"], group["said"]) for group in page["sides"]] == [("con", "2 documents")]
    assert page["others"] == []
    all_sides = SearchQuery(VOTING)
    page = results_view(all_sides, views, Links(), waiting=False, summary="")
    assert [group["name"] for group in page["sides"]] == ["pro", "con"]
    assert page["sides"][0]["said"] == "one document"
    assert [group["name"] for group in page["others"]] == ["off"]
    counts = [offer["count"] for offer in page["facets"][0]["offers"]]
    assert counts == [1, 2, 0, 1]
    off = SearchQuery(VOTING, side="off")
    assert results_view(off, views, Links(), waiting=False, summary="")["sides"] == []


# Why a document ranks where it does ---------------------------------------------------------------


def test_eight_words_are_named_the_strongest_first():
    words = tuple(Explanation(f"w{n}", float(n), float(n)) for n in range(9))
    view = why_view(1, Explanation("bm25", 9.0, 9.0, combine="sum", parts=words))
    assert view.sentence == "Number 1 with a score of 9.00."
    assert view.rows[0].meaning == "BM25 score: " + ", ".join(
        f"w{n} {n}.00" for n in range(8, 0, -1)
    )


@pytest.mark.parametrize(
    ("words", "meaning", "said"),
    [(1.25, 1.0, "Words count most."), (1.2499, 1.0, "Both count about the same."),
     (1.0, 1.25, "Meaning counts most.")],
)  # fmt: skip
def test_a_part_counts_most_from_a_quarter_more(words, meaning, said):
    parts = (Explanation("dirichlet", words, 1.0), Explanation("dense", meaning, 1.0))
    why = Explanation("hybrid", words + meaning, None, combine="sum", parts=parts)
    assert why_view(3, why).sentence.endswith(said)


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (1000.0, "1,000"),
        (999.99, "999.99"),
        (0.01, "0.01"),
        (0.00999, "0.00999"),
        (-2000, "-2,000"),
    ],
)
def test_numbers_have_fitting_digits(value, shown):
    why = Explanation("dense", value, 0.5)
    assert why_view(1, why).sentence == f"Number 1 with a score of {shown}."


def test_parts_of_a_score_are_explained():
    copy, unknown = Explanation("copy", 0.5, None), Explanation("quality", 1.0, None)
    known = Explanation("quality", 1.2, 0.4, 0.5)
    why = Explanation("good", 0.6, None, combine="product", parts=(copy, unknown, known))
    view = why_view(1, why)
    assert [row.value for row in view.rows] == ["× 0.50", "× 1.00", "× 1.20"]
    assert [row.meaning for row in view.rows] == [
        "nearly the same text as a result above it",
        "its quality is unknown, so the middle is assumed",
        "1 + 0.5 × 0.40, the share of documents of lower quality",
    ]
    dense = Explanation("dense", 0.5, 0.25, 0.75, 2)
    row = why_view(1, dense).rows[0]
    assert (row.label, row.meaning) == (
        "Meaning",
        "cosine of question and document 0.25, rank 2 by this part alone, weight 0.75",
    )
    words = Explanation("R", 1.0, None)
    touche = Explanation("touche", 1.0, None, combine="product", parts=(words, words))
    assert [row.meaning for row in why_view(1, touche).rows] == ["fixed at 1"] * 2


# Perspectives -------------------------------------------------------------------------------------


def test_a_perspective_is_missing_only_if_every_verdict_is_a_no():
    documents = [Document("a", ""), Document("b", "")]
    view = Perspective("p", "q", "Ban cars.", extra={"documents": ["z"]})
    unscored = Unscored("refused", Provenance("j"))

    def covered(a, b):
        row = _covered(view, documents, {("p", "a"): a, ("p", "b"): b})
        return row.state, row.scored, [(d.id, d.probability) for d in row.documents]

    no, yes = judged(False, 0.1), judged(True, 0.7)
    assert covered([no], [no]) == ("missing", 2, [])
    assert covered([no], [unscored]) == ("unscored", 1, [])
    assert covered([no, yes, judged(True, 0.9)], [unscored]) == ("covered", 1, [("a", 0.9)])
    assert covered([yes, unscored], [no]) == ("covered", 2, [("a", 0.7)])
    assert covered([judged(True)], [yes]) == ("covered", 2, [("a", None), ("b", 0.7)])
    assert _covered(view, documents, {}).taken_from == ["z"]


@pytest.mark.parametrize(
    ("states", "said"),
    [
        ((), "No perspectives on this question were found."),
        (("covered",), "The best 2 documents cover 1 of 1 perspectives, taken from x."),
        (("covered", "missing"),
         "The best 2 documents cover 1 of 2 perspectives, taken from x; 1 is missing."),
        (("missing", "missing", "unscored"), "The best 2 documents cover 0 of 3 perspectives, "
         "taken from x; 2 are missing; for 1 a verdict is missing."),
    ],
)  # fmt: skip
def test_coverage_is_a_sentence(states, said):
    rows = [
        {"id": f"p{n}", "text": "x", "stance": None, "state": state, "documents": [], "scored": 0,
         "asked": 2, "taken_from": []}
        for n, state in enumerate(states)
    ]  # fmt: skip
    question = {"id": "q", "text": "Why?"}
    row = CoverageRow.model_construct(
        question=question, source="x", documents=["a", "b"], judge="", card="", problems=[],
        unscored=0, perspectives=[type("Row", (), row) for row in rows],
    )  # fmt: skip
    assert Question(**question).text == "Why?"
    assert _summary(row) == said


def test_only_the_latest_count_of_verdicts_is_kept():
    async def main() -> list[tuple[str, object]]:
        job = Job()
        for done in (1, 2):
            job.count(done, 3, 0)
        job.tell("sides", {"pro": 1})
        job.count(3, 3, 0)
        await asyncio.sleep(0)
        return [(step.name, step.values.get("done")) for step in job.steps]

    assert asyncio.run(main()) == [("judging", 2), ("sides", None), ("judging", 3)]
