"""Selection of evidence for a report by a language model, which reads documents in few calls."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from pnyx.cases.context import numbered
from pnyx.core.errors import shorten
from pnyx.core.records import Evidence, judged_text
from pnyx.formats import ReportRequest
from pnyx.formats.text.segment import trim
from pnyx.judging.llm.concurrent import split_evenly
from pnyx.judging.llm.prompts import load_prompt
from pnyx.judging.llm.structured_replies import ask_structured
from pnyx.models.http.flow import run_all

if TYPE_CHECKING:
    import pydantic

    from pnyx.judging.store.completions import StoredModel

PROMPT: Final = "report-evidence"

BATCH: Final = 24
"""Maximum documents per call."""

_WORDS: Final = 150
"""Words of a document shown to the model."""

_NOBODY: Final = "Nothing is known of the reader."


async def judge_evidence(
    model: StoredModel,
    request: ReportRequest,
    questions: Sequence[str],
    documents: Sequence[Evidence],
) -> tuple[dict[str, float], tuple[str, ...]]:
    """Ask a language model which documents are evidence for a report.

    Returns id -> probability, in [0, 1], for each document that it answered on, and what went
    wrong, one line each.
    """
    chances: dict[str, float] = {}
    faults: list[str] = []

    async def ask(batch: list[Evidence]) -> None:
        batch_chances, fault = await _listed(model, request, questions, batch)
        chances.update(batch_chances)
        faults.extend(fault)

    async with model.running():
        await run_all(split_evenly(documents, BATCH), ask, workers=model.concurrency)
    if not faults:
        return chances, ()
    name, left = shorten(model.name, 60), len(documents) - len(chances)
    problem = (
        f"{name} did not say of {left} of {len(documents)} documents whether they are evidence"
    )
    return chances, (f"{problem}: the ranking decides on these ({shorten(faults[0], 100)})",)


async def _listed(
    model: StoredModel,
    request: ReportRequest,
    questions: Sequence[str],
    documents: Sequence[Evidence],
) -> tuple[dict[str, float], list[str]]:
    inputs = {
        "request": request.asked,
        "background": request.background or _NOBODY,
        "questions": "\n".join(questions),
        "documents": numbered(trim(judged_text(document), _WORDS) for document in documents),
    }
    chat_request = load_prompt(PROMPT).request(inputs, items=len(documents))
    shape: type[Any] = _reply_shape()
    reply, problems = await ask_structured(model, chat_request, shape)
    if reply is None:
        return {}, problems[-1:]
    by_number: dict[int, float | None] = {}
    for entry in reply.documents:
        chance = entry.confidence if entry.evidence else 1.0 - entry.confidence
        differs = entry.id in by_number and by_number[entry.id] != chance
        by_number[entry.id] = None if differs else chance
    by_id = {
        document.id: chance
        for number, document in enumerate(documents, 1)
        if (chance := by_number.get(number)) is not None
    }
    missing = len(documents) - len(by_id)
    return by_id, [
        f"missing: {missing} documents are not in its reply, or twice"
    ] if missing else []


@cache
def _reply_shape() -> type[pydantic.BaseModel]:
    """Build the reply's schema on first use: pydantic is slow to import."""
    import pydantic

    closed = pydantic.ConfigDict(extra="forbid")
    confidence: Any = (float, pydantic.Field(ge=0, le=1))
    entry: Any = pydantic.create_model(
        "Document", __config__=closed, id=(int, ...), evidence=(bool, ...), confidence=confidence
    )
    return pydantic.create_model("ReportEvidence", __config__=closed, documents=(list[entry], ...))
