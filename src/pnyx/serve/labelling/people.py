"""Who sends a request: an annotator or the organiser."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final
from urllib.parse import quote, unquote

from pnyx.errors import OptionError
from pnyx.serve.labelling.sharing import ORGANISER, check_name, token_of
from pnyx.serve.security import is_secure

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from starlette.requests import Request
    from starlette.responses import Response

NAME_COOKIE: Final = "pnyx_annotator"
_YEAR_SECONDS: Final = 365 * 24 * 3600


class People:
    """Who may label, and how one tells who it is.

    With `annotators` each has a token, and so has the organiser: who brings one is its owner.
    Without, whoever comes gives a name, and is trusted with it and with the organiser's pages.

    Attributes:
        tokens: name -> token, the organiser's first; empty without annotators.
    """

    def __init__(self, annotators: Sequence[str], secret: str, token: str | None = None) -> None:
        names = [check_name(name) for name in annotators]
        if len({name.casefold() for name in names}) < len(names):
            raise OptionError("--annotators names somebody twice")
        self.tokens: Mapping[str, str] = {}
        if names:
            own = token or token_of(secret, ORGANISER)
            self.tokens = {ORGANISER: own} | {name: token_of(secret, name) for name in names}
        self._names = {token: name for name, token in self.tokens.items()}

    @property
    def closed(self) -> bool:
        """Whether one needs a token of one's own."""
        return bool(self.tokens)

    def who(self, request: Request) -> str:
        """Return the annotator who sends a request; empty where it is not known."""
        if self.closed:
            name = self._names.get(request.scope.get("pnyx.token", ""), "")
            return "" if name == ORGANISER else name
        try:
            return check_name(unquote(request.cookies.get(NAME_COOKIE, "")))
        except OptionError:
            return ""

    def is_organiser(self, request: Request) -> bool:
        """Tell whether a request may see everybody's answers."""
        return not self.closed or self._names.get(request.scope.get("pnyx.token", "")) == ORGANISER

    def remember(self, request: Request, response: Response, name: str) -> None:
        """Have a browser bring a name."""
        response.set_cookie(
            NAME_COOKIE, quote(name, safe=""), max_age=_YEAR_SECONDS, httponly=True,
            samesite="strict", secure=is_secure(request.url.scheme, request.headers),
        )  # fmt: skip
