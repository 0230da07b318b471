"""What `pnyx argue` produces: both sides of one question, cited and judged, ready to be shown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from html import escape
from pathlib import Path
from typing import Any, Protocol

from pnyx._version import __version__
from pnyx.errors import shorten
from pnyx.judge.answers import Answer, Judged, is_quoted, verdict_fields
from pnyx.judge.naming import introduced
from pnyx.judge.statements import side_names, statements_of
from pnyx.measure.core.base import Measured, Result
from pnyx.records import SIDES, Citation, Evidence, Question, Response, Sentence, Side, document_id
from pnyx.search.plan import CERTAINTY
from pnyx.search.topics import LabelledTopic, near_topics
from pnyx.write.placing import Expected, chance
from pnyx.write.plan import HELD
from pnyx.write.weighing import Weighing


@dataclass(frozen=True, slots=True)
class ArguedSide:
    """One side of the question: its argument, and what the judges say of each part.

    Attributes:
        side: `pro` answers the question with yes, `con` with no.
        response: the argument; each sentence's `extra["role"]` is `conclusion` or `premise`.
        support: for each (sentence position, cited document id): does the document support it?
        relevance: for each cited document id: does it help to answer the question?
        stance: for each cited document id: does it serve this side?
        measures: name -> value, in the order to show (`sentence_precision`, ...).
        considered: how many retrieved documents were put on this side.
        filled: ids of documents that are quoted although they are less sure: a sentence that cites
            no other is shown apart and counts as not argued.
        less_sure: documents that are likelier on this side than on the other, but not as surely as
            was asked for: not argued with; the likeliest first.
        problems: what was removed or went wrong while writing, one line each, for people.
        failed: there was evidence, but the writer gave nothing usable.
    """

    side: Side
    response: Response
    support: Mapping[tuple[int, str], Answer]
    relevance: Mapping[str, Answer]
    stance: Mapping[str, Answer]
    measures: Mapping[str, Measured]
    considered: int
    filled: frozenset[str] = frozenset()
    problems: tuple[str, ...] = ()
    failed: bool = False
    less_sure: tuple[Undecided, ...] = ()

    def argues(self, sentence: Sentence) -> bool:
        """Tell whether a sentence is argued: where some are less sure, it cites one that is not."""
        cited = {citation.doc_id for citation in sentence.citations}
        return not self.filled or not cited <= self.filled

    @property
    def confident(self) -> tuple[bool, ...]:
        """For each sentence, whether it is argued, and its conclusion as well."""
        found: list[bool] = []
        point = True
        for sentence in self.response.sentences:
            argued = self.argues(sentence)
            if not found or sentence.extra.get("role") == "conclusion":
                point = argued
            found.append(point and argued)
        return tuple(found)

    @property
    def argued(self) -> bool:
        """Whether anything is argued for this side, not only quoted as less sure."""
        return any(map(self.argues, self.response.sentences))


@dataclass(frozen=True, slots=True)
class Undecided:
    """A document about the question whose side is not sure enough, with the verdicts on it."""

    doc_id: str
    relevance: Answer
    stance: Mapping[Side, Answer]


@dataclass(frozen=True, slots=True, repr=False)
class Case(Result):
    """A question with its argued sides; a notebook shows both, `render_html` has everything.

    Attributes:
        question: as asked.
        sides: those asked for, pro before con; one without evidence has no sentences.
        documents: every cited, less sure or undecided document by id.
        judges: judge name -> its card, one line on how far it can be trusted.
        settings: label -> value, how this was made (index, model, writer, version, date).
        quality: document id -> share of the index's documents of lower predicted quality, in
            [0, 1]; empty where the index does not know it.
        undecided: documents about the question that lean to none of these sides.
        about: how many retrieved documents are about the question, on whatever side; not those with
            a verdict missing.
        certainty: the least probability of a side with which a document is argued with.
        held: the least probability that a side has a document at all.
        expected_about: how many retrieved documents are about the question by their probabilities.
        passed_over: how many retrieved documents are not about the question.
        unscored: on how many retrieved documents a verdict on relevance or stance is missing.
        unscored_reason: why, for most of these; empty where none is missing.
        search_problems: what a reader must know of the search, one line each.
        search_unscored: how many questions of the search to a judge or model have no answer.
        question_notes: what a reader must know of the question, one line each.
        topics: what the labels of the retrieved documents are on, and whether they count.
        weighed: how much a language model counted in telling sides; None where none was asked.
    """

    question: Question
    sides: tuple[ArguedSide, ...]
    documents: Mapping[str, Evidence]
    judges: Mapping[str, str]
    settings: Mapping[str, str] = field(default_factory=dict)
    quality: Mapping[str, float] = field(default_factory=dict)
    undecided: tuple[Undecided, ...] = ()
    about: int = 0
    expected_about: Expected = Expected()  # noqa: RUF009 - frozen
    certainty: float = CERTAINTY
    held: float = HELD
    passed_over: int = 0
    unscored: int = 0
    unscored_reason: str = ""
    search_problems: tuple[str, ...] = ()
    search_unscored: int = 0
    question_notes: tuple[str, ...] = ()
    topics: tuple[LabelledTopic, ...] = ()
    weighed: Weighing | None = None

    @property
    def claims(self) -> tuple[str, str]:
        """What pro and what con says: the question with "Yes." and "No.", or claims of its own."""
        return statements_of(self.question)

    @property
    def names(self) -> Mapping[Side, str]:
        """What follows "the case for": side -> "yes" or "no", an alternative, or a claim."""
        return dict(zip(SIDES, side_names(self.question), strict=True))

    @property
    def pro(self) -> ArguedSide | None:
        """The side that answers the question with yes; None where it was not asked for."""
        return self._side("pro")

    @property
    def con(self) -> ArguedSide | None:
        """The side that answers the question with no; None where it was not asked for."""
        return self._side("con")

    def _side(self, name: Side) -> ArguedSide | None:
        return next((side for side in self.sides if side.side == name), None)

    def save(self, path: str | Path) -> None:
        """Write the case as `pnyx argue` does, all or nothing: .html, .md or .json by its name.

        That is `render_html`, `render_markdown`, or `render_json`, which is what `--json` prints.

        Raises:
            InputError: the name ends in none of these.
            PnyxError: the file cannot be written.
        """
        from pnyx.view.case_files import save_case

        save_case(self, path)

    def rows(self) -> list[dict[str, Any]]:
        """Return one flat object for each citation of a sentence, with its verdict of support.

        `confident` is False for a sentence that is quoted, but not argued: its passages are less
        certain to be on the question and on this side.
        """
        return [
            {
                "side": side.side,
                "sentence": place,
                "role": sentence.extra.get("role"),
                "confident": confident,
                "text": sentence.text,
                "doc_id": doc_id or None,
                "document": document and document_id(document),
                "passage": document and document.passage and document.passage.number,
                "supported": getattr(answer, "value", None),
                "probability": getattr(answer, "probability", None),
            }
            for side in self.sides
            for place, (sentence, confident) in enumerate(
                zip(side.response.sentences, side.confident, strict=True)
            )
            for doc_id in [citation.doc_id for citation in sentence.citations] or [""]
            for answer in [side.support.get((place, doc_id))]
            for document in [self.documents.get(doc_id)]
        ]

    def _repr_html_(self) -> str:
        parts = [f"<h4>{_safe(self.question.text)}</h4>"]
        for side in self.sides:
            parts.append(f"<p><b>The case for {_safe(self.names[side.side])}</b></p>")
            marked = zip(side.response.sentences, side.confident, strict=True)
            lines = "".join(
                f"<li>{'' if sure else 'Less sure: '}{_shown(s)}</li>" for s, sure in marked
            )
            parts.append(f"<ul>{lines}</ul>" if lines else f"<p>{_safe(why_empty(self, side))}</p>")
        judges = (f"Judge {line}" for line in introduced(self.judges))
        return "".join([*parts, *(f"<p><small>{_safe(each)}</small></p>" for each in judges)])

    @property
    def least(self) -> str:
        """What a passage and a side must have to be argued with, in words."""
        return f"certainty {self.certainty:g} of a passage, {self.held:g} of the side as a whole"

    @property
    def near_topics(self) -> tuple[LabelledTopic, ...]:
        """Topics that the question may mean, where labels on none count."""
        return near_topics(self.topics)

    @property
    def complete(self) -> bool:
        """Every verdict was given, and every side that had evidence was written."""
        written = not any(side.failed for side in self.sides)
        missing = self.unscored + self.search_unscored
        return written and missing == 0 and not any(r["unscored"] for r in verdict_rows(self))


def _shown(sentence: Sentence) -> str:
    cited = ", ".join(citation.doc_id for citation in sentence.citations)
    text = f"<b>{_safe(sentence.text)}</b>" * (sentence.extra.get("role") == "conclusion")
    return (text or _safe(sentence.text)) + (f" <small>[{_safe(cited)}]</small>" if cited else "")


def _safe(text: str) -> str:
    return escape(shorten(text, 2000))


def with_settings(case: Case, **more: str) -> Case:
    """Add what only the caller knows (which index), and the version."""
    return replace(case, settings={**more, **case.settings, "version": f"pnyx {__version__}"})


def why_empty(case: Case, side: ArguedSide) -> str:
    """Say why nothing is argued for a side, in a sentence or two; empty where something is."""
    if side.argued:
        return ""
    if side.response.sentences:
        return (
            f"Nothing that was found for this side is sure enough to argue with ({case.least}); "
            "what may serve it is quoted as less sure."
        )
    if side.considered:
        fault = "the writer gave nothing usable" if side.failed else "no sentence could be drawn"
        return f"{passages(side.considered).capitalize()} served this side, but {fault}."
    said = "Nothing about the question was found."
    if side.less_sure:
        said = (
            f"Nothing that was found for this side is sure enough to argue with ({case.least}): "
            f"{passages(len(side.less_sure))} may serve it, listed as less sure."
        )
    elif case.about:
        said = (
            f"Nothing was found for this side. {passages(case.about).capitalize()} about the "
            f"question {'serves' if case.about == 1 else 'serve'} the other side, or neither."
        )
    elif case.unscored:
        said = "Nobody can say whether anything serves this side."
    if case.unscored:
        reason = shorten(" ".join(case.unscored_reason.split()), 200)
        said += f" On {passages(case.unscored)} a verdict is missing: {reason}."
    return said


def passages(count: int) -> str:
    """Return how many, in words; begins with a small letter."""
    return "one passage" if count == 1 else f"{count} passages"


def submitted_response(
    side: ArguedSide, *, scores: bool = False, include_doubtful: bool = False
) -> Response:
    """Return a side's response as it is written to a file.

    Each sentence says whether it is `confident`, and its `confidence`: cited document id -> the
    probabilities that the document is `on_the_question` and `on_this_side`; None where none is
    stated, as for labels of the corpus. Sentences that are not confident, and citations of
    documents that are less certain, are left out unless `include_doubtful`. With `scores`, a
    citation's score is its probability of support.
    """
    response = with_scores(side.response, side.support) if scores else side.response
    sentences = []
    for sentence, confident in zip(response.sentences, side.confident, strict=True):
        if not (confident or include_doubtful):
            continue
        if not include_doubtful:
            kept = tuple(c for c in sentence.citations if c.doc_id not in side.filled)
            sentence = replace(sentence, citations=kept)
        marks = {"confident": confident, "confidence": _confidence(side, sentence)}
        sentences.append(replace(sentence, extra={**sentence.extra, **marks}))
    cited = {citation.doc_id for sentence in sentences for citation in sentence.citations}
    return replace(
        response,
        sentences=tuple(sentences),
        references=tuple(doc_id for doc_id in response.references if doc_id in cited),
        documents={d: document for d, document in response.documents.items() if d in cited},
    )


def _confidence(side: ArguedSide, sentence: Sentence) -> dict[str, dict[str, float | None]]:
    return {
        citation.doc_id: {
            "on_the_question": chance(side.relevance.get(citation.doc_id)),
            "on_this_side": chance(side.stance.get(citation.doc_id)),
        }
        for citation in sentence.citations
    }


def with_scores(response: Response, support: Mapping[tuple[int, str], Answer]) -> Response:
    """Return a response with each citation's probability of support as its score."""

    def scored(place: int, citation: Citation) -> Citation:
        answer = support.get((place, citation.doc_id))
        if is_quoted(answer):
            return replace(citation, score=1.0)
        return replace(citation, score=answer.probability if isinstance(answer, Judged) else None)

    sentences = (
        replace(one, citations=tuple(scored(place, c) for c in one.citations))
        for place, one in enumerate(response.sentences)
    )
    return replace(response, sentences=tuple(sentences))


