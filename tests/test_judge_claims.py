"""Both sides' claims of a question."""

from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pnyx.judge.claims import claims, is_plain, opposite, other_side, question_from

PAIRS = [
    ("Should social media be regulated?", "Social media should be regulated.",
     "Social media should not be regulated."),
    ("Should drug use be legal?", "Drug use should be legal.", "Drug use should not be legal."),
    ("Should people who may be infected be isolated?",
     "People who may be infected should be isolated.",
     "People who may be infected should not be isolated."),
    ("Should Felons Who Have Completed Their Sentence Be Allowed to Vote?",
     "Felons Who Have Completed Their Sentence should be Allowed to Vote.",
     "Felons Who Have Completed Their Sentence should not be Allowed to Vote."),
    ("Should there be a minimum weight for models?", "There should be a minimum weight for models.",
     "There should not be a minimum weight for models."),
    ("Should prisoners have the right to vote?", "Prisoners should have the right to vote.",
     "Prisoners should not have the right to vote."),
    ("Should we ban bags?", "We should ban bags.", "We should not ban bags."),
    ("Should we not ban plastic bags?", "We should not ban plastic bags.",
     "We should ban plastic bags."),
    ("Is golf a sport?", "Golf is a sport.", "Golf is not a sport."),
    ("Is feminism still needed?", "Feminism is still needed.", "Feminism is no longer needed."),
    ("Are cell phones safe?", "Cell phones are safe.", "Cell phones are not safe."),
    ("Was the Iraq war legal?", "The Iraq war was legal.", "The Iraq war was not legal."),
    ("Do standardized tests improve education?", "Standardized tests improve education.",
     "Standardized tests do not improve education."),
    ("Does capitalism work?", "Capitalism works.", "Capitalism does not work."),
    ("Does an increase in choice lead to unhappiness?",
     "An increase in choice leads to unhappiness.",
     "An increase in choice does not lead to unhappiness."),
    ("Can alternative energy effectively replace fossil fuels?",
     "Alternative energy can effectively replace fossil fuels.",
     "Alternative energy cannot effectively replace fossil fuels."),
    ("Would a unified Europe be more influential?", "A unified Europe would be more influential.",
     "A unified Europe would not be more influential."),
    ("This House would ban X", "This House would ban X.", "This House would not ban X."),
    ("This house believes that violent games should be banned",
     "Violent games should be banned.", "Violent games should not be banned."),
    ("Do you think foods with modified genes are better for your health?",
     "Foods with modified genes are better for your health.",
     "Foods with modified genes are not better for your health."),
    ("Do you believe that the UN is useful?", "The UN is useful.", "The UN is not useful."),
    ("Do you believe in God?", "You believe in God.", "You do not believe in God."),
    ("They have it easy because they can get benefits",
     "They have it easy because they can get benefits.",
     "It is not true that they have it easy because they can get benefits."),
    ("Abortion should not be legal.", "Abortion should not be legal.", "Abortion should be legal."),
    ("Nuclear power cannot replace coal", "Nuclear power cannot replace coal.",
     "Nuclear power can replace coal."),
    ("Ban plastic bags", "We should ban plastic bags.", "We should not ban plastic bags."),
    ("The school uniforms reduce bullying", "The school uniforms reduce bullying.",
     "It is not true that the school uniforms reduce bullying."),
    ("Do politicians have no right to privacy?", "Politicians have no right to privacy.",
     "It is not true that politicians have no right to privacy."),
]  # fmt: skip


@pytest.mark.parametrize(("question", "pro", "con"), PAIRS)
def test_a_question_becomes_two_claims(question, pro, con):
    assert claims(question) == (pro, con)


@pytest.mark.parametrize(
    "question",
    ["What is love?", "How should waste be stored?", "Are video games art?", "Is X right? Or is Y?",
     "May a school cane a child when both parents agree?"],
)  # fmt: skip
def test_a_question_that_cannot_be_taken_apart_stands_with_yes_and_no(question):
    pro, con = claims(question)
    assert (pro, con) == (f"{question} Yes.", f"{question} No.")
    assert not is_plain(pro)
    assert (other_side(pro), other_side(con)) == (con, pro)


@pytest.mark.parametrize(
    ("question", "pro", "con"),
    [
        ("What are the arguments for and against nuclear power?", "Nuclear power is a good thing.",
         "Nuclear power is a bad thing."),
        ("what are the pros and cons of school uniforms", "School uniforms are a good thing.",
         "School uniforms are a bad thing."),
        ("Is sugar good or bad for children?", "Sugar is good for children.",
         "Sugar is bad for children."),
        ("Are zoos cruel, or do they protect animals?", "Zoos are cruel.", "Zoos are not cruel."),
        ("Why should voting be compulsory?", "Voting should be compulsory.",
         "Voting should not be compulsory."),
        ("Ought people to be made to vote?", "People ought to be made to vote.",
         "People ought not to be made to vote."),
        ("Is paying a ransom ever right?", "Paying a ransom is right.",
         "Paying a ransom is never right."),
        ("Are countries without a king happier?", "Countries without a king are happier.",
         "Countries without a king are not happier."),
        ("If one runner cheats, should the whole team lose its medals?",
         "If one runner cheats, the whole team should lose its medals.",
         "If one runner cheats, the whole team should not lose its medals."),
        ("Is ending a patient's life always murder?", "Ending a patient's life is always murder.",
         "Ending a patient's life is not always murder."),
    ],
)  # fmt: skip
def test_questions_as_people_ask_them(question, pro, con):
    assert claims(question) == (pro, con)


