"""The pages of `pnyx view` that are figures, and its export, on results of the real commands."""

from __future__ import annotations

import csv
import io
import json
import re
import shutil
import xml.etree.ElementTree as ET
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from command import rows_of, write_rows
from inspect_fixture import HOSTILE, make_results, run
from page_fixture import PHONE, Watched, chromium
from pnyx.audit.pages.trials import _answer, examples_of
from pnyx.core.errors import InputError
from pnyx.display.profile import profile_order, profile_plot
from pnyx.display.svg import document, drawn_text, inline
from pnyx.display.tables import Column, Marked, Table
from pnyx.formats.perspectives import by_question
from pnyx.perspectives.measures.coverage import measure_perspectives
from pnyx.stats.base import Measured
from pnyx.web.rendering import STATIC, Links
from pnyx.web.results.export import PublishedCatalogue, export_pages
from pnyx.web.results.open_catalogue import open_catalogue
from pnyx.web.results.records import NotFoundError
from pnyx.web.results.routes import address_of, addresses, rendered, show, site_of

SVG = "{http://www.w3.org/2000/svg}"
OWN = ("quality", "perspectives", "calibration", "stress", "card", "figures", "tables")


@pytest.fixture(scope="module")
def place(made_once, tmp_path_factory, run_once):
    """A folder with results of every kind, made once."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PNYX_CACHE", str(tmp_path_factory.mktemp("cache")))
        patch.delenv("PNYX_LLM", raising=False)
        yield made_once("inspected", lambda folder: make_here(folder, patch))


def make_here(folder: Path, patch: pytest.MonkeyPatch) -> None:
    patch.setenv("PNYX_STORE", str(folder / "judgements"))
    make_results(folder)


@pytest.fixture(scope="module")
def catalogue(place):
    return open_catalogue([str(place / "results")])


@pytest.fixture(scope="module")
def exported(made_once, place):
    return made_once("exported", lambda out: export(place, out / "out")) / "out"


def export(place: Path, out: Path) -> None:
    assert run("view", place / "results", "--export", out)[0] == 0


def shown(catalogue, path: str):
    return show(catalogue, address_of(path))


def kept(catalogue, path: str, name: str) -> list[dict[str, str]]:
    text = "".join(shown(catalogue, path).files[name].parts())
    return list(csv.DictReader(io.StringIO(text)))


def every_page(exported: Path) -> Counter[str]:
    """How many pages there are of each name, in an export and left out of it."""
    told = told_of(exported)
    return Counter(told["pages"]) + Counter(told["left_out"])


def told_of(exported: Path) -> dict:
    return json.loads((exported / "export.json").read_text(encoding="utf-8"))


def loaded(place: Path, name: str) -> dict:
    return json.loads((place / "results" / name).read_text(encoding="utf-8"))


# Numbers ------------------------------------------------------------------------------------------


def test_a_profile_has_the_means_of_the_answers_by_family(place, catalogue):
    rows = rows_of(place / "results" / "quality/answers.jsonl")
    table = kept(catalogue, "quality/quality", "profile.csv")
    assert [row["dimension"] for row in table][:2] == ["Overall quality", "Cogency"]
    assert Counter(row["family"] for row in table) == {
        "": 1,
        "logic": 4,
        "rhetoric": 6,
        "dialectic": 4,
    }
    for row in table:
        name = row["dimension"].lower().replace(" ", "_").replace("_quality", "")
        own = [one["value"] for one in rows if one["dimension"] == name]
        scored = [value for value in own if value is not None]
        assert len(scored) == len(own) - 1  # the refused text is in no mean
        assert float(row["mean"]) == pytest.approx(np.mean(scored))
        assert (int(row["texts"]), int(row["texts asked"])) == (len(scored), len(own))
        assert float(row["mean low"]) <= float(row["mean"]) <= float(row["mean high"])
    unscored = sum(row["value"] is None for row in rows)
    assert unscored == 15
    address = address_of("quality/quality")
    page = rendered(show(catalogue, address), address, site_of([str(place)]), Links())
    assert "15 unscored ratings are excluded from the means." in page


def test_a_side_stands_over_all_texts(place, catalogue):
    rows = rows_of(place / "results" / "quality/answers.jsonl")
    table = kept(catalogue, "quality/quality/side/pro", "profile.csv")
    own = [r["value"] for r in rows if r["dimension"] == "clarity" and r["side"] == "pro"]
    found = next(row for row in table if row["dimension"] == "Clarity")
    assert float(found["pro: mean"]) == pytest.approx(np.mean([v for v in own if v is not None]))
    whole = next(
        r for r in kept(catalogue, "quality/quality", "profile.csv") if r["dimension"] == "Clarity"
    )
    assert found["all texts: mean"] == whole["mean"]


def test_a_matrix_has_every_pair_and_the_measures_of_pnyx_measure(place, catalogue):
    answers = rows_of(place / "results" / "views/answers.jsonl")
    said = {(r["doc_id"], r["perspective_id"]): r for r in answers}
    table = kept(catalogue, "perspectives/views/zoos", "matrix.csv")
    assert len(table) == 30
    for row in table:
        one = said[row["document"], row["perspective"]]
        words = {True: "yes", False: "no", None: ""}
        assert row["supports"] == words[one["value"]]
        assert bool(row["unscored"]) == (one["value"] is None)
    from pnyx.formats import read_perspectives, read_run

    results = place / "results"
    measured = measure_perspectives(
        {"turned": read_run(results / "turned.run")},
        by_question(read_perspectives(results / "perspectives.jsonl")),
        results / "views",
        ["MRecall@5", "Precision@5"],
    )
    for topic, found in measured.runs[0].per_topic.items():
        matrix = shown(catalogue, f"perspectives/views/{topic}/turned").values["matrix"]
        assert {name: one.row() for name, one in matrix.measures.items()} == {
            name: one.row() for name, one in found.items()
        }
    last = shown(catalogue, "perspectives/views/zoos/turned").values["matrix"]
    assert list(last.documents) == list(
        reversed(shown(catalogue, "perspectives/views/zoos").values["matrix"].documents)
    )


def test_an_unscored_pair_leaves_a_perspective_open(catalogue):
    matrices = [
        shown(catalogue, f"perspectives/views/{topic}").values["matrix"]
        for topic in ("zoos", "age-checks")
    ]
    states = Counter(row.state for one in matrices for row in one.rows)
    assert states["unscored"] > 0
    table = kept(catalogue, "perspectives/views", "covered.csv")
    whole = table[0]
    assert whole["question"] == "all"
    for name in ("covered", "missing", "open", "perspectives"):
        assert int(whole[name]) == sum(int(row[name]) for row in table[1:]), name
    assert int(whole["perspectives"]) == sum(int(whole[n]) for n in ("covered", "missing", "open"))


def test_calibration_is_that_of_the_file(place, catalogue):
    document_ = loaded(place, "measured.json")
    bins = kept(catalogue, "calibration/measured", "reliability.csv")
    assert [int(row["answers"]) for row in bins] == [b["count"] for b in document_["reliability"]]
    found = kept(catalogue, "calibration/measured", "calibration.csv")
    for name, row in zip(("ece", "brier"), found, strict=False):
        for key, end in (("value", ""), ("low", " low"), ("high", " high")):
            assert float(row[f"value{end}"]) == document_["measures"][name][key]
    assert shown(catalogue, "calibration/measured").values["lead"] == "packaged, task support."
    calibrated = loaded(place, "calibration.json")
    before = kept(catalogue, "calibration/calibration", "gain.csv")[0]
    assert float(before["before"]) == calibrated["about"]["figures"]["before"]["ece"]["value"]
    sure = kept(catalogue, "calibration/calibration", "selective.csv")
    assert [int(row["kept"]) for row in sure] == [
        calibrated["sure"][name]["kept"] for name in ("no", "yes")
    ]


@pytest.mark.parametrize(
    ("rows", "answer"),
    [
        ([], ("", None, "not asked")),
        ([{"value": True, "probability": 0.9, "unscored": None}], ("yes", 0.9, "")),
        ([{"value": None, "unscored": "refusal: no"}], ("", None, "refusal: no")),
        (
            [
                {"dimension": "clarity", "value": 2.5, "unscored": None},
                {"dimension": "cogency", "value": None, "unscored": "refusal: no"},
            ],
            ("clarity 2.5", None, ""),
        ),
    ],
)
def test_an_answer_of_a_trial_is_in_words_or_says_why_it_is_missing(rows, answer):
    assert _answer(rows) == answer


def test_the_five_items_whose_answers_moved_most_are_examples():
    items = [{"id": f"{name}{n}", "of": f"i{n}"} for n in range(6) for name in ("i", "changed")]
    answers = [
        {"id": item["id"], "value": True, "unscored": None, "probability": probability}
        for n in range(6)
        for item, probability in zip(items[2 * n :], (0.9, 0.9 - n / 10), strict=False)
    ]
    assert [example.item for example in examples_of(items, answers)] == "i5 i4 i3 i2 i1".split()


def test_trials_are_those_of_their_summaries(place, catalogue):
    found = {row["trial"]: row for row in kept(catalogue, "stress", "trials.csv")}
    for name in ("noise", "length"):
        summary = loaded(place, f"{name}/summary.json")
        main = summary["measures"][summary["primary"]]
        assert found[name]["outcome"] == summary["outcome"]
        assert float(found[name]["value"]) == main["value"]
    values = shown(catalogue, "stress/noise").values
    answers = {row["id"]: row for row in rows_of(place / "results" / "noise/answers.jsonl")}
    for example in values["examples"]:
        for change in example.changes:
            said = answers[f"{example.item}~{change.variant}"]
            assert change.probability == said["probability"]
    assert [e.distance for e in values["examples"]] == sorted(
        (e.distance for e in values["examples"]), reverse=True
    )


# Pictures -----------------------------------------------------------------------------------------


def test_every_picture_is_xml_by_itself_and_in_its_page(catalogue):
    count = 0
    for address in addresses(catalogue):
        if address.page not in OWN:
            continue
        found = show(catalogue, address)
        text = rendered(found, address, site_of(["x"]), Links())
        ids = re.findall(r'\bid="([^"]+)"', text)
        assert len(ids) == len(set(ids)), address
        assert " style=" not in text
        assert "<style" not in text
        assert "<script>alert" not in text
        assert "\u202e" not in text
        for picture in re.findall(r'<svg class="figure".*?</svg>', text, re.DOTALL):
            root = ET.fromstring(picture)
            named = root.attrib["aria-labelledby"].split()
            assert root.attrib["role"] == "img"
            assert [one for one in named if one not in ids] == []
            count += 1
        for name, file in found.files.items():
            if name.endswith(".svg"):
                root = ET.fromstring("".join(file.parts()))
                assert root.tag == f"{SVG}svg"
                assert root.find(f"{SVG}style") is not None
    assert count > 20


def test_a_part_of_a_page_has_no_style_of_its_own():
    picture = document("a <title>", 300, 20, [drawn_text("<b>", 1, 2)], ["a & b"])
    found = inline(picture, "p1", 'told "so"')
    root = ET.fromstring(found)
    assert [one.tag for one in root] == ["title", "desc", "text", "text"]
    assert root[0].text == "a <title>"
    assert root[1].text == 'told "so"'
    assert "style" not in found
    with pytest.raises(ValueError, match="expected a picture"):
        inline("<svg/>", "x")


def test_profiles_draw_intervals_where_their_values_are():
    """Worked by hand: a scale of 1 to 3 over 300 px from x = 188; 2 lies at 338, 1.5 at 263."""
    means = {"clarity": Measured(2.0, 3, 4, 1.5, 2.5)}
    root = ET.fromstring(profile_plot({"a": means}, (1.0, 3.0)))
    circle = root.find(f".//{SVG}circle")
    line = root.find(f".//{SVG}line[@class='span']")
    assert circle.attrib["cx"] == "338.0"
    assert (line.attrib["x1"], line.attrib["x2"]) == ("263.0", "413.0")
    with pytest.raises(ValueError, match="expected 1 or 2"):
        profile_plot({}, (1.0, 3.0))


def test_unknown_dimensions_come_last():
    assert profile_order(["odd", "clarity", "overall"]) == [
        ("", ["overall"]),
        ("rhetoric", ["clarity"]),
        ("other", ["odd"]),
    ]


# Tables as files ----------------------------------------------------------------------------------


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.tuples(st.text(), st.none() | st.floats(allow_nan=False)), max_size=5))
def test_csv_is_read_back_and_computes_nothing(rows):
    table = Table((Column("name", "name"), Column("x", "number")), rows)
    text = table.csv()
    found = list(csv.reader(io.StringIO(text)))
    assert found[0] == ["name", "x"]
    assert [row[1] for row in found[1:]] == ["" if x is None else repr(x) for _, x in rows]
    assert not [row for row in found if row[0][:1] in tuple("=+-@\t\r")]


def test_csv_has_intervals_counts_and_marks_apart():
    figures = Measured(0.5, 3, 4, 0.25, 0.75)
    table = Table(
        (Column("a", "figure"), Column("n", "counts"), Column("b", "number")),
        [(figures, figures, Marked(1.5, "*")), (), (None, None, 2.0)],
    )
    assert table.csv() == (
        "a,a low,a high,n,n asked,b,b mark\n0.5,0.25,0.75,3,4,1.5,*\n,,,,,2.0,\n"
    )


@pytest.mark.parametrize(("topics", "label"), [(1, "By text"), (2, "By topic")])
def test_a_quality_profile_leads_to_topics_from_two_on(tmp_path, topics, label):
    """With a single topic, it leads to the texts at once."""
    manifest = {"format": "pnyx-results", "format_version": 1, "task": "quality", "judge": "j"}
    rows = [
        {"id": f"t{n}-a", "group": f"t{n}", "task": "quality", "dimension": "clarity", "value": 2,
         "scale": [1, 3], "judge": "j"}
        for n in range(topics)
    ]  # fmt: skip
    write_rows(tmp_path / "q" / "answers.jsonl", rows)
    (tmp_path / "q" / "manifest.json").write_text(json.dumps(manifest))
    page = show(open_catalogue([str(tmp_path / "q")]), address_of("quality/q"))
    assert [(group.label, group.total) for group in page.values["choices"]] == [(label, topics)]


# The export ---------------------------------------------------------------------------------------


class Read(HTMLParser):
    """What a page leads to, and its ids."""

    def __init__(self) -> None:
        super().__init__()
        self.links: list[str] = []
        self.ids: set[str] = set()
        self.open: list[str] = []

    def handle_starttag(self, tag, attrs):
        held = dict(attrs)
        self.links += [held[name] for name in ("href", "src") if name in held]
        self.ids |= {held["id"]} if "id" in held else set()


@pytest.mark.all
def test_every_link_of_an_export_leads_to_a_file_of_it(exported):
    pages = {path: Read() for path in exported.rglob("*.html")}
    for path, page in pages.items():
        page.feed(path.read_text(encoding="utf-8"))
    assert len(pages) > 100
    for path, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            assert not parts.scheme, link
            assert not parts.netloc, link
            assert not parts.path.startswith("/"), link
            assert not parts.query, link
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            assert target.is_file(), (path, link)
            assert target.is_relative_to(exported.resolve())
            if parts.fragment and target in pages:
                assert unquote(parts.fragment) in pages[target].ids, (path, link)


@pytest.mark.all
def test_an_export_tells_nothing_of_this_machine(place, exported):
    secrets = [str(place), str(Path.home()), "127.0.0.1", "localhost", "/v1"]
    for path in exported.rglob("*"):
        if path.is_file() and "static" not in path.parts:
            text = path.read_text(encoding="utf-8")
            assert [one for one in secrets if one in text] == [], path


def test_folders_that_pages_must_not_name_come_longest_first(place, catalogue):
    """A folder inside another is removed whole, not up to the name of the outer one."""
    folders = PublishedCatalogue(catalogue.path).folders()
    lengths = [len(folder) for folder in folders]
    assert lengths == sorted(lengths, reverse=True)
    assert {str(place / "results"), str(place)} <= set(folders)  # of the results and of the store
    assert lengths[0] > len(str(place / "results")) > lengths[-1]


@pytest.mark.all
def test_names_of_an_export_differ_on_disks_that_tell_no_case(exported):
    names = [path.relative_to(exported).as_posix() for path in exported.rglob("*")]
    assert len({name.lower() for name in names}) == len(names)
    assert all(len(part) <= 120 for name in names for part in name.split("/"))
    told = told_of(exported)
    assert set(told["files"]) == {n for n in names if (exported / n).is_file()}
    odd = ["A", "a", "Con", "con", "x.", "x", "index", "static", "a b", "A b", "ä", "Ä"]
    made = [Links("", files=True).path("topic", one) for one in odd]
    assert len({one.lower() for one in made}) == len(odd)


@pytest.mark.all
def test_an_export_replaces_an_export_and_nothing_else(place, catalogue, exported, tmp_path):
    site = site_of([str(place / "results")])
    out = tmp_path / "out"
    shutil.copytree(exported, out)
    (out / "own.txt").write_text("mine", encoding="utf-8")
    with pytest.raises(InputError, match=r"holds own\.txt, which was not written by an export"):
        export_pages(catalogue, site, out)
    (out / "own.txt").unlink()
    (out / "index.html").write_text("old", encoding="utf-8")
    every = export_pages(catalogue, site, out, most=None)
    assert (out / "index.html").read_bytes() == (exported / "index.html").read_bytes()
    assert sum(every.pages.values()) > 100
    assert every.left_out == {}
    assert every.pages == every_page(exported)
    other = tmp_path / "other"
    other.mkdir()
    (other / "thesis.txt").write_text("mine", encoding="utf-8")
    assert run("view", place / "results", "--export", other)[0] == 2
    assert [one.name for one in other.iterdir()] == ["thesis.txt"]


@pytest.mark.all
def test_pages_of_judgements_are_limited_and_counted(place, catalogue, exported, tmp_path):
    site = site_of([str(place / "results")])
    few = export_pages(catalogue, site, tmp_path / "few", most=100)
    every = every_page(exported)
    assert few.pages["judgement"] == 100
    assert few.left_out["judgement"] > 0
    for name, count in few.left_out.items():
        assert few.pages[name] + count == every[name], name
    text = (tmp_path / "few" / "left-out.html").read_text(encoding="utf-8")
    for count in few.left_out.values():
        assert f"{count:,}" in text


@pytest.mark.all
def test_an_export_without_texts_has_none(place, monkeypatch, tmp_path):
    monkeypatch.setenv("PNYX_NO_TEXT", "1")
    args = ("--export", tmp_path / "bare", "--judgements", 200)
    assert run("view", place / "results", *args)[0] == 0
    texts = [one["text"] for one in rows_of(place / "few.jsonl")]
    said = "".join(one.read_text(encoding="utf-8") for one in (tmp_path / "bare").rglob("*.html"))
    assert [text for text in texts if text[:60] in said] == []
    assert "Mean rating" in said or "mean rating" in said
    assert "Cogency" in said  # names of dimensions are no texts
    assert "&lt;7 characters&gt;" not in said


@pytest.mark.all
def test_tables_hold_every_judgement(place, catalogue, exported):
    for name in ("quality", "views", "support"):
        text = (exported / "tables" / f"judgements-{name}.csv").read_text(encoding="utf-8")
        rows = list(csv.DictReader(io.StringIO(text)))
        own = rows_of(place / "results" / f"{name}/answers.jsonl")
        assert len(rows) == len(own)
        assert sum(row["value"] == "" for row in rows) == sum(r["value"] is None for r in own)
        assert [bool(r["unscored"]) for r in rows] == [r["value"] is None for r in own]


@pytest.mark.parametrize(
    "path",
    [
        "quality/nothing",
        "quality/support",
        "quality/quality/topic/nothing",
        "quality/quality/odd/x",
        "quality/quality/2",
        "perspectives/support",
        "perspectives/views/nothing",
        "card/noise",
        "perspectives/views/zoos/nothing",
        "stress/support",
        "calibration/noise/x",
        "tables/2",
    ],
)
def test_what_is_not_there_has_no_page(catalogue, path):
    with pytest.raises(NotFoundError):
        shown(catalogue, path)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("bad-trial", '{"trial": "noise", "outcome": "x", "measures": {"a": 1}}'),
        (
            "bad-curve",
            '{"format": "pnyx-calibration", "judge": "x", "method": "isotonic", '
            '"parameters": {"x": [1], "y": ["a"]}, "threshold": "x"}',
        ),
        ("bad-bins", '{"task": "x", "measures": {"ece": 3}, "reliability": [{"from": "a"}]}'),
    ],
)
def test_malformed_figures_are_one_line(place, tmp_path, name, text):
    path = tmp_path / f"{name}.json"
    path.write_text(text, encoding="utf-8")
    catalogue = open_catalogue([str(path), str(place / "results" / "card.json")])
    kind = "stress" if name == "bad-trial" else "calibration"
    if any(one.problem for one in catalogue.sources()):
        return  # refused when it was read
    with pytest.raises(InputError, match=f"{name} is not as pnyx writes it"):
        shown(catalogue, f"{kind}/{name}")


# In a browser -------------------------------------------------------------------------------------


@pytest.mark.all
def test_an_export_is_read_from_the_disk(exported):
    with chromium() as browser:
        watched = Watched(browser)
        page = watched.open((exported / "index.html").as_uri())
        paper = page.evaluate("getComputedStyle(document.body).backgroundColor")
        page.click("text=Figures")
        page.click("text=Quality profile")
        assert page.locator("svg.figure circle.dot").count() == 15
        ink = page.evaluate("getComputedStyle(document.querySelector('svg.figure text')).fill")
        page.click("summary:has-text('The numbers')")
        assert page.locator("td:has-text('Emotional appeal')").is_visible()
        page.go_back()
        page.click("h2 >> text=Perspectives")
        page.click("a.chip:has-text('views')")
        page.click("a.chip >> nth=0")
        assert page.locator("table.matrix").get_by_text("missing").count() > 0
        page.click("nav[aria-label=Pages] >> text=Topics")
        page.click("main a >> nth=0")
        dark = watched.open(page.url, color_scheme="dark", **PHONE)
        assert dark.evaluate("getComputedStyle(document.body).backgroundColor") != paper
        dark.goto((exported / "quality" / "quality.html").as_uri())
        inked = "getComputedStyle(document.querySelector('svg.figure text')).fill"
        assert dark.evaluate(inked) != ink
        for name in ("quality/quality", "perspectives/views/zoos", "stress/noise", "card/card"):
            dark.goto((exported / f"{name}.html").as_uri())
            wide = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
            assert dark.evaluate(wide) <= 0, name
        watched.check(exported.as_uri())
        watched.close()


def test_every_style_of_a_page_is_packaged():
    assert "figures.css" in STATIC
    assert HOSTILE.startswith("<script>")
