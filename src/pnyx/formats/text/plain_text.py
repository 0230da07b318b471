"""The blocks of a plain text, or of reStructuredText without its markup.

Blocks are paragraphs, headings, list items, turns of speakers and parts of e-mails.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from pnyx.core.files import clean_text
from pnyx.formats.text.blocks import Block, BlockKind, Page

_LIGATURES = {
    "\ufb00": "ff", "\ufb01": "fi", "\ufb02": "fl", "\ufb03": "ffi", "\ufb04": "ffl",
    "\ufb05": "st", "\ufb06": "st",
}  # fmt: skip
_INVISIBLE = dict.fromkeys([0xAD, 0x200B, 0x2060, 0xFEFF])
"""Soft hyphens, spaces and joiners without width."""
_CHARACTERS = str.maketrans({**_LIGATURES, **{chr(code): None for code in _INVISIBLE}})
_LINE_END = re.compile("\r\n?|[\v\f\x1c-\x1e\x85\u2028\u2029]")
_SPACES = re.compile(r"\s+")
_ENDED = (".", "!", "?", "\u2026", ":", ";", '."', '!"', '?"', ".\u201d", "?\u201d", ".)", "\u3002")
_HYPHEN = re.compile(r"[^\W\d_][-\u2010]$")

_ITEM = re.compile(
    r"[ \t]*(?:[-*+\u2022\u2023\u25aa\u25cf\u2013\u2014\u00b7]|\(?\d{1,3}[.)])[ \t]+(?=\S)"
)
_UNDERLINE = re.compile(r"([=\-~^\"'*+#`.:_])\1{2,}")
_TIME = r"(?:\[?\d{1,2}[:.]\d{2}(?:[:.]\d{2})?(?: ?[AaPp][Mm])?\]?[ \t]*+[-\u2013]?+[ \t]*+)"
_NAME = r"[^\W\d_][\w.'\u2019-]*(?:[ \t]++(?:[^\W\d_]|[(&])[\w.'\u2019(),&-]*){0,5}"
_TURN = re.compile(
    rf"\A[ \t]*+(?:{_TIME})?(?:<(?P<nick>[^<>\s]{{1,30}})>|(?P<name>{_NAME}):)(?:[ \t]+|$)"
)
_MOST_NAME = 50
"""Maximum characters of a speaker's name, with a role in brackets."""
_LABELS = frozenset(
    "note notes date time place present apologies source sources tel phone email mail e-mail "
    "address subject re fwd from to cc bcc sent reply-to where when who what why how example "
    "summary abstract keywords ingredients method conclusion warning update edit ps p.s. http "
    "https figure table von an betreff datum gesendet "
    "first second third fourth fifth finally lastly firstly secondly thirdly".split()
)  # fmt: skip
"""Words before a colon that are not the name of a speaker."""
_HEADER = re.compile(
    r"(From|To|Cc|Bcc|Subject|Date|Sent|Reply-To|Von|An|Betreff|Datum|Gesendet):[ \t]+(.*)"
)
_SUBJECTS = ("Subject", "Betreff")
_ATTRIBUTION = re.compile(
    r"(?:On|Am|Le|El|Il) .{4,120}?,? (?:wrote|schrieb|a \u00e9crit|escribi\u00f3|ha scritto)\b.*:$"
)
_WROTE = re.compile(
    r"[,>] ?([^,<>]{2,50}?) ?(?:<[^<>]*> ?)?(?:wrote|a \u00e9crit|escribi\u00f3|ha scritto) ?:$"
)
_MOST_ATTRIBUTION = 300
_SALUTATION = re.compile(
    r"(?:Dear [^\s,.:;!?][^,.:;!?]{0,40}|Sirs?|Madam|(?:To|Dear) the [Ee]ditor)"
    r"[ \t]*(?:[,:!\u2013\u2014]|- )"
)
"""The beginning of a letter."""
_SIGNATURE = re.compile(
    r"\(?(?:Mrs?|Ms|Miss|Dr|Prof|Rev|Sir|Dame|[A-Z])\.?\)?\.? [A-Z]"
    r"|[A-Z][^\s,]*(?: [A-Z][^\s,]*){1,3}, [A-Z]"
)
"""The beginning of a letter's last line: `(Mrs) E. Cole`, `J. Marrow`, `Ann Marrow, Tarl`."""
_QUOTED = re.compile(r"(?:[ \t]{0,8}>)++[ \t]?")

