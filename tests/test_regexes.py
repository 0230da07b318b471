"""No regular expression takes more than linear time, whatever text a stranger sends."""

from __future__ import annotations

import random
import re
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pnyx.judging.llm.json_objects import UnreadableReply, one_object, word_spans
from pnyx.judging.llm.leniency import watching_departures
from pnyx.judging.passages import find_words
from regex_fuzz import Found, slow

FUZZ = Path(__file__).with_name("regex_fuzz.py")


@pytest.mark.all
def test_every_regular_expression_is_linear():
    done = subprocess.run(
        [sys.executable, str(FUZZ)], capture_output=True, text=True, timeout=3600, check=True
    )
    lines = done.stdout.splitlines()
    assert [line for line in lines if line.startswith("SLOW")] == []
    count, made = re.fullmatch(r"(\d+) expressions; made of variables: (.*)", lines[-1]).groups()
    assert int(count) > 100
    # Tried as they are compiled, or made of a text that is searched for as it is.
    assert sorted(made.split(", ")) == sorted(
        [
            "audit/trials/patterns.py",
            *["formats/text/folded_words.py"] * 3,
            "formats/text/segment.py",
            *["formats/text/words.py"] * 2,
            "formats/tracks/responses.py",  # the ids that a track's own rules ask for
            *["formats/tracks/rules.py"] * 2,
            "quality/rubrics.py",  # a number, at the beginning
            "judging/dimensions/own.py",  # a word, searched for as it is
            "judging/students/rules.py",
            *["models/http/addresses.py"] * 2,
            "models/http/dialect.py",
            "core/placement.py",
            "search/opensearch/loader.py",  # the name of an index, searched for as it is
            "search/polarity.py",
            "search/quotable.py",  # read of sentences of 60 words, conclusions of 1,000 characters
            "web/results/export.py",  # the folders that a page must not name
        ]
    )


@pytest.mark.all
@pytest.mark.parametrize(
    ("pattern", "method"),
    [
        (r"```(?:json)?[ \t]*\n(.*?)\n[ \t]*```", "finditer"),
        (r'"(?:[^"\\]|\\.)*"', "finditer"),
        (r"\s+$", "sub"),
        (r"<(?=\s*/?\s*document)", "sub"),
    ],
)
def test_the_fuzz_finds_what_is_quadratic(pattern, method):
    assert slow(Found("here", re.compile(pattern, re.DOTALL), frozenset({method})))


HANGING = [
    "```json\n{" * 40_000,
    "```\n" * 60_000 + "{}",
    "```json\n{}\n" + "\n \t" * 90_000,
    "<think>" * 40_000 + "```",
    '{"a": "' + '\\"' * 100_000,
    "[" * 200_000,
    '{"a":' * 100_000,
    '{"a": ' + "9" * 300_000 + "}",
]


@pytest.mark.parametrize("text", HANGING, ids=lambda text: text[:12])
def test_a_long_broken_reply_is_unreadable_at_once(text):
    with pytest.raises(UnreadableReply):
        one_object(text)


FENCED = st.lists(
    st.sampled_from(["```", "json", "\n", " ", "{", "}", '{"a": 1}', "x", "<think>", "</think>"]),
    max_size=12,
).map("".join)
FENCE = re.compile(r"```(?:json)?[ \t]*\n(.*?)\n[ \t]*```", re.DOTALL | re.IGNORECASE)


@given(FENCED)
def test_a_fence_is_what_it_always_was(text):
    whole, text = text, text.rpartition("</think>")[2]  # what comes before is thinking
    if "<think>" in whole or text.lstrip().startswith("{") or "```" not in text:
        return
    fences = FENCE.findall(text)
    outside = FENCE.sub("", text)
    alone = len(fences) == 1 and "{" not in outside and "```" not in outside
    if alone and fences[0].strip() == '{"a": 1}':
        assert one_object(whole) == {"a": 1}
        assert word_spans(whole, "a") == []
        return
    try:
        with watching_departures() as departures:
            read = one_object(whole)
    except UnreadableReply:
        return
    assert (read, departures) == ({"a": 1}, {"prose"})
    assert text.count('{"a": 1}') == 1


WORDS = st.text(st.sampled_from("aAbB \n\u00a0ſİß."), max_size=30)


@given(WORDS, WORDS, st.booleans())
def test_words_are_found_where_the_expression_finds_them(text, quote, ignore_case):
    words = quote.split()
    if ignore_case and not (text + quote).isascii():
        return  # the expression folds what no capital of the other is
    pattern = re.compile(r"\s+".join(map(re.escape, words)), re.IGNORECASE * ignore_case)
    expected = pattern.search(text) if words else None
    found = find_words(text, words, ignore_case=ignore_case)
    assert found == (expected.span() if expected else None)


def test_a_long_quote_is_looked_for_in_linear_time():
    words = ["a"] * 1999
    assert find_words("a " * 300_000, [*words, "b"]) is None
    text = "".join(random.Random(0).choices("a b\n", k=300_000))
    assert find_words(f"{text}{' '.join(words)} b", [*words, "b"]) is not None
