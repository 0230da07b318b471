"""Write training pairs for students: GPT-4's verdicts that DIRAS released.

    python lab/diras/teacher_labels.py --data ../shared/data --out teaching [--chat]

Writes `qa.jsonl` (questions of ASQA, QAMPARI and RAG-Bench) and `climretrieve.jsonl` (corporate
climate reports; all its pairs are relevant, so each passage is also paired with other questions as
irrelevant). With --chat, also writes `chatreport.jsonl` (GPT-4's verdicts on ChatReportRetrieve,
the test set, for students that are tested on its other questions).
"""

from __future__ import annotations

import argparse
import json
import random
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from recipe import read_table

DIRECT = (
    "Useful only if some of its content directly answers the question or a part of it. Content on "
    "the same topic without direct answers is not useful."
)
"""The definition of relevance in GPT-4's prompt for the questions of ASQA, in our words."""

GRADES = {1: 0.75, 2: 0.85, 3: 0.95}
"""Relevance grade of ClimRetrieve -> target."""
ELSEWHERE = 0.15
"""Target of a passage for a question for which it was not marked: rarely relevant."""
OTHERS = 2
"""Number of other questions per passage."""

_ASQA = re.compile(r'<question>: "(.*?)"\n<paragraph>: "(.*?)"\n\n\nIs <para', re.DOTALL)
_GUESS = re.compile(r"\W*(yes|no)\b", re.IGNORECASE)
_NUMBER = re.compile(r"\d*\.?\d+")


def verdict(guess: str, confidence: str) -> float | None:
    """Return the probability of relevance, or None if the reply cannot be parsed."""
    match, number = _GUESS.match(guess), _NUMBER.search(confidence)
    if match is None or number is None or not 0 <= float(number[0]) <= 1:
        return None
    sure = float(number[0])
    return sure if match[1].lower() == "yes" else 1 - sure


def pair(
    name: str, group: str, question: str, document: str, definition: str, p: float | None
) -> dict[str, Any]:
    return {
        "id": name,
        "question": question,
        "document": document,
        "definition": definition,
        "group": group,
        "value": None if p is None else p >= 0.5,
        "probability": None if p is None else round(p, 4),
        "unscored": "unreadable" if p is None else None,
        "judge": "gpt-4",
    }


def question_answering(folder: Path) -> Iterator[dict[str, Any]]:
    train = folder / "diras_general_qa" / "train"
    for number, row in enumerate(read_table(train / "asqa_train_data.csv")):
        question, document = _ASQA.search(row["input"]).groups()
        guess, _, confidence = row["output"].partition("[Confidence]")
        p = verdict(guess.partition(":")[2], confidence)
        yield pair(f"asqa/{number}", f"asqa: {question}", question, document, DIRECT, p)
    for name in ("qampari", "rag_bench"):
        for number, row in enumerate(read_table(train / f"{name}_train_data.csv")):
            p = verdict(row["guess"], row["confidence"])
            question = row["question"]
            yield pair(
                f"{name}/{number}", f"{name}: {question}", question, row["document"], DIRECT, p
            )


def climate(folder: Path, seed: int = 0) -> Iterator[dict[str, Any]]:
    rows = read_table(folder / "climretrieve" / "relevant_pairs.csv")
    rng = random.Random(seed)
    by_question = {row["question"]: row for row in rows}
    for number, row in enumerate(rows):
        p = GRADES[int(row["relevance"])]
        for kind in ("generic", "specific"):
            yield climate_pair(f"{number}", kind, row, row["paragraph"], p)
        others = [row["question"]]
        for name in rng.sample([q for q in by_question if q not in others], OTHERS):
            kind = rng.choice(("generic", "specific"))
            yield climate_pair(f"{number}", kind, by_question[name], row["paragraph"], ELSEWHERE)


def climate_pair(
    number: str, kind: str, row: Mapping[str, str], document: str, p: float
) -> dict[str, Any]:
    group = f"clim {kind}: {row['question']}"
    name = f"{group}/{number}"
    return pair(name, group, row["question"], document, row[f"background_{kind}"], p)


def reports(folder: Path) -> Iterator[dict[str, Any]]:
    rows = read_table(folder / "chatreportretrieve" / "chatreport_test.csv")
    replies = read_table(folder / "chatreportretrieve" / "chatreport_test_results.csv")
    for number, (row, reply) in enumerate(zip(rows, replies, strict=True)):
        p = verdict(reply["gpt4_guess"], reply["gpt4_confidence"])
        question = row["Questions"]
        yield pair(f"chat/{number}", question, question, row["Paragraphs"], row["Background"], p)


def unique(rows: Iterator[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Skip repeated passages of the same question."""
    seen = set()
    for row in rows:
        key = row["group"], row["document"]
        if key not in seen:
            seen.add(key)
            yield row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--chat", action="store_true")
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    sets = {"qa": question_answering, "climretrieve": climate}
    if arguments.chat:
        sets["chatreport"] = reports
    for name, rows in sets.items():
        path = arguments.out / f"{name}.jsonl"
        count = yes = 0
        with path.open("w", encoding="utf-8") as stream:
            for row in unique(rows(arguments.data)):
                stream.write(json.dumps(row, ensure_ascii=False) + "\n")
                count, yes = count + 1, yes + bool(row["value"])
        print(f"{path}: {count} pairs, {yes} relevant")


if __name__ == "__main__":
    main()
