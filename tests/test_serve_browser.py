"""The pages of `pnyx serve` in a real browser: ask, see both sides, read, have it argued."""

from __future__ import annotations

import itertools
import json
import re

import httpx2
import pytest

from page_fixture import PHONE, Watched, served, served_by_command
from pnyx.core.records import Argument, Document, Premise
from pnyx.formats.bundled_example import load_example
from pnyx.judging.students.surface_quality import QualityModel
from pnyx.search import build_index, cluster_documents, embed_documents, score_documents

pytestmark = pytest.mark.slow

LONG = 120_000
QUESTION = "Should voting be compulsory?"
ASKED = "/?q=Should+voting+be+compulsory%3F"


def indexed(folder, documents):
    """Build an index with all that the pages show, by the packaged encoder."""
    from pnyx.models.embed.embedder import embedder_from

    embedder = embedder_from()
    build_index(documents, folder)
    score_documents(folder, QualityModel.load())
    embed_documents(folder, embedder)
    cluster_documents(folder, embedder, k=2)
    return folder


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    """What `pnyx serve` serves: two of the bundled debates."""
    topics = ("compulsory-voting", "zoos")
    some = [d for d in load_example().arguments if d.id.startswith(topics)]
    folder = indexed(tmp_path_factory.mktemp("asking") / "debates.index", some)
    with served_by_command(["serve", str(folder)]) as (found, _):
        yield found


class Patient(Watched):
    """Waits long: the packaged judge takes its time on a busy machine."""

    def open(self, url, **options):
        page = super().open(url, **options)
        page.set_default_timeout(LONG)
        return page


@pytest.fixture
def watched(browser, address):
    window = Patient(browser)
    yield window
    window.close()
    window.check(address)


SHIFTS = """() => {
    window.shifts = 0;
    new PerformanceObserver((list) => {
        for (const entry of list.getEntries()) window.shifts += entry.value;
    }).observe({ type: "layout-shift", buffered: true });
}"""

SIDED = "#found:not([aria-busy]) .side-head"


@pytest.mark.all
def test_from_a_question_to_both_sides_why_filters_a_document_and_back(watched, address):
    page = watched.open(address)
    assert page.locator(".examples a").all_inner_texts() == [
        "Should voting be compulsory?",
        "Should zoos be phased out?",
    ]
    # The ranking is there at once, without its sides, which take their place without a jump.
    page.route("**/sides", lambda route: route.abort())
    page.fill("#q", QUESTION)
    page.keyboard.press("Enter")
    page.wait_for_url("**" + ASKED)
    assert "Deciding their sides takes" in page.inner_text("#told")
    page.get_by_role("alert").get_by_text("The server did not answer").wait_for()
    assert page.locator("#found:not([aria-busy]) article.result").count() == 20
    watched.troubles.clear()  # the request that was let fail
    page.unroute("**/sides")
    page.reload()
    page.evaluate(SHIFTS)
    page.wait_for_selector(SIDED)
    assert page.evaluate("window.shifts") < 0.1
    told = page.inner_text("#told")
    assert re.search(
        r"20 of \d+ documents: \d+ for, \d+ against, .* Sides decided in [\d.]+ s", told
    )
    for side in ("pro", "con"):
        ids = page.locator(f"section.{side} article").count()
        assert 3 <= ids <= 15
        hrefs = page.locator(f"section.{side} h3 a").evaluate_all("a => a.map(one => one.href)")
        stances = {d.id: d.stance for d in load_example().arguments}
        found = [re.search(r"/doc/([^?]+)", href)[1] for href in hrefs]
        labelled = [stances[one] for one in found if stances[one] in ("pro", "con")]
        assert labelled.count(side) >= 0.9 * len(labelled)

    first = page.locator("section.pro article").first
    assert first.locator("mark").count() > 0
    first.locator(".why summary").click()
    rows = first.locator(".why tbody tr").all_inner_texts()
    assert [row.split("\t")[0] for row in rows] == ["Relevance", "Words", "Meaning", "Quality"]
    values = [float(row.split("\t")[1].removeprefix("× ")) for row in rows]
    score = float(re.search(r"score of ([\d.]+)", first.locator(".why p").inner_text())[1])
    assert values[0] * values[3] == pytest.approx(score, abs=0.011)

    count = int(page.locator("nav[aria-labelledby=f-side] li", has_text="Against").inner_text()[-1])
    page.get_by_role("link", name="Against", exact=True).click()
    page.wait_for_url("**side=con*")
    assert page.locator("article.result").count() >= count
    assert page.locator("section.pro").count() == 0
    page.locator("a.chip").click()
    page.wait_for_selector("section.pro")
    assert "side=" not in page.url

    title = page.locator("section.con h3 a").first.inner_text()
    page.locator("section.con h3 a").first.click()
    assert page.inner_text("h1") == title
    assert "con" in page.locator(".facts").inner_text()
    assert page.locator(".near a").count() >= 3
    page.go_back()
    page.wait_for_selector("section.pro")
    page.goto(f"{address}{ASKED}&quality=best")
    assert 0 < page.locator("article.result").count() < 20


