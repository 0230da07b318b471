"""`pnyx files web`: from questions to passages, with servers of our own; killed and resumed."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import anyio
import click
import pytest

import pnyx_crawl
from command import caller, rows_of, run, write_rows
from listener import Listener
from pnyx.core.network import NetworkError, network_limited_to
from pnyx.formats import read_evidence
from pnyx_crawl.addresses import FetchPolicy, network, parse_target
from pnyx_crawl.commands import web
from pnyx_crawl.corpus import _prefix
from pnyx_crawl.http import PageClient, TimeBudget
from test_cli_values import BAD, SECRET, refused
from web_server import PARAGRAPH, SearchServer, Site, article, redirect

SUMMARY = "Build a corpus for each question from web pages."
QUESTIONS = '{"id": "q1", "text": "Is tea healthy?"}\n{"id": "q/2", "text": "Should all vote?"}\n'
OPTIONS = ["--contact", "me@example.org", "--delay", "0", "--allow-private", "127.0.0.1"]


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SERPER_API_KEY", "secret-key")
    monkeypatch.delenv("PNYX_CONTACT", raising=False)
    Path("questions.jsonl").write_text(QUESTIONS)
    return tmp_path


call = caller("files", "web")


def test_from_questions_to_an_index(place, call, capsys):
    pages = {
        "/tea": article("Tea", 4),
        "/again": redirect("/tea"),
        "/bomb": (200, {"Content-Type": "text/html"}, b"a" * 3_000_000),
        "/empty": b"<html><body></body></html>",
        "/x.pdf": (200, {"Content-Type": "application/pdf"}, b"%PDF"),
        "/robots.txt": (200, {}, b"User-agent: *\nDisallow: /no"),
        "/vote": article("Vote", 2),
    }
    with Site(pages) as site, SearchServer({}) as api:
        urls = [f"{site.url}{path}" for path in ("/tea#a", "/bomb", "/again", "/no", "/vote")]
        others = [f"{site.url}/vote", f"{site.url}/empty", f"{site.url}/x.pdf", "http://10.0.0.1/"]
        api.found = {"Is tea healthy?": urls, "Should all vote?": others}
        argv = ["questions.jsonl", "--search", "serper", "--search-url", api.url, *OPTIONS]
        argv += ["--max-mb", "1", "--words", "40", "--out", "web"]
        code, stdout, err = call(*argv)
        asked = list(site.paths)
        again = call(*argv, "--json")
        assert call(*argv, "--words", "10")[0] == 3
        assert site.paths == asked  # nothing is fetched twice
        assert len(api.queries) == 2
    assert (code, err) == (3, "")
    assert stdout == (
        "8 passages of 3 pages for 2 of 2 questions; 5 of 8 pages without text: 1 no_text, "
        "1 robots, 1 private, 1 too_large, 1 pdf; see web\n"
    )
    assert again[0] == 3
    manifest = json.loads(again[1])
    assert manifest["counts"]["pages"] == {
        "asked": 8, "fetched": 4, "text": 3, "no_text": 1, "robots": 1, "private": 1,
        "too_large": 1, "pdf": 1,
    }  # fmt: skip
    assert manifest["counts"]["repeated"] == 1
    assert manifest["this_run"] == {"searches": 0, "pages": 0}
    assert "secret" not in Path("web/manifest.json").read_text()


def test_what_is_written(place, call):
    with Site({"/tea": article("Tea", 4), "/vote": article("Vote", 2)}) as site:
        found = {
            "Is tea healthy?": [f"{site.url}/tea", f"{site.url}/vote"],
            "Should all vote?": [f"{site.url}/vote"],
        }
        with SearchServer(found) as api:
            code, stdout, err = call(
                "questions.jsonl", "--search", "serper", "--search-url", api.url, *OPTIONS,
                "--words", "40", "--out", "web",
            )  # fmt: skip
    assert (code, err) == (0, "")
    manifest = json.loads(Path("web/manifest.json").read_text())
    assert manifest["questions"]["q/2"]["file"] == "passages/0002-q-2.jsonl"
    assert sorted(p.name for p in Path("web").iterdir()) == [
        "archive.sqlite", "manifest.json", "pages.jsonl", "passages", "results.jsonl",
    ]  # fmt: skip
    passages = list(read_evidence("web/passages/0001-q1.jsonl"))
    tea = [p for p in passages if p.url == f"{site.url}/tea"]
    assert [p.id for p in tea] == [f"q1/1#{i}" for i in range(len(tea))]
    assert {p.title for p in tea} == {"Tea"}
    assert tea[0].source == "127.0.0.1"
    assert tea[0].extra == {
        "question_id": "q1", "rank": 1, "origin": "q1/1", "passage": 0,
        "retrieved_at": rows_of("web/pages.jsonl")[0]["retrieved_at"],
    }  # fmt: skip
    assert all(len(p.text.split()) <= 40 for p in passages)
    assert PARAGRAPH.split()[0] in tea[0].text
    assert next(p.id for p in passages if p not in tea) == "q1/2#0"
    assert stdout.startswith(f"{manifest['counts']['passages']} passages of 2 pages for 2 of 2")
    results = rows_of("web/results.jsonl")
    assert [r["question_id"] for r in results] == ["q1", "q/2"]
    assert results[0]["results"][1] == {
        "rank": 2, "url": f"{site.url}/vote", "title": "Title 2", "snippet": "Snippet 2",
    }  # fmt: skip
    assert [p["outcome"] for p in rows_of("web/pages.jsonl")] == ["text", "text"]
    for name in ("web/passages/0001-q1.jsonl", "web/results.jsonl"):
        assert run("files", "validate", name) == 0
    assert run("index", *sorted(Path("web/passages").iterdir()), "--out", "i") == 0


def test_results_of_an_earlier_run_need_no_key_and_no_search(place, call, monkeypatch):
    monkeypatch.delenv("SERPER_API_KEY")
    monkeypatch.setenv("PNYX_CONTACT", "https://example.org/me")
    with Site({"/tea": article("Tea")}) as site:
        row = {"question_id": "q1", "results": [f"{site.url}/tea", f"{site.url}/b"]}
        Path("r.jsonl").write_text(json.dumps(row) + "\n")
        code, stdout, err = call(
            "questions.jsonl", "--search", "r.jsonl", *OPTIONS[2:], "--results", "1", "--out", "web"
        )
    assert code == 3
    assert "1 of 2 questions" in stdout
    assert err == "pnyx: not searched: q/2: the given results do not contain it\n"
    assert [p["outcome"] for p in rows_of("web/pages.jsonl")] == ["text"]
    manifest = json.loads(Path("web/manifest.json").read_text())
    assert manifest["settings"]["agent"].endswith("(+https://example.org/me)")
    assert manifest["not_searched"] == {"q/2": "the given results do not contain it"}


def test_a_page_that_was_fetched_and_not_read_is_read_and_not_fetched(place, call):
    with Site({"/tea": article("Tea")}) as site:
        rows = [{"question_id": q, "results": [f"{site.url}/tea"]} for q in ("q1", "q/2")]
        write_rows("r.jsonl", rows)
        argv = ["questions.jsonl", "--search", "r.jsonl", *OPTIONS, "--out", "web"]
        assert call(*argv)[0] == 0
        before = list(read_evidence("web/passages/0001-q1.jsonl"))
        with sqlite3.connect("web/archive.sqlite") as archive:  # as a kill would leave it
            archive.execute("UPDATE pages SET outcome = 'fetched', title = '', text = x''")
        archive.close()
        assert call(*argv)[0] == 0
    assert site.paths == ["/robots.txt", "/tea"]
    assert list(read_evidence("web/passages/0001-q1.jsonl")) == before


def test_the_options_are_those_of_python():
    from pnyx_crawl import commands as corpus
    from pnyx_crawl.corpus import WebPlan
    from pnyx_crawl.options import API_NAMES
    from pnyx_crawl.search import APIS

    assert tuple(APIS) == API_NAMES
    spec = corpus.WebSpec(out="web", search="serper", contact="me@example.org")
    assert spec.plan() == WebPlan("me@example.org")


def test_questions_of_perspectives_are_searched_for(place, call):
    """BERDS: the question's text is its id, which no run could hold as part of a document's."""
    long = "Should " + "very " * 20 + "much be done?"
    rows = [{"question": "Is tea healthy?", "perspectives": ["Yes.", "No."]}]
    rows += [{"question": long, "perspectives": ["Yes.", "No."]}]
    write_rows("berds.jsonl", rows)
    with Site({"/tea": article("Tea")}) as site, SearchServer({}) as api:
        api.found = {"Is tea healthy?": [f"{site.url}/tea"], long: [f"{site.url}/tea"]}
        argv = ["--search", "serper", "--search-url", api.url, *OPTIONS, "--out", "web"]
        assert call("berds.jsonl", *argv)[0] == 0
    first, second = sorted(Path("web/passages").iterdir())
    assert first.name == "0001-Is-tea-healthy.jsonl"
    passages = list(read_evidence(str(first))) + list(read_evidence(str(second)))
    assert {p.extra["question_id"] for p in passages} == {"Is tea healthy?", long}
    assert passages[0].id.startswith("Is-tea-healthy-")
    assert all(len(p.id) < 60 and not any(map(str.isspace, p.id)) for p in passages)


def test_only_what_may_pass_is_fetched_again(place, call):
    with Site({"/a": (503, {}, b""), "/b": (404, {}, b""), "/c": article("Tea")}) as site:
        urls = [f"{site.url}/{name}" for name in "abc"]
        Path("r.jsonl").write_text(
            "".join(json.dumps({"question_id": q, "results": urls}) + "\n" for q in ("q1", "q/2"))
        )
        argv = ["questions.jsonl", "--search", "r.jsonl", *OPTIONS, "--out", "web"]
        assert call(*argv)[0] == 3
        site.pages["/a"] = site.pages["/b"] = article("Now")
        assert call(*argv)[0] == 3
        assert site.paths == ["/robots.txt", "/a", "/b", "/c"]
        assert call(*argv, "--retry")[0] == 3
        assert site.paths[4:] == ["/a"]
    outcomes = {p["url"][-1]: p["outcome"] for p in rows_of("web/pages.jsonl")}
    assert outcomes == {"a": "text", "b": "http_error", "c": "text"}


def test_without_the_option_no_local_server_is_asked(place, call):
    with Site({"/tea": article("Tea")}) as site:
        rows = [{"question_id": q, "results": [f"{site.url}/tea"]} for q in ("q1", "q/2")]
        write_rows("r.jsonl", rows)
        code, stdout, _ = call(
            "questions.jsonl", "--search", "r.jsonl", *OPTIONS[:4], "--out", "web"
        )
        assert site.asked == []
    assert code == 3
    assert stdout.startswith("0 passages of 0 pages for 2 of 2 questions; 1 of 1 pages without")
    assert "1 private" in stdout
    assert list(Path("web/passages").iterdir()) == []  # an empty file is no corpus


@pytest.mark.parametrize(
    ("argv", "problem"),
    [
        (["--search", "serper", "--out", "web"], "Missing option '--contact'"),
        (["--search", "serper", "--contact", "x", "--out", "web"], "expected an e-mail address"),
        (["--search", "none", *OPTIONS, "--out", "web"], "none: cannot be read"),
        (["--search", "serper", *OPTIONS, "--out", "other"], "holds files that are not a corpus"),
        (["--search", "serper", *OPTIONS, "--out", "questions.jsonl"], "found a file"),
        (["--search", "serper", *OPTIONS, "--out", "-"], "expected the name of a folder"),
        (["--search", "r", "--search-url", "http://x", *OPTIONS, "--out", "w"], "requires an API"),
        (["--search", "serper", *OPTIONS[:4], "--allow-private", "x", "--out", "w"], "a network"),
        (["--search", "serper", "--search-url", "x", *OPTIONS, "--out", "w"], "the address of"),
    ],
)
def test_one_line_status_2_and_nothing_written(argv, problem, place, call):
    Path("other").mkdir()
    Path("other/precious").write_text("x")
    code, stdout, err = call("questions.jsonl", *argv)
    assert (code, stdout) == (2, "")
    assert problem in err
    assert err.count("\n") == 1
    assert sorted(p.name for p in place.iterdir()) == ["other", "questions.jsonl"]


def test_a_refused_key_is_one_line_and_what_was_searched_is_kept(place, call):
    with Site({"/tea": article("Tea")}) as site, SearchServer({}) as api:
        api.found = {"Is tea healthy?": [f"{site.url}/tea"]}
        argv = ["--search", "serper", "--search-url", api.url, *OPTIONS, "--out", "web"]
        Path("one.jsonl").write_text(QUESTIONS.splitlines()[0] + "\n")
        assert call("one.jsonl", *argv)[0] == 0
        api.script = [401]
        code, stdout, err = call("questions.jsonl", *argv)
        assert (code, stdout) == (2, "")
        assert "the key is refused or missing (set SERPER_API_KEY)" in err
        assert "secret" not in err
        assert err.count("\n") == 1
        assert [r["question_id"] for r in rows_of("web/results.jsonl")] == ["q1"]
        assert call("questions.jsonl", *argv)[0] == 0
    assert [q["q"] for q in api.queries] == ["Is tea healthy?"] + ["Should all vote?"] * 2


@pytest.mark.all
def test_a_run_that_is_killed_goes_on_and_asks_nothing_twice(place):
    def slow(handler) -> None:
        time.sleep(0.05)
        handler.send(200, {"Content-Type": "text/html"}, article(handler.path))

    names = [f"/{i}" for i in range(12)]
    with Site(dict.fromkeys(names, slow)) as site, SearchServer({}) as api:
        urls = [f"{site.url}{name}" for name in names]
        api.found = {"Is tea healthy?": urls[:8], "Should all vote?": urls[6:]}
        command = [
            sys.executable, "-m", "pnyx", "files", "web", "questions.jsonl", "--search", "serper",
            "--search-url", api.url, *OPTIONS, "--out", "web",
        ]  # fmt: skip
        kills = 0
        for after in (1, 4, 8):  # before the first page, and in the middle
            process = subprocess.Popen(command, env=dict(os.environ), start_new_session=True)
            while len(site.asked) < after and process.poll() is None:
                time.sleep(0.005)
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                kills += 1
            process.wait()
            assert not Path("web/manifest.json").exists()
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        asked = [path for path in site.paths if path != "/robots.txt"]
    assert kills == 3
    assert done.returncode == 0, done
    assert set(asked) == set(names)
    # Only what was under way when the process was killed may have been asked for again.
    assert len(asked) <= len(names) + kills
    assert len(api.queries) == 2
    manifest = json.loads(Path("web/manifest.json").read_text())
    assert manifest["counts"]["pages"] == {"asked": 12, "fetched": 12, "text": 12}


@pytest.mark.all
def test_ctrl_c_ends_it_with_one_line(place):
    with Site({"/a": lambda h: h.server.closing.wait(300)}) as site:
        rows = [{"question_id": q, "results": [f"{site.url}/a"]} for q in ("q1", "q/2")]
        write_rows("r.jsonl", rows)
        process = subprocess.Popen(
            [sys.executable, "-m", "pnyx", "files", "web", "questions.jsonl",
             "--search", "r.jsonl", *OPTIONS, "--out", "web"],
            stderr=subprocess.PIPE,
        )  # fmt: skip
        while "/a" not in site.paths:
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=120)
    assert process.returncode == 130
    assert err == b"pnyx: interrupted; the same command resumes where it stopped\n"


@pytest.mark.parametrize(("length", "whole"), [(64, True), (65, False)])
def test_ids_of_web_pages_start_with_a_question_id_of_up_to_64_characters(length, whole):
    name = "q" * length
    assert (_prefix(name) == name) is whole
    assert len(_prefix(name)) <= 64


@pytest.mark.parametrize("address", BAD)
def test_an_address_of_an_api_that_cannot_be_asked_is_one_line_that_tells_no_secret(
    place, capfd, address
):
    argv = ["questions.jsonl", "--search", "serper", *OPTIONS, "--out", "web"]
    assert SECRET not in refused(capfd, "files", "web", *argv, "--search-url", address)
    assert not Path("web").exists()


def test_no_page_is_fetched_from_a_host_that_is_not_allowed():
    client = PageClient("test", FetchPolicy((network("127.0.0.0/8"),)))
    with Listener() as listener:
        target = parse_target(f"http://127.0.0.1:{listener.port}/")
        for allowed in ((), ("elsewhere.example",)):
            with network_limited_to(allowed), pytest.raises(NetworkError, match="refused"):
                anyio.run(client.get, target, TimeBudget(5.0), 100)
        assert listener.connections == 0


def test_the_help_fits_a_screen_has_an_example_and_explains_each_option(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    assert run("files", "web", "--help") == 0
    text = capsys.readouterr().out
    assert len(text.splitlines()) <= 50
    assert [line for line in text.splitlines() if len(line) > 80] == []
    assert "$ pnyx files web" in text.split("Example", 1)[1]
    assert all(option.help for option in web.params if isinstance(option, click.Option))


def test_the_public_names_are_documented():
    assert sorted(dir(pnyx_crawl)) == sorted(pnyx_crawl.__all__)
    assert all(getattr(pnyx_crawl, name).__doc__ for name in pnyx_crawl.__all__)


def test_the_group_lists_the_command_under_plugins(capsys):
    assert run("files", "--help") == 0
    listed = capsys.readouterr().out.split("Plugins:\n", 1)[1]
    assert listed.split() == ["web", *SUMMARY.split()]
