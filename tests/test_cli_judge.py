"""`pnyx judge` through the door that users take."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter

import pytest

from argue_report import write_files, write_labels
from chat_server import ChatServer
from command import killed_and_run_again, rows_of, runner, wait_for, write_rows
from pnyx.core.errors import ModelError
from pnyx.core.folders import locked
from pnyx.judging.answers import Judged, Provenance
from pnyx.judging.questions import Support
from pnyx.judging.runs.results import judge_into
from pnyx.judging.tasks import TASKS

pytestmark = pytest.mark.usefixtures("own_place")


def items(tmp_path, count=5, **fields) -> str:
    rows = [
        {"id": f"i{n}", "text": f"Text {n}.", "statement": "S.", "group": "g", "my": [n], **fields}
        for n in range(count)
    ]
    return write_rows(tmp_path / "items.jsonl", rows)


run = runner("judge")


def test_answers_manifest_and_a_second_run_without_a_call(tmp_path, capsys):
    path, out = items(tmp_path), tmp_path / "deep" / "out"
    arguments = ("support", path, "--out", str(out), "--json")
    with ChatServer() as server:
        assert run(*arguments, "--judge", server.spec) == 0
        first = capsys.readouterr()
        before = (out / "answers.jsonl").read_bytes()
        calls = len(server.asked())
        assert run(*arguments, "--judge", server.spec) == 0
        assert len(server.asked()) == calls == 5
    assert (out / "answers.jsonl").read_bytes() == before
    assert sorted(p.name for p in out.iterdir()) == ["answers.jsonl", "manifest.json"]
    assert "no measured card for test" in first.err
    printed = json.loads(first.out)
    assert printed["counts"] == {"asked": 5, "scored": 5, "unscored": 0, "reasons": {}}
    assert printed["store"]["asked"] == 5
    assert printed["tokens"]["prompt_tokens"] > 0
    assert printed["prompts"][0]["name"] == "support"
    again = json.loads((out / "manifest.json").read_text())
    assert again["store"]["from_store"] == 5
    assert again["store"]["asked"] == 0
    assert again["answers_sha256"] == printed["answers_sha256"]
    rows = rows_of(out)
    assert [row["id"] for row in rows] == [f"i{n}" for n in range(5)]
    assert rows[2]["my"] == [2]
    assert rows[0]["group"] == "g"
    assert rows[0]["task"] == "support"
    assert type(rows[0]["value"]) is bool
    assert 0 <= rows[0]["probability"] <= 1
    assert rows[0]["unscored"] is None
    assert len(rows[0]["prompt_hash"]) == 64


def test_unscored_items_are_counted_by_reason_and_exit_3(tmp_path, capsys):
    texts = ["fine", "[[refusal]]", "[[wrong_schema]]", "[[prose]]"]
    rows = [{"id": str(n), "text": t, "statement": "S."} for n, t in enumerate(texts)]
    path = write_rows(tmp_path / "items.jsonl", rows)
    with ChatServer() as server:
        assert run("support", path, "--out", "out", "--judge", server.spec) == 3
    shown = capsys.readouterr().out
    assert "1 of 4 scored by test; 3 unscored: 2 schema, 1 refusal; see out" in shown
    values = [(row["value"], row["probability"]) for row in rows_of(tmp_path / "out")[1:]]
    assert values == [(None, None)] * 3


@pytest.mark.parametrize("task", sorted(TASKS))
def test_each_task_takes_its_example(task, tmp_path):
    path = tmp_path / "one.jsonl"
    path.write_text(TASKS[task].example + "\n")
    with ChatServer() as server:
        assert run(task, str(path), "--out", "out", "--judge", server.spec) == 0
        assert len(server.asked()) == (2 if task in ("preference", "sides") else 1)
    assert rows_of(tmp_path / "out")[0]["task"] == task


def test_relevance_with_a_stance_asks_for_that_side(tmp_path):
    row = {
        "question": "Should buses be free?",
        "document": "D.",
        "definition": "DEF",
        "doc_id": "d",
    }
    rows = [{"id": s or "none", **row, **({"stance": s} if s else {})} for s in ("pro", "con", "")]
    path = write_rows(tmp_path / "items.jsonl", rows)
    pro, con, none = TASKS["relevance"].read(path)
    assert pro.statement == "Should buses be free? Yes."
    assert con.statement == "Should buses be free? No."
    assert none.statement == none.question == "Should buses be free?"
    assert none.guideline == "DEF"
    assert pro.extra == {"stance": "pro", "doc_id": "d"}


def test_labels_answer_like_any_judge(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("PNYX_LLM", "http://127.0.0.1:1/v1#unused")
    path = items(tmp_path, 3)
    gold = write_rows(
        tmp_path / "gold.jsonl", [{"id": "i0", "value": True}, {"id": "i1", "value": 0}]
    )
    assert run("support", path, "--out", "out", "--judge", gold) == 3
    assert [row["value"] for row in rows_of(tmp_path / "out")] == [True, False, None]
    assert rows_of(tmp_path / "out")[2]["unscored"] == "no label"
    assert "people's labels: 2 labels of 2 items" in capsys.readouterr().err


@pytest.mark.parametrize("more", [("--index", "i"), ("--topics", "t"), ("--run", "r")])
def test_what_belongs_to_a_run_does_not_go_with_items(tmp_path, capsys, more):
    assert run("support", items(tmp_path), "--out", str(tmp_path / "out"), *more) == 2
    assert "expected ITEMS, or, for relevance, --run with" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "holds no items"),
        ('{"id": "1", "text": "t"}\n', "items.jsonl:1: no statement"),
        ('{"id": "1", "text": " ", "statement": "s"}\n', "items.jsonl:1: text is empty"),
        ('{"id": "1", "text": "t", "statement": "s"}\n' * 2, "items.jsonl:2: duplicate id '1'"),
        ('{"bad', "items.jsonl:1: not valid JSON"),
    ],
)
def test_bad_items_are_one_line_and_leave_nothing(tmp_path, capsys, content, said):
    path = tmp_path / "items.jsonl"
    path.write_text(content)
    with ChatServer() as server:
        assert run("support", str(path), "--out", "out", "--judge", server.spec) == 2
    assert server.log == []
    error = capsys.readouterr().err
    assert said in error
    assert len(error.splitlines()) == 1
    assert not (tmp_path / "out").exists()


def test_a_dead_endpoint_is_one_line_and_leaves_nothing(tmp_path, capsys):
    path = items(tmp_path)
    with ChatServer(default="401") as server:
        assert run("support", path, "--out", "out", "--judge", server.spec) == 2
    error = capsys.readouterr().err
    assert len(error.splitlines()) == 1
    assert "the key is refused" in error
    assert not (tmp_path / "out").exists()


def test_an_endpoint_that_dies_keeps_what_it_answered(tmp_path, capsys):
    path = items(tmp_path)
    with ChatServer(["ok", "ok"], default="401") as server:
        arguments = ("support", path, "--out", "out", "--concurrency", "1", "--judge", server.spec)
        assert run(*arguments) == 2
        assert "2 answers are kept for the next run" in capsys.readouterr().err
        server.default = "ok"
        assert run(*arguments) == 0
    assert max(Counter(server.answered()).values()) == 1


def test_a_foreign_folder_and_another_runs_folder_are_refused(tmp_path, capsys):
    path = items(tmp_path)
    gold = write_rows(tmp_path / "gold.jsonl", [{"id": f"i{n}", "value": True} for n in range(5)])
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("do not lose this")
    assert run("support", path, "--out", "mine", "--judge", gold) == 2
    assert "not results of pnyx judge" in capsys.readouterr().err
    assert [p.name for p in (tmp_path / "mine").iterdir()] == ["thesis.txt"]
    assert run("support", path, "--out", "out", "--judge", gold) == 0
    before = (tmp_path / "out" / "answers.jsonl").read_bytes()
    other = write_rows(tmp_path / "other.jsonl", [{"id": "i0", "text": "T", "statement": "S"}])
    assert run("support", other, "--out", "out", "--judge", gold) == 2
    assert "results for other items" in capsys.readouterr().err
    with ChatServer() as server:
        assert run("support", path, "--out", "out", "--judge", server.spec) == 2
    assert "another judge" in capsys.readouterr().err
    assert (tmp_path / "out" / "answers.jsonl").read_bytes() == before
    assert run("support", path, "--out", path, "--judge", gold) == 2


KILLED_ANYWHERE = """
import importlib, os, signal, sys, shutil
import pnyx.cli
from pathlib import Path
# Once, and not in each process that is killed:
for name in ("reports.open_reports", "reports.runs", "judging.lookup", "judging.students.judge"):
    importlib.import_module("pnyx." + name)
