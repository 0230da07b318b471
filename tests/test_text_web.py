"""Web pages by their markup: blocks, links, posts with authors, what is left out, encodings."""

from __future__ import annotations

import pytest

from pnyx.formats.text.blocks import Block, BlockKind
from pnyx.formats.text.pages import _main_text, decode_page, decoded_page, slug_of
from pnyx.formats.text.web_blocks import WebBlock, parsed_page, web_blocks

LONG = "t" * 50


def read(body: str) -> list[WebBlock]:
    return web_blocks(parsed_page(f"<html><body>{body}</body></html>"))


def shown(body: str) -> list[tuple[str, ...]]:
    """Return blocks as (kind with level, speaker, text), without what is empty."""
    return [
        (f"{b.kind}{b.level or ''}", *([b.speaker] if b.speaker else []), b.text)
        for b in (block.block for block in read(body))
    ]


@pytest.mark.parametrize(
    ("body", "blocks"),
    [
        ("<h1>A</h1><h2>B</h2><h6>C</h6><h7>D</h7>",
         [("heading1", "A"), ("heading2", "B"), ("heading6", "C"), ("paragraph", "D")]),
        ("<p>a<br>b<br><br>c</p>", [("paragraph", "a b"), ("paragraph", "c")]),
        ("<p>a<br>b<br>c</p>", [("paragraph", "a b c")]),
        ("<p>a<br><b> </b><br>c</p>", [("paragraph", "a"), ("paragraph", "c")]),
        ("<ul><li>a<p>b</p></li><li>c<ul><li>d</li></ul>e</li></ul>f",
         [("item", "a"), ("paragraph", "b"), ("item", "c"), ("item", "d"), ("paragraph", "e"),
          ("paragraph", "f")]),
        ("<table><tr><td>a</td><th>b</th></tr><tr><td></td></tr></table>",
         [("paragraph", "a | b")]),
        ("<blockquote><p>a</p><p>b</p></blockquote><p>c</p>",
         [("turn", "a"), ("turn", "b"), ("paragraph", "c")]),
        ("<dl><dt>a</dt><dd>b</dd></dl><p>c</p>",
         [("item", "a"), ("item", "b"), ("paragraph", "c")]),
        ("<p>|</p><p>a |</p>", [("paragraph", "a")]),
        ("<p>a<script>b</script>c<!-- x -->d</p>", [("paragraph", "acd")]),
        ("<p aria-hidden='true'>x</p>y", [("paragraph", "y")]),
        ("<p aria-hidden='false'>x</p>y", [("paragraph", "x"), ("paragraph", "y")]),
        ("<p role='alert'>x</p>y", [("paragraph", "y")]),
        ("<p role='note'>x</p>y", [("paragraph", "x"), ("paragraph", "y")]),
        ("<p style='DISPLAY: NONE'>x</p>y", [("paragraph", "y")]),
        # Around the text: not if it has a first heading, or is the article, or its name is long.
        (f"<p>{LONG}</p><div class='share'>abc</div>", [("paragraph", LONG)]),
        (f"<p>{LONG}</p><div id='myNewsletter'>abc</div>", [("paragraph", LONG)]),
        (f"<p>{LONG}</p><div class='share'><h1>abc</h1></div>",
         [("paragraph", LONG), ("heading1", "abc")]),
        (f"<p>{LONG}</p><article class='share'>abc</article>",
         [("paragraph", LONG), ("paragraph", "abc")]),
        (f"<p>{LONG}</p><div class='{'y' * 296} ads'>abc</div>", [("paragraph", LONG)]),
        (f"<p>{LONG}</p><div class='{'y' * 298} ads'>abc</div>",
         [("paragraph", LONG), ("paragraph", "abc")]),
    ],
)  # fmt: skip
def test_blocks_of_a_page(body: str, blocks: list[tuple[str, ...]]) -> None:
    assert shown(body) == blocks


@pytest.mark.parametrize(
    ("body", "shares"),
    [
        ("<p>ab <a href=x>cd</a></p>", [0.4]),  # 2 of the 5 characters of "ab cd"
        ("<a><p>ab</p></a><p>c</p>", [1.0, 0.0]),
        ("<p><a>a <b>b</b></a> cde</p>", [2 / 7]),
        ("<a></a></a><p>a<a>b</a></p>", [0.5]),
    ],
)
def test_the_share_of_a_block_that_is_linked(body: str, shares: list[float]) -> None:
    assert [block.linked for block in read(body)] == pytest.approx(shares)


def post(name: str, author: str, text: str) -> str:
    return f"<div class='{name}'>{author}<p>{text}</p></div>"


