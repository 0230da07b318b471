"""Limits and decisions of `pnyx view`, each at its boundary."""

from __future__ import annotations

import os
import re
import time
from itertools import combinations
from pathlib import Path
from types import SimpleNamespace

import pytest

from command import write_rows
from pnyx.core.errors import InputError
from pnyx.web.rendering import Links
from pnyx.web.results import judge_pair, open_catalogue
from pnyx.web.results.application import search
from pnyx.web.results.catalogue import Catalogue
from pnyx.web.results.judge_pair import ItemVerdict, JudgedTwice
from pnyx.web.results.open_catalogue import CurrentCatalogue
from pnyx.web.results.overview import summaries_of
from pnyx.web.results.pages import Address, PageRoute, is_number
from pnyx.web.results.records import (
    NotFoundError,
    SourceRow,
    cut_page,
    pages_of,
)
from pnyx.web.results.routes import address_of, page_routes, rendered, show, site_of
from pnyx.web.results.sources import given_sources, state_of
from pnyx.web.results.tables import of_many
from pnyx.web.results.texts import listed_texts


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


# Lists --------------------------------------------------------------------------------------------


def test_a_hundred_rows_are_on_a_page():
    assert [pages_of(total) for total in (0, 1, 100, 101, 200, 201)] == [1, 1, 1, 2, 2, 3]
    page = cut_page(range(101), 2)
    assert (list(page.rows), page.total, page.pages, page.first) == ([100], 101, 2, 101)
    for number in (0, 3):
        with pytest.raises(NotFoundError, match="this list has 2 pages"):
            cut_page(range(101), number)


def test_a_search_has_the_first_twelve_words_and_the_last_as_a_prefix(tmp_path):
    words = " ".join(f"w{n}" for n in range(12))
    catalogue = opened(tmp_path, a=[answer(0, text=words, statement="x")])
    assert search(catalogue, f"{words} other").total == 1  # the thirteenth does not count
    assert search(catalogue, words.replace("w11", "other")).total == 0
    assert search(catalogue, "w0 w1").total == 1
    assert search(catalogue, "w0 w").total == 1
    assert search(catalogue, "w w0").total == 0
    assert search(catalogue, "...").total == 0
    assert search(catalogue, "w0").rows[0].text == "x"  # the statement is shown, if there is one


def chips(catalogue: Catalogue, name: str) -> tuple[int, int, int]:
    """Return how many values are offered at once, how many are folded, and how many are not."""
    groups = show(catalogue, address_of("/judgements/a")).values["filters"]
    (group,) = [group for group in groups if group["name"] == name]
    return len(group["chips"]), len(group["folded"]), group["more"]


def test_twelve_values_of_a_filter_are_offered_at_once_and_400_more_are_folded(tmp_path):
    def catalogue(name: str, judges: int, topics: int) -> Catalogue:
        (tmp_path / name).mkdir()
        rows = [
            answer(n, judge=f"j{n % judges}", group=f"t{n % topics}")
            for n in range(max(judges, topics))
        ]
        return opened(tmp_path / name, a=rows)

    few = catalogue("few", 12, 12)
    assert chips(few, "judge") == (12, 0, 0)
    assert chips(few, "topic") == (12, 0, 0)
    many = catalogue("many", 412, 13)
    assert chips(many, "judge") == (12, 400, 0)
    assert chips(many, "topic") == (0, 13, 0)  # long lists of topics are folded as a whole
    more = catalogue("more", 413, 401)
    assert chips(more, "judge") == (12, 400, 1)
    assert chips(more, "topic") == (0, 400, 1)


@pytest.mark.parametrize(("topics", "left_out"), [(40, 0), (41, 41)])
def test_an_export_has_a_list_for_each_of_40_topics_at_most(tmp_path, topics, left_out):
    catalogue = opened(tmp_path, a=[answer(n, group=f"t{n}") for n in range(topics)])
    keys = of_many(catalogue, "judgements", "a")
    assert len([key for key in keys if key.startswith("t-t")]) == left_out


def test_a_part_of_an_address_has_18_characters_and_differs(tmp_path):
    topics = ("a" * 20, "a" * 19, "short", "odd / name")
    catalogue = opened(tmp_path, a=[answer(n, group=topic) for n, topic in enumerate(topics)])
    keys = {facet.value: facet.key for facet in catalogue.facets("a") if facet.facet == "topic"}
    assert keys == {
        "a" * 19: "t-" + "a" * 16,
        "a" * 20: "t-" + "a" * 16 + "-2",
        "odd / name": "t-odd-name",
        "short": "t-short",
    }


