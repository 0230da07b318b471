"""The files that judges read and write: each field of each format, good and spoilt."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pnyx.core.errors import InputError
from pnyx.core.files import clean_text
from pnyx.formats import FORMATS, faults, read_items, sniff
from pnyx.formats.items import ITEM_FORMATS

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text(max_size=5).map(clean_text),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4).map(clean_text), inner)
    ),
    max_leaves=6,
)


@pytest.fixture
def problems(tmp_path):
    def problems(name: str, *rows: dict[str, Any]) -> list[str]:
        path = tmp_path / "items.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        return [str(fault).removeprefix(str(path)) for fault in faults(str(path), name)]

    return problems


ANSWER = {"id": "1", "task": "t", "value": True, "unscored": None, "judge": "j"}
RANKING = {"id": "1", "query": "q", "documents": ["d"]}
PAIR = {"id": "1", "a": "x", "b": "y", "question": "q"}
TEXT = {"id": "1", "text": "t"}


@pytest.mark.parametrize(
    ("name", "row"),
    [
        ("ranking-items", RANKING | {"criterion": "newest", "group": 7, "kept": [1]}),
        ("ranking-items", RANKING | {"criterion": None, "group": None}),
        ("ranking-items", RANKING | {"documents": ["d", "d", {"text": "d"}, {"text": "d"}]}),
        (
            "ranking-items",
            RANKING | {"documents": [{"text": "d", "id": i} for i in (1, "2", None)]},
        ),
        ("preference-items", PAIR | {"criterion": "shorter"}),
        ("preference-items", PAIR | {"criterion": ""}),
        ("rating-items", TEXT | {"dimensions": ["cogency", "clarity"]}),
        ("rating-items", TEXT | {"dimensions": None}),
        ("answers", ANSWER | {"notes": {"repaired": True, "votes": [1, None]}}),
        ("answers", ANSWER | {"notes": None}),
    ],
)
def test_what_may_be_there(name, row, problems, tmp_path):
    assert problems(name, row) == []
    assert list(read_items(str(tmp_path / "items.jsonl"), name)) == [(1, row)]


@pytest.mark.parametrize(
    ("name", "row", "problem"),
    [
        ("ranking-items", {"id": "1", "query": "q"}, "no documents (fields found: id, query)"),
        ("ranking-items", {"id": "1", "documents": ["d"]}, "no query"),
        ("ranking-items", RANKING | {"query": " "}, "query is empty"),
        ("ranking-items", RANKING | {"query": 5}, "query: found 5, expected text"),
        ("ranking-items", RANKING | {"documents": []}, "documents is empty"),
        ("ranking-items", RANKING | {"documents": "d"}, "expected a list"),
        ("ranking-items", RANKING | {"documents": {"text": "d"}}, "expected a list"),
        ("ranking-items", RANKING | {"documents": ["d", 5]}, "documents[1]: found 5"),
        (
            "ranking-items",
            RANKING | {"documents": [{"id": "1"}]},
            "documents[0]: no text (fields found: id)",
        ),
        (
            "ranking-items",
            RANKING | {"documents": [{"text": "d", "id": 1.5}]},
            "documents[0]: id: found 1.5, expected text",
        ),
        (
            "ranking-items",
            RANKING | {"documents": [{"text": "c", "id": 1}, "x", {"text": "d", "id": "1"}]},
            "documents[2]: id: found '1' twice",
        ),
        ("ranking-items", RANKING | {"criterion": ["new"]}, "criterion: found"),
        ("preference-items", PAIR | {"criterion": 1}, "criterion: found 1, expected text"),
        ("rating-items", TEXT | {"dimensions": "clarity"}, "expected a list"),
        ("rating-items", TEXT | {"dimensions": []}, "dimensions is empty"),
        ("rating-items", TEXT | {"dimensions": ["a", " "]}, "dimensions[1] is empty"),
        ("rating-items", TEXT | {"dimensions": ["a", 2]}, "dimensions[1]: found 2, expected text"),
        ("rating-items", TEXT | {"dimensions": ["a", "b", "a"]}, "dimensions[2]: found 'a' twice"),
        ("answers", ANSWER | {"notes": "repaired"}, "notes: found repaired, expected an object"),
        ("answers", ANSWER | {"notes": []}, "expected an object"),
    ],
)
def test_what_may_not(name, row, problem, problems):
    (found,) = problems(name, row)
    assert found.startswith(":1: ")
    assert problem in found


def test_an_id_occurs_once(problems):
    assert problems("ranking-items", RANKING, RANKING | {"id": 1}) == [
        ":2: duplicate id '1', first in line 1"
    ]


PLAIN = ("nugget-items", "rating-items", "sides-items")


@pytest.mark.parametrize("name", [name for name in ITEM_FORMATS if name not in PLAIN])
def test_a_format_is_recognised_whatever_optional_fields_its_first_line_has(name, tmp_path):
    """But for plain texts to rate or to tell the side of, which could be documents as well, and
    nuggets, which have the fields of support."""
    found = ITEM_FORMATS[name]
    path = tmp_path / "f"
    path.write_text(json.dumps(json.loads(FORMATS[name].example) | dict.fromkeys(found.optional)))
    assert sniff(str(path)) == name
    assert sniff(str(path), "items") == name


@pytest.mark.slow
@pytest.mark.parametrize("name", ITEM_FORMATS)
@given(data=st.data())
def test_a_spoilt_field_is_refused_in_words_or_carried_along(name, data):
    """Whatever stands in a field: the row as it was (its id as text), or one line that names it."""
    found = ITEM_FORMATS[name]
    row = json.loads(FORMATS[name].example)
    field = data.draw(st.sampled_from([*found.required, *found.optional]))
    row[field] = data.draw(JSON)
    problem = ""
    try:
        assert found.parse(row) == row
    except InputError as error:
        problem = str(error)
    assert "\n" not in problem
    assert len(problem) < 300


def test_every_field_of_a_format_is_in_the_documentations_table():
    folder = Path(__file__).parents[1] / "docs" / "reference" / "formats"
    page = (folder / "judge-files.md").read_text()
    for name, found in ITEM_FORMATS.items():
        (line,) = (line for line in page.splitlines() if line.startswith(f"| `{name}`"))
        missing = [f for f in ("id", *found.required, *found.optional) if f"`{f}`" not in line]
        assert not missing, (name, missing)
        assert name in FORMATS


@pytest.mark.parametrize("name", ITEM_FORMATS)
@given(data=st.data())
def test_a_row_that_is_told_to_be_right_at_a_glance_is_right(name, data):
    form = ITEM_FORMATS[name]
    texts = st.sampled_from(["a", "x y", "", " ", "\x1f", "\ud800", "é"])
    values = st.none() | st.booleans() | st.floats() | st.integers(-2, 2) | texts
    fields = dict.fromkeys(("id", *form.required), values)
    row = data.draw(st.fixed_dictionaries(fields, optional=dict.fromkeys(form.optional, values)))
    if form._is_plain(row):
        assert form._validate(row).id == row["id"]


def test_the_usual_rows_are_told_at_a_glance():
    answer = {"id": "1", "task": "support", "value": True, "unscored": None, "judge": "j"}
    assert ITEM_FORMATS["answers"]._is_plain({**answer, "probability": 0.5, "reasons": []})
    assert not ITEM_FORMATS["answers"]._is_plain({**answer, "value": None})
    assert ITEM_FORMATS["labels"]._is_plain({"id": "1", "value": False})
