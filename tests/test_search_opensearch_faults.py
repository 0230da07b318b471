"""What goes wrong in a cluster loses nothing, and is never shown as a whole answer."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
from types import SimpleNamespace
from urllib.parse import quote
from urllib.request import Request, urlopen

import pytest

from command import called, refuser, run, wait_for, write_rows
from index_fixture import records
from opensearch_fixture import cluster, lacking, tool
from opensearch_front import front
from page_fixture import served_by_command
from pnyx.core.errors import PnyxError
from pnyx.search.build import build_index
from pnyx.search.open_engine import open_index
from pnyx.search.plan import Scoring

pytestmark = [pytest.mark.all, pytest.mark.skipif(bool(lacking()), reason=lacking() or "-")]
refused = refuser()
COUNT = 3000
QUESTION, SCORING = "word3 rare12 often", Scoring("dirichlet")


@pytest.fixture(scope="module")
def three(tmp_path_factory):
    """Three nodes: their addresses, and how some are killed, and started again."""
    folder = tmp_path_factory.mktemp("three") / "c"

    def kill(*nodes):
        for node in nodes:
            done = tool("stop", "--kill", "--node", str(node), "--folder", str(folder))
            assert done.returncode == 0

    def restart():
        done = tool("start", "--folder", str(folder), "--heap", "512m")
        assert done.returncode == 0, done.stderr

    with cluster(folder, nodes=3) as first:
        host, port = first.split(":")
        nodes = [f"{host}:{int(port) + n}" for n in range(3)]
        yield SimpleNamespace(
            first=first, all=f"opensearch://{','.join(nodes)}", kill=kill, restart=restart
        )


@pytest.fixture(scope="module")
def expected(tmp_path_factory):
    """What a folder answers."""
    index = build_index(records(0, COUNT), tmp_path_factory.mktemp("folder") / "i")
    return [hit.doc_id for hit in index.retrieve(QUESTION, SCORING, 50)]


def found(where):
    return [hit.doc_id for hit in open_index(where).retrieve(QUESTION, SCORING, 50)]


def ask(address, method, path, body=None):
    content = None if body is None else json.dumps(body).encode()
    asked = Request(f"http://{address}{path}", content, method=method)
    asked.add_header("content-type", "application/json")
    with urlopen(asked, timeout=60) as answer:
        return json.load(answer)


def then(act, at=COUNT // 2):
    """The records, with something happening in the middle."""
    for number, record in enumerate(records(0, COUNT)):
        if number == at:
            act()
        yield record


def test_a_node_that_is_killed_while_documents_are_loaded_loses_none(three, expected):
    from pnyx.search.opensearch.load import LoadPlan, load

    where = f"{three.all}/killed"
    try:
        stats = load(then(lambda: three.kill(2)), where, LoadPlan(shards=3, replicas=1))
        assert (stats.documents, stats.added) == (COUNT, COUNT)
        assert found(where) == expected
    finally:
        three.restart()
    assert [record.id for record in open_index(where).documents()] == [
        record.id for record in records(0, COUNT)
    ]


def test_a_part_that_is_away_in_the_end_drops_nothing(three, expected):
    from pnyx.search.opensearch.load import LoadPlan, load

    where, plan = f"{three.all}/away", LoadPlan(shards=3, replace=True)

    def all_then_kill():
        yield from records(0, COUNT)
        three.kill(3)

    try:
        with pytest.raises(PnyxError, match="shards"):
            load(all_then_kill(), where, plan)
    finally:
        three.restart()
    before = ask(three.first, "GET", "/away-v*/_stats/indexing")
    assert load(records(0, COUNT), where, plan).documents == COUNT
    assert ask(three.first, "GET", "/away-v*/_stats/indexing").keys() == before.keys()
    assert found(where) == expected


def test_a_load_that_is_killed_goes_on_with_nothing_twice_and_nothing_missing(three, tmp_path):
    rows = [{"id": f"d{n}", "text": f"word{n % 97} rare{n} " * 20} for n in range(20_000)]
    corpus, where = write_rows(tmp_path / "c.jsonl", rows), f"{three.all}/again"
    command = [sys.executable, "-m", "pnyx", "index", corpus, "--words-only", "--out", where]
    command += ["--shards", "3", "--replicas", "1"]

    def loaded():
        stats = ask(three.first, "GET", "/again-v*/_stats/indexing")
        return stats["_all"]["primaries"].get("indexing", {}).get("index_total", 0)

    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:
        wait_for(lambda: loaded() > 1000 or process.poll() is not None, 120)
        process.send_signal(signal.SIGKILL)
    before = loaded()
    assert 1000 < before < len(rows)
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "20,000 documents" in done.stderr
    assert loaded() == len(rows)
    assert [record.id for record in open_index(where).documents()] == [row["id"] for row in rows]


def test_searches_go_on_or_end_in_a_line_while_nodes_go_and_come(three, expected):
    from pnyx.search.opensearch.load import LoadPlan, load

    where = f"{three.all}/served"
    load(records(0, COUNT), where, LoadPlan(shards=3, replicas=2))

    def served():
        try:
            with urlopen(f"{base}/v1/search?model=dirichlet&k=50&q={quote(QUESTION)}") as answer:
                return [hit["id"] for hit in json.load(answer)["hits"]]
        except OSError as error:
            shown = getattr(error, "read", bytes)().decode()
            return json.loads(shown)["error"]["message"] if shown else ""

    with served_by_command(["serve", where]) as (base, _):
        try:
            whole = served()
            three.kill(1)
            answers = [served() for _ in range(20)]
            assert all(one == whole or isinstance(one, str) for one in answers)
            assert answers[-1] == whole
            assert found(where) == expected
            three.kill(2)
            answers = [served() for _ in range(5)]
            assert all(one == whole or isinstance(one, str) for one in answers)
            three.restart()
            assert served() == whole
        finally:
            three.restart()


def test_a_part_of_the_shards_is_not_the_whole(three, expected, capsys):
    from pnyx.search.opensearch.load import LoadPlan, load

    where = f"{three.all}/alone"
    load(records(0, COUNT), where, LoadPlan(shards=3, replicas=0))
    opened = open_index(where)
    try:
        three.kill(3)
        with pytest.raises(PnyxError, match="shards"):
            opened.retrieve(QUESTION, SCORING, 50)
        health = "/_cluster/health/alone-v000001"
        wait_for(lambda: ask(three.first, "GET", health)["status"] == "red", 60)
        assert "is red" in refused(capsys, "search", where, QUESTION)
    finally:
        three.restart()
    assert found(where) == expected


# One node and what stands before it ---------------------------------------------------------------


def full(count):
    """Answers to sendings of documents: no room for all, no room for some, a broken circuit."""
    left = iter(range(count))

    def refuse(method, path, body):
        if not path.startswith("/busy") or "_bulk" not in path or (n := next(left, None)) is None:
            return None
        kinds = ["rejected_execution_exception", "circuit_breaking_exception"]
        status, error = (503, 429)[n % 2], {"type": kinds[n % 2], "reason": "no room"}
        if n % 3:
            return status, {"error": error, "status": status}
        actions = map(json.loads, body.splitlines()[::2])
        items = [{"create": {**a["create"], "status": status, "error": error}} for a in actions]
        return 200, {"errors": True, "items": items}

    return refuse


def test_a_cluster_without_room_is_given_time(three, expected):
    from pnyx.search.opensearch.load import LoadPlan, load

    with front(three.first) as before:
        before.refuse = full(5)
        stats = load(records(0, COUNT), f"opensearch://{before.address}/busy", LoadPlan())
    assert stats.documents == COUNT
    assert stats.waited > 0
    assert found(f"opensearch://{three.first}/busy") == expected


def test_a_search_in_a_cluster_that_is_too_busy_is_one_line(three, capsys):
    from pnyx.search.opensearch.load import load

    load(records(0, 5), f"opensearch://{three.first}/few")
    error = {"type": "circuit_breaking_exception", "reason": "[parent] Data too large"}
    with front(three.first) as before:
        before.refuse = lambda _, path, __: (
            (429, {"error": error, "status": 429}) if "_search" in path else None
        )
        where = f"opensearch://{before.address}/few"
        assert "is overloaded" in refused(capsys, "search", where, "often", "--model", "bm25")


def test_a_full_disk_is_one_line_and_the_same_command_goes_on(three, expected, capsys):
    from pnyx.search.opensearch.load import load

    where = f"opensearch://{three.first}/full"

    def block(on):
        body = {"index.blocks.read_only_allow_delete": on}
        ask(three.first, "PUT", "/full-v000001/_settings", body)

    with pytest.raises(PnyxError, match=r"is blocked: .*read-only"):
        load(then(lambda: block(True)), where)
    block(None)
    assert load(records(0, COUNT), where).documents == COUNT
    assert found(where) == expected


@pytest.mark.parametrize(
    ("version", "said"),
    [
        ({"distribution": "opensearch", "number": "2.11.1"}, "is OpenSearch 2.11.1, expected 2.19"),
        ({"number": "8.15.0"}, "is not OpenSearch"),
    ],
)
def test_another_server_is_one_line(three, version, said, capsys):
    with front(three.first) as before:
        before.refuse = lambda _, path, __: (200, {"version": version}) if path == "/" else None
        assert said in refused(capsys, "search", f"opensearch://{before.address}/few", "often")


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("openssl is not there to make a certificate")
    path = tmp_path_factory.mktemp("tls") / "both.pem"
    make = "req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost -addext".split()
    names = ["subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout", str(path), "-out"]
    done = subprocess.run([openssl, *make, *names, f"{path}.cert"], capture_output=True)
    assert done.returncode == 0
    with path.open("ab") as stream:
        stream.write(path.with_name("both.pem.cert").read_bytes())
    return path


def test_certificates_are_verified_and_secrets_are_not_shown(
    three, certificate, tmp_path, capsys, monkeypatch
):
    from pnyx.search.opensearch import client

    monkeypatch.setenv(client.USER, "someone")
    monkeypatch.setenv(client.PASSWORD, "h1dden-word")
    monkeypatch.setenv(client.INSECURE, "0")
    corpus = write_rows(tmp_path / "c.jsonl", [{"id": "a", "text": "Tea often."}])
    with front(three.first, certificate) as before:
        where = f"opensearch+https://{before.address}/tls"
        said = refused(capsys, "index", corpus, "--words-only", "--out", where)
        assert "its certificate is not trusted" in said
        monkeypatch.setenv(client.CA, str(tmp_path / "none.pem"))
        assert "does not name a file" in refused(capsys, "search", where, "tea")
        monkeypatch.setenv(client.CA, f"{certificate}.cert")
        assert run("index", corpus, "--words-only", "--out", where) == 0
        monkeypatch.delenv(client.CA)
        code, shown, warned = called(capsys, "search", where, "tea", "--insecure")
        assert (code, "Tea often." in shown) == (0, True)
        assert len(before.users) == 1
        before.refuse = lambda *_: (401, {"error": {"type": "security", "reason": "h1dden-word"}})
        said = refused(capsys, "search", where, "tea", "--insecure")
        assert "rejects user and password (PNYX_OPENSEARCH_USER" in said
        plain = f"opensearch+https://{three.first}/tls"
        assert "does not support TLS" in refused(capsys, "search", plain, "tea")
    assert "h1dden" not in said + shown + warned
    index = json.dumps(ask(three.first, "GET", "/tls"))
    assert "h1dden" not in index
    assert "someone" not in index
