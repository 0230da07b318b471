"""The command line against bad input, bad systems and bad servers: one clear line, never half."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TypeAlias

import pytest

from chat_server import ChatServer
from command import run, write_rows
from pnyx.cli import main
from pnyx.core.errors import InputError
from pnyx.core.files import atomic_folder
from pnyx.core.records import Document
from pnyx.formats.text.segment import split_sentences
from pnyx.judging.students.student import open_student
from pnyx.search.build import build_index
from pnyx.search.quality_models import read_quality_model
from quality_tool import tool
from student_fixture import labelled_rows

DOCUMENTS = "".join(
    json.dumps({"id": str(i), "text": f"Voting should be compulsory, reason {i}. It is fair."})
    + "\n"
    for i in range(6)
)
QUESTION = "Should voting be compulsory?"

Inside: TypeAlias = Callable[..., subprocess.CompletedProcess[bytes]]


def pnyx(
    *args: str | Path,
    stdin: bytes = b"",
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
) -> subprocess.CompletedProcess[bytes]:
    environment = {
        k: v for k, v in os.environ.items() if not k.startswith(("PNYX_", "PYTHONUNBUFFERED"))
    }
    return subprocess.run(
        [sys.executable, "-m", "pnyx", *map(str, args)],
        input=stdin,
        capture_output=True,
        env={**environment, **(env or {})},
        cwd=cwd,
        timeout=300,
        check=False,
    )


def shell(script: str, cwd: Path) -> subprocess.CompletedProcess[bytes]:
    """Run bash with `pnyx` as a function."""
    head = f'pnyx() {{ "{sys.executable}" -m pnyx "$@"; }}\n'
    return subprocess.run(
        ["bash", "-c", head + script], capture_output=True, cwd=cwd, timeout=300, check=False
    )


def refused(done: subprocess.CompletedProcess[bytes], message: str) -> None:
    """Check that a command ended with one printable line and exit status 2."""
    assert done.returncode == 2, done
    line = done.stderr.decode()
    assert line.startswith("pnyx: "), line
    assert line.count("\n") == 1, line
    assert line.rstrip("\n").isprintable()
    assert message in line


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Hold a corpus, an index of it and support items."""
    made = tmp_path_factory.mktemp("hostile")
    (made / "docs.jsonl").write_text(DOCUMENTS, encoding="utf-8")
    items = [{"id": str(i), "text": "Prices rose.", "statement": f"It rose {i}."} for i in range(3)]
    write_rows(made / "items.jsonl", items)
    assert pnyx("index", made / "docs.jsonl", "--out", made / "i").returncode == 0
    return made


@pytest.fixture
def inside(call: Callable[..., tuple[int, str, str]], monkeypatch: pytest.MonkeyPatch) -> Inside:
    """Run `pnyx ARGUMENTS` in a folder, in this process."""

    def inside(place: Path, *args: str) -> subprocess.CompletedProcess[bytes]:
        monkeypatch.chdir(place)
        monkeypatch.delenv("PNYX_LLM", raising=False)
        status, out, err = call(*args)
        return subprocess.CompletedProcess(args, status, out.encode(), err.encode())

    return inside


# Input that can be read only once -----------------------------------------------------------------


@pytest.mark.all
@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("pnyx files validate <(cat docs.jsonl)", b"(jsonl, 6 records)"),
        ("pnyx files validate <(gzip -c docs.jsonl)", b"(jsonl, 6 records)"),
        ("mkfifo p1; cat docs.jsonl > p1 & pnyx files convert p1 --to beir | wc -l", b"6"),
        (
            "(head -c 9 docs.jsonl; sleep 0.3; tail -c +10 docs.jsonl) | pnyx files validate -",
            b"6 records",
        ),
        ("gzip -c docs.jsonl | pnyx files validate -", b"6 records"),
        ("cat docs.jsonl | pnyx files validate /dev/stdin", b"6 records"),
    ],
)
def test_a_pipe_loses_nothing_to_the_recognition_of_its_format(
    folder: Path, script: str, expected: bytes
) -> None:
    done = shell(script, folder)
    assert expected in done.stdout, done


def test_a_pipe_in_a_folder_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.txt")
    (tmp_path / "b.txt").write_text("Some words.")
    assert b"1 record" in pnyx("files", "validate", tmp_path).stdout


