"""A fault within a file: it is reported with its place, and the records around it are read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import pnyx
from pnyx.core.errors import InputError
from pnyx.formats import FORMATS
from pnyx.formats.reading import check


def outcome(name: str, content: str, tmp_path: Path) -> tuple[list[str], list[str]]:
    """Return the places of faults in a file, and the ids of the records that are read."""
    path = tmp_path / "f"
    path.write_text(content)
    rows = list(check(str(path), FORMATS[name]))
    faults = [row for row in rows if isinstance(row, InputError)]
    places = [str(f.line or f.problem.partition(":")[0]) for f in faults]
    return places, [_id(row[1]) for row in rows if not isinstance(row, InputError)]


def _id(record: Any) -> str:
    names = ("id", "doc_id", "topic_id", "question_id", "run_id")
    values = [
        record.get(n) if isinstance(record, dict) else getattr(record, n, None) for n in names
    ]
    return str(next(value for value in values if value is not None))


LINES = [
    name for name in FORMATS if FORMATS[name].example.startswith("{")
    and FORMATS[name].example.count("\n") == 1 and not name.endswith("-json")
]  # fmt: skip


@pytest.mark.parametrize("name", LINES)
def test_lines_around_bad_ones_are_read(name: str, tmp_path: Path) -> None:
    example = FORMATS[name].example.strip()
    (alone, ids) = outcome(name, f"{example}\n", tmp_path)
    assert (alone, len(ids) > 0) == ([], True)
    bad = '{"unknown": 1}\n[1]\n\n'
    assert outcome(name, f"{bad}{example}\n{bad}", tmp_path) == (["1", "2", "5", "6"], ids)


DEBATE = {
    "url": "https://a.org/tea",
    "claim_title": "Tea is healthy",
    "perspectives_for": [
        {"perspective_title": "It relaxes", "argument": {"description": ["Tea calms."]}}
    ],
    "perspectives_against": [],
}
PAGE = "<topics>\n<topic><number>{}</number><title>{}</title></topic>\n</topics>\n"


@pytest.mark.parametrize(
    ("name", "content", "places", "ids"),
    [
        ("topics-tsv", "bad\n1\ta\n\nbad\n2\tb\n", ["1", "4"], ["1", "2"]),
        ("run", "bad\n1 Q0 a 1 1 r\nbad\n1 Q0 b 2 1 r\n", ["1", "3"], ["a", "b"]),
        ("qrels", "bad\n1 0 a 1\nbad\n1 0 b 1\n", ["1", "3"], ["a", "b"]),
        ("beir-qrels", "query-id\tcorpus-id\tscore\nbad\n1\ta\t1\n\nbad\n1\tb\t0\n", ["2", "5"],
         ["a", "b"]),
        ("csv", "id,text\nbad\na,One\n\nbad,bad,bad\nb,Two\n", ["2", "5"], ["a", "b"]),
        ("tsv", "id\ttext\nbad\na\tOne\nbad\nb\tTwo\n", ["2", "4"], ["a", "b"]),
        ("guidelines", "bad\n## a: A?\ntext\n##bad\n## b: B?\n", ["1", "4"], ["a", "b"]),
        ("conqret-qrels", "qid,docno,label,stance\n1,a,2,pro\n1,b,1,pro\n1,c,1,x\n1,d,0,\n",
         ["2", "4"], ["b", "d"]),
        ("conqret-queries", "qid,query\n,Q\n1,Q\n2,\n3,Q\n", ["2", "4"], ["1", "3"]),
        ("run-table", "qid,docno,score\n1,a,x\n1,b,1\n1,,1\n1,c,2\n", ["2", "4"], ["b", "c"]),
        ("qrels-table", "qid,docno,label\n1,a,x\n1,b,1\n1,,1\n1,c,2\n", ["2", "4"], ["b", "c"]),
        ("topics-table", "qid,query\n,x\n1,Q\n,x\n2,Q\n", ["2", "4"], ["1", "2"]),
        ("run-json", '{"1": 1, "2": {"a": 1}, "3": {"": 1}, "4": {"b": 1}}', ["topic 1", "topic 3"],
         ["a", "b"]),
        ("qrels-json", '{"1": 1, "2": {"a": 1}, "3": {"x": 0.5}, "4": {"b": 1}}',
         ["topic 1", "topic 3"], ["a", "b"]),
        ("topics-json", '{"1": 1, "2": "Q", "3": {}, "4": {"query": "Q"}}', ["topic 1", "topic 3"],
         ["2", "4"]),
        ("argument-table", "argument,topic,stance_WA\n,t,1\nOne,t,1\nTwo,t,x\nThree,t,-1\n",
         ["2", "4"], ["2", "4"]),
        ("argument-table", "topic,argument,key_point,stance,label\nt,One,k,1,0\nt,One,l,1,0\n"
         "t,Two,k,9,0\nt,Two,k,-1,0\n", ["4"], ["1", "3"]),
        ("debatewise", json.dumps([1, DEBATE, {}, {**DEBATE, "url": "https://a.org/b"}]),
         ["debate 1", "debate 3"], ["tea-for-1", "b-for-1"]),
        ("procon", json.dumps([1, DEBATE, {}, {**DEBATE, "url": "https://a.org/b"}]),
         ["debate 1", "debate 3"], ["tea-for-1", "b-for-1"]),
        ("argsme", json.dumps({"arguments": [1, {"id": "a", "conclusion": "A", "premises": []},
         {}, {"id": "b", "conclusion": "B", "premises": []}]}), ["argument 1", "argument 3"],
         ["a", "b"]),
        ("perspectrum", json.dumps([1, {"pId": 1, "text": "A"}, {"eId": "x", "text": "B"},
         {"eId": 2, "text": "B"}]), ["item 1", "item 3"], ["p1", "e2"]),
        ("kialo", "bad\n1. Tea is healthy.\n1.2.1. Pro: Too early.\n1.1. Con: It is not.\n"
         "1.2. Pro: It is.\n", ["1", "3"], ["1.1", "1.2"]),
        ("trec-topics", "bad\n<top>\n<num> 1\n</top>\n<top><num> 2 <title> a </top>\n<top>\n</top>"
         "\n<top><num> 3 <title> b </top>\n", ["1", "2", "6"], ["2", "3"]),
        ("touche-topics", PAGE.format("", "a"), ["2"], []),
        ("touche-topics", "<topics>\n<topic><title>a</title></topic>\n<topic><number>1</number>"
         "<title>b</title></topic></topics>", ["2"], ["1"]),
        ("tot", "r m 1\nr m t 1\nr m t2 x\nr m t3 nan\n", ["1", "3"], ["t", "t3"]),
        ("trec_eval", "runid\tall\tr\nmap\t1\nmap\t1\t0.5\nmap\t2\tx\n", ["2", "4"], ["1"]),
    ],
)  # fmt: skip
def test_records_around_bad_ones_are_read(
    name: str, content: str, places: list[str], ids: list[str], tmp_path: Path
) -> None:
    assert outcome(name, content, tmp_path) == (places, ids)


@pytest.mark.parametrize(
    ("name", "content", "places"),
    [
        ("argsme", '{"arguments": [\n{"id": "a", "conclusion": "A", "premises": []},\n{]}', ["3"]),
        ("argsme", '{"arguments": [\n{"id": "a", "conclusion": "A", "premises": []}\n',
         ["the JSON ends too early (parse error"]),
        ("argsme", '{"other": []}', ["expected an object with a list \"arguments\" at the top"]),
        ("debatewise", '{"a": []}', ["expected a list at the top"]),
        ("run-json", "[]", ["expected an object at the top"]),
        ("csv", 'id,text\na,One\nb,"Two\nc,Three\n', ["3"]),
        ("touche-topics", PAGE.format("1", "a") + "<more/>", ["4"]),
        ("touche-topics", "<!DOCTYPE topics><topics/>", ["1"]),
        ("beir-qrels", "", ["holds no judgments"]),
        ("run", "\n \t\n", ["holds no run entries"]),
        ("trec-topics", "<top><num> 1 <title> a\n<!-- no end\n</top>", ["2"]),
    ],
)  # fmt: skip
def test_a_file_that_breaks_off_is_one_fault(
    name: str, content: str, places: list[str], tmp_path: Path
) -> None:
    found, _ = outcome(name, content, tmp_path)
    assert [place[: len(expected)] for place, expected in zip(found, places, strict=True)] == places


def test_records_of_a_key_occur_once(tmp_path: Path) -> None:
    def problems(name: str, content: str) -> list[str]:
        (tmp_path / "f").write_text(content)
        rows = check(str(tmp_path / "f"), FORMATS[name])
        return [row.problem for row in rows if isinstance(row, InputError)]

    twice = "first in line 1"
    assert problems("run", "1 Q0 a 1 1 r\n2 Q0 a 1 1 r\n1 Q0 a 2 1 s\n") == [
        f"duplicate topic and document '1 a', {twice}"
    ]
    assert problems("qrels", "1 0 a 1\n1 x a 1\n1 0 a 0\n") == [
        f"duplicate topic, subtopic and document '1 0 a', {twice}"
    ]
    answer = {"id": "1", "task": "t", "value": True, "unscored": None, "judge": "j"}
    rows = [answer, {**answer, "judge": "k"}, {**answer, "id": 1}, {**answer, "dimension": "d"}]
    assert problems("answers", "\n".join(map(json.dumps, rows))) == [
        f"duplicate id and task and dimension and judge '1 t  j', {twice}"
    ]
    view = {"id": "p", "question_id": "q", "text": "T"}
    views = [view, {**view, "question_id": "r"}, view]
    assert problems("perspectives", "\n".join(map(json.dumps, views))) == [
        f"duplicate id 'q p', {twice}"
    ]
    assert problems("run-json", '{"1": {"a": 1}, "2": {"a": 1}, "1": {"a": 2}}') == [
        "topic 3: duplicate topic and document '1 a', first in topic 1"
    ]
    assert problems("tot", "r m t 1\nr n t 1\nr m t 2\n") == [
        f"duplicate run, topic and measure 'r t m', {twice}"
    ]


def test_documents_without_text_are_left_out_and_named(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"id": "a", "text": ""}\n{"id": "b", "text": "B"}\n{"id": "c", "text": " "}\n')
    with pytest.warns(UserWarning, match="^2 documents have no text and were left out: a, c$"):
        assert [d.id for d in pnyx.read_evidence(path)] == ["b"]
    path.write_text('{"id": "a", "text": ""}\n{"id": "b", "text": "B"}\n')
    with pytest.warns(UserWarning, match="^1 document has no text and was left out: a$"):
        assert [d.id for d in pnyx.read_evidence(path)] == ["b"]
    with pytest.raises(InputError, match=r"a\.jsonl:1: text is empty"):
        list(pnyx.read_evidence(path, strict_files=True))
    assert outcome("jsonl", path.read_text(), tmp_path) == ([], ["b"])
