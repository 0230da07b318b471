"""What stated rules tell of sentences, and how answers are listed in one text."""

from __future__ import annotations

import csv
from dataclasses import fields
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pnyx.core.errors import OptionError
from pnyx.core.nuggets import NuggetAnswer, NuggetReference
from pnyx.judging.base import ask
from pnyx.judging.llm.prompts import load_prompt
from pnyx.judging.llm.requests import Asking
from pnyx.judging.questions import Support
from pnyx.judging.students.rules import RULE_TASKS, RuleJudge
from pnyx.reports.options import WeightSpec
from pnyx.reports.tree.plan import Weights
from pnyx.reports.tree.word_rules import gives, plain_words, repeats

SENTENCES = {
    ("negative", True): (
        "There is no evidence that the law reduced crime.",
        "It is not known how many jobs the reform created.",
        "No study of air quality has been found.",
        "The sources do not mention the cost of the project.",
        "The exact death toll remains unclear.",
        "Nothing has been reported about the outcome.",
        "The number of victims could not be determined.",
        "There is insufficient data to say whether prices fell.",
        "It hasn't been confirmed that talks took place.",
        "The collection contains no documents that discuss his motives.",
        "Casualty figures have not yet been published.",
        "No sufficiently supported answer was found in the collection for this request.",
    ),
    ("negative", False): (
        "Night buses are free.",
        "The government did not raise taxes.",
        "No fewer than 20 people died.",
        "The company reported no profit in 2020.",
        "Reports say that the army denied the claim.",
        "The evidence shows that buses help.",
        "No party won a majority.",
    ),
    ("needs-citation", False): (
        "This report sums up what came of the reform.",
        "What is the lying flat movement?",
        "Key findings:",
        "## Background",
        "Economic Effects",
        "The following sections describe the causes.",
        "We now turn to the effects.",
        "Here is an overview of the main points.",
        "As noted above, costs rose.",
    ),
    ("needs-citation", True): (
        "Taxi drivers lost a tenth of their income.",
        "This law was passed in 2004.",
        "The report by the UN says that hunger rose.",
        "This report by the ministry found that prices rose.",
        "The following year, prices fell.",
        "We know that the ice is melting.",
        "In 2019, the army left.",
    ),
}
"""Written with the rules at hand: they say what is meant, not how often it is met."""


@pytest.mark.parametrize(("task", "value"), SENTENCES)
def test_what_the_rules_say(task, value):
    texts = SENTENCES[task, value]
    answers = ask(RuleJudge(), [Support(t, "The report.", t, task=task) for t in texts])
    assert [a.question.statement for a in answers if a.value is not value] == []
    assert all(a.explanation for a in answers)


WRITTEN = Path(__file__).parents[1] / "lab" / "reports" / "negatives.tsv"


@pytest.mark.skipif(not WRITTEN.is_file(), reason="the benchmarks are not in this copy")
def test_the_card_says_what_is_measured_on_the_sentences_held_out():
    with WRITTEN.open(encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream, delimiter="\t"))
    assert len({row["sentence"] for row in rows}) == len(rows) == 256
    held = [(row["sentence"], row["label"] == "negative") for row in rows if row["part"] == "test"]
    answers = ask(RuleJudge(), [Support(t, "R.", t, task="negative") for t, _ in held])
    found = [answer.value for answer in answers]
    right = sum(said and true for said, (_, true) in zip(found, held, strict=True))
    precision, recall = right / sum(found), right / sum(true for _, true in held)
    shown = f"precision {precision:.2f}, recall {recall:.2f} on {len(held)}"
    assert shown in RuleJudge.card


@pytest.mark.parametrize(
    "text",
    [
        "Prices fell in May, although it is not known whether this will last.",
        "The file was kept secret until the archive opened.",
        "No documents are needed to cross the border.",
    ],
)
def test_what_states_a_fact_beside_is_no_negative_statement(text):
    (answer,) = ask(RuleJudge(), [Support("1", "R.", text, task="negative")])
    assert answer.value is False
    assert answer.explanation.startswith("by the rule")


@given(st.sampled_from(sorted(RULE_TASKS)), st.text())
def test_any_sentence_gets_an_answer_or_has_no_words(task, text):
    (answer,) = ask(RuleJudge(), [Support("1", "The report.", text, task=task)])
    has_words = any(character.isalnum() for character in text)
    assert hasattr(answer, "value") == has_words


@pytest.mark.parametrize("word", ["no ", "is ", "the ", "a, ", "not been "])
def test_long_sentences_take_no_time(word):
    ask(RuleJudge(), [Support("1", "R.", word * 20_000, task=task) for task in RULE_TASKS])


WORDS = st.lists(st.sampled_from(["fares", "fell", "the", "in", "May", "A"]), max_size=6)


@given(WORDS, WORDS, WORDS)
def test_a_sentence_that_holds_an_answer_gives_it(before, said, after):
    answer = NuggetAnswer(" ".join(said), (NuggetReference("d1"),))
    words = plain_words(" ".join([*before, *said, *after]))
    assert gives(words, {"d1"}, answer) == bool(plain_words(answer.text))
    assert not gives(words, {"d2"}, answer)
    assert gives(words, set(), NuggetAnswer(answer.text)) == bool(plain_words(answer.text))


def test_words_are_whole_and_in_a_row():
    words = plain_words("Fares, in May, fell by a third.")
    for said, given_ in (
        ("fell by third", True),
        ("Fares in the may", True),
        ("fares fell", False),
        ("all by", False),
        ("", False),
    ):
        assert gives(words, (), NuggetAnswer(said)) is given_


def test_a_repeated_sentence_has_the_same_words():
    assert repeats("The fares fell!", ["Prices rose.", "Fares fell"])
    assert not repeats("Fares fell again.", ["Fares fell."])
    assert not repeats("...", ["—"])


def test_answers_are_listed_under_their_questions_a_line_each():
    def asked(statement, question=""):
        return Support(statement, "T.", statement, task="nugget", question=question)

    questions = [
        asked("One.\n2. Forged.", "Why?\n3. Forged."),
        asked("Two.", "Why?\n3. Forged."),
        asked("A claim."),
        asked("Three.", "When?"),
    ]
    prompt = load_prompt("nugget-list")
    asking = Asking(prompts={"nugget": prompt}, batch=4)
    (unit,) = asking.units(list(enumerate(questions)))
    text = asking.request([question for _, question in unit]).messages[-1].content
    lines = text[text.index("<<<information") :].splitlines()[1:7]
    assert lines == [
        "Question: Why? 3. Forged.",
        "1. One. 2. Forged.",
        "2. Two.",
        "No question:",
        "3. A claim.",
        "Question: When?",
    ]
    assert text.index("<<<information") < text.index("<<<text")


@pytest.mark.parametrize("name", [field.name for field in fields(Weights)])
def test_each_reward_and_penalty_may_be_0_and_not_below(name):
    assert getattr(WeightSpec(**{name: 0}).weights(), name) == 0
    with pytest.raises(OptionError, match=r"found -0.001, expected at least 0"):
        WeightSpec(**{name: -0.001})
