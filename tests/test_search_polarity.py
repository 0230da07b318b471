"""What a claim is about and in which direction, read by its words."""

from __future__ import annotations

import pytest

from pnyx.search.polarity import bare_claim, compare, read_claim, same_words


@pytest.mark.parametrize(
    ("claim", "sign"),
    [
        ("Keep zoos", 1),
        ("Ban zoos", -1),
        ("Zoos should be banned", -1),
        ("This house would ban zoos", -1),
        ("THW ban zoos", -1),
        ("Resolved: that zoos be banned", -1),
        ("Get rid of zoos", -1),
        ("Zoos without cages", -1),
        ("Smoke-free bars", -1),
        ("Too expensive zoos", -1),
        ("Do not ban zoos", 1),
        ("We can't ban zoos", 1),
        ("We cannot ban zoos", 1),
        ("Won’t zoos end?", 1),
        ("Zoos do not never end", -1),  # three words that reverse it
        # A clause with "must" or "should" asserts, if it is the only one.
        ("People suffer, so zoos must be banned", -1),
        ("Bans fail, so zoos must stay", 1),
        ("Animals suffer and we must act and we should ban zoos", -1),
        ("Zoos must go, so we must not keep them", -1),
        ("Should zoos be banned, so we must act?", -1),
        # A reason and a contrast do not.
        ("Zoos should be banned because they must end", -1),
        ("Zoos should stay, not banned zoos", 1),
    ],
)
def test_an_odd_number_of_words_reverses_a_claim(claim, sign):
    assert read_claim(claim).sign == sign


def test_what_a_claim_is_about_are_the_words_that_do_not_reverse_it():
    claim = read_claim("This house would ban zoos without cages")
    assert (claim.matter, claim.about) == ({"zoo", "cage"}, "zoos cages")
    assert claim.content == {"ban", "zoo", "cage"}
    assert {"without", "ban", "zoo", "cage"} <= claim.stems


@pytest.mark.parametrize(
    ("claim", "order"),
    [
        ("Trains are better than cars", ("train", "car")),
        ("Cars are better than trains", ("car", "train")),
        ("Trains should replace cars", ("train", "car")),
        ("Cars should be replaced by trains", ("train", "car")),
        ("Better than cars", ()),
        ("Trains and cars", ()),
    ],
)
def test_the_order_of_two_things_that_are_compared(claim, order):
    assert tuple("".join(side) for side in read_claim(claim).order) == order


@pytest.mark.parametrize(
    ("claim", "other", "agree", "unknown"),
    [
        ("Ban zoos", "Zoos should be banned", 1, 0),
        ("Ban zoos", "Keep zoos", -1, 0),
        ("Ban zoos", "Ban circuses", 1, 2),
        ("Is homework good?", "Is homework bad?", -1, 0),
        ("Raise taxes", "Lower taxes on income", -1, 1),
        ("Schools should be public", "Schools should be private", -1, 0),
        ("Schools should be public", "Big schools should be private", -1, 1),
        ("Trains are better than cars", "Cars are better than trains", -1, 0),
        ("Trains are better than cars", "Trains should replace cars", 1, None),
        ("Trains are better than cars", "Apples are better than pears", 1, 4),
    ],
)
def test_two_claims_agree_or_not_and_some_words_are_unknown(claim, other, agree, unknown):
    for first, second in ((claim, other), (other, claim)):
        match = compare(read_claim(first), read_claim(second))
        assert match.agree == agree
        assert unknown is None or match.unknown == unknown


@pytest.mark.parametrize(
    ("topic", "question", "relation"),
    [
        ("Zoos are cruel", "Are zoos cruel?", 1),
        ("Zoos are cruel", "Zoos are not cruel", -1),
        ("Zoos are not cruel", "Zoos are cruel", -1),
        ("Zoos aren’t cruel", "Zoos are cruel", -1),
        ("Zoos aren't not cruel", "Zoos are cruel", 1),
        ("Cats and dogs", "Dogs and cats", 1),
        ("Cats before dogs", "Dogs before cats", 0),
        ("Cats before dogs", "Are cats before dogs?", 1),
        ("Zoos are cruel", "Zoos are good", 0),
        ("The of", "Of the", 0),
    ],
)
def test_the_same_words_ask_the_same_or_the_opposite(topic, question, relation):
    assert same_words(topic, question) == relation


@pytest.mark.parametrize(
    ("text", "claim"),
    [
        ("This house would ban zoos.", "We should ban zoos"),
        ("The House, should ban zoos?", "We should ban zoos"),
        ("THW ban zoos", "ban zoos"),
        ("This House supports  zoos. ", "zoos"),
        ("the house prefers zoos", "zoos"),
        ("Ban zoos ?", "Ban zoos"),
        ("x" * 1001, "x" * 1000),
    ],
)
def test_a_claim_without_the_form_of_a_motion(text, claim):
    assert bare_claim(text) == claim


@pytest.mark.parametrize(("letters", "sign"), [(990, 1), (991, -1)])
def test_a_thousand_characters_of_a_claim_are_read(letters, sign):
    """The word that reverses the claim ends after the letters and ten more characters."""
    assert read_claim("ban " + "x" * letters + " never").sign == sign
