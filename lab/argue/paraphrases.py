"""Titles of debates with questions written for them (paraphrases.txt), and labelled arguments."""

from __future__ import annotations

import gzip
import json
import os
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pnyx
from pnyx.core.records import Argument, Premise

DATA = Path(os.environ.get("PNYX_DATA", "../shared/data"))
HERE = Path(__file__).parent

_SPLIT = 108
"""Number of debates that are split into halves; later ones were added for development."""


@dataclass(slots=True)
class Debate:
    """A title with the questions written for it; `also` maps other titles to `+`, `-` or `?`."""

    title: str
    questions: list[tuple[int, str]] = field(default_factory=list)
    others: list[str] = field(default_factory=list)
    also: dict[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class TopicQuestion:
    """A question to match: its debate, the right titles (1 or -1), and titles that do not count.

    `kind` is `paraphrase`, `title` (another portal's wording) or `other` (a look-alike: only the
    match with its own title is checked, which would be wrong).
    """

    debate: int
    text: str
    kind: str
    right: dict[str, int]
    beside: set[str]


def read_debates() -> list[Debate]:
    debates: list[Debate] = []
    for line in (HERE / "paraphrases.txt").read_text("utf-8").splitlines():
        mark, text = line.split(" ", 1)
        if mark == "=":
            debates.append(Debate(text))
        elif mark in "+-":
            debates[-1].questions.append((1 if mark == "+" else -1, text))
        elif mark == "!":
            debates[-1].others.append(text)
        else:
            debates[-1].also[text] = mark[1]
    return debates


def read_titles() -> list[str]:
    titles: dict[str, None] = {}
    for name in ("debatewise", "procon"):
        pages = json.loads((DATA / f"perspectrum/{name}_raw.json").read_text("utf-8"))
        titles |= dict.fromkeys(" ".join(page["claim_title"].split()) for page in pages)
    with gzip.open(DATA / "arguana_counterargs/debates.jsonl.gz", "rt", encoding="utf-8") as lines:
        titles |= dict.fromkeys(" ".join(json.loads(line)["title"].split()) for line in lines)
    example = (
        Path(pnyx.__file__).parent.joinpath("formats/example/questions.jsonl").read_text("utf-8")
    )
    return list(titles | dict.fromkeys(json.loads(line)["text"] for line in example.splitlines()))


def halves(debates: Sequence[Debate]) -> list[bool]:
    """Return whether each debate is for development; debates on the same topic stay together."""
    positions = {debate.title: i for i, debate in enumerate(debates)}
    first = [
        min([i, *(positions[t] for t in d.also if t in positions)]) for i, d in enumerate(debates)
    ]
    groups = sorted({i for i in first if i < _SPLIT})
    random.Random(17).shuffle(groups)
    development = {*groups[: len(groups) // 2], *range(_SPLIT, len(debates))}
    return [i in development for i in first]


def questions(debates: Sequence[Debate]) -> Iterator[TopicQuestion]:
    for i, debate in enumerate(debates):
        ways = {t: 1 if mark == "+" else -1 for t, mark in debate.also.items() if mark != "?"}
        ways[debate.title] = 1
        beside = {t for t, mark in debate.also.items() if mark == "?"}
        for way, text in debate.questions:
            yield TopicQuestion(
                i, text, "paraphrase", {t: w * way for t, w in ways.items()}, beside
            )
        for text, way in ways.items():
            right = {t: w * way for t, w in ways.items() if t != text}
            if right:
                yield TopicQuestion(i, text, "title", right, beside | {text})
        for text in debate.others:
            yield TopicQuestion(i, text, "other", {}, set())


def labelled_arguments() -> Iterator[Argument]:
    """Yield Debatewise's arguments with their labels."""
    pages = json.loads((DATA / "perspectrum/debatewise_raw.json").read_text("utf-8"))
    for number, page in enumerate(pages):
        topic = " ".join(page["claim_title"].split())
        for column, stance in (("perspectives_for", "pro"), ("perspectives_against", "con")):
            for position, row in enumerate(page[column]):
                text = " ".join(" ".join(row["argument"]["description"]).split())
                if text:
                    name = f"{number}-{stance}-{position}"
                    premise = (Premise(text),)
                    yield Argument(name, row["perspective_title"], premise, stance, topic)
