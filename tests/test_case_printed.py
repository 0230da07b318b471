"""What `pnyx argue` prints of a case, the page in Markdown, and the ranges of its options."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest

from case_fixture import argued, build_case, no, yes
from command import printed
from pnyx.audit.card_command import CardSpec
from pnyx.audit.check_command import CheckTableSpec
from pnyx.audit.run_command import AuditRunSpec
from pnyx.audit.trial_run import StressSpec
from pnyx.cases.case import Case, Undecided
from pnyx.cases.commands import _say
from pnyx.cases.model_sides import Weighing
from pnyx.cases.options import ArgueSpec
from pnyx.cases.page.markdown import render_markdown
from pnyx.cases.page.model import measure_wording
from pnyx.cases.plan import Plan
from pnyx.cases.report_plan import WritingPlan
from pnyx.cases.side_choice import Expected
from pnyx.core.records import Argument, Document, Premise
from pnyx.core.spec import opts_of
from pnyx.search.topics import LabelledTopic, TopicMatch
from pnyx.stats.base import Measured

MAYBE = Undecided("b", yes(0.7), {"pro": yes(0.6), "con": no(0.4)})


def small_case(**changes: Any) -> Case:
    """Return a case of one point on the pro side, and a con side without passages."""
    lines = (
        ("conclusion", "Turnout rises.", {"a": yes(0.9, "turnout rises")}),
        ("premise", "Fines work.", {"a": no(0.2), "c": yes(0.8)}),
    )
    measures = {
        "sentence_precision": Measured(0.5, 2, 2, 0.1, 0.9),
        "on_the_question": Measured(0.8, 2, 2),
    }
    pro = argued("pro", lines, measures=measures, chances={"a": 0.7}, considered=3,
                 problems=("a problem",), uncited=(MAYBE,), less_sure=(MAYBE,))  # fmt: skip
    con = argued("con", (), measures={}, considered=0)
    documents = {
        "a": Document("a", "We say that turnout rises.", title="On *fines*", source="Review"),
        "b": Document("b", "Text of b."),
        "c": Argument("c", "Fines work.", (Premise("So it is."),), stance="pro", topic="Voting"),
    }
    case = replace(
        build_case(), sides=(pro, con), documents=documents, judges={"j": "good"},
        settings={"index": "i"}, quality={"a": 0.75}, passed_over=2,
    )  # fmt: skip
    return replace(case, **changes)


def summary_lines(
    capsys: Any, case: Case, *, paged: bool = True, printed: bool = False
) -> list[str]:
    capsys.readouterr()
    _say(case, paged=paged, printed=printed)
    out, err = capsys.readouterr()
    assert out == ""
    return str(err).splitlines()


def test_a_summary_of_a_case(capsys):
    match = LabelledTopic(TopicMatch("Voting", 0.4, 0.0, "meaning", used=False), 2)
    case = small_case(
        expected_about=Expected(4.2, 5, 5), undecided=(MAYBE,), topics=(match,),
        search_problems=("slow",), unscored=1, unscored_reason="timeout",
        weighed=Weighing("m", 0.0, "it failed"),
    )  # fmt: skip
    end = [
        "search: slow",
        "a verdict is missing for 1 passage: timeout",
    ]
    lines = summary_lines(capsys, case)
    assert lines[:9] == [
        "the case for yes: 2 sentences from 2 documents; on the question 0.80; sentence precision "
        "0.50 (2 of 2 scored)",
        "  a problem",
        "less likely, listed only: 1 for yes",
        "undecided: 1 passage that may argue either side",
        "Probably about 4 of the 5 passages read argue a side of the question; 2 cited.",
        "Did you mean “Voting” (2 passages)?",
        "The packaged judge decided the sides, not m: it failed",
        "The case for no: not argued. It is unknown whether any passage argues this side. For one "
        "passage a verdict is missing: timeout.",
        "judge j: good",
    ]
    assert lines[9:] == end
    assert any(
        line.startswith("Labels on “Voting”") for line in summary_lines(capsys, case, paged=False)
    )
    assert summary_lines(capsys, case, printed=True) == end
    assert summary_lines(capsys, small_case(judges={}), printed=True) == []


def test_the_whole_page_in_markdown():
    page = render_markdown(small_case(undecided=(MAYBE,), certainty=0.4))
    verdicts = "supported, p \\= 0.90, packaged"
    checks = (
        "Argues a side? argues a side, p \\= 0.70, packaged; Serves pro? not sure enough, p \\= "
        "0.60, packaged; Serves con? not sure enough, p \\= 0.40, packaged"
    )
    plain = page.replace("\\", "")
    assert verdicts.replace("\\", "") in plain
    parts = plain.split("\n\n")
    assert parts[0] == "# Should voting be compulsory?"
    assert (
        "**The case for no: not argued. No passage that argues a side of the question was found.**"
        in parts
    )
    assert "| measure | value | 95 % interval | base |" in plain
    assert "| Sentence precision | 0.50 | [0.10, 0.90] | 2 of 2 scored |" in plain
    assert "| none | 2 of 2 scored |" in plain
    assert "**Turnout rises.** [1] (P1: ✓ supported), likely, 70 %" in parts
    assert "- Fines work. [1] [2] (P2: ◐ mixed)" in plain
    assert "### Also on this side, not quoted: the case for yes" in parts
    assert "### Less likely: the case for yes" in parts
    assert "with a probability below 40 %. They are not used in the argument." in plain
    listed = f"- **b**, {checks}: Text of b.".replace("\\", "")
    assert plain.count(listed) == 3
    assert "## Undecided passages" in parts
    first = "- [1] **On *fines***, Review, id a, quality predicted better than 75% of all passages"
    assert first in plain
    assert "  - P1: supported, p = 0.90, packaged: “turnout rises”" in plain
    assert "  - P2: not supported, p = 0.20, packaged" in plain
    assert "corpus label pro, on “Voting”" in plain
    assert "- Index: i" in plain
    assert "- Problem on the pro side: a problem" in plain
    no_intervals = small_case()
    side = replace(no_intervals.sides[0], measures={"x_y": Measured(0.5, 1, 1)})
    page = render_markdown(replace(no_intervals, sides=(side,)))
    assert "| measure | value | base |" in page
    assert "No passages are cited." not in page
    empty = replace(no_intervals, sides=no_intervals.sides[1:])
    assert "No passages are cited." in render_markdown(empty)
    assert measure_wording("x_y").label == "X y"
    assert measure_wording("_").label == "Measure"


# -- Ranges and defaults of options ---------------------------------------------------------------


def option(spec: type, name: str) -> Any:
    return next(opt for field, opt in opts_of(spec) if field.name == name)


@pytest.mark.parametrize(
    ("spec", "name", "allowed", "refused"),
    [
        (ArgueSpec, "points", (1,), (0,)),
        (ArgueSpec, "words", (20, 10_000), (19, 10_001)),
        (ArgueSpec, "retrieve", (1,), (0,)),
        (ArgueSpec, "per_side", (1,), (0,)),
        (ArgueSpec, "certainty", (0.0, 1.0), (-0.01, 1.01)),
        (ArgueSpec, "asked", (1,), (0,)),
        (ArgueSpec, "context", (100,), (99,)),
        (ArgueSpec, "shots", (1, 50), (0, 51)),
        (StressSpec, "limit", (0,), (-1,)),
        (StressSpec, "levels", (0.0, 1.0), (-0.01, 1.01)),
        (StressSpec, "sentences", (0, 1000), (-1, 1001)),
        (StressSpec, "padding", (0.01, 20.0), (0.0, 20.1)),
        (StressSpec, "repeats", (1, 100), (0, 101)),
        (StressSpec, "orders", (1,), (0,)),
        (StressSpec, "tolerance", (0.0, 1.0), (-0.01, 1.01)),
        (AuditRunSpec, "margin", (0.0, 1.0), (-0.01, 1.01)),
        (CardSpec, "margin", (0.0, 1.0), (-0.01, 1.01)),
        (CheckTableSpec, "margin", (0.01, 0.99), (0.0, 1.0)),
        (CheckTableSpec, "half_width", (0.01, 0.99), (0.0, 1.0)),
    ],
)
def test_the_range_of_an_option(spec, name, allowed, refused):
    bounds = option(spec, name)
    assert all(bounds.allows(value) for value in allowed)
    assert not any(bounds.allows(value) for value in refused)


def test_an_argument_by_default():
    """As the reference of `pnyx argue` states."""
    spec, plan = ArgueSpec(), Plan()
    assert (spec.points, spec.retrieve, spec.per_side, spec.asked) == (4, 30, 8, 24)
    assert (spec.certainty, spec.context, spec.shots) == (0.35, 6000, 3)
    assert (plan.listed, plan.quality, plan.most, plan.by_passages) == (0.2, 1.0, False, None)


def test_a_report_by_default():
    """As the reference of `pnyx report` states."""
    plan = WritingPlan()
    assert (plan.retrieve, plan.documents, plan.judged, plan.questions) == (30, 20, 48, 6)
    assert (plan.lam, plan.relevant, plan.helpful) == (0.75, 0.35, 0.5)
    assert (plan.quality, plan.background, plan.per_sentence) == (0.5, 0.25, 3)


@pytest.mark.parametrize(
    ("heading", "names"),
    [
        ("Documents", "demo serve argue index search perspectives report"),
        ("Judges", "check judge measure audit label view"),
        ("Campaigns", "annotate nuggets compare"),
        ("Housekeeping", "doctor files store prompt"),
    ],
)
def test_commands_are_listed_in_the_order_of_their_use(capsys, heading, names):
    page = printed(capsys, "--help").out
    (part,) = (part for part in page.split("\n\n") if part.startswith(f"{heading}:"))
    listed = re.findall(r"^  (\w+) ", part, re.MULTILINE)
    assert listed == names.split()
