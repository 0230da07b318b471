"""The pages on which a person labels."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from pnyx.errors import InputError, OptionError
from pnyx.files import clean_text
from pnyx.serve.application import html, not_found
from pnyx.serve.labelling.book import Act, Does, State
from pnyx.serve.labelling.desk import SHOWS, Desk, StaleError
from pnyx.serve.labelling.forms import Form
from pnyx.serve.labelling.people import People
from pnyx.serve.labelling.sent import (
    PART,
    SKIPS,
    as_json,
    blocking,
    draft_of,
    item_address,
    moved,
    see,
    show_of,
    version_of,
    whole,
)
from pnyx.serve.rendering import Links

if TYPE_CHECKING:
    from starlette.datastructures import FormData
    from starlette.requests import Request
    from starlette.responses import Response

_A_PAGE: Final = 100


@dataclass(frozen=True, slots=True)
class Pages:
    """The routes of annotators, each a method that answers a request."""

    desk: Desk
    people: People

    def routes(self) -> list[Any]:
        """Return the routes."""
        from starlette.routing import Route

        known = self._known
        return [
            Route("/", self.start),
            Route("/enter", self.enter, methods=["POST"]),
            Route("/leave", self.leave, methods=["POST"]),
            Route("/next", known(self.next)),
            Route("/items", known(self.items)),
            Route("/jump", known(self.jump)),
            Route("/item/{place:int}", known(self.item)),
            Route("/item/{place:int}", known(self.answer), methods=["POST"]),
            Route("/undo", known(self.undo), methods=["POST"]),
        ]

    def _known(
        self, page: Callable[[Request, str], Awaitable[Response]]
    ) -> Callable[[Request], Awaitable[Response]]:
        """Return a page that is for whoever has said who they are; others are asked first."""

        async def answer(request: Request) -> Response:
            who = self.people.who(request)
            return await page(request, who) if who else see(Links().to())

        return answer

    # Coming in ----------------------------------------------------------------------------------

    async def start(self, request: Request) -> Response:
        """Answer with what is asked, how far one is, and where to begin."""
        who = self.people.who(request)
        if self.people.closed and not who:
            return see(Links().to("organise"))
        return self._start(request, who)

    def _start(self, request: Request, who: str, problem: str = "") -> Response:
        desk = self.desk
        total, groups = desk.progress(who)
        shown = desk.form(desk.questions[0], who)
        return html(
            request,
            "labelling/start.html.j2",
            status=400 if problem else 200,
            task=desk.task, who=who, form=shown, total=total, groups=groups, problem=problem,
            closed=self.people.closed, count=len(desk.questions), here=(),
        )  # fmt: skip

    async def enter(self, request: Request) -> Response:
        """Take a name, where there are no tokens."""
        from pnyx.serve.labelling.people import check_name

        given = (await request.form()).get("name")
        try:
            name = check_name(clean_text(str(given or "")))
        except OptionError as error:
            return self._start(request, "", str(error))
        answer = see(Links().to("next"))
        if not self.people.closed:
            self.people.remember(request, answer, name)
        return answer

    async def leave(self, _: Request) -> Response:
        """Forget the name, so that another can be given."""
        from pnyx.serve.labelling.people import NAME_COOKIE

        answer = see(Links().to())
        answer.delete_cookie(NAME_COOKIE)
        return answer

    # Labelling ----------------------------------------------------------------------------------

    async def next(self, request: Request, who: str) -> Response:
        """Lead to the first open item; without one, to what is said at the end."""
        place = self.desk.following(who, -1)
        if place is None:
            return self._work(request, who, None)
        return see(item_address(place))

    async def item(self, request: Request, who: str) -> Response:
        """Show an item by its place in the person's order, from 1."""
        return self._work(
            request, who, self._place(request, who), show=show_of(request.query_params)
        )

    async def answer(self, request: Request, who: str) -> Response:
        """Take an answer, a skip or a draft, and show what is next."""
        place = self._place(request, who)
        sent = await request.form()
        item = self.desk.order(who)[place]
        form = self.desk.form(self.desk.questions[item], who)
        known = self.desk.state(who, item)
        try:
            act = self.act(who, item, form, sent, known)
            state = await blocking(self.desk.record, act, version_of(sent))
        except StaleError as error:
            return self._work(request, who, place, problem=str(error), status=409)
        except InputError as error:
            kept = draft_of(form, sent, who, self.desk.questions[item].id)
            return self._work(request, who, place, problem=str(error), status=400, kept=kept)
        if act.does == "draft":
            return as_json({"version": state.version})
        show = show_of(sent)
        if self._to_review(item, act, known):
            return self._to(request, who, place, show)
        following = self.desk.following(who, place, show or "open")
        if following is None and show:
            return moved(request, Links().to("items", show=show))
        return self._to(request, who, following, show)

    def _to_review(self, item: int, act: Act, before: State) -> bool:
        """Whether the judge's answer is shown now: after one's own first answer, and only then."""
        return bool(act.values and self._judge(item)) and not before.answered

    def _judge(self, item: int) -> str:
        """Return whose answer on an item is shown after one's own; empty for nobody's."""
        question = self.desk.questions[item]
        found = (self.desk.suggested.get((question.id, name)) for name in question.cells)
        return next((one.judge for one in found if one is not None), "")

    def _seen(self, item: int, known: State) -> str:
        """Return whose answer a person saw; neither undo nor skip takes back that it was seen."""
        return (self._judge(item) if known.ever else "") or known.seen

    async def undo(self, request: Request, who: str) -> Response:
        """Take back one's last answer, and show its item with the choices made."""
        sent = await request.form()
        item = self.desk.places.get(str(sent.get("item", "")))
        order = self.desk.order(who)
        if item is None or item not in order:
            raise InputError("there is nothing to take back")
        seen = self._seen(item, self.desk.state(who, item))
        act = Act(who, self.desk.questions[item].id, "undo", seen=seen)
        place = order.index(item)
        try:
            await blocking(self.desk.record, act, version_of(sent))
        except (StaleError, InputError) as error:
            return self._work(request, who, place, problem=str(error), status=409)
        return self._to(request, who, place)

    def act(self, who: str, item: int, form: Form, sent: FormData, known: State) -> Act:
        """Return what a form that was sent says; InputError where it is no whole answer."""
        does: Does = "answer"
        if sent.get("do") in ("skip", "draft"):
            does = "skip" if sent["do"] == "skip" else "draft"
        question = self.desk.questions[item]
        act = draft_of(form, sent, who, question.id)
        before = known.latest.seconds if known.latest and known.latest.seconds else 0.0
        seconds = None if act.seconds is None else round(before + act.seconds, 1)
        values: Mapping[str, Any] = form.values(act.marks) if does == "answer" else {}
        comment, reason = act.comment, str(sent.get("reason", ""))
        if does == "skip" and reason in SKIPS:
            comment = comment if comment.startswith(reason) else f"{reason}: {comment}".rstrip(": ")
        seen = self._seen(item, known)
        return Act(
            who, question.id, does, act.marks, values, act.unsure and does != "skip", comment,
            seconds, form.shown, seen=seen,
        )  # fmt: skip

    def _place(self, request: Request, who: str) -> int:
        place = int(request.path_params["place"]) - 1
        if not 0 <= place < len(self.desk.order(who)):
            raise not_found(f"there are {len(self.desk.order(who))} items, from 1")
        return place

    def _to(self, request: Request, who: str, place: int | None, show: str = "") -> Response:
        """Show an item after something was done: at once to a script, else by its address."""
        if PART in request.headers:
            return self._work(request, who, place, show=show)
        return see(Links().to("next") if place is None else item_address(place, show))

    def _work(
        self,
        request: Request,
        who: str,
        place: int | None,
        *,
        show: str = "",
        problem: str = "",
        status: int = 200,
        kept: Act | None = None,
    ) -> Response:
        """Answer with an item and its form; without one, with what is said at the end."""
        part = PART in request.headers
        values = self.item_values(who, place) if place is not None else {"item": None}
        total, groups = self.desk.progress(who)
        last = self.desk.book.last(who)
        answer = html(
            request,
            "labelling/work.html.j2" if part else "labelling/page.html.j2",
            status=status,
            **values, who=who, total=total, groups=groups, show=show, problem=problem, kept=kept,
            last=last, last_version=self.desk.book.state(who, last).version if last else 0,
            skips=SKIPS, task=self.desk.task, trouble=self.desk.trouble, here=("next",),
            others=(), action=Links().to("item", str((place or 0) + 1)),
            undo=Links().to("undo"), back=Links().to("items"), disputed=(), named=False,
        )  # fmt: skip
        if part:
            answer.headers["x-pnyx-address"] = (
                Links().to("next") if place is None else item_address(place, show)
            )
        return answer

    def item_values(self, who: str, place: int) -> dict[str, Any]:
        """Return what the template shows of an item."""
        desk = self.desk
        order = desk.order(who)
        item = order[place]
        question, state = desk.questions[item], desk.state(who, item)
        return {
            "item": question,
            "form": desk.form(question, who),
            "place": place + 1,
            "count": len(order),
            "state": state,
            "suggestions": self._suggestions(item, state, desk.form(question, who)),
            "differing": desk.differing(who, item),
        }

    def _suggestions(self, item: int, state: State, form: Form) -> list[dict[str, Any]]:
        """Return what the judge said, where one's own answer is there; nothing before."""
        question = self.desk.questions[item]
        if not state.answered:
            return []
        found = []
        for dimension in question.cells:
            judged = self.desk.suggested.get((question.id, dimension))
            if judged is not None:
                label = next((f.label for f in form.fields if f.dimension == dimension), "")
                found.append({"label": label, "dimension": dimension, "judged": judged,
                              "words": form.words(judged.value)})  # fmt: skip
        return found

    async def jump(self, request: Request, who: str) -> Response:
        """Lead to an item by the number that was given."""
        place = whole(request.query_params.get("to", ""), 0)
        if not 1 <= place <= len(self.desk.order(who)):
            raise not_found(f"there are {len(self.desk.order(who))} items, from 1")
        return see(item_address(place - 1))

    async def items(self, request: Request, who: str) -> Response:
        """List the items, all or those of one kind, a hundred a page."""
        show = show_of(request.query_params)
        order = self.desk.order(who)
        kept = [n for n, item in enumerate(order) if self.desk.shows(who, item, show)]
        page = whole(request.query_params.get("page", "1"), 1)
        pages = max(1, math.ceil(len(kept) / _A_PAGE))
        page = min(page, pages)
        rows = [
            {"place": n + 1, "question": self.desk.questions[order[n]],
             "state": self.desk.state(who, order[n])}
            for n in kept[(page - 1) * _A_PAGE : page * _A_PAGE]
        ]  # fmt: skip
        shows = {k: v for k, v in SHOWS.items() if k != "differs" or self.desk.suggested}
        total, _ = self.desk.progress(who)
        return html(
            request, "labelling/items.html.j2", who=who, rows=rows, show=show, shows=shows,
            found=len(kept), page=page, pages=pages, total=total, here=("items",),
            words=partial(_said, self.desk, who),
        )  # fmt: skip


def _said(desk: Desk, who: str, row: Mapping[str, Any]) -> str:
    """Return what a person said of an item in a list, in a few words."""
    said = row["state"].said
    if said is None or said.does == "skip":
        return ""
    form = desk.form(row["question"], who)
    if form.single or form.places:
        return form.words(next(iter(said.values.values())))
    return ", ".join(f"{value:g}" for value in said.values.values())
