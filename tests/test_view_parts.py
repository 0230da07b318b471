"""Parts of pages of `pnyx view`: small pictures, words, texts that an export has once."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from command import write_rows
from pnyx.display.text import Segment
from pnyx.web.rendering import Links
from pnyx.web.results import open_catalogue
from pnyx.web.results.boards import Board, BoardRow, bar_of
from pnyx.web.results.catalogue import Catalogue
from pnyx.web.results.judgement import sentences_resting_on
from pnyx.web.results.pages import Address
from pnyx.web.results.records import (
    MeasureValue,
    ReportRow,
    RowPage,
)
from pnyx.web.results.routes import address_of, rendered, show, site_of
from pnyx.web.results.shared_pages import Once, places_of
from pnyx.web.results.words import measure_label, worded


def answer(n: int, value: object = True, judge: str = "j", **more: object) -> dict[str, object]:
    row = {"id": f"i{n}", "task": "support", "value": value, "judge": judge, "probability": 0.9}
    return {**row, "text": f"Text {n}.", "statement": "It is so.", **more}


def opened(folder: Path, **files: list[dict[str, object]]) -> Catalogue:
    for name, rows in files.items():
        write_rows(folder / f"{name}.jsonl", rows)
    return open_catalogue.open_catalogue([str(folder)])


def page_of(catalogue: Catalogue, path: str, **links: object) -> str:
    address = address_of(path)
    return rendered(show(catalogue, address), address, site_of(["results"]), Links(**links))


# Small pictures and words -------------------------------------------------------------------------


def value_of(value: float | None, low: float | None = None, high: float | None = None):
    return MeasureValue("s", "r", "", "m", value, low, high, 1, 1)


@pytest.mark.parametrize(
    ("value", "scale", "dot", "line"),
    [
        (value_of(0.5, 0.25, 1.0), None, "52.0", "M28.5 7H99.0"),  # 5 + 94 * 0.5; 0.25; 1
        (value_of(0.0, 0.0), None, "5.0", ""),
        (value_of(0.0, 0.0, 0.5), None, "5.0", "M5.0 7H52.0"),
        (value_of(3.0), None, "99.0", ""),
        (value_of(3.0, 1.0, 4.0), None, "75.5", "M28.5 7H99.0"),
        (value_of(-1.0, -2.0, 2.0), None, "28.5", "M5.0 7H99.0"),
        (value_of(5.0), (0.0, 2.0), "99.0", ""),
        (value_of(-5.0), (0.0, 2.0), "5.0", ""),
        (value_of(2.0), (2.0, 2.0), "5.0", ""),
    ],
)
def test_a_value_is_a_dot_on_the_scale_of_its_column(value, scale, dot, line):
    picture = bar_of(value, scale)
    assert f'cx="{dot}"' in picture
    assert re.findall(r'd="([^"]*)"', picture) == ([line] if line else [])
    assert bar_of(value_of(None)) == ""


def test_rows_of_a_board_count_what_is_unscored():
    report = ReportRow(1, "s", "r", "t", "judged", "", 2, 3, 5, 0, 0, 0, 1)
    row = BoardRow("r", [report], {"m": value_of(None), "n": value_of(0.5)})
    assert row.unscored == 1 + 2
    board = Board("s", "run", ["m", "n"], RowPage([row], 1), sorted_by="m")
    assert (board.order("m"), board.order("n")) == ("m.up", "n")
    assert board.bar(value_of(0.5)) == ""
    assert board.bar(value_of(0.5), alone=True) != ""
    assert board.values(1) == [row.values["m"], row.values["n"]]


def test_the_probability_of_a_judgement_is_on_a_line_of_360(tmp_path):
    catalogue = opened(tmp_path, a=[answer(0, probability=0.25, threshold=0.75)])
    page = page_of(catalogue, "/judgement/a/1")
    assert 'viewBox="-8 0 376 52"' in page
    assert '<circle class="dot" cx="90.0"' in page
    assert '<line class="cut" x1="270.0"' in page


def test_words_of_measures_and_values():
    assert [measure_label(name) for name in ("f1", "nDCG@10", "citation_recall", "AP", "_")] == [
        "F1", "nDCG@10", "Citation recall", "AP", "Measure",
    ]  # fmt: skip
    assert worded(None) == ("unscored", "unscored")
    assert worded(True, 0.49) == ("weak", "perhaps yes")
    assert worded(True, 0.5) == ("yes", "yes")
    assert worded(2, scale=[1, 5]) == ("uncited", "2 of 1 to 5")
    assert worded(2, scale=[True, 5]) == ("uncited", "2")
    assert worded(2, scale=[1, 2, 3]) == ("uncited", "2")
    assert worded([2, 0]) == ("uncited", "best first: 3, 1")
    assert worded("tie") == ("uncited", "neither")


# Files that pages of an export share --------------------------------------------------------------


def paths_of(addresses: list[Address]) -> list[tuple[str, str]]:
    return list(map(tuple, places_of(addresses).values()))


def test_a_file_has_100_judgements():
    places = paths_of([Address("judgement", ("s", str(n))) for n in range(1, 202)])
    assert places[0] == ("judgement/s/1.html", "j1")
    assert places[99] == ("judgement/s/1.html", "j100")
    assert places[100] == ("judgement/s/2.html", "j101")
    assert places[200] == ("judgement/s/3.html", "j201")


@pytest.mark.parametrize(("reports", "alone"), [(1000, True), (1001, False)])
def test_more_than_1000_reports_share_files_of_60_on_a_topic(reports, alone):
    addresses = [Address("report", ("s", f"r{n}", "t")) for n in range(reports)]
    addresses.append(Address("sentence", ("s", "r0", "t", "3")))
    places = paths_of(addresses)
    assert places[-1] == ("sentence/s/r0/t.html", "s3")
    if alone:
        assert places[60] == ("report/s/r60/t.html", "")
    else:
        assert places[59] == ("reported/s/t/1.html", "r60")
        assert places[60] == ("reported/s/t/2.html", "r61")


@pytest.mark.parametrize(("length", "is_linked"), [(299, False), (300, True)])
def test_a_repeated_text_of_300_characters_is_a_link(length, is_linked):
    once, text = Once(), [Segment("text", "a" * length)]
    assert once.passage(text) == (("text-1", text) if is_linked else ("", text))
    anchor, shown = once.passage(text)
    assert anchor == ("text-1" if is_linked else "")
    assert [segment.kind for segment in shown] == (["text", "gap"] if is_linked else ["text"])


def test_a_repeated_text_has_120_characters_around_its_evidence():
    once = Once()
    words = "word " * 100
    text = [Segment("text", words), Segment("mark", "evidence"), Segment("text", f" {words}")]
    once.passage(text)
    _, shown = once.passage(text)
    kinds = [(segment.kind, len(segment.text)) for segment in shown if segment.kind != "gap"]
    # 500 characters before: from 380 on; the text begins with 120 of its own, to the end of a word.
    assert kinds == [("text", 124), ("text", 120), ("mark", 8), ("text", 120)]


@pytest.mark.parametrize(("length", "is_linked"), [(299, False), (300, True)])
def test_lines_of_a_message_that_are_repeated_are_a_link(length, is_linked):
    once = Once()
    first = "\n".join(("a" * 100, "b" * (length - 101)))
    assert once.message(f"{first}\nx") == ("text-1", [(f"{first}\nx", "")])
    _, parts = once.message(f"new\n{first}\ny")
    if is_linked:
        assert parts == [("new\n", ""), ("300", "text-1"), ("\ny", "")]
    else:
        assert parts == [(f"new\n{first}\ny", "")]


# The report behind a judgement --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("item", "sentence", "run", "numbers"),
    [
        ("t/r/pro/1", 1, "r", [2]), ("t/r/pro/1", 0, "r", [1]), ("t/r/pro/1", 2, "r", []),
        ("t/r/pro/1", -1, "r", []), ("t/r/pro/1", "1", "r", []), ("t/other/1", 1, None, []),
    ],
)  # fmt: skip
def test_a_judgement_of_an_argument_names_its_report_and_sentence(
    tmp_path, item, sentence, run, numbers
):
    response = {
        "metadata": {"topic_id": "t", "run_id": "r", "team_id": "x"}, "references": ["d"],
        "answer": [{"text": "One.", "citations": [0]}, {"text": "Two.", "citations": []}],
    }  # fmt: skip
    write_rows(tmp_path / "responses.jsonl", [response])
    row = answer(0, topic_id="t", sentence=sentence) | {"id": item}
    write_rows(tmp_path / "answers.jsonl", [row])
    write_rows(tmp_path / "manifest.json", [{"kind": "judge"}])
    catalogue = open_catalogue.open_catalogue([str(tmp_path)])
    (name,) = [source.name for source in catalogue.sources() if source.asked]
    values = show(catalogue, address_of(f"/judgement/{name}/1")).values
    assert (values["report"] and values["report"].run, values["sentences"]) == (run, numbers)
    assert (values["place"], values["before"], values["after"]) == (1, 0, 0)


@pytest.mark.parametrize(
    ("item", "numbers"),
    [("t/r/1", [2]), ("t/r/1/d", [2]), ("t/r/10", []), ("t/s", []), ("t/r/0/d", [1]), ("x", [])],
)
def test_a_judgement_of_a_run_names_the_sentences_that_rest_on_it(tmp_path, item, numbers):
    response = {
        "metadata": {"topic_id": "t", "run_id": "r", "team_id": "x"}, "references": [],
        "answer": [{"text": "One.", "citations": []}, {"text": "Two.", "citations": []}],
    }  # fmt: skip
    write_rows(tmp_path / "responses.jsonl", [response])
    row = answer(0, topic_id="t", run_id="r") | {"id": item}
    write_rows(tmp_path / "answers.jsonl", [row, answer(1, topic_id="u", run_id="r")])
    write_rows(tmp_path / "manifest.json", [{"kind": "judge"}])
    catalogue = open_catalogue.open_catalogue([str(tmp_path)])
    first, second = sorted(catalogue.judgements().rows, key=lambda judgement: judgement.n)
    assert sentences_resting_on(catalogue, first) == numbers
    assert sentences_resting_on(catalogue, second) == []
