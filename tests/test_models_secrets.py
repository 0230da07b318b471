"""Keys that a server echoes: nothing that is shown or kept holds them, however they are spelt."""

from __future__ import annotations

import base64
import html
import json
import re
import urllib.parse
from collections.abc import Callable
from pathlib import Path

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chat_server import ChatServer, Handler
from growth import grows_linearly
from pnyx.cli import main
from pnyx.judging.store.completions import StoredModel
from pnyx.judging.store.store import Store
from pnyx.models.chat.endpoint import ChatEndpoint
from pnyx.models.chat.types import CallFailed, ChatRequest, Message
from pnyx.models.embed.endpoint import EmbeddingEndpoint
from pnyx.models.http.addresses import Secrets
from pnyx.models.http.responses import RetryPolicy
from pnyx.models.http.transport import HttpTransport

KEY = "sk-proj-SECRETSECRETSECRET0123456789/abcdefghijklmnopqrstuvwxyz+0123456789ABCDEFGHIJKLMNOPQ"
HASTY = RetryPolicy(timeout=60, attempts=2, connect_attempts=1, first_wait=0.001, longest_wait=0.01)

SPELLINGS: dict[str, Callable[[str], str]] = {
    "plain": lambda key: key,
    "json": lambda key: "".join(f"\\u{ord(c):04x}" for c in key),
    "json twice": lambda key: "".join(f"\\\\u{ord(c):04X}" for c in key),
    "json slash": lambda key: key.replace("/", "\\/"),
    "percent": lambda key: "".join(f"%{ord(c):02x}" for c in key),
    "percent as needed": lambda key: urllib.parse.quote(key, safe=""),
    "percent twice": lambda key: urllib.parse.quote(urllib.parse.quote(key, safe=""), safe=""),
    "entities": lambda key: "".join(f"&#{ord(c)};" for c in key),
    "hexadecimal entities": lambda key: "".join(f"&#x{ord(c):X};" for c in key),
    "named entities": lambda key: key.replace("/", "&sol;").replace("+", "&plus;"),
    "base64": lambda key: base64.b64encode(f"user:{key}".encode()).decode(),
    "base64 of bytes": lambda key: base64.urlsafe_b64encode(f"a{key}\xff\xfe".encode()).decode(),
    "cut by the server": lambda key: key[:40],
}


def pieces(key: str = KEY) -> list[str]:
    """Return what gives a key away, in any of its forms."""
    found = []
    for spell in SPELLINGS.values():
        spelt = spell(key)
        found += [spelt[i : i + 60] for i in range(0, max(1, len(spelt) - 60), 7)]
    return [*found, *(key[i : i + 14] for i in range(len(key) - 14))]


def check(text: str) -> None:
    for piece in pieces():
        assert piece not in text


class Echo(Handler):
    """Echoes the key wherever a server can; the prompt says where, and how it is spelt."""

    def do_ok(self) -> None:
        key = self.headers["Authorization"].removeprefix("Bearer ")
        where, _, how = self.prompt.partition("|")
        spelt = SPELLINGS[how](key)
        text = {"Content-Type": "text/plain"}
        said = f"the key {spelt} is over its limit".encode()
        if where.startswith("status "):
            self.send(int(where.split()[1]), said, text)
        elif where == "late":
            self.send(200, b"x" * 40 + said, text)
        elif where == "edge":
            self.send(500, said[:40], text)
        elif where == "error in 200":
            self.send(200, b'{"error": {"message": "' + said + b'"}}', text)
        elif where == "no completion":
            self.send(200, b'{"choices": [{"odd": "' + said + b'"}]}', text)
        elif where == "location":
            self.send(302, b"", {"Location": f"http://h/?key={spelt}"})
        elif where == "status line":
            self.wfile.write(b"HTTX " + said + b"\r\n\r\n")
            self.close_connection = True
        elif where == "header line":
            self.wfile.write(b"HTTP/1.1 200 OK\r\nbad header " + said + b"\r\n\r\n")
            self.close_connection = True
        else:
            content = json.dumps(self.completion("REPLY", finish_reason="REPLY")).encode()
            body = content.replace(b"REPLY", said)
            body = body.replace(b'"model": "test"', b'"model": "' + said + b'"')
            self.send(200, body, {"Content-Type": "application/json"})


