"""An answer of a cluster that is not as it must be is one line, never a traceback or a ranking."""

from __future__ import annotations

import gc
import json
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest

from command import refuser, write_rows
from json_changes import Change
from opensearch_conversations import (
    DOCUMENTS,
    NAME,
    SCORINGS,
    TALKS,
    Replay,
    all_changes,
    recorded,
)
from opensearch_front import front
from page_fixture import served_by_command
from pnyx.core.errors import IndexFolderError, PnyxError
from pnyx.search.opensearch import bulk, schema
from pnyx.search.opensearch.answers import (
    AnswerShapeError,
    ClusterAnswer,
    PartialAnswerError,
    check_acknowledged,
    check_shards,
    read_bulk,
    read_count,
    read_documents,
    read_hits,
    read_ranking,
    read_settings,
    read_shares,
)
from pnyx.search.opensearch.client import Cluster, ClusterAddress, cause_of
from tries import quick_cases

pytest.importorskip("opensearchpy")
refused = refuser()
RECORDED = recorded()
SAMPLED = 30
"""Changes of each talk that are tried in every run of the tests."""
SLOW = {"added", "load", "read", "search", "updated"}
"""Talks of which only `make test-all` tries the changes."""

ODD = ["null", "true", "[1]", '{"x":1}', '{"x":{"mappings":null}}', '{"status":200}', '"text"']


@pytest.fixture
def cluster(monkeypatch):
    """What stands for a cluster, without patience."""
    monkeypatch.setattr(bulk.Bulk.__init__, "__kwdefaults__", {"patience": 0.0})
    with front("nowhere") as own:
        yield own


def where(cluster):
    return f"opensearch://{cluster.address}/{NAME}"


def done(cluster, name, capsys):
    """What a talk gives: its result and what it prints, or the line that it ends in."""
    capsys.readouterr()
    try:
        result = TALKS[name].act(where(cluster))
    except PnyxError as error:
        return str(error)
    printed = capsys.readouterr()
    if result == 2:
        line = printed.out + printed.err
        assert line.count("\n") == 1
        return line.strip()
    return result, printed.out.replace(where(cluster), "WHERE")


def plausible(name: str, change: Change) -> bool:
    """Whether an answer is changed to another that a cluster could give as well.

    An unknown id in a ranking is noticed where the document is read. The largest cosine and the
    smallest can be any from -1 to 1. A term that adds nothing to a score may be left out.
    """
    kind, place, _ = change
    if place[:2] != ("hits", "hits"):
        return False
    if place[3:] == ("_id",):
        return name.startswith("rank ") and kind == "text"
    if place[3:] == ("sort", 0):
        return kind == "negative"
    return "matched_queries" in place and kind == "dropped"


@contextmanager
def uncollected(change: Change) -> Iterator[None]:
    """Collect no garbage while JSON is too deep: closing a socket there would be a second error."""
    if change.kind != "deep":
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def walk(cluster, name, capsys, some):
    cluster.refuse = Replay(RECORDED[name])
    expected = done(cluster, name, capsys)
    assert not isinstance(expected, str), expected
    tried = 0
    for place, change in some:
        cluster.refuse = Replay(RECORDED[name], place, change.content())
        cluster.asked.clear()
        with uncollected(change):
            result = done(cluster, name, capsys)
        tried += 1
        if not isinstance(result, str):
            assert result == expected or plausible(name, change), (place, *change[:2])
            continue
        assert result.isprintable()
        assert where(cluster) in result
        asked = [path for _, path in cluster.asked]
        switched = [n for n, exchange in enumerate(RECORDED[name]) if exchange.path == "/_aliases"]
        assert "/_aliases" not in asked or place >= switched[0], (place, *change[:2])
    assert tried


