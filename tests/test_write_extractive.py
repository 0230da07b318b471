"""The extractive writer with the real packaged encoder: grounded, ordered, without repeats."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pnyx.cases.extractive import ExtractiveWriter, _heads
from pnyx.core.records import Argument, Document, Premise, Question
from pnyx.models.http.flow import run_blocking
from pnyx.search.quotable import flaw
from tries import tries

QUESTION = Question("q", "Should voting be compulsory?")


@pytest.fixture(scope="module")
def writer() -> ExtractiveWriter:
    return ExtractiveWriter()


def _argument(name: str, conclusion: str, *premises: str) -> Argument:
    return Argument(name, conclusion, tuple(map(Premise, premises)), "pro", QUESTION.text)


DUTY = _argument(
    "duty",
    "Voting is a duty like jury service, so the law may demand it.",
    "Juries work because nobody may simply decline to take part in them.",
    "A parliament chosen by half of the people speaks only for that half.",
)
TURNOUT = _argument(
    "turnout",
    "Fines for staying at home lift turnout among the young and the poor.",
    "Parties court the groups that vote, and forget the ones that do not.",
    "A parliament chosen by half of the people speaks only for that half.",
)


def test_each_sentence_is_quoted_from_the_first_document_it_cites(writer: ExtractiveWriter) -> None:
    draft = run_blocking(writer.write(QUESTION, "pro", [DUTY, TURNOUT]))
    texts = {"duty": DUTY.text, "turnout": TURNOUT.text}
    assert draft.sentences
    for sentence in draft.sentences:
        assert sentence.text in texts[sentence.citations[0].doc_id]
    assert next(s.extra["role"] for s in draft.sentences) == "conclusion"
    conclusions = [s.text for s in draft.sentences if s.extra["role"] == "conclusion"]
    assert set(conclusions) == {DUTY.conclusion, TURNOUT.conclusion}
    assert not draft.failed


def test_points_are_in_the_order_of_their_documents() -> None:
    """The strongest document is given first, whichever is chosen first for its likeness."""
    others = [
        _argument("roads", "Compulsory voting would keep roads in poor districts in repair."),
        _argument("school", "Pupils who know that they will have to vote learn about parties."),
    ]
    writer = ExtractiveWriter(order=0.0)
    for order in itertools.permutations([DUTY, TURNOUT, *others]):
        draft = run_blocking(writer.write(QUESTION, "pro", order))
        heads = [s.citations[0].doc_id for s in draft.sentences if s.extra["role"] == "conclusion"]
        assert len(heads) == 4
        assert heads == [one.id for one in order]


def test_what_two_documents_say_is_written_once_and_cites_both(writer: ExtractiveWriter) -> None:
    draft = run_blocking(writer.write(QUESTION, "pro", [DUTY, TURNOUT]))
    shared = [s for s in draft.sentences if s.text.startswith("A parliament chosen")]
    assert len(shared) == 1
    assert {c.doc_id for c in shared[0].citations} == {"duty", "turnout"}


def test_the_same_document_twice_makes_one_point(writer: ExtractiveWriter) -> None:
    twin = _argument("twin", DUTY.conclusion, *(p.text for p in DUTY.premises))
    draft = run_blocking(writer.write(QUESTION, "pro", [DUTY, twin]))
    assert sum(s.extra["role"] == "conclusion" for s in draft.sentences) == 1
    assert all({c.doc_id for c in s.citations} == {"duty", "twin"} for s in draft.sentences)


def test_a_repeated_conclusion_takes_no_other_points_place() -> None:
    twins = [
        _argument(f"twin-{n}", DUTY.conclusion, *(p.text for p in DUTY.premises)) for n in range(3)
    ]
    draft = run_blocking(
        ExtractiveWriter(points=2, novelty=0.0).write(QUESTION, "pro", [DUTY, *twins, TURNOUT])
    )
    conclusions = [s.text for s in draft.sentences if s.extra["role"] == "conclusion"]
    assert conclusions == [DUTY.conclusion, TURNOUT.conclusion]


def test_it_is_deterministic_and_keeps_to_its_limits() -> None:
    drafts = [
        run_blocking(ExtractiveWriter(points=1, premises=1).write(QUESTION, "pro", [DUTY, TURNOUT]))
        for _ in range(2)
    ]
    assert drafts[0] == drafts[1]
    assert [s.extra["role"] for s in drafts[0].sentences] == ["conclusion", "premise"]


def test_a_plain_document_gets_its_most_typical_sentence_as_conclusion(
    writer: ExtractiveWriter,
) -> None:
    text = (
        "Compulsory voting makes parliaments speak for everybody in the land. "
        "My train was late on Tuesday morning because of the snow. "
        "Where voting is compulsory, parliaments stand for all of the people."
    )
    draft = run_blocking(writer.write(QUESTION, "pro", [Document("page", text)]))
    assert "parliaments" in draft.sentences[0].text
    assert all(s.text in text for s in draft.sentences)


def test_footnotes_and_references_are_not_quoted(writer: ExtractiveWriter) -> None:
    text = (
        "Fines for staying at home lift turnout among the young and the poor. [i] "
        "[ii] ‘Voting: a duty’, hugo's blog on elections, 21 April 2010. "
        "Mason, Daniel, ‘Opposition to Voting Grows’, Public Service Europe, 13 May 2012. "
        "See https://example.org/turnout for all the figures on compulsory voting there."
    )
    draft = run_blocking(writer.write(QUESTION, "pro", [Document("page", text)]))
    assert [s.text for s in draft.sentences] == [
        "Fines for staying at home lift turnout among the young and the poor."
    ]


def test_nothing_to_quote_writes_nothing(writer: ExtractiveWriter) -> None:
    assert run_blocking(writer.write(QUESTION, "pro", [])).sentences == ()
    assert (
        run_blocking(writer.write(QUESTION, "pro", [Document("d", "Too short.")])).sentences == ()
    )


@settings(
    max_examples=tries(25),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(st.lists(st.text(max_size=300), min_size=1, max_size=4))
def test_any_text_is_quoted_verbatim_or_not_at_all(
    writer: ExtractiveWriter, texts: list[str]
) -> None:
    documents = [Document(str(i), t) for i, t in enumerate(texts)]
    for sentence in run_blocking(writer.write(QUESTION, "con", documents)).sentences:
        assert sentence.text in texts[int(sentence.citations[0].doc_id)]


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("National service would give young people a sense of purpose.", ""),
        ("It is unfair to punish a whole team for what one athlete did.", ""),
        ("Those who earn more can bear a larger share of the burden.", ""),
        ("This means that fewer people will be able to vote.", "leaning"),
        ("If they leave the country, the taxes will be lost.", "leaning"),
        ("In fact, most buses run empty outside the cities.", "leaning"),
        ("In your first counterargument you state that buses are cheap.", "debate"),
        ("The proposition claims that zoos teach children.", "debate"),
        ("Critics say that the tax drives the rich away.", "conceding"),
        ("It is true that fares pay for a part of the service, but it is small.", "conceding"),
        ("Would anybody pay for such a service of their own accord?", "question"),
        ("and so the fares have to pay for the whole service.", "middle"),
        ("a) Free buses are used by more people than cheap ones.", "middle"),
        ("Free buses are used by many more people :)", "smiley"),
        ("See the figures of the service at www.buses.example today.", "link"),
        ("The Many Uses of Free Buses in Cities", "heading"),
        ("We grant that free buses are of use to a few.", "conceding"),
        ("We grant free rides to all who are out of work.", ""),
        ("Report of the Council It is a waste to run empty buses.", "middle"),
        ("We have already pointed out how many people ride free buses.", "debate"),
        ("Second, free buses are used by more people than cheap ones.", "leaning"),
        ("Free buses cost the city of Halden approx.", "middle"),
    ],
)
def test_a_sentence_that_cannot_stand_alone_says_why(sentence: str, expected: str) -> None:
    assert flaw(sentence) == expected


def test_what_cannot_stand_is_not_quoted_while_another_can(writer: ExtractiveWriter) -> None:
    leaning = "However, they have to be paid for by people who never use them."
    alone = "Free buses bring people without a car to work and to school."
    document = Document("d", f"{leaning} {alone} Who would want to walk in the rain?")
    draft = run_blocking(writer.write(QUESTION, "pro", [document]))
    assert [s.text for s in draft.sentences] == [alone]
    draft = run_blocking(writer.write(QUESTION, "pro", [Document("d", leaning)]))
    assert [s.text for s in draft.sentences] == [leaning], "a side is not left empty for it"
    asks = Document("d", "Who would ever want to walk in the rain?")
    assert not run_blocking(writer.write(QUESTION, "pro", [asks])).sentences


def test_what_the_next_sentence_takes_back_is_conceded() -> None:
    granted = "Free buses bring people without a car to work and to school."
    assert flaw(granted, "They save the climate.") == ""
    assert flaw(granted, "However, they have to be paid for.") == "conceding"


def test_a_heading_without_a_verb_is_no_conclusion() -> None:
    assert _heads("The effect on the morale of drivers")
    assert not _heads("Free buses harm the morale of drivers")


def test_a_huge_conclusion_is_not_read_for_flaws(monkeypatch):
    monkeypatch.setattr("pnyx.cases.extractive.flaw", lambda _: pytest.fail("was read"))
    assert _heads("It grew " + "as i " * 50_000)


@pytest.mark.parametrize(("before", "quoted"), [(59, True), (60, False)])
def test_sixty_sentences_of_a_document_are_read(
    writer: ExtractiveWriter, before: int, quoted: bool
) -> None:
    """The first ones are too short to be quoted."""
    head = "Compulsory voting would make parties listen to poor people."
    text = " ".join([*(f"Number {n} is." for n in range(before)), head])
    draft = run_blocking(writer.write(QUESTION, "pro", [Document("d", text)]))
    assert [sentence.text for sentence in draft.sentences] == [head] * quoted