PLACES = (
    *(f"status {n}" for n in (400, 401, 403, 404, 413, 418, 422, 429, 500, 503)),
    *("late", "edge", "error in 200", "no completion", "location", "status line", "header line"),
    "reply",
)


@pytest.mark.all
@pytest.mark.parametrize("how", SPELLINGS)
def test_no_echo_of_the_key_is_shown_or_kept(tmp_path: Path, how: str) -> None:
    shown: list[str] = []
    places = PLACES if how in ("plain", "json") else ("status 500", "late", "error in 200", "reply")

    async def ask(model: StoredModel, where: str) -> None:
        asked = ChatRequest((Message("user", f"{where}|{how}"),), max_tokens=20)
        try:
            outcome = await model.complete(asked)
        except Exception as error:
            shown.append(str(error))
        else:
            shown.append(outcome.reason if isinstance(outcome, CallFailed) else repr(outcome))

    with ChatServer() as server, Store(tmp_path / "store.sqlite") as store:
        server.RequestHandlerClass = Echo
        for where in places:
            endpoint = ChatEndpoint(server.url, "test", KEY, retry=HASTY)
            endpoint.on_retry = endpoint.on_wait = shown.append
            anyio.run(ask, StoredModel(endpoint, store), where)
    assert len(shown) >= len(places)
    assert "***" in "".join(shown)
    for line in shown:
        check(line)
    kept = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert b"is over its limit" in kept
    check(kept.decode("latin-1"))


def test_a_run_writes_no_echo_of_the_key(own_place, monkeypatch, capfd, tmp_path):
    monkeypatch.setenv("PNYX_API_KEY", KEY)
    spelt = "".join(f"\\u{ord(c):04x}" for c in KEY)
    answer = f'{{"reason": "{spelt}", "evidence": "", "answer": "yes", "confidence": 0.9}}'
    item = {"id": "1", "text": "Fares fell.", "statement": "Buses got cheaper."}
    Path("items.jsonl").write_text(json.dumps(item) + "\n")
    with ChatServer(reply=answer) as server, pytest.raises(SystemExit) as ended:
        main(["judge", "support", "items.jsonl", "--judge", server.spec, "--out", "out"])
    assert ended.value.code == 0
    assert '"value": true' in Path("out/answers.jsonl").read_text()
    written = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    check(written.decode("latin-1") + "".join(capfd.readouterr()))


def test_a_short_key_is_a_word_in_a_reply_and_hidden_in_an_error():
    said = '{"reason": "EMPTY", "evidence": "", "answer": "yes", "confidence": 0.9}'
    asked = ChatRequest((Message("user", "q"),), max_tokens=20)
    with ChatServer(reply=said) as server:
        assert anyio.run(ChatEndpoint(server.url, "test", "EMPTY").complete, asked).text == said
    with ChatServer(default="401") as server, pytest.raises(Exception, match=r"provided: \*\*\*"):
        anyio.run(ChatEndpoint(server.url, "test", "EMPTY").complete, asked)


def test_vectors_that_are_none_show_no_key():
    with ChatServer() as server:
        server.RequestHandlerClass = EmbeddingEcho
        for where in ("text", "rows"):
            with pytest.raises(Exception, match="returns no vectors") as caught:
                EmbeddingEndpoint(server.url, where, KEY, retry=HASTY).encode(["a"])
            check(str(caught.value))


class EmbeddingEcho(Handler):
    def do_POST(self) -> None:  # noqa: N802 - http.server's name for it
        where = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["model"]
        said = f"{'x' * 180} {KEY}" if where == "text" else json.dumps({"data": "x" * 70 + KEY})
        self.send(200, said.encode(), {})


