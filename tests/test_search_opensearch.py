"""An index in OpenSearch is what an index folder is: the same contract, by a real server."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from urllib.request import urlopen

import numpy as np
import pytest

from asking_fixture import example_index
from command import called, refuser, run, write_rows
from index_fixture import Fake, full_index, records
from mcp_fixture import mcp_session
from opensearch_fixture import cluster, lacking
from page_fixture import served_by_command
from pnyx.core import network
from pnyx.core.errors import IndexFolderError, InputError, PnyxError
from pnyx.core.records import Document
from pnyx.search.build import build_index
from pnyx.search.engine import DocumentIndex, TopicQuery
from pnyx.search.explain import explain
from pnyx.search.index import Index
from pnyx.search.open_engine import open_index
from pnyx.search.opensearch import schema
from pnyx.search.opensearch.answers import read_settings
from pnyx.search.opensearch.client import ClusterAddress
from pnyx.search.plan import Scoring

needs_cluster = pytest.mark.skipif(bool(lacking()), reason=lacking() or "-")
slow = pytest.mark.slow
refused = refuser()

SCORINGS = [
    Scoring("dirichlet"),
    Scoring("bm25"),
    Scoring("dirichlet", {"mu": 100.0}),
    Scoring("bm25", {"k1": 0.9, "b": 0.4}),
    Scoring("touche"),
    Scoring("touche", {"mu": 50.0, "wc": 2.0, "wq": 0.0}),
    Scoring("touche", flat=True),
    Scoring("dense"),
    Scoring("hybrid"),
    Scoring("hybrid", lexical="bm25", fusion="rrf", feedback=0),
]
QUESTIONS = ["word3 word7 rare12 often", "tea because", "often often word1", "nothing here", "?"]


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with cluster(tmp_path_factory.mktemp("cluster") / "c") as address:
        yield f"opensearch://{address}"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return full_index(tmp_path_factory.mktemp("folder") / "i", graph=False)


def assert_same(here, there):
    """The same ranking, documents of one score apart, and scores to 1e-4."""
    assert len(here) == len(there)
    assert [h.score for h in there] == pytest.approx([h.score for h in here], rel=1e-4, abs=1e-6)
    scores = {h.doc_id: h.score for h in here}
    for one, other in zip(here, there, strict=True):
        if one.doc_id != other.doc_id:
            assert scores.get(other.doc_id, one.score) == pytest.approx(one.score, rel=1e-5)


NUMBER = re.compile(r"\d+\.\d+(?:e-?\d+)?")


def assert_alike(here, there):
    """The same text, but for the last digits of its numbers."""
    assert NUMBER.split(here) == NUMBER.split(there)
    numbers = [[float(n) for n in NUMBER.findall(text)] for text in (here, there)]
    assert numbers[0] == pytest.approx(numbers[1], rel=1e-4, abs=1e-4)


@slow
@needs_cluster
@pytest.mark.parametrize("shards", [pytest.param(1, marks=pytest.mark.all), 3])
def test_it_ranks_and_knows_what_the_folder_does(server, folder, shards):
    from pnyx.search.opensearch.load import LoadPlan, copy

    where = f"{server}/same-{shards}"
    stats = copy(str(folder), where, LoadPlan(shards=shards))
    here, there = Index.open(folder), open_index(where)
    assert isinstance(here, DocumentIndex)
    assert isinstance(there, DocumentIndex)
    assert (stats.documents, stats.tokens) == (len(here), here.statistics.tokens)
    for scoring in SCORINGS:
        for text in QUESTIONS:
            asked = text, scoring, 30, Fake()
            hits = there.retrieve(*asked)
            assert_same(here.retrieve(*asked), hits)
            if text not in QUESTIONS[:2]:
                continue
            shown = text, scoring, [hit.doc_id for hit in hits], Fake()
            why = [explain(index, *shown, k=30) for index in (here, there)]
            for own, parts in zip(*why, strict=True):
                assert_alike(*(json.dumps(one.row()) for one in (own, parts)))
            assert [one.value for one in why[1]] == pytest.approx([h.score for h in hits], rel=1e-4)
    assert list(here.documents()) == list(there.documents())
    ids = [hit.doc_id for hit in here.retrieve("tea often", Scoring("bm25"), 30)]
    assert here.fetch(ids) == there.fetch(ids)
    assert here.numbers(ids).tolist() == there.numbers(ids).tolist()
    assert here.topics(ids) == there.topics(ids)
    for read in ("vectors", "quality", "quality_shares"):
        assert np.array_equal(getattr(here, read)(ids), getattr(there, read)(ids))
    asked = TopicQuery("tea often", Fake().encode(["tea"])[0], "fake", 0.0, 20)
    assert here.on_topics(asked) == there.on_topics(asked)
    for name in ("vectors", "quality", "clusters", "vectors_ann"):
        assert here.feature_info(name) == there.feature_info(name)
    assert ("doc5" in there, "none" in there, "" in there) == (True, False, False)
    with pytest.raises(InputError, match="has no document 'c'"):
        there.fetch(["doc5", "c"])


@pytest.mark.all
@slow
@needs_cluster
def test_what_is_loaded_is_seen_when_it_is_complete(server):
    from pnyx.judging.students.surface_quality import QualityModel
    from pnyx.search.opensearch.load import LoadPlan, add, load, update

    where, plan = f"{server}/grown", LoadPlan(embedder=Fake())

    def stopped():
        yield from records(0, 700)
        raise RuntimeError("killed")

    with pytest.raises(RuntimeError):
        load(stopped(), where, plan)
    with pytest.raises(IndexFolderError):
        open_index(where)
    assert load(records(0, 900), where, plan).documents == 900
    with pytest.raises(InputError, match="exists already"):
        load(records(0, 5), where, plan)
    assert add(records(900, 1100), where, plan).added == 200
    with pytest.raises(InputError, match="have the same id"):
        add(records(899, 901), where, plan)
    grown = open_index(where)
    assert grown.concrete == "grown-v000002"
    settings = grown.cluster.ask("GET", "/grown-v000002/_settings", flat_settings="true")
    assert read_settings(settings, "grown-v000002") == (1, 0)
    assert len(list(grown.documents())) == len(grown) == 1100
    assert grown.feature_info("vectors").documents == 1100
    update(where, LoadPlan(quality=QualityModel.load()))
    grown = open_index(where)
    assert list(grown.documents()) == list(records(0, 1100))
    assert (grown.feature_info("quality").documents, len(grown.vectors(["doc3"]))) == (1100, 1)
    load(records(0, 7), where, LoadPlan(replace=True))
    assert len(open_index(where)) == 7
    with pytest.raises(InputError, match="records 1 and 4 have the same id"):
        load([*records(0, 3), *records(0, 1)], f"{server}/twice")


@pytest.mark.all
@slow
@needs_cluster
def test_what_cannot_be_used_is_one_line(server, monkeypatch):
    from pnyx.search.opensearch.load import LoadPlan, load

    with pytest.raises(IndexFolderError, match="is not there"):
        open_index(f"{server}/none")
    where = f"{server}/blocked"
    load(records(0, 5), where)
    remote = open_index(where)
    remote.cluster.ask("PUT", "/other", {"mappings": {}})
    with pytest.raises(IndexFolderError, match="is not an index made by Pnyx"):
        open_index(f"{server}/other")
    remote.cluster.ask(
        "PUT", "/_cluster/settings", {"transient": {"cluster.blocks.read_only": True}}
    )
    try:
        with pytest.raises(PnyxError, match="is blocked"):
            load(records(0, 5), f"{server}/more", LoadPlan())
    finally:
        off = {"transient": {"cluster.blocks.read_only": None}}
        remote.cluster.ask("PUT", "/_cluster/settings", off)
    remote.cluster.ask("POST", f"/{remote.concrete}/_close")
    with pytest.raises(PnyxError):
        remote.retrieve("often", Scoring("bm25"), 5)
    monkeypatch.setattr("pnyx.search.opensearch.aliases.OLDEST", (99, 0))
    with pytest.raises(PnyxError, match=r"expected 99\.0 or newer"):
        open_index(where)


@pytest.mark.all
@slow
@needs_cluster
def test_an_index_of_an_older_format_is_loaded_again(server):
    from pnyx.search.opensearch.load import LoadPlan, load

    where = f"{server}/older"
    load(records(0, 5), where)
    cluster = open_index(where).cluster

    def become_older(name):
        cluster.ask("PUT", f"/{name}/_mapping", {"_meta": {"pnyx": {"format": 1}}})

    become_older("older-v000001")
    with pytest.raises(IndexFolderError, match="is of format 1, expected 2: load it again"):
        open_index(where)

    def stopped():
        yield from records(0, 3)
        raise RuntimeError("killed")

    with pytest.raises(RuntimeError):
        load(stopped(), where, LoadPlan(replace=True))
    become_older("older-v000002")
    with pytest.raises(InputError, match="exists already: --force replaces it"):
        load(records(0, 5), where)
    assert load(records(0, 4), where, LoadPlan(replace=True)).documents == 4
    assert len(open_index(where)) == 4


@pytest.fixture(scope="module")
def full(server):
    """The example's index in the cluster."""
    from pnyx.search.opensearch.load import LoadPlan, copy

    copy(str(example_index()), f"{server}/example", LoadPlan(shards=2))
    return f"{server}/example"


