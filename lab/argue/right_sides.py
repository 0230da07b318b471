"""How often does the network of the detector put a passage on the right side of a question?

    PNYX_DATA=DATA python lab/argue/right_sides.py [--folder FOLDER] --keep FILE

Uses development debates that have questions in people's own words (pages.py), with at most eight
passages each. The network reads the claims that rules make from a title or question
(`claim_rules`), and the statements that Pnyx uses. `packaged` rows add the similarity, as in the
package; the others are the network alone. FILE stores the answers, so an interrupted run can be
resumed; use one FILE per network. FOLDER contains another network, as written by
lab/training/train_perspectives.py. --against FILE compares with the answers of an earlier run.
Intervals resample debates.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from pages import Collection, DebateQuestion, collections, reworded

sys.path.insert(0, str(Path(__file__).parents[1] / "berds"))

from claim_rules import claims

from pnyx.judging.passages import pieces_of
from pnyx.judging.questions import Support
from pnyx.judging.statements import statements
from pnyx.judging.students.judge import load_perspective_student
from pnyx.judging.students.reader import CLOSENESS, READER, closest_sentences, open_reader
from pnyx.judging.students.scorers import Standard
from pnyx.models.embed.encoder import load_encoder

DATA = Path(os.environ.get("PNYX_DATA", "../shared/data"))
PACKAGED = Path("src/pnyx/models/weights/perspectives")
_MOST, _PIECES, _DRAWS = 8, 3, 1000
_OWN = re.compile(r" [+-]$")

Row = dict[str, Any]
Values = npt.NDArray[np.float64]


def questions() -> Iterator[tuple[str, Collection, str, list[DebateQuestion]]]:
    """Yield debate, set, passage id, and the questions asked about the passage (title first)."""
    by_name = collections(DATA)
    by_debate = {item.question.id: [item] for c in by_name.values() for item in c.questions}
    reworded(by_name)
    for collection in by_name.values():
        for item in collection.questions:
            by_debate[_OWN.sub("", item.question.id)].append(item)
    for key, items in by_debate.items():
        if items[0].part != "development" or len(items) == 1:
            continue
        collection = by_name[key.split(" ", 1)[0]]
        ids = [i for i in collection.labels if collection.side(items[0], i) is not None]
        random.Random(key).shuffle(ids)
        yield from ((key, collection, i, items) for i in ids[:_MOST])


def both_ways(items: Sequence[DebateQuestion]) -> list[tuple[str, str, str]]:
    """Return (kind, pro's statement, con's statement) of questions: by rules, and as in Pnyx."""
    pairs = []
    for item in items:
        text = item.question.text
        kind = "own words" if _OWN.search(item.question.id) else "title"
        pairs += [(f"{kind}, claims by rules", *claims(text)), (kind, *statements(text))]
    return pairs


def ask(folder: Path, keep: Path) -> list[Row]:
    """Return the margins of pro over con, by passage; stored ones are not computed again."""
    done: dict[str, Row] = {}
    if keep.exists():
        done = {row["id"]: row for row in map(json.loads, keep.open(encoding="utf-8"))}
    reader, encoder = open_reader(folder), load_encoder()
    with keep.open("a", encoding="utf-8") as stream:
        for key, collection, doc_id, items in questions():
            if doc_id in done:
                continue
            text = next(d.text for d in collection.documents if d.id == doc_id)
            pieces, pairs = pieces_of(text)[:_PIECES], both_ways(items)
            todo = [Support("", p, s) for p in pieces for _, *both in pairs for s in both]
            row: Row = {"id": doc_id, "debate": key, "kinds": [kind for kind, *_ in pairs]}
            sides = {item.question.text: collection.side(item, doc_id) for item in items}
            row["sides"] = [sides[item.question.text] for item in items for _ in both_ways([item])]
            for name, values in (
                (READER, reader(todo)),
                (CLOSENESS, closest_sentences(encoder, todo)),
            ):
                difference = -np.diff(np.array(values, float).reshape(len(pieces), -1, 2))[..., 0]
                row[name] = (difference.mean(0) * len(pieces) ** 0.5).round(4).tolist()
            done[doc_id] = row
            stream.write(json.dumps(row) + "\n")
            stream.flush()
    return list(done.values())


def margins(rows: Sequence[Row], parts: Mapping[str, Standard]) -> dict[str, Values]:
    """Return margins for the right side, by kind; `packaged` kinds add the similarity."""
    per = {name: standard.weight / standard.deviation for name, standard in parts.items()}
    by_kind: dict[str, list[tuple[float, int, str]]] = {}
    for row in rows:
        for kind, side, z, c in zip(
            row["kinds"], row["sides"], row[READER], row[CLOSENESS], strict=True
        ):
            by_kind.setdefault(kind, []).append((z, side, row["debate"]))
            both = z + c * per[CLOSENESS] / per[READER]
            by_kind.setdefault(f"{kind}, packaged", []).append((both, side, row["debate"]))
    return {kind: np.array(triples, object) for kind, triples in by_kind.items()}


def figures(values: Values) -> Values:
    """Return the share of right sides and AUROC."""
    z, side = values[:, 0].astype(float), values[:, 1].astype(int)
    order = np.argsort(np.argsort(z)) + 1.0
    ahead = side > 0
    wins = order[ahead].mean() - (ahead.sum() + 1) / 2
    return np.array([np.mean(z * side > 0), wins / (~ahead).sum()])


def differences(ours: Values, other: Values) -> Values:
    """Return the interval ends of both differences, float [2, 2]."""
    debates = sorted(set(ours[:, 2]))
    by = [np.flatnonzero(ours[:, 2] == debate) for debate in debates]
    rng = np.random.default_rng(0)
    drawn = (np.concatenate([by[i] for i in rng.integers(0, len(by), len(by))])
             for _ in range(_DRAWS))  # fmt: skip
    return np.quantile(
        [figures(ours[r]) - figures(other[r]) for r in drawn], [0.025, 0.975], axis=0
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", type=Path, default=PACKAGED)
    parser.add_argument("--keep", type=Path, required=True)
    parser.add_argument("--against", type=Path, help="another's FILE")
    options = parser.parse_args()
    settings = load_perspective_student().student.settings["parts"]
    parts = {name: Standard(row["mean"], row["deviation"], row["weight"])
             for name, row in settings.items()}  # fmt: skip
    rows = ask(options.folder, options.keep)
    by_kind = margins(rows, parts)
    base: dict[str, Values] = {}
    if options.against:
        lines = map(json.loads, options.against.open(encoding="utf-8"))
        other = {row["id"]: row for row in lines}
        base = margins([other[row["id"]] for row in rows], parts)
    for kind, values in by_kind.items():
        right, auroc = figures(values)
        print(f"{kind} ({len(values)}): right {right:.3f}, AUROC {auroc:.3f}", end="")
        against = base.get(f"{kind.removesuffix(', packaged')}, packaged")
        if against is not None:
            low, high = differences(values, against)
            texts = (f"[{a:+.3f}, {b:+.3f}]" for a, b in zip(low, high, strict=True))
            print("; less the other's packaged:", *texts, end="")
        print()


if __name__ == "__main__":
    sys.exit(main())
