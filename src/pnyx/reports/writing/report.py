"""From a request and an index to a report: evidence, writing within limits, judged citations.

The report is a `Response`, as campaigns exchange them, together with its evidence.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Protocol

from pnyx.cases.case import Draft, sentence_lines
from pnyx.cases.citations import (
    judge_citations,
    said_of_citations,
    with_scores,
    without_foreign_citations,
)
from pnyx.cases.limits import Limits
from pnyx.cases.report_plan import WritingPlan
from pnyx.core.errors import shorten
from pnyx.core.records import Document, Evidence, Response, Sentence, judged_text
from pnyx.core.tabular import MOST_COLUMNS, MOST_ROWS, Result, cut_to
from pnyx.formats import ReportRequest
from pnyx.formats.text.segment import trim
from pnyx.judging.answers import Answer, Judged, Unscored, is_quoted
from pnyx.judging.base import Judge, ask_async
from pnyx.judging.measures.responses import precisions
from pnyx.judging.questions import Support
from pnyx.judging.store.completions import StoredModel
from pnyx.models.http.flow import run_all, run_blocking
from pnyx.reports.writing.candidates import Gathered, choose_evidence, queries_of, search_candidates
from pnyx.reports.writing.evidence import judge_evidence
from pnyx.reports.writing.generate import sub_questions
from pnyx.search.pipeline import Searcher
from pnyx.search.split_documents import passage_fields
from pnyx.stats.base import Measured


class Reporter(Protocol):
    """Writes a report from gathered evidence, within limits, with citations."""

    @property
    def name(self) -> str:
        """A short name for people."""

    @property
    def asks(self) -> bool:
        """Whether it asks a language model."""

    async def write(self, request: ReportRequest, gathered: Gathered, limits: Limits) -> Draft:
        """Return the sentences; none if the evidence supports none."""


@dataclass(frozen=True, slots=True, repr=False)
class Report(Result):
    """A report and its evidence.

    Attributes:
        request: the request.
        response: the written text; each citation's score is the probability that the document
            supports the sentence, 1 for a quotation. If there is no evidence, it says so.
        limits: the limits of its length.
        gathered: the evidence, of which it may cite only a part.
        support: (position of the sentence, document id) -> does the document support it?
        measures: sentence and citation precision of sentences that are not quotations.
        judges: judge name -> its card.
        problems: what was removed or went wrong, one line each.
        failed: there was evidence, but the writer returned nothing usable.
        without_evidence: parts of the request without evidence.
        negative: number of sentences, at the end, that say on what no evidence was found.
        settings: label -> value: how it was made.
    """

    request: ReportRequest
    response: Response
    limits: Limits
    gathered: Gathered
    support: Mapping[tuple[int, str], Answer] = field(default_factory=dict)
    measures: Mapping[str, Measured] = field(default_factory=dict)
    judges: Mapping[str, str] = field(default_factory=dict)
    problems: tuple[str, ...] = ()
    failed: bool = False
    without_evidence: tuple[str, ...] = ()
    negative: int = 0
    settings: Mapping[str, str] = field(default_factory=dict)

    def rows(self) -> list[dict[str, Any]]:
        """Return one flat object for each citation of a sentence, with its verdict of support."""
        return [
            {
                "sentence": position,
                "text": sentence.text,
                "doc_id": doc_id or None,
                "supported": getattr(answer, "value", None),
                "probability": getattr(answer, "probability", None),
            }
            for position, sentence in enumerate(self.response.sentences)
            for doc_id in [citation.doc_id for citation in sentence.citations] or [""]
            for answer in [self.support.get((position, doc_id))]
        ]

    def __repr__(self) -> str:
        title = shorten(self.request.title or self.request.id, MOST_COLUMNS)
        lines = [f"Report: {title}", *sentence_lines(self.response.sentences, MOST_ROWS)]
        return "\n".join(cut_to(line, MOST_COLUMNS) for line in lines)

    @property
    def documents(self) -> dict[str, Evidence]:
        """The cited documents by id, in the order of the references."""
        documents = {document.id: document for document in self.gathered.documents}
        return {doc_id: documents[doc_id] for doc_id in self.response.references}

    @property
    def complete(self) -> bool:
        """Whether it was written, and every citation judged."""
        return not self.failed and not any(isinstance(a, Unscored) for a in self.support.values())

    @property
    def no_evidence(self) -> bool:
        """Whether the index holds nothing about the request."""
        return not self.gathered.documents


def report(
    searcher: Searcher,
    request: ReportRequest,
    limits: Limits,
    *,
    judge: Judge,
    writer: Reporter,
    plan: WritingPlan | None = None,
    model: StoredModel | None = None,
) -> Report:
    """Write one report; see `report_many`."""
    reports: list[Report] = []
    report_many(
        searcher,
        [(request, limits)],
        judge=judge,
        writer=writer,
        plan=plan,
        model=model,
        done=reports.append,
    )
    return reports[0]


def report_many(
    searcher: Searcher,
    requests: Iterable[tuple[ReportRequest, Limits]],
    *,
    judge: Judge,
    writer: Reporter,
    plan: WritingPlan | None = None,
    model: StoredModel | None = None,
    done: Callable[[Report], None],
) -> None:
    """Write the report for each request, several at once if a language model is asked.

    Args:
        searcher: searches the index.
        requests: each with its limits.
        judge: answers Support questions about citations that are not quotations.
        writer: quotes, or asks a language model.
        plan: sizes and options.
        model: suggests sub-questions to search for, and says which documents are evidence; None
            for neither.
        done: called with each report as it is finished, in no particular order.

    Raises InputError if the index lacks data that the search needs, ModelError if the model cannot
    be used at all; answers received so far are in its store.
    """
    plan = plan or WritingPlan()

    async def work(item: tuple[ReportRequest, Limits]) -> None:
        done(await _report(searcher, *item, judge, writer, plan, model))

    async def all_() -> None:
        if model is None:
            await run_all(requests, work, workers=1)
            return
        async with model.running():
            await run_all(requests, work, workers=model.concurrency)

    run_blocking(all_)


async def _report(
    searcher: Searcher,
    request: ReportRequest,
    limits: Limits,
    judge: Judge,
    writer: Reporter,
    plan: WritingPlan,
    model: StoredModel | None,
) -> Report:
    questions: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    if model is not None and plan.questions > 0:
        questions, problems = await sub_questions(model, request, plan.questions)
    candidates = search_candidates(searcher, request, plan, queries_of(request, plan, questions))
    chances: Mapping[str, float] = {}
    if model is not None and plan.judged > 0:
        first = candidates.first(plan.judged)
        chances, faults = await judge_evidence(model, request, questions, first)
        problems = (*problems, *faults)
        if chances and max(chances.values()) < plan.helpful:
            problem = f"{shorten(model.name, 60)} found no evidence in {len(chances)} documents"
            problems = (*problems, f"{problem}: the ranking decides")
    gathered = choose_evidence(searcher, candidates, plan, chances)
    missing_parts = await lacking_parts(request, gathered)
    negative = of_parts(missing_parts, limits) if gathered.documents else ()
    room = limits.left([sentence.text for sentence in negative])
    draft = await writer.write(request, gathered, room)
    read = {document.id: document for document in gathered.documents}
    draft = _capped(without_foreign_citations(draft, set(read)), plan.per_sentence)
    draft = replace(draft, sentences=room.cut(draft.sentences))
    response = _response(request, draft, writer, plan)
    support = await judge_citations(request.asked, response, read, judge, quotes=draft.quotes)
    cited = {doc_id: read[doc_id] for doc_id in response.references}
    response = replace(with_scores(response, support), documents=_embedded(cited))
    judged = not all(map(is_quoted, support.values()))
    measures = precisions(response, support) if judged else {}
    if draft.failed:
        negative = ()
    elif not gathered.documents or (writer.asks and not draft.sentences):
        negative = of_request(request, missing_parts, limits)
    response = replace(response, sentences=(*response.sentences, *negative))
    return Report(
        request,
        response,
        limits,
        gathered,
        support,
        measures,
        {judge.name: judge.card} if judged else {},
        (*problems, *gathered.problems, *draft.problems),
        draft.failed,
        missing_parts,
        len(negative),
        {
            "writer": writer.name,
            "citations": said_of_citations(judge.name, writer.name, quotes=not writer.asks),
            "search": str(searcher.plan),
            **_counted(gathered),
        },
    )


def _counted(gathered: Gathered) -> dict[str, str]:
    searches = f"{len(gathered.queries)} queries, {gathered.documents_found} documents found"
    read = f", {gathered.judged} read by the language model" if gathered.judged else ""
    return {"evidence": f"{searches}{read}, {len(gathered.documents)} of them about the request"}


def _capped(draft: Draft, most: int | None) -> Draft:
    """Remove the citations of a sentence beyond the first few; a quotation's are equivalent."""
    if most is None:
        return draft
    over = sum(max(0, len(sentence.citations) - most) for sentence in draft.sentences)
    if not over:
        return draft
    sentences = tuple(replace(s, citations=s.citations[:most]) for s in draft.sentences)
    line = f"left out {over} citations: a sentence has at most {most}"
    problems = draft.problems if draft.quotes else (*draft.problems, line)
    return replace(draft, sentences=sentences, problems=problems)


