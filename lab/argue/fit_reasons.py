"""Fits which sentences state a reason, on the training folders; measures on the development ones.

    python lab/argue/fit_reasons.py [--save src/pnyx/search/reasons.json]
        [--write docs/lab/argue-folders.md]

A sentence of a paragraph that argues a side states a reason if the folder's source marks it. The
headline of a paragraph is chosen as the writer does; the test folders are never read.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from folder_sources import Block, paragraph_of, read_folders

sys.path.insert(0, str(Path(__file__).parents[1] / "judging"))

from common import Report, arguments

from pnyx.cases.extractive import central, headline
from pnyx.formats.text.citations import without_notes
from pnyx.formats.text.segment import split_sentences
from pnyx.judging.statements import statements
from pnyx.judging.students.regression import fit_regression
from pnyx.models.embed.encoder import load_encoder
from pnyx.search.quotable import MIN_REASON, flaw, is_quotable, reason_inputs

SOURCES = Path(__file__).with_name("folders")
STRENGTH = 1 / 300
"""Of the regression, inputs standardised; in folds over training folders 1/1000 is no better."""
DRAWS = 2000

Floats = npt.NDArray[np.floating[Any]]


@dataclass(frozen=True)
class Passage:
    """A paragraph that argues a side, or nothing: its quotable sentences and which are marked."""

    folder: str
    claim: str  # what its side says; empty where it argues nothing
    texts: tuple[str, ...]
    flaws: tuple[str, ...]
    marked: npt.NDArray[np.bool_]

    @property
    def usable(self) -> list[int]:
        """The places of sentences that can be quoted alone, or else of those that nearly can."""
        alone = [i for i, name in enumerate(self.flaws) if not name]
        return alone or [i for i, name in enumerate(self.flaws) if name in ("leaning", "conceding")]


def passages(part: str) -> list[Passage]:
    """Return the paragraphs of a part that argue one side of something, or nothing at all."""
    found = []
    for folder in read_folders(SOURCES / part):
        for block in (block for file in folder.files for block in file.paragraphs):
            asked = [q for q in folder.questions if block.stance(q) in ("yes", "no")]
            if not asked and block.labels != (".",):
                continue
            claim = statements(asked[0].text)[block.stance(asked[0]) == "no"] if asked else ""
            body = [without_notes(text) for text in split_sentences(block.text)]
            after = dict(zip(body, [*body[1:], ""], strict=True))
            texts = tuple(filter(is_quotable, after))
            flaws = tuple(flaw(text, after[text]) for text in texts)
            marked = np.array([_is_marked(text, block.reasons) for text in texts], dtype=bool)
            if texts:
                found.append(Passage(folder.name, claim, texts, flaws, marked))
    return found


def _is_marked(text: str, reasons: Sequence[str]) -> bool:
    return any(paragraph_of(text, [Block(reason)]) for reason in reasons)


def fit(training: Sequence[Passage]) -> dict[str, Any]:
    """Return the constant and the weights for inputs as they are."""
    encoder = load_encoder()
    x = np.vstack([reason_inputs(p.texts, encoder.encode(p.texts)) for p in training])
    marked = np.concatenate([p.marked for p in training]).astype(np.float64)
    groups = [p.folder for p in training for _ in p.texts]
    mean, spread = x.mean(axis=0), x.std(axis=0)
    fitted = fit_regression((x - mean) / spread, marked, groups, STRENGTH)
    weights = fitted.weights / spread
    return {
        "constant": round(float(fitted.intercept - mean @ weights), 4),
        "weights": [round(float(weight), 4) for weight in weights],
    }


def measure(part: str, report: Report) -> None:
    """Report how many headlines of paragraphs that argue a side state a reason."""
    encoder, rows = load_encoder(), []
    for passage in passages(part):
        usable = passage.usable
        if not passage.claim or not usable:
            continue
        texts = [passage.texts[i] for i in usable]
        vectors, claim = encoder.encode(texts), encoder.encode([passage.claim])[0]
        before = int(np.argmax(central(vectors, claim)))
        now, chance = headline(texts, vectors, claim)
        marked = passage.marked[usable]
        rows.append((marked[before], marked[now], marked.any(), chance >= MIN_REASON))
    table = np.array(rows, dtype=bool)
    confident = table[table[:, 3]]
    report.line(f"{len(table)} paragraphs of the {part} folders that argue a side. Share [95 %].")
    report.head("headline", "all paragraphs", f"{len(confident)} with a likely reason")
    for place, name in enumerate(("most typical sentence", "likeliest reason", "best possible")):
        report.row(name, _share(table[:, place]), _share(confident[:, place]))


def _share(values: npt.NDArray[np.bool_]) -> str:
    drawn = np.random.default_rng(0).choice(values, (DRAWS, len(values))).mean(axis=1)
    low, high = np.quantile(drawn, [0.025, 0.975])
    return f"{100 * values.mean():.0f} % [{100 * low:.0f}, {100 * high:.0f}]"


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--save", type=Path, metavar="FILE", help="fit, and write the weights")
    options = parser.parse_args()
    if options.save:
        fitted = fit(passages("training"))
        options.save.write_text(json.dumps(fitted) + "\n", encoding="utf-8")
    report = Report("argue-folders-headlines")
    measure("development", report)
    report.write(options.write)


if __name__ == "__main__":
    main()
