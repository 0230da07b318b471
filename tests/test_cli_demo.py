"""`pnyx demo`: the main job, end to end, with the real encoder; the bundled data itself."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from command import run
from pnyx.audit.example import Unlabelled, argued_agreement, judge_agreement, search_agreement
from pnyx.core.records import Argument, Document, Perspective, Premise, Question, judged_text
from pnyx.formats import read_evidence, read_qrels, read_questions
from pnyx.formats.bundled_example import Example, ExampleLabel, load_example
from pnyx.formats.perspectives import read_perspectives
from pnyx.judging.answers import Judged, Provenance, Unscored
from pnyx.judging.base import Emit
from pnyx.judging.measures.ground_truth import read_labels
from pnyx.judging.questions import JudgeQuestion, Support
from pnyx.judging.tasks import TASKS
from pnyx.search.build import build_index
from pnyx.search.polarity import same_words

pytestmark = pytest.mark.usefixtures("run_once")


def test_the_example_is_what_it_promises() -> None:
    example = load_example()
    assert len(example.questions) >= 6
    assert len(example.arguments) >= 120
    for argument in example.arguments:
        assert 80 <= len(argument.text.split()) <= 250, argument.id
        assert argument.conclusion
        assert len(argument.premises) >= 2
    labels = {label.doc_id: label for label in example.labels}
    assert set(labels) == {a.id for a in example.arguments}
    assert {label.relevance for label in example.labels} == {0, 1, 2}
    assert {label.quality for label in example.labels} == {1, 2, 3}
    assert {label.stance for label in example.labels} == {"pro", "con", "both", "none"}
    perspectives = {p.id: p for p in example.perspectives}
    supported = {p for label in example.labels for p in label.perspectives}
    assert supported == set(perspectives)
    for argument in example.arguments:
        label = labels[argument.id]
        # Where the corpus itself names a side of the question, the label agrees.
        if argument.topic:
            assert argument.stance == {"both": "neutral"}.get(label.stance, label.stance)
        else:
            assert (label.relevance, label.stance, argument.stance) == (0, "none", None)
        for name in label.perspectives:
            assert perspectives[name].question_id == label.question_id
            assert label.stance in ("both", perspectives[name].stance)
    asked = {one.id: one for one in example.wordings}
    assert list(asked) == [q.id for q in example.questions]
    assert [one.how for one in asked.values()].count("other_words") == len(asked) // 2
    for question in example.questions:
        one = asked[question.id]
        assert bool(one.text) == (one.how == "other_words")
        assert not same_words(one.text, question.text)


def test_what_is_cited_is_compared_with_the_labels() -> None:
    example = load_example()
    asked = {one.id: one.how for one in example.wordings}
    labels = {label.doc_id: label for label in example.labels}
    (question,) = (q for q, how in asked.items() if how == "no_labels")
    own = [x for x in labels.values() if x.question_id == question and x.relevance]
    pro, con = (next(x.doc_id for x in own if x.stance == side) for side in ("pro", "con"))
    foreign = next(x.doc_id for x in labels.values() if x.question_id != question)
    found = argued_agreement({(question, "pro"): [pro, con, foreign]}, example)
    assert (found["no_labels.on_question"].value, found["no_labels.on_question"].scored) == (
        pytest.approx(2 / 3), 3,
    )  # fmt: skip
    assert (found["no_labels.right_side"].value, found["no_labels.right_side"].scored) == (0.5, 2)
    assert found["own_words.on_question"].value is None


def test_hidden_labels_are_not_to_be_seen(tmp_path: Path) -> None:
    example = load_example()
    index = build_index(example.arguments[:3], tmp_path / "i")
    plain = Unlabelled(index)
    ids = [a.id for a in example.arguments[:3]]
    assert [(type(d), d.id, d.text) for d in plain.fetch(ids)] == [
        (Document, a.id, judged_text(a)) for a in example.arguments[:3]
    ]
    assert (len(plain), plain.name) == (3, index.name)


def searched(
    found: Path, folder: Path, capsys: pytest.CaptureFixture[str]
) -> dict[str, dict[str, float]]:
    """What `pnyx measure` says of the run that a demo wrote, by the demo's names."""
    example = load_example()
    files = str(folder / "files")
    assert run("demo", "--files-only", "--out", files) == 0
    labels = folder / "supports.jsonl"
    with labels.open("w") as stream:
        for passage in example.arguments:
            (label,) = (x for x in example.labels if x.doc_id == passage.id)
            for view in example.perspectives:
                row = {
                    "id": f"{passage.id}/{view.id}",
                    "question_id": view.question_id,
                    "doc_id": passage.id,
                    "perspective_id": view.id,
                    "value": view.id in label.perspectives,
                }
                stream.write(json.dumps(row) + "\n")

    def measured(kind: str, measure: str, *more: str) -> dict[str, float]:
        capsys.readouterr()
        assert run("measure", kind, str(found), *more, "--measure", measure, "--json") == 0
        row = json.loads(capsys.readouterr().out)["measures"][measure]
        assert isinstance(row, dict)
        return {name: row[name] for name in ("value", "low", "high", "scored", "asked")}

    views = ("--perspectives", f"{files}/perspectives.jsonl", "--verdicts", str(labels))
    return {
        "P@10": measured("retrieval", "P@10", "--qrels", f"{files}/qrels.txt"),
        "perspectives@10": measured("perspectives", "StRecall@10", *views),
    }


