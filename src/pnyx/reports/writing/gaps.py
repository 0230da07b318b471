"""Parts of a request without evidence, and the uncited sentences that say so."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from pnyx.cases.limits import Limits
from pnyx.core.records import Sentence, judged_text
from pnyx.formats import ReportRequest
from pnyx.formats.text.segment import trim
from pnyx.judging.answers import Answer, Judged
from pnyx.judging.base import ask_async
from pnyx.judging.questions import Support
from pnyx.reports.writing.candidates import Gathered

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
