"""Parts of an index folder: segments that are full, what is cached, what is kept next to it."""

from __future__ import annotations

import os
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from pnyx.core.errors import InputError
from pnyx.core.records import Document, Passage, Perspective, Question
from pnyx.formats.text.tokens import Tokenizer
from pnyx.search import source_index
from pnyx.search.build import _remove_of, add_to_index, build_index
from pnyx.search.engine import Hit, Remembering
from pnyx.search.hits import SearchHits, explain_hits
from pnyx.search.index import Index
from pnyx.search.lexical import index as lexical_index
from pnyx.search.lexical.index import WordIndex
from pnyx.search.lexical.manifest import read_manifest
from pnyx.search.lexical.postings import decode_length
from pnyx.search.lexical.record_codec import encode
from pnyx.search.lexical.segments import SegmentBuilder
from pnyx.search.pipeline import Searcher
from pnyx.search.plan import Scoring, SearchPlan
from pnyx.search.source_index import IndexReporting, keep_index


@pytest.mark.parametrize(
    ("documents", "postings", "full"),
    [
        (2**20 - 1, 0, False),
        (2**20, 0, True),
        (1, 2**27 - 1, False),
        (1, 2**27, True),
    ],
)
def test_a_segment_has_a_million_documents_or_134_million_postings(
    documents, postings, full, tmp_path
):
    with SegmentBuilder(tmp_path / "s", Tokenizer(), []) as builder:
        builder._ids, builder._done = range(documents), postings  # type: ignore[assignment]
        assert builder.full is full
        assert len(builder) == documents


@pytest.mark.parametrize(
    ("code", "length"), [(0, 0), (23, 23), (24, 24), (31, 31), (32, 32), (39, 39), (40, 40),
                         (41, 42), (48, 56), (49, 60), (255, 2013265944)]
)  # fmt: skip
def test_a_length_is_kept_exactly_up_to_40_as_in_lucene(code, length):
    assert decode_length(code) == length


def test_passages_and_the_documents_that_were_split_are_counted(tmp_path):
    def part(number: int, count: int, of: str) -> Document:
        passage = Passage(of, number=number, count=count)
        return Document(f"{of}-{number}", "tea", passage=passage)

    rows = [part(1, 2, "a"), part(2, 2, "a"), part(1, 1, "b"), Document("c", "milk")]
    build_index(rows, tmp_path / "i")
    counts = read_manifest(tmp_path / "i")["statistics"]
    assert (counts["documents"], counts["passages"], counts["split_documents"]) == (4, 2, 1)
    build_index(rows[2:], tmp_path / "j")
    assert "passages" not in read_manifest(tmp_path / "j")["statistics"]


def test_progress_is_reported_for_each_thousand_records_and_at_the_end(tmp_path):
    reported: list[int] = []
    rows = [Document(f"d{n}", "tea") for n in range(2001)]
    build_index(rows, tmp_path / "i", on_progress=reported.append)
    assert reported[-3:] == [1000, 2000, 2001]


@pytest.mark.parametrize(
    ("records", "how", "problem"),
    [
        ([], {}, "documents: holds no documents"),
        ([Document("a", "Tea."), Document("a", "Milk.")], {}, "'a'"),
        ([Document("a", "Tea.")], {"fields": ["body"]}, "unknown field 'body', expected: topic"),
        ([Document("a", "Tea.")], {"features": ["topics"]}, "unknown feature 'topics', expected"),
    ],
)
def test_what_cannot_be_indexed_leaves_nothing(records, how, problem, tmp_path):
    with pytest.raises(InputError, match=problem):
        build_index(records, tmp_path / "i", **how)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("doc_id", "problem"),
    [("", "record 3 has no id"), (7, "record 3 has no id"), ("\ud800", "expected Unicode")],
)
def test_a_record_needs_an_id(doc_id, problem):
    with pytest.raises(InputError, match=problem):
        encode(Document(doc_id, "Tea."), number=3)


def test_only_an_index_is_replaced(tmp_path):
    (tmp_path / "i").mkdir()
    with pytest.raises(InputError, match="exists and is not an index, so it is not replaced"):
        build_index([Document("a", "Tea.")], tmp_path / "i", replace=True)
    build_index([Document("a", "Tea.")], tmp_path / "j")
    assert len(build_index([Document("b", "T."), Document("c", "M.")], tmp_path / "j",
                           replace=True)) == 2  # fmt: skip
    added = add_to_index([Document("d", "Tea.")], tmp_path / "j")
    assert (len(added), added.statistics.added, added.statistics.documents) == (3, 1, 3)


def test_a_temporary_folder_is_removed_by_the_process_that_made_it(tmp_path):
    (tmp_path / "i").mkdir()
    _remove_of(os.getpid() + 1, str(tmp_path / "i"))
    assert (tmp_path / "i").is_dir()
    for _ in range(2):  # it may be gone already
        _remove_of(os.getpid(), str(tmp_path / "i"))
    assert not (tmp_path / "i").exists()


# Caches -------------------------------------------------------------------------------------------


def test_the_32_latest_results_are_cached():
    cache, made = Remembering(), list[int]()

    def get(number: int) -> int:
        def make() -> int:
            made.append(number)
            return -number

        return cache.lately(number, make)

    assert [get(n) for n in range(32)] == [-n for n in range(32)]
    assert get(0) == 0
    assert len(made) == 32
    get(32)  # the oldest is now 1, since 0 was used again
    get(0)
    assert len(made) == 33
    get(1)
    assert made[-1] == 1
    assert cache.once("a", lambda: 7) == cache.once("a", lambda: 8) == 7


