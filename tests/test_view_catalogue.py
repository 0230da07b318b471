"""The catalogue of results behind `pnyx view`: every kind is read, counts are right by hand."""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import random
import shutil
import sqlite3
import time
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from command import rows_of, write_rows
from command import run as pnyx
from pnyx.core.errors import InputError
from pnyx.reports.pages.judged_texts import judged_report
from pnyx.reports.pages.report import links_of
from pnyx.web.rendering import Links, Site, slug
from pnyx.web.results import open_catalogue as opening
from pnyx.web.results.boards import leaderboard
from pnyx.web.results.judgement import sentences_resting_on
from pnyx.web.results.kinds import JUDGEMENTS, TABLES
from pnyx.web.results.open_catalogue import CurrentCatalogue, open_catalogue
from pnyx.web.results.records import ROWS_A_PAGE, NotFoundError, cut_page
from pnyx.web.results.routes import address_of, addresses, page_routes, rendered, show
from tries import tries
from view_results import make_results, run

pytestmark = pytest.mark.usefixtures("run_once")


@pytest.fixture(scope="module")
def made(made_once):
    """A folder with results of every kind, made once."""
    with pytest.MonkeyPatch.context() as patch:
        folder = made_once("catalogue", lambda place: make_here(place, patch))
        yield folder / "results"


def make_here(folder: Path, patch: pytest.MonkeyPatch) -> None:
    patch.setenv("PNYX_STORE", str(folder / "store.sqlite"))
    patch.delenv("PNYX_LLM", raising=False)
    make_results(folder)


