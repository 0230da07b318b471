"""What Pnyx writes is loaded by autojudge-base, and what autojudge-base writes is read by Pnyx."""

from __future__ import annotations

import contextlib
import io
import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nugget_rows import ROWS
from pnyx.core.errors import InputError
from pnyx.formats import FORMATS, nugget_bank_row, parse_nugget_bank, read_nugget_banks
from tries import tries

try:  # it loads NLTK's stop words and sentences when it is imported
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        import autojudge_base.nugget_data as theirs
        from autojudge_base.nugget_data import nugget_data_example
except Exception:
    pytest.skip("autojudge_base cannot be imported", allow_module_level=True)

BITEM = sorted(
    Path(os.environ.get("PNYX_DATA", "/nonexistent"), "reportgen", "ragtime26_bitem").glob("T3_*")
)
CONTAINERS = {
    "nuggetbank-v3": theirs.NuggetBanks,
    "ragtime26-nuggets": theirs.Ragtime26NuggetBanks,
    "nuggetizer": theirs.NuggetizerNuggetBanks,
}
slow = settings(max_examples=tries(12), deadline=None, suppress_health_check=list(HealthCheck))


def loaded(path: Path, name: str) -> Any:
    return theirs.load_nugget_banks_generic(path, CONTAINERS[name])


def nuggets_of(bank: Any) -> list[Any]:
    return bank.nuggets if hasattr(bank, "nuggets") else bank.nuggets_as_list()


def without_empty(value: Any) -> Any:
    """Drop what is empty: whether it is written is left to the writer."""
    if isinstance(value, list):
        return [without_empty(one) for one in value]
    if isinstance(value, dict):
        return {k: without_empty(one) for k, one in value.items() if one not in ([], {})}
    return value


@pytest.mark.parametrize("target", CONTAINERS)
@pytest.mark.parametrize("source", ROWS)
@slow
@given(data=st.data())
def test_their_loader_takes_whatever_is_written(source, target, data, tmp_path_factory):
    bank = parse_nugget_bank(data.draw(ROWS[source]))
    if any(one.extra.get("assignment") == "failed" for one in bank.nuggets):
        return  # nuggetizer writes it, autojudge's model does not take it
    path = tmp_path_factory.mktemp("theirs") / "banks.jsonl"
    try:
        with path.open("w") as stream:
            FORMATS[target].writer(stream, [bank])
    except InputError:
        return  # what would mislead their reader: the tests of the formats say which
    found = loaded(path, target).banks[bank.topic_id]
    beside = sum(one.unanswerable for one in bank.nuggets) if target == "nuggetizer" else 0
    assert len(nuggets_of(found)) == len(bank.nuggets) - beside


def test_a_version_that_is_no_text_is_refused():
    bank = parse_nugget_bank({"format_version": None, "qid": "0", "nuggets": [{"text": "a"}]})
    with pytest.raises(InputError, match="format_version is not text, expected text"):
        FORMATS["ragtime26-nuggets"].writer(io.StringIO(), [bank])


def test_a_nuggets_query_that_is_no_text_is_refused(tmp_path):
    bank = parse_nugget_bank({"query": "", "qid": "00", "nuggets": [{"query_id": 0, "text": "a"}]})
    with (
        (tmp_path / "b").open("w") as stream,
        pytest.raises(InputError, match="query_id"),
    ):
        FORMATS["nuggetbank-v3"].writer(stream, [bank])


@pytest.mark.parametrize("name", CONTAINERS)
def test_their_dump_of_an_example_is_read_as_the_example(name, tmp_path):
    path, again = tmp_path / "ours.jsonl", tmp_path / "theirs.jsonl"
    path.write_text(FORMATS[name].example)
    theirs.write_nugget_banks_generic(loaded(path, name), again)
    ours, back = next(read_nugget_banks(str(path))), next(read_nugget_banks(str(again)))
    if name == "ragtime26-nuggets":
        assert back.extra == {"format_version": "RAGTIME26"}
        back = parse_nugget_bank({**json.loads(again.read_text()), "format_version": None})
        assert back.extra == {"format_version": None}
        assert (back.nuggets, back.run_id, back.topic_id) == (ours.nuggets, "r1", "101")
    else:
        assert back == ours


def test_their_example_comes_back_as_they_wrote_it(tmp_path):
    with contextlib.redirect_stdout(io.StringIO()):
        example = nugget_data_example.dummy_model()
    path, again = tmp_path / "example.json", tmp_path / "ours.jsonl"
    theirs.write_nugget_bank_json(example, path)
    banks = list(read_nugget_banks(str(path)))
    assert [(len(b.nuggets), b.topic_id, b.title) for b in banks] == [(6, "123", "Laura Pichu")]
    assert [n.text for n in banks[0].nuggets] == [
        *example.nugget_bank,
        "There are unicorns in the world",
    ]
    with again.open("w") as stream:
        FORMATS["nuggetbank-v3"].writer(stream, banks)
    found = loaded(again, "nuggetbank-v3").banks["123"].model_dump_json(exclude_none=True)
    assert without_empty(json.loads(found)) == without_empty(json.loads(path.read_text()))


def test_a_folder_and_a_container_of_theirs(tmp_path):
    (tmp_path / "ours.jsonl").write_text(FORMATS["nuggetbank-v3"].example)
    banks = loaded(tmp_path / "ours.jsonl", "nuggetbank-v3")
    theirs.write_nugget_banks_generic(banks, tmp_path / "folder", format="directory")
    (tmp_path / "container.json").write_text(banks.model_dump_json(exclude_none=True, indent=2))
    ours = list(read_nugget_banks(str(tmp_path / "ours.jsonl")))
    assert list(read_nugget_banks(str(tmp_path / "folder"))) == ours
    assert list(read_nugget_banks(str(tmp_path / "container.json"))) == ours


@pytest.mark.parametrize("path", BITEM, ids=lambda path: path.stem)
def test_submitted_banks_are_converted_as_they_convert_them(path):
    their_banks = loaded(path, "ragtime26-nuggets").banks
    ours = list(read_nugget_banks(str(path)))
    assert [b.topic_id for b in ours] == list(their_banks)
    for bank in ours:
        theirs_v3 = their_banks[bank.topic_id].to_nugget_bank()
        made = theirs.NuggetBank.model_validate(nugget_bank_row(bank, "nuggetbank-v3"))
        assert list(made.nugget_bank) == list(theirs_v3.nugget_bank)
        assert made.metadata == theirs_v3.metadata
        for text, question in theirs_v3.nugget_bank.items():
            mine = made.nugget_bank[text]
            assert mine.question_id == question.question_id
            assert mine.aggregator_type == question.aggregator_type
            # They merge answers of equal text; here each is kept.
            cited: dict[str, list[str]] = {}
            for one in mine.answers.values():
                cited.setdefault(one.answer, []).extend(r.doc_id for r in one.references)
            assert cited == {
                key: [r.doc_id for r in one.references]
                for key, one in (question.answers or {}).items()
            }
        back = theirs.NuggetBank.model_validate(nugget_bank_row(bank, "nuggetbank-v3"))
        again = back.to_ragtime26_nugget_bank()
        assert [n.question for n in again.nugget_bank] == [n.text for n in bank.nuggets]
