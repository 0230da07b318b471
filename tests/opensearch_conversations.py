"""What Pnyx asks a cluster, with the answers of a real one: recorded, replayed and changed.

    python lab/opensearch.py start --port 19200
    PYTHONPATH=src:tests python tests/opensearch_conversations.py 127.0.0.1:19200

records the answers of a cluster again, which is needed where requests change.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from command import run
from index_fixture import Fake
from json_changes import Change, changes
from opensearch_front import Front, front
from pnyx.core.records import Argument, Document, Premise
from pnyx.judging.students.surface_quality import QualityModel
from pnyx.search.build import build_index
from pnyx.search.document_quality import score_documents
from pnyx.search.engine import TopicQuery
from pnyx.search.explain import explain
from pnyx.search.features.clusters import Clusters, cluster_documents
from pnyx.search.features.topic_points import ClusterLabel
from pnyx.search.features.vectors import embed_documents
from pnyx.search.open_engine import open_index
from pnyx.search.opensearch import aliases as naming
from pnyx.search.opensearch import loader
from pnyx.search.opensearch.client import Cluster, ClusterAddress
from pnyx.search.opensearch.load import LoadPlan, add, copy, load, update
from pnyx.search.plan import Scoring

FILE = Path(__file__).with_name("opensearch_answers.json")
NAME = "talk"
QUESTION = "voting duty"
LONG = "d" * 600
"""An id that is kept as a hash."""

DOCUMENTS = [
    Document("d0", "Voting is a duty of every citizen."),
    Document("d1", "Compulsory voting violates freedom, and voting is a right."),
    Document(LONG, "Voting should be a duty because turnout rises.", title="Turnout"),
    Argument("d3", "Zoos protect animals.", (Premise("They save species."),), "pro", topic="zoos"),
    Document("d4", "Zoos should be closed because animals suffer."),
]
MORE = [Document("d5", "Voting by mail is easy."), Document("d6", "Taxes pay for schools.")]
SCORINGS = {
    "bm25": Scoring("bm25"),
    "mu": Scoring("dirichlet", {"mu": 100.0}),
    "touche": Scoring("touche"),
    "flat": Scoring("touche", flat=True),
    "dense": Scoring("dense"),
    "hybrid": Scoring("hybrid"),
}


def _plan(**more: Any) -> LoadPlan:
    return LoadPlan(embedder=Fake(), quality=QualityModel.load(), **more)


def _stats(stats: Any) -> dict[str, Any]:
    untimed = {"seconds", "waited"}
    return {name: value for name, value in asdict(stats).items() if name not in untimed}


def _topics(index: Any) -> Clusters:
    """Two topics, by their order alone: k-means takes longer than all else."""
    vectors = index.vectors_at(np.arange(len(index)))
    topic = np.arange(len(index), dtype=np.uint32) % 2
    centroids = np.stack([vectors[topic == number].mean(axis=0) for number in range(2)])
    labels = [ClusterLabel(f"topic {number}", ("voting",), 3 - number) for number in range(2)]
    meta = {"k": 2, "space": "text", "embedder": "fake", "without": 0, "assigned": 0}
    return Clusters(topic, centroids, labels, "text", "fake", meta)


def _all_of(where: str) -> None:
    """Load an index with all features."""
    with tempfile.TemporaryDirectory() as folder:
        index = Path(folder) / "i"
        build_index(DOCUMENTS, index)
        score_documents(index, QualityModel.load())
        embed_documents(index, Fake())
        cluster_documents(index, Fake(), k=2, space="text")
        copy(str(index), where, LoadPlan(shards=2, replace=True))


def _half(where: str) -> None:
    """Load two documents, one at a time, and stop."""

    def stopped() -> Iterator[Document]:
        yield from DOCUMENTS[:2]
        raise KeyboardInterrupt

    batch, loader._BATCH = loader._BATCH, 1
    try:
        with contextlib.suppress(KeyboardInterrupt):
            load(stopped(), where, _plan())
    finally:
        loader._BATCH = batch


def _ranked(name: str) -> Callable[[str], Any]:
    def rank(where: str) -> Any:
        index, scoring = open_index(where), SCORINGS[name]
        hits = index.retrieve(QUESTION, scoring, 3, Fake())
        return [list(hit) for hit in hits]

    return rank


def _explained(name: str) -> Callable[[str], Any]:
    def explained(where: str) -> Any:
        index, scoring = open_index(where), SCORINGS[name]
        why = explain(index, QUESTION, scoring, ["d0", LONG], Fake(), k=3)
        return [parts.row() for parts in why]

    return explained


def _read(where: str) -> Any:
    index, ids = open_index(where), ["d3", LONG, "d0"]
    return [
        repr(index.fetch(ids)),
        index.numbers(ids).tolist(),
        index.vectors(ids).tolist(),
        index.quality(ids).tolist(),
        index.quality_shares(ids).tolist(),
        repr(index.topics(ids)),
        ["d4" in index, "none" in index],
        repr(list(index.documents_at([4, 0]))),
        repr(list(index.documents())),
    ]


def _on_topics(where: str) -> Any:
    near = TopicQuery(QUESTION, Fake().encode([QUESTION])[0], "fake", 0.0, 3)
    return open_index(where).on_topics(near)


def _command(*arguments: str) -> Callable[[str], Any]:
    def command(where: str) -> Any:
        return run(*(part.format(where=where) for part in arguments))

    return command


class Talk(NamedTuple):
    """What is done with a cluster, and what is there before."""

    act: Callable[[str], Any]
    before: Callable[[str], Any] = _all_of


def _nothing(where: str) -> None:
    cluster = Cluster(ClusterAddress.parse(where))
    cluster.exists("DELETE", f"/{NAME}-v*")


TALKS = {
    "load": Talk(lambda where: _stats(load(DOCUMENTS, where, _plan())), _nothing),
    "resumed": Talk(lambda where: _stats(load(DOCUMENTS, where, _plan())), _half),
    "added": Talk(lambda where: _stats(add(MORE, where, _plan()))),
    "updated": Talk(lambda where: _stats(update(where, LoadPlan(), None, _topics))),
    "read": Talk(_read),
    "state": Talk(lambda where: naming._resolve(where)),
    "search": Talk(_command("search", "{where}", QUESTION, "--model", "bm25", "--json")),
    "validate": Talk(_command("files", "validate", "{where}")),
    "rank on topics": Talk(_on_topics),
    **{f"rank {name}": Talk(_ranked(name)) for name in SCORINGS},
    **{f"explain {name}": Talk(_explained(name)) for name in SCORINGS},
}

_UNREAD = ("properties", "index", "analysis", "similarity")
"""Parts of an index's answer: how it is stored, which Pnyx says and does not read."""
_READS = ("read", "search", "validate", "rank", "explain")
_OPENING = [name for name, talk in TALKS.items() if name.partition(" ")[0] in _READS]

