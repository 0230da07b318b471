"""Damage to the judgement store: noticed, or without effect; never another answer."""

from __future__ import annotations

import json
import random
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chat_server import ChatServer
from pnyx.cli import main
from pnyx.core.errors import InputError, PnyxError
from pnyx.judging.store.maintenance import merge_stores, store_stats
from pnyx.judging.store.rows import COLUMNS, request_key
from pnyx.judging.store.schema import MIGRATIONS
from pnyx.judging.store.store import Store
from pnyx.models.chat.types import ChatRequest, Message, Reply, Token
from tries import tries

REQUEST = ChatRequest((Message("user", "Is tea healthy?"),), {"type": "object"})
KEY = request_key("m", REQUEST)
REPLY = Reply(
    '{"answer": "yes", "probability": 0.9}',
    "stop",
    "m-2026",
    {"prompt_tokens": 31, "completion_tokens": 8},
    "json_schema",
    (Token("yes", (("yes", -0.1), ("no", -2.5))),),
)
ITEM = {"id": "1", "text": "Fares fell.", "statement": "Buses got cheaper."}


def changed(path, statement, values=()):
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute(statement, values)
    connection.close()


def value_of(path, column):
    connection = sqlite3.connect(path)
    ((kind, content),) = connection.execute(
        f"SELECT typeof({column}), CAST({column} AS BLOB) FROM replies"
    )
    connection.close()
    return kind, content


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    path = tmp_path_factory.mktemp("stored") / "s.sqlite"
    with Store(path) as store:
        store.put(KEY, "m", REQUEST, REPLY)
        store.put_failure("f" * 64, "m", "refusal: no")
    return path


@settings(max_examples=tries(60), deadline=None)
@given(st.sampled_from([*COLUMNS, "checksum"]), st.randoms(use_true_random=False))
def test_a_flipped_bit_of_any_column_is_noticed(stored, column, chance):
    kind, content = value_of(stored, column)
    place, bit = chance.randrange(len(content)), chance.randrange(8)
    flipped = bytearray(content)
    flipped[place] ^= 1 << bit
    with tempfile.TemporaryDirectory() as folder:
        path = Path(shutil.copy(stored, folder))
        value = "?" if kind == "blob" else "CAST(? AS TEXT)"
        changed(path, f"UPDATE replies SET {column} = {value}", (bytes(flipped),))
        for read_only in (True, False):
            with Store(path, read_only=read_only) as store:
                assert store.get(KEY) is None
                assert (KEY in store.damaged) == (column != "key")
                with pytest.raises(InputError, match="damaged"):
                    list(store.rows())
        assert store_stats(path).damaged == 1


@pytest.mark.all
def test_a_flipped_bit_anywhere_in_the_file_gives_no_other_reply(stored, tmp_path):
    content = stored.read_bytes()
    chance = random.Random(15)
    row = content.index(KEY.encode())
    places = [chance.randrange(len(content)) for _ in range(150)]
    places += [chance.randrange(row - 40, row + 700) for _ in range(250)]
    path = tmp_path / "s.sqlite"
    noticed = 0
    for number, place in enumerate(places):
        spoilt = bytearray(content)
        spoilt[place] ^= 1 << chance.randrange(8)
        path.write_bytes(spoilt)
        try:
            with Store(path, read_only=number % 2 == 0) as store:
                found = store.get(KEY)
                assert found is None or found.reply == REPLY
                assert store.failure("f" * 64) in (None, "refusal: no")
                noticed += found is None
        except PnyxError as error:
            noticed += "\n" not in str(error)
        for beside in ("-wal", "-shm"):
            path.with_name(path.name + beside).unlink(missing_ok=True)
    assert noticed > 100


def test_a_failure_that_was_changed_is_not_told(stored, tmp_path):
    path = Path(shutil.copy(stored, tmp_path))
    changed(path, "UPDATE failures SET reason = 'timeout: 3 s'")
    with Store(path) as store:
        assert store.failure("f" * 64) is None


# --- what is done about it


@pytest.fixture
def judged(tmp_path, own_place):
    """Items, and arguments that judge them, once judged; the server counts what it is asked."""
    Path("i.jsonl").write_text(json.dumps(ITEM) + "\n")
    with ChatServer() as server:
        arguments = ["judge", "support", "i.jsonl", "--judge", f"{server.url}#m", "--store", "s"]
        assert code_of(*arguments, "--out", "r0") == 0
        yield arguments, server


def code_of(*arguments):
    with pytest.raises(SystemExit) as stopped:
        main(list(arguments))
    return stopped.value.code


