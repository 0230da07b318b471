"""Formats for judging an argument together with its documents (ConQRet, Table 3, Appendix D).

They rate the same dimensions, each on its own scale (docs/explain/decisions/rag-formats.md).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Any

from pnyx.judging.answers import Answer, Judged, Missing, Unscored, notes_on_reading
from pnyx.judging.dimensions import dimensions_of
from pnyx.judging.formats import JudgingFormat, Part
from pnyx.judging.questions import Preference, Rating
from pnyx.judging.rag.groundedness import SUPPORT_FORMAT
from pnyx.judging.votes import provenance_of

NUGGETS = 20
"""Number of points in a rubric that is generated for the question (Appendix D.4, D.5)."""

RAG_DIMENSIONS = ("context_relevance", "answer_relevance", "groundedness", "preference")
"""The RAG triad and the preference between two arguments."""

SEEN: Mapping[str, frozenset[str]] = {
    "context_relevance": frozenset({"documents"}),
    "answer_relevance": frozenset({"argument"}),
    "groundedness": frozenset({"documents", "argument"}),
}
"""Dimension -> what its value depends on besides the question."""

_OVERALL = "overall"


def dimensions_for(argument: str, other: str) -> tuple[str, ...]:
    """Return the dimensions that can be rated for these arguments (empty: no argument)."""
    if not argument:
        return RAG_DIMENSIONS[:1]
    return RAG_DIMENSIONS if other else RAG_DIMENSIONS[:3]


# --- the questions


def _scaled(low: float, high: float, nuggets: int = 0) -> Callable[[Rating], Rating]:
    """Return a function that sets the scale of a question."""
    return lambda question: replace(question, scale=(low, high), nuggets=nuggets)


def _with_quality(question: Rating) -> Rating:
    """Also ask for the 15 dimensions of argument quality, unless the item names its own."""
    shaped = replace(question, scale=(0, 5))
    usual = dimensions_for(question.text, question.other)
    if not question.text or question.dimensions != usual:
        return shaped
    return replace(shaped, dimensions=(*usual, *dimensions_of("quality")))


def _about(question: Rating, name: str) -> Rating:
    """Return the question about one dimension, with only the texts that this is about."""
    narrowed = replace(question, dimensions=(name,), other="", turned=False)
    if name == "context_relevance":
        return replace(narrowed, text="")
    return replace(narrowed, documents=()) if name == "answer_relevance" else narrowed


def _preferring(question: Rating, criterion: str, rubric: Sequence[str] = ()) -> Preference:
    side = f"\nThe side to be argued: {question.stance}." if question.stance and criterion else ""
    return Preference(
        id=question.id,
        a=question.text,
        b=question.other,
        question=question.question,
        criterion=criterion + side,
        documents=question.documents,
        group=question.group,
        rubric=tuple(rubric),
    )


def _by_metric(
    preference: Callable[[Rating], Part],
    rubric: Callable[[Rating, str], Sequence[str]] | None = None,
) -> Callable[[Rating], list[Part]]:
    """Ask for each dimension separately, and for the preference of two in both orders."""

    def parts(question: Rating) -> list[Part]:
        result = []
        for name in question.dimensions:
            if name != "preference":
                points = tuple(rubric(question, name)) if rubric else ()
                result.append(Part(replace(_about(question, name), rubric=points)))
            elif question.other:
                result.append(preference(question))
        return result

    return parts


def _criteria(question: Rating, name: str) -> list[str]:
    return list(dimensions_of(question.task)[name].criteria.values())


def _directly(question: Rating) -> Part:
    criterion = dimensions_of(question.task)["preference"].definition
    return Part(_preferring(question, criterion), "preference")


def _in_steps(question: Rating) -> Part:
    steps = enumerate(dimensions_of(question.task)["preference"].steps, 1)
    criterion = "Go through these steps:\n" + "\n".join(f"{n}. {step}" for n, step in steps)
    return Part(_preferring(question, criterion), "preference")


def _by_criteria(question: Rating) -> Part:
    rubric = _criteria(question, "preference")
    return Part(_preferring(question, "", rubric), "preference-points")


def _by_nuggets(question: Rating) -> Part:
    return Part(_preferring(question, "", question.rubric), "preference-points")


def _both_orders(question: Rating) -> list[Part]:
    """Ask about two arguments twice, with the other one first the second time."""
    parts = [Part(question)]
    return [*parts, Part(replace(question, turned=True))] if question.other else parts


def _one_by_one(question: Rating) -> list[Part]:
    """Rate each argument separately: the one with the higher overall quality is better."""
    rated = tuple(name for name in question.dimensions if name != "preference")
    rating = replace(question, dimensions=rated, other="")
    if "preference" not in question.dimensions or not question.other:
        return [Part(rating)] if rated else []
    if _OVERALL not in rated:
        rating = replace(rating, dimensions=(*rated, _OVERALL))
    return [Part(rating), Part(replace(rating, text=question.other))]


# --- combining the answers


@dataclass(slots=True)
class _DimensionVerdict:
    """The result on one dimension, in one order or in both."""

    cells: list[Any]
    notes: dict[str, Any]
    reason: str = ""


def _joined(question: Rating, answers: Sequence[Answer], judge: str) -> Answer:
    """Return one rating: the mean of both orders, or a tie if they disagree."""
    by_name: dict[str, _DimensionVerdict] = {}
    for answer in answers:
        part: Any = answer.question
        if isinstance(part, Preference):
            if isinstance(answer, Unscored):
                cell: Any = Missing(answer.reason)
            else:
                cell = question.preference(str(answer.value))
            _take(by_name, "preference", cell, answer, flat=True)
            continue
        for name, cell in zip(part.dimensions, part.votes(answer), strict=True):
            _take(by_name, name, cell, answer)
    cells = [_cell(question, name, by_name.get(name)) for name in question.dimensions]
    return _composed(question, cells, by_name, answers, judge)


def _take(
    by_name: dict[str, _DimensionVerdict],
    name: str,
    cell: Any,
    answer: Answer,
    *,
    flat: bool = False,
) -> None:
    """Record an answer's content on a dimension; `flat` if it is about nothing else."""
    entry = by_name.setdefault(name, _DimensionVerdict([], {}))
    entry.cells.append(cell)
    if len(entry.cells) > 1:  # second order: average the numbers, keep the words of the first
        first, second = entry.notes.pop("other", None), answer.notes.get("other", {}).get(name)
        if first is not None and second is not None:
            entry.notes["other"] = fmean((first, second))
        return
    for note in ("rubric", "other", "documents", "orders", "stated", "mass"):
        value = answer.notes.get(note)
        if not flat:
            value = (value or {}).get(name)
        if value is not None:
            entry.notes[note] = value
    entry.reason = answer.notes.get("reasons", {}).get(name, "")
    if flat and isinstance(answer, Judged):
        entry.reason = answer.explanation


