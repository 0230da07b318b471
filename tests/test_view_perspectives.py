"""Pages of perspectives, from a few verdicts whose figures can be worked out by hand."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from command import write_rows
from pnyx.perspectives.pages import PAGES
from pnyx.web.results.catalogue import Catalogue
from pnyx.web.results.open_catalogue import open_catalogue
from pnyx.web.results.pages import Address
from pnyx.web.results.records import NotFoundError

YES, NO, OPEN = True, False, None
(ROUTE,) = PAGES


def answer(topic: str, doc: str, view: str, value: bool | None, **more: Any) -> dict[str, Any]:
    row = {"id": f"{topic}/{doc}/{view}/{more.get('passage', 1)}", "task": "support",
           "question_id": topic, "doc_id": doc, "perspective_id": view, "judge": "j",
           "value": value, "probability": {YES: 0.9, NO: 0.1, OPEN: None}[value]}  # fmt: skip
    return {**row, **({"unscored": "timeout"} if value is None else {}), **more}


def results(
    folder: Path,
    rows: Sequence[Mapping[str, Any]],
    run: Mapping[str, Sequence[str]] | None = None,
) -> Catalogue:
    """Open a catalogue of answers called `views`, and of a run called `ranked` if given."""
    paths = [write_rows(folder / "views.jsonl", rows)]
    if run:
        lines = [
            f"{topic} Q0 {doc} {rank} {1 / rank} ranked\n"
            for topic, documents in run.items()
            for rank, doc in enumerate(documents, 1)
        ]
        (folder / "ranked.run").write_text("".join(lines))
        paths.append(str(folder / "ranked.run"))
    return open_catalogue(paths)


def shown(catalogue, *parts: str):
    return ROUTE.show(catalogue, Address("perspectives", parts))


def matrix_of(catalogue, *parts: str):
    return shown(catalogue, "views", *parts).values["matrix"]


@pytest.mark.parametrize(
    ("documents", "depths"),
    [(4, [4]), (5, [5]), (9, [5]), (10, [5, 10]), (19, [5, 10]), (20, [5, 10, 20])],
)
def test_measures_are_at_5_10_and_20_or_at_all_documents(documents, depths, tmp_path):
    rows = [answer("q", f"d{n}", "p", n == 0) for n in range(documents)]
    matrix = matrix_of(results(tmp_path, rows), "q")
    assert {name: bounded.value for name, bounded in matrix.measures.items()} == {
        name: value
        for k in depths
        for name, value in ((f"MRecall@{k}", 1.0), (f"Precision@{k}", 1 / k))
    }


def test_a_perspective_is_covered_missing_or_open(tmp_path):
    rows = [
        answer("q", doc, view, value)
        for view, values in {
            "covered": (NO, YES, OPEN), "missing": (NO, NO, NO), "open": (NO, OPEN, NO),
        }.items()
        for doc, value in zip("abc", values, strict=True)
    ]  # fmt: skip
    matrix = matrix_of(results(tmp_path, rows), "q")
    assert {row.perspective.id: (row.state, row.rank, row.open) for row in matrix.rows} == {
        "covered": ("yes", 2, 1), "missing": ("no", None, 0), "open": ("unscored", None, 1),
    }  # fmt: skip
    covered = matrix.covered
    assert (covered.value, covered.scored, covered.asked) == (0.5, 2, 3)
    assert matrix.supporting == [0, 1, 0]
    assert [matrix.count(state) for state in ("yes", "no", "unscored")] == [1, 1, 1]


def test_the_table_of_a_question_has_a_row_for_each_pair(tmp_path):
    catalogue = results(tmp_path, [answer("q", "a", "p", YES), answer("q", "b", "p", OPEN)])
    (file,) = shown(catalogue, "views", "q").files.values()
    assert list(csv.DictReader(io.StringIO("".join(file.parts())))) == [
        {"perspective": "p", "side": "", "rank": "1", "document": "a", "supports": "yes",
         "probability": "0.9", "unscored": ""},
        {"perspective": "p", "side": "", "rank": "2", "document": "b", "supports": "",
         "probability": "", "unscored": "timeout"},
    ]  # fmt: skip


def test_documents_are_ranked_by_a_run_down_to_the_last_that_was_judged(tmp_path):
    rows = [answer("q", doc, "p", doc == "b") for doc in "ab"] + [answer("r", "x", "p", YES)]
    run = {"q": ["new", "b", "a", "below"], "r": ["other"]}
    catalogue = results(tmp_path, rows, run)
    assert list(matrix_of(catalogue, "q").documents) == ["a", "b"]
    ranked = matrix_of(catalogue, "q", "ranked")
    assert list(ranked.documents) == ["new", "b", "a"]
    assert ranked.rows[0].rank == 2
    page = shown(catalogue, "views", "q", "ranked").values
    assert page["order"] == "3, as ranked ranks them"
    assert [(name, chosen) for name, _, chosen in page["orders"]] == [
        ("as judged", False), ("ranked", True),
    ]  # fmt: skip
    assert shown(catalogue, "views", "q").values["order"] == (
        "2, in the order in which they were judged"
    )
    with pytest.raises(NotFoundError, match="no result of this run was judged"):
        matrix_of(catalogue, "r", "ranked")
    assert {pages for _, pages in ROUTE.addresses(catalogue)} == {1}
    assert [parts for parts, _ in ROUTE.addresses(catalogue)] == [
        (), ("views",), ("views", "q"), ("views", "q", "ranked"), ("views", "r"),
    ]  # fmt: skip


def test_of_several_passages_the_most_probable_one_decides(tmp_path):
    parts = {"passages": 2}
    rows = [
        answer("q", "a", "p", YES, passage=1, probability=0.6, **parts),
        answer("q", "a", "p", YES, passage=2, probability=0.8, **parts),
        answer("q", "b", "p", NO, passage=1, probability=0.4, **parts),
        answer("q", "b", "p", NO, passage=2, probability=0.2, **parts),
    ]
    catalogue = results(tmp_path, rows)
    values = shown(catalogue, "views", "q").values
    verdicts = values["matrix"].rows[0].verdicts
    assert [(v.value, v.probability) for v in verdicts] == [(True, 0.8), (False, 0.4)]
    assert values["judgements"] == {
        ("a", "p"): ("judgement", "views", "2"), ("b", "p"): ("judgement", "views", "3"),
    }  # fmt: skip


@pytest.mark.parametrize(("questions", "more"), [(40, ""), (41, " The picture has the first 40.")])
def test_the_picture_has_forty_questions_and_the_table_all(questions, more, tmp_path):
    rows = [answer(f"q{n:02}", "d", "p", n < 10) for n in range(questions)]
    catalogue = results(tmp_path, rows)
    (section,) = shown(catalogue, "views").values["sections"]
    (figure,) = section.figures
    assert figure.caption.startswith(f"Of {questions} questions; ")
    assert figure.caption.endswith(f"is left out of the mean.{more}")
    assert len(figure.table.rows) == 1 + questions
    assert figure.table.rows[0][:6] == ("all", questions, 10, questions - 10, 0, questions)
    assert figure.table.rows[0][6].value == pytest.approx(10 / questions)


def test_a_source_says_how_many_pairs_are_scored(tmp_path):
    rows = [answer("q", doc, "p", value) for doc, value in (("a", YES), ("b", OPEN))]
    catalogue = results(tmp_path, rows)
    assert shown(catalogue, "views").values["lead"] == "1 of 2 pairs are scored by j."
    assert shown(catalogue).values["title"] == "Perspectives"
    assert list(ROUTE.of_source(catalogue, catalogue.source("views"))) == [
        ("Perspectives", ("perspectives", "views"))
    ]


def test_results_without_perspectives_have_no_page(tmp_path):
    row = {"id": "1", "task": "support", "judge": "j", "value": True}
    catalogue = results(tmp_path, [row])
    assert list(ROUTE.addresses(catalogue)) == []
    with pytest.raises(NotFoundError, match="no verdicts on perspectives"):
        shown(catalogue, "views")
    catalogue = results(tmp_path, [answer("q", "a", "p", YES)])
    with pytest.raises(NotFoundError, match="no run of this name"):
        shown(catalogue, "views", "q", "best")
