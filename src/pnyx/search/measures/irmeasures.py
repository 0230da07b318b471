"""Retrieval measures by their ir-measures notation: `nDCG@10`, `AP(rel=2)`, `MRecall@5`.

ir-measures (MacAvaney et al., ECIR 2022) does not reject measures that kill the process (`P@0`) or
give zeros (two diversity measures with different parameters, computed together). So measures are
checked here first, and only those of trec_eval are computed together.
"""

from __future__ import annotations

import ast
import importlib
import math
from collections.abc import Mapping, Sequence
from typing import Any

from pnyx.core.errors import InputError, MissingExtra, shorten
from pnyx.core.rooms import offered
from pnyx.formats.runs.rankings import MAX_GRADE, Judgements

DEFAULT_MEASURES = ("nDCG@10", "P@10", "AP", "R@100")
DEFAULT_DIVERSITY = ("alpha_nDCG@10", "ERR_IA@10", "StRecall@10")
"""Additional defaults for diversity qrels."""

_MAX_CUTOFF = 1_000_000
_MAX_DIVERSITY_CUTOFF = 20


def _library() -> Any:
    try:
        import ir_measures
    except ImportError as error:
        raise MissingExtra("measuring runs", "retrieval") from error
    for module in offered("RUN_MEASURES"):
        importlib.import_module(module)

    return ir_measures


def parse_measures(names: Sequence[str]) -> dict[str, Any]:
    """Return the named measures by their canonical names; InputError: unknown or unsuitable."""
    measures = {}
    for name in names:
        measure = _parse(name)
        measures[repr(measure)] = measure
    return measures


def _parse(name: str) -> Any:
    library = _library()
    try:
        measure = _read(library, name)
        unknown = sorted(set(measure.params) - set(measure.SUPPORTED_PARAMS))
        if unknown:
            raise ValueError(f"{measure.NAME} has no parameter {unknown[0]!r}")
        problem = _unfit(measure)
        if problem:
            raise ValueError(problem)
        measure.validate_params()
    except NameError:
        problem = "is not a measure of ir-measures, expected one like nDCG@10, AP or alpha_nDCG@10"
        raise InputError(f"--measure {shorten(name, 40)}: {problem}") from None
    except (ValueError, AssertionError, TypeError, RecursionError, MemoryError) as error:
        raise InputError(f"--measure {shorten(name, 40)}: {shorten(str(error), 200)}") from None
    return measure


def _read(library: Any, name: str) -> Any:
    """Return the measure of a name such as `nDCG(dcg='exp-log2')@10`; NameError: there is none.

    `parse_measure` of ir-measures 0.4 uses `ast.Num`, which Python 3.14 removed.
    """
    try:
        node: Any = ast.parse(name, mode="eval").body
        at: list[Any] = []
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
            node, at = node.left, [ast.literal_eval(node.right)]
        keywords: list[ast.keyword] = []
        if isinstance(node, ast.Call) and not node.args:
            node, keywords = node.func, node.keywords
        parameters = {keyword.arg or "**": ast.literal_eval(keyword.value) for keyword in keywords}
    except (SyntaxError, ValueError):
        node = None
    if not isinstance(node, ast.Name):
        raise ValueError("must be in format Measure(k1=v1, k2=v2)@c")
    if node.id not in library.measures.registry:
        raise NameError(node.id)
    measure = library.measures.registry[node.id]
    return measure(**parameters, **dict(zip([measure.AT_PARAM], at, strict=False)))


