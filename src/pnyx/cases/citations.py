"""Citations of a written argument: invalid ones are removed, the others judged and written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from pnyx.cases.case import ArguedSide, Draft, likelihood, warning
from pnyx.cases.side_choice import chance
from pnyx.core.errors import shorten
from pnyx.core.records import Citation, Evidence, Response, Sentence, judged_text
from pnyx.formats.text.citations import without_notes
from pnyx.formats.text.segment import split_sentences
from pnyx.judging.answers import QUOTED, Answer, Judged, is_quoted
from pnyx.judging.base import Judge, ask_async
from pnyx.judging.judge_names import short_name
from pnyx.judging.questions import Support


def without_foreign_citations(draft: Draft, allowed: set[str]) -> Draft:
    """Remove citations of documents the writer was not given, and report each."""
    sentences: list[Sentence] = []
    removed: list[str] = []
    for sentence in draft.sentences:
        removed += [c.doc_id for c in sentence.citations if c.doc_id not in allowed]
        citations = tuple(c for c in sentence.citations if c.doc_id in allowed)
        sentences.append(replace(sentence, citations=citations))
    problem = "removed a citation of {}, which the writer was not given"
    problems = (*draft.problems, *(problem.format(shorten(doc_id)) for doc_id in removed))
    return replace(draft, sentences=tuple(sentences), problems=problems)


def strongest_first(draft: Draft, strengths: Mapping[str, float]) -> Draft:
    """Return a draft of quotations with the points of the strongest documents first.

    Args:
        draft: each point is a conclusion and the premises after it.
        strengths: cited document id -> how likely it argues the side, in [0, 1].
    """
    points: list[list[Sentence]] = []
    for sentence in draft.sentences:
        if not points or sentence.extra.get("role") == "conclusion":
            points.append([])
        points[-1].append(sentence)

    def strength(point: list[Sentence]) -> float:
        return max((strengths[c.doc_id] for s in point for c in s.citations), default=0.0)

    ordered = sorted(points, key=strength, reverse=True)
    return replace(draft, sentences=tuple(s for point in ordered for s in point))


def said_of_citations(judge: str, writer: str, *, quotes: bool) -> str:
    """Say who judged citations against what text; with the names of judge and writer."""
    if quotes:
        return "quoted verbatim, so no judge is needed"
    also = writer == judge or writer.startswith(f"{judge} (")
    who = short_name(judge) + (", which also wrote the text" if also else "")
    return f"judged by {who}, each against the whole cited passage with its title"


def quoted(response: Response, support: Mapping[tuple[int, str], Answer]) -> int:
    """Return the number of sentences that only quote; no measure counts them."""
    return sum(
        bool(sentence.citations)
        and all(is_quoted(support.get((position, c.doc_id))) for c in sentence.citations)
        for position, sentence in enumerate(response.sentences)
    )


async def judge_citations(
    question: str,
    response: Response,
    read: Mapping[str, Evidence],
    judge: Judge,
    *,
    quotes: bool,
) -> dict[tuple[int, str], Answer]:
    """Return (sentence, document id) -> the answer; a quotation in its passage needs no judge."""
    keys = [
        (position, citation.doc_id)
        for position, sentence in enumerate(response.sentences)
        for citation in sentence.citations
    ]
    answers_by_citation: dict[tuple[int, str], Answer] = {}
    questions: dict[tuple[int, str], Support] = {}
    for position, doc_id in keys:
        statement, text = response.sentences[position].text, judged_text(read[doc_id])
        if quotes and (evidence := _quoted(statement, text)):
            answers_by_citation[position, doc_id] = Judged(True, QUOTED, evidence=evidence)
            continue
        questions[position, doc_id] = Support(
            id=f"{response.run_id}-{position}-{doc_id}",
            text=text,
            statement=statement,
            question=question,
            group=response.topic_id,
            cites=True,
        )
    answers = await ask_async(judge, list(questions.values()))
    return answers_by_citation | dict(zip(questions, answers, strict=True))


def _quoted(statement: str, text: str) -> str:
    """Return the statement as it occurs in a text, with its footnote marks.

    Empty if it does not.
    """
    if not statement or statement in text:
        return statement
    raw = split_sentences(text)
    return next(
        (raw_sentence for raw_sentence in raw if without_notes(raw_sentence) == statement), ""
    )


def submitted_response(side: ArguedSide, *, scores: bool = False) -> Response:
    """Return a side's response as it is written to a file.

    Each sentence has its `confidence`: cited document id -> the probabilities that the document
    argues any side of the question (`on_the_question`), this one if any (`on_this_side`), and this
    one (`argues_this_side`), None where none is stated, and the last in words (`likelihood`). The
    metadata holds `side_probability`, how likely the documents argue this side at all, and a
    `warning` where that is low. With `scores`, a citation's score is its probability of support.
    """
    response = with_scores(side.response, side.support) if scores else side.response
    sentences = tuple(
        replace(sentence, extra={**sentence.extra, "confidence": _confidence(side, sentence)})
        for sentence in response.sentences
    )
    stated = {} if side.likely is None else {"side_probability": round(side.likely, 6)}
    warned = {"warning": warning(side)} if side.doubtful else {}
    metadata = {**response.metadata, **stated, **warned}
    return replace(response, sentences=sentences, metadata=metadata)


def _confidence(side: ArguedSide, sentence: Sentence) -> dict[str, dict[str, float | str | None]]:
    return {
        citation.doc_id: {
            "on_the_question": chance(side.relevance.get(citation.doc_id)),
            "on_this_side": chance(side.stance.get(citation.doc_id)),
            "argues_this_side": side.chances.get(citation.doc_id),
            "likelihood": likelihood(side.chances.get(citation.doc_id)),
        }
        for citation in sentence.citations
    }


def with_scores(response: Response, support: Mapping[tuple[int, str], Answer]) -> Response:
    """Return a response with each citation's probability of support as its score."""

    def scored(position: int, citation: Citation) -> Citation:
        answer = support.get((position, citation.doc_id))
        if is_quoted(answer):
            return replace(citation, score=1.0)
        return replace(citation, score=answer.probability if isinstance(answer, Judged) else None)

    sentences = (
        replace(sentence, citations=tuple(scored(position, c) for c in sentence.citations))
        for position, sentence in enumerate(response.sentences)
    )
    return replace(response, sentences=tuple(sentences))
