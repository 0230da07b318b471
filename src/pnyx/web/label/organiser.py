"""The organiser's pages: progress, agreement and adjudication."""

from __future__ import annotations

import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Final

from pnyx.formats.label_words import ADJUDICATED
from pnyx.web.application import html, see
from pnyx.web.label.item_pages import ItemPages
from pnyx.web.label.label_log import Act, State, label_rows
from pnyx.web.label.label_session import Desk
from pnyx.web.label.submitted_forms import moved
from pnyx.web.rendering import Links

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from pnyx.judging.measures.raters import Compared

_MEASURES: Final = {
    "accuracy": "Same answer",
    "kappa": "Cohen's kappa",
    "alpha_nominal": "Krippendorff's alpha, nominal",
    "alpha_ordinal": "Krippendorff's alpha, ordinal",
}
_MANY: Final = 20_000
"""With more labels than this, fewer samples are drawn for the intervals."""
_DRAWS, _FEW_DRAWS = 1000, 200
_WAIT_SECONDS: Final = 2.0
"""Seconds that a page waits for the agreement; then it is shown without, and asks again."""
_REST: Final = 5.0
"""Wait this many times as long as the agreement took before computing it again."""


@dataclass(frozen=True, slots=True)
class AgreementPage:
    """The agreement between annotators."""

    compared: Compared | None = None  # the measures; None if there are none
    reason: str = ""  # why there are none
    items: tuple[int, int] = (0, 0)  # items answered by two or more, and all answered ones
    draws: int = 0  # of the bootstrap
    drawn_by: tuple[str, int] = ("item", 0)  # groups or items, and their number


def agreement_of(desk: Desk) -> AgreementPage:
    """Return the agreement of the annotators, without adjudicated answers."""
    from pnyx.judging.measures.raters import measure_raters
    from pnyx.stats.base import Bootstrap

    answers_by_item = {
        question.id: list(desk.book.answers(question.id)) for question in desk.questions
    }
    shared = sum(len(answers) > 1 for answers in answers_by_item.values())
    items = shared, sum(map(bool, answers_by_item.values()))
    if not shared:
        return AgreementPage(reason="No item has answers of two people yet.", items=items)
    rows = [row for q in desk.questions for row in label_rows(q, answers_by_item[q.id])]
    if any(isinstance(row["value"], list) for row in rows):
        return AgreementPage(reason="Agreement is not measured for rankings.", items=items)
    draws = _FEW_DRAWS if len(rows) > _MANY else _DRAWS
    agreement = measure_raters(None, [rows], bootstrap=Bootstrap(draws=draws))
    return AgreementPage(
        agreement.compared[0],
        items=items,
        draws=draws,
        drawn_by=(agreement.clustered_by, agreement.clusters),
    )


