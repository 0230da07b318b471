"""Labelled pairs: what a file may hold, what a student gets to see of it."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pnyx.core.errors import InputError
from pnyx.formats.items import ITEM_FORMATS
from pnyx.relevance import LabelledPair, read_labelled
from pnyx.relevance.distillation import example_of

ROW = {"id": "1", "question": "Is tea healthy?", "document": "Tea calms.", "value": True}


@pytest.mark.parametrize(
    ("probability", "partial", "value", "target"),
    [
        (0.25, True, True, 0.25),
        (None, True, True, 0.75),
        (None, False, True, 1.0),
        (None, False, False, 0.0),
    ],
)
def test_a_student_learns_the_probability_or_else_0_75_if_it_is_partly_relevant(
    probability, partial, value, target
):
    pair = LabelledPair("1", "Q?", "D.", value=value, probability=probability, partial=partial)
    assert example_of(pair).target == target


@pytest.fixture
def read(tmp_path):
    path = tmp_path / "labelled.jsonl"

    def read(*rows):
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        return list(read_labelled(tmp_path))  # the folder stands for its file

    return read


def test_a_pair_keeps_all_that_its_line_says(read):
    row = ROW | {
        "definition": "Effects of tea.", "group": "g", "question_id": 7, "doc_id": "d1",
        "probability": 0.25, "weight": 54, "judge": "gpt", "rank": 3, "stratum": "top",
    }  # fmt: skip
    (pair,) = read(row)
    assert pair == LabelledPair(
        "1", "Is tea healthy?", "Tea calms.", "Effects of tea.", "7", "d1",
        value=True, probability=0.25, weight=54.0, judge="gpt",
        extra={"rank": 3, "stratum": "top"},
    )  # fmt: skip


@pytest.mark.parametrize(
    ("value", "expected", "partial"),
    [
        (True, True, False),
        (False, False, False),
        (None, None, False),
        ("yes", True, False),
        (" Partially ", True, True),
        ("NO", False, False),
    ],
)
def test_values_that_people_write(read, value, expected, partial):
    (pair,) = read(ROW | {"value": value})
    assert (pair.value, pair.partial, pair.weight) == (expected, partial, 1.0)


def test_pairs_of_one_question_are_one_group(read):
    names = (
        {},
        {"group": "g"},
        {"group": "g", "question_id": "q"},
        {"group": "", "definition": None},
    )
    pairs = read(*(ROW | {"id": n} | more for n, more in enumerate(names)))
    assert [pair.group for pair in pairs] == ["Is tea healthy?", "g", "q", "Is tea healthy?"]
    assert {pair.definition for pair in pairs} == {""}


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"value": "maybe"}, "value: found maybe, expected true, false, null, yes, no or part"),
        ({"value": 1}, "value: found 1, expected true, false"),
        ({"value": 0.7}, "value: found 0.7"),
        ({"value": []}, "value: found []"),
        ({"probability": 1.5}, "probability: found 1.5, expected 0 to 1"),
        ({"probability": "high"}, "probability: found high, expected a finite number"),
        ({"weight": 0}, "weight: found 0, expected a number above 0"),
        ({"document": " "}, "document is empty"),
        ({"partial": 1}, "partial: found 1, expected true or false"),
        ({"value": "no", "partial": True}, "partial is true, expected a value that is yes"),
        ({"value": None, "probability": 0.5}, "value is null, expected no probability"),
        ({"unscored": "refusal"}, "both value and unscored"),
    ],
)
def test_a_bad_line_is_one_line_with_its_place(read, more, said):
    with pytest.raises(InputError) as caught:
        read(ROW, ROW | {"id": "2"} | more)
    assert f"labelled.jsonl:2: {said}" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_ids_are_unique_and_something_is_there(read):
    with pytest.raises(InputError, match="duplicate id '1', first in line 1"):
        read(ROW, ROW | {"id": 1})
    with pytest.raises(InputError, match="holds no items"):
        read()
    with pytest.raises(InputError, match="no value"):
        read({k: v for k, v in ROW.items() if k != "value"})


FIELDS = sorted({*ITEM_FORMATS["labelled-pairs"].optional} - {"stance"})  # which is carried along


@given(st.dictionaries(st.sampled_from(FIELDS), st.none()))
def test_fields_that_are_null_are_fields_that_are_not_there(nulls):
    assert list(read_labelled([ROW | nulls])) == list(read_labelled([ROW]))