@pytest.mark.all
def test_an_argument_is_written_before_the_readers_eyes_and_has_an_address(watched, address):
    page = watched.open(address + ASKED)
    steps = []
    page.expose_function("noted", lambda text: steps.append(text))
    page.add_init_script("""addEventListener("DOMContentLoaded", () => {
        const step = document.getElementById("step");
        if (step) new MutationObserver(() => window.noted(step.textContent))
            .observe(step, { childList: true });
    })""")
    page.get_by_role("button", name="Write the argument").click()
    page.wait_for_url("**/argument/*")
    assert any("documents found" in step for step in steps)
    assert any("verdict" in step or "undecided" in step for step in steps)
    assert page.locator(".side.pro .s").count() >= 3
    assert page.locator(".side.con .s").count() >= 3

    page.locator(".side.con a.cite").first.click()
    sentence = page.inner_text("dialog .drawer-claim")
    marked = page.locator("dialog[open] mark.active").first.inner_text()
    assert marked.split()[:4] == sentence.split()[:4]
    page.keyboard.press("Escape")
    assert page.locator("dialog[open]").count() == 0

    with httpx2.Client(base_url=address) as client:
        place = httpx2.URL(page.url).path
        lines = client.get(f"{place}/argument.jsonl").text.splitlines()
        assert [json.loads(line)["metadata"]["narrative"] for line in lines] == [QUESTION] * 2
        assert client.get(f"{place}/argument.md").text.startswith(f"# {QUESTION}")
        report = client.get(f"{place}/argument.html")
        assert report.headers["content-disposition"].startswith("attachment")
        assert "<title>Should voting be compulsory? · Pnyx</title>" in report.text
        assert client.get("/argument/0000000000000000").status_code == 404
        assert client.get(f"{place}/other").status_code == 404
        # Neither an address alone nor a page of another site begins any work.
        assert client.get("/argue/events?q=never+asked").status_code == 404
        assert client.get("/argue/wait?q=never+asked").status_code == 404
        foreign = {"sec-fetch-site": "cross-site"}
        for path in ("/argue", "/sides", "/perspectives"):
            assert client.post(path, data={"q": QUESTION}, headers=foreign).status_code == 403
        for query in ("q=" + "x" * 3000, "q=x&n=0", "q=x&n=1000", "q=x&n=many"):
            assert client.get(f"/?{query}").status_code == 400, query
        assert client.get("/doc/nothing").status_code == 404
    again = watched.open(page.url)
    assert again.inner_text("h1") == QUESTION


@pytest.mark.all
def test_perspectives_are_covered_or_missing(watched, address):
    page = watched.open(address + ASKED)
    page.wait_for_selector(SIDED)
    page.get_by_role("link", name="Perspectives").click()
    page.wait_for_selector(".views li")
    said = page.inner_text("#views [role=status]")
    covered, of_all = map(int, re.search(r"cover (\d+) of (\d+) perspectives", said).groups())
    assert page.locator(".views li").count() == of_all
    assert page.locator(".views li.covered").count() == covered
    assert {"FOR", "AGAINST"} <= set(page.locator(".views .tag").all_inner_texts())
    rank = page.locator(".views .dots a").first
    page.goto(rank.evaluate("a => a.href"))
    assert page.locator("article h1").count() == 1


@pytest.mark.all
def test_on_a_phone_in_the_dark(watched, address):
    page = watched.open(address + ASKED, color_scheme="dark", **PHONE)
    page.wait_for_selector(SIDED)
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    assert not page.locator(".filters nav").first.is_visible()
    page.get_by_text("Filters", exact=True).click()
    assert page.locator(".filters nav").first.is_visible()
    ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
    ink = page.evaluate("getComputedStyle(document.body).color")
    assert sum(map(int, re.findall(r"\d+", ground)[:3])) < 150
    assert sum(map(int, re.findall(r"\d+", ink)[:3])) > 600
    page.locator("article h3 a").first.click()
    page.wait_for_selector("article h1")
    assert page.evaluate("document.documentElement.scrollWidth") == 390


@pytest.mark.all
def test_without_scripts_everything_is_there(watched, address):
    page = watched.open(f"{address}/?q=Should+zoos+be+phased+out%3F&n=6", java_script_enabled=False)
    assert page.locator("article.result").count() == 6
    page.get_by_role("button", name="Decide the sides").click()
    page.wait_for_selector("section.pro article")
    # What was told to others is there at once.
    page.fill("#q", QUESTION)
    page.get_by_role("button", name="Search").click()
    page.wait_for_selector("section.con article")
    if page.locator(".views li").count() == 0:
        page.get_by_role("button", name="Find the perspectives").click()
    page.wait_for_selector(".views li")
    page.get_by_role("button", name="Write the argument").click()
    page.wait_for_url("**/argument/*")
    page.locator("a.cite").first.click()
    assert "#e-pro-1-1" in page.url


