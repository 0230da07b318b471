"""The writer of reports that asks a language model, and the sub-questions that it names.

Nothing of a reply that cannot be read is guessed at: the report is then reported as not written.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any

from pnyx.corpora import ReportRequest
from pnyx.corpora.text.citations import without_marks
from pnyx.corpora.text.segment import split_sentences
from pnyx.errors import shorten
from pnyx.judge.llm.prompting import load_prompt
from pnyx.judge.llm.reading import ask_structured, schema_of
from pnyx.judge.llm.templates import block
from pnyx.judge.store.completions import StoredModel
from pnyx.models.chat.types import ChatRequest
from pnyx.records import Citation, Document, Sentence
from pnyx.write.case import Draft
from pnyx.write.packing import Packed, pack_for, words_per_token
from pnyx.write.plan import CONTEXT
from pnyx.write.reports.gathering import Gathered
from pnyx.write.reports.limits import Limits

if TYPE_CHECKING:
    import pydantic

_NOBODY = "Nothing is known of the reader."
_MAX_QUESTION = 500


class LlmReporter:
    """Asks a language model for a report; what is in its store is not paid again.

    It is shown documents of `context` tokens, all together, by its own count where it can be had,
    and told to cite at most `citations` documents a sentence.
    """

    asks = True

    def __init__(
        self, model: StoredModel, *, context: int = CONTEXT, citations: int | None = None
    ) -> None:
        self.model, self.context, self.citations = model, context, citations
        self._rates: tuple[float, ...] | None = None

    @property
    def name(self) -> str:
        """The model's name and the prompt's."""
        return f"{self.model.name} ({load_prompt('report').label})"

    async def write(self, request: ReportRequest, gathered: Gathered, limits: Limits) -> Draft:
        """Ask for the report; a failed or unreadable reply gives a failed draft, no guess.

        Citations of documents that it was not shown are removed, and sentences beyond the limit,
        and both are reported.
        """
        if not gathered.documents:
            return Draft(())
        asked, packed = await self._request(request, gathered, limits)
        problems = []
        if packed.trimmed:
            counted = "the model's own count" if packed.counted else "an estimate"
            problems.append(
                f"{packed.trimmed} of {len(packed.documents)} documents were trimmed to fit the "
                f"context, by {counted} of tokens"
            )
        shape: type[Any] = _report_reply()
        reply, faults = await ask_structured(self.model, asked, shape)
        problems += faults
        if reply is None:
            fault = f"{shorten(self.model.name, 60)} wrote nothing usable"
            return Draft((), (*problems[:-1], f"{fault}: {problems[-1]}"), failed=True)
        sentences = list(_sentences(reply.sentences, packed.documents, problems))
        kept = limits.cut(sentences)
        if len(kept) < len(sentences):
            over = len(sentences) - len(kept)
            problems.append(
                f"left out the last {over} of {len(sentences)} sentences: over {limits}"
            )
        return Draft(kept, tuple(problems))

    async def _request(
        self, request: ReportRequest, gathered: Gathered, limits: Limits
    ) -> tuple[ChatRequest, Packed]:
        """Return what is asked: what was asked before at another estimate, if it was answered."""
        if self._rates is None:
            self._rates = words_per_token(self.model)
        for rate in self._rates:
            packed = await pack_for(self.model, gathered.documents, self.context, rate)
            asked = self._render(request, packed.documents, limits)
            if packed.counted or self.model.store.get(self.model.key(asked)) is not None:
                break
        return asked, packed

    def _render(
        self, request: ReportRequest, documents: Sequence[Document], limits: Limits
    ) -> ChatRequest:
        shown = (
            f"Document {n}:\n{block('DOCUMENT', one.text)}" for n, one in enumerate(documents, 1)
        )
        most = self.citations
        return load_prompt("report").request(
            {
                "request": request.asked,
                "background": request.background or _NOBODY,
                "limit": str(limits),
                "citations": "as many as do" if most is None else f"at most {most}",
                "documents": "\n\n".join(shown),
            },
            # As `ask_structured` sends it: the store's key holds it.
            schema=schema_of(_report_reply()),
        )


def _sentences(
    entries: Iterable[Any], shown: Sequence[Document], problems: list[str]
) -> Iterable[Sentence]:
    """Yield each sentence of an entry with the entry's citations; marks in the text count, too."""
    for entry in entries:
        clean, marked = without_marks(entry.text, lambda number: 1 <= number <= len(shown))
        cited: list[Citation] = []
        for number in dict.fromkeys([*entry.citations, *marked]):
            if 1 <= number <= len(shown):
                cited.append(Citation(shown[number - 1].id))
            else:
                found = f"removed a citation of document {shorten(number, 20)} from "
                found += f"{shorten(clean, 60)!r}: {len(shown)} documents were given"
                problems.append(found)
        for text in split_sentences(clean):
            yield Sentence(text, tuple(cited))


async def sub_questions(
    model: StoredModel, request: ReportRequest, count: int
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return questions that the report has to answer, by a language model, and what went wrong."""
    inputs = {
        "request": request.asked,
        "background": request.background or _NOBODY,
        "count": str(count),
    }
    asked = load_prompt("report-questions").request(inputs, items=count)
    shape: type[Any] = _questions_reply()
    reply, problems = await ask_structured(model, asked, shape)
    if reply is None:
        fault = f"{shorten(model.name, 60)} named no questions: {problems[-1]}"
        return (), (fault,)
    found = dict.fromkeys(" ".join(one.split())[:_MAX_QUESTION] for one in reply.questions)
    return tuple(found)[:count], tuple(problems)


@cache
def _report_reply() -> type[pydantic.BaseModel]:
    """Build the reply's shape on first use: pydantic is slow to import."""
    import pydantic

    strict = pydantic.ConfigDict(strict=True, extra="forbid")
    text = (str, pydantic.Field(pattern=r"\S"))
    one: Any = pydantic.create_model(
        "Sentence", __config__=strict, text=text, citations=(list[int], ...)
    )
    return pydantic.create_model("Report", __config__=strict, sentences=(list[one], ...))


@cache
def _questions_reply() -> type[pydantic.BaseModel]:
    import pydantic

    strict = pydantic.ConfigDict(strict=True, extra="forbid")
    text = Annotated[str, pydantic.Field(pattern=r"\w")]
    return pydantic.create_model("Questions", __config__=strict, questions=(list[text], ...))
