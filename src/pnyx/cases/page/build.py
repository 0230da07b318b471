"""Build the page model of a case."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from pnyx.cases.case import ArguedSide, Case, Undecided, likelihood, percent, warning, why_empty
from pnyx.cases.page.model import (
    VERDICT_WORDS,
    CaseView,
    Check,
    CheckView,
    CitationView,
    GroupView,
    MeasureView,
    ReferenceView,
    SentenceView,
    SideView,
    UndecidedView,
    VerdictView,
    measure_wording,
    side_wording,
)
from pnyx.cases.page.notes import doubts, label_notes, near_said, said_of_number, said_of_placing
from pnyx.core.errors import shorten
from pnyx.core.records import Argument, Citation, Evidence, Sentence
from pnyx.display.states import STATES, probability, said_of, state_of
from pnyx.display.text import Span, cut, locate, one_line, web_address
from pnyx.judging.answers import Answer, Judged, is_quoted
from pnyx.judging.judge_names import introduced, short_name
from pnyx.search.sides import label_topic
from pnyx.search.split_documents import place_of, shown_title
from pnyx.stats.base import Measured

_OPENING = 400
"""Characters shown of a passage that is on neither side."""


def view_case(case: Case) -> CaseView:
    """Number, phrase and cut a case for display; hostile text is sanitised but not escaped."""
    numbers = _numbers(case)
    spans = {doc_id: _spans(case, doc_id, number) for doc_id, number in numbers.items()}
    sides = tuple(_side(case, side, numbers, spans) for side in case.sides)
    groups = [group for view in sides for group in view.groups]
    stated = [s for g in groups for s in (g.conclusion, *g.premises) if s is not None]
    citations = [c for sentence in stated for c in sentence.citations]
    measures = {m.name: m for view in sides for m in view.measures}
    return CaseView(
        question=one_line(case.question.text) or "(no question)",
        claims=(one_line(case.claims[0]), one_line(case.claims[1])),
        claimed=bool(case.question.claims),
        sides=sides,
        references=tuple(
            _reference(case, doc_id, number, spans[doc_id], citations)
            for doc_id, number in numbers.items()
        ),
        judges=tuple(
            (short_name(judge), judge, card) for judge, card in _pairs(case.judges.items())
        ),
        introduced=tuple(map(one_line, introduced(case.judges))),
        settings=tuple(
            (label[:1].upper() + label[1:], value) for label, value in _pairs(case.settings.items())
        ),
        measures=tuple(measures.values()),
        sentences=sum(view.sentences for view in sides),
        citations=len(citations),
        scored=sum(c.verdict.state != "unscored" for c in citations),
        quoted=sum(s.state == "quoted" for s in stated),
        undecided=tuple(_undecided(case, passage) for passage in case.undecided),
        less_sure=sum(len(side.less_sure) for side in case.sides),
        certainty=percent(case.certainty),
        number=said_of_number(case),
        near=near_said(case.near_topics),
        placed=said_of_placing(case),
        labels=label_notes(case.topics),
        doubts=doubts(case),
    )


def _pairs(items: Iterable[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    return tuple((one_line(str(name)), one_line(str(value))) for name, value in items)


def _citations(sentence: Sentence) -> tuple[Citation, ...]:
    """Return a sentence's citations, each document once, in the order of first citation."""
    first: dict[str, Citation] = {}
    for citation in sentence.citations:
        first.setdefault(citation.doc_id, citation)
    return tuple(first.values())


def _numbers(case: Case) -> dict[str, int]:
    """Return document id -> reference number, in the order of first citation across the sides."""
    numbers: dict[str, int] = {}
    for side in case.sides:
        for sentence in side.response.sentences:
            for citation in _citations(sentence):
                numbers.setdefault(citation.doc_id, len(numbers) + 1)
    return numbers


def _key(side: ArguedSide, position: int, number: int) -> str:
    return f"{side.side}-{position + 1}-{number}"


def _spans(case: Case, doc_id: str, number: int) -> dict[str, Span]:
    """Return the position of each citation's evidence in its document, if found."""
    document = case.documents.get(doc_id)
    if document is None:
        return {}
    text = document.text
    spans: dict[str, Span] = {}
    for side in case.sides:
        for position, sentence in enumerate(side.response.sentences):
            if all(c.doc_id != doc_id for c in sentence.citations):
                continue
            answer = side.support.get((position, doc_id))
            evidence = answer.evidence if isinstance(answer, Judged) else ""
            span = locate(text, evidence, sentence.text)
            if span is not None:
                spans[_key(side, position, number)] = span
    return spans


