"""The organiser's pages: how far everybody is, how far they agree, and a third decision."""

from __future__ import annotations

import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from pnyx.corpora.benchmarks.label_words import ADJUDICATED
from pnyx.errors import InputError
from pnyx.serve.application import html, not_found
from pnyx.serve.labelling.book import Act, label_rows
from pnyx.serve.labelling.desk import Desk, StaleError
from pnyx.serve.labelling.forms import Form
from pnyx.serve.labelling.pages import Pages
from pnyx.serve.labelling.people import People
from pnyx.serve.labelling.sent import (
    PART,
    SKIPS,
    as_json,
    blocking,
    draft_of,
    moved,
    see,
    version_of,
)
from pnyx.serve.rendering import Links

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from pnyx.measure.answers.raters import Compared

_MEASURES: Final = {
    "exact": "Same answer",
    "kappa": "Cohen's kappa",
    "alpha_nominal": "Krippendorff's alpha, nominal",
    "alpha_ordinal": "Krippendorff's alpha, ordinal",
}
_MANY: Final = 20_000
"""From so many labels on, fewer samples are drawn for the intervals."""
_DRAWS, _FEW_DRAWS = 1000, 200
_WAIT_SECONDS: Final = 2.0
"""For so long a page waits for the agreement; then it is shown without, and asks again."""
_REST: Final = 5.0
"""The agreement is not computed again before so many times as long as it took have passed."""


@dataclass(frozen=True, slots=True)
class AgreementPage:
    """How far people agree.

    Attributes:
        compared: the measures; None where there is nothing to compare.
        reason: why there is nothing.
        items: answered by two or more people, of those answered by anybody.
        draws: of the bootstrap.
        drawn_by: what is drawn: groups or items; and how many there are.
    """

    compared: Compared | None = None
    reason: str = ""
    items: tuple[int, int] = (0, 0)
    draws: int = 0
    drawn_by: tuple[str, int] = ("item", 0)


def agreement_of(desk: Desk) -> AgreementPage:
    """Return the agreement of the people, adjudicated answers left out."""
    from pnyx.measure.answers.raters import measure_raters
    from pnyx.measure.core.base import Bootstrap

    said = {question.id: list(desk.book.answers(question.id)) for question in desk.questions}
    shared = sum(len(answers) > 1 for answers in said.values())
    items = shared, sum(map(bool, said.values()))
    if not shared:
        return AgreementPage(reason="No item has answers of two people yet.", items=items)
    rows = [row for q in desk.questions for row in label_rows(q, said[q.id])]
    if any(isinstance(row["value"], list) for row in rows):
        return AgreementPage(reason="Orders have no measure of agreement here.", items=items)
    draws = _FEW_DRAWS if len(rows) > _MANY else _DRAWS
    found = measure_raters(None, [rows], bootstrap=Bootstrap(draws=draws))
    return AgreementPage(
        found.compared[0], items=items, draws=draws, drawn_by=(found.clustered_by, found.clusters)
    )