def verdict_rows(case: Case) -> Iterator[dict[str, Any]]:
    """Yield every verdict shown in a case as a line of `answers.jsonl` (docs/formats.md).

    `side` and `doc_id` name what was judged, and `sentence` (0-based) for `support`.
    """
    for side in case.sides:
        run = side.response.run_id
        for (place, doc_id), answer in side.support.items():
            row = _row(case, side, "support", f"{run}/{place}/{doc_id}", doc_id, answer)
            yield {**row, "sentence": place}
        for task, answers in (("relevance", side.relevance), ("stance", side.stance)):
            for doc_id, answer in answers.items():
                yield _row(case, side, task, f"{run}/{task}/{doc_id}", doc_id, answer)


def _row(
    case: Case, side: ArguedSide, task: str, row_id: str, doc_id: str, answer: Answer
) -> dict[str, Any]:
    return {
        "id": f"{case.question.id}/{row_id}",
        "task": task,
        "group": case.question.id,
        "dimension": None,
        **verdict_fields(answer),
        "side": side.side,
        "doc_id": doc_id,
    }


@dataclass(frozen=True, slots=True)
class Draft:
    """One side's argument as written, its sentences in reading order."""

    sentences: tuple[Sentence, ...]
    problems: tuple[str, ...] = ()  # for people
    failed: bool = False  # whether the writer gave nothing usable
    quotes: bool = False  # whether sentences are taken whole: no judge is needed


class Writer(Protocol):
    """Argues one side of a question from the given documents, citing them."""

    @property
    def name(self) -> str: ...  # noqa: D102

    async def write(self, question: Question, side: Side, documents: Sequence[Evidence]) -> Draft:
        """Write the argument for `side` from `documents` (best first), citing their ids."""


def sentence(role: str, text: str, citations: Iterable[str]) -> Sentence:
    """Return a `conclusion`, which opens a point, or a `premise`, a reason for it."""
    return Sentence(text, tuple(Citation(c) for c in dict.fromkeys(citations)), {"role": role})
