"""`pnyx judge report` through the door that users take."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import warnings
from collections import Counter
from pathlib import Path

import pytest

from argue_report import (
    ASKED,
    ATTESTED,
    BANK,
    NUGGETS,
    REPORT,
    RUN,
    STEPS,
    TOPIC,
    PlannedJudge,
    response,
    scripted,
    write_files,
    write_labels,
)
from chat_server import ChatServer
from command import killed_and_run_again, rows_of, wait_for, write_rows
from pnyx.formats.reports.judged_report import JudgedReport, report_of_row
from pnyx.reports.runs import judge_reports_into
from pnyx.reports.tree.open_report import DocumentSources
from pnyx.reports.tree.plan import ReportPlan
from pnyx.reports.tree.walk import opened_topics

pytestmark = pytest.mark.usefixtures("own_place")


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
            "judge", "report", run, "--nuggets", bank, "--judge", labels, "--out", out, "--json"
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
    assert "1 report: cited documents: no text" in said


def judge_llm(call, server, run, bank, out, *more):
    arguments = ("judge", "report", run, "--nuggets", bank, "--judge", server.spec, *more)
    return call(*arguments, "--out", out)


@pytest.mark.all
def test_a_model_in_batches_says_what_it_says_in_one_call_a_pair_for_a_tenth(tmp_path, call):
    run, bank = write_files(tmp_path)
    billed, calls = {}, {}
    for batch in (50, 1):
        with ChatServer(reply=scripted) as server:
            store = ("--store", tmp_path / f"{batch}.sqlite")
            status, _, said = judge_llm(
                call, server, run, bank, f"out-{batch}", "--set", f"batch={batch}", *store
            )
            assert status == 3, said
            billed[batch], calls[batch] = server.billed["prompt_tokens"], len(server.asked())
            before = (Path(f"out-{batch}") / "reports.jsonl").read_bytes()
            assert (
                judge_llm(
                    call, server, run, bank, f"out-{batch}", "--set", f"batch={batch}", *store
                )[0]
                == 3
            )
            assert len(server.asked()) == calls[batch]  # nothing is asked twice
            assert (Path(f"out-{batch}") / "reports.jsonl").read_bytes() == before
        check_worked(f"out-{batch}")
    assert calls[1] == sum(ASKED.values())
    # d5 and d6; d1, d2, d3, d5, d6 with what cites them; sentences 1, 2, 4 and 7; of those without
    # citations: negative at once, two that are, the others at once, two that may be said before.
    assert calls[50] == 2 + 5 + 4 + 1 + 2 + 1 + 1
    assert billed[50] < billed[1] / 2  # four nuggets are few; lab/reports has thirty
    answers = {
        batch: {row["id"]: row["value"] for row in rows_of(Path(f"out-{batch}") / "answers.jsonl")}
        for batch in (50, 1)
    }
    assert answers[50] == answers[1]


def test_a_plan_asks_nothing_and_counts_what_may_be_asked(tmp_path, call):
    run, bank = write_files(tmp_path)
    with ChatServer(reply=scripted) as server:
        status, printed, said = call(
            "judge", "report", run, "--nuggets", bank, "--judge", server.spec, "--plan", "--json"
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
            "judge", "report", run, "--nuggets", bank, "--judge", server.spec, "--plan", "--json"
        )
        assert json.loads(printed)["models"][0]["from_store"] == len(server.asked())


@pytest.mark.parametrize(
    "more",
    [
        pytest.param((), marks=pytest.mark.all),
        ("--set", "batch=50"),
        pytest.param(("--attest", "relevant"), marks=pytest.mark.all),
    ],
)
def test_what_a_run_costs_is_within_its_plan_and_the_plan_says_what_is_expected(
    tmp_path, call, more
):
    run, bank = write_files(tmp_path)
    (tmp_path / "prices.toml").write_text("[models]\ntest = { input = 0.15, output = 0.6 }\n")
    prices = ("--set", f"prices={tmp_path / 'prices.toml'}")
    with ChatServer(reply=scripted) as server:
        asked = ("judge", "report", run, "--nuggets", bank, "--judge", server.spec, *more, *prices)
        status, printed, said = call(*asked, "--plan", "--json")
        assert (status, server.asked()) == (0, []), said
        planned = json.loads(printed)
        (model,) = planned["models"]
        status, printed, said = call(*asked, "--out", "out", "--json")
        assert status == 3, said
        manifest = json.loads(printed)
        asked_for = manifest["counts"]["asked"]
        assert planned["questions_least"] <= asked_for <= planned["questions"]
        assert model["calls_least"] <= len(server.asked()) <= model["calls"]
        assert model["calls_least"] <= model["expected"]["calls"] <= model["calls"]
        for name in ("prompt_tokens", "completion_tokens"):
            low, high = model[name]
            assert low <= server.billed[name] <= high
            assert low <= model["expected"][name][0] <= model["expected"][name][1] <= high
        low, high = model["cost_usd"]
        assert low <= manifest["models"][0]["spent"]["cost_usd"] <= high
        usual = model["expected"]["cost_usd"]
        assert low < usual[0] < usual[1] < high
        assert usual[1] / usual[0] < 3 < high / low
        # What is known decides: of a run that is done all is known.
        status, printed, _ = call(*asked, "--plan", "--json")
        planned = json.loads(printed)
        (model,) = planned["models"]
        assert model["calls"] == model["calls_least"] == model["expected"]["calls"] == 0
        counts = [planned[name] for name in ("questions_least", "questions_expected", "questions")]
        assert counts == [asked_for] * 3


@pytest.mark.all
@pytest.mark.parametrize("credit", ["cited", "any"])
@pytest.mark.parametrize("batch", [1, 50])
def test_a_plan_bounds_a_run_in_which_more_sentences_may_give_answers(
    tmp_path, call, credit, batch
):
    """What a server refuses or drops is sent again: such attempts no plan can count."""
    run, bank = write_files(tmp_path)
    with ChatServer(reply=scripted) as server:
        more = ("--credit", credit, "--set", f"batch={batch}")
        asked = ("judge", "report", run, "--nuggets", bank, "--judge", server.spec, *more)
        _, printed, _ = call(*asked, "--plan", "--json")
        planned = json.loads(printed)
        (model,) = planned["models"]
        _, printed, _ = call(*asked, "--out", "out", "--json")
        counts = json.loads(printed)["counts"]
        assert counts["unscored"] == 0
        assert planned["questions_least"] <= counts["asked"] <= planned["questions"]
        assert model["calls_least"] <= len(server.asked()) <= model["calls"]
        assert len(server.asked()) == len(set(server.answered()))


def test_a_plan_says_how_its_bounds_come_about(tmp_path, call):
    run, bank = write_files(tmp_path)
    with ChatServer(reply=scripted) as server:
        _, printed, _ = call(
            "judge", "report", run, "--nuggets", bank, "--judge", server.spec, "--plan"
        )
    assert "The least assumes that no answer leads to further questions" in printed
    assert "answers 80%" in printed
    assert printed.count(" expected") == 5


def test_a_budget_is_kept_and_what_is_left_is_unscored(tmp_path, call):
    run, bank = write_files(tmp_path)
    with ChatServer(reply=scripted) as server:
        status, _, said = judge_llm(call, server, run, bank, "out", "--set", "budget-tokens=3000")
        assert status == 3, said
        assert 0 < server.billed["prompt_tokens"] + server.billed["completion_tokens"] <= 3000
    (report,) = reports_of("out")
    assert any("budget" in c.attests.why for s in report.sentences for c in s.citations)


@pytest.mark.all
def test_kill_9_and_again_asks_no_model_twice(tmp_path):
    run, bank = write_files(tmp_path)
    command = ["judge", "report", run, "--nuggets", bank, "--set", "batch=1", "--out", "out"]
    with ChatServer(reply=scripted, delay=0.05) as server:
        total = sum(ASKED.values())
        killed_and_run_again(server, command, after=12, of=total, concurrency=2, status=3)
    check_worked("out")


SLOW_RUN = """
import sys, time
from pnyx.judging.lookup import HumanLabels
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