@pytest.mark.parametrize("name", [pytest.param("p2", marks=pytest.mark.all), "link"])
def test_a_pipe_is_written_to_and_not_replaced(folder: Path, tmp_path: Path, name: str) -> None:
    """As `/dev/null` is not, which for root a renamed file would take the place of."""
    os.mkfifo(tmp_path / "p2")
    (tmp_path / "link").symlink_to("p2")
    convert = f"pnyx files convert {folder}/docs.jsonl --to beir -o {name}"
    done = shell(f"cat p2 > got & {convert}; wait; wc -l < got", tmp_path)
    assert done.stdout.strip() == b"6", done
    assert (tmp_path / name).is_fifo()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["got", "link", "p2"]


# Names and bytes ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("index", "docs.jsonl", "--out", "x" * 300), "File name too long"),
        (("judge", "support", "items.jsonl", "--out", "x" * 300), "File name too long"),
        (("demo", "--out", "x" * 300), "File name too long"),
        (("index", "docs.jsonl", "--out", "-"), "expected the name of a folder"),
        (("judge", "support", "items.jsonl", "--out", "-"), "expected the name of a folder"),
        (("demo", "--out", "-"), "expected the name of a folder"),
        (("index", "", "--out", "new"), "empty name"),
        (
            ("files", "convert", "docs.jsonl", "--to", "beir", "-o", ""),
            "expected the name of a file to write",
        ),
        (("index", "no\n\x1b[31m", "--out", "new"), r"no\n\x1b[31m: cannot be read"),
        (("argue", "i", "vo\udcffting"), "not UTF-8"),
    ],
)
def test_bad_names_are_refused(
    folder: Path, args: tuple[str, ...], message: str, inside: Inside
) -> None:
    before = sorted(folder.iterdir())
    refused(inside(folder, *args), message)
    assert sorted(folder.iterdir()) == before


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b'{"id":' + b"9" * 6000 + b',"text":"x"}\n', "not valid JSON (Exceeds the limit"),
        (DOCUMENTS.encode("utf-16")[:-1], "not valid UTF-16"),
        (b"[1, 2]\n", r"cannot be recognised from '[1, 2]\n': name it"),
        (b'{"id":"1","text":"' + b"a" * (17 << 20) + b'"}\n', "longer than 16 MB"),
    ],
)
def test_bad_bytes_are_refused(
    tmp_path: Path, content: bytes, message: str, inside: Inside
) -> None:
    (tmp_path / "c.jsonl").write_bytes(content)
    refused(inside(tmp_path, "index", "c.jsonl", "--out", "new"), message)
    assert [p.name for p in tmp_path.iterdir()] == ["c.jsonl"]


def test_an_index_that_lost_its_manifest_is_still_told_from_a_folder(
    folder: Path, tmp_path: Path
) -> None:
    shutil.copytree(folder / "i", tmp_path / "i")
    (tmp_path / "i" / "manifest.json").write_bytes(bytes(500))
    done = pnyx("files", "validate", tmp_path / "i")
    assert done.returncode == 2
    assert b"damaged" in done.stdout


@pytest.mark.parametrize("text", ["a \ud800 b. \udfff Second.", "\udc80", "One. Two."])
def test_sentences_of_any_text(text: str) -> None:
    sentences = split_sentences(text)
    assert all(s in text for s in sentences)
    assert "".join("".join(sentences).split()) == "".join(text.split())


# Streams and the system ---------------------------------------------------------------------------


@pytest.mark.all
@pytest.mark.parametrize(
    "script",
    [
        "pnyx files convert docs.jsonl --to beir >&-",
        "pnyx search i voting >&-",
        "pnyx judge support items.jsonl --out r$RANDOM 2>&-",
        "pnyx index docs.jsonl --out n$RANDOM 2>&- >&-",
    ],
)
def test_closed_outputs(folder: Path, script: str) -> None:
    done = shell(script, folder)
    assert done.returncode == 0, done
    assert b"Traceback" not in done.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("command", ["files convert docs.jsonl --to beir", "search i voting"])
def test_a_full_standard_output(folder: Path, command: str) -> None:
    refused(shell(f"pnyx {command} >/dev/full", folder), "No space left")


def test_closed_input(folder: Path) -> None:
    refused(shell("pnyx index - --out new <&-", folder), "standard input: is closed")


def test_output_is_utf8_in_any_locale(tmp_path: Path) -> None:
    (tmp_path / "d.jsonl").write_text(
        '{"id": "1", "text": "caf\u00e9 \U0001f600"}\n', encoding="utf-8"
    )
    env = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONIOENCODING": "ascii"}
    done = pnyx("files", "convert", tmp_path / "d.jsonl", "--to", "jsonl", env=env)
    assert done.returncode == 0, done
    assert json.loads(done.stdout)["text"] == "caf\u00e9 \U0001f600"


