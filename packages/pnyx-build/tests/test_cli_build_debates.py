"""`pnyx build debates`, `pairs` and `stats`, with servers of our own; stopped and resumed."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from command import rows_of
from pnyx.core.errors import InputError
from pnyx.core.records import Debate, DebatePoint, Question, Source
from pnyx.formats import read_conqret, read_evidence, read_qrels
from pnyx.formats.conqret import ConqretTopic
from pnyx_build.debates.judged_pairs import gather_sources, judge_pairs, split_topics
from pnyx_build.debates.statistics import length_bins, statistics_of
from test_corpora_reading import pdf_bytes
from web_server import SearchServer, Site, article

PAGES = Path(__file__).with_name("debate_pages")
DATA = Path(os.environ.get("PNYX_DATA", Path(__file__).parents[4] / "shared" / "data")) / "conqret"
NAMES = ("columns", "headings", "table", "lists")
FETCH = ["--fetch", "--contact", "me@example.org", "--delay", "0", "--allow-private", "127.0.0.1"]


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SERPER_API_KEY", "secret-key")
    monkeypatch.delenv("PNYX_CONTACT", raising=False)
    Path("pages").mkdir()
    for name in NAMES:
        shutil.copy(PAGES / f"{name}.html", "pages")
    return tmp_path


def test_a_benchmark_of_titles_alone(place, call):
    code, out, err = call("build", "debates", "pages", "--out", "bench")
    assert (code, out) == (
        0,
        "12 documents of 12 sources; judged pairs: 24 of 3 train, 3 of 1 test topics; see bench\n",
    )
    assert err == "pnyx: test: 3 irrelevant pairs are missing: there are too few documents\n"
    assert sorted(p.name for p in Path("bench").iterdir()) == [
        "documents.jsonl", "manifest.json", "sources.jsonl",
        "test_pages.jsonl", "test_qrels.csv", "test_queries.csv",
        "train_pages.jsonl", "train_qrels.csv", "train_queries.csv",
    ]  # fmt: skip
    topics = {t.question.id: t for split in ("train", "test") for t in read_conqret("bench", split)}
    dogs = topics["columns"]
    assert dogs.question.text == "Should Dogs Be Allowed in Public Libraries?"
    # Pro cites 1, 2 and 3; con cites 2 and 4: worked out by hand from the page.
    assert dogs.relevant == {
        "pro": ("columns-s1", "columns-s2", "columns-s3"),
        "con": ("columns-s2", "columns-s4"),
    }
    assert dogs.debate.pros[0].title == "Dogs calm nervous readers."
    documents = {d.id: d for d in read_evidence("bench/documents.jsonl")}
    assert documents["columns-s1"].text == "Ann Vet, “Pulse and Paws,” vet.example, Mar. 1, 2021"
    for name in ("train_qrels.csv", "train_queries.csv", "train_pages.jsonl", "documents.jsonl"):
        assert call("files", "validate", f"bench/{name}")[0] == 0
    before = {p.name: p.read_bytes() for p in Path("bench").iterdir() if p.name != "manifest.json"}
    assert call("build", "debates", "bench/train_pages.jsonl", "pages/headings.html",
                "--out", "again")[0] == 0  # fmt: skip
    assert call("build", "debates", "pages", "--out", "bench")[0] == 0
    after = {p.name: p.read_bytes() for p in Path("bench").iterdir() if p.name != "manifest.json"}
    assert after == before


def test_sources_are_fetched_and_searched_for(place, call):
    """A page, a PDF file, a dead link that a search replaces, titles that it finds or does not."""
    pages = {
        "/robots.txt": (200, {}, b"User-agent: *\nDisallow: /no"),
        "/loans": article("Loans", 4),
        "/hair.pdf": (200, {"Content-Type": "application/pdf"}, pdf_bytes("Hair stays.")),
        "/pulse": article("Pulse", 2),
        "/again": article("Shelf", 2),
        "/broken.pdf": (200, {"Content-Type": "application/pdf"}, b"%PDF-1.4 nonsense"),
    }
    with Site(pages) as site, SearchServer({}) as api:
        page = (PAGES / "columns.html").read_text()
        page = page.replace("https://count.example/loans", f"{site.url}/loans")
        page = page.replace("https://nose.example/hair.pdf", f"{site.url}/hair.pdf")
        page = page.replace("shelf.example (acc", f'<a href="{site.url}/dead">shelf</a> (acc')
        Path("columns.html").write_text(page)
        page = (PAGES / "headings.html").read_text()
        page = page.replace("https://ward.example/shifts?x=1#top", f"{site.url}/no/shifts")
        page = page.replace("https://seat.example/load.pdf", f"{site.url}/broken.pdf")
        Path("headings.html").write_text(page)
        api.found = {
            "Ann Vet, “Pulse and Paws,” vet.example, Mar. 1, 2021": [f"{site.url}/pulse"],
            "C. Shelf, “A Quiet Dog,” shelf (accessed May 2, 2022)": [
                f"{site.url}/dead", f"{site.url}/again",
            ],
        }  # fmt: skip
        argv = ["build", "debates", "columns.html", "headings.html", "--out", "bench", *FETCH]
        argv += ["--search", "serper", "--search-url", api.url, "--results", "2", "--train", "1"]
        plan = call(*argv, "--plan")
        assert (site.paths, api.queries, Path("bench").exists()) == ([], [], False)
        code, out, err = call(*argv)
        asked, queries = list(site.paths), [one["q"] for one in api.queries]
        again = call(*argv)
    assert plan == (
        0,
        "2 debates with 4 pro and 3 con arguments, 7 sources, 5 of them with a link; 5 to fetch, "
        "at least 2 to search for\n",
        "",
    )
    assert code == 3
    assert out.startswith("4 documents of 7 sources; judged pairs: ")
    assert "pnyx: without text: 1 robots, 1 not_found, 1 unreadable\n" in err
    assert (site.paths, [one["q"] for one in api.queries]) == (asked, queries)  # nothing twice
    assert again == (code, out, err)
    assert sorted(queries) == [
        "Ann Vet, “Pulse and Paws,” vet.example, Mar. 1, 2021",
        "C. Shelf, “A Quiet Dog,” shelf (accessed May 2, 2022)",
        'F. Road, "After Midnight", road.example',
        'G. Seat, "Load", PDF',
    ]  # what robots.txt forbids is not searched for elsewhere
    rows = {row["id"]: row for row in rows_of("bench/sources.jsonl")}
    assert {i: (r["outcome"], r["via"]) for i, r in rows.items()} == {
        "columns-s1": ("text", "search"), "columns-s2": ("text", "link"),
        "columns-s3": ("text", "search"), "columns-s4": ("text", "link"),
        "headings-s1": ("robots", "link"), "headings-s2": ("not_found", ""),
        "headings-s3": ("unreadable", "link"),
    }  # fmt: skip
    documents = {d.id: d for d in read_evidence("bench/documents.jsonl")}
    assert documents["columns-s4"].text == "Hair stays."
    assert documents["columns-s3"].url == f"{site.url}/again"
    assert documents["columns-s2"].title == "Loans"
    assert documents["columns-s2"].extra["reference"].startswith("B. Count")
    dogs, buses = read_conqret("bench")
    assert dogs.relevant["con"] == ("columns-s2", "columns-s4")
    assert (buses.judged, buses.relevant) == (False, {"pro": (), "con": ()})
    manifest = json.loads(Path("bench/manifest.json").read_text())
    assert manifest["counts"]["via"] == {"search": 2, "link": 2}
    assert "secret" not in Path("bench/manifest.json").read_text()


def test_what_was_fetched_and_found_survives_a_search_that_fails(place, call):
    pages = {"/kw": article("Lamps"), "/shops": article("Shops"), "/week": article("Week")}
    with Site(pages) as site, SearchServer({}) as api:
        for name in ("apart.html", "apart.footnotes.html"):
            page = (PAGES / name).read_text().replace("https://lamp.example", site.url)
            Path(name).write_text(page)
        api.found = {
            'K. Till, "Late Shops", till.example': [f"{site.url}/shops"],
            'M. Monday, "The Week After", x': [f"{site.url}/week"],
        }
        api.script = [402]
        argv = ["build", "debates", ".", "--out", "bench", *FETCH, "--train", "1"]
        argv += ["--search", "serper", "--search-url", api.url]
        shutil.rmtree("pages")
        stopped = call(*argv)
        asked = list(site.paths)
        code, out, _ = call(*argv)
    assert stopped[0] == 2
    assert "payment is required" in stopped[2]
    assert asked == ["/robots.txt", "/kw"]
    assert site.paths[:2] == asked
    assert sorted(site.paths[2:]) == ["/shops", "/week"]
    assert (code, out.split(";")[0]) == (0, "3 documents of 3 sources")
    (clocks,) = read_conqret("bench")
    assert clocks.relevant == {"pro": ("apart-s1", "apart-s2", "apart-s3"), "con": ("apart-s3",)}


def test_results_of_an_earlier_search_cost_nothing(place, call, monkeypatch):
    monkeypatch.delenv("SERPER_API_KEY")
    with Site({"/mark": article("Mark")}) as site:
        row = {"question_id": "table-s1", "query": "", "results": [f"{site.url}/mark"]}
        Path("r.jsonl").write_text(json.dumps(row) + "\n")
        page = Path("pages/table.html").read_text().replace("http://home.example", site.url)
        Path("table.html").write_text(page)
        code, _, err = call(
            "build", "debates", "table.html", "--out", "bench", *FETCH, "--search", "r.jsonl"
        )
    assert code == 3
    assert "1 not_searched, 1 http_error" in err
    assert [d.id for d in read_evidence("bench/documents.jsonl")] == ["table-s1"]


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["pages", "--out", "bench", "--fetch"], "Missing option '--contact'"),
        (["pages", "--out", "bench", "--search", "serper"], "--fetch"),
        (["pages", "--out", "bench", "--train", "0"], "--train"),
        (["pages", "pages/table.html", "--out", "bench"], "two debates have the id 'table'"),
        (["pages", "--out", "pages"], "holds files that are not a benchmark of pnyx build debates"),
        (["none.html", "--out", "bench"], "none.html: cannot be read: No such file"),
        (["empty", "--out", "bench"], "empty: holds no file that ends in .html"),
        (["plain.html", "--out", "bench"], "plain.html: no pro and no con argument was found"),
        (["pages", "--out", "-"], "expected the name of a folder"),
    ],
)
def test_bad_usage_is_one_line(place, call, argv, said):
    Path("empty").mkdir()
    Path("plain.html").write_text("<h1>Tea</h1><p>Tea is old.</p>")
    code, out, err = call("build", "debates", *argv)
    assert (code, out) == (2, "")
    assert said in err.splitlines()[-1]


def test_pairs_become_items_and_labels(place, call):
    assert call("build", "debates", "pages", "--out", "bench", "--seed", "1")[0] == 0
    base = ["build", "pairs", "bench/train_qrels.csv", "--topics", "bench/train_queries.csv",
            "--documents", "bench/documents.jsonl", "--out", "i", "--labels", "l"]  # fmt: skip
    qrels = list(read_qrels("bench/train_qrels.csv"))
    topics = read_conqret("bench")
    for stance in ("none", "pro", "con", "both"):
        assert call(*base, "--stance", stance)[0] == 0
        items, labels = rows_of("i"), rows_of("l")
        assert [one["id"] for one in items] == [one["id"] for one in labels]
        positive = {
            "none": sum(len({d for s in t.relevant.values() for d in s}) for t in topics),
            "pro": sum(len(t.relevant["pro"]) for t in topics),
            "con": sum(len(t.relevant["con"]) for t in topics),
            "both": sum(q.grade for q in qrels),
        }
        assert sum(one["value"] for one in labels) == positive[stance]
        irrelevant = sum(q.grade == 0 for q in qrels) * (2 if stance == "both" else 1)
        sides = {"none": (), "both": ("pro", "con")}.get(stance, (stance,))
        other = {"pro": "con", "con": "pro"}
        of_other = sum(
            len({*t.relevant[other[s]]} - {*t.relevant[s]}) for t in topics for s in sides
        )
        assert len(labels) - positive[stance] == irrelevant + of_other
        assert {one.get("stance") for one in items} == {
            "none": {None}, "pro": {"pro"}, "con": {"con"}, "both": {"pro", "con"},
        }[stance]  # fmt: skip
    assert (call("files", "validate", "i")[0], call("files", "validate", "l")[0]) == (0, 0)
    code, out, err = call("judge", "relevance", "i", "--out", "judged")
    assert code == 0, err
    code, out, _ = call("measure", "judged", "--labels", "l", "--json")
    assert (code, json.loads(out)["measures"]["accuracy"]["asked"]) == (0, len(items))


def test_a_side_is_told_from_the_other_side_and_from_what_is_irrelevant(place, call):
    rows = ["1 pro a 1", "1 con b 1", "1 con both 1", "1 pro both 1", "1 0 c 0", "1 con d 0"]
    Path("q").write_text("\n".join(rows) + "\n")
    Path("t").write_text('{"id": "1", "text": "Tea?"}\n')
    Path("d").write_text("".join(f'{{"id": "{d}", "text": "Tea."}}\n' for d in
                                 ("a", "b", "both", "c", "d")))  # fmt: skip
    base = ["build", "pairs", "q", "--topics", "t", "--documents", "d", "--out", "i",
            "--labels", "l", "--stance"]  # fmt: skip

    def labels(*argv: str) -> dict[str, bool]:
        assert call(*base, *argv)[0] == 0
        return {one["id"]: one["value"] for one in rows_of("l")}

    pro = {"1/pro/a": True, "1/pro/both": True}
    assert labels("pro") == pro | {"1/pro/b": False, "1/pro/c": False}
    assert labels("pro", "--negatives", "other-side") == pro | {"1/pro/b": False}
    assert labels("pro", "--negatives", "irrelevant") == pro | {"1/pro/c": False}
    con = {"1/con/b": True, "1/con/both": True}
    no = {"1/con/a": False, "1/con/c": False, "1/con/d": False}
    assert labels("both") == pro | {"1/pro/b": False, "1/pro/c": False} | con | no
    code, _, err = call(*base, "none", "--negatives", "other-side")
    assert (code, "--stance pro, con or both" in err) == (2, True)


def test_pairs_whose_documents_are_missing_are_counted(place, call):
    Path("q").write_text("1 pro a 1\n1 pro b 1\n1 0 c 0\n")
    Path("t").write_text('{"id": "1", "text": "Tea?"}\n')
    Path("d").write_text('{"id": "a", "text": "Tea calms."}\n')
    argv = ["build", "pairs", "q", "--topics", "t", "--documents", "d", "--out", "i"]
    code, _, err = call(*argv)
    assert code == 0
    assert "warning: 2 judged documents are not in the corpus: b, c" in err
    Path("d").write_text('{"id": "x", "text": "Tea calms."}\n')
    assert call(*argv)[0] == 2
    Path("t").write_text('{"id": "2", "text": "Tea?"}\n')
    assert "topic '1' is not among the questions" in call(*argv)[2]


def test_stats_as_a_table_json_and_a_picture(place, call):
    assert call("build", "debates", "pages", "--out", "bench")[0] == 0
    code, out, _ = call("build", "stats", "bench", "--plot", "l.svg")
    assert code == 0
    assert "relevant documents per stance  " in out
    assert "12 documents: median 6 words" in out
    assert Path("l.svg").read_text().startswith("<svg ")
    code, out, _ = call("build", "stats", "bench", "--json")
    found = json.loads(out)
    assert found["splits"]["train"]["pairs"] == len(list(read_qrels("bench/train_qrels.csv")))
    assert sum(count for _, _, count in found["words"]["bins"]) == 12
    assert call("build", "stats", "pages")[0] == 2


# Pairing ------------------------------------------------------------------------------------------


def debates(count: int, sources: int = 3, shared: dict[int, str] | None = None) -> list[Debate]:
    return [
        Debate(
            f"d{n}", f"Question {n}?",
            pros=(DebatePoint("a", ("x",), (("1", "2"),)),),
            cons=(DebatePoint("b", ("y",), (("2", "3"),)),),
            sources=tuple(
                Source(str(i), (shared or {}).get(n, f"t{n}-{i}") if i == 3 else f"t{n}-{i}")
                for i in range(1, sources + 1)
            ),
        )
        for n in range(count)
    ]  # fmt: skip


def paired(count: int, seed: int = 0, share: float = 0.7, shared: dict[int, str] | None = None):
    gathered, documents = gather_sources(debates(count, shared=shared))
    splits = split_topics(gathered, share, seed)
    return judge_pairs(gathered, splits, {d.id for d in documents}, seed), splits


def test_irrelevant_pairs_are_as_many_from_other_topics_of_the_split():
    topics, splits = paired(20)
    assert (len(topics["train"]), len(topics["test"])) == (14, 6)
    for split, of in topics.items():
        own = {t.question.id for t in of}
        assert {one for one in splits if splits[one] == split} == own
        for topic in of:
            assert len(topic.irrelevant) == len(set(topic.irrelevant)) == 4
            assert all(d.split("-")[0] in own - {topic.question.id} for d in topic.irrelevant)
    assert paired(20) == paired(20)
    assert paired(20, seed=1) != paired(20)


def test_no_document_is_in_both_splits_even_when_topics_share_one():
    chain = {0: "same", 1: "same", 5: "other", 6: "other", 7: "other"}
    for seed in range(10):
        topics, splits = paired(12, seed, shared=chain)
        assert splits["d0"] == splits["d1"]
        assert splits["d5"] == splits["d6"] == splits["d7"]
        documents = [
            {d for t in of for docs in (*t.relevant.values(), t.irrelevant) for d in docs}
            for of in topics.values()
        ]
        assert not documents[0] & documents[1]
        assert 6 <= len(topics["train"]) <= 10


def test_the_same_source_is_one_document():
    one = Debate(
        "a", "A?", sources=(Source("1", "T. Leaf, “Tea”"), Source("2", url="http://a/b#c"))
    )
    other = Debate("b c", "B?", sources=(Source("1", "t leaf tea"), Source("9", "x", "http://a/b")))
    gathered, documents = gather_sources([one, other])
    assert [(d.id, d.debates) for d in documents] == [
        ("a-s1", ("a", "b-c")),
        ("a-s2", ("a", "b-c")),
    ]
    assert [s.doc_id for s in gathered[1].sources] == ["a-s1", "a-s2"]
    with pytest.raises(InputError, match="two debates"):
        gather_sources([one, one])


def test_statistics_of_a_topic_by_hand():
    topic = ConqretTopic(Question("1", "a"), {"pro": ("x", "y"), "con": ("y",)}, ("z",))
    empty = ConqretTopic(Question("2", "b"), {"pro": (), "con": ()})
    found = statistics_of([topic, empty])
    assert [found[name] for name in ("topics", "judged", "pairs", "documents")] == [2, 1, 4, 3]
    assert (found["per_topic"], found["relevant_per_topic"], found["per_side"]) == (4, 3, 1.5)
    assert found["both_sides"] == 1
    assert statistics_of([])["per_topic"] is None


def test_bins_of_lengths():
    assert [tuple(bin_) for bin_ in length_bins([0, 1, 4, 5, 100])] == [
        (0, 1, 1), (1, 2, 1), (2, 5, 1), (5, 10, 1), (10, 20, 0), (20, 50, 0), (50, 100, 0),
        (100, 200, 1),
    ]  # fmt: skip
    assert length_bins([]) == []


@pytest.mark.skipif(not (DATA / "train_qrels.csv").is_file(), reason=f"ConQRet is not in {DATA}")
def test_the_published_train_split_has_the_numbers_of_table_2(call):
    """Table 2, train: 69 documents, 34 relevant, 17 for a stance; negatives were drawn twice."""
    code, out, _ = call("build", "stats", DATA, "--json")
    train = json.loads(out)["splits"]["train"]
    assert code == 0
    assert train["topics"] == 68
    with_repeats = train["pairs"] + 13
    assert round(with_repeats / train["judged"]) == 69
    assert (round(train["relevant_per_topic"]), round(train["per_side"])) == (34, 17)
