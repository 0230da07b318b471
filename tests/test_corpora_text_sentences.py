"""The language of texts, and sentences with a single auxiliary."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pnyx.audit.trials.contradictions import as_question, denied, negated
from pnyx.audit.trials.patterns import as_motion
from pnyx.formats.text.language import language_of, other_language

ENGLISH = "The council should not have sold the houses, because the tenants were there first."
GERMAN = "Die Mieten sind zu hoch, und das ist für viele nicht mehr zu bezahlen."


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Should voting be compulsory?", "English"),
        (ENGLISH, "English"),
        (GERMAN, "German"),
        ("Ist die Mietpreisbremse gut für Mieter?", "German"),
        ("La vie est-elle trop chère pour les jeunes ?", "French"),
        ("¿Deberían prohibirse los zoológicos?", "Spanish"),
        ("I zoo dovrebbero essere vietati?", "Italian"),
        ("Os zoológicos devem ser proibidos?", "Portuguese"),
        ("Moeten dierentuinen verboden worden?", "Dutch"),
        ("Ska vi förbjuda djurparker?", "Swedish"),
        ("Нужно ли запретить зоопарки?", "a language in Cyrillic letters"),
        ("動物園を禁止すべきですか?", "Japanese"),
        ("应该禁止动物园吗?", "Chinese"),
        ("The sum of α and β is for those that we have not.", "English"),
        # In doubt.
        ("", ""),
        ("42 %", ""),
        ("rent control", ""),
        ("Cash or card?", ""),
        ("Die Hard or Alien?", ""),
        ("Should die Grünen govern?", ""),
        ("Is La La Land a good film?", ""),
        ("Do en passant rules in chess matter?", ""),
        ("Le Pen or Macron?", ""),
        ("Tempo 130 auf Autobahnen?", ""),
    ],
)
def test_the_language_of_a_text(text, language):
    assert language_of(text) == language


@pytest.mark.parametrize(
    ("question", "documents", "languages"),
    [
        ("Ist die Mietpreisbremse gut?", [ENGLISH, ENGLISH, "42"], ("German", "English")),
        ("Should voting be compulsory?", [GERMAN], ("English", "German")),
        ("Should voting be compulsory?", [GERMAN, GERMAN, ENGLISH], None),  # some are in it
        ("Ist die Mietpreisbremse gut?", [ENGLISH, "Нужно ли это?"], None),  # no one language
        ("Should voting be compulsory?", [ENGLISH], None),
        ("Le Pen or Macron?", [ENGLISH], None),
        ("Ist die Mietpreisbremse gut?", [], None),
        ("Ist die Mietpreisbremse gut?", ["42"], None),
    ],
)
def test_a_question_in_another_language_than_the_documents(question, documents, languages):
    note = other_language(question, documents)
    if languages is None:
        assert note == ""
    else:
        assert note.startswith(
            f"The question seems to be in {languages[0]}, the documents in {languages[1]}"
        )


@given(st.text())
def test_any_text_may_be_in_a_language(text):
    assert isinstance(language_of(text), str)


@pytest.mark.parametrize(
    ("claim", "negation", "question"),
    [
        ("Golf is a sport.", "Golf is not a sport.", "Is Golf a sport?"),
        ("The UN should recognise Palestine", "The UN should not recognise Palestine",
         "Should the UN recognise Palestine?"),
        ("Coal can go.", "Coal cannot go.", "Can Coal go?"),
        ("There are five parks.", "There are not five parks.", "Are there five parks?"),
        ("Tea should not be drunk.", "Tea should be drunk.", None),
        ("Tea Should Not Be Drunk", "Tea Should Be Drunk", None),
        ("Zoos and circuses are cruel.", "Zoos and circuses are not cruel.",
         "Are Zoos and circuses cruel?"),
        ("This house would ban bags!", "This house would not ban bags!", "Should we ban bags?"),
    ],
)  # fmt: skip
def test_a_single_auxiliary_is_negated_and_asked(claim, negation, question):
    assert negated(claim) == negation
    assert as_question(claim) == question


@pytest.mark.parametrize(
    "claim",
    ["", "Death penalty", "Tea isn't healthy", "Google never lies", "Cats chase mice", "Is it?",
     "What the UN should do is reform", "The will of the people", "Free will is real",
     "Those who are rich must pay", "Tea is", "Nobody should smoke", "If it rains, tea is good",
     "Tea is good, but it isn't cheap", "Tea is not cheap and not good"],
)  # fmt: skip
def test_other_claims_are_left_alone(claim):
    assert negated(claim) is None
    assert as_question(claim) is None


@pytest.mark.parametrize(
    ("claim", "negation"),
    [
        ("Tea is bad, they say.", "Tea is not bad, they say."),
        ("Tea is cheap and bad for you.", "Tea is not cheap and bad for you."),
        ("It can be said that it is so.", "It cannot be said that it is so."),
        ("Tea is good because it is warm.", "Tea is not good because it is warm."),
    ],
)
def test_a_second_verb_is_no_question_but_can_be_negated(claim, negation):
    assert negated(claim) == negation
    assert as_question(claim) is None


@pytest.mark.parametrize(
    ("sentence", "denial"),
    [
        ("The school uniforms reduce bullying.",
         "It is not true that the school uniforms reduce bullying."),
        ("Ashville sold 20 parks", "It is not true that Ashville sold 20 parks"),
        ("Cats chase mice.", None),
        ("Who sold the parks?", None),
        ("However, cats chase the mice.", None),
        ("", None),
    ],
)  # fmt: skip
def test_any_sentence_of_four_words_can_be_denied(sentence, denial):
    assert denied(sentence) == denial


@pytest.mark.parametrize(
    ("question", "motion"),
    [
        ("Should voting be compulsory?", "This house believes that voting should be compulsory."),
        ("Should the sale of guns be banned in towns?",
         "This house believes that the sale of guns should be banned in towns."),
        ("Should people who are ill be treated?", ""),
        ("Should voters want to be heard?", ""),
        ("Should children be told to be good?", ""),
        ("Should we ban zoos?", ""),
        ("Is golf a sport?", ""),
        ("Voting should be compulsory", ""),
        ("Should be?", ""),
        ("Should", ""),
        ("", ""),
    ],
)  # fmt: skip
def test_a_question_as_a_motion(question, motion):
    assert as_motion(question) == (motion or question)
