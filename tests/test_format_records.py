"""Records of several formats, field by field: names, numbers, ids and orders."""

from __future__ import annotations

import datetime
import io
import json
import uuid
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import pnyx
from pnyx.core.errors import InputError
from pnyx.core.records import Perspective, Question
from pnyx.formats import FORMATS
from pnyx.formats.debates import bare_title, read_debates
from pnyx.formats.items import ITEM_FORMATS
from pnyx.formats.perspectives import by_question, read_perspectives
from pnyx.formats.questions import topic_order
from pnyx.formats.rated_texts import RatedText, read_rated
from pnyx.formats.reading import check
from pnyx.formats.runs.search_results import read_search_results


def problems(name: str, row: Any, tmp_path: Path) -> list[str]:
    """Return the problems of a file of one row."""
    (tmp_path / "f").write_text(row if isinstance(row, str) else json.dumps(row))
    rows = check(str(tmp_path / "f"), FORMATS[name])
    return [found.problem for found in rows if isinstance(found, InputError)]


def read(name: str, content: Any, tmp_path: Path) -> list[Any]:
    (tmp_path / "f").write_text(content if isinstance(content, str) else json.dumps(content))
    return list(FORMATS[name].reader(str(tmp_path / "f")))


# Rows of judges ----------------------------------------------------------------------------------

ANSWER = {"id": "1", "task": "support", "value": True, "unscored": None, "judge": "j"}
PAIR = {"id": "1", "question": "Q?", "document": "D.", "value": True}
EXAMPLE = {"id": "1", "node": "attests", "text": "T.", "statement": "S.", "value": "yes"}
RAG = {"id": "1", "query": "Q?", "stance": "pro", "argument": "A.", "documents": ["D."]}
RATED = {"id": "1", "text": "T.", "ratings": {"clarity": 1}}


@pytest.mark.parametrize(
    ("row", "plain"),
    [
        ({}, True),
        ({"probability": 0.0}, True),
        ({"probability": 1.0}, True),
        ({"probability": 1.5}, False),
        ({"probability": -0.1}, False),
        ({"probability": 1}, False),
        ({"probability": None, "unknown": [1]}, True),
        ({"value": None}, False),
        ({"value": "yes"}, False),
        ({"unscored": "refused"}, False),  # next to a value
        ({"judge": None}, False),
        ({"judge": ""}, True),
        ({"judge": "é"}, False),
        ({"task": ""}, False),
        ({"task": " a"}, False),
        ({"id": ""}, False),
        ({"id": 1}, False),
        ({"explanation": " a"}, True),
        ({"explanation": None}, True),
        ({"explanation": 1}, False),
    ],
)
def test_which_answers_are_plain_at_a_glance(row: dict[str, Any], plain: bool) -> None:
    if row == {"unscored": "refused"}:
        plain = ITEM_FORMATS["answers"]._is_plain({**ANSWER, **row})
        with pytest.raises(InputError, match="both value and unscored"):
            ITEM_FORMATS["answers"]._validate({**ANSWER, **row})
        return
    assert ITEM_FORMATS["answers"]._is_plain({**ANSWER, **row}) is plain


def test_rows_without_a_needed_field_and_of_other_formats_are_not_plain() -> None:
    assert not ITEM_FORMATS["answers"]._is_plain({"id": "1", "value": True, "unscored": None})
    assert not ITEM_FORMATS["labelled-pairs"]._is_plain(PAIR)
    assert not ITEM_FORMATS["rag-items"]._is_plain(RAG)


