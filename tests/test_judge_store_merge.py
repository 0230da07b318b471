"""Merging and exporting stores: nothing lost, nothing poisoned, equal stores equal to the byte."""

from __future__ import annotations

import contextlib
import dataclasses
import gzip
import json
import os
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
import zlib
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pnyx.core.errors import InputError, PnyxError
from pnyx.judging.store.maintenance import export_store, merge_stores, store_stats
from pnyx.judging.store.rows import StoredRow, request_key, row_from_object
from pnyx.judging.store.schema import checksum
from pnyx.judging.store.store import Store
from pnyx.models.chat.types import ChatRequest, Message, Reply, Token
from tries import tries

WHEN = "2026-01-02T03:04:05+00:00"


def request(text: str = "q", **fields) -> ChatRequest:
    return ChatRequest((Message("user", text),), **fields)


def row(text: str = "q", reply: str = "yes", *, model: str = "m", when: str = WHEN) -> StoredRow:
    asked = request(text)
    said = Reply(reply, "stop", "m-1", {"prompt_tokens": 3}, "text")
    return StoredRow(request_key(model, asked), model, asked, said, when, "0.1")


def fill(path: Path, rows: list[StoredRow]) -> Path:
    with Store(path) as store, store.transaction():
        for each in rows:
            store.put_columns(each.columns())
    return path


def exported(path: Path, name: str = "out.jsonl") -> bytes:
    out = path.with_name(f"{path.name}.{name}")
    export_store(path, out)
    return out.read_bytes()


# --- round trip

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
ANY_TEXT = st.text(max_size=20) | st.just("\udce2\u2028\0")
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | ANY_TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(ANY_TEXT, inner, max_size=3),
    max_leaves=6,
)  # fmt: skip
REQUESTS = st.builds(
    ChatRequest,
    messages=st.lists(st.builds(Message, ANY_TEXT, ANY_TEXT), max_size=3).map(tuple),
    schema=st.none() | st.dictionaries(ANY_TEXT, JSON, max_size=3),
    max_tokens=st.integers(1, 9999),
    temperature=st.floats(0, 2),
    seed=st.none() | st.integers(),
    sample=st.integers(0, 9),
    logprobs=st.integers(0, 20),
)
TOKENS = st.lists(
    st.builds(
        Token,
        ANY_TEXT,
        st.lists(st.tuples(ANY_TEXT, st.floats(-999, 0)), max_size=3).map(tuple),
    ),
    max_size=3,
).map(tuple)
REPLIES = st.builds(
    Reply,
    TEXT,
    TEXT,
    TEXT,
    st.dictionaries(ANY_TEXT, st.integers(0, 2**53 - 1), max_size=3),
    TEXT,
    st.none() | TOKENS,
)


@settings(max_examples=tries(25), deadline=None)
@given(st.lists(st.tuples(TEXT, REQUESTS, REPLIES), max_size=4))
def test_export_merge_export_is_the_same_to_the_byte(replies):
    with tempfile.TemporaryDirectory() as folder:
        one, two, three = (Path(folder, name) for name in ("1", "2", "3"))
        with Store(one) as store:
            for model, asked, reply in replies:
                store.put(request_key(model, asked), model, asked, reply)
        first = exported(one)
        merge_stores([one.with_name("1.out.jsonl")], two)
        merge_stores([one], three)
        assert exported(two) == first
        assert exported(three) == first
        with Store(one) as a, Store(two) as b:
            assert list(a.rows()) == list(b.rows())
            for each in a.rows():
                assert b.get(each.key) == a.get(each.key)


def test_a_request_is_read_back_from_its_canonical_form():
    """A field that is added to ChatRequest must be read by `row_from_object`, or this fails."""
    values = {
        "messages": (Message("user", "q"),),
        "schema": {"a": [1.0, None]},
        "schema_name": "answer",
        "max_tokens": 7,
        "temperature": 0.25,
        "seed": 5,
        "sample": 2,
        "logprobs": 4,
        "fields": {"reasoning_effort": "low"},
    }
    assert values.keys() == {field.name for field in dataclasses.fields(ChatRequest)}
    for names in (
        [],
        ["seed"],
        ["logprobs"],
        ["fields"],
        ["schema", "seed", "logprobs", "temperature"],
    ):
        kept = {name: values[name] for name in ["messages", *names]}
        asked = ChatRequest(**kept)
        line = json.loads(row().line()) | {"request": asked.canonical()}
        assert row_from_object(json.loads(json.dumps(line))).request == asked