@pytest.mark.parametrize(
    ("body", "blocks"),
    [
        (post("post", "<b class=author>A</b>", "1<p>2") + post("post", "<b class=user>B</b><h3>t"
         "</h3>", "3") + "<p>z</p>",
         [("turn", "A", "1"), ("paragraph", "A", "2"), ("heading3", "t"), ("turn", "B", "3"),
          ("paragraph", "z")]),
        # Two posts of the same name, and two authors, make a thread.
        (post("post", "<b class=author>A</b>", "1") + post("post", "", "2"),
         [("paragraph", "A"), ("paragraph", "1"), ("paragraph", "2")]),
        (post("post", "<b class=user>A</b>", "1") + post("reply", "<b class=user>B</b>", "2"),
         [("paragraph", "A"), ("paragraph", "1"), ("paragraph", "B"), ("paragraph", "2")]),
        (post("post-items", "<b class=user>A</b>", "1")
         + post("post-item", "<b class=user>B</b>", "2"), [("turn", "A", "1"), ("turn", "B", "2")]),
        (post("post-item", "<cite>A says:</cite>", "1")
         + post("post-item", "<cite>B wrote :</cite>", "2"),
         [("turn", "A", "1"), ("turn", "B", "2")]),
        (post("post-body", "<cite>A</cite>", "1") + post("post-body", "<cite>B</cite>", "2"),
         [("paragraph", "A"), ("paragraph", "1"), ("paragraph", "B"), ("paragraph", "2")]),
        (post("comment", "<a rel=author>A</a>", "1") + post("comment", "<a itemprop=author>B</a>",
         "2<time>3 May</time><span class=date>4 May</span>"),
         [("turn", "A", "1"), ("turn", "B", "2")]),
        (post("answer", "<i class=user> </i><i class=nick>A</i>", "1")
         + post("answer", "<i class=nick>B</i>", "2"), [("turn", "A", "1"), ("turn", "B", "2")]),
        ("".join(f"<div itemtype='http://schema.org/Comment'><i class=userName>{name}</i>{name * 2}"
         "</div>" for name in "AB"), [("turn", "A", "AA"), ("turn", "B", "BB")]),
        ("".join(f"<div itemtype='http://schema.org/Person'><i class=userName>{name}</i></div>"
         for name in "AB"), [("paragraph", "A"), ("paragraph", "B")]),
    ],
)  # fmt: skip
def test_posts_of_a_thread_have_authors(body: str, blocks: list[tuple[str, ...]]) -> None:
    assert shown(body) == blocks


@pytest.mark.parametrize(("length", "is_kept"), [(199, False), (200, True)])
def test_a_date_of_a_post_has_less_than_200_characters(length: int, is_kept: bool) -> None:
    meta = f"<div class='meta'>{'m' * length}</div>"
    body = post("post", "<b class=user>A</b>", "1") + post(
        "post", f"<b class=user>B</b>{meta}", "2"
    )
    assert any(block.block.text == "m" * length for block in read(body)) is is_kept


def test_blocks_of_posts_are_marked() -> None:
    body = post("post", "<b class=user>A</b>", "1") + post("post", "<b class=user>B</b>", "2")
    assert [block.posted for block in read(f"<p>0</p>{body}<p>3</p>")] == [
        False, True, True, False,
    ]  # fmt: skip


def test_a_page_without_elements_is_empty() -> None:
    assert parsed_page("") is None
    assert parsed_page("<!-- nothing -->") is None


def block(
    text: str, linked: float = 0.0, kind: BlockKind = "paragraph", *, posted: bool = False
) -> WebBlock:
    return WebBlock(Block(text, kind), linked, posted)


@pytest.mark.parametrize(
    ("blocks", "extracted", "kept"),
    [
        # Only the blocks between those of the extract, and those that say something, are kept.
        ([block("few words"), block("a" * 60), block("f g"), block("d" * 60),
          block("one two three four five"), block("a b c d e f"), block("point", kind="item"),
          block("Title", kind="heading")],
         "a" * 60 + "\n" + "d" * 60, ["a" * 60, "f g", "d" * 60, "a b c d e f", "point"]),
        ([block("aaaa", 0.9), block("bbbb", 0.6, posted=True), block("x", 0.9), block("cc", 0.5)],
         "aaaa", ["aaaa", "bbbb", "cc"]),
        ([block("ab", 1.0)], "xaby", ["ab"]),
        ([block("a", 1.0)], "a", []),  # one letter is everywhere
        ([block("One two three", 1.0)], "one, two", []),
        ([block("A-b c", 1.0)], "abc\nA b: c", ["A-b c"]),
        ([block("T", kind="heading"), block("U", kind="heading")], "", []),
        ([], "", []),
    ],
)  # fmt: skip
def test_the_main_text_of_a_page(blocks: list[WebBlock], extracted: str, kept: list[str]) -> None:
    assert [b.text for b in _main_text(blocks, extracted)] == kept


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("https://a.org/x/tea/", "tea"),
        ("https://www.a.org", "a"),
        ("https://user.b.org/", "user"),
        ("https://a.org/v.php?q=1&r=2", "v.php-q-1-r-2"),
        ("https://a.org/?q=1", "q-1"),
        ("a.org/tea", "tea"),
        ("", ""),
    ],
)
def test_the_name_of_a_page(url: str, name: str) -> None:
    assert slug_of(url) == name


@pytest.mark.parametrize(
    ("content", "charset", "text"),
    [
        (b"\xe4", "latin-1", "ä"),
        (b"\x80", "iso-8859-1", "€"),  # as browsers read it
        (b"\x80", "ascii", "€"),
        (b"\xe4", "utf-8", None),
        (b"a", "nonsense", None),
        (b"a", "utf-7", None),
        (b"a", None, None),
        (b"a", "", None),
    ],
)
def test_a_page_is_decoded_by_the_charset_of_its_server(
    content: bytes, charset: str | None, text: str | None
) -> None:
    assert decode_page(content, charset) == text


@pytest.mark.parametrize(
    ("content", "text", "assumed"),
    [
        (b'<meta charset="utf-8">\xe4', '<meta charset="utf-8">ä', "Windows-1252"),
        (b"\xef\xbb\xbf<meta charset=utf-8>a", "<meta charset=utf-8>a", ""),
        (b'<?xml encoding="iso-8859-2"?>\xb1', '<?xml encoding="iso-8859-2"?>ą', ""),
        ('<meta charset="utf-8">ä'.encode("utf-16"), '<meta charset="utf-8">ä', "UTF-16"),
        (b"<META content='text/html; charset = windows-1251'>\xe4",
         "<META content='text/html; charset = windows-1251'>д", ""),
    ],
)  # fmt: skip
def test_a_page_states_its_encoding(content: bytes, text: str, assumed: str) -> None:
    assert decoded_page(content) == (text, assumed)
