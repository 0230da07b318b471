"""Readers on good, odd and hostile files."""

from __future__ import annotations

import functools
import gzip
import io
import json
import os
import sys
import tracemalloc
from pathlib import Path

import pytest

from pnyx.core.errors import InputError, MissingExtra
from pnyx.core.records import Argument, Citation, Document
from pnyx.formats import (
    faults,
    read_evidence,
    read_items,
    read_qrels,
    read_questions,
    read_responses,
    read_run,
    sniff,
)
from pnyx.formats.jsonstream import top_level_keys
from pnyx.formats.recognition import all_formats

DATA = Path(os.environ.get("PNYX_DATA", Path(__file__).parents[2] / "shared" / "data"))
needs_data = pytest.mark.skipif(
    not (DATA / "perspectrum").is_dir(), reason=f"the published dumps are not in {DATA}"
)
FORMATS = all_formats()  # those of plugins, too
FILE_FORMATS = [name for name in FORMATS if name not in ("folder", "ir_datasets")]


@pytest.fixture
def write(tmp_path):
    def write(content: str | bytes, name: str = "f") -> str:
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return str(path)

    return write


def problems(path: str, name: str | None = None) -> list[str]:
    return [str(fault).removeprefix(path) for fault in faults(path, name)]


@pytest.mark.parametrize("name", FILE_FORMATS)
def test_each_example_is_valid_and_recognised(name, write):
    path = write(FORMATS[name].example)
    assert problems(path, name) == []
    # These look like documents, or like support-items.
    if name not in ("nugget-items", "rating-items", "sides-items", "beir-queries", "topics-json"):
        assert sniff(path) == (FORMATS[name].view_of or name)
    alike = "support-items" if name == "nugget-items" else name
    assert sniff(path, FORMATS[name].kind) in (alike, "jsonl")
    zipped = write(gzip.compress(FORMATS[name].example.encode()), "f.gz")
    assert problems(zipped, name) == []


BAD_BYTES = {
    "empty": (b"", "holds no"),
    "blank": (b"\n \n", ""),
    "nul": (b'{"id": "1", "text": "a\0b"}\n', "NUL byte"),
    "latin-1": ('{"id": "1", "text": "caf\u00e9"}\n'.encode("latin-1"), "UTF-8"),
    "truncated gzip": (gzip.compress(b'{"id": "1", "text": "a"}\n' * 999)[:-20], "cannot be read"),
    "deep": (b'{"id": "1", "text": "a", "x": ' + b"[" * 100_000 + b"]" * 100_000 + b"}\n", ""),
    "deep, but not too deep for the decoder": (
        b'{"id": "1", "text": "a", "x": ' + b"[" * 200 + b"]" * 200 + b"}\n",
        "",
    ),
    "open brackets": (b"[" * 100_000, ""),
    "nan": (b'{"id": "1", "text": NaN}\n', ""),
    "infinite": (b'{"id": "1", "text": "a", "x": 1e999}\n', ""),
    "half": (b'{"id": "1", "te', ""),
    "html": (b"<!DOCTYPE html><html><body>502 Bad Gateway</body></html>", ""),
    "random": (bytes(range(1, 256)) * 40, ""),
}

QUICK = ("empty", "nul", "latin-1", "deep, but not too deep for the decoder", "html")
"""Those of which the others are a kind."""


@pytest.mark.parametrize("name", FILE_FORMATS)
@pytest.mark.parametrize(
    "case",
    [c if c in QUICK else pytest.param(c, marks=pytest.mark.all) for c in BAD_BYTES],
)
def test_bad_bytes_are_one_line_of_input_error(name, case, write):
    content, expected = BAD_BYTES[case]
    path = write(content)
    found = problems(path, name)
    assert found
    assert all("\n" not in line and len(line) < 400 for line in found)
    if name in ("jsonl", "arguments", "beir"):
        assert any(expected in line for line in found)
    with pytest.raises(InputError):
        list(FORMATS[name].reader(path))
    with pytest.raises(InputError):
        list(FORMATS[name].reader(sniff(path) and path))