def test_export_is_sorted_compressed_and_filtered(tmp_path):
    path = fill(tmp_path / "s", [row(str(n), model=f"m{n % 2}") for n in range(9)])
    lines = exported(path).splitlines()
    assert len(lines) == 9
    assert [json.loads(line)["key"] for line in lines] == sorted(
        json.loads(line)["key"] for line in lines
    )
    packed = exported(path, "a.jsonl.gz")
    assert gzip.decompress(packed) == exported(path)
    assert exported(path, "b.jsonl.gz") == packed
    assert export_store(path, tmp_path / "m1", model="m1") == 4
    assert export_store(path, tmp_path / "none", model="nobody") == 0


def test_a_store_is_not_overwritten_by_its_own_export(tmp_path):
    path = fill(tmp_path / "s", [row()])
    with pytest.raises(InputError, match="the store itself"):
        export_store(path, path)
    assert store_stats(path).replies == 1


# --- merge


def test_what_is_missing_is_added_and_what_is_there_stays(tmp_path):
    target = fill(tmp_path / "t", [row("a"), row("b", "no")])
    other = fill(
        tmp_path / "o", [row("a"), row("b", "yes"), row("c", when="2020-01-01T00:00:00+00:00")]
    )
    (merged,) = merge_stores([other], target)
    assert (merged.replies, merged.added, merged.present, merged.conflicts) == (3, 1, 1, 1)
    with Store(target) as store:
        assert len(store) == 3
        assert store.get(row("b").key).reply.text == "no"
        assert store.get(row("c").key).created_at.startswith("2020")


def test_sources_that_contradict_each_other_are_counted_and_the_first_counts(tmp_path):
    one = fill(tmp_path / "1", [row("a", "yes")])
    two = fill(tmp_path / "2", [row("a", "no")])
    merged = merge_stores([one, two], tmp_path / "t")
    assert [(m.added, m.conflicts) for m in merged] == [(1, 0), (0, 1)]


def test_a_store_is_not_merged_into_itself(tmp_path):
    path = fill(tmp_path / "s", [row()])
    (tmp_path / "link").symlink_to(path)
    for name in ("s", "link"):
        with pytest.raises(InputError, match="into itself"):
            merge_stores([tmp_path / name], path)


def spoilt() -> dict[str, tuple[dict, str]]:
    """Lines that are wrong in one place, and what the message says."""
    good = json.loads(row().line())

    def reply(**fields) -> dict:
        return good | {"reply": good["reply"] | fields}

    def asked(**fields) -> dict:
        return good | {"request": good["request"] | fields}

    cases = {
        "key": (good | {"key": row("other").key}, "key: found"),
        "model": (good | {"model": "stronger"}, "key: found"),
        "question": (asked(messages=[["user", "other"]]), "key: found"),
        "text type": (reply(text=None), "reply.text: found NoneType"),
        "usage": (reply(usage={"x": -1}), "reply.usage"),
        "tokens": (reply(tokens=[["a", [["b", 5.0]]]]), "reply.tokens"),
        "surrogate": (reply(text="\ud800"), "half a character"),
        "time": (good | {"created_at": "2026-13-01T00:00:00+00:00"}, "created_at"),
        "unknown": (good | {"more": 1}, "unknown field 'more'"),
        "reply": (good | {"reply": []}, "reply: found list"),
        "bool": (asked(max_tokens=True), "request.max_tokens"),
        "role": (asked(messages=[["user"]]), "request.messages"),
        "huge": (asked(temperature=10**400), "request.temperature"),
    }
    cases["missing"] = ({k: v for k, v in good.items() if k != "request"}, "no request")
    return cases


@pytest.mark.parametrize("case", spoilt())
def test_a_wrong_line_is_refused_with_its_place_and_the_target_stays(case, tmp_path):
    line, message = spoilt()[case]
    source = tmp_path / "in.jsonl"
    source.write_text(row("fine").line() + "\n\n" + json.dumps(line) + "\n")
    target = fill(tmp_path / "t", [row("a")])
    before = exported(target)
    with pytest.raises(InputError) as error:
        merge_stores([source], target)
    assert (error.value.path, error.value.line) == (str(source), 3)
    assert message in str(error.value)
    assert exported(target) == before
    with pytest.raises(InputError):
        merge_stores([source], tmp_path / "new")
    assert not (tmp_path / "new").exists()


