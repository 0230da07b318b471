"""Reports as Markdown: the request, the text, its citations and how it was made.

All text from requests, documents and writers is escaped and on one line, as in `view.markdown`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from pnyx.cases.page.model import measure_wording
from pnyx.core.records import Evidence, Sentence
from pnyx.display.text import escape_markdown, markdown_link, one_line, web_address
from pnyx.judging.answers import Answer, Judged, is_quoted
from pnyx.judging.judge_names import introduced
from pnyx.reports.writing.report import Report
from pnyx.search.split_documents import place_of


def render_reports(reports: Iterable[Report]) -> str:
    """Return reports, one after another, as CommonMark; their text may be hostile."""
    return "\n".join("\n\n".join(filter(None, _parts(report))) + "\n" for report in reports)


def _parts(report: Report) -> Iterator[str]:
    request = report.request
    yield f"# {_escaped(request.title)}"
    request_texts = [
        request.problem if request.problem != request.title else "",
        request.background,
    ]
    yield "\n>\n".join(f"> {_escaped(text)}" for text in request_texts if text.strip())
    if not report.response.sentences:
        yield f"*{_why_empty(report)}*"
    numbers = {doc_id: n for n, doc_id in enumerate(report.response.references, start=1)}
    yield "\n".join(
        f"{_escaped(s.text)}{_marks(report, index, s, numbers)}"
        for index, s in enumerate(report.response.sentences)
    )
    if numbers:
        yield "## References"
        documents = report.documents
        yield "\n".join(_reference(n, documents[doc_id]) for doc_id, n in numbers.items())
    yield "## How this was made"
    yield "\n".join(_made(report))


def _escaped(text: str) -> str:
    return escape_markdown(one_line(text))


def _why_empty(report: Report) -> str:
    if report.no_evidence:
        return "No evidence on this request was found, and the limit is too short to say so."
    if report.failed:
        return "There is evidence, but nothing usable was written."
    return "There is evidence, but no sentence of it fits the request and the limit."


def _marks(report: Report, index: int, sentence: Sentence, numbers: dict[str, int]) -> str:
    if index >= len(report.response.sentences) - report.negative:
        return ""
    cited = "".join(f" [{numbers[c.doc_id]}]" for c in sentence.citations)
    answers = [report.support.get((index, c.doc_id)) for c in sentence.citations]
    return f"{cited}{_verdict(answers)}"


def _verdict(answers: list[Answer | None]) -> str:
    """Return the verdict on a sentence that is not a quotation."""
    if not answers:
        return " (cites nothing)"
    if all(map(is_quoted, answers)):
        return ""
    if any(isinstance(a, Judged) and a.value is True for a in answers):
        return " (supported, by the judge)"
    unscored = any(not isinstance(a, Judged) for a in answers)
    return " (not judged)" if unscored else " (not supported, by the judge)"


def _reference(number: int, document: Evidence) -> str:
    about = [
        f"**{_escaped(document.title)}**" if document.title.strip() else "",
        _escaped(place_of(document)),
        _escaped(document.source),
        f"id {_escaped(document.id)}",
        markdown_link(web_address(document.url)),
    ]
    return f"- [{number}] {', '.join(part for part in about if part)}"


def _made(report: Report) -> Iterator[str]:
    yield f"- limit: {report.limits}"
    for label, value in report.settings.items():
        yield f"- {_escaped(label)}: {_escaped(value)}"
    for name, measured in report.measures.items():
        value = "nothing scored" if measured.value is None else f"{measured.value:.2f}"
        counts = f"{measured.scored} of {measured.asked} scored"
        yield f"- {measure_wording(name).label.lower()}: {value} ({counts})"
    yield from (f"- judge {_escaped(line)}" for line in introduced(report.judges))
    for problem in report.problems:
        yield f"- problem: {_escaped(problem)}"
