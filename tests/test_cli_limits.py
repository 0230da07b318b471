"""Limits, defaults and orders of the command line, each at its boundary."""

from __future__ import annotations

import json
import math
import re
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from chat_server import ChatServer
from command import called, rows_of, write_rows
from pnyx.cli import judge_runs
from pnyx.cli.measure.answer_measures import _ends
from pnyx.cli.measure.strict import enough
from pnyx.cli.measure.tables import listed, mark, untested_note
from pnyx.cli.sample import _differ
from pnyx.core.errors import InputError, OptionError
from pnyx.housekeeping import doctor
from pnyx.housekeeping.store import StoreSpec
from pnyx.models.chat import probe
from pnyx.stats.base import Measured

pytestmark = pytest.mark.usefixtures("own_place")


@pytest.fixture
def call(capsys):
    return lambda *arguments: called(capsys, *arguments)


# --- help


def test_commands_are_in_the_order_of_the_main_job(call):
    sections: dict[str, list[str]] = {}
    for line in call("--help")[1].splitlines():
        if heading := re.fullmatch(r"(\w+):", line):
            names = sections.setdefault(heading[1], [])
        elif name := re.match(r"  (\w+)  ", line):
            names.append(name[1])
    assert {name: sections[name] for name in list(sections) if name != "Plugins"} == {
        "Options": [],
        "Documents": ["demo", "serve", "argue", "index", "search", "perspectives", "report"],
        "Judges": ["check", "judge", "measure", "audit", "label", "view"],
        "Campaigns": ["annotate", "nuggets", "compare"],
        "Housekeeping": ["doctor", "files", "store", "prompt"],
    }


@pytest.mark.parametrize(
    ("group", "names"),
    [
        ("files", ["split", "validate", "convert", "repeat", "merge"]),
        ("nuggets", ["create", "merge", "assign"]),
    ],
)
def test_commands_of_a_group_are_in_the_order_of_their_use(group, names, call):
    out = call(group, "--help")[1]
    commands = out.partition("Commands:\n")[2].partition("Plugins:\n")[0]
    assert re.findall(r"^  (\w+)  ", commands, re.MULTILINE) == names


# --- pnyx measure


def annotated_pairs(count: int, questions: int = 1) -> list[dict[str, Any]]:
    return [
        {
            "id": f"q{q}d{n}",
            "question_id": f"q{q}",
            "doc_id": f"d{n}",
            "judge": "j",
            "value": n < 2,
            "probability": round(1 - n / count, 4),
            "unscored": None,
        }
        for q in range(questions)
        for n in range(count)
    ]


def test_which_thresholds_and_cutoffs_are_tried_and_shown(call):
    rows = annotated_pairs(1010)
    write_rows("a.jsonl", rows)
    write_rows("l.jsonl", [{"id": row["id"], "value": row["value"]} for row in rows])
    command = ("measure", "a.jsonl", "--by-threshold", "--labels", "l.jsonl", "--draws", "0")
    code, out, _ = call(*command)
    assert code == 0
    first = re.findall(r"^(\d\S*)(?: best)? +\d\.\d{3} ", out, re.MULTILINE)
    assert first[:10] == ["0.1", "0.2", "0.3", "0.4", "0.5", "0.6", "0.7", "0.8", "0.9", "0.99"]
    assert first[10:] == ["1", "2", "3", "5", "10", "20", "50", "100", "200", "500", "1000"]
    tried = [row["k"] for row in json.loads(call(*command, "--json")[1])["cutoffs"]]
    assert tried[:52] == [*range(1, 51), 55, 60]
    assert tried[57:61] == [90, 95, 100, 110]
    assert tried[68:72] == [190, 200, 250, 300]
    assert tried[-2:] == [950, 1000]


def test_amounts_are_counted_from_three_probabilities(call):
    write_rows("a.jsonl", annotated_pairs(20))
    code, out, _ = call("measure", "a.jsonl", "--amount")
    assert code == 0
    heading, row = [line for line in out.splitlines() if line.strip()][-2:]
    assert re.findall(r"from (\S+)", heading) == ["0.5", "0.7", "0.9"]
    assert row.split()[-6:] == ["11", "(55.0%)", "7", "(35.0%)", "3", "(15.0%)"]
    assert "10.5" in row.split()  # the sum of 1, 0.95, 0.9 ... 0.05


