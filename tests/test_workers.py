"""`--engine`: which plugin is connected to, what is refused, and who is asked all the same."""

from __future__ import annotations

import contextlib
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from chat_server import ChatServer
from command import caller, write_rows
from pnyx.core.errors import OptionError, PluginError
from pnyx.core.plugins import Plugin
from pnyx.judging.workers import open_workers

call = caller()


class EchoWorkers:
    """Workers that remember their address, and compute nothing."""

    judge = embedder = quality = print

    def __init__(self, address):
        self.address = address


@contextlib.contextmanager
def echo(address):
    yield EchoWorkers(address)


@contextlib.contextmanager
def nothing(address):
    yield None


@pytest.fixture
def install_workers(monkeypatch):
    """Return a function that installs plugins by the names of functions of this module."""

    def install(*functions):
        entries = {f: EntryPoint(f, f"{__name__}:{f}", "pnyx.workers") for f in functions}
        plugins = [Plugin("workers", f, f"pnyx-{f} 1.0", "", entry) for f, entry in entries.items()]
        monkeypatch.setattr("pnyx.core.plugins.installed", lambda kind: plugins)

    return install


@pytest.mark.parametrize("address", ["echo", "echo://host:1", "host:1"])
def test_a_single_plugin_gets_every_address(install_workers, address):
    install_workers("echo")
    with open_workers(address) as workers:
        assert workers.address == address


def test_of_several_plugins_one_is_named(install_workers):
    install_workers("echo", "nothing")
    with open_workers("echo:x") as workers:
        assert workers.address == "echo:x"
    with pytest.raises(OptionError, match="'host', expected echo or nothing, or NAME:ADDRESS"):
        open_workers("host:1").__enter__()


def test_what_is_not_workers_is_refused(install_workers):
    install_workers("nothing")
    with pytest.raises(PluginError, match=r"pnyx-nothing 1\.0.* NoneType, expected Workers"):
        open_workers("nothing").__enter__()


@pytest.mark.usefixtures("own_place")
@pytest.mark.parametrize("more", [["--words-only"], ["--embedder", "http://127.0.0.1:9/v1#m"]])
def test_an_index_without_the_packaged_embedder_takes_no_engine(more, call):
    corpus = write_rows("c.jsonl", [{"id": "1", "text": "Fares fell."}])
    code, _, err = call("index", corpus, "--out", "x", "--engine", "echo", *more)
    assert (code, "--engine requires vectors" in err) == (2, True)
    assert not Path("x").exists()


@pytest.mark.usefixtures("own_place")
def test_language_models_are_asked_by_this_process(install_workers, call):
    install_workers()
    rows = [{"id": f"i{n}", "text": f"Fares fell {n}.", "statement": "Cheaper."} for n in range(10)]
    with ChatServer() as server:
        command = ("judge", "support", write_rows("items.jsonl", rows), "--judge", server.spec)
        code, _, err = call(*command, "--set", "engine=echo", "--out", "o")
        assert (code, len(server.asked())) == (0, 10)
    assert "this process asks the language models" in err
