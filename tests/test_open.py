"""`pnyx.open`, and what a first script written from the docs tries."""

from __future__ import annotations

import asyncio
import gc
import multiprocessing
import os
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pnyx
from pnyx.core.errors import IndexFolderError
from pnyx.search.build import _remove_of, add_to_index

QUESTION = "Should voting be compulsory?"
TEXTS = [
    "Voting should be compulsory because then elections represent everyone. Turnout rises.",
    "Compulsory voting violates the freedom of citizens. People who do not care vote at random.",
    "Zoos are cruel to animals.",
]
ROWS = [{"id": f"d{n}", "text": text, "year": 2000 + n} for n, text in enumerate(TEXTS, 1)]


def frame(library: str) -> Any:
    return pytest.importorskip(library).DataFrame(ROWS)


@pytest.fixture(scope="module")
def opened() -> pnyx.Collection:
    return pnyx.open(ROWS)


@pytest.mark.parametrize(
    ("made", "first"),
    [
        (lambda: TEXTS, "1"),
        (lambda: iter(ROWS), "d1"),
        (lambda: frame("pandas"), "d1"),
        (lambda: frame("polars"), "d1"),
        (lambda: [pnyx.Document("x", TEXTS[0])], "x"),
    ],
)
def test_documents_in_memory_are_read_indexed_and_found(
    made: Callable[[], Any], first: str
) -> None:
    read = list(pnyx.read_evidence(made()))
    assert (read[0].id, read[0].text) == (first, TEXTS[0])
    collection = pnyx.open(made(), features=())
    assert len(collection) == len(read)
    assert collection.search("turnout of elections")[0].id == first


def test_a_frame_without_a_value_and_with_another_name_of_the_text() -> None:
    pandas = pytest.importorskip("pandas")
    rows = pandas.DataFrame({"body": ["a text", "another"], "url": ["http://a.org", None]})
    first, second = pnyx.read_evidence(rows, columns={"text": "body"})
    assert (first.url, second.url, second.id, second.text) == ("http://a.org", "", "2", "another")


