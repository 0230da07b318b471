"""A campaign of two topics and three runs for `auto-judge run`, written by hand for the tests."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

MARK = "Kanarienvogel"
"""Is in every text of a report or document, and in no topic or nugget."""

DOCUMENTS = {
    "d-fares": f"{MARK} report: the city made all buses free in 2019; a third more rode.",
    "d-cost": f"{MARK} report: free buses cost the city 40 million euros a year.",
    "d-whales": f"{MARK} report: blue whales eat krill.",
}
TOPICS = [
    {
        "request_id": "buses",
        "title": "free buses",
        "problem_statement": "What happened when buses became free?",
        "background": "I advise a city council.",
    },
    {"request_id": "whales", "title": "What do whales eat?"},
]
BANKS = [
    {
        "query_id": "buses",
        "title_query": "free buses",
        "format_version": "v3",
        "nugget_bank": {
            "When did buses become free?": {
                "question": "When did buses become free?",
                "question_id": "q-when",
                "query_id": "buses",
                "aggregator_type": "OR",
                "importance": "vital",
                "answers": {
                    "2019": {"answer": "2019", "references": [{"doc_id": "d-fares"}]},
                },
            }
        },
    },
    {
        "query_id": "whales",
        "title_query": "What do whales eat?",
        "format_version": "v3",
        "nugget_bank": {
            "What do blue whales eat?": {
                "question": "What do blue whales eat?",
                "question_id": "q-eat",
                "query_id": "whales",
                "aggregator_type": "OR",
                "answers": {"krill": {"answer": "krill", "references": [{"doc_id": "d-whales"}]}},
            }
        },
    },
]


def sentence(text: str, *cited: str) -> dict[str, Any]:
    return {"text": f"{MARK}: {text}", "citations": list(cited)}


def report(run: str, topic: str, *sentences: dict[str, Any]) -> dict[str, Any]:
    cited = {doc_id for one in sentences for doc_id in one["citations"]}
    return {
        "metadata": {"team_id": "us", "run_id": run, "topic_id": topic},
        "responses": list(sentences),
        "references": sorted(cited),
        "documents": {one: {"id": one, "text": DOCUMENTS[one]} for one in sorted(cited)},
    }


RUNS = {
    "good": [
        report(
            "good",
            "buses",
            sentence("the city made all buses free in 2019.", "d-fares"),
            sentence("free buses cost the city 40 million euros a year.", "d-cost"),
        ),
        report("good", "whales", sentence("blue whales eat krill.", "d-whales")),
    ],
    "poor": [
        report("poor", "buses", sentence("trams were sold in 1950.", "d-whales")),
        report("poor", "whales", sentence("whales eat buses."), sentence("Hello!")),
    ],
    "half": [report("half", "whales", sentence("blue whales eat krill.", "d-whales"))],
}


def write_lines(path: Path, rows: list[Any]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def campaign(folder: Path, *, order: int = 1) -> Path:
    """Write runs, topics and banks to a folder; the files of runs in one order or the other."""
    for number, run in enumerate(list(RUNS)[::order]):
        write_lines(folder / "runs" / f"{number}.jsonl", RUNS[run][::order])
    write_lines(folder / "topics.jsonl", TOPICS)
    write_lines(folder / "banks.jsonl", BANKS)
    return folder


def auto_judge(
    folder: Path, out: Path, *more: str, env: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run the program on a campaign with the packaged workflow."""
    program = Path(sys.executable).parent / "auto-judge"
    known = {k: v for k, v in os.environ.items() if not k.startswith(_OTHERS)}
    return subprocess.run(
        [str(program), *_arguments(folder, out, *more)],
        env={**known, "PNYX_STORE": str(folder / "store.sqlite"), **(env or {})},
        capture_output=True,
        text=True,
        check=False,
    )


def auto_judge_here(
    folder: Path, out: Path, *more: str, env: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Do what the program does, in this process, which imports everything once."""
    from autojudge_base.cli import main
    from click.testing import CliRunner

    unset = dict.fromkeys((name for name in os.environ if name.startswith(_OTHERS)), None)
    given = {**unset, "PNYX_STORE": str(folder / "store.sqlite"), **(env or {})}
    arguments = _arguments(folder, out, *more)
    done = CliRunner().invoke(main, arguments, env=given)
    return subprocess.CompletedProcess(arguments, done.exit_code, done.stdout, done.stderr)


_OTHERS = ("OPENAI", "PNYX", "CACHE")


def _arguments(folder: Path, out: Path, *more: str) -> list[str]:
    from pnyx.reports.autojudge import workflow_path

    named = ["--rag-responses", folder / "runs", "--rag-topics", folder / "topics.jsonl"]
    command = ["run", "--workflow", workflow_path(), *named, "--out-dir", out, *more]
    return list(map(str, command))


def obliging(prompt: str) -> str:
    """What a model says that finds every document relevant, and a nugget in each window."""
    if "You collect the questions" in prompt:
        answer = {"answer": "something", "documents": [1]}
        nugget = {"number": 0, "question": "What is said?", "wanted": "one", "answers": [answer]}
        return json.dumps({"nuggets": [nugget]})
    if "whether a document helps to answer" in prompt:
        return json.dumps({"reason": "", "evidence": "", "answer": "yes", "confidence": 0.8})
    return ""
