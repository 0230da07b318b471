"""Nugget banks: every dialect read and written, there and back, and each fault in one line."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import os
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nugget_rows import ROWS
from pnyx.cli import app
from pnyx.core.errors import InputError
from pnyx.core.nuggets import Nugget, NuggetAnswer, NuggetBank, NuggetReference
from pnyx.formats import (
    FORMATS,
    faults,
    nugget_bank_row,
    parse_nugget_bank,
    read_nugget_banks,
    sniff,
)
from tries import tries

DIALECTS = list(ROWS)
DATA = Path(os.environ.get("PNYX_DATA", "/nonexistent"), "reportgen")
BITEM = sorted(DATA.glob("ragtime26_bitem/T3_*.jsonl"))
RAG25 = DATA / "trec_rag25_dev" / "rag25-dev-nuggets.jsonl"
REAL = [*BITEM, *([RAG25] if RAG25.exists() else [])]
slow = settings(max_examples=tries(12), deadline=None, suppress_health_check=list(HealthCheck))


@pytest.mark.parametrize("target", DIALECTS)
@pytest.mark.parametrize("source", DIALECTS)
@slow
@given(data=st.data())
def test_what_a_dialect_says_comes_back_from_every_other_or_is_refused(source, target, data):
    row = data.draw(ROWS[source])
    bank = parse_nugget_bank(row)
    try:
        there = json.loads(json.dumps(nugget_bank_row(bank, target)))
    except InputError as error:
        if source == target or not error.problem.startswith("bank of topic "):
            raise
        return
    back = parse_nugget_bank(there)
    if target == "nuggetbank-v3":
        bank = replace(bank, nuggets=tuple(sorted(bank.nuggets, key=lambda n: n.is_claim)))
    assert back == bank
    if [n.id for n in bank.nuggets] == [n.id for n in parse_nugget_bank(row).nuggets]:
        assert nugget_bank_row(back, source) == row


leaves = st.text('ab #\n"é漢', min_size=1, max_size=5).filter(str.strip)
references = st.lists(st.builds(NuggetReference, leaves), max_size=2).map(tuple)
answers = st.lists(st.builds(NuggetAnswer, leaves, references), max_size=3).map(tuple)
joins = st.sampled_from(["", "AND", "OR", "Default"])
weights = st.sampled_from(["", "vital", "okay", "failed", "7"])
questions = st.builds(
    Nugget, leaves, leaves, answers, aggregator=joins, importance=weights, references=references
)
claims = st.builds(
    Nugget, leaves, leaves, is_claim=st.just(True), importance=weights, references=references
)


def in_order(nuggets: list[Nugget]) -> tuple[Nugget, ...]:
    """Questions before claims, as the maps of version 3 have them."""
    return tuple(sorted(nuggets, key=lambda one: one.is_claim))


def held(nugget: Nugget, name: str) -> Nugget:
    """Return what a list can hold of a nugget: an importance and a join that it knows."""
    if name == "ragtime26-nuggets":
        return replace(nugget, aggregator=nugget.aggregator.replace("Default", ""))
    answers = () if nugget.is_claim else nugget.answers or (NuggetAnswer("A"),)
    return replace(nugget, answers=answers, importance=nugget.importance.replace("7", "okay"))


banks = st.builds(
    NuggetBank,
    leaves,
    st.lists(questions | claims, min_size=1, max_size=4, unique_by=lambda n: n.id).map(in_order),
    title=st.sampled_from(["", "tea", " "]),
    run_id=st.sampled_from(["", "r 1"]),
    team_id=st.sampled_from(["", "t"]),
    metadata=st.dictionaries(leaves, st.integers() | leaves, max_size=2),
)


@pytest.mark.parametrize("name", DIALECTS)
@slow
@given(records=st.lists(banks, min_size=1, max_size=3, unique_by=lambda b: (b.run_id, b.topic_id)))
def test_what_is_written_to_a_file_is_read_again(name, records, tmp_path_factory):
    if name != "nuggetbank-v3":
        records = [replace(b, nuggets=tuple(held(n, name) for n in b.nuggets)) for b in records]
    path = tmp_path_factory.mktemp("banks") / "banks.jsonl"
    stream = io.StringIO()
    FORMATS[name].writer(stream, records)
    path.write_text(stream.getvalue(), encoding="utf-8", newline="")
    assert list(FORMATS[name].reader(str(path))) == records
    assert list(read_nugget_banks(str(path))) == records
    assert sniff(str(path)) == name


# By hand ------------------------------------------------------------------------------------------

V3 = {
    "query_id": "7",
    "nugget_bank": {
        "Q?": {
            "question": "Q?",
            "aggregator_type": "AND",
            "importance": 2,
            "answers": {"A": {"answer": "A", "references": ["d1", {"doc_id": "d2"}]}},
            "sub_nuggets": [{"claim": "C", "query_id": "7"}],
        },
        "None?": {"question": "None?", "answers": {}},
    },
    "claim_bank": {"C": {"claim": "C", "claim_id": "c9", "references": [{"doc_id": "d1"}]}},
    "metadata": {"topic_id": "7", "team_id": "t", "run_id": "r", "run_desc": "by hand"},
}


def md5(text: str) -> str:
    return hashlib.md5(text.encode()).hexdigest()


def test_the_fields_of_the_nuggetbank_format():
    bank = parse_nugget_bank(V3)
    first, none, claim = bank.nuggets
    assert (bank.topic_id, bank.team_id, bank.run_id) == ("7", "t", "r")
    assert bank.metadata == {"run_desc": "by hand"}
    assert (first.id, first.aggregator, first.importance) == (md5("Q?"), "AND", "2")
    assert first.answers[0].doc_ids == ("d1", "d2")
    assert first.sub_nuggets[0].is_claim
    assert none.unanswerable
    assert (claim.id, claim.is_claim, claim.expected[0].doc_ids) == ("c9", True, ("d1",))
    assert bank.attesting == {"d1": [(md5("Q?"), 0), ("c9", 0)], "d2": [(md5("Q?"), 0)]}
    written = nugget_bank_row(bank, "nuggetbank-v3")
    assert written["nugget_bank"]["Q?"]["importance"] == 2
    assert written["nugget_bank"]["Q?"]["question_id"] == md5("Q?")
    assert written["metadata"] == V3["metadata"]


def test_a_bank_without_query_id_has_the_one_that_autojudge_gives_it():
    banks = [
        {k: v for k, v in V3.items() if k != "query_id"} | more
        for more in ({}, {"title_query": "tea"})
    ]
    assert [parse_nugget_bank(one).topic_id for one in banks] == ["7", md5("tea")]


def test_lists_are_read_as_maps():
    listed = {**V3, "nugget_bank": list(V3["nugget_bank"].values())}
    listed["nugget_bank"][0] = {**listed["nugget_bank"][0]}
    listed["nugget_bank"][0]["answers"] = list(V3["nugget_bank"]["Q?"]["answers"].values())
    assert parse_nugget_bank(listed) == parse_nugget_bank(V3)


def test_what_ragtime_reads_of_a_bank_with_claims():
    bank = parse_nugget_bank({**V3, "nugget_bank": {"None?": {"question": "None?"}}})
    row = nugget_bank_row(bank, "ragtime26-nuggets")
    assert row["nugget_bank"] == [
        {"question": "None?", "answers": []},
        {
            "question": "C",
            "claim_id": "c9",
            "answers": [{"answer": "C", "references": ["d1"]}],
        },
    ]
    assert row["metadata"] == V3["metadata"]


def test_what_nuggetizer_reads_of_questions():
    bank = parse_nugget_bank(V3)
    first, none, claim = bank.nuggets
    vital = replace(first, importance="vital", extra={})
    row = nugget_bank_row(replace(bank, nuggets=(vital, claim)), "nuggetizer")
    assert [one["text"] for one in row["nuggets"]] == ["Q?", "C"]
    assert row["nuggets"][0]["answers"] == [{"answer": "A", "references": ["d1", "d2"]}]
    for one, found in ((first, "importance: found 2"), (none, "count the question as a claim")):
        with pytest.raises(InputError, match=found):
            nugget_bank_row(replace(bank, nuggets=(one,)), "nuggetizer")


def test_the_version_of_a_submission_stays_in_its_own_dialect():
    submitted = {**RAGTIME, "format_version": "RAGTIME26"}
    bank = parse_nugget_bank(submitted)
    assert nugget_bank_row(bank, "ragtime26-nuggets") == submitted
    assert nugget_bank_row(bank, "nuggetbank-v3")["format_version"] == "v3"


def test_entries_of_equal_text_and_questions_before_claims_in_maps():
    same = Nugget("1", "T", (NuggetAnswer("A"), NuggetAnswer("A")))
    claim = Nugget("0", "C", is_claim=True)
    row = nugget_bank_row(NuggetBank("7", (claim, same, Nugget("2", "T"))), "nuggetbank-v3")
    assert list(row["nugget_bank"]) == ["T", "T #2"]
    assert list(row["nugget_bank"]["T"]["answers"]) == ["A", "A #2"]
    assert parse_nugget_bank(row).nuggets == (same, Nugget("2", "T"), claim)


@pytest.mark.parametrize(
    ("nugget", "target", "found"),
    [
        (Nugget("1", "Q?", aggregator="NOT"), "ragtime26-nuggets", "expected one of AND, OR"),
        (Nugget("1", "Q?", aggregator="SUM"), "ragtime26-nuggets", "expected one of AND, OR"),
        (Nugget("1", "C", is_claim=True, aggregator="NOT"), "nuggetizer", "NOT"),
        (Nugget("1", "Q?", aggregator="XOR"), "nuggetbank-v3", "one of AND, OR"),
        (Nugget("1", "Q?", extra={"references": 1}), "nuggetbank-v3", "the field references"),
        (Nugget("1", " "), "nuggetizer", "text is empty"),
        (Nugget("1", "C", (NuggetAnswer("A"),), True), "nuggetbank-v3", "claim has answers"),
        (Nugget("1", "Q?", extra={"importance": 1}), "nuggetbank-v3", "the importance of 'Q"),
        (Nugget("1", "C", is_claim=True, extra={"creator": 1}), "nuggetbank-v3", "creator: found"),
    ],
)
def test_what_a_dialect_cannot_hold_is_refused_by_name(nugget, target, found):
    nugget = nugget if nugget.text.strip() else Nugget("1", " ", is_claim=True)
    bank = NuggetBank("topic 9", (nugget,))
    with pytest.raises(InputError, match=found) as error:
        nugget_bank_row(bank, target)
    assert "bank of topic 'topic 9'" in str(error.value)


def test_nothing_is_written_where_a_bank_is_refused(tmp_path):
    source, out = tmp_path / "v3.jsonl", tmp_path / "out.jsonl"
    bad = {"query_id": "8", "nugget_bank": {"N": {"question": "N", "aggregator_type": "NOT"}}}
    source.write_text(json.dumps(V3) + "\n" + json.dumps(bad) + "\n")
    args = ["files", "convert", str(source), "--to", "ragtime26-nuggets", "-o", str(out)]
    result = CliRunner().invoke(app, args)
    assert isinstance(result.exception, InputError)
    assert "bank of topic '8': ragtime26-nuggets cannot hold it" in str(result.exception)
    assert "aggregator_type: found NOT, expected one of AND, OR" in str(result.exception)
    assert not out.exists()


# Files --------------------------------------------------------------------------------------------


def write(path: Path, *rows: object) -> str:
    lines = (row if isinstance(row, str) else json.dumps(row) for row in rows)
    path.write_text("".join(line + "\n" for line in lines))
    return str(path)


def test_one_object_over_many_lines_and_a_folder_of_them(tmp_path):
    one = {**V3, "query_id": "8"}
    (tmp_path / "a.json").write_text(json.dumps(V3, indent=2))
    (tmp_path / "b.json.gz").write_bytes(gzip.compress(json.dumps(one, indent=2).encode()))
    (tmp_path / "c.jsonl").write_text('{"qid": "9", "nuggets": [{"text": "N"}]}\n')
    (tmp_path / "notes.md").write_text("not a bank")
    assert [b.topic_id for b in read_nugget_banks(str(tmp_path))] == ["7", "8", "9"]
    assert sniff(str(tmp_path)) == "nuggetbank-v3"
    assert sniff(str(tmp_path / "a.json")) == "nuggetbank-v3"
    found = [str(fault) for fault in faults(str(tmp_path))]
    assert found == [f"{tmp_path}/c.jsonl:1: no query_id"]
    (tmp_path / "d.json").write_text(json.dumps(V3))
    with pytest.raises(InputError, match=r"d\.json:1: duplicate topic 'r' '7', first in .*a\.json"):
        list(read_nugget_banks(str(tmp_path)))


def test_a_bank_for_each_run_of_a_topic(tmp_path):
    rows = [{"qid": "1", "run_id": r, "nuggets": [{"text": "N"}]} for r in ("a", "b", "a")]
    path = write(tmp_path / "f", *rows)
    assert [str(f) for f in faults(path)] == [f"{path}:3: duplicate topic 'a' '1', first in line 1"]


def test_the_wrapper_of_autojudge_reads_any_dialect(tmp_path):
    inner = {"7": V3, "1": {"qid": "1", "query": "q", "nuggets": [{"text": "N"}]}}
    path = write(tmp_path / "f", {"format_version": "v3", "banks": inner})
    assert [b.topic_id for b in read_nugget_banks(path)] == ["7", "1"]
    assert sniff(path) == "autojudge-banks"
    path = write(tmp_path / "f", {"banks": {"7": {"query_id": "7", "nugget_bank": {}}, "8": 1}})
    assert next(f.problem for f in faults(path)).startswith("banks['8']: found 1")


QUESTION = {"question": "Q?", "answers": []}
RAGTIME = {"metadata": {"topic_id": "1"}, "nugget_bank": [QUESTION]}


def ragtime(**fields: object) -> dict:
    return {"metadata": {"topic_id": "1"}, "nugget_bank": [{**QUESTION, **fields}]}


def v3(**fields: object) -> dict:
    return {"query_id": "1", "nugget_bank": {"Q?": {"question": "Q?", **fields}}}


def answer(**fields: object) -> dict:
    return {"answers": [{"answer": "A", **fields}]}


FAULTS = [
    ({"metadata": {}, "nugget_bank": [QUESTION]}, "metadata: no topic_id"),
    ({"nugget_bank": [QUESTION]}, "no metadata (fields found: nugget_bank)"),
    ({"nugget_bank": {"Q?": QUESTION}}, "no query_id"),
    ({"query": "x", "nuggets": [{"text": "N"}]}, "no qid"),
    ({"qid": "1", "nuggets": [{"text": " "}]}, "nuggets[0]: text is empty"),
    ({"qid": "1", "nuggets": [{"importance": "okay"}]}, "nuggets[0]: no text"),
    ({"qid": "1", "nuggets": [{"text": "N", "importance": "low"}]}, "one of vital, okay, failed"),
    ({"qid": "1", "nuggets": [{"text": "N", "assignment": "yes"}]}, "assignment: found yes"),
    ({"qid": "1", "nuggets": []}, "the bank of topic '1' holds no nuggets"),
    ({"qid": "1", "nuggets": {}}, "nuggets: found {}, expected a list"),
    ({"qid": "1", "nuggets": ["N"]}, "nuggets[0]: found N, expected an object"),
    (ragtime(aggregator_type="NOT"), "aggregator_type: found NOT, expected one of AND, OR"),
    (ragtime(aggregator_type=["AND"]), "aggregator_type: found ['AND'], expected one of AND, OR"),
    (ragtime(importance=0.5), "nugget_bank[0]: importance: found 0.5, expected text or an integer"),
    (ragtime(importance=True), "importance: found True"),
    (ragtime(question=""), "nugget_bank[0]: question is empty"),
    (ragtime(answers={}), "answers: found {}, expected a list"),
    (ragtime(answers=["A"]), "answers[0]: found A, expected an object"),
    (ragtime(**answer(references="d1")), "answers[0]: references: found d1, expected a list"),
    (ragtime(**answer(references=[1])), "references[0]: found 1, expected a document id"),
    (ragtime(**answer(references=[""])), "references[0]: doc_id is empty"),
    (ragtime(**answer(references=[{"doc_id": "d", "offsets": 1}])), "offsets: found 1"),
    (ragtime(**answer(metadata="m")), "answers[0]: metadata: found m, expected an object"),
    (ragtime(claim_id="c"), "a claim is its own and only answer, found another"),
    (ragtime(claim_id="c", answers=[{"answer": "R?"}]), "a claim is its own and only answer"),
    (ragtime(claim_id="c", answers=[{"answer": "Q?", "x": 1}]), "a claim is its own and only"),
    (ragtime(claim_id="c", answers=[{"answer": "Q?"}], references=["d"]), "a claim is its own and"),
    ({**RAGTIME, "metadata": {"topic_id": "1", "run_id": "r" * 26}}, "found 26 characters"),
    ({**RAGTIME, "metadata": {"topic_id": "1", "run_desc": 1}}, "metadata: run_desc: found 1"),
    (v3(aggregator_type="XOR"), "nugget_bank['Q?']: aggregator_type: found XOR, expected one of"),
    (v3(answers={"A": {"answer": "A", "quality": []}}), "answers['A']: quality: found []"),
    (v3(creator=[{"is_human": "yes"}]), "creator[0]: is_human: found yes, expected true or false"),
    (v3(creator=[{}]), "creator[0]: no is_human"),
    (v3(sub_nuggets=[{"claim": "C", "answers": {}}]), "sub_nuggets[0]: a claim has answers"),
    (v3(sub_nuggets=[5]), "sub_nuggets[0]: found 5, expected an object"),
    (v3(sub_nuggets=[{"text": "C"}]), "sub_nuggets[0]: no question"),
    (v3(question=3), "nugget_bank['Q?']: question: found 3, expected text"),
    ({"query_id": "1", "nugget_bank": 3}, "nugget_bank: found 3, expected a map or a list"),
    ({"query_id": "1", "nugget_bank": {}}, "the bank of topic '1' holds no nuggets"),
    ({**V3, "metadata": []}, "metadata: found [], expected an object"),
    ("{", "not valid JSON"),
    ("[1]", "expected a JSON object"),
    ({"x": 1}, "no query_id"),
]


def test_ids_are_written_where_they_differ_from_the_default():
    default = hashlib.md5(b"Q?").hexdigest()
    nuggets = (Nugget(default, "Q?"), Nugget("own", "R?"), Nugget("c", "C", is_claim=True))
    row = nugget_bank_row(NuggetBank("1", nuggets), "ragtime26-nuggets")
    ids = [(n.get("question_id"), n.get("claim_id")) for n in row["nugget_bank"]]
    assert ids == [(None, None), ("own", None), (None, "c")]
    assert row["nugget_bank"][2]["answers"] == [{"answer": "C", "references": []}]


EXAMPLE = {name: json.loads(FORMATS[name].example) for name in DIALECTS}


@pytest.mark.parametrize(("row", "problem"), FAULTS)
def test_every_fault_is_one_line_with_its_number(row, problem, tmp_path):
    one = write(tmp_path / "one.jsonl", row)
    name = sniff(one, "nuggets") if isinstance(row, dict) else "nuggetbank-v3"
    path = write(tmp_path / "banks.jsonl", EXAMPLE[name], row, EXAMPLE[name])
    found = [str(fault) for fault in faults(path, name)]
    assert found[0].startswith(f"{path}:2: ")
    assert problem in found[0]
    assert found[1].endswith(":3: duplicate topic '101', first in line 1") or "'r1'" in found[1]
    assert len(found) == 2
    result = CliRunner().invoke(app, ["files", "validate", path, "--format", name])
    assert result.output.splitlines() == found


@pytest.mark.parametrize(("length", "lines"), [(25, []), (26, [1])])
def test_reading_a_submitted_bank_never_fails_for_the_length_of_its_run_id(length, lines, tmp_path):
    row = {**RAGTIME, "metadata": {"topic_id": "1", "run_id": "r" * length}}
    path = write(tmp_path / "f", row)
    assert [fault.line for fault in faults(path)] == lines
    assert next(read_nugget_banks(path)).run_id == "r" * length


def test_banks_are_told_from_responses(tmp_path):
    report = '{"metadata": {"topic_id": "1", "run_id": "r"}, "responses": [], "references": []}'
    assert sniff(write(tmp_path / "f", report)) == "ragtime"
    assert sniff(write(tmp_path / "f", RAGTIME)) == "ragtime26-nuggets"
    late = {"nugget_bank": {"Q" * 300_000: QUESTION}, "query_id": "1"}
    assert sniff(write(tmp_path / "f", late)) == "nuggetbank-v3"


@pytest.mark.parametrize("name", ["query_id", "title_query"])
def test_a_field_that_another_dialect_uses_is_refused_there_by_name(name):
    bank = parse_nugget_bank({"qid": "1", "nuggets": [{"text": "N"}], "query": "", name: None})
    assert nugget_bank_row(bank, "nuggetizer")[name] is None
    with pytest.raises(InputError, match=f"another use for the field {name}"):
        nugget_bank_row(bank, "nuggetbank-v3")


def test_many_equal_texts_are_numbered():
    row = {"query_id": "1", "nugget_bank": [{"question": "Q?"}] * 3_000}
    bank = parse_nugget_bank(row)
    assert bank.nuggets[-1].id == f"{md5('Q?')}-3000"
    assert list(nugget_bank_row(bank, "nuggetbank-v3")["nugget_bank"])[-1] == "Q? #3000"


def test_a_huge_document_is_refused(tmp_path):
    path = tmp_path / "f.json"
    path.write_text("{\n" + '"x": "' + "y" * 9_000_000 + '",\n"z": "' + "y" * 9_000_000 + '"}')
    assert "the bank is longer than 16 MB" in str(next(faults(str(path), "nuggetbank-v3")))


# Real banks ---------------------------------------------------------------------------------------


@pytest.mark.all
@pytest.mark.parametrize("via", DIALECTS)
@pytest.mark.parametrize(
    "path", [*BITEM, *([RAG25] if RAG25.exists() else [])], ids=lambda p: p.stem
)
def test_real_banks_come_back_as_they_were(path, via):
    name = sniff(str(path))
    for line, bank in zip(path.read_text().splitlines(), read_nugget_banks(str(path)), strict=True):
        if any(n.unanswerable for n in bank.nuggets) and via in ("nuggetizer", "rag25-nuggets"):
            with pytest.raises(InputError, match="count the question as a claim"):
                nugget_bank_row(bank, via)
            continue
        back = parse_nugget_bank(nugget_bank_row(bank, via))
        assert back == bank
        assert json.loads(json.dumps(nugget_bank_row(back, name))) == json.loads(line)