@pytest.mark.all
def test_kill_9_and_again_repeats_little_of_what_no_model_answers(tmp_path):
    run, bank = write_files(tmp_path)
    labels = write_labels(tmp_path / "labels.jsonl")
    command = [sys.executable, "-c", SLOW_RUN, "judge", "report", run, "--nuggets", bank]
    command += ["--judge", labels, "--out", "out"]
    process = subprocess.Popen(command)
    log = tmp_path / "log"
    wait_for(lambda: log.exists() and len(log.read_text()) > 600)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert not (tmp_path / "out" / "manifest.json").exists()
    assert subprocess.run(command, check=False).returncode == 3
    counts = Counter(log.read_text().splitlines())
    assert len(counts) == sum(ASKED.values())
    assert sum(n - 1 for n in counts.values()) <= 1
    check_worked("out")


def judge(call, *arguments, out="out"):
    status, printed, said = call("judge", "report", *arguments, "--out", out, "--json")
    return status, json.loads(printed) if printed else None, said


@pytest.mark.all
def test_the_packaged_judges_judge_without_a_model(tmp_path, call):
    run, bank = write_files(tmp_path)
    status, manifest, said = judge(call, run, "--nuggets", bank)
    assert status == 3, said
    nodes = manifest["reports"]["nodes"]
    assert nodes["relevant"]["by"] == {"lookup": 5, "nuggets@4": 2}
    assert nodes["attests"]["reasons"] == {"no text": 1}
    assert nodes["negative"] == {
        "asked": 5, "scored": 5, "yes": 2, "by": {"rules@2": 5}, "reasons": {},
    }  # fmt: skip
    (report,) = reports_of("out")
    steps = steps_of(report)
    # The rules, and the relevance of a statement to the one question without an answer.
    assert steps[5] == STEPS[5]
    assert [s[0][0].split()[-1] for s in steps[8:9]] == ["needs_citation=no"]
    assert report.sentences[9].findings["needs_citation"].by == "rules@2"
    before = (tmp_path / "out" / "reports.jsonl").read_bytes()
    assert judge(call, run, "--nuggets", bank)[0] == 3
    assert (tmp_path / "out" / "reports.jsonl").read_bytes() == before
    assert "judge packaged (weak: treat as hints); accuracy: pnyx doctor" in said


