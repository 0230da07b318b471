"""`pnyx label` in a browser: by keyboard alone, blind, agreed upon, adjudicated, measured."""

from __future__ import annotations

import json
import re
import subprocess
import sys

import pytest

from label_fixture import item_rows, labels_in, write_rows
from page_fixture import PHONE, Watched, served_by_command

pytestmark = pytest.mark.slow
pytest.importorskip("starlette", reason="starlette is not installed")


@pytest.fixture
def watched(browser):
    made = Watched(browser)
    yield made
    made.close()


def links_of(process_lines):
    return dict(re.findall(r"^  (\S+): (http\S+)$", process_lines, re.MULTILINE))


def where(page) -> str:
    return page.locator(".where b").inner_text()


def press(page, *keys: str) -> None:
    """Press keys, each once what came before is done."""
    for key in keys:
        before = page.evaluate("document.getElementById('work').textContent")
        page.keyboard.press(key)
        if key in ("Enter", "z", "j", "k"):
            page.wait_for_function(
                "before => document.getElementById('work').textContent !== before", arg=before
            )


@pytest.mark.all
def test_two_people_label_ten_items_by_keyboard_and_a_third_decides(watched, tmp_path):
    rows = item_rows("support", 10)
    items = write_rows(tmp_path / "items.jsonl", rows)
    out = str(tmp_path / "labels.jsonl")
    args = ["label", "support", items, "--out", out, "--annotators", "ann,ben"]
    from pnyx.web.label.journal import journal_of
    from pnyx.web.label.people import token_of

    with served_by_command(args) as (address, _):
        secret = json.loads((journal_of(out) / "manifest.json").read_text())["secret"]

        def enter(name):
            return watched.open(f"{address}/?token={token_of(secret, name)}")

        ann = enter("ann")
        ann.keyboard.press("Tab")
        ann.goto(f"{address}/next")
        for answer in "yynyn":
            press(ann, answer, "Enter")
        assert where(ann) == "6"
        press(ann, "z")  # back to the fifth, which still shows what was chosen
        assert where(ann) == "5"
        assert ann.locator("input[data-key=n]").is_checked()
        ann.keyboard.press("c")
        ann.keyboard.type("why so")
        ann.keyboard.press("Escape")
        with ann.expect_response(lambda answer: "unsure" in (answer.request.post_data or "")):
            ann.keyboard.press("u")
        ann.reload()  # nothing of that is lost
        assert where(ann) == "5"
        assert ann.locator("#comment").input_value() == "why so"
        assert ann.locator("input[name=unsure]").is_checked()
        press(ann, "n", "Enter")
        for answer in "yyyy":  # the same letter twice is enough
            before = where(ann)
            ann.keyboard.press(answer)
            ann.keyboard.press(answer)
            ann.wait_for_function(
                "n => document.querySelector('.where b').textContent !== n", arg=before
            )
        ann.keyboard.press("s")
        ann.keyboard.press("Enter")
        ann.get_by_text("All 10 items are done").wait_for()
        assert ann.evaluate("document.activeElement.id") == "asks"

        ben = enter("ben")
        ben.goto(f"{address}/next")
        assert "0" in ben.locator(".far summary").inner_text()
        for answer in "ynnynyyyyy":
            press(ben, answer, "Enter")
        ben.get_by_text("All 10 items are done").wait_for()
        assert ben.goto(f"{address}/organise").status == 403
        watched.troubles = [t for t in watched.troubles if "403" not in t]

        boss = enter("organiser")
        # Nine items were answered by both, eight alike: only the second differs.
        table = boss.locator("section", has_text="Same answer").inner_text()
        assert "89 %" in table
        assert "9 of 10" in table
        boss.get_by_role("link", name="Decide the first").click()
        assert "Person 1" in boss.content()
        press(boss, "n", "Enter")
        assert {"ann", "ben"} <= set(boss.locator(".others thead th").all_inner_texts())
        press_onward = boss.locator("#onward")
        assert "organise" in press_onward.get_attribute("href")

    labels = labels_in(tmp_path)
    assert len(labels) == 9 + 10 + 1
    (fifth,) = [row for row in labels if (row["id"], row["annotator"]) == ("i5", "ann")]
    assert (fifth["value"], fifth["uncertain"], fifth["comment"]) == (False, True, "why so")
    assert fifth["seconds"] > 0
    (third,) = [row for row in labels if row["annotator"] == "adjudicated"]
    assert (third["id"], third["value"]) == ("i2", False)
    watched.check(address)

    # The judge says yes to all: right on 1, 4 and 6 to 10 of what people say, i.e. 7 of 10.
    answers = write_rows(
        tmp_path / "answers.jsonl",
        [
            {"id": row["id"], "task": "support", "value": True, "unscored": None, "judge": "j"}
            for row in rows
        ],
    )
    command = [sys.executable, "-m", "pnyx", "measure", answers, "--labels", out]
    found = subprocess.run([*command, "--json"], capture_output=True, text=True, check=True)
    measures = json.loads(found.stdout)["measures"]
    assert measures["accuracy"]["value"] == pytest.approx(0.7)
    assert measures["accuracy"]["scored"] == 10


