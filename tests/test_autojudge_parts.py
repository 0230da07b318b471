"""The parts of the judge for TREC AutoJudge, without its runner."""

from __future__ import annotations

import os
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import click
import numpy as np
import pytest

from command import write_rows
from pnyx.core.errors import InputError, ModelError
from pnyx.core.nuggets import Nugget, NuggetBank
from pnyx.core.records import (
    Citation,
    Document,
    LeaderboardCell,
    Qrel,
    Question,
    Response,
    Sentence,
)
from pnyx.formats.reports.judged_report import (
    JudgedCitation,
    JudgedReport,
    JudgedSentence,
    NodeAnswer,
)
from pnyx.judging.answers import Judged, Provenance
from pnyx.judging.questions import Support
from pnyx.reports.autojudge.answerer import Answerer, _environment, _model, asked, phase
from pnyx.reports.autojudge.convert import qrels_of, question_of, response_of
from pnyx.reports.autojudge.judge import (
    _banks,
    _described,
    _judged,
    _measured,
    _say_missing,
    _say_thin,
)
from pnyx.reports.autojudge.material import Material, _documents, _source, material_of
from pnyx.reports.autojudge.nuggets import created
from pnyx.reports.autojudge.relevance import _asked, _grade, graded
from pnyx.reports.autojudge.settings import Settings
from pnyx.reports.measures.exports import leaderboard_cells
from pnyx.reports.measures.report_measures import measure_reports
from pnyx.stats.base import Bootstrap

pytestmark = pytest.mark.usefixtures("own_place")


# --- reports and documents


def record(**row: Any) -> Any:
    """Return an object as the runner makes it, with these fields."""
    return SimpleNamespace(
        path="run.jsonl",
        request_id=row.get("request_id"),
        model_dump=lambda **_: dict(row),
        model_dump_json=lambda **_: repr(sorted(row.items())),
    )


def report(run: str, topic: str, citations: list[Any], references: list[str]) -> Any:
    return record(
        metadata={"run_id": run, "topic_id": topic, "team_id": "t"},
        responses=[{"text": "Fares fell.", "citations": citations}],
        references=references,
        answer="a copy",
        is_ragtime=True,
    )


@pytest.mark.parametrize(
    ("citations", "references", "cited"),
    [
        ([0, 1], ["a", "b"], ["a", "b"]),
        ([0, 2, 1], ["a", "b", "a"], ["a", "b"]),  # listed twice: by id, each once
        (["b"], ["a", "b", "a"], ["b"]),
    ],
)
def test_a_document_that_is_listed_twice_is_cited_once(citations, references, cited):
    (sentence,) = response_of(report("r", "7", citations, references)).sentences
    assert [citation.doc_id for citation in sentence.citations] == cited


@pytest.mark.parametrize("number", [-1, 3])
def test_a_citation_outside_the_references_names_the_file(number):
    with pytest.raises(InputError) as caught:
        response_of(report("r", "7", [number], ["a", "b", "a"]))
    assert caught.value.path == "run.jsonl"


def test_reports_on_other_topics_are_left_out_and_the_order_is_fixed(capsys):
    topics = [record(request_id=topic, title=f"Topic {topic}") for topic in ("7", "8")]
    reports = [report(run, topic, [], []) for run, topic in (("b", "7"), ("a", "8"), ("a", "9"))]
    material = material_of(reports, topics, None)
    assert [(r.run_id, r.topic_id) for r in material.responses] == [("a", "8"), ("b", "7")]
    assert list(material.questions) == ["7", "8"]
    assert (len(material.rows), material.documents) == (4, None)
    assert "warning: 1 reports on other topics are left out" in capsys.readouterr().err
    assert material_of(None, topics, None).responses == []
    assert capsys.readouterr().err == ""
    assert question_of(topics[0]).text == "Topic 7"


def response(run: str, text: str, doc_id: str = "d") -> Response:
    sentence = Sentence("Fares fell.", (Citation(doc_id),))
    return Response("7", run, sentences=(sentence,), documents={doc_id: Document(doc_id, text)})


def test_a_cited_document_has_the_text_that_most_reports_embed():
    responses = [response("a", "One."), response("b", "Two."), response("c", "Two.")]
    responses += [response("d", " "), response("e", "Other.", "x")]
    questions = {"7": Question("7", "Fares?")}
    cited = Material(responses, questions, [], None).cited("7")
    assert {doc_id: document.text for doc_id, document in cited.items() if document} == {
        "d": "Two.",
        "x": "Other.",
    }
    corpus = {"d": Document("d", "Corpus.")}
    cited = Material(responses, questions, [], corpus).cited("7")
    assert (cited["d"], cited["x"]) == (corpus["d"], None)
    assert Material(responses, questions, [], None).cited("8") == {}


