"""The blocks of a file in the Rich Text Format (.rtf).

Written here because the regular expressions of striprtf take cubic time: a hostile file of 40 kB
keeps it busy for half a minute.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from typing import Final

from pnyx.core.errors import InputError
from pnyx.formats.text.blocks import Block
from pnyx.formats.text.plain_text import blocks_of_text

_TOKEN = re.compile(
    r"\\'(?P<byte>[0-9a-fA-F]{2})|\\(?P<word>[a-zA-Z]{1,32})(?P<number>-?\d{1,10})? ?"
    r"|\\(?P<symbol>[^a-zA-Z])|(?P<brace>[{}])|(?P<text>[^\\{}]+)"
)
_SKIPPED: Final = frozenset(
    "annotation colortbl deleted fldinst fonttbl footer footerf footerl footerr footnote header "
    "headerf headerl headerr info listoverridetable listtable nonshppict object pict stylesheet v "
    "xe".split()
)
"""Groups that hold no text of the document, or deleted or hidden text."""
_WORDS: Final = {
    "par": "\n\n", "sect": "\n\n", "page": "\n\n", "row": "\n\n", "line": "\n",
    "cell": " | ", "tab": " ", "emdash": "\u2014", "endash": "\u2013", "bullet": "\u2022",
    "lquote": "\u2018", "rquote": "\u2019", "ldblquote": "\u201c", "rdblquote": "\u201d",
}  # fmt: skip
_CELL_END: Final = re.compile(r"(?<!\s)\s++\| (?!\n)")
"""The end of a cell but the last, after its paragraphs."""
_SYMBOLS: Final = {"\\": "\\", "{": "{", "}": "}", "~": " ", "_": "-", "\r": "\n\n", "\n": "\n\n"}


def blocks_of_rich_text(content: bytes) -> tuple[Block, ...]:
    """Return the paragraphs of a file; InputError if it is not in this format."""
    if not content.lstrip().startswith(b"{\\rtf"):
        raise InputError("cannot be read as RTF: it does not begin with {\\rtf")
    text = "".join(_decoded(content.decode("latin-1")))
    whole = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return blocks_of_text(_CELL_END.sub(" | ", whole).replace(" | \n", "\n"))


def _decoded(markup: str) -> Iterator[str]:
    """Yield the text; characters above U+FFFF are two halves, as in UTF-16."""
    page, pending = "cp1252", bytearray()
    groups = [(False, 1)]  # whether a group is skipped; how many characters stand in for one
    stand_ins = at = 0
    while token := _TOKEN.match(markup, at):
        at = token.end()
        skipped, width = groups[-1]
        word, number = token["word"], int(token["number"] or 0)
        if token["byte"] or token["text"]:
            raw = (token["text"] or "").encode("latin-1").translate(None, b"\r\n")
            characters = raw or bytes.fromhex(token["byte"] or "")
            remaining = characters[stand_ins:]
            stand_ins = max(0, stand_ins - len(characters))
            pending += b"" if skipped else remaining
            continue
        yield pending.decode(page, "replace")
        pending.clear()
        stand_ins = 0
        if token["brace"] == "{":
            groups.append((skipped, width))
        elif token["brace"] and len(groups) > 1:
            groups.pop()
        elif (word in _SKIPPED and token["number"] != "0") or token["symbol"] == "*":
            groups[-1] = (True, width)
        elif word == "bin":
            at += max(0, number)
        elif word == "uc":
            groups[-1] = (skipped, max(0, number))
        elif word == "ansicpg":
            page = _code_page(number)
        elif not skipped:
            is_unicode = word == "u" and token["number"]
            stand_ins = width if is_unicode else 0
            yield chr(number % 0x10000) if is_unicode else _WORDS.get(word, "")
            yield _SYMBOLS.get(token["symbol"], "")
    yield pending.decode(page, "replace")


def _code_page(number: int) -> str:
    try:
        return codecs.lookup(f"cp{number}").name
    except LookupError:
        return "cp1252"