def test_a_ranking_of_the_example_is_measured_by_its_labels() -> None:
    example = load_example()
    question = next(q for q in example.questions if q.id == "compulsory-voting")
    example = replace(example, questions=[question])
    # Labels 2, 0, 1 and 2; the first and the last argue perspectives 1, and 1 and 3, of six.
    ids = [f"compulsory-voting-{number}" for number in ("01", "05", "08", "06")]
    ranking = [*ids, *(f"unlabelled-{n}" for n in range(6)), "compulsory-voting-04"]
    measures = search_agreement({question.id: ranking}, example)
    assert measures["P@10"].value == pytest.approx(3 / 10)
    assert measures["perspectives@10"].value == pytest.approx(2 / 6)


class Scripted:
    """Says yes with 0.9 and no with 0.1, each of some questions; the others are unscored."""

    name, card, kinds = "scripted", "", frozenset({Support})

    def __init__(self, yes: str, no: str) -> None:
        self.probabilities = dict.fromkeys(yes.split(), 0.9) | dict.fromkeys(no.split(), 0.1)

    async def answer(self, questions: Sequence[JudgeQuestion], emit: Emit) -> None:
        by = Provenance(self.name)
        for position, question in enumerate(questions):
            probability = self.probabilities.get(question.id)
            if probability is None:
                emit(position, Unscored("refusal", by))
            else:
                emit(position, Judged(probability > 0.5, by, probability))


def test_a_judge_is_measured_by_the_labels_and_unscored_answers_are_counted() -> None:
    """Of a (pro, p), b (con, no perspective) and c (off topic), b's relevance is missed."""
    example = Example(
        tuple(Argument(n, f"Text {n}.", (Premise(f"Because {n}."),)) for n in "abc"),
        (Question("q", "Should parks stay?"),),
        (Perspective("p", "q", "Shade.", "pro"), Perspective("other", "another", "Air.", "pro")),
        (
            ExampleLabel("q", "a", 2, "pro", 3, frozenset({"p"})),
            ExampleLabel("q", "b", 2, "con", 2, frozenset()),
            ExampleLabel("q", "c", 0, "none", 1, frozenset()),
        ),
        (),
    )
    judge = Scripted(
        yes="relevance/a support/a/p support/b/p stance/pro/a stance/pro/b",
        no="relevance/b support/c/p stance/con/a stance/con/b",
    )
    measures = judge_agreement(judge, {"q": ["a"]}, example)
    assert {
        name: (round(measure.value or 0, 4), measure.scored, measure.asked)
        for name, measure in measures.items()
        if name.endswith("accuracy")
    } == {
        "relevance.accuracy": (1, 1, 1),
        "lookalikes.accuracy": (0.5, 2, 3),  # c is unscored
        "support.accuracy": (0.6667, 3, 3),  # b does not argue it
        "stance.accuracy": (0.5, 2, 2),  # b is con
    }
    unscored = Scripted(yes="stance/pro/a stance/pro/b", no="stance/con/a")
    stance = judge_agreement(unscored, {}, example)["stance.accuracy"]
    assert (stance.value, stance.scored, stance.asked) == (1, 1, 2)


