"""What `print` shows of results: a summary of at most 25 lines and 100 columns."""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import pnyx
from argue_report import BANK, PlannedJudge, response
from pnyx.audit import choose_judge
from pnyx.audit.checks.alternative import alternative_annotator_test
from pnyx.audit.checks.columns import read_check_items
from pnyx.audit.checks.pairs import check_pairs
from pnyx.audit.checks.table import read_table_rows
from pnyx.core.files import write_jsonl
from pnyx.core.records import LeaderboardCell, Qrel, RunEntry
from pnyx.core.tabular import MOST_COLUMNS, MOST_LINES, Result, cut_to, width_of
from pnyx.formats import Leaderboard, by_question, load_example
from pnyx.judging import (
    corrected_rate,
    join_labels,
    measure_amount,
    measure_decline,
    measure_raters,
    measure_thresholds,
    prediction_powered,
)
from pnyx.judging.answers import Answers
from pnyx.judging.measures.summary import summarise_answers
from pnyx.perspectives import PerspectiveBenchResult, measure_leaning
from pnyx.relevance import DistilledStudent
from pnyx.reports import compare_leaderboards, correct_leaderboard, judge_reports, measure_reports
from pnyx.search import Tuned, Tuning, measure_correlation, tune
from pnyx.search.plan import Scoring
from pnyx.stats import Bootstrap, Measured
from tries import quick_cases

FEW = Bootstrap(20)
CHECKED = [
    {"verdict": n % 2, "a": n % 2, "b": int(n % 3 > 0), "c": int(n % 5 > 1)} for n in range(40)
]
QUESTION = "Should voting be compulsory?"


def every_kind(kind: type[Result] = Result) -> Iterator[type[Result]]:
    for subclass in kind.__subclasses__():
        yield subclass
        yield from every_kind(subclass)


class Listed(Result):
    """Rows as they are."""

    def __init__(self, *rows: dict[str, Any]) -> None:
        self._rows = list(rows)

    def rows(self) -> list[dict[str, Any]]:
        return self._rows


def fits(result: object) -> list[str]:
    lines = str(result).splitlines()
    assert len(lines) <= MOST_LINES
    assert max(map(width_of, lines)) <= MOST_COLUMNS
    return lines


def figure(value: float | None = 0.8625, **more: Any) -> dict[str, Any]:
    return {**more, **Measured(value, 240, 1241, 0.8, 0.9).row()}


def test_a_value_has_its_interval_and_its_base() -> None:
    assert fits(Listed(figure(measure="f1"), {"measure": "kappa", "value": None})) == [
        "Listed",
        "measure  value                 scored",
        "f1       0.863 [0.800, 0.900]  240 of 1,241",
        "kappa",
    ]


def test_figures_of_all_items_come_first_and_those_of_parts_are_in_the_frame() -> None:
    parts = [figure(measure="f1", group=f"g{n}") for n in range(40)]
    lines = fits(Listed(*parts, figure(measure="f1")))
    assert lines[1:] == [
        "measure  value                 scored",
        "f1       0.863 [0.800, 0.900]  240 of 1,241",
        "40 more rows: .to_frame()",
    ]
    only = fits(Listed(*parts))
    assert (len(only), only[-1]) == (23, "20 more rows: .to_frame()")
    assert len(fits(Listed(*parts[:20]))) == 22  # nothing is left out
    assert fits(Listed(*parts[:21]))[-1] == "1 more row: .to_frame()"


def test_wide_tables_are_cut_to_the_width_of_a_terminal() -> None:
    texts = {f"text{n}": "word " * 40 for n in range(4)}
    lines = fits(Listed({"id": "a", **texts}))
    assert lines[1].split() == ["id", *texts]
    assert lines[2].count("…") == 4
    many = fits(Listed({f"column-number-{n}": "x" * 30 for n in range(9)}))
    assert many[-1] == "4 more columns: .to_frame()"  # 5 * 16 and 4 * 2 between them are 88
    eight = fits(Listed({f"column-number-{n}": "x" * 30 for n in range(8)}))
    assert eight[-1] == "3 more columns: .to_frame()"
    assert fits(Listed({"id": "a", "text": "議論" * 80}))[2].endswith("…")


def test_the_width_of_letters() -> None:
    assert [width_of(text) for text in ("abc", "議論", "e\u0301", "")] == [3, 4, 1, 0]
    assert [cut_to(text, 4) for text in ("abcd", "abcde", "議論", "議論x")] == [
        "abcd", "abc…", "議論", "議…"]  # fmt: skip


