"""Rows of other RAG tools as items of `pnyx judge support` and `pnyx judge rag`."""

from __future__ import annotations

import csv
import gzip
import io
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from command import called, refuser, rows_of, write_rows
from pnyx.formats.rag.rag_cells import contexts_of
from pnyx.judging.tasks import read_items

QUESTION, ANSWER = "When did fares fall?", "Fares fell in May. They were cut by half."
CONTEXTS = ["The council cut fares by 20 % in May.", "Ridership rose by a third."]
TEXT = "\n\n".join(CONTEXTS)

LAYOUTS: dict[str, tuple[dict[str, Any], str]] = {
    "old ragas": (
        {"question": QUESTION, "contexts": CONTEXTS, "answer": ANSWER, "ground_truths": ["May"]},
        "question, contexts, answer (ragas)",
    ),
    "ragas": (
        {
            "user_input": QUESTION,
            "retrieved_contexts": CONTEXTS,
            "response": ANSWER,
            "reference": "May",
        },
        "user_input, retrieved_contexts, response (ragas)",
    ),
    "DeepEval": (
        {
            "input": QUESTION,
            "actual_output": ANSWER,
            "retrieval_context": CONTEXTS,
            "expected_output": "May",
            "context": ["an ideal context"],
        },
        "input, retrieval_context, actual_output (DeepEval)",
    ),
    "DeepEval without retrieval": (
        {
            "input": QUESTION,
            "actual_output": ANSWER,
            "retrieval_context": None,
            "context": CONTEXTS,
        },
        "input, context, actual_output (DeepEval)",
    ),
    "DeepEval, exported": (
        {"input": QUESTION, "actualOutput": ANSWER, "retrievalContext": CONTEXTS},
        "input, retrievalContext, actualOutput (DeepEval)",
    ),
    "a table of people": (
        {"User Input": QUESTION, "Retrieved Contexts": str(CONTEXTS), "Response": ANSWER},
        "User Input, Retrieved Contexts, Response (ragas)",
    ),
    "messages": (
        {
            "question": [{"role": "user", "content": QUESTION}],
            "contexts": [{"page_content": text} for text in CONTEXTS],
            "answer": {"role": "assistant", "content": ANSWER},
        },
        "question, contexts, answer (ragas)",
    ),
    "TruLens": (
        {"record_id": "r1", "input": QUESTION, "output": ANSWER, "contexts": CONTEXTS},
        "input, contexts, output (TruLens)",
    ),
    "LangChain": (
        {
            "query": QUESTION,
            "result": ANSWER,
            "source_documents": [{"page_content": text, "metadata": {}} for text in CONTEXTS],
        },
        "query, source_documents, result (LangChain)",
    ),
    "nested": (
        {"inputs": {"question": QUESTION}, "outputs": {"answer": ANSWER, "contexts": CONTEXTS}},
        "inputs.question, outputs.contexts, outputs.answer",
    ),
    "by passage id": (
        {"query": QUESTION, "passages": dict(enumerate(CONTEXTS)), "generated_answer": ANSWER},
        "query, passages, generated_answer (open-rag-eval)",
    ),
}


@pytest.fixture
def stdin(monkeypatch: pytest.MonkeyPatch) -> Callable[[bytes], None]:
    """Return a function that puts bytes on standard input."""
    return lambda content: monkeypatch.setattr(
        sys, "stdin", io.TextIOWrapper(io.BytesIO(content), encoding="utf-8")
    )


def _support(path: object) -> list[Any]:
    return read_items(str(path), "support")


@pytest.mark.parametrize("name", LAYOUTS)
def test_rows_of_known_tools_become_a_question_for_each_sentence(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    row, columns = LAYOUTS[name]
    path = write_rows(tmp_path / "rows.jsonl", [row])
    status, out, err = called(capsys, "judge", "support", path, "--plan")
    numbered = "" if "record_id" in row else "; ids are row numbers"
    assert status == 0
    assert out.startswith("2 questions for ")
    assert f"rows.jsonl: 1 record of {columns}: 2 sentences to judge{numbered}\n" in err
    first, second = _support(path)
    assert (first.text, first.question) == (TEXT, QUESTION)
    assert (first.statement, second.statement) == ("Fares fell in May.", "They were cut by half.")
    record = "r1" if "record_id" in row else "1"
    assert (first.id, second.id) == (f"{record}#1", f"{record}#2")
    assert first.group == record


def _csv(path: Path, rows: list[dict[str, Any]], delimiter: str = ",") -> Path:
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, list(rows[0]), delimiter=delimiter)
        writer.writeheader()
        writer.writerows(rows)
    return path