@pytest.mark.parametrize(
    ("name", "row", "problem"),
    [
        ("answers", {**ANSWER, "unscored": "refused"}, "both value and unscored, expected one of"),
        ("answers", {**ANSWER, "value": None}, "value is null and unscored gives no reason"),
        ("answers", {**ANSWER, "value": None, "unscored": "refused"}, ""),
        ("answers", {**ANSWER, "value": 1.5}, ""),
        ("answers", {**ANSWER, "value": {}}, "value: found {}, expected true, false, a finite"),
        ("answers", {**ANSWER, "probability": 1}, ""),
        ("answers", {**ANSWER, "probability": 1.01}, "probability: found 1.01, expected 0 to 1"),
        ("answers", {**ANSWER, "probability": -0.01}, "probability: found -0.01, expected 0 to 1"),
        ("labelled-pairs", {**PAIR, "unscored": "x"}, "both value and unscored"),
        ("labelled-pairs", {**PAIR, "value": None, "probability": 0.5},
         "value is null, expected no probability either"),
        ("labelled-pairs", {**PAIR, "value": None, "unscored": "x"}, ""),
        ("labelled-pairs", {**PAIR, "value": None}, ""),
        ("labelled-pairs", {**PAIR, "value": "Partially "}, ""),
        ("labelled-pairs", {**PAIR, "value": 1}, "value: found 1, expected true, false, null, yes"),
        ("labelled-pairs", {**PAIR, "partial": True}, ""),
        ("labelled-pairs", {**PAIR, "partial": True, "value": False}, "partial is true, expected"),
        ("labelled-pairs", {**PAIR, "partial": True, "value": " NO"}, "partial is true, expected"),
        ("labelled-pairs", {**PAIR, "partial": False, "value": False}, ""),
        ("report-examples", EXAMPLE, ""),
        ("report-examples", {**EXAMPLE, "value": "partially"},
         "value: found partially, expected yes or no at attests"),
        ("report-examples", {**EXAMPLE, "value": "partially", "node": "relevant"}, ""),
        ("report-examples", {**EXAMPLE, "value": "partially", "node": "answers"}, ""),
        ("report-examples", {**EXAMPLE, "node": "none"}, "node: found none, expected one of"),
        ("rag-items", {**RAG, "argument_2": "B."}, ""),
        ("rag-items", {**RAG, "argument": "", "argument_2": "B."}, "argument_2 without argument"),
        ("rag-items", {**RAG, "argument": " ", "argument_2": " "}, ""),
        ("rag-items", {**RAG, "stance": "PRO"}, ""),
        ("rag-items", {**RAG, "stance": "neutral"}, "stance: found neutral, expected"),
        ("stance-items", {"id": "1", "text": "T", "question": "Q", "stance": ""}, "stance: found "),
        ("rating-items", {"id": "1", "text": "T", "stance": "neutral"}, ""),
        ("rated-items", {**RATED, "scale": [1, 3]}, ""),
        ("rated-items", {**RATED, "scale": [3, 3]},
         "scale: found [3, 3], expected [LOWEST, HIGHEST]"),
        ("rated-items", {**RATED, "scale": [1]}, "scale: found [1], expected [LOWEST, HIGHEST]"),
        ("rated-items", {**RATED, "scale": [1, 2, 3]},
         "scale: found [1, 2, 3], expected [LOWEST, "),
        ("rated-items", {**RATED, "ratings": {}}, "ratings is empty"),
        ("labelled-pairs", {**PAIR, "weight": 0}, "weight: found 0, expected a number above 0"),
        ("labelled-pairs", {**PAIR, "weight": 0.1}, ""),
        ("labels", {"id": "1", "value": None}, "value: found None, expected true, false, a finite"),
        ("debate-claims", {"id": "1", "claim": "C", "perspectives": []}, "perspectives is empty"),
        ("debate-claims", {"id": "1", "claim": "C", "perspectives": ["a", {"text": "b", "id": 1}]},
         "perspectives[1]: id: found '1' twice"),
        ("debate-claims", {"id": "1", "claim": "C", "perspectives": ["a", {"text": "b", "id": 3}]},
         ""),
    ],
)  # fmt: skip
def test_fields_of_rows_that_belong_together(
    name: str, row: dict[str, Any], problem: str, tmp_path: Path
) -> None:
    found = problems(name, row, tmp_path)
    assert [text[: len(problem)] for text in found] == [problem] * bool(problem)


# Documents in memory -----------------------------------------------------------------------------


