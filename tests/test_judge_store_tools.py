"""Counting and clearing out a store; opening one that may not be written."""

from __future__ import annotations

import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from pnyx.core.errors import InputError, PnyxError
from pnyx.judging.store import schema as store_layout
from pnyx.judging.store.maintenance import clear_store, store_stats
from pnyx.judging.store.rows import StoredRow, request_key
from pnyx.judging.store.store import Store
from pnyx.models.chat.types import ChatRequest, Message, Reply, Token

USAGE = {"prompt_tokens": 10, "completion_tokens": 2, "cached_tokens": 4}


def put(store: Store, text: str, *, model="m", finish="stop", usage=None, days=0, tokens=None):
    asked = ChatRequest((Message("user", text),))
    when = (datetime.now(UTC) - timedelta(days=days)).isoformat(timespec="seconds")
    reply = Reply("yes", finish, model, USAGE if usage is None else usage, "text", tokens)
    row = StoredRow(request_key(model, asked), model, asked, reply, when, "0.1")
    store.put_columns(row.columns())
    return when


@pytest.fixture
def path(tmp_path):
    with Store(tmp_path / "s.sqlite") as store:
        put(store, "1", days=100)
        put(store, "2", days=100, finish="length")
        put(store, "3", usage={}, tokens=(Token("yes", (("yes", -0.1),)),))
        put(store, "4", model="other", usage={"prompt_tokens": 1})
    return tmp_path / "s.sqlite"


def test_stats(path):
    stats = store_stats(path)
    assert (stats.replies, stats.version, stats.path) == (4, 5, str(path))
    assert stats.bytes >= path.stat().st_size > 0
    mine, other = stats.models
    assert (mine.model, mine.replies, mine.with_alternatives) == ("m", 3, 1)
    assert mine.finish_reasons == {"stop": 2, "length": 1}
    assert mine.first < mine.last
    assert (mine.tokens["prompt_tokens"].total, mine.tokens["prompt_tokens"].replies) == (20, 2)
    assert mine.tokens["cached_tokens"].total == 8
    assert (other.tokens["completion_tokens"].total, other.tokens["prompt_tokens"].total) == (
        None,
        1,
    )


def test_what_reads_makes_no_store(tmp_path):
    missing = tmp_path / "deep" / "s"
    for call in (store_stats, lambda p: clear_store(p, finish="length")):
        with pytest.raises(InputError, match="does not exist"):
            call(missing)
        with pytest.raises(InputError, match="is not a file"):
            call(tmp_path)
        with pytest.raises(InputError, match="does not exist"):
            call("nul\0byte")
    assert not missing.parent.exists()
    (tmp_path / "empty").touch()
    with pytest.raises(InputError, match="without the tables"):
        store_stats(tmp_path / "empty")
    assert (tmp_path / "empty").stat().st_size == 0


def test_a_read_only_store_is_not_written(path):
    before = path.read_bytes()
    with Store(path, read_only=True) as store:
        with pytest.raises(PnyxError, match="readonly"):
            put(store, "new")
        assert len(store) == 4
    assert path.read_bytes() == before


def test_stats_count_damaged_replies_apart_and_gc_deletes_them(path):
    damages = ("created_at = x'05'", "usage = '{'", "model = CAST(x'ff' AS TEXT)")
    for number, change in enumerate(damages):
        connection = sqlite3.connect(path)
        with connection:
            connection.execute(
                f"UPDATE replies SET {change} WHERE key = (SELECT min(key) FROM replies"
                " WHERE finish_reason = ?)",
                ("length" if number == 0 else "stop",),
            )
        connection.close()
    stats = store_stats(path)
    assert (stats.replies, stats.damaged) == (4, 2)
    assert sum(model.replies for model in stats.models) == 2
    assert clear_store(path, damaged=True, finish="length", dry_run=True).replies == 1
    cleared = clear_store(path, damaged=True)
    assert (cleared.replies, cleared.content_bytes > 100) == (2, True)
    stats = store_stats(path)
    assert (stats.replies, stats.damaged) == (2, 0)


def test_a_row_whose_key_is_no_text_any_more_is_deleted_too(path):
    connection = sqlite3.connect(path)
    with connection:
        connection.execute("UPDATE replies SET key = CAST(x'ff30' AS TEXT) WHERE model = 'other'")
        connection.execute("UPDATE replies SET key = x'00ff' WHERE finish_reason = 'length'")
    connection.close()
    with Store(path, read_only=True) as store, pytest.raises(InputError, match="checksum"):
        list(store.rows())
    assert clear_store(path, damaged=True).replies == 2
    with Store(path) as store:
        assert len(list(store.rows())) == 2


READ = """
import os, sys
from pathlib import Path
from pnyx.core.errors import PnyxError
from pnyx.judging.store.rows import _adapters
from pnyx.judging.store.maintenance import export_store, store_stats
_adapters()  # imports all it needs, as does the next line
Path("/").as_uri()
if os.geteuid() == 0:
    os.setgid(65534)
    os.setuid(65534)
try:
    print(store_stats(sys.argv[1]).replies, export_store(sys.argv[1], "-"))
except PnyxError as error:
    print(error)
"""