@pytest.mark.all
def test_interrupted_while_indexing(tmp_path: Path) -> None:
    row = '{"id": "%d", "text": "Voting should be compulsory, as it is fair to all who vote."}\n'
    with subprocess.Popen(
        [sys.executable, "-m", "pnyx", "index", "-", "--out", tmp_path / "i"],
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdin is not None
        assert process.stderr is not None
        process.stdin.write("".join(row % i for i in range(10_000)).encode())
        process.stdin.flush()
        deadline = time.monotonic() + 120
        while not any(tmp_path.iterdir()) and time.monotonic() < deadline:
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        assert process.wait(120) == 130
        assert process.stderr.read().split() == [b"pnyx:", b"interrupted"]
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_appears_meanwhile_is_kept(tmp_path: Path) -> None:
    target = tmp_path / "out"
    writing = atomic_folder(target)
    (writing.__enter__() / "mine").touch()
    target.mkdir()
    (target / "theirs").touch()
    with pytest.raises(InputError, match="exists already"):
        writing.__exit__(None, None, None)
    assert [p.name for p in tmp_path.rglob("*")] == ["out", "theirs"]


# Models that do not answer ------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.usefixtures("run_once")
@pytest.mark.parametrize(
    "behaviour",
    ["prose", *(pytest.param(name, marks=pytest.mark.all) for name in ("empty", "400"))],
)
def test_a_judge_that_fails_is_not_an_absence_of_evidence(
    folder: Path, tmp_path: Path, behaviour: str, call: Callable[..., tuple[int, str, str]]
) -> None:
    report = tmp_path / "a.md"
    with ChatServer(default=behaviour) as server:
        status, _, err = call(
            *("argue", folder / "i", QUESTION, "--md", report, "--html", tmp_path / "a.html"),
            *("--llm", server.spec, "--store", tmp_path / "s", "--set", "timeout=5"),
        )
    if behaviour == "400":  # nothing is written by a model that cannot be used at all
        assert (status, report.exists()) == (2, False)
        assert "every request is refused, even the plainest" in err
        return
    assert status == 3, err
    assert "it did not answer which claim is which" in err
    assert "test returned nothing usable" in err
    for text in (report.read_text(), (tmp_path / "a.html").read_text(), err):
        assert "o evidence for this side was found" not in text
        assert "Nothing was found for this side" not in text
    assert "returned nothing usable" in report.read_text()


@pytest.mark.all
def test_a_question_that_yes_or_no_cannot_answer(tmp_path: Path) -> None:
    text = "Compulsory voting raises turnout among the poor and makes voting fair."
    (tmp_path / "d.jsonl").write_text(json.dumps({"id": "1", "text": text}) + "\n")
    pnyx("index", tmp_path / "d.jsonl", "--out", tmp_path / "i")
    question = "What makes compulsory voting fair?"
    done = pnyx("argue", tmp_path / "i", question)
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.startswith(f"pnyx: “{question}” cannot be answered with yes".encode())
    assert len(done.stderr.splitlines()) == 1


def test_waiting_for_a_model_is_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from click.testing import CliRunner

    from pnyx.cli import app
    from pnyx.judging import open_models

    monkeypatch.setattr(open_models, "_SIGN_SECONDS", 0.0)
    items = tmp_path / "items.jsonl"
    items.write_text('{"id": "1", "text": "Prices rose.", "statement": "It rose."}\n')
    with ChatServer(["500"]) as server:
        args = ["judge", "support", items, "--out", tmp_path / "r", "--store", tmp_path / "s"]
        done = CliRunner().invoke(app, [*map(str, args), "--judge", server.spec])
    assert "asking the model again: server_error: HTTP 500" in done.stderr
    assert "(attempt 1 of 6)" in done.stderr


@pytest.mark.parametrize(
    "arguments",
    [["bogus"], ["search", "x", "q", "--model", "tfidf"], ["index", "--nonsense"]],
)
def test_bad_usage_is_one_line_that_names_the_help(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(*arguments) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert error.startswith("pnyx: ")
    assert error.endswith("--help)\n")


@pytest.mark.parametrize("name", ["manifest.json", "segment-000001.data"])
def test_a_pipe_in_place_of_an_index_file_does_not_hang(
    tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    build_index([Document("d", "Some words.")], tmp_path / "index")
    (tmp_path / "index" / name).unlink()
    os.mkfifo(tmp_path / "index" / name)
    assert run("search", tmp_path / "index", "words") == 2
    assert name in capsys.readouterr().err


# --- headers that Pnyx wrote and somebody changed

_OF_ANOTHER_TYPE = (None, True, -1.5, "x", [], ["packaged"], {"a": [1]})


def _changed(value: object) -> Iterator[object]:
    """Yield a header with each field changed or left out, at any depth, of a list in the first."""
    parts = list(value.items() if isinstance(value, dict) else enumerate(value))
    for name, part in parts if isinstance(value, dict) else parts[:1]:
        if isinstance(value, dict):
            yield {key: other for key, other in parts if key != name}
        others = [*_OF_ANOTHER_TYPE]
        if isinstance(part, dict | list):
            others += _changed(part)
        for other in others:
            copy = dict(value) if isinstance(value, dict) else list(value)
            copy[name] = other
            yield copy


ANNOTATE = "annotate label pairs.jsonl --judge gold.jsonl --annotations-out a.jsonl".split()


@pytest.fixture(scope="module")
def headers(tmp_path_factory):
    """A folder with one of each header that a later command reads."""
    place = tmp_path_factory.mktemp("headers")

    def made(*arguments: str) -> None:
        with pytest.raises(SystemExit) as ended:
            main(list(arguments))
        assert ended.value.code in (0, 3), arguments

    rows = {
        "items": [
            {"id": f"i{n}", "text": f"Buses got cheaper {n}.", "statement": "Fares fell."}
            for n in range(4)
        ],
        "gold": [{"id": f"i{n}", "value": n % 2 == 0} for n in range(4)],
        "pairs": [{"id": "i0", "question": "Buses?", "document": "Buses got cheaper."}],
        "rated": [
            {
                "text": f"Tea {i} calms, as " + "it is so " * (i % 5),
                "quality": i,
                "topic": f"{i % 6}",
            }
            for i in range(30)
        ],
    }
    with pytest.MonkeyPatch.context() as patched:
        patched.chdir(place)
        for name, lines in rows.items():
            write_rows(f"{name}.jsonl", lines)
        made("judge", "support", "items.jsonl", "--judge", "gold.jsonl", "--out", "L")
        made("judge", "support", "items.jsonl", "--out", "R")
        made("measure", "R", "--labels", "gold.jsonl", "--draws", "0")
        made("audit", "run", "--trial", "injection", "items.jsonl", "--out", "S", "--draws", "0")
        made(*ANNOTATE)
        made("audit", "card", "R", "S", "--labels", "gold.jsonl", "--out", "card.json")
        shutil.copy("card.json", "later.json")
        for n in "12":
            made("judge", "support", "items.jsonl", "--shard", f"{n}/2", "--out", f"s{n}")
        assert tool("own_quality").main(["rated.jsonl", "--out", "M"]) == 0
        write_rows(Path("labelled.jsonl"), labelled_rows())
        made(*"annotate distil labelled.jsonl --kind lexical --out T".split())
    return place


@pytest.mark.all
@pytest.mark.parametrize(
    ("header", "command"),
    [
        ("L/manifest.json", "judge support items.jsonl --judge gold.jsonl --out L"),
        ("R/manifest.json", "audit card R --out c.json"),
        ("R/measures.json", "audit card R --out c.html"),
        ("S/summary.json", "audit card S --out c.html"),
        ("S/manifest.json", "audit card S --out c.md"),
        ("card.json", "audit card later.json --against card.json --draws 0"),
        ("R/manifest.json", "audit card R S --against card.json"),
        ("S/summary.json", "audit card R S --against card.json"),
        ("card.json", "view card.json --json"),
        ("s1/manifest.json", "files merge s1 s2 --out M2"),
        ("a.jsonl.manifest.json", " ".join(ANNOTATE)),
        ("M/quality.json", read_quality_model),
        ("T/student.json", open_student),
    ],
)
def test_a_header_with_a_field_of_another_type_is_one_line(
    headers, header, command, monkeypatch, capsys
):
    monkeypatch.chdir(headers)
    path = Path(header)
    whole = path.read_text(encoding="utf-8")
    refused = 0
    try:
        for number, content in enumerate([json.loads(whole), *_changed(json.loads(whole))]):
            path.write_text(json.dumps(content), encoding="utf-8")
            if callable(command):
                try:
                    command(path.parent)
                except InputError:
                    refused += 1
                continue
            with pytest.raises(SystemExit) as ended:
                main(command.split())
            printed = capsys.readouterr()
            said = [one for one in printed.err.splitlines() if one[:5] == "pnyx:"]
            if (
                ended.value.code == 1
            ):  # of audit card --against: another figure, by which it is worse
                assert re.search(r"worse by more than 0\.1: \w", printed.out)
                continue
            assert ended.value.code in ((0, 2, 3) if number else (0, 3))
            assert len(said) == 1 or ended.value.code != 2
            refused += ended.value.code == 2
    finally:
        path.write_text(whole, encoding="utf-8")
    assert refused > 0
