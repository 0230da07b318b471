"""What holds for all of Pnyx holds here: replies, help texts, kills at any moment."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import click
import pytest

import pnyx_build
from build_server import BuildHandler, BuildServer
from pnyx.formats import faults
from pnyx.judging.llm.prompts import load_prompt
from pnyx.judging.llm.structured_replies import schema_of
from pnyx_build.cli import command
from pnyx_build.drafts import replies
from test_cli_judge import KILLED_ANYWHERE
from test_cli_replies import spoilt

PAGES = Path(__file__).with_name("debate_pages")
SHAPES = (replies.PersonalReply, replies.PairReply, replies.ClaimReply, replies.survey_reply(4))


def test_the_public_names_are_there() -> None:
    assert sorted(dir(pnyx_build)) == sorted(pnyx_build.__all__)
    assert all(getattr(pnyx_build, name).__doc__ for name in pnyx_build.__all__)


@pytest.mark.parametrize("name", command.commands)
def test_each_command_has_help_with_a_worked_example(name):
    leaf = command.commands[name]
    text = leaf.get_help(click.Context(leaf, info_name=f"pnyx build {name}"))
    assert f"pnyx build {name}" in text.split("Example", 1)[1]
    assert all(one.help for one in leaf.params if isinstance(one, click.Option))
    assert any(one.name == "as_json" for one in leaf.params)


@pytest.mark.parametrize("shape", SHAPES)
def test_the_schema_of_a_reply_is_strict(shape):
    schema = schema_of(shape)
    view = schema["properties"].get("perspectives", {}).get("items")
    for part in filter(None, (schema, view)):
        assert part["additionalProperties"] is False
        assert part["required"] == list(part["properties"])


HASHES = {
    "personal": "371a0882c74c",
    "question-claim": "390b1c9999a0",
    "question-pair": "3bbd5d5073b1",
    "question-survey": "591f34dc9824",
}
"""The first digits of each file's hash: what is asked in other words is asked anew."""


@pytest.mark.parametrize("name", HASHES)
def test_a_prompt_is_what_it_was(name):
    prompt = load_prompt(name)
    assert (prompt.name, prompt.version) == (name, 1)
    assert prompt.hash.startswith(HASHES[name])
    assert "BERDS" in prompt.source


class SpoilingHandler(BuildHandler):
    def complete(self, text: str | None, **message: Any) -> None:
        super().complete(spoilt(text), **message)


@pytest.mark.parametrize("out", ["d.md", "d.jsonl"])
def test_drafts_with_half_a_character_can_be_read_again(own_place, call, out):
    pair = {"id": "p1", "a": "Zoos save animals.", "b": "Zoos jail them."}
    Path("pairs.jsonl").write_text(json.dumps(pair) + "\n")
    with BuildServer() as server:
        server.RequestHandlerClass = SpoilingHandler
        draft = ("build", "draft", "pairs.jsonl", "--from", "pairs", "--llm", server.spec)
        assert call(*draft, "--out", out)[0] == 0
    assert "\ufffd" in Path(out).read_text()
    assert call("files", "validate", out)[0] == 0


def perspective(n: int) -> str:
    return "## 1: Is it so?\n\n- pro: a\n" + "  more\n" * n


def question(n: int) -> str:
    return "## 1: Is it so?\n" + "  more\n" * n + "\n- pro: a\n"


@pytest.mark.parametrize("make", [perspective, question])
def test_time_grows_with_the_size_and_not_with_its_square(make, tmp_path):
    path = tmp_path / "f"

    def seconds(n: int) -> float:
        path.write_text(make(n))
        started = time.process_time()
        assert list(faults(str(path), "drafts-markdown")) == []
        return time.process_time() - started

    small = min(seconds(5_000) for _ in range(2))
    assert seconds(40_000) < 30 * small + 0.5  # of its square it would be 64 times


@pytest.mark.all
def test_killed_at_any_change_of_a_file_the_same_command_goes_on(tmp_path):
    importlib.import_module("lxml.html")
    script = f"import lxml.html, pnyx_build.debates.benchmark\n{KILLED_ANYWHERE}"
    command = [sys.executable, "-c", script, str(tmp_path / "out"), "build", "debates", str(PAGES)]
    ended = subprocess.run([*command, "--out", "out"], cwd=tmp_path, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
    changes, _ = ended.stdout.split()[-2:]
    assert int(changes) > 5
