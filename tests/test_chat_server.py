"""The test server itself: what its log says of clients that go away."""

from __future__ import annotations

import http.client
import json
import signal
import subprocess
import sys
import time
import urllib.parse

import pytest

from chat_replies import STYLES, logprobs_of, tokens_of
from chat_server import ChatServer

BODY = json.dumps({"model": "m", "messages": [{"role": "user", "content": "Hello."}]})
CLIENT = """
import http.client, sys, time
client = http.client.HTTPConnection("127.0.0.1", int(sys.argv[1]))
client.request("POST", "/v1/chat/completions", sys.argv[2])
if sys.argv[3] == "read":
    client.getresponse().read()
print("done", flush=True)
time.sleep(30)
"""


def post(server: ChatServer) -> http.client.HTTPConnection:
    client = http.client.HTTPConnection("127.0.0.1", urllib.parse.urlsplit(server.url).port)
    client.request("POST", "/v1/chat/completions", BODY)
    return client


def settled(server: ChatServer) -> int:
    time.sleep(0.15)
    return len(server.answered())


def test_an_answer_that_was_read_is_logged_once():
    with ChatServer() as server:
        client = post(server)
        client.getresponse().read()
        assert settled(server) == 1
        client.close()
        assert settled(server) == 1


def test_one_question_after_the_other_is_never_two_at_once():
    with ChatServer(slots=1, queue=False) as server:
        clients = [post(server)]
        assert clients[0].getresponse().read()
        clients.append(post(server))
        assert clients[1].getresponse().read()
        for turn in range(200):  # another connection, so another thread, each time
            clients[turn % 2].request("POST", "/v1/chat/completions", BODY)
            assert clients[turn % 2].getresponse().read()
        for client in clients:
            client.close()
        assert server.busiest == 1
        assert server.billed["completions"] == 202


def test_an_answer_to_nobody_is_not_logged():
    with ChatServer(delay=0.1) as server:
        post(server).close()
        assert settled(server) == 0
    assert server.billed["completions"] == 1


@pytest.mark.all
@pytest.mark.parametrize(("what", "delay", "counted"), [("read", 0, 1), ("", 0, 0), ("", 0.5, 0)])
def test_a_killed_client_has_its_answer_only_if_it_read_it(what, delay, counted):
    with ChatServer(delay=delay) as server:
        port = str(urllib.parse.urlsplit(server.url).port)
        command = [sys.executable, "-c", CLIENT, port, BODY, what]
        process = subprocess.Popen(command, stdout=subprocess.PIPE)
        process.stdout.readline()
        time.sleep(0.1)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        time.sleep(delay)
        assert settled(server) == counted
        assert server.billed["completions"] == 1


@pytest.mark.parametrize("style", STYLES)
def test_tokens_spell_the_text(style):
    text = '{"reason": "naïve 東京 “x”", "answer": "yes", "confidence": 0.5}'
    assert b"".join(tokens_of(text, style)) == text.encode()
    content = logprobs_of(text, style, {"yes": 0.7, "no": 0.3})["content"]
    assert b"".join(bytes(token["bytes"]) for token in content) == text.encode()
    (at,) = [t for t in content if len(t["top_logprobs"]) == 2 and "maybe" not in str(t)]
    assert {t["token"].strip(' "') for t in at["top_logprobs"]} == {"yes", "no"}
