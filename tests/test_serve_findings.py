"""Pages of reports, sentences, judgements and comparisons, on what the real commands write."""

from __future__ import annotations

import html as htmllib
import json
import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from argue_report import scripted, write_files
from chat_server import ChatServer
from pnyx.core.errors import InputError
from pnyx.web.rendering import Links, Site
from pnyx.web.results.kinds import JUDGEMENTS
from pnyx.web.results.open_catalogue import open_catalogue
from pnyx.web.results.records import NotFoundError
from pnyx.web.results.routes import address_of, addresses, rendered, show
from pnyx.web.results.texts import calls_behind
from view_results import run

HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(2)> javascript:alert(3) \u202egnp."
SENTENCES = (0, 2, 4, 6, 9)
"""Of the report of argue_report, those that the second run has."""

ITEMS = (
    ("1", "Fares fell in May.", "Fares fell.", "t0"),
    ("2", "Fares fell in May.", "Ridership rose.", "t1"),
    ("3", f"{HOSTILE} Night buses are free.", "Night buses cost nothing.", "t2"),
    ("4", "Halden lies on a fjord.", "Halden is by the sea.", "t0"),
    ("5", "No study [[prose]] was found.", "There are studies.", "t1"),
)


def run_pnyx(folder: Path, *args: object, status: tuple[int, ...] = (0,)) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("PNYX_STORE", str(folder / "store.sqlite"))
        patch.delenv("PNYX_LLM", raising=False)
        assert run(*args)[0] in status


def verdict_of(prompt: str) -> str:
    try:
        return scripted(prompt)
    except KeyError:  # the second run's hostile sentence
        if len(re.findall(r"^<<<statement", prompt, re.MULTILINE)) > 1:
            return HOSTILE  # cannot be read, so that each statement is asked about alone
        return json.dumps({"reason": HOSTILE, "evidence": "", "answer": "no", "confidence": 0.6})


def two_runs(folder: Path) -> Path:
    run, bank = write_files(folder)
    first = json.loads(Path(run).read_text(encoding="utf-8"))
    second = json.loads(json.dumps(first))
    second["metadata"]["run_id"] = "run-b"
    second["responses"] = [second["responses"][n] for n in SENTENCES]
    second["responses"][2]["text"] = f"Halden lies on a fjord {HOSTILE}"
    cited = {one for sentence in second["responses"] for one in sentence["citations"]}
    second["references"] = sorted(cited)
    second["documents"] = {k: v for k, v in second["documents"].items() if k in cited}
    both = folder / "both.jsonl"
    both.write_text(json.dumps(first) + "\n" + json.dumps(second) + "\n", encoding="utf-8")
    return Path(bank)


@pytest.fixture(scope="module")
def results(made_once, run_once):
    """Two runs judged by a model and by the packaged judges, and items judged by both."""
    return made_once("findings", make_results)


def make_results(folder: Path) -> None:
    bank = two_runs(folder)
    rows = [dict(zip(("id", "text", "statement", "group"), one, strict=True)) for one in ITEMS]
    text = "".join(json.dumps(row) + "\n" for row in rows)
    (folder / "items.jsonl").write_text(text, encoding="utf-8")
    report = ("judge", "report", "both.jsonl", "--nuggets", bank)
    with ChatServer(reply=verdict_of) as server:
        run_pnyx(folder, *report, "--judge", server.spec, "--out", "llm", status=(0, 3))
    run_pnyx(folder, *report, "--out", "packaged", status=(0, 3))
    with ChatServer() as server:
        model = ("--judge", server.spec)
        run_pnyx(folder, "judge", "support", "items.jsonl", *model, "--out", "said", status=(3,))
    run_pnyx(folder, "judge", "support", "items.jsonl", "--out", "told")


@pytest.fixture
def catalogue(results, tmp_path, monkeypatch):
    monkeypatch.chdir(results)
    monkeypatch.setenv("PNYX_CACHE", str(tmp_path))
    return open_catalogue(["llm", "packaged", "both.jsonl", "said", "told"])


def page_of(catalogue, address: str) -> str:
    place = address_of(address)
    return rendered(show(catalogue, place), place, Site("x"), Links())


def words_of(page: str) -> str:
    text = re.sub(r"<[^>]+>", " ", page.partition("<main")[2].partition("</main>")[0])
    return " ".join(htmllib.unescape(text).split())


