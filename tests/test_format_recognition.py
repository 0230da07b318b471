"""The format of a file: by its first bytes, its name and the kind of records that is sought."""

from __future__ import annotations

from pathlib import Path

import pytest

from pnyx.core.errors import PnyxError
from pnyx.core.records import RunEntry
from pnyx.formats.base import Kind
from pnyx.formats.documents.tsv import tsv_rows
from pnyx.formats.jsonstream import scores_or_texts, top_level_keys
from pnyx.formats.recognition import sniff
from pnyx.formats.runs.retrieval_columns import DOCUMENT, column_of, kind_of_columns
from pnyx.formats.runs.run_ids import SafeIds, document_ids, map_path, with_document_ids
from pnyx.formats.runs.sources import named_runs, run_names

UNKNOWN = "the format cannot be recognised"
BARE = '{"title": "t", "pros": [], "cons": [], "sources": []}'
ARGUED = '{"title": "t", "pros": [{"a": 1}], "cons": [], "sources": []}'
POINTS = '[{"claim_title": "x", "perspectives_for": [], "url": "https://a.%s.org"}]'


@pytest.mark.parametrize(
    ("content", "name", "kind", "expected"),
    [
        ("", "f", None, "is empty"),
        ("  \n", "f", None, "is empty"),
        ("", "f", "run", "run"),
        ("x y z", "f", None, f"{UNKNOWN} from 'x y z': name it"),
        ("x y z", "f", "run", "run"),
        ("x y z", "f", "qrels", "qrels"),
        ("x y z", "f", "questions", "topics-tsv"),
        ("x y z", "f", "responses", UNKNOWN),
        ("x y z", "f.csv", None, "csv"),
        ("x y z", "f.tsv", "evidence", "tsv"),
        ("a\tb", "f", None, "topics-tsv"),
        ("a\tb\tc", "f", None, UNKNOWN),
        ("a\tb", "f", "evidence", UNKNOWN),
        ("id,text\n", "f", None, "csv"),
        ("docno\ttext\n", "f", None, "tsv"),
        ('"id","text"\n', "f", None, "csv"),
        ("text,b\n", "f", None, UNKNOWN),
        ("q Q0 d 1 0.5 r", "f", None, "run"),
        (" q\tQ0 d -1 0.5 r\n", "f", None, "run"),
        ("q Q0 d 1 0.5 r", "f", "qrels", "qrels"),
        ("q 0 d 1", "f", None, "qrels"),
        ("q 0 d 1.0", "f", None, "qrels"),
        ("q 0 d 1.5", "f", None, UNKNOWN),
        ("query-id\tcorpus-id\tscore", "f", "run", "beir-qrels"),
        ("qid,query\n", "f", None, "conqret-queries"),
        ("qid,query\n", "f", "run", "run"),
        ("qid,docno,label,stance\n", "f", None, "conqret-qrels"),
        ("## a: b\n- pro: x\n", "f.md", None, "drafts-markdown"),
        ("## a: b\n\n* con (x): y\n", "f", None, "drafts-markdown"),
        ("## a: b\ntext\n", "f.md", None, "guidelines"),
        ("# T\n\n## a: b\n", "f.md", None, "guidelines"),
        ("text", "f.md", None, "folder"),
        ("q 0 d 1", "f.txt", None, "qrels"),
        ("q 0 d 1", "f.txt", "evidence", "folder"),
        ("text here", "f.TXT", None, "folder"),
        ("Discussion Title: x\n1. a\n", "f.txt", None, "kialo"),
        ("1. a\n1.1. Pro: b\n", "f", None, "kialo"),
        ("<top>\n", "f", None, "trec-topics"),
        ("<topics><topic>", "f", None, "touche-topics"),
        ("<topic number='1'>", "f", None, "trec-topics"),
        ("<html>", "f", None, UNKNOWN),
        ("<top>", "f", "qrels", "qrels"),
        ('{"x": 1}', "f", None, UNKNOWN),
        ('{"x": 1}', "f", "evidence", "jsonl"),
        ('{"x": 1}', "f", "questions", "questions"),
        ('{"x": 1}', "f", "responses", "rag25"),
        ('{"x": 1}', "f", "nuggets", "nuggetbank-v3"),
        ('{"x": 1}', "f", "run", "run-json"),
        ('{"x": 1}', "f", "qrels", "qrels-json"),
        ('{"x": 1', "f", None, "jsonl"),  # whose reader says what is broken
        ("{\n", "f", None, "is one JSON document over many lines in no known format"),
        ("{\n", "f", "run", "run-json"),
        ("[{\n", "f", None, UNKNOWN),
        ('{"_id": "a", "text": "t"}', "f", None, "beir"),
        ('{"_id": "a", "text": "t"}', "queries", None, "beir-queries"),
        ('{"_id": "a", "text": "t"}', "queries", "evidence", "beir"),
        ('{"_id": "a", "text": "t", "title": "x"}', "queries", None, "beir"),
        (ARGUED, "f", "evidence", "debate-arguments"),
        (BARE, "f", "evidence", "debate-sources"),
        (BARE, "f", None, "debates"),
        (POINTS % "procon", "f", None, "procon"),
        (POINTS % "debate", "f", None, "debatewise"),
        (POINTS % "debate", "f", "responses", UNKNOWN),
        ('[{"pId": 1, "text": "x"}]', "f", None, "perspectrum"),
        ('[{"pId": 1, "text": "x"}]', "f", "run", UNKNOWN),
        ('{"1": {"a": 1.5}}', "f", None, "run-json"),
        ('{"1": {"a": 1}}', "f", None, "qrels-json"),
        ('{"1": {"a": 1}}', "f", "run", "run-json"),
        ('{"1": "a"}', "topics.json", None, "topics-json"),
        ('{"1": "a"}', "x.json", None, UNKNOWN),
        ('{"1": "a"}', "x.json", "questions", "topics-json"),
        ("all Q0 r 1 0.5 m", "f", None, "ranking"),
        ("run measure topic value\nr m t 1\n", "f", None, "tot"),
    ],
)
def test_the_format_of_a_file(
    content: str, name: str, kind: Kind | None, expected: str, tmp_path: Path
) -> None:
    path = tmp_path / name
    path.write_text(content)
    try:
        found = sniff(str(path), kind)
    except PnyxError as error:
        found = str(error).removeprefix(f"{path}: ")
    assert found[: len(expected)] == expected