def test_files_and_folders_are_opened_as_the_command_line_does(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.txt").write_text(TEXTS[0])
    folder = pnyx.open(tmp_path / "docs", tmp_path / "my.index", features=())
    assert len(folder) == 1
    again = pnyx.open(tmp_path / "my.index")
    assert again.search(QUESTION)[0].id == folder.search(QUESTION)[0].id
    with pytest.raises(pnyx.InputError, match="exists"):
        pnyx.open(tmp_path / "docs", tmp_path / "my.index")
    with pytest.raises(pnyx.InputError, match="require documents that are not indexed yet"):
        pnyx.open(tmp_path / "my.index", columns={"text": "body"})


def test_hits_have_texts_and_show_themselves(opened: pnyx.Collection) -> None:
    found = opened.search(QUESTION, k=2)
    assert [hit.text for hit in found] == TEXTS[:2]
    assert (found[0].rank, found[0].id, len(found)) == (1, "d1", 2)
    assert found.to_frame()["id"].tolist() == ["d1", "d2"]
    assert "Turnout" not in found._repr_html_()  # long texts are clipped
    assert "<td>d1</td>" in found._repr_html_()
    nothing = opened.search("zzzz", model="bm25")
    assert (len(nothing), list(nothing)) == (0, [])
    assert "rank" in nothing._repr_html_()


def test_searches_and_arguments_are_those_of_the_command_line(
    opened: pnyx.Collection,
) -> None:
    searcher = pnyx.Searcher(opened.index)
    assert opened.search(QUESTION).hits == searcher.show(QUESTION).hits
    one, two = opened.search([QUESTION, "zoos"], k=1)
    assert (one.hits, two.hits) == tuple(
        each.hits for each in searcher.search([QUESTION, "zoos"], 1)
    )
    case = opened.argue(QUESTION)
    assert [side.response.references for side in case.sides] == [("d1",), ("d2",)]
    rows = case.to_frame()
    assert rows["doc_id"].tolist() == ["d1", *["d2"] * (len(rows) - 1)]
    assert rows["supported"].all()
    shown = case._repr_html_()
    assert "The case for no" in shown
    assert "<b>Compulsory voting violates" in shown
    plain = pnyx.argue(opened.index, QUESTION)
    assert [s.response.sentences for s in plain.sides] == [s.response.sentences for s in case.sides]
    assert opened.report(QUESTION, limit=200).response.references


def test_hostile_texts_are_escaped_where_they_are_shown() -> None:
    evil = "<script>alert(1)</script> Voting should be compulsory because it is fair."
    collection = pnyx.open([{"id": "<b>", "text": evil}], features=())
    assert "<script" not in collection.search(QUESTION)._repr_html_()
    assert "<script" not in pnyx.argue(collection.index, QUESTION)._repr_html_()


def test_a_running_loop_can_await_searches_and_arguments(opened: pnyx.Collection) -> None:
    async def both() -> tuple[Any, Any]:
        return await asyncio.gather(opened.search_async(QUESTION, 1), opened.argue_async(QUESTION))

    found, case = asyncio.run(both())
    assert (len(found), len(case.sides)) == (1, 2)


def test_a_path_to_an_index_is_enough_for_a_searcher(tmp_path: Path) -> None:
    pnyx.build_index(TEXTS, tmp_path / "my.index")
    found = pnyx.Searcher(str(tmp_path / "my.index")).search("zoos")
    assert found[0].text == TEXTS[2]


def test_a_temporary_index_is_removed_with_its_last_holder(
    tmp_path: Path, monkeypatch: Any
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    index = pnyx.build_index(TEXTS)
    assert list(tmp_path.iterdir())
    del index
    assert not list(tmp_path.iterdir())
    with pytest.raises(pnyx.InputError, match="row 2: found int"):
        pnyx.build_index([TEXTS[0], 5])
    assert not list(tmp_path.iterdir())


def test_labels_may_be_a_dict() -> None:
    judge = pnyx.PackagedJudge()
    asked = [pnyx.Support(f"q{n}", text, "Voting should be compulsory.") for n, text in
             enumerate(TEXTS)]  # fmt: skip
    answers = pnyx.ask(judge, asked)
    measured = pnyx.measure_agreement(answers, {"q0": True, "q1": False, "q2": False})
    assert measured.counts["scored"] == 3
    assert measured.measures["accuracy"].value is not None


@pytest.mark.parametrize(
    ("tried", "line"),
    [
        (lambda c: c.search(""), "found an empty text, expected a question"),
        (lambda c: c.search(5), "found int, expected a question: its text, or a Question"),
        (lambda c: c.search("a", modle="bm25"), "no option 'modle', expected one of b, "),
        (lambda c: c.search("a", model="bm26"), "found bm26, Input should be 'auto', "),
        (lambda c: c.search("a", pointwise=True), "--pointwise requires --rerank"),
        (lambda c: c.argue(["a"]), "found list, expected a question: its text, or a Question"),
        (lambda c: c.argue("a", asked=3), "asked requires llm"),
        (lambda c: c.argue("a", perspectivs="f"), "no option 'perspectivs', expected one of asked"),
        (lambda c: c.report("a", layout="rag25"), "no option 'layout', expected one of b, c"),
        (lambda c: c.report("a", rerank=True), "no option 'rerank'"),
        (lambda c: pnyx.open(c, features=()), "require documents that are not indexed yet"),
        (lambda c: pnyx.read_evidence(ROWS, format="jsonl"), "a format requires a file or folder"),
        (lambda c: pnyx.open(5), "found int, expected a file or folder, a data frame, or"),
        (lambda c: pnyx.ask("packaged", []), "found str, expected a judge: PackagedJudge"),
        (lambda c: pnyx.ask(pnyx.PackagedJudge(), "a.jsonl"), "expected questions, dicts"),
        (lambda c: pnyx.LlmJudge("a server"), "a server"),
        (lambda c: pnyx.open({"text": "a"}), "found dict, expected a file or folder"),
        (lambda c: pnyx.open([{"body": "x"}]), "row 1: no text or contents .fields found: body"),
        (lambda c: pnyx.open([]), "holds no documents"),
        (lambda c: pnyx.open(ROWS, columns={"text": "tekst"}), "row 1: no column .tekst."),
    ],
)  # fmt: skip
def test_what_is_wrong_is_one_sentence(
    opened: pnyx.Collection, tried: Callable[[pnyx.Collection], Any], line: str
) -> None:
    with pytest.raises(pnyx.PnyxError, match=line) as error:
        tried(opened)
    assert "\n" not in str(error.value)


# Names, numbers and copies ------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", ["a\0b", Path("a\0b"), "", "x" * 5000, "not/there.jsonl", "a\udc80b"]
)
def test_a_name_that_no_file_can_have_is_one_clear_error(name: str | Path) -> None:
    with pytest.raises(pnyx.InputError) as raised:
        pnyx.open(name)
    assert "\n" not in str(raised.value)
    with pytest.raises(pnyx.InputError):
        list(pnyx.read_evidence(name))


@pytest.mark.parametrize("name", ["a\0b", ""])
def test_an_index_cannot_be_made_where_no_folder_can_be(name: str) -> None:
    with pytest.raises(pnyx.InputError, match=r"NUL byte|expected the name of a folder"):
        pnyx.open(ROWS, name, features=())
    with pytest.raises(pnyx.PnyxError, match="File name too long"):
        pnyx.open(ROWS, "x" * 5000, features=())


@pytest.mark.parametrize("k", [1.5, 1.0, float("nan"), float("inf"), "3", True, False, [1]])
def test_a_number_of_documents_that_is_not_a_whole_number_is_refused(
    opened: pnyx.Collection, k: Any
) -> None:
    searcher = pnyx.Searcher(opened.index)
    for ask in (
        lambda: opened.search(QUESTION, k=k),
        lambda: opened.search(QUESTION, k=k, model="bm25"),
        lambda: opened.search([QUESTION], k=k),
        lambda: opened.run([QUESTION], k=k),
        lambda: searcher.search(QUESTION, k),
        lambda: pnyx.Index.search(opened.index, QUESTION, k=k),  # type: ignore[arg-type]
    ):
        with pytest.raises(pnyx.InputError, match=r"k is .*, expected a whole number from 1$"):
            ask()


def test_a_number_of_documents_is_at_least_one(opened: pnyx.Collection) -> None:
    for k in (0, -1):
        with pytest.raises(pnyx.InputError, match=f"k is {k}, expected at least 1"):
            opened.search(QUESTION, k=k)
    assert len(opened.search(QUESTION, k=1)) == 1
    assert len(opened.search(QUESTION, k=np.int64(2))) == 2


@pytest.mark.all
def test_a_collection_works_in_other_processes(opened: pnyx.Collection) -> None:
    questions = [QUESTION, "Are zoos cruel?"]
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        found = pool.map(opened.search, questions)
    here = [opened.search(question) for question in questions]
    assert [one.hits for one in found] == [one.hits for one in here]
    assert [one.rows() for one in found] == [one.rows() for one in here]
    assert found[0][0].text == TEXTS[0]
    assert found[0].by is None


def test_a_pickled_collection_opens_the_same_documents(tmp_path: Path) -> None:
    where = tmp_path / "my.index"
    made = pnyx.open(ROWS, where, features=(), llm="http://127.0.0.1:9/v1#m")
    kept = pickle.dumps(made)
    again = pickle.loads(kept)
    assert (again.name, again.llm, len(again)) == (made.name, made.llm, 3)
    assert again.index.known_by == made.index.known_by
    add_to_index([pnyx.Document("new", "Zoos protect animals.")], where)
    with pytest.raises(IndexFolderError, match="documents have changed since it was pickled"):
        pickle.loads(kept)
    assert len(made) == 3


def test_a_pickle_of_a_temporary_collection_says_that_it_is_gone() -> None:
    collection = pnyx.open(ROWS, features=())
    kept = pickle.dumps(collection)
    assert len(pickle.loads(kept)) == 3
    del collection
    gc.collect()
    with pytest.raises(IndexFolderError, match=r"no longer exists; .*to=FOLDER"):
        pickle.loads(kept)


def test_a_forked_process_leaves_the_temporary_index_to_its_parent() -> None:
    collection = pnyx.open(ROWS, features=())
    path = Path(collection.index.path)  # type: ignore[attr-defined]
    _remove_of(os.getpid() + 1, str(path.parent))
    assert path.is_dir()
    del collection
    gc.collect()
    assert not path.exists()