@pytest.fixture(autouse=True)
def cache(monkeypatch, tmp_path):
    monkeypatch.setenv("PNYX_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def catalogue(made, cache):
    return open_catalogue([str(made)])


def answer(n: int, **more: object) -> dict:
    return {"id": f"i{n}", "task": "support", "value": True, "probability": 0.9, "judge": "j",
            "unscored": None, "group": "t1", **more}  # fmt: skip


def test_every_kind_is_recognised_by_what_is_in_it(catalogue):
    kinds = {one.name: one.kind for one in catalogue.sources()}
    assert kinds == {
        "argued": "argued", "argued-2": "responses",
        "backward": "ranking", "forward": "ranking", "bank": "nuggets", "board": "leaderboard",
        "calibration": "calibration", "card": "card", "judged": "results",
        "measured": "measures", "reports": "measures", "retrieval": "measures",
        "noise": "stress", "packaged": "results", "people": "results", "questions": "topics",
    }  # fmt: skip
    assert not [one.problem for one in catalogue.sources() if one.problem]


def test_counts_are_those_of_the_files(made, catalogue):
    rows = rows_of(made / "people/answers.jsonl")
    people = catalogue.source("people")
    assert (people.scored, people.asked) == (26, 27)
    assert sum(row["value"] is not None for row in rows) == 26
    assert people.judge.startswith("labels:")
    # 27 items by two judges, 12 with noise, and what a report's findings asked.
    judged = len((made / "judged/answers.jsonl").read_text().splitlines())
    assert catalogue.judgements().total == 27 + 27 + 12 + judged
    manifest = json.loads((made / "judged/manifest.json").read_text())["counts"]
    assert (catalogue.source("judged").scored, catalogue.source("judged").asked) == (
        manifest["scored"], manifest["asked"],
    )  # fmt: skip


def test_lists_have_the_unscored_first_and_then_the_least_certain(catalogue):
    first, *rest = catalogue.judgements(source="people").rows
    assert (first.verdict, first.value, first.item) == ("unscored", None, "t2-8")
    assert first.unscored
    assert all(one.verdict != "unscored" for one in rest)
    found = [one.confidence for one in catalogue.judgements(source="packaged").rows]
    assert found == sorted(found)
    assert all(0 <= one <= 1 for one in found)


def test_a_list_narrowed_twice_has_what_both_have(catalogue):
    both = catalogue.judgements(source="packaged", value="yes", topic="t1")
    by_hand = {
        row.n
        for row in catalogue.every(JUDGEMENTS, source="packaged")
        if row.verdict == "yes" and row.topic == "t1"
    }
    assert (both.total, {row.n for row in both.rows}) == (len(by_hand), by_hand)


def test_a_row_is_the_line_of_its_file(made, catalogue):
    lines = (made / "packaged/answers.jsonl").read_text().splitlines()
    for one in catalogue.every(JUDGEMENTS, source="packaged"):
        assert catalogue.line(one) == json.loads(lines[one.n - 1])
        assert catalogue.judgement("packaged", one.n) == one
    assert [row for _, row in catalogue.lines("packaged")] == [json.loads(x) for x in lines]


def test_the_leaderboard_is_that_of_the_measures(made, catalogue):
    told = json.loads((made / "retrieval.json").read_text())
    board = leaderboard(catalogue, "retrieval", by="nDCG@10")
    assert [row.name for row in board.page.rows] == ["forward", "backward"]
    for own in told["runs"]:
        (row,) = (one for one in board.page.rows if one.name == own["run"])
        for name, figures in own["measures"].items():
            found = row.values[name]
            assert [found.value, found.low, found.high, found.scored, found.asked] == [
                figures[x] for x in ("value", "low", "high", "scored", "asked")
            ]
    (first,) = (d for d in board.page.rows[0].differences.values() if d.measure == "nDCG@10")
    (said,) = (one for one in told["comparisons"] if one["measure"] == "nDCG@10")
    assert (first.baseline, first.difference, first.p) == (
        "backward", said["difference"], said["p_holm"],
    )  # fmt: skip
    up = leaderboard(catalogue, "retrieval", by="nDCG@10", ascending=True)
    assert [row.name for row in up.page.rows] == ["backward", "forward"]


def test_judged_reports_are_measured_as_pnyx_measure_does(made, catalogue):
    (told,) = json.loads((made / "reports.json").read_text())["runs"]
    values = catalogue.values(source="judged", run=told["run"])
    for one in (value for value in values if not value.measure.endswith("_micro")):
        for key in ("value", "low", "high", "scored", "asked"):
            assert getattr(one, key) == told["measures"][one.measure][key], (one.measure, key)


def test_reports_in_any_order_have_the_intervals_of_pnyx_measure(made, tmp_path):
    (row,) = map(json.loads, (made / "judged/reports.jsonl").read_text().splitlines())
    topics = [f"t{n}" for n in random.Random(4).sample(range(12), 12)]
    rows = [
        {**row, "topic_id": topic, "sentences": row["sentences"][: 1 + int(topic[1:]) % 10]}
        for topic in topics
    ]
    path = Path(write_rows(tmp_path / "reports.jsonl", rows))
    told = json.loads(run("measure", "report", path, "--json")[1])["runs"][0]["measures"]
    found = open_catalogue([str(path)]).values(run=row["run_id"])
    assert len(found) > 5
    for one in (value for value in found if not value.measure.endswith("_micro")):
        for key in ("value", "low", "high", "scored", "asked"):
            assert getattr(one, key) == told[one.measure][key], (one.measure, key)


def test_a_reports_sentences_lead_to_what_was_judged_and_back(made, catalogue):
    (at,) = catalogue.reports(source="judged")
    report = judged_report(catalogue, at)
    assert at.sentences == len(report.sentences) == 11
    assert at.scored < at.asked  # one cited document has no text
    states = [one.state for one in catalogue.sentences(at)]
    for sentence, state in zip(report.sentences, states, strict=True):
        outcomes = {step.outcome for step in sentence.steps}
        assert state == next(
            (x for x in ("unscored", "penalty", "reward") if x in outcomes), "neutral"
        )
    items = {row["id"] for _, row in catalogue.lines("judged")}
    linked = links_of(catalogue, at)
    assert {one.judgement.item for one in linked} <= items
    attests = next(one for one in linked if one.node == "attests")
    assert attests.sentence + 1 in sentences_resting_on(catalogue, attests.judgement)
    (argued,) = catalogue.reports(source="argued-2", run="pnyx-pro")
    assert catalogue.texts(argued) == [s.text for s in catalogue.response(argued).sentences]


def sources(rows) -> set[str]:
    return {row.source for row in rows}


@pytest.mark.parametrize("kind", TABLES, ids=lambda kind: kind.name)
def test_every_kind_of_row_is_listed_narrowed_sorted_and_kept(catalogue, kind):
    rows = list(catalogue.every(kind))
    whole = catalogue.table(kind)
    assert whole.total == len(rows) == catalogue.count(kind) > 0
    assert all(row in rows for row in whole.rows)
    for column in kind.columns:
        assert column.field in kind.select or hasattr(rows[0], column.field)
    for source in {"", *(row.source for row in rows if kind.of)}:
        of_source = {"source": source} if source else {}
        for facet in catalogue.facets(source, kind):
            chosen = {**of_source, facet.facet: facet.value}
            listed = catalogue.table(kind, 1, "", **chosen)
            assert listed.total == facet.count == len(list(catalogue.every(kind, **chosen))), facet
            field = {"value": "verdict"}.get(facet.facet, facet.facet)
            assert {getattr(row, field) for row in listed.rows} == {facet.value}
            assert {row.source for row in listed.rows} <= ({source} if source else sources(rows))
        assert catalogue.count(kind, **of_source) == len(list(catalogue.every(kind, **of_source)))
    for field in kind.select:
        for sort in (field, f"-{field}"):
            values = [getattr(row, field) for row in catalogue.table(kind, 1, sort).rows]
            known = [value for value in values if value is not None]
            assert known == sorted(known, reverse=sort[0] == "-"), sort
    address = address_of(f"/{kind.name}")
    (text,) = ("".join(file.parts()) for file in show(catalogue, address).files.values())
    kept = list(csv.reader(io.StringIO(text)))
    assert len(kept) == 1 + len(rows)
    assert all(len(row) == len(kept[0]) for row in kept)
    with pytest.raises(NotFoundError):
        catalogue.table(kind, 1, "nothing")


def test_topics_have_the_titles_that_any_source_tells(catalogue):
    assert catalogue.topic("zoos").title == "Should zoos be phased out?"
    assert catalogue.topic("t1").title == ""
    assert catalogue.topic("t1").shown == "t1"
    assert (catalogue.topic("t2").scored, catalogue.topic("t2").asked) == (9 + 8 + 4, 9 + 9 + 4)


@pytest.mark.all
def test_every_page_renders_and_every_link_on_it_leads_somewhere(catalogue):
    seen = set()
    hrefs = {}
    for exported in addresses(catalogue):
        address = replace(exported, is_file=False)
        shown = show(catalogue, address)
        html = rendered(shown, address, Site("x"), Links())
        assert "<h1" in html
        own_address = Links().to(*address.whole)
        seen |= {own_address, *(f"{Links().to(*address.here)}/{name}" for name in shown.files)}
        for part in html.split('href="')[1:]:
            hrefs.setdefault(part.partition('"')[0].partition("#")[0], address)
    own = {page.name for page in page_routes()}
    for href, where in hrefs.items():
        path, _, query = href.partition("?")
        kind = path.strip("/").partition("/")[0]
        if not href.startswith("/") or kind in ("static", "search") or href in seen:
            continue
        assert kind in own, (href, where)
        # A list that is narrowed more than once, or sorted.
        assert "." in path or query.startswith("sort="), (href, where)
        show(catalogue, address_of(path, query.removeprefix("sort=")))  # NotFoundError: a dead link


@pytest.mark.parametrize(
    "path",
    [
        "nothing", "topic/none", "topic", "topic/../etc", "run/%2e%2e", "source/none",
        "judgements/all/v-none", "judgements/all/every/999", "judgements/all/every/0",
        "judgements/all/every/-1", "judgements/all/v-yes.v-no", "leaderboard/packaged",
        "leaderboard/retrieval/none", "topics/7", "topics/01", "topics/x",
    ],
)  # fmt: skip
def test_other_addresses_are_not_there(catalogue, path):
    def asked() -> None:
        show(catalogue, address_of(path))

    with pytest.raises(NotFoundError):
        asked()


def test_a_second_start_reads_nothing_and_a_change_is_noticed(tmp_path, monkeypatch):
    folder = tmp_path / "r"
    folder.mkdir()
    write_rows(folder / "answers.jsonl", [answer(1)])
    current = CurrentCatalogue([str(folder)])
    assert current.get().judgements().total == 1
    before = current.get().path.stat().st_mtime_ns
    assert open_catalogue([str(folder)]).path.stat().st_mtime_ns == before
    assert sorted(p.name for p in folder.iterdir()) == ["answers.jsonl"]
    monkeypatch.setattr(opening, "_LOOK_AGAIN_SECONDS", 0)
    monkeypatch.setattr(opening, "_REST", 0)
    write_rows(folder / "answers.jsonl", [answer(1), answer(2, value=None, unscored="refusal: no")])
    assert [one.item for one in current.get().judgements().rows] == ["i2", "i1"]
    # Half of a line, as while it is written: what was read stays in sight until it is whole.
    (folder / "answers.jsonl").write_text('{"id": "i')
    assert current.get().judgements().total == 2
    write_rows(folder / "answers.jsonl", [answer(1)])
    assert current.get().judgements().total == 1
    assert open_catalogue([str(folder)], fresh=True).judgements().total == 1


def test_a_damaged_catalogue_is_built_anew(tmp_path, cache):
    write_rows(tmp_path / "a.jsonl", [answer(n) for n in range(40)])
    first = list(open_catalogue([str(tmp_path / "a.jsonl")]).every(JUDGEMENTS, source="a"))
    (place,) = (cache / "view").glob("*.sqlite")
    whole = place.read_bytes()
    for at in random.Random(5).sample(range(0, len(whole) - 64, 64), 25):
        place.write_bytes(whole[:at] + random.Random(at).randbytes(64) + whole[at + 64 :])
        found = open_catalogue([str(tmp_path / "a.jsonl")])
        assert list(found.every(JUDGEMENTS, source="a")) == first
        assert len(list(found.lines("a"))) == 40


def test_where_a_catalogue_cannot_be_written_the_one_before_stays(
    tmp_path, cache, monkeypatch, capsys
):
    path = Path(write_rows(tmp_path / "a.jsonl", [answer(1)]))
    monkeypatch.setattr(opening, "_LOOK_AGAIN_SECONDS", 0)
    monkeypatch.setattr(opening, "_REST", 0)
    said = []
    current = CurrentCatalogue([str(path)], say=said.append)

    def full(*_):
        raise sqlite3.OperationalError("database or disk is full")

    with monkeypatch.context() as patch:
        patch.setattr(opening.Builder, "finish", full)
        write_rows(path, [answer(1), answer(2)])
        assert current.get().judgements().total == 1
        assert "the catalogue cannot be written: database or disk is full" in said[0]
        assert pnyx("view", path, "--json") == 2
        printed = capsys.readouterr().err
        assert printed.count("\n") == 1
        assert "cannot be written: database or disk is full" in printed
    assert current.get().judgements().total == 2


def test_a_manifest_is_not_read_through_a_link(made, tmp_path):
    private = tmp_path / "private.json"
    private.write_text('{"judge": "OUTSIDE", "task": "OUTSIDE", "created": "OUTSIDE"}')
    folder = tmp_path / "results"
    shutil.copytree(made / "packaged", folder)
    (folder / "manifest.json").unlink()
    (folder / "manifest.json").symlink_to(private)
    shutil.copy(folder / "answers.jsonl", folder / "more.jsonl")
    (folder / "more.jsonl.manifest.json").symlink_to(private)
    for path in (folder, folder / "more.jsonl"):
        assert "OUTSIDE" not in repr(open_catalogue([str(path)]).sources())


def test_catalogues_that_nobody_wants_are_forgotten(tmp_path, cache):
    write_rows(tmp_path / "a.jsonl", [answer(1)])
    old = cache / "view" / "old.sqlite"
    old.parent.mkdir(parents=True)
    old.write_bytes(b"")
    os.utime(old, (time.time() - 40 * 86_400,) * 2)
    open_catalogue([str(tmp_path / "a.jsonl")])
    assert not old.exists()


def test_files_may_be_compressed(tmp_path, made):
    for name in ("answers", "reports"):
        data = (made / "judged" / f"{name}.jsonl").read_bytes()
        (tmp_path / f"{name}.jsonl.gz").write_bytes(gzip.compress(data))
    found = open_catalogue([str(tmp_path / f"{name}.jsonl.gz") for name in ("answers", "reports")])
    one = found.judgements().rows[3]
    assert found.line(one)["id"] == one.item
    assert len(judged_report(found, found.reports()[0]).sentences) == 11


def test_pages_of_long_lists(tmp_path):
    count = 2 * ROWS_A_PAGE + 5
    rows = [answer(n, probability=(n + 1) / (count + 1)) for n in range(count)]
    write_rows(tmp_path / "a.jsonl", rows)
    found = open_catalogue([str(tmp_path / "a.jsonl")])
    listed = [found.judgements(page, source="a") for page in (1, 2, 3)]
    assert [len(one.rows) for one in listed] == [ROWS_A_PAGE, ROWS_A_PAGE, 5]
    assert [one.first for one in listed] == [1, ROWS_A_PAGE + 1, 2 * ROWS_A_PAGE + 1]
    items = [one.item for page in listed for one in page.rows]
    assert items == [f"i{n}" for n in range(count)]
    with pytest.raises(NotFoundError):
        found.judgements(4, source="a")


def test_each_page_of_a_list_in_memory_has_the_next_hundred_rows():
    pages = [cut_page(range(250), number) for number in (1, 2, 3)]
    assert [(page.rows, page.first) for page in pages] == [
        (range(100), 1), (range(100, 200), 101), (range(200, 250), 201)
    ]  # fmt: skip


def test_figures_and_nothing_else_are_aligned_to_the_right():
    aligned = {column.show: column.number for table in TABLES for column in table.columns}
    figures = {"count", "difference", "measured", "number", "scored"}
    assert {show for show, right in aligned.items() if right} == figures
    for table in TABLES:
        assert all(column.number == (column.show in figures) for column in table.columns)


@pytest.mark.parametrize("description", ["Are fares fair?", "Which fares are fair?"])
def test_the_description_of_a_topic_is_shown_unless_it_is_its_title(tmp_path, description):
    topics = [("1", "Fair fares", description), ("2", "Fair fares", "Fair fares")]
    write_rows(
        tmp_path / "topics.jsonl",
        [{"id": name, "title": title, "description": text} for name, title, text in topics],
    )
    found = open_catalogue([str(tmp_path / "topics.jsonl")])
    requests = {topic.name: topic.request for topic in found.topics()}
    assert requests == {"1": description, "2": ""}


def test_names_that_are_no_part_of_an_address_get_one(tmp_path):
    names = ["a/b", "a?b", "..", "a b", "ä", "<script>", "\u202ex", "x" * 300]
    rows = [answer(n, group=name, run_id=name) for n, name in enumerate(names)]
    write_rows(tmp_path / "odd name.jsonl", rows)
    shutil.copy(tmp_path / "odd name.jsonl", tmp_path / "ODD NAME.jsonl")
    found = open_catalogue([str(tmp_path)])
    assert len({slug(one.name).lower() for one in found.sources()}) == 2
    for one in found.topics():
        assert show(found, address_of(Links().to("topic", one.name))).values["title"] == one.shown


def refused(capsys, *argv: object) -> str:

    assert pnyx(*argv) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    return said


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "is empty"),
        ("hello there\n", "cannot be recognised"),
        ('{"id": "q1", "text": "What?", "definition": "d"}\n{"id": 3}\n', ":2: "),
        (json.dumps(answer(1)) + '\n{"id": \n', ":2: not valid JSON"),
        (json.dumps(answer(1)) + "\n[1]\n", ":2: found [1], expected a JSON object"),
        (json.dumps(answer(1)) + "\n" + json.dumps(answer(2, probability=7)) + "\n", ":2: prob"),
        (json.dumps(answer(1, group=["x"])) + "\n", ":1: group: found"),
        ('{"statement": "s", "text": "t", "id": "1"}\n{"id": null}\n', ":2: found no id"),
    ],
)
def test_what_cannot_be_read_is_one_line(tmp_path, capsys, text, problem):
    path = tmp_path / "file.jsonl"
    path.write_text(text, encoding="utf-8")
    said = refused(capsys, "view", path)
    assert problem in said
    assert str(path) in said
    # Beside what can be read it is shown first, and nothing of it counts.
    write_rows(tmp_path / "good.jsonl", [answer(1)])
    found = open_catalogue([str(path), str(tmp_path / "good.jsonl")])
    assert problem in found.sources()[0].problem
    assert found.judgements().total == 1