@pytest.mark.parametrize(("length", "whole"), [(80, True), (81, False)])
def test_a_text_in_a_list_has_80_characters(tmp_path, length, whole):
    text = "a" * length
    catalogue = opened(tmp_path, a=[answer(0, text=text, statement="")])
    (listed,) = listed_texts(catalogue, catalogue.judgements(source="a").rows)
    assert listed == (text if whole else "a" * 79 + "…")


def test_addresses_have_numbers_from_one():
    route = PageRoute("table", lambda *_: None, least=1, most=1, paged=True)  # type: ignore[arg-type]
    assert route.address(("a", "9999999")) == Address("table", ("a",), 9_999_999)
    assert route.address(("a",)).whole == ("table", "a")
    assert route.address(("a", "2")).whole == ("table", "a", "2")
    for odd in ((), ("",), ("a", "0"), ("a", "01"), ("a", "10000000"), ("a", "x"), ("a", "b", "2")):
        with pytest.raises(NotFoundError, match="there is no such page"):
            route.address(odd)
    assert [is_number(text) for text in ("1", "999999999", "0", "1000000000", "-1", "")] == [
        True, True, False, False, False, False,
    ]  # fmt: skip


def test_pages_are_in_the_head_in_reading_order():
    expected = ["Results", "Leaderboard", "Topics", "Runs", "Judgements", "Compare", "Figures",
                "Tables"]  # fmt: skip
    site = site_of(["a/first.jsonl", "b", "c"])
    assert [label for label, _ in site.nav] == expected
    assert (site.name, site.reload, list(site.scripts)) == ("first.jsonl and 2 more", 0, [])
    watched = site_of(["a"], served=True, watch=True)
    assert [label for label, _ in watched.nav] == [*expected, "Search"]
    assert (watched.name, watched.reload, watched.scripts) == ("a", 10, ["watch.js"])
    assert site_of(["a"], watch=True).scripts == []  # a file reloads itself
    assert site_of(["a"], served=True).scripts == []
    assert [route.name for route in page_routes()][:2] == ["", "source"]


# What is read -------------------------------------------------------------------------------------


def test_results_are_read_six_folders_deep(tmp_path):
    folder = tmp_path
    for n in range(1, 8):
        folder = folder / f"f{n}"
        folder.mkdir()
        write_rows(folder / f"level{n}.jsonl", [answer(n)])
    names = {source.name for source in given_sources([str(tmp_path)])}
    assert names == {f"level{n}" for n in range(1, 7)}
    seen = {Path(path).name for path in state_of([str(tmp_path)])}
    assert seen == {f"level{n}.jsonl" for n in range(1, 7)}


def test_a_catalogue_that_was_not_used_for_30_days_is_removed(tmp_path, monkeypatch):
    monkeypatch.setenv("PNYX_CACHE", str(tmp_path / "cache"))
    (tmp_path / "cache" / "view").mkdir(parents=True)
    ages = {}
    for name, days in (("old", 30.01), ("recent", 29.99)):
        ages[name] = tmp_path / "cache" / "view" / f"{name}.sqlite"
        ages[name].write_bytes(b"")
        os.utime(ages[name], (time.time() - days * 86_400,) * 2)
    (tmp_path / "results").mkdir()
    opened(tmp_path / "results", a=[answer(0)])
    assert {name: file.exists() for name, file in ages.items()} == {"old": False, "recent": True}


