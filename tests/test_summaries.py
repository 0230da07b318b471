"""What answers say without labels, in words: at the end of a run, by `measure`, on a page."""

from __future__ import annotations

import html
import json
import re
from pathlib import Path
from typing import Any

import pytest

from command import called, run, write_rows
from pnyx.core.errors import InputError
from pnyx.display.summary import share_sentence, summary_lines
from pnyx.judging.measures.summary import (
    FEW_YES,
    LEAST_WARNED,
    MOST_YES,
    all_supported,
    summarise_answers,
)
from pnyx.stats.base import Bootstrap
from pnyx.stats.intervals import cluster_mean
from pnyx.web.results.overview import summaries_of
from pnyx.web.results.records import SourceRow

pytestmark = pytest.mark.usefixtures("own_place")


def _line(record: str, n: int, value: bool | None, **more: Any) -> dict[str, Any]:
    return {
        "record": record, "id": f"{record}#{n}", "task": "support", "group": record,
        "dimension": None, "value": value, "probability": None, "judge": "j", "method": "",
        "unscored": "refusal: no" if value is None else None, "explanation": "", "evidence": "",
        "prompt_hash": "", "notes": None, **more,
    }  # fmt: skip


def _answers(*verdicts: bool | None, **more: Any) -> list[dict[str, Any]]:
    """Return an answer of one sentence for each verdict."""
    return [_line(f"q{n}", 1, value, **more) for n, value in enumerate(verdicts)]


def _results(folder: Path, rows: list[dict[str, Any]], task: str = "support") -> Path:
    write_rows(folder / "answers.jsonl", rows)
    manifest = {"format": "pnyx-results", "format_version": 1, "task": task, "judge": "j"}
    (folder / "manifest.json").write_text(json.dumps(manifest))
    return folder


LINES = [
    _line("a", 1, True), _line("a", 2, True), _line("b", 1, True), _line("b", 2, False),
    _line("c", 1, None), _line("c", 2, True), _line("d", 1, None), _line("d", 2, False),
]  # fmt: skip


def test_an_answer_is_supported_if_each_of_its_sentences_is() -> None:
    assert all_supported([True, True]) is True
    assert all_supported([True, False]) is False
    assert all_supported([True, None]) is None
    assert all_supported([None, False]) is False
    assert all_supported([]) is None
    summary = summarise_answers(LINES)
    answers, sentences = summary.whole.shares
    assert (answers.yes, answers.share.scored, answers.share.asked) == (1, 3, 4)
    assert (sentences.yes, sentences.share.scored, sentences.share.asked) == (4, 6, 8)
    assert summary.reasons == {"refusal": 2}


def test_intervals_are_drawn_over_questions() -> None:
    rows = [
        {**_line(f"{run}/q{q}", s, q % 2 == 0), "group": f"q{q}", "run_id": run}
        for run in "xy" for q in range(6) for s in (1, 2)
    ]  # fmt: skip
    summary = summarise_answers(rows)
    values, groups = [float(q % 2 == 0) for q in range(6)] * 2, [f"q{q}" for q in range(6)] * 2
    assert summary.clusters == 6
    assert summary.whole.shares[0].share == cluster_mean(values, groups)
    alone = cluster_mean(values, range(12))
    assert summary.whole.shares[0].share.low < alone.low  # the runs are alike
    assert list(summary.runs) == ["x", "y"]
    assert summary.runs["x"].shares[0].share == cluster_mean(values[:6], groups[:6])


def test_answers_to_one_question_have_no_interval_and_the_reason_is_said() -> None:
    rows = [{**_line(f"r{n}", 1, n > 0), "group": "q"} for n in range(3)]
    assert summary_lines(summarise_answers(rows)) == [
        "2 of 3 answers are supported (67 %). An answer is supported if each of its sentences is.",
        "2 of 3 sentences are supported (67 %).",
        "No interval: fewer than two topics, runs or items to draw from.",
    ]