ALPHABET = st.characters(min_codepoint=33, max_codepoint=126)
FORMS: tuple[Callable[[str], str], ...] = (
    lambda c: c,
    lambda c: f"\\u{ord(c):04x}",
    lambda c: f"\\\\\\\\U{ord(c):04X}".replace("U", "u"),
    lambda c: f"\\x{ord(c):02x}",
    lambda c: f"%{ord(c):02X}",
    lambda c: f"%25{ord(c):02x}",
    lambda c: f"&#{ord(c)};",
    lambda c: f"&#x{ord(c):04x};",
    lambda c: html.escape(c),
)


@given(
    st.text(ALPHABET, min_size=12, max_size=200),
    st.data(),
    st.text(max_size=30),
    st.text(max_size=30),
)
def test_any_mixture_of_spellings_is_found(key, data, before, after):
    forms = data.draw(st.lists(st.sampled_from(FORMS), min_size=len(key), max_size=len(key)))
    spelt = "".join(form(c) for form, c in zip(forms, key, strict=True))
    hidden = Secrets(key).hide(f"{before}{spelt}{after}")
    assert "***" in hidden
    assert key not in hidden
    assert spelt not in hidden


@given(st.text(max_size=300), st.text(ALPHABET, min_size=20, max_size=60))
def test_a_text_without_the_key_is_left_as_it_is(text, key):
    if key[0] not in html.unescape(urllib.parse.unquote(text)) and "\\" not in text:
        assert Secrets(key).hide(text) == text
    assert Secrets().hide(text) == Secrets(None, "").hide(text) == text


@pytest.mark.all
def test_hiding_takes_time_by_the_length_of_the_text_alone():
    """Runs of what may begin a spelling; twice the text takes about twice the time."""
    secrets = Secrets("sk-" + "0" * 60, "/" * 40)
    for part in ("\\", "&#0", "%25", "sk-00000000", "\\u0073", "/", "\\/", "&#x0000000", "\\u{0"):
        assert grows_linearly(lambda n, part=part: secrets.hide(part * (n // len(part))), 40_000)


@pytest.mark.parametrize(
    "proxy",
    [
        *("socks5://user:{}@10.0.0.1:1080", "http://user:{}@127.0.0.1:99999", "gopher://u:{}@h"),
        *("http://user:{}@256.1.1.1:80", "http://{}@127.0.0.1:99999", "user:{}@127.0.0.1:99999"),
        "http://user:{}@127.0.0.1:x",
    ],
)
def test_a_proxy_that_cannot_be_used_is_one_line_without_its_password(
    own_place, monkeypatch, capfd, proxy
):
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("http_proxy", proxy.format(KEY.replace("/", "")))
    monkeypatch.setenv("no_proxy", "")
    Path("i.jsonl").write_text('{"id": "1", "text": "Fares fell.", "statement": "Cheap."}\n')
    with pytest.raises(SystemExit) as ended:
        main("judge support i.jsonl --judge http://192.0.2.1/v1#m --out o".split())
    said = capfd.readouterr().err
    assert ended.value.code == 2
    assert re.fullmatch(r"pnyx: the proxy that the environment names .*\n", said)
    assert "SECRET" not in said


def test_what_a_proxy_says_is_shown_without_its_password(monkeypatch):
    class Angry(Handler):
        def do_POST(self) -> None:  # noqa: N802 - http.server's name for it
            sent = self.headers["Proxy-Authorization"].partition(" ")[2]
            known = base64.b64decode(sent).decode()
            self.send(502, f"no {known} nor {sent}".encode(), {})

    with ChatServer() as server:
        server.RequestHandlerClass = Angry
        address = server.url.removesuffix("/v1").replace("//", "//user:a-SECRET-word@")
        monkeypatch.setenv("http_proxy", address)
        monkeypatch.setenv("no_proxy", "")

        async def ask() -> bytes:
            wire = HttpTransport("http://example.invalid/v1", None, 5)
            try:
                return (await wire.post(b"{}")).body
            finally:
                await wire.close()

        said = anyio.run(ask)
    assert said.startswith(b"no user:*** nor ")
    assert b"SECRET" not in said
    assert base64.b64encode(b"user:a-SECRET-word") not in said
