"""The side of each retrieved document on a question, decided as in `pnyx argue`."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from pnyx.cases.open_writer import argue_plan
from pnyx.core.records import Question, question_id
from pnyx.models.http.flow import run_blocking
from pnyx.search.ranking.good_first import POOL
from pnyx.web.ask.pool import SharedResults

if TYPE_CHECKING:
    from pnyx.cases.side_choice import PlacedPassage
    from pnyx.web.ask.service import AskService

_KEPT: Final = 128


@dataclass(frozen=True, slots=True)
class Standing:
    """The sides of the best documents."""

    placed: Mapping[str, PlacedPassage]  # id -> its relevance to the question, and its sides
    seconds: float  # how long it took to decide them


class Standings:
    """Decides the sides of documents, each question once at a time; keeps the latest results."""

    def __init__(self, service: AskService) -> None:
        self._service = service
        self._kept = SharedResults(_KEPT)

    def _key(self, question: str, k: int) -> tuple[object, ...]:
        return (question, k, self._service.opened.state)

    def known(self, question: str, k: int) -> Standing | None:
        """Return the sides of the best `k` documents if they are stored; no judge is asked."""
        standing: Standing | None = self._kept.get(self._key(question, k))
        return standing

    async def tell(self, question: str, k: int) -> Standing:
        """Return the sides of the best `k` documents. Raises InputError, ModelError, Busy."""

        async def make() -> Standing:
            return await self._service.work(lambda: self._tell(question, k))

        standing: Standing = await self._kept.ask(self._key(question, k), make)
        return standing

    def _tell(self, text: str, k: int) -> Standing:
        from pnyx.cases.passage_sides import RANKED
        from pnyx.cases.side_assignment import placing_of

        started = time.monotonic()
        question = Question(question_id(text), text)
        asking = self._service.asking
        searcher = self._service.opened.searcher(asking.search)
        (ranking,) = searcher.search([question], max(k, RANKED, POOL))
        shown_ids = {hit.doc_id for hit in searcher.shown(ranking, k).hits}
        last = max((hit.rank for hit in ranking.hits if hit.doc_id in shown_ids), default=0)
        read = [hit.doc_id for hit in ranking.hits[: max(last, RANKED)]]
        documents = searcher.engine.fetch(read)
        plan = argue_plan(asking.argue)
        placing = placing_of(searcher, question, self._service.judge, plan)
        placed = run_blocking(lambda: placing.place(documents, shown_ids))
        by_id = {passage.document.id: passage for passage in placed}
        return Standing(by_id, time.monotonic() - started)
