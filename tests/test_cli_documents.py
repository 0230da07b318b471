"""Commands given a file or folder in place of an index, and the command that was meant."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from command import called, refuser, rows_of
from pnyx.core.placement import try_lock, unlock
from pnyx.search.index import Index
from pnyx.search.lexical.manifest import contents, read_manifest, write_manifest

pytestmark = pytest.mark.usefixtures("run_once", "own_place")

QUESTION = "Should voting be compulsory?"
TEXTS = {
    "for.md": "# Voting\n\nVoting should be compulsory, because turnout rises for everyone.\n",
    "against.txt": "Compulsory voting is wrong, because it violates the freedom of citizens.\n",
    "zoos.html": "<p>Zoos should close, because they are cruel to animals of every kind.</p>",
}
argue, search = refuser("argue"), refuser("search")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Three documents in the folder `debates` of the working directory."""
    made = tmp_path / "debates"
    made.mkdir()
    for name, text in TEXTS.items():
        (made / name).write_text(text)
    return made


def names(index: str) -> set[str]:
    opened = Index.open(index)
    return {opened.document_at(number).id for number in range(len(opened))}


def test_a_folder_is_indexed_once_and_refreshed_when_files_change(folder, capsys):
    status, out, err = called(capsys, "argue", "debates", QUESTION)
    assert (status, out.splitlines()[0]) == (0, f"# {QUESTION}")
    line = "pnyx: debates: 3 files: 3 read; indexed in debates.index (3 documents)"
    assert err.splitlines()[0] == line
    assert set(read_manifest(Path("debates.index"))["features"]) == {"quality", "vectors"}
    _, again, err = called(capsys, "argue", "debates", QUESTION)
    assert again == out
    line = "pnyx: debates: 3 files: 3 read; no file has changed since debates.index was made"
    assert err.splitlines()[0] == line
    (folder / "more.txt").write_text("Voting is a duty.")
    (folder / "zoos.html").unlink()
    _, out, err = called(capsys, "search", str(folder), "duty", "-k", "1")
    assert err == (
        f"pnyx: {folder}: 3 files: 3 read; {folder}.index refreshed: 1 new (more.txt), "
        "1 deleted (zoos.html)\n"
    )
    assert "more.txt" in out
    assert names("debates.index") == {"for.md", "against.txt", "more.txt"}


def test_files_that_are_not_read_are_warned_of_each_time(folder, capsys):
    (folder / "photo.png").write_bytes(b"\x89PNG\0")
    for end in (
        "indexed in debates.index (3 documents)",
        "no file has changed since debates.index",
    ):
        err = called(capsys, "search", "debates", "voting")[2]
        start = "pnyx: warning: debates: 4 files: 3 read, 1 of unknown type (photo.png); "
        assert err.startswith(start + end)


@pytest.mark.parametrize("verb", ["argue", "search"])
@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("speech.txt", TEXTS["against.txt"]),
        ("rows.csv", f'id,text\n1,"{TEXTS["against.txt"].strip()}"\n'),
        ("rows.jsonl", json.dumps({"id": "1", "text": TEXTS["against.txt"]}) + "\n"),
    ],
)
def test_a_file_is_indexed_next_to_it(verb, name, content, tmp_path, capsys):
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / name).write_text(content)
    status, _, err = called(capsys, verb, f"sub/{name}", QUESTION)
    assert status == 0
    line = f"pnyx: sub/{name}: indexed in sub/{name}.index (1 document)"
    assert err.splitlines()[0] == line


def test_long_documents_of_a_table_are_said_once_with_the_command_that_splits_them(capsys):
    Path("rows.csv").write_text(f'id,text\n1,"{TEXTS["against.txt"].strip() * 30}"\n')
    first, second, *_ = called(capsys, "search", "rows.csv", "freedom")[2].splitlines()
    assert first == "pnyx: rows.csv: indexed in rows.csv.index (1 document)"
    command = "pnyx index rows.csv --unit passage --out rows.csv.index --force"
    assert second.startswith("pnyx: 1 document is longer than ")
    assert second.endswith(f" words. To split them: {command}")
    assert called(capsys, *command.split()[1:], "--words-only")[0] == 0
    assert len(called(capsys, "search", "rows.csv", "freedom")[2].splitlines()) == 1