@pytest.mark.all
def test_a_store_on_read_only_media_is_read(path):
    folder = Path(tempfile.mkdtemp())
    try:
        place = folder / "100% #1?.sqlite"
        shutil.copy(path, place)
        place.chmod(0o444)
        folder.chmod(0o555)
        command = [sys.executable, "-c", READ, str(place)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True)
        assert done.stdout.splitlines()[-1] == "4 4"
        # With replies in a log that cannot be opened there, it must not show the older state.
        folder.chmod(0o755)
        Path(f"{place}-wal").write_bytes(b"x" * 100)
        folder.chmod(0o555)
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True)
        assert "its last replies are in" in done.stdout
    finally:
        folder.chmod(0o755)
        shutil.rmtree(folder)


# --- clearing out


@pytest.mark.parametrize(
    ("criteria", "left"),
    [
        ({"older_than": timedelta(days=90)}, 2),
        ({"older_than": timedelta(days=90), "finish": "length"}, 3),
        ({"older_than": timedelta(days=999_999_999)}, 4),
        ({"model": "m"}, 1),
        ({"model": "m", "finish": "refusal"}, 4),
        ({"finish": "stop"}, 1),
    ],
)
def test_what_meets_all_criteria_is_deleted(path, criteria, left):
    planned = clear_store(path, dry_run=True, **criteria)
    assert store_stats(path).replies == 4
    done = clear_store(path, **criteria)
    assert store_stats(path).replies == left
    assert planned.replies == done.replies == 4 - left
    assert planned.content_bytes == done.content_bytes
    assert (done.content_bytes > 0) == (left < 4)
    assert done.not_compacted is None


def test_the_file_gets_smaller_and_a_criterion_is_required(path):
    with Store(path) as store:
        put(store, "long " * 100_000, finish="length")
    cleared = clear_store(path, finish="length")
    assert cleared.bytes_before > 500_000 > 50_000 > cleared.bytes_after
    assert cleared.bytes_after == path.stat().st_size
    with pytest.raises(ValueError, match="criterion"):
        clear_store(path)


def test_clearing_out_beside_a_judge_that_writes(path):
    stop = threading.Event()

    def judge() -> None:
        with Store(path) as store:
            number = 0
            while not stop.is_set():
                put(store, f"new {number}", finish="stop")
                number += 1
            written.append(number)

    written: list[int] = []
    thread = threading.Thread(target=judge)
    thread.start()
    try:
        for _ in range(5):
            clear_store(path, finish="length")
    finally:
        stop.set()
        thread.join()
    assert store_stats(path).replies == 3 + written[0]


def test_a_store_that_others_do_not_let_go_of_is_one_line(path, monkeypatch):
    monkeypatch.setattr(store_layout, "_BUSY_SECONDS", 0.1)
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    with pytest.raises(PnyxError, match="locked") as error:
        clear_store(path, finish="length")
    assert "\n" not in str(error.value)
    holder.execute("ROLLBACK")
    # A reader does not hinder the deletion, only the shrinking of the file.
    holder.execute("BEGIN")
    holder.execute("SELECT count(*) FROM replies").fetchone()
    cleared = clear_store(path, finish="length")
    holder.execute("ROLLBACK")
    holder.close()
    assert cleared.replies == 1
    assert cleared.not_compacted
    assert clear_store(path, finish="length").not_compacted is None


CLEAR = """
import sys
from datetime import timedelta
from pnyx.judging.store.maintenance import clear_store
print("go", flush=True)
clear_store(sys.argv[1], model="m")
"""


@pytest.mark.parametrize(
    "delay", [0.0, *(pytest.param(d, marks=pytest.mark.all) for d in (0.005, 0.02, 0.06))]
)
def test_clearing_out_that_is_killed_leaves_all_or_nothing(delay, tmp_path):
    path = tmp_path / "s"
    with Store(path) as store, store.transaction():
        for n in range(1500):
            put(store, f"{n} " * 400)
        put(store, "kept", model="other")
    with subprocess.Popen([sys.executable, "-c", CLEAR, path], stdout=-1, text=True) as process:
        assert process.stdout.readline() == "go\n"
        log = Path(f"{path}-wal")
        while process.poll() is None and not (log.exists() and log.stat().st_size):
            time.sleep(0.0005)
        time.sleep(delay)
        process.send_signal(signal.SIGKILL)
    with Store(path) as store:
        assert store.execute("PRAGMA integrity_check") == [("ok",)]
        assert len(store) in (1, 1501)
    clear_store(path, model="m")
    assert store_stats(path).replies == 1
    assert path.stat().st_size < 50_000


def test_threads_share_a_store_while_its_rows_are_read(path):
    with Store(path) as store:
        rows = store.rows()
        first = next(rows)
        thread = threading.Thread(target=put, args=(store, "from another thread"))
        thread.start()
        thread.join(120)
        assert not thread.is_alive()
        keys = [first.key, *(row.key for row in rows)]
        assert keys == sorted(keys)
        assert len(store) == 5


def test_a_transaction_that_fails_leaves_nothing(path):
    with Store(path) as store:
        with pytest.raises(InputError), store.transaction():  # noqa: PT012
            put(store, "new")
            raise InputError("a bad line")
        assert len(store) == 4
        put(store, "new")
        assert len(store) == 5


def test_the_store_is_only_for_its_owner(tmp_path):
    with Store(tmp_path / "private" / "s"):
        assert (tmp_path / "private").stat().st_mode & 0o077 == 0
