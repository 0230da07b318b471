"""`pnyx doctor` as it is called: what it prints, how it exits, that it asks nobody unbidden."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

from chat_server import ChatServer
from command import caller
from pnyx.housekeeping.doctor import VARIABLES, installed
from pnyx.judging.store.rows import request_key
from pnyx.judging.store.store import Store
from pnyx.models.chat.types import ChatRequest, Message, Reply
from pnyx.models.embed.encoder import _load

VERDICT = '{"answer": "yes", "confidence": 0.9}'
QUICK = ("--set", "timeout=2")


@pytest.fixture(autouse=True)
def alone(tmp_path, monkeypatch):
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PNYX_STORE", str(tmp_path / "store.sqlite"))


call = caller("doctor")


def test_what_is_installed(call, tmp_path):
    code, out, err = call()
    assert (code, err) == (0, "")
    assert f"pnyx {metadata.version('pnyx')}" in out
    assert "minilm-int8: intact (SHA-256), embeds" in out
    assert "none yet, writable" in out
    assert "pnyx judge          packaged(student:perspectives@" in out
    assert "300 ChatReportRetrieve pairs" in " ".join(out.split())
    assert "preference, sides, ranking need one" in out
    assert not (tmp_path / "store.sqlite").exists()
    code, out, _ = call("--json")
    found = json.loads(out)
    assert found["dependencies"]["click"]["version"] == metadata.version("click")
    told = found["packaged"]["tasks"]
    assert told[:6] == ["support", "nugget", "relevance", "stance", "quality", "rag"]
    assert told[6:] == ["negative", "needs-citation", "unanswerable"]
    assert found["packaged"]["perspectives"]["judge"].startswith("student:perspectives@")
    assert (found["endpoints"], found["problems"]) == ([], [])
    assert found["will_use"]["writer"] == "extractive"


def test_an_extra_that_is_not_installed_comes_with_its_command(monkeypatch):
    lines = ["click>=8.2", "no-such-thing>=1.0; extra == 'magic'", "click>=99; extra == 'later'"]
    monkeypatch.setattr(metadata, "requires", lambda _: [*lines, "click; extra == 'fine'"])
    extras = installed()["extras"]
    assert {name: extra["installed"] for name, extra in extras.items()} == {
        "fine": True,
        "later": False,
        "magic": False,
    }
    assert extras["magic"]["install"] == "pip install 'pnyx[magic]'"
    assert extras["later"]["packages"]["click"]["least"] == "99"


def test_weights_that_are_damaged_are_told(call, monkeypatch):
    _load.cache_clear()
    read_bytes = Path.read_bytes

    def flip(path: Path) -> bytes:
        data = read_bytes(path)
        return data[:-1] + bytes([data[-1] ^ 1]) if path.name == "model.onnx" else data

    monkeypatch.setattr(Path, "read_bytes", flip)
    try:
        code, out, err = call()
    finally:
        _load.cache_clear()
    assert code == 2
    assert "DAMAGED" in out
    assert err == "pnyx: the packaged encoder's model.onnx is damaged: reinstall pnyx\n"


def test_the_store(call, tmp_path):
    path = tmp_path / "full.sqlite"
    with Store(path) as store:
        asked = ChatRequest((Message("user", "?"),))
        reply = Reply("yes", "stop", "m", {}, "text")
        store.put(request_key("m", asked), "m", asked, reply)
    code, out, _ = call("--store", path, "--json")
    found = json.loads(out)["store"]
    assert (code, found["path"], found["replies"], found["writable"]) == (0, str(path), 1, True)
    path.write_text("this is no database" * 100)
    code, out, err = call("--store", path)
    assert code == 2
    assert "expected a judgement store" in err
    assert err.count("\n") == 1


def test_values_of_variables_are_never_shown(call, monkeypatch):
    monkeypatch.setenv("PNYX_API_KEY", "sk-very-secret")
    monkeypatch.setenv("HTTPS_PROXY", "http://user:hush@proxy.example:1")
    for argv in ([], ["--json"]):
        code, out, err = call(*argv)
        assert code == 0
        assert "secret" not in out + err
        assert "hush" not in out + err
    assert json.loads(out)["environment"] == {
        name: name in ("PNYX_API_KEY", "HTTPS_PROXY", "PNYX_STORE") for name in VARIABLES
    }


def test_an_endpoint(call, tmp_path):
    with ChatServer(reply=VERDICT, logprobs="words") as server:
        code, out, err = call("--llm", server.spec, *QUICK)
        assert (code, err) == (0, "")
        assert len(server.asked()) > 3
    assert "json_schema         followed; judges use it" in out
    assert "P(yes) by auto      from the tokens' probabilities" in out
    assert "not published" in out
    assert "pnyx judge          test: named by --llm" in out
    assert not (tmp_path / "store.sqlite").exists()  # nothing was stored, nothing came from there


def test_an_endpoint_without_probabilities(call, monkeypatch):
    with ChatServer(reply=VERDICT, rejects=["logprobs"]) as server:
        monkeypatch.setenv("PNYX_LLM", server.spec)
        code, out, _ = call(*QUICK, "--json")
    found = json.loads(out)
    row = found["endpoints"][0]
    assert code == 0
    assert (row["probability"], row["alternatives"], row["refused"]) == ("stated", 0, ["logprobs"])
    assert found["will_use"]["judge_why"] == "named by $PNYX_LLM"
    assert row["price_usd_per_million"] is None
    assert row["cost_usd"] is None
    assert row["prompt_tokens"] + row["completion_tokens"] == row["tokens"] > 0


def test_an_endpoint_that_cannot_be_used_does_not_stop_the_others(call, monkeypatch):
    monkeypatch.setenv("PNYX_API_KEY", "sk-very-secret")
    with ChatServer(default="401") as bad, ChatServer(reply=VERDICT) as good:
        argv = ("--llm", bad.spec, "--llm", "nonsense", "--llm", good.spec, *QUICK)
        code, out, err = call(*argv, "--json")
        page = call(*argv)[1]
    rows = json.loads(out)["endpoints"]
    assert [row["usable"] for row in rows] == [False, False, True]
    assert code == 2
    assert "HTTP 401" in err
    assert "(and 1 more)" in err
    assert err.count("\n") == 1
    assert "CANNOT BE USED" in page
    assert "test: named by --llm; 2 more cannot be used" in page
    assert "secret" not in out + err + page


def test_nothing_listens(call):
    code, out, err = call("--llm", "http://127.0.0.1:9/v1#m", *QUICK)
    assert code == 2
    assert "cannot be reached" in err
    assert err.count("\n") == 1
    assert "pnyx judge          none: nothing named by --llm can be used" in out


def test_a_server_cannot_move_the_cursor(call):
    with ChatServer(reply='\x1b[2J{"x": 1}') as server:
        code, out, err = call("--llm", f"{server.url}#%1b[2J", *QUICK)
    assert code == 0
    assert "\x1b" not in out + err
    assert "IS NOT AMONG THEM" in out


_NO_SOCKETS = """
import sys
def hook(event, args):
    if event.startswith("socket."):
        raise SystemExit(f"a socket was used: {event} {args}")
sys.addaudithook(hook)
from pnyx.cli import main
main(["doctor", "--json"])
"""


@pytest.mark.all
def test_without_llm_no_socket_is_opened():
    done = subprocess.run(
        [sys.executable, "-c", _NO_SOCKETS], capture_output=True, text=True, env=os.environ
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["packaged"]["intact"]
    check = _NO_SOCKETS.replace('"--json"', '"--llm", "http://127.0.0.1:9/v1#m"')
    caught = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True)
    assert "a socket was used" in caught.stderr  # the check can fail
