"""ConQRet's files: a miniature of our own, and the published ones where they are at hand."""

from __future__ import annotations

import io
import json
import os
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pnyx.core.errors import InputError
from pnyx.core.records import Debate, DebatePoint, Qrel, Question, Source
from pnyx.formats import (
    FORMATS,
    debate_arguments,
    faults,
    read_conqret,
    read_debates,
    read_evidence,
    read_qrels,
    read_questions,
    sniff,
)
from pnyx.formats.conqret import splits_of, topic_qrels
from tries import tries

DATA = Path(os.environ.get("PNYX_DATA", Path(__file__).parents[2] / "shared" / "data")) / "conqret"
needs_data = pytest.mark.skipif(
    not (DATA / "train_qrels.csv").is_file(), reason=f"ConQRet's files are not in {DATA}"
)

PAGE = {
    "title": "Should Dogs Be Allowed in Libraries?",
    "introduction": ["Libraries differ."],
    "pros": [
        {"title": "Dogs calm readers", "paragraphs": ["Pulse falls. [1][2]", "So it was."],
         "citations": [["1", "2"], []]},
    ],
    "cons": [{"title": "Allergies", "paragraphs": ["Hair stays. [2]"], "citations": [["2"]]}],
    "sources": [
        {"id": "1", "title": "A. Vet, Pulse, vet.example", "url": None, "docid": 11},
        {"id": "2", "title": "B. Nose, Hair", "url": "https://nose.example/hair", "docid": 12},
        {"id": "", "title": "3. C. Clean, Dust, dust.example", "docid": 13},
    ],
    "url": "https://dogs.example/library-dogs/",
}  # fmt: skip
BARE = {
    "title": "Tea – Top 3 Pros and Cons", "introduction": [], "pros": [], "cons": [],
    "sources": [{"id": "1", "title": "D. Leaf, Tea", "url": None, "docid": 21}],
    "url": "https://tea.example",
}  # fmt: skip
QRELS = (
    "qid,docno,label,stance\n1,11,1,pro\n1,12,1,pro\n1,12,1,con\n1,21,0,\n1,21,0,\n"
    "2,21,1,pro\n2,11,0,\n"
)
QUERIES = "qid,query\n1,Should Dogs Be Allowed in Libraries\n2,Is Tea Healthy\n3,Is Rain Wet\n"


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "train_qrels.csv").write_text(QRELS)
    (tmp_path / "train_queries.csv").write_text(QUERIES)
    lines = "".join(json.dumps(page) + "\n" for page in (PAGE, BARE))
    (tmp_path / "procon_train_public.jsonl").write_text(lines)
    return tmp_path


def test_the_miniature_as_other_formats(folder, call):
    code, out, err = call(
        "files", "convert", folder / "train_qrels.csv", "--to", "qrels", "-o", "-"
    )
    assert (code, err) == (0, "pnyx: warning: 1 row that repeats another was left out\n")
    assert out == "1 pro 11 1\n1 pro 12 1\n1 con 12 1\n1 0 21 0\n2 pro 21 1\n2 0 11 0\n"
    assert call("files", "convert", folder / "train_queries.csv", "--to", "topics-tsv", "-o", "-")[
        1
    ] == ("1\tShould Dogs Be Allowed in Libraries\n2\tIs Tea Healthy\n3\tIs Rain Wet\n")
    pages = folder / "procon_train_public.jsonl"
    code, out, _ = call("files", "convert", pages, "--to", "arguments", "-o", "-")
    rows = [json.loads(line) for line in out.splitlines()]
    assert [row["id"] for row in rows] == ["library-dogs-pro-1", "library-dogs-con-1"]
    assert rows[0]["premises"] == ["Pulse falls. [1][2]", "So it was."]
    assert rows[0]["documents"] == ["11", "12"]
    assert (rows[1]["stance"], rows[1]["topic"]) == ("con", PAGE["title"])
    code, out, _ = call(
        "files", "convert", pages, "--format", "debate-sources", "--to", "jsonl", "-o", "-"
    )
    found = [json.loads(line) for line in out.splitlines()]
    assert [row["id"] for row in found] == ["11", "12", "13", "21"]
    assert found[2]["text"] == "C. Clean, Dust, dust.example"
    code, out, _ = call("files", "convert", pages, "--to", "questions", "-o", "-")
    assert json.loads(out.splitlines()[1]) == {"id": "tea", "text": "Tea – Top 3 Pros and Cons"}
    assert call("files", "convert", pages, "--to", "qrels", "-o", "-")[0] == 2


