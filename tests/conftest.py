"""What all tests share: which of them `make check` leaves to `make test`."""

from __future__ import annotations

import importlib
import signal
import sys
from pathlib import Path

import pytest

SLOW = {
    "test_annotate_apply",
    "test_annotate_label",
    "test_annotate_lora",
    "test_benchmarks_judging",
    "test_cli_acceptance",
    "test_cli_argue",
    "test_cli_build",
    "test_cli_calibrate",
    "test_cli_cascade",
    "test_cli_convert",
    "test_cli_corpus_web",
    "test_cli_demo",
    "test_cli_distil",
    "test_cli_doctor",
    "test_cli_hostile",
    "test_cli_judge",
    "test_cli_plan",
    "test_cli_prompt",
    "test_cli_search_pipeline",
    "test_corpora_reading",
    "test_corpora_roundtrip",
    "test_judge_engine",
    "test_judge_forms",
    "test_judge_loops",
    "test_judge_store_merge",
    "test_judge_store_tools",
    "test_models_chat",
    "test_models_local",
    "test_models_probe",
    "test_readme",
    "test_search_lucene",
    "test_search_ranking",
    "test_view_browser",
    "test_web_fetch",
    "test_web_reader",
}
"""Modules that run browsers, servers that misbehave, subprocesses or whole corpora."""


@pytest.fixture
def own_place(monkeypatch, tmp_path):
    """A folder and a store of the test's own, and no language model but those it names."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PNYX_STORE", str(tmp_path / "store.sqlite"))
    monkeypatch.delenv("PNYX_LLM", raising=False)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.stem in SLOW:
            item.add_marker(pytest.mark.slow)


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
