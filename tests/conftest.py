"""What all tests share."""

from __future__ import annotations

import importlib
import signal
import sys
from pathlib import Path

import pytest

from pnyx.models.embed.encoder import open_session as _open_session


@pytest.fixture
def own_place(monkeypatch, tmp_path):
    """A folder and a store of the test's own, and no language model but those it names."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PNYX_STORE", str(tmp_path / "store.sqlite"))
    monkeypatch.delenv("PNYX_LLM", raising=False)


@pytest.fixture
def call(capsys):
    """Run `pnyx ARGUMENTS`: exit status, stdout, stderr."""

    def call(*argv: object) -> tuple[int, str, str]:
        from pnyx.cli import main

        with pytest.raises(SystemExit) as caught:
            main([str(a) for a in argv])
        printed = capsys.readouterr()
        return int(caught.value.code or 0), printed.out, printed.err

    return call


class _Remembering:
    """A session of a packaged network that, while it is `on`, runs once for each input."""

    on = False

    def __init__(self, session):
        self._session = session
        self._known = {}

    def run(self, names, feeds):
        if not self.on:
            return self._session.run(names, feeds)
        key = tuple((name, feeds[name].shape, feeds[name].tobytes()) for name in sorted(feeds))
        if key not in self._known:
            self._known[key] = self._session.run(names, feeds)
        return [array.copy() for array in self._known[key]]

    def __getattr__(self, name):
        return getattr(self._session, name)


@pytest.fixture(scope="session", autouse=True)
def _sessions_that_remember():
    """From the first test on: what is packaged is opened once a process, whoever asks first."""
    with pytest.MonkeyPatch.context() as patch:
        opener = "pnyx.models.embed.encoder.open_session"
        patch.setattr(opener, lambda model: _Remembering(_open_session(model)))
        yield


@pytest.fixture(scope="module")
def run_once():
    """Run each packaged network once for each text, whichever test of this process asks.

    For tests of what is done with scores. Tests of the networks' own bits go without it.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_Remembering, "on", True)
        yield


def heed_interrupts() -> None:
    """For `preexec_fn`: a child of a background job inherits that SIGINT is ignored."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.fixture
def scripts(monkeypatch):
    """Import from a folder of benchmarks as its scripts do, and forget it afterwards."""
    before, path = set(sys.modules), list(sys.path)
    benchmarks = str(Path(__file__).parents[1] / "benchmarks")

    def importing(folder):
        monkeypatch.syspath_prepend(folder)
        return importlib.import_module

    yield importing
    sys.path[:] = path
    for name in set(sys.modules) - before:
        if benchmarks in str(getattr(sys.modules[name], "__file__", "") or ""):
            del sys.modules[name]