def _written(tmp_path: Path, ending: str, row: dict[str, Any]) -> Path:
    path = tmp_path / f"rows.{ending}"
    if ending in ("csv", "tsv"):
        return _csv(path, [row], "\t" if ending == "tsv" else ",")
    if ending == "columns.json":
        path.write_text(json.dumps({name: [value] for name, value in row.items()}))
    elif ending == "frame.json":
        path.write_text(json.dumps({name: {"0": value} for name, value in row.items()}))
    elif ending == "list.json":
        path.write_text(json.dumps([row]))
    elif ending == "one.json":
        path.write_text(json.dumps(row, indent=1))
    elif ending == "lines.json":
        path.write_text(json.dumps(row) + "\n" + json.dumps(row) + "\n")
    elif ending == "xlsx":
        openpyxl = pytest.importorskip("openpyxl")
        book = openpyxl.Workbook()
        book.active.append(list(row))
        book.active.append([str(value) for value in row.values()])
        book.save(path)
    else:
        parquet = pytest.importorskip("pyarrow.parquet")
        table = pytest.importorskip("pyarrow").Table.from_pylist([row])
        parquet.write_table(table, path)
    return path


@pytest.mark.parametrize(
    "ending",
    ["csv", "tsv", "list.json", "columns.json", "frame.json", "one.json", "lines.json", "xlsx",
     "parquet"],
)  # fmt: skip
def test_the_kind_of_file_does_not_matter(ending: str, tmp_path: Path) -> None:
    row = {"question": QUESTION, "contexts": CONTEXTS, "answer": ANSWER}
    items = _support(_written(tmp_path, ending, row))
    assert [item.text for item in items[:2]] == [TEXT, TEXT]
    assert [item.id for item in items[:2]] == ["1#1", "1#2"]
    assert len(items) == (4 if ending == "lines.json" else 2)


@pytest.mark.parametrize(
    ("cell", "texts"),
    [
        ("['a', 'b']", ("a", "b")),
        ('["a", "b"]', ("a", "b")),
        ("['it\\'s', \"he's\"]", ("it's", "he's")),
        ("['a b'\n 'c d']", ("a b", "c d")),
        ("array(['a', 'b'], dtype=object)", ("a", "b")),
        ("['a', None, nan]", ("a",)),
        ("['line\nbreak']", ("line\nbreak",)),
        ("[{'text': 'a'}, {'text': 'b'}]", ("a", "b")),
        ('[{"page_content": "a"}]', ("a",)),
        ("plain text", ("plain text",)),
        ("[1] is cited", ("[1] is cited",)),
        ("[see the note]", ("[see the note]",)),
        ("[", ("[",)),
        ("[" * 100_000 + "]" * 100_000, ("[" * 100_000 + "]" * 100_000,)),
        ("[]", ()),
        ("", ()),
        ("nan", ()),
        ("None", ()),
        (" NULL ", ()),
        ("nan bread", ("nan bread",)),
        (float("nan"), ()),
        (None, ()),
        ([["a"], ["b"]], ("a", "b")),
        ([" ", "a"], ("a",)),
        ({"1": "a", "2": "b"}, ("a", "b")),
        ({"text": "a", "id": "b"}, ("a",)),
    ],
    ids=repr,
)
def test_contexts_are_read_as_they_are_written(cell: Any, texts: tuple[str, ...]) -> None:
    assert contexts_of(cell) == texts


def test_a_list_of_an_array_is_read() -> None:
    numpy = pytest.importorskip("numpy")
    assert contexts_of(numpy.array(CONTEXTS, dtype=object)) == tuple(CONTEXTS)


@pytest.mark.parametrize(("levels", "texts"), [(4, ("Fares fell.",)), (5, ())])
def test_a_context_is_looked_for_in_four_levels_of_lists(
    levels: int, texts: tuple[str, ...]
) -> None:
    value: Any = "Fares fell."
    for _ in range(levels):
        value = [value]
    assert contexts_of(value) == texts


def _packed(path: Path, name: str) -> Path:
    """Return a copy of a file by another name, with gzip if that ends so."""
    target = path.with_name(name)
    content = path.read_bytes()
    target.write_bytes(gzip.compress(content) if "gz" in name else content)
    return target


