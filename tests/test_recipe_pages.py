"""Recipes in commands: each command, run in order, prints what its page shows."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from command import called

RECIPES = Path(__file__).parents[1] / "docs" / "recipes"
PAGES = {"check-a-judge": 3, "supported-answers": 6}
"""Page -> how many `pnyx` commands it runs with their output."""
OPENING = re.compile(
    r"\A# [^\n]+\n\n(?!```|#)(?:(?!^##).)*?^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE
)
SHOWN = re.compile(r"^```text\n(.*?)^```$", re.DOTALL | re.MULTILINE)
OPENINGS = {
    "annotate": (),
    "campaign": (),
    "cascades": ("annotate",),
    "distil": ("annotate",),
    "judging-quality": (),
    "language-models": (),
    "many-machines": (),
    "nuggets": (),
    "passages": (),
    "perspectives": (),
    "reports": (),
    "reports-campaign": ("reports",),
    "viewing-figures": (),
    "writing-reports": (),
}
"""Page -> pages whose first commands come before its own. The others need a server or a browser."""
STEP = re.compile(r"^\$ (.*?)\n(.*?)(?=^\$ |\Z)", re.DOTALL | re.MULTILINE)


def text_of(page: str) -> str:
    return (RECIPES / f"{page}.md").read_text(encoding="utf-8")


def steps(page: str) -> list[tuple[str, str]]:
    """Return the commands of a page's consoles, in order, and what each shows."""
    consoles = re.findall(r"^```console\n(.*?)^```$", text_of(page), re.DOTALL | re.MULTILINE)
    return [step for console in consoles for step in STEP.findall(console)]


def holds(printed: str, output: str) -> bool:
    """Return whether the parts of a page's output, between lines of `...`, are printed in order."""
    position = 0
    for part in re.split(r"^\.\.\.\n", output, flags=re.MULTILINE):
        position = printed.find(part, position)
        if position < 0:
            return False
        position += len(part)
    return True


def test_what_differs_is_noticed() -> None:
    assert holds("a\nb\nc\n", "a\n...\nc\n")
    assert not holds("a\nb\nc\n", "a\nc\n")
    assert not holds("a\nb\nc\n", "c\n...\na\n")


@pytest.mark.parametrize("page", PAGES)
def test_the_commands_of_a_recipe_print_what_it_shows(
    page: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for file in (*RECIPES.glob("*.csv"), *RECIPES.glob("*.jsonl")):
        shutil.copy(file, tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("PNYX_STORE", str(tmp_path / "store.sqlite"))
    ran = 0
    for command, output in steps(page):
        if written := re.match(r"cat > (\S+) <<'END'$", command):
            Path(written[1]).write_text(output.removesuffix("END\n"), encoding="utf-8")
            continue
        words, _, asks_status = command.partition("; ")
        program, *arguments = shlex.split(words)
        assert program == "pnyx"
        status, out, err = called(capsys, *arguments)
        ending = f"{status}\n" if asks_status == "echo $?" else ""
        assert holds(err + out + ending, output), (command, err + out + ending)
        ran += 1
    assert ran == PAGES[page]
    for script in re.findall(r"^```python\n(.*?)^```$", text_of(page), re.DOTALL | re.MULTILINE):
        exec(script, {})


@pytest.mark.parametrize("page", PAGES)
def test_a_recipe_is_linked_and_short(page: str) -> None:
    index = (RECIPES / "index.md").read_text(encoding="utf-8")
    assert f"]({page}.md)" in index
    assert f"\n{page}\n" in index
    prose = re.sub(r"```.*?```", "", text_of(page), flags=re.DOTALL)
    assert len(prose.split()) < 600


@pytest.mark.parametrize("page", sorted(RECIPES.glob("*.md")), ids=lambda page: page.stem)
def test_a_page_opens_with_a_command_and_is_short(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert OPENING.match(text)
    assert len(text.split()) <= 1500


def first_commands(page: str) -> str:
    opening = OPENING.match(text_of(page))
    assert opening
    return opening[2]


@pytest.mark.all
@pytest.mark.parametrize("page", OPENINGS)
def test_the_first_commands_of_a_page_print_what_it_shows(page: str, tmp_path: Path) -> None:
    if page == "perspectives":
        pytest.importorskip("pnyx_build")
    environment = {
        **os.environ,
        "COLUMNS": "100",
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "PNYX_STORE": str(tmp_path / "store.sqlite"),
    }
    environment.pop("PNYX_LLM", None)
    done = subprocess.run(
        ["bash", "-e"],
        input="".join(map(first_commands, (*OPENINGS[page], page))),
        cwd=tmp_path,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    shown = SHOWN.search(text_of(page))
    assert shown
    assert holds(without_times(done.stdout), without_times(shown[1])), done.stdout


def without_times(text: str) -> str:
    return re.sub(r"\d+\.\d+ s$", "", text, flags=re.MULTILINE)


@pytest.mark.all
def test_the_page_of_supported_answers_opens_on_the_sentence_of_the_recipe(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PNYX_STORE", str(tmp_path / "store.sqlite"))
    assert called(capsys, "judge", "support", RECIPES / "answers.jsonl", "--out", "r")[0] == 0
    assert called(capsys, "view", "r", "--export", "pages")[0] == 0
    page = re.sub(r"<[^>]+>", "", Path("pages/index.html").read_text(encoding="utf-8"))
    assert "29 of 40 answers are supported (72 %, 95 % interval 56 to 84 %)." in page