import anyio._backends._asyncio, filelock, pydantic
arguments, out = sys.argv[2:], Path(sys.argv[1])
CHANGES = {"os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.truncate", "os.chmod", "open"}

def run(at):
    process = os.fork()
    if process == 0:
        left = at
        def watch(event, details):
            nonlocal left
            written = event != "open" or isinstance(details[2], int) and details[2] & 3
            if event in CHANGES and written and out.name in str(details[0]):
                left -= 1
                if left == 0:
                    os.kill(os.getpid(), signal.SIGKILL)
        if at:
            sys.addaudithook(watch)
        status = 1
        try:
            pnyx.cli.main(arguments)
        except SystemExit as ended:
            status = ended.code or 0
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])

at = 0
while True:
    at += 1
    shutil.rmtree(out, ignore_errors=True)
    if (code := run(at)) != -signal.SIGKILL:
        break
    left = sorted(str(p.relative_to(out)) for p in out.rglob("*")) if out.exists() else None
    if (again := run(0)) not in (0, 3):
        sys.exit(f"killed at change {at}, which left {left}: the second run ends with {again}")
print(at, code)
"""


@pytest.mark.all
@pytest.mark.parametrize("what", ["judge", "report"])
def test_killed_at_any_change_of_a_file_the_same_command_goes_on(tmp_path, what):
    if what == "judge":
        gold = write_rows(
            tmp_path / "gold.jsonl", [{"id": f"i{n}", "value": True} for n in range(2)]
        )
        command = ["judge", "support", items(tmp_path, 2), "--judge", gold]
    else:
        run, bank = write_files(tmp_path, "ids")
        gold = write_labels(tmp_path / "labels.jsonl")
        command = ["judge", "report", str(run), "--nuggets", str(bank), "--judge", str(gold)]
    script = [sys.executable, "-c", KILLED_ANYWHERE, str(tmp_path / "out"), *command]
    ended = subprocess.run([*script, "--out", "out"], capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
    changes, _ = ended.stdout.split()[-2:]
    assert int(changes) > 5


def test_a_folder_that_another_run_has_just_begun_is_said_to_be_in_use(tmp_path, capsys):
    path = items(tmp_path)
    gold = write_rows(tmp_path / "gold.jsonl", [{"id": f"i{n}", "value": True} for n in range(5)])
    partial = tmp_path / "out" / "answers.jsonl.partial"
    partial.mkdir(parents=True)
    with locked(partial, "these answers"):
        assert run("support", path, "--out", "out", "--judge", gold) == 2
        assert "another process is writing to these answers" in capsys.readouterr().err
    assert run("support", path, "--out", "out", "--judge", gold) == 0
    (tmp_path / "out" / "answers.jsonl").unlink()
    (tmp_path / "out" / "manifest.json").unlink()
    partial.mkdir()
    (partial / "thesis.txt").write_text("do not lose this")
    assert run("support", path, "--out", "out", "--judge", gold) == 2
    assert "not results of pnyx judge" in capsys.readouterr().err


def start(path, server, out="out", **options) -> subprocess.Popen:
    command = [sys.executable, "-m", "pnyx", "judge", "support", path, "--out", out]
    command += ["--concurrency", "4", "--judge", server.spec]
    return subprocess.Popen(command, text=True, **options)


@pytest.mark.slow
def test_kill_9_and_again_asks_nothing_that_was_stored(tmp_path):
    path = items(tmp_path, 60)
    partial = tmp_path / "out" / "answers.jsonl.partial" / "answers.jsonl"

    def killed(stored: int) -> None:
        assert len(rows_of(partial)) <= stored

    with ChatServer(delay=0.05) as server:
        command = ["judge", "support", path, "--out", "out"]
        killed_and_run_again(server, command, after=20, of=60, concurrency=4, killed=killed)
    assert [row["id"] for row in rows_of(tmp_path / "out")] == [f"i{n}" for n in range(60)]
    assert sorted(p.name for p in (tmp_path / "out").iterdir()) == [
        "answers.jsonl",
        "manifest.json",
    ]


@pytest.mark.all
def test_three_commands_at_once_ask_each_question_once(tmp_path):
    path = items(tmp_path, 80)
    with ChatServer(delay=0.05) as server:
        running = [start(path, server, f"out{n}") for n in range(3)]
        assert [process.wait() for process in running] == [0, 0, 0]
        assert len(server.asked()) == len(set(server.answered())) == 80
    (one,) = {(tmp_path / f"out{n}" / "answers.jsonl").read_bytes() for n in range(3)}
    assert len(one.splitlines()) == 80


@pytest.mark.all
def test_what_a_killed_command_was_asking_is_asked_by_the_other_at_once(tmp_path):
    path = items(tmp_path, 12)
    with ChatServer(default="hang") as server:
        killed = start(path, server)
        wait_for(lambda: len(server.asked()) >= 4)
        other = start(path, server, "other")
        time.sleep(0.5)  # it waits, or, later, finds claims of a process that is dead
        killed.send_signal(signal.SIGKILL)
        killed.wait()
        server.default = "ok"
        assert other.wait() == 0
    assert len(rows_of(tmp_path / "other")) == 12


SLOW_RUN = """
import sys, anyio
from pnyx.judging.answers import Judged, Provenance
from pnyx.judging.students.student import StudentJudge
async def answer(self, questions, emit):
    for position, question in enumerate(questions):
        await anyio.sleep(0.003)
        with open("log", "a") as log:
            log.write(question.id + "\\n")
        emit(position, Judged(True, Provenance(self.name), 0.75))
