"""The judgement store: addressed by content, committed at once, shared by processes."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import time

import pytest

from pnyx.core.errors import InputError, PnyxError
from pnyx.judging.store.rows import request_key
from pnyx.judging.store.store import CLAIM_SECONDS, Store, claimant, default_store_path
from pnyx.models.chat.types import ChatRequest, Message, Reply

REQUEST = ChatRequest((Message("user", "höflich \U0001f600"),), {"type": "object"}, max_tokens=9)
REPLY = Reply("text\0 \u2028 é", "stop", "m-2026", {"prompt_tokens": 3}, "json_schema")


def test_what_is_put_is_got_back_by_another_connection(tmp_path):
    path = tmp_path / "deep" / "store.sqlite"
    key = request_key("m", REQUEST)
    with Store(path) as store:
        assert store.get(key) is None
        store.put(key, "m", REQUEST, REPLY)
        with Store(path) as other:
            stored = other.get(key)
    assert stored is not None
    assert stored.reply == REPLY
    assert stored.reply.usage == {"prompt_tokens": 3}
    assert stored.created_at.endswith("+00:00")


def test_the_first_reply_stays(tmp_path):
    with Store(tmp_path / "s") as store:
        store.put("k", "m", REQUEST, REPLY)
        store.put("k", "m", REQUEST, Reply("other", "stop", "m", {}, "text"))
        assert len(store) == 1
        assert store.get("k").reply.text == REPLY.text


def test_the_key_depends_on_all_that_decides_the_reply():
    base = {"messages": REQUEST.messages, "schema": {"a": 1, "b": 2}, "max_tokens": 9}
    variants = [
        {},
        {"messages": (Message("system", "höflich \U0001f600"),)},
        {"schema": {"a": 1, "b": 3}},
        {"max_tokens": 10},
        {"temperature": 0.5},
        {"seed": 1},
        {"sample": 1},
    ]
    keys = {request_key("m", ChatRequest(**{**base, **v})) for v in variants}
    assert len(keys) == len(variants)
    assert request_key("other", ChatRequest(**base)) not in keys
    reordered = ChatRequest(**{**base, "schema": {"b": 2, "a": 1}, "temperature": 0})
    assert request_key("m", reordered) in keys


def test_the_key_never_changes_between_versions():
    request = ChatRequest((Message("user", "q"),), None, max_tokens=1)
    assert request_key("m", request) == (
        "d5713239a64b66b7c59ea93ab39891826078e83848611764068f1290cc4b202c"
    )


def test_a_file_that_is_not_sqlite_is_refused_and_left_alone(tmp_path):
    path = tmp_path / "notes.txt"
    path.write_text("my notes, which are longer than a header\n" * 100)
    before = path.read_bytes()
    with pytest.raises(InputError, match="not SQLite"):
        Store(path)
    assert path.read_bytes() == before


def test_another_programs_database_is_refused_and_left_alone(tmp_path):
    path = tmp_path / "other.sqlite"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE t (a)")
    connection.close()
    before = path.read_bytes()
    with pytest.raises(InputError, match="another program"):
        Store(path)
    assert path.read_bytes() == before


def test_a_newer_store_is_refused(tmp_path):
    path = tmp_path / "s"
    Store(path).close()
    connection = sqlite3.connect(path)
    with connection:
        connection.execute("INSERT INTO _pnyx_migrations VALUES (999, '', '')")
    connection.close()
    with pytest.raises(InputError, match="newer pnyx"):
        Store(path)


def test_a_folder_is_no_store(tmp_path):
    with pytest.raises(PnyxError, match="cannot be used"):
        Store(tmp_path)


def test_where_the_store_is(monkeypatch, tmp_path):
    monkeypatch.setenv("PNYX_STORE", "here.sqlite")
    assert str(default_store_path()) == "here.sqlite"
    monkeypatch.delenv("PNYX_STORE")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert default_store_path() == tmp_path / "pnyx" / "judgements.sqlite"
    monkeypatch.setenv("XDG_DATA_HOME", "relative")
    assert default_store_path().is_absolute()


WRITER = """
import sys
import time
from pnyx.judging.store.store import Store
from pnyx.models.chat.types import ChatRequest, Message, Reply
with Store(sys.argv[1]) as store:
    for i in range(100):
        request = ChatRequest((Message("user", "x"),), None)
        store.put(f"{sys.argv[2]}-{i}", "m", request, Reply("t", "stop", "m", {}, "text"))
        store.put(f"shared-{i}", "m", request, Reply(sys.argv[2], "stop", "m", {}, "text"))
"""


@pytest.mark.all
def test_several_processes_write_at_once(tmp_path):
    path = tmp_path / "s"
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITER, str(path), str(n)]) for n in range(3)
    ]
    assert [w.wait(300) for w in writers] == [0, 0, 0]
    with Store(path) as store:
        assert len(store) == 400


# --- claims on questions that are being asked


def test_a_claim_keeps_others_away_until_it_is_released(tmp_path):
    with Store(tmp_path / "s") as store, Store(tmp_path / "s") as other:
        mine, theirs = claimant(), claimant()
        assert store.claim("k", mine)
        assert not other.claim("k", theirs)
        assert other.claim("another", theirs)
        assert store.claim("k", mine)  # made again: it holds longer
        other.release("k", theirs)
        assert not other.claim("k", theirs)
        store.release("k", mine)
        assert other.claim("k", theirs)


def test_a_claim_ends_with_its_process_and_elsewhere_with_its_time(tmp_path, monkeypatch):
    process = subprocess.Popen([sys.executable, "-c", "pass"])
    process.wait()
    machine, _, _ = claimant().split("/")
    with Store(tmp_path / "s") as store:
        assert store.claim("dead", f"{machine}/{process.pid}/0")
        assert store.claim("dead", claimant())
        assert store.claim("elsewhere", f"not-{machine}/{process.pid}/0")
        assert not store.claim("elsewhere", claimant())
        begun = time.time()
        monkeypatch.setattr(time, "time", lambda: begun + CLAIM_SECONDS + 1)
        assert store.claim("elsewhere", claimant())
