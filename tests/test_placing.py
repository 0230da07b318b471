"""Outputs appear in one step; a kill at any moment loses neither the old nor the new one."""

import contextlib
import os
import signal
import subprocess
import sys
import textwrap

import pytest

from pnyx.core import placement as placing
from pnyx.core.errors import InputError, PnyxError
from pnyx.core.files import atomic_folder, atomic_text
from pnyx.core.folders import locked
from pnyx.core.records import Document
from pnyx.search.build import build_index
from pnyx.search.index import Index

WRITER = textwrap.dedent(
    """
    import os, signal, sys
    from pathlib import Path
    from pnyx.core import placement as placing
    from pnyx.core.records import Document
    from pnyx.search.build import build_index

    folder, step, exchange = sys.argv[1:]
    steps = 0
    real, real_exchange, remove = os.rename, placing._renameat2, placing._remove

    def passed(what):
        # Every change of a name that the swap makes, and the removal of what was replaced.
        global steps
        steps += 1
        if steps == int(step):
            os.kill(os.getpid(), signal.SIGKILL)

    def rename(source, target, **_):
        passed("rename")
        real(source, target)
        passed("renamed")

    def renameat2(source, target, flags):
        if exchange == "no":
            return False
        passed("exchange")
        done = real_exchange(source, target, flags)
        passed("exchanged")
        return done

    def removing(path):
        passed("remove")
        remove(path)

    os.rename, placing._renameat2, placing._remove = rename, renameat2, removing
    build_index([Document(f"new{n}", "word new") for n in range(3)], folder, replace=True)
    print(steps)
    """
)


def write(folder, step, exchange):
    command = [sys.executable, "-c", WRITER, str(folder), str(step), exchange]
    return subprocess.run(command, capture_output=True, text=True, timeout=300)


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def hidden(folder):
    return sorted(path.name for path in folder.iterdir() if path.name.startswith("."))


# With an exchange: before and after it, and before the old one is removed. Without: around both
# renames and before the removal.
@pytest.mark.all
@pytest.mark.slow
@pytest.mark.parametrize(
    ("exchange", "step"),
    [
        *[("yes", 2), ("no", 2)],
        *(
            pytest.param(exchange, step, marks=pytest.mark.all)
            for exchange, steps in (("yes", (1, 3)), ("no", (1, 3, 4, 5)))
            for step in steps
        ),
    ],
)
def test_a_kill_while_an_index_is_replaced_leaves_the_old_or_the_new(tmp_path, exchange, step):
    folder = tmp_path / "k.index"
    build_index([Document("old", "word old")], folder)
    done = write(folder, step, exchange)
    assert done.returncode == -signal.SIGKILL, done
    assert hidden(tmp_path)
    index = Index.open(folder)
    index.verify()
    replaced = step >= (2 if exchange == "yes" else 4)
    assert index.search("word")[0].doc_id == ("new0" if replaced else "old")
    # The next writer of that name clears away what the kill has left.
    build_index([Document("next", "word")], folder, replace=True)
    assert names(tmp_path) == ["k.index"]


@pytest.mark.parametrize("exchange", ["yes", "no"])
def test_the_steps_above_are_all_there_are(tmp_path, exchange):
    build_index([Document("old", "word old")], tmp_path / "k.index")
    done = write(tmp_path / "k.index", 99, exchange)
    # The last one removes the temporary, which has gone where there was no exchange.
    assert (done.returncode, done.stdout) == (0, "3\n" if exchange == "yes" else "6\n")
    assert names(tmp_path) == ["k.index"]


@pytest.mark.all
@pytest.mark.parametrize("replace", [False, True])
def test_a_writer_recovers_what_a_kill_moved_aside(tmp_path, replace):
    folder = tmp_path / "k.index"
    build_index([Document("old", "word old")], folder)
    assert write(folder, 2, "no").returncode == -signal.SIGKILL
    assert not folder.exists()
    if replace:
        with atomic_folder(folder, replace=True) as temporary:
            (temporary / "new").touch()
        assert names(folder) == ["new"]
    else:
        with pytest.raises(InputError, match="exists already"), atomic_folder(folder):
            pass
        assert Index.open(folder).search("word")[0].doc_id == "old"


