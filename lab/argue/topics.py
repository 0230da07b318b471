"""Measure how well topics match questions in other words, and fit weights for `pnyx.search.topics`.

    PNYX_DATA=DATA python lab/argue/topics.py [--write] [--test]

paraphrases.txt contains titles of debates (Debatewise, ProCon, idebate, the bundled example) with
questions, motions and claims written for them by hand: `+` asks for the same, `-` for the opposite,
`!` is similar in words but about another topic. `~+` and `~-` are other titles that ask the same or
the opposite; `~?` are narrower, wider or related titles, which count neither as right nor as wrong.
Each line is matched against the titles of all debates. The first 108 debates are split into two
halves. All choices use one half and the 40 debates that were added later, with figures that are
cross-fitted over debates. --test measures the other half. --write fits on all development debates
and writes the weights. docs/explain/model-cards/topics.md records who looked at which data.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from paraphrases import (
    Debate,
    TopicQuestion,
    halves,
    labelled_arguments,
    questions,
    read_debates,
    read_titles,
)

from pnyx.core.records import Question
from pnyx.search import topics as matching
from pnyx.search.build import build_index
from pnyx.search.polarity import same_words
from pnyx.search.sides import label_on, match_labels

PACKAGE = Path(matching.__file__).parent
_FOLDS, _DRAWS = 9, 2000
_ASKED = 0.3
"""Minimum P(same topic) from which the direction (same or opposite) is determined here."""

Floats = npt.NDArray[np.float64]


@dataclass(slots=True)
class Pair:
    """A question with a title: features, and 1 (same), -1 (opposite) or 0 (another topic)."""

    question: TopicQuestion
    title: str
    matter: Floats
    truth: int
    way: Floats | None = None
    own_title: str = ""


def pairs(
    questions: Sequence[TopicQuestion],
    debates: Sequence[Debate],
    titles: Sequence[str],
    least: float = 0.35,
) -> list[Pair]:
    """Return each question paired with the titles that are close to it, and with the right ones."""
    near_pairs = []
    for question in questions:
        rows = matching.matter_features(question.text, titles)
        near = np.maximum(rows[:, 0], rows[:, 1]) >= least
        for title, row, is_near in zip(titles, rows, near, strict=True):
            truth = question.right.get(title, 0)
            if question.kind == "other":
                if title == debates[question.debate].title:
                    near_pairs.append(Pair(question, title, row, 0))
            elif title not in question.beside and (truth or is_near):
                near_pairs.append(Pair(question, title, row, truth))
    return near_pairs


def add_ways(rows: Sequence[Pair]) -> None:
    """Add the features of the direction to pairs."""
    cache = read_cache()
    for row in rows:
        key = f"{row.question.text}\t{row.title}"
        if key not in cache:
            cache[key] = matching.way_features(row.question.text, [row.title])[0].tolist()
        row.way = np.array(cache[key])
    write_cache(cache)


def _cache_file() -> Path | None:
    """The file that caches the detector's answers, for repeated runs."""
    name = os.environ.get("PNYX_TOPICS_KEPT")
    return Path(name) if name else None


def read_cache() -> dict[str, list[float]]:
    path = _cache_file()
    return json.loads(path.read_text("utf-8")) if path and path.exists() else {}


def write_cache(cache: dict[str, list[float]]) -> None:
    if path := _cache_file():
        path.write_text(json.dumps(cache), encoding="utf-8")


def fit(x: Floats, y: Floats, free: Sequence[int] = (), penalty: float = 0.3) -> Floats:
    """Return the weights of a logistic regression, y in {1, -1}; columns `free` have no penalty."""
    shrink = np.full(x.shape[1], penalty)
    shrink[list(free)] = 1e-6
    w = np.zeros(x.shape[1])
    for _ in range(60):
        p = 1 / (1 + np.exp(-np.clip(y * (x @ w), -30, 30)))
        gradient = x.T @ (y * (1 - p)) - shrink * w
        w += np.linalg.solve((x * (p * (1 - p))[:, None]).T @ x + np.diag(shrink), gradient)
    return w


def logistic(z: Floats) -> Floats:
    p: Floats = 1 / (1 + np.exp(-z))
    return p


def fit_matter(rows: Sequence[Pair]) -> Floats:
    x = np.array([row.matter for row in rows])
    return fit(x, np.array([1.0 if row.truth else -1.0 for row in rows]), free=[x.shape[1] - 1])


def fit_way(rows: Sequence[Pair]) -> Floats:
    usable = [row for row in rows if row.truth and row.way is not None]
    return fit(
        np.array([row.way for row in usable]),
        np.array([float(row.truth) for row in usable]),
        penalty=1.0,
    )