@pytest.mark.parametrize(
    "claim",
    ["The case for and against war was weak.", "Reasons for war are many.",
     "Arguments about tea are silly."],
)  # fmt: skip
def test_a_claim_about_arguments_is_no_open_question(claim):
    pro, con = claims(claim)
    assert pro == claim
    assert " not " in con


@pytest.mark.parametrize("text", ["Death penalty, life in prison", ""])
def test_what_asks_nothing_is_not_guessed(text):
    assert claims(text) == (f"Yes: {text}".strip(), f"No: {text}".strip())


@given(st.text(max_size=100))
@example("Is it? Yes.")
@example("Tea is good.")
def test_something_stands_against_any_claim(claim):
    other = other_side(claim)
    assert other.strip()
    assert other != claim


@pytest.mark.parametrize(
    "claim", ["X should be Y.", "Golf is a sport.", "This House would ban X.", "Coal can go."]
)
def test_negating_twice_gives_the_claim_back(claim):
    pro, con = claims(claim)
    assert pro == claim
    assert claims(con) == (con, claim)


@given(st.text(max_size=200))
@example("should not")
@example("Should?")
@example("\0")
@example("This House believes that ")
def test_any_string_gives_two_different_lines(question):
    pro, con = claims(question)
    assert pro != con
    assert pro.strip()
    assert con.strip()
    assert "\n" not in pro + con
    assert claims(question) == (pro, con)


@given(
    st.lists(
        st.sampled_from(
            "should the is do does not be ban taxes people who this house would believes that we "
            "? ought isn't have legal it still no and or".split()
        ),
        max_size=9,
    )
)
def test_words_of_questions_in_any_order_never_fail(words):
    pro, con = claims(" ".join(words))
    assert pro != con


@pytest.mark.parametrize(
    ("claim", "question"),
    [
        ("Golf is a sport.", "Is Golf a sport?"),
        ("The UN should recognize Palestine", "Should the UN recognize Palestine?"),
        ("There must be compulsory identity cards", "Must there be compulsory identity cards?"),
        ("Reality TV has gone too far", "Has Reality TV gone too far?"),
        ("Hosting the Olympics is costly", "Is hosting the Olympics costly?"),
        ("Social deprivation causes crime", "Does Social deprivation cause crime?"),
        ("Violent games cause crime", "Do Violent games cause crime?"),
        ("Ban plastic bags", "Should we ban plastic bags?"),
        ("This House would ban bags", "Should we ban bags?"),
        ("This house believes that games should be banned.", "Should games be banned?"),
        ("Create a rail system in the U.S.", "Should we create a rail system in the U.S.?"),
        ("Is tea healthy?", "Is tea healthy?"),
    ],
)  # fmt: skip
def test_a_claim_becomes_the_question_that_it_answers_with_yes(claim, question):
    assert question_from(claim) == question


@pytest.mark.parametrize(
    "claim",
    ["", "Death penalty", "Tea should not be drunk", "Tea isn't healthy", "Google never lies",
     "What the UN should do is reform", "Drug use harms people", "The benefits outweigh the costs",
     "Control of borders", "Tea is good and should be drunk", "The war: Is it winnable",
     "Airbrushing of bodies be banned"],
)  # fmt: skip
def test_a_claim_whose_verb_is_not_sure_is_left_to_others(claim):
    assert question_from(claim) is None


WORDS = "we tea should is not the ban people who cause a This House believes that ? . and of U.S."


@given(st.text(max_size=60) | st.lists(st.sampled_from(WORDS.split())).map(" ".join))
def test_of_the_question_the_claim_is_what_the_pro_side_says(text):
    question = question_from(text)
    if question is not None and not text.rstrip().endswith("?"):
        assert question.endswith("?")
        assert not claims(question)[0].startswith("Yes: ")


def test_three_hundred_questions_are_read_as_a_person_reads_them():
    lines = Path(__file__).with_name("readings.txt").read_text("utf-8").splitlines()
    rows = [line.split(" | ") for line in lines if line and not line.startswith("#")]
    assert len(rows) >= 300
    unread = {row[0][2:] for row in rows if row[0].startswith("~ ")}
    read = {row[0].removeprefix("~ "): claims(row[0].removeprefix("~ ")) for row in rows}
    expected = {row[0].removeprefix("~ "): (row[1], row[2]) for row in rows}
    assert {text for text, pair in read.items() if pair != expected[text]} == unread
    assert len(unread) <= 16
    assert all(pro != con for pro, con in read.values())


@pytest.mark.parametrize(
    ("text", "pro", "con"),
    [
        ("Do not ban fireworks.", "We should not ban fireworks.", "We should ban fireworks."),
        ("THR the war in Iraq", "We should regret the war in Iraq.",
         "We should not regret the war in Iraq."),
        ("Do you agree with the ban on smoking?", "You agree with the ban on smoking.",
         "You do not agree with the ban on smoking."),
        ("Do you feel safe at night?", "You feel safe at night.",
         "You do not feel safe at night."),
        ("Would you be happier with less?", "You would be happier with less.",
         "You would not be happier with less."),
        ("Should we not eat meat?", "We should not eat meat.", "We should eat meat."),
    ],
)  # fmt: skip
def test_what_looks_like_another_wording_keeps_its_meaning(text, pro, con):
    assert claims(text) == (pro, con)


def test_a_statement_is_not_taken_for_a_matter():
    for text in ("Ashville sold 20 large parks.", "Cats chase mice", "Death penalty"):
        assert opposite(text) is None
    assert not is_plain(claims("Ashville sold 20 large parks.")[0])