def test_changed_files_are_looked_for_every_two_seconds_or_after_four_times_their_reading(
    tmp_path, monkeypatch
):
    clock = SimpleNamespace(now=100.0, step=0.0)

    def monotonic() -> float:
        clock.now += clock.step
        return clock.now

    write_rows(tmp_path / "a.jsonl", [answer(0)])
    with monkeypatch.context() as patched:
        fake = SimpleNamespace(monotonic=monotonic, time=time.time)
        patched.setattr(open_catalogue, "time", fake)
        current = CurrentCatalogue([str(tmp_path)])
        write_rows(tmp_path / "a.jsonl", [answer(0), answer(1)])
        clock.now = 101.99
        assert len(current.get().judgements().rows) == 1
        clock.now = 102.0
        assert len(current.get().judgements().rows) == 2
        clock.now, clock.step = 200.0, 1.0  # 201: asked; 202 begun; 203 read
        write_rows(tmp_path / "a.jsonl", [answer(0), answer(1), answer(2)])
        assert current.get().judgements().total == 3
        write_rows(tmp_path / "a.jsonl", [answer(0)])
        clock.now, clock.step = 206.99, 0.0
        assert current.get().judgements().total == 3
        clock.now = 207.0  # 203 and four seconds
        assert current.get().judgements().total == 1
        assert current.version == 4


@pytest.mark.parametrize(
    ("asked", "kind", "shown"),
    [(100_000, "results", 1), (100_001, "results", 0), (0, "results", 0), (2, "answers", 0)],
)
def test_results_of_100000_answers_are_summarised(tmp_path, asked, kind, shown):
    path = write_rows(
        tmp_path / "answers.jsonl",
        [answer(0, unscored=None), answer(1, value=False, unscored=None)],
    )
    source = SourceRow(1, "s", str(tmp_path), kind, asked=asked, files={"answers": path})
    summaries = summaries_of([source])
    assert len(summaries) == shown
    if shown:
        assert summaries[0].sentences[0].startswith("1 of 2 statements is supported")
    assert len(summaries_of([source] * 11)) == 10 * shown


def test_a_fault_of_an_answer_names_it(tmp_path):
    for row, words in (
        ({"probability": 1.01}, "probability: found 1.01, expected 0 to 1"),
        ({"probability": -0.01}, "probability: found -0.01, expected 0 to 1"),
        ({"probability": True}, "probability: found True, expected 0 to 1 or null"),
        ({"judge": ["j"]}, r"judge: found \['j'\], expected text"),
    ):
        with pytest.raises(InputError, match=words):
            opened(tmp_path, a=[answer(0, **row)])


def test_answers_are_ordered_by_doubt(tmp_path):
    """Unscored, then by the probability of the value, then those without a probability."""
    rows = [
        answer(0, value=True, probability=0.9),
        answer(1, value=False, probability=0.3),
        answer(2, value="a", probability=0.2),
        answer(3, value="b", probability=None),
        answer(4, value=None, probability=None, unscored="refused"),
        answer(5, value=True, probability=0.55),
        answer(6, value=3, probability=None),
        answer(7, value=[1, 0], probability=None),
        answer(8, value="YES", probability=0.6),
        answer(9, value="maybe", probability=1.0),
        answer(10, value="pro", probability=0.95),
    ]
    listed = opened(tmp_path, a=rows).judgements(source="a").rows
    assert [row.n - 1 for row in listed] == [4, 5, 8, 1, 2, 0, 10, 9, 3, 6, 7]
    verdicts = {row.n - 1: row.verdict for row in listed}
    assert [verdicts[n] for n in range(11)] == [
        "yes", "no", "a", "b", "unscored", "yes", "score", "order", "yes", "word", "pro",
    ]  # fmt: skip
    confidences = {row.n - 1: row.confidence for row in listed}
    assert (confidences[4], confidences[3], confidences[2]) == (None, None, 0.8)


def test_what_is_unscored_says_why(tmp_path):
    rows = [answer(0, value=None, unscored="refused"), answer(1, value=None), answer(2)]
    listed = opened(tmp_path, a=rows).judgements(source="a").rows
    assert [(row.unscored, row.probability) for row in listed] == [
        ("refused", None), ("no verdict", None), ("", 0.9),
    ]  # fmt: skip


# Comparisons --------------------------------------------------------------------------------------


def test_a_hundred_pairs_of_judges_are_listed_in_an_export(tmp_path):
    """15 judges are 105 pairs; a page of a server lists pairs only if there are 12 or fewer."""
    names = [f"s{n:02}" for n in range(15)]
    catalogue = opened(tmp_path, **{name: [answer(0, judge=name)] for name in names})
    pairs = [f"{a} and {b}" for a, b in combinations(names, 2)]
    exported = page_of(catalogue, "/compare", root="../", files=True)
    assert re.findall(r">(s\d\d and s\d\d)<", exported) == pairs[:100]
    assert "only the first 100 pairs" in exported
    assert re.findall(r">(s\d\d and s\d\d)<", page_of(catalogue, "/compare")) == []
    route = next(route for route in page_routes() if route.name == "compare")
    assert (
        len([parts for parts, _ in route.addresses(catalogue) if parts[:1] == ("judges",)]) == 100
    )