@settings(max_examples=tries(150), deadline=None)
@given(JSON | st.dictionaries(st.sampled_from(sorted(json.loads(row().line()))), JSON))
def test_no_line_crashes(value):
    good = json.loads(row().line())
    mixed = good | value if isinstance(value, dict) else value
    for line in (value, mixed, good | {"reply": value}, good | {"request": value}):
        try:
            row_from_object(line).check_key()
        except ValueError:
            continue  # the only way out
        else:
            assert line["request"] == good["request"]
            assert line["model"] == good["model"]


def test_deep_nesting_is_one_line(tmp_path):
    deep = '{"a":' * 900 + "1" + "}" * 900
    line = row().line().replace('"schema": null', f'"schema": {deep}')
    for text in (line, "[" * 100_000):
        (tmp_path / "in").write_text(text + "\n")
        with pytest.raises(InputError):
            merge_stores([tmp_path / "in"], tmp_path / "t")


# --- strangers' SQLite files


def tampered(path: Path, *statements: str) -> Path:
    fill(path, [row("a"), row("b")])
    connection = sqlite3.connect(path, isolation_level=None)
    for statement in statements:
        connection.execute(statement)
    kinds = dict(connection.execute("SELECT lower(name), type FROM sqlite_master"))
    if "checksum" in str(statements) or kinds["replies"] == "view":
        connection.close()
        return path
    with contextlib.suppress(sqlite3.Error):  # a stranger can make the checksums right again
        connection.text_factory = lambda text: text.decode("utf-8", "surrogateescape")
        for values in connection.execute("SELECT * FROM replies").fetchall():
            connection.execute(
                "UPDATE replies SET checksum = ? WHERE checksum = ?",
                (checksum(values[:-1]), values[-1]),
            )
    connection.close()
    return path


_SPACES = zlib.compressobj(1)
BOMB = b"".join(_SPACES.compress(b" " * 1_000_000) for _ in range(200)) + _SPACES.flush()

HOSTILE = {
    "a view in place of the table": [
        "ALTER TABLE replies RENAME TO real",
        "CREATE VIEW replies AS SELECT * FROM real",
    ],
    "a view of endless rows": [
        "DROP TABLE replies",
        "CREATE VIEW replies AS WITH RECURSIVE c(key) AS (SELECT 1 UNION ALL SELECT key + 1 FROM c)"
        " SELECT key FROM c",
    ],
    "a computed column": [
        "DROP TABLE replies",
        "CREATE TABLE replies (key TEXT PRIMARY KEY, model, request, reply_text, finish_reason,"
        " reply_model, usage, response_format, created_at, pnyx_version,"
        " tokens AS (zeroblob(1000000000)))",
    ],
    "columns in another order": ["ALTER TABLE replies RENAME COLUMN model TO name"],
    "no key": [
        "DROP TABLE replies",
        "CREATE TABLE replies (key, model, request, reply_text, finish_reason, reply_model, usage,"
        " response_format, created_at, pnyx_version, tokens)",
    ],
    "a virtual table": [
        "DROP TABLE replies",
        "CREATE VIRTUAL TABLE replies USING fts5(key, model, request, reply_text, finish_reason,"
        " reply_model, usage, response_format, created_at, pnyx_version, tokens)",
    ],
    "a number": ["UPDATE replies SET reply_text = x'00ff'"],
    "text that is not UTF-8": ["UPDATE replies SET reply_text = CAST(x'ff' AS TEXT)"],
    "broken JSON": ["UPDATE replies SET request = '{'"],
    "infinite": ["UPDATE replies SET usage = '{\"a\": 1e999}'"],
    "deep JSON": [f"UPDATE replies SET request = '{'[' * 50_000}'"],
    "tokens that are no bytes": ["UPDATE replies SET tokens = 'x'"],
    "tokens that are not compressed": ["UPDATE replies SET tokens = x'00'"],
    "tokens that unpack without end": [f"UPDATE replies SET tokens = x'{BOMB.hex()}'"],
    "another key": ["UPDATE replies SET key = 'k' || key"],
    "another question": ["UPDATE replies SET model = 'stronger'"],
    "a newer version": ["INSERT INTO _pnyx_migrations VALUES (999, '', '')"],
    "a version of text": [
        "DROP TABLE _pnyx_migrations",
        "CREATE TABLE _pnyx_migrations (number)",
        "INSERT INTO _pnyx_migrations VALUES ('x')",
    ],
}


@pytest.mark.parametrize("case", HOSTILE)
def test_a_hostile_store_is_refused_in_one_line(case, tmp_path):
    try:
        path = tampered(tmp_path / "hostile", *HOSTILE[case])
    except sqlite3.OperationalError as error:
        pytest.skip(f"this SQLite cannot make it: {error}")
    target = fill(tmp_path / "t", [row("a")])
    before = exported(target)
    with pytest.raises(PnyxError) as error:
        merge_stores([path], target)
    assert "\n" not in str(error.value)
    assert str(path) in str(error.value)
    assert exported(target) == before


