"""Perspectives on a question, and which of the best documents cover each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from pnyx.core.records import Evidence, Perspective, Question, judged_text
from pnyx.display.text import one_line
from pnyx.judging.answers import Judged, Unscored
from pnyx.judging.base import Judge, ask
from pnyx.judging.perspectives import ask_perspectives
from pnyx.search.perspectives import PerspectiveSource, perspectives_of
from pnyx.search.rows import question_row
from pnyx.web.api.rows import CoverageRow, CoveredRow, SupportRow
from pnyx.web.ask.address import document_link

if TYPE_CHECKING:
    from pnyx.judging.questions import Support
    from pnyx.web.rendering import Links


def cover(
    question: Question, source: PerspectiveSource, documents: Sequence[Evidence], judge: Judge
) -> CoverageRow:
    """Compare the retrieved documents with each perspective.

    One passage suffices (BERDS, App. A).
    """
    taken = perspectives_of(question, source)
    questions: list[Support] = []
    for document in documents:
        questions += ask_perspectives(document.id, judged_text(document), taken.perspectives)
    verdicts: dict[tuple[str, str], list[Judged | Unscored]] = {}
    for passage, answer in zip(questions, ask(judge, questions) if questions else [], strict=True):
        key = (passage.extra["perspective_id"], passage.extra["doc_id"])
        verdicts.setdefault(key, []).append(answer)
    rows = [_covered(perspective, documents, verdicts) for perspective in taken.perspectives]
    return CoverageRow(
        question=question_row(question),
        source=taken.source,
        perspectives=rows,
        documents=[document.id for document in documents],
        judge=judge.name if questions else "",
        card=judge.card if questions else "",
        problems=list(taken.problems),
        unscored=sum(row.asked - row.scored for row in rows) + bool(taken.failed),
    )


def _covered(
    perspective: Perspective,
    documents: Sequence[Evidence],
    verdicts: Mapping[tuple[str, str], Sequence[Judged | Unscored]],
) -> CoveredRow:
    supporting: list[SupportRow] = []
    scored = 0
    for document in documents:
        answers = verdicts.get((perspective.id, document.id), ())
        yes = [a for a in answers if isinstance(a, Judged) and a.value is True]
        if yes:
            stated = [a.probability for a in yes if a.probability is not None]
            supporting.append(SupportRow(id=document.id, probability=max(stated, default=None)))
        scored += bool(yes) or not any(isinstance(a, Unscored) for a in answers)
    without: Literal["missing", "unscored"] = "missing" if scored == len(documents) else "unscored"
    return CoveredRow(
        id=perspective.id,
        text=perspective.text,
        stance=perspective.stance,
        state="covered" if supporting else without,
        documents=supporting,
        scored=scored,
        asked=len(documents),
        taken_from=list(perspective.extra.get("documents", ())),
    )


def coverage_values(
    coverage: CoverageRow, links: Links, titles: Mapping[str, str]
) -> dict[str, Any]:
    """Return the template values of the coverage page; `titles` are those of its results, by id."""
    return {
        "views": coverage,
        "summary": _summary(coverage),
        "title_of": lambda doc_id: titles.get(doc_id) or one_line(doc_id),
        "link_to": lambda doc_id: document_link(links, doc_id, coverage.question.text),
    }


def _summary(coverage: CoverageRow) -> str:
    rows = coverage.perspectives
    if not rows:
        return "No perspectives on this question were found."
    counts = {s: sum(row.state == s for row in rows) for s in ("covered", "missing", "unscored")}
    text = f"The best {len(coverage.documents)} documents cover {counts['covered']} of {len(rows)}"
    text += f" perspectives, taken from {one_line(coverage.source)}"
    if counts["missing"]:
        text += f"; {counts['missing']} {'is' if counts['missing'] == 1 else 'are'} missing"
    if counts["unscored"]:
        text += f"; for {counts['unscored']} a verdict is missing"
    return text + "."
