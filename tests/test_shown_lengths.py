"""How many characters of a name are shown in messages, tables and notes."""

from __future__ import annotations

import json
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import click
import pytest

from pnyx.cli.measure.answer_measures import _grid
from pnyx.cli.measure.commands import _door_of
from pnyx.cli.measure.tables import (
    compared_legend,
    differences_table,
    listed,
    named_runs,
    run_notes,
    topics_table,
)
from pnyx.cli.options import ColumnSpec, reasons_shown
from pnyx.cli.rerun import (
    NamedText,
    TrustSpec,
    _refusal,
    arguments_of,
    recorded_command,
    trusted_record,
)
from pnyx.core.errors import PnyxError
from pnyx.core.nuggets import Nugget, NuggetBank
from pnyx.core.records import LeaderboardCell
from pnyx.display.tables import shown
from pnyx.formats import Leaderboard
from pnyx.formats.reports.judged_report import (
    JudgedCitation,
    JudgedNugget,
    JudgedReport,
    JudgedSentence,
    NodeAnswer,
)
from pnyx.housekeeping.store import StoreSpec
from pnyx.models.chat.completion import read_reply
from pnyx.models.chat.prices import _problem
from pnyx.models.embed.encoder import load_encoder
from pnyx.reports.autojudge.judge import _say_missing, _say_texts
from pnyx.reports.autojudge.settings import Settings
from pnyx.reports.compare_tables import _misstated, notes_on, report_on
from pnyx.reports.leaderboards.agreement import compare_leaderboards
from pnyx.reports.leaderboards.correction import correct_leaderboard, system_differences
from pnyx.reports.leaderboards.overlap import paired_measures
from pnyx.reports.lines import apart_lines
from pnyx.reports.measure_command import MeasureReportSpec, _check
from pnyx.reports.nuggets.claims import _HIDDEN, restored_claims
from pnyx.reports.runs import _kind
from pnyx.reports.tree.open_report import _first_of
from pnyx.reports.tree.report_reader import _check as check_report
from pnyx.reports.writing_options import SubmissionSpec
from pnyx.stats.base import Bootstrap, Measured

NO_DRAWS = Bootstrap(0)


def board(
    name: str = "b", run: str = "r", measure: str = "m", stated: float | None = None, runs: int = 3
) -> Leaderboard:
    cells = tuple(
        LeaderboardCell(run if n == 0 else f"r{n}", str(topic), measure, 0.1 * (n + topic))
        for n in range(runs)
        for topic in range(4)
    )
    of_all = () if stated is None else (LeaderboardCell(run, "all", measure, stated),)
    return Leaderboard(name, cells, of_all)


def compared(first: Leaderboard, second: Leaderboard, *pair: str) -> str:
    """Return all that `pnyx compare` prints on two leaderboards."""
    pairs = [(pair[0], pair[1])] if pair else []
    result = compare_leaderboards([first], second, pairs=pairs, bootstrap=NO_DRAWS)
    parts = report_on(result, [], {}, "t")
    return "\n".join([*notes_on(result, [first, second], []), shown(parts)])


def corrected(**names: str) -> str:
    judge = board(names.get("judge", "j"), names.get("run", "r"), names.get("measure", "m"))
    people = board(names.get("people", "p"), names.get("run", "r"), names.get("measure", "m"))
    measure = names.get("measure", "m")
    few = correct_leaderboard(judge, people, measure, measure)
    result: Any = SimpleNamespace(comparisons=[], bootstrap=NO_DRAWS)
    odd: Any = few
    object.__setattr__(odd, "shares", False)
    notes = notes_on(result, [], [odd])
    return "\n".join([*notes, shown(report_on(result, [odd], {}, "t"))])