def test_triggers_of_a_stranger_do_not_run_and_its_views_are_not_read(tmp_path):
    path = tampered(
        tmp_path / "o",
        "CREATE TRIGGER t AFTER INSERT ON replies BEGIN DELETE FROM replies; END",
        "CREATE VIEW mine AS SELECT load_extension('x')",
        "CREATE INDEX i ON replies (reply_text)",
    )
    (merged,) = merge_stores([path], tmp_path / "t")
    assert merged.added == 2


def test_damaged_pages_are_one_line(tmp_path):
    path = fill(tmp_path / "o", [row(f"{n}" * 500) for n in range(200)])
    content = bytearray(path.read_bytes())
    for start in range(4096 * 3, len(content), 4096):
        content[start : start + 64] = os.urandom(64)
    path.write_bytes(content)
    with pytest.raises(PnyxError):
        merge_stores([path], tmp_path / "t")
    assert not (tmp_path / "t").exists()


def test_an_older_store_is_read_and_left_as_it_is(tmp_path):
    path = tampered(
        tmp_path / "old",
        "ALTER TABLE replies DROP COLUMN tokens",
        "ALTER TABLE replies DROP COLUMN checksum",
        "DROP TABLE failures",
        "DELETE FROM _pnyx_migrations WHERE number >= 2",
    )
    before = path.read_bytes()
    merge_stores([path], tmp_path / "t")
    assert exported(path) == exported(tmp_path / "t")
    stats = store_stats(path)
    assert (stats.version, stats.replies, stats.models[0].with_alternatives) == (1, 2, 0)
    with Store(path, read_only=True) as store:
        assert store.get(row("a").key).reply.text == "yes"
    assert path.read_bytes() == before


def test_a_compressed_store_and_no_store_are_refused(tmp_path):
    path = fill(tmp_path / "s", [row()])
    (tmp_path / "s.gz").write_bytes(gzip.compress(path.read_bytes()))
    with pytest.raises(InputError, match="compressed"):
        merge_stores([tmp_path / "s.gz"], tmp_path / "t")
    with pytest.raises(InputError, match="cannot be read"):
        merge_stores([tmp_path / "nothing"], tmp_path / "t")
    with pytest.raises(InputError, match="not valid JSON"):
        merge_stores([Path(__file__)], tmp_path / "t")
    assert not (tmp_path / "t").exists()


# --- several processes

MERGE = """
import sys
from pnyx.judging.store.schema import checksum
from pnyx.judging.store.maintenance import merge_stores
print("go", flush=True)
merge_stores(sys.argv[2:], sys.argv[1])
"""


@pytest.mark.all
def test_two_processes_merge_into_one_new_store_at_once(tmp_path):
    sources = [
        fill(tmp_path / str(n), [row(f"{n}-{i}") for i in range(300)] + [row("both")])
        for n in range(2)
    ]
    running = [
        subprocess.Popen([sys.executable, "-c", MERGE, tmp_path / "t", source], stdout=-1)
        for source in sources
    ]
    assert [process.wait(300) for process in running] == [0, 0]
    for process in running:
        process.stdout.close()
    assert store_stats(tmp_path / "t").replies == 601


@pytest.mark.all
@pytest.mark.slow
@pytest.mark.parametrize(
    "delay", [0.0, *(pytest.param(d, marks=pytest.mark.all) for d in (0.1, 0.2, 0.4))]
)
def test_a_merge_that_is_killed_leaves_all_or_nothing(delay, tmp_path):
    source = fill(tmp_path / "o", [row(f"{i} " * 300) for i in range(2000)])
    target = fill(tmp_path / "t", [row("a")])
    with subprocess.Popen(
        [sys.executable, "-c", MERGE, target, source], stdout=-1, text=True
    ) as process:
        assert process.stdout.readline() == "go\n"
        if delay:
            time.sleep(delay)
        else:  # while it writes
            log = Path(f"{target}-wal")
            while process.poll() is None and not (log.exists() and log.stat().st_size > 10**6):
                time.sleep(0.001)
        process.send_signal(signal.SIGKILL)
    with Store(target) as store:
        assert len(store) in (1, 2001)
        assert store.execute("PRAGMA integrity_check") == [("ok",)]
    merge_stores([source], target)
    assert store_stats(target).replies == 2001
