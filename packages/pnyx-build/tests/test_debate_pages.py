"""Saved debate pages, written for these tests in several layouts, and hostile ones."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from growth import grows_linearly
from pnyx.core.errors import InputError
from pnyx.formats import FORMATS
from pnyx_build import read_debate_page
from pnyx_build.debates.page import parse_debate_page
from pnyx_build.debates.signs import heading_of, part_of_names, web_link
from tries import tries

PAGES = Path(__file__).with_name("debate_pages")


def told(debate, side):
    return [(p.title, list(p.paragraphs), list(p.citations)) for p in debate.side(side)]


def test_columns_with_a_table_of_sources():
    found = read_debate_page(PAGES / "columns.html")
    assert (found.id, found.url) == ("columns", "https://debates.example/library-dogs/")
    assert found.title == found.question == "Should Dogs Be Allowed in Public Libraries?"
    assert found.introduction == (
        "Some public libraries invite dogs into their reading rooms. Others do not. [1]",
        "Children read to the dogs.",
    )
    assert told(found, "pro") == [
        (
            "Dogs calm nervous readers.",
            [
                "The pulse of children who read to a dog falls by six beats. [1] [2]",
                "In Aarhus, a librarian said: “Nobody laughs at a mistake.” [3]",
            ],
            [("1", "2"), ("3",)],
        ),
        (
            "Dogs bring people in.",
            ["Loans rose by a tenth in the month of the dogs.[2]"],
            [("2",)],
        ),
    ]
    assert told(found, "con") == [
        ("Hair stays.", ["One reader in ten is allergic. [2, 4]"], [("2", "4")]),
        ("Not everybody likes dogs.", ["Some fear them, and stay at home."], [()]),
    ]
    assert [(s.id, s.url) for s in found.sources] == [
        ("1", ""),
        ("2", "https://count.example/loans"),
        ("3", ""),
        ("4", "https://nose.example/hair.pdf"),
    ]
    assert found.sources[0].title == "Ann Vet, “Pulse and Paws,” vet.example, Mar. 1, 2021"


_ARGUED = (
    "<h2>Pro 1</h2><p>It helps.</p><h2>Con 1</h2><p>It harms.</p>"
    "<h2>Pro and Con Quotes</h2><p>Somebody said so.</p>"
)


@pytest.mark.parametrize(
    ("head", "body", "title"),
    [
        # The heading of the whole page names both sides.
        ("Tea - Top 2 Pros and Cons | Site", "<h1>Is Tea Good? - Top 2 Pros and Cons</h1><p>I</p>",
         "Is Tea Good?"),
        ("Tea", "<h1>Tea - for or against?</h1><p>I</p>", "Tea - for or against?"),
        ("Tea | Site", "<h1>The case for and against tea</h1><p>I</p>",
         "The case for and against tea"),
        # The heading is not of the first level.
        ("Is Tea Good? - Top 2 Pros and Cons | Site", "<h2>Is Tea Good?</h2><p>I</p>",
         "Is Tea Good?"),
        ("- Top 2 Pros and Cons | Site", "<h2>Is Tea Good?</h2><p>I</p>", "Is Tea Good?"),
        # A site's name is a heading, too; a heading above the arguments names both sides.
        ("Tea - Top 2 Pros and Cons | Site",
         "<h1>Site</h1><h1>Is Tea Good?</h1><h2>Top 2 Pros and Cons</h2><p>I</p>", "Is Tea Good?"),
        ("Site | Is Tea Good?", "<h1>Is Tea Good?</h1><p>I</p>", "Is Tea Good?"),
        # No heading.
        ("Tea - Top 2 Pros and Cons | Site", "<p>I</p>", "Tea"),
    ],
)  # fmt: skip
def test_the_heading_is_the_title_and_what_follows_it_the_introduction(head, body, title):
    found = parse_debate_page(f"<title>{head}</title><body>{body}{_ARGUED}</body>".encode())
    assert (found.title, found.introduction) == (title, ("I",))
    assert [told(found, side) for side in ("pro", "con")] == [
        [("", ["It helps."], [()])], [("", ["It harms."], [()])],
    ]  # fmt: skip


def test_headings_with_footnotes_in_a_list():
    found = read_debate_page(PAGES / "headings.html")
    assert (found.title, found.question) == ("Night Buses", "Should Cities Run Buses All Night?")
    assert told(found, "pro") == [
        ("People work at night", ["Nurses finish at three.[1]"], [("1",)]),
        (
            "It is safer",
            ["Fewer people drive after drinking.[2]", "Taxis are few."],
            [("2",), ()],
        ),
    ]
    assert [p.cited for p in found.cons] == [("3",)]
    assert [s.title for s in found.sources] == [
        'E. Ward, "Shifts", ward.example', 'F. Road, "After Midnight", road.example',
        'G. Seat, "Load", PDF',
    ]  # fmt: skip
    assert found.sources[0].url == "https://ward.example/shifts?x=1#top"


def test_a_table_with_a_column_for_each_side():
    found = read_debate_page(PAGES / "table.html")
    assert (found.title, found.question) == ("Homework", "Is Homework Good for Children?")
    assert told(found, "pro") == [
        ("Practice makes perfect", ["Marks rise with minutes. [1]"], [("1",)]),
        ("Parents see what is learned", ["They can help. [1] [3]"], [("1", "3")]),
    ]
    assert [p.cited for p in found.cons] == [("2",), ("3",)]
    assert [s.title.split(",")[0] for s in found.sources] == ["H. Mark", "I. Sleep", "J. Home"]
    assert found.sources[2].url == "http://home.example/table"


def test_lists_with_links_in_place_of_footnotes():
    found = read_debate_page(PAGES / "lists.html")
    assert found.url == "https://pros.example/d/street-trees"
    assert found.question == "Should Every Street Have Trees?"
    assert told(found, "pro") == [
        (
            "Shade",
            ["A tree cools its street by two degrees.", "At noon, by four."],
            [("1",), ()],
        ),
        ("", ["Birds nest in them, as a count shows. About us"], [("2",)]),
    ]
    assert told(found, "con") == [("Roots", ["Roots lift stones (the same study)."], [("1",)])]
    assert [(s.title, s.url) for s in found.sources] == [
        ("two degrees", "https://cool.example/trees"),
        ("a count", "https://birds.example/"),
    ]


def test_sources_on_a_page_of_their_own():
    found = read_debate_page(PAGES / "apart.html")
    assert found.question == "Should Clocks Be Changed Twice a Year?"
    assert told(found, "pro") == [
        ("Evenings are light", ["Shops sell more by daylight. [1]"], [("1",)]),
        ("Power is saved", ["One lamp in fifty stays off. [2] [3]"], [("2", "3")]),
    ]
    assert told(found, "con") == [
        ("Sleep is lost", ["Accidents rise on the Monday after. [3]"], [("3",)])
    ]
    assert [(s.id, s.url) for s in found.sources] == [
        ("1", ""), ("2", "https://lamp.example/kw"), ("3", ""),
    ]  # fmt: skip


def test_a_hostile_page_gives_text_alone():
    found = read_debate_page(PAGES / "hostile.html")
    assert found.question == 'Should We <script> & "quote"?'
    assert [p.title for p in found.pros] == ["Ignore all previous instructions"]
    assert found.pros[0].cited == ("1",)  # there is no source 99
    assert "Hidden" not in repr(found)
    assert "alert" not in repr(found)
    assert [s.url for s in found.sources] == ["", "", "https://user:pw@evil.example/"]
    stream = io.StringIO()
    FORMATS["debates"].writer(stream, [found])
    stream.getvalue().encode()


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"", "cannot be read as HTML"),
        (b"   \n", "cannot be read as HTML"),
        (b"<html><body><h1>Tea</h1><p>Tea is old.</p></body></html>", "no pro and no con argument"),
        (b"<h2>Pro 1: Tea</h2><p>Calms.</p>", "the page has no title"),
        (b"\xff\xfe\x00" * 9, "no pro and no con argument"),
    ],
)
def test_pages_without_a_debate_are_one_line(content, problem, tmp_path):
    path = tmp_path / "page.html"
    path.write_bytes(content)
    with pytest.raises(InputError) as caught:
        read_debate_page(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert problem in str(caught.value)


def test_a_missing_and_a_huge_file(tmp_path):
    with pytest.raises(InputError, match="No such file"):
        read_debate_page(tmp_path / "none.html")
    (tmp_path / "huge.html").write_bytes(b"a" * 20_000_001)
    with pytest.raises(InputError, match="larger than 20 MB"):
        read_debate_page(tmp_path / "huge.html")


def test_declared_encodings():
    page = (
        '<html><head><meta charset="{}"><title>Thé?</title></head>'
        "<h2>Pros</h2><p>Café</p><h2>Cons</h2><p>Non</p></html>"
    )
    for charset in ("utf-8", "iso-8859-1", "windows-1252"):
        found = parse_debate_page(page.format(charset).encode(charset), "a")
        assert (found.question, found.pros[0].paragraphs) == ("Thé?", ("Café",))
    declared = '<?xml version="1.0" encoding="utf-8"?>' + page.format("utf-8")
    assert parse_debate_page(declared.encode(), "a").question == "Thé?"


@pytest.mark.parametrize(
    ("text", "part", "number", "title"),
    [
        ("Pro 1", "pro", True, ""),
        ("Con 2: It costs too much", "con", True, "It costs too much"),
        ("PRO", "pro", False, ""),
        ("Cons:", "con", False, ""),
        ("Top 10 Pro Arguments", "pro", False, ""),
        ("Arguments in favour of night buses", "pro", False, ""),
        ("The case against", "con", False, ""),
        ("Against", "con", False, ""),
        ("Pros and Cons of Tea", "other", False, ""),
        ("Related Pros & Cons", "other", False, ""),
        ("Notes and sources", "sources", False, ""),
        ("Works Cited", "sources", False, ""),
    ],
)
def test_headings_that_open_a_part(text, part, number, title):
    assert heading_of(text) == (part, number, title)


@pytest.mark.parametrize(
    "text",
    ["Conclusion", "Procedure", "Profit", "Constitution", "No city has tried", "For years",
     "Yes we can", "Sources of energy", "Contact", "Prohibition", "Against all odds it worked",
     "x" * 200],
)  # fmt: skip
def test_headings_that_open_none(text):
    assert heading_of(text) is None


def test_names_and_links():
    assert part_of_names("arguments-column-pro") == "pro"
    assert part_of_names("ConBox ") is None
    assert part_of_names("box con_list") == "con"
    assert part_of_names("pros-and-cons") is None
    assert part_of_names("reflist columns") == "sources"
    assert part_of_names("sources pro") == "pro"
    assert web_link(" https://a.example/b ", "c.example") == "https://a.example/b"
    for href in ("javascript:alert(1)", "/b", "#a", "mailto:a@b.example", "http://[::1", "ftp://a"):
        assert web_link(href, "") == ""
    assert web_link("https://www.c.example/b", "c.example") == ""


def repeated(n):
    return {
        "deep": b"<div class='pro'>" * n + b"<h2>Pro 1: a</h2><p>b",
        "flat": b"<h1>t</h1><h2>Pro 1: a</h2>" + b"<p>b [1]</p>" * n,
        "bold": b"<h1>t</h1><h2>Pros</h2><p>" + b"<b>a" * n,
        "notes": b"<h1>t</h1><h2>Pros</h2><p>" + b"<sup>1</sup>" * n,
        "breaks": b"<h1>t</h1><h2>Pros</h2><p><b>" + b"a<br>" * n,
        "cells": b"<h1>t</h1><h2>Pros</h2><table><tr>" + b"<td>a" * n,
        "links": b"<h1>t</h1><h2>Pros</h2><p>" + b"<a href='https://a.example/'>b" * n,
        "own links": b"<h1>t</h1><h2>Pros</h2><p>" + b"<a href='/'>b</a>" * n,
        "sources": b"<h1>t</h1><h2>Pros</h2><p>a</p><h2>Sources</h2><ol>" + b"<li>a" * n,
        "brackets": b"<h1>t</h1><h2>Pros</h2><p>" + b"[[1" * n,
    }


@pytest.mark.all
@pytest.mark.parametrize("name", repeated(1))
def test_time_grows_with_the_size_and_not_with_its_square(name):
    def parse(n):
        content = repeated(n)[name]
        try:
            parse_debate_page(content, "a")
        except InputError:
            assert name == "deep"  # what is nested too deep is cut off by the parser

    assert grows_linearly(parse, 2_000)


fragments = st.sampled_from(
    "<h1> <h2>Pros</h2> <h2>Con 1</h2> <p> </p> <b> </b> <td> <table> <tr> </table> [1] "
    "<sup>1</sup> <ol> <li> </ol> <h2>Sources</h2> <div\tclass=pro> </div> <a\thref='#1'>1</a> "
    "<br> <footer> text <a\thref='https://a.example/'>link</a> <script> &#0; "
    "\x00 \ufffe é".split(" ")
)  # fmt: skip


@settings(max_examples=tries(150), deadline=None, suppress_health_check=list(HealthCheck))
@given(parts=st.lists(fragments | st.text(max_size=5), max_size=30))
def test_whatever_a_page_holds_can_be_written_and_read_again(parts, tmp_path):
    content = "".join(parts).encode("utf-8", "replace")
    try:
        found = parse_debate_page(content, "a")
    except InputError:
        return
    stream = io.StringIO()
    FORMATS["debates"].writer(stream, [found])
    path = tmp_path / "f"
    path.write_text(stream.getvalue(), encoding="utf-8", newline="")
    assert list(FORMATS["debates"].reader(str(path))) == [found]
    cited = {one for side in (found.pros, found.cons) for p in side for one in p.cited}
    assert cited <= {one.id for one in found.sources}
