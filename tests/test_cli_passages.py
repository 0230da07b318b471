"""Passages of long documents: indexed, shown, ranked and served with their documents."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from starlette.testclient import TestClient

import pnyx
from asking_fixture import service_of
from case_fixture import argued, build_case, yes
from command import printed, refuser
from opensearch_fixture import cluster, lacking
from pnyx.cases.page.markdown import render_markdown
from pnyx.cases.page.report import render_html
from pnyx.core.errors import InputError
from pnyx.core.files import write_jsonl
from pnyx.core.records import Document, Passage
from pnyx.judging.documents import find_document, passages_of_document
from pnyx.models.embed.embedder import cut_line
from pnyx.search.build import build_index
from pnyx.search.engine import Hit
from pnyx.search.features.vectors import embed_documents
from pnyx.search.index import Index
from pnyx.search.lexical.manifest import read_manifest
from pnyx.search.lexical.record_codec import from_row, to_row
from pnyx.search.open_engine import open_index, verify_index
from pnyx.search.split_documents import DocumentRanking
from pnyx.web.ask import document_content
from pnyx.web.ask.application import build_asking
from pnyx.web.ask.document_content import _window

refused = refuser()
FILLER = " ".join(f"The council met on day {n} of the month and took note." for n in range(11))
MINUTES = f"""# Minutes

## Opening

{FILLER}

{FILLER.replace("day", "night")}

## For a limit

Rent control keeps tenants in their homes, said the tenants' union.

## Against a limit