def test_cited_documents_of_a_corpus(tmp_path, capsys):
    rows = [{"id": "a", "text": "A."}, {"id": "b", "text": "B."}]
    path = write_rows(tmp_path / "corpus.jsonl", rows)
    with Path(path).open("a") as stream:
        stream.write("{\n")
    assert list(_documents(str(tmp_path), {"a", "x"}) or ()) == ["a"]
    said = capsys.readouterr().err
    assert "warning: 1 documents of the corpus cannot be read; the first: " in said
    assert "warning: 1 of 2 cited documents are not in the corpus" in said
    write_rows(path, rows)
    assert len(_documents(path, {"a", "b"}) or ()) == 2
    assert capsys.readouterr().err == ""
    assert _documents(None, {"a"}) is None


def test_a_corpus_is_a_file_a_folder_or_a_data_set(tmp_path):
    path = write_rows(tmp_path / "c.jsonl", [{"id": "a", "text": "A."}])
    assert _source(path) == path
    assert _source(str(tmp_path)) == str(tmp_path)
    named = write_rows(tmp_path / "corpus.jsonl", [])
    assert _source(str(tmp_path)) == named
    assert _source("beir/arguana") == _source("ir_datasets:beir/arguana")
    with pytest.raises(InputError, match=r"found the address 'http://a.org/x'"):
        _source("http://a.org/x")


# --- relevance


@pytest.mark.parametrize(
    ("probability", "thresholds", "grade"),
    [
        (0.5, (0.5, 0.9), 1),
        (0.499, (0.5, 0.9), 0),
        (0.9, (0.5, 0.9), 2),
        (0.9, (), 1),
        (None, (0.5,), 1),
    ],
)
def test_a_grade_is_the_number_of_thresholds_that_are_reached(probability, thresholds, grade):
    assert _grade(Judged(True, Provenance("j"), probability), thresholds) == grade
    assert _grade(Judged(False, Provenance("j"), probability), ()) == 0


def test_a_document_is_judged_by_title_and_problem_statement():
    assert _asked(Question("7", " Fares? ", "What changed? ")) == "Fares?\nWhat changed?"
    assert _asked(Question("7", "Fares?", " ")) == "Fares?"


class Says:
    """Answers each question with yes, by 0.6."""

    name, card, kinds = "says", "", frozenset({Support})

    async def answer(self, questions, emit):
        for place, _ in enumerate(questions):
            emit(place, Judged(True, Provenance("says"), 0.6))


def test_cited_documents_without_a_text_get_no_line(capsys, monkeypatch):
    opened = SimpleNamespace(judge=Says())
    monkeypatch.setattr("pnyx.judging.open_judge.open_judge", lambda *_: nullcontext(opened))
    monkeypatch.setattr("pnyx.reports.nuggets.claims.load_encoder", lambda: None)
    responses = [response("a", "Bus fares fell by a tenth."), response("b", " ", "x")]
    material = Material(responses, {"7": Question("7", "Did bus fares fall?")}, [], None)
    (qrel,) = graded(material, Answerer({}), (0.6, 1.0))
    assert (qrel.topic_id, qrel.doc_id, qrel.grade) == ("7", "d", 1)
    said = capsys.readouterr().err
    assert "qrels: 1 of 2 cited documents were judged; 1 have no text, 0 are unscored" in said
    nothing = Material([], {"7": Question("7", "Fares?")}, [], None)
    assert graded(nothing, Answerer({}), ()) == []
    assert created(nothing, Answerer({}), Settings()) == []
    assert "created 0 nuggets for 0 of 1 topics" in capsys.readouterr().err


def test_qrels_of_the_runner_are_grades_by_topic():
    rows = [SimpleNamespace(topic_id="7", doc_id=doc_id, grade=n) for n, doc_id in enumerate("ab")]
    assert qrels_of(SimpleNamespace(rows=rows)) == {"7": {"a": 0, "b": 1}}
    assert qrels_of(None) == {}


# --- the model and its cache


def llm(**fields: Any) -> Any:
    chosen = {"base_url": "http://a.org/v1/", "model": "m", "api_key": "k", "cache_dir": None}
    return SimpleNamespace(**{**chosen, **fields})


