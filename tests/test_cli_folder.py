"""Folders of files and published tables, as users index, search and validate them."""

from __future__ import annotations

import json
import unicodedata

import pytest

from command import printed, run, write_rows
from mixed_folder import write_mixed_folder
from pnyx.core.errors import InputError
from pnyx.core.records import RunEntry, as_question
from pnyx.formats import read_evidence, read_questions
from pnyx.formats.runs.run_ids import SafeIds, document_ids, map_path
from pnyx.judging.measures.ground_truth import join_labels


def lexical(capsys, source, out):
    return printed(capsys, "index", source, "--out", out, "--words-only").err


def test_one_bad_file_does_not_stop_a_folder(tmp_path, capsys):
    folder = tmp_path / "c"
    folder.mkdir()
    for number in range(3):
        (folder / f"{number}.txt").write_text(f"Zoos should be banned, reason {number}.")
    (folder / "2019-report.pdf").write_text("<html>please log in</html>")
    (folder / "old.txt").write_bytes("R\u00f6str\u00e4tt \u00e4r r\u00e4tt.".encode("latin-1"))
    first, second, _ = lexical(capsys, folder, tmp_path / "i").splitlines()
    assert first == (
        f"pnyx: warning: {folder}: 5 files: 4 read, "
        "1 unreadable (2019-report.pdf: is not a PDF file)"
    )
    assert second == f"pnyx: {folder}: not in UTF-8, encoding assumed: old.txt (Windows-1252)"
    assert run("index", folder, "--out", tmp_path / "j", "--words-only", "--strict-files") == 2
    assert not (tmp_path / "j").exists()
    assert capsys.readouterr().err == (
        f"pnyx: {folder}: 5 files: 4 read, 1 unreadable (2019-report.pdf: is not a PDF file)\n"
    )


def test_published_corpora_with_empty_texts(tmp_path, capsys):
    rows = [
        {"_id": "a", "title": "Zoos", "text": "", "metadata": {}},
        {"_id": "b", "title": "", "text": "", "metadata": {}},
        {"_id": "c", "title": "T", "text": "Zoos are bad.", "metadata": {}},
    ]
    write_rows(tmp_path / "b" / "corpus.jsonl", rows)
    warning = "pnyx: warning: 1 document has no text and was left out: b"
    assert lexical(capsys, tmp_path / "b", tmp_path / "i").splitlines()[0] == warning
    shown = printed(capsys, "files", "validate", tmp_path / "b")
    assert (shown.out, shown.err) == (f"{tmp_path}/b: ok (beir, 2 records)\n", f"{warning}\n")
    shown = printed(capsys, "files", "validate", tmp_path / "b", "--strict-files", code=2)
    assert shown.out == f"{tmp_path}/b/corpus.jsonl:2: text is empty\n"
    assert run("index", tmp_path / "b", "--out", tmp_path / "j", "--strict-files") == 2


@pytest.mark.parametrize(
    ("name", "rows", "expected"),
    [
        ("a.jsonl", [{"id": "1", "text": "", "title": "T"}, {"id": "2", "text": " "}], {"1": "T"}),
        ("a.jsonl", [{"id": "1", "contents": "", "title": "T"}], {"1": "T"}),
        ("a.jsonl", [{"docid": "1", "segment": "", "title": "T"}], {"1": "T"}),
        ("a.jsonl", [{"id": "1", "premises": []}, {"id": "2", "conclusion": "C"}], {"2": "C."}),
    ],
)  # fmt: skip
def test_empty_documents_of_other_formats(tmp_path, name, rows, expected):
    warnings = []
    write_rows(tmp_path / name, rows)
    found = read_evidence(tmp_path / name, on_warning=warnings.append)
    assert {d.id: d.text for d in found} == expected
    assert len(warnings) == (len(rows) > len(expected))


