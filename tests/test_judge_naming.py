"""What people call a judge: short names of ids."""

from __future__ import annotations

import pytest

from pnyx.judging.judge_names import UNMEASURED, introduced, short_name
from pnyx.judging.students.judge import PackagedJudge
from pnyx.search.relevance import _fitted


def test_every_packaged_judge_is_called_packaged() -> None:
    whole = PackagedJudge()
    for judge in (whole, *(PackagedJudge(task) for task in whole.tasks)):
        assert short_name(judge.name) == "packaged", judge.name
    digest = _fitted()[1]
    for name in (f"relevance-by-rank@{digest}", f"relevance-by-rank-and-words@{digest}"):
        assert short_name(name) == "packaged"


@pytest.mark.parametrize(
    ("judge", "called"),
    [
        ("qwen3-32b", "qwen3-32b"),
        ("org/model@q4+ft (v2)", "org/model@q4+ft (v2)"),
        ("qwen3-32b+sides", "qwen3-32b"),
        ("student:mine@0123abcd", "student:mine"),
        ("student:perspectives@0123abcd", "student:perspectives"),
        ("minilm-int8@2+isotonic@abcbc6ed", "packaged, recalibrated"),
        ("cascade(minilm-int8@1,qwen)@0a1b2c3d", "cascade(packaged,qwen)"),
        ("panel(minilm-int8@1, nuggets@1)", "panel(packaged, packaged)"),
        ("minilm-int8@1, nuggets@1", "packaged"),
        ("corpus label", "corpus label"),
        ("", ""),
    ],
)
def test_a_name_keeps_what_people_chose_and_drops_digests(judge: str, called: str) -> None:
    assert short_name(judge) == called


def test_a_judge_is_introduced_by_a_short_card_or_by_where_its_accuracy_is() -> None:
    judges = {"minilm-int8@1": "x" * 200, "relevance-by-rank@050a93de": "", "m": "not measured"}
    assert introduced(judges) == [
        "packaged; accuracy: pnyx doctor",
        "m: not measured",
    ]


def test_figures_are_claimed_only_where_there_are_some():
    long = "a-model-with-a-very-long-name-" * 5
    (line,) = introduced({long: f"no measured card for {long}: {UNMEASURED}"})
    assert "figures" not in line
    assert line.endswith(f"not measured; {UNMEASURED}")
