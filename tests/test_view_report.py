"""The report as text: numbering, verdicts, and that hostile text stays text."""

from __future__ import annotations

import base64
import hashlib
import re
from dataclasses import replace
from functools import cache
from html.parser import HTMLParser
from importlib import resources

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from case_fixture import DOCUMENTS, argued, build_case, no, one_sided_case, unscored, yes
from pnyx.cases.case import Case, Undecided
from pnyx.cases.page.build import view_case
from pnyx.cases.page.markdown import render_markdown
from pnyx.cases.page.notes import said_of_precision
from pnyx.cases.page.report import render_html
from pnyx.cases.side_choice import Expected
from pnyx.core.records import Citation, Document, Question, Response, Sentence
from pnyx.display.states import probability, state_of
from pnyx.display.text import MAX_SHOWN, clean, cut, escape_markdown, locate, one_line
from pnyx.formats.reports.judged_report import NodeAnswer
from pnyx.judging.answers import QUOTED, Judged, Provenance
from pnyx.judging.measures.responses import judged_response, precisions
from pnyx.reports.pages.tree_words import finding_worded
from pnyx.search.topics import LabelledTopic, TopicMatch
from pnyx.stats.base import Measured
from pnyx.web.results.words import worded
from tries import tries

ATTACKS = st.one_of(
    st.text(max_size=60),
    st.text(alphabet="<>&\"'`*_[]()#|\\-+=~!.{}%$1 \n\t\r\x00\x1b\u2028\u202eabs:/", max_size=60),
    st.sampled_from(
        [
            "</script><script>x()</script>",
            "</style></title><!--",
            '" onmouseover="x()',
            "{{ 7*7 }}{% raw %}",
            "# h\n\n* item\n\n---\n===\n```",
            "1. a\n2) b",
            "[x](javascript:x) ![y](z) [1]: http://a",
            "| a | b |\n|---|---|",
            "<!-- --> <b> &lt; &#x3c; $x$ ~~s~~",
            "\\",
            "**",
            "http://a.b/_c_<d>",
        ]
    ),
)