@dataclass
class Organising:
    """The routes of the organiser, each a method that answers a request."""

    desk: Desk
    people: People
    pages: Pages
    _known: tuple[int, AgreementPage] = field(default=(-1, AgreementPage()), init=False)
    _working: Any = field(default=None, init=False)
    _rests_until: float = field(default=0.0, init=False)

    def routes(self) -> list[Any]:
        """Return the routes."""
        from starlette.routing import Route

        own = self._own
        return [
            Route("/organise", own(self.organise)),
            Route("/organise/labels", own(self.labels)),
            Route("/adjudicate", own(self.first)),
            Route("/adjudicate/undo", own(self.undo), methods=["POST"]),
            Route("/adjudicate/{item:int}", own(self.item)),
            Route("/adjudicate/{item:int}", own(self.decide), methods=["POST"]),
        ]

    def _own(
        self, page: Callable[[Request], Awaitable[Response]]
    ) -> Callable[[Request], Awaitable[Response]]:
        """Return a page that is for the organiser alone."""

        async def answer(request: Request) -> Response:
            from starlette.exceptions import HTTPException

            if not self.people.is_organiser(request):
                raise HTTPException(403, "This page is the organiser's.")
            return await page(request)

        return answer

    async def organise(self, request: Request) -> Response:
        """Show how far everybody is, the agreement, and what is in dispute."""
        desk = self.desk
        await self._agree()
        named = dict.fromkeys([*desk.share.annotators, *desk.book.people])
        disputes = desk.disputes()
        decided = sum(desk.state(ADJUDICATED, item).said is not None for item in disputes)
        return html(
            request, "labelling/organise.html.j2",
            people=[(who, desk.progress(who)[0], self._pace(who)) for who in named],
            agreement=self._known[1], measures=_MEASURES, disputes=len(disputes), decided=decided,
            labels=str(desk.journal.labels.name), task=desk.task, closed=self.people.closed,
            waiting=not self._working.done(), behind=desk.book.count - max(self._known[0], 0),
            dimensions=self._dimensions(), trouble=desk.trouble, here=("organise",),
        )  # fmt: skip

    async def _agree(self) -> None:
        """Compute the agreement anew if something was said; of many answers it comes later."""
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
        """Return the median of the seconds that a person spent on an item; None if unknown."""
        from statistics import median

        spent = [
            said.seconds
            for item in self.desk.order(who)
            if (said := self.desk.state(who, item).said) and said.seconds is not None
        ]
        return median(spent) if spent else None

    def _dimensions(self) -> dict[str, str]:
        """Return the labels of the dimensions of what was compared."""
        compared = self._known[1].compared
        names = compared.per_dimension if compared else ()
        form = self.desk.form(self.desk.questions[0], ADJUDICATED)
        labels = {f.dimension: f.label for f in form.fields}
        return {name: labels.get(name) or name for name in names}

    async def labels(self, _: Request) -> Response:
        """Send LABELS as it stands."""
        from starlette.responses import Response

        from pnyx.files import json_line

        body = "".join(json_line(row) + "\n" for row in self.desk.rows())
        name = {"content-disposition": 'attachment; filename="labels.jsonl"'}
        return Response(body, media_type="application/x-ndjson", headers=name)

    # Adjudication -------------------------------------------------------------------------------

    async def first(self, _: Request) -> Response:
        """Lead to the first dispute that is open, else to what is said at the end."""
        found = self._following(-1)
        return see(Links().to("organise") if found is None else self._address(found))

    def _following(self, item: int) -> int | None:
        disputes = self.desk.disputes()
        later = [n for n in disputes if n > item] + [n for n in disputes if n < item]
        return next((n for n in later if self.desk.state(ADJUDICATED, n).said is None), None)

    def _address(self, item: int) -> str:
        return Links().to("adjudicate", str(item + 1))

    async def item(self, request: Request) -> Response:
        """Show an item in dispute with what was said of it."""
        return self._work(request, self._item(request))

    def _item(self, request: Request) -> int:
        item = int(request.path_params["item"]) - 1
        if not 0 <= item < len(self.desk.questions):
            raise not_found(f"there are {len(self.desk.questions)} items, from 1")
        return item

    async def decide(self, request: Request) -> Response:
        """Take the third decision."""
        item, sent = self._item(request), await request.form()
        question = self.desk.questions[item]
        form = self.desk.form(question, ADJUDICATED)
        try:
            act = self.pages.act(ADJUDICATED, item, form, sent, self.desk.state(ADJUDICATED, item))
            act = replace(act, seen="")  # no judge is shown to who decides
            state = await blocking(self.desk.record, act, version_of(sent))
        except StaleError as error:
            return self._work(request, item, problem=str(error), status=409)
        except InputError as error:
            kept = draft_of(form, sent, ADJUDICATED, question.id)
            return self._work(request, item, problem=str(error), status=400, kept=kept)
        if act.does == "draft":
            return as_json({"version": state.version})
        # The item again, with the names: who looks at it has decided.
        if act.does == "answer":
            return self._to(request, item)
        following = self._following(item)
        return (
            moved(request, Links().to("organise"))
            if following is None
            else self._to(request, following)
        )

    async def undo(self, request: Request) -> Response:
        """Take back the last decision."""
        sent = await request.form()
        item = self.desk.places.get(str(sent.get("item", "")))
        if item is None:
            raise InputError("there is nothing to take back")
        act = Act(ADJUDICATED, self.desk.questions[item].id, "undo")
        try:
            await blocking(self.desk.record, act, version_of(sent))
        except (StaleError, InputError) as error:
            return self._work(request, item, problem=str(error), status=409)
        return self._to(request, item)

    def _to(self, request: Request, item: int) -> Response:
        return self._work(request, item) if PART in request.headers else see(self._address(item))

    def _work(
        self,
        request: Request,
        item: int,
        *,
        problem: str = "",
        status: int = 200,
        kept: Act | None = None,
    ) -> Response:
        desk, question = self.desk, self.desk.questions[item]
        part = PART in request.headers
        disputes, last = desk.disputes(), desk.book.last(ADJUDICATED)
        following = self._following(item)
        state = desk.state(ADJUDICATED, item)
        form = desk.form(question, ADJUDICATED)
        answer = html(
            request,
            "labelling/work.html.j2" if part else "labelling/page.html.j2",
            status=status,
            **self.pages.item_values(ADJUDICATED, item) | {"suggestions": []},
            who=ADJUDICATED, total=None, groups={}, show="", problem=problem,
            kept=kept or self._agreed(item, form), last=last,
            last_version=desk.book.state(ADJUDICATED, last).version if last else 0,
            skips=SKIPS, task=desk.task, trouble=desk.trouble, here=("organise",),
            others=self._others(item), named=state.said is not None,
            disputed=desk.disputed(question), disputes=len(disputes),
            decided=sum(desk.state(ADJUDICATED, n).said is not None for n in disputes),
            action=self._address(item), undo=Links().to("adjudicate", "undo"),
            back=Links().to("organise"),
            onward=Links().to("organise") if following is None else self._address(following),
        )  # fmt: skip
        if part:
            answer.headers["x-pnyx-address"] = self._address(item)
        return answer

    def _others(self, item: int) -> list[Act]:
        """Return what people said, in an order of its own for each item, so that none is known."""
        question = self.desk.questions[item]
        found = sorted(self.desk.book.answers(question.id), key=lambda said: said.who)
        random.Random(f"{self.desk.share.seed}:others:{question.id}").shuffle(found)
        return found

    def _agreed(self, item: int, form: Form) -> Act | None:
        """Return, before a decision, the choices that all agree on, so that the others are left."""
        question = self.desk.questions[item]
        if self.desk.state(ADJUDICATED, item).latest is not None or form.single or form.places:
            return None
        others = self._others(item)
        same = {
            name: value
            for name, value in (others[0].values.items() if others else ())
            if all(one.values.get(name) == value for one in others)
        }
        return Act(ADJUDICATED, question.id, "draft", form.marks(same))