def test_documents_come_from_a_corpus_or_an_index(tmp_path, call):
    run, bank = write_files(tmp_path)
    labels = write_labels(tmp_path / "labels.jsonl")
    texts = [{"id": "d7", "text": "Shops on the high street sold more."}, {"id": "z", "text": "?"}]
    texts += [{"id": one.id, "text": one.text} for one in response().documents.values()]
    corpus = tmp_path / "corpus.jsonl"
    write_rows(corpus, texts)
    assert call("index", corpus, "--out", "my.index", "--words-only")[0] == 0
    for place in (("--documents", corpus), ("--index", "my.index")):
        options = ("--nuggets", bank, "--judge", labels, *place)
        status, manifest, said = judge(call, run, *options, out=place[0])
        assert status == 3, said
        assert manifest["reports"]["nodes"]["attests"]["reasons"] == {"no label": 1}
    status, _, said = judge(call, run, *options, "--documents", corpus, out="both")
    assert (status, "exclude each other" in said) == (2, True)


def test_documents_without_text_are_warned_of_in_one_line(tmp_path, call):
    run, bank = write_files(tmp_path)
    labels = write_labels(tmp_path / "labels.jsonl")
    write_rows(tmp_path / "corpus.jsonl", [{"id": "d7", "text": "Shops."}, {"id": "e", "text": ""}])
    options = ("--nuggets", bank, "--judge", labels, "--documents", tmp_path / "corpus.jsonl")
    with warnings.catch_warnings():
        warnings.simplefilter("always", UserWarning)
        said = judge(call, run, *options)[2]
    assert "pnyx: warning: 1 document has no text and was left out: e\n" in said