class Outline(HTMLParser):
    """The elements of a page in order, its text, and every attribute; fails on bad nesting."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str, str]] = []
        self.text: dict[str, list[str]] = {}
        self.open: list[str] = []
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [(tag, name, value or "") for name, value in attrs]
        if tag not in {"meta", "br"}:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag
        self.tags.append("/" + tag)

    def handle_data(self, data):
        self.text.setdefault(self.open[-1] if self.open else "", []).append(data)

    def handle_comment(self, data):
        raise AssertionError("no comment is written")


def attributes(html: str, wanted: str) -> list[str]:
    return [value for _, name, value in Outline(html).attributes if name == wanted]


def poisoned(text: str) -> Case:
    """One sentence a side, all text of which is `text`; none of it is found in the passage."""
    sides = tuple(
        argued(
            side,
            (("conclusion", text, {"d": yes(0.9, explanation=text)}),
             ("premise", text, {"d": unscored(text)})),
            problems=(text,),
        )
        for side in ("pro", "con")
    )  # fmt: skip
    return Case(
        question=Question("q", text, claims=(f"Yes, {text}", f"No, {text}")),
        sides=sides,
        documents={"d": Document("d", "", title=text, url=f"x:{text}", source=text)},
        judges={"minilm-int8@1": text},
        settings={text: text},
        topics=(LabelledTopic(TopicMatch(text, 0.2, 0.1, "meaning", used=False), 2),),
    )


def test_references_are_numbered_by_first_citation_across_both_sides():
    page = view_case(build_case())
    assert [r.id for r in page.references] == [
        "aec-2019-04", "hostile-1", "dw-00871", "panel-77", "dw-00902", "ballot-03", "court-1",
    ]  # fmt: skip
    assert [r.number for r in page.references] == list(range(1, 8))
    shared = page.references[0]
    assert [c.label for c in shared.cited_by] == ["P1", "P2", "P3", "C4"]
    assert [c.side for c in shared.checks] == ["", "pro", "con"]


def test_every_link_inside_the_page_leads_somewhere_and_ids_are_unique():
    html = render_html(build_case())
    ids = attributes(html, "id")
    assert len(ids) == len(set(ids))
    targets = [href[1:] for href in attributes(html, "href") if href.startswith("#")]
    assert len(targets) > 40
    assert set(targets) <= set(ids)


def test_a_verdict_names_its_judge_and_its_probability():
    html = render_html(build_case())
    titles = attributes(html, "title")
    assert "supported, p = 0.93, packaged" in titles
    assert "not supported, p = 0.38, packaged" in titles
    assert "supported, p > 0.99, packaged" in titles
    reason = "parse: the reply held no verdict"
    assert f"unscored: {reason}, http://127.0.0.1:8000/v1#small-llm" in titles
    markdown = render_markdown(build_case())
    assert "- P1: supported, p = 0.93, packaged: “turnout at Australian" in markdown.replace(
        "  -", "-"
    )
    assert f"P3: unscored: {reason}" in markdown


def test_a_corpus_label_is_shown_with_its_topic():
    html = render_html(build_case())
    assert html.count("pro, on “Should voting be compulsory?”") == 1
    markdown = render_markdown(build_case())
    assert markdown.count("corpus label con, on “Should voting be compulsory?”") == 1


def test_measures_are_never_shown_without_their_base():
    for output in (render_html(build_case()), render_markdown(build_case())):
        assert "5 of 7 scored" in output
        assert "7 of 9 scored" in output
        assert "[0.38, 0.96]" in output.replace("\\[", "[").replace("\\]", "]")


@given(
    st.lists(
        st.lists(st.sampled_from(["yes", "no", "unscored"]), max_size=3), min_size=1, max_size=6
    )
)
def test_the_signs_add_up_to_sentence_precision(rows):
    made = {"yes": yes(0.9), "no": no(0.1), "unscored": unscored()}
    lines = tuple(
        ("premise", f"Sentence {i}.", {f"d{j}": made[v] for j, v in enumerate(row)})
        for i, row in enumerate(rows)
    )
    side = argued("pro", lines)
    page = view_case(replace(build_case(), sides=(side,), documents={}))
    tally = {state: count for state, _, count in page.sides[0].tally}
    verdicts = [one.attested for one in judged_response(side.response, side.support).sentences]
    assert tally.get("yes", 0) == verdicts.count(True)
    against = sum(tally.get(state, 0) for state in ("mixed", "no", "uncited"))
    assert against == verdicts.count(False)
    assert tally.get("unscored", 0) == verdicts.count(None)


def test_a_missing_verdict_is_unscored_not_no():
    side = argued("pro", (("premise", "S.", {"aec-2019-04": yes(0.9)}),))
    case = replace(build_case(), sides=(replace(side, support={}, stance={}, relevance={}),))
    page = view_case(case)
    assert page.sides[0].groups[0].premises[0].state == "unscored"
    assert {c.verdict.phrase for c in page.references[0].checks} == {"unscored: not asked"}


@pytest.mark.parametrize(
    ("number", "said"),
    [
        (Expected(7.6, 30, 30), "Probably about 8 of the 30 passages read argue a side"),
        (Expected(2.0, 3, 3), "Probably about 2 of the 3 passages read argue a side"),
        (Expected(1.7, 2, 3), "about 2 of the 3 passages read (1 without a verdict"),
        (Expected(0.4, 1, 1), "Probably about 0 of the one passage read argues a side"),
        (Expected(), ""),
    ],
)
def test_the_number_of_passages_on_the_question_is_told(number, said):
    case = replace(build_case(), expected_about=number)
    for text in (render_html(case), render_markdown(case).replace("\\", "")):
        assert said in text
        assert ("the question; 7 cited." in text) == bool(said)


def test_undecided_passages_have_their_own_list_with_their_probabilities():
    by = Provenance("sides")
    one = Undecided(
        "doc-u",
        Judged(True, by, 0.81),
        {"pro": Judged(False, by, 0.47), "con": Judged(True, by, 0.53)},
    )
    document = Document("doc-u", "It depends <b>on</b> who counts.", "On both hands")
    case = build_case()
    case = replace(case, undecided=(one,), documents={**case.documents, "doc-u": document})
    html, text = render_html(case), render_markdown(case)
    assert "Undecided passages" in html
    assert "1 undecided" in html
    assert "It depends &lt;b&gt;on&lt;/b&gt; who counts." in html
    for shown in ("p = 0.81", "p = 0.47", "p = 0.53"):
        assert shown in html
        assert shown in text
    own = html[html.index('id="undecided"') : html.index('id="read"')]
    assert own.count("not sure enough</b>") == 2
    assert "serve this side" not in own
    assert "Undecided passages" not in render_html(build_case())


def test_a_side_that_the_documents_may_not_argue_is_announced_at_the_top():
    case = build_case()
    html = render_html(replace(case, sides=(replace(case.sides[0], likely=0.4), *case.sides[1:])))
    said = (
        "The case for yes: Your documents may not argue this side: "
        "the probability that they do is 40 %."
    )
    assert html.index(said) < html.index(">The case for yes<")
    assert "may not argue" not in render_html(case)


def test_what_is_quoted_is_called_so_and_gets_no_precision():
    case = build_case()
    side = case.sides[0]
    quoted = dict.fromkeys(side.support, Judged(True, QUOTED))
    measures = {"on_this_side": Measured(0.75, 4, 4)}
    html = render_html(replace(case, sides=(replace(side, support=quoted, measures=measures),)))
    assert "quoted verbatim" in html
    assert "On this side" in html
    assert "0.75" in html
    assert "Sentence precision" not in html


def test_quoted_sentences_are_apart_in_a_mixed_argument():
    sentences = tuple(Sentence(f"It is {n}.", (Citation("d1"),)) for n in range(3))
    response = Response("1", "r", sentences)
    by = Provenance("some judge")
    support = {
        (0, "d1"): Judged(True, QUOTED),
        (1, "d1"): Judged(True, by),
        (2, "d1"): Judged(False, by),
    }
    found = precisions(response, support)  # of the two that are not quoted, one is supported
    for name in ("sentence_precision", "citation_precision"):
        assert (found[name].value, found[name].scored, found[name].asked) == (0.5, 2, 2)
    said = said_of_precision(response, support, found)
    assert said == ("; sentence precision 0.50 (2 of 2 scored; 1 of 3 sentences quoted verbatim)")
    every = dict.fromkeys(support, Judged(True, QUOTED))
    assert precisions(response, every) == {}
    assert said_of_precision(response, every, {}) == "; quoted verbatim"


def test_a_yes_that_is_likelier_a_no_has_no_tick():
    case = build_case()
    side = case.sides[0]
    by = Provenance("some judge", details={"threshold": 0.37})
    support = dict.fromkeys(side.support, Judged(True, by, probability=0.37))
    html = render_html(replace(case, sides=(replace(side, support=support), *case.sides[1:])))
    own = html[html.index(">The case for yes<") : html.index(">The case for no<")]
    assert "perhaps supported" in own
    assert "g-yes" not in own
    assert "(yes from 0.37)" in own
    assert [state_of(one) for one in (("weak", "yes"), ("weak", "no"), ("weak", "unscored"))] == [
        "weak", "mixed", "unscored",
    ]  # fmt: skip
    assert finding_worded(NodeAnswer(True, probability=0.37))[0] == "weak"
    assert worded(True, 0.5) == worded(True) == ("yes", "yes")


def test_quality_is_shown_as_a_share_of_all_passages():
    case = build_case()
    doc_id = case.sides[0].response.references[0]
    assert "predicted better than 72% of all passages" in render_html(
        replace(case, quality={doc_id: 0.721})
    )


def test_a_side_without_evidence_says_so():
    html, markdown = render_html(one_sided_case()), render_markdown(one_sided_case())
    for output in (html, markdown):
        assert "No passage that argues a side of the question was found." in output
    case = one_sided_case()
    failed = replace(case.sides[1], considered=3, failed=True)
    html = render_html(replace(case, sides=(case.sides[0], failed)))
    assert "3 passages argued this side, but the writer returned nothing usable" in html


def test_a_case_without_any_evidence_is_a_page_all_the_same():
    empty = one_sided_case().sides[1]
    case = replace(build_case(), sides=(replace(empty, side="pro"), empty), documents={})
    assert "No passages are cited." in render_html(case)
    assert "No passages are cited." in render_markdown(case)


def test_a_cited_document_that_is_not_at_hand_is_named():
    case = replace(build_case(), documents={})
    html = render_html(case)
    assert html.count("The text of this passage is not available.") == 7
    assert "[7] **court-1**" in render_markdown(case)


@pytest.mark.parametrize(
    ("url", "linked"),
    [
        ("https://example.org/a", True),
        ("http://example.org", True),
        ("javascript:alert(1)", False),
        ("JaVaScRiPt://example.org/%0aalert(1)", False),
        ("java\nscript:alert(1)", False),
        ("data:text/html,<script>", False),
        ("//example.org", False),
        ("https://exa mple.org", False),
        ("http://[broken", False),
    ],
)
def test_only_web_addresses_become_links(url, linked):
    documents = {**build_case().documents, "aec-2019-04": replace(DOCUMENTS[0], url=url)}
    outside = [
        href
        for href in attributes(render_html(replace(build_case(), documents=documents)), "href")
        if not href.startswith("#")
    ]
    assert outside == ([url] if linked else [])


def test_the_policy_pins_exactly_the_inline_style_and_script():
    html = render_html(build_case())
    page = Outline(html)
    (policy,) = [v for t, n, v in page.attributes if (t, n) == ("meta", "content") and "src" in v]
    for tag in ("script", "style"):
        (text,) = page.text[tag]
        pin = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{pin}'" in policy
        assert page.tags.count(tag) == 1
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert not [n for _, n, _ in page.attributes if n.startswith("on") or n in ("style", "src")]


@cache
def plain_tags(text: str) -> list[str]:
    return Outline(render_html(poisoned(text))).tags


@settings(max_examples=tries(40), deadline=None)
@given(ATTACKS)
def test_hostile_text_never_changes_the_elements_of_the_page(text):
    html = render_html(poisoned(text))
    html.encode()
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", html)
    assert Outline(html).tags == plain_tags("x" if one_line(text) else "")


@settings(max_examples=tries(60), deadline=None)
@given(ATTACKS)
def test_hostile_text_never_changes_the_structure_of_the_markdown(text):
    def structure(markdown: str) -> list[str]:
        tokens = MarkdownIt("commonmark").enable(["table", "strikethrough"]).parse(markdown)
        inline = {c.type for t in tokens for c in t.children or ()}
        assert inline <= {"text", "strong_open", "strong_close", "text_special"}, markdown
        return [t.type for t in tokens]

    plain = "x" if one_line(text) else ""
    markdown = render_markdown(poisoned(text))
    assert structure(markdown) == structure(render_markdown(poisoned(plain)))


@given(ATTACKS)
def test_escaped_markdown_shows_the_text_itself(text):
    (paragraph, *_) = [
        t.children
        for t in MarkdownIt("commonmark").parse("x " + escape_markdown(text))
        if t.children
    ]
    assert "".join(c.content for c in paragraph) == f"x {one_line(text)}".strip()


@given(ATTACKS)
def test_a_web_address_in_markdown_is_that_link_or_text(text):
    url = f"https://example.org/{text}"
    documents = {"d": Document("d", "", url=url)}
    markdown = render_markdown(replace(poisoned("x"), documents=documents))
    tokens = MarkdownIt("commonmark").parse(markdown)
    inline = [c for t in tokens for c in t.children or ()]
    links = [c for c in inline if c.type == "link_open"]
    assert len(links) <= 1
    assert all(str(c.attrs["href"]).startswith("https://example.org/") for c in links)
    assert not [c for c in inline if c.type in ("html_inline", "image", "code_inline")]


@given(st.text(max_size=300), st.data())
def test_a_cut_passage_loses_nothing_and_marks_what_was_named(text, data):
    spans = {}
    for key in range(data.draw(st.integers(0, 3)) if text else 0):
        start = data.draw(st.integers(0, len(text) - 1))
        spans[str(key)] = (start, data.draw(st.integers(start + 1, len(text))))
    text = text.replace("\r\n", "\n\n")
    segments = cut(text, spans)
    assert "".join(s.text for s in segments) == clean(text)
    for key, (start, end) in spans.items():
        assert "".join(s.text for s in segments if key in s.keys) == clean(text[start:end])
        assert sum(key in s.opens for s in segments) == 1


def test_a_long_passage_is_cut_around_its_evidence_and_says_so():
    text = "word " * 200_000 + "The evidence stands here. " + "word " * 200_000
    start = text.index("The evidence")
    segments = cut(text, {"k": (start, start + 25)})
    assert [s.kind for s in segments] == ["text", "gap", "text", "mark", "text", "gap"]
    assert segments[3].text == "The evidence stands here."
    shown = sum(len(s.text) for s in segments if s.kind != "gap")
    missing = sum(int(s.text.replace(",", "")) for s in segments if s.kind == "gap")
    assert shown < MAX_SHOWN
    assert shown + missing == len(text)


def test_evidence_is_found_verbatim_first_and_then_with_other_spacing_and_case():
    text = "He said so. The order of\n names mattered, a lot."
    assert locate(text, "said so") == (3, 10)
    assert text[slice(*locate(text, "not there", "The order of names mattered."))].startswith("The")
    assert locate(text, "the ORDER of names") is not None
    assert locate(text, "", "  ", "...", "absent") is None


def test_a_doubt_is_never_rounded_away():
    assert probability(0.9951) == "p > 0.99"
    assert probability(0.004) == "p < 0.01"
    assert probability(1.0) == "p = 1.00"
    assert probability(None) == probability(float("nan")) == ""


def _luminance(colour: str) -> float:
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
def test_colours_have_the_contrast_of_wcag_aa(scheme):
    css = resources.files("pnyx.display").joinpath("templates/tokens.css").read_text("utf-8")
    block = re.findall(r":root \{(.*?)\}", css, re.S)[scheme]
    colours = dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6})", block))
    pairs = [(f, b) for f in ("ink", "soft", "link") for b in ("paper", "card")]
    pairs += [(f, "paper") for f in ("pro", "con", "yes", "no", "doubt")]
    pairs += [("mark-ink", "mark"), ("ink", "pro-wash"), ("ink", "con-wash"), ("soft", "pro-wash")]
    for front, back in pairs:
        low, high = sorted((_luminance(colours[front]), _luminance(colours[back])))
        assert (high + 0.05) / (low + 0.05) >= 4.5, (front, back)


def test_what_is_less_likely_is_listed_and_not_argued():
    case = build_case()
    pro, con = case.sides
    one = Undecided("doc-u", yes(0.6), {"pro": no(0.3), "con": yes(0.7)})
    bare = replace(
        con, response=replace(con.response, sentences=()), considered=0, less_sure=(one,)
    )
    case = replace(case, sides=(pro, bare), certainty=0.45)
    page = view_case(case)
    assert page.sides[0].empty == ""
    said = "No passage is likely enough to argue this side (at least 45 %): one passage may"
    assert page.sides[1].empty.startswith(said)
    assert any(line.startswith(f"The case for no: not argued. {said}") for line in page.doubts)
    html, markdown = render_html(case), render_markdown(case).replace("\\", "")
    assert "below 45 %. They are not used in the argument" in html
    assert 'id="less-con-h"' in html
    assert 'id="less-pro-h"' not in html
    assert "### Less likely: the case for no" in markdown
    assert "not quoted" not in html + markdown


def test_passages_on_a_side_that_no_sentence_cites_are_listed():
    case = build_case()
    pro, con = case.sides
    listed = Undecided("doc-u", yes(0.6), {"pro": no(0.3), "con": yes(0.7)})
    case = replace(case, sides=(pro, replace(con, uncited=(listed,))))
    html, markdown = render_html(case), render_markdown(case).replace("\\", "")
    assert 'id="uncited-con-h"' in html
    assert 'id="uncited-pro-h"' not in html
    assert "### Also on this side, not quoted: the case for no" in markdown
