"""A former run's answers as a judge."""

from __future__ import annotations

import json

import pytest

from pnyx.cli import main
from pnyx.core.errors import InputError
from pnyx.judging.answers import Judged, Provenance, Unscored, answer_rows
from pnyx.judging.base import Judge, ask
from pnyx.judging.lookup import Lookup
from pnyx.judging.questions import Preference, Ranking, Rating, Support
from pnyx.judging.runs.results import judge_into
from pnyx.judging.students.judge import PackagedJudge

BY = Provenance("gpt-x", "abc", "token", {"usage": {"total": 3}})
QUESTIONS = [
    Support("s", "Fares fell.", "Buses got cheaper.", extra={"source": "web"}),
    Support("s2", "Fares fell.", "Bananas are yellow."),
    Rating("r", "text", ("cogency", "clarity", "depth"), (1, 3)),
    Rating("r1", "text", ("cogency",), (1, 3)),
    Rating("r2", "text", ("cogency", "clarity"), (1, 3)),
    Preference("p", "x", "y", "z"),
    Ranking("k", "query", ("x", "y")),
]
ANSWERS = [
    Judged(True, BY, 0.9, "why", "Fares fell.", notes={"batch": 2}),
    Unscored("refusal: I cannot", BY),
    Judged([1, None, 3], BY, None, "so", notes={"dimensions": {"clarity": "schema: x"}}),
    Judged(2.5, BY),
    Unscored("timeout: 3 attempts", BY),
    Judged("a", BY, notes={"orders": ["a", "a"]}),
    Judged([1, 0], BY),
]


def rows() -> list[dict]:
    pairs = zip(QUESTIONS, ANSWERS, strict=True)
    return [row for question, answer in pairs for row in answer_rows(question, answer)]


def lines(*given) -> str:
    return "".join(json.dumps(row) + "\n" for row in given)


def test_what_was_answered_comes_back(tmp_path):
    path = tmp_path / "answers.jsonl"
    path.write_text(lines(*rows()))
    judge = Lookup(path)
    assert isinstance(judge, Judge)
    assert judge.name == "lookup:answers.jsonl(gpt-x)"
    assert judge.card == ("answers of a former run: 6 of 10 scored, of 7 items; as good as gpt-x")
    again = ask(judge, QUESTIONS)
    expected = Provenance(judge.name, "abc", "token", {"judge": "gpt-x"})
    assert all(answer.provenance == expected for answer in again)
    stored = [{**row, "judge": judge.name} for row in rows()]
    pairs = zip(QUESTIONS, again, strict=True)
    assert [row for pair in pairs for row in answer_rows(*pair)] == stored
    assert ask(Lookup(rows()), QUESTIONS)[0].provenance.judge == "lookup:rows(gpt-x)"


def test_what_is_not_there_is_unscored():
    judge = Lookup(rows())
    asked = [
        Support("new", "text", "statement"),
        Rating("r", "text", ("style", "cogency"), (1, 3)),
        Rating("new", "text", ("style", "cogency"), (1, 3)),
        Support("s", "text", "statement", extra={"dimension": "style"}),
    ]
    new, rating, unrated, other = ask(judge, asked)
    assert [a.reason for a in (new, unrated, other)] == ["lookup: no answer"] * 3
    assert rating.value == [None, 1]
    assert rating.notes["dimensions"] == {"style": "lookup: no answer"}


def test_an_answer_of_another_kind_is_none():
    stored = [row | {"task": "support"} for row in rows() if row["id"] in ("p", "r1")]
    stored.append(rows()[0] | {"id": "t", "value": "yes", "task": "preference"})
    judge = Lookup(stored)
    asked = [Support("p", "t", "s"), Preference("t", "x", "y", "z")]
    for answer in ask(judge, asked):
        assert isinstance(answer, Unscored)
        assert answer.reason.startswith("lookup: '")
    (off,) = ask(Lookup(rows()), [Rating("r1", "text", ("cogency",), (5, 9))])
    assert off.reason == "lookup: 2.5 is not an answer to the question"


def test_another_task_is_refused_before_anything_is_answered():
    seen = []
    judge = Lookup([row for row in rows() if row["task"] == "support"])
    asked = [QUESTIONS[0], Support("s", "text", "question", task="relevance")]
    with pytest.raises(InputError, match="rows: found answers of the task support, expected rel"):
        ask(judge, asked, lambda *given: seen.append(given))
    assert seen == []


def test_one_judges_answers_count():
    other = [row | {"judge": "mini", "value": False} for row in rows()[:1]]
    with pytest.raises(InputError, match=r"several judges \('gpt-x', 'mini'\): name one"):
        Lookup(rows() + other)
    with pytest.raises(InputError, match="holds no answers of 'gpt-y'"):
        Lookup(rows(), judge="gpt-y")
    judge = Lookup(rows() + other, judge="mini")
    assert judge.name == "lookup:rows(mini)"
    assert ask(judge, QUESTIONS[:1])[0].value is False


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        ("", "holds no items"),
        ("{}\n", ":1: no id"),
        (lines(rows()[0], rows()[0]), ":2: duplicate id"),
        (lines(rows()[0] | {"probability": 2}), ":1: probability: found 2"),
        (lines(rows()[0] | {"notes": []}), ":1: notes: found"),
        (lines(rows()[0] | {"evidence": 7}), ":1: evidence: found 7"),
        (lines(rows()[0] | {"value": None}), ":1: value is null"),
    ],
)
def test_a_file_that_holds_no_answers_is_refused_with_its_line(tmp_path, content, fault):
    path = tmp_path / "answers.jsonl"
    path.write_text(content)
    with pytest.raises(InputError, match=fault):
        Lookup(path)


def test_a_hostile_name_stays_in_its_line():
    judge = Lookup([row | {"judge": "x\n\x1b[2J" + "y" * 5000} for row in rows()])
    for text in (judge.name, judge.card):
        assert text.isprintable()
        assert len(text) < 300


def test_a_results_folder_is_looked_up_as_the_command_wrote_it(tmp_path, capsys):
    items = [
        {"id": "1", "text": "Fares fell last year.", "statement": "Fares fell last year."},
        {"id": "2", "text": "Fares fell last year.", "statement": "Bananas are yellow."},
    ]
    (tmp_path / "items.jsonl").write_text(lines(*items))
    out = tmp_path / "results"
    with pytest.raises(SystemExit) as done:
        main(["judge", "support", str(tmp_path / "items.jsonl"), "--out", str(out)])
    assert done.value.code == 0
    judge, packaged = Lookup(out), PackagedJudge("support")
    assert judge.name == f"lookup:results({packaged.name})"
    questions = [Support(**item) for item in items]
    first = ask(packaged, questions)
    for old, new in zip(first, ask(judge, questions), strict=True):
        assert (old.value, old.probability, old.evidence) == (
            new.value,
            new.probability,
            new.evidence,
        )
        assert new.provenance.method == old.provenance.method
    judge_into(tmp_path / "again", "support", judge, questions, lambda _: {})
    assert Lookup(tmp_path / "again").name.startswith("lookup:again(lookup:results(")
    with pytest.raises(InputError, match=r"holds no answers\.jsonl"):
        Lookup(tmp_path)