def test_a_made_up_citation_is_a_no_and_is_named(tmp_path, call):
    run, bank = write_files(tmp_path)
    labels = write_labels(tmp_path / "labels.jsonl")
    texts = [{"id": one.id, "text": one.text} for one in response().documents.values()]
    texts[0]["text"] += " The council said so."  # holds what the run embeds: no other text
    texts[1]["text"] = "Trams of the town are closed at night."
    write_rows(tmp_path / "corpus.jsonl", texts)
    options = ("--nuggets", bank, "--judge", labels, "--documents", "corpus.jsonl")
    arguments = ("judge", "report", run, *options)
    status, printed, said = call(*arguments, "--out", "no")
    assert status == 0, said  # nothing is open any more
    line = "1 citation of run run-a to 1 document missing from the collection: a no (d7)"
    assert line in printed + said
    assert "a different text there than in the collection" in said
    assert "d2 11%" in said  # "night" of 9 words
    counts = json.loads(Path("no/manifest.json").read_text())["reports"]
    assert counts["unknown"] == {"run-a": {"citations": 1, "documents": 1, "first": ["d7"]}}
    assert list(counts["differing"]["run-a"]) == ["d2"]
    assert counts["nodes"]["relevant"]["by"]["collection"] == 1
    (report,) = reports_of("no")
    assert report.sentences[6].attested is False
    call(*arguments, "--out", "open", "--unknown-documents", "unscored")
    (report,) = reports_of("open")
    assert report.sentences[6].attested is None
    _, printed, said = call(*arguments, "--out", "hidden", "--no-text")
    assert line in printed + said
    (report,) = reports_of("hidden")
    assert report.sentences[6].citations[0].unknown
    assert report.differing[0][0] == "d2"


def test_the_total_of_questions_never_grows_and_ends_as_it_is(tmp_path):
    judge, totals = PlannedJudge(), []

    def topics(plan):
        return opened_topics([response()], [BANK], plan, DocumentSources())

    arguments = (tmp_path / "out", judge, topics, "x", ReportPlan(), dict)
    judge_reports_into(*arguments, settings={}, on_total=totals.append)
    assert totals == sorted(totals, reverse=True)
    assert totals[0] > totals[-1] == len(judge.asked)


def test_topics_that_a_run_or_a_bank_lacks_are_listed(tmp_path, call):
    run, bank = write_files(tmp_path)
    labels = write_labels(tmp_path / "labels.jsonl")
    line = Path(bank).read_text()
    more = [line.replace('"query_id": "7"', f'"query_id": "{name}"') for name in ("8", "9")]
    Path(bank).write_text("".join((line, *more)))
    other = json.loads(Path(run).read_text())
    other["metadata"]["topic_id"] = "10"
    other["metadata"]["run_id"] = "run-b"
    (tmp_path / "b.jsonl").write_text(json.dumps(other) + "\n")
    status, manifest, said = judge(call, run, "b.jsonl", "--nuggets", bank, "--judge", labels)
    assert status == 3, said
    assert manifest["reports"]["missing"] == {
        "run-a": ["10", "8", "9"],
        "run-b": ["7", "8", "9"],
    }
    assert "run run-a has no report on 3 of the topics: 10, 8, 9" in said
    assert manifest["reports"]["notes"]["no nugget bank for the topic"] == 1
    assert [(one.run_id, one.topic_id, one.missing) for one in reports_of("out")] == [
        ("run-a", "10", True),
        ("run-a", "7", False),
        ("run-a", "8", True),
        ("run-a", "9", True),
        ("run-b", "10", False),
        ("run-b", "7", True),
        ("run-b", "8", True),
        ("run-b", "9", True),
    ]
    (tmp_path / "topics.tsv").write_text("7\tWhat came of the fare reform?\n")
    options = ("--nuggets", bank, "--judge", labels, "--topics", "topics.tsv")
    _, manifest, said = judge(call, run, "b.jsonl", *options, out="one")
    assert manifest["reports"]["topics"] == 1
    assert "3 topics not in topics.tsv: left out" in said
    check_worked("one")