def test_cells_of_a_frame_become_values_of_json() -> None:
    midnight = datetime.datetime(2024, 5, 1)  # noqa: DTZ001 - as in most tables
    cells: dict[str, Any] = {
        "time": midnight, "later": midnight.replace(hour=1), "date": datetime.date(2024, 5, 1),
        "clock": datetime.time(1, 2), "numpy": np.datetime64("2024-05-01"), "d": Decimal("1.5"),
        "span": datetime.timedelta(hours=1), "path": Path("a/b"), "array": np.array([1, 2]),
        "number": np.float32(0.5), "set": {1}, "tuple": (1, np.int64(2)), "map": {1: np.int8(3)},
        "name": np.str_("x"), "uuid": uuid.UUID(int=1), "none": None, "nan": float("nan"),
        "nat": np.datetime64("NaT"), "na": pd.NA, "zone": midnight.replace(tzinfo=datetime.UTC),
    }  # fmt: skip
    (document,) = pnyx.read_evidence([{"id": 7.0, "text": "T.", "doc_id": 3.5, **cells}])
    assert document.id == "7"
    assert document.extra == {
        "doc_id": 3.5, "time": "2024-05-01", "later": "2024-05-01T01:00:00", "date": "2024-05-01",
        "clock": "01:02:00", "numpy": "2024-05-01", "d": 1.5, "span": "1:00:00", "path": "a/b",
        "array": [1, 2], "number": 0.5, "set": [1], "tuple": [1, 2], "map": {"1": 3}, "name": "x",
        "uuid": "00000000-0000-0000-0000-000000000001", "zone": "2024-05-01T00:00:00+00:00",
    }  # fmt: skip


def test_ids_of_numbers_are_whole_and_below_2_to_the_53() -> None:
    largest = 9_007_199_254_740_991.0  # 2^53 - 1
    assert [d.id for d in pnyx.read_evidence([{"id": largest, "text": "T."}])] == [
        "9007199254740991"
    ]
    for odd in (largest + 1, 1.5, True):
        with pytest.raises(InputError, match="row 1: id: found"):
            list(pnyx.read_evidence([{"id": odd, "text": "T."}]))


def test_documents_in_memory_are_numbered_and_their_faults_named() -> None:
    rows: list[Any] = [
        "One.",
        {"text": "Two."},
        pnyx.Document("x", "Three."),
        {"docno": "d", "text": "F"},
    ]
    assert [d.id for d in pnyx.read_evidence(rows)] == ["1", "2", "x", "d"]
    for odd, problem in ((5, "row 2: found int"), ({"id": "a"}, "row 2: no text or contents")):
        with pytest.raises(InputError, match=problem):
            list(pnyx.read_evidence(["One.", odd]))
    with pytest.raises(InputError, match="holds no documents"):
        list(pnyx.read_evidence([]))


def test_runs_and_qrels_in_memory() -> None:
    rows = [{"qid": "1", "docno": "a", "score": 1}, {"qid": "1", "docno": "b", "score": 2}]
    assert [(e.doc_id, e.rank, e.tag) for e in pnyx.read_run(rows)] == [
        ("a", 2, "run"),
        ("b", 1, "run"),
    ]
    ranked = [{**rows[0], "rank": 5, "tag": "t u"}, rows[1]]
    assert [(e.rank, e.tag) for e in pnyx.read_run(ranked)] == [(5, "t_u"), (0, "run")]
    assert [(e.doc_id, e.rank) for e in pnyx.read_run({1: {"a": 1, "b": np.float64(2)}})] == [
        ("a", 2), ("b", 1),
    ]  # fmt: skip
    labels = [{"qid": "1", "docno": "a", "label": 1.0, "iteration": " s "},
              {"qid": 2, "docno": "b", "label": " 2 ", "iteration": ""}]  # fmt: skip
    assert [(q.topic_id, q.grade, q.subtopic) for q in pnyx.read_qrels(labels)] == [
        ("1", 1, "s"), ("2", 2, "0"),
    ]  # fmt: skip
    for odd, problem in (
        ({"qid": "1", "docno": "a", "label": 0.5}, "label: found 0.5, expected an integer"),
        ({"qid": "1", "docno": " ", "label": 1}, "docno is empty"),
        ({"qid": True, "docno": "a", "label": 1}, "qid: found True, expected an id"),
        ({"qid": "1", "label": 1}, "no document column, such as docno"),
        ({"qid": "1", "docno": "a"}, "no label or relevance column"),
    ):
        with pytest.raises(InputError, match=problem):
            list(pnyx.read_qrels([odd]))
    with pytest.raises(InputError, match=r"rank: found 1\.5, expected an integer"):
        list(pnyx.read_run([{**rows[0], "rank": 1.5}]))
    with pytest.raises(InputError, match="no score column"):
        list(pnyx.read_run([{"qid": "1", "docno": "a"}]))