@pytest.fixture(scope="module")
def huge(tmp_path_factory):
    """Write a line of 17 million letters, once for each opening."""
    folder = tmp_path_factory.mktemp("huge")

    @functools.cache
    def write(opening: bytes) -> str:
        path = folder / str(len(list(folder.iterdir())))
        path.write_bytes(opening + b"x" * 17_000_000)
        return str(path)

    return write


_BEFORE_A_LONG_TEXT = {
    "argsme": b'{"arguments":[{"id":"',
    "touche-topics": b"<topics><topic><title>",
    "debatewise": b'[{"url":"',
    "procon": b'[{"url":"',
    "perspectrum": b'[{"pId":1,"text":"',
    "run-json": b'{"q":{"',
    "qrels-json": b'{"q":{"',
}


@pytest.mark.all
@pytest.mark.parametrize("name", FILE_FORMATS)
def test_a_huge_line_is_refused(name, huge):
    path = huge(_BEFORE_A_LONG_TEXT.get(name, b'{"id":"1","text":"'))
    assert "longer than 16 MB" in problems(path, name)[0]


def test_missing_files_and_folders_are_input_errors(tmp_path):
    for name in FILE_FORMATS:
        for path in (tmp_path / "none", tmp_path):
            assert problems(str(path), name)
    with pytest.raises(InputError, match="No such file"):
        list(read_evidence(str(tmp_path / "none")))
    with pytest.raises(InputError, match="holds no documents"):
        list(read_evidence(str(tmp_path)))


def test_every_fault_is_listed_and_reading_stops_at_the_first(write):
    path = write(
        b'{"id": "1", "text": "a"}\n'
        b'{"id": "1", "text": "b"}\n'
        b"\xff\n"
        b'{"id": "2"}\n'
        b"\n"
        b'{"id": "", "text": "a"}\n'
        b'{"id": "3", "text": ["a"]}\n'
        b"[1]\n"
        b'{"id": "4", "text": "good"}\n'
    )
    assert problems(path) == [
        ":2: duplicate id '1', first in line 1",
        ":3: found byte 0xff at column 1, expected UTF-8 "
        "(convert it, e.g. iconv -f latin1 -t utf-8)",
        ":4: no text or contents (fields found: none)",
        ":6: id is empty",
        ":7: text: found ['a'], expected text",
        ":8: found [1], expected a JSON object",
    ]
    reader = read_evidence(path)
    assert next(reader) == Document("1", "a")
    with pytest.raises(InputError, match=r":2: duplicate id '1', first in line 1"):
        next(reader)


def test_other_names_of_id_and_text_are_read_and_unknown_fields_kept(write):
    lines = (
        {"_id": "a", "contents": "A", "x": [1]},
        {"docid": 7, "text": "B", "docno": "z"},
        {"id": "c", "conclusion": "C", "premises": [{"text": "p", "stance": "CON", "n": 1}]},
    )
    first, second, third = read_evidence(write("\n".join(map(json.dumps, lines))), format="jsonl")
    assert first == Document("a", "A", extra={"x": [1]})
    assert second == Document("7", "B", extra={"docno": "z"})
    assert isinstance(third, Argument)
    assert third.premises[0].stance == "con"
    assert third.premises[0].extra == {"n": 1}


def test_csv_columns_quotes_and_lines(write):
    path = write('docno,body,lang\n1,"two\r\nlines, ""x""",en\n2,b,\n', "f.csv")
    columns = {"id": "docno", "text": "body"}
    first, second = read_evidence(path, columns=columns)
    assert first == Document("1", 'two\r\nlines, "x"', extra={"lang": "en"})
    assert second == Document("2", "b")
    assert problems(path) == [
        ":1: no column text (found: docno, body, lang); name it with --column text=NAME"
    ]
    with pytest.raises(InputError, match="no column 'nope'"):
        list(read_evidence(path, format="csv", columns={"id": "nope"}))


def test_rows_of_a_table_without_ids_are_numbered(write):
    path = write('text,lang\n"two\nlines",en\n\nb,\n', "f.csv")
    first, second = read_evidence(path)
    assert first == Document("1", "two\nlines", extra={"lang": "en"})
    assert second == Document("2", "b")
    path = write("text,id\na,x\nb,\n", "g.csv")  # there are ids, and one is missing
    assert problems(path) == [":3: no id or _id or docid (fields found: text)"]