def test_weights_and_qrels_from_the_command_line(tmp_path, call):
    run, bank = write_files(tmp_path)
    labels = write_labels(tmp_path / "labels.jsonl")
    (tmp_path / "qrels.txt").write_text("7 0 d6 1\n7 0 d5 1\n")
    options = ("--nuggets", bank, "--judge", labels, "--qrels", "qrels.txt", "--min-grade", 2)
    options += ("--penalty-irrelevant", 3, "--reward-answered", 0.5)
    status, manifest, said = judge(call, run, *options)
    assert status == 3, said
    (report,) = reports_of("out")
    assert [s.weight for s in report.sentences[3].steps] == [-3.0]
    assert [s.weight for s in report.sentences[0].steps] == [1.0, 0.5]
    assert manifest["plan"]["weights"]["irrelevant"] == -3.0
    assert judge(call, run, *options, "--credit", "any")[0] == 2  # the folder is another run's
    status, _, said = call(
        "judge", "report", run, "--nuggets", bank, "--min-grade", 2, "--out", "x"
    )
    assert (status, "--min-grade requires --qrels" in said) == (2, True)


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("", "broken.jsonl: holds no responses"),
        ("{", "broken.jsonl:1: not valid JSON"),
        ('{"metadata": {"run_id": "r"}}\n', "broken.jsonl:1: expected either"),
    ],
)
def test_broken_reports_are_one_line(content, problem, tmp_path, call):
    _, bank = write_files(tmp_path)
    (tmp_path / "broken.jsonl").write_text(content)
    status, _, said = call("judge", "report", "broken.jsonl", "--nuggets", bank, "--out", "out")
    assert status == 2
    assert problem in said
    assert said.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_a_bank_that_is_none_and_options_that_are_missing_are_one_line(tmp_path, call):
    run, _ = write_files(tmp_path)
    (tmp_path / "bank.jsonl").write_text('{"query_id": 1}\n')
    for arguments in (
        (run, "--out", "out"),
        (run, "--nuggets", "bank.jsonl", "--out", "out"),
        (run, "--nuggets", "nothing.jsonl", "--out", "out"),
        (run, "--nuggets", "bank.jsonl"),
        ("--nuggets", "bank.jsonl", "--out", "out"),
        (run, run, "--nuggets", "bank.jsonl", "--out", "out"),
    ):
        status, _, said = call("judge", "report", *arguments)
        assert (status, said.count("\n")) == (2, 1), said


@pytest.mark.all
def test_a_report_of_five_thousand_sentences_and_blank_ones(tmp_path, call):
    _, bank = write_files(tmp_path)
    cited = [{"text": f"Fares were halved {n}.", "citations": ["d1"]} for n in range(5000)]
    blank = [{"text": "...", "citations": []}, {"text": "", "citations": ["d1"]}]
    head = {"metadata": {"team_id": "t", "run_id": "long", "topic_id": "7"}}
    rows = [{**head, "references": ["d1"], "responses": [*cited, *blank]}]
    write_rows(tmp_path / "long.jsonl", rows)
    status, manifest, said = judge(
        call, "long.jsonl", "--nuggets", bank, "--answers", "lookup", "--credit", "cited"
    )
    assert status == 3, said
    assert manifest["reports"]["nodes"]["answers"]["yes"] == 5000
    assert "2 of 5002 sentences have no words" in reports_of("out")[0].notes


def test_an_empty_report_ends_well(tmp_path, call):
    _, bank = write_files(tmp_path)
    head = {"metadata": {"team_id": "t", "run_id": "r", "topic_id": "7"}}
    (tmp_path / "e.jsonl").write_text(
        json.dumps({**head, "references": [], "responses": []}) + "\n"
    )
    status, manifest, said = judge(call, "e.jsonl", "--nuggets", bank)
    assert (status, manifest["reports"]["sentences"]) == (0, 0)
    assert "the report is empty" in said


def test_a_folder_holds_runs(tmp_path, call):
    run, bank = write_files(tmp_path)
    labels = write_labels(tmp_path / "labels.jsonl")
    (tmp_path / "runs").mkdir()
    Path(run).rename(tmp_path / "runs" / "run.jsonl")
    (tmp_path / "runs" / ".notes").write_text("not a run")
    status, _, said = judge(call, "runs/", "--nuggets", bank, "--judge", labels)
    assert status in (0, 3), said
    check_worked("out")
    status, told, _ = call("files", "validate", "runs")
    assert (status, "runs: is a folder of responses" in told) == (2, True), told
    (tmp_path / "empty").mkdir()
    status, _, said = call("judge", "report", "empty", "--nuggets", bank, "--out", "x")
    assert (status, said) == (2, "pnyx: empty: is a folder without files, expected responses\n")
