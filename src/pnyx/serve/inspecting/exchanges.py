"""From a judgement to what was really sent and what came back, and to the texts in it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from pnyx.errors import PnyxError
from pnyx.judge.answers import asked_of
from pnyx.judge.store.asked import Exchange, replies_of
from pnyx.judge.store.store import Store
from pnyx.restricted import hides_text
from pnyx.serve.inspecting.records import Source

_OPENING: Final = re.compile(r"<<<([a-z ]{1,40}) (\w{1,64})")


@dataclass(frozen=True, slots=True)
class Behind:
    """The calls behind a judgement.

    Attributes:
        calls: in their order.
        problem: why they cannot be shown, in one sentence; empty where they can.
        store: where they were read.
    """

    calls: Sequence[Exchange] = ()
    problem: str = ""
    store: str = ""


@dataclass(frozen=True, slots=True)
class Block:
    """A piece of material of a prompt: what it is, and its text."""

    label: str
    text: str


def exchanges_of(source: Source, row: Mapping[str, Any], store: str = "") -> Behind:
    """Return the calls behind a line of a source's answers.

    `store` is the judgement store that was named; else the one of the source's manifest.
    """
    keys = asked_of(row)
    if not keys:
        asked = bool(row.get("prompt_hash"))
        old = "The line does not say which calls are behind it: an older Pnyx wrote it."
        return Behind(
            problem=old if asked else "No language model was asked, so there is no prompt."
        )
    if hides_text():
        return Behind(problem="Prompts and replies hold texts, which are not shown (--no-text).")
    path = _path(source, store)
    if path is None:
        return Behind(problem=_missing(source, store))
    try:
        with Store(path, read_only=True) as opened:
            return Behind(replies_of(row, opened), store=str(path))
    except PnyxError as error:
        return Behind(problem=f"{error}.")


def _path(source: Source, store: str) -> Path | None:
    """Return the store's file; one that the manifest names may be beside the results."""
    if store:
        return Path(store) if Path(store).is_file() else None
    told = source.about.get("store")
    named = told.get("path") if isinstance(told, Mapping) else None
    if not isinstance(named, str) or not named or "\0" in named:
        return None
    folder = Path(source.path)
    for path in (Path(named), folder / named, folder.parent / named, folder / Path(named).name):
        if path.is_file():
            return path
    return None


def _missing(source: Source, store: str) -> str:
    told = source.about.get("store")
    named = store or (told.get("path") if isinstance(told, Mapping) else "")
    if not named:
        return "The results do not name their judgement store: name it with --store FILE."
    how = "" if store else ": name another with --store FILE"
    return f"The judgement store {named} is not on this machine{how}."


def blocks_of(calls: Iterable[Exchange]) -> list[Block]:
    """Return the material that the first call put before the model: document, statement ..."""
    for call in calls:
        for message in call.messages:
            if message.role == "user":
                found = list(_blocks(message.content))
                if found:
                    return found
    return []


def _blocks(text: str) -> Iterator[Block]:
    """Yield what stands between a line `<<<NAME TOKEN` and the next one `NAME TOKEN>>>`."""
    lines = text.split("\n")
    ends: dict[str, list[int]] = {}
    for place in range(len(lines) - 1, -1, -1):  # the next one of a name is the last of its list
        if lines[place].endswith(">>>"):
            ends.setdefault(lines[place], []).append(place)
    after = 0
    for place, line in enumerate(lines):
        opening = _OPENING.fullmatch(line) if place >= after else None
        own = ends.get(f"{opening[1]} {opening[2]}>>>", []) if opening else []
        while own and own[-1] <= place:
            own.pop()
        if opening and own:
            after = own[-1] + 1
            yield Block(opening[1], "\n".join(lines[place + 1 : own[-1]]))