@pytest.mark.all
def test_the_keyboard_alone_is_enough(watched, address):
    page = watched.open(address + ASKED)
    page.wait_for_selector(SIDED)
    seen = []
    for _ in range(40):
        page.keyboard.press("Tab")
        outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
        seen.append(page.evaluate("document.activeElement.innerText || document.activeElement.id"))
        assert outline != "none", seen[-1]
        if page.evaluate("document.activeElement.matches('.why summary')"):
            break
    assert seen[0] == "Skip to the content"
    assert seen.index("q") < seen.index("Search") < seen.index("Write the argument")
    assert seen.index("Write the argument") < seen.index("For")
    page.keyboard.press("Enter")
    assert page.locator(".why[open]").count() == 1
    levels = page.locator("main :is(h1, h2, h3)").evaluate_all("all => all.map(h => +h.tagName[1])")
    assert levels[0] == 1
    assert all(b - a <= 1 for a, b in itertools.pairwise(levels))


# A hostile corpus ---------------------------------------------------------------------------------

EVIL = (
    "<script>window.PWNED=1</script><img src=x onerror='window.PWNED=2'>\u202egnp.exe\u202c "
    "</textarea></title></style>{{ 7*7 }}\x00\x1b[31m zoos phased out "
)
BAD_IDS = ("..", "a/b?c#d", '"><img src=x onerror=alert(1)>', "%2e%2e%2f", "\u202eabc")
BAD_LINKS = ("javascript:window.PWNED=3", "data:text/html,<script>1</script>", "//evil.example/")


def hostile_documents():
    for n, doc_id in enumerate(BAD_IDS):
        url = BAD_LINKS[n % len(BAD_LINKS)]
        yield Document(doc_id, f"{EVIL} {'w' * 900}", EVIL, url, EVIL, {EVIL: {EVIL: EVIL}})
    for n in range(6):
        premises = (Premise(f"{EVIL} because {n}.", "con"), Premise("y" * 800))
        side = "pro" if n % 2 else "con"
        conclusion = f"Zoos should {'not ' * (n % 2)}be phased out {n} {EVIL}"
        yield Argument(f"evil{n}", conclusion, premises, side, EVIL, EVIL, "javascript:1")


HARM = """() => {
    const bad = [...document.querySelectorAll("a[href], form[action]")].filter((one) =>
        !/^https?:$/.test(new URL(one.href || one.action).protocol));
    const text = document.documentElement.outerHTML;
    const made = document.querySelectorAll("img, main script, main style");
    return [window.PWNED, bad.length, made.length,
        /[\\u202a-\\u202e\\u2066-\\u2069\\0\\x1b]/.test(text),
        document.documentElement.scrollWidth > innerWidth];
}"""
HARMLESS = [None, 0, 0, False, False]


@pytest.mark.all
def test_a_hostile_corpus_shows_as_text(browser, tmp_path):
    from pnyx.web.ask.application import build_asking
    from pnyx.web.ask.service import ServerSettings, open_service

    folder = indexed(tmp_path / "<b>evil.index", list(hostile_documents()))
    window = Patient(browser)
    asking = ServerSettings(index=str(folder))
    with open_service(asking, print) as service, served(build_asking(service, warm=False)) as at:
        page = window.open(at)
        assert page.evaluate(HARM) == HARMLESS
        page.fill("#q", f"Should zoos be phased out? {EVIL[:60]}")
        page.keyboard.press("Enter")
        page.wait_for_selector(SIDED)
        for opened in page.locator("main details:not(.filters) > summary").all()[:8]:
            opened.click()
        assert page.evaluate(HARM) == HARMLESS
        assert "<script>window.PWNED=1</script>" in page.inner_text("main")
        results = page.url
        page.locator("#perspectives").scroll_into_view_if_needed()
        page.wait_for_selector(".views, #views .lead")
        assert page.evaluate(HARM) == HARMLESS
        for doc_id in (*BAD_IDS, "evil1"):
            page.goto(f"{at}/doc?{httpx2.QueryParams({'id': doc_id, 'q': EVIL[:80]})}")
            assert page.locator("article .passage").count() > 0, doc_id
            for opened in page.locator("main details > summary").all():
                opened.click()
            assert page.evaluate(HARM) == HARMLESS, doc_id
            assert page.locator("dd a[href^='java'], dd a[href^='data']").count() == 0
        page.goto(f"{at}/?q={'%E2%80%AE' * 5}zoos&n=40")
        for href in page.locator("h3 a").evaluate_all("all => all.map(a => a.href)"):
            assert httpx2.get(href).status_code == 200, href
        page.goto(results)
        page.get_by_role("button", name="Write the argument").click()
        page.wait_for_url("**/argument/*")
        assert page.evaluate(HARM) == HARMLESS
        for missing in ("/doc/%3Cscript%3E", "/argument/%3Cscript%3E", "/doc?id=%FF"):
            assert httpx2.get(at + missing).status_code == 404
        window.close()
        window.check(at)