KILLED = textwrap.dedent(
    """
    import os, signal, sys
    from pnyx.core.files import atomic_folder, atomic_text

    with {what}({target!r}{more}) as made:
        print("ready", flush=True)
        sys.stdin.read()
        os.kill(os.getpid(), signal.SIGKILL)
    """
)


@pytest.mark.parametrize(
    ("what", "more"), [("atomic_folder", ", replace=True"), ("atomic_text", "")]
)
def test_only_what_dead_writers_left_is_cleared_away(tmp_path, what, more):
    target = tmp_path / "out"
    code = KILLED.format(what=what, target=str(target), more=more)

    def started():
        process = subprocess.Popen(
            [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        assert process.stdout.readline() == b"ready\n"
        return process

    def rewrite():
        if what == "atomic_text":
            with atomic_text(target) as stream:
                stream.write("mine")
        else:
            with atomic_folder(target, replace=True) as folder:
                (folder / "mine").touch()

    kept = [
        tmp_path / ".out.mine",
        tmp_path / ".out.0123abcd.txt",
        tmp_path / ".outer.01234567.pnyx",
    ]
    for path in kept:
        path.touch()
    dead, alive = started(), started()
    with dead, alive:
        dead.communicate()
        assert dead.returncode == -signal.SIGKILL
        assert len(hidden(tmp_path)) == len(kept) + 2
        rewrite()
        assert len(hidden(tmp_path)) == len(kept) + 1  # that of the live writer
        alive.communicate()
    rewrite()
    assert hidden(tmp_path) == sorted(path.name for path in kept)


def test_a_temporary_that_another_process_took_for_a_leftover_is_made_anew(tmp_path, monkeypatch):
    real, seen = placing.try_lock, []

    def lock(handle):
        if not seen:  # between making and locking
            seen.append([path.unlink() for path in tmp_path.iterdir()])
        return real(handle)

    monkeypatch.setattr(placing, "try_lock", lock)
    with atomic_text(tmp_path / "out") as stream:
        stream.write("x")
    assert (names(tmp_path), (tmp_path / "out").read_text()) == (["out"], "x")


def test_a_lock_ends_though_a_process_that_is_being_started_has_a_copy(tmp_path, monkeypatch):
    opened, copies = os.open, []

    def copying(*args, **kwargs):
        handle = opened(*args, **kwargs)
        copies.append(os.dup(handle))
        return handle

    monkeypatch.setattr(os, "open", copying)
    for _ in range(2):
        with atomic_folder(tmp_path / "out", replace=True):
            pass
        writing = pytest.raises(PnyxError, match="another process is writing")
        with locked(tmp_path / "out"), writing, locked(tmp_path / "out"):
            pass
    with locked(tmp_path / "out"), contextlib.ExitStack() as stack:
        monkeypatch.undo()
        for copy in copies:
            stack.callback(os.close, copy)
    assert len(copies) >= 6


def test_long_names_can_be_written(tmp_path):
    name = "ü" * 125 + ".txt"
    with atomic_text(tmp_path / name) as stream:
        stream.write("x")
    with atomic_folder(tmp_path / ("é" * 127)):
        assert len(hidden(tmp_path)) == 1
    assert hidden(tmp_path) == []


def test_a_link_to_a_folder_is_replaced_and_what_it_names_is_kept(tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "theirs").touch()
    (tmp_path / "out").symlink_to("data")
    with atomic_folder(tmp_path / "out", replace=True) as folder:
        (folder / "mine").touch()
    assert names(tmp_path / "data") == ["theirs"]
    assert names(tmp_path) == ["data", "out"]
    assert names(tmp_path / "out") == ["mine"]