def _cell(question: Rating, name: str, entry: _DimensionVerdict | None) -> Any:
    if entry is None:
        return Missing(f"format: it rates no {name} here")
    for n, cell in enumerate(entry.cells):
        if isinstance(cell, Missing):
            return Missing(f"{cell} (asked with the other first)") if n else cell
    first, *rest = entry.cells
    if not rest:
        return first
    entry.notes["orders"] = list(entry.cells)
    if name != "preference":
        return fmean(entry.cells)
    return first if rest == [first] else fmean(question.scale)


def _composed(
    question: Rating,
    cells: Sequence[Any],
    by_name: Mapping[str, _DimensionVerdict],
    answers: Sequence[Answer],
    judge: str,
) -> Answer:
    notes: dict[str, Any] = {}
    for name in question.dimensions:
        if name not in by_name:
            continue
        for note, value in by_name[name].notes.items():
            notes.setdefault(note, {})[name] = value
        if by_name[name].reason:
            notes.setdefault("reasons", {})[name] = by_name[name].reason
    notes |= notes_on_reading(answers)
    raw = next((answer.raw for answer in answers if answer.raw), "")
    provenance = provenance_of(judge, "stated", answers)
    composed: Answer = question.compose(cells, provenance, notes=notes)
    return replace(composed, raw=raw)