@dataclass
class Organising(ItemPages):
    """The routes of the organiser; an item's position is its number in the file."""

    root: ClassVar[str] = "adjudicate"
    undoes: ClassVar[tuple[str, ...]] = ("adjudicate", "undo")
    _known: tuple[int, AgreementPage] = field(default=(-1, AgreementPage()), init=False)
    _working: Any = field(default=None, init=False)
    _rests_until: float = field(default=0.0, init=False)

    def routes(self) -> list[Any]:
        """Return the routes."""
        from starlette.routing import Route

        restricted = self._own
        return [
            Route("/organise", restricted(self.organise)),
            Route("/organise/labels", restricted(self.labels)),
            Route("/adjudicate", restricted(self.first)),
            Route("/adjudicate/undo", restricted(self.undo), methods=["POST"]),
            Route("/adjudicate/{place:int}", restricted(self.item)),
            Route("/adjudicate/{place:int}", restricted(self.answer), methods=["POST"]),
        ]

    def _own(
        self, page: Callable[[Request, str], Awaitable[Response]]
    ) -> Callable[[Request], Awaitable[Response]]:
        """Return a page that only the organiser may see."""

        async def answer(request: Request) -> Response:
            from starlette.exceptions import HTTPException

            if not self.people.is_organiser(request):
                raise HTTPException(403, "This page is for the organiser.")
            return await page(request, ADJUDICATED)

        return answer

    async def organise(self, request: Request, _: str) -> Response:
        """Show everybody's progress, the agreement, and disputed items."""
        desk = self.desk
        await self._agree()
        named = dict.fromkeys([*desk.share.annotators, *desk.book.people])
        disputes = desk.disputes()
        return html(
            request, "labelling/organise.html.j2",
            people=[(who, desk.progress(who)[0], self._pace(who)) for who in named],
            agreement=self._known[1], measures=_MEASURES, disputes=len(disputes),
            decided=self._decided(disputes),
            labels=str(desk.journal.labels.name), task=desk.task, closed=self.people.closed,
            waiting=not self._working.done(), behind=desk.book.count - max(self._known[0], 0),
            dimensions=self._dimensions(), trouble=desk.trouble, here=("organise",),
        )  # fmt: skip

    async def _agree(self) -> None:
        """Compute the agreement again if there are new answers.

        With many answers, in the background.
        """
        import asyncio

        from anyio.to_thread import run_sync

        async def work() -> None:
            begun, count = time.monotonic(), self.desk.book.count
            if count != self._known[0]:
                self._known = count, await run_sync(agreement_of, self.desk)
            self._rests_until = time.monotonic() + _REST * (time.monotonic() - begun)

        if self._working is None or (self._working.done() and time.monotonic() > self._rests_until):
            self._working = asyncio.create_task(work())
        await asyncio.wait([self._working], timeout=_WAIT_SECONDS)
        if self._working.done():
            self._working.result()

    def _pace(self, who: str) -> float | None:
        """Return the median seconds that a person spent on an item; None if unknown."""
        from statistics import median

        spent = [
            act.seconds
            for item in self.desk.order(who)
            if (act := self.desk.state(who, item).act) and act.seconds is not None
        ]
        return median(spent) if spent else None

    def _dimensions(self) -> dict[str, str]:
        """Return the labels of the compared dimensions."""
        compared = self._known[1].compared
        names = compared.per_dimension if compared else ()
        form = self.desk.form(self.desk.questions[0], ADJUDICATED)
        labels = {f.dimension: f.label for f in form.fields}
        return {name: labels.get(name) or name for name in names}

    async def labels(self, *_: object) -> Response:
        """Send the current LABELS."""
        from starlette.responses import Response

        from pnyx.core.files import json_line

        body = "".join(json_line(row) + "\n" for row in self.desk.rows())
        name = {"content-disposition": 'attachment; filename="labels.jsonl"'}
        return Response(body, media_type="application/x-ndjson", headers=name)

    # Adjudication -------------------------------------------------------------------------------

    async def first(self, *_: object) -> Response:
        """Redirect to the first open dispute, or else to the final page."""
        return see(self.address(self._following(-1)))

    def _following(self, item: int) -> int | None:
        disputes = self.desk.disputes()
        later = [n for n in disputes if n > item] + [n for n in disputes if n < item]
        return next((n for n in later if self.desk.state(ADJUDICATED, n).act is None), None)

    def address(self, position: int | None, show: str = "") -> str:
        """Return the address of a disputed item; without one, of the overview."""
        return Links().to("organise") if position is None else super().address(position)

    def onward(
        self, request: Request, who: str, position: int, act: Act, before: State, show: str
    ) -> Response:
        """Show a decided item again, with the annotators' names."""
        if act.does == "answer":
            return self.to(request, who, position)
        following = self._following(position)
        if following is None:
            return moved(request, self.address(None))
        return self.to(request, who, following)

    def values(self, who: str, position: int | None, draft: Act | None) -> dict[str, Any]:
        """Return the answers to an item, and how many disputes are decided."""
        desk, item = self.desk, position or 0
        question, disputes = desk.questions[item], desk.disputes()
        return {
            "suggestions": [], "total": None, "groups": {}, "kept": draft or self._agreed(item),
            "others": self._others(item), "named": desk.state(who, item).act is not None,
            "disputed": desk.disputed(question), "disputes": len(disputes),
            "decided": self._decided(disputes), "here": ("organise",),
            "back": self.address(None), "onward": self.address(self._following(item)),
        }  # fmt: skip

    def _decided(self, disputes: list[int]) -> int:
        return sum(self.desk.state(ADJUDICATED, item).act is not None for item in disputes)

    def _others(self, item: int) -> list[Act]:
        """Return the answers, shuffled for each item, so that annotators stay anonymous."""
        question = self.desk.questions[item]
        answers = sorted(self.desk.book.answers(question.id), key=lambda act: act.who)
        random.Random(f"{self.desk.share.seed}:others:{question.id}").shuffle(answers)
        return answers

    def _agreed(self, item: int) -> Act | None:
        """Return the choices that all agree on before a decision; only the others remain."""
        question = self.desk.questions[item]
        form = self.desk.form(question, ADJUDICATED)
        if self.desk.state(ADJUDICATED, item).latest is not None or form.single or form.places:
            return None
        others = self._others(item)
        same = {
            name: value
            for name, value in (others[0].values.items() if others else ())
            if all(act.values.get(name) == value for act in others)
        }
        return Act(ADJUDICATED, question.id, "draft", form.marks(same))
