"""Both sides' claims of a question."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pnyx.judge.claims import claims

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
     "Alternative energy can not effectively replace fossil fuels."),
    ("Would a unified Europe be more influential?", "A unified Europe would be more influential.",
     "A unified Europe would not be more influential."),
    ("This House would ban X", "This House would ban X.", "This House would not ban X."),
    ("This house believes that violent games should be banned",
     "Violent games should be banned.", "Violent games should not be banned."),
    ("Do you think foods with modified genes are better for your health?",
     "Foods with modified genes are better for your health.",
     "Foods with modified genes are not better for your health."),
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
    ["What is love?", "How should waste be stored?", "Death penalty", "Is it good or bad?", "",
     "Are video games art?", "Is X right? Or is Y?"],
)  # fmt: skip
def test_what_cannot_be_taken_apart_is_not_guessed(question):
    assert claims(question) == (f"Yes: {question}".strip(), f"No: {question}".strip())


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
