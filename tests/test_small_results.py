"""What a script or notebook is given: figures as text, means over questions, pairs from memory."""

import pytest

import pnyx
from pnyx.formats import load_example
from pnyx.judging import pairs_of_corpus
from pnyx.stats import Measured, cluster_mean


def test_a_measured_value_says_value_interval_and_base():
    assert str(Measured(0.8625, 240, 241, 0.8, 0.9)) == "0.863 [0.800, 0.900], 240 of 241 scored"
    assert str(Measured(0.5, 1_200, 1_200)) == "0.500, 1,200 of 1,200 scored"
    assert str(Measured(None, 0, 3)) == "-, 0 of 3 scored"


def test_a_mean_over_named_questions():
    # Two questions, one all right, one all wrong, tell next to nothing of others.
    found = cluster_mean([True, True, False, False], ["a", "a", "b", "b"])
    assert (found.value, found.low, found.high) == (0.5, pytest.approx(0, abs=0.002),
                                                    pytest.approx(1, abs=0.002))  # fmt: skip
    # All right: Wilson's interval of 2 of 2 questions, from z² / (n + z²) below 1.
    found = cluster_mean([1, 1, 1], ["a", "b", "b"])
    assert found.low == pytest.approx(1 - 1.959964**2 / (2 + 1.959964**2), abs=1e-6)
    assert (found.value, found.high, found.scored) == (1.0, 1.0, 3)


def test_pairs_of_questions_and_an_index_in_memory(tmp_path):
    example = load_example()
    index = pnyx.build_index(example.arguments[:3], tmp_path / "index")
    asked = [pnyx.Question("q1", "Is it so?"), pnyx.Question("q2", "Or not?")]
    (tmp_path / "q.jsonl").write_text(
        '{"id": "q1", "text": "Is it so?"}\n{"id": "q2", "text": "Or not?"}\n'
    )
    pairs = pairs_of_corpus(index, asked)
    assert pairs.count == 6
    assert list(pairs) == list(pairs_of_corpus(index.path, tmp_path / "q.jsonl"))
    with pytest.raises(pnyx.InputError, match=r"^question 'q1' comes twice"):
        pairs_of_corpus(index, [asked[0], asked[0]])