def test_csv_faults_name_the_line_on_which_the_row_starts(write):
    path = write('id,text\n1,"a\nb"\n2,x,y\n1,again\n3,"never closed\n', "f.csv")
    assert problems(path) == [
        ":4: found 3 columns, expected 2 as in the header",
        ":5: duplicate id '1', first in line 2",
        ":6: not valid CSV (unexpected end of data)",
    ]


def test_argsme_faults_name_the_line_or_the_argument(write):
    good = '{"id":"1","conclusion":"c","premises":[{"text":"t","stance":"PRO"}]}'
    path = write('{"arguments":[\n' + good + ",\n" + good + ',\n{"id":"2"},\n{"id" "x"}\n]}')
    assert problems(path) == [
        ": argument 2: duplicate id '1', first in argument 1",
        ": argument 3: no premises",
        ":5: not valid JSON (parse error: object key and value must be separated by a colon (':'))",
    ]
    assert problems(write('{"arguments":[' + good), "argsme") == [
        ": the JSON ends too early (parse error: premature EOF)"
    ]
    assert problems(write('{"things":[]}'), "argsme")[0].endswith('a list "arguments" at the top')


def test_argsme_through_arguments_and_back_loses_nothing(write, tmp_path):
    whole = {
        "id": "c-0",
        "conclusion": "Tea is healthy",
        "premises": [
            {"text": "It is.", "stance": "PRO", "annotations": [{"start": 0, "end": 2}]},
            {"text": "It isn't.", "stance": "CON", "annotations": []},
        ],
        "context": {
            "sourceId": "c",
            "sourceDomain": "debate.org",
            "sourceUrl": "http://x",
            "y": 1.5,
        },
    }
    records = list(read_evidence(write(json.dumps({"arguments": [whole]}))))
    assert (records[0].source, records[0].url, records[0].stance) == (
        "debate.org",
        "http://x",
        None,
    )
    lines = io.StringIO()
    FORMATS["arguments"].writer(lines, records)
    again = list(read_evidence(write(lines.getvalue())))
    out = io.StringIO()
    FORMATS["argsme"].writer(out, again)
    assert json.loads(out.getvalue()) == {"arguments": [whole]}


@pytest.mark.all
def test_streams_do_not_hold_the_file(write):
    line = json.dumps({"id": "%d", "text": "x" * 2000}) + "\n"
    path = write("".join(line.replace("%d", str(i)) for i in range(5_000)))  # 10 MB
    row = '{"id":"%d","conclusion":"c","premises":[{"text":"' + "x" * 2000 + '"}]}'
    whole = ",".join(row.replace("%d", str(i)) for i in range(2_500))
    args = write('{"arguments":[' + whole + "]}", "args.json")  # one line of 5 MB
    for source, count in ((path, 5_000), (args, 2_500)):
        tracemalloc.start()
        assert sum(1 for _ in read_evidence(source)) == count
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < 3e6


def test_folder_of_text_and_web_pages(tmp_path):
    (tmp_path / "sub").mkdir()
    (tmp_path / "b.txt").write_text("Plain text.\n")
    (tmp_path / "empty.txt").write_text(" ")
    (tmp_path / "broken.docx").write_text("x")
    paragraph = "<p>Tea holds antioxidants, which are said to be good for people's health.</p>"
    page = f"<html><head><title>Tea</title></head><body><nav>Home</nav><article>{paragraph * 3}"
    (tmp_path / "sub" / "a.html").write_text(page + "<script>alert(1)</script></article></body>")
    warnings: list[str] = []
    found = list(read_evidence(str(tmp_path), on_warning=warnings.append))
    assert [d.id for d in found] == ["b.txt", "sub/a.html"]
    assert found[0].text == "Plain text."
    assert "antioxidants" in found[1].text
    assert "alert" not in found[1].text
    assert found[1].title == "Tea"
    assert warnings == [
        f"{tmp_path}: 4 files: 2 read, 1 without text (empty.txt), "
        "1 unreadable (broken.docx: is not Word)"
    ]