def test_an_empty_cell_of_a_table_is_an_empty_document(tmp_path):
    (tmp_path / "a.csv").write_text("id,title,text\n1,T,\n2,,\n3,,Text.\n")
    warnings = []
    found = read_evidence(tmp_path / "a.csv", on_warning=warnings.append)
    assert {d.id: d.text for d in found} == {"1": "T", "3": "Text."}
    assert warnings == ["1 document has no text and was left out: 2"]


def test_composed_and_decomposed_letters_match(tmp_path, capsys):
    nfd = unicodedata.normalize("NFD", "M\u00fcller says na\u00efve caf\u00e9 voters decide.")
    rows = [{"id": "a", "text": nfd}, {"id": "b", "text": "Parking fees rose."}]
    write_rows(tmp_path / "d.jsonl", rows)
    question = "M\u00fcller caf\u00e9"
    for language in ("english", "german"):
        where = tmp_path / language
        printed(
            capsys, "index", tmp_path / "d.jsonl", "--out", where, "--words-only",
            "--language", language,
        )  # fmt: skip
        for asked in (question, unicodedata.normalize("NFD", question)):
            assert printed(capsys, "search", where, asked).out.split()[2] == "a"
    assert as_question(unicodedata.normalize("NFD", question)).text == question


# Tables -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("lines", "texts"),
    [
        (['1\t"Zoos are cruel, she said.', "2\tElephants.", '3\tThey walk for miles."', "4\tEnd."],
         ['"Zoos are cruel, she said.', "Elephants.", 'They walk for miles."', "End."]),
        (['1\t"Quoted ""well"""', "2\tEnd."], ['Quoted "well"', "End."]),
        (['1\t"two', 'lines"', "2\tEnd."], ["two\nlines", "End."]),
        (['1\t"two', "", 'lines"'], ["two\n\nlines"]),
        (['1\t"a\ttab"'], ["a\ttab"]),
        (['1\t"Zoos" are bad.'], ['"Zoos" are bad.']),
        (['1\t"never closed', "2\tEnd."], ['"never closed', "End."]),
        (['1\t"'], ['"']),
        (['1\t"never closed'], ['"never closed']),
    ],
)  # fmt: skip
def test_quotation_marks_in_tab_separated_tables(tmp_path, lines, texts):
    (tmp_path / "q.tsv").write_text("\n".join(["id\ttext", *lines]) + "\n")
    assert [d.text for d in read_evidence(tmp_path / "q.tsv")] == texts


def test_a_fault_of_a_tab_separated_table_has_its_line(tmp_path, capsys):
    (tmp_path / "q.tsv").write_text('id\ttext\n1\t"two\nlines"\n2\tx\ty\n')
    shown = printed(capsys, "files", "validate", tmp_path / "q.tsv", code=2)
    assert shown.out == (f"{tmp_path}/q.tsv:4: found 3 columns, expected 2 as in the header\n")


@pytest.mark.parametrize("header", ["qid\tquery", "query_id\ttext", '"qid"\t"query"', "id\tTitle"])
def test_the_header_of_topics_is_not_a_topic(tmp_path, header):
    (tmp_path / "t.tsv").write_text(f"{header}\n1\tShould zoos be banned?\nqid\tquery\n")
    warnings: list[str] = []
    questions = read_questions(tmp_path / "t.tsv", on_warning=warnings.append)
    assert [question.id for question in questions] == ["1", "qid"]
    (warning,) = warnings
    assert "is not read as a topic" in warning


def test_a_topic_that_would_be_taken_for_a_header_is_not_written(tmp_path, capsys):
    write_rows(tmp_path / "q.jsonl", [{"id": "qid", "text": "query"}])
    assert (
        run("files", "convert", tmp_path / "q.jsonl", "--format", "questions", "--to", "topics-tsv")
        == 2
    )
    assert "would be taken for a header" in capsys.readouterr().err


# Runs ---------------------------------------------------------------------------------------------