def _unfit(measure: Any) -> str:
    """Describe the error in a measure's parameters, empty if nothing is."""
    limit = _MAX_DIVERSITY_CUTOFF if _is_ndevals(measure) else _MAX_CUTOFF
    cutoff = measure.params.get("cutoff")
    spec = measure.SUPPORTED_PARAMS.get("cutoff")
    if cutoff is None and spec and (spec.required or _is_diverse(measure)):
        return f"expected a cutoff, as in {measure.NAME}@10"
    if cutoff is not None and not (type(cutoff) is int and 1 <= cutoff <= limit):
        return f"cutoff {cutoff!r}, expected 1 to {limit}"
    grade = measure.params.get("rel")
    if grade is not None and not (type(grade) is int and 1 <= grade <= MAX_GRADE):
        return f"rel {grade!r}, expected a grade of 1 or more"
    gains = measure.params.get("gains")
    if isinstance(gains, dict) and not all(
        type(n) is int and 0 <= n <= MAX_GRADE for pair in gains.items() for n in pair
    ):
        return f"gains, expected whole numbers up to {MAX_GRADE}"
    if _is_ndevals(measure) and measure.params.get("judged_only"):
        return "judged_only is not supported here"
    return ""


def _is_ndevals(measure: Any) -> bool:
    return measure.NAME in {m.NAME for m in _library().pyndeval.SUPPORTED_MEASURES}


def _is_diverse(measure: Any) -> bool:
    return _is_ndevals(measure) or measure.NAME == "MRecall"


class RunScorer:
    """Measures over some judgements, ready for several runs; InputError: one needs subtopics."""

    def __init__(self, measures: Mapping[str, Any], judgements: Judgements) -> None:
        library = _library()
        # Some of the programs behind ir-measures accept only numbers as topics.
        self._numbers = {topic: str(n) for n, topic in enumerate(judgements.by_topic, 1)}
        self._measures = measures
        plain = {n: judgements.grades(topic) for topic, n in self._numbers.items()}
        together: list[Any] = []
        separate: list[Any] = []
        for name, measure in measures.items():
            if _is_diverse(measure) and not judgements.diverse:
                problem = "needs diversity qrels (topic subtopic document grade)"
                raise InputError(f"{name} {problem}, but no topic here has several subtopics")
            if _is_ndevals(measure) and not library.pyndeval.is_available():
                raise MissingExtra(name, "retrieval")
            (together if library.pytrec_eval.supports(measure) else separate).append(measure)
        self._evaluators = []
        for group in ([together] if together else []) + [[measure] for measure in separate]:
            qrels = self._diverse(judgements) if _is_diverse(group[0]) else plain
            self._evaluators.append(_guarded(group, library.evaluator, group, qrels))

    def _diverse(self, judgements: Judgements) -> list[Any]:
        qrel = _library().Qrel
        return [
            qrel(self._numbers[topic], doc, grade, subtopic)
            for topic, documents in judgements.by_topic.items()
            for doc, grades in documents.items()
            for subtopic, grade in grades.items()
        ]

    def score(self, rankings: Mapping[str, Sequence[str]]) -> dict[str, dict[str, float | None]]:
        """Return topic -> measure -> value (None: undefined); no ranking is an empty one."""
        # Scores by rank, so that every measure sees the same order.
        run = {
            number: {doc: float(len(ranking) - rank) for rank, doc in enumerate(ranking)}
            for topic, number in self._numbers.items()
            if (ranking := rankings.get(topic))
        }
        values: dict[tuple[str, str], float | None] = {}
        for evaluator in self._evaluators:
            for metric in _guarded(evaluator.measures, lambda e: list(e.iter_calc(run)), evaluator):
                value = float(metric.value)
                key = metric.query_id, repr(metric.measure)
                values[key] = value if math.isfinite(value) else None
        return {
            topic: {name: values[number, name] for name in self._measures}
            for topic, number in self._numbers.items()
        }


def _guarded(measures: Sequence[Any], compute: Any, *arguments: Any) -> Any:
    """Run third-party code; whatever it raises becomes an InputError of one line."""
    try:
        return compute(*arguments)
    except Exception as error:  # it may call any evaluation program
        names = ", ".join(map(repr, measures))
        reason = shorten(" ".join(str(error).split()) or type(error).__name__, 200)
        raise InputError(f"{shorten(names)}: ir-measures cannot compute it: {reason}") from error