def groups(count: int) -> dict[str, dict[str, Measured]]:
    return {f"g{n}": {"f1": Measured(n / count, 5, 5)} for n in range(count)}


def test_of_more_than_fifty_groups_the_ten_at_each_end_are_shown():
    assert _ends(groups(50), "f1") == groups(50)
    shown = list(_ends(groups(51), "f1"))
    assert shown == [*(f"g{n}" for n in range(10)), *(f"g{n}" for n in range(41, 51))]
    some = groups(51) | {f"g{n}": {"f1": Measured(None, 0, 5)} for n in range(39)}
    assert list(_ends(some, "f1")) == [f"g{n}" for n in range(39, 51)]


@pytest.mark.parametrize(
    ("count", "more"), [(1, ""), (10, ""), (11, " and 1 more"), (12, " and 2 more")]
)
def test_ten_topics_are_listed(count, more):
    line = listed([f"t{n}" for n in range(count)])
    assert line.startswith("1 topic (t0)" if count == 1 else f"{count} topics (t0, t1, ")
    assert line.endswith(f"t{min(count, 10) - 1}{more})")


def test_a_leaderboard_needs_its_share_of_judged_documents():
    shares = {"a": 0.5, "b": 0.75}
    assert enough(shares, "documents", 0.5) is shares
    with pytest.raises(InputError, match=r"a: 50% of documents are judged; .* requires 51%"):
        enough(shares, "documents", 0.51)


def test_only_a_significant_difference_is_marked():
    assert mark(None) == ""
    assert untested_note([], "topics") == []


# --- pnyx judge


@pytest.mark.parametrize(("count", "is_summarised"), [(0, 0), (1, 1), (100_000, 1), (100_001, 0)])
def test_up_to_100000_answers_are_summarised_at_the_end_of_a_run(monkeypatch, count, is_summarised):
    read = []

    def summarise(out: str) -> None:
        read.append(out)
        raise InputError("of another kind")

    monkeypatch.setattr("pnyx.judging.measures.summary.summarise_answers", summarise)
    assert judge_runs._summary("results", count) == []
    assert len(read) == is_summarised


@pytest.mark.parametrize(
    ("answers", "differ"),
    [
        ([[(None, True)], [(None, False)]], True),
        ([[(None, True)], [(None, None)]], False),
        ([[("a", 1), ("b", 2)], [("b", 2), ("a", 1)]], False),
        ([[("a", 1), ("b", 2)], [("a", 1), ("b", 3)]], True),
        ([[("a", 1)], [("b", 2)]], False),
        ([[(None, 1)], [(None, True)]], True),
    ],
)
def test_judges_differ_by_verdicts_on_the_same_dimension(answers, differ):
    assert _differ(answers) is differ


# --- pnyx judge calibrate


def test_the_log_loss_of_a_certain_error_is_finite_and_five_folds_are_fitted(call):
    """In each fold, the other folds map 0.1 to 0 and 0.9 to 1, except where the error is."""
    rows = [
        {"id": f"{n}", "task": "support", "value": n % 2 == 1, "judge": "j", "method": "token",
         "probability": 0.9 if n % 2 else 0.1, "unscored": None, "group": f"t{n // 4}"}
        for n in range(40)
    ]  # fmt: skip
    write_rows("answers.jsonl", rows)
    labels = [{"id": row["id"], "value": row["value"]} for row in rows]
    labels[0]["value"] = True
    write_rows("labels.jsonl", labels)
    code, out, _ = call(
        *("judge", "calibrate", "answers.jsonl", "--labels", "labels.jsonl"),
        *("--out", "c.json", "--json"),
    )
    assert code == 0
    about = json.loads(out)["about"]
    assert about["counts"]["folds"] == 5
    errors = -math.log(1e-6)  # of the item that the others say is certainly a no
    rest = about["figures"]["after"]["log_loss"]["value"] * 40 - errors
    assert 0 < rest < 2


# --- housekeeping


