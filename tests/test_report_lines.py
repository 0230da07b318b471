"""What is said of written and judged reports: lines, Markdown, campaign rules, refusals."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from command import write_rows
from pnyx.cases.limits import Limits
from pnyx.core.errors import InputError, OptionError
from pnyx.core.records import Citation, Document, Response, Sentence
from pnyx.formats import ReportRequest, track_rules
from pnyx.formats.reports.judged_report import (
    ANSWERED_ONLY,
    JudgedCitation,
    JudgedReport,
    JudgedSentence,
    NodeAnswer,
)
from pnyx.judging.answers import QUOTED, Judged, Provenance, Unscored
from pnyx.reports.commands import _say
from pnyx.reports.compare_command import CompareSpec, _check_paths
from pnyx.reports.lines import report_line
from pnyx.reports.measure_command import _too_few, report_notes
from pnyx.reports.measures.report_measures import measure_reports
from pnyx.reports.nugget_options import CreateSpec
from pnyx.reports.options import JudgeReportSpec
from pnyx.reports.report_markdown import render_reports
from pnyx.reports.strict import (
    campaign_rules,
    check_coverage,
    judged_strictly,
    left_out_notes,
    rules_of,
    zero_notes,
)
from pnyx.reports.tree.auto_argue import _truth, _uncited, documents_of
from pnyx.reports.writing.candidates import Gathered
from pnyx.reports.writing.report import Report
from pnyx.reports.writing.submission import form_of
from pnyx.reports.writing_options import SubmissionSpec, WriteReportSpec, report_plan
from pnyx.stats.base import Bootstrap, Measured

JUDGE = Provenance("j")
NO_DRAWS = Bootstrap(0)


# --- written reports


def written(*citations: tuple[str, ...], found: int = 2, **more: Any) -> Report:
    """Return a report whose sentences cite these documents, of those that were found."""
    documents = tuple(Document(f"d{n}", f"Text {n}.", f"Title {n}") for n in range(found))
    sentences = tuple(
        Sentence(f"Fares fell {n}.", tuple(map(Citation, cited)))
        for n, cited in enumerate(citations)
    )
    cited = tuple(dict.fromkeys(doc_id for row in citations for doc_id in row))
    return Report(
        ReportRequest("r", "Bus fares", problem="How did fares change?", background="I ride."),
        Response("r", "run", sentences=sentences, references=cited),
        Limits((("chars", 300),)),
        Gathered(documents, {}, {}, (), found),
        **more,
    )


@pytest.mark.parametrize(
    ("report", "line"),
    [
        (written(found=0), "r: no evidence was found, the limit is too short to say so"),
        (written((), found=0, negative=1), "r: no evidence was found, the report says so"),
        (written(failed=True), "r: nothing usable was written"),
        (written(("d0",), ("d0", "d1"), (), negative=1), "r: 2 sentences from 2 of 2 documents"),
        (written(("d0",)), "r: 1 sentence from 1 of 2 documents"),
        (
            written(("d0",), without_evidence=("A?", "B?")),
            "r: 1 sentence from 1 of 2 documents; no evidence on 2 parts: A?; B?",
        ),
    ],
)
def test_a_line_on_a_written_report(report, line):
    assert report_line(report) == line


@pytest.mark.parametrize(
    ("answers", "verdict"),
    [
        ([], " (cites nothing)"),
        ([Judged(True, QUOTED)], ""),
        ([Judged(True, QUOTED), Judged(True, JUDGE)], " (supported, by the judge)"),
        ([Judged(False, JUDGE), Judged(True, JUDGE)], " (supported, by the judge)"),
        ([Judged(False, JUDGE)], " (not supported, by the judge)"),
        ([Judged(False, JUDGE), Unscored("late", JUDGE)], " (not judged)"),
        ([None], " (not judged)"),
    ],
)
def test_the_verdict_on_a_sentence_follows_its_citations(answers, verdict):
    cited = tuple(f"d{n}" for n in range(len(answers)))
    support = {(0, doc_id): answer for doc_id, answer in zip(cited, answers, strict=True) if answer}
    text = render_reports([written(cited, (), support=support, negative=1)])
    marks = "".join(f" [{n}]" for n in range(1, len(answers) + 1))
    line, negative = [line for line in text.splitlines() if line.startswith("Fares fell")]
    assert line == f"Fares fell 0.{marks}{verdict}"
    assert negative.endswith("1.")  # a statement on missing evidence has no verdict


def test_a_report_as_markdown():
    text = render_reports([written(("d1",), measures={"sentence_precision": Measured(0.5, 1, 2)})])
    assert text.startswith("# Bus fares\n\n> How did fares change?\n>\n> I ride.\n")
    assert "\n## References\n\n- [1] **Title 1**, id d1\n" in text
    assert "- limit: 300 characters\n" in text
    assert "sentence precision: 0.50 (1 of 2 scored)" in text
    measured = {"sentence_precision": Measured(None, 0, 2)}
    assert "nothing scored (0 of 2 scored)" in render_reports([written(measures=measured)])
    for report, why in (
        (written(found=0), "No evidence on this request was found"),
        (written(failed=True), "nothing usable was written"),
        (written(), "no sentence of it fits the request"),
    ):
        text = render_reports([report])
        assert why in text
        assert "## References" not in text


# --- what the command says


def spoken(capsys: pytest.CaptureFixture[str], *reports: Report, **more: Any) -> list[str]:
    """Return the lines that `pnyx report` prints on these reports."""
    form: Any = SimpleNamespace(style="scores", minded=lambda *_: [])
    form.__dict__.update(more)
    _say(reports, [{} for _ in reports], form, "run.jsonl", logged=False)
    return capsys.readouterr().err.replace("pnyx: ", "").splitlines()


def test_what_is_said_of_all_reports(capsys):
    unjudged = written(("d0",), support={(0, "d0"): Unscored("late", JUDGE)}, judges={"j": "good"})
    assert spoken(capsys, unjudged, written(found=0)) == [
        "r: 1 sentence from 1 of 2 documents",
        "warning: r: no verdict on 1 citations; their score in the run is 0.5",
        "r: no evidence was found, the limit is too short to say so",
        "judge j: good",
        "run.jsonl: 1 of 2 reports from evidence; no evidence was found for 1",
    ]
    assert len(spoken(capsys, unjudged, style="ids")) == 3
    assert spoken(capsys, written(("d0",)))[-1] == "run.jsonl: 1 of 1 reports from evidence"


@pytest.mark.parametrize(("reports", "more"), [(1, []), (2, ["warning: 1 more about length"])])
def test_a_track_objects_once_to_each_kind_of_fault(reports, more, capsys):
    finding = SimpleNamespace(category="length", problem="too long")
    lines = spoken(capsys, *[written(("d0",))] * reports, minded=lambda *_: [finding])
    said = [line for line in lines if line.startswith("warning")]
    assert said == ["warning: r: the track objects: too long", *more]


def test_a_report_as_rows():
    support = {(0, "d0"): Judged(True, JUDGE, 0.9)}
    report = written(("d0", "d1"), (), support=support)
    rows = [(row["sentence"], row["doc_id"], row["supported"], row["probability"])
            for row in report.rows()]  # fmt: skip
    assert rows == [(0, "d0", True, 0.9), (0, "d1", None, None), (1, None, None, None)]
    assert report.complete
    assert not replace(report, failed=True).complete
    assert not replace(report, support={(0, "d0"): Unscored("late", JUDGE)}).complete
    assert list(report.documents) == ["d0", "d1"]


# --- judged reports


def cited(*attested: bool | None, run: str = "r", topic: str = "7") -> JudgedReport:
    yes = NodeAnswer(True, "j")
    sentences = [
        JudgedSentence(f"Fares {n}.", (JudgedCitation("d", yes, NodeAnswer(value, "j")),), {})
        for n, value in enumerate(attested)
    ]
    return JudgedReport(topic, run, tuple(sentences))


def test_the_rules_of_a_campaign_are_about_sentences_unless_reports_are_whole():
    rules, whole = campaign_rules(), campaign_rules(whole=True)
    assert (len(rules), len(whole)) == (7, 3)
    assert set(whole) < set(rules)
    assert any("more than 2,000 characters" in rule for rule in rules)
    command = {"record": {"command": "judge report"}}
    assigned = {"record": {"command": "nuggets assign"}}
    assert rules_of({"a": assigned, "b": assigned}) == whole
    assert rules_of({"a": assigned, "b": command}) == rules
    row = {"path": "p", "run": "", "why": "broken"}
    assert left_out_notes({"a": {"left_out": [row]}, "b": {}}) == [
        "warning: left out, and not ranked: p: broken"
    ]


@pytest.mark.parametrize(
    ("manifest", "problem"),
    [
        ({"record": {"options": {"strict": True}}, "judge": "j", "odd": 1}, ""),
        ({"record": {"options": {"strict": True}}, "plan": {"strict": True}}, ""),
        ({"record": {"options": {"strict": True}}, "plan": {}}, "rules of an earlier version"),
        ({"record": {"options": {"strict": False}}}, "expected results of pnyx judge report --st"),
        ({"record": {}}, "expected results of pnyx judge report --strict"),
        ({}, "expected results of pnyx judge report --strict"),
    ],
)
def test_only_results_that_were_judged_strictly_are_ranked(manifest, problem, tmp_path):
    write_rows(tmp_path / "manifest.json", [manifest])
    if problem:
        with pytest.raises(InputError, match=problem):
            judged_strictly([str(tmp_path)])
    else:
        (kept,) = judged_strictly([str(tmp_path)]).values()
        assert kept == {name: value for name, value in manifest.items() if name != "odd"}


def test_a_leaderboard_with_a_thin_cell_is_refused():
    measures = ["sentence_precision", "citation_precision"]
    result = measure_reports([cited(True, None), cited(True, run="s")], bootstrap=NO_DRAWS)
    check_coverage(result, measures, 0.5)
    more = r"50% of its items, and 1 more cells \(of 1 of 2 runs\); --min-scored requires 51%"
    with pytest.raises(InputError, match=f"r, topic 7: citation_precision is based on {more}"):
        check_coverage(result, measures, 0.51)
    with pytest.raises(InputError, match=r"sentence_precision is based on 50% of its items; --min"):
        check_coverage(result, measures[:1], 0.51)
    with pytest.raises(InputError, match="r, topic 7: f1 is not defined; --min"):
        check_coverage(measure_reports([cited(True)], bootstrap=NO_DRAWS), ["f1"], 1.0)


def test_values_that_are_0_by_the_rules_are_named():
    uncited = JudgedReport("8", "r", (JudgedSentence("No citation.", (), {}),))
    reports = [cited(True), uncited, JudgedReport("9", "r", missing=True)]
    result = measure_reports(reports, strict=True, missing="zero", bootstrap=NO_DRAWS)
    measures = ["citation_precision", "citation_relevance", "nugget_recall"]
    line = "r: 0 by the rules, on 1 topic (8): citation_precision, citation_relevance"
    assert zero_notes(result.runs[0], measures, []) == [line]
    assert zero_notes(result.runs[0], measures, ["8"]) == []


def test_values_on_few_topics_or_items_are_warned_of():
    reports = [cited(True, topic="1"), *(cited(None, topic=str(n)) for n in range(2, 6))]
    result = measure_reports(reports, compared=["sentence_precision"], bootstrap=NO_DRAWS)
    few, thin = _too_few(result, result.runs[0], "r", 0.21)
    assert few == (
        "warning: r: sentence_precision have a value on less than 21% of the topics, "
        "not necessarily the same ones"
    )
    assert thin.endswith("(--min-scored): sentence_precision on 4 of 5 topics")
    assert len(list(_too_few(result, result.runs[0], "r", 0.2))) == 1  # one of five is 20 %
    repeated = cited(True, True, False)
    sentences = (*repeated.sentences[:1], replace(repeated.sentences[1], repeats=0))
    twice = replace(repeated, sentences=(*sentences, repeated.sentences[2]))
    result = measure_reports([twice], bootstrap=NO_DRAWS)
    notes = report_notes(result, {"r": [twice]}, 0.8)
    assert "r: 1 repeated sentence; sentence_precision without repetitions: 0.500" in notes
    assert ANSWERED_ONLY not in twice.notes


# --- options that exclude each other


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"index": "i", "documents": "d"}, "--index and --documents exclude each other"),
        ({"strict": True}, "--strict requires the collection"),
        ({"strict": True, "index": "i", "unknown_documents": "unscored"}, "exclude each other"),
        ({"min_grade": 2}, "--min-grade requires --qrels"),
        ({"strict": True, "index": "i"}, ""),
        ({"strict": True, "documents": "d"}, ""),
        ({"min_grade": 2, "qrels": "q", "unknown_documents": "unscored"}, ""),
    ],
)
def test_options_for_judging_reports(options, problem):
    spec = JudgeReportSpec(nuggets="b", **options)
    if problem:
        with pytest.raises(OptionError, match=problem):
            spec.check()
    else:
        spec.check()


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"edited": "b"}, ""),
        ({"edited": "b", "qrels": "q"}, "--from and --qrels exclude each other"),
        ({"edited": "b", "run": "r", "index": "i"}, "--from and --run exclude each other"),
        ({"index": "i", "topics": "t", "run": "r"}, ""),
        ({"index": "i", "topics": "t", "qrels": "q"}, ""),
        ({"index": "i", "topics": "t"}, "expected --index"),
        ({"index": "i", "run": "r"}, "expected --index"),
        ({"topics": "t", "run": "r"}, "expected --index"),
    ],
)
def test_options_for_drafting_nuggets(options, problem):
    if problem:
        with pytest.raises(OptionError, match=problem):
            CreateSpec(**options).check()
    else:
        CreateSpec(**options).check()
    assert (CreateSpec().most, CreateSpec().depth, CreateSpec().level) == (30, 50, 1)
    assert (CreateSpec().window, CreateSpec().words, CreateSpec().rate) == (10, 400, True)


@pytest.mark.parametrize(
    ("paths", "formats", "problem"),
    [
        (["a"], (), "give two leaderboards or more"),
        (["a", "b"], (), ""),
        (["-", "-"], (), "only one file can be standard input"),
        (["-", "a"], ("trec",), ""),
        (["a", "b"], ("trec", "tot"), ""),
        (["a", "b", "c"], ("trec", "tot"), "--format appears 2 times, expected once or 3 times"),
    ],
)
def test_leaderboards_to_compare(paths, formats, problem):
    if problem:
        with pytest.raises(OptionError, match=problem):
            _check_paths(paths, CompareSpec(format=formats))
    else:
        _check_paths(paths, CompareSpec(format=formats))
    assert CompareSpec(measure_a=("x",), measure_b=("y",)).pairs == [("x", "y")]
    with pytest.raises(OptionError, match="must be given equally often"):
        _ = CompareSpec(measure_a=("x",)).pairs
    CompareSpec(plot="a.html").check()
    with pytest.raises(OptionError, match=r"expected a name in \.svg or \.html"):
        CompareSpec(plot="a.png").check()


@pytest.mark.parametrize(
    ("citations", "track", "most"),
    [(None, None, 3), (5, None, 5), (None, "ragtime26", None), (1, "rag24", 1)],
)
def test_the_fewest_citations_of_a_sentence_count(citations, track, most):
    rules = None if track is None else track_rules(track)
    plan = report_plan(WriteReportSpec(citations=citations), SubmissionSpec(run_id="x"), rules)
    of_track = None if rules is None else rules.max_citations_per_sentence
    assert plan.per_sentence == (most or of_track or 3)
    assert (plan.run, plan.team, plan.retrieve, plan.documents) == ("x", "pnyx", 30, 20)


@pytest.mark.parametrize(
    ("track", "options", "problem"),
    [
        (None, {"metadata": {"run_id": "x"}}, "run_id is filled in"),
        ("rag24", {"layout": "ragtime"}, "found the layout ragtime, expected rag24"),
        ("rag24", {"style": "ids"}, "found the style ids, expected indices"),
        ("rag24", {"metadata": {"a": "b"}}, "has no metadata, found a"),
        ("ragtime25", {}, ""),
        ("ragtime25", {"style": "ids", "metadata": {"task": "german"}}, ""),
        ("rag26", {"layout": "ragtime"}, "found the layout ragtime, expected rag25"),
    ],
)
def test_the_form_of_a_run_is_that_of_its_track(track, options, problem):
    rules = None if track is None else track_rules(track)
    if problem:
        with pytest.raises(InputError, match=problem):
            form_of(rules, run="run", **options)
        return
    form = form_of(rules, run="run", **options)
    assert (form.layout, form.style) == ("ragtime", options.get("style", "scores"))
    assert form.metadata == {"task": "english", **options.get("metadata", {})}


# --- Auto-ARGUE


def test_documents_that_auto_argue_embeds():
    texts = ["Title: T\n\nContent: C.\n\nMore.", "Plain.", None, "Title: Only"]
    row = {"judgments": [{"citations": [{"doc_id": n, "text": t} for n, t in enumerate(texts)]}]}
    row["judgments"].append({"citations": [{"doc_id": 1, "text": "Another."}]})
    found = documents_of(row)
    assert [(d.id, d.title, d.text) for d in found.values()] == [
        ("0", "T", "C.\n\nMore."),
        ("1", "", "Plain."),
        ("2", "", ""),
        ("3", "Only", ""),
    ]


def test_findings_of_auto_argue_on_uncited_sentences():
    for kind, response, node, value in (
        ("NEGATIVE_STATEMENT", {"is_negative": True}, "negative", True),
        ("FIRST_INSTANCE", {"is_first_instance": True}, "said_before", False),
        ("FIRST_INSTANCE", {"text": "x", "is_first_instance": False}, "said_before", True),
    ):
        assert _uncited(kind, response, "j") == {node: NodeAnswer(value, "j")}
    assert _uncited("NEGATIVE_STATEMENT", {"is_negative": 1}, "j") == {}
    assert _uncited("ODD", {"is_negative": True}, "j") == {}
    assert [_truth(value) for value in (True, False, None)] == [True, False, None]
    with pytest.raises(TypeError, match="expected true, false or null"):
        _truth(1)