# Reports and sentences ---------------------------------------------------------------------------


def test_a_report_shows_each_sentence_nugget_and_penalty_as_worked_by_hand(catalogue):
    said = words_of(page_of(catalogue, "/report/llm/run-a/7"))
    # argue_report.ATTESTED: 6 of 7 sentences that need support are scored, 4 of them supported.
    assert "Sentence precision 0.667 6 of 7 scored" in said
    assert "Nugget recall 0.667 3 of 3 scored" in said
    assert "Unscored Sentence 7" in said
    assert said.index("Unscored") < said.index("Sentences")
    assert said.count("penalty 1") == 4
    assert "the cited document does not attest it: penalty 1" in said
    assert "the cited document is not relevant: penalty 1 (d6)" in said
    assert "a nugget without answers confirms that: reward 1" in said
    assert "Missed 1 of 4" in said
    assert "Answered 2 of 4" in said
    assert "Known to have no answer 1 of 4" in said
    assert "Ridership rose by a third. answered by sentence 2" in said


def test_a_report_marks_its_state_by_sign_and_leads_to_each_sentence(catalogue):
    page = page_of(catalogue, "/report/llm/run-a/7")
    states = re.findall(r'<li class="s s-(\w+)" id="s(\d+)">', page)
    expected = "yes yes no yes yes uncited unscored uncited uncited uncited uncited".split()
    assert states == [(state, str(n)) for n, state in enumerate(expected, 1)]
    for n in range(1, 12):
        assert f'href="/sentence/llm/run-a/7/{n}"' in page
    assert 'href="/report/packaged/run-a/7"' in page  # judged by the other judge


def test_a_sentence_shows_citations_with_their_text_and_each_nugget_asked(catalogue):
    page = page_of(catalogue, "/sentence/llm/run-a/7/2")
    said = words_of(page)
    assert "Halden halved its fares in May. By autumn a third more people rode the buses." in said
    assert said.count("supported , p = 0.90 by test") == 2
    assert "the bank names it for nugget n1" in said
    table = said.partition("Nuggets that it may answer")[2]
    assert len(re.findall(r"\bno\b", table)) == 4  # not named in the reply: no probability
    assert table.count("yes , p = 0.90") == 1
    assert table.index(" yes ,") < table.index(" no ")
    assert page.count("/judgement/llm/") >= 7
    assert 'rel="prev" href="/sentence/llm/run-a/7/1"' in page
    assert 'rel="next" href="/sentence/llm/run-a/7/3"' in page


def test_evidence_is_marked_in_the_passage_of_a_packaged_judgement(catalogue):
    page = page_of(catalogue, "/sentence/packaged/run-a/7/3")
    assert "<mark>Night buses in Halden have been free since June.</mark>" in page


def test_a_passage_is_found_in_the_prompt_where_no_response_is_given(results, catalogue):
    alone = open_catalogue(["llm"])
    assert "Ridership in Halden rose" in words_of(page_of(alone, "/sentence/llm/run-a/7/2"))
    alone = open_catalogue(["packaged"])
    assert "do not contain its text" in words_of(page_of(alone, "/sentence/packaged/run-a/7/2"))


def test_a_response_that_was_not_judged_is_shown_as_it_was_written(catalogue):
    said = words_of(page_of(catalogue, "/report/both/run-a/7"))
    assert "as written" in said
    assert "precision" not in said
    assert "Halden lies on a fjord." in words_of(page_of(catalogue, "/sentence/both/run-a/7/5"))


@pytest.mark.parametrize(
    "address",
    [
        "/report/llm/run-a/8", "/report/llm/run-c/7", "/sentence/llm/run-a/7/12",
        "/sentence/llm/run-a/7/0", "/sentence/llm/run-a/7/x", "/judgement/llm/0",
        "/judgement/llm/9999", "/judgement/llm/1x", "/compare/runs/run-a",
        "/compare/judges/said/nobody", "/compare/judges/said/told/9", "/compare/else/a/b",
        "/compare/runs/run-a/run-b/said",
    ],
)  # fmt: skip
def test_what_is_not_there_is_said(catalogue, address):
    with pytest.raises(NotFoundError):
        page_of(catalogue, address)


# Judgements --------------------------------------------------------------------------------------


def judgement_at(catalogue, source: str, item: str) -> str:
    (found,) = catalogue.judgements_of_item(item, source)
    return f"/judgement/{source}/{found.n}"