def asked_of(server):
    return sum(row["event"] == "asked" for row in server.log)


def answers(folder):
    return [json.loads(line) for line in Path(folder, "answers.jsonl").read_text().splitlines()]


@pytest.mark.parametrize(
    "damage",
    [
        "usage = '{'",
        "tokens = x'00'",
        "tokens = 7",
        "reply_text = replace(replace(reply_text, 'no', 'yes'), 'false', 'true')||' '",
        "reply_text = reply_text || ' '",
        "reply_text = CAST(x'ff' AS TEXT)",
        "finish_reason = 'length'",
        "created_at = 'now'",
        "request = '{'",
        "checksum = NULL",
    ],
)
def test_a_damaged_reply_is_missing_with_a_note_and_then_replaced(judged, damage, capsys):
    arguments, server = judged
    asked = asked_of(server)
    changed("s", f"UPDATE replies SET {damage}")
    assert code_of(*arguments, "--out", "r1", "--from-store") == 3
    assert "1 stored reply is damaged and counts as missing" in capsys.readouterr().err
    (row,) = answers("r1")
    assert (row["value"], row["unscored"].split(":")[0]) == (None, "not_in_store")
    assert "damaged" in row["unscored"]
    assert code_of(*arguments, "--plan") == 0
    assert asked_of(server) == asked
    assert code_of(*arguments, "--out", "r2") == 0
    assert "asked again" in capsys.readouterr().err
    assert asked_of(server) == asked + 1
    assert [row["value"] for row in answers("r2")] == [row["value"] for row in answers("r0")]
    assert code_of(*arguments, "--out", "r3", "--from-store") == 0
    assert "damaged" not in capsys.readouterr().err
    assert store_stats("s").damaged == 0


def test_a_damaged_reply_is_not_exported_and_makes_way_for_a_merged_one(stored, tmp_path):
    path = Path(shutil.copy(stored, tmp_path))
    changed(path, "UPDATE replies SET usage = '{}'")
    with pytest.raises(InputError, match="store --damaged --delete"):
        merge_stores([path], tmp_path / "t")
    assert not (tmp_path / "t").exists()
    (merged,) = merge_stores([stored], path)
    assert (merged.added, merged.conflicts) == (1, 0)
    with Store(path) as store:
        assert store.get(KEY).reply == REPLY


# --- stores of earlier layouts


def old_store(path, version, rows=1):
    """Make a store as an earlier Pnyx did."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute(
        "CREATE TABLE _pnyx_migrations"
        " (number INTEGER PRIMARY KEY, applied_at TEXT NOT NULL, pnyx_version TEXT NOT NULL)"
    )
    for number, statement in enumerate(MIGRATIONS[:version], start=1):
        connection.execute(statement)
        connection.execute("INSERT INTO _pnyx_migrations VALUES (?, '', '')", (number,))
    connection.execute("PRAGMA application_id = 0x706E7978")
    connection.execute("BEGIN")
    for number in range(rows):
        asked = ChatRequest((Message("user", str(number)),))
        row = (
            request_key("m", asked), "m", json.dumps(asked.canonical()), f"reply {number}", "stop",
            "m", "{}", "text", "2026-01-02T03:04:05+00:00", "0.1", None,
        )  # fmt: skip
        marks = ", ".join("?" * (10 if version == 1 else 11))
        connection.execute(
            f"INSERT INTO replies VALUES ({marks})", row[: 10 if version == 1 else 11]
        )
    if version >= 3:
        connection.execute("INSERT INTO failures VALUES ('f', 'm', 'refusal: no', '', '')")
    connection.execute("COMMIT")
    connection.close()
    return path


@pytest.mark.parametrize("version", [1, 2, 3])
def test_an_old_store_is_read_as_it_is_and_gets_its_checksums_when_written(version, tmp_path):
    path = old_store(tmp_path / "old", version, rows=150)
    before = path.read_bytes()
    with Store(path, read_only=True) as store:
        old = list(store.rows())
        assert len(old) == 150
        assert store.get(old[0].key).reply == old[0].reply
        assert store.failure("f") == ("refusal: no" if version == 3 else None)
    assert path.read_bytes() == before
    with Store(path) as store:
        assert list(store.rows()) == old
        assert store.failure("f") == ("refusal: no" if version == 3 else None)
        assert store.execute("SELECT count(*) FROM replies WHERE length(checksum) = 16") == [(150,)]
    changed(path, "UPDATE replies SET reply_text = 'else' WHERE key = ?", (old[3].key,))
    stats = store_stats(path)
    assert (stats.version, stats.damaged) == (len(MIGRATIONS), 1)


def test_a_store_of_version_4_is_read_with_its_checksums(stored, tmp_path):
    """It has everything but the claims."""
    path = Path(shutil.copy(stored, tmp_path))
    changed(path, "DROP TABLE claims")
    changed(path, "DELETE FROM _pnyx_migrations WHERE number = 5")
    with Store(path, read_only=True) as store:
        assert store.version == 4
        assert store.get(KEY).reply == REPLY
    changed(path, "UPDATE replies SET reply_text = 'else'")
    with Store(path, read_only=True) as store:
        assert [damage is None for _, _, damage in store.scan()] == [False]


def test_what_was_damaged_before_it_got_checksums_is_noticed(tmp_path):
    path = old_store(tmp_path / "old", 3, rows=3)
    changed(path, "UPDATE replies SET usage = '{' WHERE reply_text = 'reply 1'")
    changed(path, "UPDATE replies SET reply_text = CAST(x'ff' AS TEXT) WHERE reply_text LIKE '%2'")
    for read_only in (True, False):
        with Store(path, read_only=read_only) as store:
            assert [damage is None for _, _, damage in store.scan()].count(True) == 1
    assert store_stats(path).damaged == 2


OPEN = """
import sys
from pnyx.judging.store.store import Store
with Store(sys.argv[1]) as store:
    print(len(list(store.rows())))
