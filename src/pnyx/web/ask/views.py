"""Views of retrieved documents on the pages of `pnyx serve`: sanitised text, not yet escaped."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from pnyx.cases.side_choice import chance
from pnyx.core.records import SIDES
from pnyx.display.states import probability
from pnyx.display.text import Segment, one_line
from pnyx.judging.answers import Answer, Judged
from pnyx.judging.judge_names import short_name
from pnyx.search.sides import CORPUS_LABEL, label_topic
from pnyx.search.split_documents import place_of, shown_title
from pnyx.web.ask.address import BANDS, PAGE, SearchQuery, document_link, standings
from pnyx.web.ask.choices import MOST_HITS
from pnyx.web.ask.rank_explanation import WhyView, why_view

if TYPE_CHECKING:
    from pnyx.cases.side_choice import PlacedPassage
    from pnyx.search.engine import Topic
    from pnyx.search.hits import RetrievedDocument
    from pnyx.web.ask.highlights import Marker
    from pnyx.web.rendering import Links

_LONGEST_TITLE: Final = 300
_LONGEST_TOPIC: Final = 60
_MOST_VALUES: Final = 10
_TERMS: Final = 3
_PERHAPS: Final = 0.2
"""From this probability, an ignored label may still be about the question."""


@dataclass(frozen=True, slots=True)
class ResultView:
    """A document in a list."""

    retrieved: RetrievedDocument
    href: str
    title: str
    passage_label: str  # position of the passage in its document
    excerpt: tuple[Segment, ...]
    standing: str  # of `STANDINGS`, empty until it is decided
    side_said: str  # who decided it, with its probability
    verdicts: tuple[str, ...]
    label: str
    band: str  # of `BANDS`, empty if the quality is unknown
    topic: str
    topic_number: str
    topic_href: str
    why: WhyView

    @property
    def side(self) -> str:
        """`pro`, `con` or empty."""
        return self.standing if self.standing in SIDES else ""


def result_views(
    listed: Sequence[RetrievedDocument],
    placed: Mapping[str, PlacedPassage] | None,
    query: SearchQuery,
    marker: Marker,
    links: Links,
) -> list[ResultView]:
    """Return the views of documents; `placed` holds their sides by id, if decided."""
    return [
        _result(hit, (placed or {}).get(hit.hit.doc_id), query, marker, links) for hit in listed
    ]


def _result(
    retrieved: RetrievedDocument,
    placed: PlacedPassage | None,
    query: SearchQuery,
    marker: Marker,
    links: Links,
) -> ResultView:
    document, doc_id = retrieved.document, retrieved.hit.doc_id
    title = one_line(document.title)[:_LONGEST_TITLE]
    text = document.text
    if document.title and text.startswith(document.title):
        text = text[len(document.title) :].lstrip(" .!?\n")
    share = retrieved.quality_share
    number = "" if retrieved.topic is None else str(retrieved.topic.number)
    standing = _standing(placed)
    return ResultView(
        retrieved=retrieved,
        href=document_link(links, doc_id, query.question, document.passage),
        title=title or one_line(shown_title(document))[:_LONGEST_TITLE] or "(no id)",
        passage_label=one_line(place_of(document))[:_LONGEST_TITLE],
        excerpt=marker.excerpt(text),
        standing=standing,
        side_said=_side_said(placed, standing, standings(query.question)),
        verdicts=_verdicts(placed, standings(query.question)),
        label=_label(retrieved, placed),
        band="" if share is None else tuple(BANDS)[2 - min(2, int(share * 3))],
        topic=_topic_name(retrieved.topic),
        topic_number=number,
        topic_href=query.with_(topic=number).link(links) if number else "",
        why=why_view(retrieved.hit.rank, retrieved.why),
    )


def _standing(placed: PlacedPassage | None) -> str:
    if placed is None:
        return ""
    if placed.sided.side is not None:
        return placed.sided.side
    return "off" if placed.passed_over else "undecided"


def _side_said(placed: PlacedPassage | None, standing: str, names: Mapping[str, str]) -> str:
    """Say who decided the side, and with what probability."""
    if placed is None:
        return ""
    if standing == "off":
        return _joined("Argues neither side", probability(chance(placed.relevance)))
    sided = placed.sided
    if standing in SIDES:
        p = placed.chance(sided.side) if sided.side else None
        by = "by the corpus's label" if sided.by == CORPUS_LABEL else "judged"
        return _joined(names[standing], by, probability(p))
    if sided.reasons:
        return f"No verdict: {one_line(sided.reasons[0])[:200]}"
    stated = {side: placed.chance(side) for side in SIDES}
    chances = [f"{names[s].lower()} {probability(p)}" for s, p in stated.items() if p is not None]
    return _joined("Not likely enough", *chances)


def _verdicts(placed: PlacedPassage | None, names: Mapping[str, str]) -> tuple[str, ...]:
    """Return the judges' verdicts on a document, in their own words."""
    if placed is None:
        return ()
    answers = [("Argues a side", placed.relevance)]
    answers += [(names[side], answer) for side, answer in placed.sided.verdicts.items()]
    return tuple(_verdict(what, answer) for what, answer in answers)


def _verdict(what: str, answer: Answer) -> str:
    if not isinstance(answer, Judged):
        return f"{what}? Unscored: {one_line(answer.reason)[:200]}"
    word = "yes" if answer.value else "no"
    why = one_line(answer.explanation)[:300]
    by = short_name(one_line(answer.provenance.judge))
    return _joined(f"{what}? {word}", probability(answer.probability), by) + (
        f": {why}" if why else ""
    )


