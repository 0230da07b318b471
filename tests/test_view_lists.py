"""Lists of `pnyx view`: texts, labels, what they are narrowed to; texts that an export has once."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from argue_report import write_files, write_labels
from command import write_rows
from pnyx.display.text import cut
from pnyx.search import build_index
from pnyx.web.rendering import Links
from pnyx.web.results.catalogue import Catalogue
from pnyx.web.results.open_catalogue import open_catalogue
from pnyx.web.results.pages import Address
from pnyx.web.results.routes import address_of, rendered, show, site_of
from pnyx.web.results.shared_pages import Once, places_of
from pnyx.web.results.tables import of_many
from pnyx.web.results.texts import listed_texts
from view_results import run


def answers(judge: str, values: list) -> list[dict]:
    return [
        {"id": f"i{n}", "task": "support", "value": value, "judge": judge, "probability": p,
         "statement": f"Statement number {n} & more.", "text": "A text."}
        for n, (value, p) in enumerate(values)
    ]  # fmt: skip


@pytest.fixture(scope="module")
def judged(tmp_path_factory) -> Catalogue:
    folder = tmp_path_factory.mktemp("lists")
    values = [(True, 0.9), (False, 0.45), (True, 0.58), (None, None)]
    write_rows(folder / "first.jsonl", answers("one", values))
    write_rows(folder / "second.jsonl", answers("two", [(True, 0.9), (True, 0.8), (True, 0.9)]))
    labels = [{"id": f"i{n}", "value": value} for n, value in enumerate((True, True, False, True))]
    write_rows(folder / "labels.jsonl", labels)
    return open_catalogue([str(folder)])


def items_of(catalogue: Catalogue, **chosen: str) -> set[str]:
    return {row.item for row in catalogue.judgements(source="first", **chosen).rows}


def test_judgements_are_narrowed_to_what_is_wrong_near_or_disagreed_on(judged):
    assert items_of(judged, labelled="wrong") == {"i1", "i2"}
    assert items_of(judged, labelled="right") == {"i0"}  # what is unscored is neither
    assert items_of(judged, threshold="near") == {"i1", "i2"}
    assert items_of(judged, judges="disagree") == {"i1"}
    assert items_of(judged, labelled="wrong", judges="disagree") == {"i1"}


def test_a_probability_is_near_its_threshold_within_0_1(tmp_path):
    rows = answers("one", [(p > 0.5, p) for p in (0.39, 0.4, 0.6, 0.61, 0.14, 0.15, 0.35, 0.36)])
    rows = [row | ({"threshold": 0.25} if row["probability"] < 0.37 else {}) for row in rows]
    write_rows(tmp_path / "first.jsonl", rows)
    near = items_of(open_catalogue([str(tmp_path)]), threshold="near")
    assert near == {"i1", "i2", "i5", "i6"}  # 0.4 and 0.6 of 0.5; 0.15 and 0.35 of 0.25


def test_labels_may_be_words_and_of_several_people(tmp_path):
    write_rows(tmp_path / "first.jsonl", answers("one", [(True, 0.9), (True, 0.8), (True, 0.7)]))
    said = {"i0": ("yes", "no", "no"), "i1": ("yes", "no"), "i2": ("no", "no", "Partially")}
    rows = [
        {"id": item, "value": value, "annotator": f"p{n}"}
        for item, values in said.items()
        for n, value in enumerate(values)
    ]
    rows.append({"id": "i2", "value": "yes", "annotator": "adjudicated"})
    write_rows(tmp_path / "labels.jsonl", rows)
    catalogue = open_catalogue([str(tmp_path)])
    assert items_of(catalogue, labelled="wrong") == {"i0"}  # by the majority
    assert items_of(catalogue, labelled="right") == {"i2"}  # who decides counts alone
    assert {row.item for row in catalogue.judgements(source="first").rows} == {"i0", "i1", "i2"}


def test_a_list_shows_texts_labels_and_the_ways_to_narrow_it(judged):
    address = address_of("/judgements/first")
    page = rendered(show(judged, address), address, site_of(["first"]), Links())
    assert page.count("A text. · Statement number") == 4
    assert "Statement number 1 &amp; more." in page
    assert len(re.findall(r"</i> differs", page)) == 2
    for key in ("l-wrong", "t-near", "j-disagree"):
        assert f'href="/judgements/first/{key}"' in page


def test_what_all_rows_of_a_list_have_alike_is_said_once(judged):
    def page(path: str) -> tuple[list[str], str]:
        address = address_of(path)
        html = rendered(show(judged, address), address, site_of(["first"]), Links())
        return re.findall(r"<th scope=\"col\"[^>]*>(?:<a[^>]*>)?([^<]*)", html), html

    heads, html = page("/judgements/all")
    assert heads == ["Item", "Text", "Task", "Value", "Label", "P(yes)", "Judge"]
    heads, html = page("/judgements/first/v-yes")
    assert heads == ["Item", "Text", "Label", "P(yes)"]
    assert '<div><dt>judge</dt><dd><span title="one">one</span></dd></div>' in html
    assert page("/judgements/first/v-unscored")[0] == ["Item", "Text", "Value", "Label", "P(yes)"]


def test_micro_means_stand_beside_means_as_pnyx_measure_gives_them(tmp_path):
    reports, bank = write_files(tmp_path)
    labels = write_labels(tmp_path / "labels.jsonl")
    run(
        "judge",
        "report",
        reports,
        "--nuggets",
        bank,
        "--judge",
        labels,
        "--out",
        tmp_path / "judged",
    )
    measured = json.loads(run("measure", "report", tmp_path / "judged", "--json")[1])
    (tmp_path / "m.json").write_text(json.dumps(measured), encoding="utf-8")
    for given in ("judged", "m.json"):
        catalogue = open_catalogue([str(tmp_path / given)])
        for row in measured["runs"]:
            shown = {v.measure: v for v in catalogue.values(run=row["run"]) if not v.topic}
            for name in ("sentence_precision", "citation_recall", "nugget_recall"):
                items, micro = row["items"][name], shown[f"{name}_micro"]
                assert micro.value == pytest.approx(items["pooled"]), (given, name)
                assert (micro.scored, micro.asked) == (items["scored"], items["asked"])


def test_the_request_stands_on_the_page_of_its_topic(tmp_path):
    request = {"request_id": "7", "title": "Chips", "problem_statement": "Which chips are made?",
               "background": "A buyer asks.", "collection_ids": ["c"], "limit": 2000}  # fmt: skip
    write_rows(tmp_path / "requests.jsonl", [request])
    catalogue = open_catalogue([str(tmp_path)])
    page = rendered(
        show(catalogue, Address("topic", ("7",))), Address("topic", ("7",)), site_of(["x"]), Links()
    )
    assert "Which chips are made?" in page
    assert "A buyer asks." in page


def test_a_text_stands_once_in_a_file_of_an_export():
    once, long = Once(), "Words of a document. " * 60
    first = once.passage(cut(long, {"e": (400, 420)}))
    again = once.passage(cut(long, {"e": (900, 920)}))
    assert first[0] == again[0] != ""
    assert "".join(s.text for s in first[1]) == long
    assert [s.text for s in again[1] if s.kind == "mark"] == [long[900:920]]
    assert sum(len(s.text) for s in again[1]) < len(long) / 2
    prompt = f"Judge this:\n{long}\nReply."
    _, parts = once.message(prompt)
    assert parts == [("Judge this:\n", ""), (f"{len(long):,}", first[0]), ("\nReply.", "")]
    at, whole = once.message("short")
    assert (bool(at), whole) == (True, [("short", "")])


@pytest.mark.parametrize("length", [299, 300])
def test_a_text_of_300_characters_is_not_repeated_in_a_file_of_an_export(length):
    once, text = Once(), "a" * length
    first, _ = once.message(text)
    parts = (
        [("Judge:\n", ""), ("300", first), ("", "")] if length == 300 else [(f"Judge:\n{text}", "")]
    )
    assert once.message(f"Judge:\n{text}")[1] == parts


@pytest.mark.parametrize("reports", [1000, 1001])
def test_up_to_1000_reports_have_files_of_their_own_in_an_export(reports):
    places = places_of([Address("report", ("s", "run", "t", str(n))) for n in range(reports)])
    assert len({place.path for place in places.values()} & places.keys()) == (
        1000 if reports == 1000 else 0
    )


@pytest.mark.parametrize(("judges", "left_out"), [(40, 0), (41, 41)])
def test_an_export_has_lists_narrowed_to_each_of_up_to_40_values(judges, left_out, tmp_path):
    rows = [row for n in range(judges) for row in answers(f"judge {n}", [(True, 0.9)])]
    write_rows(tmp_path / "first.jsonl", rows)
    catalogue = open_catalogue([str(tmp_path)])
    assert len(of_many(catalogue, "judgements", "first")) == left_out


def test_passages_come_from_the_index_that_was_given(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("PNYX_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    build_index(["Halden halved its fares in May.", "Zoos should close."], "my.index")
    known = {"task": "support", "value": True, "judge": "j", "question_id": "q"}
    rest = {"perspective_id": "p", "unscored": None}
    answers = [{"id": f"q/{n}/p", "doc_id": str(n), **known, **rest} for n in (1, 3)]
    Path("answers.jsonl").write_text("".join(json.dumps(row) + "\n" for row in answers))
    view = {
        "id": "p",
        "question_id": "q",
        "question": "Fares?",
        "text": "Fares fell.",
        "stance": "pro",
    }
    Path("perspectives.jsonl").write_text(json.dumps(view) + "\n")
    catalogue = open_catalogue(["answers.jsonl", "perspectives.jsonl", "my.index"])
    rows = catalogue.judgements().rows
    assert listed_texts(catalogue, rows) == [
        "Halden halved its fares in May. · Fares fell.",
        "Fares fell.",
    ]
    assert [s.kind for s in catalogue.sources()] == ["answers", "perspectives", "collection"]