@pytest.mark.parametrize(
    ("text", "age"),
    [
        ("36h", timedelta(hours=36)),
        ("90d", timedelta(days=90)),
        ("12w", timedelta(weeks=12)),
        ("999999999d", timedelta(days=999_999_999)),
        ("999999999999999w", timedelta(days=999_999_999)),
    ],
)
def test_an_age_is_in_hours_days_or_weeks(text, age):
    assert StoreSpec(older_than=text).age == age
    assert StoreSpec().age is None
    for odd in ("1", "1m", "-1d", "9999999999999999d", "1.5d"):
        with pytest.raises(OptionError, match=r"expected e.g. 36h, 90d or 12w"):
            _ = StoreSpec(older_than=odd).age


@pytest.mark.parametrize(
    ("version", "least", "enough"),
    [
        ("1.10", "1.9", True),
        ("1.9", "1.10", False),
        ("2", "2.0.0", True),
        ("2.0.0", "2", True),
        ("2.0.1rc1", "2.0.1", True),
        ("0", "0.0", True),
    ],
)
def test_versions_are_compared_by_their_numbers(version, least, enough):
    assert (doctor._release(version) >= doctor._release(least)) is enough


def test_a_minute_is_divided_among_the_endpoints_that_are_probed(monkeypatch):
    asked: list[dict[str, Any]] = []

    async def look(model: Any, request: Any, read: Any, **limits: Any) -> Any:
        asked.append({"retry": model.retry, "request": request, **limits})
        return probe.ProbeReport(model.address, model.model, problem="not probed")

    monkeypatch.setattr("pnyx.models.chat.probe.probe", look)
    monkeypatch.setattr(doctor, "time", SimpleNamespace(monotonic=lambda: 1000.0))
    urls = [f"http://127.0.0.1:{port}/v1#m" for port in (1, 2)]
    rows = doctor._endpoints(urls, doctor.DoctorSpec())
    assert [row["problem"] for row in rows] == ["not probed"] * 2
    assert [(row["timeout"], row["seconds"]) for row in asked] == [(20.0, 30.0), (20.0, 60.0)]
    retry = asked[0]["retry"]
    assert (retry.timeout, retry.attempts, retry.connect_attempts) == (20.0, 2, 1)
    assert (retry.longest_wait, retry.loading) == (2.0, 15.0)
    assert asked[0]["request"].max_tokens == 256


@pytest.mark.parametrize(("faults", "listed"), [(10_000, 10_000), (10_001, 10_000)])
def test_in_json_10000_faults_are_listed(faults, listed, call):
    Path("labels.jsonl").write_text('{"id": "1"}\n' * faults)
    code, out, _ = call("files", "validate", "labels.jsonl", "--format", "labels", "--json")
    result = json.loads(out)
    assert (code, result["fault_count"], len(result["faults"])) == (2, faults, listed)


@pytest.mark.parametrize(("words", "passages"), [(100, 1), (101, 2)])
def test_a_passage_has_a_hundred_words(words, passages, call):
    write_rows("d.jsonl", [{"id": "d", "text": " ".join(f"w{n}" for n in range(words))}])
    assert call("files", "split", "d.jsonl", "--out", "p.jsonl")[0] == 0
    assert [row["id"] for row in rows_of("p.jsonl")] == [f"d#{n}" for n in range(passages)]


# --- what probes send


def test_a_probe_and_a_greeting_ask_for_few_tokens():
    with ChatServer(reply='{"answer": "yes", "confidence": 0.9}') as server:
        model = doctor_endpoint(server.url)
        request, read = doctor._question()
        found = run_probe(model, request, read)
        prompts = [entry["messages"][-1]["content"] for entry in server.asked()]
        limits = [entry["parameters"]["max_tokens"] for entry in server.asked()]
    assert found.usable
    plain = prompts.index("Reply with the single word yes.")
    (long,) = [n for n, prompt in enumerate(prompts) if prompt.startswith("The bus is red. The")]
    assert len(prompts[long].split()) == 5000 + 6
    assert (limits[0], limits[plain], limits[long]) == (256, 16, 16)


def doctor_endpoint(url: str) -> Any:
    from pnyx.models.chat.endpoint import ChatEndpoint

    return ChatEndpoint(url, "test")


def run_probe(model: Any, request: Any, read: Any) -> Any:
    from pnyx.models.http.flow import run_blocking

    return run_blocking(lambda: probe.probe(model, request, read))