_MOST_HEADING = 80
_MOST_HEADING_WORDS = 12
_WRAPPED_AT_MOST = 120
"""Minimum characters of the longest line of a text wrapped at a fixed width."""
_WRAPPED_LINES = 3
"""Minimum number of lines near the longest one in a wrapped text."""
_NEAR_FULL = 0.8
"""A line is full if the next word would have made it longer than this share of the width."""


def composed(text: str) -> str:
    """Return text with composed letters (NFC), without ligatures and invisible characters."""
    if text.isascii():
        return text
    return unicodedata.normalize("NFC", clean_text(text).translate(_CHARACTERS))


def in_one_line(text: str) -> str:
    """Return a block's text: composed, in one line."""
    return " ".join(composed(text).split())


def lines_of(text: str) -> list[str]:
    """Return the lines of a text, composed, whatever ends them."""
    return _LINE_END.sub("\n", composed(text)).replace("\0", "\ufffd").split("\n")


@dataclass(frozen=True, slots=True)
class _Group:
    """Lines between blank lines, at one level of quotation."""

    lines: tuple[str, ...]
    depth: int = 0


def blocks_of_text(text: str) -> tuple[Block, ...]:
    """Return the blocks of a plain text.

    Blank lines separate; lines that were wrapped at a width are joined, and so are words that were
    hyphenated at line ends. Recognised are headings (underlined, in capitals, or a short line
    without a full stop), list items, turns (`Name: ...`, if two such lines occur), e-mail headers
    and quoted lines of e-mails.
    """
    lines = lines_of(text)
    speakers = _speakers(lines)
    blocks: list[Block] = []
    attributed = ""
    width = _wrap_width(lines)
    for group in _groups(lines):
        group_blocks = list(_blocks_of_group(group, speakers, width))
        if group.depth:
            group_blocks = [_quoted(block, attributed) for block in group_blocks]
        else:
            attributed = _attributed(group_blocks[-1].text) if group_blocks else ""
        blocks += group_blocks
    return with_letters(_with_short_headings(blocks))


def _groups(lines: Sequence[str]) -> Iterator[_Group]:
    group_lines: list[str] = []
    depth = 0
    for line in [*lines, ""]:
        mark = _QUOTED.match(line) if ">" in line[:40] else None
        now = mark.group().count(">") if mark else 0
        line = line[mark.end() :] if mark else line
        if group_lines and (now != depth or not line.strip()):
            yield _Group(tuple(group_lines), depth)
            group_lines = []
        depth = now
        if line.strip():
            group_lines.append(line.rstrip())


def _quoted(block: Block, speaker: str) -> Block:
    if block.kind == "heading":
        return block
    kind: BlockKind = "turn" if block.kind == "paragraph" else block.kind
    return replace(block, kind=kind, speaker=block.speaker or speaker)


def _attributed(line: str) -> str:
    """Return who wrote the quoted lines after this one."""
    if len(line) > _MOST_ATTRIBUTION or not _ATTRIBUTION.match(line):
        return ""
    match = _WROTE.search(line)
    return match[1].strip() if match else ""


def _speakers(lines: Sequence[str]) -> frozenset[str]:
    """Return the names with which turns of this text begin; none unless two lines do."""
    counted: Counter[str] = Counter()
    certain: set[str] = set()
    for line in lines:
        if name := turn_opening(line):
            counted[name] += 1
            if not (name.islower() and name.isalpha()) or not line.lstrip().startswith(name):
                certain.add(name)  # a word in small letters is a name only if it occurs again
    names = {name for name, count in counted.items() if count > 1 or name in certain}
    return frozenset(names) if sum(counted[name] for name in names) > 1 else frozenset()


def turn_opening(line: str) -> str:
    """Return the name with which a line begins, before a colon; empty if there is none."""
    if ":" not in line[:100] and ">" not in line[:40]:
        return ""
    match = _TURN.match(line)
    if not match:
        return ""
    if match["nick"]:
        return match["nick"]
    name = match["name"]
    plausible = name.lower() not in _LABELS and len(name) <= _MOST_NAME
    upper = sum(part[:1].isupper() for part in name.replace("(", " ").split())
    timed = bool(re.match(_TIME, line.lstrip()))
    capital = name[0].isupper() and upper * 2 >= len(name.split())
    return name if plausible and (timed or capital or " " not in name) else ""


def _wrap_width(lines: Sequence[str]) -> int:
    """Return the width at which a text was wrapped; 0 if it was not."""
    width = max(map(len, lines), default=0)
    near = sum(len(line) > _NEAR_FULL * width for line in lines)
    return width if width <= _WRAPPED_AT_MOST and near >= _WRAPPED_LINES else 0