def pdf_bytes(text: str) -> bytes:
    stream = f"BT /F1 24 Tf 72 700 Td ({text}) Tj ET".encode()
    objects = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Contents 4 0 R"
        b"/Resources<</Font<</F1 5 0 R>>>>>>",
        b"<</Length %d>>stream\n%s\nendstream" % (len(stream), stream),
        b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
    ]
    out, offsets = b"%PDF-1.4\n", []
    for number, body in enumerate(objects, start=1):
        offsets.append(len(out))
        out += b"%d 0 obj%s endobj\n" % (number, body)
    xref = b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    trailer = b"trailer<</Size 6/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF\n" % len(out)
    return out + b"xref\n0 6\n0000000000 65535 f \n" + xref + trailer


def test_pdf_text_scans_and_damage(tmp_path, write):
    assert (
        next(read_evidence(write(pdf_bytes("Tea is healthy."), "a.pdf"))).text == "Tea is healthy."
    )
    warnings: list[str] = []
    with pytest.raises(InputError, match="holds no documents"):
        list(read_evidence(write(pdf_bytes(""), "b.pdf"), on_warning=warnings.append))
    assert len(warnings) == 1
    with pytest.raises(InputError, match="cannot be read as PDF"):
        list(read_evidence(write(b"%PDF-1.4 nonsense", "c.pdf")))


def test_a_missing_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "ir_datasets", None)
    with pytest.raises(MissingExtra, match=r"pip install 'pnyx\[datasets\]'"):
        list(read_evidence("ir_datasets:x"))


def test_ir_datasets_documents_and_arguments(write):
    ir_datasets = pytest.importorskip("ir_datasets", reason="extra `datasets` is not installed")
    from ir_datasets.formats import ArgsMeDocs, TsvDocs
    from ir_datasets.util import LocalDownload

    tsv = LocalDownload(Path(write("d1\tTea is healthy.\nd2\tTea is not.\n", "d.tsv")))
    ir_datasets.registry.register("pnyx-tsv", ir_datasets.Dataset(TsvDocs(tsv, namespace="x")))
    assert [d.text for d in read_evidence("ir_datasets:pnyx-tsv")][1] == "Tea is not."
    context = {
        "sourceId": "c",
        "sourceTitle": "T",
        "discussionTitle": "D",
        "acquisitionTime": "2019-04-18T13:32:05Z",
    }
    row = {"id": "a", "conclusion": "c", "premises": [{"text": "t", "stance": "CON"}]}
    argsme = write(json.dumps({"arguments": [{**row, "context": context}]}), "a.json")
    docs = ArgsMeDocs(LocalDownload(Path(argsme)))
    ir_datasets.registry.register("pnyx-argsme", ir_datasets.Dataset(docs))
    (argument,) = read_evidence("ir_datasets:pnyx-argsme")
    assert argument.stance == "con"
    with pytest.raises(InputError, match="no such dataset"):
        list(read_evidence("ir_datasets:pnyx-none"))


def test_run_and_qrels_values(write):
    path = write(
        "1 Q0 d1 1 2.5 t\n1 Q0 d2 2 nan t\n1 Q0 d1 3 1 t\n1 Q0 d3 x 1 t\n1 Q0 d4 4 1e999 t\n"
    )
    assert problems(path, "run") == [
        ":2: score: found 'nan', expected a finite number",
        ":3: duplicate topic and document '1 d1', first in line 1",
        ":4: rank: found 'x', expected an integer",
        ":5: score: found '1e999', expected a finite number",
    ]
    with pytest.raises(InputError):
        list(read_run(path))
    qrels = list(read_qrels(write("1 0 d1 4.0\n1 3 d1 -2\n")))
    assert [(q.subtopic, q.grade) for q in qrels] == [("0", 4), ("3", -2)]
    assert problems(write("1 0 d1 1.5\n"), "qrels") == [
        ":1: grade: found '1.5', expected an integer"
    ]
    assert next(read_qrels(write("query-id\tcorpus-id\tscore\nq 1\td 1\t1\n"))).doc_id == "d 1"


