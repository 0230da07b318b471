"""RAG rows in detail: columns, cells, kinds of files, rows that belong together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from pnyx.core.errors import InputError
from pnyx.formats.rag.rag_cells import ASSISTANT_ROLES, contexts_of, text_of_cell
from pnyx.formats.rag.rag_files import _flat, _kind, _transposed, read_rag
from pnyx.formats.rag.rag_rows import RagRecords, find_columns, shown_columns

C: dict[str, Any] = {"contexts": ["c"], "answer": "A b."}


@pytest.mark.parametrize(
    ("row", "named", "shown"),
    [
        ({"question": "q", "contexts": ["c"], "answer": "a"}, {},
         "question, contexts, answer (ragas)"),
        ({"input": "q", "context": ["c"], "actual_output": "a"}, {},
         "input, context, actual_output (DeepEval)"),
        ({"actualOutput": "a", "Retrieval-Context": ["c"]}, {}, "Retrieval-Context, actualOutput"),
        ({"a": 1, "answer": "a"}, {}, None),
        ({"contexts": ["c"]}, {}, None),
        ({"context_2": "x", "context_10": "y", "context_1": "z", "answer": "a"}, {},
         "context_1 to context_10, answer"),
        ({"answer": "a", "retrieved_passage_1": "x"}, {}, "retrieved_passage_1, answer"),
        ({"docs": "", "document": "d", "answer": "a"}, {}, "document, answer"),  # one with a value
        ({"docs": "", "answer": ""}, {}, "docs, answer"),
        ({"inputs.question": "q", "outputs.answer": "a", "outputs.contexts": ["c"]}, {},
         "inputs.question, outputs.contexts, outputs.answer"),
        ({"x.answer": "b", "answer": "a", "docs": "d"}, {}, "docs, answer"),
        ({"x": "c", "y": "a", "question": "q"}, {"context": "x", "answer": "y"}, "question, x, y"),
        ({"question": "q", "contexts": ["c"], "answer": "a"}, {"answer": "answer"},
         "question, contexts, answer"),
    ],
)  # fmt: skip
def test_columns_are_recognised(
    row: dict[str, Any], named: dict[str, str], shown: str | None
) -> None:
    columns = find_columns([row], named or None)
    assert (columns and columns.shown()) == shown


def test_columns_that_are_named_wrongly_are_refused() -> None:
    with pytest.raises(InputError, match=r"^no column 'z' \(found: x\)$"):
        find_columns([{"x": 1}], {"contexts": "z"})
    with pytest.raises(InputError, match=r"^--column zz=...: expected one of the fields questi"):
        find_columns([{"x": 1}], {"zz": "x"})
    assert shown_columns([]) == "none"


def records(rows: Sequence[dict[str, Any]], **options: Any) -> RagRecords:
    read = read_rag(rows, **options)
    assert read is not None
    return read


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([C, C], [("1", "1", ("c",)), ("2", "2", ("c",))]),
        ([{**C, "question": "q"}, {**C, "question": " q ", "answer": "B."}],
         [("1", "1", ("c",)), ("2", "1", ("c",))]),
        # Rows with one passage each, and an answer that is in one of them.
        ([{"id": "1", "contexts": "c1", "answer": "A."}, {"id": "1", "contexts": "c2",
         "answer": ""},
          {"id": "1", "contexts": "c1", "answer": "A."}], [("1", "1", ("c1", "c2"))]),
        ([{"id": "1", "contexts": "c1", "answer": ""}, {"id": "1", "contexts": "c2",
         "answer": "A."}],
         [("1", "1", ("c1", "c2"))]),
        ([{"id": "1", "contexts": ["c1", "c2"], "answer": "A."},
          {"id": "1", "contexts": "c3", "answer": None}], [("1", "1", ("c1", "c2"))]),
        ([{**C, "id": "1", "model": "m"}, {**C, "id": "1", "model": "n", "answer": "B."}],
         [("m/1", "1", ("c",)), ("n/1", "1", ("c",))]),
        ([{**C, "id": "1", "model": "m"}, {**C, "id": "2", "model": "n"}],
         [("1", "1", ("c",)), ("2", "2", ("c",))]),
        ([{**C, "id": "1"}, {**C, "id": "1", "answer": "B."}, {**C, "id": "1", "answer": "D."}],
         [("1", "1", ("c",)), ("1-2", "1", ("c",)), ("1-3", "1", ("c",))]),
        ([{**C, "id": "a", "question": "q"}, {**C, "id": "b", "question": "q"},
          {**C, "id": "b", "question": "", "answer": "B."}],
         [("a", "a", ("c",)), ("b", "a", ("c",)), ("b-2", "a", ("c",))]),
    ],
)  # fmt: skip
def test_rows_become_records_with_ids_and_groups(
    rows: list[dict[str, Any]], expected: list[tuple[str, str, tuple[str, ...]]]
) -> None:
    assert [(r.id, r.group, r.contexts) for r in records(rows).records] == expected


@pytest.mark.parametrize(
    ("rows", "skipped"),
    [
        ([{**C, "answer": "[1]"}, C], "rows: skipped 1 row: 1 with no answer (row 1)"),
        ([{**C, "answer": ["a", "b"]}, C],
         "rows: skipped 1 row: 1 with an answer that is not one text (row 1)"),
        ([C, {**C, "contexts": []}, {**C, "answer": " "}],
         "rows: skipped 2 rows: 1 with no contexts (row 2); 1 with no answer (row 3)"),
    ],
)  # fmt: skip
def test_rows_that_cannot_be_judged_are_skipped(rows: list[dict[str, Any]], skipped: str) -> None:
    assert records(rows).skipped_line() == skipped


def test_rows_are_counted_and_may_need_a_question() -> None:
    assert records([C]).skipped_line() == ""
    assert records([C]).line(5000, "items") == (
        "rows: 1 record of contexts, answer: 5,000 items; ids are row numbers"
    )
    with_ids = records([{**C, "id": "a"}, {**C, "id": "b"}])
    assert with_ids.line(2, "items") == "rows: 2 records of contexts, answer: 2 items"
    asked = records([{**C, "question": " "}, {**C, "question": "q"}], needs_question=True)
    assert [record.id for record in asked.records] == ["2"]
    with pytest.raises(
        InputError, match=r"^rows: no row holds an answer with contexts: 1 row: 1 w"
    ):
        records([C], needs_question=True)
    with pytest.raises(InputError, match="has no rows, expected columns of a question"):
        records([])
    with pytest.raises(InputError, match="row 2: id '1' is already that of row 1, with another qu"):
        records([{**C, "id": "1", "question": "q"}, {**C, "id": "1", "question": "z"}])
    items = ("text", "statement")
    assert read_rag([{"text": "t", "statement": "s"}], items=items) is None
    with pytest.raises(InputError, match="expected text, statement, or columns of a question, its"):
        read_rag([{"text": "t"}], items=items)


@pytest.mark.parametrize(
    ("head", "name", "kind"),
    [
        (b"PAR1", "", ".parquet"),
        (b"PK", "", ".xlsx"),
        (b"  [", "", ".json"),
        (b"a,b", "", ".csv"),
        (b"a\tb", "x.TSV", ".tsv"),
        (b'{"a": 1}', "", ".json"),
        (b'{"a": 1}\n{"a"', "", ".jsonl"),
        (b'{"a": 1}', "x.jsonl", ".jsonl"),
        (b'{"a": 1}', "x.NDJSON", ".jsonl"),
        (b'{\n"a": 1}', "", ".json"),
        (b'{"a":\n1}', "", ".jsonl"),
        (b'{"a":\n1}', "x.json", ".json"),
        (b'{"a": 1}' + b" " * ((1 << 20) - 8), "", ".jsonl"),  # there is more than was read
        (b'{"a": 1}' + b" " * ((1 << 20) - 9), "", ".json"),
    ],
)
def test_the_kind_of_a_file(head: bytes, name: str, kind: str) -> None:
    assert _kind(head, name) == kind


@pytest.mark.parametrize(
    ("document", "rows"),
    [
        ({"question": ["q", "r"], "contexts": [["c"], ["d"]], "answer": ["a", "b"]},
         [{"question": "q", "contexts": ["c"], "answer": "a"},
          {"question": "r", "contexts": ["d"], "answer": "b"}]),
        ({"question": {"0": "q"}, "contexts": {"0": ["c"]}, "answer": {"0": "a"}, "x": [1, 2]},
         [{"question": "q", "contexts": ["c"], "answer": "a"}]),
        ({"question": ["q"], "contexts": ["c", "d"], "answer": ["a"]}, None),
        ({"question": "q", "contexts": ["c"], "answer": ["a"]}, None),
    ],
)  # fmt: skip
def test_columns_of_equal_length_are_rows(
    document: dict[str, Any], rows: list[dict[str, Any]] | None
) -> None:
    assert list(_transposed(document)) == ([document] if rows is None else rows)


def test_objects_in_a_row_become_columns() -> None:
    row = {"a": {"question": "q", "n": 1}, "context": {"text": "t"}, "b": 2,
           "message": {"role": "x", "content": "hi"}}  # fmt: skip
    assert _flat(row) == {
        "a.question": "q", "a.n": 1, "context": {"text": "t"}, "b": 2, "message.role": "x",
        "message.content": "hi", "message": "hi",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("cell", "asked", "answered"),
    [
        ([{"role": "user", "content": "q"}, {"role": "assistant", "content": "a"},
          {"role": "user", "content": "r"}], "r", "a"),
        ([{"type": "human", "content": "q"}, {"type": "ai", "content": "a"}], "q", "a"),
        ([{"role": "x", "content": "y"}, {"role": "x", "content": "z"}], "z", "z"),
        ([{"content": 5}], None, None),
        (["a"], "a", "a"), (["a", "b"], None, None), ([["a"]], "a", "a"), (("a",), "a", "a"),
        (5, "5", "5"), (2.5, "2.5", "2.5"), (True, None, None), (None, "", ""), ("nan", "", ""),
        ([], "", ""), ({"a": 1}, None, None),
    ],
)  # fmt: skip
def test_the_text_of_a_cell(cell: Any, asked: str | None, answered: str | None) -> None:
    assert (text_of_cell(cell), text_of_cell(cell, ASSISTANT_ROLES)) == (asked, answered)


@pytest.mark.parametrize(
    ("cell", "texts"),
    [
        ("['a' 'b']", ("a", "b")),
        ("array(['a', 'b'], dtype=object)", ("a", "b")),
        ("np.array(['a'])", ("a",)),
        ('{"text": "a"}', ("a",)),
        ("{'text': 'a'}", ("a",)),
        ("['a\nb']", ("a\nb",)),
        ("['a', None, nan]", ("a",)),
        ("[a]", ("[a]",)),
        ("[1, 2]", ()),
        ("['a'", ("['a'",)),
        ("('a', 'b')", ("('a', 'b')",)),
        ('"a"', ('"a"',)),
        ("[['a'], ['b']]", ("a", "b")),
        ({"x": {"content": "c"}}, ("c",)),
        ([{"page_content": "p", "text": 5}], ("p",)),
        ([5, "a"], ("a",)),
    ],
)
def test_the_contexts_of_a_cell(cell: Any, texts: tuple[str, ...]) -> None:
    assert contexts_of(cell) == texts
