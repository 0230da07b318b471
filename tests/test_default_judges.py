"""The judge that a bare command opens is the one that the documentation says is best."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from command import run
from pnyx import PackagedJudge, Support, ask
from pnyx.judging.counted_judge import default_judge
from pnyx.judging.open_judge import open_judge
from pnyx.judging.options import JudgeSpec
from pnyx.judging.students.judge import ANSWER, CITATION
from pnyx.judging.tasks import TASKS
from pnyx.reports.open_reports import open_report_judge
from pnyx.reports.options import ReportJudgeSpec
from pnyx.reports.tree.node_questions import ask_attests, ask_said_before

PAGE = Path(__file__).parents[1] / "docs" / "lab" / "benchmarks.md"
HEADING = "## Which judge answers without a language model\n"
TEXT = "Fares fell by half, and ridership rose in every district of the city."

pytestmark = [
    pytest.mark.skipif(not PAGE.is_file(), reason="the documentation is not in this copy"),
    pytest.mark.usefixtures("own_place"),
]


def _rows() -> Iterator[tuple[str, str]]:
    section = PAGE.read_text(encoding="utf-8").split(HEADING)[1].split("\n## ")[0]
    yield from re.findall(r"^\| `([a-z-]+)`[^|]*\| `([^`|]+)` \|", section, re.M)


BEST = dict(_rows()) if PAGE.is_file() else {}


def test_the_table_has_a_row_for_each_task_that_something_packaged_answers() -> None:
    assert len(list(_rows())) == len(BEST)
    assert {task: PackagedJudge(task).name for task in PackagedJudge().tasks} == BEST


@pytest.mark.parametrize("task", sorted(BEST.keys() & TASKS.keys()))
def test_a_bare_command_opens_the_judge_of_the_table(task: str, tmp_path: Path) -> None:
    items = tmp_path / "items.jsonl"
    items.write_text(TASKS[task].example + "\n", encoding="utf-8")
    assert run("judge", task, str(items), "--out", str(tmp_path / "out")) == 0
    rows = (tmp_path / "out" / "answers.jsonl").read_text(encoding="utf-8").splitlines()
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text(encoding="utf-8"))
    assert {manifest["judge"], *(json.loads(row)["judge"] for row in rows)} == {BEST[task]}


def test_what_asks_several_tasks_asks_each_of_the_judge_of_the_table() -> None:
    asked = {
        CITATION: [
            ask_attests("r", TEXT, "Fares fell.", "d", topic_id="t"),
            ask_said_before("r", [TEXT], "Fares fell.", topic_id="t"),
        ],
        ANSWER: [Support("a", TEXT, "Fares fell.", from_answer=True)],
    }
    for task in sorted(BEST.keys() & TASKS.keys()):
        if TASKS[task].kind is Support:
            asked[task] = [Support(task, TEXT, "Fares fell.", task=task, question="Did they?")]
    with open_report_judge(ReportJudgeSpec(), print) as opened:
        in_reports = opened.judge
    of = {
        in_reports: (CITATION, "nugget", "negative", "needs-citation", "unanswerable"),
        default_judge(None): (CITATION, "relevance", "stance"),
        PackagedJudge(): tuple(asked),
    }
    for judge, tasks in of.items():
        for task in tasks:
            assert {a.provenance.judge for a in ask(judge, asked[task])} == {BEST[task]}


def test_citations_answers_and_arguments_are_asked_of_their_judge(tmp_path: Path) -> None:
    with open_judge(TASKS["support"], JudgeSpec(), print, support_of="citations") as opened:
        assert opened.judge.name == BEST[CITATION]
    with open_judge(TASKS["support"], JudgeSpec(), print, support_of="answers") as opened:
        assert opened.judge.name == BEST[ANSWER]
    with open_judge(TASKS["support"], JudgeSpec(), print, support_of="perspectives") as opened:
        assert opened.judge.name == BEST["support"]
    items, out = tmp_path / "items.jsonl", tmp_path / "out"
    items.write_text(TASKS["rag"].example + "\n", encoding="utf-8")
    assert run("judge", "rag", str(items), "--out", str(out)) == 0
    manifest = json.loads((out / "manifest.json").read_text(encoding="utf-8"))
    assert (manifest["judge"], manifest["counts"]["unscored"]) == (f"{BEST[ANSWER]} support", 0)