@pytest.mark.all
def test_the_main_job(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "demo"
    assert run("demo", "--out", str(out)) == 0
    printed = capsys.readouterr().out
    assert max(map(len, printed.replace(str(out), "out").splitlines())) <= 80
    assert (out / re.search(r"(?m)^open this first: +\S+?([^/\s]+\.html)$", printed)[1]).exists()
    assert "AUROC ." not in printed  # the judge's card stands in the reports
    assert f"pnyx serve {out / 'example.index'}\n" in printed
    assert f"pnyx view {out}\n" in printed
    summary = json.loads((out / "manifest.json").read_text())
    example = load_example()
    for question in example.questions:
        page = (out / f"{question.id}.html").read_text(encoding="utf-8")
        assert "<h1" in page
        assert (out / f"{question.id}.md").exists()
    measures = summary["measures"]
    assert [name for name in measures if f"\n{name} " not in printed] == []
    assert json.loads((out / "measures.json").read_text())["measures"] == measures
    assert all(m["scored"] == m["asked"] > 0 for m in measures.values())
    for how, least in (("own_words", 0.8), ("other_words", 0.8), ("no_labels", 0.7)):
        assert measures[f"{how}.on_question"]["value"] >= least
    assert measures["own_words.right_side"]["value"] > 0.9
    # What a weak judge must still manage on this example; its true figures are printed.
    assert measures["relevance.auroc"]["value"] > 0.8
    assert measures["support.auroc"]["value"] > 0.65
    for name in ("responses.jsonl", "answers.jsonl", "run.trec"):
        assert run("files", "validate", str(out / name)) == 0
    assert searched(out / "run.trec", tmp_path, capsys) == {
        name: pytest.approx(measures[name], rel=1e-12) for name in ("P@10", "perspectives@10")
    }

    # A second run replaces the folder; a folder of somebody else's is refused.
    capsys.readouterr()
    (out / "manifest.json").write_text("{}")
    assert run("demo", "--out", str(out)) == 2
    assert "was not written by pnyx demo" in capsys.readouterr().err
    assert (out / "answers.jsonl").exists()


def test_the_example_as_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "example"
    assert run("demo", "--files-only", "--out", str(out), "--json") == 0
    names = [
        *("arguments.jsonl", "item-labels.jsonl", "items.jsonl", "labels.jsonl"),
        *("perspectives.jsonl", "qrels.txt", "questions.md", "rent"),
    ]
    assert json.loads(capsys.readouterr().out) == {"out": str(out), "files": names}
    assert sorted(path.name for path in out.iterdir()) == names
    files = [path for path in (out / "rent").rglob("*") if path.is_file()]
    assert {path.suffix for path in files} == {".md", ".txt", ".html", ".csv"}
    assert (len(files), sum(path.stat().st_size for path in files) < 60_000) == (16, True)
    unlabelled = list(read_evidence(str(out / "rent")))
    assert {type(record) for record in unlabelled} == {Document}
    example = load_example()
    passages = read_evidence(str(out / "arguments.jsonl"), format="arguments")
    assert tuple(passages) == example.arguments
    read = {q.id: q for q in read_questions(str(out / "questions.md"))}
    assert list(read) == [q.id for q in example.questions]
    for question in example.questions:
        assert (read[question.id].text, read[question.id].definition) == (
            question.text, question.definition,
        )  # fmt: skip
        assert "do not count" in question.definition
    views = read_perspectives(out / "perspectives.jsonl")
    assert [replace(p, extra={}) for p in views] == [
        replace(p, extra={}) for p in example.perspectives
    ]
    assert all(p.extra["question"] == read[p.question_id].text for p in views)
    labels = read_labels(out / "labels.jsonl", "relevance").gold
    assert len(labels) == 8 * 128
    own = {f"{x.question_id}/{x.doc_id}": x.relevance / 2 for x in example.labels}
    assert {key: gold.gain for key, gold in labels.items()} == {
        f"{q.id}/{a.id}": own.get(f"{q.id}/{a.id}", 0.0)
        for q in example.questions
        for a in example.arguments
    }
    qrels = {(q.topic_id, q.doc_id): q.grade for q in read_qrels(str(out / "qrels.txt"))}
    assert qrels == {(x.question_id, x.doc_id): x.relevance for x in example.labels if x.relevance}
    items = TASKS["support"].read(str(out / "items.jsonl"))
    said = read_labels(out / "item-labels.jsonl", "support").gold
    assert len(items) == len(said) == 8 * 5 * 6
    supported = {f"{x.doc_id}/{view}" for x in example.labels for view in x.perspectives}
    assert {item.id for item in items if said[item.id].yes} == supported & {
        item.id for item in items
    }
    # Edited files are not lost, and an option that would change nothing is refused.
    (out / "questions.md").write_text("mine")
    assert run("demo", "--files-only", "--out", str(out)) == 2
    assert run("demo", "--files-only", "--out", str(tmp_path / "x"), "--llm", "local") == 2
    assert "excludes --llm" in capsys.readouterr().err
    assert (out / "questions.md").read_text() == "mine"
    assert not (tmp_path / "x").exists()