def _verdict(check: Check, answer: Answer | None) -> VerdictView:
    if answer is None:
        return VerdictView("unscored", "unscored", "", "", "", "not asked", "unscored: not asked")
    judge = short_name(one_line(answer.provenance.judge))
    if not isinstance(answer, Judged):
        reason = one_line(answer.reason) or "no reason given"
        phrase = f"unscored: {reason}, {judge}"
        return VerdictView("unscored", "unscored", "", "", judge, reason, phrase)
    if is_quoted(answer):
        quoted = STATES["quoted"].word
        return VerdictView("quoted", quoted, "", "", "", "", quoted)
    state, word = said_of(answer.value is True, answer.probability, VERDICT_WORDS[check])
    stated = probability(answer.probability)
    return VerdictView(
        state=state,
        word=word,
        probability=stated,
        chance=stated.removeprefix("p").removeprefix(" =").strip(),
        judge=judge,
        reason=one_line(answer.explanation),
        phrase=", ".join(part for part in (word, stated + _threshold(answer), judge) if part),
    )


def _threshold(answer: Judged) -> str:
    """Return a judge's threshold for yes, in words, if it is not one half."""
    threshold = answer.provenance.details.get("threshold", 0.5)
    if answer.probability is None or not isinstance(threshold, float) or threshold == 0.5:
        return ""
    return f" (yes from {threshold:.2f})"


def _side(
    case: Case, side: ArguedSide, numbers: dict[str, int], spans: dict[str, dict[str, Span]]
) -> SideView:
    sentences = [
        _sentence(case, side, position, numbers, spans)
        for position in range(len(side.response.sentences))
    ]
    counted = [(s, STATES[s], sum(v.state == s for v in sentences)) for s in STATES]
    return SideView(
        side=side.side,
        wording=side_wording(side.side, one_line(case.names[side.side])),
        groups=_groups(side, sentences),
        warning=warning(side),
        measures=tuple(_measure(name, m) for name, m in side.measures.items()),
        tally=tuple(entry for entry in counted if entry[2]),
        sentences=len(sentences),
        citations=sum(len(s.citations) for s in sentences),
        passages=len({c.number for s in sentences for c in s.citations}),
        considered=side.considered,
        problems=tuple(one_line(problem) for problem in side.problems),
        empty=one_line(why_empty(case, side)),
        uncited=tuple(_undecided(case, document) for document in side.uncited),
        less_sure=tuple(_undecided(case, passage) for passage in side.less_sure),
    )


def _groups(side: ArguedSide, sentences: Sequence[SentenceView]) -> tuple[GroupView, ...]:
    """Return the points of a side: each conclusion with its premises."""
    groups: list[GroupView] = []
    for view, sentence in zip(sentences, side.response.sentences, strict=True):
        if view.is_conclusion or not groups:
            chance = side.chance(sentence)
            phrase = "" if chance is None else f"{likelihood(chance)}, {percent(chance)}"
            groups.append(
                GroupView(view, (), phrase)
                if view.is_conclusion
                else GroupView(None, (view,), phrase)
            )
        else:
            groups[-1] = replace(groups[-1], premises=(*groups[-1].premises, view))
    return tuple(groups)


def _sentence(
    case: Case,
    side: ArguedSide,
    position: int,
    numbers: dict[str, int],
    spans: dict[str, dict[str, Span]],
) -> SentenceView:
    sentence = side.response.sentences[position]
    text = one_line(sentence.text)
    label = f"{side.side[0].upper()}{position + 1}"
    sentence_id = f"s-{side.side}-{position + 1}"
    citations = []
    for citation in _citations(sentence):
        number = numbers[citation.doc_id]
        key = _key(side, position, number)
        span = spans[citation.doc_id].get(key)
        document = case.documents.get(citation.doc_id)
        evidence = one_line(document.text[slice(*span)]) if span and document else ""
        citations.append(
            CitationView(
                number=number,
                key=key,
                anchor=f"e-{key}" if span else f"ref-{number}",
                label=label,
                sentence=text,
                sentence_id=sentence_id,
                verdict=_verdict("support", side.support.get((position, citation.doc_id))),
                evidence=evidence,
            )
        )
    state = state_of(c.verdict.state for c in citations)
    is_conclusion = sentence.extra.get("role") == "conclusion"
    return SentenceView(
        sentence_id, label, text, is_conclusion, state, STATES[state], tuple(citations)
    )


