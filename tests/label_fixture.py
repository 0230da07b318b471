"""A desk to label at: items of each task, a journal in a folder, the application over HTTP."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import httpx2

from command import rows_of, write_rows
from page_fixture import served
from pnyx.judging.tasks import TASKS
from pnyx.web.label.application import build_labelling
from pnyx.web.label.commands import about
from pnyx.web.label.journal import LabelJournal
from pnyx.web.label.label_session import Desk, Share
from pnyx.web.label.people import People

OPEN: list[httpx2.Client] = []
"""Clients to close after a test."""

PART = {"x-pnyx-part": "1"}


def item_rows(task: str, count: int) -> list[dict[str, Any]]:
    """The example of a task, as often as wanted, each with an id and a group of its own."""
    example = json.loads(TASKS[task].example)
    groups = ("tea", "buses")
    return [{**example, "id": f"i{n}", "group": groups[n % 2]} for n in range(1, count + 1)]


@contextlib.contextmanager
def opened(
    folder: Path, task: str, rows: Sequence[dict[str, Any]], *, suggested=None, **share: Any
) -> Iterator[Desk]:
    questions = TASKS[task].read(write_rows(folder / "items.jsonl", rows))
    shared = Share(**share)
    with (
        LabelJournal(folder / "labels.jsonl", about(TASKS[task], questions, shared)) as journal,
        Desk(TASKS[task], questions, journal, shared, suggested or {}) as desk,
    ):
        yield desk


@contextlib.contextmanager
def labelling(folder: Path, task: str, rows: Sequence[dict[str, Any]], **more: Any):
    """Yield the desk, its people and the address of the pages."""
    with opened(folder, task, rows, **more) as desk:
        people = People(desk.share.annotators, desk.journal.secret)
        with served(build_labelling(desk, people)) as address:
            yield desk, people, address


class Person:
    """Somebody who fills in forms without a script."""

    def __init__(self, address: str, name: str = "", token: str = "") -> None:
        self.client = httpx2.Client(base_url=address, follow_redirects=True)
        OPEN.append(self.client)
        if token:
            self.page = self.client.get("/", params={"token": token})
        else:
            self.page = self.client.post("/enter", data={"name": name})
        self.page.raise_for_status()

    def see(self, path: str) -> Any:
        self.page = self.client.get(path)
        return self.page

    @property
    def fields(self) -> dict[str, str]:
        form = re.search(r'<form id="answer".*?</form>', self.page.text, re.DOTALL)
        hidden = re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)">', form[0])
        return dict(hidden)

    def send(self, *marks: int, path: str = "", **more: str) -> Any:
        action = path or re.search(r'id="answer" method="post" action="([^"]+)"', self.page.text)[1]
        chosen = {f"f{n}": str(mark) for n, mark in enumerate(marks)}
        self.page = self.client.post(action, data={**self.fields, "do": "answer", **chosen, **more})
        return self.page

    def undo(self) -> Any:
        form = re.search(r'action="(/[^"]*undo)".*?</form>', self.page.text, re.DOTALL)
        sent = dict(re.findall(r'name="(\w+)" value="([^"]*)"', form[0]))
        self.page = self.client.post(form[1], data=sent)
        return self.page


def labels_in(folder: Path) -> list[dict[str, Any]]:
    return rows_of(folder / "labels.jsonl")