def test_an_index_next_to_documents_is_never_read_as_documents(folder, capsys):
    called(capsys, "search", "debates", "voting")
    err = called(capsys, "search", ".", "voting")[2]
    assert ": 3 files: 3 read; " in err
    (index,) = Path("..").glob(f"{Path.cwd().name}.index")
    assert names(str(index)) == {f"debates/{name}" for name in TEXTS}


def test_features_that_are_missing_are_made(folder, capsys):
    called(capsys, "index", "debates", "--out", "debates.index", "--words-only")
    assert "features" not in read_manifest(Path("debates.index"))
    assert called(capsys, "search", "debates", "voting")[0] == 0
    features = read_manifest(Path("debates.index"))["features"]
    assert {name: feature["documents"] for name, feature in features.items()} == {
        "quality": 3,
        "vectors": 3,
    }


@pytest.mark.parametrize(
    ("feature", "key", "option"),
    [("vectors", "embedder", "--embedder"), ("quality", "model", "--quality-model")],
)
def test_features_by_another_model_are_not_made_again_by_the_packaged_one(
    feature, key, option, folder, capsys
):
    called(capsys, "search", "debates", "voting")
    manifest = read_manifest(Path("debates.index"))
    manifest["features"][feature]["meta"][key] = "other"
    write_manifest(Path("debates.index"), contents(manifest))
    assert called(capsys, "search", "debates", "voting")[0] == 0
    (folder / "more.txt").write_text("Voting is a duty.")
    status, _, err = called(capsys, "search", "debates", "voting")
    command = f"pnyx index debates --add debates.index {option} NAME"
    assert status == 2
    assert err.splitlines()[-1] == (
        f"pnyx: debates.index: part of it was made by other. Use: {command}"
    )


def test_topics_that_are_due_again_are_warned_of(folder, capsys):
    assert called(capsys, "index", "debates", "--out", "debates.index", "--clusters")[0] == 0
    (folder / "zoos.html").unlink()
    err = called(capsys, "search", "debates", "voting")[2]
    assert err.splitlines()[1] == (
        "pnyx: warning: documents were removed. To bring its features up to date: "
        "pnyx index --update debates.index --clusters"
    )


@pytest.mark.all
def test_processes_wait_for_each_other(folder):
    command = [sys.executable, "-m", "pnyx", "search", "debates", "voting"]
    handle = os.open(folder, os.O_RDONLY)
    try:
        assert try_lock(handle)
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        both = [subprocess.Popen(command, **pipes) for _ in range(2)]
        for process in both:
            assert process.stderr.readline() == (
                "pnyx: debates: another process is indexing it; waiting until it has finished\n"
            )
        assert not Path("debates.index").exists()
    finally:
        unlock(handle)
        os.close(handle)
    said = sorted(process.communicate()[1] for process in both)
    assert [process.returncode for process in both] == [0, 0]
    assert "indexed in debates.index" in said[0]
    assert "no file has changed since debates.index" in said[1]
    assert names("debates.index") == set(TEXTS)


@pytest.mark.skipif(not Path("/proc/self/fdinfo").is_dir(), reason="no folder of the system")
def test_a_folder_that_cannot_be_written_next_to_names_the_command(capsys):
    err = argue(capsys, "/proc/self/fdinfo", QUESTION)
    assert err.endswith("Use: pnyx index /proc/self/fdinfo --out ELSEWHERE\n")
    assert "fdinfo.index cannot be written: " in err
    assert argue(capsys, "/", QUESTION) == (
        "pnyx: /: its index cannot be kept next to it. Use: pnyx index / --out ELSEWHERE\n"
    )


def test_what_has_the_name_of_the_index_is_left_alone(folder, capsys):
    use = "Use: pnyx index debates --out ELSEWHERE\n"
    Path("debates.index").mkdir()
    Path("debates.index", "notes.txt").write_text("mine")
    err = argue(capsys, "debates", QUESTION)
    assert err == f"pnyx: debates: debates.index exists and is not an index. {use}"
    Path("debates.index", "notes.txt").rename("notes.txt")
    Path("debates.index").rmdir()
    called(capsys, "index", "notes.txt", "--out", "debates.index", "--words-only")
    err = argue(capsys, "debates", QUESTION)
    assert err == f"pnyx: debates: debates.index exists and was not made from it. {use}"
    assert names("debates.index") == {"notes.txt"}