def test_columns_that_are_named_make_a_table(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("text,b\n")
    assert sniff(str(tmp_path / "f"), None, ("text",)) == "csv"
    with pytest.raises(PnyxError, match=UNKNOWN):
        sniff(str(tmp_path / "f"), None, ("text", "c"))


@pytest.mark.parametrize(
    ("columns", "kind", "expected"),
    [
        ("qid docno score", None, "run"),
        ("qid docno label", None, "qrels"),
        ("qid docno score label", None, "qrels"),
        ("qid docno score label", "run", "run"),
        ("query-id corpus-id score", None, "qrels"),
        ("query-id corpus-id score rank", None, "run"),
        ("qid docno", None, None),
        ("qid query", None, "questions"),
        ("qid text", None, None),  # or documents
        ("qid text", "questions", "questions"),
        ("id query", None, "questions"),
        ("id title", None, None),
        ("id title", "questions", "questions"),
        ("topic title", None, "questions"),
        ("docno query", "questions", None),
        ("qid query", "run", None),
        ("topic docid relevance", "qrels", "qrels"),
        ("topic docid score", "qrels", None),
        ("qid question measure", None, None),
    ],
)
def test_the_kind_of_a_table(columns: str, kind: Kind | None, expected: Kind | None) -> None:
    assert kind_of_columns(columns.split(), kind) == expected


def test_columns_in_any_spelling() -> None:
    assert column_of(["QID", "qid", "x"], ("qid",)) == "QID"
    assert column_of(["Doc ID", "docno"], DOCUMENT) == "docno"
    assert column_of(["Doc-ID "], DOCUMENT) == "Doc-ID "
    assert column_of(["a"], ("b",)) is None


@pytest.mark.parametrize(
    ("head", "shape"),
    [
        (b'{"1": {"a": 1.5}}', "scores"),
        (b'{"1": {"a": 1}}', "grades"),
        (b'{"1": {"a": 1, "b": 1.5}}', "scores"),
        (b'{"1": {"a": 1}, "2": {"a": 1', "grades"),
        (b'{"1": "a"}', "texts"),
        (b'{"1": {"a": "b", "c": 1}}', "fields"),
        (b'{"1": "a", "2": {"b": 1}}', ""),
        (b'{"1": {"b": 1.5}, "2": "a"}', ""),
        (b'{"1": {"a": [1]}}', ""),
        (b'{"1": 1}', ""),
        (b'{"1": {"a": true}}', ""),
        (b'{"1": {"a": {"b": 1}}}', ""),
        (b'{"1": {"a": {"b": "x"}}}', ""),
        (b'{"a": "x"}\n{"a": "y"}', ""),
        (b"[1]", ""),
        (b"{}", ""),
        (b"", ""),
    ],
)
def test_the_shape_of_an_object(head: bytes, shape: str) -> None:
    assert scores_or_texts(head) == shape


@pytest.mark.parametrize(
    ("head", "keys"),
    [
        (b' [{"a": {"b": 1}, "c": [{"d": 1}]}, {"e": 1}]', ("[", ["a", "c"])),
        (b'{"a": 1, "b": {"c": 2}}{"d": 1}', ("{", ["a", "b"])),
        (b'{"a": 1', ("{", ["a"])),
        (b'[[{"a": 1}]]', ("[", [])),
        (b"x", ("x", [])),
    ],
)
def test_the_keys_of_the_first_object(head: bytes, keys: tuple[str, list[str]]) -> None:
    assert top_level_keys(head) == keys


# Runs by name, and their ids ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("paths", "names"),
    [
        (["a/run.txt.gz", "b/x.trec"], ["run", "x"]),
        (["a/x.run", "b/x.res"], ["a/x.run", "b/x.res"]),  # the same name twice
        (["r.v1.run", "y.parquet", "z.json"], ["r.v1", "y", "z"]),
        (["a/.txt"], [".txt"]),
    ],
)
def test_runs_are_named_after_their_files(paths: list[str], names: list[str]) -> None:
    assert run_names(paths) == names