VOTING = "Should voting be compulsory?"
COMMANDS = {
    "search": ["search", "{index}", VOTING, "--diversify", "perspectives", "-k", "4", "--json"],
    "sides": ["search", "{index}", VOTING, "--stance", "con", "--depth", "9", "--json"],
    "touche": ["search", "{index}", "--topics", "{topics}", "--model", "touche", "--out", "{out}"],
    "argue": ["argue", "{index}", VOTING, "--json"],
    "report": ["report", "{index}", "--requests", "{requests}", "--out", "{out}"],
    "perspectives": ["perspectives", VOTING, "--index", "{index}", "--json"],
    "sample": ["annotate", "sample", "{index}", "{topics}", "--top", "5", "--out", "{out}"],
    "annotate": "annotate label --all --index {index} --topics {topics} "
    "--annotations-out {out}.jsonl".split(),
    "judge": "judge relevance --run {run} --index {index} --topics {topics} --out {out}".split(),
    "tune": "search tune {index} --topics {topics} --qrels {qrels} --model hybrid --folds 2 --json "
    "--try dense-weight=.5,.7 --try mu=100,1000".split(),
    "bench": "compare retrievers --index {index} --perspectives {views} --out {out} --cutoff 3 "
    "--retrievers touche,hybrid --variants plain".split(),
}


