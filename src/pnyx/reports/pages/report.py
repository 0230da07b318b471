"""The pages of a report and of its sentences: the findings at each node of the tree."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from pnyx.core.records import Document, judged_text
from pnyx.display.text import Segment, one_line, web_address
from pnyx.formats.reports.judged_report import (
    JudgedCitation,
    JudgedReport,
    JudgedSentence,
    NodeAnswer,
)
from pnyx.judging.answers import QUOTED, Answer, answer_of_row
from pnyx.judging.measures.responses import precisions
from pnyx.reports.measures.registry import SHOWN, measure_report
from pnyx.reports.pages import tree_words as wording
from pnyx.reports.pages.judged_texts import judged_report
from pnyx.stats.base import Measured
from pnyx.web.results.catalogue import Catalogue
from pnyx.web.results.pages import Address, Content, PageRoute, Parts, is_number
from pnyx.web.results.records import JudgementRow, LinkedJudgement, NotFoundError, ReportRow
from pnyx.web.results.texts import calls_behind, documents_of, marked, prompt_blocks, text_of

_OTHERS: Final = 6
_CHECKS: Final = {"relevance": "Is it about the question?", "stance": "Does it serve this side?"}
_UNSCORED_FIRST: Final = {"unscored": 0, "yes": 1, "weak": 1, "no": 2}

Supports = Mapping[tuple[int, str], tuple[JudgementRow, Mapping[str, Any]]]
"""(sentence from 0, document) -> the judgement of a response's citation, and its line."""


def links_of(
    catalogue: Catalogue, report: ReportRow, sentence: int | None = None
) -> list[LinkedJudgement]:
    """Return the judgements behind a report's findings, for all sentences or one."""
    return [
        LinkedJudgement(judgement, index, node, about)
        for index, node, about, name in catalogue.report_texts(report).findings()
        if sentence in (None, index)
        for judgement in catalogue.judgements_under(report.source, name)
    ]


def supports_of(catalogue: Catalogue, row: ReportRow) -> Supports:
    """Return the judge's verdicts on a response's citations."""
    return {
        (link.sentence, link.judgement.doc): (link.judgement, catalogue.line(link.judgement))
        for link in links_of(catalogue, row)
        if link.judgement.task == "support" and link.judgement.doc
    }


def report_of(catalogue: Catalogue, row: ReportRow, supports: Supports | None) -> JudgedReport:
    """Return a judged report, or a response in that form, with the verdicts on its citations."""
    if supports is None:
        return judged_report(catalogue, row)
    response, texts = catalogue.response(row), catalogue.texts(row)
    sentences = [
        JudgedSentence(
            texts[n],
            tuple(
                JudgedCitation(doc, wording.NOT_JUDGED, _attests(supports.get((n, doc))))
                for doc in dict.fromkeys(c.doc_id for c in sentence.citations)
            ),
        )
        for n, sentence in enumerate(response.sentences)
    ]
    return JudgedReport(row.topic, row.run, tuple(sentences))


def _attests(support: tuple[JudgementRow, Mapping[str, Any]] | None) -> NodeAnswer:
    if support is None:
        return wording.NOT_JUDGED
    quoted = support[1].get("method") == QUOTED.method
    return wording.VERBATIM if quoted else wording.finding_of(*support)


def measures_of(
    catalogue: Catalogue, row: ReportRow, report: JudgedReport, supports: Supports | None
) -> dict[str, Measured]:
    """Return a report's main measures; for a response, those of its judged citations."""
    if supports is None:
        return measure_report(report, names=SHOWN)
    answers: dict[tuple[int, str], Answer] = {
        key: answer_of_row(line) for key, (_, line) in supports.items()
    }
    return precisions(catalogue.response(row), answers) if answers else {}


def _read(catalogue: Catalogue, row: ReportRow) -> tuple[JudgedReport, dict[str, Any]]:
    """Return a report, and what all its pages show."""
    supports = None if row.kind == "judged" else supports_of(catalogue, row)
    report = report_of(catalogue, row, supports)
    cited = dict.fromkeys(c.doc_id for sentence in report.sentences for c in sentence.citations)
    values = {
        "row": row,
        "report": report,
        "supports": supports,
        "source": catalogue.source(row.source),
        "topic": catalogue.topic(row.topic),
        "documents": {doc: n for n, doc in enumerate(cited, 1)},
        "nuggets": {nugget.id: (n, nugget) for n, nugget in enumerate(report.nuggets, 1)},
        "words": wording,
    }
    return report, values


def _show_report(catalogue: Catalogue, address: Address) -> Content:
    source, run, topic, *side = address.parts
    row = catalogue.report(source, run, topic, *side)
    report, values = _read(catalogue, row)
    measures = measures_of(catalogue, row, report, values["supports"])
    values |= {
        "measures": measures,
        "is_judged": bool(measures) or row.kind == "judged",
        "unscored": [
            (n, step)
            for n, sentence in enumerate(report.sentences, 1)
            for step in sentence.steps
            if step.outcome == "unscored"
        ],
        "others": [o for o in catalogue.reports(topic=row.topic) if o.id != row.id][:_OTHERS],
    }
    return Content("report", values)


# One sentence -------------------------------------------------------------------------------------


class NodeFinding(NamedTuple):
    """The finding at a node, and the judgements behind it."""

    question: str
    node: str
    finding: NodeAnswer
    judgements: Sequence[JudgementRow]