def test_a_judgement_shows_the_exact_prompt_and_the_raw_answer(catalogue):
    page = page_of(catalogue, judgement_at(catalogue, "said", "3"))
    blocks = [
        htmllib.unescape(one)
        for one in re.findall(r"<pre class=\"raw\"[^>]*>(.*?)</pre>", page, re.S)
    ]
    assert len(blocks) == 3  # system, user, answer
    assert "Night buses cost nothing." in blocks[1]
    assert json.loads(blocks[2])["answer"] in ("yes", "no")
    said = words_of(page)
    assert "support version 2" in said
    assert "there is no threshold" in said
    assert "prompt tokens" in said


def test_a_repair_turn_and_an_unscored_answer_are_shown_with_both_calls(catalogue):
    page = page_of(catalogue, judgement_at(catalogue, "said", "5"))
    said = words_of(page)
    assert "unscored schema: found" in said
    assert "Call 1 of 2" in said
    assert "Call 2 of 2" in said
    assert "Your last reply could not be read" in said
    assert "1 of 5" in said  # the unscored stands first
    assert 'rel="prev"' not in page


def test_all_judgements_are_gone_through_once_the_unscored_and_least_sure_first(catalogue):
    address, seen = judgement_at(catalogue, "said", "5"), []
    while address:
        page = page_of(catalogue, address)
        seen.append(address)
        found = re.search(r'rel="next" href="([^"]+)"', page)
        address = found[1] if found else ""
    assert sorted(seen) == [f"/judgement/said/{n}" for n in range(1, 6)]
    sure = [catalogue.judgement("said", int(one.rpartition("/")[2])).confidence for one in seen]
    assert sure[0] is None
    assert sure[1:] == sorted(sure[1:])


def test_a_packaged_judgement_shows_its_text_pair_and_threshold(catalogue):
    page = page_of(catalogue, judgement_at(catalogue, "told", "2"))
    said = words_of(page)
    assert "No language model was asked" in said
    assert "Text Fares fell in May." in said
    assert "Statement Ridership rose." in said
    row = json.loads(Path("told/answers.jsonl").read_text(encoding="utf-8").splitlines()[1])
    assert f"Yes from a probability of {row['threshold']:.2f}" in said
    assert "(similarity F1 0.28, AUROC 0.74)" in said


def test_a_line_of_a_model_that_names_no_calls_is_not_said_to_be_of_none(catalogue):
    (source,) = [source for source in catalogue.sources() if source.name == "told"]
    assert calls_behind(source, {"prompt_hash": "ab"}).problem == (
        "The line has the hash of a prompt, but does not name its calls."
    )
    assert calls_behind(source, {}).problem.startswith("No language model was asked")