def unread(rows: Sequence[Pair]) -> list[Pair]:
    """Return the pairs with only the features that need no detector."""
    columns = [matching.WAY.index(name) for name in matching.WAY_UNREAD]
    return [replace(row, way=None if row.way is None else row.way[columns]) for row in rows]


def probabilities(rows: Sequence[Pair], matter: Floats, way: Floats) -> Floats:
    """Return P(same), P(opposite) of each pair; shape (pairs, 2)."""
    p = logistic(np.array([row.matter for row in rows]) @ matter)
    ways = np.array([0.0 if row.way is None else float(row.way @ way) for row in rows])
    w = logistic(ways)
    return np.stack([p * w, p * (1 - w)], axis=1)


def cross_fitted(rows: Sequence[Pair]) -> Floats:
    """Return the probabilities of each pair, with weights fitted on other debates."""
    names = sorted({row.question.debate for row in rows})
    out = np.zeros((len(rows), 2))
    for fold in range(_FOLDS):
        left_out = set(names[fold::_FOLDS])
        rest = [row for row in rows if row.question.debate not in left_out]
        mine = [i for i, row in enumerate(rows) if row.question.debate in left_out]
        out[mine] = probabilities([rows[i] for i in mine], fit_matter(rest), fit_way(rest))
    return out


Tally = dict[str, float]


def tallies(
    rows: Sequence[Pair], p: Floats, used: Callable[[Pair, Floats], int]
) -> list[dict[str, int]]:
    """Count by debate. `used` returns 1 or -1 (how a topic's labels count) or 0."""
    by: dict[int, dict[str, int]] = {}
    for row, chances in zip(rows, p, strict=True):
        counts = by.setdefault(row.question.debate, dict.fromkeys(_COUNTS, 0))
        way = used(row, chances)
        kind = row.question.kind
        if way:
            counts["matched"] += kind != "other"
            counts["matter"] += kind != "other" and row.truth != 0
            counts["turned"] += row.truth == -way
            counts["others matched"] += kind == "other"
        counts["others"] += kind == "other"
        if row.truth and kind == "paraphrase" and row.title == row.own_title:
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
    table = np.array([[row[c] for c in _COUNTS] for row in counts], dtype=float)
    print(f"{name} ({len(table)} debates)")
    for label, (part, whole) in _SHARES.items():
        share(label, table, _COUNTS.index(part), _COUNTS.index(whole))


def by_words(row: Pair, _: Floats) -> int:
    return same_words(row.title, row.question.text)


def at_least(least: float, least_way: float) -> Callable[[Pair, Floats], int]:
    def used(row: Pair, p: Floats) -> int:
        if exact := same_words(row.title, row.question.text):
            return exact
        if row.way is None or p.max() < least or p.max() < least_way * p.sum():
            return 0
        return 1 if p[0] >= p[1] else -1

    return used


def in_use(debates: Sequence[Debate], part: Sequence[bool]) -> None:
    """Print how well labels decide the sides of the first 30 passages, by words and by meaning."""
    half = [debate for debate, first in zip(debates, part, strict=True) if not first]
    with tempfile.TemporaryDirectory() as folder:
        index = build_index(labelled_arguments(), Path(folder) / "index")
        topics = {document.topic for document in index.documents()}
        counts: dict[str, list[list[float]]] = {"the very words": [], "meaning": []}
        for debate in half:
            if debate.title not in topics:
                continue
            right = {t: 1 if m == "+" else -1 for t, m in debate.also.items() if m != "?"}
            right[debate.title] = 1
            rows: dict[str, list[list[float]]] = {name: [] for name in counts}
            for way, text in debate.questions:
                hits = [hit.doc_id for hit in index.search(text, k=30)]
                documents = index.fetch(hits)
                matches = match_labels(Question("q", text), documents, matching.TopicMatcher())
                for name, row in rows.items():
                    row.append(_counted(documents, matches, right, way, name == "meaning"))
            for name, row in rows.items():
                counts[name].append(np.sum(row, axis=0).tolist())
    for name, table in counts.items():
        print(f"{name} ({len(table)} debates of Debatewise)")
        for label, i, j in (("labels that count, on the right side", 0, 1),
                            ("labels on the debate, used", 2, 3),
                            ("questions with labels on both sides", 4, 5)):  # fmt: skip
            share(label, np.array(table), i, j)


def _counted(
    documents: Sequence[Any], matches: Sequence[Any], right: dict[str, int], way: int, meaning: bool
) -> list[float]:
    used = good = there = matched = 0
    sides = set()
    for document, match in zip(documents, matches, strict=True):
        truth = right.get(document.topic, 0) * way
        there += truth != 0
        if match is None or not match.used or (match.why == "meaning" and not meaning):
            continue
        used += 1
        good += match.relation == truth
        matched += truth != 0
        sides.add(label_on(document, match))
    return [good, used, matched, there, len(sides) == 2, 1]


