"""Plugins: docs/reference/plugins.md word for word, installed into a folder, by command line."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from dataclasses import replace
from pathlib import Path

import pytest

from argue_report import write_files, write_labels
from listener import Listener
from pnyx.cli import COMMANDS
from pnyx.core.plugins import APART
from pnyx.judging.students.student import write_manifest
from student_fixture import labelled_rows, tiny_student, write_rows

PAGE = Path(__file__).parents[1] / "docs" / "reference" / "plugins.md"
BLOCK = re.compile(r"^```(python|toml|text)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
PYTHON = os.pathsep.join(path for path in sys.path if path)


def install(folder: Path, name: str, entries: dict[str, dict[str, str]], **modules: str) -> Path:
    """Write a distribution as pip would: its package and what its metadata says of it."""
    package = folder / name.replace("-", "_")
    package.mkdir(parents=True, exist_ok=True)
    (package / "__init__.py").touch()
    for module, source in modules.items():
        (package / f"{module}.py").write_text(source, encoding="utf-8")
    about = folder / f"{package.name}-1.0.dist-info"
    about.mkdir()
    told = f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\nSummary: Of {name}.\n"
    (about / "METADATA").write_text(told)
    lines = []
    for group, points in entries.items():
        lines += [f"[{group}]", *(f"{key} = {value}" for key, value in points.items())]
    (about / "entry_points.txt").write_text("\n".join(lines) + "\n")
    return folder


@pytest.fixture
def pnyx(tmp_path):
    """Run `pnyx ARGUMENTS` in a process that finds the distributions of a folder first."""

    def pnyx(folder: Path | None, *arguments: object) -> tuple[int, str, str]:
        path = PYTHON if folder is None else os.pathsep.join([str(folder), PYTHON])
        environment = {k: v for k, v in os.environ.items() if k != "PNYX_LLM"}
        done = subprocess.run(
            [sys.executable, "-m", "pnyx", *map(str, arguments)],
            cwd=tmp_path,
            env={**environment, "PYTHONPATH": path, "PNYX_STORE": str(tmp_path / "s.sqlite")},
            capture_output=True,
            text=True,
        )
        return done.returncode, done.stdout, done.stderr

    return pnyx


@pytest.fixture(scope="module")
def tea(tmp_path_factory) -> Path:
    """The plugin of the page."""
    blocks = BLOCK.findall(PAGE.read_text("utf-8"))
    sources = [source for kind, source in blocks if kind == "python"]
    (project,) = [tomllib.loads(source)["project"] for kind, source in blocks if kind == "toml"]
    parts = ("command", "judge", "student", "format", "measure", "engine", "workers")
    modules = dict(zip(parts, sources, strict=True))
    return install(
        tmp_path_factory.mktemp("tea"), project["name"], project["entry-points"], **modules
    )


def test_the_page_names_every_group():
    from pnyx.core.plugins import KINDS

    assert all(f"`pnyx.{kind}`" in PAGE.read_text("utf-8") for kind in KINDS)


def test_a_command_is_listed_and_runs(tea, pnyx, tmp_path):
    (tmp_path / "corpus.jsonl").write_text('{"id": "1", "text": "Tea calms people."}\n')
    assert pnyx(tea, "words", "corpus.jsonl") == (0, "3 words in 1 documents\n", "")
    code, out, err = pnyx(tea, "--help")
    assert (code, err) == (0, "")
    assert re.search(r"Plugins:\n(  .*\n)*  words +Of pnyx-tea\.", out)
    assert pnyx(tea, "words", "none.jsonl")[0] == 2


def test_a_judge_answers(tea, pnyx, tmp_path):
    row = {"id": "1", "text": "Tea calms people.", "statement": "tea calms"}
    (tmp_path / "items.jsonl").write_text(json.dumps(row) + "\n")
    command = ("judge", "support", "items.jsonl", "--out", "judged", "--judge")
    assert pnyx(tea, *command, "overlap")[0] == 0
    (answer,) = (tmp_path / "judged" / "answers.jsonl").read_text().splitlines()
    told = json.loads(answer)
    assert (told["value"], told["probability"], told["judge"]) == (True, 1.0, "overlap")
    code, _, err = pnyx(tea, *command, "nobody")
    assert code == 2
    assert err.startswith("pnyx: --judge: found 'nobody', which is not a file or folder, "), err
    assert "a judge of a plugin (overlap)" in err
    items = '{"id": "1", "text": "Tea calms people.", "topic": "tea"}\n'
    (tmp_path / "texts.jsonl").write_text(items)
    code, _, err = pnyx(
        tea, "judge", "quality", "texts.jsonl", "--out", "q", *command[-1:], "overlap"
    )
    assert (code, err) == (
        2,
        "pnyx: --judge overlap does not answer quality (see pnyx judge --help)\n",
    )
    (tmp_path / "gold.jsonl").write_text('{"id": "1", "value": true}\n')
    for names in (("overlap", "gold.jsonl"), ("gold.jsonl", "overlap")):
        code, _, err = pnyx(tea, *command, names[0], "--judge", names[1])
        alone = f"pnyx: --judge: {names[0]} answers alone; only language models vote"
        assert (code, err) == (2, f"{alone} (see pnyx judge --help)\n")


def test_a_student_is_trained_and_asked(tea, pnyx, tmp_path):
    write_rows(tmp_path / "labels.jsonl", labelled_rows())
    command = ("annotate", "distil", "labels.jsonl", "--out", "student", "--kind", "words")
    code, out, err = pnyx(tea, *command, "--seed", "3")
    assert (code, err) == (0, "")
    assert out.startswith("words: trained on ")
    manifest = json.loads((tmp_path / "student" / "student.json").read_text())
    assert (manifest["kind"], manifest["about"]["training"]["seed"]) == ("words", 3)
    ask = ("judge", "relevance", "labels.jsonl", "--judge", "student", "--out")
    assert pnyx(tea, *ask, "judged")[0] == 0
    assert len((tmp_path / "judged" / "answers.jsonl").read_text().splitlines()) == 64
    code, _, err = pnyx(None, *ask, "again")
    assert (code, err.count("\n")) == (2, 1)
    assert "student: kind: found 'words', expected one of combined, " in err
    code, _, err = pnyx(None, *command, "--force")
    assert code == 2
    assert err.startswith(
        "pnyx: --kind: found 'words', expected combined, late-interaction, lexical, lora (see"
    )
    code, _, err = pnyx(tea, *command, "--force", "--epochs", "3")
    assert code == 2
    assert err.startswith("pnyx: --kind words has no option --epochs (see")


def test_a_record_may_not_choose_a_plugin_even_next_to_a_file_of_its_name(tea, pnyx, tmp_path):
    row = {"id": "1", "text": "Tea calms people.", "statement": "tea calms"}
    (tmp_path / "items.jsonl").write_text(json.dumps(row) + "\n")
    assert pnyx(tea, "judge", "support", "items.jsonl", "--out", "R", "--judge", "overlap")[0] == 0
    (tmp_path / "overlap").write_text('{"id": "1", "value": true}\n')
    code, _, err = pnyx(tea, "files", "repeat", "R")
    assert code == 2
    assert "the record names a judge (judge: overlap)" in err
    (tmp_path / "overlap").unlink()
    assert pnyx(tea, "files", "repeat", "R", "--with", "judge=overlap")[:2] == (
        0, "R: the same bytes (1 file)\n",
    )  # fmt: skip


def test_a_format_is_recognised_read_and_validated(tea, pnyx, tmp_path):
    (tmp_path / "corpus.bars").write_text("d1 | Tea calms people.\nd2 | Coffee does not.\n")
    assert pnyx(tea, "files", "validate", "corpus.bars") == (
        0,
        "corpus.bars: ok (bars, 2 records)\n",
        "",
    )
    code, _, err = pnyx(tea, "files", "convert", "corpus.bars", "--to", "jsonl", "-o", "d.jsonl")
    assert code == 0, err
    assert len((tmp_path / "d.jsonl").read_text().splitlines()) == 2
    (tmp_path / "broken").write_text("d1 | Tea.\nCoffee\n")
    code, out, _ = pnyx(tea, "files", "validate", "broken", "--format", "bars")
    assert (code, out) == (2, "broken:2: expected ID | TEXT\n")
    code, out, _ = pnyx(None, "files", "validate", "corpus.bars", "--format", "bars")
    assert code == 2
    assert "no format 'bars' here" in out


@pytest.mark.all
def test_an_engine_is_searched_by_address(tea, pnyx, tmp_path):
    (tmp_path / "corpus.bars").write_text("d1 | Coffee does not.\nd2 | Tea calms people.\n")
    search = ("search", "bars:corpus.bars", "tea calms")
    code, out, err = pnyx(tea, *search, "--model", "bm25", "--json")
    assert code == 0, err
    assert [(hit["id"], hit["score"]) for hit in json.loads(out)] == [("d2", 2.0)]
    code, _, err = pnyx(tea, *search, "--model", "dirichlet")
    assert (code, err) == (2, "pnyx: bars: has no model dirichlet, expected bm25\n")
    assert pnyx(None, *search)[0] == 2  # a folder of that name


@pytest.mark.all
def test_workers_compute_what_this_process_does(tea, pnyx, tmp_path):
    (tmp_path / "c.bars").write_text("d1 | Tea calms people.\nd2 | Coffee does not calm them.\n")
    row = {"id": "1", "text": "Tea calms people.", "statement": "Tea is calming."}
    (tmp_path / "items.jsonl").write_text(json.dumps(row) + "\n")
    for out, index, judge in (
        ("here", (), ()),
        ("there", ("--engine", "nice"), ("--set", "engine=nice")),
    ):
        code, _, err = pnyx(tea, "index", "c.bars", "--out", f"{out}.index", *index)
        assert code == 0, err
        code, _, err = pnyx(tea, "judge", "support", "items.jsonl", "--out", out, *judge)
        assert code == 0, err
    names = ["here/answers.jsonl"]
    names += [path for path in tmp_path.glob("here.index/**/*") if "feature" in path.name]
    assert len(names) == 3
    for name in names:
        here = tmp_path / name
        there = tmp_path / str(here.relative_to(tmp_path)).replace("here", "there", 1)
        assert here.read_bytes() == there.read_bytes()


@pytest.mark.all
def test_a_measure_is_measured(tea, pnyx, tmp_path):
    run, bank = write_files(tmp_path, "ids")
    gold = write_labels(tmp_path / "labels.jsonl")
    judge = ("judge", "report", run, "--nuggets", bank, "--judge", gold, "--out", "judged")
    assert pnyx(None, *judge)[0] in (0, 3)
    code, out, err = pnyx(tea, "measure", "report", "judged", "--json")
    assert code in (0, 3), err
    (run_,) = json.loads(out)["runs"]
    assert run_["measures"]["cited_share"]["value"] > 0
    assert "cited_share" in pnyx(tea, "measure", "report", "judged")[1]
    assert pnyx(None, "measure", "report", "judged", "--measure", "cited_share")[0] == 2


BROKEN = {
    "pnyx.commands": {"broken": "pnyx_broken.thing:nothing", "search": "pnyx_broken.thing:search"},
    "pnyx.judges": {"broken": "pnyx_broken.thing:judge"},
    "pnyx.students": {"broken": "pnyx_broken.thing:judge", "reader": "pnyx_broken.thing:judge"},
    "pnyx.formats": {"broken": "pnyx_broken.gone:FORMAT", "run": "pnyx_broken.thing:run"},
    "pnyx.measures": {"broken": "pnyx_broken.gone:MEASURE", "First": "pnyx_broken.first:FIRST"},
    "pnyx.prompts": {"support": "pnyx_broken", "broken": "pnyx_broken.gone"},
}
FIRST = """
from pnyx.perspectives import PerspectiveMeasure
from pnyx.perspectives.measures.table import precision
FIRST = PerspectiveMeasure("First", precision)
"""


@pytest.fixture(scope="module")
def broken(tmp_path_factory) -> Path:
    modules = {"thing": "judge = 7\nrun = 8\nsearch = 9\n", "first": FIRST}
    return install(tmp_path_factory.mktemp("broken"), "pnyx-broken", BROKEN, **modules)


@pytest.mark.all
def test_what_cannot_be_loaded_is_one_line_and_breaks_nothing_else(broken, pnyx, tmp_path):
    code, out, err = pnyx(broken, "broken")
    assert (code, out) == (2, "")
    assert err.splitlines()[-1] == (
        "pnyx: pnyx-broken 1.0: pnyx_broken.thing:nothing (pnyx.commands: broken) cannot be "
        "loaded: AttributeError: module 'pnyx_broken.thing' has no attribute 'nothing'"
    )
    (tmp_path / "q.jsonl").write_text('{"id": "1", "text": "Is tea healthy?"}\n')
    assert pnyx(broken, "files", "validate", "q.jsonl") == pnyx(
        None, "files", "validate", "q.jsonl"
    )
    (tmp_path / "what").write_text("?\n")
    code, out, err = pnyx(broken, "files", "validate", "what")
    assert (code, len(out.splitlines())) == (2, 1)
    assert re.fullmatch(r"pnyx: left out: pnyx-broken .*ModuleNotFoundError.*\n", err)
    row = {"id": "1", "text": "Tea calms people.", "statement": "tea calms"}
    (tmp_path / "items.jsonl").write_text(json.dumps(row) + "\n")
    command = ("judge", "support", "items.jsonl", "--out", "judged", "--judge")
    code, _, err = pnyx(broken, *command, "broken")
    assert (code, err.endswith("is of the type int, expected Callable\n")) == (2, True), err
    code, out, err = pnyx(broken, "prompt", "--json")
    assert code == 0
    assert len(err.splitlines()) == 2
    assert {"support", "relevance"} <= {row["name"] for row in json.loads(out)}


def test_nothing_takes_the_place_of_what_is_built_in(broken, pnyx):
    code, out, err = pnyx(broken, "--help")
    assert code == 0
    assert err == (
        "pnyx: left out: pnyx-broken 1.0: pnyx_broken.thing:search (pnyx.commands: search): "
        "Pnyx already has that name\n"
    )
    assert len(re.findall(r"^  search ", out, re.MULTILINE)) == 1
    assert pnyx(broken, "search", "--help")[1].startswith("Usage: pnyx search [OPTIONS] INDEX")


@pytest.mark.all
def test_doctor_lists_all(broken, pnyx):
    code, out, _ = pnyx(broken, "doctor", "--json")
    assert code in (0, 2)  # as the judgement store or a package may lack here
    told = {(p["kind"], p["name"]): p for p in json.loads(out)["plugins"]}
    ours = {kind.removeprefix("pnyx."): names for kind, names in BROKEN.items()}
    assert {(kind, name) for kind, names in ours.items() for name in names} <= set(told)
    assert all(
        p["problem"] for p in told.values() if p["name"] in ("broken", "search", "run", "reader")
    )
    assert told["prompts", "support"]["problem"] == "Pnyx already has that name"
    first = told["measures", "First"]
    assert (first["package"], first["problem"]) == ("pnyx-broken 1.0", "")
    page = pnyx(broken, "doctor")[1]
    assert re.search(r"^Plugins\n(  .*\n)*  measures First +pnyx-broken 1.0$", page, re.MULTILINE)


def test_two_plugins_of_one_name(tea, pnyx, tmp_path):
    module = "import click\nwords = click.command('words')(lambda: click.echo('other'))\n"
    entries = {"pnyx.commands": {"words": "pnyx_also.words:words"}}
    also = install(tmp_path / "also", "pnyx-also", entries, words=module)
    code, out, err = pnyx(f"{tea}{os.pathsep}{also}", "words")
    assert (code, out) == (0, "other\n")  # the first in the alphabet
    assert "pnyx-also 1.0 already has that name" in err


def test_a_command_of_a_group_is_listed_and_runs_and_a_broken_one_stops_no_other(pnyx, tmp_path):
    module = "import click\nwords = click.command('words')(lambda: click.echo('7 words'))\n"
    commands = {
        "files words": "pnyx_group.command:words",
        "files broken": "pnyx_group.gone:command",
        "files validate": "pnyx_group.command:words",
    }
    folder = install(tmp_path / "p", "pnyx-group", {"pnyx.commands": commands}, command=module)
    taken = (
        "pnyx: left out: pnyx-group 1.0: pnyx_group.command:words (pnyx.commands: files validate): "
        "Pnyx already has that name\n"
    )
    code, out, err = pnyx(folder, "files", "--help")
    assert (code, err) == (0, taken)
    assert re.search(r"Plugins:\n(  .*\n)*  words +Of pnyx-group\.", out)
    assert len(re.findall(r"^  validate ", out, re.MULTILINE)) == 1
    assert pnyx(folder, "files", "words")[:2] == (0, "7 words\n")
    assert pnyx(folder, "files", "validate", "--help")[1].startswith("Usage: pnyx files validate ")
    code, out, err = pnyx(folder, "files", "broken")
    assert (code, out) == (2, "")
    assert err.splitlines()[-1].startswith("pnyx: pnyx-group 1.0: pnyx_group.gone:command ")
    code, _, err = pnyx(folder, "words")  # it is not a command of the first page
    assert (code, "No such command" in err) == (2, True)
    told = json.loads(pnyx(folder, "doctor", "--json")[1])["plugins"]
    problems = {plugin["name"]: plugin["problem"] for plugin in told}
    assert problems["files words"] == ""
    assert problems["files validate"] == "Pnyx already has that name"


def test_a_measure_of_rankings(broken):
    program = (
        "from pnyx.perspectives.measures.table import parse_perspective_measure as parse\n"
        "print(parse('First@3'))"
    )
    path = os.pathsep.join([str(broken), PYTHON])
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
    )
    assert done.stdout == "First@3\n", done.stderr


def test_without_the_plugin_a_command_says_how_to_install_it(tmp_path):
    """As where no plugin is installed."""
    (tmp_path / "d.md").write_text("## 1: Is tea healthy?\n\n- pro: Tea is healthy.\n")
    items = tmp_path / "items.jsonl"
    items.write_text('{"id": "1", "text": "Tea calms.", "statement": "Tea is healthy."}\n')
    labels = str(write_rows(tmp_path / "labels.jsonl", labelled_rows()))
    lora = str(tmp_path / "lora")
    kind = replace(tiny_student().student, kind="lora", files={})
    (tmp_path / "lora").mkdir()
    write_manifest(tmp_path / "lora", kind)
    program = (
        "import sys, pnyx.core.plugins\n"
        "pnyx.core.plugins.installed = lambda kind: []\n"
        "from pnyx.cli import main; main(sys.argv[1:])"
    )
    said = {}
    for arguments in (
        ["build", "draft"],
        ["files", "validate", str(tmp_path / "d.md")],
        ["files", "web", "q.jsonl"],
        ["search", "pyserini:index", "tea"],
        ["judge", "support", str(items), "--set", "engine=ray", "--out", str(tmp_path / "x")],
        ["annotate", "distil", labels, "--out", str(tmp_path / "student")],
        ["judge", "relevance", labels, "--judge", lora, "--out", str(tmp_path / "judged")],
    ):
        done = subprocess.run(
            [sys.executable, "-c", program, *arguments],
            env={**os.environ, "PYTHONPATH": PYTHON},
            capture_output=True,
            text=True,
        )
        assert done.returncode == 2
        said[" ".join(arguments[:2])] = done.stderr
    install = "is a plugin: pip install"
    assert said == {
        "build draft": f"pnyx: `pnyx build` {install} pnyx-build\n",
        "files validate": f"pnyx: the format drafts-markdown {install} pnyx-build\n",
        "files web": f"pnyx: `pnyx files web` {install} pnyx-crawl\n",
        "search pyserini:index": f"pnyx: the engine of pyserini: {install} pnyx-pyserini\n",
        "judge support": "pnyx: engine needs a plugin: pip install pnyx-ray\n",
        "annotate distil": (
            f"pnyx: --kind combined {install} pnyx-train; --kind lexical needs none\n"
        ),
        "judge relevance": (
            "pnyx: a student of the kind lora needs a plugin: pip install pnyx-train\n"
        ),
    }
    assert not (tmp_path / "x").exists()
    kinds = {f"--kind {kind}" for kind in ("combined", "late-interaction", "lora")}
    assert set(APART) == {"build", "drafts-markdown", "files web", "pyserini:", "--engine", *kinds}
    assert not set(APART) & set(COMMANDS)


@pytest.mark.all
def test_a_record_of_a_stranger_leads_to_no_plugin(pnyx, tmp_path):
    with Listener() as listener:
        connects = f"import socket\nsocket.create_connection(('127.0.0.1', {listener.port}))\n"
        entries = {"pnyx.judges": {"spy": "spy.it:make"}, "pnyx.engines": {"spy": "spy.it:make"}}
        folder = install(tmp_path / "plugin", "spy", entries, it=connects)
        items = tmp_path / "items.jsonl"
        items.write_text(json.dumps({"id": "1", "text": "Fares fell.", "statement": "Cheaper."}))
        assert pnyx(folder, "judge", "support", "items.jsonl", "--out", "R")[0] == 0
        manifest = json.loads((tmp_path / "R" / "manifest.json").read_text())
        index = tmp_path / "spy:x"  # a folder with the name of an index of the plugin's engine
        index.mkdir()
        (index / "manifest.json").write_text('{"format": "pnyx-index"}')
        for record, problem in (
            ({"options": {"judge": ["spy"]}}, "the record names a judge (judge: spy)"),
            ({"options": {"index": "spy:x"}}, "the record names an address (index: spy:x)"),
            ({"inputs": {"spy:x": "0" * 64}}, "spy:x"),
        ):
            row = {**manifest, "record": {**manifest["record"], **record}}
            (tmp_path / "forged.json").write_text(json.dumps(row))
            status, out, said = pnyx(folder, "files", "repeat", "forged.json")
            assert (status, out, said.count("\n")) == (2, "", 1)
            assert problem in said
            assert listener.connections == 0
            if "judge" in record.get("options", {}):
                pnyx(folder, "files", "repeat", "forged.json", "--with", "judge=spy")
                assert listener.connections == 1
                listener.connections = 0
