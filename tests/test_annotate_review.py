"""`pnyx annotate review` and `pnyx measure review`: strata, files to fill in, Tables 5 and 8."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import asdict, replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pnyx.annotate.reviewing import (
    Disagreement,
    draw_disagreements,
    read_review,
    write_review,
)
from pnyx.cli import main
from pnyx.errors import InputError
from pnyx.judge.verdicts import Verdict
from pnyx.measure.answers.reviewed import measure_review
from pnyx.measure.core.intervals import wilson


def run(capsys, *arguments):
    with pytest.raises(SystemExit) as stopped:
        main([*map(str, arguments)])
    captured = capsys.readouterr()
    return stopped.value.code, captured.out, captured.err


def annotation(n, probability, **more):
    return Verdict(f"p{n}", "q", f"d{n}", probability >= 0.5, probability, judge="j", **more)


def one(n, confidence, low, high, label, right, stratum, size, **more):
    above = {"0.9": 70, "0.95": 62, "0.98": 31}
    return Disagreement(
        f"p{n}", "q", f"d{n}", "j", not label, label, confidence if not label else 1 - confidence,
        confidence, low, high, stratum, size, 0, 100, above, right=right, **more,
    )  # fmt: skip


# --- the draw


def test_as_many_are_drawn_of_each_stratum_and_what_they_stand_for_is_recorded():
    # Confidence of the verdict: .85, .95 (an edge belongs to the bin below), .96, .99.
    at = {0: 0.85, 1: 0.95, 2: 0.04, 3: 0.01}
    annotations = [annotation(n, at[n % 4]) for n in range(400)]
    annotations += [Verdict("u", "q", "u", unscored="refusal"), annotation(999, 0.99)]
    wrong = {f"p{n}": n % 4 >= 2 for n in range(400) if n % 4 != 3 or n < 20}
    drawn, counts = draw_disagreements(
        annotations, lambda a: wrong.get(a.id, None if a.id != "p999" else True), per_stratum=7
    )
    assert counts == {
        "annotations": 402, "scored": 401, "unscored": 1, "labelled": 306, "disagreements": 305,
    }  # fmt: skip
    assert Counter((d.stratum, d.low, d.high, d.label, d.stratum_size, d.drawn) for d in drawn) == {
        (2, 0.0, 0.9, False, 100, 7): 7,
        (4, 0.9, 0.95, False, 100, 7): 7,
        (5, 0.95, 0.98, True, 100, 7): 7,
        (7, 0.98, 1.0, True, 5, 5): 5,
    }
    assert {d.scored for d in drawn} == {401}
    assert drawn[0].above == {"0.9": 301, "0.95": 201, "0.98": 101}
    truth = lambda a: wrong.get(a.id)  # noqa: E731
    again, _ = draw_disagreements(annotations, truth, per_stratum=7)
    assert [d.id for d in again] == [d.id for d in drawn]
    other, _ = draw_disagreements(annotations, truth, per_stratum=7, seed=1)
    assert [d.id for d in other] != [d.id for d in drawn]
    strata = [d.stratum for d in drawn]
    assert strata != sorted(strata)
    for edges in ((0.95, 0.9), (0.0,), (1.0,), (0.9, 0.9), (float("nan"),)):
        with pytest.raises(InputError, match="edges: found"):
            draw_disagreements(annotations, truth, edges=edges)
    with pytest.raises(InputError, match="at least 1"):
        draw_disagreements(annotations, truth, per_stratum=0)


# --- files

texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=60)


@settings(max_examples=60, deadline=None)
@given(
    name=st.sampled_from(["r.jsonl", "r.csv", "r.jsonl.gz"]),
    found=st.lists(
        st.builds(
            lambda n, text, right, label: one(
                n, 0.97, 0.95, 0.98, label, right, 5, 9, question="Is it?", document=text
            ),
            st.integers(0, 10**6),
            texts
            | st.sampled_from(["right: judge", "<!-- pnyx {} -->", "=1+1", "'a", "## x\n> y"]),
            st.sampled_from(["", "judge", "labels", "unclear"]),
            st.booleans(),
        ),
        min_size=1,
        max_size=5,
        unique_by=lambda d: d.id,
    ),
)
def test_what_is_written_is_read_again_whatever_documents_hold(tmp_path_factory, name, found):
    path = tmp_path_factory.mktemp("review") / name
    write_review(path, found)
    shown = read_review(path)
    if name.endswith(".csv"):  # CSV has one line end
        found, shown = [_folded(d) for d in found], [_folded(d) for d in shown]
    assert [_stripped(d) for d in shown] == [_stripped(d) for d in found]


def _folded(d):
    return replace(d, document=d.document.replace("\r\n", "\n").replace("\r", "\n"))


def _stripped(d):
    return replace(d, document=d.document.strip())


def test_a_spreadsheet_gets_no_formula_and_may_write_semicolons(tmp_path):
    path = tmp_path / "r.csv"
    write_review(path, [one(1, 0.97, 0.95, 0.98, True, "", 5, 9, document='=HYPERLINK("x")')])
    assert '"\'=HYPERLINK(""x"")"' in path.read_text()
    found = read_review(path)
    assert found[0].document == '=HYPERLINK("x")'
    lines = path.read_text().splitlines()
    assert lines[0].startswith("right,value,label,question,definition,document,id,")
    cells = ["judge", "FALSE", "TRUE", "", "", "a,b", "p1", "q", "d1", "j", "0.03", "0.97", "0.95",
             "0.98", "5", "9", "7", "100", '"{""0.95"": 62}"']  # fmt: skip
    path.write_text("\ufeff" + lines[0].replace(",", ";") + "\r\n" + ";".join(cells) + "\r\n")
    (found,) = read_review(path)
    assert (found.right, found.label, found.above, found.document) == (
        "judge", True, {"0.95": 62}, "a,b",
    )  # fmt: skip


@pytest.mark.parametrize("name", ["r.jsonl", "r.csv"])
def test_a_wrong_answer_is_one_line_that_says_where(tmp_path, capsys, name):
    path = tmp_path / name
    write_review(path, [one(n, 0.97, 0.95, 0.98, True, "judge", 5, 9) for n in range(3)])
    text = path.read_text()
    at = text.rindex("judge" if name == "r.csv" else 'right": "judge')
    path.write_text(text[:at] + text[at:].replace("judge", "nobody", 1))
    line = next(i for i, t in enumerate(path.read_text().split("\n"), 1) if "nobody" in t)
    status, _, error = run(capsys, "measure", "review", path)
    assert status == 2
    assert error == (
        f"pnyx: {path}:{line}: right: found 'nobody', expected judge, labels, unclear or nothing\n"
    )


# --- the numbers


def _answers(stratum, size, low, high, confidence, label, judge, labels, unclear=0, nothing=0):
    rights = ["judge"] * judge + ["labels"] * labels + ["unclear"] * unclear + [""] * nothing
    return [
        one(f"{stratum}-{n}", confidence, low, high, label, right, stratum, size)
        for n, right in enumerate(rights)
    ]


CHECKED = [
    *_answers(3, 40, 0.9, 0.95, 0.93, True, judge=3, labels=7),
    *_answers(4, 100, 0.9, 0.95, 0.95, False, judge=5, labels=4, unclear=1),
    *_answers(5, 10, 0.95, 0.98, 0.97, True, judge=8, labels=2),
    *_answers(8, 300, 0.98, 1.0, 0.99, False, judge=9, labels=0, nothing=1),
    *_answers(7, 6, 0.98, 1.0, 0.99, True, judge=0, labels=0, nothing=3),
]


def test_the_table_by_hand():
    found = measure_review(CHECKED)
    cells = {(where, of): (cell.accuracy.value, cell.accuracy.scored, cell.accuracy.asked)
             for where, row in found.table.items() for of, cell in row.items()}  # fmt: skip
    assert cells == {
        ("at_most", "all"): (8 / 19, 19, 20),
        ("at_most", "relevant"): (0.3, 10, 10),
        ("at_most", "irrelevant"): (5 / 9, 9, 10),
        ("above", "all"): (17 / 19, 19, 23),
        ("above", "relevant"): (0.8, 10, 13),
        ("above", "irrelevant"): (1.0, 9, 10),
        ("any", "all"): (25 / 38, 38, 43),
        ("any", "relevant"): (11 / 20, 20, 23),
        ("any", "irrelevant"): (14 / 18, 18, 20),
    }
    cell = found.table["at_most"]["irrelevant"]
    assert (cell.accuracy.low, cell.accuracy.high) == wilson(5, 9)
    assert (cell.answered, cell.unclear) == (10, 1)
    assert found.share_above == 0.62  # as in the heading of Table 5
    assert list(found.bins) == [(0.9, 0.95), (0.95, 0.98), (0.98, 1.0)]
    assert found.bins[0.98, 1.0]["relevant"].accuracy.value is None
    assert measure_review(CHECKED, threshold=0.97).share_above is None


def test_all_disagreements_are_estimated_by_the_sizes_of_the_strata():
    estimate = measure_review(CHECKED).estimate
    assert (estimate.disagreements, estimate.left_out) == (450, 6)
    assert estimate.judge.value == pytest.approx(40 * 0.3 + 100 * 0.5 + 10 * 0.8 + 300)
    assert estimate.labels.value == pytest.approx(40 * 0.7 + 100 * 0.4 + 10 * 0.2)
    assert estimate.unclear.value == pytest.approx(100 * 0.1)
    for measured in (estimate.judge, estimate.labels, estimate.unclear):
        assert 0 <= measured.low <= measured.high <= 450
    assert estimate.judge.low < estimate.judge.value
    assert (estimate.judge.scored, estimate.judge.asked) == (39, 43)
    # A stratum that was answered as a whole is known.
    whole = measure_review(_answers(5, 10, 0.95, 0.98, 0.97, True, judge=8, labels=2)).estimate
    assert (whole.judge.low, whole.judge.value, whole.judge.high) == (8, 8, 8)
    none = measure_review(_answers(5, 10, 0.95, 0.98, 0.97, True, 0, 0, nothing=2)).estimate
    assert (none.judge.value, none.disagreements, none.left_out) == (None, 0, 10)


# --- from the command line


@pytest.mark.parametrize("name", ["review.jsonl", "review.csv"])
def test_from_annotations_to_the_table(capsys, tmp_path, name):
    annotations, labels = tmp_path / "a.jsonl", tmp_path / "labels.jsonl"
    items, qrels = tmp_path / "items.jsonl", tmp_path / "qrels.txt"
    rows, said, texts = [], [], []
    for n in range(60):
        p = (0.99, 0.93, 0.02)[n % 3]
        base = {"id": f"p{n}", "question_id": "q", "doc_id": f"d{n}", "task": "relevance"}
        rows.append(base | {"value": p > 0.5, "probability": p, "unscored": None, "judge": "j"})
        said.append({"id": f"p{n}", "value": n % 2 == 0})
        texts.append({"id": f"p{n}", "question": "Is tea healthy?", "document": f"Text {n}."})
    for path, some in ((annotations, rows), (labels, said), (items, texts)):
        path.write_text("".join(json.dumps(row) + "\n" for row in some))
    out = tmp_path / name
    options = ("--labels", labels, "--items", items, "--per-bin", 4, "--out", out)
    status, shown, error = run(capsys, "annotate", "review", annotations, *options, "--json")
    assert (status, error) == (0, "")
    assert json.loads(shown) == {
        "annotations": 60, "scored": 60, "unscored": 0, "labelled": 60, "disagreements": 30,
        "drawn": 12,
    }  # fmt: skip
    assert out.read_text().count("Is tea healthy?") == 12
    filled = read_review(out)
    write_review(out, [replace(d, right="judge" if d.confidence > 0.95 else "") for d in filled])
    status, shown, _ = run(capsys, "measure", "review", out)
    assert status == 0
    assert "disagreements of j with labels (66.67% above 0.95)" in shown
    assert "estimate for all 20 disagreements" in shown
    assert "nothing is said of 10 in strata without an answer" in shown
    found = json.loads(run(capsys, "measure", "review", out, "--json")[1])
    assert found["table"]["above"]["all"]["value"] == 1.0
    assert found["table"]["at_most"]["all"] == {
        "value": None, "low": None, "high": None, "scored": 0, "asked": 4, "answered": 0,
        "unclear": 0,
    }  # fmt: skip
    # Qrels that hold only what people looked for: the rest counts as irrelevant on demand.
    qrels.write_text("q 0 d1 1\nq 0 d2 0\n")
    unjudged = ("--qrels", qrels, "--out", tmp_path / "o.jsonl", "--json")
    shown = run(capsys, "annotate", "review", annotations, *unjudged)[1]
    assert json.loads(shown)["labelled"] == 2
    shown = run(capsys, "annotate", "review", annotations, *unjudged, "--unjudged", "irrelevant")[1]
    assert json.loads(shown)["labelled"] == 60


def row(**changed):
    base = asdict(one(1, 0.9, 0.0, 0.9, False, "judge", 2, 3))
    return json.dumps(base | changed) + "\n"


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("a.jsonl", row(stratum_size=10**300), ":1: stratum_size: found 1000"),
        ("a.jsonl", row(stratum_size=-1), "expected a whole number from 0"),
        ("a.jsonl", row(stratum=0.5), "stratum: found 0.5, expected a whole number"),
        ("a.jsonl", row(above={"0.95": 10**400}), ":1: above: found 1000"),
        ("a.jsonl", row(confidence=7), "confidence: found 7, expected 0 to 1"),
        ("a.jsonl", row() + row(id="p2", stratum_size=9), ":2: is of another draw"),
        ("a.jsonl", row() + row(id="p2", scored=99), ":2: is of another draw"),
        ("a.csv", f"id,right,above\np,judge,{'[' * 100_000}\n", ":2: "),
    ],
)
def test_a_review_that_was_damaged_is_one_line(capsys, tmp_path, name, text, said):
    (tmp_path / name).write_text(text)
    status, shown, error = run(capsys, "measure", "review", tmp_path / name)
    assert (status, shown, error.count("\n")) == (2, "", 1)
    assert said in error


@pytest.mark.parametrize("name", ["review.jsonl", "review.csv"])
def test_peoples_answers_and_the_inputs_are_never_written_over(capsys, tmp_path, name):
    annotations, labels = tmp_path / "a.jsonl", tmp_path / "labels.jsonl"
    annotations.write_text('{"id": "1", "value": true, "probability": 0.9, "judge": "j"}\n')
    labels.write_text('{"id": "1", "value": false}\n')
    out = tmp_path / name
    options = (annotations, "--labels", labels, "--out")
    for _ in range(2):  # without answers it may be drawn anew
        assert run(capsys, "annotate", "review", *options, out)[0] == 0
    write_review(out, [replace(one, right="unclear") for one in read_review(out)])
    kept = out.read_bytes()
    status, _, error = run(capsys, "annotate", "review", *options, out)
    assert (status, out.read_bytes()) == (2, kept)
    assert "holds 1 answers of people: name another file" in error
    out.write_bytes(kept.replace(b"unclear", b"perhaps"))  # a fault is no reason to lose the rest
    status, _, error = run(capsys, "annotate", "review", *options, out)
    assert (status, error.count("\n")) == (2, 1)
    assert "found 'perhaps'" in error
    for path in (annotations, labels):
        before = path.read_bytes()
        status, _, error = run(capsys, "annotate", "review", *options, path)
        assert (status, path.read_bytes()) == (2, before)
        assert "--out names the same file as" in error


def test_wrong_usage_is_one_line(capsys, tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text('{"id": "1", "value": true, "probability": 0.9, "judge": "j"}\n')
    labels = tmp_path / "l.jsonl"
    labels.write_text('{"id": "2", "value": true}\n')
    for arguments, said in (
        ((), "give either --labels LABELS or --qrels QRELS"),
        (("--labels", labels, "--qrels", labels), "give either"),
        (("--labels", labels), "no scored annotation has a label"),
        (("--labels", labels, "--index", "i"), "--index goes with --topics"),
        (("--labels", labels, "--topics", "t"), "--topics goes with --index"),
        (("--labels", labels, "--unjudged", "irrelevant"), "--unjudged goes with --qrels"),
        (("--labels", labels, "--edges", "x"), "'x' is not a valid float"),
    ):
        status, _, error = run(
            capsys, "annotate", "review", path, *arguments, "--out", tmp_path / "o.jsonl"
        )
        assert (status, error.count("\n")) == (2, 1)
        assert said in error
    assert not (tmp_path / "o.jsonl").exists()