def _blocks_of_group(group: _Group, speakers: frozenset[str], wrap_width: int) -> Iterator[Block]:
    lines = list(group.lines)
    headers = next((n for n, line in enumerate(lines) if not _HEADER.match(line)), len(lines))
    if headers > 1:
        yield from _headers(lines[:headers])
        lines = lines[headers:]
    if heading := _underlined(lines):
        level, count, text = heading
        yield Block(text, "heading", level)
        lines = lines[count:]
    elif len(lines) > 1 and _in_capitals(lines[0]) and not _in_capitals(lines[1]):
        yield Block(in_one_line(lines[0]), "heading", 1)
        lines = lines[1:]
    for kind, speaker, part in _parts(lines, speakers):
        yield from _made(part, kind, speaker, wrap_width)


def _headers(lines: Sequence[str]) -> Iterator[Block]:
    for line in lines:
        match = _HEADER.match(line)
        if match and match[1] in _SUBJECTS and match[2].strip():
            yield Block(in_one_line(match[2]), "heading", 1)
        else:
            yield Block(in_one_line(line))


def _underlined(lines: Sequence[str]) -> tuple[int, int, str] | None:
    """Return level, number of lines and text of a heading with a line below, or None."""
    over = len(lines) > 2 and bool(_UNDERLINE.fullmatch(lines[0].strip()))
    first = 1 if over else 0
    if len(lines) < first + 2 or len(lines[first]) > 2 * _MOST_HEADING:
        return None
    mark = lines[first + 1].strip()
    if not _UNDERLINE.fullmatch(mark) or not any(map(str.isalnum, lines[first])):
        return None
    return (1 if over or mark[0] == "=" else 2), first + 2, in_one_line(lines[first])


def _in_capitals(line: str) -> bool:
    letters = [letter for letter in line if letter.isalpha()]
    few = len(line) <= _MOST_HEADING and not line.endswith((".", "!", ","))
    return few and len(letters) > 2 and line.upper() == line and line.lower() != line


def _parts(lines: Sequence[str], speakers: frozenset[str]) -> Iterator[tuple[str, str, list[str]]]:
    """Yield kind, speaker and lines of each item and turn, and of the text between them."""
    kind, speaker = "paragraph", ""
    part_lines: list[str] = []
    for line in lines:
        name = turn_opening(line) if speakers else ""
        item = _ITEM.match(line)
        if name in speakers or item:
            yield kind, speaker, part_lines
            kind, speaker = ("turn", name) if name in speakers else ("item", "")
            opening = _TURN.match(line) if name in speakers else item
            part_lines = [line[opening.end() :]] if opening else [line]
        else:
            part_lines.append(line)
    yield kind, speaker, part_lines


def _made(lines: Sequence[str], kind: str, speaker: str, wrap_width: int) -> list[Block]:
    if not lines:
        return []
    texts = [in_one_line(text) for text in joined_lines(lines, wrap_width)]
    texts = [text for text in texts if text]
    if kind == "item":
        return [Block(" ".join(texts), "item")] if texts else []
    if kind == "turn":
        first = [Block(text, "turn", 0, speaker) for text in texts[:1]] or [
            Block(speaker, "paragraph")
        ]
        return first + [Block(text, "paragraph", 0, speaker) for text in texts[1:]]
    return [Block(text) for text in texts]


def joined_lines(lines: Sequence[str], wrap_width: int = 0) -> list[str]:
    """Join wrapped lines; a line that is a paragraph of its own is kept.

    `wrap_width`: characters at which the whole text was wrapped; 0 if that is not known.
    """
    width = wrap_width or max(map(len, lines))
    stripped = [line.strip() for line in lines]
    separate = not wrap_width and all(line.endswith(_ENDED) for line in stripped)
    texts: list[list[str]] = []
    before = ""
    for line in stripped:
        if texts and not separate and _wrapped(before, line, width):
            texts[-1].append(line)
        else:
            texts.append([line])
        before = line
    return [dehyphenated(parts) for parts in texts]


def dehyphenated(lines: Sequence[str]) -> str:
    """Join lines into one, with the words that were hyphenated at line ends."""
    parts: list[str] = []
    for line in lines:
        if parts and _HYPHEN.search(parts[-1]) and line[:1].islower():
            parts[-1] = parts[-1][:-1]
        elif parts:
            parts.append(" ")
        parts.append(line)
    return "".join(parts)


def begins_item(line: str) -> bool:
    """Whether a list item begins with this line."""
    return bool(_ITEM.match(line))