def test_the_packaged_judges_see_no_model_and_no_key(monkeypatch):
    monkeypatch.setenv("PNYX_LLM", "openai:x")
    monkeypatch.setenv("PNYX_API_KEY", "mine")

    def seen(answerer: Answerer) -> Any:
        return answerer.choices, os.environ.get("PNYX_LLM"), os.environ.get("PNYX_API_KEY")

    assert asked(Settings(), llm(), [], seen) == ({}, None, None)
    assert (os.environ["PNYX_LLM"], os.environ["PNYX_API_KEY"]) == ("openai:x", "mine")
    monkeypatch.delenv("PNYX_LLM")
    with _environment({"PNYX_LLM": "a"}):
        assert os.environ["PNYX_LLM"] == "a"
    assert "PNYX_LLM" not in os.environ


def test_work_that_was_finished_is_read_from_the_cache(tmp_path, capsys):
    settings, model = Settings(uses_llm=True), llm(cache_dir=str(tmp_path))
    offline: list[bool] = []

    def work(answerer: Answerer) -> str:
        offline.append(answerer.choices["offline"])
        assert answerer.choices["judge"] == ("http://a.org/v1#m",)
        assert answerer.choices["store"] == str(tmp_path / "pnyx.sqlite")
        return os.environ["PNYX_API_KEY"]

    def fail(answerer: Answerer) -> str:
        if not answerer.choices["offline"]:
            raise ModelError("no server")
        return work(answerer)

    with pytest.raises(ModelError, match="no server"):
        asked(settings, model, ["one"], fail)
    for _ in range(2):
        assert asked(settings, model, ["one"], work) == "k"
    assert len((tmp_path / "pnyx.done").read_text().split()) == 1  # remembered once
    assert asked(settings, model, ["one"], fail) == "k"
    assert offline == [False, False, True]
    assert "no server; this work was finished earlier" in capsys.readouterr().err
    for inputs, other in ((["two"], model), (["one"], llm(cache_dir=str(tmp_path), model="n"))):
        with pytest.raises(ModelError):
            asked(settings, other, inputs, fail)


def test_a_model_without_an_address_is_refused_and_one_without_a_cache_is_warned_of(capsys):
    with pytest.raises(InputError, match="OPENAI_BASE_URL is not set"):
        _model(llm(base_url=""), offline=False)
    assert _model(llm(), offline=True).choices["store"] is None
    assert capsys.readouterr().err == ""
    _model(llm(), offline=False)
    assert "CACHE_DIR is not set" in capsys.readouterr().err


def test_an_expected_error_is_one_line_of_the_runner():
    for no_text in (True, False):
        with pytest.raises(click.ClickException, match="odd"), phase(Settings(no_text=no_text)):
            raise InputError("odd")


# --- the leaderboard


@pytest.mark.parametrize(("count", "more"), [(5, ""), (6, " and 1 more"), (7, " and 2 more")])
def test_five_topics_without_a_report_are_named(count, more, capsys):
    topics = [f"t{n}" for n in range(count)]
    _say_missing("r", topics, 9, "skip")
    said = capsys.readouterr().err
    assert f"r has no report on {count} of 9 topics: t0, t1, t2, t3, t4{more}; " in said
    assert "they count not at all" in said
    _say_missing("r", topics, 9, "zero")
    assert "they count as 0" in capsys.readouterr().err
    with pytest.raises(InputError, match="setting on_missing"):
        _say_missing("r", topics, 9, "error")


def judged(run: str, topic: str, *attested: bool | None) -> JudgedReport:
    relevant = NodeAnswer(True, "j")
    sentences = [
        JudgedSentence(f"Fares {n}.", (JudgedCitation("d", relevant, NodeAnswer(value, "j")),), {})
        for n, value in enumerate(attested)
    ]
    return JudgedReport(topic, run, tuple(sentences))


@pytest.mark.parametrize(("on_missing", "mean"), [("skip", 0.5), ("zero", 0.25)])
def test_what_is_missing_or_unscored_is_said(on_missing, mean, capsys):
    material = Material([], {t: Question(t, "T") for t in ("7", "8")}, [], None)
    reports = [judged("r", "7", True, False, None), judged("s", "7", True), judged("s", "8", True)]
    result = _measured(reports, material, Settings(on_missing=on_missing))
    assert result.runs[0].measures["sentence_precision"].value == mean
    said = capsys.readouterr().err
    assert "r has no report on 1 of 2 topics: 8" in said
    assert "s has no report" not in said
    assert "unscored: 1 of 3 sentences, 1 of 3 citations; " in said


