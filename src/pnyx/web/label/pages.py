"""The pages on which a person labels."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from pnyx.core.errors import OptionError
from pnyx.core.files import clean_text
from pnyx.web.application import html, not_found, see, sent_form
from pnyx.web.label.book import Act, State
from pnyx.web.label.desk import SHOWS, Desk
from pnyx.web.label.item_pages import ItemPages
from pnyx.web.label.people import NAME_COOKIE, check_name
from pnyx.web.label.sent import moved, show_of, whole
from pnyx.web.rendering import Links

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

_A_PAGE: Final = 100


@dataclass
class Pages(ItemPages):
    """The routes of annotators, each a method that answers a request."""

    def routes(self) -> list[Any]:
        """Return the routes."""
        from starlette.routing import Route

        signed_in = self._known
        return [
            Route("/", self.start),
            Route("/enter", self.enter, methods=["POST"]),
            Route("/leave", self.leave, methods=["POST"]),
            Route("/next", signed_in(self.next)),
            Route("/items", signed_in(self.items)),
            Route("/jump", signed_in(self.jump)),
            Route("/item/{place:int}", signed_in(self.item)),
            Route("/item/{place:int}", signed_in(self.answer), methods=["POST"]),
            Route("/undo", signed_in(self.undo), methods=["POST"]),
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
        form = desk.form(desk.questions[0], who)
        return html(
            request,
            "labelling/start.html.j2",
            status=400 if problem else 200,
            task=desk.task, who=who, form=form, total=total, groups=groups, problem=problem,
            closed=self.people.closed, count=len(desk.questions), here=(),
        )  # fmt: skip

    async def enter(self, request: Request) -> Response:
        """Take a name, where there are no tokens."""
        sent_name = (await sent_form(request)).get("name")
        try:
            name = check_name(clean_text(str(sent_name or "")))
        except OptionError as error:
            return self._start(request, "", str(error))
        answer = see(Links().to("next"))
        if not self.people.closed:
            self.people.remember(request, answer, name)
        return answer

    async def leave(self, _: Request) -> Response:
        """Forget the name, so that another can be given."""
        answer = see(Links().to())
        answer.delete_cookie(NAME_COOKIE)
        return answer

    # Labelling ----------------------------------------------------------------------------------

    async def next(self, request: Request, who: str) -> Response:
        """Lead to the first open item; without one, to what is said at the end."""
        position = self.desk.following(who, -1)
        if position is None:
            return self.work(request, who, None)
        return see(self.address(position))

    def address(self, position: int | None, show: str = "") -> str:
        """Return the address of an item; without one, of what is said at the end."""
        return Links().to("next") if position is None else super().address(position, show)

    def onward(
        self, request: Request, who: str, position: int, act: Act, before: State, show: str
    ) -> Response:
        """Show the judge's answer after one's own first one, and only then; else what is next."""
        if act.values and self.judge(self.desk.order(who)[position]) and not before.answered:
            return self.to(request, who, position, show)
        following = self.desk.following(who, position, show or "open")
        if following is None and show:
            return moved(request, Links().to("items", show=show))
        return self.to(request, who, following, show)

    def judge(self, item: int) -> str:
        """Return whose answer on an item is shown after one's own; empty for nobody's."""
        question = self.desk.questions[item]
        verdicts = (self.desk.suggested.get((question.id, name)) for name in question.cells)
        return next((verdict.judge for verdict in verdicts if verdict is not None), "")

    def seen(self, item: int, state: State) -> str:
        """Return whose answer a person saw; neither undo nor skip takes back that it was seen."""
        return (self.judge(item) if state.ever else "") or state.seen

    def values(self, who: str, position: int | None, draft: Act | None) -> dict[str, Any]:
        """Return what the template shows beside the item itself, where there is one."""
        total, groups = self.desk.progress(who)
        return {
            "total": total, "groups": groups, "kept": draft, "others": (), "disputed": (),
            "named": False, "here": ("next",), "back": Links().to("items"),
        } | (
            {} if position is None else {"suggestions": self._suggestions(who, position)}
        )  # fmt: skip

    def _suggestions(self, who: str, position: int) -> list[dict[str, Any]]:
        """Return what the judge said, where one's own answer is there; nothing before."""
        item = self.desk.order(who)[position]
        question = self.desk.questions[item]
        if not self.desk.state(who, item).answered:
            return []
        form = self.desk.form(question, who)
        labels = {field.dimension: field.label for field in reversed(form.fields)}
        return [
            {"label": labels.get(dimension, ""), "dimension": dimension, "judged": judged,
             "words": form.words(judged.value)}
            for dimension in question.cells
            if (judged := self.desk.suggested.get((question.id, dimension))) is not None
        ]  # fmt: skip

    async def jump(self, request: Request, who: str) -> Response:
        """Lead to an item by the number that was given."""
        number = whole(request.query_params.get("to", ""), 0)
        if not 1 <= number <= len(self.desk.order(who)):
            raise not_found(f"there are {len(self.desk.order(who))} items, from 1")
        return see(self.address(number - 1))

    async def items(self, request: Request, who: str) -> Response:
        """List the items, all or those of one kind, a hundred a page."""
        show = show_of(request.query_params)
        order = self.desk.order(who)
        positions = [n for n, item in enumerate(order) if self.desk.shows(who, item, show)]
        page = whole(request.query_params.get("page", "1"), 1)
        pages = max(1, math.ceil(len(positions) / _A_PAGE))
        page = min(page, pages)
        rows = [
            {"place": n + 1, "question": self.desk.questions[order[n]],
             "state": self.desk.state(who, order[n])}
            for n in positions[(page - 1) * _A_PAGE : page * _A_PAGE]
        ]  # fmt: skip
        shows = {k: v for k, v in SHOWS.items() if k != "differs" or self.desk.suggested}
        total, _ = self.desk.progress(who)
        return html(
            request, "labelling/items.html.j2", who=who, rows=rows, show=show, shows=shows,
            found=len(positions), page=page, pages=pages, total=total, here=("items",),
            words=partial(_said, self.desk, who),
        )  # fmt: skip


def _said(desk: Desk, who: str, row: Mapping[str, Any]) -> str:
    """Return what a person said of an item in a list, in a few words."""
    act = row["state"].act
    if act is None or act.does == "skip":
        return ""
    form = desk.form(row["question"], who)
    if form.single or form.places:
        return form.words(next(iter(act.values.values())))
    return ", ".join(f"{value:g}" for value in act.values.values())