def share(label: str, table: Floats, part: int, whole: int) -> None:
    """Print a share with its interval over debates, the rows of the table."""
    rng = np.random.default_rng(0)
    draws = table[rng.integers(0, len(table), (_DRAWS, len(table)))].sum(axis=1)
    n, of = table[:, part].sum(), table[:, whole].sum()
    if not of:
        print(f"  {label}: none of 0")
        return
    with np.errstate(invalid="ignore"):
        low, high = np.nanquantile(draws[:, part] / draws[:, whole], [0.025, 0.975])
    print(f"  {label}: {n / of:.3f} [{low:.3f}, {high:.3f}] ({n:.0f} of {of:.0f})")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--write", action="store_true", help="write the weights")
    parser.add_argument("--test", action="store_true", help="measure the packaged weights")
    parser.add_argument("--list", action="store_true", help="list errors of development")
    parser.add_argument("--least", type=float, default=0.5)
    parser.add_argument("--least-way", type=float, default=0.93)
    parser.add_argument("--least-unread", type=float, default=0.95)
    options = parser.parse_args()
    debates, titles = read_debates(), read_titles()
    part = halves(debates)
    mine = [q for q in questions(debates) if part[q.debate] != options.test]
    rows = pairs(mine, debates, titles)
    for row in rows:
        row.own_title = debates[row.question.debate].title
    print(f"{len(mine)} questions, {len(titles)} titles, {len(rows)} pairs")
    if options.test:
        test(rows)
        in_use(debates, part)
        return
    develop(rows, options)


def likely(rows: Sequence[Pair], matter: Floats) -> list[Pair]:
    p = logistic(np.array([row.matter for row in rows]) @ matter)
    return [row for row, chance in zip(rows, p, strict=True) if chance >= _ASKED]


def develop(rows: list[Pair], options: Any) -> None:
    matter = fit_matter(rows)
    add_ways([row for row in rows if row.truth or row in likely(rows, matter)])
    p = cross_fitted(rows)
    report("words", tallies(rows, p, by_words))
    for least, way in itertools.product((0.3, 0.4, 0.5, 0.6), (0.5, 0.8, 0.85, 0.9)):
        report(f"from {least}, {way} for the way round", tallies(rows, p, at_least(least, way)))
    few = unread(rows)
    for way in (0.85, 0.9, 0.93, 0.95):
        name = f"without the detector, from {options.least}, {way}"
        report(name, tallies(few, cross_fitted(few), at_least(options.least, way)))
    if options.list:
        for row, chances in sorted(zip(rows, p, strict=True), key=lambda pair: -pair[1].max()):
            way = at_least(options.least, options.least_way)(row, chances)
            if way != row.truth and (way or row.question.kind != "other"):
                p_same, p_opposite = chances
                texts = f"{row.question.text} | {row.title}"
                print(f"{p_same:.2f} {p_opposite:.2f} {row.truth:2} {texts}")
    if options.write:
        write(matter, fit_way(rows), fit_way(few), options)


def write(matter: Floats, way: Floats, unread: Floats, options: Any) -> None:
    row = {
        "about": "docs/explain/decisions/sides.md; written by lab/argue/topics.py",
        "matter": dict(zip(matching.MATTER, matter.round(4).tolist(), strict=True)),
        "way": dict(zip(matching.WAY, way.round(4).tolist(), strict=True)),
        "way_unread": dict(zip(matching.WAY_UNREAD, unread.round(4).tolist(), strict=True)),
        "least": options.least,
        "least_way": options.least_way,
        "least_unread": options.least_unread,
    }
    path = PACKAGE / "weights" / "topics.json"
    path.write_text(json.dumps(row, indent=1) + "\n", encoding="utf-8")
    print(path)


def test(rows: list[Pair]) -> None:
    weights = json.loads((PACKAGE / "weights" / "topics.json").read_text("utf-8"))
    matter = np.array(list(weights["matter"].values()))
    add_ways(likely(rows, matter))
    p = probabilities(rows, matter, np.array(list(weights["way"].values())))
    report("words", tallies(rows, p, by_words))
    least = weights["least"], weights["least_way"]
    report(f"meaning, from {least}", tallies(rows, p, at_least(*least)))
    few = unread(rows)
    p = probabilities(few, matter, np.array(list(weights["way_unread"].values())))
    least = weights["least"], weights["least_unread"]
    report(f"without the detector, from {least}", tallies(few, p, at_least(*least)))


if __name__ == "__main__":
    main()
