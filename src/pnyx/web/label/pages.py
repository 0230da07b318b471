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
from pnyx.web.label.item_pages import ItemPages
from pnyx.web.label.label_log import Act, State
from pnyx.web.label.label_session import SHOWS, Desk
from pnyx.web.label.people import NAME_COOKIE, check_name
from pnyx.web.label.submitted_forms import moved, show_of, whole
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
        """Return a page for signed-in annotators; others are asked to sign in first."""

        async def answer(request: Request) -> Response:
            who = self.people.who(request)
            return await page(request, who) if who else see(Links().to())

        return answer

    # Signing in ----------------------------------------------------------------------------------

    async def start(self, request: Request) -> Response:
        """Show the task, the annotator's progress, and where to start."""
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
        """Accept a name, if there are no tokens."""
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
        """Sign out, so that another name can be given."""
        answer = see(Links().to())
        answer.delete_cookie(NAME_COOKIE)
        return answer

    # Labelling ----------------------------------------------------------------------------------

    async def next(self, request: Request, who: str) -> Response:
        """Redirect to the first open item, or else to the final page."""
        position = self.desk.following(who, -1)
        if position is None:
            return self.work(request, who, None)
        return see(self.address(position))

    def address(self, position: int | None, show: str = "") -> str:
        """Return the address of an item; without one, of the final page."""
        return Links().to("next") if position is None else super().address(position, show)

    def onward(
        self, request: Request, who: str, position: int, act: Act, before: State, show: str
    ) -> Response:
        """Show the judge's answer only after the person's own first one; else the next item."""
        if act.values and self.judge(self.desk.order(who)[position]) and not before.answered:
            return self.to(request, who, position, show)
        following = self.desk.following(who, position, show or "open")
        if following is None and show:
            return moved(request, Links().to("items", show=show))
        return self.to(request, who, following, show)

    def judge(self, item: int) -> str:
        """Return the judge whose answer is shown after one's own; empty for none."""
        question = self.desk.questions[item]
        verdicts = (self.desk.suggested.get((question.id, name)) for name in question.cells)
        return next((verdict.judge for verdict in verdicts if verdict is not None), "")

    def seen(self, item: int, state: State) -> str:
        """Return the judge whose answer a person saw.

        Undo and skip do not change that it was seen.
        """
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
        """Return the judge's answer if the person has answered; nothing before."""
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
        """Redirect to an item by its number."""
        number = whole(request.query_params.get("to", ""), 0)
        if not 1 <= number <= len(self.desk.order(who)):
            raise not_found(f"expected an item from 1 to {len(self.desk.order(who))}")
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
    """Return a person's answer to an item in a list, in a few words."""
    act = row["state"].act
    if act is None or act.does == "skip":
        return ""
    form = desk.form(row["question"], who)
    if form.single or form.places:
        return form.words(next(iter(act.values.values())))
    return ", ".join(f"{value:g}" for value in act.values.values())
