"""People's labels as a judge."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from pnyx.core.errors import InputError
from pnyx.judging.answers import Judged, Unscored, answer_rows
from pnyx.judging.base import Judge, ask
from pnyx.judging.lookup import HumanLabels
from pnyx.judging.measures.ground_truth import read_labels, truth_of_labels
from pnyx.judging.measures.raters import measure_raters
from pnyx.judging.questions import Preference, Ranking, Rating, Support
from pnyx.judging.verdicts import Verdict, read_verdict_rows, read_verdicts
from pnyx.perspectives.measures.verdicts import read_verdicts as read_pair_verdicts


def labels(tmp_path, *rows) -> HumanLabels:
    path = tmp_path / "gold.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return HumanLabels(path)


def support(identifier: str) -> Support:
    return Support(identifier, "text", "statement")


def test_the_majority_counts_and_ties_are_unscored(tmp_path):
    judge = labels(
        tmp_path,
        {"id": "a", "value": True, "annotator": "x"},
        {"id": "a", "value": False, "annotator": "y"},
        {"id": "a", "value": 1, "annotator": "z"},
        {"id": "b", "value": True, "annotator": "x"},
        {"id": "b", "value": False, "annotator": "y"},
        {"id": "c", "value": "Yes"},
        {"id": "d", "value": 0, "uncertain": True, "gain": 0.5},
        {"id": "e", "value": "Partially"},
        {"id": "g", "value": "perhaps"},
    )
    assert isinstance(judge, Judge)
    assert judge.name == "labels:gold.jsonl"
    assert judge.card == "people's labels: 9 labels of 6 items by 3 annotators"
    answers = ask(judge, [support(i) for i in "abcdefg"])
    assert [a.value if isinstance(a, Judged) else a.reason.split(":")[0] for a in answers] == [
        True,
        "tie",
        True,
        False,
        True,
        "no label",
        "label",
    ]
    assert answers[0].probability is None
    assert answers[0].provenance.details["agreeing"] == {"value": 2 / 3}


def test_the_other_kinds(tmp_path):
    judge = labels(
        tmp_path,
        {"id": "r", "value": 2, "dimension": "cogency"},
        {"id": "r", "value": 3, "dimension": "clarity"},
        {"id": "s", "value": 9, "dimension": "cogency"},
        {"id": "p", "value": "tie"},
        {"id": "k", "value": [1, 0]},
        {"id": "l", "value": [1, 1]},
    )
    questions = [
        Rating("r", "t", ("clarity", "cogency"), (1, 3)),
        Rating("r", "t", ("clarity",), (1, 3)),
        Rating("r", "t", ("clarity", "depth"), (1, 3)),
        Rating("r", "t", ("depth", "style"), (1, 3)),
        Rating("s", "t", ("cogency",), (1, 3)),
        Preference("p", "a", "b", "q"),
        Preference("k", "a", "b", "q"),
        Ranking("k", "q", ("x", "y")),
        Ranking("l", "q", ("x", "y")),
    ]
    answers = ask(judge, questions)
    assert [a.value if isinstance(a, Judged) else None for a in answers] == [
        [3, 2],
        3,
        [3, None],
        None,
        None,
        "tie",
        None,
        [1, 0],
        None,
    ]
    assert answers[2].notes == {"dimensions": {"depth": "no label"}}
    assert answers[2].provenance.details == {"agreeing": {"clarity": 1.0}}
    rows = answer_rows(questions[2], answers[2])
    assert [(row["value"], row["unscored"]) for row in rows] == [(3, None), (None, "no label")]
    assert isinstance(answers[3], Unscored)
    assert answers[3].reason == "no label"


def test_each_dimension_of_a_rating_is_voted_on_by_itself(tmp_path):
    judge = labels(
        tmp_path,
        *(
            {"id": "r", "value": value, "dimension": dimension, "annotator": annotator}
            for dimension, values in {"cogency": "113", "clarity": "12", "depth": "9"}.items()
            for annotator, value in enumerate(map(json.loads, values))
        ),
    )
    (answer,) = ask(judge, [Rating("r", "t", ("depth", "cogency", "clarity"), (1, 3))])
    assert answer.value == [None, 1, None]
    reasons = {"depth": "label: 9 is not an answer to the question", "clarity": "tie"}
    assert answer.notes == {"dimensions": reasons}


def test_a_yes_or_no_can_be_about_a_dimension(tmp_path):
    judge = labels(tmp_path, {"id": "1", "value": True, "dimension": "clarity"})
    clear = Support("1", "text", "statement", extra={"dimension": "clarity"})
    answers = ask(judge, [clear, support("1")])
    assert answers[0].value is True
    assert answers[1].reason == "no label"


@pytest.mark.parametrize(
    ("content", "line"),
    [
        ('{"id": "1"}\n', ":1: no value"),
        ('{"id": "1", "value": 1}\n{"value": 1}\n', ":2: no id"),
        ('{"id": "1", "value": 1}\n{"id": "1", "value": 0}\n', ":2: duplicate id"),
        ("", "holds no items"),
        ("[]\n", ":1: found"),
    ],
)
def test_bad_labels_name_the_line(tmp_path, content, line):
    path = tmp_path / "gold.jsonl"
    path.write_text(content)
    with pytest.raises(InputError, match=line):
        HumanLabels(path)


@pytest.mark.parametrize("place", [0, 1, 2])
def test_an_adjudicated_label_alone_counts_for_every_reader(tmp_path, place):
    """Two people say yes, the third who decides says no: wherever the line stands, it is a no."""
    pair = {"id": "a", "question_id": "q", "doc_id": "d", "perspective_id": "1"}
    rows = [
        {**pair, "value": True, "annotator": "x"},
        {**pair, "value": True, "annotator": "y"},
    ]
    rows.insert(place, {**pair, "value": False, "annotator": "adjudicated"})
    rows.append({**pair, "id": "b", "doc_id": "e", "value": True, "annotator": "x"})
    judge = labels(tmp_path, *rows)
    path = tmp_path / "gold.jsonl"
    (answer,) = ask(judge, [support("a")])
    assert answer.value is False
    assert judge.card == "people's labels: 2 labels of 2 items by 2 annotators"
    assert read_labels(path, "support").gold["a"].yes is False
    assert truth_of_labels(path)(Verdict("a")) is False
    assert read_pair_verdicts(path).of("q", "d", "1").value is False
    said = [
        {"id": name, "task": "support", "value": value, "unscored": None, "judge": "j"}
        for name, value in (("a", False), ("b", True))
    ]
    assert measure_raters(said, [path]).compared[0].mean["accuracy"].value == 1


def test_rows_that_share_what_is_alike_say_what_each_says_by_itself(tmp_path):
    rows = [
        {"id": f"{n}", "task": "support", "value": None if n % 5 == 4 else n % 2 == 0,
         "probability": n / 20, "unscored": "lost: it" if n % 5 == 4 else None, "judge": "j",
         "group": f"g{n // 4}", "doc_id": n if n % 7 == 3 else f"d{n}", "reasons": [n],
         "method": "words"}
        for n in range(20)
    ]  # fmt: skip
    path = tmp_path / "answers.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    for source in (path, rows):
        for (verdict, *own), plain in zip(
            read_verdict_rows(source), read_verdicts(source), strict=True
        ):
            assert own == [plain.id, plain.value, plain.probability, plain.line]
            shared = {"id": plain.id, "value": plain.value, "probability": plain.probability}
            assert replace(verdict, **shared, extra={}) == replace(plain, extra={})
            assert verdict.extra == {"method": "words"}