@pytest.mark.all
@slow
@needs_cluster
@pytest.mark.usefixtures("own_place", "run_once")
@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=pytest.mark.all) if n == "annotate" else n for n in COMMANDS]
)
def test_commands_do_what_they_do_on_a_folder(full, name, capsys):
    topics = ["voting\tShould voting be compulsory?", "zoos\tShould zoos be phased out?"]
    files = {
        "topics": "\n".join(topics),
        "run": "".join(f"voting Q0 compulsory-voting-{n:02} {n} {9 - n} r\n" for n in range(1, 9)),
        "qrels": "".join(f"{t} 0 {d}-{n:02} {n % 3}\n" for t, d in
                         (("voting", "compulsory-voting"), ("zoos", "zoos")) for n in range(1, 9)),
        "requests": json.dumps({"request_id": "v", "title": VOTING, "limit": 600}),
        "views": "".join(json.dumps({"id": f"v{n}", "question_id": "v", "question": VOTING,
                                     "text": text}) + "\n" for n, text in
                         enumerate(["Voting is a duty of citizens.", "Abstaining is a right."])),
    }  # fmt: skip
    suffix = {"topics": "tsv", "run": "run", "qrels": "txt"}
    paths = {key: f"{key}.{suffix.get(key, 'jsonl')}" for key in files}
    for key, text in files.items():
        Path(paths[key]).write_text(text)
    printed = []
    for out, index in (("of-folder", str(example_index())), ("of-cluster", full)):
        given = {"index": index, "out": out, **paths}
        status, shown, said = called(capsys, *(part.format(**given) for part in COMMANDS[name]))
        assert status == 0, said
        for path in sorted(Path().glob(f"{out}*")):
            files = sorted(path.rglob("*.jsonl"))
            if path.is_file() and not path.name.endswith(".manifest.json"):
                files = [path]
            shown += "".join(map(Path.read_text, files))
        name_of = open_index(index).name
        printed.append(shown.replace(index, "INDEX").replace(name_of, "INDEX").replace(out, "OUT"))
    assert_alike(*printed)


@pytest.mark.all
@slow
@needs_cluster
def test_commands_take_an_address(server, tmp_path, capsys):
    file, where = tmp_path / "d.jsonl", f"{server}/cli"
    rows = [{"id": f"d{n}", "text": f"Voting number {n} should be a duty."} for n in range(20)]
    file.write_text("\n".join(map(json.dumps, rows)))
    assert run("index", file, "--out", where, "--words-only", "--shards", "2") == 0
    assert run("index", file, "--out", where, "--words-only") == 2
    capsys.readouterr()
    assert "has no clusters" in refused(capsys, "index", "--update", where, "--assign")
    refusal = refused(capsys, "search", where, "voting", "--out", f"{server}/run")
    assert "--out names an index in a cluster" in refusal
    capsys.readouterr()
    assert run("search", where, "voting duty", "-k", "3", "--json") == 0
    assert len(json.loads(capsys.readouterr().out)) == 3


