"""Rooms: a system can be removed, and the rest works; doors name what can be imported."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import click
import pytest

import pnyx
from pnyx.core import rooms
from pnyx.core.errors import PluginError
from pnyx.core.rooms import SECTIONS, CommandDoor, load, named, offered, room_commands
from pnyx.judging.documents import open_documents

PACKAGE = Path(pnyx.__file__).parent

# A room -> those that stand on it, which go with it.
ABOVE = {
    "interop": (),
    "housekeeping": (),
    "audit": ("housekeeping",),
    "reports": ("housekeeping", "audit", "collection", "interop"),
    "relevance": (),
}

REST = """
import contextlib, importlib, io, pkgutil, sys
import pnyx
from pnyx.core.rooms import offered
failed = []
for door in offered("COMMANDS"):
    command = door.load()
    with contextlib.redirect_stdout(io.StringIO()):
        command.main(["--help"], prog_name=f"pnyx {door.name}", standalone_mode=False)
for module in pkgutil.walk_packages(pnyx.__path__, "pnyx."):
    if module.name.endswith("doors"):
        importlib.import_module(module.name)
print(*(door.name for door in offered("COMMANDS")), sep="\\n")
"""


def copy_without(room: str, to: Path) -> Path:
    """Copy the package without a room and what stands on it."""
    gone = {room, *ABOVE[room]}
    shutil.copytree(
        PACKAGE,
        to / "pnyx",
        ignore=lambda folder, names: (
            ({"__pycache__"} | (gone if Path(folder) == PACKAGE else set())) & set(names)
        ),
        symlinks=True,
    )
    return to


def run(code: str, path: Path) -> subprocess.CompletedProcess[str]:
    program = f"import sys; sys.path.insert(0, {str(path)!r})\n{code}"
    return subprocess.run(
        [sys.executable, "-P", "-c", program], capture_output=True, text=True, cwd=path
    )


@pytest.mark.slow
@pytest.mark.parametrize("room", ABOVE)
def test_a_room_can_be_removed(room: str, tmp_path: Path) -> None:
    done = run(REST, copy_without(room, tmp_path))
    assert done.returncode == 0, done.stderr[-2000:]
    gone = {room, *ABOVE[room]}
    expected = {
        door.name
        for door in offered("COMMANDS")
        if door.target.split(".")[1].partition(":")[0] not in gone
    }
    assert set(done.stdout.splitlines()) == expected
    assert expected < {door.name for door in offered("COMMANDS")} or room == "interop"


@pytest.mark.slow
def test_without_a_room_the_engine_judges_and_measures(tmp_path: Path) -> None:
    """The commands of the engine, without reports, audit and what stands on these."""
    path = copy_without("reports", tmp_path)
    (path / "items.jsonl").write_text(
        '{"id": "1", "text": "Bus fares fell by half.", "statement": "Buses became cheaper."}\n'
    )
    command = "from pnyx.cli import main; main({})"
    for words in (["judge", "support", "items.jsonl", "--out", "out"], ["measure", "out"]):
        done = run(command.format(words), path)
        assert done.returncode == 0, done.stderr[-2000:]
    assert "1 of 1" in done.stdout


def test_every_door_leads_somewhere() -> None:
    for door in offered("COMMANDS"):
        assert isinstance(door, CommandDoor)
        assert isinstance(door.load(), click.Command), door
        assert (door.section in SECTIONS and bool(door.summary)) or " " in door.name, door
    for target in (*named("OPENERS").values(), *named("MERGED_RESULTS").values()):
        assert callable(load(target))


def test_a_name_is_found_in_the_doors_that_have_it_alone() -> None:
    for door in offered("COMMANDS"):
        group, _, name = door.name.rpartition(" ")
        assert room_commands(group, name)[name] == door
    for kind in ("OPENERS", "MERGED_RESULTS", "SAMPLED", "MEASURED", "REPORTS"):
        for name, target in named(kind).items():
            assert named(kind, name)[name] == target
    assert list(rooms.rooms("argue")) == ["cases"]
    assert rooms.rooms("no such name") == {}


def test_no_two_rooms_offer_the_same_command() -> None:
    names = [door.name for door in offered("COMMANDS")]
    assert len(set(names)) == len(names)
    places = [(d.section, d.order) for d in offered("COMMANDS") if d.section]
    assert len(set(places)) == len(places)


def test_a_name_of_two_rooms_is_noticed(monkeypatch) -> None:
    doors = SimpleNamespace(OPENERS={"index": "pnyx.core.files:write_json"})
    monkeypatch.setattr(rooms, "rooms", lambda _="": {"one": doors, "two": doors})
    with pytest.raises(RuntimeError, match=r"OPENERS: two rooms define .index., one of them two"):
        named("OPENERS")


def test_a_missing_room_is_an_error_and_nothing_is_left_out(tmp_path: Path, monkeypatch) -> None:
    """Results of reports are not merged without the room that knows their reports."""
    monkeypatch.setattr(rooms, "rooms", lambda _="": {"one": SimpleNamespace(OPENERS={})})
    with pytest.raises(PluginError, match=r"has no room for 'plan' \(MERGED_RESULTS\)"):
        rooms.required("MERGED_RESULTS", "plan")
    with pytest.raises(PluginError, match="has no room for 'index'"):
        open_documents(tmp_path)


def test_commands_are_in_the_order_of_their_sections_and_numbers(monkeypatch) -> None:
    doors = [
        CommandDoor("late", "m:f", 20, "Judges", "Late."),
        CommandDoor("early", "m:f", 10, "Judges", "Early."),
        CommandDoor("first", "m:f", 90, "Documents", "First."),
        CommandDoor("late below", "m:f", 5),
    ]
    monkeypatch.setattr(rooms, "rooms", lambda _="": {"one": SimpleNamespace(COMMANDS=doors)})
    assert list(room_commands()) == ["first", "early", "late"]
    assert list(room_commands("late")) == ["below"]