def test_question_dialects(write):
    rows = (
        {"request_id": "1", "title": "T", "problem_statement": "P", "background": "B", "limit": 5},
        {"narrative_id": 2, "narrative": "N"},
        {"qid": "3", "query": "Q"},
        {"_id": "4", "text": "X", "metadata": {}},
    )
    found = list(read_questions(write("\n".join(map(json.dumps, rows))), "questions"))
    assert [(q.id, q.text) for q in found] == [("1", "T"), ("2", "N"), ("3", "Q"), ("4", "X")]
    assert (found[0].description, found[0].narrative, found[0].extra) == ("P", "B", {"limit": 5})


def test_topics_xml_expands_nothing(write):
    bomb = '<!DOCTYPE t [<!ENTITY a "aaaa">]>\n<topics><topic><title>&a;</title></topic></topics>'
    assert problems(write(bomb), "touche-topics")[0].endswith(
        "found a document type, expected plain <topics>"
    )
    assert problems(write("<topics>\n<topic><number>1</number></topic></topics>")) == [
        ":2: topic without <title>"
    ]


RESPONSE_FAULTS = [
    ({"references": ["d"], "answer": [{"text": "a", "citations": [1]}]}, "index 1 with 1 ref"),
    ({"references": ["d"], "answer": [{"text": "a", "citations": [-1]}]}, "index -1 with"),
    ({"references": ["d"], "answer": [{"text": "a", "citations": ["e"]}]}, "not in references"),
    ({"references": [1], "answer": []}, "expected text"),
    ({"answer": []}, "no references"),
    ({"references": [], "answer": "text"}, "expected a list of sentences"),
    ({"references": [], "answer": [5]}, "expected an object"),
    ({"references": [], "answer": [{"citations": []}]}, "text: found None"),
    ({"references": ["d"], "answer": [{"text": "a", "citations": [0, "d"]}]}, "only ids or only"),
    ({"references": ["d"], "answer": [{"text": "a", "citations": [True]}]}, "only ids or only"),
    ({"references": ["d"], "answer": [{"text": "a", "citations": {"d": "x"}}]}, "finite number"),
    ({"references": [], "answer": [{"text": "a b"}], "response_length": 3}, "has 2 words"),
    ({"references": [], "body": []}, 'expected either "answer" or "responses"'),
    ({"references": [], "answer": [], "documents": {"d": {"id": "e"}}}, "its id is 'e'"),
]


@pytest.mark.parametrize(("fields", "problem"), RESPONSE_FAULTS)
def test_response_faults(fields, problem, write):
    path = write(json.dumps({"run_id": "r", "topic_id": "1", **fields}))
    assert len(problems(path, "rag24")) == 1
    assert problem in problems(path, "rag24")[0]


def test_all_citation_styles_are_read_as_ids(write):
    head = {"metadata": {"run_id": "r", "team_id": "t"}, "references": ["a", "b"]}
    lines = []
    for topic, citations in enumerate((["b"], [1], {"b": 0.5})):
        metadata = {**head["metadata"], "topic_id": str(topic), "kept": 1}
        answer = [{"text": "s", "citations": citations, "eval": 2}]
        lines.append(json.dumps({**head, "metadata": metadata, "answer": answer, "own": 3}))
    found = list(read_responses(write("\n".join(lines))))
    assert [r.sentences[0].citations[0] for r in found] == [
        Citation("b"),
        Citation("b"),
        Citation("b", 0.5),
    ]
    assert found[0].metadata == {"kept": 1}
    assert found[0].sentences[0].extra == {"eval": 2}
    assert found[0].extra == {"own": 3}


def test_both_sides_of_a_question_may_stand_in_one_file(write):
    lines = [
        {"metadata": {"run_id": "r", "topic_id": "1", "stance": s}, "references": [], "answer": []}
        for s in ("pro", "con", "pro")
    ]
    path = write("\n".join(map(json.dumps, lines)))
    assert problems(path) == [":3: duplicate run and topic 'r 1 pro', first in line 1"]