@pytest.mark.all
@slow
@needs_cluster
def test_an_index_is_verified(server, full, capsys):
    from pnyx.search.opensearch.load import LoadPlan, load

    own = "ok (index, 128 documents, quality, vectors, clusters)\n"
    for index in (example_index(), full):
        assert called(capsys, "files", "validate", index) == (0, f"{index}: {own}", "")
    where = f"{server}/damaged"
    load(records(0, 20), where, LoadPlan(embedder=Fake()))
    shown = "20 documents, vectors, no quality, no clusters"
    assert called(capsys, "files", "validate", where) == (0, f"{where}: ok (index, {shown})\n", "")
    remote = open_index(where)

    other = remote.cluster.ask("GET", f"/{where.rsplit('/')[-1]}/_doc/doc5").value["_source"][
        "record"
    ]

    def change(method, path, body=None):
        remote.cluster.ask("PUT", f"/{remote.concrete}/_settings", {"index.blocks.write": False})
        remote.cluster.ask(method, f"/{remote.concrete}/{path}", body, refresh="true")

    for method, path, body, problem in (
        (
            "POST",
            "_update/doc3",
            {"doc": {"record": other}},
            "is damaged: document 4 has changed since",
        ),
        ("DELETE", "_doc/doc3", None, "is damaged: document 4 is not there"),
    ):
        change(method, path, body)
        status, out, _ = called(capsys, "files", "validate", where)
        assert (status, out.count("\n")) == (2, 1)
        assert out.startswith(f"{where}: {problem}")
    assert called(capsys, "files", "validate", f"{server}/none") == (
        2,
        f"{server}/none: is not there\n",
        "",
    )
    for more in ([], ["--json"], ["--format", "jsonl"]):
        said = called(capsys, "files", "validate", "opensearch://me:secret@127.0.0.1:9/x", *more)
        assert (said[0], said[1], "secret" in said[2], said[2].count("\n")) == (2, "", False, 1)


@pytest.mark.all
@needs_cluster
def test_topics_are_those_that_a_folder_finds(server, tmp_path, capsys, monkeypatch):
    from pnyx.search.opensearch import bulk, loader

    folder, where, more = tmp_path / "i", f"{server}/topics", tmp_path / "more.jsonl"
    shutil.copytree(example_index(), folder)
    assert run("index", folder, "--out", where, "--shards", "2") == 0
    more.write_text("".join(f'{{"id": "n{n}", "text": "Voting {n} is a duty."}}\n' for n in "12"))
    ids = [record.id for record in Index.open(folder).documents()]
    created, create = [], bulk.Bulk.create

    def stopped(self, rows):
        if created:
            raise KeyboardInterrupt
        created.extend(rows)
        create(self, rows)

    monkeypatch.setattr(loader, "_BATCH", 50)
    topics = ["--clusters", "--cluster-count", "7"]
    with monkeypatch.context() as patched:
        patched.setattr(bulk.Bulk, "create", stopped)
        assert run("index", "--update", where, *topics) == 130
    assert len(created) == 50
    assert open_index(where).concrete == "topics-v000001"
    for index in (folder, where):
        assert run("index", "--update", index, *topics) == 0
    here, there = Index.open(folder), open_index(where)
    assert there.concrete == "topics-v000002"  # gone on with
    assert here.topics(ids) == there.topics(ids)
    assert len({topic.number for topic in there.topics(ids)}) == 7
    for index in (folder, where):
        assert run("index", more, "--add", index, "--words-only") == 0
    assert there.feature_info("clusters") == open_index(where).feature_info("clusters")
    shown = "ok (index, 130 documents, quality of 128, vectors of 128, clusters of 128)"
    assert called(capsys, "files", "validate", where)[1] == f"{where}: {shown}\n"
    assert "quality of 128 of its 130" in refused(capsys, "index", more, "--add", where)
    for index in (folder, where):
        assert run("index", "--update", index) == 0
    here, there = Index.open(folder), open_index(where)
    assert here.topics([*ids, "n1", "n2"]) == there.topics([*ids, "n1", "n2"])
    assert here.feature_info("clusters") == there.feature_info("clusters") == (130, "minilm-int8")
    assert called(capsys, "files", "validate", where)[1].endswith(
        "documents, quality, vectors, clusters)\n"
    )