def test_a_page_is_also_one_document_over_many_lines(tmp_path):
    path = tmp_path / "page.json"
    path.write_text(json.dumps(PAGE, indent=4))
    assert sniff(str(path)) == "debates"
    (found,) = read_debates(str(path))
    assert found.pros[0].cited == ("1", "2")
    assert [a.stance for a in debate_arguments(found)] == ["pro", "con"]
    path.write_text(json.dumps(PAGE, indent=4).replace('"cons": [', '"cons": [,'))
    (fault,) = faults(str(path), "debates")
    line = path.read_text().splitlines().index('    "cons": [,') + 1
    assert str(fault).startswith(f"{path}:{line}: not valid JSON")


def test_evidence_is_arguments_where_there_are_any_else_sources(tmp_path):
    path = tmp_path / "pages"
    path.write_text(json.dumps(PAGE) + "\n")
    assert [r.id for r in read_evidence(str(path))] == ["library-dogs-pro-1", "library-dogs-con-1"]
    path.write_text(json.dumps(BARE) + "\n")
    assert [r.id for r in read_evidence(str(path))] == ["21"]


def test_the_reader_joins_queries_pairs_and_pages(folder):
    dogs, tea, rain = read_conqret(folder)
    assert dogs.relevant == {"pro": ("11", "12"), "con": ("12",)}
    assert dogs.irrelevant == ("21",)
    assert dogs.debate.url == PAGE["url"]  # by what it cites
    assert (tea.debate.id, rain.debate, rain.judged) == ("tea", None, False)
    (folder / "titles2.json").write_text('{"https://tea.example/": {"titles": [], "qid": 3}}')
    assert read_conqret(folder)[2].debate.id == "tea"


def test_pairs_without_a_side_are_of_both_and_pages_are_joined_by_id_first(folder):
    (folder / "test_queries.csv").write_text("qid,query\n1,Q\ntea,T\n5,F\n")
    (folder / "test_qrels.csv").write_text(
        "qid,docno,label,stance\n1,11,1,\n1,21,1,pro\n1,12,1,con\ntea,11,1,pro\n5,99,1,pro\n"
    )
    pages = "".join(json.dumps(page) + "\n" for page in (PAGE, BARE))
    (folder / "test_pages.jsonl").write_text(pages)
    assert splits_of(folder) == ("train", "test")
    first, tea, other = read_conqret(folder, "test")
    assert first.relevant == {"pro": ("11", "21"), "con": ("11", "12")}
    assert first.debate.id == "library-dogs"  # which it cites three times, and the other once
    assert tea.debate.id == "tea"  # by its id, whatever it cites
    assert (other.debate, other.judged) == (None, True)
    assert [(q.doc_id, q.grade, q.subtopic) for q in topic_qrels([first])] == [
        ("11", 1, "pro"), ("21", 1, "pro"), ("11", 1, "con"), ("12", 1, "con"),
    ]  # fmt: skip
    dogs = read_conqret(folder)[0]
    assert [(q.doc_id, q.grade, q.subtopic) for q in topic_qrels([dogs])][-1] == ("21", 0, "0")
    (folder / "train_queries.csv").unlink()
    assert splits_of(folder) == ("test",)
    with pytest.raises(
        InputError, match=r"is not a ConQRet folder, expected train_queries\.csv or"
    ):
        splits_of(folder.parent)


def test_pairs_that_are_repeated_are_counted(folder, call):
    (folder / "train_qrels.csv").write_text(QRELS + "2,11,0,\n")
    arguments = ("files", "convert", folder / "train_qrels.csv", "--to", "qrels", "-o", "-")
    assert call(*arguments)[2] == "pnyx: warning: 2 rows that repeat others were left out\n"


@pytest.mark.parametrize(
    ("name", "content", "fault"),
    [
        ("train_qrels.csv", "qid,docno,label\n", ":1: found 'qid,docno,label', expected the h"),
        ("train_qrels.csv", QRELS + "1,99,2,pro\n", ":9: label: found '2', expected 0 or 1"),
        ("train_qrels.csv", QRELS + "1,99,1,both\n", ":9: stance: found 'both', expected pro,"),
        ("train_qrels.csv", QRELS + "1,11,0,pro\n", ":9: duplicate qid, docno and stance '1 11"),
        ("train_qrels.csv", QRELS + "9,11,0,\n", ": qid '9' is not in train_queries.csv"),
        ("train_queries.csv", "qid,query\n1,\n", ":2: query is empty"),
        ("titles2.json", "[1]", ": expected an object: address -> titles and qid"),
        ("procon_train_public.jsonl", '{"title": "a", "pros": [{}]}\n', ":1: pros[0]: no title"),
    ],
)
def test_broken_files_are_one_line(folder, name, content, fault):
    (folder / name).write_text(content)
    with pytest.raises(InputError) as caught:
        read_conqret(folder)
    assert str(caught.value).startswith(str(folder / name) + fault)