def test_a_notebook_shows_the_same_rows() -> None:
    html = Listed(*(figure(measure="f1", group=f"<g{n}>") for n in range(40)))._repr_html_()
    assert html.count("<tr>") == 21
    assert "&lt;g0&gt;" in html
    assert html.endswith("<p><small>20 more rows: .to_frame()</small></p>")


EXAMPLE = load_example()


@cache
def index() -> Any:
    return pnyx.build_index(EXAMPLE.arguments)


@cache
def answers() -> Answers:
    """A packaged judge's answers to 24 pairs of the example, three a question."""
    texts = {question.id: question.text for question in EXAMPLE.questions}
    passages = {argument.id: argument.text for argument in EXAMPLE.arguments}
    chosen = [label for label in EXAMPLE.labels if label.doc_id[-2:] in ("01", "09", "16")]
    return pnyx.ask(
        pnyx.PackagedJudge("relevance"),
        [
            {
                "id": label.doc_id,
                "question": texts[label.question_id],
                "document": passages[label.doc_id],
                "group": label.question_id,
                "question_id": label.question_id,
                "doc_id": label.doc_id,
            }
            for label in chosen
        ],
    )


LABELS = {label.doc_id: label.relevance > 0 for label in EXAMPLE.labels}
QRELS = [Qrel(label.question_id, label.doc_id, label.relevance) for label in EXAMPLE.labels]
VERDICTS = [
    {
        "id": f"{label.doc_id}/{view.id}", "question_id": label.question_id, "task": "support",
        "doc_id": label.doc_id, "perspective_id": view.id, "judge": "people", "unscored": None,
        "value": view.id in label.perspectives,
    }
    for label in EXAMPLE.labels for view in EXAMPLE.perspectives
    if view.question_id == label.question_id
]  # fmt: skip


def run(order: int) -> list[RunEntry]:
    return [
        RunEntry(label.question_id, label.doc_id, rank, 1000.0 - rank, "r")
        for rank, label in enumerate(EXAMPLE.labels[::order], start=1)
    ]


def leaderboard(name: str) -> Leaderboard:
    cells = [
        LeaderboardCell(f"run{r}", f"t{t}", "a measure with a long name", (r * t) % 7 / 7)
        for r in range(30) for t in range(12)
    ]  # fmt: skip
    return Leaderboard(name, tuple(cells))


def chosen(folder: Path) -> Any:
    rows = answers().rows()
    labels = [{"id": key, "value": value} for key, value in LABELS.items()]
    for name, written in (("a", rows), ("b", rows), ("labels", labels)):
        write_jsonl(folder / f"{name}.jsonl", written)
    judges = {name: folder / f"{name}.jsonl" for name in "ab"}
    return choose_judge(judges, folder / "labels.jsonl", bootstrap=FEW)


def tuned(_: Path) -> Tuned:
    grid = {"k1": [n / 10 for n in range(1, 20)], "b": [0.0, 0.5, 1.0]}
    plan = Tuning(Scoring("bm25"), grid, folds=2, draws=20)
    return tune(index(), EXAMPLE.questions, QRELS, plan)


def coverage(_: Path) -> Any:
    runs = {f"run-{n}": run(order) for n, order in enumerate((1, -1, 2))}
    views = by_question(EXAMPLE.perspectives)
    return pnyx.measure_perspectives(runs, views, VERDICTS, baseline="run-0", bootstrap=FEW)


def leaning(_: Path) -> Any:
    views = by_question(
        view for question in EXAMPLE.questions for side in ("pro", "con")
        for view in [v for v in EXAMPLE.perspectives
                     if v.question_id == question.id and v.stance == side][:1]
    )  # fmt: skip
    runs = {"question": run(1), "pro": run(2), "con": run(-1)}
    return measure_leaning("bm25", runs, views, VERDICTS, bootstrap=FEW)


def reports(_: Path) -> Any:
    return measure_reports(judge_reports([response()], [BANK], PlannedJudge()), bootstrap=FEW)