def judged_twice(n: int, first: object, second: object) -> JudgedTwice:
    def verdict(value: object) -> ItemVerdict:
        return ItemVerdict(n, value, None, 2.0, "")

    return JudgedTwice(f"i{n}", "support", "", "", verdict(first), verdict(second))


@pytest.mark.parametrize(("values", "shown"), [(12, 12), (13, 0)])
def test_a_table_of_both_judges_has_twelve_values_at_most(values, shown):
    items = [judged_twice(n, n, n) for n in range(values)]
    compared = judge_pair._compared(items, 0)
    assert len(compared.values) == shown
    assert [row[n] for n, row in enumerate(compared.table)] == [1] * shown


@pytest.mark.parametrize(("items", "draws", "drawn"), [(20_000, 1000, True), (20_001, 0, False)])
def test_judges_of_20000_items_are_compared_with_intervals(monkeypatch, items, draws, drawn):
    seen = []

    def measure(_, sides, *, bootstrap):
        seen.append((len(sides[0]), bootstrap.draws))
        return SimpleNamespace(compared=[])

    monkeypatch.setattr(judge_pair, "measure_raters", measure)
    compared = judge_pair._compared([judged_twice(n, True, True) for n in range(items)], 0)
    assert seen == [(items, draws)]
    assert (compared.drawn, compared.problem) == (drawn, "no item has a value of both")


def test_disagreements_come_first_by_distance_and_unscored_ones_by_how_many():
    items = [
        judged_twice(0, 1, 2), judged_twice(1, 1, 5), judged_twice(2, None, None),
        judged_twice(3, None, 1), judged_twice(4, 2, 2), judged_twice(5, True, False),
        judged_twice(6, "a", "b"), judged_twice(7, True, 1),
    ]  # fmt: skip
    compared = judge_pair._compared(items, 3)
    assert [pair.item for pair in compared.unscored] == ["i3", "i2"]
    assert [pair.item for pair in compared.differing] == ["i1", "i0", "i5", "i6"]
    assert (compared.asked, compared.agreed, compared.repeated) == (8, 2, 3)
    assert compared.values == [True, False, 1, 2, 5, "a", "b", None]
    assert compared.table[0] == [0, 1, 1, 0, 0, 0, 0, 0]


def test_agreement_of_judges_needs_two_items():
    one = judge_pair._compared([judged_twice(0, True, True), judged_twice(1, None, True)], 0)
    assert one.problem == "1 items have a value of both: agreement needs at least 2"
    two = judge_pair._compared([judged_twice(n, True, n == 0) for n in range(2)], 0)
    measures = {name: value.value for _, name, value in two.agreement}
    assert list(measures) == ["accuracy", "kappa", "alpha_nominal"]
    assert measures["accuracy"] == 0.5
    rated = judge_pair._compared([judged_twice(n, n, n + 1) for n in range(2)], 0)
    assert [name for _, name, _ in rated.agreement][3:] == [
        "alpha_ordinal", "alpha_interval", "spearman",
    ]  # fmt: skip


def test_a_search_leads_to_one_of_the_first_10000_sentences_of_a_report(tmp_path):
    rows = [
        {"metadata": {"topic_id": "t", "run_id": run, "team_id": "x"}, "references": [],
         "answer": [{"text": f"word{n} {run}.", "citations": []} for n in range(count)]}
        for run, count in (("short", 3), ("long", 10_001))
    ]  # fmt: skip
    catalogue = opened(tmp_path, responses=rows)

    def hits(words: str) -> list[tuple[str, int]]:
        found = search(catalogue, words).rows
        return [(hit.report.run, hit.n) for hit in found if hit.report is not None]

    assert hits("word2 short") == [("short", 3)]
    assert hits("word1 long") == [("long", 2)]
    assert hits("word9999 long") == [("long", 10_000)]
    assert hits("word10000 long") == [("long", 10_000)]  # the last one that has a place of its own
    assert search(catalogue, "word2 short").rows[0].text == "word2 short."
