"""What the two sides of a question say, and which questions have no two sides."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pnyx.core.records import Question
from pnyx.judging.questions import Support
from pnyx.judging.statements import (
    is_open,
    opposite,
    side_names,
    statements,
    statements_of,
    why_no_sides,
)
from pnyx.judging.students.judge import _stated


@pytest.mark.parametrize(
    "question",
    [
        "Does rent control reduce the supply of housing?",  # the rules read "rent" as a verb
        "Can gun control save lives?",
        "Does climate change cause wars?",
        "Is golf a sport?",
        "Some say zoos are cruel. Should they be closed?",
        "Is nuclear energy safe? And is it cheap?",
        "Should we ban the burqa or the niqab?",
        "Should we ban zoos or circuses?",
        "Are zoos cruel, or do they protect animals?",
        "Is it better to tax sugar or salt?",
        "Do you want a cat or a dog?",
        "Should it be banned or not?",
        "Would you eat more or less?",
        "Sooner or later?",
        "Which is better, x, y or z?",
        "Sollte Wählen Pflicht sein?",
    ],
)
def test_the_sides_are_the_question_with_yes_and_with_no(question):
    assert statements(question) == (f"{question} Yes.", f"{question} No.")
    assert side_names(Question("q", question)) == ("yes", "no")


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("should  zoos be\nbanned", "Should zoos be banned?"),
        ("is golf a sport ?!", "Is golf a sport?"),
        ("Doesn't rent control work", "Doesn't rent control work?"),
        ("Rent control helps tenants.", 'Is it right to say: "Rent control helps tenants"?'),
        ("rent control", 'Is it right to say: "rent control"?'),
        ("This house would ban zoos", 'Is it right to say: "This house would ban zoos"?'),
        ("Ban zoos!", 'Is it right to say: "Ban zoos!"?'),
        ("Do not ban zoos", 'Is it right to say: "Do not ban zoos"?'),
        ("May is a month", 'Is it right to say: "May is a month"?'),
        ('He said "no"', "Is it right to say: \"He said 'no'\"?"),
    ],
)
def test_what_is_typed_without_its_mark_and_what_is_a_claim(text, question):
    assert statements(text) == (f"{question} Yes.", f"{question} No.")


@pytest.mark.parametrize(
    ("question", "names"),
    [
        ("Should we take the train or the car?", ("the train", "the car")),
        ("Should the city build a bridge, or a tunnel?", ("a bridge", "a tunnel")),
        ("Cash or card?", ("Cash", "card")),
        ("Android vs. iPhone", ("Android", "iPhone")),
        ("Nuclear power versus renewables?", ("Nuclear power", "renewables")),
        ("Which is better, coal or gas?", ("coal", "gas")),
        ("What should we do: fight or flee?", ("fight", "flee")),
        ("Is coal better than gas, or the other way round?", ("coal", "gas")),
        ("Is coal more harmful than gas or is gas more harmful?", ("coal", "gas")),
        ("Is it better to rent or to buy?", ("“to rent”", "“to buy”")),
        ("Is sugar good or bad for children?", ("“good”", "“bad”")),
    ],
)
def test_of_two_alternatives_each_is_a_side(question, names):
    assert side_names(Question("q", question)) == names
    pro, con = statements(question)
    core = question.rstrip("?")
    for statement, name in zip((pro, con), names, strict=True):
        bare = name.strip("“”")
        assert statement == f"{core}? {bare[:1].upper()}{bare[1:]}."


@pytest.mark.parametrize(
    ("question", "has_two"),
    [
        ("Which is better, {} or coal?", (6, 7)),
        ("Which is better, coal or {}?", (6, 7)),
        ("{} vs. coal?", (4, 5)),
        ("coal versus {}", (4, 5)),
        ("{} or {}?", (2, 3)),
        ("Should we adopt a cat or a {}?", (3, 4)),  # four words with the article
    ],
)
def test_how_many_words_an_alternative_may_have(question, has_two):
    """`{}` becomes so many words; with one more, the question has yes and no."""
    most, more = (
        question.replace("{}", " ".join(["wind"] * (count - 1) + ["x"]), 1).replace(
            "{}", " ".join(["sun"] * count)
        )
        for count in has_two
    )
    assert side_names(Question("q", most)) != ("yes", "no")
    assert side_names(Question("q", more)) == ("yes", "no")


@pytest.mark.parametrize(
    "question",
    [
        "Coal or coal?",
        "Coal or gas or wind?",
        "Cash or neither?",
        "Do it or not?",
        "A versus b versus c?",
        "Is cash or card?",  # begins like a question of yes or no
        "Which is better, a, b or c?",
        "Is it better to rent or to buy than to wait?",
        "Is coal better than gas, or is oil?",
        "Is better than gas, or vice versa?",
        "Should we feed the cat or the dog?",  # one can do both
    ],
)
def test_what_is_no_choice_of_two_has_yes_and_no(question):
    assert side_names(Question("q", question)) == ("yes", "no")


@pytest.mark.parametrize(("words", "open_"), [(12, True), (13, False)])
def test_what_is_typed_without_its_mark_is_open_up_to_twelve_words(words, open_):
    question = " ".join(["what is", *["so"] * (words - 2)])
    assert is_open(question) is open_
    assert is_open(f"{question}?")  # what asks with its mark is open at any length


@pytest.mark.parametrize(("length", "whole"), [(200, True), (201, False)])
def test_the_name_of_a_side_has_at_most_200_characters(length, whole):
    name = "n" * length
    first, second = side_names(Question("q", "Zoos?", claims=(f"{name}.", "No zoos.")))
    assert (first == f"“{name}”") is whole
    assert second == "“No zoos”"


def test_claims_of_its_own_stay_as_they_are_given():
    question = Question("q", "Zoos?", claims=("Zoos teach.", "Zoos harm."))
    assert statements_of(question) == ("Zoos teach.", "Zoos harm.")
    assert side_names(question) == ("“Zoos teach”", "“Zoos harm”")
    assert statements_of(Question("q", "Is it?")) == ("Is it? Yes.", "Is it? No.")


def test_against_a_statement_is_the_other_answer():
    assert opposite("Is golf a sport? Yes.") == "Is golf a sport? No."
    assert opposite("Is golf a sport? No.") == "Is golf a sport? Yes."
    assert opposite("Golf is a sport.") == 'Is it right to say: "Golf is a sport"? No.'
    con = Support("", "text", "Is golf a sport? No.", question="Is golf a sport?")
    assert _stated(con) == ("Is golf a sport? No.", "Is golf a sport? Yes.")
    claim = Support("", "text", "Golf is a sport.", question="Is golf a sport?")
    assert _stated(claim) == statements("Golf is a sport.")


YES_NO = """
Should voting be compulsory?
Is golf a sport?
Does rent control reduce the supply of housing?
Can gun control save lives?
How about banning zoos?
What about a ban on zoos?
What if we banned cars in cities?
Why not ban fireworks?
Why don't we ban fireworks?
Isn't it cruel to keep animals in zoos?
Aren't zoos cruel?
Ought we to eat meat?
When prices rise, should rents be capped?
Where crime is high, should police carry guns?
What the UN does matters: should it be reformed?
Do you know how many flats were built?
However cheap, should coal be burnt?
Whatever the cost, must we act?
Whoever wins, will taxes rise?
Whether rich or poor, should all pay the same?
While we wait, do rents rise?
Rent control helps tenants
rent control
This house would ban zoos
Ban zoos
What we eat should be regulated
How we eat matters
When in doubt, ban it
Should we ban zoos? Why?
Why are zoos kept? Should we close them?
Zoos are cruel. Should we close them?
Which is better, coal or gas?
Should we take the train or the car?
Whales suffer in tanks, don't they?
What zoos do is cruel, isn't it?
What zoos do is wrong, right?
Will AI take our jobs?
Must schools teach coding
Who pays the piper calls the tune
For what it's worth, should we tip?
Do what you love: is that good advice?
Where there is smoke, is there fire?
Why people smoke is clear.
Whale hunting should be banned
Whose fault it is does not matter.
So, should we ban zoos?
Sollte Wählen Pflicht sein?
"""
OPEN = """
How many flats were built?
Why do rents rise?
What should we do about rents?
How can we lower rents?
Who built the flats?
Which party is right?
When did rent control begin?
Where do tenants live?
Whose fault is it?
How far should free speech go?
What's wrong with zoos?
Who's to blame?
How much does it cost
how many flats were built
why do rents rise
what is love?
At what age should people vote?
In which cities are rents capped?
To what extent is coal bad?
Why?
What, if anything, should we do?
So why do rents rise?
How bad is coal?
How do you feel about banning zoos?
What do you think of zoos?
Why doesn't rent control work?
How come rents rise?
What causes inflation?
Rents rose. Why?
What is rent control? Who gains?
WHY DO RENTS RISE?
“How many flats were built?”
When and where should we vote?
Which zoos should close?
By whom was it built?
Who cares?
"""


@pytest.mark.parametrize("question", YES_NO.strip().splitlines())
def test_what_can_be_answered_with_yes_or_no_is_not_asked_back(question):
    assert why_no_sides(question) == ""


@pytest.mark.parametrize("question", OPEN.strip().splitlines())
def test_what_yes_or_no_cannot_answer_is_asked_back_with_a_form_that_works(question):
    said = why_no_sides(question)
    assert said.startswith(f"“{question}” cannot be answered with yes or no")
    assert '"Should ...?"' in said
    assert "\n" not in said


@pytest.mark.parametrize("text", ["", "  ", "?", "?! ...", "—"])
def test_what_has_no_words_is_asked_back(text):
    assert why_no_sides(text).startswith("a question without words")


WORDS = 'should the is how why what who when , zoos ban or and yes . ? ! : “ " to better than a'


@given(st.text(max_size=200) | st.lists(st.sampled_from(WORDS.split())).map(" ".join))
@example("? or ?")
@example("Is it? Yes.")
@example("vs.")
@example("is it better to or to")
@example("\0")
def test_any_text_gives_two_different_lines(text):
    pro, con = statements(text)
    assert pro != con
    assert pro.strip()
    assert con.strip()
    assert "\n" not in pro + con
    assert all(side_names(Question("q", text)))
    assert isinstance(is_open(text), bool)
    assert opposite(pro) != pro