def test_what_is_not_there_is_one_line(tmp_path, capsys):
    assert "does not exist" in refused(capsys, "view", tmp_path / "none")
    assert "holds no results" in refused(capsys, "view", tmp_path)
    others = refused(capsys, "view", tmp_path, "--host", "0.0.0.0")
    assert "--token" in others


def test_a_folder_is_read_and_links_out_of_it_are_not(tmp_path):
    inside, outside = tmp_path / "in", tmp_path / "out"
    for folder in (inside / "deep" / "er", outside):
        folder.mkdir(parents=True)
        write_rows(folder / "answers.jsonl", [answer(1)])
    (inside / "link").symlink_to(outside)
    (inside / "file.jsonl").symlink_to(outside / "answers.jsonl")
    (inside / "notes.txt").write_text("these are notes\n")
    found = open_catalogue([str(inside)])
    assert [one.name for one in found.sources()] == ["er"]


def test_json_tells_what_was_read(made, capsys):

    assert pnyx("view", made / "people", "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["scored"], told["asked"], told["topics"]) == (26, 27, 3)
    assert told["sources"][0]["problem"] is None


def test_restricted_mode_shows_no_text(made, monkeypatch):
    monkeypatch.setenv("PNYX_NO_TEXT", "1")
    found = open_catalogue([str(made)])
    (at,) = found.reports(source="judged")
    assert {one.text for one in judged_report(found, at).sentences} == {""}
    assert found.texts(at) == [""] * 11
    secret = "turnout"
    for one in found.every(JUDGEMENTS):
        assert secret not in json.dumps(found.line(one)).lower()
    assert found.all("SELECT count(*) FROM words")[0][0] == 0
    assert {one.title for one in found.topics()} == {""}


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)  # fmt: skip
_FIELDS = st.dictionaries(
    st.sampled_from([*answer(1), "dimension", "run_id", "doc_id", "explanation", "topic_id"]),
    _VALUES,
    max_size=5,
)