MADE: dict[str, Callable[[Path], Any]] = {
    "Agreement": lambda _: pnyx.measure_agreement(answers(), LABELS, bootstrap=FEW),
    "AlternativeTest": lambda _: alternative_annotator_test(
        read_check_items(CHECKED, judge="verdict", human=("a", "b", "c")), "verdict"),
    "Amounts": lambda _: measure_amount(answers()),
    "AnswerSummary": lambda _: summarise_answers(answers()),
    "Answers": lambda _: answers(),
    "PerspectiveBenchResult": lambda folder: PerspectiveBenchResult(
        coverage(folder), (), {}, {}, (), ("q",), (), 0
    ),
    "Case": lambda _: pnyx.argue(index(), EXAMPLE.questions[0]),
    "Check": lambda _: pnyx.check(CHECKED, judge="verdict", human="a", bootstrap=FEW),
    "CheckedJudge": lambda _: pnyx.check(
        CHECKED, judge="verdict", human="a", bootstrap=FEW).judges[0],
    "ChosenJudge": chosen,
    "CorrectedLeaderboard": lambda _: correct_leaderboard(
        leaderboard("judge"), leaderboard("people"), *["a measure with a long name"] * 2,
        bootstrap=FEW),
    "CorrectedRate": lambda _: corrected_rate(answers(), LABELS, bootstrap=FEW),
    "Decline": lambda _: measure_decline(
        [0, 1, 2], np.linspace(1, 0, 30).reshape(10, 3), np.ones((10, 3), dtype=np.bool_),
        np.arange(10), FEW),
    "Decision": lambda _: pnyx.check(
        CHECKED, judge="verdict", human="a", bootstrap=FEW).decide(),
    "DistilledStudent": lambda _: DistilledStudent(None, {}, {"f1": Measured(0.5, 1, 1)}),
    "SearchHits": lambda _: pnyx.Searcher(index()).show(EXAMPLE.questions[0], 60),
    "LabelledVerdicts": lambda _: join_labels(answers(), LABELS),
    "Leaderboard": lambda _: leaderboard("judge"),
    "LeaderboardsCompared": lambda _: compare_leaderboards(
        [leaderboard("judge")], leaderboard("people"), bootstrap=FEW),
    "Leaning": leaning,
    "MeasuredReports": lambda folder: reports(folder).runs[0],
    "PairCheck": lambda _: check_pairs(
        read_table_rows([{"ab": "A", "ba": "B", "human": "A"}] * 12),
        a_first="ab", b_first="ba", human=("human",)),
    "PerspectiveCoverage": coverage,
    "PredictionPowered": lambda _: prediction_powered(
        np.arange(5.0), np.arange(5.0), np.arange(9.0)),
    "RaterAgreement": lambda _: measure_raters(answers(), [LABELS], bootstrap=FEW),
    "Report": lambda _: pnyx.Collection(index(), "example").report(EXAMPLE.questions[0].text),
    "Reports": reports,
    "Retrieval": lambda _: pnyx.measure_retrieval(
        {f"run-{n}": run(1) for n in range(12)}, QRELS, bootstrap=FEW),
    "RetrieverCorrelation": lambda _: measure_correlation(
        {"run": run(1)}, answers(), bootstrap=FEW),
    "Thresholds": lambda _: measure_thresholds(answers(), LABELS, bootstrap=FEW),
    "Tuned": tuned,
}  # fmt: skip
"""Class of a result -> how one is made."""


def test_every_kind_of_result_is_tried() -> None:
    source = Path(pnyx.__file__).parent
    for path in source.rglob("*.py"):
        text = path.read_text("utf-8")
        if "Result" in text or "CheckedTable" in text:
            parts = path.relative_to(source.parent).with_suffix("").parts
            importlib.import_module(".".join(p for p in parts if p != "__init__"))
    kinds = {kind.__name__ for kind in every_kind() if kind.__module__.startswith("pnyx.")}
    assert kinds - {"ComparedRuns", "CheckedTable"} == set(MADE)  # both are bases


def test_public_results_show_themselves() -> None:
    rooms = (getattr(pnyx, name) for name in pnyx.__all__)
    names = {(room, name) for room in rooms if isinstance(room, ModuleType)
             for name in room.__all__}  # fmt: skip
    kinds = {value for room, name in names if isinstance(value := getattr(room, name), type)}
    with_rows = {kind for kind in kinds if hasattr(kind, "rows") and not hasattr(kind, "reader")}
    assert {kind for kind in with_rows if not issubclass(kind, Result)} == {pnyx.Store}


def test_lists_of_judged_reports_are_a_line_each() -> None:
    text = repr(judge_reports([response()], [BANK], PlannedJudge()))
    assert re.fullmatch(r"\[JudgedReport\('7', 'run-a': \d+ sentences, \d+ nuggets\)\]", text)


@pytest.mark.parametrize("name", quick_cases(MADE, MADE.keys() - {"Agreement", "Case", "Tuned"}))
def test_a_printed_result_is_short(name: str, tmp_path: Path) -> None:
    result = MADE[name](tmp_path)
    assert type(result).__name__ == name
    lines = fits(result)
    assert repr(result) == str(result)
    assert len(lines) > 1
    assert "object at 0x" not in str(result)
    if result.rows():
        assert len(result.to_frame()) == len(result.rows())
    assert result._repr_html_().count("<tr>") <= 1 + 20
