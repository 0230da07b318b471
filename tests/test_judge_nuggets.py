"""The packaged judge of nuggets: what it weighs, from where on it says yes, what its card says."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from command import caller, rows_of, write_rows
from pnyx import PackagedJudge, Support, ask
from pnyx.judging.encoder import load_calibrations
from pnyx.judging.passages import read_passage, wording
from pnyx.judging.students.judge import AssignmentJudge

pytestmark = pytest.mark.usefixtures("own_place")
run = caller()

LINE = "In Tallinn, free buses raised ridership by a third within a year, the council reported."
GIVEN = "Free buses raised ridership by a third."


def judged(text: str, *nuggets: str, question: str = "") -> list[Any]:
    asked = [Support(n, text, n, "nugget", question=question) for n in nuggets]
    return ask(PackagedJudge("nugget"), asked)


def test_overlap_is_the_share_of_words_in_one_window_of_three_sentences():
    far = "Alpha came. Nothing else. Nothing more. Then beta came."
    assert wording("alpha beta", read_passage(far)).overlap == 0.5
    near = "Alpha came. Nothing else. Then beta came."
    assert wording("alpha beta", read_passage(near)).overlap == 1
    assert wording("gamma delta", read_passage(near)).overlap == 0
    assert wording("...", read_passage(near)).overlap == 0
    assert wording("alpha beta gamma delta", read_passage(near)).overlap == 0.5  # too few for copy
    assert wording("alpha beta gamma delta", read_passage(near)).copy == 0


@pytest.mark.parametrize(
    ("statement", "copy", "conflict"),
    [
        ("a b c d e f g h i j", 1.0, 0.0),
        ("a b c d e f g x y z", 0.25, 0.0),  # 7 of 10 words, of which 6 do not count: 0.1 of 0.4
        ("a b c d e f x y z w", 0.0, 0.0),
        ("a b c", 0.75, 0.0),  # a whole statement counts fully from 4 words
        ("a b c d", 1.0, 0.0),
        ("a b c d e f g h i not", 0.75, 0.75),  # 9 of 10 words: 0.3 of 0.4
        ("a b c d e f g h i 7", 0.75, 0.75),
    ],
)
def test_a_copy_is_the_share_in_order_above_60_percent(statement, copy, conflict):
    compared = wording(statement, read_passage("A b c d e f g h i j."))
    assert (compared.copy, compared.conflict) == pytest.approx((copy, conflict))


def test_an_answer_overlaps_together_with_its_question():
    text = "Ridership rose by a third."
    (alone,) = judged(text, "by a third")
    (asked,) = judged(text, "by a third", question="How much did fares fall?")
    assert alone.provenance.details["overlap"] == 1
    assert asked.provenance.details["overlap"] == pytest.approx(3 / 8)
    assert asked.probability < alone.probability


def test_the_threshold_itself_is_a_yes_and_the_number_below_is_not():
    question = Support("1", LINE, GIVEN, "nugget")
    packaged = load_calibrations("nugget")[1]["nugget"]
    (answer,) = ask(AssignmentJudge(calibration=packaged), [question])
    for threshold, value in (
        (answer.probability, True),
        (math.nextafter(answer.probability, 1), False),
    ):
        judge = AssignmentJudge(calibration=replace(packaged, threshold=threshold))
        (answer,) = ask(judge, [question])
        assert answer.value is value


def test_the_packaged_threshold_decides_which_nuggets_a_report_gives(run):
    """The two nuggets are far enough from the threshold for all processors: see the test above."""
    nuggets = ["Bus use rose in the city.", "Bus use grew a lot within a year in Tallinn."]
    write_rows(
        "b.jsonl",
        [{"query": "Buses", "qid": "q1", "nuggets": [{"text": text} for text in nuggets]}],
    )
    write_rows(
        "r.jsonl",
        [
            {
                "metadata": {"team_id": "t", "run_id": "r", "topic_id": "q1"},
                "references": [],
                "responses": [{"text": LINE, "citations": {}}],
            }
        ],
    )
    code, _, err = run("nuggets", "assign", "r.jsonl", "--nuggets", "b.jsonl", "--out", "o")
    assert code == 0, err
    rows = rows_of("o/answers.jsonl")
    assert [row["value"] for row in rows] == [False, True]
    below, above = (row["probability"] for row in rows)
    assert below < rows[0]["threshold"] == rows[1]["threshold"] < above
    assert rows[0]["threshold"] == pytest.approx(0.2628, abs=1e-3)
    assert "overlap 0." in rows[0]["explanation"]
    manifest = json.loads(Path("o/manifest.json").read_text(encoding="utf-8"))
    assert manifest["card"] == PackagedJudge("nugget").card
    assert manifest["card"].startswith("calibrated on nuggets of reports")


def test_doctor_shows_the_whole_card_of_the_judge_of_nuggets(run):
    code, out, _ = run("doctor")
    assert code == 0
    assert f"nuggets@4: {PackagedJudge('nugget').card}" in " ".join(out.split())
    code, out, _ = run("doctor", "--json")
    shown = json.loads(out)["packaged"]["judges"]["nugget"]
    assert shown == {"judge": "nuggets@4", "card": PackagedJudge("nugget").card}