Rent control makes landlords sell, said the owners. Rent control is a mistake.
"""
NOTES = "Rent control was discussed again, briefly. Nothing was decided about it."
QUESTION = "Is rent control good?"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("passages") / "files"
    made.mkdir()
    (made / "Minutes 2024-03-12.md").write_text(MINUTES)
    (made / "notes.txt").write_text(NOTES)
    (made / "chat.txt").write_text("Ann: Rent control? Yes!\n\nBob: No.\n\nAnn: Why not?\n")
    return made


@pytest.fixture(scope="module")
def index(folder, tmp_path_factory):
    made = tmp_path_factory.mktemp("index") / "i"
    build_index(str(folder), made)
    return made


@pytest.fixture(scope="module")
def topics(tmp_path_factory):
    made = tmp_path_factory.mktemp("topics") / "topics.tsv"
    made.write_text(f"1\t{QUESTION}\n2\tWho met on day 3 of the month?\n")
    return made


def long_documents(tmp_path):
    rows = [
        {"id": "long", "text": f"{FILLER}\n\n{FILLER.replace('day', 'night')}"},
        {"id": "short", "text": "Rent control."},
    ]
    write_jsonl(tmp_path / "docs.jsonl", rows)
    return tmp_path / "docs.jsonl"


# Indexing ----------------------------------------------------------------------------------------


def test_files_of_a_folder_are_split(folder, tmp_path, capsys):
    shown = printed(capsys, "index", folder, "--out", tmp_path / "i", "--words-only")
    ids = [one.id for one in Index.open(tmp_path / "i").documents()]
    assert ids == [
        *(f"Minutes 2024-03-12.md#{n}" for n in range(1, 5)),
        *(f"chat.txt#{n}" for n in range(1, 4)),
        "notes.txt",
    ]
    assert ": 3 documents in 8 passages, " in shown.err
    index = Index.open(tmp_path / "i")
    assert (index.statistics.passages, index.statistics.split_documents) == (7, 2)
    assert index.feature_info("passages").documents == 7
    verify_index(tmp_path / "i")


def test_unit_document_indexes_whole_files(folder, tmp_path, capsys):
    shown = printed(
        capsys, "index", folder, "--out", tmp_path / "i", "--words-only", "--unit", "document"
    )
    index = Index.open(tmp_path / "i")
    assert [one.id for one in index.documents()] == [
        "Minutes 2024-03-12.md", "chat.txt", "notes.txt",
    ]  # fmt: skip
    assert ": 3 documents, " in shown.err
    assert index.feature_info("passages") is None
    assert "passages" not in read_manifest(tmp_path / "i")["statistics"]


def test_a_collection_is_left_whole_and_said_to_be_long(tmp_path, capsys):
    source = long_documents(tmp_path)
    shown = printed(capsys, "index", source, "--out", tmp_path / "i", "--words-only")
    assert (
        "pnyx: 1 document is longer than 180 words; --unit passage splits such documents\n"
    ) in shown.err
    assert len(Index.open(tmp_path / "i")) == 2
    shown = printed(capsys, "index", source, "--out", tmp_path / "j", "--words-only", "--unit",
                    "passage")  # fmt: skip
    assert "longer than" not in shown.err
    assert [d.id for d in Index.open(tmp_path / "j").documents()] == ["long#1", "long#2", "short"]
    shown = printed(capsys, "index", source, "--out", tmp_path / "k", "--words-only", "--unit",
                    "document")  # fmt: skip
    assert "longer than" not in shown.err


def test_the_unit_is_kept_when_an_index_is_refreshed(folder, tmp_path, capsys):
    files = tmp_path / "files"
    files.mkdir()
    (files / "a.md").write_text(MINUTES)
    out = tmp_path / "i"
    printed(capsys, "index", files, "--out", out, "--words-only", "--unit", "document")
    (files / "b.md").write_text(MINUTES)
    printed(capsys, "index", files, "--add", out, "--words-only")
    assert [d.id for d in Index.open(out).documents()] == ["a.md", "b.md"]
    problem = refused(capsys, "index", files, "--add", out, "--unit", "passage")
    assert "a refresh keeps --format, --column and --unit" in problem
    problem = refused(capsys, "index", "--update", out, "--unit", "passage")
    assert "--unit requires --out or --add" in problem
    # Of a folder that was split, each file's passages follow each other, and change together.
    again = tmp_path / "j"
    printed(capsys, "index", files, "--out", again, "--words-only")
    (files / "a.md").write_text("Short.")
    printed(capsys, "index", files, "--add", again, "--words-only")
    assert [d.id for d in Index.open(again).documents()] == [
        *(f"b.md#{n}" for n in range(1, 5)), "a.md",
    ]  # fmt: skip
    assert Index.open(again).statistics.split_documents == 1


def test_texts_that_the_encoder_does_not_read_to_the_end_are_said(folder, tmp_path, capsys):
    source = long_documents(tmp_path)
    shown = printed(capsys, "index", source, "--out", tmp_path / "i")
    assert (
        "pnyx: 1 text is longer than the 256 tokens that the encoder reads: its end is found by "
        "words, not by meaning\n"
    ) in shown.err
    shown = printed(capsys, "index", source, "--out", tmp_path / "j", "--unit", "passage")
    assert "tokens that" not in shown.err
    done = embed_documents(tmp_path / "j")
    assert (done.cut, done.reused) == (0, 3)
    assert cut_line(2, 256) == (
        "2 texts are longer than the 256 tokens that the encoder reads: their ends are found by "
        "words, not by meaning"
    )
    assert cut_line(0, 256) == cut_line(None, None) == ""


def test_an_embedder_that_cannot_say_what_it_cuts_says_nothing(index, tmp_path):
    class Plain:
        name, dimensions = "plain", 2

        def encode(self, texts):
            return np.tile(np.array([[1.0, 0.0]], dtype=np.float32), (len(texts), 1))

    build_index([{"text": "One."}], tmp_path / "i")
    done = embed_documents(tmp_path / "i", Plain())
    assert (done.embedded, done.cut, done.max_tokens) == (1, None, None)


# Records -----------------------------------------------------------------------------------------


def test_a_passage_is_stored_as_it_is():
    for passage in (Passage("d"), Passage("d", 3, 9, "For › Costs", "Ann"), None):
        record = Document("d#3", "Text.", passage=passage)
        assert from_row(to_row(record)) == record
    for row in ({"document": 1}, {"document": "d", "number": True}, {"document": "d", "x": 1}):
        with pytest.raises((TypeError, KeyError)):
            from_row({"kind": "document", "id": "d", "text": "", "passage": row})


# Searching ---------------------------------------------------------------------------------------


def test_a_hit_shows_its_passage_and_its_document(index, capsys):
    shown = printed(capsys, "search", index, "owners say rent control is a mistake", "-k", 1)
    assert "Minutes 2024-03-12.md#4  passage 4 of 4, under “Against a limit”\n" in shown.out
    shown = printed(capsys, "search", index, "owners mistake", "-k", 1, "--json")
    (row,) = json.loads(shown.out)
    assert (row["id"], row["document"]) == ("Minutes 2024-03-12.md#4", "Minutes 2024-03-12.md")
    assert row["passage"] == {
        "number": 4, "count": 4, "heading": "Against a limit", "speaker": "",
    }  # fmt: skip
    shown = printed(capsys, "search", index, "why not", "-k", 1)
    assert "chat.txt#3  passage 3 of 3, by Ann\n" in shown.out
    (row,) = json.loads(printed(capsys, "search", index, "decided", "--json").out)
    assert (row["id"], row["document"], row["passage"]) == ("notes.txt", "notes.txt", None)


def test_headings_and_speakers_are_searched(index, capsys):
    (row,) = json.loads(printed(capsys, "search", index, "Bob", "--json").out)
    assert (row["id"], row["text"]) == ("chat.txt#2", "No.")
    rows = json.loads(printed(capsys, "search", index, "opening", "--json").out)
    assert [row["id"] for row in rows] == ["Minutes 2024-03-12.md#1", "Minutes 2024-03-12.md#2"]


def test_documents_are_ranked_by_their_best_passage(index, capsys):
    def found(*flags):
        rows = json.loads(printed(capsys, "search", index, QUESTION, "--json", *flags).out)
        return [(row["document"], row["score"]) for row in rows]

    passages = found()
    best = {}
    for name, score in passages:
        best.setdefault(name, score)
    assert len(best) < len(passages)
    assert found("--unit", "passage") == passages
    assert found("--unit", "document") == sorted(best.items(), key=lambda one: (-one[1], one[0]))
    assert found("--unit", "document", "-k", 2) == found("--unit", "document")[:2]


def test_a_run_has_documents_unless_passages_are_asked_for(index, topics, tmp_path, capsys):
    out = tmp_path / "run"
    printed(capsys, "search", index, "--topics", topics, "--out", out)
    rows = [line.split() for line in out.read_text().splitlines()]
    assert sorted(row[2] for row in rows if row[0] == "1") == [
        "Minutes%202024-03-12.md", "chat.txt", "notes.txt",
    ]  # fmt: skip
    assert [int(row[3]) for row in rows if row[0] == "1"] == [1, 2, 3]
    printed(capsys, "search", index, "--topics", topics, "--out", out, "--unit", "passage")
    ids = {line.split()[2] for line in out.read_text().splitlines()}
    assert {"Minutes%202024-03-12.md#4", "chat.txt#1", "notes.txt"} <= ids
    entries = pnyx.open(index).run([QUESTION], k=2)
    assert [entry.rank for entry in entries] == [1, 2]
    assert {entry.doc_id for entry in entries} <= {"Minutes 2024-03-12.md", "chat.txt", "notes.txt"}
    assert "chat.txt#1" in {e.doc_id for e in pnyx.open(index).run([QUESTION], unit="passage")}


def test_a_run_of_documents_can_be_judged(index, topics, tmp_path, capsys):
    run_file, out = tmp_path / "run", tmp_path / "results"
    printed(capsys, "search", index, "--topics", topics, "--out", run_file, "-k", 1)
    printed(capsys, "judge", "relevance", "--run", run_file, "--index", index, "--topics", topics,
            "--depth", 1, "--out", out)  # fmt: skip
    answers = [json.loads(line) for line in (out / "answers.jsonl").read_text().splitlines()]
    assert "1/Minutes 2024-03-12.md" in {row["id"] for row in answers}


class Ranked:
    """Gives as many of its hits as are asked for, and counts how often."""

    def __init__(self, names):
        self.hits = [Hit(n, rank, 10.0 - rank) for rank, n in enumerate(names, start=1)]
        self.asked = []

    def fetch(self, ids):
        return [Document(one, "", passage=Passage(one[0], 1, 2)) for one in ids]

    def retrieve(self, count):
        self.asked.append(count)
        return self.hits[:count]


def test_enough_passages_are_retrieved_for_the_documents_asked_for():
    engine = Ranked(["a1", "a2", "a3", "a4", "a5", "b1", "c1", "c2"])
    ranking = DocumentRanking(engine)
    assert len(ranking.retrieve(engine.retrieve, 2)) == 8
    assert engine.asked == [4, 8]
    assert [(h.doc_id, h.rank) for h in ranking.best(engine.hits)] == [
        ("a1", 1), ("b1", 2), ("c1", 3),
    ]  # fmt: skip
    engine.asked.clear()
    assert len(ranking.retrieve(engine.retrieve, 4)) == 8  # there are no more
    assert engine.asked == [8, 16]
    ties = [Hit("b1", 1, 1.0), Hit("a1", 2, 1.0), Hit("b2", 3, 1.0)]
    assert [(h.doc_id, h.rank) for h in ranking.best(ties)] == [("a1", 1), ("b1", 2)]


def test_a_document_is_found_by_its_id(index):
    opened = Index.open(index)
    passages = passages_of_document(opened, "Minutes 2024-03-12.md")
    assert [one.passage.number for one in passages] == [1, 2, 3, 4]
    assert passages_of_document(opened, "notes.txt") == passages_of_document(opened, "x") == []
    whole = find_document(opened, "Minutes 2024-03-12.md")
    assert (whole.id, whole.passage) == ("Minutes 2024-03-12.md", None)
    night = FILLER.replace("day", "night")
    assert whole.text.startswith(f"Opening\n\n{FILLER}\n\n{night}\n\nFor a limit\n\nRent")
    assert find_document(opened, "chat.txt").text == (
        "Ann:\n\nRent control? Yes!\n\nBob:\n\nNo.\n\nAnn:\n\nWhy not?"
    )
    assert find_document(opened, "chat.txt#2").text == "No."
    assert find_document(opened, "x") is None


def test_python_opens_a_folder_as_passages_or_documents(folder, tmp_path):
    assert len(pnyx.open(folder, features=())) == 8
    assert len(pnyx.open(folder, features=(), unit="document")) == 3
    opened = pnyx.open(folder, tmp_path / "i", features=())
    (best,) = opened.search("owners mistake", 1, unit="document")
    assert (best.document, best.passage.number) == ("Minutes 2024-03-12.md", 4)
    with pytest.raises(InputError, match="unit is 'page', expected one of: document, passage"):
        opened.search("owners", unit="page")
    with pytest.raises(InputError, match="unit require documents that are not indexed yet"):
        pnyx.open(tmp_path / "i", unit="document")
    with pytest.raises(InputError, match="unit requires a file or folder"):
        pnyx.open([{"text": "One."}], unit="passage")


# Citations ---------------------------------------------------------------------------------------


def cited_case():
    passage = Passage("Minutes.md", 3, 9, "Against", "Ann <b>")
    document = Document("Minutes.md#3", "A firm point.", passage=passage)
    lines = (("conclusion", "A firm point.", {document.id: yes(0.9)}),)
    side = argued("pro", lines)
    side = replace(side, relevance={document.id: yes(0.6)}, stance={document.id: yes(0.6)})
    return replace(build_case(), sides=(side,), documents={document.id: document})


def test_a_citation_shows_passage_and_document():
    case = cited_case()
    assert "**Minutes.md**, passage 3 of 9, under “Against”, by Ann" in render_markdown(case)
    page = render_html(case)
    assert ">Minutes.md</span></h3>" in page
    assert "passage 3 of 9, under “Against”, by Ann &lt;b&gt;" in page
    rows = case.rows()
    assert ("Minutes.md", 3) in {(row["document"], row["passage"]) for row in rows}


def test_arguments_in_files_say_passage_and_document(folder, tmp_path, capsys):
    made = tmp_path / "i"
    printed(capsys, "index", folder, "--out", made)
    shown = printed(capsys, "argue", made, "Should there be rent control?", "--json")
    sides = json.loads(shown.out)["sides"]
    documents = {k: v for s in sides for k, v in s["response"].get("documents", {}).items()}
    assert any("#" in name for name in documents)
    for name, document in documents.items():
        if "#" in name:
            assert document["document"] == name.partition("#")[0]
            assert document["passage"] == int(name.partition("#")[2])


# Pages -------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def client(index):
    with service_of(index) as service:
        yield TestClient(build_asking(service, warm=False), base_url="http://127.0.0.1")


def test_the_page_of_a_document_is_opened_at_the_passage(client):
    page = client.get("/", params={"q": "owners mistake"}).text
    assert "/doc?id=Minutes+2024-03-12.md%234&amp;q=owners+mistake#found" in page
    assert "passage 4 of 4, under “Against a limit”" in page
    page = client.get("/doc", params={"id": "Minutes 2024-03-12.md#3"}).text
    headings = [page.index(h) for h in ("Opening</h2>", "For a limit</h2>", "Against a limit</h2>")]
    assert headings == sorted(headings)
    assert page.count('class="passage"') == 3
    found = page.index('class="passage found" id="found"')
    assert headings[1] < found < page.index("keeps tenants") < headings[2]
    assert ">3 of 4</dd>" in page


def test_passages_of_the_same_document_are_not_listed_as_near(folder, tmp_path):
    build_index(str(folder), tmp_path / "i", features=("vectors",))
    with service_of(tmp_path / "i") as service:
        client = TestClient(build_asking(service, warm=False), base_url="http://127.0.0.1")
        page = client.get("/doc", params={"id": "Minutes 2024-03-12.md#3"}).text
    near = page.partition("Most similar documents")[2]
    assert "/doc?id=" in near
    assert "id=Minutes+2024-03-12.md" not in near


def test_the_page_of_a_document_lists_the_six_most_similar_ones(tmp_path):
    records = [Document(f"d{n}", f"Rent control is discussed {n} times.") for n in range(9)]
    build_index(records, tmp_path / "i", features=("vectors",))
    with service_of(tmp_path / "i") as service:
        client = TestClient(build_asking(service, warm=False), base_url="http://127.0.0.1")
        page = client.get("/doc", params={"id": "d0"}).text
    assert page.partition("Most similar documents")[2].count('href="/doc/d') == 6


def test_the_page_of_a_whole_document_has_its_passages(client):
    page = client.get("/doc", params={"id": "chat.txt"}).text
    assert page.count("Ann:</p>") == 2
    assert 'id="found"' not in page
    assert page.index('id="passage-1"') < page.index('id="passage-3"')
    page = client.get("/doc", params={"id": "notes.txt"}).text
    assert "Nothing was decided" in page
    assert client.get("/doc", params={"id": "chat.txt#4"}).status_code == 404


def test_the_page_of_a_long_document_shows_its_first_passages(client, monkeypatch):
    # 18, 3 and 8 characters: the first two fit on a page of 21 characters.
    monkeypatch.setattr(document_content, "MOST_CHARACTERS", 21)
    page = client.get("/doc", params={"id": "chat.txt"}).text
    assert "Passages 1 to 2 of 3 are shown." in page
    page = client.get("/doc", params={"id": "chat.txt#3"}).text
    assert "Passages 2 to 3 of 3 are shown." in page


def test_a_page_shows_what_is_around_the_passage():
    assert _window([10, 10, 10], 1) == range(3)
    assert _window([150_000, 90_000, 50_000, 90_000], 2) == range(2, 4)
    assert _window([300_000], 0) == range(1)
    assert _window([50_000] * 9, 0) == range(4)
    assert _window([50_000] * 9, 8) == range(7, 9)


# Engines -----------------------------------------------------------------------------------------


@pytest.mark.all
@pytest.mark.slow
@pytest.mark.skipif(bool(lacking()), reason=lacking() or "-")
def test_an_index_in_opensearch_has_the_same_passages(folder, tmp_path, capsys):
    with cluster(tmp_path / "c") as address:
        where = f"opensearch://{address}/passages"
        printed(capsys, "index", folder, "--out", where, "--words-only")
        build_index(str(folder), tmp_path / "i")
        here, there = Index.open(tmp_path / "i"), open_index(where)
        assert list(there.documents()) == list(here.documents())
        assert there.feature_info("passages") == here.feature_info("passages")
        for unit in ("document", "passage"):
            ids = [
                [entry.doc_id for entry in pnyx.open(one).run([QUESTION], unit=unit)]
                for one in (where, str(tmp_path / "i"))
            ]
            assert ids[0] == ids[1]
        assert find_document(there, "chat.txt") == find_document(here, "chat.txt")
