"""Questions in people's own words: what the benchmark of the main job asks."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks" / "argue"))

from pages import own_words

from pnyx.judge.claims import claims
from pnyx.search.relevance import content_words


def test_they_share_at_most_one_content_word_with_their_title_and_half_are_turned():
    asked = list(own_words())
    for _, title, _, question in asked:
        assert len(content_words(title) & content_words(question)) <= 1, question
    assert len({question for *_, question in asked}) == len(asked) >= 150
    assert Counter(sign for _, _, sign, _ in asked) == {1: len(asked) / 2, -1: len(asked) / 2}


def test_each_gets_two_claims():
    for *_, question in own_words():
        pro, con = claims(question)
        assert pro
        assert pro != con
