"""Small exports of `pnyx view`, and what its commands serve by default."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path

import pytest

pytest.importorskip("starlette", reason="starlette is not installed")

from command import write_rows
from label_fixture import item_rows
from pnyx.core.errors import InputError
from pnyx.core.records import LeaderboardCell
from pnyx.formats import write_leaderboard
from pnyx.search import build_index
from pnyx.web.results.commands import _line
from pnyx.web.results.export import (
    Exported,
    PublishedCatalogue,
    _without_folders,
    _Writer,
    check_export,
    export_pages,
)
from pnyx.web.results.open_catalogue import open_catalogue
from pnyx.web.results.pages import Address
from pnyx.web.results.routes import site_of


def answer(n: int, **more: object) -> dict[str, object]:
    row = {"id": f"i{n}", "task": "support", "value": n % 2 == 0, "judge": "j",
           "probability": 0.5 + n / 1000, "text": f"Text {n}.", "statement": "So."}  # fmt: skip
    return {**row, **more}


@pytest.fixture
def results(tmp_path) -> Path:
    folder = tmp_path / "results"
    folder.mkdir()
    write_rows(folder / "a.jsonl", [answer(n) for n in range(5)])
    cells = [LeaderboardCell(run, "t1", "f1", 0.5) for run in ("r1", "r2")]
    with (folder / "board.jsonl").open("w") as stream:
        write_leaderboard(stream, cells, "leaderboard-jsonl")
    return folder


def test_an_export_has_every_page_and_replaces_only_an_export(results, tmp_path):
    catalogue, out = open_catalogue([str(results)]), tmp_path / "out"
    site = site_of([str(results)], watch=True)
    steps: list[tuple[int, int]] = []
    assert check_export(out) is False
    outcome = export_pages(catalogue, site, out, progress=lambda *step: steps.append(step))
    assert (outcome.pages["judgement"], outcome.left_out) == (5, {})
    assert steps[-1][0] == steps[-1][1] == sum(outcome.pages.values())
    mark = json.loads((out / "export.json").read_text())
    files = sorted(str(file.relative_to(out)) for file in out.rglob("*") if file.is_file())
    assert mark["files"] == files
    assert outcome.files == len(files) - 1 - sum(name.endswith(".html") for name in files) + 1
    index = (out / "index.html").read_text()
    assert str(tmp_path) not in index
    assert "</td>" not in index
    assert "refresh" not in index  # no run is under way
    assert "static/htmx.min.js" not in files
    shared = (out / "judgement" / "a" / "1.html").read_text()
    assert sorted(set(re.findall(r"id=(j\d)\b", shared))) == ["j1", "j2", "j3", "j4", "j5"]
    for page in out.rglob("*.html"):
        for link in re.findall(r'href="?([^"#> ]+)', page.read_text()):
            if not link.startswith("http"):
                assert (page.parent / link).is_file(), (page, link)
    assert check_export(out) is True
    export_pages(catalogue, site, out)
    (out / "mine.txt").write_text("x")
    with pytest.raises(InputError, match=r"holds mine\.txt, which was not written by an export"):
        check_export(out)
    (out / "export.json").write_text("{}")
    with pytest.raises(InputError, match="holds files that were not exported by pnyx view"):
        check_export(out)
    (tmp_path / "empty" / "deep").mkdir(parents=True)
    assert check_export(tmp_path / "empty") is True


def test_the_least_certain_judgements_are_exported(results, tmp_path):
    catalogue = PublishedCatalogue(open_catalogue([str(results)]).path)
    writer = _Writer(catalogue, site_of(["x"]), 2)
    judged = [address.parts for address in writer.wanted if address.page == "judgement"]
    # By the probability of the value: 0.499 of the second, 0.497 of the fourth.
    assert judged == [("a", "2"), ("a", "4")]
    assert writer.left_out["judgement"] == 3
    outcome = Exported({}, 0, 0, {"judgement": 3, "judgements": 1200})
    assert outcome.left_out_words() == [
        "3 pages of single judgements", "1,200 pages of lists of judgements",
    ]  # fmt: skip


def test_how_many_pages_of_each_kind_an_export_keeps(results):
    catalogue = PublishedCatalogue(open_catalogue([str(results)]).path)
    writer = _Writer(catalogue, site_of(["x"]), None)

    def kept(addresses: list[Address], most: int) -> int:
        seen: Counter[str] = Counter()
        return sum(writer._keeps(address, most, set(), seen) for address in addresses)

    sentences = [Address("sentence", ("s", "r", "t", str(n))) for n in range(30)]
    assert (kept(sentences, 20), kept(sentences, 30)) == (20, 30)
    on_topics = [Address("compare", ("runs", "a", "b", "s", f"t{n}")) for n in range(30)]
    assert (kept(on_topics, 40), kept(on_topics, 400)) == (2, 20)
    assert kept([Address("compare", ("runs", "a", "b", "s"))] * 30, 40) == 30
    micro = [Address("leaderboard", ("s", name)) for name in ("f1", "f1_micro")]
    assert kept(micro, 20) == 1
    lists = [Address("judgements", ("a", "every"), number) for number in range(1, 10)]
    assert (kept(lists, 300), kept(lists, 99)) == (3, 1)
    narrowed = [
        Address("judgements", ("a", key), number)
        for key in ("v-yes", "v-no")
        for number in (1, 2, 3, 4)
    ]
    assert kept(narrowed, 500) == 2 + 5  # the first pages, and one other page in a hundred
    assert kept([Address("judgements", ())], 1) == kept([Address("source", ("a",))], 1) == 1


@pytest.mark.parametrize(
    ("value", "published"),
    [
        ("http://host:1/v1#model", "model"), ("see https://host/x, y", "see (address), y"),
        ("/home/ann/a.jsonl", "a.jsonl"), ("C:\\x\\a.jsonl", "a.jsonl"), ("~/b/c d", "c d"),
        ("a/b.jsonl", "a/b.jsonl"), ({"k": ["/x/y.txt", 3]}, {"k": ["y.txt", 3]}),
    ],
)  # fmt: skip
def test_pages_name_no_folder_and_no_address(value, published):
    assert _without_folders(value) == published


# Commands -----------------------------------------------------------------------------------------


@pytest.fixture
def served(monkeypatch) -> list[tuple]:
    """What would be served: (application, options, description, on_start)."""
    calls: list[tuple] = []

    def run_app(app, server, what, say, *, tokens=None, on_start=None) -> None:
        calls.append((app, server, what, tokens))
        if on_start is not None:
            on_start("http://127.0.0.1:8321/")

    monkeypatch.setattr("pnyx.web.server.run_app", run_app)
    return calls


def test_labelling_shows_all_items_in_their_order_unless_asked(call, tmp_path, served):
    items = write_rows(tmp_path / "items.jsonl", item_rows("support", 3))
    args = ("label", "support", items, "--out")
    assert call(*args, str(tmp_path / "labels.jsonl"))[0] == 0
    manifest = json.loads((tmp_path / "labels.jsonl.journal" / "manifest.json").read_text())
    assert {name: manifest[name] for name in ("--overlap", "--shuffle", "--seed")} == {
        "--overlap": None, "--shuffle": False, "--seed": 0,
    }  # fmt: skip
    ((_, server, what, tokens),) = served
    assert (server.host, server.port, server.token) == ("127.0.0.1", None, None)
    assert what == f"3 items to label (support) into {tmp_path / 'labels.jsonl'}"
    assert tokens == {}
    served.clear()
    status, out, _ = call(*args, str(tmp_path / "l2.jsonl"), "--annotators", "ann,ben", "--json")
    assert (status, json.loads(out)["items"]) == (0, 3)
    assert list(served[0][3]) == ["organiser", "ann", "ben"]


def test_an_index_or_documents_are_served(call, tmp_path, served, own_place):
    from pnyx.core.records import Document

    build_index([Document("a", "Fares fell."), Document("b", "Tea.")], tmp_path / "my.index")
    index = str(tmp_path / "my.index")
    status, out, _ = call("serve", index, "--json")
    assert status == 0
    assert json.loads(out) == {"url": "http://127.0.0.1:8321/", "index": index, "documents": 2}
    assert served[0][2] == "my.index, 2 documents"
    for args, words in (
        (("--words-only",), "--out and --words-only require documents: this is an index already"),
        (("--mcp", "--open"), "--open and --mcp exclude each other"),
        (("--mcp", "--port", "9"), "--port and --mcp exclude each other"),
        (("--mcp", "--json"), "--json and --mcp exclude each other"),
    ):
        status, _, said = call("serve", index, *args)
        assert (status, words in said) == (2, True)
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.txt").write_text("Fares fell. " * 20)
    out_folder = tmp_path / "out.index"
    args = ("serve", str(tmp_path / "docs"), "--words-only", "--out", str(out_folder), "--json")
    status, out, _ = call(*args)
    assert (status, json.loads(out)["index"]) == (0, str(out_folder))
    status, out, _ = call(*args)  # the same index, refreshed
    assert (status, json.loads(out)["documents"]) == (0, 1)


def test_results_are_served_or_printed(call, results, served):
    status, out, _ = call("view", str(results), "--json")
    assert (status, served) == (0, [])
    assert json.loads(out)["asked"] == 5
    status, _, said = call("view", str(results), "--json", "--watch")
    assert (status, "--json excludes --export and --watch" in said) == (2, True)
    assert call("view", str(results))[0] == 0
    assert len(served) == 1


def test_a_mean_of_a_leaderboard_counts_the_topics_that_are_scored(tmp_path):
    cells = [
        LeaderboardCell("r1", "t1", "f1", 0.5),
        LeaderboardCell("r1", "t2", "f1", 1.0),
        LeaderboardCell("r2", "t1", "f1", 0.4),
    ]
    with (tmp_path / "board.jsonl").open("w") as stream:
        write_leaderboard(stream, cells, "leaderboard-jsonl")
    catalogue = open_catalogue([str(tmp_path / "board.jsonl")])
    assert _line(catalogue) == "1 source, 2 runs, 2 topics"
    for run, value, scored in (("r1", 0.75, 2), ("r2", 0.4, 1)):
        mean, *by_topic = sorted(catalogue.values(run=run, topics=True), key=lambda row: row.topic)
        assert (mean.topic, mean.value, mean.scored, mean.asked) == ("", value, scored, 2)
        assert [(row.scored, row.asked) for row in by_topic] == [(1, 1)] * scored
