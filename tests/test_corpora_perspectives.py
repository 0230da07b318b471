"""Files of perspectives: Pnyx's own, and both that BERDS has."""

from __future__ import annotations

import io
import json
import os
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pnyx.cli import main
from pnyx.core.errors import InputError
from pnyx.core.files import clean_text
from pnyx.core.records import Perspective
from pnyx.formats import FORMATS
from pnyx.formats.perspectives import read_perspectives
from pnyx.formats.text.segment import split_words
from tries import tries

DATA = Path(os.environ.get("PNYX_DATA", Path(__file__).parents[2] / "shared" / "data")) / "berds"
DEV = {
    "arguana_generated": (125, 250, 747, 2),
    "kialo": (129, 349, 789, 42),
    "opinionqa": (147, 294, 895, 2),
}
"""Set -> questions, gold perspectives, expansions, most perspectives of a question."""

texts = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12).map(clean_text)
filled = texts.filter(str.strip)
extras = st.dictionaries(st.sampled_from(["x", "origin", "side_by"]), st.integers() | texts)
records = st.builds(
    lambda id_, question_id, text, stance, extra, question: Perspective(
        id_, question_id, text, stance, {**extra, **({"question": question} if question else {})}
    ),
    filled,
    filled,
    filled,
    st.sampled_from(["pro", "con", "neutral", None]),
    extras,
    st.none() | filled,
)


@settings(max_examples=tries(40), deadline=None, suppress_health_check=list(HealthCheck))
@given(given_records=st.lists(records, min_size=1, unique_by=lambda p: (p.question_id, p.id)))
def test_reading_what_was_written_gives_the_same_records(given_records, tmp_path_factory):
    stream, path = io.StringIO(), tmp_path_factory.getbasetemp() / "perspectives"
    FORMATS["perspectives"].writer(stream, given_records)
    path.write_text(stream.getvalue(), encoding="utf-8", newline="")
    for gold in (False, True):
        assert read_perspectives(path, gold=gold) == given_records


def test_what_the_form_cannot_hold_is_refused():
    for field in ("id", "org_q", "stance"):
        record = Perspective("p", "q", "Tea is healthy.", extra={field: "x"})
        with pytest.raises(InputError, match=f"unknown field named {field}"):
            FORMATS["perspectives"].writer(io.StringIO(), [record])


def _expansion(number: int, *gold: str, question: str = "7") -> str:
    row = {
        "org_id": question, "org_q": "Is tea healthy?", "id": number, "text": f"View {number}.",
        "perspective": "Name", "question": "Is tea healthy? View.", "perspectives": list(gold),
    }  # fmt: skip
    return json.dumps(row) + "\n"


def test_a_query_expansion_is_read_for_what_counts_or_for_what_the_model_wrote(tmp_path):
    path = tmp_path / "q.jsonl"
    path.write_text("".join(_expansion(n, "It is.", "It is not.") for n in (1, 2, 3)))
    gold = read_perspectives(path, gold=True)
    assert [(p.question_id, p.id, p.text) for p in gold] == [
        ("7", "1", "It is."),
        ("7", "2", "It is not."),
    ]
    assert gold[0].extra == {"question": "Is tea healthy?"}
    assert [p.text for p in read_perspectives(path)] == ["View 1.", "View 2.", "View 3."]


def test_lists_that_contradict_each_other_are_named_with_their_line(tmp_path):
    path = tmp_path / "q.jsonl"
    path.write_text(_expansion(1, "It is.") + _expansion(2, "It is not."))
    with pytest.raises(InputError) as caught:
        read_perspectives(path, gold=True)
    assert caught.value.line == 2
    assert "differ from those in an earlier line" in caught.value.problem


def test_convert_takes_the_perspectives_that_count(tmp_path, capsys):
    source, out = tmp_path / "q.jsonl", tmp_path / "views.jsonl"
    source.write_text(_expansion(1, "It is.", "It is not.") + _expansion(2, "It is.", "It is not."))
    for options, texts_ in (
        ((), ["It is.", "It is not."]),
        (("--format", "berds-expansions"), ["View 1.", "View 2."]),
    ):
        with pytest.raises(SystemExit) as ended:
            main(
                ["files", "convert", str(source), "--to", "perspectives", "-o", str(out), *options]
            )
        assert ended.value.code == 0, capsys.readouterr().err
        assert [p.text for p in read_perspectives(out, gold=True)] == texts_


@given(st.text(st.characters(exclude_categories=["Cs"])), st.integers(1, 5))
def test_passages_are_disjoint_verbatim_and_whole(text, words):
    passages = split_words(text, words)
    assert "".join("".join(passages).split()) == "".join(text.split())
    at = 0
    for passage in passages:
        at = text.index(passage, at) + len(passage)
        assert passage == passage.strip()
    if all(len(word) <= 64 for word in text.split()):
        assert all(len(passage.split()) == words for passage in passages[:-1])


def test_a_word_without_an_end_is_cut():
    assert [len(p) for p in split_words("x" * 1000, 5)] == [320, 320, 320, 40]
    with pytest.raises(ValueError, match="at least 1"):
        split_words("text", 0)


@pytest.mark.skipif(not DATA.is_dir(), reason=f"the BERDS files are not in {DATA} (PNYX_DATA)")
@pytest.mark.parametrize("name", DEV)
def test_the_dev_questions_of_berds_are_read_whole(name):
    path = DATA / f"{name}_query_exp.dev.jsonl"
    questions, perspectives, expansions, most = DEV[name]
    gold = read_perspectives(path, gold=True)
    sizes = Counter(p.question_id for p in gold)
    assert (len(sizes), len(gold), max(sizes.values())) == (questions, perspectives, most)
    assert len(read_perspectives(path)) == expansions