def _joined_separately(question: Rating, answers: Sequence[Answer], judge: str) -> Answer:
    """Return the rating of the question's own argument, compared with that of the other."""
    if not answers:
        return _joined(question, (), judge)
    first, *rest = answers
    by_name: dict[str, _DimensionVerdict] = {}
    part: Any = first.question
    for name, cell in zip(part.dimensions, part.votes(first), strict=True):
        _take(by_name, name, cell, first)
    if rest:
        theirs = dict(zip(part.dimensions, part.votes(rest[0]), strict=True))
        for name, value in theirs.items():
            if name != "context_relevance" and not isinstance(value, Missing):
                by_name[name].notes["other"] = value
        pair = by_name[_OVERALL].cells[0], theirs[_OVERALL]
        by_name["preference"] = _DimensionVerdict([_better(question, *pair)], {})
    cells = [_cell(question, name, by_name.get(name)) for name in question.dimensions]
    return _composed(question, cells, by_name, answers, judge)


def _better(question: Rating, first: Any, other: Any) -> Any:
    for cell in (first, other):
        if isinstance(cell, Missing):
            return cell
    low, high = question.scale
    return high if first > other else low if first < other else fmean(question.scale)


RAG_FORMATS = (
    JudgingFormat(
        "rag-direct",
        "triad and preference in one call, 0 to 10",
        ("rag-triad",),
        shape=_scaled(0, 10),
        parts=_both_orders,
        join=_joined,
    ),
    JudgingFormat(
        "direct",
        "a dimension a call, 0 to 10",
        ("rag-metric", "preference"),
        shape=_scaled(0, 10),
        parts=_by_metric(_directly),
        join=_joined,
    ),
    JudgingFormat(
        "static-rubric",
        "a dimension a call, by criteria that hold or not",
        ("rag-metric-criteria", "preference-points"),
        shape=_scaled(0, 1),
        parts=_by_metric(_by_criteria, _criteria),
        join=_joined,
    ),
    JudgingFormat(
        "g-eval",
        "a dimension a call, by written steps, 1 to 5",
        ("rag-metric-steps", "preference"),
        shape=_scaled(1, 5),
        parts=_by_metric(_in_steps),
        join=_joined,
        by_tokens=True,
    ),
    JudgingFormat(
        "query-rubric",
        "nuggets of the question first; then a dimension a call, 1 to 5 for each nugget",
        ("rag-metric-nuggets", "preference-points"),
        shape=_scaled(1, 5, NUGGETS),
        parts=_by_metric(_by_nuggets, lambda question, _: question.rubric),
        join=_joined,
        rubric="nuggets",
        makes_points=True,
    ),
    JudgingFormat(
        "rag-rubric",
        "triad and preference in one call, by nuggets it makes up, 1 to 5",
        ("rag-triad-nuggets",),
        shape=_scaled(1, 5, NUGGETS),
        parts=_both_orders,
        join=_joined,
        makes_points=True,
    ),
    JudgingFormat(
        "listwise-rag",
        "triad and 15 dimensions of quality in one call, 0 to 5",
        ("rag-listwise",),
        shape=_with_quality,
        parts=_one_by_one,
        join=_joined_separately,
    ),
    JudgingFormat(
        "listwise-rag-fine",
        "as listwise-rag, with the relevance of each document",
        ("rag-listwise-documents",),
        shape=_with_quality,
        parts=_one_by_one,
        join=_joined_separately,
    ),
    SUPPORT_FORMAT,
)
"""The formats for judging an argument with its documents, the default one first."""