@pytest.mark.all
def test_ratings_are_kept_as_they_are_chosen(watched, tmp_path):
    items = write_rows(tmp_path / "items.jsonl", item_rows("quality", 2))
    args = ["label", "quality", items, "--out", str(tmp_path / "labels.jsonl"), "--scale", "5"]
    with served_by_command(args) as (address, _):
        page = watched.open(address)
        page.fill("#name", "ann")
        page.keyboard.press("Enter")
        page.locator(".field-row.here").wait_for()  # the script listens to keys
        for _ in range(7):
            page.keyboard.press("4")
        checked = "document.querySelectorAll('input:checked[type=radio]').length"
        page.wait_for_function(f"{checked} === 7")
        page.wait_for_load_state("networkidle")
        page.reload()
        page.wait_for_function(f"{checked} === 7")
        assert page.locator(".field-row.here legend").inner_text() == "Appropriateness"
        page.keyboard.press("Enter")
        page.get_by_text("Not everything is answered: Appropriateness.").wait_for()
        for _ in range(8):
            page.keyboard.press("2")
        page.keyboard.press("Enter")
        page.wait_for_url("**/item/2")
        page.keyboard.press("?")
        assert page.locator("dialog[open]").is_visible()
        page.keyboard.press("Escape")
    labels = labels_in(tmp_path)
    assert [row["value"] for row in labels] == [4] * 7 + [2] * 8
    watched.troubles = [t for t in watched.troubles if "400" not in t]  # the one made on purpose
    watched.check(address)


@pytest.mark.all
@pytest.mark.parametrize("how", ["phone", "dark", "no script"])
def test_pages_fit_and_work(watched, tmp_path, how):
    long = "Compulsory voting raised turnout to over ninety percent. " * 60
    rows = [{**row, "text": row["text"] + long} for row in item_rows("support", 2)]
    items = write_rows(tmp_path / "items.jsonl", rows)
    options = {
        "phone": PHONE,
        "dark": {"color_scheme": "dark"},
        "no script": {"java_script_enabled": False},
    }[how]
    with served_by_command(
        ["label", "support", items, "--out", str(tmp_path / "labels.jsonl")]
    ) as (address, _):
        page = watched.open(address, **options)
        page.fill("#name", "ann")
        page.get_by_role("button", name="Begin").click()
        for mark in (0, 1):
            choice = page.locator("input[name=f0]").nth(mark)
            choice.check()
            box = page.locator(".choice").nth(mark).bounding_box()
            assert box["height"] >= 44
            viewport = page.viewport_size
            assert box["y"] + box["height"] <= viewport["height"], "the choices are in sight"
            if how != "no script":
                assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
            # The statement stays in sight however far the text is scrolled.
            page.mouse.wheel(0, 400) if how == "dark" else None
            assert page.locator(".given.chief").bounding_box()["y"] >= 0
            page.locator("#save").click()
            page.get_by_text("2 of 2" if mark == 0 else "All 2 items are done").first.wait_for()
        for path in ("/", "/items", "/organise"):
            page.goto(address + path)
            assert page.locator("h1").count() == 1
        watched.check(address)  # before the server ends, which a page may ask at any time
    assert [row["value"] for row in labels_in(tmp_path)] == [True, False]