# Recording and replaying -------------------------------------------------------------------------


class Exchange(NamedTuple):
    """A request, without its query, and the answer."""

    method: str
    path: str
    status: int
    answer: Any


def record(address: str) -> dict[str, list[Exchange]]:
    """Return what a cluster, `HOST:PORT`, answers in each talk."""
    talks: dict[str, list[Exchange]] = {}
    where = f"opensearch://{address}/{NAME}"
    for name, talk in TALKS.items():
        _nothing(where)
        talk.before(where)
        exchanges: list[Exchange] = []

        class Recorder(Front):
            def passed_on(
                self, method: str, path: str, body: bytes, kind: str
            ) -> tuple[int, bytes]:
                status, content = super().passed_on(method, path, body, kind)
                answer = json.loads(content)
                exchanges.append(Exchange(method, path.partition("?")[0], status, answer))  # noqa: B023
                return status, content

        with front(address, kind=Recorder) as own:
            talk.act(f"opensearch://{own.address}/{NAME}")
        talks[name] = exchanges
    _nothing(where)
    return talks


def recorded() -> dict[str, list[Exchange]]:
    """Return what was recorded."""
    content = json.loads(FILE.read_text(encoding="utf-8"))
    return {
        name: [
            Exchange(*request.split(" "), status, content["answers"][place])
            for request, status, place in talk
        ]
        for name, talk in content["talks"].items()
    }


def write(talks: dict[str, list[Exchange]]) -> None:
    """Write what was recorded, each different answer once."""
    answers: list[Any] = []
    rows: dict[str, list[Any]] = {}
    for name, talk in talks.items():
        rows[name] = []
        for method, path, status, answer in talk:
            if answer not in answers:
                answers.append(answer)
            rows[name].append([f"{method} {path}", status, answers.index(answer)])
    lines = ",\n".join(json.dumps(answer) for answer in answers)
    talked = ",\n".join(f"{json.dumps(name)}: {json.dumps(row)}" for name, row in rows.items())
    FILE.write_text(f'{{"answers": [\n{lines}\n],\n"talks": {{\n{talked}\n}}}}\n', encoding="utf-8")


class Replay:
    """Answers as a cluster did; the answer at `place` of a talk is another one, if given."""

    def __init__(self, talk: list[Exchange], place: int = -1, other: bytes = b"") -> None:
        self._left: dict[tuple[str, str], list[tuple[int, bytes]]] = {}
        for number, (method, path, status, answer) in enumerate(talk):
            content = other if number == place else json.dumps(answer).encode()
            self._left.setdefault((method, path), []).append((status, content))

    def __call__(self, method: str, path: str, _: bytes) -> tuple[int, Any]:
        answers = self._left.get((method, path.partition("?")[0]))
        if answers is None:
            error = {"type": "not_recorded", "reason": f"{method} {path} was not recorded"}
            return 400, {"error": error, "status": 400}
        return answers.pop(0) if len(answers) > 1 else answers[0]


# Other answers -----------------------------------------------------------------------------------


def all_changes(talks: dict[str, list[Exchange]], name: str) -> list[tuple[int, Change]]:
    """Return every change of every answer of a talk, with the answer's place.

    Without answers in which the talk is still what an earlier talk is: both open an index.
    """
    earlier = itertools.takewhile(lambda other: other != name, talks)
    begun = [talks[other] for other in earlier if other in _OPENING]
    every: list[tuple[int, Change]] = []
    for place, exchange in enumerate(talks[name]):
        so_far = talks[name][: place + 1]
        if name not in _OPENING or not any(talk[: place + 1] == so_far for talk in begun):
            every += [(place, change) for change in changes(exchange.answer, _UNREAD)]
    return every


if __name__ == "__main__":
    write(record(sys.argv[1]))
