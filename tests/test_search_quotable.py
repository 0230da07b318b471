"""Which sentences can be quoted alone, and what is known of a reason."""

from __future__ import annotations

import numpy as np
import pytest

from pnyx.search.quotable import flaw, has_verb, is_quotable, leans, reason_inputs


@pytest.mark.parametrize(
    ("sentence", "reason"),
    [
        ("Zoos protect rare animals.", ""),
        ("“Zoos protect rare animals.”", ""),
        ("Zoos (all of them) protect rare animals.", ""),
        ('Zoos "protect" rare animals.', ""),
        ("zoos protect rare animals.", "middle"),
        ("- Zoos protect rare animals.", "middle"),
        ("Zoos (all of them protect rare animals.", "middle"),
        ("Zoos all of them] protect rare animals.", "middle"),
        ("Zoos “protect rare animals.", "middle"),
        ('Zoos "protect rare animals.', "middle"),
        ("Do zoos protect rare animals?", "question"),
        ("Why do zoos protect rare animals.", "question"),
        ("Zoos protect rare animals", "heading"),
        ("But zoos protect rare animals.", "leaning"),
        ("They protect rare animals.", "leaning"),
    ],
)
def test_why_a_sentence_cannot_be_quoted_alone(sentence, reason):
    assert flaw(sentence) == reason


def test_a_sentence_that_the_next_one_takes_back_is_a_concession():
    assert flaw("Zoos protect rare animals.", "However, they cost much.") == "conceding"
    assert flaw("Zoos protect rare animals.", "Keepers however care.") == ""


@pytest.mark.parametrize(
    ("sentence", "depends"),
    [
        ("This helps.", True),
        ("For example, zoos help.", True),
        ("Because they help, zoos stay.", True),
        ("Because zoos help, they stay.", False),
        ("Those who work help.", False),  # it points forward
        ("", True),
        ("Zoos help.", False),
    ],
)
def test_a_start_that_points_back_depends_on_what_was_before(sentence, depends):
    assert leans(sentence) is depends


@pytest.mark.parametrize(
    ("sentence", "quotable"),
    [
        ("[12] Mason, Daniel, Europe, in the year of 2012.", False),
        ("(a) This is a note of some length here.", False),
        ("See https://zoos.org for all that is known.", False),
        ("The UN and WHO say that zoos help.", True),  # capitals alone are not names
        ("Mason Daniel Europe London and zoos help.", False),
    ],
)
def test_notes_addresses_and_lists_of_names_are_not_quoted(sentence, quotable):
    assert is_quotable(sentence) is quotable


@pytest.mark.parametrize(
    ("words", "has"),
    [
        (["zoos", "protect", "animals"], True),
        (["zoos", "protects"], True),
        (["protect"], False),  # the first word is the subject
        (["zoos", "are", "cruel"], True),
        (["the", "effect", "on", "morale"], False),
    ],
)
def test_a_conclusion_has_a_verb(words, has):
    assert has_verb(words) is has


def test_the_features_of_a_reason():
    """Length 1 and 3 words; a figure; a person; the cosines to the mean are 0.5 and 0.5."""
    texts = ["Half", "I saw it"]
    features = reason_inputs(texts, np.array([[1.0, 0.0], [0.0, 1.0]]))
    assert features == pytest.approx(
        np.array([[0.5, 0.0, 1.0, 0.0, 1.0, 0.0], [0.5, np.log(3), 0.0, 1.0, 0.0, 1.0]])
    )
    flags = reason_inputs(
        ["Twice as many", "It costs 3", "We saw", "Give me time", "Zoos"], np.eye(5)
    )
    assert flags[:, 2].tolist() == [1, 1, 0, 0, 0]
    assert flags[:, 3].tolist() == [0, 0, 0, 1, 0]