ITEM_FAULTS = [
    ("support-items", {"id": "1", "text": "t"}, "no statement"),
    ("support-items", {"id": "1", "text": "t", "statement": " "}, "statement is empty"),
    ("relevance-items", {"id": "1", "question": "q", "document": 5}, "expected text"),
    ("relevance-items", {"id": "1", "question": "q", "document": "d", "stance": "x"}, "stance"),
    ("rating-items", {"id": "1", "text": "t", "documents": "d"}, "expected a list"),
    ("preference-items", {"id": "1", "a": "x", "b": "y"}, "no question"),
    ("answers", {"id": "1", "task": "t", "value": None, "unscored": None, "judge": "j"}, "reason"),
    ("answers", {"id": "1", "task": "t", "value": True, "unscored": "x", "judge": "j"}, "both"),
    (
        "answers",
        {"id": "1", "task": "t", "value": 1, "unscored": None, "judge": "j", "probability": 2},
        "0 to 1",
    ),
    ("labels", {"id": "1", "value": None}, "value: found None"),
    ("labels", {"id": "1", "value": {"a": 1}}, "expected true, false"),
    ("labels", {"id": "1", "value": 1, "gain": "x"}, "finite number"),
]


@pytest.mark.parametrize(("name", "row", "problem"), ITEM_FAULTS)
def test_item_faults(name, row, problem, write):
    (found,) = problems(write(json.dumps(row)), name)
    assert problem in found


def test_labels_repeat_only_for_other_annotators_or_dimensions(write):
    rows = [
        {"id": 1, "value": 1, "annotator": "a", "kept": [1]},
        {"id": 1, "value": 2, "annotator": "b"},
        {"id": 1, "value": 2, "annotator": "b", "dimension": "clarity"},
        {"id": "1", "value": 3, "annotator": "a"},
    ]
    path = write("\n".join(map(json.dumps, rows)))
    assert len(problems(path, "labels")) == 1
    found = read_items(path, "labels")
    assert next(found) == (1, {"id": "1", "value": 1, "annotator": "a", "kept": [1]})


@pytest.mark.parametrize("space", ["\u2028", "\u00a0", "\x1c", "\x85", "\u3000"])
def test_white_space_of_unicode_is_part_of_an_id_whoever_looks(write, space):
    name = f"{space}d{space}1{space}"
    for text, kind, read in (
        (f"q1 0 {name} 1\n", "qrels", read_qrels),
        (f"{name} Q0 {name} 1 0.5 tag\n", "run", read_run),
    ):
        path = write(text)
        assert sniff(path) == kind
        assert next(iter(read(path))).doc_id == name


@pytest.mark.all
@needs_data
@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("debatewise", "perspectrum/debatewise_raw.json"),
        ("procon", "perspectrum/procon_raw.json"),
        ("idebate", "arguana_counterargs/arguments.jsonl.gz"),
    ],
)
def test_published_dumps(name, file):
    path = DATA / file
    assert sniff(str(path)) == name
    found = list(read_evidence(str(path)))
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", encoding="utf-8") as stream:
        if name == "idebate":
            expected = [json.loads(line) for line in stream]
            words = sum(len((r["conclusion"] + " " + r["premise"]).split()) for r in expected)
        else:
            points = [
                p
                for debate in json.load(stream)
                for side in ("for", "against")
                for p in debate[f"perspectives_{side}"]
            ]
            expected = points
            words = sum(
                len(" ".join([p["perspective_title"], *p["argument"]["description"]]).split())
                for p in points
            )
    assert len(found) == len(expected)
    assert all(a.stance in ("pro", "con") and a.topic and a.text for a in found)
    kept = sum(len(" ".join([a.conclusion, *(p.text for p in a.premises)]).split()) for a in found)
    assert kept == pytest.approx(words, rel=0.01)  # commas after a link lose their space


def test_the_documentation_shows_every_format_with_its_example():
    folder = Path(__file__).parents[1] / "docs" / "reference" / "formats"
    page = "\n".join(path.read_text() for path in folder.glob("*.md"))
    for name, found in FORMATS.items():
        assert f"## `{name}`" in page
        assert f"```\n{found.example.rstrip()}\n```" in page


def test_a_number_of_thousands_of_digits_hides_no_key() -> None:
    for _ in range(50):
        head = b'{"id":' + b"9" * 6000 + b',"text":"x"}'
        assert top_level_keys(head) == ("{", ["id", "text"])
