"""Messages about faults in files: what is quoted of long names and texts, and how much."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest

import pnyx
from pnyx.core.errors import InputError
from pnyx.core.records import Argument, LeaderboardCell, Premise, Qrel
from pnyx.formats import FORMATS, faults
from pnyx.formats.conqret import read_conqret, write_qrels
from pnyx.formats.rated_texts import read_rated
from pnyx.formats.recognition import find_format
from pnyx.formats.reports.leaderboards import read_leaderboard, write_leaderboard
from pnyx.formats.runs.rankings import topics_measured

X, Y = "x" * 300, "y" * 300


def cut(length: int, text: str = X) -> str:
    """Return a text cut to a number of characters, the last of which says so."""
    return text[: length - 1] + "…"


NAMES = [f"{number}{X}" for number in range(13)]


def first(count: int) -> str:
    """Return the first of `NAMES`, each cut to 30 characters."""
    return ", ".join(cut(30, name) for name in NAMES[:count])


def response(layout: str = "rag25", **fields: Any) -> dict[str, Any]:
    about = {"run_id": "r", "topic_id": "1"}
    head = about if layout == "rag24" else {"metadata": about}
    return {**head, "references": [], "answer": [{"text": "a b"}], **fields}


def v3(**fields: Any) -> dict[str, Any]:
    return {"query_id": "1", "nugget_bank": {"Q?": {"question": "Q?", **fields}}}


CASES: list[tuple[str, Any, str]] = [
    ("jsonl", dict.fromkeys(NAMES[:9], 1), f"no id or _id or docid (fields found: {first(8)})"),
    ("jsonl", {}, "no id or _id or docid (fields found: none)"),
    ("jsonl", {"id": "a"}, "no text or contents (fields found: none)"),
    ("jsonl", {"id": "a", "text": [X]}, f"text: found {cut(40, repr([X]))}, expected text"),
    ("beir", {"_id": "a", "text": "t", X: 1, "metadata": {X: 1}},
     f"metadata repeats the field {cut(40)}"),
    ("topics-tsv", X, f"found {cut(40)!r}, expected id, a tab and a text"),
    ("touche-topics", f"<topics><topic><title><{X}/>",
     f"found <{cut(30)}> inside <title>, expected text"),
    ("touche-topics", f"<topics><topic><{X}>a</{X}><{X}>b</{X}>",
     f"found <{cut(30)}> twice in one topic"),
    ("touche-topics", f"<{X}/>", f"found <{cut(30)}>, expected <topics>"),
    ("guidelines", f"{X}\n## a: b", f"found {cut(40)!r}, expected a heading ## ID: QUESTION"),
    ("run", f"1 Q0 d {X} 1 r", f"rank: found {cut(30)!r}, expected an integer"),
    ("run", f"1 Q0 d 1 {X} r", f"score: found {cut(30)!r}, expected a finite number"),
    ("run", f"1 Q0 {X} 1 1 r\n1 Q0 {X} 1 1 r",
     f"duplicate topic and document {cut(80, f'1 {X}')!r}, first in line 1"),
    ("qrels", f"1 0 d {X}", f"grade: found {cut(30)!r}, expected an integer"),
    ("beir-qrels", X, f"found {cut(40)!r}, expected the header query-id, corpus-id, score"),
    ("trec-topics", f"{X}\n<top><num> 1 <title> a </top>",
     f"found {cut(40)!r} outside of a topic, expected <top>"),
    ("trec-topics", f"<top><num> Number: {X}\n</top>",
     f"topic {cut(30)}: no <title> and no <desc>"),
    ("debates", {"title": "a", "url": f"http://[{X}"},
     f"url: found {cut(60, f'http://[{X}')!r}, expected an address (Invalid IPv6 URL)"),
    ("argument-table", ",".join(NAMES[:9]), f"found the columns {first(8)}, of no published table "
     "of arguments; read it as csv, with --column text=NAME"),
    ("csv", f"{X},{X}", f"column name {cut(40)!r} is repeated"),
    ("csv", ",".join(NAMES),
     f"no column text (found: {first(12)}); name it with --column text=NAME"),
    ("kialo", X, f"found {cut(40)!r}, expected the first claim, such as 1. Zoos are bad."),
    ("conqret-qrels", X, f"found {cut(60)!r}, expected the header qid,docno,label,stance"),
    ("conqret-qrels", f"qid,docno,label,stance\n1,a,{X},pro",
     f"label: found {cut(30)!r}, expected 0 or 1"),
    ("conqret-qrels", f"qid,docno,label,stance\n1,a,1,{X}",
     f"stance: found {cut(30)!r}, expected pro, con or nothing"),
    ("rag25", dict.fromkeys(NAMES[:9], 1),
     f'expected either "answer" or "responses" (fields found: {first(8)})'),
    ("rag25", {}, 'expected either "answer" or "responses" (fields found: none)'),
    ("rag24", response("rag24", response_length=X),
     f"response_length is {cut(20)}, the answer has 2 words"),
    ("rag24", response("rag24", response_length=3),
     "response_length is 3, the answer has 2 words"),
    ("rag25", response(metadata={"run_id": "r", "narrative_id": X, "topic_id": Y}),
     f"topic_id is {cut(40, Y)!r}, but narrative_id or its like is {cut(40)!r}"),
    ("rag25", response(answer=[{"text": "a", "citations": [10**25]}]),
     f"answer[0]: citations: index {cut(20, str(10**25))} with 0 references (from 0)"),
    ("rag25", response(answer=[{"text": "a", "citations": [X]}]),
     f"answer[0]: cites {cut(60)!r}, which is not in references"),
    ("rag25", response(documents={X: 1}),
     f"documents[{cut(40)!r}]: found 1, expected an object"),
    ("rag25", response(documents={"a": {"id": X, "text": "t"}}),
     f"documents['a']: its id is {cut(40)!r}"),
    ("labels", {"id": "1", **dict.fromkeys(NAMES[:8], 1)},
     f"no value (fields found: id, {first(7)})"),
    ("rating-items", {"id": "1", "text": "t", "dimensions": [X, X]},
     f"dimensions[1]: found {cut(40)!r} twice"),
    ("nuggetbank-v3", v3(answers={X: 5}),
     f"nugget_bank['Q?']: answers[{cut(60, repr(X))}]: found 5, expected an object"),
    ("autojudge-banks", {"banks": {X: 5}}, f"banks[{cut(60)!r}]: found 5, expected an object"),
    ("nuggetizer", {"qid": X, "nuggets": [{"text": "N"}]},
     f"duplicate topic {cut(60)!r}, first in line 1"),
    ("tot", f"run measure topic value {X}", f"found the header "
     f"{cut(60, f'run measure topic value {X}')!r}, expected run measure topic value"),
    ("run-table", f"{','.join(NAMES[:9])}\n{'1,' * 8}1",
     f"no score column (columns found: {first(8)})"),
    ("run-json", {X: 1}, f"topic 1: {cut(40)}: found 1, expected an object of documents"),
    ("run-json", {"1": {X: "a"}},
     f"topic 1: score of {cut(40)}: found a, expected a finite number"),
    ("qrels-json", {"1": {X: 0.5}}, f"topic 1: grade of {cut(40)}: found 0.5, expected an integer"),
    ("topics-json", {X: 1},
     f"topic 1: {cut(40)}: found 1, expected a text or an object with one"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "content", "message"), CASES)
def test_what_is_found_is_quoted_up_to_a_length(
    name: str, content: Any, message: str, tmp_path: Path
) -> None:
    path = tmp_path / "f"
    text = content if isinstance(content, str) else json.dumps(content)
    path.write_text(f"{text}\n{text}\n" if name == "nuggetizer" else f"{text}\n")
    problem = next(faults(str(path), name)).problem
    assert problem == message


def test_claims_of_perspectrum_quote_their_faults(tmp_path: Path) -> None:
    pool = [{"pId": 1, "text": "Ban them.", "source": "s"}]
    (tmp_path / "perspective_pool_v1.0.json").write_text(json.dumps(pool))
    claim = {"cId": X, "text": "t", "perspectives": []}
    labelled = {**claim, "cId": 1, "perspectives": [{"pids": [1], "stance_label_3": X}]}
    for row, message in (
        (claim, f"item 1: cId: found {cut(40)}, expected an integer"),
        (labelled, f"item 1: stance_label_3: found {cut(30)}, expected support"),
    ):
        (tmp_path / "f").write_text(json.dumps([row]))
        assert [f.problem for f in faults(str(tmp_path / "f"), "perspectrum")] == [message]


def test_a_column_that_is_missing_is_quoted_with_twelve_others(tmp_path: Path) -> None:
    (tmp_path / "f.jsonl").write_text(json.dumps(dict.fromkeys(NAMES, 1)))
    with pytest.raises(InputError) as caught:
        list(pnyx.read_evidence(tmp_path / "f.jsonl", format="jsonl", columns={"text": X}))
    assert caught.value.problem == f"no column {cut(40)!r} (found: {first(12)})"


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (dict.fromkeys(NAMES[:9], 1), f"no text (fields found: {first(8)}); name it with --column "
         "text=NAME"),
        ({}, "no text (fields found: none); name it with --column text=NAME"),
        ({"text": "!" * 300, "quality": 1}, f"text: found {cut(40, '!' * 300)!r}, expected a word"),
    ],
)  # fmt: skip
def test_rated_texts_quote_their_faults(row: Any, message: str, tmp_path: Path) -> None:
    (tmp_path / "f").write_text(json.dumps(row))
    with pytest.raises(InputError) as caught:
        list(read_rated(str(tmp_path / "f")))
    assert caught.value.problem == message
    with pytest.raises(InputError, match=f"--column {cut(40)}: expected one of text, quality"):
        list(read_rated(str(tmp_path / "f"), {X: "a"}))


def test_types_of_values_in_memory_are_quoted_up_to_40_characters() -> None:
    odd = type("Z" * 50, (), {})()
    name = cut(40, "Z" * 50)
    for call, message in (
        (lambda: pnyx.read_evidence(odd), f"found {name}, expected a file or folder"),
        (lambda: pnyx.read_evidence([odd]), f"found {name}, expected a file or folder"),
        (lambda: pnyx.read_run(odd), f"run: found {name}, expected a file, a data frame"),
        (lambda: pnyx.read_qrels([odd]), f"found {name}, expected a dict or named tuple"),
    ):
        with pytest.raises(InputError, match=message):
            list(call())


def test_leaderboards_quote_their_faults(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_text(f"{X}\n")
    with pytest.raises(InputError, match=f"no format '{cut(40)}' of leaderboards"):
        read_leaderboard(path, X)
    with pytest.raises(InputError) as caught:
        read_leaderboard(path)
    assert caught.value.problem == f"the format cannot be recognised from {cut(50)!r}: name it"
    path.write_text(f"{'r' * 70} t m 1\n{'r' * 70} t n 1\n")
    with pytest.raises(InputError, match=f"^{path}: '{cut(60, 'r' * 70)}' is a line of a leaderb"):
        read_leaderboard(path)
    cell = LeaderboardCell("r", "1", "m", 1.0, {X: 1, Y: 2})
    with pytest.raises(InputError, match=f"cannot hold {cut(30)}, {cut(30, Y)}$"):
        write_leaderboard(io.StringIO(), [cell])


def test_a_file_of_no_format_is_quoted_up_to_50_characters(tmp_path: Path) -> None:
    (tmp_path / "f").write_text(X)
    with pytest.raises(InputError) as caught:
        find_format(str(tmp_path / "f"))
    expected = f"the format cannot be recognised from {cut(50, repr(X[:60]))}: name it"
    assert caught.value.problem == expected


def test_the_first_three_topics_are_named_where_none_is_common() -> None:
    from pnyx.formats.runs.rankings import Rankings

    ranked = {"r": Rankings(dict.fromkeys(["1", "2", "3", "4"], ()), (), ())}
    with pytest.raises(InputError) as caught:
        topics_measured(ranked, [X], "both", "qrels")
    problem = f"no topic has qrels (topics are '1', '2', '3'; qrels are of {cut(30)!r})"
    assert caught.value.problem == problem


def test_conqret_quotes_what_it_cannot_write_or_read(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        write_qrels(io.StringIO(), [Qrel("1", X, 2, "pro")])
    row = cut(80, f"1 pro {X} 2")
    assert caught.value.problem == f"{row!r}: expected grade 0 or 1, and subtopic pro, con or 0"
    (tmp_path / "train_queries.csv").write_text("qid,query\n1,Q?\n")
    (tmp_path / "train_qrels.csv").write_text(f"qid,docno,label,stance\n{X},a,1,pro\n")
    with pytest.raises(InputError, match=f"qid '{cut(80)}' is not in train_queries.csv"):
        read_conqret(tmp_path)


def test_an_integer_of_more_than_64_bits_is_quoted_up_to_30_digits() -> None:
    def written(number: int) -> str:
        stream = io.StringIO()
        argument = Argument("a", "Ban", (Premise("It harms."),), extra={"n": [number]})
        writer = FORMATS["argsme"].writer
        assert writer is not None
        writer(stream, [argument])
        return stream.getvalue()

    assert "9223372036854775807" in written(2**63 - 1)
    assert "-9223372036854775808" in written(-(2**63))
    for number in (2**63, -(2**63) - 1):
        with pytest.raises(InputError, match=f"the integer {number} has over 64 bits"):
            written(number)
    with pytest.raises(InputError, match=f'^"a": the integer {cut(30, str(10**40))} has over'):
        written(10**40)