@pytest.mark.parametrize("name", ["rows.csv.gz", "gz.csv", "rows.txt", "rows", "rows.jsonl"])
def test_a_file_is_recognised_by_its_content(name: str, tmp_path: Path) -> None:
    row = {"question": QUESTION, "contexts": CONTEXTS, "answer": ANSWER}
    source = _csv(tmp_path / "source.csv", [row], "\t" if name == "rows.txt" else ",")
    items = _support(_packed(source, name))
    assert [(item.id, item.text) for item in items] == [("1#1", TEXT), ("1#2", TEXT)]


@pytest.mark.parametrize(
    "ending",
    ["csv", "tsv", "list.json", "columns.json", "one.json", "lines.json", "xlsx", "parquet"],
)
def test_standard_input_may_hold_any_of_them(
    ending: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], stdin: Any
) -> None:
    row = {"question": QUESTION, "contexts": CONTEXTS, "answer": ANSWER}
    stdin(_written(tmp_path, ending, row).read_bytes())
    status, out, err = called(capsys, "judge", "support", "-", "--plan")
    count = 2 if ending == "lines.json" else 1
    assert (status, out.split()[0]) == (0, str(2 * count))
    assert f"pnyx: standard input: {count} record" in err


def test_items_on_standard_input_are_still_items(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], stdin: Any
) -> None:
    row = {"id": "a", "text": "t", "statement": "s", "contexts": ["c"], "answer": "b"}
    stdin(json.dumps(row).encode())
    status, out, err = called(capsys, "judge", "support", "-", "--plan")
    assert (status, out.split()[0], "record" in err) == (0, "1", False)
    stdin(b'{"id": "a", "txt": "t"}\n')
    err = refuser("judge")(capsys, "support", "-", "--plan")
    assert "standard input: expected text, statement, or columns of a question" in err
    stdin(b"")
    assert "standard input: has no rows" in refuser("judge")(capsys, "support", "-", "--plan")


def test_broken_lines_among_records_are_skipped_and_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    good = json.dumps({"question": QUESTION, "contexts": CONTEXTS, "answer": ANSWER})
    path = tmp_path / "rows.jsonl"
    path.write_text("\n".join([good, '{"question": "broken', good, '["x"]', good]) + "\n")
    status, out, err = called(capsys, "judge", "support", path, "--plan")
    assert (status, out.split()[0]) == (0, "6")
    assert "rows.jsonl: skipped 2 rows: 2 with broken JSON (rows 2, 4)\n" in err
    assert [item.id for item in _support(path)[::2]] == ["1#1", "3#1", "5#1"]