# Questions, perspectives and debates -------------------------------------------------------------


def test_topics_are_in_the_order_of_their_numbers() -> None:
    topics = ["b", "10", "9", "a", "1" * 19, "1" * 18, "²", "-1"]
    assert sorted(topics, key=topic_order) == ["9", "10", "1" * 18, "-1", "1" * 19, "a", "b", "²"]


def test_two_perspectives_are_sides_by_their_order() -> None:
    views = [Perspective(str(n), q, f"T{n}") for q in ("10", "9") for n in (1, 2)]
    views.append(Perspective("3", "10", "T3"))
    assert list(by_question(views)) == ["9", "10"]
    sides = by_question(views, sides_by_order=True)
    assert [view.stance for view in sides["9"]] == ["pro", "con"]
    assert [view.stance for view in sides["10"]] == [None, None, None]
    assert [view.stance for view in by_question(views)["9"]] == [None, None]


def test_perspectives_of_berds_are_those_that_count_or_those_written(tmp_path: Path) -> None:
    rows = [
        {"org_id": 7, "org_q": "Q?", "id": 1, "text": "W1", "perspectives": ["A", "B"]},
        {"org_id": 7, "org_q": "Q?", "id": 2, "text": "W2", "perspectives": ["A", "B"]},
    ]
    path = tmp_path / "f"
    path.write_text("\n".join(map(json.dumps, rows)))
    assert [p.text for p in read_perspectives(path)] == ["W1", "W2"]
    assert [(p.question_id, p.id, p.text) for p in read_perspectives(path, gold=True)] == [
        ("7", "1", "A"), ("7", "2", "B"),
    ]  # fmt: skip
    assert [p.extra["question"] for p in read_perspectives(path)] == ["Q?", "Q?"]
    own = {"id": "p", "text": "T", "question": "Q?", "stance": "CON", "more": 1}
    (view,) = read("perspectives", own, tmp_path)
    assert (view.question_id, view.stance, view.extra) == (
        "Q?",
        "con",
        {"more": 1, "question": "Q?"},
    )
    assert problems("perspectives", {**own, "stance": "x"}, tmp_path) == [
        "stance: found x, expected one of pro, con, neutral"
    ]
    assert problems("berds", {"question": "Q?", "perspectives": ["a", " "]}, tmp_path) == [
        "perspectives[1] is empty"
    ]
    assert problems("berds", {"question": "Q?", "perspectives": []}, tmp_path) == [
        "perspectives is empty"
    ]


def test_a_page_of_a_debate_is_named_by_id_address_or_title(tmp_path: Path) -> None:
    def page(**fields: Any) -> Any:
        (tmp_path / "f").write_text(json.dumps({"pros": [{"title": "A"}], **fields}))
        return next(read_debates(str(tmp_path / "f")))

    assert page(title=" T ", id=5).id == "5"
    assert page(title="T", url=" https://a.org/tea/ ").id == "tea"
    assert page(title="T: u, v!").id == "T-u-v"
    assert page(title="¿?").id == "¿?"
    assert page(titles=["", " First "], title=None).title == "First"
    for fields, problem in (
        ({}, "no title"),
        ({"title": "T", "pros": [{}]}, "pros[0]: no title and no paragraphs"),
        ({"title": "T", "cons": [{"title": "A", "paragraphs": ["a"], "citations": [[], []]}]},
         "cons[0]: citations: found 2 lists, expected one for each of 1 paragraphs"),
    ):  # fmt: skip
        assert problems("debates", fields, tmp_path) == [problem]
    source = {"id": 1, "title": "2. A tea", "docid": 30}
    debate = page(title="T", sources=[source, {**source, "id": ""}, {"id": "x", "title": " "}])
    assert [bare_title(s) for s in debate.sources] == ["2. A tea", "A tea", ""]
    with pytest.warns(UserWarning, match="^1 source has no title and was left out: T-x$"):
        documents = list(pnyx.read_evidence(tmp_path / "f", format="debate-sources"))
    # The second one has the number of the first document, which occurs once.
    assert documents[0].id == "30"


