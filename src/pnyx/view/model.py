"""What a page shows of a case: numbered, worded and cut once, for HTML and Markdown alike.

Everything here is text that is ready to be escaped and printed. References are numbered across
both sides in the order of their first citation; sentences are labelled P1, P2 ... and C1, C2 ...
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from urllib.parse import urlsplit

from pnyx.judge.answers import Answer, Judged
from pnyx.measure.base import Measured
from pnyx.records import Argument, Citation, Sentence
from pnyx.view.text import Segment, Span, cut, locate, one_line
from pnyx.view.wording import (
    SIDES,
    STATES,
    VERDICT_WORDS,
    Check,
    SideWording,
    State,
    StateWording,
    measure_wording,
    probability,
)
from pnyx.write.case import ArguedSide, Case

__all__ = [
    "CaseView",
    "CheckView",
    "CitationView",
    "GroupView",
    "MeasureView",
    "ReferenceView",
    "SentenceView",
    "SideView",
    "VerdictView",
    "view_case",
]


@dataclass(frozen=True, slots=True)
class VerdictView:
    """One verdict: its state, its word, and in `phrase` also who gave it with what probability."""

    state: State
    word: str
    probability: str
    judge: str
    reason: str
    phrase: str


@dataclass(frozen=True, slots=True)
class CitationView:
    """A citation of passage `number` by sentence `label`.

    Attributes:
        key: unique in the page, e.g. `pro-3-2`: side, sentence and passage.
        anchor: where the link leads: the evidence, or the passage where none was located.
        evidence: the marked words, on one line; empty where none was located.
    """

    number: int
    key: str
    anchor: str
    label: str
    sentence: str
    sentence_id: str
    verdict: VerdictView
    evidence: str


@dataclass(frozen=True, slots=True)
class SentenceView:
    """A sentence with its citations and what their verdicts come to."""

    id: str
    label: str
    text: str
    is_conclusion: bool
    state: State
    wording: StateWording
    citations: tuple[CitationView, ...]


@dataclass(frozen=True, slots=True)
class GroupView:
    """A conclusion with the premises given for it; None where premises stand alone."""

    conclusion: SentenceView | None
    premises: tuple[SentenceView, ...]


@dataclass(frozen=True, slots=True)
class MeasureView:
    """A figure with its interval and its base, and what it says in plain words.

    Attributes:
        plot: value, low and high in percent where all are shares in [0, 1]; else None.
    """

    name: str
    label: str
    value: str
    interval: str
    base: str
    meaning: str
    plot: tuple[float, float, float] | None


@dataclass(frozen=True, slots=True)
class SideView:
    """One side of the question."""

    side: str
    wording: SideWording
    groups: tuple[GroupView, ...]
    measures: tuple[MeasureView, ...]
    tally: tuple[tuple[State, StateWording, int], ...]
    sentences: int
    considered: int
    problems: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CheckView:
    """A verdict on a whole passage; `question` says what was asked, `side` for which side."""

    question: str
    side: str
    verdict: VerdictView


@dataclass(frozen=True, slots=True)
class ReferenceView:
    """A cited passage: where it is from, its text cut at its evidence, and all verdicts on it."""

    number: int
    id: str
    title: str
    source: str
    url: str
    stance: str
    segments: tuple[Segment, ...]
    checks: tuple[CheckView, ...]
    cited_by: tuple[CitationView, ...]


@dataclass(frozen=True, slots=True)
class CaseView:
    """A whole page."""

    question: str
    sides: tuple[SideView, ...]
    references: tuple[ReferenceView, ...]
    judges: tuple[tuple[str, str], ...]
    settings: tuple[tuple[str, str], ...]
    measures: tuple[MeasureView, ...]
    sentences: int
    citations: int
    scored: int
    undecided: int


def view_case(case: Case) -> CaseView:
    """Number, word and cut a case for showing; hostile text comes out harmless (not escaped)."""
    numbers = _numbers(case)
    spans = {doc_id: _spans(case, doc_id, number) for doc_id, number in numbers.items()}
    sides = tuple(_side(case, side, numbers, spans) for side in case.sides)
    citations = [c for view in sides for s in _sentences(view) for c in s.citations]
    known = {m.name: m for view in sides for m in view.measures}
    return CaseView(
        question=one_line(case.question.text) or "(no question)",
        sides=sides,
        references=tuple(
            _reference(case, doc_id, number, spans[doc_id], citations)
            for doc_id, number in numbers.items()
        ),
        judges=_pairs(case.judges.items()),
        settings=_pairs(case.settings.items()),
        measures=tuple(known.values()),
        sentences=sum(view.sentences for view in sides),
        citations=len(citations),
        scored=sum(c.verdict.state != "unscored" for c in citations),
        undecided=case.undecided,
    )


def _pairs(items: Iterable[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    return tuple((one_line(str(name)), one_line(str(value))) for name, value in items)


def _sentences(side: SideView) -> Iterator[SentenceView]:
    for group in side.groups:
        if group.conclusion is not None:
            yield group.conclusion
        yield from group.premises


def _citations(sentence: Sentence) -> tuple[Citation, ...]:
    """Return a sentence's citations, each document once."""
    return tuple({c.doc_id: c for c in reversed(sentence.citations)}.values())[::-1]


