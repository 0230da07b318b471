"""How `pnyx view` reads measures, calibrations and other JSON documents into its pages."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from command import write_rows
from pnyx.core.errors import InputError
from pnyx.display.svg import document as picture_of
from pnyx.display.tables import Column, Table
from pnyx.web.results.calibration import document_sections
from pnyx.web.results.catalogue import Catalogue
from pnyx.web.results.documents import check_document, document_pages
from pnyx.web.results.figure import Figure, FigureSection, figure_page, file_name, link_group
from pnyx.web.results.kinds import DIFFERENCES, JUDGEMENTS, MEASURES, RUNS, TOPICS
from pnyx.web.results.open_catalogue import open_catalogue
from pnyx.web.results.other_documents import other_document, unknown_file
from pnyx.web.results.records import NotFoundError
from pnyx.web.results.sources import RunQrels, given_sources


def cell(value: float | None, low: float | None = None, scored: int = 3, asked: int = 4):
    return {"value": value, "low": low, "high": low, "scored": scored, "asked": asked}


MEASURED = {
    "runs": [
        {
            "run": "a",
            "measures": {"recall": cell(None), "precision": cell(0.5, 0.25), "f1": 0.25,
                         "words": {"mean": 3}, "odd": {"value": True, "scored": True}},
            "items": {"precision": {"pooled": 0.75, **cell(0.1, 0.2, 30, 40)}, "f1": {"x": 1}},
            "per_group": {"t1": {"f1": cell(0.125)}},
        },
        {"run": "b", "measures": {"f1": cell(float("inf"))}, "per_group": None},
    ],
    "compared": ["precision", "F1", "f1", 3],
    "baseline": "b",
    "comparisons": [
        {"run": "a", "measure": "f1", "difference": 0.5, "low": 0.25, "high": 0.75, "p": 0.01,
         "p_holm": 0.02, "significant": True},
        {"run": "a", "measure": "recall", "difference": None, "p": 0.5, "baseline": "c"},
        "not a comparison",
    ],
}  # fmt: skip


@pytest.fixture
def measured(tmp_path) -> Catalogue:
    (tmp_path / "m.json").write_text(json.dumps(MEASURED))
    return open_catalogue([str(tmp_path / "m.json")])


def test_measures_of_a_run_are_read_with_their_counts_those_compared_first(measured):
    values = {value.measure: value for value in measured.values(run="a")}
    assert list(values) == ["f1", "precision", "precision_micro", "recall", "odd"]
    precision, micro, odd = (values[name] for name in ("precision", "precision_micro", "odd"))
    assert (precision.value, precision.low, precision.scored, precision.asked) == (0.5, 0.25, 3, 4)
    assert (micro.value, micro.low, micro.scored, micro.asked) == (0.75, 0.2, 30, 40)
    assert (values["f1"].value, values["f1"].scored) == (0.25, None)
    assert (values["recall"].value, odd.value, odd.scored) == (None, None, None)
    assert measured.values(run="b")[0].value is None  # not finite
    topics = measured.values(run="a", topics=True)
    assert [(v.topic, v.value) for v in topics if v.topic] == [("t1", 0.125)]
    assert [(v.run, v.value) for v in measured.values(topic="t1")] == [("a", 0.125)]


def test_comparisons_have_corrected_p_values_and_their_baselines(measured):
    rows = {row.measure: row for row in measured.table(DIFFERENCES).rows}
    assert [row.measure for row in measured.table(DIFFERENCES).rows] == ["recall", "f1"]
    first, second = rows["f1"], rows["recall"]
    assert (first.baseline, first.p, first.significant, first.difference) == ("b", 0.02, 1, 0.5)
    assert (second.baseline, second.p, second.significant) == ("c", 0.5, None)


def test_tables_are_sorted_by_a_column_in_either_direction(measured):
    def values(sort: str) -> list[float | None]:
        return [row.value for row in measured.table(MEASURES, 1, sort, run="a").rows]

    assert values("-value")[:3] == [0.75, 0.5, 0.25]
    assert [value for value in values("value") if value is not None] == [0.125, 0.25, 0.5, 0.75]
    assert [run.name for run in measured.table(RUNS, 1, "-name").rows] == ["c", "b", "a"]
    with pytest.raises(NotFoundError, match="this table has no such column"):
        measured.table(RUNS, 1, "other")
    assert [topic.name for topic in measured.table(TOPICS).rows] == ["t1"]
    assert measured.count(MEASURES, source="m") == measured.count(MEASURES) == 7
    assert measured.count(MEASURES, run="a", measure="f1") == 2
    assert [row.value for row in measured.every(MEASURES, measure="f1", topic="t1")] == [0.125]


def test_a_run_without_a_name_is_a_fault(tmp_path):
    (tmp_path / "m.json").write_text(json.dumps({"runs": [{"measures": {}}]}))
    with pytest.raises(InputError, match="runs: found no name of a run"):
        open_catalogue([str(tmp_path / "m.json")])


def test_judgements_of_an_item_and_of_its_parts(tmp_path):
    names = ("a/1", "a/1/x", "a/1-x", "a/10", "a/2")
    rows = [
        {"id": name, "task": "support", "value": n % 2 == 0, "group": f"t{n % 2}"}
        for n, name in enumerate(names)
    ]
    rows[0] |= {"value": None}
    write_rows(tmp_path / "a.jsonl", rows)
    catalogue = open_catalogue([str(tmp_path)])
    assert [row.item for row in catalogue.judgements_under("a", "a/1")] == ["a/1", "a/1/x"]
    assert [row.n for row in catalogue.judgements_of_item("a/10", "a")] == [4]
    assert catalogue.judged_on(topic="t0") == [("a", 2, 3, "t-t0")]
    assert catalogue.judged_on(topic="t1") == [("a", 2, 2, "t-t1")]
    assert [n for n, _ in catalogue.lines("a")] == [1, 2, 3, 4, 5]
    assert catalogue.count(JUDGEMENTS, source="a", value="unscored", topic="t0") == 1
    assert [(run.name, run.scored, run.asked) for run in catalogue.topics()] == [
        ("t0", 2, 3), ("t1", 2, 2),
    ]  # fmt: skip
    with pytest.raises(NotFoundError, match="no source of this name was read"):
        catalogue.source("b")
    with pytest.raises(NotFoundError, match="this is not among the results"):
        catalogue.judgement("a", 6)


# Calibrations -------------------------------------------------------------------------------------


def shown(figure: Figure) -> list[list[str]]:
    columns = figure.table.columns
    return [[c.shown(x) for c, x in zip(columns, row, strict=True)] for row in figure.table.rows]


def test_measures_of_probabilities_are_a_table_and_a_diagram():
    bins = [{"from": 0, "to": 0.5, "count": 2, "mean_probability": 0.25, "share": 0.5, "low": 0.1,
             "high": 0.9}]  # fmt: skip
    document = {"measures": {"auroc": cell(0.75), "ece": cell(0.125), "kappa": cell(0.5)},
                "counts": {"scored": 1200, "asked": 1300, "without_probability": 4},
                "reliability": bins, "task": "support"}  # fmt: skip
    (section,) = document_sections(document)
    assert section.text == [
        "1,200 of 1,300 answers are scored.",
        "4 have no probability and are not in these figures.",
    ]
    diagram, table = section.figures
    assert [row[1:] for row in shown(table)] == [["0.125", "3 of 4"], ["0.750", "3 of 4"]]
    assert shown(diagram) == [["0.000", "0.500", "2", "0.250", "0.500", "[0.100, 0.900]"]]
    assert diagram.picture.startswith("<svg")
    empty = {**document, "reliability": [{**bins[0], "count": 0}], "counts": {}}
    (section,) = document_sections(empty)
    assert (section.figures[0].picture, section.text) == ("", [])
    (section,) = document_sections({"measures": {}, "counts": {"scored": 1, "asked": 1}})
    assert (len(section.figures), len(section.text)) == (1, 1)


def test_a_recalibration_has_its_curve_and_what_may_be_kept():
    document = {
        "format": "pnyx-calibration", "method": "platt",
        "parameters": {"slope": 1.0, "intercept": 0.0},
        "threshold": 0.5,
        "about": {
            "counts": {"fitted": 1200, "groups": 3, "yes": 600},
            "figures": {"before": {"ece": cell(0.5), "own": cell(0.2)},
                        "after": {"ece": cell(0.25)}},
        },
        "sure": {"low": 0.1, "high": None, "error": 0.05, "labelled": 10,
                 "no": {"kept": 4, "errors": 0, "bound": 0.04},
                 "yes": {"kept": 0, "errors": 0, "bound": None}},
    }  # fmt: skip
    curve, selective = document_sections(document)
    first, gain = curve.figures
    assert len(first.table.rows) == 21
    assert [row[0] for row in shown(first)][:3] == ["0.000", "0.050", "0.100"]
    assert first.caption == "Curve: platt; yes from a recalibrated probability of 0.50."
    assert curve.text == ["Fitted on 1,200 answers of 3 topics, 600 of them yes by their labels."]
    assert [row[1:] for row in shown(gain)] == [["0.500", "0.250", "3 of 4"]]
    assert selective.text == ["Where answers are kept so that at most 5% are wrong."]
    assert shown(selective.figures[0]) == [
        ["no", "at most 0.100", "4 of 10", "0", "4.0%"], ["yes", "nowhere", "0 of 10", "0", "-"],
    ]  # fmt: skip


def test_thresholds_and_cutoffs_are_rows():
    def points(name: str, *at: float) -> list[dict]:
        series = {key: cell(0.5) for key in ("f1", "precision", "recall", "mean_f1")}
        return [{name: x, **series} for x in at]

    best = {"at": 0.25, "f1": cell(0.625), "held_out_f1": cell(0.5)}
    document = {"judge": "j", "thresholds": points("threshold", 0.25, 0.5),
                "cutoffs": points("k", 1), "best_threshold": best, "best_cutoff": {**best, "at": 1},
                "gain": cell(0.1)}  # fmt: skip
    (section,) = document_sections(document)
    assert section.text == [
        "F1 is highest from a probability of 0.25 on, at 0.625; chosen on the same labels."
    ]
    assert [row[:3] for row in shown(section.figures[0])] == [
        ["threshold", "0.250", "0.500"], ["threshold", "0.500", "0.500"], ["k", "1.000", "0.500"],
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("document", "page"),
    [
        ({"format": "pnyx-calibration"}, "calibration"),
        ({"measures": {}, "reliability": []}, "calibration"),
        ({"thresholds": []}, "calibration"),
        ({"measures": [], "reliability": []}, None),
        ({"measures": {}}, None),
        ({"runs": [], "measures": {}, "reliability": []}, None),
    ],
)
def test_a_document_has_the_page_of_its_kind(document, page):
    fits = [found.name for found in document_pages() if found.fits(document)]
    assert fits[-1:] == ([page] if page else [])
    if document.get("format"):
        with pytest.raises(KeyError):
            check_document(document)


# Figures ------------------------------------------------------------------------------------------


def test_a_figure_has_its_picture_and_its_numbers_as_files():
    table = Table([Column("n", "count")], [(1,)])
    drawn = Figure("one", "One", picture_of("t", 10, 10, [], []), table, "Says it.")
    none = Figure("two", "Two", "", table)
    assert [name for name, _ in drawn.files()] == ["one.svg", "one.csv"]
    assert [(name, file.media_type) for name, file in none.files()] == [("two.csv", "text/csv")]
    assert 'id="one-title"' in drawn.inline()
    assert '<desc id="one-desc">Says it.</desc>' in drawn.inline()
    assert none.inline() == ""
    assert "<td" in none.numbers()
    page = figure_page("T", ("a",), [FigureSection("A Part", (), [drawn, none])])
    assert sorted(page.files) == ["one.csv", "one.svg", "two.csv"]
    assert FigureSection("A Part").key == "a-part" or FigureSection("A Part").key.startswith(
        "a-part"
    )
    links = [("a", ("x",)), ("b", ("y",))]
    assert [(group.pages, group.total) for group in link_group("L", links, 1)] == [(links[:1], 2)]
    assert link_group("L", []) == []
    assert [file_name(path) for path in ("a/b.json", "C:\\x\\y.json", "a/b/")] == [
        "b.json", "y.json", "b",
    ]  # fmt: skip


# What is not results ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("document", "words"),
    [
        ({"format": "pnyx-results"}, "the manifest of a run, expected results: give the folder"),
        ({"check": 1, "judges": 2, "decision": 3}, "what pnyx check writes"),
        ({"check": 1, "judges": 2}, ""),
        ({"out": 1, "banks": 2, "nuggets": 3}, "what pnyx nuggets create prints"),
        ({"index": 1, "documents": 2, "reports": 3}, "what pnyx report prints"),
        ({"index": 1, "documents": 2}, "what pnyx index prints"),
        ({}, ""),
    ],
)
def test_documents_of_pnyx_without_results_are_named(document, words):
    found = other_document(document)
    assert found.startswith(words)
    assert bool(found) is bool(words)


def test_eight_fields_of_an_unknown_document_are_named():
    said = unknown_file("x", {f"f{n}": n for n in range(9)})
    assert "with the fields f0, f1, f2, f3, f4, f5, f6, f7, expected results" in said
    assert "the fields none, expected" in unknown_file("x", {})
    assert unknown_file("found nothing: name it", None).startswith(
        "found nothing, expected results: docs/"
    )


def test_runs_are_measured_on_given_judgements(tmp_path):
    (tmp_path / "a.run").write_text("t Q0 d 1 2.0 a\n")
    (tmp_path / "qrels.txt").write_text("t 0 d 1\n")
    sources = given_sources([str(tmp_path / "a.run")], RunQrels(str(tmp_path / "qrels.txt"), "a"))
    (source,) = sources
    assert (source.kind, source.name, source.baseline) == ("retrieval", "qrels", "a")
    assert list(map(Path, source.runs)) == [tmp_path / "a.run"]
    write_rows(tmp_path / "answers.jsonl", [{"id": "i", "value": True, "task": "support"}])
    with pytest.raises(InputError, match="expected runs to measure in"):
        given_sources([str(tmp_path / "answers.jsonl")], RunQrels(str(tmp_path / "qrels.txt")))
    with pytest.raises(InputError, match="expected a file or a folder of results"):
        given_sources([str(tmp_path / "nothing")])