@pytest.mark.all
@needs_cluster
def test_a_language_model_is_served_as_from_a_folder(full, tmp_path):
    pytest.importorskip("mcp", reason="mcp is not installed")
    asked = [
        ("search", {"question": VOTING, "k": 3}),
        ("perspectives", {"question": VOTING, "k": 2}),
        ("argue", {"question": VOTING, "points": 1}),
    ]
    answers = [
        mcp_session(index, asked, tmp_path / "store")["answers"]
        for index in (example_index(), full)
    ]
    for here, there in zip(*answers, strict=True):
        assert not there.is_error, there
        texts = [json.dumps(one.structured_content) for one in (here, there)]
        assert_alike(*(text.replace("example.index", "example") for text in texts))


@pytest.mark.all
@needs_cluster
def test_a_server_goes_over_to_the_index_that_takes_the_place_of_its_own(server):
    from pnyx.search.opensearch.load import LoadPlan, load

    where = f"{server}/replaced"
    load(records(0, 20), where)
    with served_by_command(["serve", where]) as (base, _):
        for first in (20, 40):
            load(records(first, first + 20), where, LoadPlan(replace=True))
            with urlopen(f"{base}/v1/search?model=bm25&q=often+rare{first}") as answer:
                assert json.load(answer)["hits"][0]["id"] == f"doc{first}"


def test_a_cluster_that_is_down_is_one_line():
    pytest.importorskip("opensearchpy")
    with pytest.raises(PnyxError, match=r"127\.0\.0\.1:9/x: cannot be reached"):
        open_index("opensearch://127.0.0.1:9/x")


@pytest.mark.parametrize(
    "address",
    [
        "opensearch://",
        "opensearch://h",
        "opensearch://h/Up",
        "opensearch://h:x/a",
        "opensearch:///a",
    ],
)
def test_what_is_no_address_is_refused(address):
    with pytest.raises(InputError, match="expected opensearch://HOST"):
        ClusterAddress.parse(address)


def test_an_address_with_a_password_is_never_echoed(capsys, tmp_path):
    where = "opensearch://me:secret@h/a"
    with pytest.raises(InputError, match="PNYX_OPENSEARCH_USER") as error:
        ClusterAddress.parse(where)
    assert "secret" not in str(error.value)
    for command in (["index", where, "--out", tmp_path / "i"], ["view", where]):
        assert "opensearch://***@h/a: " in refused(capsys, *command)
    for command in (["search", "https://me:secret@h/a", "q"], ["files", where], [where]):
        assert "***@h/a" in (shown := refused(capsys, *command))
        assert "secret" not in shown


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("d.jsonl", "--out", "AT", "--ann"), "--ann requires an index folder"),
        (("d.jsonl", "--add", "AT", "--clusters"), "--clusters and --assign require --update"),
        (("d.jsonl", "--add", "AT", "--shards", "2"), "--shards and --replicas require --out"),
        (("--update", "AT", "--replicas", "0"), "--shards and --replicas require --out"),
        (("i", "--out", "AT", "--language", "german"), "an index folder can only be copied"),
        (("i", "d.jsonl", "--out", "AT"), "i: an index folder must be the only CORPUS"),
    ],
)
@pytest.mark.usefixtures("own_place")
def test_what_a_cluster_cannot_do_is_refused_before_it_is_called(options, message, capsys):
    pytest.importorskip("opensearchpy")
    build_index([Document("a", "Tea is grown on hills.")], "i")
    write_rows("d.jsonl", [{"id": "b", "text": "Parks are large."}])
    words = ("--words-only",) if "--out" in options and "--ann" not in options else ()
    address = "opensearch://127.0.0.1:9/x"
    arguments = [address if option == "AT" else option for option in options]
    assert message in refused(capsys, "index", *arguments, *words)


def test_addresses_are_read():
    parsed = ClusterAddress.parse("opensearch+https://a:1,b,[::1]:3/name")
    assert (parsed.hosts, parsed.secure) == ((("a", 1), ("b", 9200), ("::1", 3)), True)
    assert str(parsed) == "opensearch+https://a:1,b:9200,[::1]:3/name"
    assert network.is_remote(str(parsed))


@pytest.mark.all
def test_ids_and_vectors_are_kept_as_they_are():
    assert schema.key_of("a") == "a"
    assert schema.is_hashed(schema.key_of("é" * 300))
    vector = np.array([0.5, -0.25, 3.0], dtype=np.float16)
    assert np.array_equal(schema.decoded(schema.coded(vector).rstrip("=")), vector)
    assert Document("a", "b").id == "a"
