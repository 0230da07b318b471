"""The formats in which an argument is judged with its documents (ConQRet, Table 3, Appendix D).

They rate the same dimensions, each on a scale of its own (docs/decisions/rag-formats.md).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Any

from pnyx.corpora.text.citations import cited_sentences
from pnyx.judge.answers import Answer, Judged, Missing, Unscored
from pnyx.judge.combining.votes import provenance_of
from pnyx.judge.dimensions import dimensions_of
from pnyx.judge.formats import Format, Part
from pnyx.judge.questions import Preference, Rating, Support

__all__ = ["NUGGETS", "RAG_DIMENSIONS", "RAG_FORMATS", "TOLD_BY_SUPPORT", "dimensions_for"]

NUGGETS = 20
"""Points that a rubric has where it is made for the question (Appendix D.4, D.5)."""

RAG_DIMENSIONS = ("context_relevance", "answer_relevance", "groundedness", "preference")
"""The RAG triad and the preference between two arguments."""

TOLD_BY_SUPPORT = ("context_relevance", "groundedness")
"""Dimensions that follow from verdicts of relevance and support."""

_OVERALL = "overall_quality"


def dimensions_for(argument: str, other: str) -> tuple[str, ...]:
    """Return the dimensions that can be rated where there are these arguments, or none ("")."""
    if not argument:
        return RAG_DIMENSIONS[:1]
    return RAG_DIMENSIONS if other else RAG_DIMENSIONS[:3]


# --- what is asked


def _scaled(low: float, high: float, nuggets: int = 0) -> Callable[[Rating], Rating]:
    """Return what gives a question its scale."""
    return lambda question: replace(question, scale=(low, high), nuggets=nuggets)


def _with_quality(question: Rating) -> Rating:
    """Ask for the 15 dimensions of argument quality as well, unless the item names its own."""
    shaped = replace(question, scale=(0, 5))
    usual = dimensions_for(question.text, question.other)
    if not question.text or question.dimensions != usual:
        return shaped
    return replace(shaped, dimensions=(*usual, *dimensions_of("quality")))


def _only_told(question: Rating) -> Rating:
    """Keep the dimensions that verdicts of support tell, unless none would be left."""
    kept = tuple(name for name in question.dimensions if name in TOLD_BY_SUPPORT)
    return replace(question, scale=(0, 1), dimensions=kept or question.dimensions)


def _about(question: Rating, name: str) -> Rating:
    """Return the question about one dimension, with what that is about and nothing else."""
    asked = replace(question, dimensions=(name,), other="", turned=False)
    if name == "context_relevance":
        return replace(asked, text="")
    return replace(asked, documents=()) if name == "answer_relevance" else asked


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
    preference: Callable[[Rating], Part], rubric: Callable[[Rating, str], Sequence[str]]
) -> Callable[[Rating], list[Part]]:
    """Return what asks for each dimension on its own; the preference of two in both orders."""

    def parts(question: Rating) -> list[Part]:
        found = []
        for name in question.dimensions:
            if name != "preference":
                asked = replace(_about(question, name), rubric=tuple(rubric(question, name)))
                found.append(Part(asked))
            elif question.other:
                found.append(preference(question))
        return found

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
    """Ask about two arguments twice, the other one first the second time."""
    given = [Part(question)]
    return [*given, Part(replace(question, turned=True))] if question.other else given


def _one_by_one(question: Rating) -> list[Part]:
    """Rate each argument on its own: the better one is that of the higher overall quality."""
    rated = tuple(name for name in question.dimensions if name != "preference")
    own = replace(question, dimensions=rated, other="")
    if "preference" not in question.dimensions or not question.other:
        return [Part(own)] if rated else []
    if _OVERALL not in rated:
        own = replace(own, dimensions=(*rated, _OVERALL))
    return [Part(own), Part(replace(own, text=question.other))]


def _of_support(question: Rating) -> list[Part]:
    """Ask whether each document helps, and whether each sentence follows from what it cites."""
    found = []
    if "context_relevance" in question.dimensions:
        found += [Part(one, "relevance") for one in _relevances(question)]
    if "groundedness" in question.dimensions:
        found += [Part(one) for _, _, some in _supports(question) for one in some]
    return found


def _relevances(question: Rating) -> list[Support]:
    from pnyx.judge.tasks import ask_relevance

    return [
        ask_relevance(f"{question.id}/document {n}", question.question, text, group=question.group)
        for n, text in enumerate(question.documents, 1)
    ]


def _supports(question: Rating) -> list[tuple[str, list[int], list[Support]]]:
    """Return each sentence of the argument, the documents asked about, and what is asked.

    Those that it cites; all of them where it cites none that is there.
    """
    found = []
    count = len(question.documents)
    for place, (sentence, cited) in enumerate(cited_sentences(question.text), 1):
        known = [n for n in cited if 1 <= n <= count] or list(range(1, count + 1))
        asked = [
            Support(
                id=f"{question.id}/{place}/{n}",
                text=question.documents[n - 1],
                statement=sentence,
                question=question.question,
                group=question.group,
            )
            for n in known
        ]
        found.append((sentence, known, asked))
    return found


# --- what is made of the answers


@dataclass(slots=True)
class _Told:
    """What was found out about one dimension, in one order or in both."""

    cells: list[Any]
    notes: dict[str, Any]
    reason: str = ""


def _joined(question: Rating, answers: Sequence[Answer], judge: str) -> Answer:
    """Return one rating: where both orders were asked, their mean, or a tie if they disagree."""
    told: dict[str, _Told] = {}
    for answer in answers:
        asked: Any = answer.question
        if isinstance(asked, Preference):
            _take(told, "preference", _preference_cell(question, answer), answer, flat=True)
            continue
        for name, cell in zip(asked.dimensions, asked.votes(answer), strict=True):
            _take(told, name, cell, answer)
    cells = [_cell(question, name, told.get(name)) for name in question.dimensions]
    return _composed(question, cells, told, answers, judge)


def _take(
    told: dict[str, _Told], name: str, cell: Any, answer: Answer, *, flat: bool = False
) -> None:
    """Note what an answer says of a dimension; `flat` where it is about nothing else."""
    found = told.setdefault(name, _Told([], {}))
    found.cells.append(cell)
    if len(found.cells) > 1:  # what the first order said stays
        return
    for note in ("rubric", "other", "documents", "orders"):
        said = answer.notes.get(note)
        if not flat:
            said = (said or {}).get(name)
        if said is not None:
            found.notes[note] = said
    found.reason = answer.notes.get("reasons", {}).get(name, "")
    if flat and isinstance(answer, Judged):
        found.reason = answer.explanation


def _preference_cell(question: Rating, answer: Answer) -> Any:
    if isinstance(answer, Unscored):
        return Missing(answer.reason)
    low, high = question.scale
    return low + (high - low) * {"a": 1.0, "b": 0.0}.get(str(answer.value), 0.5)


def _cell(question: Rating, name: str, told: _Told | None) -> Any:
    if told is None:
        return Missing(f"format: it rates no {name} here")
    for place, cell in enumerate(told.cells):
        if isinstance(cell, Missing):
            return Missing(f"{cell} (asked with the other first)") if place else cell
    first, *rest = told.cells
    if not rest:
        return first
    told.notes["orders"] = list(told.cells)
    if name != "preference":
        return fmean(told.cells)
    return first if rest == [first] else fmean(question.scale)


def _composed(
    question: Rating,
    cells: Sequence[Any],
    told: Mapping[str, _Told],
    answers: Sequence[Answer],
    judge: str,
) -> Answer:
    notes: dict[str, Any] = {}
    for name in question.dimensions:
        if name not in told:
            continue
        for note, said in told[name].notes.items():
            notes.setdefault(note, {})[name] = said
        if told[name].reason:
            notes.setdefault("reasons", {})[name] = told[name].reason
    if any(answer.notes.get("repaired") for answer in answers):
        notes["repaired"] = True
    raw = next((answer.raw for answer in answers if answer.raw), "")
    provenance = provenance_of(judge, "stated", answers)
    composed: Answer = question.compose(cells, provenance, notes=notes)
    return replace(composed, raw=raw)


def _joined_apart(question: Rating, answers: Sequence[Answer], judge: str) -> Answer:
    """Return the rating of the question's own argument, compared with that of the other."""
    if not answers:
        return _joined(question, (), judge)
    own, *rest = answers
    told: dict[str, _Told] = {}
    asked: Any = own.question
    for name, cell in zip(asked.dimensions, asked.votes(own), strict=True):
        _take(told, name, cell, own)
    if rest:
        theirs = dict(zip(asked.dimensions, asked.votes(rest[0]), strict=True))
        for name, value in theirs.items():
            if name != "context_relevance" and not isinstance(value, Missing):
                told[name].notes["other"] = value
        pair = told[_OVERALL].cells[0], theirs[_OVERALL]
        told["preference"] = _Told([_better(question, *pair)], {})
    cells = [_cell(question, name, told.get(name)) for name in question.dimensions]
    return _composed(question, cells, told, answers, judge)


