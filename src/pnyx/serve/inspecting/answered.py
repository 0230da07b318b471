"""Responses as they were written, with what a judge said of their citations (`pnyx argue`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pnyx.judge.answers import QUOTED, answer_of_row
from pnyx.serve.inspecting.findings import (
    CitationLine,
    CitedView,
    FindingView,
    MeasureLine,
    SentenceLine,
)
from pnyx.serve.inspecting.texts import passage_of, passages_of
from pnyx.serve.inspecting.wording import VerdictView, measure_label, of_value
from pnyx.view.model import STATES, VERDICT_WORDS, state_of

if TYPE_CHECKING:
    from pnyx.judge.answers import Answer
    from pnyx.serve.inspecting.catalogue import Catalogue
    from pnyx.serve.inspecting.records import Judgement, ReportAt

_CHECKS = {"relevance": "Is it about the question?", "stance": "Does it serve this side?"}

Said = Mapping[tuple[int, str], tuple["Judgement", Mapping[str, Any]]]
"""(sentence from 0, document) -> what was said of the citation: the judgement and its line."""


def _support_of(catalogue: Catalogue, at: ReportAt) -> Said:
    """Return what a source's judge said of a response's citations."""
    return {
        (one.sentence, one.judgement.doc): (one.judgement, catalogue.row(one.judgement))
        for one in catalogue.links(at)
        if one.judgement.task == "support" and one.judgement.doc
    }


def _verdict(said: tuple[Judgement, Mapping[str, Any]] | None) -> VerdictView:
    if said is None:
        return VerdictView("unscored", "not judged", why="no judgement of it is given")
    found, row = said
    if row.get("method") == QUOTED.method:
        return VerdictView("quoted", STATES["quoted"].word)
    return of_value(
        found.value, found.probability, found.unscored, words=VERDICT_WORDS["support"]
    ).given(found.judge, row)


def answered_lines(catalogue: Catalogue, at: ReportAt) -> list[SentenceLine]:
    """Return a response's sentences, with the verdicts on their citations where there are any."""
    response, texts = catalogue.response(at), catalogue.texts(at)
    said = _support_of(catalogue, at)
    cited = (c.doc_id for sentence in response.sentences for c in sentence.citations)
    numbers = {name: n for n, name in enumerate(dict.fromkeys(cited), 1)}
    lines = []
    for n, sentence in enumerate(response.sentences):
        own = dict.fromkeys(c.doc_id for c in sentence.citations)
        citations = [
            CitationLine(numbers[name], name, _verdict(said.get((n, name)))) for name in own
        ]
        state = state_of(one.attests.state for one in citations)
        lines.append(SentenceLine(n + 1, texts[n], state, STATES[state], citations))
    return lines


def answered_measures(catalogue: Catalogue, at: ReportAt) -> list[MeasureLine]:
    """Return sentence and citation precision of what is not quoted; nothing where that is all."""
    from pnyx.measure.reports.responses import precisions

    said: dict[tuple[int, str], Answer] = {
        key: answer_of_row(row) for key, (_, row) in _support_of(catalogue, at).items()
    }
    if not said:
        return []
    found = precisions(catalogue.response(at), said)
    return [
        MeasureLine(name, measure_label(name), one.value, one.scored, one.asked, one.low, one.high)
        for name, one in found.items()
    ]


def cited_by_answered(
    catalogue: Catalogue, at: ReportAt, line: SentenceLine
) -> Iterator[CitedView]:
    """Yield the citations of a response's sentence, with all that was said of each."""
    held = passages_of(catalogue, at.run, at.topic)
    said = _support_of(catalogue, at)
    for one in line.citations:
        judged = said.get((line.n - 1, one.doc_id))
        evidence = str(judged[1].get("evidence") or "") if judged else ""
        findings = [
            FindingView("Does it support the sentence?", one.attests, [judged[0]] if judged else [])
        ]
        for check, asks in _CHECKS.items():
            findings += _checked(catalogue, at, check, asks, one.doc_id)
        passage = passage_of(one.doc_id, held, "", evidence, line.text)
        yield CitedView(one.number, passage, findings)


def _checked(
    catalogue: Catalogue, at: ReportAt, check: str, asks: str, doc_id: str
) -> Sequence[FindingView]:
    item = f"{at.topic}/{at.run}/{check}/{doc_id}"
    found = [one for one in catalogue.judgements_under(at.source, item) if one.item == item]
    return [
        FindingView(
            asks,
            of_value(one.value, one.probability, one.unscored).given(one.judge, catalogue.row(one)),
            [one],
        )
        for one in found
    ]
