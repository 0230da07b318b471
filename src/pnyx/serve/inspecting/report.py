"""The pages of one report and of one sentence: what was found out at each node of the tree."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from pnyx.judge.reports.records import JudgedNugget, JudgedReport, JudgedSentence
from pnyx.serve.inspecting.answered import answered_lines, answered_measures
from pnyx.serve.inspecting.asking import NotThereError
from pnyx.serve.inspecting.findings import CitationLine, MeasureLine, NuggetLine, SentenceLine
from pnyx.serve.inspecting.pages import Page, Shown
from pnyx.serve.inspecting.sentence import show_sentence
from pnyx.serve.inspecting.wording import (
    legend,
    measure_label,
    of_finding,
    sentence_state,
    step_view,
)
from pnyx.view.model import STATES, State

if TYPE_CHECKING:
    from pnyx.serve.inspecting.catalogue import Catalogue
    from pnyx.serve.inspecting.records import ReportAt
    from pnyx.serve.rendering import Links


def show_report(catalogue: Catalogue, _links: Links, parts: tuple[str, ...], _: int = 1) -> Shown:
    """Show the report of a run on a topic, judged or as it was written."""
    source, run, topic, *more = parts
    at = catalogue.report_at(source, run, topic, side=more[0] if more else "")
    values: dict[str, Any] = {
        "at": at,
        "source": catalogue.source(at.source),
        "topic": catalogue.topic(at.topic),
        "others": _others(catalogue, at),
    }
    if at.kind == "judged":
        report = catalogue.judged_report(at)
        lines = sentence_lines(report)
        values |= {
            "report": report,
            "lines": lines,
            "nuggets": nugget_lines(report),
            "measures": measures_of(report),
            "unscored": [one for one in lines if one.unscored],
        }
    else:
        values |= {
            "report": None,
            "lines": answered_lines(catalogue, at),
            "nuggets": [],
            "measures": answered_measures(catalogue, at),
            "unscored": [],
        }
    values["judged"] = bool(values["measures"])
    values["legend"] = legend(one.state for one in values["lines"])
    return Shown("inspecting/report.html.j2", values)


def _others(catalogue: Catalogue, at: ReportAt) -> list[ReportAt]:
    """Return other reports on the topic: judged by others, of the other side, of other runs."""
    found = catalogue.reports(topic=at.topic)
    return [one for one in found if one.id != at.id][:24]


def sentence_lines(report: JudgedReport) -> list[SentenceLine]:
    """Return a judged report's sentences in reading order."""
    numbers = _documents(report)
    places = {one.id: n for n, one in enumerate(report.nuggets, 1)}
    texts = {one.id: one.text for one in report.nuggets}
    return [
        _line(n, sentence, numbers, places, texts) for n, sentence in enumerate(report.sentences, 1)
    ]


def _documents(report: JudgedReport) -> dict[str, int]:
    """Return the number of each cited document, in the order of first citation."""
    cited = (one.doc_id for sentence in report.sentences for one in sentence.citations)
    return {name: n for n, name in enumerate(dict.fromkeys(cited), 1)}


def _line(
    n: int,
    sentence: JudgedSentence,
    numbers: Mapping[str, int],
    places: Mapping[str, int],
    texts: Mapping[str, str],
) -> SentenceLine:
    state = sentence_state(sentence.citations)
    citations = [
        CitationLine(
            numbers[one.doc_id],
            one.doc_id,
            of_finding(one.attests, ("supported", "not supported")),
            of_finding(one.relevant, ("relevant", "not relevant")),
        )
        for one in sentence.citations
    ]
    answered = dict.fromkeys(nugget for nugget, _ in sentence.answers)
    chips = [(places[one], one, texts[one]) for one in answered if one in places]
    steps = [step_view(one, texts) for one in sentence.steps]
    waiting = len({nugget for nugget, _ in sentence.unscored_answers})
    return SentenceLine(n, sentence.text, state, STATES[state], citations, chips, steps, waiting)


def nugget_lines(report: JudgedReport) -> list[NuggetLine]:
    """Return the nugget bank: unscored first, then missed, then answered, the vital ones first."""
    found = [_nugget(n, one) for n, one in enumerate(report.nuggets, 1)]
    order = {"unscored": 0, "no": 1, "yes": 2, "uncited": 3}
    return sorted(found, key=lambda one: (order[one.state], one.importance != "vital", one.number))


def _nugget(number: int, one: JudgedNugget) -> NuggetLine:
    answers = [
        (
            answer.text,
            *_given(answer.given, partial=answer.partial),
            tuple(n + 1 for n in answer.sentences),
        )
        for answer in one.answers
    ]
    state, word = _given(one.answered)
    if not one.answers:
        state, word = "uncited", "known to have no answer"
    kind = "claim" if one.is_claim else "question, all answers" if (
        one.aggregator.upper() == "AND"
    ) else "question"  # fmt: skip
    return NuggetLine(number, one.id, one.text, kind, one.importance, state, word, answers)


def _given(value: bool | None, *, partial: bool = False) -> tuple[State, str]:
    if value is None:
        return "unscored", "unscored"
    if value:
        return "yes", "answered"
    return "no", "missed, given in part" if partial else "missed"


def measures_of(report: JudgedReport) -> list[MeasureLine]:
    """Return the main measures of a report."""
    from pnyx.measure.reports.registry import MAIN, measure_report

    found = measure_report(report)
    return [
        MeasureLine(name, measure_label(name), one.value, one.scored, one.asked)
        for name in MAIN
        for one in (found[name],)
    ]


def _reports(catalogue: Catalogue) -> Iterator[tuple[tuple[str, ...], int]]:
    for at in catalogue.reports():
        yield (at.source, at.run, at.topic, *([at.side] if at.side else [])), 1


def _sentences(catalogue: Catalogue) -> Iterator[tuple[tuple[str, ...], int]]:
    for at in catalogue.reports():
        for n in range(1, at.sentences + 1):
            yield (at.source, at.run, at.topic, str(n)), 1


def _shown_sentence(
    catalogue: Catalogue, _links: Links, parts: tuple[str, ...], _: int = 1
) -> Shown:
    *place, n = parts
    if not (n.isascii() and n.isdecimal() and 0 < len(n) < 7):
        raise NotThereError("there is no such sentence")
    at = catalogue.report_at(*place)
    report = catalogue.judged_report(at) if at.kind == "judged" else None
    lines = answered_lines(catalogue, at) if report is None else sentence_lines(report)
    if not 1 <= int(n) <= len(lines):
        raise NotThereError(f"this report has {len(lines)} sentences")
    return show_sentence(catalogue, at, report, lines[int(n) - 1], len(lines))


PAGES: tuple[Page, ...] = (
    Page("report", show_report, least=3, most=4, addresses=_reports),
    Page("sentence", _shown_sentence, least=4, most=4, addresses=_sentences),
)
