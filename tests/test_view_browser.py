"""The report in a real browser: it reads well, works without scripts, and runs nothing hostile."""

from __future__ import annotations

import pytest

from case_fixture import build_case, one_sided_case
from page_fixture import PHONE, Watched
from pnyx.cases.page.report import render_html

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "report.html"
    path.write_text(render_html(build_case()), encoding="utf-8")
    return path


@pytest.fixture
def visit(browser):
    """Open a page; at the end, it must have logged nothing and asked for nothing but itself."""
    watched = Watched(browser)
    yield lambda path, **options: watched.open(path.as_uri(), **options)
    watched.close()
    watched.check("file:")
    assert len(watched.requests) == len(watched.contexts)


VISIBLE = """element => {
    const r = element.getBoundingClientRect();
    const hit = document.elementFromPoint(r.left + Math.min(r.width, 20) / 2, r.top + 5);
    return r.top >= 0 && r.top < innerHeight && !!hit
        && (hit === element || element.contains(hit) || hit.contains(element));
}"""


@pytest.mark.all
def test_a_citation_opens_the_passage_with_its_evidence_marked(visit, report):
    page = visit(report)
    page.click("#c-pro-3-1")
    dialog = page.locator("dialog[open]")
    assert dialog.locator("mark.active").all_inner_texts() == [
        "put most of the change down to the fine itself, small as it is: a sum that costs little "
        "more than a parking ticket"
    ]
    assert dialog.locator("mark.active").evaluate(VISIBLE)
    assert "supported, p = 0.81, packaged" in dialog.locator("tr.active").inner_text()
    assert dialog.locator(".drawer-claim").inner_text().startswith("Most of the change is owed")
    page.keyboard.press("Escape")
    assert page.locator("dialog[open]").count() == 0
    assert page.evaluate("document.activeElement.id") == "c-pro-3-1"


@pytest.mark.all
def test_evidence_deep_in_a_long_passage_is_scrolled_into_view(visit, report):
    for options in ({}, PHONE):
        page = visit(report, **options)
        page.locator("#c-con-7-7").click()
        mark = page.locator("dialog mark.active")
        assert mark.inner_text() == "Collecting a fine costs more than the fine brings in."
        assert mark.evaluate(VISIBLE)


@pytest.mark.all
def test_the_keyboard_alone_opens_and_closes_a_passage(visit, report):
    page = visit(report)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.focus("#c-con-1-5")
    page.keyboard.press("Enter")
    assert page.evaluate("document.querySelector('dialog').contains(document.activeElement)")
    page.click("#drawer-close")
    assert page.locator("dialog[open]").count() == 0


@pytest.mark.all
def test_a_verdict_leads_back_to_its_sentence(visit, report):
    page = visit(report)
    page.click("#c-con-4-1")
    page.locator("dialog a.back", has_text="P2").click()
    assert page.locator("dialog[open]").count() == 0
    assert page.url.endswith("#s-pro-2")
    assert page.locator("#s-pro-2").evaluate(VISIBLE)


@pytest.mark.all
def test_without_scripts_a_citation_jumps_to_the_marked_evidence(visit, report):
    page = visit(report, java_script_enabled=False)
    page.click("#c-con-6-7")
    assert page.url.endswith("#e-con-6-7")
    mark = page.locator("#e-con-6-7 mark")
    assert mark.inner_text().startswith("Those fined live")
    box = mark.bounding_box()
    assert box is not None
    assert 0 <= box["y"] < 900


@pytest.mark.all
def test_nothing_scrolls_sideways(visit, report):
    page = visit(report, **PHONE)
    for width in (320, 390, 700, 701, 900, 1280):
        page.set_viewport_size({"width": width, "height": 844})
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        page.locator("#c-pro-7-2").click()
        assert page.evaluate("document.querySelector('.drawer-body').scrollWidth") <= width
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        page.keyboard.press("Escape")


@pytest.mark.all
def test_sides_stand_side_by_side_on_a_desk_and_stacked_on_a_phone(visit, report):
    for options, stacked in (({}, False), (PHONE, True)):
        page = visit(report, **options)
        pro, con = (page.locator(f"section.{side}").bounding_box() for side in ("pro", "con"))
        assert (con["y"] >= pro["y"] + pro["height"]) == stacked
        assert (con["x"] > pro["x"]) != stacked


@pytest.mark.all
def test_nothing_in_a_document_runs_or_becomes_markup(visit, report):
    page = visit(report)
    page.click("#c-pro-7-2")
    assert page.evaluate("window.PWNED") is None
    assert page.locator("img").count() == 0
    assert page.locator("h1").all_inner_texts() == ["Should voting be compulsory?"]
    shown = page.locator("#ref-2 .passage").inner_text()
    assert "<script>window.PWNED = 1</script>" in shown
    assert "{{ 7*7 }}" in shown
    assert "&lt;b&gt;" in shown


@pytest.mark.all
def test_the_policy_stops_a_script_that_escaping_let_through(browser, tmp_path):
    path = tmp_path / "broken.html"
    html = render_html(build_case())
    evil = "<script>window.PWNED=1</script><img src=x onerror='window.PWNED=2'>"
    path.write_text(html.replace("</main>", evil + "</main>"), encoding="utf-8")
    page = browser.new_page()
    page.goto(path.as_uri())
    page.wait_for_timeout(100)
    assert page.evaluate("window.PWNED") is None
    page.click("#c-pro-1-1")
    assert page.locator("dialog[open]").count() == 1, "the page's own script is allowed"
    page.close()


BASICS = """() => {
    const name = e => (e.getAttribute('aria-label') || e.textContent).trim();
    const levels = [...document.querySelectorAll('main h1, main h2, main h3, main h4, header h1')]
        .map(h => +h.tagName[1]);
    return {
        h1: document.querySelectorAll('h1').length,
        main: document.querySelectorAll('main').length,
        banner: document.querySelectorAll('body > header').length,
        contentinfo: document.querySelectorAll('body > footer').length,
        unnamed: [...document.querySelectorAll('a, button, nav')].filter(e => !name(e)).length,
        skipped: levels.filter((l, i) => i && l - levels[i - 1] > 1).length,
        broken: [...document.querySelectorAll('[aria-labelledby]')]
            .filter(e => !document.getElementById(e.getAttribute('aria-labelledby'))).length,
        headless: [...document.querySelectorAll('section')]
            .filter(e => !e.hasAttribute('aria-labelledby')).length,
        lang: document.documentElement.lang,
        title: document.title,
    };
}"""


@pytest.mark.all
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_has_what_assistive_technology_needs(visit, report, scheme):
    page = visit(report, color_scheme=scheme)
    assert page.evaluate(BASICS) == {
        "h1": 1, "main": 1, "banner": 1, "contentinfo": 1,
        "unnamed": 0, "skipped": 0, "broken": 0, "headless": 0,
        "lang": "en", "title": "Should voting be compulsory? · Pnyx",
    }  # fmt: skip
    assert page.locator("#s-pro-6").inner_text().split("\n")[0].strip() == "P6"
    assert "not supported" in page.locator("#s-pro-6 .gutter").text_content()
    ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert ground == {"light": "rgb(253, 253, 251)", "dark": "rgb(21, 23, 26)"}[scheme]


@pytest.mark.all
def test_an_empty_side_is_a_statement_not_a_gap(visit, tmp_path):
    path = tmp_path / "one.html"
    path.write_text(render_html(one_sided_case()), encoding="utf-8")
    page = visit(path)
    said = "No passage that argues a side of the question was found."
    assert said in page.locator("section.con").inner_text()