def test_a_file_that_holds_other_items_now_is_not_shown(results, catalogue, tmp_path):
    copy = tmp_path / "folder" / "told"
    shutil.copytree(results / "told", copy)
    manifest = json.loads((copy / "manifest.json").read_text(encoding="utf-8"))
    secret = tmp_path / "secret.jsonl"
    secret.write_text('{"id": "2", "text": "SECRET", "statement": "x"}\n', encoding="utf-8")
    manifest["items"]["path"] = str(secret)
    (copy / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    said = words_of(page_of(open_catalogue([str(copy)]), "/judgement/told/2"))
    assert "SECRET" not in said
    assert "no longer exists or has changed" in said


def test_a_store_that_is_missing_is_said_and_another_can_be_named(results, tmp_path, monkeypatch):
    copy, store = tmp_path / "said", tmp_path / "store.sqlite"
    shutil.copytree(results / "said", copy)
    shutil.copy(results / "store.sqlite", store)
    manifest = json.loads((copy / "manifest.json").read_text(encoding="utf-8"))
    manifest["store"]["path"] = str(store)
    (copy / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    monkeypatch.setenv("PNYX_CACHE", str(tmp_path / "cache"))
    catalogue = open_catalogue([str(copy)])
    place = judgement_at(catalogue, "said", "1")
    assert "raw answer" in words_of(page_of(catalogue, place))
    moved = store.rename(tmp_path / "moved.sqlite")
    said = words_of(page_of(catalogue, place))
    assert "is not on this machine" in said
    assert "--store FILE" in said
    named = open_catalogue([str(copy)], store=str(moved))
    assert "raw answer" in words_of(page_of(named, place))


catalogue_paths = ["llm", "packaged", "both.jsonl", "said", "told"]


def test_a_file_that_is_no_store_is_refused(results, monkeypatch, call):
    monkeypatch.chdir(results)
    status, _, said = call("view", "said", "--store", "items.jsonl", "--json")
    assert (status, said.count("\n")) == (2, 1)
    assert "not SQLite" in said


def test_restricted_mode_shows_no_text(catalogue, monkeypatch):
    place = judgement_at(catalogue, "said", "1")
    monkeypatch.setenv("PNYX_NO_TEXT", "1")
    hidden = open_catalogue(catalogue_paths)
    addresses = (place, "/report/llm/run-a/7", "/sentence/llm/run-a/7/2", "/report/both/run-a/7",
                 "/sentence/both/run-a/7/2", judgement_at(hidden, "told", "2"))  # fmt: skip
    for address in addresses:
        page = page_of(hidden, address)
        for text in ("Halden", "Fares fell", "Ridership", "people rode"):
            assert text not in page, address


@pytest.mark.all
def test_hostile_texts_show_as_text_on_every_page(catalogue):
    shown = 0
    for address in addresses(catalogue):
        text = rendered(show(catalogue, address), address, Site("x"), Links())
        assert "<script>alert" not in text
        assert "<img" not in text
        assert 'href="javascript' not in text
        assert "\u202e" not in text
        shown += "&lt;script&gt;alert(1)" in text
    assert shown >= 6  # report, sentence, prompts, replies


# Two side by side --------------------------------------------------------------------------------


def test_two_judges_with_their_disagreements_first_and_counts_by_hand(catalogue):
    page = page_of(catalogue, "/compare/judges/told/said")
    said = words_of(page)
    values = {
        name: {one.item: (one.value, one.confidence) for one in catalogue.every(JUDGEMENTS)
               if one.source == name}
        for name in ("told", "said")
    }  # fmt: skip
    both = {i: (values["told"][i], values["said"][i]) for i in values["told"]}
    scored = {i: pair for i, pair in both.items() if None not in (pair[0][0], pair[1][0])}
    differ = [i for i, (a, b) in scored.items() if a[0] != b[0]]
    differ.sort(key=lambda i: -min(scored[i][0][1], scored[i][1][1]))
    assert f"Unscored by at least one of them: {5 - len(scored)}." in said
    agree = len(scored) - len(differ)
    assert f"they agree on {agree} and differ on {len(differ)}" in said
    exact = agree / len(scored)
    yes = [sum(pair[k][0] for pair in scored.values()) / len(scored) for k in (0, 1)]
    chance = yes[0] * yes[1] + (1 - yes[0]) * (1 - yes[1])
    assert f"accuracy {exact:.3f}" in said
    if chance < 1:
        assert f"kappa {(exact - chance) / (1 - chance):.3f}" in said
    table = page.partition('id="differ"')[2]
    shown = re.findall(r'<td class="number soft">\d+</td><td dir="auto">(\d+)', table)
    assert shown == differ
    assert page.index('id="open"') < page.index('id="differ"')
    for source in ("told", "said"):
        assert f'href="/judgement/{source}/5"' in page


def test_two_runs_with_their_differences(catalogue):
    said = words_of(page_of(catalogue, "/compare/runs/run-a/run-b/llm"))
    # One topic: run-a answers 2 of 3 nuggets, run-b none: its sentences give one half of an AND.
    assert "Nugget recall 0.667 0.000 +0.67 none none 1 of 1" in said
    assert "A single topic has neither" in said
    topic = words_of(page_of(catalogue, "/compare/runs/run-a/run-b/llm/7"))
    assert "Answered by run-a only 2" in topic
    assert "Missed by both 1" in topic
    assert "Answered by run-b only" not in topic
    assert topic.index("Answered by run-a only") < topic.index("Missed by both")


def test_differences_over_topics_have_an_interval_and_leave_out_what_is_unscored(
    tmp_path, monkeypatch
):
    monkeypatch.setenv("PNYX_CACHE", str(tmp_path / "cache"))
    values = {"a": [0.9, 0.8, 0.7, None, 0.5], "b": [0.4, 0.5, 0.2, 0.3, 0.1]}
    lines = [
        json.dumps({"run_id": run, "topic_id": f"t{n}", "measure": "m", "value": value})
        for run, own in values.items()
        for n, value in enumerate(own)
    ]
    path = tmp_path / "board.jsonl"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    page = page_of(open_catalogue([str(path)]), "/compare/runs/a/b")
    said = words_of(page)
    # (0.5 + 0.3 + 0.5 + 0.4) / 4, of the four topics on which both have a value.
    found = re.search(r"M \S+ \S+ \+0\.4[23] \[(0\.\d+), (0\.\d+)\] (0\.\d+) 4 of 5", said)
    assert found, said
    assert 0.3 <= float(found[1]) < 0.425 < float(found[2]) <= 0.5
    topics = said.partition("Topics, by m")[2]
    assert topics.index("t3") < topics.index("t0")  # what is unscored in one first


def test_pairs_are_listed_and_chosen_by_a_form(catalogue):
    from starlette.testclient import TestClient

    from pnyx.web.results.application import view_app
    from pnyx.web.results.open_catalogue import CurrentCatalogue

    page = page_of(catalogue, "/compare")
    assert 'href="/compare/runs/run-a/run-b"' in page
    assert 'href="/compare/judges/said/told"' in page
    assert 'action="/compare/pair"' in page
    app = view_app(CurrentCatalogue(catalogue_paths))
    client = TestClient(app, base_url="http://127.0.0.1", follow_redirects=False)
    asked = {"what": "judges", "first": "said", "second": "told"}
    answer = client.get("/compare/pair", params=asked)
    assert (answer.status_code, answer.headers["location"]) == (303, "/compare/judges/said/told")
    assert client.get("/compare/pair", params={**asked, "what": "x"}).status_code == 404
    odd = client.get("/compare/pair", params={**asked, "first": "//evil.example/"})
    assert odd.headers["location"].startswith("/compare/judges/")


def test_every_pair_is_enumerated_for_the_export(catalogue):
    found = {address.here for address in addresses(catalogue)}
    assert ("compare", "judges", "said", "told") in found
    assert ("compare", "runs", "run-a", "run-b", "llm", "7") in found
    assert ("sentence", "llm", "run-b", "7", "5") in found
    assert ("judgement", "said", "5") in found


def test_a_judgement_store_of_another_program_is_said_on_the_page(catalogue, tmp_path):
    other = tmp_path / "other.sqlite"
    other.write_text("nothing", encoding="utf-8")
    named = open_catalogue(catalogue_paths, store=str(other))
    said = words_of(page_of(named, judgement_at(named, "said", "1")))
    assert "not SQLite" in said
    with pytest.raises(InputError):
        open_catalogue([str(tmp_path / "nowhere")])


def test_an_argued_response_shows_the_verdicts_on_its_citations(tmp_path, monkeypatch):
    from case_fixture import build_case
    from pnyx.housekeeping.demo import _write_reports

    monkeypatch.setenv("PNYX_CACHE", str(tmp_path / "cache"))
    case = build_case()
    sides = tuple(  # named as pnyx argue names them
        replace(side, response=replace(side.response, run_id=f"pnyx-{side.side}"))
        for side in case.sides
    )
    case = replace(case, sides=sides)
    folder = tmp_path / "argued"
    folder.mkdir()
    _write_reports(folder, [case])
    catalogue = open_catalogue([str(folder)])
    checked = 0
    for side in case.sides:
        run, topic = side.response.run_id, side.response.topic_id
        page = page_of(catalogue, f"/report/argued/{run}/{topic}")
        said = words_of(page)
        for name, label in (("sentence_precision", "Sentence"), ("citation_precision", "Citation")):
            one = side.measures[name]
            assert f"{label} precision" in said
            assert f"{one.scored} of {one.asked} scored" in said
            if one.value is not None:
                assert f"{label} precision {one.value:.3f}" in said
        for n, sentence in enumerate(side.response.sentences):
            for citation in sentence.citations:
                answer = side.support.get((n, citation.doc_id))
                text = words_of(page_of(catalogue, f"/sentence/argued/{run}/{topic}/{n + 1}"))
                checked += 1
                if answer is None:
                    assert "not judged" in text
                elif answer.provenance.method == "quoted":
                    assert "quoted verbatim" in text
                elif hasattr(answer, "reason"):
                    assert "unscored" in text
                else:
                    assert ("supported" if answer.value else "not supported") in text
        assert "<script>" not in page.partition("<main")[2]
    assert checked > 5