@pytest.mark.parametrize(("documents", "compiled"), [(2, False), (3, True)])
def test_an_index_is_compiled_from_a_number_of_documents(
    documents, compiled, tmp_path, monkeypatch
):
    tops: list[int] = []
    kernel = SimpleNamespace(
        top=lambda *_: tops.append(1), count_exceptions=lambda *_: 0, _compiled=lexical_index
    )
    monkeypatch.setattr(lexical_index, "WORTH_COMPILING", 3)
    monkeypatch.setattr(lexical_index, "can_compile", lambda: True)
    build_index([Document(f"d{n}", "?" if n == 0 else "tea") for n in range(documents)],
                tmp_path / "i")  # fmt: skip
    index = WordIndex.open(tmp_path / "i")
    monkeypatch.setattr(lexical_index, "Kernel", lambda name: kernel if name == "numba" else None)
    index.compile()
    assert len(tops) == int(compiled)  # once, by the first document with words
    assert (index._kernel._compiled is lexical_index) is compiled
    monkeypatch.setattr(lexical_index, "can_compile", lambda: False)
    index.compile()
    assert len(tops) == int(compiled)


# Explanations -------------------------------------------------------------------------------------


def test_a_document_is_explained_by_the_query_that_found_it(tmp_path):
    build_index([Document("a", "tea calms"), Document("b", "tea harms")], tmp_path / "i")
    searcher = Searcher(Index.open(tmp_path / "i"), SearchPlan(Scoring("bm25")))
    hits = (Hit("a", 1, 1.0), Hit("b", 2, 0.5))
    view = Perspective("p", "q", "It harms.", "con")
    result = SearchHits(Question("q", "tea"), hits, found_for={"b": view})
    why = explain_hits(result, searcher, ["a", "b"])
    words = {name: sorted(part.name for part in whole.parts) for name, whole in why.items()}
    assert words == {"a": ["tea"], "b": ["harms", "tea"]}
    plain: Any = SimpleNamespace(engine=object(), plan=searcher.plan, embedder=None)
    assert explain_hits(result, plain, ["a"]) == {}


# Next to the documents ----------------------------------------------------------------------------


def test_processes_for_the_same_documents_wait_for_each_other(tmp_path, monkeypatch):
    """Another process has the lock twice, and then no longer."""
    rows = tmp_path / "rows.jsonl"
    rows.write_text('{"id": "a", "text": "Tea."}\n')
    locked, said, waited = [False, False, True], list[str](), list[float]()
    monkeypatch.setattr(source_index, "try_lock", lambda _: locked.pop(0) if locked else True)
    monkeypatch.setattr(source_index.time, "sleep", waited.append)
    folder = keep_index(str(rows), features=(), reporting=IndexReporting(said.append))
    assert len(Index.open(folder)) == 1
    assert said[0].endswith("another process is indexing it; waiting until it has finished")
    assert waited == [0.1]
    assert said[1].endswith("(1 document)")


def test_an_index_is_kept_next_to_its_documents(tmp_path):
    rows = tmp_path / "rows.jsonl"
    rows.write_text('{"id": "a", "text": "Tea."}\n')
    said: list[str] = []
    folder = keep_index(str(rows), features=(), reporting=IndexReporting(said.append))
    assert folder == str(tmp_path / "rows.jsonl.index")
    keep_index(str(rows), features=(), reporting=IndexReporting(said.append))
    assert said[-1].endswith("was made")
    rows.write_text('{"id": "a", "text": "Tea."}\n{"id": "b", "text": "Milk."}\n')
    keep_index(str(rows), features=(), reporting=IndexReporting(said.append))
    assert "refreshed: 1 changed (rows.jsonl)" in said[-1]
    with pytest.raises(InputError, match="expected a file or folder of documents"):
        keep_index(str(tmp_path / "gone"))
    with pytest.raises(
        InputError, match=r"its index cannot be kept next to it\. Use: pnyx index / --out"
    ):
        keep_index("/")


@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [
        ("a.run", "q Q0 d 1 1.0 t\n", "is a TREC run, expected documents"),
        ("a.txt", "q 0 d 1\n", "holds qrels, expected documents"),
        ("a.exe", "MZ\0\0", "is a .exe file, which Pnyx does not read as documents"),
        ("binary", "a\0b", "is a binary file, which Pnyx does not read as documents"),
    ],
)
def test_files_of_another_kind_are_named(name, content, problem, tmp_path):
    (tmp_path / name).write_text(content)
    with pytest.raises(InputError, match=problem):
        keep_index(str(tmp_path / name), features=())


def test_documents_that_cannot_be_opened_are_one_line(tmp_path, monkeypatch):
    rows = tmp_path / "rows.jsonl"
    rows.write_text('{"id": "a", "text": "Tea."}\n')

    def refuse(*_: Any) -> int:
        raise PermissionError(13, "Permission denied")

    names = ("path", "O_RDONLY", "O_CLOEXEC")
    others = {name: getattr(os, name) for name in names}
    monkeypatch.setattr(source_index, "os", SimpleNamespace(**others, open=refuse))
    with pytest.raises(InputError, match="cannot be read: Permission denied"):
        keep_index(str(rows), features=())


def test_a_question_without_words_matches_nothing(tmp_path):
    index = build_index([Document("a", "Tea."), Document("b", "Milk.")], tmp_path / "i")
    for text in ("?", "the", "coffee"):
        assert np.signbit(index.score_all(text)).all()
    assert np.signbit(index.score_all("tea")).tolist() == [False, True]
