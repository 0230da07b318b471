"""Which annotator labels which items in which order (fixed by a seed), and who sends a request."""

from __future__ import annotations

import hmac
import random
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final
from urllib.parse import quote, unquote

from pnyx.core.errors import OptionError, shorten
from pnyx.formats.label_words import ADJUDICATED
from pnyx.web.security import is_secure

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

ORGANISER: Final = "organiser"
_LONGEST: Final = 60
_TOKEN_DIGITS: Final = 24
NAME_COOKIE: Final = "pnyx_annotator"
_YEAR_SECONDS: Final = 365 * 24 * 3600


class People:
    """Who may label: annotators with a token each or, without `annotators`, anybody with a name."""

    def __init__(self, annotators: Sequence[str], secret: str, token: str | None = None) -> None:
        names = check_names(annotators)
        self.tokens: Mapping[str, str] = {}
        if names:
            organiser_token = token or token_of(secret, ORGANISER)
            self.tokens = {ORGANISER: organiser_token} | {
                name: token_of(secret, name) for name in names
            }
        self._names = {token: name for name, token in self.tokens.items()}

    @property
    def closed(self) -> bool:
        """Whether each annotator needs a token."""
        return bool(self.tokens)

    def who(self, request: Request) -> str:
        """Return the annotator who sends a request; empty if unknown."""
        if self.closed:
            name = self._names.get(request.scope.get("pnyx.token", ""), "")
            return "" if name == ORGANISER else name
        try:
            return check_name(unquote(request.cookies.get(NAME_COOKIE, "")))
        except OptionError:
            return ""

    def is_organiser(self, request: Request) -> bool:
        """Return whether a request may see everybody's answers."""
        return not self.closed or self._names.get(request.scope.get("pnyx.token", "")) == ORGANISER

    def remember(self, request: Request, response: Response, name: str) -> None:
        """Store a name in the browser."""
        response.set_cookie(
            NAME_COOKIE, quote(name, safe=""), max_age=_YEAR_SECONDS, httponly=True,
            samesite="strict", secure=is_secure(request.url.scheme, request.headers),
        )  # fmt: skip


def check_names(annotators: Sequence[str]) -> list[str]:
    """Return annotators' names; OptionError if one is invalid or repeated."""
    names = [check_name(name) for name in annotators]
    if len({name.casefold() for name in names}) < len(names):
        raise OptionError("--annotators repeats a name")
    return names


def check_name(name: str) -> str:
    """Return an annotator's name without surrounding white space; OptionError if it is invalid."""
    name = name.strip()
    if not name or len(name) > _LONGEST or not name.isprintable():
        short = repr(shorten(name, 40))
        raise OptionError(f"found the name {short}, expected 1 to {_LONGEST} printable characters")
    if name.casefold() in (ADJUDICATED, ORGANISER):
        raise OptionError(f"found the name {shorten(name, 40)!r}, which is reserved")
    return name


def token_of(secret: str, name: str) -> str:
    """Return the token of an annotator, which cannot be guessed without the secret."""
    return hmac.new(secret.encode(), name.encode(), "sha256").hexdigest()[:_TOKEN_DIGITS]


def order_of(places: Sequence[int], who: str, seed: int, *, shuffle: bool) -> list[int]:
    """Return items in an annotator's order."""
    order = list(places)
    if shuffle:
        random.Random(f"{seed}:order:{who}").shuffle(order)
    return order


def is_turned(item: str, who: str, seed: int) -> bool:
    """Return whether an annotator sees the second of two sides first."""
    return random.Random(f"{seed}:side:{who}:{item}").random() < 0.5


def shared_out(
    count: int, annotators: Sequence[str], overlap: int | None, seed: int
) -> Mapping[str, list[int]]:
    """Return each annotator's items, from 0: `overlap` people an item, equal loads, mixed pairs."""
    if overlap is None:
        return {who: list(range(count)) for who in annotators}
    rng = random.Random(f"{seed}:overlap")
    loads = dict.fromkeys(annotators, 0)
    shares: dict[str, list[int]] = {who: [] for who in annotators}
    for item in rng.sample(range(count), count):
        drawn = sorted(annotators, key=lambda who: (loads[who], rng.random()))
        for who in drawn[:overlap]:
            loads[who] += 1
            shares[who].append(item)
    return {who: sorted(items) for who, items in shares.items()}