@pytest.mark.parametrize("name", quick_cases(TALKS, TALKS.keys() - SLOW))
def test_a_changed_answer_is_noticed_or_changes_nothing(cluster, name, capsys):
    every = all_changes(RECORDED, name)
    walk(cluster, name, capsys, every[:: max(1, len(every) // SAMPLED)])


@pytest.mark.all
@pytest.mark.parametrize("name", TALKS)
def test_every_changed_answer_is_noticed_or_changes_nothing(cluster, name, capsys):
    walk(cluster, name, capsys, all_changes(RECORDED, name))


# Through the commands ----------------------------------------------------------------------------


@pytest.mark.parametrize("answer", ODD)
@pytest.mark.parametrize(
    "command",
    [
        "search {where} voting",
        "files validate {where} --json",
        "index {rows} --out {where} --words-only",
        "index --update {where}",
        "index {rows} --add {where} --words-only",
        "serve {where}",
        "annotate sample {where} {topics} --out {out}",
    ],
)
def test_json_of_another_shape_is_one_line(cluster, answer, command, tmp_path, capsys):
    rows = write_rows(tmp_path / "c.jsonl", [{"id": "a", "text": "Tea."}])
    topics, out = tmp_path / "t.tsv", tmp_path / "out"
    topics.write_text("a\tShould voting be compulsory?\n")
    (first, *_) = RECORDED["read"]
    cluster.refuse = lambda _, path, __: (
        (200, first.answer) if path == "/" else (200, answer.encode())
    )
    given = {"where": where(cluster), "rows": rows, "topics": topics, "out": out}
    line = refused(capsys, *(part.format(**given) for part in command.split()))
    assert f"{where(cluster)}: GET /{NAME}" in line
    assert "expected " in line
    assert "check that OpenSearch answers here" in line
    assert not out.exists()


def searching(name):
    """A recorded ranking, and the place of its search."""
    talk = RECORDED[name]
    (place,) = [n for n, exchange in enumerate(talk) if exchange.path.endswith("_search")]
    return talk, place


def test_the_line_names_request_place_expected_and_found(cluster, capsys):
    talk, place = searching("rank bm25")
    answer = json.loads(json.dumps(talk[place].answer))
    answer["hits"]["hits"][1]["sort"][0] = "high"
    cluster.refuse = Replay(talk, place, json.dumps(answer).encode())
    assert done(cluster, "rank bm25", capsys) == (
        f"{where(cluster)}: POST /{NAME}-v000001/_search: hits.hits[1].sort[0]: expected a finite "
        "number, found 'high'; check that OpenSearch answers here, without a proxy that changes "
        "its answers"
    )


@pytest.mark.all
def test_a_server_says_of_a_changed_answer_one_line(cluster):
    talk, place = searching("rank bm25")
    cluster.refuse = Replay(talk)
    with served_by_command(["serve", where(cluster)]) as (base, _):
        cluster.refuse = Replay(talk, place, b"[1]")
        with pytest.raises(HTTPError) as error:
            urlopen(f"{base}/v1/search?model=bm25&k=3&q=voting+duty")
        message = json.load(error.value)["error"]["message"]
        assert error.value.code >= 500
    assert "_search: expected an object, found a list of 1" in message
    assert "Traceback" not in message


@pytest.mark.parametrize(
    ("status", "content", "line"),
    [
        (200, b"<html>Sign in</html>", "GET /: expected JSON, found '<html>Sign in</html>'"),
        (200, b"", "GET /: expected JSON, found no text"),
        (200, b'{"version": {"number": "2.19', 'GET /: expected JSON, found \'{"version"'),
        (200, b'{"version": NaN}', "GET /: expected JSON"),
        (200, b"[" * 100_000, "GET /: expected JSON"),
        (200, b'"\xff"', "GET /: expected JSON, found bytes that are not UTF-8"),
        (200, b'{"version": {"number": "8.15.0"}}', "is not OpenSearch, expected 2.19 or newer"),
        (500, b"[1]", "GET /: expected an error as an object, found another"),
        (500, b"[" * 100_000, "GET /: expected an error as an object"),
        (500, b'{"error": 7}', "status 500"),
        (500, b'{"error": {"type": "t", "reason": "r", "root_cause": 5}}', "t: r"),
        (500, b'{"error": {"type": "t", "reason": "r", "root_cause": [5]}}', "t: r"),
        (500, b'{"error": {"type": "t", "reason": "r", "failed_shards": {}}}', "t: r"),
        (500, b"<html>", "status 500"),
    ],
)
def test_what_is_not_json_and_errors_of_another_shape_are_one_line(
    cluster, status, content, line, capsys
):
    cluster.refuse = lambda *_: (status, content)
    assert line in refused(capsys, "search", where(cluster), "voting")


# What an answer must agree in ---------------------------------------------------------------------


def answer(value):
    return ClusterAnswer(value, None, "opensearch://h:1/x: POST /y/_search")


def searched(rows, total=None, relation="eq", **more):
    hits = [
        {"_index": "y", "_id": key, "_score": None, "sort": [score, number]}
        for key, score, number in rows
    ]
    counted = {"value": len(rows) if total is None else total, "relation": relation}
    shards = {"total": 2, "successful": 2, "failed": 0}
    whole = {"timed_out": False, "_shards": shards, "hits": {"total": counted, "hits": hits}}
    return answer(whole | more)


ROWS = [("a", 2.5, 4), ("b", 1.5, 0), ("c", 1.5, 3)]


def test_hits_are_read():
    hits = read_hits(searched(ROWS), "y", 5)
    assert list(read_ranking(hits, 5, 2.5)) == [(2.5, 4), (1.5, 0), (1.5, 3)]
    assert len(read_hits(searched(ROWS, 9), "y", 3)) == 3
    assert len(read_hits(searched(ROWS, 6, "gte"), "y", 3, 3)) == 3
    assert len(read_hits(searched(ROWS, 6), "y", 3, 3)) == 3
    assert len(read_hits(searched(ROWS, 5), "y", 3, 2, matching=5)) == 3
    assert read_hits(searched([]), "y", 3) == []
    assert list(read_ranking(read_hits(searched([("a", 0.0, 7), ("b", -0.0, 2)]), "y", 2), 8))


@pytest.mark.parametrize(
    ("found", "size", "before", "matching"),
    [
        (searched([], 3), 5, 0, None),
        (searched(ROWS[:2], 3), 5, 0, None),
        (searched(ROWS, 9), 2, 0, None),
        (searched(ROWS, 9), 5, 0, None),
        (searched(ROWS[:2], 3, "gte"), 3, 0, None),
        (searched(ROWS, 2, "gte"), 3, 0, None),
        (searched(ROWS, 5, "gte"), 3, 3, None),
        (searched(ROWS, 5), 3, 3, None),
        (searched(ROWS, 3, "about"), 3, 0, None),
        (searched(ROWS), 3, 0, 4),
        (searched(ROWS, 5, "gte"), 3, 0, 4),
        (searched([*ROWS, ROWS[0]]), 5, 0, None),
    ],
)
def test_hits_that_do_not_fit_the_total_or_repeat_are_refused(found, size, before, matching):
    with pytest.raises(AnswerShapeError, match="expected"):
        read_hits(found, "y", size, before, matching)


def test_hits_of_another_index_are_refused():
    with pytest.raises(AnswerShapeError, match=r"_index: expected z, found 'y'"):
        read_hits(searched(ROWS), "z", 3)


@pytest.mark.parametrize(
    "rows",
    [
        ROWS[::-1],
        [ROWS[0], ROWS[2], ROWS[1]],
        [("a", 2.5, 4), ("b", 1.5, 4)],
        [("a", 2.5, 5)],
        [("a", 2.5, -1)],
        [("a", 2.5, 1.0)],
        [("a", 2.6, 1)],
        [("a", -2.6, 1)],
        [("a", float("nan"), 1)],
        [("a", 10**400, 1)],
        [("a", "NaN", 1)],
        [("a", True, 1)],
        [("a", 1.0, True)],
        [("a", -0.0, 1), ("b", 0.0, 2)],
    ],
    ids=str,
)
def test_hits_in_another_order_or_with_odd_values_are_refused(rows):
    hits = read_hits(searched(rows), "y", 5)
    with pytest.raises(AnswerShapeError, match=r"hits\.hits\[\d\]\.sort"):
        list(read_ranking(hits, 5, 2.5))


def test_a_score_that_is_not_the_one_sorted_by_is_refused():
    found = searched(ROWS)
    found.value["hits"]["hits"][1]["_score"] = 1.4
    with pytest.raises(AnswerShapeError, match=r"expected the score that it is sorted by, 1\.5"):
        list(read_ranking(read_hits(found, "y", 3), 5))


@pytest.mark.parametrize(
    "more",
    [
        {"timed_out": True},
        {"_shards": {"total": 2, "successful": 1, "failed": 1}},
        {"_shards": {"total": 2, "successful": 1, "failed": 0}},
        {"_shards": {"total": 1, "successful": 0, "failed": 0}},
        {"error": {"type": "t"}},
    ],
    ids=str,
)
def test_a_part_of_the_shards_is_not_the_whole(more):
    with pytest.raises(PartialAnswerError):
        read_hits(searched(ROWS, **more), "y", 3)


@pytest.mark.parametrize(("path", "times"), [(f"/{NAME}/_search", 2), (f"/{NAME}/_refresh", 1)])
def test_only_a_read_of_missing_shards_is_sent_again_and_once(cluster, path, times):
    cluster.refuse = lambda *_: (503, {"error": {"type": "no_shard_available"}})
    client = Cluster(ClusterAddress.parse(where(cluster)))
    with pytest.raises(PartialAnswerError, match="some shards are unavailable"):
        client.ask("POST", path, {})
    assert cluster.asked == [("POST", path)] * times


def test_a_read_that_all_shards_answer_the_second_time_is_read(cluster):
    answers = iter([(503, {"error": {"type": "no_shard_available"}}), (200, {"took": 1})])
    cluster.refuse = lambda *_: next(answers)
    client = Cluster(ClusterAddress.parse(where(cluster)))
    assert client.ask("POST", f"/{NAME}/_search", {}).value == {"took": 1}


@pytest.mark.parametrize(
    "shards",
    [
        {"total": 0, "successful": 0, "failed": 0},
        {"total": 1, "successful": 2, "failed": 0},
        {"total": 1, "successful": 1},
        {"total": 1, "successful": 1, "failed": None},
    ],
    ids=str,
)
def test_counts_of_shards_that_cannot_be_are_refused(shards):
    with pytest.raises(AnswerShapeError, match="_shards"):
        check_shards(answer({"_shards": shards}))


def test_copies_without_a_node_do_not_fail_a_refresh():
    check_shards(answer({"_shards": {"total": 4, "successful": 2, "failed": 0}}))
    with pytest.raises(PartialAnswerError, match="1 of 4 shards answered"):
        check_shards(answer({"_shards": {"total": 4, "successful": 1, "failed": 1}}))


def test_counts_are_exact_and_show_nothing():
    assert read_count(searched([], 7)) == 7
    for found in (searched([], 7, "gte"), searched(ROWS, 7)):
        with pytest.raises(AnswerShapeError):
            read_count(found)


def test_documents_are_those_that_were_asked_for():
    rows = [{"_id": "a", "found": True, "_source": {"number": 1}}, {"_id": "b", "found": False}]
    first, second = read_documents(answer({"docs": rows}), ["a", "b"])
    assert (first.value, second) == ({"number": 1}, None)
    failed = {"_id": "b", "error": {"type": "t"}}
    for docs in (rows[::-1], rows[:1], [*rows, rows[0]], [rows[0], failed], {"0": rows[0]}):
        with pytest.raises(AnswerShapeError):
            read_documents(answer({"docs": docs}), ["a", "b"])


def sent(*items, errors=False):
    return answer({"errors": errors, "items": [{"create": item} for item in items]})


def test_what_became_of_documents_is_read_in_the_order_of_sending():
    error = {"type": "t", "reason": None}
    items = [{"_id": "a", "status": 201}, {"_id": "b", "status": 409, "error": error}]
    results = read_bulk(sent(*items, errors=True), "create", ["a", "b"])
    assert [(result.status, result.error) for result in results] == [(201, ""), (409, "t")]
    good = items[0]
    for odd in (
        sent(*items),
        sent(good, good),
        sent(good),
        sent(*items[::-1], errors=True),
        sent(good, good | {"_id": "b"}, errors=True),
        sent(good, {"_id": "b", "status": 409}),
        sent(good, {"_id": "b", "status": 201, "error": error}, errors=True),
        sent(good, {"_id": "b", "status": 300}),
        sent(good, {"_id": "b", "status": 409, "error": "t"}, errors=True),
    ):
        with pytest.raises(AnswerShapeError):
            read_bulk(odd, "create", ["a", "b"])


def test_a_document_that_is_there_and_cannot_be_read_stops_a_load():
    class Cluster:
        address = "opensearch://h:1/x"

        def ask(self, *_, **__):
            return answer({"docs": [{"_id": "a", "found": False}]})

    with pytest.raises(PnyxError, match="has document 'a', but does not return it"):
        bulk.Bulk(Cluster(), "y")._check_same([{"_id": "a", "number": 0, "digest": "d"}])


def test_shares_rise_to_the_number_of_values():
    def counted(*below, values=4):
        buckets = {str(place): {"doc_count": count} for place, count in enumerate(below)}
        aggregations = {"all": {"value": values}, "below": {"buckets": buckets}}
        return searched([], 9, aggregations=aggregations)

    assert read_shares(counted(0, 1, 4), 3, 4) == [0.0, 0.25, 1.0]
    for odd in (counted(2, 1), counted(0, 5), counted(0), counted(0, 1, values=0)):
        with pytest.raises(AnswerShapeError):
            read_shares(odd, 2, 4)
    with pytest.raises(AnswerShapeError, match="1 to 3, found 4"):
        read_shares(counted(0, 1), 2, 3)


def test_parts_of_a_score_add_up_to_it():
    def hit(score, **parts):
        found = searched(ROWS[:1])
        found.value["hits"]["hits"][0] |= {"_score": score, "matched_queries": parts}
        return read_hits(found, "y", 1)[0]

    assert hit(0.30001, a=0.1, b=0.2).named_scores() == {"a": 0.1, "b": 0.2}
    for odd in (hit(0.3, a=0.1), hit(0.3004, a=0.1, b=0.2), hit(0.0, a="0")):
        with pytest.raises(AnswerShapeError):
            odd.named_scores()


def test_settings_and_confirmations_are_read():
    def settings(**own):
        return answer({"y": {"settings": {f"index.number_of_{k}": v for k, v in own.items()}}})

    assert read_settings(settings(shards="3", replicas="0"), "y") == (3, 0)
    for odd in (
        settings(shards="3"),
        settings(shards=3, replicas="0"),
        settings(shards="²", replicas="0"),
        settings(shards="1" * 10, replicas="0"),
        settings(shards="", replicas="0"),
    ):
        with pytest.raises(AnswerShapeError):
            read_settings(odd, "y")
    check_acknowledged(answer({"acknowledged": True}))
    for said in (False, "true", 1, None):
        with pytest.raises(AnswerShapeError, match="acknowledged"):
            check_acknowledged(answer({"acknowledged": said}))


def test_places_and_values_are_described():
    nested = answer({"a": [{"b" * 90: 1}]})
    (element,) = nested.field("a").elements()
    inner = element.field("b" * 90)
    assert "a[0]." + "b" * 59 + "…: expected text, found 1;" in str(inner.wrong("text"))
    for value, described in (
        ({}, "an empty object"),
        (dict.fromkeys("abcde"), "an object with a, b, c, d, ..."),
        (dict.fromkeys("abcd"), "an object with a, b, c, d;"),
        ([1, 2], "a list of 2"),
        ("a\nb", "'a b'"),
        (None, "found null"),
    ):
        assert described in str(answer(value).wrong("digits"))


def test_what_an_index_says_of_itself_has_a_digest():
    meta = {"tokenizer": {"language": "klingon"}, "format": schema.FORMAT, "complete": True}

    def described(own):
        return answer({"mappings": {"_meta": own}})

    with pytest.raises(IndexFolderError, match="was loaded by another Pnyx: unknown tokenizer"):
        schema.meta_of(described(schema.described(meta)), "x")
    changed = schema.described(meta)
    changed["pnyx"]["complete"] = False
    with pytest.raises(AnswerShapeError, match="with the digest that it was written with"):
        schema.meta_of(described(changed), "x")
    with pytest.raises(IndexFolderError, match=r"is of format 1, expected 2: load it again"):
        schema.meta_of(described({"pnyx": {"format": 1}}), "x")
    for own in ({}, {"pnyx": {}}, {"other": 1}):
        with pytest.raises(IndexFolderError, match="is not an index made by Pnyx"):
            schema.meta_of(described(own), "x")


def test_the_deepest_cause_of_an_error_is_found():
    deep = {"type": "b", "reason": "2"}
    for error in (
        {"type": "a", "reason": "1", "caused_by": deep},
        {"type": "a", "reason": "1", "failed_shards": [{"reason": deep}]},
    ):
        assert cause_of(error) == ("b", "2")
    for odd in (None, 7, [1], "x"):
        assert cause_of(odd) == ("", "")
    assert cause_of({"type": "a", "root_cause": [], "caused_by": 5}) == ("a", "")


def test_what_is_recorded_is_of_documents_with_all_features():
    index = next(e.answer for e in RECORDED["read"] if e.path == f"/{NAME}")
    ((_, described),) = index.items()
    meta = schema.meta_of(answer(described), "x")
    assert schema.documents_having(meta) == dict.fromkeys(schema.FEATURES.values(), len(DOCUMENTS))
    partly = meta | {"statistics": meta["statistics"] | {"documents_with_quality": 4}}
    assert schema.documents_having(partly)["quality"] == 0
    partly["features"] = meta["features"] | {"clusters": {"documents": 5, "without": 1}}
    assert schema.documents_having(partly)["cluster"] == 0
    assert set(SCORINGS) == {name[5:] for name in TALKS if name.startswith("rank ")} - {"on topics"}
