"""Rooms and `pnyx view`: what their doors name is there, and results are shown without a room."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from command import write_rows
from pnyx.core.rooms import load, named, offered
from pnyx.reports.pages.measure_definitions import with_reports

_WITHOUT = """
import sys
from pnyx.core import rooms

doors = dict(rooms.rooms())
del doors[sys.argv[1]]
rooms.rooms = lambda _="": doors

from pnyx.web.results.export import export_pages
from pnyx.web.results.open_catalogue import open_catalogue
from pnyx.web.results.routes import site_of

paths = [sys.argv[2]]
exported = export_pages(open_catalogue(paths), site_of(paths), sys.argv[3])
print(exported.pages["judgement"])
"""


def test_what_doors_name_is_there():
    pages = [route for door in offered("PAGES") for route in load(door.target)]
    assert len({route.name for route in pages}) == len(pages)
    for kind in ("DOCUMENTS", "DEFINITIONS"):
        assert all(map(load, offered(kind)))
    for kind in ("REPORTS", "COMPARISONS"):
        assert all(map(load, named(kind).values()))
    for door in named("READERS").values():
        assert all(load(target) for target in (door.read, door.recognise, door.documents) if target)


def test_definitions_of_measures_are_in_words():
    for name, text in with_reports({}, ["sentence_precision"]).items():
        assert "None" not in text, name
        assert text.endswith("."), name


@pytest.mark.parametrize("room", ["audit", "perspectives", "quality", "reports", "search"])
def test_results_are_shown_without_a_room(tmp_path, room):
    answer = {"id": "i", "task": "support", "value": True, "judge": "j", "statement": "s"}
    write_rows(tmp_path / "answers.jsonl", [answer])
    argv = [room, str(tmp_path / "answers.jsonl"), str(tmp_path / "pages")]
    done = subprocess.run(
        [sys.executable, "-c", _WITHOUT, *argv],
        capture_output=True, text=True, check=True,
        env={**os.environ, "PNYX_CACHE": str(tmp_path / "cache")},
    )  # fmt: skip
    assert done.stdout.split() == ["1"]
