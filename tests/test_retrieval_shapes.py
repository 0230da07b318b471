"""Topics, runs and qrels in the shapes that people have, through the command line and in Python."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
from collections import namedtuple
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pnyx
from command import called
from pnyx.core.errors import InputError
from pnyx.core.records import Qrel, Question, RunEntry
from pnyx.formats import FORMATS, faults, sniff
from tries import tries

pytestmark = pytest.mark.filterwarnings("always:.*is not read as a topic", "always:.*are read from")

TOPICS = {"1": "Should zoos be banned?", "2": "Is tea healthy?"}
SGML = """<top>

<num> Number: 1
<title> Should zoos
be banned?

<desc> Description:
What is said against zoos &amp; for them?

<narr> Narrative:
A relevant document argues. If a <b>list</b>, it counts where x < y.

</top>

<top>
<num> Number: 2
<dom> Domain: Health
<title> Topic: Is tea healthy?
</top>
"""
QUESTIONS = [
    Question(
        "1",
        TOPICS["1"],
        "What is said against zoos & for them?",
        "A relevant document argues. If a <b>list</b>, it counts where x < y.",
    ),
    Question("2", TOPICS["2"], extra={"dom": "Health"}),
]
XML = """<?xml version="1.0"?>
<topics task="2021">
<topic number="1"><query>Should zoos be banned?</query><question>Why?</question></topic>
<topic number="2">Is tea healthy?</topic>
</topics>
"""


@pytest.fixture
def write(tmp_path: Path) -> Any:
    def write(name: str, content: str | bytes) -> str:
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return str(path)

    return write


def texts(source: object) -> dict[str, str]:
    return {question.id: question.text for question in pnyx.read_questions(source)}


# Topics -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "content",
    [
        SGML,
        SGML.replace("</top>", ""),
        SGML.replace("\n\n", "</title>\n</num>\n").replace(
            "<title> Should zoos", "<title>Should zoos"
        ),
        SGML.lower().replace("should zoos", "Should zoos").replace("is tea", "Is tea"),
        SGML.replace("\n", "\r\n"),
        XML,
        "qid\tquery\n1\tShould zoos be banned?\n2\tIs tea healthy?\n",
        "id,question\n1,Should zoos be banned?\n2,Is tea healthy?\n",
        "query;qid\nShould zoos be banned?;1\nIs tea healthy?;2\n",
        "topic_id\tquery\tdescription\n1\tShould zoos be banned?\tx\n2\tIs tea healthy?\ty\n",
        json.dumps(TOPICS),
        json.dumps(TOPICS, indent=2),
        json.dumps({k: {"title": v, "description": "x"} for k, v in TOPICS.items()}),
        json.dumps([{"qid": k, "query": v} for k, v in TOPICS.items()]),
        json.dumps([{"qid": k, "query": v} for k, v in TOPICS.items()], indent=1),
        "".join(
            json.dumps({"_id": k, "text": v, "metadata": {}}) + "\n" for k, v in TOPICS.items()
        ),
        "".join(json.dumps({"qid": k, "query": v}) + "\n" for k, v in TOPICS.items()),
    ],
)
@pytest.mark.parametrize("pack", ["plain", "utf-16"])
def test_topics_are_read_in_every_shape(write, content, pack):
    path = write("t", content.encode("utf-16") if pack == "utf-16" else content)
    assert texts(path) == TOPICS


@pytest.mark.parametrize(
    ("ending", "pack"), [("gz", gzip.compress), ("bz2", bz2.compress), ("xz", lzma.compress)]
)
def test_compressed_files_are_read_wherever_they_are(write, capsys, ending, pack):
    path = write(f"t.tsv.{ending}", pack(b"1\tShould zoos be banned?\n2\tIs tea healthy?\n"))
    assert texts(path) == TOPICS
    damaged = write(f"d.tsv.{ending}", pack(b"1\tShould zoos be banned?\n" * 999)[:-12])
    code, out, err = called(capsys, "files", "validate", damaged, "--format", "topics-tsv")
    assert (code, err) == (2, "")
    assert "cannot be read" in out.splitlines()[-1]
    table = write(f"c.csv.{ending}", pack("id,text\na,Zoos are bad.\n".encode("utf-16")))
    assert [document.id for document in pnyx.read_evidence(table)] == ["a"]
    whole = write(f"a.json.{ending}", pack(FORMATS["argsme"].example.encode("utf-16")))
    assert [document.id for document in pnyx.read_evidence(whole)] == ["c1-2019"]


def test_broken_utf16_is_one_line(write):
    path = write("t.tsv", "1\tShould zoos be banned?\n".encode("utf-16")[:-1])
    (fault,) = faults(path, "topics-tsv")
    assert "not valid UTF-16" in str(fault)


def test_topics_of_trec_keep_description_and_narrative(write):
    path = write("topics.301", SGML)
    assert sniff(path) == "trec-topics"
    assert list(pnyx.read_questions(path)) == QUESTIONS


@pytest.mark.parametrize(
    ("content", "line", "problem"),
    [
        ("<top>\n<title> Zoos?\n</top>\n", 1, "topic without <num>"),
        ("\n<top>\n<num> Number: 7\n</top>\n", 2, "topic 7: no <title> and no <desc>"),
        ("<top><num>1<title>a</top>\nstray\n", 2, "found 'stray' outside of a topic"),
        ("<top><num>1<title>a</top>\n<top><num>1<title>b</top>\n", 2, "duplicate topic number '1'"),
    ],
)
def test_faults_in_topics_name_the_line(write, content, line, problem):
    path = write("t", content)
    matching = [fault for fault in faults(path) if problem in fault.problem]
    assert [fault.line for fault in matching] == [line]


@pytest.mark.parametrize(
    ("before", "title"),
    [
        ("", "Zoos?"),
        ("", "<!-- one -->Zoos<!-- two -->?"),
        ("", "Zoos?<!---->"),
        ("<!-- a licence\n\n<top> of the file --><!-- more\n-->\n", "Zoos?<!-- over\nlines -->"),
    ],
)
def test_comments_in_topics_are_left_out(write, before, title):
    path = write("t", f"{before}<top>\n<num> 1 <!-- num -->\n<title> {title}\n</top>\n")
    assert list(pnyx.read_questions(path)) == [Question("1", "Zoos?")]


@pytest.mark.parametrize("line", [3, 5])
def test_a_comment_that_is_not_closed_is_a_fault_of_its_line(write, line):
    lines = ["<top>", "<num> 1 <title> Zoos?", "</top>", "<top>", "<num> 2 <title> Tea?", "</top>"]
    lines[line - 1] += " <!-- closed --> <!-- open"
    (fault,) = faults(write("t", "\n".join(lines)), "trec-topics")
    assert (fault.line, fault.problem) == (line, "the comment <!-- is not closed, expected -->")


def test_a_topic_without_a_title_has_its_description(write):
    path = write("t", "<top>\n<num> Number: 201\n<desc> Description:\nWhat of tea?\n</top>\n")
    assert list(pnyx.read_questions(path)) == [Question("201", "What of tea?")]


@pytest.mark.parametrize(
    ("content", "warning"),
    [
        ("qid\tquery\n1\tZoos?\n", ":1: the header qid and query is not read as a topic"),
        ("id,question\n1,Zoos?\n", ": topics are read from the columns id and question"),
        ("1\tqid query?\n", ""),
        ("zoo\tquery\n1\tZoos?\n", ""),  # not the name of a column of ids: a topic
    ],
)
def test_a_header_is_recognised_by_known_names_alone_and_named(write, capsys, content, warning):
    path = write("t.txt", content)
    code, _, err = called(capsys, "files", "validate", path)
    assert code == 0
    assert err == (f"pnyx: warning: {path}{warning}\n" if warning else "")
    assert len(texts(path)) == (2 if content.startswith("zoo") else 1)


def test_topics_in_memory():
    assert texts(TOPICS) == TOPICS
    frame = pd.DataFrame({"qid": [1, 2], "query": list(TOPICS.values())})
    assert texts(frame) == TOPICS
    assert texts(frame.to_dict("records")) == TOPICS
    assert texts(QUESTIONS) == TOPICS
    with pytest.raises(InputError, match="topics: row 2: no query"):
        texts([{"qid": "1", "query": "a"}, {"qid": "2"}])


def test_parquet_is_read_by_its_columns(tmp_path):
    topics, run, qrels = (str(tmp_path / f"{name}.parquet") for name in "trq")
    pd.DataFrame({"qid": ["1", "2"], "query": list(TOPICS.values())}).to_parquet(topics)
    pd.DataFrame({"qid": ["1"], "docno": ["d"], "score": [1.5]}).to_parquet(run)
    pd.DataFrame({"query_id": ["1"], "doc_id": ["d"], "relevance": [2]}).to_parquet(qrels)
    assert (sniff(topics), sniff(run), sniff(qrels)) == ("topics-table", "run-table", "qrels-table")
    assert texts(topics) == TOPICS
    assert list(pnyx.read_run(run)) == [RunEntry("1", "d", 1, 1.5, "r")]
    assert list(pnyx.read_qrels(qrels)) == [Qrel("1", "d", 2)]
    with pytest.raises(InputError, match="no score column"):
        list(FORMATS["run-table"].reader(qrels))


# Runs and qrels -----------------------------------------------------------------------------------

RUN = {"1": {"a": 1.5, "b": 2.0}, "2": {"a": 0.5}}
QRELS = {"1": {"a": 1, "b": 0}, "2": {"a": 2}}
ENTRIES = [RunEntry("1", "a", 2, 1.5), RunEntry("1", "b", 1, 2.0), RunEntry("2", "a", 1, 0.5)]
JUDGED = [Qrel("1", "a", 1), Qrel("1", "b", 0), Qrel("2", "a", 2)]
ScoredDoc = namedtuple("ScoredDoc", ["query_id", "doc_id", "score"])
IrQrel = namedtuple("IrQrel", ["query_id", "doc_id", "relevance", "iteration"])
RUN_ROWS = [
    {"qid": topic, "docid": 7, "docno": doc, "score": score, "query": "what?"}
    for topic, documents in RUN.items()
    for doc, score in documents.items()
]
QREL_ROWS = [
    {"qid": topic, "docno": doc, "label": grade}
    for topic, documents in QRELS.items()
    for doc, grade in documents.items()
]


def table(rows: list[dict[str, Any]], delimiter: str) -> str:
    lines = [rows[0].keys(), *(map(str, row.values()) for row in rows)]
    return "".join(delimiter.join(cells) + "\n" for cells in lines)


def same(entries: Any) -> list[tuple[Any, ...]]:
    return [(e.topic_id, e.doc_id, e.rank, e.score) for e in entries]


@pytest.mark.parametrize("kind", ["run", "qrels"])
@pytest.mark.parametrize("shape", ["json", "indented", ",", "\t", ";", "list", "lines"])
def test_runs_and_qrels_are_read_and_recognised_in_every_shape(write, kind, shape):
    nested, rows = (RUN, RUN_ROWS) if kind == "run" else (QRELS, QREL_ROWS)
    content = {
        "json": lambda: json.dumps(nested),
        "indented": lambda: json.dumps(nested, indent=4),
        "list": lambda: json.dumps(rows),
        "lines": lambda: "".join(json.dumps(row) + "\n" for row in rows),
    }.get(shape, lambda: table(rows, shape))()
    path = write("system", content)
    assert FORMATS[sniff(path)].kind == kind
    if kind == "run":
        entries = list(pnyx.read_run(path))
        assert same(entries) == same(ENTRIES)
        assert {entry.tag for entry in entries} == {"system"}
    else:
        assert list(pnyx.read_qrels(path)) == JUDGED


@pytest.mark.parametrize(
    ("header", "name"),
    [
        ("query_id,corpus_id,score", "qrels-table"),  # as BEIR names the columns of qrels
        ("query_id,corpus_id,score,rank", "run-table"),
        ("query_id,doc_id,score", "run-table"),
        ("query_id,doc_id,score,label", "qrels-table"),
    ],
)
def test_a_table_is_a_run_or_qrels_by_its_columns_unless_the_kind_is_known(write, header, name):
    cells = ["1", "a", "3", "1"][: header.count(",") + 1]
    path = write("system", f"{header}\n{','.join(cells)}\n")
    assert sniff(path) == name
    assert same(pnyx.read_run(path)) == [("1", "a", 1, 3.0)]


def test_a_table_without_scores_is_not_a_run(write):
    with pytest.raises(InputError, match=r":2: no score column .columns found: qid, docno, label"):
        list(pnyx.read_run(write("q.csv", "qid,docno,label\n1,a,1\n")))


def test_ids_that_pandas_made_numbers_have_no_decimal_point(write):
    rows = [{"qid": 1.0, "docno": 7, "score": 2.0}]
    assert same(pnyx.read_run(write("run.json", json.dumps(rows)))) == [("1", "7", 1, 2.0)]
    half = json.dumps([{**rows[0], "qid": 1.5}])
    with pytest.raises(InputError, match=r"row 1: qid: found 1\.5, expected an id"):
        list(pnyx.read_run(write("half.json", half)))


class RanxRun:
    def to_dict(self) -> dict[str, dict[str, float]]:
        return RUN


@pytest.mark.parametrize(
    "source",
    [
        RUN,
        RUN_ROWS,
        pd.DataFrame(RUN_ROWS),
        [ScoredDoc(row["qid"], row["docno"], row["score"]) for row in RUN_ROWS],
        RanxRun(),
        ENTRIES,
    ],
    ids=["dict", "rows", "frame", "ir_measures", "ranx", "records"],
)
def test_runs_in_memory(source):
    assert same(pnyx.read_run(source)) == same(ENTRIES)


@pytest.mark.parametrize(
    "source",
    [
        QRELS,
        QREL_ROWS,
        pd.DataFrame(QREL_ROWS),
        [IrQrel(row["qid"], row["docno"], row["label"], "0") for row in QREL_ROWS],
        JUDGED,
    ],
    ids=["dict", "rows", "frame", "ir_measures", "records"],
)
def test_qrels_in_memory(source):
    assert list(pnyx.read_qrels(source)) == JUDGED


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("qid,docno,score\n1,a,high\n", "t:2: score: found 'high', expected a finite number"),
        ("qid,docno,score\n1,a,nan\n", "t:2: score: found 'nan', expected a finite number"),
        ("qid,docno,score\n1,,1\n", "t:2: docno is empty"),
        ("qid,docno,score\n1,a,1\n1,a,2\n", "t:3: duplicate topic and document '1 a'"),
        ("qid,docno,score,rank\n1,a,1,1.5\n", "t:2: rank: found 1.5, expected an integer"),
        ('{"1": {"a": true}}', "t: topic 1: score of a: found True"),
        ('{"1": {"a": 1.0}, "2": 3}', "t: topic 2: 2: found 3, expected an object of documents"),
        ('{"1": {"": 1.0}}', "t: topic 1: an id is empty"),
        ('{"1": {"a": 1.0}', "t: the JSON ends too early"),
    ],
)
def test_faults_of_runs_name_the_place(write, content, problem):
    path = write("t", content)
    with pytest.raises(InputError) as raised:
        list(pnyx.read_run(path))
    assert problem in str(raised.value)


@pytest.mark.parametrize(
    ("call", "problem"),
    [
        (lambda: list(pnyx.read_run(3)), "run: found int, expected a file, a data frame"),
        (lambda: list(pnyx.read_run(["a.run"])), "run: row 1: found str, expected a dict"),
        (lambda: list(pnyx.read_run([{"qid": "1", "docno": "a"}])), "run: row 1: no score column"),
        (lambda: list(pnyx.read_run({"1": {"a": "x"}})), "run: topic 1: score of a: found x"),
        (lambda: list(pnyx.read_run({"1": {}})), "run: holds no documents"),
        (lambda: list(pnyx.read_qrels([])), "qrels: holds no judgments"),
        (lambda: list(pnyx.read_questions({})), "topics: holds no topics"),
        (lambda: list(pnyx.read_qrels({"1": {"a": 0.5}})), "expected an integer"),
        (lambda: list(pnyx.read_qrels({"1": ["a"]})), "expected an object of documents"),
    ],
)
def test_other_objects_are_refused_in_one_line(call, problem):
    with pytest.raises(InputError) as raised:
        call()
    assert problem in str(raised.value)


# Measuring in Python ------------------------------------------------------------------------------


def values(result: Any) -> dict[str, float | None]:
    return {run.name: run.measures["AP"].value for run in result.runs}


def test_retrieval_is_measured_from_whatever_people_have(write):
    trec = write("bm25.run", "1 Q0 b 1 2.0 x\n1 Q0 a 2 1.5 x\n2 Q0 a 1 0.5 x\n")
    other = write("other.json", json.dumps(RUN))
    qrels = write("q.txt", "1 0 a 1\n1 0 b 0\n2 0 a 2\n")
    frame, judged = pd.DataFrame(RUN_ROWS), pd.DataFrame(QREL_ROWS)
    inputs = [
        ({"run": RUN}, QRELS),
        (RUN, QRELS),
        (frame, judged),
        ({"run": frame}, qrels),
        ([ScoredDoc(row["qid"], row["docno"], row["score"]) for row in RUN_ROWS], judged),
    ]
    for runs, truth in inputs:
        assert values(pnyx.measure_retrieval(runs, truth, measures=["AP"])) == {"run": 0.75}
    several = pnyx.measure_retrieval([trec, other], qrels, measures=["AP"], baseline="bm25")
    assert values(several) == {"bm25": 0.75, "other": 0.75}
    assert values(pnyx.measure_retrieval(trec, qrels, measures=["AP"])) == {"bm25": 0.75}
    with pytest.raises(ValueError, match="twice"):
        pnyx.measure_retrieval([trec, trec], qrels)


# Any text -----------------------------------------------------------------------------------------

LETTERS = st.text(
    st.sampled_from(list("<>/topnumildescrq\"'=,;\t\n{}[]:0123. \\&-")) | st.characters(),
    max_size=80,
)
WORDS = [
    *("<top>", "</top>", "<num> Number: ", "<title>", "<desc>", "<topic number='3'>", "1", "\n"),
    *("qid", "query", "docno", "score", "label", ",", "\t", '{"1": ', '{"a": 1.5}', "}", "[", "]"),
]
PARTS = st.lists(st.sampled_from(WORDS) | LETTERS, max_size=12).map("".join)
NAMES = [
    "trec-topics", "topics-tsv", "topics-table", "topics-json",
    "run-table", "run-json", "qrels-table", "qrels-json",
]  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
@given(content=PARTS)
@settings(max_examples=tries(80))
def test_any_text_is_rows_or_one_line_with_its_place(tmp_path_factory, name, content):
    path = tmp_path_factory.mktemp("any") / "t"
    path.write_bytes(content.encode("utf-8", "replace"))
    for fault in faults(str(path), name):
        assert isinstance(fault, InputError)
        assert fault.path == str(path)
        assert "\n" not in str(fault)


# One option for topics ----------------------------------------------------------------------------


def topic_options() -> list[tuple[str, set[str]]]:
    """Return every command that has an option for topics, with the names of the option."""
    import click

    from pnyx.cli import app

    def options_of(command: click.Command, path: str) -> list[tuple[str, set[str]]]:
        if isinstance(command, click.Group):
            context = click.Context(command)
            names = command.list_commands(context)
            parts = [(command.get_command(context, name), f"{path} {name}") for name in names]
            return [option for part, where in parts if part for option in options_of(part, where)]
        words = getattr(command, "words", {}).items()
        below = [option for name, word in words for option in options_of(word, f"{path} {name}")]
        flags = [set(p.opts) for p in command.params if {"--topics", "--requests"} & {*p.opts}]
        words = getattr(command, "words", {})
        below = [o for word, part in words.items() for o in options_of(part, f"{path} {word}")]
        return [*((path.strip(), flag) for flag in flags), *below]

    return options_of(app, "")


def test_every_command_has_the_same_option_for_topics():
    options = topic_options()
    assert {name for name, _ in options} >= {
        "search", "search tune", "judge", "nuggets create", "annotate label", "build pairs",
        "measure report", "measure", "files validate", "report",
    }  # fmt: skip
    assert {frozenset(flags) for _, flags in options} == {frozenset({"--topics", "--requests"})}


@pytest.mark.parametrize("content", [SGML, "qid\tquery\n1\tZoos?\n2\tTea?\n", "2,Tea?\n"])
def test_commands_take_the_same_files_of_topics(write, tmp_path, capsys, content):
    """What one command reads or refuses, the others read or refuse, with the same words."""
    topics = write("topics", content)
    corpus = write("d.jsonl", '{"id": "a", "text": "Zoos are bad."}\n')
    run_, index, out = write("r.run", "1 Q0 a 1 1.0 r\n"), tmp_path / "ix", tmp_path / "out"
    assert called(capsys, "index", corpus, "--out", index, "--words-only")[0] == 0
    pair = ("--run", run_, "--index", index)
    outcomes = set()
    for command in (
        ("search", index, "--out", out),
        ("judge", "relevance", *pair, "--out", tmp_path / "judged"),
        ("nuggets", "create", *pair, "--nugget-style", "claims", "--out", tmp_path / "bank"),
        ("report", index, "--out", tmp_path / "reports"),
    ):
        code, _, err = called(capsys, *command, "--topics", topics)
        lines = [line for line in err.splitlines() if topics in line]
        outcomes.add((code == 2, *lines[:1]))
    assert len(outcomes) == 1, outcomes