def judged(nugget: str = "n", node: str = "attests", answer: str = "n") -> JudgedReport:
    nuggets = [JudgedNugget(nugget, "N?"), JudgedNugget("n", "N?")]
    nuggets += [JudgedNugget(nugget, "N?")] if nugget != "n" else []
    found = {node: NodeAnswer(True)}
    answers = ((answer, 0),) if answer != "n" else ()
    listed_nuggets = nuggets if nugget != "n" else nuggets[:1]
    sentence = JudgedSentence("A.", findings=found, answers=answers)
    return JudgedReport("7", "r", (sentence,), tuple(listed_nuggets))


def unknown(run: str = "r", doc_id: str = "d", differing: str = "") -> list[JudgedReport]:
    no = NodeAnswer(False, "collection", "unknown")
    citation = JudgedCitation(doc_id, no, no)
    apart = ((differing, 0.5),) if differing else ()
    return [JudgedReport("7", run, (JudgedSentence("A.", (citation,)),), differing=apart)]


def merged(topic: str = "t", text: str = "A", bank: str = "b") -> str:
    side = {"text": text, "bank": bank}
    row = {"topic_id": topic, "first": side, "second": side, "apart": "why"}
    apart: Any = SimpleNamespace(apart=[row])
    return "".join(apart_lines(apart))


def difference(name: str) -> str:
    test = SimpleNamespace(difference=None, effect=None, p=None)
    row: Any = SimpleNamespace(run=name, test=test, low=None, high=None, no_interval="")
    row.p_holm, row.significant = None, False
    return shown([differences_table([row], "t", "run")])


def completion(body: Any) -> str:
    text = body if isinstance(body, str) else json.dumps(body)
    return str(read_reply(text.encode(), model="m", response_format="text"))


RECORD = {"command": "judge", "arguments": [], "options": {}}
MEASURED = {"f1": Measured(0.5, 1, 1)}
OF_ANSWERS: Any = SimpleNamespace(measures=MEASURED, per_topic={}, name="r")


def differences_in(name: str) -> str:
    result: Any = SimpleNamespace(comparisons=[], bootstrap=NO_DRAWS)
    return shown(report_on(result, [], {name: system_differences(board())}, "t"))


def topics_of(topic: str) -> str:
    run: Any = SimpleNamespace(measures={"m": 1}, per_topic={topic: {}}, name="r")
    return shown([topics_table(run, "topic", str)])


