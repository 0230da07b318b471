"""A writer of reports that asks a language model, and the sub-questions that it suggests.

It never guesses at an unreadable reply: the report is then reported as not written.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any

from pnyx.cases.case import Draft
from pnyx.cases.context import ModelWriter, numbered, writing_prompt
from pnyx.cases.limits import Limits
from pnyx.cases.plan import CONTEXT
from pnyx.cases.replies import cited_ids, sentences_reply
from pnyx.core.errors import shorten
from pnyx.core.records import Citation, Document, Sentence
from pnyx.formats import ReportRequest
from pnyx.formats.text.segment import split_sentences
from pnyx.judging.llm.prompts import load_prompt
from pnyx.judging.llm.structured_replies import ask_structured, schema_of
from pnyx.judging.store.completions import StoredModel
from pnyx.models.chat.types import ChatRequest
from pnyx.reports.writing.candidates import Gathered

if TYPE_CHECKING:
    import pydantic

_NOBODY = "Nothing is known of the reader."
_MAX_QUESTION = 500
_INPUTS = ("request", "background", "limit", "citations", "documents")
"""Inputs that a prompt for reports may use."""


class LlmReporter(ModelWriter):
    """Asks a language model for a report; replies in its store are not paid for again.

    It is shown documents of `context` tokens in total, by its own count if available, and told to
    cite at most `citations` documents per sentence.
    """

    asks = True

    def __init__(
        self,
        model: StoredModel,
        *,
        context: int = CONTEXT,
        citations: int | None = None,
        prompt: str = "report",
    ) -> None:
        super().__init__(model, context, writing_prompt(prompt, _INPUTS))
        self.citations = citations

    async def write(self, request: ReportRequest, gathered: Gathered, limits: Limits) -> Draft:
        """Ask for the report; a failed or unreadable reply gives a failed draft, never a guess.

        Citations of documents that it was not shown are removed, as are sentences beyond the limit;
        both are reported.
        """
        if not gathered.documents:
            return Draft(())

        async def render(documents: list[Document], _: float) -> ChatRequest:
            return self._render(request, documents, limits)

        chat_request, packed = await self.asked(gathered.documents, render)
        problems = packed.problems
        reply = await self.reply(chat_request, sentences_reply(), problems)
        if reply is None:
            return Draft((), tuple(problems), failed=True)
        sentences = list(_sentences(reply.sentences, packed.documents, problems))
        fitting = limits.cut(sentences)
        if len(fitting) < len(sentences):
            over = len(sentences) - len(fitting)
            problems.append(
                f"left out the last {over} of {len(sentences)} sentences: over {limits}"
            )
        return Draft(fitting, tuple(problems))

    def _render(
        self, request: ReportRequest, documents: Sequence[Document], limits: Limits
    ) -> ChatRequest:
        most = self.citations
        return self.render(
            schema_of(sentences_reply()),
            {
                "request": request.asked,
                "background": request.background or _NOBODY,
                "limit": str(limits),
                "citations": "as many as do" if most is None else f"at most {most}",
                "documents": numbered(document.text for document in documents),
            },
        )


def _sentences(
    entries: Iterable[Any], documents: Sequence[Document], problems: list[str]
) -> Iterable[Sentence]:
    """Yield each sentence of an entry with the entry's citations, and those marked in the text."""
    for entry in entries:
        clean, cited = cited_ids(entry.text, entry.citations, documents, problems)
        for text in split_sentences(clean):
            yield Sentence(text, tuple(map(Citation, cited)))


async def sub_questions(
    model: StoredModel, request: ReportRequest, count: int
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return a language model's questions that the report must answer, and what went wrong."""
    inputs = {
        "request": request.asked,
        "background": request.background or _NOBODY,
        "count": str(count),
    }
    chat_request = load_prompt("report-questions").request(inputs, items=count)
    shape: type[Any] = _questions_reply()
    reply, problems = await ask_structured(model, chat_request, shape)
    if reply is None:
        fault = f"{shorten(model.name, 60)} named no questions: {problems[-1]}"
        return (), (fault,)
    questions = dict.fromkeys(
        " ".join(question.split())[:_MAX_QUESTION] for question in reply.questions
    )
    return tuple(questions)[:count], tuple(problems)


@cache
def _questions_reply() -> type[pydantic.BaseModel]:
    import pydantic

    strict = pydantic.ConfigDict(strict=True, extra="forbid")
    text = Annotated[str, pydantic.Field(pattern=r"\w")]
    return pydantic.create_model("Questions", __config__=strict, questions=(list[text], ...))