def _response(
    request: ReportRequest, draft: Draft, writer: Reporter, plan: WritingPlan
) -> Response:
    cited = dict.fromkeys(c.doc_id for s in draft.sentences for c in s.citations)
    return Response(
        topic_id=request.id,
        run_id=plan.run,
        team_id=plan.team,
        topic=request.title,
        sentences=draft.sentences,
        references=tuple(cited),
        metadata={"writer": writer.name},
    )


def _embedded(cited: Mapping[str, Evidence]) -> dict[str, Document]:
    return {
        doc_id: Document(
            doc_id,
            document.text,
            document.title,
            document.url,
            document.source,
            passage_fields(document),
        )
        for doc_id, document in cited.items()
    }


_HELPS: Final = 0.2
"""Minimum probability, by the packaged judge of relevance, that a document helps to answer a part.
Chosen with the rest of the rule on lab/reports/parts.tsv, `dev`."""

_SHARE: Final = 0.25
"""Maximum share of a report's limit for statements on parts without evidence."""

_WORDS: Final = 40
_SHORT: Final = (
    "No evidence on this request was found in the collection.",
    "No evidence was found.",
)


async def lacking_parts(request: ReportRequest, gathered: Gathered) -> tuple[str, ...]:
    """Return the parts of a request without evidence, in its order."""
    helped = set()
    if gathered.doubtful:
        from pnyx.judging.students.judge import PackagedJudge

        pairs = [(part, document) for part in gathered.doubtful for document in gathered.documents]
        questions = [
            Support(str(n), judged_text(document), f"{request.title} {part}", task="relevance")
            for n, (part, document) in enumerate(pairs)
        ]
        answers = await ask_async(PackagedJudge("relevance"), questions)
        helped = {part for (part, _), a in zip(pairs, answers, strict=True) if _helps(a)}
    without = {
        *gathered.without_evidence,
        *(part for part in gathered.doubtful if part not in helped),
    }
    return tuple(query.text for query in gathered.queries if query.text in without)