def _better(question: Rating, own: Any, other: Any) -> Any:
    for cell in (own, other):
        if isinstance(cell, Missing):
            return cell
    low, high = question.scale
    return high if own > other else low if own < other else fmean(question.scale)


def _joined_support(question: Rating, answers: Sequence[Answer], judge: str) -> Answer:
    """Return the share of documents that help, and that of sentences that are borne out."""
    by_id = {answer.question.id: answer for answer in answers if answer.question is not None}
    cells: dict[str, Any] = {}
    notes: dict[str, Any] = {}
    if "context_relevance" in question.dimensions:
        verdicts = [by_id[one.id] for one in _relevances(question)]
        cells["context_relevance"] = _share(verdicts)
        notes["documents"] = {"context_relevance": [_chance(one) for one in verdicts]}
        notes["counted"] = {"context_relevance": _counted(verdicts)}
    if "groundedness" in question.dimensions:
        sentences = []
        verdicts = []
        for text, documents, asked in _supports(question):
            found = [by_id[one.id] for one in asked]
            verdicts.append(_any(found))
            chances = map(_chance, found)
            sentences.append(
                {
                    "text": text,
                    "supported": verdicts[-1].value if _is_judged(verdicts[-1]) else None,
                    "documents": dict(zip(map(str, documents), chances, strict=True)),
                }
            )
        cells["groundedness"] = _share(verdicts)
        notes["sentences"] = {"groundedness": sentences}
        notes.setdefault("counted", {})["groundedness"] = _counted(verdicts)
    all_cells = [
        cells.get(name, Missing(f"format: support tells no {name}")) for name in question.dimensions
    ]
    provenance = provenance_of(judge, "support", answers)
    return question.compose(all_cells, provenance, notes=notes)