@pytest.fixture
def indexed(tmp_path, capsys):
    folder = tmp_path / "files"
    folder.mkdir()
    for name in ("a b.txt", "a%20b.txt", "c\nd.txt", "plain.txt"):
        (folder / name).write_text("Zoos keep elephants.")
    (tmp_path / "t.tsv").write_text("1\tzoos\n")
    lexical(capsys, folder, tmp_path / "i")
    return tmp_path


def test_a_run_has_safe_ids_and_a_map(indexed, capsys):
    out = indexed / "r.run"
    shown = printed(capsys, "search", indexed / "i", "--topics", indexed / "t.tsv", "--out", out)
    assert "2 ids with blanks or line ends were changed in the run" in shown.err
    assert str(map_path(out)) in shown.err
    ids = {line.split()[2] for line in out.read_text().splitlines()}
    assert ids == {"a%20b.txt~2", "a%20b.txt", "c%0Ad.txt", "plain.txt"}
    assert document_ids(out) == {"a%20b.txt~2": "a b.txt", "c%0Ad.txt": "c\nd.txt"}
    rows = list(map(json.loads, map_path(out).read_text().splitlines()))
    assert set(rows[0]) == {"run_id", "id"}
    printed(capsys, "files", "validate", out)


def test_a_run_on_standard_output_cannot_have_a_map(indexed, capsys):
    assert run("search", indexed / "i", "--topics", indexed / "t.tsv", "--out", "-") == 2
    assert "give --out FILE, and FILE.ids.jsonl will map such ids" in capsys.readouterr().err


def test_a_run_without_odd_ids_removes_the_map_of_an_earlier_one(tmp_path):
    map_path(tmp_path / "r").write_text("{}")
    ids = SafeIds(lambda _: False)
    entry = RunEntry("1", "plain", 1, 1.0)
    assert list(ids.entries([entry])) == [entry]
    assert ids.write_map(tmp_path / "r") is None
    assert document_ids(tmp_path / "r") == {}


def test_a_broken_map_is_refused(tmp_path):
    map_path(tmp_path / "r").write_text('{"run_id": "a"}\n')
    with pytest.raises(InputError, match=r"r.ids.jsonl:1: expected run_id and id"):
        document_ids(tmp_path / "r")


# Scales of labels ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "span"),
    [
        ((5, 1), "from 1 to 5"),
        ((0.9, 0.2), "from 0.2 to 0.9"),
        ((1, 0), ""),
        ((1, 1), ""),
        ((True, True), ""),
        ((5, False), ""),
    ],
)
def test_a_scale_without_a_no_is_warned_of(tmp_path, capsys, values, span):
    answer = {"task": "support", "value": True, "unscored": None, "judge": "j"}
    said = [{"id": str(n), **answer} for n in range(2)]
    write_rows(tmp_path / "answers.jsonl", said)
    labels = [{"id": str(n), "value": value} for n, value in enumerate(values)]
    write_rows(tmp_path / "labels.jsonl", labels)
    shown = printed(
        capsys, "measure", tmp_path / "answers.jsonl",
        "--labels", tmp_path / "labels.jsonl",
    )  # fmt: skip
    assert ("no label is a no" in shown.err) == bool(span)
    assert span in shown.err
    own = [{**row, "label": value} for row, value in zip(said, values, strict=True)]
    write_rows(tmp_path / "own.jsonl", own)
    assert bool(join_labels(str(tmp_path / "own.jsonl")).scale_note) == bool(span)


def test_a_mixed_folder_is_indexed_and_found(tmp_path, capsys):
    write_mixed_folder(tmp_path / "files")
    said = lexical(capsys, tmp_path / "files", tmp_path / "i")
    assert "23 files: 18 read, 1 without text (empty.txt), 3 unreadable (" in said
    assert "21 documents" in said
    found = printed(capsys, "search", tmp_path / "i", "compulsory").out
    assert "review.pdf" in found
    shown = printed(capsys, "files", "validate", tmp_path / "files")
    assert shown.out == f"{tmp_path}/files: ok (folder, 21 records)\n"
