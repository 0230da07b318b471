"""Journeys in Chromium: from a report to the exact prompt and on; two judges; phone; dark."""

from __future__ import annotations

import os
from itertools import pairwise
from pathlib import Path

import pytest

from page_fixture import PHONE, Watched, served
from test_serve_findings import results  # noqa: F401

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def address(results):  # noqa: F811
    from pnyx.web.results.application import view_app
    from pnyx.web.results.open_catalogue import CurrentCatalogue

    before = Path.cwd()
    os.chdir(results)
    try:
        with served(
            view_app(CurrentCatalogue(["llm", "packaged", "both.jsonl", "said", "told"]))
        ) as url:
            yield url
    finally:
        os.chdir(before)


@pytest.mark.all
def test_from_a_report_to_the_exact_prompt_and_on(browser, address):
    watched = Watched(browser)
    page = watched.open(f"{address}/report/llm/run-a/7")
    page.get_by_role("link", name="Within half a year a third more people").click()
    assert "Sentence 2" in page.title()
    page.get_by_role("link", name="the judgement").first.click()
    assert page.locator("h1").inner_text().split() == ["yes", "p", "=", "0.90"]
    prompt = page.locator("pre.raw").nth(1).inner_text()
    assert "Halden halved its fares in May." in prompt
    assert '"answer": "yes"' in page.locator(".reply pre").inner_text()
    at = page.url
    page.keyboard.press("j")
    page.wait_for_url(lambda url: url != at)
    page.keyboard.press("k")
    page.wait_for_url(at)
    page.get_by_role("link", name="sentence 2").first.click()
    page.wait_for_url("**/sentence/llm/run-a/7/2")
    page.wait_for_load_state()
    page.keyboard.press("ArrowRight")
    page.wait_for_url("**/sentence/llm/run-a/7/3")
    watched.check(address)
    watched.close()


@pytest.mark.all
def test_two_judges_chosen_by_a_form_on_a_phone_in_the_dark_without_javascript(browser, address):
    watched = Watched(browser)
    page = watched.open(
        f"{address}/compare", **PHONE, color_scheme="dark", java_script_enabled=False
    )
    page.get_by_label("First judge").select_option("said")
    page.get_by_label("Second judge").select_option("told")
    page.get_by_role("button", name="Compare").nth(1).click()
    assert page.url.endswith("/compare/judges/said/told")
    page.locator("#open + .scroll a").first.click()
    assert "/judgement/" in page.url or "/topic/" in page.url
    watched.check(address)
    watched.close()


@pytest.mark.all
@pytest.mark.parametrize(
    "path",
    [
        "/report/llm/run-b/7", "/sentence/llm/run-b/7/3", "/judgement/llm/40", "/compare",
        "/compare/judges/said/told", "/compare/runs/run-a/run-b/llm/7", "/judgement/said/3",
    ],
)  # fmt: skip
def test_no_page_runs_anything_or_is_wider_than_a_phone(browser, address, path):
    watched = Watched(browser)
    page = watched.open(address + path, **PHONE)
    wide = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
    assert page.evaluate(wide) <= 0
    levels = page.evaluate("[...document.querySelectorAll('h1,h2,h3,h4')].map(h => +h.tagName[1])")
    assert levels[0] == 1
    assert all(b - a <= 1 for a, b in pairwise(levels)), levels
    watched.check(address)
    watched.close()