def _wrapped(line: str, following: str, width: int) -> bool:
    """Whether a line continues in the following one."""
    if _HYPHEN.search(line) or line.endswith(","):
        return True
    if following[:1].islower() and not line.endswith(_ENDED):
        return True
    word = _SPACES.split(following, maxsplit=1)[0]
    return width <= _WRAPPED_AT_MOST and len(line) + 1 + len(word) > _NEAR_FULL * width


def with_turns(blocks: Sequence[Block]) -> tuple[Block, ...]:
    """Turn paragraphs that begin with a speaker's name into turns, if two of them do."""
    speakers = _speakers([block.text for block in blocks if block.kind == "paragraph"])
    turns = []
    for block in blocks:
        name = turn_opening(block.text) if speakers and block.kind == "paragraph" else ""
        opening = _TURN.match(block.text) if name and not block.speaker else None
        spoken = block.text[opening.end() :] if opening else ""
        turns.append(Block(spoken, "turn", 0, name) if spoken else block)
    return with_letters(turns)


def with_letters(blocks: Sequence[Block]) -> tuple[Block, ...]:
    """Separate letters: each salutation begins another writer's turn, if there are two.

    A heading ends a letter, unless it is a signature, and so does a named speaker.
    """
    begins = [block.kind != "heading" and bool(_SALUTATION.match(block.text)) for block in blocks]
    if sum(begins) < 2:
        return tuple(blocks)
    separated: list[Block] = []
    writer, count = "", 0
    for block, begins_letter in zip(blocks, begins, strict=True):
        if writer and block.kind == "heading" and _SIGNATURE.match(block.text):
            block = Block(block.text)
        if begins_letter:
            count += 1
            writer = f"letter {count}"
            block = replace(block, kind="turn")
        elif block.kind == "heading" or block.speaker:
            writer = ""
        separated.append(replace(block, speaker=writer or block.speaker))
    return tuple(separated)


def _with_short_headings(blocks: Sequence[Block]) -> tuple[Block, ...]:
    """Turn short lines without a full stop into headings if text follows them."""
    short = [_is_short(block) for block in blocks]
    paragraphs = sum(block.kind == "paragraph" for block in blocks)
    if sum(short) * 2 > paragraphs:
        short = [False] * len(blocks)
    headed = []
    for number, block in enumerate(blocks):
        run = short[max(0, number - 2) : number + 3]
        alone = not (short[number] and sum(run) > 2)
        follows = number + 1 < len(blocks)
        if short[number] and alone and follows:
            headed.append(Block(block.text, "heading", 1 if _in_capitals(block.text) else 2))
        else:
            headed.append(block)
    return tuple(headed)


def _is_short(block: Block) -> bool:
    text = block.text
    return (
        block.kind == "paragraph"
        and not block.speaker
        and len(text) <= _MOST_HEADING
        and len(text.split()) <= _MOST_HEADING_WORDS
        and (text[0].isupper() or text[0].isdigit())
        and (text[-1].isalnum() or text[-1] in "?)\"'\u201d\u2019")
        and ": " not in text
    )


_DIRECTIVE = re.compile(r"^[ \t]*\.\.(?:[ \t][^\n]*)?$(?:\n[ \t]+:[\w-]+:[^\n]*$)*", re.MULTILINE)
"""A directive, comment or target with its options; indented lines below it are text."""
_FIELD = re.compile(r"^:[\w -]{1,40}:[ \t]*", re.MULTILINE)
_LINK = re.compile(r"`([^`<\n]{1,200}?)[ \t]*<[^<>`\n]{1,500}>`__?")
_ROLE = re.compile(r":[\w:-]{1,40}:`([^`\n]{1,200})`")
_MARKED = re.compile(r"(\*\*|``|\*|`)(?=\S)([^*`\n]{1,2000}?)(?<=\S)\1_{0,2}(?!\w)")
_NOTE_MARK = re.compile(r"[ \t]?\[(?:\d{1,3}|#\w{0,20}|\*)\]_")


def rst_page(text: str) -> Page:
    """Return the blocks of a reStructuredText file; its first heading is its title."""
    text = composed(text).replace("\r\n", "\n").replace("\r", "\n")
    text = _FIELD.sub("", _DIRECTIVE.sub("", text))
    text = _MARKED.sub(r"\2", _ROLE.sub(r"\1", _LINK.sub(r"\1", _NOTE_MARK.sub("", text))))
    blocks = blocks_of_text(text)
    return Page(blocks, blocks[0].text if blocks and blocks[0].kind == "heading" else "")