"""


@pytest.mark.all
def test_several_processes_bring_an_old_store_up_to_date_at_once(tmp_path):
    path = old_store(tmp_path / "old", 3, rows=2000)
    command = [sys.executable, "-c", OPEN, str(path)]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    assert [process.communicate(timeout=300)[0] for process in running] == ["2000\n"] * 3
    assert store_stats(path).damaged == 0


# --- nothing may be written there

JUDGE = """
import os, sys
from pnyx.cli import main

def judge(*more):
    try:
        main(["judge", "support", "i.jsonl", "--judge", sys.argv[1], "--from-store", *more])
    except SystemExit as stopped:
        return stopped.code

assert judge("--store", "writable/s", "--out", "out/as-before") == 0  # imports all it needs
os.chmod("out", 0o777)
if os.geteuid() == 0:
    os.setgid(65534)
    os.setuid(65534)
sys.exit(judge("--store", "locked/s", "--out", "out/now"))
"""


@pytest.mark.all
def test_from_store_reads_a_store_that_cannot_be_written(judged, tmp_path):
    arguments, _ = judged
    with tempfile.TemporaryDirectory() as name:  # pytest's own folders are closed to others
        folder = Path(name)
        folder.chmod(0o755)
        for part in ("writable", "locked", "out"):
            (folder / part).mkdir()
        shutil.copy("i.jsonl", folder)
        shutil.copy("s", folder / "writable")
        shutil.copy("s", folder / "locked")
        (folder / "locked" / "s").chmod(0o444)
        (folder / "locked").chmod(0o555)
        done = subprocess.run(
            [sys.executable, "-c", JUDGE, arguments[4]],
            cwd=folder, capture_output=True, text=True, timeout=300, check=False,
        )  # fmt: skip
        (folder / "locked").chmod(0o755)
        assert (done.returncode, "Traceback" in done.stderr) == (0, False), done.stderr
        assert answers(folder / "out" / "now") == answers("r0")
        assert [path.name for path in (folder / "locked").iterdir()] == ["s"]


def test_from_store_makes_no_store_and_a_plan_neither(judged):
    arguments, server = judged
    elsewhere = [*arguments[:-1], "not/there"]
    asked = asked_of(server)
    assert code_of(*elsewhere, "--out", "r1", "--from-store") == 3
    assert answers("r1")[0]["unscored"] == "not_in_store: this was never asked"
    assert code_of(*elsewhere, "--plan") == 0
    assert not Path("not").exists()
    assert asked_of(server) == asked


def test_a_store_that_changes_where_sqlite_does_not_look_is_refused(stored, tmp_path, monkeypatch):
    from pnyx.judging.store import store as module

    path = Path(shutil.copy(stored, tmp_path))
    original = module.open_read_only

    def unchanging(path):
        original(path)[0].close()
        return sqlite3.connect(f"{path.as_uri()}?immutable=1", uri=True, isolation_level=None), True

    monkeypatch.setattr(module, "open_read_only", unchanging)
    with Store(path, read_only=True) as store:
        assert store.get(KEY).reply == REPLY
        changed(path, "UPDATE replies SET reply_text = 'else'")
        with pytest.raises(PnyxError, match="written while it was read"):
            store.get(KEY)
