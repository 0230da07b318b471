"""Fit which sentences state a reason on the training folders, and measure on the development ones.

    python lab/argue/fit_reasons.py [--save src/pnyx/search/reasons.json]
        [--write docs/lab/argue-folders.md]

A sentence of a paragraph that argues a side states a reason if the source of the folder marks it.
Headlines of paragraphs are chosen as the writer chooses them. The test folders are never read.
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
from shares import DRAWS, ends, percent

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
"""Regularisation with standardised inputs; 1/1000 is not better in cross-validation."""

Floats = npt.NDArray[np.floating[Any]]


@dataclass(frozen=True)
class Passage:
    """A paragraph that argues a side or nothing: its quotable sentences, and which are marked."""

    folder: str
    claim: str  # what its side says; empty where it argues nothing
    texts: tuple[str, ...]
    flaws: tuple[str, ...]
    marked: npt.NDArray[np.bool_]

    @property
    def usable(self) -> list[int]:
        """The positions of sentences that can be quoted alone; else of those that nearly can."""
        alone = [i for i, name in enumerate(self.flaws) if not name]
        return alone or [i for i, name in enumerate(self.flaws) if name in ("leaning", "conceding")]


def passages(part: str) -> list[Passage]:
    """Return the paragraphs of a part that argue one side of a question, or nothing."""
    paragraphs = []
    for folder in read_folders(SOURCES / part):
        for block in (block for file in folder.files for block in file.paragraphs):
            questions = [q for q in folder.questions if block.stance(q) in ("yes", "no")]
            if not questions and block.labels != (".",):
                continue
            claim = (
                statements(questions[0].text)[block.stance(questions[0]) == "no"]
                if questions
                else ""
            )
            body = [without_notes(text) for text in split_sentences(block.text)]
            after = dict(zip(body, [*body[1:], ""], strict=True))
            texts = tuple(filter(is_quotable, after))
            flaws = tuple(flaw(text, after[text]) for text in texts)
            marked = np.array([_is_marked(text, block.reasons) for text in texts], dtype=bool)
            if texts:
                paragraphs.append(Passage(folder.name, claim, texts, flaws, marked))
    return paragraphs


def _is_marked(text: str, reasons: Sequence[str]) -> bool:
    return any(paragraph_of(text, [Block(reason)]) for reason in reasons)


def fit(training: Sequence[Passage]) -> dict[str, Any]:
    """Return the constant and the weights for unscaled inputs."""
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
    """Report how often the headline of a paragraph that argues a side states a reason."""
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
    for column, name in enumerate(("most typical sentence", "likeliest reason", "best possible")):
        report.row(name, _share(table[:, column]), _share(confident[:, column]))


def _share(values: npt.NDArray[np.bool_]) -> str:
    drawn = np.random.default_rng(0).choice(values, (DRAWS, len(values))).mean(axis=1)
    return percent((float(values.mean()), *ends(drawn)))


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