def _joined(*parts: str) -> str:
    return ", ".join(part for part in parts if part)


def _label(retrieved: RetrievedDocument, placed: PlacedPassage | None) -> str:
    """Return the corpus's label, if it does not decide the side, and whether it is on topic."""
    if retrieved.stance is None:
        return ""
    same = retrieved.match is not None and retrieved.match.used
    if (
        same
        and retrieved.match is not None
        and retrieved.match.why == "words"
        and retrieved.match.relation == 1
    ):
        judged_label = placed is not None and placed.sided.labelled
        return "" if judged_label else f"labelled {retrieved.stance} on this question"
    topic = one_line(label_topic(retrieved.document))[:_LONGEST_TITLE]
    label = f"labelled {retrieved.stance} on “{topic}”" if topic else f"labelled {retrieved.stance}"
    if retrieved.match is None:
        return label
    if same:
        return f"{label}, which {retrieved.match.reason}"
    p = retrieved.match.same + retrieved.match.opposite
    return f"{label}, {'perhaps this' if p >= _PERHAPS else 'another'} question ({probability(p)})"


def _topic_name(topic: Topic | None) -> str:
    """Return the words that distinguish a topic from others, or else its conclusion."""
    if topic is None:
        return ""
    return one_line(", ".join(topic.terms[:_TERMS]) or topic.label)[:_LONGEST_TOPIC]


# A page -------------------------------------------------------------------------------------------


def results_view(
    query: SearchQuery,
    results: Sequence[ResultView],
    links: Links,
    *,
    waiting: bool,
    summary: str,
    problems: Sequence[str] = (),
    failed: str = "",
) -> dict[str, Any]:
    """Return the template values of a results page: filtered results, and filters with counts."""
    passing = [result for result in results if _passes(result, query, waiting=waiting)]
    more = ""
    if len(results) >= query.count and query.count < MOST_HITS:
        more = query.with_(count=min(MOST_HITS, query.count + PAGE)).link(links)
    lists = []
    for name, heading in standings(query.question).items():
        alike = [result for result in passing if result.standing == name]
        counted = "one document" if len(alike) == 1 else f"{len(alike)} documents"
        lists.append({"name": name, "heading": heading, "said": _OTHERS.get(name) or counted,
                      "results": alike, "opened": query.side == name})  # fmt: skip
    wanted = [
        group for group in lists if group["name"] in SIDES and query.side in ("", group["name"])
    ]
    return {
        "question": query.question, "fields": query.fields(), "said": summary,
        "problems": list(map(one_line, problems)), "shown": passing, "count": len(results),
        "waiting": waiting, "failed": failed, "more": more,
        "facets": list(_facets(query, results, links, waiting=waiting)),
        "chips": list(_chips(query, results, links)),
        "sides": [] if query.side in _OTHERS else wanted,
        "others": [group for group in lists if group["name"] in _OTHERS and group["results"]],
    }  # fmt: skip


_OTHERS: Final[Mapping[str, str]] = {
    "undecided": "They may argue a side, but neither is likely enough.",
    "off": "They share words with the question and argue neither side of it.",
}


_FILTERS: Final[Mapping[str, Callable[[ResultView], str]]] = {
    "side": lambda result: result.standing,
    "topic": lambda result: result.topic_number,
    "quality": lambda result: result.band,
}


def _passes(
    result: ResultView, query: SearchQuery, *, waiting: bool = False, but: str = ""
) -> bool:
    for name, value in _FILTERS.items():
        wanted = getattr(query, name)
        if wanted and name != but and not (waiting and name == "side") and value(result) != wanted:
            return False
    return True


def _facets(
    query: SearchQuery, results: Sequence[ResultView], links: Links, *, waiting: bool
) -> Iterator[dict[str, Any]]:
    """Yield filters: values, how many results have each (None: not decided yet), and links."""
    topics = {result.topic_number: result.topic for result in results if result.topic_number}
    meanings = {
        result.topic_number: one_line(result.retrieved.topic.label)[:_LONGEST_TITLE]
        for result in results
        if result.retrieved.topic is not None
    }
    rated = any(result.band for result in results)
    for name, heading, labels in (
        ("side", "Side", standings(query.question)),
        ("topic", "Topic", topics),
        ("quality", "Quality", BANDS if rated else {}),
    ):
        some = [result for result in results if _passes(result, query, waiting=waiting, but=name)]
        counts = Counter(map(_FILTERS[name], some))
        untold = waiting and name == "side"
        offers: list[dict[str, Any]] = [
            {"label": label, "meaning": meanings.get(value, "") if name == "topic" else "",
             "count": None if untold else counts[value],
             "href": query.with_(**{name: value}).link(links)
             if counts[value] and not untold else "",
             "chosen": getattr(query, name) == value}
            for value, label in labels.items()
        ]  # fmt: skip
        if name == "topic":
            offers.sort(key=lambda offer: (not offer["chosen"], -(offer["count"] or 0)))
        if offers:
            yield {"name": name, "heading": heading, "offers": offers[:_MOST_VALUES]}


def _chips(
    query: SearchQuery, results: Sequence[ResultView], links: Links
) -> Iterator[tuple[str, str]]:
    """Yield each chosen filter, and the address without it."""
    topics = {result.topic_number: result.topic for result in results}
    for name, labels in (
        ("side", standings(query.question)),
        ("topic", topics),
        ("quality", BANDS),
    ):
        value = getattr(query, name)
        if value:
            yield labels.get(value) or f"topic {value}", query.with_(**{name: ""}).link(links)