@settings(max_examples=tries(60), deadline=None, suppress_health_check=[HealthCheck.too_slow,
          HealthCheck.function_scoped_fixture])  # fmt: skip
@given(st.lists(_FIELDS | st.binary(max_size=20), min_size=1, max_size=4))
def test_broken_and_hostile_lines_are_read_or_refused_in_one_line(tmp_path, broken):
    """Whatever a line is: it is read, and its page renders, or one line says where it is wrong."""
    place = tmp_path / "a.jsonl"
    lines = [json.dumps(answer(0)).encode()]
    for n, one in enumerate(broken, 1):
        lines.append(one if isinstance(one, bytes) else json.dumps(answer(n) | one).encode())
    place.write_bytes(b"\n".join(lines))
    try:
        found = open_catalogue([str(place)], fresh=True)
    except InputError as error:
        said = str(error)
        found = None
    if found is None:
        assert said.startswith(f"{place}:")
        assert "\n" not in said
        return
    for address in addresses(found):
        rendered(show(found, address), address, Site("x"), Links())


def test_only_files_that_were_given_are_read(made, tmp_path):
    """No part of an address is ever a path."""
    found = open_catalogue([str(made / "people")])
    for name in ("../packaged", str(made / "packaged"), "/etc/passwd", "people/../packaged"):
        with pytest.raises(NotFoundError):
            found.source(name)
    assert {Path(one.path).name for one in found.sources()} == {"people"}