CASES: dict[str, tuple[int, Callable[[str], object]]] = {
    # models
    "an odd completion": (58, lambda x: completion(json.dumps(x))),
    "an error": (120, lambda x: completion({"error": {"message": x}})),
    "text in place of JSON": (60, completion),
    "an odd price": (40, lambda x: _problem(x)),
    "an odd field of a price": (40, lambda x: _problem({x: 1})),
    "an odd encoder": (40, load_encoder),
    # leaderboards
    "a compared leaderboard": (60, lambda x: compared(board(x), board("o", runs=2))),
    "the reference": (60, lambda x: compared(board("b", runs=2), board(x))),
    "a measure of its own name": (60, lambda x: compared(board(measure=x), board(), x, "m")),
    "a misstated leaderboard": (60, lambda x: "".join(_misstated(board(x, stated=9.0)))),
    "differences in a leaderboard": (100, differences_in),
    "a corrected leaderboard": (60, lambda x: corrected(judge=x)),
    "the people's leaderboard": (60, lambda x: corrected(people=x)),
    "a corrected run": (40, lambda x: corrected(run=x)),
    "an unknown measure": (60, lambda x: paired_measures(board(), board(), [x])),
    "measures that are there": (200, lambda x: paired_measures(board(measure=x), board(), ["q"])),
    "measures not in common": (80, lambda x: paired_measures(board(measure=x), board())),
    "a board without measures in common": (
        100,
        lambda x: paired_measures(board(measure="q"), board(x)),
    ),
    "an unknown baseline": (60, lambda x: system_differences(board(), baseline=x)),
    "a measure without labels": (40, lambda x: correct_leaderboard(board(), board(), x, "q")),
    # judged reports
    "a nugget that is listed twice": (40, lambda x: check_report(judged(nugget=x))),
    "a nugget that is not listed": (40, lambda x: check_report(judged(answer=x))),
    "an odd node": (40, lambda x: check_report(judged(node=x))),
    "the first documents": (40, lambda x: _first_of([x])),
    "a kind of note": (80, _kind),
    "a topic with questions apart": (40, lambda x: merged(topic=x)),
    "a question that stays apart": (60, lambda x: merged(text=x)),
    "a bank with questions apart": (40, lambda x: merged(bank=x)),
    "an odd weight": (40, lambda x: MeasureReportSpec(weights=(x,)).weighted()),
    "an odd measure": (40, lambda x: _check(["r"], MeasureReportSpec(measures=(x,)), False)),
    "an odd field of metadata": (40, lambda x: SubmissionSpec(metadata_fields=(x,)).metadata),
    "a hidden nugget": (
        40,
        lambda x: restored_claims(NuggetBank("7", (Nugget(x, _HIDDEN, is_claim=True),)), {}),
    ),
    "a topic with a hidden nugget": (
        40,
        lambda x: restored_claims(NuggetBank(x, (Nugget("1", _HIDDEN, is_claim=True),)), {}),
    ),
    # AutoJudge
    "an odd setting": (40, lambda x: Settings.of({x: 1})),
    "a topic without a report": (40, lambda x: _say_missing("r", [x], 1, "skip")),
    "a run without a report": (60, lambda x: _say_missing(x, ["7"], 1, "skip")),
    "a run with unknown documents": (60, lambda x: _say_texts(unknown(run=x), Settings())),
    "an unknown document": (40, lambda x: _say_texts(unknown(doc_id=x), Settings())),
    "a differing document": (40, lambda x: _say_texts(unknown(differing=x), Settings())),
    # the command line
    "an odd column": (40, lambda x: ColumnSpec(columns=(x,)).mapping),
    "a reason": (40, lambda x: reasons_shown({x: 1})),
    "an odd --with": (60, lambda x: TrustSpec(replaced=(x,)).values()),
    "a command without records": (60, lambda x: recorded_command({**RECORD, "command": x})),
    "an option without a model": (40, lambda x: trusted_record(RECORD, {x: ["a"]}, "r")),
    "a text that is refused": (300, lambda x: _refusal([NamedText("a", x, None)])),
    "an option that is gone": (40, lambda x: arguments_of({**RECORD, "options": {x: 1}}, {})),
    "a task that is not measured": (40, lambda x: _door_of(x, "r")),
    "runs for a baseline": (200, lambda x: named_runs([x], "missing")),
    "a listed topic": (30, lambda x: listed([x])),
    "a row of a topic": (40, topics_of),
    "a compared run": (40, difference),
    "a baseline": (
        40,
        lambda x: compared_legend(SimpleNamespace(baseline=x, comparisons=[], test="t")),
    ),
    "a run with notes": (40, lambda x: run_notes(x, [(1, "note")], 0)),
    "a group": (40, lambda x: shown([_grid("group", {x: MEASURED}, ["f1"])])),
    "an odd age": (40, lambda x: StoreSpec(older_than=x).age),
}


@pytest.mark.parametrize("case", CASES)
def test_a_longer_name_is_cut(case, capsys, monkeypatch):
    """A name is shown whole up to a length, and a longer one nearly to that length."""
    monkeypatch.setenv("COLUMNS", "1000")
    length, make = CASES[case]
    texts = []
    for count in (length, length + 1):
        try:
            said = str(make("x" * count))
        except (PnyxError, ValueError) as error:
            said = str(error)
        except click.ClickException as error:
            said = error.format_message()
        texts.append("".join([said, *capsys.readouterr()]))
    assert "x" * length in texts[0]
    assert "x" * (length + 1) not in texts[1]
    assert "x" * (length - 3) in texts[1]
