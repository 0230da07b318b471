"""The encoding of a text file: stated, UTF-8, or assumed from its bytes."""

from __future__ import annotations

import codecs
import io
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pnyx.core.errors import InputError
from pnyx.core.files import MAX_LINE_BYTES, guarded, open_binary

_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_CANDIDATES = (
    "cp1250 cp1252 cp1251 cp1253 cp1254 cp1255 cp1256 cp1257 koi8_r shift_jis euc_jp euc_kr "
    "gb18030 big5"
).split()
_WESTERN = ("cp1252", "cp1254")
_SAMPLE = 1 << 16
"""Number of bytes, from the first non-ASCII one, from which an encoding is guessed."""
_FEW = 24
"""With fewer bytes beyond ASCII than this, Western European is assumed if it fits: too little is
known to guess."""
_WITHIN_WORD = re.compile(r"(?<=[A-Za-z])[^\x00-\x7f\u2019](?=[A-Za-z])")
_MOST_ODD = 0.2
_CHUNK = 1 << 20
_SHOWN = {"cp1252": "Windows-1252", "utf-16-le": "UTF-16", "utf-16-be": "UTF-16"}
_CONTROLS = frozenset(range(32)) - frozenset(b"\t\n\r\f\x1b\x1a\v\b")
_MOST_CONTROLS = 0.02
"""Share of control characters above which a file is not text."""


@dataclass(frozen=True, slots=True)
class Encoding:
    """A codec's name, and the assumed encoding; `assumed` is empty for UTF-8."""

    codec: str
    assumed: str = ""


def encoding_of(path: str | Path) -> Encoding:
    """Return the encoding of a file, reading it once; InputError if it is not text."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    first = True
    with open_binary(path) as stream:
        while chunk := guarded(lambda: stream.read(_CHUNK), str(path)):
            if first and (encoding := _marked(chunk) or _wide(chunk)):
                return encoding
            first = False
            _check_text(chunk, path)
            try:
                decoder.decode(chunk)
            except UnicodeDecodeError as error:
                return _guessed(_sample(chunk, error.start) + stream.read(_SAMPLE // 4))
    return Encoding("utf-8")


def encoding_of_bytes(content: bytes) -> Encoding:
    """Return the encoding of the content of a file; InputError if it is not text."""
    if encoding := _marked(content) or _wide(content[:_CHUNK]):
        return encoding
    _check_text(content[:_CHUNK])
    try:
        content.decode("utf-8")
    except UnicodeDecodeError as error:
        return _guessed(_sample(content, error.start))
    return Encoding("utf-8")


def decoded_bytes(content: bytes) -> tuple[str, str]:
    """Return the text of a file's content, and the encoding that was assumed, if any."""
    encoding = encoding_of_bytes(content)
    return content.decode(encoding.codec, "replace").removeprefix("\ufeff"), encoding.assumed


def decoded_lines(path: str | Path, encoding: Encoding) -> Iterator[str]:
    """Yield the lines of a file with their ends, streaming; undecodable bytes become U+FFFD."""
    decoder = codecs.getincrementaldecoder(encoding.codec)("replace")
    rest = ""
    with open_binary(path) as stream:
        while True:
            chunk = guarded(lambda: stream.read(_CHUNK // 4), str(path))
            text = rest + decoder.decode(chunk, final=not chunk)
            rest = ""
            lines = list(io.StringIO(text, newline="")) if "\r" in text else _split(text)
            if chunk and lines and (not lines[-1].endswith("\n")):
                rest = lines.pop()
                if len(rest) > MAX_LINE_BYTES:
                    raise InputError(f"line is longer than {MAX_LINE_BYTES >> 20} MB", path=path)
            yield from lines
            if not chunk:
                return


def _split(text: str) -> list[str]:
    parts = text.split("\n")
    lines = [part + "\n" for part in parts[:-1]]
    return [*lines, parts[-1]] if parts[-1] else lines


def _marked(content: bytes) -> Encoding | None:
    """Return the encoding that a byte order mark states."""
    for mark, codec in _MARKS:
        if content.startswith(mark):
            return Encoding(codec, "" if codec == "utf-8-sig" else codec.upper())
    return None


def _wide(content: bytes) -> Encoding | None:
    """Return UTF-16 if every second byte of the beginning is mostly 0."""
    head = content[:4096]
    pairs = len(head) // 2
    if pairs < 2 or not head.count(0):
        return None
    for codec, offset in (("utf-16-le", 1), ("utf-16-be", 0)):
        zeros, others = head[offset::2].count(0), head[1 - offset :: 2].count(0)
        if zeros > 0.5 * pairs and others <= 0.05 * pairs:
            return Encoding(codec, _SHOWN[codec])
    return None


def _check_text(chunk: bytes, path: str | Path | None = None) -> None:
    controls = sum(chunk.count(code) for code in _CONTROLS)
    if controls > _MOST_CONTROLS * len(chunk):
        raise InputError("is not text", path=path)


def _sample(content: bytes, start: int) -> bytes:
    return content[max(0, start - 4096) : start + _SAMPLE]


def _guessed(sample: bytes) -> Encoding:
    """Guess the encoding of bytes that are not UTF-8."""
    beyond = sum(byte > 127 for byte in sample)
    western = _is_western(sample)
    codec = "cp1252" if beyond < _FEW and western else _best_match(sample, western=western)
    if not codec:
        codec = "cp1252" if _fits(sample, "cp1252") else "latin-1"
    return Encoding(codec, _SHOWN.get(codec, codec.upper().replace("CP", "Windows-")))


def _fits(sample: bytes, codec: str) -> bool:
    try:
        sample.decode(codec)
    except UnicodeDecodeError:
        return False
    return True


def _is_western(sample: bytes) -> bool:
    """Whether the bytes beyond ASCII within words are mostly letters in Windows-1252."""
    if not _fits(sample, "cp1252"):
        return False
    within = _WITHIN_WORD.findall(sample.decode("cp1252"))
    return sum(not letter.isalpha() for letter in within) <= _MOST_ODD * len(within)


def _best_match(sample: bytes, *, western: bool) -> str:
    from charset_normalizer import from_bytes

    candidates = [codec for codec in _CANDIDATES if western or codec not in _WESTERN]
    matches = from_bytes(sample, cp_isolation=candidates, enable_fallback=False)
    best = matches.best()
    if best is None:
        return ""
    similar = any(
        match.encoding == "cp1252"
        and match.chaos <= best.chaos
        and match.coherence >= best.coherence
        for match in matches
    )
    preferred = western and (similar or "cp1252" in best.could_be_from_charset)
    return "cp1252" if preferred else str(best.encoding)