def _measure(name: str, measured: Measured) -> MeasureView:
    wording = measure_wording(name)
    value, low, high = measured.value, measured.low, measured.high
    interval, plot, number = "", None, "unscored"
    if value is not None:
        number = f"{value:.0f}" if value > 1 and float(value).is_integer() else f"{value:.2f}"
    if value is not None and low is not None and high is not None:
        interval = f"[{low:.2f}, {high:.2f}]"
        if 0 <= low <= high <= 1 and 0 <= value <= 1:
            plot = (100 * value, 100 * low, 100 * high)
    return MeasureView(
        name=name,
        label=wording.label,
        value=number,
        interval=interval,
        base=f"{measured.scored} of {measured.asked} scored",
        meaning=wording.meaning,
        plot=plot,
    )


def _reference(
    case: Case, doc_id: str, number: int, spans: dict[str, Span], citations: Iterable[CitationView]
) -> ReferenceView:
    document = case.documents.get(doc_id)
    shown_id = one_line(doc_id)
    share = case.quality.get(doc_id)
    return ReferenceView(
        number=number,
        doc_id=doc_id,
        id=shown_id,
        title=(one_line(shown_title(document)) if document else "") or shown_id,
        passage_label=one_line(place_of(document)) if document else "",
        source=one_line(document.source) if document else "",
        url=web_address(document.url) if document else "",
        stance=_label(document),
        quality="" if share is None else f"predicted better than {share:.0%} of all passages",
        segments=cut(document.text, spans) if document else (),
        checks=tuple(_checks(case, doc_id)),
        cited_by=tuple(c for c in citations if c.number == number),
    )


def _undecided(case: Case, passage: Undecided) -> UndecidedView:
    document = case.documents.get(passage.doc_id)
    checks = [("Argues a side?", "", _verdict("relevance", passage.relevance))]
    checks += [
        (f"Serves {s}?", s, _verdict("stance", answer)) for s, answer in passage.stance.items()
    ]
    shown_id = one_line(passage.doc_id)
    return UndecidedView(
        id=shown_id,
        title=(one_line(shown_title(document)) if document else "") or shown_id,
        passage_label=one_line(place_of(document)) if document else "",
        url=web_address(document.url) if document else "",
        opening=shorten(one_line(document.text), _OPENING) if document else "",
        checks=tuple(
            CheckView(question, s, _unsure(verdict) if s or verdict.state == "no" else verdict)
            for question, s, verdict in checks
        ),
    )


def _unsure(verdict: VerdictView) -> VerdictView:
    """Return a verdict that was not decisive, without its yes or no."""
    if verdict.state == "unscored":
        return verdict
    word = "not sure enough"
    phrase = ", ".join(part for part in (word, verdict.probability, verdict.judge) if part)
    return replace(verdict, state="mixed", word=word, phrase=phrase)


def _label(document: Evidence | None) -> str:
    """Return the corpus's stance, with its topic."""
    if not isinstance(document, Argument) or document.stance is None:
        return ""
    topic = one_line(label_topic(document))
    return f"{document.stance}, on “{topic}”" if topic else document.stance


def _checks(case: Case, doc_id: str) -> Iterator[CheckView]:
    citing = [
        side
        for side in case.sides
        if any(c.doc_id == doc_id for s in side.response.sentences for c in s.citations)
    ]
    relevance = {str(side.side): side.relevance.get(doc_id) for side in citing}
    first, *others = relevance.values() or [None]
    if relevance and all(answer == first for answer in others):
        relevance = {"": first}
    for name, answer in relevance.items():
        yield CheckView("Argues a side?", name, _verdict("relevance", answer))
    for side in citing:
        verdict = _verdict("stance", side.stance.get(doc_id))
        yield CheckView(f"Serves {side.side}?", side.side, verdict)
