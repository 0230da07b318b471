"""The blocks of a web page by its markup: paragraphs, list items, headings, posts of threads."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from pnyx.core.errors import InputError, shorten
from pnyx.core.files import clean_text
from pnyx.formats.text.blocks import Block, BlockKind
from pnyx.formats.text.plain_text import in_one_line

_SKIPPED = frozenset(
    "script style noscript template nav footer aside button select textarea svg math iframe object "
    "head audio video canvas dialog input".split()
)
_BLOCKS = frozenset(
    "p div section article main li ul ol dl dt dd h1 h2 h3 h4 h5 h6 blockquote pre table tr "
    "caption figure figcaption header address details summary center form body fieldset hr".split()
)
_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_ROLES = frozenset("navigation banner contentinfo complementary search menu dialog alert".split())
_FURNITURE = frozenset(
    "cookie cookies consent gdpr navbar nav navigation menu sidebar footer breadcrumb breadcrumbs "
    "share sharing social related promo advert advertisement ad ads newsletter subscribe popup "
    "modal pagination pager toolbar skip".split()
)
"""Words in class names and ids of elements around the text of a page."""
_POSTS = frozenset("post comment message reply answer entry msg".split())
_POST_PARTS = frozenset("item body text content list header footer meta form count author".split())
"""Words next to a word for a post that name a part of a post or a list of posts."""
_AUTHORS = frozenset("author user username nick nickname poster byline commenter fn handle".split())
_META = frozenset(
    "date time timestamp meta permalink actions likes votes score avatar badge signature".split()
)
_WORDS = re.compile(r"[a-z]+")
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
_SAYS = re.compile(
    r"(?<![ \t])[ \t]*+(?:says|wrote|writes|schrieb|said|a \u00e9crit)?+[ \t]*+:?+[ \t]*+$",
    re.IGNORECASE,
)
_MOST_AUTHOR = 60
_MOST_FURNITURE = 0.5
"""Share of a page's text above which an element is not treated as surrounding the text."""


@dataclass(frozen=True, slots=True)
class WebBlock:
    """A block of a page, with features that distinguish text from navigation.

    Attributes:
        block: the block.
        linked: share of its characters that are in links.
        posted: whether it is within a post of a thread.
    """

    block: Block
    linked: float = 0.0
    posted: bool = False


@dataclass(slots=True)
class _State:
    """The state of the walk through a page."""

    text: list[str] = field(default_factory=list)
    linked: int = 0
    links: int = 0
    broken: bool = False
    kinds: list[tuple[BlockKind, int]] = field(default_factory=lambda: [("paragraph", 0)])
    speakers: list[str] = field(default_factory=list)
    opened: bool = False
    """Whether the current post has a block already."""
    blocks: list[WebBlock] = field(default_factory=list)

    def add(self, text: str | None) -> None:
        """Add text to the current block."""
        if not text:
            return
        self.text.append(text)
        if text.strip():
            self.broken = False
            self.linked += len(text.strip()) if self.links else 0

    def flush(self) -> None:
        """End the current block."""
        text = in_one_line("".join(self.text))
        linked, self.linked, self.broken = self.linked, 0, False
        self.text.clear()
        if not text.strip("| "):
            return
        kind, level = self.kinds[-1]
        posted = bool(self.speakers)
        speaker = self.speakers[-1] if posted else ""
        if posted and not self.opened and kind != "heading":
            kind, self.opened = "turn", True
        block = Block(text.strip("| "), kind, level, "" if kind == "heading" else speaker)
        self.blocks.append(WebBlock(block, linked / len(text), posted))
        if kind == "item":  # further paragraphs of one item are not items of their own
            self.kinds[-1] = ("paragraph", 0)


def parsed_page(content: bytes | str) -> Any:
    """Return the root element of a page; None if there is none."""
    from lxml import etree, html

    text = content if isinstance(content, str) else content.decode("utf-8", "replace")
    raw = clean_text(text).encode("utf-8")
    try:
        parser = html.HTMLParser(encoding="utf-8", no_network=True, remove_comments=True)
        return html.document_fromstring(raw, parser=parser)
    except (etree.LxmlError, ValueError, AssertionError) as error:
        if "empty" in str(error).lower():
            return None
        raise InputError(f"cannot be read as HTML: {shorten(str(error))}") from error


def web_blocks(root: Any) -> list[WebBlock]:
    """Return the blocks of a page without navigation, banners, footers and the like."""
    from lxml import etree

    posts = _posts(root)
    total = len(_text_of(root))
    state = _State()
    walk = etree.iterwalk(root, events=("start", "end"))
    skipped: set[Any] = set()
    authors: set[Any] = set()
    for event, element in walk:
        name = element.tag if isinstance(element.tag, str) else ""
        if event == "start":
            if element in authors or _is_skipped(
                element, name, total, in_post=bool(state.speakers)
            ):
                skipped.add(element)
                walk.skip_subtree()
                continue
            if element in posts:
                author = _author(element, posts)
                if author is not None:
                    authors.add(author)
                state.flush()
                state.speakers.append(_name_of(author))
                state.opened = False
            _start(state, element, name)
        else:
            if element in skipped:
                skipped.discard(element)
            else:
                _end(state, name)
                if element in posts:
                    state.flush()
                    state.speakers.pop()
                    state.opened = False
            state.add(element.tail)
    state.flush()
    return state.blocks


