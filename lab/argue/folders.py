"""The main job on folders of ordinary files, without labels and without a language model.

    python lab/argue/folders.py --work FOLDER --write docs/lab/argue-folders.md
    ... --part development     # used for choices; the default is the test folders

Each folder of `lab/argue/folders/PART` is rendered (Markdown, PDF, Word, web pages, ...), indexed
as by `pnyx serve`, and searched with its questions. Each cited sentence is traced to the labelled
paragraph that it is from. FOLDER stores the rendered files, the indexes and the result of each
question; remove FOLDER/cases-* after a change of the code.

There are two baselines: the most likely passages of each side among the first 30, whatever their
probability, and the first 8 of the ranking, each for its more likely side.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from folder_sources import Block, Folder, Question, paragraph_of, read_folders, write_files
from shares import intervals, mean, percent

sys.path.insert(0, str(Path(__file__).parents[1] / "judging"))

from common import Report, arguments

import pnyx
from pnyx.cases.case import Case

SOURCES = Path(__file__).with_name("folders")
SIDES = {"pro": "yes", "con": "no"}
VARIANTS: Mapping[str, dict[str, Any]] = {
    "Pnyx": {},
    "the likeliest of each side": {"certainty": 0.0},
    "the first 8 of the ranking": {"certainty": 0.0, "retrieve": 8},
}
OPPOSITE = {"yes": "no", "no": "yes"}

Row = dict[str, Any]


def source_of(doc_id: str, folder: Folder) -> tuple[Block, ...]:
    """Return the paragraphs of the file that a document or passage comes from."""
    paths = [
        file for file in folder.files if doc_id == file.path or doc_id.startswith(f"{file.path}#")
    ]
    return max(paths, key=lambda file: len(file.path)).paragraphs if paths else ()


def outcome(folder: Folder, question: Question, case: Case, spent: tuple[float, float]) -> Row:
    """Return the result of one question: side, role and stance of each cited sentence."""
    sentences = []
    for side in case.sides:
        for sentence in side.response.sentences:
            cited = [citation.doc_id for citation in sentence.citations]
            block = next(
                filter(None, (paragraph_of(sentence.text, source_of(d, folder)) for d in cited)),
                None,
            )
            stance = None if block is None else block.stance(question)
            reason = block is not None and any(
                paragraph_of(sentence.text, [Block(text)]) for text in block.reasons
            )
            sentences.append(
                {
                    "side": SIDES[side.side],
                    "head": sentence.extra.get("role") == "conclusion",
                    "stance": stance,
                    "reason": reason,
                    "text": sentence.text,
                    "cited": cited,
                }
            )
    seconds, cpu = (round(value, 2) for value in spent)
    return {
        "question": question.id,
        "folder": folder.name,
        "sentences": sentences,
        "held": sorted(folder.sides(question)),
        "warned": [SIDES[side.side] for side in case.sides if side.doubtful],
        "seconds": seconds,
        "cpu": cpu,
    }


def open_folder(folder: Folder, work: Path) -> pnyx.Collection:
    """Open the index of a folder; write its files and build the index if they are missing."""
    files, index = work / "files" / folder.name, work / "indexes" / folder.name
    if not files.exists():
        write_files(folder, files)
    index.parent.mkdir(parents=True, exist_ok=True)
    return pnyx.open(str(index)) if index.exists() else pnyx.open(str(files), index)


def rows_of(folder: Folder, work: Path, variant: str) -> list[Row]:
    """Return the result of each question of a folder; finished ones are read from `work`."""
    cases = work / f"cases-{variant.replace(' ', '-')}"
    cases.mkdir(parents=True, exist_ok=True)
    collection = open_folder(folder, work)
    file = cases / f"{folder.name}.jsonl"
    done: dict[str, Row] = {}
    if file.exists():
        done = {row["question"]: row for row in map(json.loads, file.open(encoding="utf-8"))}
    with file.open("a", encoding="utf-8") as stream:
        for question in folder.questions:
            if question.id in done:
                continue
            start, cpu = time.perf_counter(), time.process_time()
            case = collection.argue(question.text, **VARIANTS[variant])
            spent = time.perf_counter() - start, time.process_time() - cpu
            done[question.id] = outcome(folder, question, case, spent)
            stream.write(json.dumps(done[question.id]) + "\n")
            stream.flush()
    return [done[question.id] for question in folder.questions]


def figures(rows: Sequence[Row]) -> dict[str, float]:
    """Return the figures of some questions; shares are over all cited sentences together."""
    cited = [sentence for row in rows for sentence in row["sentences"]]
    heads = [sentence for sentence in cited if sentence["head"]]
    both = [row for row in rows if len(row["held"]) == 2]
    missing = [(row, side) for row in rows for side in ("yes", "no") if side not in row["held"]]
    return {
        "sentences": len(cited) / len(rows),
        "right": mean([sentence["stance"] == sentence["side"] for sentence in cited]),
        "wrong side": mean(
            [sentence["stance"] == OPPOSITE[sentence["side"]] for sentence in cited]
        ),
        "two-sided": mean([sentence["stance"] == "mixed" for sentence in cited]),
        "no side": mean([sentence["stance"] == "none" for sentence in cited]),
        "other matter": mean([sentence["stance"] in ("other", None) for sentence in cited]),
        "both rightly": mean([_rightly(row) == {"yes", "no"} for row in both]),
        "headlines with a reason": mean([sentence["reason"] for sentence in heads]),
        "missing side argued": mean([_argues(row, side) for row, side in missing]),
        "without a warning": mean(
            [_argues(row, side) and side not in row["warned"] for row, side in missing]
        ),
        "warned of": mean(
            [side in row["warned"] for row in rows for side in row["held"] if _argues(row, side)]
        ),
        "seconds": float(np.median([row["seconds"] for row in rows])),
        "CPU seconds": float(np.median([row["cpu"] for row in rows])),
    }


def _rightly(row: Row) -> set[str]:
    return {
        sentence["side"] for sentence in row["sentences"] if sentence["stance"] == sentence["side"]
    }


def _argues(row: Row, side: str) -> bool:
    return any(sentence["side"] == side for sentence in row["sentences"])


def cell(name: str, interval: tuple[float, float, float]) -> str:
    """Return a figure and its interval; shares are in percent."""
    if name in ("sentences", "seconds", "CPU seconds"):
        return f"{interval[0]:.1f}"
    return percent(interval)


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--work", type=Path, metavar="FOLDER", required=True)
    parser.add_argument("--part", choices=("test", "development"), default="test")
    options = parser.parse_args()
    report = Report(f"argue-folders-{options.part}")
    folders = read_folders(SOURCES / options.part)
    tables = {
        variant: {
            folder.name: rows_of(folder, options.work / options.part, variant) for folder in folders
        }
        for variant in VARIANTS
    }
    wholes = {
        variant: [row for rows in by_folder.values() for row in rows]
        for variant, by_folder in tables.items()
    }
    report.line(f"{len(wholes['Pnyx'])} questions on {len(folders)} folders. Share [95 %].")
    report.head("", *wholes)
    _table(report, wholes)
    report.head("Pnyx, by folder", *tables["Pnyx"])
    _table(report, tables["Pnyx"])
    report.write(options.write)


def _table(report: Report, columns: Mapping[str, Sequence[Row]]) -> None:
    measured = [intervals([[row] for row in rows], figures) for rows in columns.values()]
    for name in measured[0]:
        report.row(name, *(cell(name, column[name]) for column in measured))


if __name__ == "__main__":
    main()