def test_what_citations_count(tmp_path):
    point = {"title": "a", "paragraphs": ["x", "y"], "citations": [["1"]]}
    path = tmp_path / "f"
    path.write_text(json.dumps({**PAGE, "pros": [point]}) + "\n")
    (fault,) = faults(str(path), "debates")
    expected = ":1: pros[0]: citations: found 1 lists, expected one for each of 2 paragraphs"
    assert str(fault) == f"{path}{expected}"


words = st.text(st.characters(categories=["L", "Nd", "P", "Zs"]), max_size=9).map(str.strip)
filled = words.filter(bool)
points = st.builds(
    lambda title, both: DebatePoint(title, tuple(t for t, _ in both), tuple(c for _, c in both)),
    filled,
    st.lists(st.tuples(words, st.lists(filled, max_size=2).map(tuple)), max_size=2),
)
sources = st.builds(Source, id=words, title=words, url=words, doc_id=words | st.just("7"))
debates = st.builds(
    Debate, id=filled, title=filled, question=words,
    introduction=st.lists(words, max_size=2).map(tuple),
    pros=st.lists(points, max_size=2).map(tuple), cons=st.lists(points, max_size=2).map(tuple),
    sources=st.lists(sources, max_size=2).map(tuple), url=words,
)  # fmt: skip
quick = settings(max_examples=tries(40), deadline=None, suppress_health_check=list(HealthCheck))


@quick
@given(records=st.lists(debates, min_size=1, max_size=3, unique_by=lambda d: d.id))
def test_debates_there_and_back(records, tmp_path):
    check("debates", records, tmp_path / "f")


@quick
@given(
    records=st.lists(
        st.builds(
            Qrel, filled, filled, st.sampled_from([0, 1]), st.sampled_from(["0", "pro", "con"])
        ),
        min_size=1,
        max_size=4,
        unique_by=lambda q: (q.topic_id, q.doc_id, q.subtopic),
    )
)
def test_qrels_there_and_back(records, tmp_path):
    check("conqret-qrels", records, tmp_path / "f")


@quick
@given(
    records=st.lists(
        st.builds(Question, filled, filled), min_size=1, max_size=4, unique_by=lambda q: q.id
    )
)
def test_queries_there_and_back(records, tmp_path):
    check("conqret-queries", records, tmp_path / "f")


def check(name, records, path):
    stream = io.StringIO()
    FORMATS[name].writer(stream, records)
    path.write_text(stream.getvalue(), encoding="utf-8", newline="")
    assert list(FORMATS[name].reader(str(path))) == records


@pytest.mark.parametrize(
    ("name", "record"),
    [
        ("conqret-qrels", Qrel("1", "2", 2, "pro")),
        ("conqret-qrels", Qrel("1", "2", 1, "7")),
        ("conqret-qrels", Qrel("1", "", 1, "pro")),
        ("conqret-queries", Question("1", "a", description="b")),
        ("conqret-queries", Question("1", " ")),
        ("debates", Debate("1", "a", extra={"pros": 1})),
    ],
)
def test_what_a_format_cannot_hold_is_refused(name, record):
    with pytest.raises(InputError):
        FORMATS[name].writer(io.StringIO(), [record])


# The published files ------------------------------------------------------------------------------


@needs_data
def test_the_published_train_split():
    """Counts as in the files; pairs are 17 for each stance and topic, 34 relevant (Table 2)."""
    topics = read_conqret(DATA)
    judged = [t for t in topics if t.judged]
    assert (len(topics), len(judged)) == (68, 60)
    assert sum(len(t.relevant["pro"]) for t in judged) == 1038
    assert sum(len(t.relevant["con"]) for t in judged) == 1021
    assert sum(len(t.irrelevant) for t in judged) == 2059 - 13  # 13 were drawn twice
    assert all(t.debate is not None for t in topics)
    cited = [{s.doc_id for s in t.debate.sources} for t in judged]
    assert all(
        set(t.relevant["pro"] + t.relevant["con"]) <= docs
        for t, docs in zip(judged, cited, strict=True)
    )
    assert not any(set(t.irrelevant) & docs for t, docs in zip(judged, cited, strict=True))


@pytest.mark.all
@needs_data
def test_the_published_files_there_and_back(tmp_path):
    rows = list(read_qrels(str(DATA / "train_qrels.csv")))
    check("conqret-qrels", rows, tmp_path / "f")
    check("qrels", rows, tmp_path / "f")
    assert Counter((q.grade, q.subtopic) for q in rows) == {
        (1, "pro"): 1038, (1, "con"): 1021, (0, "0"): 2046,
    }  # fmt: skip
    check("conqret-queries", list(read_questions(str(DATA / "train_queries.csv"))), tmp_path / "f")
    check("debates", list(read_debates(str(DATA / "procon_train_public.jsonl"))), tmp_path / "f")
    with pytest.warns(UserWarning, match="1 source has no title and was left out: 6650"):
        titled = [d.id for d in read_evidence(str(DATA / "procon_train_public.jsonl"))]
    assert len(titled) == 4937