def test_values_that_are_left_out_are_counted_by_run(capsys):
    reports = [judged("r", "7", True, None), judged("s", "7", True), judged("s", "8", None)]
    result = measure_reports(reports, bootstrap=Bootstrap(0))
    cells = list(leaderboard_cells(result, ["sentence_precision", "citation_relevance"]))
    _say_thin(cells, result, 0.8)
    said = capsys.readouterr().err
    assert "warning: r: 1 of 2 values are based on less than 80% of their items" in said
    assert "s: " not in said  # without a value, there is nothing to leave out
    assert cells[0] == LeaderboardCell("r", "7", "sentence_precision", None)


def test_measures_of_nuggets_are_described_only_with_nuggets():
    with_nuggets, without = (_described(Settings(), nuggets=value) for value in (True, False))
    assert list(without) == [
        "sentence_precision",
        "citation_precision",
        "citation_relevance",
        "citation_recall",
    ]
    assert set(with_nuggets) - set(without) == {
        "nugget_recall",
        "nugget_recall_weighted",
        "f1",
        "f1_weighted",
    }
    assert with_nuggets["nugget_recall"] == (
        "the share of nuggets answered: all answers of an AND, one of any other. Mean over the "
        "topics with a value."
    )
    assert _described(Settings(on_missing="zero"), nuggets=False)["citation_recall"].endswith(
        "A missing report counts as 0."
    )


def test_banks_of_the_runner_come_before_those_of_the_settings(tmp_path):
    rows: list[dict[str, Any]] = [
        {
            "query_id": topic,
            "format_version": "v3",
            "nugget_bank": {"Q?": {"question": "Q?", "query_id": topic, "answers": {}}},
            "claim_bank": {},
        }
        for topic in ("8", "7")
    ]
    path = write_rows(tmp_path / "banks.jsonl", rows)
    assert _banks(None, Settings()) is None
    assert [bank.topic_id for bank in _banks(None, Settings(nuggets=path)) or ()] == ["7", "8"]
    own = {row["query_id"]: record(**row) for row in rows[:1]}
    chosen = _banks(SimpleNamespace(banks=own), Settings(nuggets=path))
    assert [bank.topic_id for bank in chosen or ()] == ["8"]


# --- nuggets and judgements


class Alike:
    """Embeds each text as the same vector, except that of the topic."""

    name, dimensions = "alike", 2

    def encode(self, texts):
        angles = np.linspace(0.0, 1.0, len(texts))
        return np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)


@pytest.mark.parametrize(
    ("settings", "texts"),
    [
        (Settings(no_text=False), 1),
        (Settings(no_text=True), 0),
        (Settings(no_text=True, allow_text_in_banks=True), 1),
    ],
)
def test_nuggets_are_sentences_of_relevant_documents(settings, texts, monkeypatch, capsys):
    documents = [response("a", "Bus fares fell by a tenth in May."), response("b", "No.", "x")]
    material = Material(documents, {"7": Question("7", "Did bus fares fall?")}, [], None)
    qrels = [Qrel("7", "d", 1), Qrel("7", "x", 0)]
    monkeypatch.setattr("pnyx.reports.autojudge.nuggets.graded", lambda *_: qrels)
    monkeypatch.setattr("pnyx.reports.nuggets.claims.load_encoder", Alike)
    (bank,) = created(material, Answerer({}), settings)
    (nugget,) = bank.nuggets
    assert (nugget.text == "Bus fares fell by a tenth in May.") is bool(texts)
    assert [reference.doc_id for reference in nugget.references] == ["d"]
    assert "created 1 nuggets for 1 of 1 topics" in capsys.readouterr().err
    qrels[0] = Qrel("7", "d", 0)
    assert created(material, Answerer({}), settings) == []
    assert "nuggets of 7: no sentence of a relevant document" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("corpus", "attested"), [(None, True), ({"d": Document("d", "C.")}, True), ({}, False)]
)
def test_citations_are_judged_by_the_corpus_if_there_is_one(corpus, attested, monkeypatch):
    opened = nullcontext(SimpleNamespace(judge=Says()))
    monkeypatch.setattr("pnyx.reports.open_reports.open_report_judge", lambda *_: opened)
    material = Material([response("r", "A.")], {"7": Question("7", "Fares?")}, [], corpus)
    banks = [NuggetBank(topic, (Nugget("1", "Fares?"),)) for topic in ("7", "8")]
    judge = (None, Answerer({}), Settings())
    (judged_report,) = _judged(material, banks, *judge)  # none for topic 8
    (sentence,) = judged_report.sentences
    assert sentence.citations[0].attests.value is attested
    assert sentence.citations[0].unknown is not attested