def _helps(answer: Answer) -> bool:
    """Return whether a document may help; if that is not known, it may."""
    return not isinstance(answer, Judged) or (answer.probability or 0.0) >= _HELPS


def of_request(
    request: ReportRequest, parts: Sequence[str], limits: Limits
) -> tuple[Sentence, ...]:
    """Return sentences that say there is no evidence for a request and its parts, within limits."""
    wanted = [_stated(request.title), *_SHORT]
    whole = next((text for text in wanted if limits.fits([text])), None)
    if whole is None:
        return ()
    rest = [part for part in parts if part != request.title]
    return Sentence(whole), *_fitting(rest, limits.left([whole]))


def of_parts(parts: Sequence[str], limits: Limits) -> tuple[Sentence, ...]:
    """Return sentences on parts without evidence, within a share of the limit."""
    return _fitting(parts, limits.share(_SHARE))


def _fitting(parts: Sequence[str], limits: Limits) -> tuple[Sentence, ...]:
    fitting: list[str] = []
    for part in map(_stated, parts):
        if limits.fits([*fitting, part]):
            fitting.append(part)
    return tuple(map(Sentence, fitting))


def _stated(part: str) -> str:
    line = trim(" ".join(part.replace('"', "'").split()), _WORDS)
    return f'No evidence was found in the collection on "{line}".'
