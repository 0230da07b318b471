"""Who labels which items, and in which order: fixed by a seed."""

from __future__ import annotations

import hmac
import random
from collections.abc import Mapping, Sequence

from pnyx.corpora.benchmarks.items import ADJUDICATED
from pnyx.errors import OptionError, shorten

ORGANISER = "organiser"
_LONGEST = 60
_TOKEN_DIGITS = 24


def check_name(name: str) -> str:
    """Return an annotator's name without white space around it; OptionError where it is none."""
    name = name.strip()
    if not name or len(name) > _LONGEST or not name.isprintable():
        found = repr(shorten(name, 40))
        raise OptionError(f"found the name {found}, expected 1 to {_LONGEST} printable characters")
    if name.casefold() in (ADJUDICATED, ORGANISER):
        raise OptionError(f"found the name {shorten(name, 40)!r}, which has a meaning of its own")
    return name


def token_of(secret: str, name: str) -> str:
    """Return the token of an annotator, which nobody can tell who has not read the secret."""
    return hmac.new(secret.encode(), name.encode(), "sha256").hexdigest()[:_TOKEN_DIGITS]


def order_of(places: Sequence[int], who: str, seed: int, *, shuffle: bool) -> list[int]:
    """Return items in the order in which an annotator sees them."""
    order = list(places)
    if shuffle:
        random.Random(f"{seed}:order:{who}").shuffle(order)
    return order


def is_turned(item: str, who: str, seed: int) -> bool:
    """Tell whether an annotator sees the second of two sides first."""
    return random.Random(f"{seed}:side:{who}:{item}").random() < 0.5


def shared_out(
    count: int, annotators: Sequence[str], overlap: int | None, seed: int
) -> Mapping[str, list[int]]:
    """Return the items of each annotator, by their number in the file, from 0.

    Each item goes to `overlap` annotators (None: to all): to those who have the fewest so far, by
    lot among equals, so that loads differ by one at most and pairs of annotators mix.
    """
    if overlap is None:
        return {who: list(range(count)) for who in annotators}
    rng = random.Random(f"{seed}:overlap")
    loads = dict.fromkeys(annotators, 0)
    found: dict[str, list[int]] = {who: [] for who in annotators}
    for item in rng.sample(range(count), count):
        drawn = sorted(annotators, key=lambda who: (loads[who], rng.random()))
        for who in drawn[:overlap]:
            loads[who] += 1
            found[who].append(item)
    return {who: sorted(items) for who, items in found.items()}