StudentJudge.answer = answer
from pnyx.cli import main
main(sys.argv[1:])
"""


@pytest.mark.all
def test_kill_9_and_again_asks_a_local_judge_nothing_that_was_written(tmp_path):
    path, log = items(tmp_path, 300), tmp_path / "log"
    command = [sys.executable, "-c", SLOW_RUN, "judge", "support", path, "--out", "out"]
    process = subprocess.Popen(command, cwd=tmp_path)
    wait_for(lambda: log.exists() and log.read_text().count("\n") >= 40)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert sorted(p.name for p in (tmp_path / "out").iterdir()) == ["answers.jsonl.partial"]
    assert subprocess.run(command, cwd=tmp_path, check=False).returncode == 0
    # Each was asked once, but for the answer that was on its way to the file at the kill.
    assert 300 <= log.read_text().count("\n") <= 301
    assert [row["id"] for row in rows_of(tmp_path / "out")] == [f"i{n}" for n in range(300)]
    assert sorted(p.name for p in (tmp_path / "out").iterdir()) == [
        "answers.jsonl",
        "manifest.json",
    ]


def test_other_settings_of_a_judge_take_over_no_answers(tmp_path):
    asked = [Support(f"i{n}", f"Text {n}.", "It is.") for n in range(6)]
    seen: list[str] = []

    class Local:
        name, card, kinds = "local", "", frozenset({Support})
        stop = 3

        async def answer(self, questions, emit):
            for position, question in enumerate(questions):
                if self.stop == 0:
                    raise ModelError("no more")
                self.stop -= 1
                seen.append(question.id)
                emit(position, Judged(True, Provenance("local"), 0.5))

    def run(judge, settings, **more):
        return judge_into(
            tmp_path / "out", "support", judge, asked, lambda _: {}, settings=settings, **more
        )

    with pytest.raises(ModelError, match="no more; 3 answers are kept for the next run"):
        run(Local(), {"labels": "a"})
    judge = Local()
    judge.stop = 9
    manifest = run(judge, {"labels": "a"})
    assert manifest["counts"]["scored"] == 6
    assert seen == [f"i{n}" for n in range(6)]
    with pytest.raises(ModelError):
        run(Local(), {"labels": "a"})
    del seen[:]
    judge.stop = 9
    run(judge, {"labels": "b"})
    assert len(seen) == 6
    with pytest.raises(ModelError):
        run(Local(), {"labels": "b"}, from_rows=False)
    assert sorted(p.name for p in (tmp_path / "out").iterdir()) == [
        "answers.jsonl",
        "manifest.json",
    ]


@pytest.mark.all
@pytest.mark.skipif(os.name != "posix", reason="sends SIGINT")
def test_ctrl_c_stops_with_one_line_and_resumes(tmp_path):
    path = items(tmp_path, 30)
    with ChatServer(delay=0.1) as server:
        process = start(path, server, stderr=subprocess.PIPE)
        wait_for(lambda: len(server.answered()) >= 4)
        process.send_signal(signal.SIGINT)
        _, error = process.communicate(timeout=120)
        assert process.returncode == 130
        cost, interrupted = error.splitlines()
        assert cost.startswith("pnyx: cost: ")
        assert interrupted == "pnyx: interrupted; the same command resumes where it stopped"
        assert not (tmp_path / "out").exists()
        server.delay = 0
        assert start(path, server).wait() == 0
    assert sum(n - 1 for n in Counter(server.answered()).values()) <= 4
    assert len(rows_of(tmp_path / "out")) == 30


def test_help_shows_an_example_and_every_task(capsys):
    assert run("--help-all") == 0
    out = capsys.readouterr().out
    assert "pnyx judge [OPTIONS] TASK [ITEMS]" in out
    assert all(f"\n  {name} " in out for name in TASKS)
    assert "pnyx judge support a.jsonl --out results" in out
