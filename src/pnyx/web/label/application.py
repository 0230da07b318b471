"""The application of `pnyx label`: the pages of annotators, and those of the organiser."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pnyx.web.application import build_app
from pnyx.web.label.label_session import Desk
from pnyx.web.label.organiser import Organising
from pnyx.web.label.pages import Pages
from pnyx.web.label.people import People
from pnyx.web.rendering import Site

if TYPE_CHECKING:
    from pnyx.web.security import Guard


def build_labelling(desk: Desk, people: People, *, token: str = "") -> Guard:
    """Return the labelling application; `token` opens it if annotators have no tokens."""
    site = Site(
        f"label {desk.task.name}",
        nav=(("Label", ("next",)), ("Items", ("items",))),
        scripts=("labelling.js",),
    )
    first, *others = people.tokens.values() if people.closed else [token]
    routes = [*Pages(desk, people).routes(), *Organising(desk, people).routes()]
    return build_app(routes, site, token=first, others=others)
