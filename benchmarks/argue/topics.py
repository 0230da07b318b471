"""How well topics are matched with questions in other words; fits what `pnyx.search.topics` weighs.

    PNYX_DATA=DATA python benchmarks/argue/topics.py [--write] [--test]

paraphrases.txt holds titles of debates (Debatewise, ProCon, idebate, the bundled example) with
questions, motions and claims written for them by hand: `+` the same way round, `-` the other way
round, `!` close in words but another matter; `~+`, `~-` other titles that ask the same, and `~?`
ones that are narrower, wider or beside it, which count neither as right nor as wrong. Each line is
asked against the titles of all debates. Topics are split in two halves: on one, everything is
chosen, by figures that are cross-fitted over its topics; the other is looked at once, with --test.
--write fits on all of the first half and writes the weights.
"""

from __future__ import annotations

import argparse
import gzip
import itertools
import json
import os
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from pnyx.search import topics as matching
from pnyx.search.polarity import same_words

DATA = Path(os.environ.get("PNYX_DATA", "../shared/data"))
HERE = Path(__file__).parent
PACKAGE = Path(matching.__file__).parent
_FOLDS, _DRAWS = 9, 2000
_SPLIT = 108
"""Debates that are split in halves; those after them were added for development."""
_ASKED = 0.3
"""Least P(same matter) with which it is asked here which way round a topic is."""

Floats = npt.NDArray[np.float64]


