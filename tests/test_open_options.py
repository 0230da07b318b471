"""Defaults and options of `pnyx.open`, of a collection's methods and of `pnyx.argue`."""

from __future__ import annotations

import asyncio
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import pnyx
from pnyx.collection.documents import warn_in_python
from pnyx.core.errors import InputError

QUESTION = "Should voting be compulsory?"
PRO = "Voting should be compulsory because turnout rises and everyone is represented."
CON = "Compulsory voting is wrong because it violates the freedom of citizens."
LONG = " ".join(f"Voting makes point number {n} about turnout." for n in range(60))


@pytest.fixture(scope="module")
def opened() -> pnyx.Collection:
    return pnyx.open([PRO, CON], features=())


@pytest.fixture(scope="module")
def split(tmp_path_factory: pytest.TempPathFactory) -> pnyx.Collection:
    """A collection of one document of several passages, and one of a single passage."""
    folder = tmp_path_factory.mktemp("documents")
    (folder / "long.txt").write_text(LONG)
    (folder / "short.txt").write_text(PRO)
    return pnyx.open(folder, features=())


# pnyx.open ---------------------------------------------------------------------------------------


def test_a_collection_is_named_after_its_index_its_folder_or_its_type(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/a.txt").write_text(PRO)
    assert pnyx.open([PRO], features=()).name == "list"
    assert pnyx.open(iter([PRO]), features=()).name == "list_iterator"
    assert pnyx.open(tmp_path / "docs", features=()).name == str(tmp_path / "docs")
    made = pnyx.open(tmp_path / "docs", tmp_path / "my.index", features=())
    assert made.name == str(tmp_path / "my.index")
    assert pnyx.open(str(tmp_path / "my.index")).name == str(tmp_path / "my.index")


def test_a_language_model_is_kept_or_replaced(opened: pnyx.Collection, tmp_path: Path) -> None:
    assert opened.llm is None
    assert pnyx.open(opened) is opened
    other = pnyx.open(opened, llm="http://127.0.0.1:9/v1#m")
    assert (other.llm, other.index) == ("http://127.0.0.1:9/v1#m", opened.index)
    assert pnyx.open(other).llm == "http://127.0.0.1:9/v1#m"
    assert pnyx.open([PRO], tmp_path / "i", features=(), llm="m").llm == "m"
    assert pnyx.open(tmp_path / "i", llm="m").llm == "m"


@pytest.mark.parametrize(
    "options", [{"to": "x"}, {"columns": {"text": "t"}}, {"features": ()}, {"unit": "document"}]
)
def test_an_index_takes_no_option_of_indexing(
    options: dict[str, Any], opened: pnyx.Collection, tmp_path: Path
) -> None:
    pnyx.open([PRO], tmp_path / "i", features=())
    for documents in (opened, tmp_path / "i", str(tmp_path / "i")):
        with pytest.raises(InputError, match="to, columns, features and unit require documents"):
            pnyx.open(documents, **options)


def test_columns_and_units_of_documents(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(f'{{"id": "a", "body": "{LONG}"}}\n')
    columns = {"text": "body"}
    assert pnyx.open(path, columns=columns, features=()).search("turnout")[0].text == LONG
    assert len(pnyx.open(path, columns=columns, features=(), unit="passage")) > 1
    assert len(pnyx.open(path, columns=columns, features=(), unit="document")) == 1
    assert len(pnyx.open([{"body": PRO}], columns=columns, features=())) == 1
    with pytest.raises(InputError, match="unit requires a file or folder of documents"):
        pnyx.open([PRO], unit="document")


def test_a_new_index_has_vectors_and_quality_by_default(opened: pnyx.Collection) -> None:
    with pytest.raises(pnyx.PnyxError, match="vectors"):
        opened.search(QUESTION, model="dense")
    assert len(pnyx.open([PRO, CON]).search(QUESTION, model="dense")) == 2


# Searching ---------------------------------------------------------------------------------------


def test_a_search_ranks_passages_and_a_run_documents(split: pnyx.Collection) -> None:
    passages = [hit.id for hit in split.search("turnout", 5, model="bm25")]
    assert {"long.txt#1", "long.txt#2"} < set(passages)
    documents = [hit.id for hit in split.search("turnout", 5, model="bm25", unit="document")]
    assert len(documents) == 2
    assert [e.doc_id for e in split.run(["turnout"], model="bm25")] == ["long.txt", "short.txt"]
    ranked = [e.doc_id for e in split.run(["turnout"], 2, unit="passage", model="bm25")]
    assert ranked == passages[:2]


@pytest.mark.parametrize("kind", ["texts", "records", "dict", "file", "path", "frame"])
def test_a_run_is_of_questions_in_any_form(
    kind: str, opened: pnyx.Collection, tmp_path: Path
) -> None:
    (tmp_path / "t.tsv").write_text("7\tturnout\n")
    questions: Any = {
        "texts": ["turnout"],
        "records": [pnyx.Question("7", "turnout")],
        "dict": {"7": "turnout"},
        "file": str(tmp_path / "t.tsv"),
        "path": tmp_path / "t.tsv",
        "frame": pytest.importorskip("pandas").DataFrame({"qid": ["7"], "query": ["turnout"]}),
    }[kind]
    (entry,) = opened.run(questions, model="bm25")
    assert (entry.doc_id, entry.rank) == ("1", 1)
    assert kind == "texts" or entry.topic_id == "7"


def test_a_run_has_a_thousand_documents_and_a_search_ten() -> None:
    many = pnyx.open([f"Tea number {n}." for n in range(1002)], features=())
    assert len(many.run(["tea"], model="bm25")) == 1000
    assert len(many.search("tea", model="bm25")) == 10
    assert [len(hits) for hits in many.search(["tea", "number"], model="bm25")] == [10, 10]


def test_searches_within_a_loop_take_a_number_and_options(opened: pnyx.Collection) -> None:
    hits = asyncio.run(opened.search_async("voting", 1, model="bm25"))
    assert [hit.id for hit in hits] == [hit.id for hit in opened.search("voting", 1, model="bm25")]
    with pytest.raises(InputError, match="no option 'nosuch'"):
        asyncio.run(opened.argue_async(QUESTION, nosuch=1))


# Arguing and reports -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ask", "names"),
    [
        (lambda c: c.search("a", stance="pro", certainty=0.5), None),
        (lambda c: c.argue("a", layout="rag25"), "no option 'layout'"),
        (lambda c: c.report("a", rerank=True), "no option 'rerank'"),
        (lambda c: c.report("a", style="ids"), "no option 'style'"),
        (lambda c: c.report("a", metadata_fields=()), "no option 'metadata_fields'"),
        (lambda c: c.report("a", documents=True), "no option 'documents'"),
        (lambda c: c.search("a", points=2), "no option 'points'"),
    ],
)
def test_options_belong_to_one_method(
    ask: Callable[[pnyx.Collection], Any], names: str | None, opened: pnyx.Collection
) -> None:
    if names is None:
        ask(opened)
    else:
        with pytest.raises(InputError, match=names):
            ask(opened)


def test_stance_and_certainty_of_an_argument_are_its_own(opened: pnyx.Collection) -> None:
    case = opened.argue(QUESTION, stance="con")
    assert [side.side for side in case.sides] == ["con"]
    assert len(opened.argue(QUESTION).sides) == 2


def test_a_question_keeps_its_id_definition_and_claims(opened: pnyx.Collection) -> None:
    claims = ("Voting should be a duty.", "Voting should be free.")
    posed = pnyx.Question("q7", QUESTION, definition="About turnout.", claims=claims)
    case = opened.argue(posed)
    assert (case.question.id, case.question.definition) == ("q7", "About turnout.")
    assert case.question.claims == claims
    case = opened.argue(posed, definition="About freedom.", claims=("A duty.", "A right."))
    assert case.question.definition == "About freedom."
    assert case.question.claims == ("A duty.", "A right.")
    assert "cost" not in case.settings
    assert case.settings["index"] == "list (2 documents)"


def test_asked_requires_a_language_model_even_if_it_is_the_default(
    opened: pnyx.Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PNYX_LLM", raising=False)
    with pytest.raises(InputError, match="asked requires llm: there is no language model"):
        opened.argue(QUESTION, asked=100)


def test_a_report_is_of_a_request_a_question_or_a_text(opened: pnyx.Collection) -> None:
    from pnyx.formats import ReportRequest

    reports = [
        opened.report(ReportRequest("r1", QUESTION, limit=80)),
        opened.report(pnyx.Question("q1", QUESTION), limit=80),
        opened.report(QUESTION, limit=80),
    ]
    assert [report.response.topic_id for report in reports[:2]] == ["r1", "q1"]
    texts = [[s.text for s in report.response.sentences] for report in reports]
    assert texts[0] == texts[1] == texts[2] != []
    assert sum(map(len, texts[0])) <= 80
    longer = opened.report(QUESTION, limit=2000).response.sentences
    assert len(longer) > len(texts[0])


# pnyx.argue --------------------------------------------------------------------------------------


@pytest.mark.parametrize("part", ["judge", "writer", "plan", "tell"])
def test_each_part_excludes_each_option(part: str, opened: pnyx.Collection) -> None:
    given: dict[str, Any] = {part: object()}
    with pytest.raises(InputError, match=f"llm cannot be chosen here: it excludes {part}"):
        pnyx.argue(opened, QUESTION, llm="m", **given)
    with pytest.raises(InputError, match=f"points cannot be chosen here: it excludes {part}"):
        pnyx.argue(opened, QUESTION, points=2, **given)


def test_steps_and_plans_of_an_argument(opened: pnyx.Collection) -> None:
    steps: list[Any] = []
    case = pnyx.argue(opened, QUESTION, tell=lambda *step: steps.append(step))
    assert steps
    assert case.rows() == pnyx.argue(opened.index, QUESTION).rows()
    plan = pnyx.cases.Plan(retrieve=1)
    assert len(pnyx.argue(opened, QUESTION, plan=plan).rows()) < len(case.rows())


def test_a_collection_is_argued_from_with_another_model(opened: pnyx.Collection) -> None:
    with pytest.raises(pnyx.PnyxError):
        pnyx.argue(opened, QUESTION, llm="http://127.0.0.1:9/v1#m")
    assert opened.llm is None


def test_warnings_in_python_have_no_prefix() -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warn_in_python("warning: a file is left out")
        warn_in_python("a warning: of another kind")
    assert [str(w.message) for w in caught] == ["a file is left out", "a warning: of another kind"]
