"""`pnyx view` in a real browser: from the overview to a topic and back, desk and phone."""

from __future__ import annotations

import json

import pytest

from command import write_rows
from page_fixture import PHONE, Watched, served_by_command
from view_results import items

pytestmark = pytest.mark.slow

HOSTILE = "<script>window.PWNED=1</script><img src=x onerror='window.PWNED=2'>\u202egnp"


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    """Two runs' measures, and judgements of which one is unscored and one hostile."""
    folder = tmp_path_factory.mktemp("viewed")
    rows = [
        {"id": one["id"], "task": "support", "group": one["group"], "run_id": f"run-{n % 2}",
         "judge": "people", "value": n % 3 == 0, "probability": 0.5 + n / 400, "unscored": None,
         "explanation": f"It says that number {n} rose."}
        for n, one in enumerate(items(60, 3))
    ]  # fmt: skip
    rows[7] |= {"value": None, "probability": None, "unscored": "refusal: I would rather not"}
    rows[8] |= {"id": HOSTILE, "group": HOSTILE, "judge": HOSTILE, "explanation": HOSTILE}
    results = folder / "results"
    results.mkdir()
    write_rows(results / "answers.jsonl", rows)
    runs = [
        {"run": f"run-{n}", "measures": {
            "f1": {"value": 0.4 + n / 4, "low": 0.3, "high": 0.8, "scored": 3, "asked": 3},
            "nugget_recall": {"value": None if n else 0.5, "low": None, "high": None, "scored": 0,
                              "asked": 3},
        }, "per_group": {f"t{t}": {"f1": {"value": t / 4, "scored": 1, "asked": 1}}
                         for t in range(3)}}
        for n in range(2)
    ]  # fmt: skip
    (folder / "measured.json").write_text(json.dumps({"task": "report", "runs": runs}))
    (folder / "broken.jsonl").write_text('{"id": "q", "value": true, "task": "t", "judge": \n')
    env = {"PNYX_CACHE": str(folder / "cache")}
    with served_by_command(["view", str(folder)], **env) as (url, _):
        yield url


@pytest.fixture
def watched(browser, address):
    watching = Watched(browser)
    yield watching
    try:
        watching.check(address)
    finally:
        watching.close()


def fits(page) -> bool:
    return page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_from_the_overview_to_a_judgement_and_back(watched, address):
    page = watched.open(f"{address}/")
    assert page.title() == "Results · Pnyx"
    assert "broken.jsonl:1" in page.locator(".notice.bad").inner_text()
    assert page.locator("dd a").inner_text() == "1"  # unscored
    page.get_by_role("navigation", name="Pages").get_by_role("link", name="Leaderboard").click()
    names = page.locator("tbody th a")
    assert names.all_inner_texts() == ["run-1", "run-0"]
    assert page.locator("th[aria-sort=descending]").inner_text().startswith("f1")
    assert page.locator("tbody tr").first.locator("svg.gauge path").count() == 1
    page.get_by_role("link", name="f1").click()
    assert page.locator("th[aria-sort=ascending]").count() == 1
    assert names.all_inner_texts() == ["run-0", "run-1"]
    page.get_by_role("link", name="nugget_recall").click()
    assert names.all_inner_texts() == ["run-1", "run-0"]  # without a value: first
    assert "unscored" in page.locator("tbody tr").first.inner_text()
    assert page.get_by_text("Harmonic mean").count() == 1
    names.first.click()
    assert page.locator("h1").inner_text() == "run-1"
    page.get_by_role("link", name="t2").click()
    assert page.locator("h1").inner_text() == "t2"
    page.get_by_role("link", name="results 60").click()
    assert "topic" in page.locator(".filters").inner_text()
    page.get_by_role("link", name="no", exact=False).filter(has_text="no ").first.click()
    shown = page.locator("table.judged tbody tr")
    assert shown.count() == 40
    assert page.locator(".chip.on").first.inner_text().startswith("no")
    page.go_back()
    page.go_back()
    assert page.locator("h1").inner_text() == "t2"


@pytest.mark.all
def test_the_unscored_stand_first_and_hostile_text_is_text(watched, address):
    page = watched.open(f"{address}/judgements")
    rows = page.locator("table.judged tbody tr")
    assert rows.count() == 100
    assert "unscored" in rows.first.inner_text()
    assert "I would rather not" in rows.first.inner_text()
    page.get_by_role("link", name="Next").first.click()
    assert "101 to 180 of 180" in page.locator(".pager").first.inner_text()
    page.goto(f"{address}/search")
    page.get_by_role("searchbox").fill("onerror")
    page.keyboard.press("Enter")
    page.get_by_text("1 found", exact=True).wait_for()
    assert "<script>window.PWNED=1</script>" in page.locator(".card").inner_text()
    for path in ("/", "/topics", "/source/results", "/runs"):
        page.goto(address + path)
        assert page.evaluate("window.PWNED") is None


@pytest.mark.all
def test_a_phone_and_the_dark(watched, address):
    for options in (PHONE, {"color_scheme": "dark"}):
        page = watched.open(address, **options)
        for path in ("/", "/leaderboard", "/topics", "/topic/t1", "/run/run-0", "/judgements",
                     "/source/results", "/search?q=number"):  # fmt: skip
            page.goto(address + path)
            assert fits(page), path
            assert page.locator("h1").count() == 1
    colour = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert max(map(int, colour[4:-1].split(", "))) < 80
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