@dataclass(slots=True)
class Debate:
    """A title with what was written for it; `also` are other titles: `+`, `-` or `?`."""

    title: str
    asked: list[tuple[int, str]] = field(default_factory=list)
    others: list[str] = field(default_factory=list)
    also: dict[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class Asked:
    """A question to be matched: its debate, what is right (title -> 1, -1), what is not counted.

    `kind` is `paraphrase`, `title` (another portal's wording) or `other` (only its own title is
    looked at, which is wrong).
    """

    debate: int
    text: str
    kind: str
    right: dict[str, int]
    beside: set[str]


def read_debates() -> list[Debate]:
    found: list[Debate] = []
    for line in (HERE / "paraphrases.txt").read_text("utf-8").splitlines():
        mark, text = line.split(" ", 1)
        if mark == "=":
            found.append(Debate(text))
        elif mark in "+-":
            found[-1].asked.append((1 if mark == "+" else -1, text))
        elif mark == "!":
            found[-1].others.append(text)
        else:
            found[-1].also[text] = mark[1]
    return found


def read_titles() -> list[str]:
    found: dict[str, None] = {}
    for name in ("debatewise", "procon"):
        pages = json.loads((DATA / f"perspectrum/{name}_raw.json").read_text("utf-8"))
        found |= dict.fromkeys(" ".join(page["claim_title"].split()) for page in pages)
    with gzip.open(DATA / "arguana_counterargs/debates.jsonl.gz", "rt", encoding="utf-8") as lines:
        found |= dict.fromkeys(" ".join(json.loads(line)["title"].split()) for line in lines)
    example = (PACKAGE.parent / "corpora/example/questions.jsonl").read_text("utf-8")
    return list(found | dict.fromkeys(json.loads(line)["text"] for line in example.splitlines()))


def halves(debates: Sequence[Debate]) -> list[bool]:
    """Say of each debate whether it is for development; those on one matter stay together."""
    place = {debate.title: i for i, debate in enumerate(debates)}
    first = [min([i, *(place[t] for t in d.also if t in place)]) for i, d in enumerate(debates)]
    groups = sorted({i for i in first if i < _SPLIT})
    random.Random(17).shuffle(groups)
    development = {*groups[: len(groups) // 2], *range(_SPLIT, len(debates))}
    return [i in development for i in first]


def questions(debates: Sequence[Debate]) -> Iterator[Asked]:
    for i, debate in enumerate(debates):
        ways = {t: 1 if mark == "+" else -1 for t, mark in debate.also.items() if mark != "?"}
        ways[debate.title] = 1
        beside = {t for t, mark in debate.also.items() if mark == "?"}
        for way, text in debate.asked:
            yield Asked(i, text, "paraphrase", {t: w * way for t, w in ways.items()}, beside)
        for text, way in ways.items():
            right = {t: w * way for t, w in ways.items() if t != text}
            if right:
                yield Asked(i, text, "title", right, beside | {text})
        for text in debate.others:
            yield Asked(i, text, "other", {}, set())


@dataclass(slots=True)
class Pair:
    """A question with a title: features, and 1, -1 (which way round) or 0 (another matter)."""

    asked: Asked
    title: str
    matter: Floats
    truth: int
    way: Floats | None = None
    asked_title: str = ""


def pairs(
    asked: Sequence[Asked], debates: Sequence[Debate], titles: Sequence[str], least: float = 0.35
) -> list[Pair]:
    """Return each question with the titles that are near it, and with the right ones."""
    found = []
    for one in asked:
        rows = matching.matter_features(one.text, titles)
        near = np.maximum(rows[:, 0], rows[:, 1]) >= least
        for title, row, is_near in zip(titles, rows, near, strict=True):
            truth = one.right.get(title, 0)
            if one.kind == "other":
                if title == debates[one.debate].title:
                    found.append(Pair(one, title, row, 0))
            elif title not in one.beside and (truth or is_near):
                found.append(Pair(one, title, row, truth))
    return found


def add_ways(rows: Sequence[Pair]) -> None:
    """Ask which way round, for the pairs of each question together."""
    kept = read_kept()
    for row in rows:
        key = f"{row.asked.text}\t{row.title}"
        if key not in kept:
            kept[key] = matching.way_features(row.asked.text, [row.title])[0].tolist()
        row.way = np.array(kept[key])
    write_kept(kept)


def _kept_file() -> Path | None:
    """The file that answers of the detector are kept in, for whoever runs this often."""
    name = os.environ.get("PNYX_TOPICS_KEPT")
    return Path(name) if name else None


def read_kept() -> dict[str, list[float]]:
    path = _kept_file()
    return json.loads(path.read_text("utf-8")) if path and path.exists() else {}


def write_kept(kept: dict[str, list[float]]) -> None:
    if path := _kept_file():
        path.write_text(json.dumps(kept), encoding="utf-8")


def fit(x: Floats, y: Floats, free: Sequence[int] = (), penalty: float = 0.3) -> Floats:
    """Return the weights of a logistic regression, y in {1, -1}; columns `free` are not shrunk."""
    shrink = np.full(x.shape[1], penalty)
    shrink[list(free)] = 1e-6
    w = np.zeros(x.shape[1])
    for _ in range(60):
        p = 1 / (1 + np.exp(-np.clip(y * (x @ w), -30, 30)))
        gradient = x.T @ (y * (1 - p)) - shrink * w
        w += np.linalg.solve((x * (p * (1 - p))[:, None]).T @ x + np.diag(shrink), gradient)
    return w


def logistic(z: Floats) -> Floats:
    found: Floats = 1 / (1 + np.exp(-z))
    return found


def fit_matter(rows: Sequence[Pair]) -> Floats:
    x = np.array([row.matter for row in rows])
    return fit(x, np.array([1.0 if row.truth else -1.0 for row in rows]), free=[x.shape[1] - 1])


def fit_way(rows: Sequence[Pair]) -> Floats:
    own = [row for row in rows if row.truth and row.way is not None]
    return fit(
        np.array([row.way for row in own]), np.array([float(row.truth) for row in own]), penalty=1.0
    )


def probabilities(rows: Sequence[Pair], matter: Floats, way: Floats) -> Floats:
    """Return P(same), P(opposite) of each pair; shape (pairs, 2)."""
    p = logistic(np.array([row.matter for row in rows]) @ matter)
    ways = np.array([0.0 if row.way is None else float(row.way @ way) for row in rows])
    w = logistic(ways)
    return np.stack([p * w, p * (1 - w)], axis=1)


def cross_fitted(rows: Sequence[Pair]) -> Floats:
    """Return the probabilities of each pair by weights fitted on other debates."""
    names = sorted({row.asked.debate for row in rows})
    out = np.zeros((len(rows), 2))
    for fold in range(_FOLDS):
        held = set(names[fold::_FOLDS])
        rest = [row for row in rows if row.asked.debate not in held]
        mine = [i for i, row in enumerate(rows) if row.asked.debate in held]
        out[mine] = probabilities([rows[i] for i in mine], fit_matter(rest), fit_way(rest))
    return out


Tally = dict[str, float]


def tallies(
    rows: Sequence[Pair], p: Floats, used: Callable[[Pair, Floats], int]
) -> list[dict[str, int]]:
    """Count by debate. `used` returns 1 or -1 (how a topic's labels count) or 0."""
    by: dict[int, dict[str, int]] = {}
    for row, own in zip(rows, p, strict=True):
        counts = by.setdefault(row.asked.debate, dict.fromkeys(_COUNTS, 0))
        way = used(row, own)
        kind = row.asked.kind
        if way:
            counts["matched"] += kind != "other"
            counts["matter"] += kind != "other" and row.truth != 0
            counts["turned"] += row.truth == -way
            counts["others matched"] += kind == "other"
        counts["others"] += kind == "other"
        if row.truth and kind == "paraphrase" and row.title == row.asked_title:
            counts["asked"] += 1
            counts["found"] += way == row.truth
        if row.truth and kind == "title":
            counts["titles"] += 1
            counts["titles found"] += way == row.truth
    return list(by.values())


_COUNTS = ("matched", "matter", "turned", "others", "others matched", "asked", "found", "titles",
           "titles found")  # fmt: skip

_SHARES = {
    "matched topics on the right matter": ("matter", "matched"),
    "of these the wrong way round": ("turned", "matter"),
    "paraphrases whose own topic is matched, the right way round": ("found", "asked"),
    "other portals' titles matched, the right way round": ("titles found", "titles"),
    "look-alikes matched": ("others matched", "others"),
}


def report(name: str, counts: Sequence[dict[str, int]]) -> None:
    rng = np.random.default_rng(0)
    table = np.array([[row[c] for c in _COUNTS] for row in counts], dtype=float)
    draws = table[rng.integers(0, len(table), (_DRAWS, len(table)))].sum(axis=1)
    print(f"{name} ({len(table)} debates)")
    for label, (part, whole) in _SHARES.items():
        i, j = _COUNTS.index(part), _COUNTS.index(whole)
        n, of = table[:, i].sum(), table[:, j].sum()
        if not of:
            print(f"  {label}: none of 0")
            continue
        with np.errstate(invalid="ignore"):
            low, high = np.nanquantile(draws[:, i] / draws[:, j], [0.025, 0.975])
        print(f"  {label}: {n / of:.3f} [{low:.3f}, {high:.3f}] ({n:.0f} of {of:.0f})")


def by_words(row: Pair, _: Floats) -> int:
    return same_words(row.title, row.asked.text)


def at_least(least: float, least_way: float) -> Callable[[Pair, Floats], int]:
    def used(row: Pair, p: Floats) -> int:
        if exact := same_words(row.title, row.asked.text):
            return exact
        if row.way is None or p.max() < least or p.max() < least_way * p.sum():
            return 0
        return 1 if p[0] >= p[1] else -1

    return used


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--write", action="store_true", help="write the weights")
    parser.add_argument("--test", action="store_true", help="measure the packaged weights")
    parser.add_argument("--list", action="store_true", help="list errors of development")
    parser.add_argument("--least", type=float, default=0.5)
    parser.add_argument("--least-way", type=float, default=0.93)
    asked = parser.parse_args()
    debates, titles = read_debates(), read_titles()
    part = halves(debates)
    mine = [q for q in questions(debates) if part[q.debate] != asked.test]
    rows = pairs(mine, debates, titles)
    for row in rows:
        row.asked_title = debates[row.asked.debate].title
    print(f"{len(mine)} questions, {len(titles)} titles, {len(rows)} pairs")
    if asked.test:
        test(rows)
        return
    develop(rows, asked)


def likely(rows: Sequence[Pair], matter: Floats) -> list[Pair]:
    p = logistic(np.array([row.matter for row in rows]) @ matter)
    return [row for row, own in zip(rows, p, strict=True) if own >= _ASKED]


def develop(rows: list[Pair], asked: Any) -> None:
    matter = fit_matter(rows)
    add_ways([row for row in rows if row.truth or row in likely(rows, matter)])
    p = cross_fitted(rows)
    report("words", tallies(rows, p, by_words))
    for least, way in itertools.product((0.3, 0.4, 0.5, 0.6), (0.5, 0.8, 0.85, 0.9)):
        report(f"from {least}, {way} for the way round", tallies(rows, p, at_least(least, way)))
    if asked.list:
        for row, own in sorted(zip(rows, p, strict=True), key=lambda pair: -pair[1].max()):
            way = at_least(asked.least, asked.least_way)(row, own)
            if way != row.truth and (way or row.asked.kind != "other"):
                print(f"{own[0]:.2f} {own[1]:.2f} {row.truth:2} {row.asked.text} | {row.title}")
    if asked.write:
        write(matter, fit_way(rows), asked.least, asked.least_way)


def write(matter: Floats, way: Floats, least: float, least_way: float) -> None:
    row = {
        "about": "docs/decisions/sides.md; written by benchmarks/argue/topics.py",
        "matter": dict(zip(matching.MATTER, matter.round(4).tolist(), strict=True)),
        "way": dict(zip(matching.WAY, way.round(4).tolist(), strict=True)),
        "least": least,
        "least_way": least_way,
    }
    path = PACKAGE / "weights" / "topics.json"
    path.write_text(json.dumps(row, indent=1) + "\n", encoding="utf-8")
    print(path)


def test(rows: list[Pair]) -> None:
    kept = json.loads((PACKAGE / "weights" / "topics.json").read_text("utf-8"))
    matter = np.array(list(kept["matter"].values()))
    add_ways(likely(rows, matter))
    p = probabilities(rows, matter, np.array(list(kept["way"].values())))
    report("words", tallies(rows, p, by_words))
    least = kept["least"], kept["least_way"]
    report(f"meaning, from {least}", tallies(rows, p, at_least(*least)))


if __name__ == "__main__":
    main()