def _is_judged(answer: Any) -> bool:
    return isinstance(answer, Judged)


def _chance(answer: Answer) -> float | None:
    return answer.probability if isinstance(answer, Judged) else None


def _any(answers: Sequence[Answer]) -> Any:
    """Return a yes of several verdicts if there is one, else one that is missing, else a no."""
    for answer in answers:
        if isinstance(answer, Judged) and answer.value is True:
            return answer
    return next((one for one in answers if isinstance(one, Unscored)), answers[0])


def _counted(answers: Sequence[Any]) -> list[int]:
    return [sum(map(_is_judged, answers)), len(answers)]


def _share(answers: Sequence[Any]) -> Any:
    """Return the share of yes among the verdicts that are scored."""
    scored = [float(one.value) for one in answers if _is_judged(one)]
    if scored:
        return fmean(scored)
    reason = next((one.reason for one in answers), "blank: there is no sentence to judge")
    return Missing(reason)


def _none(question: Rating, name: str) -> Sequence[str]:
    return ()


RAG_FORMATS = (
    Format(
        "rag-direct",
        "triad and preference in one call, 0 to 10",
        ("rag-triad",),
        shape=_scaled(0, 10),
        parts=_both_orders,
        join=_joined,
    ),
    Format(
        "direct",
        "a dimension a call, 0 to 10",
        ("rag-metric", "preference"),
        shape=_scaled(0, 10),
        parts=_by_metric(_directly, _none),
        join=_joined,
    ),
    Format(
        "static-rubric",
        "a dimension a call, by criteria that hold or not",
        ("rag-metric-criteria", "preference-points"),
        shape=_scaled(0, 1),
        parts=_by_metric(_by_criteria, _criteria),
        join=_joined,
    ),
    Format(
        "g-eval",
        "a dimension a call, by written steps, 1 to 5",
        ("rag-metric-steps", "preference"),
        shape=_scaled(1, 5),
        parts=_by_metric(_in_steps, _none),
        join=_joined,
    ),
    Format(
        "query-rubric",
        "nuggets of the question first; then a dimension a call, 1 to 5 for each nugget",
        ("rag-metric-nuggets", "preference-points"),
        shape=_scaled(1, 5, NUGGETS),
        parts=_by_metric(_by_nuggets, lambda question, name: question.rubric),
        join=_joined,
        rubric="nuggets",
        makes_points=True,
    ),
    Format(
        "rag-rubric",
        "triad and preference in one call, by nuggets it makes up, 1 to 5",
        ("rag-triad-nuggets",),
        shape=_scaled(1, 5, NUGGETS),
        parts=_both_orders,
        join=_joined,
        makes_points=True,
    ),
    Format(
        "listwise-rag",
        "triad and 15 dimensions of quality in one call, 0 to 5",
        ("rag-listwise",),
        shape=_with_quality,
        parts=_one_by_one,
        join=_joined_apart,
    ),
    Format(
        "listwise-rag-fine",
        "as listwise-rag, with the relevance of each document",
        ("rag-listwise-documents",),
        shape=_with_quality,
        parts=_one_by_one,
        join=_joined_apart,
    ),
    Format(
        "support",
        "each document: does it help? each sentence and citation: does it follow?",
        ("support", "relevance"),
        shape=_only_told,
        parts=_of_support,
        join=_joined_support,
        packaged=True,
    ),
)
"""The ways to judge an argument with its documents, the usual one first."""
