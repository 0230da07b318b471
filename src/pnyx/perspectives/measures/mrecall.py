"""MRecall as a measure of ir-measures, on diversity qrels: `parse_measure("MRecall@5")`.

Importing this module registers it; `pnyx.perspectives.MRecall` does so. As with every measure of
ir-measures, a missing pair counts as no: only `pnyx measure perspectives` handles unscored pairs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from pnyx.core.errors import MissingExtra
from pnyx.perspectives.measures.table import TopicTable, mrecall

try:
    import ir_measures
except ImportError as error:
    raise MissingExtra("MRecall of ir-measures", "retrieval") from error

_LIBRARY: Any = ir_measures  # its type hints are narrower than what it accepts


class _MRecall(_LIBRARY.Measure):  # type: ignore[misc]
    """Whether the first k documents cover all perspectives, or k (BERDS; Min et al. 2021)."""

    __name__ = "MRecall"
    NAME = "MRecall"
    PRETTY_NAME = "Multi-Answer Recall at k"
    SHORT_DESC = "Whether the top k documents cover all perspectives, or k of them."
    SUPPORTED_PARAMS = {  # noqa: RUF012 - as ir-measures has it
        "cutoff": _LIBRARY.ParamInfo(dtype=int, required=True, desc="ranking cutoff threshold"),
        "rel": _LIBRARY.ParamInfo(
            dtype=int, default=1, desc="minimum relevance score to be considered relevant"
        ),
    }


class _Evaluator(_LIBRARY.Evaluator):  # type: ignore[misc]
    def __init__(self, wanted: Iterable[Any], qrels: Any) -> None:
        self._judged: dict[str, dict[str, dict[str, int]]] = {}
        for q in _LIBRARY.util.QrelsConverter(qrels).as_namedtuple_iter():
            subtopic = getattr(q, "iteration", "0")
            topic = self._judged.setdefault(q.query_id, {})
            topic.setdefault(subtopic, {})[q.doc_id] = q.relevance
        super().__init__(wanted, set(self._judged))

    def _iter_calc(self, run: Any) -> Iterator[Any]:
        rankings: dict[str, list[tuple[float, str]]] = {}
        for row in _LIBRARY.util.RunConverter(run).as_namedtuple_iter():
            if row.query_id in self._judged:
                rankings.setdefault(row.query_id, []).append((row.score, row.doc_id))
        for topic, scored in rankings.items():
            documents = tuple(doc for _, doc in sorted(scored, reverse=True))
            for measure in self.measures:
                k = measure["cutoff"]
                table = self._table(topic, documents[:k], measure["rel"])
                value = mrecall(table, k).value
                yield _LIBRARY.Metric(query_id=topic, measure=measure, value=value)

    def _table(self, topic: str, documents: tuple[str, ...], least: int) -> TopicTable:
        judged = self._judged[topic]
        grades = [[by.get(doc, least - 1) for by in judged.values()] for doc in documents]
        yes = np.array(grades, dtype=np.int64).reshape(len(documents), len(judged)) >= least
        none, unknown = np.zeros_like(yes), np.full(yes.shape, np.nan)
        return TopicTable(
            topic, documents, tuple(judged), (None,) * len(judged), yes, none, (), unknown
        )


class _Provider(_LIBRARY.Provider):  # type: ignore[misc]
    NAME = "pnyx"
    SUPPORTED_MEASURES = [  # noqa: RUF012 - as ir-measures has it
        _MRecall(cutoff=_LIBRARY.providers.base.Any(), rel=_LIBRARY.providers.base.Any())
    ]

    def _evaluator(self, wanted: Iterable[Any], qrels: Any) -> _Evaluator:
        return _Evaluator(wanted, qrels)


MRecall: Any = _MRecall()
"""The measure of ir-measures: `MRecall @ 5`, `MRecall(rel=2) @ 10`."""

_LIBRARY.measures.register(MRecall)
_LIBRARY.DefaultPipeline.providers.append(_LIBRARY.providers.register(_Provider()))
