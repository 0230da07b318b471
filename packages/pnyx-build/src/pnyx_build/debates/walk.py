"""One pass through a web page: which text is on which side."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pnyx.core.records import SIDES, DebatePoint, Side, Source
from pnyx_build.debates.signs import (
    Heading,
    Part,
    heading_of,
    marks_in,
    part_of_names,
    web_link,
    without_sides,
)
from pnyx_build.debates.sources import Item, Mark, Sources, TextRun

_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_BLOCKS = frozenset(
    "address article aside blockquote body caption center dd details div dl dt fieldset figcaption "
    "figure footer header hr html li main ol p pre section summary table tbody td tfoot th thead "
    "tr ul".split()
) | frozenset(_HEADINGS)
_SKIPPED = frozenset(
    "button canvas form head iframe nav noscript object script select style svg template "
    "textarea video audio".split()
)
_LABELS = frozenset({"th", "td", "dt", "summary", "caption"})
_TITLES = frozenset({"dt", "summary"})
_BOLD = frozenset({"b", "strong"})
_CELLS = frozenset({"td", "th"})
_PROSE = frozenset({"p", "blockquote"})
_HIDDEN = re.compile(r"display\s?:\s?none|visibility\s?:\s?hidden", re.I)
_ONE = re.compile(r"(?:^|[\s_-])argument(?=$|[\s_-])", re.I)
_COUNTED = re.compile(r"^\d{1,2}[.)]\s+(?=\S)")
_LONGEST_TITLE = 300
_BUTTON_WORDS = 4
_LABEL_PARTS = 9
"""Text with more parts than this is not a label, and is not checked repeatedly."""


@dataclass
class _Point:
    by: str
    title: str = ""
    paragraphs: list[str] = field(default_factory=list)
    marks: list[list[Mark]] = field(default_factory=list)


@dataclass
class _Frame:
    """An open element, and the state restored when it is closed."""

    tag: str
    state: tuple[Part | None, int] | None = None
    container: bool = False
    item: bool = False
    point: bool = False
    link: tuple[str, int] | None = None
    start: int = 0
    columns: dict[int, Side] = field(default_factory=dict)
    cell: int = -1
    number: int = 0


class Walker:
    """Reads a page once; `titles` are its first headings, `asked` further lines with questions."""

    def __init__(self, own_host: str) -> None:
        self.titles: list[str] = []
        self.asked: list[str] = []
        self.introduction: list[str] = []
        self._host = own_host
        self._points: dict[Side, list[_Point]] = {"pro": [], "con": []}
        self._point: _Point | None = None
        self._waiting = False
        self._items: list[Item] = []
        self._item: Item | None = None
        self._part: Part | None = None
        self._level = self._last_level = 1
        self._containers: list[Part] = []
        self._frames: list[_Frame] = []
        self._skipping = False
        self._bold = 0
        self._run = TextRun()

    def walk(self, root: Any) -> None:
        """Read the page."""
        from lxml import etree

        containers = _containers(root)
        events = etree.iterwalk(root, events=("start", "end"))
        for event, element in events:
            if not isinstance(element.tag, str):
                self._say(element.tail if event == "end" else None)
            elif event == "start":
                if element.tag in _SKIPPED or _is_hidden(element):
                    self._skipping = True
                    events.skip_subtree()
                else:
                    self._start(element, containers.get(element))
            elif self._skipping:
                self._skipping = False
                self._say(element.tail)
            else:
                self._end(element)
        self._flush()

    def walk_sources(self, root: Any) -> None:
        """Read a further page that contains only sources."""
        self._part, self._level, self._point = "sources", 0, None
        self.walk(root)

    def result(self) -> tuple[list[tuple[DebatePoint, ...]], tuple[Source, ...]]:
        """Return both sides and the sources."""
        sources, sides = Sources(self._items), []
        for side in SIDES:
            points = [point for point in self._points[side] if point.title or point.paragraphs]
            cited = [tuple(map(sources.cited, point.marks)) for point in points]
            texts = ((point.title, tuple(point.paragraphs)) for point in points)
            sides.append(tuple(DebatePoint(*t, c) for t, c in zip(texts, cited, strict=True)))
        return sides, tuple(sources.found)

    def _start(self, element: Any, container: Part | None) -> None:
        tag = element.tag
        frame = _Frame(tag)
        if tag in _BLOCKS:
            self._flush()
            self._open_block(element, frame, container)
        elif tag == "br":
            listed = self._now == "sources" and self._item is None
            if listed or self._labelled:
                self._flush()
            else:
                self._run.parts.append(" ")
        elif tag == "a":
            frame.link = (str(element.get("href") or ""), len(self._run.parts))
        elif tag == "sup":
            frame.start = len(self._run.parts)
        elif tag in _BOLD:
            self._bold += 1
        if self._now == "sources" and self._item is not None:
            self._item.names += [n for n in (element.get("id"), element.get("name")) if n]
        self._frames.append(frame)
        self._say(element.text)

    def _open_block(self, element: Any, frame: _Frame, container: Part | None) -> None:
        tag = frame.tag
        if container is not None:
            frame.state, frame.container = (self._part, self._level), True
            self._containers.append(container)
            self._part, self._point = None, None
        if tag == "tr":
            self._row().cell = -1
        elif tag in _CELLS:
            frame.state = frame.state or (self._part, self._level)
            table = self._row()
            table.cell += 1
            side = table.columns.get(table.cell)
            if side is not None:
                self._part, self._level, self._point = side, 0, None
        elif tag in ("ol", "ul"):
            start = str(element.get("start") or "1")
            frame.number = int(start) - 1 if start.isascii() and start.isdigit() else 0
        if self._now == "sources" and self._item is None and tag in ("li", "tr"):
            self._item, frame.item = Item(self._ordinal() if tag == "li" else None), True
        elif self._now in SIDES:
            listed = tag == "li" and not any(frame.point for frame in self._frames)
            if listed and (self._point is None or self._point.by == "li"):
                self._begin("li")
                frame.point = True
            elif _ONE.search(str(element.get("class") or "")[:300]):
                self._point = None

    def _end(self, element: Any) -> None:
        if element.tag in _BLOCKS:
            self._flush()
        frame = self._frames.pop()
        if frame.tag in _BLOCKS:
            if frame.item and self._item is not None:
                self._items.append(self._item)
                self._item = None
            if frame.point:
                self._point = None
            if frame.container:
                self._containers.pop()
                self._point = None
            if frame.state is not None and self._part != "sources":
                self._part, self._level = frame.state
        elif frame.link is not None:
            self._close_link(*frame.link)
        elif frame.tag == "sup":
            self._run.note_from(frame.start)
        elif frame.tag in _BOLD:
            self._bold -= 1
        self._say(element.tail)

    def _close_link(self, href: str, start: int) -> None:
        if "#" in href and self._run.note_from(start):
            self._run.marks.append(("anchor", href.rpartition("#")[2], ""))
            return
        text = self._run.text_from(start)
        if link := web_link(href, self._host):
            self._run.marks.append(("link", link, text))
        elif start <= _LABEL_PARTS and text == self._run.text:
            self._run.button = text

    def _say(self, text: str | None) -> None:
        if text:
            self._run.add(text, bold=self._bold > 0)

    def _row(self) -> _Frame:
        """Return the open table, or a dummy frame."""
        tables = (frame for frame in reversed(self._frames) if frame.tag == "table")
        return next(tables, _Frame("table"))

    def _ordinal(self) -> int | None:
        lists = (frame for frame in reversed(self._frames) if frame.tag in ("ol", "ul"))
        innermost = next(lists, None)
        if innermost is None or innermost.tag == "ul":
            return None
        innermost.number += 1
        return innermost.number

    @property
    def _now(self) -> Part | None:
        """The current part of the page."""
        return self._part or (self._containers[-1] if self._containers else None)

    @property
    def _labelled(self) -> bool:
        """Whether the collected text is a heading in bold, such as "Pro 1"."""
        run = self._run
        short = run.only_bold and len(run.parts) <= _LABEL_PARTS
        return short and heading_of(run.text) is not None

    def _flush(self) -> None:
        """Process the collected text as a heading, paragraph or entry."""
        run, self._run = self._run, TextRun()
        blocks = (frame.tag for frame in reversed(self._frames) if frame.tag in _BLOCKS)
        text, tag = run.text, next(blocks, "body")
        if self._item is not None:
            self._item.texts.append(text)
            self._item.links += [url for kind, url, _ in run.marks if kind == "link"]
            return
        if not any(letter.isalnum() for letter in text):
            return
        label = tag in _HEADINGS or tag in _LABELS or run.only_bold
        sign = heading_of(text) if label or tag == "p" else None
        argued = self._now in SIDES or any(self._points.values())
        if label and sign is not None and sign.part == "other" and not argued:
            if tag in _HEADINGS:  # of the whole page: the text after it introduces the debate
                self._headed(without_sides(text), _HEADINGS[tag])
        elif sign is not None and (label or sign.part == "sources"):
            self._turn(sign, tag)
        elif tag in _HEADINGS:
            self._headed(text, _HEADINGS[tag])
        else:
            self._told(run, text, tag)

    def _told(self, run: TextRun, text: str, tag: str) -> None:
        """Process text that is not a heading; in a footer, only as a numbered source."""
        footer = any(frame.tag == "footer" for frame in self._frames)
        if self._now == "sources" and (not footer or text[0].isdigit()):
            links = [url for kind, url, _ in run.marks if kind == "link"]
            self._items.append(Item(None, [], [text], links))
        elif self._now in SIDES and not footer:
            if tag in _TITLES:
                self._begin("heading", text)
            elif run.button != text or len(text.split()) > _BUTTON_WORDS:  # "Read more"
                self._argued(run, text)
        elif self._now is None and not any(self._points.values()):
            if text.endswith("?") and run.only_bold:
                self.asked.append(text)
            elif tag in _PROSE:
                self.introduction.append(text)

    def _turn(self, sign: Heading, tag: str) -> None:
        """Start a part of the page at a heading that names it."""
        level = _HEADINGS.get(tag, self._last_level)
        self._last_level = level
        if (sign.part == "pro" or sign.part == "con") and tag in _CELLS and not sign.number:
            table = self._row()
            table.columns[table.cell] = sign.part
            return
        self._part, self._level, self._point = sign.part, level, None
        if sign.part in SIDES and sign.number:
            self._begin("heading", sign.title)
            self._waiting = not sign.title

    def _headed(self, text: str, level: int) -> None:
        """Process any other heading: the title of an argument, or the end of a part."""
        self._last_level = level
        if self._waiting and self._point is not None and self._now in SIDES:
            self._point.title, self._waiting = _COUNTED.sub("", text), False
            return
        if self._part is not None and level <= self._level:
            self._part, self._point = None, None
            if not self._containers and any(self._points.values()):
                self._part, self._level = "other", level
        if self._now in SIDES:
            self._begin("heading", text)
        elif self._now is None:
            if level == 1:
                self.titles.append(text)
            elif text.endswith("?"):
                self.asked.append(text)

    def _begin(self, by: str, title: str = "") -> _Point:
        self._point, self._waiting = _Point(by, _COUNTED.sub("", title)), False
        side = self._now
        if side == "pro" or side == "con":
            self._points[side].append(self._point)
        return self._point

    def _argued(self, run: TextRun, text: str) -> None:
        """Process a paragraph of a side; bold words at its beginning may be a title."""
        point, lead = self._point, run.lead
        titled = 0 < len(lead) <= _LONGEST_TITLE and text.startswith(lead)
        if point is not None and point.by == "heading" and point.title:
            titled = False
        if titled:
            if point is None or point.title or point.paragraphs:
                point = self._begin("bold")
            point.title, self._waiting = lead.rstrip(":. ") if text != lead else lead, False
            text = text[len(lead) :].lstrip(" :.–—-")
        elif point is None:
            point = self._begin("p")
        self._waiting = False
        if text:
            point.paragraphs.append(text)
            numbers: list[Mark] = [("number", number, "") for number in marks_in(text)]
            point.marks.append([*run.marks, *numbers])


def _is_hidden(element: Any) -> bool:
    hidden = element.get("hidden") is not None or element.get("aria-hidden") == "true"
    return hidden or _HIDDEN.search(str(element.get("style") or "")[:500]) is not None


def _containers(root: Any) -> Mapping[Any, Part]:
    """Return the boxes that contain one side, or the sources, and no other part."""
    from lxml import etree

    containers: dict[Any, Part] = {}
    below: list[set[Part]] = [set()]
    for event, element in etree.iterwalk(root, events=("start", "end")):
        if event == "start":
            below.append(set())
            continue
        inside = below.pop()
        tag = element.tag
        if isinstance(tag, str) and tag in _BLOCKS and tag not in ("html", "body", *_HEADINGS):
            names = f"{element.get('class') or ''} {element.get('id') or ''}"
            part = part_of_names(names)
            if part is not None:
                if not inside - {part}:
                    containers[element] = part
                inside.add(part)
        below[-1] |= inside
    return containers
