"""What all tests share."""

from __future__ import annotations

import hashlib
import importlib
import os
import signal
import sys
import tempfile
import warnings
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, is_hypothesis_test, settings

from command import caller
from pnyx.models.embed.encoder import open_session as _open_session
from shared_folders import RUN_FOLDER, fill_once
from tries import tries

# No test depends on how busy the machine is.
settings.register_profile(
    "pnyx",
    max_examples=tries(100),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("pnyx")

# What is started in the background ignores Ctrl-C, and so would what the tests start.
signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark properties, which `make test-all` tries again, on all their examples."""
    for item in items:
        if is_hypothesis_test(getattr(item, "obj", None)):
            item.add_marker("property")


@pytest.fixture
def own_place(monkeypatch, tmp_path):
    """A folder and a store of the test's own, and no language model but those it names."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PNYX_STORE", str(tmp_path / "store.sqlite"))
    monkeypatch.delenv("PNYX_LLM", raising=False)


call = caller()  # `pnyx ARGUMENTS`: exit status, stdout, stderr


@pytest.fixture(scope="module")
def browser():
    """A Chromium; without one, its tests are skipped."""
    from page_fixture import chromium

    with chromium() as started:
        yield started


@pytest.fixture
def names_of_ir_measures():
    """ir-measures, whose reader of names needs what Python 3.12 warns of and 3.14 lacks."""
    library = pytest.importorskip("ir_measures")
    if sys.version_info >= (3, 14):
        pytest.skip("ir-measures 0.4 reads no name in Python 3.14")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        yield library


class _Remembering:
    """A session of a packaged network that, while it is `on`, runs once for each input.

    What it said is kept in files of this test run, so that the workers share it.
    """

    on = False

    def __init__(self, folder: Path, model: bytes, *tensors: dict[str, np.ndarray]):
        self._session = _open_session(model, *tensors)
        self._model = hashlib.sha256(model)
        for tensor in tensors[0].values() if tensors else ():
            self._model.update(tensor)
        self._folder = folder

    def run(self, names, feeds):
        if not self.on:
            return self._session.run(names, feeds)
        asked = self._model.copy()
        for name in sorted(feeds):
            asked.update(f"{names} {name} {feeds[name].shape} {feeds[name].dtype}".encode())
            asked.update(feeds[name].tobytes())
        path = self._folder / f"{asked.hexdigest()}.npz"
        if path.is_file():
            with np.load(path) as kept:
                return [kept[name] for name in kept.files]
        said = self._session.run(names, feeds)
        if sum(array.nbytes for array in said) <= 1 << 16:
            with tempfile.NamedTemporaryFile(dir=self._folder, delete=False) as stream:
                np.savez(stream, *said)
            Path(stream.name).replace(path)
        return said

    def __getattr__(self, name):
        return getattr(self._session, name)


@pytest.fixture(scope="session")
def of_all_workers(tmp_path_factory) -> Path:
    """A folder of this test run, the same for each worker."""
    base = tmp_path_factory.getbasetemp()
    return base.parent if "PYTEST_XDIST_WORKER" in os.environ else base


@pytest.fixture(scope="session")
def made_once():
    """`made_once(NAME, MAKE)`: a folder that MAKE filled, once for all workers; only read it."""
    return fill_once


@pytest.fixture(scope="session", autouse=True)
def _sessions_that_remember(of_all_workers):
    """From the first test on: what is packaged is opened once a process, whoever asks first."""
    RUN_FOLDER[:] = [of_all_workers]
    folder = of_all_workers / "networks"
    folder.mkdir(exist_ok=True)
    with pytest.MonkeyPatch.context() as patch:
        opener = "pnyx.models.embed.encoder.open_session"
        patch.setattr(opener, partial(_Remembering, folder))
        yield


@pytest.fixture(scope="module")
def run_once():
    """Run each packaged network once for each text, whichever test of whichever worker asks.

    For tests of what is done with scores. Tests of the networks' own bits go without it.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_Remembering, "on", True)
        yield


@pytest.fixture
def scripts(monkeypatch):
    """Import from a folder of lab/ as its scripts do, and forget it afterwards."""
    before, path = set(sys.modules), list(sys.path)
    lab = str(Path(__file__).parent / "lab")

    def importing(folder):
        monkeypatch.syspath_prepend(folder)
        return importlib.import_module

    yield importing
    sys.path[:] = path
    for name in set(sys.modules) - before:
        if lab in str(getattr(sys.modules[name], "__file__", "") or ""):
            del sys.modules[name]