class CitedDocument(NamedTuple):
    """A cited document, its text with the evidence marked, and the findings about it."""

    document: Document
    segments: Sequence[Segment]
    findings: Sequence[NodeFinding]


def _show_sentence(catalogue: Catalogue, address: Address) -> Content:
    *report_parts, number = address.parts
    row = catalogue.report(*report_parts)
    report, values = _read(catalogue, row)
    total = len(report.sentences)
    if not is_number(number) or int(number) > total:
        raise NotFoundError(f"this report has {total} sentences")
    n = int(number)
    sentence = report.sentences[n - 1]
    supports = values["supports"]
    if supports is None:
        links = links_of(catalogue, row, n - 1)
        values |= {
            "cited": list(_cited(catalogue, row, sentence, links)),
            "findings": [_at_node(node, f, links) for node, f in sentence.findings.items()],
            "asked": _nuggets_asked(catalogue, links),
        }
    else:
        cited = list(_cited_by_response(catalogue, row, n - 1, sentence, supports))
        values |= {"cited": cited, "findings": [], "asked": []}
    return Content("sentence", {**values, "sentence": sentence, "n": n, "total": total})


def _cited(
    catalogue: Catalogue,
    row: ReportRow,
    sentence: JudgedSentence,
    links: Sequence[LinkedJudgement],
) -> Iterator[CitedDocument]:
    documents = documents_of(catalogue, row.run, row.topic)
    for citation in sentence.citations:
        doc = citation.doc_id
        attests = _at_node("attests", citation.attests, links, doc)
        relevant = _at_node("relevant", citation.relevant, links, doc)
        evidence, document = "", documents.get(doc)
        for judgement in attests.judgements[:1]:
            line = catalogue.line(judgement)
            evidence = text_of(line, "evidence")
            document = document or _in_prompt(catalogue, row, line, doc)
        document = document or _in_collection(catalogue, doc)
        yield _document(document or Document(doc, ""), [attests, relevant], evidence)


def _in_collection(catalogue: Catalogue, doc: str) -> Document | None:
    passage = catalogue.passage(doc)
    return None if passage is None else Document(doc, judged_text(passage))


def _in_prompt(
    catalogue: Catalogue, row: ReportRow, line: Mapping[str, Any], doc: str
) -> Document | None:
    """Return the document that was judged, if it can be extracted from the prompt."""
    behind = calls_behind(catalogue.source(row.source), line, catalogue.store)
    blocks = prompt_blocks(behind.calls)
    text = next((text for label, text in blocks if label in ("document", "text")), "")
    return Document(doc, text) if text else None


def _document(document: Document, findings: Sequence[NodeFinding], *evidence: str) -> CitedDocument:
    segments = marked(document.text, *evidence) if document.text else ()
    shown_document = Document(document.id, "", one_line(document.title), web_address(document.url))
    return CitedDocument(shown_document, segments, findings)


def _at_node(
    node: str, finding: NodeAnswer, links: Sequence[LinkedJudgement], about: str = ""
) -> NodeFinding:
    judgements = [link.judgement for link in links if (link.node, link.about) == (node, about)]
    return NodeFinding(wording.NODES[node][0], node, finding, judgements)


def _nuggets_asked(
    catalogue: Catalogue, links: Sequence[LinkedJudgement]
) -> list[tuple[JudgementRow, NodeAnswer, Any]]:
    """Return (judgement, finding, position of the nugget's answer), unscored ones first."""
    rows = []
    for link in links:
        if link.node == "answers":
            line = catalogue.line(link.judgement)
            answer_index = line.get("answer")
            finding = wording.finding_of(link.judgement, line)
            rows.append(
                (link.judgement, finding, answer_index if isinstance(answer_index, int) else -1)
            )
    return sorted(rows, key=lambda row: _UNSCORED_FIRST.get(wording.finding_worded(row[1])[0], 1))


def _cited_by_response(
    catalogue: Catalogue, row: ReportRow, index: int, sentence: JudgedSentence, supports: Supports
) -> Iterator[CitedDocument]:
    documents = documents_of(catalogue, row.run, row.topic)
    for citation in sentence.citations:
        doc = citation.doc_id
        support = supports.get((index, doc))
        evidence = str(support[1].get("evidence") or "") if support else ""
        judgements = [support[0]] if support else []
        question = "Does it support the sentence?"
        findings = [NodeFinding(question, "attests", citation.attests, judgements)]
        for check, asks in _CHECKS.items():
            item = f"{row.topic}/{row.run}/{check}/{doc}"
            for judgement in catalogue.judgements_of_item(item, row.source):
                finding = wording.finding_of(judgement, catalogue.line(judgement))
                findings.append(NodeFinding(asks, "", finding, [judgement]))
        yield _document(documents.get(doc, Document(doc, "")), findings, evidence, sentence.text)


def _reports(catalogue: Catalogue) -> Iterator[tuple[Parts, int]]:
    for row in catalogue.reports():
        yield row.address[1:], 1


def _sentences(catalogue: Catalogue) -> Iterator[tuple[Parts, int]]:
    for row in catalogue.reports():
        for n in range(1, row.sentences + 1):
            yield (row.source, row.run, row.topic, str(n)), 1


PAGES: Final = (
    PageRoute("report", _show_report, _reports, least=3, most=4),
    PageRoute("sentence", _show_sentence, _sentences, least=4, most=4),
)
