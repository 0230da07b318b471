"""Keys and passwords taken out of what a server sends, before any of it is cut, shown or kept.

A server may echo a key as it was sent, escaped (JSON, percent, HTML entities), in base64, mixed, or
cut short: all of these are found.
"""

from __future__ import annotations

import base64
import html.entities
import re
from collections.abc import Iterable

__all__ = ["Secrets"]

_HIDDEN = "***"
_HEAD = 12
"""So many first characters of a longer key give it away already."""
_TELLING = 8
"""A shorter key (EMPTY, test) may be any word: it is not taken out of good replies."""
_ENCODED = re.compile(r"\\u|\\x|%[2-7][0-9A-Fa-f]|&#|&[a-z]+;")


class Secrets:
    """What must not be seen; None and empty values are ignored."""

    def __init__(self, *values: str | None) -> None:
        given = sorted({value for value in values if value}, key=len, reverse=True)
        self._all = tuple(_Secret(value) for value in given)
        self._telling = tuple(one for one in self._all if len(one.value) >= _TELLING)

    def __repr__(self) -> str:
        return f"Secrets({len(self._all)})"

    def hide(self, text: str) -> str:
        """Return a text that is to be shown, without any of them."""
        return _without(self._all, text)

    def hide_in_reply(self, text: str) -> str:
        """Return what a model said without those that cannot be a word of it."""
        return _without(self._telling, text)

    def hide_bytes(self, body: bytes, *, good: bool = False) -> bytes:
        """Return the body of an answer without them; of a `good` one as `hide_in_reply` does."""
        secrets = self._telling if good else self._all
        if not secrets:
            return body
        text = body.decode("latin-1")  # keys are ASCII, and every byte stays what it is
        hidden = _without(secrets, text)
        return body if hidden is text else hidden.encode("latin-1")


def _without(secrets: Iterable[_Secret], text: str) -> str:
    for secret in secrets:
        text = secret.hide(text)
    return text


class _Secret:
    """One key or password, and the forms that it may come in."""

    def __init__(self, value: str) -> None:
        self.value = value
        self._literal = value[:_HEAD]
        forms = [_forms(character) for character in value]
        self._head = re.compile("".join(forms[:_HEAD]))
        self._tail = [re.compile(form) for form in forms[_HEAD:]]
        self._base64 = tuple(_base64_of(value)) if len(value) >= _TELLING else ()

    def hide(self, text: str) -> str:
        if self._literal in text or _ENCODED.search(text):
            text = self._hidden(text)
        for core in self._base64:
            if core in text:
                text = text.replace(core, _HIDDEN)
        return text

    def _hidden(self, text: str) -> str:
        parts: list[str] = []
        at = 0
        while (found := self._head.search(text, at)) is not None:
            parts += text[at : found.start()], _HIDDEN
            at = found.end()
            for form in self._tail:  # as far as the key goes on
                if (more := form.match(text, at)) is None:
                    break
                at = more.end()
        return "".join([*parts, text[at:]]) if parts else text


def _forms(character: str) -> str:
    """Return a pattern of all forms of a character; possessive, so that none backtracks."""
    code = ord(character)
    digits = "".join(f"[{d}{d.upper()}]" if d.isalpha() else d for d in f"{code:02x}")
    names = [name for name, value in html.entities.html5.items() if value == character]
    named = [re.escape(f"&{name}") for name in sorted(names, key=len, reverse=True)]
    escaped = r"(?:\\{1,8}+)?" if character == "/" else ""
    many = rf"\\{{1,8}}+(?:u(?:00|\{{0{{0,4}}){digits}\}}?|x{digits})"
    entity = rf"&#(?:0{{0,8}}{code}|[xX]0{{0,8}}{digits});?"
    forms = [escaped + re.escape(character), many, f"%(?:25)?{digits}", entity, *named]
    return f"(?:{'|'.join(forms)})"


def _base64_of(value: str) -> Iterable[str]:
    """Yield what is the same in the base64 of any text that holds the value."""
    raw = value.encode()
    for before in range(3):
        packed = base64.b64encode(b"\0" * before + raw + b"\0\0").decode()
        core = packed[-(-before * 8 // 6) : (before + len(raw)) * 8 // 6]
        yield core
        urlsafe = core.translate(str.maketrans("+/", "-_"))
        if urlsafe != core:
            yield urlsafe
