"""Perspectives on a question beside the documents that cover them: what the page shows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from pnyx.serve.asking.address import document_link
from pnyx.view.text import one_line

if TYPE_CHECKING:
    from pnyx.serve.asking.finding import Coverage, Covered
    from pnyx.serve.asking.views import ResultView
    from pnyx.serve.rendering import Links

_SIDES: Final = {"pro": "For", "con": "Against", "neutral": "Neither"}
_LONGEST: Final = 600
_ELSEWHERE: Final = 1


@dataclass(frozen=True, slots=True)
class HitView:
    """A document that covers a perspective, by its rank; `title` with the probability."""

    rank: int
    href: str
    title: str


@dataclass(frozen=True, slots=True)
class PerspectiveView:
    """A perspective; `state` is `covered`, `missing` or `unscored`.

    `elsewhere` are documents of the index that say it and are not among those shown.
    """

    side: str
    side_word: str
    text: str
    state: str
    covered: tuple[HitView, ...]
    elsewhere: tuple[HitView, ...]
    counted: str


@dataclass(frozen=True, slots=True)
class CoverageView:
    """Perspectives with a line that sums them up and who told."""

    said: str
    rows: tuple[PerspectiveView, ...]
    judge: str
    problems: tuple[str, ...]


def coverage_view(found: Coverage, links: Links, results: Mapping[str, ResultView]) -> CoverageView:
    """Return what is shown; `results` are those of the page by document id."""
    rows = tuple(_row(one, found, links, results) for one in found.perspectives)
    return CoverageView(
        said=_said(found, rows),
        rows=rows,
        judge=f"Told by {one_line(found.judge)}: {one_line(found.card)}" if found.judge else "",
        problems=tuple(map(one_line, found.problems)),
    )


def _said(found: Coverage, rows: tuple[PerspectiveView, ...]) -> str:
    if not rows:
        return "No perspectives on this question were found."
    counts = {s: sum(row.state == s for row in rows) for s in ("covered", "missing", "unscored")}
    said = f"The best {len(found.doc_ids)} documents cover {counts['covered']} of {len(rows)}"
    said += f" perspectives, taken from {one_line(found.source)}"
    if counts["missing"]:
        said += f"; {counts['missing']} {'is' if counts['missing'] == 1 else 'are'} missing"
    if counts["unscored"]:
        said += f"; on {counts['unscored']} a verdict is missing"
    return said + "."


def _row(
    one: Covered, found: Coverage, links: Links, results: Mapping[str, ResultView]
) -> PerspectiveView:
    ranks = {doc_id: rank for rank, doc_id in enumerate(found.doc_ids, start=1)}
    question = found.question.text
    covered = sorted((ranks[d], d, p) for d, p in one.documents.items())
    known = one.perspective.extra.get("documents")
    others = [d for d in known if isinstance(d, str)] if isinstance(known, list) else []
    elsewhere = [d for d in others if d not in ranks][:_ELSEWHERE] if not covered else []
    stance = one.perspective.stance or ""
    return PerspectiveView(
        side=stance if stance in ("pro", "con") else "",
        side_word=_SIDES.get(stance, "Side unknown"),
        text=one_line(one.perspective.text)[:_LONGEST],
        state=one.state,
        covered=tuple(
            HitView(rank, _link(links, d, question, results), _titled(d, p, results))
            for rank, d, p in covered
        ),
        elsewhere=tuple(
            HitView(0, document_link(links, d, question), "the document that says it")
            for d in elsewhere
        ),
        counted=f"{one.scored} of {one.asked} documents have a verdict",
    )


def _link(links: Links, doc_id: str, question: str, results: Mapping[str, ResultView]) -> str:
    return results[doc_id].href if doc_id in results else document_link(links, doc_id, question)


def _titled(doc_id: str, p: float | None, results: Mapping[str, ResultView]) -> str:
    title = results[doc_id].title if doc_id in results else one_line(doc_id)
    return title if p is None else f"{title} (p = {p:.2f})"
