"""Ctrl-C while texts are embedded: exit status 130, whatever compiled code is at work."""

from __future__ import annotations

import subprocess
import sys

import pytest

from pnyx.formats import load_example
from pnyx.formats.base import encode

CHILD = """
import atexit, signal, sys, threading, time
import numpy as np
from pnyx import cli
from pnyx.models.embed import encoder

def fill(self, out, texts, read):
    ids = np.ones((8, 256), dtype=np.int64)
    begun = threading.Event()

    def work():  # in compiled code whenever Python ends, which then ends the process (SIGABRT)
        while True:
            self._session.run(None, {"input_ids": ids, "attention_mask": np.ones_like(ids)})
            begun.set()

    for _ in range(2):
        threading.Thread(target=work, daemon=True).start()
    begun.wait()
    if "twice" in sys.argv[-1]:  # somebody is impatient
        atexit.register(signal.raise_signal, signal.SIGINT)
    signal.raise_signal(signal.SIGINT)

class Slow:
    def __del__(self, sleep=time.sleep):  # so that the threads come back before the process is gone
        sleep(1.5)

sys.slow = Slow()
encoder.Encoder._fill = fill
cli.main()
"""


@pytest.mark.all
@pytest.mark.parametrize("name", ["once.index", "twice.index"])
def test_an_interruption_while_texts_are_embedded_ends_in_130(tmp_path, name):
    corpus = tmp_path / "c.jsonl"
    rows = ({"id": one.id, "text": one.text} for one in load_example().arguments)
    corpus.write_text("".join(encode(row, "row") for row in rows))
    done = subprocess.run(
        [sys.executable, "-c", CHILD, "index", corpus, "--vectors", "--out", tmp_path / name],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, "terminate" in done.stderr) == (130, False), done.stderr
    assert "interrupted; to continue: pnyx index --update" in done.stderr
    assert "Traceback" not in done.stderr