def test_one_computation_is_shown_by_judge_measure_and_view(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    contexts = ["The council cut bus fares by 20 % in May 2021.", "Rain fell all day in Bergen."]
    rows = [
        {"id": n, "question": f"What happened {n}?", "contexts": contexts, "answer": answer}
        for n, answer in enumerate([
            "The council cut bus fares by 20 % in May 2021.",
            "Rain fell all day in Bergen. Mars has two moons.",
            "Giraffes sleep standing up.",
        ])
    ]  # fmt: skip
    path = write_rows(tmp_path / "ragas.jsonl", rows)
    status, judged, _ = called(capsys, "judge", "support", path, "--out", tmp_path / "r")
    assert status == 0
    summary = summarise_answers(str(tmp_path / "r"))
    lines = summary_lines(summary)
    assert lines[0].startswith("1 of 3 answers is supported (33 %, 95 % interval ")
    assert lines[0].endswith(" %). An answer is supported if each of its sentences is.")
    assert lines[1].startswith("2 of 4 sentences are supported (50 %, ")
    assert judged.splitlines()[-2:] == lines
    status, printed, _ = called(capsys, "measure", tmp_path / "r")
    assert status == 0
    assert " ".join(lines) in " ".join(printed.split())
    status, printed, _ = called(capsys, "measure", tmp_path / "r", "--json")
    row = json.loads(printed)
    assert row == json.loads(json.dumps(summary.row()))
    assert row["measures"]["supported_answers"] == summary.whole.shares[0].share.row()
    assert run("view", tmp_path / "r", "--export", tmp_path / "pages") == 0
    for page in ("index.html", "source/r.html"):
        text = html.unescape((tmp_path / "pages" / page).read_text())
        first = re.search(r"<main.*?<p dir=auto><strong>(.*?)</strong></p>", text, re.DOTALL)
        assert first is not None
        assert first[1] == lines[0]
        assert lines[1] in text


def test_judge_rag_says_how_many_answers_are_supported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    contexts = ["The council cut bus fares by 20 % in 2021.", "Rain fell all day in Bergen."]
    rows = [
        {"question": f"What happened {n}?", "contexts": contexts, "answer": answer}
        for n, answer in enumerate(
            ["Rain fell all day in Bergen. Mars has two moons.", "Rain fell all day in Bergen."]
        )
    ]
    path = write_rows(tmp_path / "ragas.jsonl", rows)
    status, judged, _ = called(capsys, "judge", "rag", path, "--out", tmp_path / "r")
    assert status == 0
    assert "1 of 2 answers is supported (50 %, 95 % interval " in judged
    assert "2 of 3 sentences are supported (67 %, " in judged
    assert summary_lines(summarise_answers(str(tmp_path / "r")))[0] in judged


def test_runs_are_named_where_there_are_several(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [
        {**_line(f"{run}/q{n}", 1, n < yes), "group": f"q{n}", "run_id": run}
        for run, yes in (("plain", 2), ("tuned", 5)) for n in range(6)
    ]  # fmt: skip
    _, printed, _ = called(capsys, "measure", _results(tmp_path / "r", rows))
    assert re.search(
        r"^plain: 2 of 6 answers are supported \(33 %, \d+ to \d+ %\)\.$", printed, re.M
    )
    assert re.search(
        r"^tuned: 5 of 6 answers are supported \(83 %, \d+ to \d+ %\)\.$", printed, re.M
    )
    plain = [row for row in rows if row["run_id"] == "plain"]
    _, printed, _ = called(capsys, "measure", _results(tmp_path / "one", plain))
    assert "plain" not in printed


def test_what_is_unscored_is_said_and_is_not_a_no(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status, printed, err = called(capsys, "measure", _results(tmp_path / "r", LINES))
    assert status == 3
    printed = " ".join(printed.split())
    assert "1 of 3 scored answers is supported (33 %, 95 % interval " in printed
    assert "; 1 of 4 are unscored." in printed
    assert "2 answers are unscored: 2 refusal" in err
    none = summarise_answers(_answers(None, None))
    assert share_sentence(none.whole.shares[0]) == "none of 2 answers is scored"
    assert none.whole.shares[0].share.value is None


@pytest.mark.parametrize(
    ("yes", "of", "is_warned"),
    [
        (0, LEAST_WARNED - 1, False),
        (0, LEAST_WARNED, True),
        (1, LEAST_WARNED, False),  # 5 %
        (1, LEAST_WARNED + 1, True),
        (LEAST_WARNED - 1, LEAST_WARNED, False),  # 95 %
        (LEAST_WARNED, LEAST_WARNED + 1, True),
        (LEAST_WARNED, LEAST_WARNED, True),
        (LEAST_WARNED - 1, LEAST_WARNED - 1, False),
    ],
)
def test_nearly_none_and_nearly_all_are_warned_of(
    yes: int, of: int, is_warned: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert (FEW_YES, MOST_YES, LEAST_WARNED) == (0.05, 0.95, 20)
    rows = _answers(*[n < yes for n in range(of)])
    folder = _results(tmp_path / "r", rows)
    _, _, err = called(capsys, "measure", folder)
    warning = f"{yes} of {of} are yes: the threshold may not fit your data"
    assert (warning in err) == is_warned
    assert run("view", folder, "--export", tmp_path / "pages") == 0
    assert (warning in (tmp_path / "pages" / "index.html").read_text()) == is_warned
    relevance = [{**row, "task": "relevance", "record": None} for row in rows]
    _, _, err = called(capsys, "measure", _results(tmp_path / "s", relevance, "relevance"))
    assert "threshold" not in err


def test_unscored_answers_do_not_count_for_a_warning() -> None:
    verdicts = [False] * (LEAST_WARNED - 1) + [None] * 10
    assert summarise_answers(_answers(*verdicts)).warned is None


def _ratings(values: dict[str, list[float | None]], task: str, scale: list[int]) -> list[Any]:
    return [
        {**_line(f"q{n}", 1, None), "id": f"q{n}", "task": task, "dimension": name, "value": value,
         "scale": scale, "unscored": None if value is not None else "blank: nothing"}
        for name, numbers in values.items() for n, value in enumerate(numbers)
    ]  # fmt: skip


def test_ratings_are_averaged_without_labels(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = _ratings({"overall": [1, 2, 3, 3], "clarity": [2, 3, None, 1]}, "quality", [1, 3])
    folder = _results(tmp_path / "r", rows, "quality")
    status, printed, _ = called(capsys, "measure", folder)
    assert status == 3
    assert re.search(
        r"Means \(95 % interval\): overall 2\.25 \(1\.\d\d to 2\.\d\d\); clarity 2\.00 "
        r"\(1\.\d\d to 2\.\d\d\), 3 of 4 scored\.",
        " ".join(printed.split()),
    )
    _, printed, _ = called(capsys, "measure", folder, "--json")
    cell = json.loads(printed)["measures"]["overall"]
    expected = cluster_mean([1, 2, 3, 3], range(4), bounds=(1, 3))
    assert cell == expected.row()


def test_rag_says_how_many_answers_are_supported_and_the_mean_of_each_dimension(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = _ratings({"groundedness": [0.9, 0.5, 0.7], "context_relevance": [0.2, 0.3, 0.4]}, "rag",
                    [0, 1])  # fmt: skip
    kinds: list[list[bool | None]] = [[True, True], [True, False], [True, None]]
    for row, kind in zip(rows, kinds, strict=False):
        sentences = [{"text": "s", "supported": yes, "documents": {}} for yes in kind]
        row["notes"] = {"sentences": sentences}
    folder = _results(tmp_path / "r", rows, "rag")
    status, printed, _ = called(capsys, "measure", folder)
    assert status == 0
    flat = " ".join(printed.split())
    assert "1 of 2 scored answers is supported (50 %" in flat
    assert "4 of 5 scored sentences are supported (80 %" in flat
    assert re.search(r"groundedness +0\.700 \[0\.\d+, 0\.\d+\]", printed)
    status, printed, _ = called(capsys, "measure", folder, "--json")
    assert list(json.loads(printed)["measures"]) == [
        "supported_answers", "supported_sentences", "groundedness", "context_relevance",
    ]  # fmt: skip


def test_ratings_in_a_list_are_averaged() -> None:
    summary = summarise_answers([1, 5, None, 3])
    assert list(summary.whole.measures) == ["rating"]
    rating = summary.whole.means["rating"]
    assert (rating.value, rating.scored, rating.asked) == (3, 3, 4)
    assert summary.reasons == {"no verdict": 1}


@pytest.mark.parametrize(
    ("task", "sentence"),
    [
        ("support", "2 of 3 statements are supported (67 %, "),
        ("relevance", "2 of 3 documents are relevant (67 %, "),
        ("nugget", "2 of 3 nuggets are given (67 %, "),
        ("stance", "2 of 3 texts are for the side asked about (67 %, "),
    ],
)
def test_plain_answers_are_counted_by_their_task(
    task: str, sentence: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [{**row, "task": task, "record": None} for row in _answers(True, True, False)]
    _, printed, _ = called(capsys, "measure", _results(tmp_path / "r", rows, task))
    assert sentence.replace("%, ", "%, 95 % interval ") in " ".join(printed.split())


def test_what_has_no_summary_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [{**row, "task": "ranking", "value": [0, 1]} for row in _answers(True)]
    folder = _results(tmp_path / "r", rows, "ranking")
    status, _, err = called(capsys, "measure", folder)
    assert status == 2
    assert "found answers to ranking, expected those to one of: preference, support" in err
    with pytest.raises(InputError, match="ranking has no such summary"):
        summarise_answers(rows)


def test_options_that_need_labels_say_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = _results(tmp_path / "r", _answers(True, False))
    status, _, err = called(capsys, "measure", folder, "--plot", str(tmp_path / "p.svg"))
    assert status == 2
    assert "--plot requires --labels" in err
    status, _, err = called(capsys, "measure", tmp_path / "nothing")
    assert (status, "nothing: cannot be read" in err) == (2, True)


def test_without_draws_there_is_no_interval() -> None:
    summary = summarise_answers(_answers(True, False), bootstrap=Bootstrap(0))
    assert share_sentence(summary.whole.shares[0]) == "1 of 2 answers is supported (50 %)"


def test_results_removed_since_they_were_read_are_passed_over(tmp_path: Path) -> None:
    sources = []
    for name in ("gone", "here"):
        folder = _results(tmp_path / name, _answers(True, False))
        files = {"answers": str(folder / "answers.jsonl")}
        sources.append(SourceRow(1, name, str(folder), "results", asked=2, files=files))
    (tmp_path / "gone" / "answers.jsonl").unlink()
    assert [summary.source for summary in summaries_of(sources)] == ["here"]
