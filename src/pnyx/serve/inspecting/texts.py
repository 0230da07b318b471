"""The texts that judgements are about, as far as what was given holds them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pnyx.judge.reports.records import JudgedReport
from pnyx.restricted import hides_text
from pnyx.serve.inspecting.exchanges import Block
from pnyx.view.text import Segment, cut, locate, one_line, web_address

if TYPE_CHECKING:
    from pnyx.serve.inspecting.catalogue import Catalogue
    from pnyx.serve.inspecting.records import Judgement

_JUDGED = ("document", "text", "passage", "report", "argument", "sentence", "earlier")
_FIELDS = (
    "question query topic text document a b statement claim perspective argument argument_2 "
    "guideline definition criterion stance"
).split()
"""Fields of an item that hold what was asked about, in the order in which they are shown."""


@dataclass(frozen=True, slots=True)
class Passage:
    """A cited document: where it is from, and its text with the evidence marked."""

    id: str
    title: str = ""
    url: str = ""
    segments: tuple[Segment, ...] = ()

    @property
    def is_marked(self) -> bool:
        """Whether evidence was located."""
        return any(one.kind == "mark" for one in self.segments)


@dataclass(frozen=True, slots=True)
class Asked:
    """A text that a question was about: what it is, its text, and whether it is what was judged."""

    label: str
    segments: tuple[Segment, ...]
    judged: bool = False


def marked(text: str, *evidence: str) -> tuple[Segment, ...]:
    """Return a text cut at the first evidence that is found in it."""
    span = locate(text, *evidence) if any(evidence) else None
    return cut(text, {} if span is None else {"e": span})


def passages_of(catalogue: Catalogue, run: str, topic: str) -> dict[str, tuple[str, str, str]]:
    """Return id -> title, address and text of the documents that a run's responses embed."""
    found: dict[str, tuple[str, str, str]] = {}
    if hides_text():
        return found
    for at in catalogue.reports(run=run, topic=topic, kind="response"):
        for name, document in catalogue.response(at).documents.items():
            if document.text.strip():
                found.setdefault(name, (document.title, document.url, document.text))
    return found


def passage_of(
    name: str, held: Mapping[str, tuple[str, str, str]], fallback: str, *evidence: str
) -> Passage:
    """Return a cited document, from what responses embed or, without that, from a prompt."""
    title, url, text = held.get(name, ("", "", fallback))
    return Passage(name, one_line(title), web_address(url), marked(text, *evidence) if text else ())


def asked_in(blocks: Iterable[Block], row: Mapping[str, Any], evidence: str) -> list[Asked]:
    """Return what a question was about, from its prompt or from the line itself."""
    found = [(one.label, one.text) for one in blocks]
    if not found:
        found = [(n, row[n]) for n in _FIELDS if isinstance(row.get(n), str) and row[n].strip()]
    return [
        Asked(label, marked(text, evidence if label in _JUDGED else ""), label in _JUDGED)
        for label, text in found
    ]


def asked_of_report(
    judgement: Judgement, row: Mapping[str, Any], report: JudgedReport, sentence: int
) -> list[Asked]:
    """Return what a question of the tree was about, from the judged report itself."""
    node = row.get("node")
    said = report.sentences[sentence].text if 0 <= sentence < len(report.sentences) else ""
    nugget = next((one for one in report.nuggets if one.id == judgement.perspective), None)
    found: list[tuple[str, str]] = []
    if said and node != "relevant":
        found.append(("sentence", said))
    if nugget is not None:
        found.append(("nugget", nugget.text))
        place = row.get("answer")
        if isinstance(place, int) and 0 <= place < len(nugget.answers) and not nugget.is_claim:
            found.append(("answer", nugget.answers[place].text))
    return [Asked(label, marked(text)) for label, text in found]
