"""Pages of one item at a time, for annotators and the organiser."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

from pnyx.core.errors import InputError
from pnyx.web.application import html, not_found, see, sent_form
from pnyx.web.label.forms import Form
from pnyx.web.label.label_log import Act, Does, State
from pnyx.web.label.label_session import Desk, StaleError
from pnyx.web.label.people import People
from pnyx.web.label.submitted_forms import PART, SKIPS, draft_of, show_of, version_of
from pnyx.web.rendering import Links

if TYPE_CHECKING:
    from starlette.datastructures import FormData
    from starlette.requests import Request
    from starlette.responses import Response


@dataclass
class ItemPages:
    """Shared by the pages of annotators and of the organiser: a person's items, by position."""

    desk: Desk
    people: People
    root: ClassVar[str] = "item"
    """The first part of an item's address."""
    undoes: ClassVar[tuple[str, ...]] = ("undo",)

    # What subclasses define
    # -------------------------------------------------------------------------------

    def address(self, position: int | None, show: str = "") -> str:
        """Return the address of an item by its position, from 0."""
        return Links().to(self.root, str((position or 0) + 1), show=show)

    @abstractmethod
    def onward(
        self, request: Request, who: str, position: int, act: Act, before: State, show: str
    ) -> Response:
        """Return the response to an answer or a skip."""

    @abstractmethod
    def values(self, who: str, position: int | None, draft: Act | None) -> dict[str, Any]:
        """Return the template values other than the item itself."""

    def seen(self, item: int, state: State) -> str:
        """Return the judge whose answer the person saw; empty for none."""
        return ""

    # What is done -------------------------------------------------------------------------------

    async def item(self, request: Request, who: str) -> Response:
        """Show an item by its position in the person's order, from 1."""
        position = self._place(request, who)
        return self.work(request, who, position, show=show_of(request.query_params))

    async def answer(self, request: Request, who: str) -> Response:
        """Record an answer, a skip or a draft, and show the next item."""
        from anyio.to_thread import run_sync
        from starlette.responses import JSONResponse

        position, sent = self._place(request, who), await sent_form(request)
        item = self.desk.order(who)[position]
        form = self.desk.form(self.desk.questions[item], who)
        before = self.desk.state(who, item)
        try:
            act = self._act(who, item, form, sent, before)
            state = await run_sync(self.desk.record, act, version_of(sent))
        except StaleError as error:
            return self.work(request, who, position, problem=str(error), status=409)
        except InputError as error:
            draft = draft_of(form, sent, who, self.desk.questions[item].id)
            return self.work(request, who, position, problem=str(error), status=400, draft=draft)
        if act.does == "draft":
            return JSONResponse({"version": state.version})
        return self.onward(request, who, position, act, before, show_of(sent))

    async def undo(self, request: Request, who: str) -> Response:
        """Take back the last answer, and show its item with the choices made."""
        from anyio.to_thread import run_sync

        sent = await sent_form(request)
        item = self.desk.places.get(str(sent.get("item", "")))
        order = self.desk.order(who)
        if item is None or item not in order:
            raise InputError("there is nothing to undo")
        seen = self.seen(item, self.desk.state(who, item))
        act = Act(who, self.desk.questions[item].id, "undo", seen=seen)
        position = order.index(item)
        try:
            await run_sync(self.desk.record, act, version_of(sent))
        except (StaleError, InputError) as error:
            return self.work(request, who, position, problem=str(error), status=409)
        return self.to(request, who, position)

    def _act(self, who: str, item: int, form: Form, sent: FormData, state: State) -> Act:
        """Return the act of a submitted form; InputError if the answer is incomplete."""
        does: Does = "answer"
        if sent.get("do") in ("skip", "draft"):
            does = "skip" if sent["do"] == "skip" else "draft"
        act = draft_of(form, sent, who, self.desk.questions[item].id)
        before = state.latest.seconds if state.latest and state.latest.seconds else 0.0
        seconds = None if act.seconds is None else round(before + act.seconds, 1)
        values: Mapping[str, Any] = form.values(act.marks) if does == "answer" else {}
        comment, reason = act.comment, str(sent.get("reason", ""))
        if does == "skip" and reason in SKIPS:
            comment = comment if comment.startswith(reason) else f"{reason}: {comment}".rstrip(": ")
        return replace(
            act, does=does, values=values, unsure=act.unsure and does != "skip", comment=comment,
            seconds=seconds, seen=self.seen(item, state),
        )  # fmt: skip

    def _place(self, request: Request, who: str) -> int:
        position, count = int(request.path_params["place"]) - 1, len(self.desk.order(who))
        if not 0 <= position < count:
            raise not_found(f"expected an item from 1 to {count}")
        return position

    # Responses ------------------------------------------------------------------------------

    def to(self, request: Request, who: str, position: int | None, show: str = "") -> Response:
        """Show an item after an action: directly to a script, or else by a redirect."""
        if PART in request.headers:
            return self.work(request, who, position, show=show)
        return see(self.address(position, show))

    def work(
        self,
        request: Request,
        who: str,
        position: int | None,
        *,
        show: str = "",
        problem: str = "",
        status: int = 200,
        draft: Act | None = None,
    ) -> Response:
        """Respond with an item and its form, or else with the final page."""
        desk, part = self.desk, PART in request.headers
        last = desk.book.last(who)
        values: dict[str, Any] = {"item": None}
        if position is not None:
            order = desk.order(who)
            item = desk.questions[order[position]]
            values = {
                "item": item, "form": desk.form(item, who), "place": position + 1,
                "count": len(order), "state": desk.state(who, order[position]),
                "differing": desk.differing(who, order[position]),
            }  # fmt: skip
        answer = html(
            request,
            "labelling/work.html.j2" if part else "labelling/page.html.j2",
            status=status,
            **values, **self.values(who, position, draft), who=who, show=show, problem=problem,
            last=last, last_version=desk.book.state(who, last).version if last else 0, skips=SKIPS,
            task=desk.task, trouble=desk.trouble, undo=Links().to(*self.undoes),
            action=Links().to(self.root, str((position or 0) + 1)),
        )  # fmt: skip
        if part:
            answer.headers["x-pnyx-address"] = self.address(position, show)
        return answer