def test_results_of_searches_are_ranked_from_one(tmp_path: Path) -> None:
    row = {"question_id": 3, "query": "Q?", "results": ["https://a.org", {"link": "b", "rank": 9}]}
    (tmp_path / "f").write_text(json.dumps(row))
    (results,) = read_search_results(str(tmp_path / "f"))
    assert [(r.url, r.rank) for r in results.results] == [("https://a.org", 1), ("b", 2)]
    assert problems("search-results", {**row, "results": ["a", {}]}, tmp_path) == [
        "results[2]: no url or link (fields found: none)"
    ]


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ({"text": "A.", "quality": "2.5"}, RatedText("A.", 2.5)),
        ({"Premise": "A.", "Combined Quality": 1, "Is Argument?": "True", "Topic ID": 7},
         RatedText("A.", 1.0, True, "7", True)),
        ({"argument": "A.", "WA": 1, "is_argument": 0}, RatedText("A.", 0.0, False, "", True)),
        ({"text": "A.", "is_argument": " NO ", "topic": " t "},
         RatedText("A.", 0.0, False, "t", True)),
        ({"text": "A.", "quality": True}, "quality: found True, expected a finite number"),
        ({"text": "A.", "quality": "nan"}, "quality: found nan, expected a finite number"),
        ({"text": "A.", "quality": "x"}, "quality: found x, expected a finite number"),
        ({"text": "A.", "quality": 1, "is_argument": "maybe"}, "is_argument: found maybe"),
        ({"text": "A."}, "no quality; name it with --column quality=NAME"),
        ({"text": " ", "quality": 1}, "text is empty"),
        ({"text": 5, "quality": 1}, "text is empty"),
    ],
)  # fmt: skip
def test_a_rated_text(row: dict[str, Any], expected: RatedText | str, tmp_path: Path) -> None:
    (tmp_path / "f").write_text(json.dumps(row))
    if isinstance(expected, str):
        with pytest.raises(InputError, match=expected):
            list(read_rated(str(tmp_path / "f")))
    else:
        assert list(read_rated(str(tmp_path / "f"))) == [expected]


def test_rated_texts_in_tables(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text("text\tquality\nA, b.\t1\n")
    (tmp_path / "a.CSV").write_text('body,quality\n"A, b.",1\n')
    assert list(read_rated(str(tmp_path / "a.tsv"))) == [RatedText("A, b.", 1.0)]
    assert list(read_rated(str(tmp_path / "a.CSV"), {"text": "body"})) == [RatedText("A, b.", 1.0)]


def written(name: str, record: Any) -> str:
    stream = io.StringIO()
    writer = FORMATS[name].writer
    assert writer is not None
    writer(stream, [record])
    return stream.getvalue()


def test_questions_that_a_format_would_read_as_something_else_are_refused() -> None:
    assert written("topics-tsv", Question("id", "Is tea hot?")) == "id\tIs tea hot?\n"
    for record, problem in (
        (Question("qid", "query"), "would be taken for a header"),
        (Question("1", "a", description="d"), "holds only id and text, and there is more"),
        (Question("a\tb", "Q"), "holds a tab or line end"),
        (Question("1", "a\nb"), "the text holds a line end"),
    ):
        with pytest.raises(InputError, match=problem):
            written("topics-tsv", record)
    for record, problem in (
        (Question("a b", "Q"), "cannot hold an id with white space"),
        (Question("a", " Q"), "cannot hold a text of several lines"),
        (Question("a", "Q", narrative="n"), "holds only id, text and definition"),
        (Question("a", "Q", definition="d\n"), "would change this definition"),
        (Question("a", "Q", definition="d\rd"), "would change this definition"),
        (Question("a", "Q", definition="  "), "would change this definition"),
    ):
        with pytest.raises(InputError, match=problem):
            written("guidelines", record)
    assert written("guidelines", Question("a", "Q", definition="# x\n\\# y\n#")) == (
        "## a: Q\n\n\\# x\n\\\\# y\n\\#\n\n"
    )


def test_topics_of_tabs_have_a_header_in_their_first_line_alone(tmp_path: Path) -> None:
    (tmp_path / "t.tsv").write_text('"Query-ID"\tText\nid\ttext\n')
    with pytest.warns(UserWarning, match="t.tsv:1: the header .Query-ID. and Text is not read"):
        questions = list(pnyx.read_questions(tmp_path / "t.tsv", "topics-tsv"))
    assert [(q.id, q.text) for q in questions] == [("id", "text")]
