"""A disk that gets full while a command writes several files: none of them changes."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import pytest

from command import caller, write_rows
from pnyx.core.files import write_text
from pnyx.core.placement import newest, placed, placed_together
from test_cli_strict import COLLECTION, campaign
from test_runs_engine import disk_of

__all__ = ["campaign"]

pytestmark = pytest.mark.usefixtures("own_place")
call = caller()
Call: TypeAlias = Callable[..., tuple[int, str, str]]


def contents(folder: Path) -> dict[str, bytes]:
    """Return the files in and under a folder, by path, without stores and caches."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and "sqlite" not in path.name
    }


def check_each_full_disk(call: Call, folder: Path, command: tuple[str, ...], least: int) -> None:
    """Let each file that a command writes be the first that does not fit; nothing may change."""
    before = contents(folder)
    status, _, err = call(*command)
    assert status in (0, 3), err
    after = contents(folder)
    written = {name: data for name, data in after.items() if before.get(name) != data}
    assert len(written) >= least
    restore(folder, before)
    refused = 0
    for size in sorted({len(data) for data in written.values() if data}):
        with disk_of(size - 1):
            status, out, err = call(*command)
        assert (status, out) == (2, ""), (size, err)
        lines = [line for line in err.splitlines() if "cannot be written" in line]
        assert lines == [err.splitlines()[-1]], (size, err)
        assert "File too large" in lines[0]
        assert contents(folder) == before, size
        refused += 1
    assert refused >= least - 1  # two may be of one size, one empty
    assert call(*command)[0] in (0, 3)
    assert contents(folder).keys() == after.keys()


def restore(folder: Path, files: dict[str, bytes]) -> None:
    for path in sorted(folder.iterdir()):
        if path.is_dir():
            shutil.rmtree(path)
        elif "sqlite" not in path.name:
            path.unlink()
    for name, data in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)


def test_a_leaderboard_and_its_record(campaign: list[str], call: Call, tmp_path: Path) -> None:
    assert call("judge", "report", *campaign, *COLLECTION, "--strict", "--out", "R")[0] == 0
    measure = ("measure", "report", "R", "--strict", "--leaderboard", "board.txt")
    check_each_full_disk(call, tmp_path, measure, 2)
    board = Path("board.txt").read_text()
    # Over those of before, which must not become the new leaderboard with the old record.
    check_each_full_disk(call, tmp_path, (*measure, "--measure", "f1"), 2)
    assert Path("board.txt").read_text() != board


def test_what_else_is_written_of_reports(campaign: list[str], call: Call, tmp_path: Path) -> None:
    assert call("judge", "report", *campaign, *COLLECTION, "--out", "R")[0] == 3
    write_rows("topics.jsonl", [{"id": topic, "text": f"Topic {topic}?"} for topic in "12"])
    files = ("--leaderboard", "b.txt", "--nuggetizer", "n.jsonl", "--topics", "topics.jsonl")
    measure = ("measure", "report", "R", *files, "--unscored", "zero")
    check_each_full_disk(call, tmp_path, measure, 2)
    sample = ("label", "sample", "R", "--of", "topics", "--size", "2", "--out", "drawn")
    check_each_full_disk(call, tmp_path, sample, 4)
    merge = ("nuggets", "merge", "banks.jsonl", "--out", "merged.jsonl", "--report", "report.jsonl")
    check_each_full_disk(call, tmp_path, merge, 2)


def test_an_argument_as_file_and_pages(call: Call, tmp_path: Path) -> None:
    texts = ("Voting should be compulsory, as all are heard.", "Voting must be a free choice.")
    write_rows("docs.jsonl", [{"id": str(n), "text": text} for n, text in enumerate(texts)])
    assert call("index", "docs.jsonl", "--out", "i", "--words-only")[0] == 0
    argue = ("argue", "i", "Should voting be compulsory?", "--html", "a.html", "--md", "a.md")
    check_each_full_disk(call, tmp_path, (*argue, "--out", "a.jsonl"), 3)


@pytest.mark.parametrize("shard", [(), ("--shard", "1/1")])
def test_answers_and_their_manifest(shard: tuple[str, ...], call: Call, tmp_path: Path) -> None:
    """What was answered is kept in a folder of its own, from which the next run goes on."""
    write_rows("items.jsonl", [{"id": "i0", "text": "Fares fell.", "statement": "Cheap."}])
    write_rows("gold.jsonl", [{"id": "i0", "value": True}])
    pairs = [{"id": "i0", "question": "Buses?", "document": "Fares fell."}]
    write_rows("pairs.jsonl", pairs)
    for out, command, names in (
        ("R", ("judge", "support", "items.jsonl", "--out"), ("R/answers.jsonl", "R/manifest.json")),
        (
            "a.jsonl",
            ("annotate", "label", "pairs.jsonl", "--annotations-out"),
            ("a.jsonl", "a.jsonl.manifest.json"),
        ),
    ):
        command = (*command, out, "--judge", "gold.jsonl", *shard)
        assert call(*command)[0] == 0
        sizes = [Path(name).stat().st_size for name in names]
        for name in names:
            Path(name).unlink()
        with disk_of(max(sizes) - 1):
            status, _, err = call(*command)
        assert (status, "File too large" in err) == (2, True), err
        assert [name for name in names if Path(name).exists()] == []
        assert call(*command)[0] == 0
        assert all(Path(name).exists() for name in names)


def test_merged_shares(call: Call, tmp_path: Path) -> None:
    write_rows("items.jsonl", [{"id": "i0", "text": "Fares fell.", "statement": "Cheap."}])
    write_rows("gold.jsonl", [{"id": "i0", "value": True}])
    judge = ("judge", "support", "items.jsonl", "--judge", "gold.jsonl")
    assert call(*judge, "--shard", "1/1", "--out", "s")[0] == 0
    check_each_full_disk(call, tmp_path, ("files", "merge", "s", "--out", "merged"), 2)


def test_files_are_placed_at_the_end_in_their_order(tmp_path: Path) -> None:
    target = tmp_path / "a"
    target.write_text("old")
    with placed_together():
        for text in ("first", "second"):
            with placed(target) as temporary:
                temporary.write_text(text)
            assert target.read_text() == "old"
            assert newest(target).read_text() == text
        with placed_together(), placed(tmp_path / "b") as temporary:
            temporary.write_text("inner")
        assert not (tmp_path / "b").exists()
        assert newest(tmp_path / "c") == tmp_path / "c"
    assert (target.read_text(), (tmp_path / "b").read_text()) == ("second", "inner")
    assert newest(target) == target

    def interrupted() -> None:
        with placed_together():
            write_text(target, "third")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert target.read_text() == "second"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b"]