def test_a_sheet_may_have_a_title_above_its_header(tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for row in (["RAG, draft"], [], ["question", "contexts", "answer"],
                [QUESTION, str(CONTEXTS), ANSWER]):  # fmt: skip
        book.active.append(row)
    book.save(tmp_path / "rows.xlsx")
    items = _support(tmp_path / "rows.xlsx")
    assert [(item.id, item.text) for item in items] == [("1#1", TEXT), ("1#2", TEXT)]


def test_rows_without_an_answer_or_contexts_are_skipped_counted_and_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    good = {"question": QUESTION, "contexts": CONTEXTS, "answer": ANSWER}
    rows = [good, {**good, "answer": " ... "}, {**good, "contexts": []}, {**good, "answer": None}]
    rows += [{**good, "answer": ["a", "b"]}, {**good, "answer": "[1] [2]"}]
    rows += [{**good, "answer": "nan"}, {**good, "contexts": "None"}]
    path = write_rows(tmp_path / "rows.jsonl", rows)
    for task in ("support", "rag"):
        status, _, err = called(capsys, "judge", task, path, "--plan")
        assert status == 0
        assert (
            "rows.jsonl: skipped 7 rows: 4 with no answer (rows 2, 4, 6, 7); 2 with no contexts "
            "(rows 3, 8); 1 with an answer that is not one text (row 5)\n"
        ) in err


def test_the_answer_of_a_conversation_is_what_the_assistant_wrote(tmp_path: Path) -> None:
    turns = [{"role": "user", "content": QUESTION}, {"role": "assistant", "content": ANSWER},
             {"role": "user", "content": "Thanks."}]  # fmt: skip
    row = {"question": turns[:2], "contexts": CONTEXTS, "answer": turns}
    first, second = _support(write_rows(tmp_path / "rows.jsonl", [row]))
    assert f"{first.statement} {second.statement}" == ANSWER
    assert first.question == QUESTION


def test_a_file_without_any_usable_row_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [
        {"question": QUESTION, "contexts": CONTEXTS, "answer": ""},
        {"question": QUESTION, "contexts": [], "answer": None},
    ]
    path = write_rows(tmp_path / "rows.jsonl", rows)
    err = refuser("judge")(capsys, "support", path, "--out", tmp_path / "r")
    assert "no row holds an answer with contexts: 2 rows: 2 with no answer (rows 1, 2)" in err
    assert not (tmp_path / "r").exists()


@pytest.mark.parametrize("flag", ["--column", "--columns"])
def test_other_columns_are_named(
    flag: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    row = {"q": QUESTION, "hits": CONTEXTS, "reply": ANSWER}
    path = write_rows(tmp_path / "rows.jsonl", [row])
    named = (flag, "question=q", flag, "contexts=hits", flag, "answer=reply")
    status, out, err = called(capsys, "judge", "support", path, *named, "--plan")
    assert (status, out.startswith("2 questions")) == (0, True)
    assert "1 record of q, hits, reply: 2 sentences" in err


def test_a_table_whose_columns_are_unknown_says_how_to_name_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = _csv(tmp_path / "rows.csv", [{"q": "a?", "hits": "b", "reply": "c"}])
    err = refuser("judge")(capsys, "support", path, "--out", tmp_path / "r")
    assert "found: q, hits, reply. Name them: --column contexts=COLUMN" in err


@pytest.mark.parametrize(
    ("column", "problem"),
    [
        ("answer=nothing", "rows.jsonl: no column 'nothing' (found: question, contexts, answer)"),
        ("reply=answer", "--column reply=...: expected one of the fields question, contexts"),
        ("answer", "--column answer: expected FIELD=COLUMN"),
    ],
)
def test_a_wrong_column_is_refused(
    column: str, problem: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    row = {"question": QUESTION, "contexts": CONTEXTS, "answer": ANSWER}
    path = write_rows(tmp_path / "rows.jsonl", [row])
    assert problem in refuser("judge")(
        capsys, "support", path, "--column", column, "--out", tmp_path / "r"
    )


def test_columns_are_for_rag_records_only(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write_rows(tmp_path / "rows.jsonl", [{"id": "1", "question": "a?", "document": "b"}])
    err = refuser("judge")(
        capsys, "relevance", path, "--column", "document=text", "--out", tmp_path / "r"
    )
    assert "--column is for support and rag, not relevance" in err


def test_a_context_a_column_is_read_in_order(tmp_path: Path) -> None:
    row = {"question": QUESTION, "context_2": CONTEXTS[1], "context_1": CONTEXTS[0], "answer": "A."}
    (item,) = _support(_csv(tmp_path / "rows.csv", [row]))
    assert item.text == TEXT


def test_a_passage_a_row_is_one_record(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [
        {"query_id": "q1", "query": QUESTION, "passage": text, "generated_answer": answer}
        for text, answer in zip(CONTEXTS, ("", ANSWER), strict=True)
    ]
    path = _csv(tmp_path / "rows.csv", rows)
    first, second = _support(path)
    assert (first.id, second.id, first.text) == ("q1#1", "q1#2", TEXT)
    _, _, err = called(capsys, "judge", "support", path, "--plan")
    assert "1 record of query, passage, generated_answer (open-rag-eval): 2 sentences" in err


@pytest.mark.parametrize("order", [1, -1])
def test_contexts_of_a_missing_answer_are_not_those_of_another(
    order: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [
        {"id": "q", "question": QUESTION, "contexts": CONTEXTS, "answer": "Fares fell."},
        {"id": "q", "question": QUESTION, "contexts": ["Rain fell.", "Snow fell."], "answer": ""},
    ][::order]
    path = write_rows(tmp_path / "rows.jsonl", rows)
    (item,) = _support(path)
    assert (item.statement, item.text) == ("Fares fell.", TEXT)
    _, _, err = called(capsys, "judge", "support", path, "--plan")
    assert f"skipped 1 row: 1 with no answer (row {2 if order == 1 else 1})" in err


def test_one_id_for_two_questions_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [{"id": "a", "question": q, "context": "c", "answer": "b"} for q in ("One?", "Two?")]
    err = refuser("judge")(
        capsys, "support", _csv(tmp_path / "rows.csv", rows), "--out", tmp_path / "r"
    )
    assert "row 2: id 'a' is already that of row 1, with another question" in err


def test_several_answers_to_a_question_are_records_of_one_group(tmp_path: Path) -> None:
    def items(extra: list[dict[str, str]]) -> list[tuple[str, str, str]]:
        rows = [
            {"question": QUESTION, "context": "c", "answer": f"Answer {n}.", **fields}
            for n, fields in enumerate(extra)
        ]
        questions = _support(_csv(tmp_path / "rows.csv", rows))
        return [(item.id, item.group, item.extra.get("run_id", "")) for item in questions]

    assert items([{}, {}]) == [("1#1", "1", ""), ("2#1", "1", "")]
    assert items([{"id": "q"}, {"id": "q"}]) == [("q#1", "q", ""), ("q-2#1", "q", "")]
    assert [name for name, _, _ in items([{"id": "q"}, {"id": "q"}, {"id": "q-2"}])] == [
        "q#1", "q-2#1", "q-2-2#1"]  # fmt: skip
    assert items([{"id": "q", "system": "a"}, {"id": "q", "system": "b"}]) == [
        ("a/q#1", "q", "a"),
        ("b/q#1", "q", "b"),
    ]
    # Ids that are those of rows, not of questions: the answers still share a question.
    assert items([{"id": "1", "model": "a"}, {"id": "2", "model": "b"}]) == [
        ("1#1", "1", "a"),
        ("2#1", "1", "b"),
    ]
    other = {"question": "Another question?"}
    assert [group for _, group, _ in items([{"id": "1"}, {"id": "2", **other}])] == ["1", "2"]
    same_id = [{"id": "q", "model": "a"}, {"id": "q", "model": "b", **other}]
    assert [group for _, group, _ in items(same_id)] == ["q", "q"]


def test_items_are_still_read_as_items(tmp_path: Path) -> None:
    row = {"id": "a", "text": "t", "statement": "s", "contexts": ["c"], "answer": "b"}
    (item,) = _support(write_rows(tmp_path / "items.jsonl", [row]))
    assert (item.id, item.text, item.statement) == ("a", "t", "s")
    assert not item.from_answer


def test_rag_takes_each_answer_with_its_documents(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    row = {"question": QUESTION, "contexts": CONTEXTS, "answer": ANSWER}
    path = write_rows(tmp_path / "rows.jsonl", [row, {**row, "question": None}])
    (item,) = read_items(path, "rag")
    assert (item.question, item.text, item.documents) == (QUESTION, ANSWER, tuple(CONTEXTS))
    status, _, err = called(capsys, "judge", "rag", path, "--plan")
    assert status == 0
    assert "1 record of question, contexts, answer (ragas): 1 answer to judge" in err
    assert "skipped 1 row: 1 with no question (row 2)" in err


def test_hostile_names_and_places_are_printed_on_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    row = {"question\x1b[31m": "a?", "answer": "b", "contexts": ["c"], "id": "x\x1b]0;\n"}
    path = write_rows(tmp_path / "rows.jsonl", [row])
    status, out, err = called(capsys, "judge", "support", path, "--plan")
    assert status == 0
    assert "\x1b" not in out + err


@pytest.mark.parametrize("name", ["gone.csv", "gone.json", "gone.jsonl"])
def test_a_file_that_is_not_there_is_one_line(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert name in refuser("judge")(capsys, "support", tmp_path / name, "--out", tmp_path / "r")


def test_answers_carry_record_and_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], own_place: object
) -> None:
    row = {"id": "q", "question": QUESTION, "contexts": CONTEXTS, "answer": ANSWER, "model": "m"}
    path = write_rows(tmp_path / "rows.jsonl", [row])
    labels = write_rows(tmp_path / "labels.jsonl", [{"id": "q#1", "value": True}])
    status, _, _ = called(
        capsys, "judge", "support", path, "--judge", labels, "--out", tmp_path / "r"
    )
    assert status == 3  # the second sentence has no label
    first, second = rows_of(tmp_path / "r")
    assert (first["id"], first["record"], first["run_id"], first["group"]) == ("q#1", "q", "m", "q")
    assert (first["value"], second["value"]) == (True, None)