def test_one_run_without_a_name_and_several_with_names() -> None:
    scores = {"1": {"d": 1.0}}
    assert named_runs(scores) == {"run": scores}
    assert named_runs({"r": scores}) == {"r": scores}
    assert named_runs({"r": "f"}) == {"r": "f"}
    assert named_runs({"1": {}}) == {"1": {}}
    assert named_runs("a/r.run") == {"r": "a/r.run"}
    assert named_runs([Path("a/r.run"), "s"]) == {"r": "a/r.run", "s": "s"}
    rows = [RunEntry("1", "d", 1, 1.0)]
    assert named_runs(rows) == {"run": rows}  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"^found the run a twice, expected each once$"):
        named_runs(["a", "b", "a"])


def test_ids_that_a_run_cannot_hold_are_replaced_and_restored(tmp_path: Path) -> None:
    taken = {"a%20b", "a%20b~2"}
    ids = SafeIds(lambda name: name in taken)
    names = ["ab", "a%b", "a b", "a\tb", "\ufeffa"]
    entries = [RunEntry("1", name, 1, 1.0) for name in names]
    safe = list(ids.entries(entries))
    assert [e.doc_id for e in safe] == ["ab", "a%b", "a%20b~3", "a%09b", "%EF%BB%BFa"]
    assert ids.safe("a b") == "a%20b~3"
    assert SafeIds(lambda name: name == "a%20b").safe("a b") == "a%20b~2"
    run = tmp_path / "r.run"
    assert document_ids(run) == {}
    assert ids.write_map(run) == map_path(run) == tmp_path / "r.run.ids.jsonl"
    assert list(with_document_ids(safe, run)) == entries
    assert SafeIds(lambda _: False).write_map(run) is None
    assert not map_path(run).exists()
    map_path(run).write_text('{"run_id": "a", "id": 5}\n')
    with pytest.raises(PnyxError, match=r"ids\.jsonl:1: expected run_id and id, both text"):
        document_ids(run)


# Cells between tabs ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("lines", "rows"),
    [
        (["1\t2\n"], [["1", "2"]]),
        (['"x\ty"\t2\n'], [["x\ty", "2"]]),
        (['"x\n', 'y"\t2\n', "3\t4\n"], [["x\ny", "2"], ["3", "4"]]),
        (['"x\t2\n', '"y\t3\n'], [['"x', "2"], ['"y', "3"]]),
        (['"x\n', "y\n"], [['"x'], ["y"]]),
        (['"x""y"\t2\n'], [['x"y', "2"]]),
        (['x"y"\t2\n'], [['x"y"', "2"]]),
        (['"x"y\t2\n'], [['"x"y', "2"]]),
        (['"x\t2\r\n'], [['"x', "2"]]),
        (['"p "q" r"\t2\n'], [['"p "q" r"', "2"]]),
        (['1\t""\n'], [["1", ""]]),
        (['1\t"\n'], [["1", '"']]),
        (['"x\t1\n', 'y"\t2\n'], [['"x', "1"], ['y"', "2"]]),
    ],
)
def test_cells_between_tabs_with_quotation_marks(lines: list[str], rows: list[list[str]]) -> None:
    read = list(tsv_rows(enumerate(["a\tb\n", *lines], 1)))
    assert [cells for _, cells in read] == [["a", "b"], *rows]
    assert read[1][0] == 2
