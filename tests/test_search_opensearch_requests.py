"""What is asked of a cluster, and what becomes of its recorded answers."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from command import called, write_rows
from index_fixture import Fake
from opensearch_conversations import (
    DOCUMENTS,
    MORE,
    NAME,
    TALKS,
    Exchange,
    Replay,
    recorded,
)
from opensearch_front import front
from pnyx.core.files import json_line
from pnyx.search.build import build_index
from pnyx.search.document_quality import score_documents
from pnyx.search.features.access import put_feature
from pnyx.search.features.clusters import NO_CLUSTER
from pnyx.search.features.vectors import embed_documents
from pnyx.search.lexical.record_codec import to_row
from pnyx.search.opensearch import bulk
from pnyx.search.opensearch.load import LoadPlan, copy
from pnyx.search.opensearch.loader import _batches

pytest.importorskip("opensearchpy")
RECORDED = recorded()
FIRST, SECOND = f"{NAME}-v000001", f"{NAME}-v000002"
HASHED = "sha256:405bca85fc352f13c11a4e4de44b6247b082bf62ffb220976bcbb220183dca61"
VERIFIED = [("POST", "_refresh"), ("POST", "_search"), ("POST", "_search"), ("POST", "_search"),
            ("GET", "_settings")]  # fmt: skip
ENDED = [("PUT", "_mapping"), ("PUT", "_settings"), ("POST", "_flush"), ("GET", "_stats/store")]


class Conversation:
    """Acts with a cluster that answers as recorded, and keeps what it was asked."""

    def __init__(self, own: Any) -> None:
        self._own = own
        self.where = f"opensearch://{own.address}/{NAME}"
        self.requests: list[tuple[str, str, bytes]] = []

    def replay(self, exchanges: list[Exchange]) -> None:
        answer = Replay(exchanges)
        self.requests.clear()

        def refuse(method: str, path: str, body: bytes) -> Any:
            self.requests.append((method, path.partition("?")[0], body))
            return answer(method, path, body)

        self._own.refuse = refuse

    def act(self, name: str) -> Any:
        self.replay(RECORDED[name])
        return TALKS[name].act(self.where)

    @property
    def lines(self) -> list[tuple[str, str]]:
        return [(method, path) for method, path, _ in self.requests]

    def of(self, index: str) -> list[tuple[str, str]]:
        """Return method and the rest of the path of the requests to one index."""
        return [
            (method, path.removeprefix(f"/{index}").removeprefix("/"))
            for method, path, _ in self.requests
            if path == f"/{index}" or path.startswith(f"/{index}/")
        ]

    def bodies(self, path: str) -> list[Any]:
        return [json.loads(body) for _, asked, body in self.requests if asked == path]

    def rows(self, index: str) -> list[tuple[str, dict[str, Any]]]:
        """Return `_id` and row of what was sent to an index."""
        rows = []
        for _, path, body in self.requests:
            if path == f"/{index}/_bulk":
                lines = list(map(json.loads, body.splitlines()))
                for action, row in zip(lines[::2], lines[1::2], strict=True):
                    ((_, named),) = action.items()
                    rows.append((named["_id"], row))
        return rows

    def meta(self, index: str) -> list[dict[str, Any]]:
        return [body["_meta"]["pnyx"] for body in self.bodies(f"/{index}/_mapping")]


@pytest.fixture
def cluster(monkeypatch):
    monkeypatch.setattr(bulk.Bulk.__init__, "__kwdefaults__", {"patience": 0.0})
    with front("nowhere") as own:
        yield Conversation(own)


def test_a_load_sends_all_documents_and_then_points_the_alias_to_them(cluster):
    stats = cluster.act("load")
    assert stats["documents"] == stats["added"] == 5
    assert (stats["tokens"], stats["shards"], stats["bytes"]) == (28, 1, 7199)
    assert cluster.lines[:4] == [
        ("GET", "/"), ("GET", f"/{NAME}-v*"), ("GET", f"/{NAME}"), ("PUT", f"/{FIRST}"),
    ]  # fmt: skip
    assert cluster.of(FIRST) == [("PUT", ""), ("POST", "_bulk"), *VERIFIED, *ENDED]
    (created,) = cluster.bodies(f"/{FIRST}")
    settings = created["settings"]["index"]
    assert (settings["number_of_shards"], settings["number_of_replicas"]) == (1, 0)
    assert settings["similarity"]["dirichlet"] == {"type": "LMDirichlet", "mu": 2000.0}
    script = settings["similarity"]["bm25"]["script"]["source"]
    assert script.endswith("(doc.freq + 1.2 * (0.25 + 0.75 * doc.length / average));")
    begun = created["mappings"]["_meta"]["pnyx"]
    assert (begun["complete"], begun["first"]) == (False, 0)
    rows = cluster.rows(FIRST)
    assert [key for key, _ in rows] == ["d0", "d1", HASHED, "d3", "d4"]
    assert [row["number"] for _, row in rows] == [0, 1, 2, 3, 4]
    assert rows[0][1]["terms"] == "vote duti everi citizen"
    assert [row["length"] for _, row in rows] == [4, 6, 7, 5, 6]
    for (_, row), document in zip(rows, DOCUMENTS, strict=True):
        assert json.loads(row["record"])["id"] == document.id
        assert 0 < row["quality"] < 1
        assert len(row["vector"]) == 24  # 8 numbers of 2 bytes in base64
        assert "cluster" not in row
    (meta,) = cluster.meta(FIRST)
    assert meta["complete"]
    assert meta["statistics"] == {
        "documents": 5, "documents_with_terms": 5, "tokens": 28, "documents_with_quality": 5,
    }  # fmt: skip
    assert {name: f["documents"] for name, f in meta["features"].items()} == {
        "quality": 5, "vectors": 5,
    }  # fmt: skip
    assert cluster.bodies("/_aliases") == [{"actions": [{"add": {"index": FIRST, "alias": NAME}}]}]


def test_a_load_that_was_stopped_goes_on_where_it_was(cluster):
    stats = cluster.act("resumed")
    assert (stats["documents"], stats["added"], stats["tokens"]) == (5, 5, 28)
    assert ("PUT", f"/{FIRST}") not in cluster.lines
    assert [key for key, _ in cluster.rows(FIRST)] == [HASHED, "d3", "d4"]
    assert [row["number"] for _, row in cluster.rows(FIRST)] == [2, 3, 4]
    (meta,) = cluster.meta(FIRST)
    assert meta["statistics"]["documents"] == 5


def test_documents_are_added_to_a_copy_which_then_takes_its_place(cluster):
    stats = cluster.act("added")
    assert (stats["documents"], stats["added"], stats["tokens"], stats["shards"]) == (7, 2, 34, 2)
    assert ("PUT", f"/{FIRST}/_clone/{SECOND}") in cluster.lines
    rows = cluster.rows(SECOND)
    assert [(key, row["number"]) for key, row in rows] == [("d5", 5), ("d6", 6)]
    assert [json.loads(row["record"])["text"] for _, row in rows] == [d.text for d in MORE]
    assert all({"quality", "vector", "cluster"} <= row.keys() for _, row in rows)
    begun, meta = cluster.meta(SECOND)
    assert (begun["complete"], begun["first"]) == (False, 5)
    assert (meta["complete"], meta["first"]) == (True, 5)
    assert meta["statistics"]["documents"] == 7
    assert [f["documents"] for f in begun["features"].values()] == [5, 5, 5]
    assert [f["documents"] for f in meta["features"].values()] == [7, 7, 7]
    assert [key for key, _ in cluster.rows(f"{SECOND}-topics")] == ["0", "1"]
    assert cluster.bodies("/_aliases") == [
        {"actions": [{"add": {"index": SECOND, "alias": NAME}}, {"remove_index": {"index": FIRST}}]}
    ]
    assert cluster.lines[-1] == ("DELETE", f"/{FIRST}-topics")


def test_an_update_writes_every_document_with_its_features_again(cluster):
    stats = cluster.act("updated")
    assert (stats["documents"], stats["added"], stats["shards"]) == (5, 5, 2)
    rows = cluster.rows(SECOND)
    assert [row["number"] for _, row in rows] == [0, 1, 2, 3, 4]
    assert [row["cluster"] for _, row in rows] == [0, 1, 0, 1, 0]  # the new topics
    assert all(len(row["vector"]) == 24 and 0 < row["quality"] < 1 for _, row in rows)
    (meta,) = cluster.meta(SECOND)
    assert meta["features"]["clusters"]["k"] == 2
    labels = [json.loads(row["label"]) for _, row in cluster.rows(f"{SECOND}-topics")]
    assert labels == [["topic 0", ["voting"], 3], ["topic 1", ["voting"], 2]]


def test_documents_are_read_with_all_that_is_known_of_them(cluster):
    fetched, numbers, vectors, quality, shares, topics, contained, some, every = cluster.act("read")
    ids = [f"id='{document.id}'" for document in DOCUMENTS]
    assert [fetched.index(ids[n]) for n in (3, 2, 0)] == sorted(fetched.index(ids[n])
                                                               for n in (3, 2, 0))  # fmt: skip
    assert numbers == [3, 2, 0]
    assert np.linalg.norm(vectors, axis=1) == pytest.approx([1, 1, 1], abs=1e-3)
    assert quality == pytest.approx([0.1535, 0.1733, 0.1959], abs=1e-4)
    assert shares == [0.0, 0.2, 0.4]
    assert topics.count("Topic(") == 3
    assert contained == [True, False]
    assert some.index(ids[4]) < some.index(ids[0])
    assert some.count("Document(") == 2
    assert all(name in every for name in ids)


# By the command -----------------------------------------------------------------------------------


@pytest.fixture
def rows(tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(f"{json_line(to_row(document))}\n" for document in DOCUMENTS))
    return path


def from_talks() -> dict[str, list[Exchange]]:
    """Return answers for the command, which looks at an index before it changes it."""
    (health,) = [e for e in RECORDED["read"] if e.path.startswith("/_cluster/health")]
    updated = RECORDED["updated"]
    first = next(n for n, e in enumerate(updated) if e.path == f"/{FIRST}/_search")
    topics = [
        Exchange(e.method, e.path.replace(SECOND, FIRST), e.status,
                 json.loads(json.dumps(e.answer).replace(SECOND, FIRST)))
        for e in updated if e.path.startswith(f"/{SECOND}-topics")
    ]  # fmt: skip
    return {
        "load": RECORDED["load"],
        "copy": [*RECORDED["load"], *topics],
        "add": [*RECORDED["added"], health],
        # Without the search for vectors, of which topics are made.
        "update": updated[:first] + updated[first + 1 :],
    }


ANSWERS = from_talks()


def indexed(cluster: Conversation, capsys: Any, talk: str, *arguments: object) -> str:
    """Run `pnyx index` and return the line that it prints."""
    cluster.replay(ANSWERS[talk])
    status, out, error = called(capsys, "index", *arguments)
    assert (status, out, error.count("\n")) == (0, "", 1), error
    return str(error).removeprefix(f"{cluster.where}: ").rstrip("\n")


def features_of(cluster: Conversation, index: str) -> list[set[str]]:
    return [row.keys() & {"quality", "vector", "cluster"} for _, row in cluster.rows(index)]


def test_the_command_loads_rows_with_quality_and_vectors(cluster, rows, capsys):
    more = ("--shards", 3, "--replicas", 2)
    line = indexed(cluster, capsys, "load", rows, "--out", cluster.where, *more)
    assert line.startswith("5 documents, 28 tokens, quality, vectors, 0.0 MB, shards: 1, ")
    settings = cluster.bodies(f"/{FIRST}")[0]["settings"]["index"]
    assert (settings["number_of_shards"], settings["number_of_replicas"]) == (3, 2)
    assert features_of(cluster, FIRST) == [{"quality", "vector"}] * 5
    cluster.replay(ANSWERS["load"])
    status, out, error = called(capsys, "index", rows, "--out", cluster.where, "--json",
                                "--words-only")  # fmt: skip
    row = json.loads(out)
    assert (status, error, row.pop("index")) == (0, "", cluster.where)
    assert {name: row[name] for name in ("documents", "added", "tokens", "bytes", "shards")} == {
        "documents": 5, "added": 5, "tokens": 28, "bytes": 7199, "shards": 1,
    }  # fmt: skip
    settings = cluster.bodies(f"/{FIRST}")[0]["settings"]["index"]
    assert (settings["number_of_shards"], settings["number_of_replicas"]) == (1, 0)
    assert features_of(cluster, FIRST) == [set()] * 5
    assert cluster.meta(FIRST)[0]["features"] == {}


def test_the_command_copies_an_index_folder_with_its_features(cluster, capsys, tmp_path):
    folder = tmp_path / "i"
    build_index(DOCUMENTS, folder)
    score_documents(folder)
    embed_documents(folder, Fake())
    labels = [{"label": f"Topic {n}", "terms": ["voting"], "documents": 2} for n in range(2)]
    arrays = {
        "cluster": np.array([0, 1, 0, 1, NO_CLUSTER], dtype=np.uint32),
        "centroids": np.eye(2, 8, dtype=np.float32),
        "labels": np.frombuffer(json.dumps(labels).encode(), dtype=np.uint8),
    }
    meta = {"embedder": "fake", "space": "text", "k": 2, "without": 1, "assigned": 0}
    put_feature(folder, "clusters", arrays, documents=5, meta=meta)
    line = indexed(cluster, capsys, "load", folder, "--out", cluster.where, "--words-only")
    assert line.startswith("5 documents, 28 tokens, 0.0 MB")
    assert features_of(cluster, FIRST) == [set()] * 5
    cluster.replay(ANSWERS["copy"])
    stats = copy(str(folder), cluster.where, LoadPlan(shards=2))
    assert (stats.documents, stats.added, stats.tokens) == (5, 5, 28)
    every = {"quality", "vector", "cluster"}
    assert features_of(cluster, FIRST) == [every] * 4 + [every - {"cluster"}]
    assert [row.get("cluster") for _, row in cluster.rows(FIRST)] == [0, 1, 0, 1, None]
    (meta_sent,) = cluster.meta(FIRST)
    assert {name: f["documents"] for name, f in meta_sent["features"].items()} == {
        "quality": 5, "vectors": 5, "clusters": 5,
    }  # fmt: skip
    assert [row["number"] for _, row in cluster.rows(f"{FIRST}-topics")] == [0, 1]


def test_the_command_adds_rows_by_the_models_of_the_index(cluster, capsys, tmp_path):
    more = write_rows(tmp_path / "more.jsonl", [{"id": d.id, "text": d.text} for d in MORE])
    cluster.replay(ANSWERS["add"])
    status, out, error = called(capsys, "index", more, "--add", cluster.where)
    assert (status, out) == (2, "")
    assert error == (
        f"pnyx: {cluster.where}: its vectors: by fake: name it by --embedder, or add words only "
        "(--words-only)\n"
    )
    assert not cluster.rows(SECOND)


def test_the_command_updates_quality(cluster, capsys):
    line = indexed(cluster, capsys, "update", "--update", cluster.where, "--quality")
    assert line.startswith("5 documents, 28 tokens, quality, 0.0 MB, shards: 2, ")
    assert features_of(cluster, SECOND) == [{"quality", "vector", "cluster"}] * 5


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ("{rows} --out {where} --ann --vectors", "--ann requires an index folder"),
        ("{rows} --out {where} --clusters", "--clusters and --assign require --update"),
        ("{rows} --add {where} --shards 2", "--shards and --replicas require --out"),
        ("{rows} --add {where} --replicas 1", "--shards and --replicas require --out"),
        ("{folder} --out {where} --language none --words-only", "can only be copied unchanged"),
        ("{folder} {rows} --out {where} --words-only", "must be the only CORPUS"),
    ],
)
def test_what_cannot_be_done_in_a_cluster_is_refused_before_it_is_asked(
    cluster, rows, capsys, tmp_path, arguments, problem
):
    build_index(DOCUMENTS[:1], tmp_path / "i")
    cluster.replay(ANSWERS["load"])
    given = {"rows": rows, "where": cluster.where, "folder": tmp_path / "i"}
    words = (word.format(**given) for word in arguments.split())
    status, _, error = called(capsys, "index", *words)
    assert status == 2
    assert problem in error
    assert not cluster.rows(FIRST)


def test_another_index_of_the_name_is_kept_unless_it_is_to_be_replaced(cluster, rows, capsys):
    cluster.replay(ANSWERS["update"])
    status, _, error = called(capsys, "index", rows, "--out", cluster.where, "--words-only")
    assert status == 2
    assert "exists already" in error
    assert not cluster.rows(SECOND)


@pytest.mark.parametrize(
    ("lengths", "sizes"),
    [
        ([10] * 500, [500]),
        ([10] * 501, [500, 1]),
        ([2_500_000] * 3, [2, 1]),
        ([2_499_999] * 3, [3]),
        ([], []),
    ],
)
def test_500_documents_or_5_million_characters_are_sent_at_once(lengths, sizes):
    rows: list[Any] = [({"record": "x" * (n - 3), "terms": "abc"}, DOCUMENTS[0]) for n in lengths]
    assert [len(batch) for batch in _batches(rows)] == sizes
