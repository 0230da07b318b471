"""`pnyx judge rag`: arguments judged with their documents, in every format of ConQRet's Table 3."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chat_server import ChatServer
from pnyx.cli import main
from pnyx.core.records import Document
from pnyx.formats.text.citations import cited_sentences, without_marks
from pnyx.judging.answers import Judged, Provenance, Unscored
from pnyx.judging.dimensions import dimensions_of
from pnyx.judging.forms import FORMS
from pnyx.judging.forms.base import FormCall
from pnyx.judging.llm.json_objects import UnreadableReply
from pnyx.judging.llm.prompts import load_prompt
from pnyx.judging.questions import Rating
from pnyx.judging.rag.groundedness import SUPPORT_FORMAT
from pnyx.judging.rag.rag import RAG_DIMENSIONS, RAG_FORMATS
from pnyx.judging.tasks import TASKS, read_items
from pnyx.search.build import build_index
from test_models_local import pytestmark as needs_local

pytestmark = pytest.mark.usefixtures("own_place")

FORMATS = [form.name for form in RAG_FORMATS]
TABLE_3 = {
    "direct": (0, 10),
    "static-rubric": (0, 1),
    "g-eval": (1, 5),
    "query-rubric": (1, 5),
    "rag-rubric": (1, 5),
    "rag-direct": (0, 10),
    "listwise-rag": (0, 5),
    "listwise-rag-fine": (0, 5),
}
"""Format -> its scale (Table 3, Appendix D; 5.2.2)."""

ITEM = {
    "id": "1",
    "query": "Should buses be free?",
    "stance": "pro",
    "argument": "Free buses fill up [1]. GOOD: fares bring cities little. [2]",
    "argument_2": "Buses are red.",
    "documents": [
        {"id": "d1", "text": "When fares were dropped, buses filled up."},
        {"id": "d2", "text": "Fares pay for a small part of what buses cost cities."},
    ],
}
TWO_TEXTS = [name for name in TABLE_3 if name != "support"]


def write(path: Path, *rows: dict[str, Any]) -> str:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return str(path)


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main(["judge", "rag", *arguments])
    code = ended.value.code
    assert isinstance(code, int)
    return code


def answers(folder: Path) -> dict[tuple[str, str], dict[str, Any]]:
    rows = [json.loads(line) for line in (folder / "answers.jsonl").read_text().splitlines()]
    return {(row["id"], row["dimension"]): row for row in rows}


def test_every_format_of_table_3_is_there() -> None:
    assert set(FORMATS) == {*TABLE_3, "support"}


@pytest.mark.parametrize("name", TABLE_3)
def test_each_format_is_parsed_normalised_and_stored(name: str, tmp_path: Path) -> None:
    path = write(tmp_path / "i.jsonl", ITEM)
    arguments = (path, "--judge-format", name, "--out", str(tmp_path / "r"))
    with ChatServer() as server:
        assert run(*arguments, "--judge", server.spec) == 0
        first, calls = answers(tmp_path / "r"), len(server.asked())
        assert run(*arguments, "--judge", server.spec) == 0
        assert len(server.asked()) == calls
    assert answers(tmp_path / "r") == first
    quality = dimensions_of("quality") if name.startswith("listwise") else ()
    assert [dimension for _, dimension in first] == [*RAG_DIMENSIONS, *quality]
    low, high = TABLE_3[name]
    for row in first.values():
        assert row["scale"] == [low, high]
        assert row["normalised"] == pytest.approx((row["value"] - low) / (high - low))
        assert row["judge"].endswith(f" {name}")
        assert row["doc_ids"] == ["d1", "d2"]


@pytest.mark.parametrize("name", [name for name in TABLE_3 if not name.startswith("listwise")])
def test_a_judge_that_prefers_what_comes_first_is_no_judge(name: str, tmp_path: Path) -> None:
    with ChatServer(default="first") as server:
        path = write(tmp_path / "i.jsonl", ITEM)
        assert (
            run(path, "--judge-format", name, "--judge", server.spec, "--out", str(tmp_path / "r"))
            == 0
        )
        orders = [q["messages"][-1]["content"].find("GOOD") for q in server.asked()]
    row = answers(tmp_path / "r")["1", "preference"]
    assert row["normalised"] == 0.5
    assert len(row["notes"]["orders"]) == 2
    assert len(set(row["notes"]["orders"])) == 2
    assert len(set(orders)) > 1  # it was asked with either first


@pytest.mark.parametrize("name", TABLE_3)
def test_a_judge_that_knows_the_better_one_is_heard(name: str, tmp_path: Path) -> None:
    swapped = ITEM | {"id": "2", "argument": ITEM["argument_2"], "argument_2": ITEM["argument"]}
    with ChatServer(default="good") as server:
        path = write(tmp_path / "i.jsonl", ITEM, swapped)
        assert (
            run(path, "--judge-format", name, "--judge", server.spec, "--out", str(tmp_path / "r"))
            == 0
        )
    found = answers(tmp_path / "r")
    assert found["1", "preference"]["normalised"] == 1
    assert found["2", "preference"]["normalised"] == 0


@pytest.mark.parametrize("name", ["rag-direct", "rag-rubric"])
def test_scores_of_two_arguments_are_the_mean_of_both_orders(name: str, tmp_path: Path) -> None:
    """5 for what comes first and 1 for what comes second is 3 for both."""
    with ChatServer(default="first") as server:
        path = write(tmp_path / "i.jsonl", ITEM)
        assert (
            run(path, "--judge-format", name, "--judge", server.spec, "--out", str(tmp_path / "r"))
            == 0
        )
    for dimension in ("answer_relevance", "groundedness"):
        row = answers(tmp_path / "r")["1", dimension]
        assert (row["value"], row["notes"]["orders"]) == (3, [5, 1])
        assert row["notes"]["other"] == 3


@pytest.mark.parametrize("name", TABLE_3)
@pytest.mark.parametrize("behaviour", ["prose", "wrong_schema", "refusal", "truncated_json"])
def test_what_cannot_be_read_is_unscored_and_never_zero(
    name: str, behaviour: str, tmp_path: Path
) -> None:
    with ChatServer(default=behaviour) as server:
        path = write(tmp_path / "i.jsonl", ITEM)
        assert (
            run(path, "--judge-format", name, "--judge", server.spec, "--out", str(tmp_path / "r"))
            == 3
        )
    for row in answers(tmp_path / "r").values():
        assert (row["value"], row["normalised"]) == (None, None)
        assert row["unscored"].partition(":")[0] in ("schema", "refusal")


def test_nuggets_are_made_once_stored_and_shared_by_all_arguments_on_a_question(
    tmp_path: Path,
) -> None:
    rows = [
        ITEM,
        ITEM | {"id": "2", "argument": "Other words."},
        ITEM | {"id": "3", "stance": "con"},
    ]
    path = write(tmp_path / "i.jsonl", *rows)
    arguments = (
        path,
        "--judge-format",
        "query-rubric",
        "--set",
        "nuggets=7",
        "--out",
        str(tmp_path / "r"),
    )
    with ChatServer() as server:
        assert run(*arguments, "--judge", server.spec) == 0
        made = [q for q in server.asked() if "Name exactly 7 points" in q["messages"][0]["content"]]
        assert len(made) == 2  # pro and con
    found = answers(tmp_path / "r")
    rubrics = [list(found[i, "context_relevance"]["notes"]["rubric"]) for i in ("1", "2", "3")]
    assert rubrics[0] == rubrics[1] != rubrics[2]
    assert len(rubrics[0]) == 7
    row = found["1", "context_relevance"]
    assert row["value"] == pytest.approx(sum(row["notes"]["rubric"].values()) / 7)


def test_a_plan_counts_the_nuggets_and_what_follows_on_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(tmp_path / "i.jsonl", ITEM, ITEM | {"id": "2", "argument": "Other words."})
    with ChatServer() as server:
        arguments = (path, "--judge-format", "query-rubric", "--judge", server.spec)
        assert run(*arguments, "--plan", "--json") == 0
        (planned,) = json.loads(capsys.readouterr().out)["models"]
        assert server.asked() == []
        assert run(*arguments, "--out", str(tmp_path / "r")) == 0
        capsys.readouterr()
        assert planned["calls"] == len(server.asked())
        assert run(*arguments, "--plan", "--json") == 0
        (again,) = json.loads(capsys.readouterr().out)["models"]
    assert again["calls"] == 0


def test_nuggets_outlive_a_run_that_ends_after_them(tmp_path: Path) -> None:
    path = write(tmp_path / "i.jsonl", ITEM)
    arguments = (path, "--judge-format", "query-rubric", "--out", str(tmp_path / "r"))
    with ChatServer(["ok"], default="401") as server:
        assert run(*arguments, "--judge", server.spec) not in (0, 3)
    with ChatServer() as server:
        assert run(*arguments, "--judge", server.spec) == 0
        asked = [q["messages"][0]["content"] for q in server.asked()]
    assert asked
    assert not any("Name exactly" in system for system in asked)


def test_nuggets_that_cannot_be_had_leave_their_question_alone_unscored(tmp_path: Path) -> None:
    bad = ITEM | {"id": "2", "query": "Should [[prose]] be free?"}
    path = write(tmp_path / "i.jsonl", ITEM, bad)
    with ChatServer() as server:
        arguments = (path, "--judge-format", "query-rubric", "--out", str(tmp_path / "r"))
        assert run(*arguments, "--judge", server.spec) == 3
        asked = Counter("[[prose]]" in str(q["messages"]) for q in server.asked())
    assert asked[True] == 2  # the points, and one repair turn
    unscored = {key for key, row in answers(tmp_path / "r").items() if row["unscored"]}
    assert unscored == {("2", name) for name in RAG_DIMENSIONS}


def test_context_relevance_alone_needs_no_argument(tmp_path: Path) -> None:
    item = {name: ITEM[name] for name in ("id", "query", "documents")}
    path = write(tmp_path / "i.jsonl", item)
    with ChatServer() as server:
        for name in FORMATS:
            out = tmp_path / name
            assert run(path, "--judge-format", name, "--judge", server.spec, "--out", str(out)) == 0
            assert set(answers(out)) == {("1", "context_relevance")}


def test_each_document_is_rated_by_the_fine_grained_listwise_format(tmp_path: Path) -> None:
    path = write(tmp_path / "i.jsonl", ITEM)
    with ChatServer() as server:
        arguments = (path, "--judge-format", "listwise-rag-fine", "--out", str(tmp_path / "r"))
        assert run(*arguments, "--judge", server.spec) == 0
    row = answers(tmp_path / "r")["1", "context_relevance"]
    assert len(row["notes"]["documents"]) == 2
    assert row["value"] == pytest.approx(sum(row["notes"]["documents"]) / 2)


def test_a_document_that_the_reply_leaves_out_leaves_context_relevance_unscored() -> None:
    question = Rating(
        "1", "A.", ("context_relevance", "groundedness"), (0, 5), "rag", documents=("One.", "Two.")
    )
    prompt = load_prompt("rag-listwise-documents")
    form = FORMS[prompt.form]
    entry = {"reason": "So.", "score": 4}
    given = {"document 1": entry, "groundedness": entry}
    (reading,) = form.read(FormCall(prompt, [question]), json.dumps(given))
    assert reading is not None
    assert reading.value == [None, 4]
    assert reading.notes["dimensions"] == {
        "context_relevance": "missing: document 2 is not in the reply"
    }
    with pytest.raises(UnreadableReply, match="not asked for"):
        form.read(FormCall(prompt, [question]), json.dumps({**given, "document 3": entry}))


def test_the_rubric_of_context_relevance_has_the_six_criteria_of_figure_6() -> None:
    known = dimensions_of("rag")
    assert len(known["context_relevance"].criteria) == 6
    assert len(known["preference"].criteria) == 4
    assert all(known[name].steps and known[name].nugget for name in RAG_DIMENSIONS)


# --- sentence by sentence


def test_the_packaged_judge_says_what_it_cannot_rate(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(tmp_path / "i.jsonl", ITEM)
    assert run(path, "--out", str(tmp_path / "r")) == 0
    assert (
        "answer_relevance and preference need a language model (--judge)" in capsys.readouterr().err
    )
    found = answers(tmp_path / "r")
    assert set(found) == {("1", "context_relevance"), ("1", "groundedness")}
    notes = found["1", "groundedness"]["notes"]
    assert [s["text"] for s in notes["sentences"]] == [
        "Free buses fill up.",
        "GOOD: fares bring cities little.",
    ]
    assert [list(s["documents"]) for s in notes["sentences"]] == [["1"], ["2"]]
    assert notes["counted"] == [2, 2]


def test_what_only_a_language_model_rates_is_unscored_where_an_item_asks_for_nothing_else(
    tmp_path: Path,
) -> None:
    path = write(tmp_path / "i.jsonl", ITEM | {"dimensions": ["answer_relevance"]})
    assert run(path, "--out", str(tmp_path / "r")) == 3
    (row,) = answers(tmp_path / "r").values()
    assert row["unscored"] == "format: support tells no answer_relevance"


def test_groundedness_is_the_expected_share_of_sentences_that_some_document_bears_out() -> None:
    """Three sentences: borne out by one of two (.8), unscored, not borne out (.3): of 2 known."""
    question = Rating(
        "1",
        "One [1, 2]. Two [1] [2]. Three [2].",
        ("groundedness",),
        (0, 1),
        "rag",
        question="Which?",
        documents=("A.", "B."),
    )
    by = Provenance("j")
    said = {
        "1/1/1": Judged(False, by, 0.1),
        "1/1/2": Judged(True, by, 0.8),
        "1/2/1": Unscored("refusal: no", by),
        "1/2/2": Judged(False, by, 0.2),
        "1/3/2": Judged(False, by, 0.3),
    }
    parts = SUPPORT_FORMAT.parts(question)
    assert [part.question.id for part in parts] == list(said)
    from dataclasses import replace

    given = [replace(said[part.question.id], question=part.question) for part in parts]
    answer = SUPPORT_FORMAT.join(question, given, "j")
    assert isinstance(answer, Judged)
    assert answer.value == pytest.approx((0.8 + 0.3) / 2)
    assert answer.notes["yes"] == {"groundedness": 0.5}
    assert answer.notes["counted"] == {"groundedness": [2, 3]}
    supported = [one["supported"] for one in answer.notes["sentences"]["groundedness"]]
    assert supported == [True, None, False]


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        (
            "Buses fill up. [1] Fares fell [2, 3].",
            [("Buses fill up.", [1]), ("Fares fell.", [2, 3])],
        ),
        ("No marks here! [4][5] None.", [("No marks here!", [4, 5]), ("None.", [])]),
        ("?! [1]", []),
    ],
)
def test_marks_belong_to_the_sentence_before_them(
    text: str, sentences: list[tuple[str, list[int]]]
) -> None:
    assert cited_sentences(text) == sentences


@given(st.text(max_size=300))
def test_no_text_breaks_the_reading_of_marks(text: str) -> None:
    for sentence, numbers in cited_sentences(text):
        assert sentence.strip()
        assert all(number >= 0 for number in numbers)
    clean, marked = without_marks(text)
    assert without_marks(clean)[1] == [] or marked


def test_responses_are_judged_with_what_they_embed_or_what_an_index_holds(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    build_index([Document("d1", "Buses filled up."), Document("d2", "Fares.")], tmp_path / "i")
    said = {
        "metadata": {"team_id": "t", "run_id": "r", "topic_id": "q", "stance": "con"},
        "references": ["d1", "d2"],
        "responses": [
            {"text": "Buses fill up.", "citations": ["d1"]},
            {"text": "Both help", "citations": ["d2", "d1"]},
        ],
    }
    empty = said | {"metadata": {**said["metadata"], "run_id": "e"}, "references": []}
    path = write(tmp_path / "a.jsonl", said, empty | {"responses": []})
    topics = tmp_path / "t.tsv"
    topics.write_text("q\tShould buses be free?\n")
    assert run(path, "--out", str(tmp_path / "r")) == 2
    assert "--topics" in capsys.readouterr().err
    assert run(path, "--topics", str(topics), "--out", str(tmp_path / "r")) == 2
    assert "'d1' is not in the file; --index" in capsys.readouterr().err
    more = ("--topics", str(topics), "--index", str(tmp_path / "i"))
    assert run(path, *more, "--out", str(tmp_path / "r")) == 0
    found = answers(tmp_path / "r")
    row = found["r/q", "groundedness"]
    assert (row["group"], row["run_id"], row["doc_ids"]) == ("q", "r", ["d1", "d2"])
    sentences = row["notes"]["sentences"]
    assert [(s["text"], sorted(s["documents"])) for s in sentences] == [
        ("Buses fill up.", ["1"]),
        ("Both help", ["1", "2"]),
    ]
    assert run(write(tmp_path / "b.jsonl", ITEM), *more, "--out", str(tmp_path / "s")) == 2


# --- items and options


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"documents": []}, "documents is empty"),
        ({"argument": "", "argument_2": "B."}, "argument_2 without argument"),
        ({"dimensions": ["beauty"]}, "'beauty'"),
        ({"stance": "left"}, "stance"),
    ],
)
def test_a_broken_item_is_one_line(
    change: dict[str, Any], problem: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(tmp_path / "i.jsonl", ITEM | change)
    assert run(path, "--out", str(tmp_path / "r")) == 2
    error = capsys.readouterr().err.strip()
    assert problem in error
    assert len(error.splitlines()) == 1


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (("--judge-format", "beauty"), "expected for rag: rag-direct, direct"),
        (("--judge-format", "direct"), "--judge-format direct requires a language model (--judge)"),
        (("--set", "nuggets=3"), "--set nuggets requires"),
        (
            ("--judge-format", "direct", "--judge", "X", "--set", "nuggets=3"),
            "--set nuggets requires",
        ),
        (("--judge", "X", "--set", "prompt=rag-metric"), "takes prompts of the form triad"),
    ],
)
def test_options_that_do_not_go_together_are_refused(
    options: tuple[str, ...], problem: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(tmp_path / "i.jsonl", ITEM)
    given_options = [o.replace("X", "http://127.0.0.1:9/v1#m") for o in options]
    assert run(path, *given_options, "--out", str(tmp_path / "r")) == 2
    assert problem in capsys.readouterr().err


def test_the_task_reads_documents_with_and_without_ids(tmp_path: Path) -> None:
    path = write(tmp_path / "i.jsonl", ITEM, ITEM | {"id": "2", "documents": ["Text alone."]})
    first, second = read_items(path, "rag")
    assert first.extra["doc_ids"] == ["d1", "d2"]
    assert "doc_ids" not in second.extra
    assert first.swapped is None  # formats ask both orders themselves
    assert TASKS["rag"].formats[0].name == "rag-direct"


# --- the packaged language model


def one_of_each_form() -> list[Any]:
    """Return a format of each form, and who answers.

    The packaged model takes 10 seconds and more for each, so that it answers where forms differ
    in kind: in a rubric of fixed questions, in nuggets that it makes itself, in a list.
    """
    names = "direct static-rubric query-rubric rag-rubric rag-direct listwise-rag-fine".split()
    marks = [needs_local, pytest.mark.all]
    return [pytest.param(name, None, id=f"{name}-served") for name in names] + [
        pytest.param(name, "local", id=name, marks=marks)
        for name in ("static-rubric", "query-rubric", "listwise-rag-fine")
    ]


@pytest.mark.parametrize(("name", "llm"), one_of_each_form())
def test_a_model_answers_in_every_form(name: str, llm: str | None, tmp_path: Path) -> None:
    """The packaged model's verdicts mean nothing, but they are read, normalised and kept."""
    item = {name: ITEM[name] for name in ("id", "query", "argument")}
    item |= {"documents": ["Buses filled up."], "dimensions": ["groundedness"]}
    path, out = write(tmp_path / "i.jsonl", item), tmp_path / "r"
    more = ("--set", "nuggets=1") if "-rubric" in name and name != "static-rubric" else ()
    with ChatServer() as server:
        asking = (path, "--judge", llm or server.spec, "--judge-format", name, *more)
        assert run(*asking, "--out", str(out)) == 0
        (row,) = answers(out).values()
        assert 0 <= row["normalised"] <= 1
        calls = len(server.asked())
        assert (calls == 0) == (llm == "local")
        assert run(*asking, "--from-store", "--out", str(tmp_path / "again")) == 0
        assert len(server.asked()) == calls
    assert answers(tmp_path / "again")["1", "groundedness"]["value"] == row["value"]
