"""Forms that browsers submit while people label, and redirects."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from pnyx.core.files import clean_text
from pnyx.web.application import see
from pnyx.web.label.forms import Form
from pnyx.web.label.label_log import Act
from pnyx.web.label.label_session import SHOWS

if TYPE_CHECKING:
    from starlette.datastructures import FormData
    from starlette.requests import Request
    from starlette.responses import Response

PART: Final = "x-pnyx-part"
"""A request with this header gets only the form, without the rest of the page."""

SKIPS: Final = ("I cannot tell", "The text is broken", "The question is unclear")
"""Reasons offered for skipping; others go into the comment."""

_LONGEST_COMMENT: Final = 4000
_LONGEST_SECONDS: Final = 24 * 3600.0


def draft_of(form: Form, sent: FormData, who: str, item: str) -> Act:
    """Return the act of a submitted form, complete or not."""
    comment = clean_text(str(sent.get("comment", ""))).replace("\r\n", "\n").strip()
    positions = []
    for number, field in enumerate(form.fields):
        chosen = whole(str(sent.get(f"f{number}", "")), -1)
        positions.append(chosen if 0 <= chosen < len(field.choices) else None)
    return Act(
        who, item, "draft", tuple(positions), {}, bool(sent.get("unsure")),
        comment[:_LONGEST_COMMENT], _seconds(sent.get("seconds")), form.side_order,
    )  # fmt: skip


def _seconds(sent: object) -> float | None:
    """Return the time that the page was visible; None if it does not say."""
    try:
        seconds = float(str(sent))
    except ValueError:
        return None
    return seconds if 0 <= seconds <= _LONGEST_SECONDS and str(sent) else None


def whole(text: str, otherwise: int) -> int:
    """Return a submitted number, or a default if it is invalid."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else otherwise


def version_of(sent: FormData) -> int:
    """Return the version of the item that a form was made from; -1 for none."""
    return whole(str(sent.get("version", "")), -1)


def show_of(sent: Mapping[str, Any]) -> str:
    """Return the filter of items; empty for all."""
    show = str(sent.get("show", ""))
    return show if show in SHOWS else ""


def moved(request: Request, address: str) -> Response:
    """Redirect to another page, for a script or a browser."""
    from starlette.responses import Response

    if PART not in request.headers:
        return see(address)
    return Response(status_code=204, headers={"x-pnyx-leave": address})
