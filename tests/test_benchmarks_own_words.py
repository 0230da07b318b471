"""Questions in people's own words: what the benchmark of the main job asks."""

from __future__ import annotations

import hashlib
import json
import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "lab" / "argue"))
sys.path.insert(0, str(Path(__file__).parents[1] / "lab" / "berds"))

from claim_rules import claims
from debate_sets import SPLIT
from pages import own_words
from wordings import patterns, written

from pnyx.judging.statements import why_no_sides
from pnyx.search.relevance import content_words


def test_they_share_at_most_one_content_word_with_their_title_and_half_are_turned():
    asked = list(own_words())
    for _, title, _, question in asked:
        assert len(content_words(title) & content_words(question)) <= 1, question
    assert len({question for *_, question in asked}) == len(asked) >= 150
    assert Counter(sign for _, _, sign, _ in asked) == {1: len(asked) / 2, -1: len(asked) / 2}


def test_the_rules_of_training_still_read_questions_and_claims():
    for question, pro, con in (
        ("Should bags be banned?", "Bags should be banned.", "Bags should not be banned."),
        ("This House would ban X", "This House would ban X.", "This House would not ban X."),
        ("Are video games art?", "Are video games art? Yes.", "Are video games art? No."),
    ):
        assert claims(question) == (pro, con)
    for *_, question in own_words():
        pro, con = claims(question)
        assert pro
        assert pro != con


def test_no_question_in_own_words_is_asked_back():
    assert [question for *_, question in own_words() if why_no_sides(question)] == []


def test_wordings_to_train_on_are_on_debates_for_training_alone():
    train = set(json.loads(SPLIT.read_text("utf-8"))["train"].split())
    asked = {text for _, _, _, text in own_words()}
    for key, questions in written().items():
        assert hashlib.sha1(key.encode()).hexdigest()[:8] in train, key
        assert asked.isdisjoint(text for _, text in questions)
    assert len(written()) >= 350


def test_the_side_that_a_pattern_turns_is_turned_back_by_not():
    claim, negation = "We should not ban whaling.", "We should ban whaling."
    usual, own = patterns(claim, negation)
    assert (claim, negation) in usual
    assert ("Whaling should stay legal.", "Whaling should no longer be legal.") in own