def _start(state: _State, element: Any, name: str) -> None:
    if name in _BLOCKS:
        state.flush()
    if name in ("td", "th"):
        state.add(" | ")
    if name == "a":
        state.links += 1
    if name == "br":
        if state.broken:
            state.flush()
        else:
            state.add("\n")
            state.broken = True
    if name in _HEADINGS:
        state.kinds.append(("heading", _HEADINGS[name]))
    elif name in ("li", "dt", "dd"):
        state.kinds.append(("item", 0))
    elif name == "blockquote":
        state.kinds.append(("turn", 0))
    elif name in ("ul", "ol", "dl", "table"):
        state.kinds.append(("paragraph", 0))
    state.add(element.text)


def _end(state: _State, name: str) -> None:
    if name in _BLOCKS:
        state.flush()
    if name == "a":
        state.links -= 1
    nested = name in _HEADINGS or name in (
        "li",
        "dt",
        "dd",
        "blockquote",
        "ul",
        "ol",
        "dl",
        "table",
    )
    if nested:
        state.kinds.pop()


def _is_skipped(element: Any, name: str, total: int, *, in_post: bool) -> bool:
    if name in _SKIPPED or not name:
        return True
    get = element.get
    if get("hidden") is not None or get("aria-hidden") == "true" or get("role") in _ROLES:
        return True
    if "display:none" in (get("style") or "").replace(" ", "").lower():
        return True
    words = _names(element)
    if in_post and (name == "time" or not words.isdisjoint(_META)):
        return len(_text_of(element, 400)) < 200
    if name in ("html", "body", "main", "article") or words.isdisjoint(_FURNITURE):
        return False
    most = int(_MOST_FURNITURE * total)
    return len(_text_of(element, most + 1)) <= most and next(element.iter("h1"), None) is None


def _names(element: Any) -> frozenset[str]:
    """Return the words of an element's class and id."""
    named = f"{element.get('class') or ''} {element.get('id') or ''}"[:300]
    return (
        frozenset(_WORDS.findall(_CAMEL.sub("-", named).lower())) if named.strip() else frozenset()
    )


def _text_of(element: Any, most: int = 1 << 40) -> str:
    """Return an element's text, without scripts, up to about `most` characters."""
    parts: list[str] = []
    size = 0
    for part in _texts(element):
        parts.append(part)
        size += len(part)
        if size > most:
            break
    return " ".join("".join(parts).split())


def _texts(element: Any) -> Iterator[str]:
    for node in element.iter():
        if (
            isinstance(node.tag, str)
            and node.tag not in ("script", "style", "noscript")
            and node.text
        ):
            yield node.text
        if node.tail and node is not element:
            yield node.tail


def _posts(root: Any) -> frozenset[Any]:
    """Return the elements that are posts of a thread: two or more of the same name."""
    named: dict[tuple[Any, ...], list[Any]] = {}
    for element in root.iter("div", "li", "article", "section", "tr", "blockquote", "p", "dd"):
        words = {word.removesuffix("s") for word in _tokens(element) if _is_post_name(word)}
        kind = (element.get("itemtype") or "").rsplit("/", 1)[-1]
        if words or kind in ("Comment", "Answer", "DiscussionForumPosting", "Review"):
            named.setdefault((element.tag, min(words, default=kind)), []).append(element)
    elements = [e for posts in named.values() if len(posts) > 1 for e in posts]
    with_author = Counter(_author(e, frozenset(elements)) is not None for e in elements)
    return frozenset(elements) if with_author[True] > 1 else frozenset()


def _tokens(element: Any) -> list[str]:
    return (element.get("class") or "")[:300].lower().split()


def _is_post_name(token: str) -> bool:
    words = set(_WORDS.findall(token))
    return not words.isdisjoint(_POSTS) and words.isdisjoint(_POST_PARTS - {"item"})


def _author(post: Any, posts: frozenset[Any]) -> Any:
    """Return the element of a post that names its author, or None."""
    for element in post.iter():
        if element is post or not isinstance(element.tag, str):
            continue
        if element in posts:
            return None
        named = (element.get("rel") or "", element.get("itemprop") or "")
        words = _names(element)
        if "author" in named or not words.isdisjoint(_AUTHORS) or element.tag == "cite":
            text = _text_of(element, _MOST_AUTHOR + 1)
            if 0 < len(text) <= _MOST_AUTHOR:
                return element
    return None


def _name_of(author: Any) -> str:
    if author is None:
        return ""
    return _SAYS.sub("", in_one_line(_text_of(author, 200))).strip()
