"""`pnyx judge report` through the door that users take."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from argue_report import (
    ASKED,
    ATTESTED,
    NUGGETS,
    REPORT,
    RUN,
    STEPS,
    TOPIC,
    scripted,
    write_files,
    write_labels,
)
from chat_server import ChatServer
from pnyx.judge.reports.records import JudgedReport, report_of_row
from pnyx.judge.store.store import Store

pytestmark = pytest.mark.usefixtures("own_place")


def rows_of(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def reports_of(folder: str | Path) -> list[JudgedReport]:
    return [report_of_row(row) for row in rows_of(Path(folder) / "reports.jsonl")]


def steps_of(report: JudgedReport):
    return tuple(
        tuple((" ".join(s.path), s.outcome, s.weight, s.about) for s in one.steps)
        for one in report.sentences
    )


def check_worked(folder: str | Path) -> None:
    """The report worked by hand, as a folder says it was judged."""
    (report,) = reports_of(folder)
    assert (report.run_id, report.topic_id) == (RUN, TOPIC)
    assert [one.text for one in report.sentences] == [text for text, _ in REPORT]
    assert steps_of(report) == STEPS
    assert tuple(one.attested for one in report.sentences) == ATTESTED
    assert {
        n.id: (tuple(a.given for a in n.answers), n.answered) for n in report.nuggets
    } == NUGGETS


def test_the_report_worked_by_hand_from_labels_in_every_style(tmp_path, call):
    labels = write_labels(tmp_path / "labels.jsonl")
    found = {}
    for style in ("ids", "scores", "indices"):
        run, bank = write_files(tmp_path, style)
        out = tmp_path / style
        status, printed, said = call(
            "judge", "report", run, "--nuggets", bank, "--labels", labels, "--out", out, "--json"
        )
        assert status == 3, said  # one document has no text
        check_worked(out)
        found[style] = (out / "reports.jsonl").read_bytes()
    assert len(set(found.values())) == 1
    assert sorted(p.name for p in out.iterdir()) == [
        "answers.jsonl",
        "manifest.json",
        "reports.jsonl",
    ]
    manifest = json.loads(printed)
    assert manifest == json.loads((out / "manifest.json").read_text())
    counts = manifest["reports"]
    sizes = {"runs": 1, "topics": 1, "reports": 1, "sentences": 11, "citations": 7, "nuggets": 4}
    assert {name: counts[name] for name in sizes} == sizes
    assert counts["outcomes"] == {"reward": 8, "penalty": 4, "neutral": 3, "unscored": 1}
    assert counts["missing"] == {}
    assert counts["nodes"]["attests"]["reasons"] == {"no text": 1}
    answers = rows_of(out / "answers.jsonl")
    assert Counter(row["task"] for row in answers) == ASKED
    (report,) = reports_of(out)
    by_id = {row["id"]: row for row in answers}
    assert report.sentences[0].citations[0].attests.id in by_id
    relevant = report.sentences[3].citations[0].relevant
    assert relevant.by.startswith("labels:")
    assert sum(name.startswith(f"{relevant.id}/") for name in by_id) == 5
    assert "d7" in report.notes[0]
    assert "1 reports: cited documents: no text" in said


def judge_llm(call, server, run, bank, out, *more):
    arguments = ("judge", "report", run, "--nuggets", bank, "--llm", server.spec, *more)
    return call(*arguments, "--out", out)


def test_a_model_in_batches_says_what_it_says_in_one_call_a_pair_for_a_tenth(tmp_path, call):
    run, bank = write_files(tmp_path)
    billed, calls = {}, {}
    for batch in (50, 1):
        with ChatServer(reply=scripted) as server:
            store = ("--store", tmp_path / f"{batch}.sqlite")
            status, _, said = judge_llm(
                call, server, run, bank, f"out-{batch}", "--batch", batch, *store
            )
            assert status == 3, said
            billed[batch], calls[batch] = server.billed["prompt_tokens"], len(server.asked())
            before = (Path(f"out-{batch}") / "reports.jsonl").read_bytes()
            assert (
                judge_llm(call, server, run, bank, f"out-{batch}", "--batch", batch, *store)[0] == 3
            )
            assert len(server.asked()) == calls[batch]  # nothing is asked twice
            assert (Path(f"out-{batch}") / "reports.jsonl").read_bytes() == before
        check_worked(f"out-{batch}")
    assert calls[1] == sum(ASKED.values())
    # d5 and d6; d1, d2, d3 and d5 with what cites them; sentences 1, 2, 4 and 7; of those without
    # citations: negative at once, two that are, the others at once, two that may be said before.
    assert calls[50] == 2 + 4 + 4 + 1 + 2 + 1 + 1
    assert billed[50] < billed[1] / 2  # four nuggets are few; benchmarks/reports has thirty
    answers = {
        batch: {row["id"]: row["value"] for row in rows_of(Path(f"out-{batch}") / "answers.jsonl")}
        for batch in (50, 1)
    }
    assert answers[50] == answers[1]


def test_a_plan_asks_nothing_and_counts_what_may_be_asked(tmp_path, call):
    run, bank = write_files(tmp_path)
    with ChatServer(reply=scripted) as server:
        status, printed, said = call(
            "judge", "report", run, "--nuggets", bank, "--llm", server.spec, "--plan", "--json"
        )
        assert (status, server.asked()) == (0, []), said
        planned = json.loads(printed)
        assert planned["questions"] >= sum(ASKED.values())
        (model,) = planned["models"]
        assert judge_llm(call, server, run, bank, "out")[0] == 3
        assert len(server.asked()) <= model["calls"]
        _, high = model["prompt_tokens"]
        assert server.billed["prompt_tokens"] <= high
        status, printed, _ = call(
            "judge", "report", run, "--nuggets", bank, "--llm", server.spec, "--plan", "--json"
        )
        assert json.loads(printed)["models"][0]["from_store"] == len(server.asked())


def test_a_budget_is_kept_and_what_is_left_is_unscored(tmp_path, call):
    run, bank = write_files(tmp_path)
    with ChatServer(reply=scripted) as server:
        status, _, said = judge_llm(call, server, run, bank, "out", "--budget-tokens", 3000)
        assert status == 3, said
        assert 0 < server.billed["prompt_tokens"] + server.billed["completion_tokens"] <= 3000
    (report,) = reports_of("out")
    assert any("budget" in c.attests.why for s in report.sentences for c in s.citations)


@pytest.mark.slow
def test_kill_9_and_again_asks_no_model_twice(tmp_path):
    run, bank = write_files(tmp_path)
    command = [sys.executable, "-m", "pnyx", "judge", "report", run, "--nuggets", bank]
    with ChatServer(reply=scripted, delay=0.05) as server:
        command += ["--llm", server.spec, "--batch", "1", "--concurrency", "2", "--out", "out"]
        process = subprocess.Popen(command)
        deadline = time.monotonic() + 30
        while len(server.answered()) < 12 and time.monotonic() < deadline:
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
        process.wait()
        with Store(tmp_path / "store.sqlite") as store:
            stored = len(store)
        killed_at = len(server.answered())
        assert 10 <= stored < sum(ASKED.values())
        assert subprocess.run(command, check=False).returncode == 3
        counts = Counter(server.answered())
    assert len(counts) == sum(ASKED.values())
    assert sum(n - 1 for n in counts.values()) == killed_at - stored <= 2
    check_worked("out")


SLOW_RUN = """
import sys, time
from pnyx.judge.lookup import HumanLabels
answered = HumanLabels._answer
def slowly(self, question):
    time.sleep(0.005)
    with open("log", "a") as log:
        log.write(question.id + "\\n")
    return answered(self, question)
HumanLabels._answer = slowly
from pnyx.cli import main
main(sys.argv[1:])
"""


def test_kill_9_and_again_repeats_little_of_what_no_model_answers(tmp_path):
    run, bank = write_files(tmp_path)
    labels = write_labels(tmp_path / "labels.jsonl")
    command = [sys.executable, "-c", SLOW_RUN, "judge", "report", run, "--nuggets", bank]
    command += ["--labels", labels, "--out", "out"]
    process = subprocess.Popen(command)
    log = tmp_path / "log"
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline and not (log.exists() and len(log.read_text()) > 600):
        time.sleep(0.002)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert not (tmp_path / "out" / "manifest.json").exists()
    assert subprocess.run(command, check=False).returncode == 3
    counts = Counter(log.read_text().splitlines())
    assert len(counts) == sum(ASKED.values())
    assert sum(n - 1 for n in counts.values()) <= 1
    check_worked("out")
