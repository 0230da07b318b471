"""Compiled libraries: those that crash each other, in every order, and those that call home."""

import ctypes.util
import gc
import importlib.util
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

from index_fixture import HAS_GRAPHS
from pnyx.core import native
from pnyx.core.errors import MissingExtra, PnyxError

clash = pytest.mark.skipif(
    not HAS_GRAPHS or sys.platform != "linux", reason="the clash is one of usearch's Linux wheels"
)

PNYX_GRAPH = "from pnyx.search.ranking.dense import graph_library; graph_library()"
PNYX_TEXTS = "from pnyx.models.embed.encoder import load_encoder; load_encoder().encode(['a text'])"


PARSING_FINALISERS = """
import ast, gc
from pnyx.formats.cells import python_literal
from pnyx.judging.students.surface_quality import arrays_of, packaged_files

class Parsing:
    def __init__(self):
        self.me = self  # only the collector of garbage finds it

    def __del__(self):
        ast.parse("(1, 2)")
        Parsing()

files = packaged_files("surface", "model")
gc.set_threshold(1)
Parsing()
for _ in range(50):
    assert python_literal("{'a': (1, 2), 'b': [3, [4]]}") == {"a": (1, 2), "b": [3, [4]]}
    assert arrays_of(*files, "model")
assert gc.isenabled()
gc.disable()
assert python_literal("(1,)") == (1,) and not gc.isenabled()
"""


@pytest.mark.all
def test_garbage_does_not_disturb_the_parser_of_literals():
    process = python(PARSING_FINALISERS)
    assert process.returncode == 0, process.stderr


def python(*lines):
    """Run lines in a fresh process; what a crash leaves is its negative signal."""
    command = [sys.executable, "-c", "\n".join(lines)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


def rest(*lines):
    """Lines of another order, for `make test-all`."""
    return pytest.param(lines, marks=pytest.mark.all)


@pytest.mark.all
@clash
@pytest.mark.slow
@pytest.mark.parametrize(
    "lines",
    [
        (PNYX_GRAPH, PNYX_TEXTS),
        rest(PNYX_TEXTS, PNYX_GRAPH),
        rest(PNYX_GRAPH, "import onnxruntime"),
        rest("import onnxruntime", "import usearch.index", PNYX_TEXTS),
        rest(PNYX_GRAPH, "import sklearn.cluster, numba", PNYX_TEXTS),
    ],
)
def test_the_graph_and_the_encoder_go_together_in_either_order(lines):
    done = python(*lines)
    assert (done.returncode, done.stderr) == (0, "")


@clash
@pytest.mark.slow
@pytest.mark.parametrize(
    "between", ["pass", pytest.param("import sklearn.cluster", marks=pytest.mark.all)]
)
def test_usearch_imported_first_by_others_is_one_line_and_no_crash(between):
    done = python(
        "import usearch.index",
        between,
        "from pnyx.core.errors import PnyxError",
        "from pnyx.models.embed.encoder import load_encoder",
        "try:",
        "    load_encoder().encode(['a text'])",
        "except PnyxError as error:",
        "    print(error)",
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == (
        "usearch was imported before onnxruntime, which crashes the process: "
        "import onnxruntime first\n"
    )


PNYX_JUDGES = """
from pnyx import Support, ask
from pnyx.judging.students.judge import load_perspective_student

ask(load_perspective_student(), [Support("1", "Voting is a duty.", "Everyone should vote.")])
"""
OTHERS = ("ir_datasets", "ir_measures", "mcp", "pyarrow", "sklearn", "trafilatura", "xllamacpp")


@pytest.mark.all
@pytest.mark.skipif(not shutil.which("strace"), reason="counts connections by strace")
def test_nothing_that_it_loads_connects_to_anybody_or_writes_to_the_home(tmp_path):
    home, calls = tmp_path / "home", tmp_path / "calls"
    home.mkdir()
    # ONNX Runtime calls nobody where CI is set, and elsewhere some seconds after its first run.
    env = {"HOME": str(home), "PATH": os.environ["PATH"]}
    trace = ["strace", "-f", "-qq", "-e", "trace=connect,sendto,sendmsg,sendmmsg", "-o", calls]
    others = [name for name in OTHERS if importlib.util.find_spec(name)]
    if (Path(sys.prefix) / "nltk_data" / "tokenizers" / "punkt").is_dir():  # lab/nltk_data.py
        others.append("autojudge_base")
    lines = [PNYX_JUDGES, *(f"import {name}" for name in others), "import time; time.sleep(10)"]
    done = subprocess.run(
        [*trace, sys.executable, "-c", "\n".join(lines)], env=env, capture_output=True, text=True
    )
    if done.returncode and "ptrace" in done.stderr:
        pytest.skip("strace may not trace here")
    assert (done.returncode, done.stderr) == (0, "")
    assert re.findall(r".*sa_family=AF_INET.*", calls.read_text()) == []
    assert [path for path in home.rglob("*") if path.is_file()] == []


def test_a_clash_is_refused_before_it_ends_the_process(monkeypatch):
    """It clashes if the ids that all copies share were numbered before the system's own."""
    own, shared = native._OWN_ID, native._SHARED_ID
    numbers = {own: 3, shared: 4}
    fake = SimpleNamespace(in_dll=lambda _, name: SimpleNamespace(value=numbers[name]))
    with monkeypatch.context() as patched:
        patched.setattr(ctypes, "c_size_t", fake)
        patched.setattr(native, "_libstdcxx", object)
        assert native._locales_are_mixed() is True
        numbers[own] = 4
        assert native._locales_are_mixed() is False
    with monkeypatch.context() as patched:
        patched.setattr(native, "_libstdcxx", lambda: None)
        assert native._locales_are_mixed() is False
        libm = ctypes.util.find_library("m")
        patched.setattr(native, "_libstdcxx", lambda: ctypes.CDLL(libm))  # has no such ids
        assert native._locales_are_mixed() is False
    with monkeypatch.context() as patched:
        patched.setattr(native, "_locales_are_mixed", lambda: True)
        patched.setitem(sys.modules, "usearch", ModuleType("usearch"))
        patched.delitem(sys.modules, "onnxruntime", raising=False)
        with pytest.raises(PnyxError, match="import onnxruntime first"):
            native.load_onnxruntime()
        patched.setitem(sys.modules, "onnxruntime", onnxruntime := SimpleNamespace(calls=[]))
        onnxruntime.disable_telemetry_events = lambda: onnxruntime.calls.append(1)
        assert native.load_onnxruntime() is onnxruntime  # it was imported before
        assert (onnxruntime.calls, os.environ["ORT_DISABLE_TELEMETRY"]) == ([1], "1")


def test_without_numba_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "numba", None)
    with pytest.raises(MissingExtra, match=r"pip install 'pnyx\[fast\]'"):
        native.load_numba()


def test_garbage_is_collected_again_only_if_it_was_before():
    for enabled in (True, False):
        (gc.enable if enabled else gc.disable)()
        try:
            with native.garbage_kept():
                assert not gc.isenabled()
            assert gc.isenabled() is enabled
        finally:
            gc.enable()
    native.free_memory()
