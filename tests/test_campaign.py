"""Every command of docs/recipes/campaign.md, as printed, with simulated people."""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import shlex
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from chat_server import ChatServer
from command import rows_of, run
from label_fixture import Person
from page_fixture import served_by_command

pytestmark = pytest.mark.all
PAGE = Path(__file__).parents[1] / "docs" / "recipes" / "campaign.md"
REFUSED = ("files validate runs/careless.jsonl", "refused.txt")
DATA = Path(os.environ.get("PNYX_DATA", Path(__file__).parents[2] / "shared/data")) / "reportgen"
TREC = "\n## On files of TREC\n"


def blocks(*, trec: bool) -> list[tuple[str, str]]:
    """Return language and text of the blocks before, or after, files of TREC come in."""
    text = PAGE.read_text("utf-8").split(TREC)[trec]
    return re.findall(r"^```(sh|python)\n(.*?)^```$", text, flags=re.S | re.M)


def labelled(arguments: list[str]) -> None:
    """Answer every item in a browser's way, and end the server."""
    items, out = rows_of(arguments[2]), Path(arguments[arguments.index("--out") + 1])
    no = 2 if arguments[1] == "nugget" else 1
    with served_by_command(arguments) as (address, _):
        ann = Person(address, "ann")
        for item in items:
            known = set(re.findall(r"\w{4,}", item["text"].lower()))
            told = set(re.findall(r"\w{4,}", item["statement"].lower()))
            ann.send(0 if 2 * len(known & told) >= len(told) else no)
        ann.client.close()
    limit = time.monotonic() + 120
    while len(rows_of(out)) < len(items) and time.monotonic() < limit:
        time.sleep(0.05)


def steps(block: str) -> Iterator[str]:
    """Yield a block's commands; a file that it spells out is written when its turn comes."""
    for name, text, line in re.findall(
        r"^cat > (\S+) <<'END'\n(.*?)^END\n|^([^\n]+)\n", block, flags=re.S | re.M
    ):
        if name:
            Path(name).write_text(text, encoding="utf-8")
        else:
            yield from line.splitlines()


def done(line: str) -> str:
    """Run one line and return what it printed."""
    program, *arguments = shlex.split(line)
    if program == "cat":
        *sources, out = [word for word in arguments if word != ">"]
        Path(out).write_text("".join(map(Path.read_text, map(Path, sources))), encoding="utf-8")
        return ""
    assert program == "pnyx"
    if arguments[0] == "label" and arguments[1] != "sample":
        labelled(arguments)
        return ""
    stream = io.StringIO()
    with contextlib.redirect_stdout(stream), contextlib.redirect_stderr(stream):
        status = run(*arguments)
    assert status in ((2,) if any(words in line for words in REFUSED) else (0, 3)), (
        line,
        stream.getvalue(),
    )
    return stream.getvalue()


@pytest.fixture(scope="module")
def said(tmp_path_factory):
    """What each line printed, in the folder in which all of them ran."""
    folder, found = tmp_path_factory.mktemp("campaign"), {}
    with ChatServer() as server, pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("PNYX_STORE", str(folder / "store.sqlite"))
        patch.delenv("PNYX_LLM", raising=False)
        for _, block in blocks(trec=False):
            for line in steps(block):
                if line.startswith("export PNYX_LLM="):
                    patch.setenv("PNYX_LLM", f"{server.url}#my-model")
                elif line == "unset PNYX_LLM":
                    patch.delenv("PNYX_LLM")
                else:
                    found[line] = done(line)
        yield folder, found


def of(found: dict[str, str], *words: str) -> str:
    return next(text for line, text in found.items() if all(word in line for word in words))


def test_the_walk_ends_in_corrected_leaderboards_and_pages(said):
    folder, found = said
    board = (folder / "judged.txt").read_text()
    values = {tuple(row.split()[:3]): float(row.split()[3]) for row in board.splitlines()}
    assert values["careless", "zoos", "nugget_recall"] == 0  # left out, by the campaign's rule
    assert values["careless", "homework", "citation_precision"] == 0  # made up, and unknown
    assert values["bm25-long", "all", "citation_precision"] == 1  # quoted
    record = json.loads((folder / "judged.txt.manifest.json").read_text())
    assert len(record["runs"]) == 5
    assert ": the same bytes (1 file)" in of(found, "repeat judged.txt")
    assert ": the same bytes (2 files)" in of(found, "repeat judged-llm")
    corrected = of(found, "--people people.txt")
    rows = re.findall(r"^bm25-long +\S+ .* (5 of 8)$", corrected, re.M)
    assert rows
    assert "tau" in of(found, "--plot ranks.svg")
    assert (folder / "ranks.svg").read_text().startswith("<svg")
    assert (folder / "pages" / "index.html").is_file()


def test_people_were_asked_what_the_samples_say(said):
    folder, found = said
    about = json.loads((folder / "people" / "sample.json").read_text())
    assert (len(about["drawn"]), about["population"]) == (5, 8)
    assert len(rows_of(folder / "people.jsonl")) == sum(about["tasks"].values())
    assert "on which the judges differ" in of(found, "--out disputed")
    accuracies = [
        float(
            re.search(
                r"^accuracy +(\S+)",
                of(found, f"measure disputed/support-{name}.jsonl"),
                re.M,
            )[1]
        )
        for name in ("judged", "judged-llm")
    ]
    assert sum(accuracies) == pytest.approx(1)  # of two who differ, one is right
    unscored = json.loads((folder / "people-judged/manifest.json").read_text())["counts"]
    assert unscored["unscored"] == 0


def test_files_of_trec_go_the_same_way(tmp_path, monkeypatch):
    if not (DATA / "kiddie").is_dir() or not (DATA / "ragtime26_bitem").is_dir():
        pytest.skip("needs the files of TREC (PNYX_DATA)")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PNYX_STORE", str(tmp_path / "store.sqlite"))
    monkeypatch.delenv("PNYX_LLM", raising=False)
    shutil.copytree(DATA / "kiddie", "kiddie")
    shutil.copytree(DATA / "ragtime26_bitem", "ragtime")
    found = {}
    for language, block in blocks(trec=True):
        if language == "python":
            exec(block, {"__name__": "__main__"})
        else:
            found |= {line: done(line) for line in steps(block)}
    assert "have a different text there than in the collection" in of(found, "--out kiddie-judged")
    assert "Kendall" in of(found, "--measure-b RELEVANCE")
    assert "sentence_precision is unscored" in of(found, "refused.txt")
    assert not Path("refused.txt").exists()
    assert len(rows_of("ragtime-judged/reports.jsonl")) == 104
    assert Path("ragtime.txt").stat().st_size
