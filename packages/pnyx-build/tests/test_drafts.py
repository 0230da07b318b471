"""Drafts as JSON Lines and Markdown, and what they are drafted from."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from command import write_rows
from pnyx.core.errors import InputError
from pnyx.core.files import clean_text
from pnyx.formats import check, sniff
from pnyx.formats.text.words import clean
from pnyx_build.drafts.files import finished, read_drafts, write_drafts
from pnyx_build.drafts.markdown import DRAFTS, write_drafts_markdown
from pnyx_build.drafts.sources import read_argument_pairs, read_claims, read_survey
from tries import tries

lines = st.text(st.characters(exclude_categories=["Cs"]), max_size=20).map(clean).filter(bool)
words = st.from_regex(r"[\w.:/#-]{1,8}", fullmatch=True).filter(lambda w: not w.isspace())
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=8).map(clean_text),
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=4).map(clean_text), inner)
    ),
    max_leaves=4,
)
views = st.builds(
    lambda own, text, side, more: {
        **({"id": own} if own else {}), "text": text, "stance": side, **more
    },
    st.none() | words,
    lines,
    st.sampled_from(["pro", "con", "neutral", None]),
    st.dictionaries(st.sampled_from(["origin", "documents"]), json_values),
)  # fmt: skip
drafts = st.builds(
    lambda id_, question, found, more: {
        "id": id_, "question": question, "perspectives": found, **more
    },
    words,
    lines,
    st.lists(views, min_size=1, max_size=4),
    st.dictionaries(st.sampled_from(["drafted_by", "drafted_from", "dropped"]), json_values),
)  # fmt: skip


def valid(row: dict) -> bool:
    ids = [str(view.get("id") or n) for n, view in enumerate(row["perspectives"], 1)]
    return len(set(ids)) == len(ids)


@settings(max_examples=tries(60), deadline=None, suppress_health_check=list(HealthCheck))
@given(rows=st.lists(drafts.filter(valid), min_size=1, max_size=3, unique_by=lambda r: r["id"]))
@pytest.mark.parametrize("name", ["d.md", "d.jsonl"])
def test_reading_what_was_written_gives_the_same_drafts(rows, name, tmp_path_factory):
    path = tmp_path_factory.getbasetemp() / name
    write_drafts(str(path), rows)
    assert sniff(str(path)) == ("drafts-markdown" if name.endswith("md") else "drafts")
    assert read_drafts(str(path)) == rows


@settings(max_examples=tries(200), deadline=None, suppress_health_check=list(HealthCheck))
@given(
    text=st.lists(
        st.sampled_from(
            ["## 1: Q?", "## ", "- pro: A.", "- con (7): B.", "> x: 1", "> x", "  y", ""]
        )
        | st.text(max_size=12),
        max_size=8,
    ).map("\n".join)
)
def test_any_markdown_is_read_or_refused_in_words(text, tmp_path_factory):
    path = tmp_path_factory.getbasetemp() / "any.md"
    path.write_text(text, encoding="utf-8", errors="replace", newline="")
    for row in check(str(path), DRAFTS):
        if isinstance(row, InputError):
            assert "\n" not in str(row)
        else:
            write_drafts_markdown(
                io.StringIO(), [{**row[1], "question": clean(row[1]["question"])}]
            )


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ({"id": "a b"}, "an id with white space"),
        ({"question": "Two\nlines?"}, "a text of several lines"),
        ({"perspectives": [{"text": "A.", "stance": None, "a-b": 1}]}, "a field 'a-b'"),
        ({"perspectives": [{"id": "(1)", "text": "A.", "stance": None}]}, "the id '(1)'"),
        ({"with space": 1}, "a field 'with space'"),
    ],
)
def test_what_markdown_cannot_hold_is_refused(row, problem):
    good = {"id": "1", "question": "Q?", "perspectives": [{"text": "A.", "stance": None}]}
    with pytest.raises(InputError, match=r"cannot hold") as caught:
        write_drafts_markdown(io.StringIO(), [{**good, **row}])
    assert problem in str(caught.value)


def test_finished_drafts_number_their_perspectives():
    own = {"id": "x", "text": "B.", "stance": None, "origin": "m"}
    views = [{"text": "A.", "stance": "pro"}, own]
    row = {"id": "q", "question": "Q?", "drafted_by": "rule", "perspectives": views}
    (question,), found = finished([row])
    assert (question.text, question.extra) == ("Q?", {"drafted_by": "rule"})
    assert [(p.id, p.text, p.stance, dict(p.extra)) for p in found] == [
        ("1", "A.", "pro", {"question": "Q?"}),
        ("x", "B.", None, {"origin": "m", "question": "Q?"}),
    ]


def test_points_and_their_counters_are_pairs(tmp_path):
    row = {"split": "test", "theme": "food", "debate": "tea", "side": "pro", "stance": "pro"}
    rows = [
        {**row, "id": "t01a", "number": 1, "type": "point", "conclusion": "Calms", "premise": "P."},
        {**row, "id": "t01b", "number": 1, "type": "counter", "conclusion": "", "premise": "C."},
        {**row, "id": "t02a", "number": 2, "type": "point", "conclusion": "Alone", "premise": "P."},
    ]
    path = tmp_path / "a.jsonl"
    write_rows(path, rows)
    said = []
    (pair,) = read_argument_pairs(str(path), on_warning=said.append)
    assert (pair.id, pair.a, pair.b) == ("t01a", "Calms. P.", "C.")
    assert said == ["1 of 2 points have no counter"]


@pytest.mark.parametrize(
    "answer",
    ["Refused", "refuse", "Don't know", "DON’T KNOW", "(No answer)", "Not sure", "DK/REF",
     "I'd say no", "Neither", "None of these", "No", "Not at all"],
)  # fmt: skip
def test_answers_that_stand_for_no_view_are_left_out(answer, tmp_path):
    """The first seven stand for none."""
    path = tmp_path / "s.jsonl"
    options = ["Good", "Bad", answer]
    path.write_text(json.dumps({"id": "1", "question": "Q?", "options": options}) + "\n")
    (found,) = read_survey(str(path))
    none = ("Refused", "refuse", "Don't know", "DON’T KNOW", "(No answer)", "Not sure", "DK/REF")
    assert found.options == tuple(options[:2] if answer in none else options)


@pytest.mark.parametrize(
    ("read", "text", "problem"),
    [
        (read_argument_pairs, '{"a": "x"}\n', "f:1: no b"),
        (read_argument_pairs, '{"id": "1", "a": "x", "b": "y"}\n' * 2, "f:2: duplicate id '1'"),
        (read_argument_pairs, "", "f: "),
        (read_claims, '{"id": "1", "claim": "x", "perspectives": []}\n', "f:1: perspectives is"),
        (read_claims,
         '{"id": "1", "claim": "x", "perspectives": [{"text": "y", "stance": "up"}]}\n',
         "perspectives[0]: stance: found up"),
        (read_claims, '[{"cId": 1, "text": "x", "perspectives": [7]}]', "f: its texts are in"),
        (read_claims, '{"id": "1", "text": "x"}\n', "f: holds documents, expected arguments"),
        (read_survey, '{"id": "1", "question": "x", "options": ["Yes", "Refused"]}\n',
         "f:1: options: found 1 that state a view, expected 2 to 50"),
        (read_survey, "key,question\n1,x\n", "f:2: no column 'references'"),
        (read_survey, "key,question,references\n1,x,[[[\n", "f:2: options: found '[[['"),
        (read_survey, "key,question,references\n1,x,\"['a', 3]\"\n", "f:2: options[1]: found 3"),
    ],
)  # fmt: skip
def test_bad_sources_are_one_line(read, text, problem, tmp_path):
    path = tmp_path / "f"
    path.write_text(text)
    with pytest.raises(InputError) as caught:
        read(str(path))
    assert problem in str(caught.value).replace(str(path.parent) + "/", "")


def test_a_pool_is_read_beside_its_claims(tmp_path):
    cluster = {"pids": [7], "stance_label_3": "SUPPORT"}
    claim = {"cId": 1, "text": "Tea  is good", "perspectives": [cluster]}
    (tmp_path / "p.json").write_text(json.dumps([claim]))
    Path(tmp_path / "perspective_pool_v1.0.json").write_text('[{"pId": 7, "text": "It calms"}]')
    (found,) = read_claims(str(tmp_path / "p.json"))
    assert (found.id, found.claim, found.views) == ("1", "Tea is good", (("It calms", "pro"),))
