"""People's labels of the nuggets that a text contains, split into development and held-out parts.

Two repositories, cloned side by side into the folder of `PNYX_NUGGETS`:

- github.com/salesforce/summary-of-a-haystack (SummHay, Apache-2.0; read at 4353172): 200 reports by
  9 language models on 29 questions about 3 collections of documents, with insights that people
  marked as fully, partly or not covered, and the line of the report that covers them best.
- github.com/ZhangShiyue/Lite2-3Pyramid (no licence stated; read at cfa581a): REALSumm, summaries of
  100 news articles by 25 systems, with content units that people marked as present or not.

In both, the questions (or articles) and teams (or systems) of held-out pairs do not occur in the
development pairs. Only full coverage counts as yes. All texts are English.
"""

from __future__ import annotations

import json
import os
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from pnyx.judging.questions import Support

FOLDER = Path(os.environ.get("PNYX_NUGGETS", "../nugget-labels"))
HAYSTACK = "summary-of-a-haystack/data/eval_benchmark_data.json"
SUMMARIES = "Lite2-3Pyramid/data/REALSumm"

DEVELOPMENT_TEAMS = ("gpt", "gemini")
"""Prefixes of the models whose reports are for development; the others (Anthropic, Cohere) are held
out."""

Part = Literal["development", "held-out"]
Pairs = list[tuple[Support, bool]]

_CITATION = re.compile(r"\s*\[[\d,;\s-]+\]")
_LEAST_WORDS = 3
"""Shorter lines of a report are marks or headings."""


def _report(row: dict[str, Any]) -> list[str]:
    """Return the lines of a report without citations, at the positions that the labels use."""
    return [_CITATION.sub("", line).strip() for line in row["summary"]]


def _chosen_reports(part: Part) -> Iterator[tuple[dict[str, Any], list[dict[str, Any]]]]:
    """Yield the reports of a part, each with its labels and the texts of their insights."""
    rows = json.loads((FOLDER / HAYSTACK).read_text(encoding="utf-8"))
    questions: dict[str, set[str]] = defaultdict(set)
    for row in rows:
        questions[row["topic"]].add(row["subtopic_id"])
    development = {name for names in questions.values() for name in sorted(names)[::2]}
    for row in rows:
        team = row["summkey"].split("_")[-1].startswith(DEVELOPMENT_TEAMS)
        if team != (row["subtopic_id"] in development) or team != (part == "development"):
            continue
        texts = {insight["insight_id"]: insight["insight"] for insight in row["reference_insights"]}
        yield row, [{**label, "text": texts[label["insight_id"]]} for label in row["annotation"]]


def whole_reports(part: Part) -> Pairs:
    """Return pairs of a whole report and an insight; a group is a question."""
    pairs = []
    for number, (row, labels) in enumerate(_chosen_reports(part)):
        text = "\n".join(line for line in _report(row) if line)
        for label in labels:
            name = f"{part}/{number}/{label['insight_id']}"
            extra = {"report": number, "insight": label["insight_id"]}
            pair = Support(name, text, label["text"], "nugget", group=row["subtopic_id"])
            pairs.append((replace(pair, extra=extra), label["coverage"] == "fully_covered"))
    return pairs


def report_lines(part: Part) -> Pairs:
    """Return pairs of a line of a report and an insight: yes if the line covers it best, fully.

    People named one line for each insight. Other lines that also cover it count as no.
    """
    pairs = []
    for number, (row, labels) in enumerate(_chosen_reports(part)):
        for label in labels:
            full = label["coverage"] == "fully_covered"
            for position, line in enumerate(_report(row)):
                if len(line.split()) < _LEAST_WORDS:
                    continue
                name = f"{part}/{number}/{label['insight_id']}/{position}"
                extra = {"report": number, "insight": label["insight_id"]}
                pair = Support(name, line, label["text"], "nugget", group=row["subtopic_id"])
                pairs.append(
                    (replace(pair, extra=extra), full and label["candidate_id"] == str(position))
                )
    return pairs


def summaries(part: Part) -> Pairs:
    """Return pairs of a news summary and a content unit; a group is an article."""
    folder = FOLDER / SUMMARIES
    units = _rows(folder / "SCUs.txt")
    first = 0 if part == "development" else 1
    systems = sorted(path.stem for path in folder.glob("summaries/*.summary"))[first::2]
    pairs = []
    for system in systems:
        texts = _rows(folder / f"summaries/{system}.summary")
        labels = _rows(folder / f"labels/{system}.label")
        for article in range(first, len(units), 2):
            text = "\t".join(texts[article])
            for n, (unit, label) in enumerate(zip(units[article], labels[article], strict=True)):
                name = f"{system}/{article}/{n}"
                pair = Support(name, text, unit, "nugget", group=f"article {article}")
                pairs.append((pair, label == "1"))
    return pairs


def _rows(path: Path) -> list[list[str]]:
    text = path.read_text(encoding="utf-8").removesuffix("\n")
    return [line.split("\t") for line in text.split("\n")]