def _numbers(case: Case) -> dict[str, int]:
    """Document id -> reference number, in the order of first citation across the sides."""
    numbers: dict[str, int] = {}
    for side in case.sides:
        for sentence in side.response.sentences:
            for citation in _citations(sentence):
                numbers.setdefault(citation.doc_id, len(numbers) + 1)
    return numbers


def _key(side: ArguedSide, position: int, number: int) -> str:
    return f"{side.side}-{position + 1}-{number}"


def _spans(case: Case, doc_id: str, number: int) -> dict[str, Span]:
    """Citation key -> where its evidence stands in the document; citations without any left out."""
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
        return VerdictView("unscored", "unscored", "", "", "not asked", "unscored: not asked")
    judge = one_line(answer.provenance.judge)
    if not isinstance(answer, Judged):
        reason = one_line(answer.reason) or "no reason given"
        phrase = f"unscored: {reason}, {judge}"
        return VerdictView("unscored", "unscored", "", judge, reason, phrase)
    word = VERDICT_WORDS[check][0 if answer.value else 1]
    stated = probability(answer.probability)
    return VerdictView(
        state="yes" if answer.value else "no",
        word=word,
        probability=stated,
        judge=judge,
        reason=one_line(answer.explanation),
        phrase=", ".join(part for part in (word, stated, judge) if part),
    )


def _state(verdicts: Iterable[VerdictView]) -> State:
    states = {verdict.state for verdict in verdicts}
    if not states:
        return "uncited"
    return states.pop() if len(states) == 1 else "mixed"


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
        wording=SIDES[side.side],
        groups=_groups(sentences),
        measures=tuple(_measure(name, m) for name, m in side.measures.items()),
        tally=tuple(entry for entry in counted if entry[2]),
        sentences=len(sentences),
        considered=side.considered,
        problems=tuple(one_line(problem) for problem in side.problems),
    )


def _groups(sentences: Iterable[SentenceView]) -> tuple[GroupView, ...]:
    groups: list[tuple[SentenceView | None, list[SentenceView]]] = []
    for sentence in sentences:
        if sentence.is_conclusion:
            groups.append((sentence, []))
        elif groups:
            groups[-1][1].append(sentence)
        else:
            groups.append((None, [sentence]))
    return tuple(GroupView(conclusion, tuple(premises)) for conclusion, premises in groups)


def _sentence(
    case: Case,
    side: ArguedSide,
    position: int,
    numbers: dict[str, int],
    spans: dict[str, dict[str, Span]],
) -> SentenceView:
    sentence = side.response.sentences[position]
    text = one_line(sentence.text)
    label = f"{SIDES[side.side].letter}{position + 1}"
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
    state = _state(c.verdict for c in citations)
    is_conclusion = sentence.extra.get("role") == "conclusion"
    return SentenceView(
        sentence_id, label, text, is_conclusion, state, STATES[state], tuple(citations)
    )


def _measure(name: str, measured: Measured) -> MeasureView:
    wording = measure_wording(name)
    value, low, high = measured.value, measured.low, measured.high
    count = wording.kind == "count"
    interval, plot = "", None
    if value is not None and low is not None and high is not None:
        interval = f"[{low:.2f}, {high:.2f}]"
        if 0 <= low <= high <= 1 and 0 <= value <= 1:
            plot = (100 * value, 100 * low, 100 * high)
    return MeasureView(
        name=name,
        label=wording.label,
        value="unscored" if value is None else f"{value:.0f}" if count else f"{value:.2f}",
        interval=interval,
        base=f"{measured.scored} of {measured.asked} scored",
        meaning=wording.meaning,
        plot=plot,
    )


def _reference(
    case: Case,
    doc_id: str,
    number: int,
    spans: dict[str, Span],
    citations: Iterable[CitationView],
) -> ReferenceView:
    document = case.documents.get(doc_id)
    shown_id = one_line(doc_id)
    stance = document.stance if isinstance(document, Argument) else None
    return ReferenceView(
        number=number,
        id=shown_id,
        title=(one_line(document.title) if document else "") or shown_id,
        source=one_line(document.source) if document else "",
        url=_web_address(document.url) if document else "",
        stance=stance or "",
        segments=cut(document.text, spans) if document else (),
        checks=tuple(_checks(case, doc_id)),
        cited_by=tuple(c for c in citations if c.number == number),
    )


def _web_address(url: str) -> str:
    """Return a link target that only ever leads to a web page; empty for anything else."""
    url = one_line(url)
    try:
        parts = urlsplit(url)
    except ValueError:
        return ""
    return url if parts.scheme in ("http", "https") and parts.netloc and " " not in url else ""


def _checks(case: Case, doc_id: str) -> Iterator[CheckView]:
    citing = [s for s in case.sides if any(_cites(x, doc_id) for x in s.response.sentences)]
    relevance = {side.side: side.relevance.get(doc_id) for side in citing}
    if len(set(map(repr, relevance.values()))) == 1:
        answer = next(iter(relevance.values()))
        yield CheckView("Helps to answer the question?", "", _verdict("relevance", answer))
    else:
        for side in citing:
            verdict = _verdict("relevance", relevance[side.side])
            yield CheckView("Helps to answer the question?", side.side, verdict)
    for side in citing:
        verdict = _verdict("stance", side.stance.get(doc_id))
        yield CheckView(f"Serves {side.side}?", side.side, verdict)


def _cites(sentence: Sentence, doc_id: str) -> bool:
    return any(citation.doc_id == doc_id for citation in sentence.citations)
