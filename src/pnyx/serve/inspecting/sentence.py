"""The page of one sentence: each citation, each nugget asked about, each way through the tree."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pnyx.judge.reports.records import Finding, JudgedReport, JudgedSentence
from pnyx.serve.inspecting.answered import cited_by_answered
from pnyx.serve.inspecting.exchanges import blocks_of, exchanges_of
from pnyx.serve.inspecting.findings import CitedView, FindingView, NuggetAsked, SentenceLine
from pnyx.serve.inspecting.pages import Shown
from pnyx.serve.inspecting.texts import passage_of, passages_of
from pnyx.serve.inspecting.wording import NODES, of_finding, of_value

if TYPE_CHECKING:
    from pnyx.serve.inspecting.catalogue import Catalogue
    from pnyx.serve.inspecting.records import Judgement, Linked, ReportAt

_WORDS = {"relevant": ("relevant", "not relevant"), "attests": ("supported", "not supported")}


def show_sentence(
    catalogue: Catalogue,
    at: ReportAt,
    report: JudgedReport | None,
    line: SentenceLine,
    total: int,
) -> Shown:
    """Show a sentence of a judged report, or (None) of a response; `total` is how many it has."""
    if report is None:
        told: dict[str, Any] = {"cited": list(cited_by_answered(catalogue, at, line))}
        told |= {"findings": [], "nuggets": []}
    else:
        told = _judged(catalogue, at, report, line)
    values = {
        "at": at,
        "source": catalogue.source(at.source),
        "topic": catalogue.topic(at.topic),
        "line": line,
        "total": total,
        **told,
    }
    return Shown("inspecting/sentence.html.j2", values)


def _judged(
    catalogue: Catalogue, at: ReportAt, report: JudgedReport, line: SentenceLine
) -> dict[str, Any]:
    sentence = report.sentences[line.n - 1]
    linked = catalogue.links(at, line.n - 1)
    asked = list(_nuggets(catalogue, report, linked))
    return {
        "cited": list(_cited(catalogue, at, sentence, line, linked)),
        "findings": list(_findings(sentence, linked)),
        "nuggets": sorted(asked, key=lambda one: _ORDER[one.verdict.state]),
    }


_ORDER: Mapping[str, int] = {"unscored": 0, "yes": 1, "weak": 1, "no": 2}


def _cited(
    catalogue: Catalogue,
    at: ReportAt,
    sentence: JudgedSentence,
    line: SentenceLine,
    linked: Sequence[Linked],
) -> Iterator[CitedView]:
    held = passages_of(catalogue, at.run, at.topic)
    for one, shown in zip(sentence.citations, line.citations, strict=True):
        attests = _finding("attests", one.attests, linked, one.doc_id)
        evidence, text = _of_judgement(catalogue, at, attests.rests_on, one.doc_id in held)
        passage = passage_of(one.doc_id, held, text, evidence)
        relevant = _finding("relevant", one.relevant, linked, one.doc_id)
        yield CitedView(shown.number, passage, [attests, relevant])


def _of_judgement(
    catalogue: Catalogue, at: ReportAt, rests_on: Sequence[Judgement], is_held: bool
) -> tuple[str, str]:
    """Return a judgement's evidence and, unless the text is held, the text that was judged."""
    for judgement in rests_on[:1]:
        row = catalogue.row(judgement)
        evidence = row.get("evidence")
        found = evidence if isinstance(evidence, str) else ""
        if is_held:
            return found, ""
        behind = exchanges_of(catalogue.source(at.source), row, catalogue.store)
        blocks = blocks_of(behind.calls)
        text = next((one.text for one in blocks if one.label in ("document", "text")), "")
        return found, text
    return "", ""


def _finding(node: str, finding: Finding, linked: Sequence[Linked], about: str = "") -> FindingView:
    verdict = of_finding(finding, _WORDS.get(node, ("yes", "no")))
    own = [one.judgement for one in linked if one.node == node and one.about == about]
    return FindingView(NODES[node][0], verdict, own)


def _findings(sentence: JudgedSentence, linked: Sequence[Linked]) -> Iterator[FindingView]:
    for node, finding in sentence.findings.items():
        yield _finding(node, finding, linked)


def _nuggets(
    catalogue: Catalogue, report: JudgedReport, linked: Sequence[Linked]
) -> Iterator[NuggetAsked]:
    by_id = {one.id: one for one in report.nuggets}
    for one in linked:
        if one.node != "answers":
            continue
        row = catalogue.row(one.judgement)
        nugget = by_id.get(one.judgement.perspective)
        place = row.get("answer")
        answer = ""
        if nugget is not None and isinstance(place, int) and 0 <= place < len(nugget.answers):
            answer = nugget.answers[place].text
        found = one.judgement
        verdict = of_value(found.value, found.probability, found.unscored).given("", row)
        if nugget is not None and nugget.is_claim:
            answer = ""
        yield NuggetAsked(
            nugget.text if nugget else found.perspective,
            answer,
            nugget.importance if nugget else "",
            verdict,
            found,
        )