def test_perspectives_reports_and_the_other_verbs_take_documents(folder, capsys):
    err = called(capsys, "perspectives", QUESTION, "--index", "debates")[2]
    assert "indexed in debates.index" in err
    Path("requests.jsonl").write_text(
        json.dumps({"request_id": "1", "title": "Voting", "problem_statement": QUESTION}) + "\n"
    )
    asked = ("--requests", "requests.jsonl", "--out", "run.jsonl")
    status, _, err = called(capsys, "report", "debates", *asked)
    assert status == 0
    assert "no file has changed since debates.index was made" in err
    assert len(rows_of("run.jsonl")) == 1
    Path("topics.jsonl").write_text(json.dumps({"id": "1", "text": QUESTION}) + "\n")
    pairs = ("sample", "debates", "topics.jsonl", "--out", "pairs.jsonl")
    status, _, err = called(capsys, "annotate", *pairs)
    assert (status, rows_of("pairs.jsonl")[0]["question"]) == (0, QUESTION), err


# What was meant -----------------------------------------------------------------------------------

EXAMPLE = "'Should voting be compulsory?'"
CARS = "'Should we ban cars?'"


@pytest.mark.parametrize("verb", ["argue", "search"])
@pytest.mark.parametrize(
    ("words", "problem", "meant"),
    [
        (["Should we ban cars?", "debates"], "INDEX comes first, then QUESTION", f"debates {CARS}"),
        (
            ["debates", *"Should we ban cars?".split()],
            "QUESTION is more than one word and needs quotes",
            f"debates {CARS}",
        ),
        (
            [*"Should we ban cars?".split(), "debates"],
            "QUESTION is more than one word and needs quotes",
            f"debates {CARS}",
        ),
        (
            "Should we ban cars?".split(),
            "QUESTION is more than one word and needs quotes",
            f"FILE_OR_FOLDER {CARS}",
        ),
        (
            ["my", "debates", "Should we ban cars?"],
            "INDEX has spaces and needs quotes",
            f"'my debates' {CARS}",
        ),
        (["debates", ""], "QUESTION is empty", f"debates {EXAMPLE}"),
        (["debates", " \n"], "QUESTION is empty", f"debates {EXAMPLE}"),
        (["debates"], "QUESTION is missing", f"debates {EXAMPLE}"),
        (["Should we ban cars?"], "INDEX is missing", f"FILE_OR_FOLDER {CARS}"),
        (["Cars?"], "INDEX is missing", "FILE_OR_FOLDER 'Cars?'"),
        (
            ["debtes", "Should we ban cars?"],
            "debtes: is not there. Did you mean debates?",
            f"debates {CARS}",
        ),
        (
            ["debates/fro.md", "Should we ban cars?"],
            "debates/fro.md: is not there. Did you mean debates/for.md?",
            f"debates/for.md {CARS}",
        ),
        (
            ["nothing", "Should we ban cars?"],
            "nothing: is not there, expected an index, or a file or folder of documents",
            f"FILE_OR_FOLDER {CARS}",
        ),
        (
            ["photo.png", "Should we ban cars?"],
            "photo.png: is a .png file, which Pnyx does not read as documents",
            f"FILE_OR_FOLDER {CARS}",
        ),
        (
            ["photo", "Should we ban cars?"],
            "photo: is a binary file, which Pnyx does not read as documents",
            f"FILE_OR_FOLDER {CARS}",
        ),
        (
            ["run.trec", "Should we ban cars?"],
            "run.trec: is a TREC run, expected documents",
            f"FILE_OR_FOLDER {CARS}",
        ),
        (
            ["qrels.txt", "Should we ban cars?"],
            "qrels.txt: holds qrels, expected documents",
            f"FILE_OR_FOLDER {CARS}",
        ),
    ],
)
@pytest.mark.parametrize("given", [[], ["--set=dense-weight=0.5", "--model", "hybrid"]])
def test_the_command_that_was_meant_is_named(
    verb, words, problem, meant, given, folder, tmp_path, capsys
):
    (tmp_path / "my debates").mkdir()
    (tmp_path / "my debates" / "a.txt").write_text("Voting is a duty.")
    for name in ("photo.png", "photo"):
        (tmp_path / name).write_bytes(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR")
    (tmp_path / "run.trec").write_text("1 Q0 d1 1 0.5 tag\n")
    (tmp_path / "qrels.txt").write_text("1 0 d1 1\n")
    more = f" {' '.join(given)}" if given else ""
    end = "" if problem.endswith("?") else "."
    assert refuser(verb)(capsys, *given, *words) == (
        f"pnyx: {problem}{end} Use: pnyx {verb} {meant}{more}\n"
    )
    assert not list(tmp_path.glob("*.index"))


def test_other_verbs_name_the_command_that_was_meant(folder, capsys):
    for words, said in [
        (["argue"], f"INDEX and QUESTION are missing. Use: pnyx argue FILE_OR_FOLDER {EXAMPLE}"),
        (
            ["serve", "debtes"],
            "debtes: is not there. Did you mean debates? Use: pnyx serve debates",
        ),
        (["perspectives"], f"QUESTION is missing. Use: pnyx perspectives {EXAMPLE}"),
        (
            ["perspectives", "Should", "we?", "--index", "debtes"],
            "QUESTION is more than one word and needs quotes. "
            "Use: pnyx perspectives 'Should we?' --index debtes",
        ),
        (
            ["perspectives", "Should we?", "--index", "debtes"],
            "debtes: is not there. Did you mean debates? "
            "Use: pnyx perspectives 'Should we?' --index debates",
        ),
        (
            ["argue", "--", "debtes", "-Should we?"],
            "debtes: is not there. Did you mean debates? Use: pnyx argue -- debates '-Should we?'",
        ),
        (
            ["argue", "-", "Should we?"],
            "standard input: expected an index, a file or a folder. "
            "Use: pnyx index - --out my.index && pnyx argue my.index 'Should we?'",
        ),
        (
            ["argue", "ir_datasets:x", "Should we?"],
            "ir_datasets:x: expected an index, a file or a folder. "
            "Use: pnyx index ir_datasets:x --out my.index && pnyx argue my.index 'Should we?'",
        ),
    ]:
        assert refuser(*words)(capsys) == f"pnyx: {said}\n"


def test_other_faults_of_usage_stay_what_they_are(folder, capsys):
    assert "No such option" in argue(capsys, "debates", "Should", "we?", "--nosuch")
    assert "(see pnyx search tune --help)" in refuser("search", "tune")(capsys, "debates")
    assert "unexpected extra argument" in refuser("serve")(capsys, "debates", "more")


def test_a_folder_without_documents_says_what_would_be_read(tmp_path, capsys):
    (tmp_path / "pictures").mkdir()
    expected = "expected files that end in .txt, "
    assert f"pictures: holds no documents, {expected}" in argue(capsys, "pictures", QUESTION)
    (tmp_path / "pictures" / "a.png").write_bytes(b"\x89PNG\0")
    found = "(1 file: 0 read, 1 of unknown type (a.png))"
    assert f"holds no documents {found}, {expected}" in argue(capsys, "pictures", QUESTION)
    assert not (tmp_path / "pictures.index").exists()


@pytest.mark.parametrize("named", ["debates.index", "debates", "other"])
def test_an_index_of_an_older_format_names_the_command_that_makes_it_again(named, folder, capsys):
    index = "other" if named == "other" else "debates.index"
    Path(index).mkdir()
    Path(index, "manifest.json").write_text('{"kind": "pnyx-index", "format_version": 1}')
    command = f"pnyx index {'CORPUS' if named == 'other' else 'debates'} --out {index} --force"
    assert argue(capsys, named, QUESTION).endswith(f"index the corpus again. Use: {command}\n")
    if named == "debates":
        assert called(capsys, *command.split()[1:], "--words-only")[0] == 0
        assert called(capsys, "search", named, "voting")[0] == 0
