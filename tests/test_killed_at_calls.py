"""Killed with SIGKILL at calls of the system that change files or send data, and run again.

strace kills the process as it enters a call. Each kind of call is tried at its first, its last and
a middle occurrence, so that every step of writing is cut off somewhere.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import httpx2
import pytest

from command import called
from index_fixture import records
from opensearch_fixture import cluster, lacking
from page_fixture import served_by_command
from pnyx.core.files import write_jsonl
from pnyx.search.open_engine import open_index, verify_index
from pnyx.search.plan import Scoring
from test_gone_clients import until

STRACE = shutil.which("strace")
FILES = "write,pwrite64,rename,renameat2,mkdir,unlink,rmdir,fsync,ftruncate"
NETWORK = "sendto"
QUESTION = "Should zoos be banned?"
TEXTS = {
    "1.txt": "Zoos should be banned. Animals suffer in cages.",
    "2.md": "# Zoos\n\nZoos teach children what animals are like.",
    "3.txt": "Nobody needs to see a lion in a cage to know that it exists.",
}

pytestmark = [
    pytest.mark.all,
    pytest.mark.slow,
    pytest.mark.skipif(STRACE is None, reason="strace is not installed"),
]


def traced(calls: str, *options: str) -> list[str]:
    """Return the command that runs another under strace."""
    traced_calls = ["-f", "-qq", "-e", "signal=none", "-e", f"trace={calls}"]
    return [str(STRACE), *traced_calls, *options, sys.executable, "-m", "pnyx"]


def moments(log: Path, calls: str) -> list[tuple[str, int]]:
    """Return which occurrences of which calls to cut off, of those that the main thread made.

    What it wrote after the last change of a file is not counted: lines for the user.
    """
    rows = re.findall(r"^(\d+) +(\w+)\(", log.read_text("utf-8"), re.MULTILINE)
    main = rows[0][0]
    while rows[-1][1] == "write":
        rows.pop()
    counts = Counter(name for thread, name in rows if thread == main)
    return [
        (name, number)
        for name in calls.split(",")
        for number in sorted({1, (counts[name] + 1) // 2, counts[name]})
        if counts[name]
    ]


def kill_at(moment: tuple[str, int], arguments: Sequence[object], calls: str) -> None:
    """Run a command until its call `moment`, and check that it was killed."""
    name, number = moment
    command = traced(calls, "-o", "/dev/null", "-e", f"inject={name}:signal=SIGKILL:when={number}")
    done = subprocess.run(
        [*command, *map(str, arguments)], capture_output=True, timeout=300, check=False
    )
    assert done.returncode == -signal.SIGKILL, (moment, done.stderr.decode()[-500:])


# -- pnyx serve FOLDER -----------------------------------------------------------------------------


def documents(folder: Path) -> Path:
    folder.mkdir(parents=True)
    for name, text in TEXTS.items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def hits_of(folder: Path) -> list[dict[str, object]]:
    """Serve a folder as a user would, and ask."""
    with served_by_command(["serve", folder.name], cwd=folder.parent) as (address, _):
        until(lambda: httpx2.get(f"{address}/healthz").json()["status"] == "ok")
        response = httpx2.get(f"{address}/v1/search", params={"q": QUESTION})
        hits: list[dict[str, object]] = response.json()["hits"]
    return hits


def test_a_folder_whose_server_was_killed_is_served_again(tmp_path, own_place, monkeypatch):
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    whole = documents(tmp_path / "whole" / "docs")
    log = tmp_path / "log"
    command = [*traced(FILES, "-o", str(log)), "serve", "docs", "--port", "0"]
    with subprocess.Popen(
        command, cwd=whole.parent, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        assert process.stderr is not None
        assert any("ready after" in line for line in process.stderr)
        os.killpg(process.pid, signal.SIGINT)
        process.communicate(timeout=120)
    expected = hits_of(whole)
    assert len(expected) == len(TEXTS)
    names = sorted(path.name for path in (whole.parent / "docs.index").iterdir())
    cut_off = moments(log, FILES)
    assert len({name for name, _ in cut_off}) >= 5
    for number, moment in enumerate(cut_off):
        folder = documents(tmp_path / str(number) / "docs")
        monkeypatch.chdir(folder.parent)
        kill_at(moment, ["serve", "docs", "--port", "0"], FILES)
        assert hits_of(folder) == expected, moment
        verify_index(folder.parent / "docs.index")
        assert sorted(p.name for p in (folder.parent / "docs.index").iterdir()) == names, moment
        assert sorted(p.name for p in folder.parent.iterdir()) == ["docs", "docs.index"], moment


# -- the loader of OpenSearch ----------------------------------------------------------------------

COUNT = 400


@pytest.mark.skipif(bool(lacking()), reason=lacking() or "-")
def test_a_load_that_was_killed_ends_with_every_document_once(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    corpus, log = tmp_path / "corpus.jsonl", tmp_path / "log"
    write_jsonl(corpus, [{"id": d.id, "text": d.text} for d in records(0, COUNT)])
    scoring = Scoring("dirichlet")
    with cluster(tmp_path / "cluster") as first:

        def load(name: str) -> list[object]:
            return ["index", corpus, "--words-only", "--out", f"opensearch://{first}/{name}"]

        whole = [*traced(NETWORK, "-o", str(log)), *map(str, load("whole"))]
        assert subprocess.run(whole, capture_output=True, check=False).returncode == 0
        expected = open_index(f"opensearch://{first}/whole")
        hits = [hit.doc_id for hit in expected.retrieve("word3 often", scoring, 50)]
        cut_off = moments(log, NETWORK)
        total = cut_off[-1][1]
        assert total > 10
        for number in range(1, total + 1, max(1, total // 12)):
            name = f"killed-{number}"
            kill_at((NETWORK, number), load(name), NETWORK)
            status, _, messages = called(capsys, *load(name))
            assert (status, "400 documents" in messages) == (0, True), (number, messages)
            engine = open_index(f"opensearch://{first}/{name}")
            assert [d.id for d in engine.documents()] == [f"doc{n}" for n in range(COUNT)]
            assert [hit.doc_id for hit in engine.retrieve("word3 often", scoring, 50)] == hits
            indices = json.loads(httpx2.get(f"http://{first}/_cat/indices?format=json").text)
            assert sum(row["index"].startswith(f"{name}-v") for row in indices) == 1
