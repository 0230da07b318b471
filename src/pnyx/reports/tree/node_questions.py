"""The questions for a judge at each node; an id shows a question's position in the tree."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Final

from pnyx.core.nuggets import Nugget
from pnyx.judging.questions import Support

NUGGET, SUPPORT, NEGATIVE = "nugget", "support", "negative"
NEEDS_CITATION, UNANSWERABLE = "needs-citation", "unanswerable"

REPORT_TASKS: Final = (NUGGET, SUPPORT, NEGATIVE, NEEDS_CITATION, UNANSWERABLE)
"""The tasks that a judge of reports answers."""


def ask_answers(
    prefix: str, text: str, nuggets: Sequence[Nugget], node: str, /, **where: Any
) -> Iterator[Support]:
    """Ask which answers of the nuggets a text gives; it is a sentence or a document."""
    for nugget in nuggets:
        for n, answer in enumerate(nugget.expected):
            yield Support(
                id=f"{prefix}/{nugget.id}/{n}",
                text=text,
                statement=answer.text,
                task=NUGGET,
                question="" if nugget.is_claim else nugget.text,
                group=where["topic_id"],
                extra={**where, "node": node, "nugget_id": nugget.id, "answer": n},
            )


def ask_attests(
    prefix: str, document: str, sentence: str, doc_id: str, submitter: str = "", /, **where: Any
) -> Support:
    """Ask whether a document attests a sentence that cites it; see `Support.submitter`."""
    extra = {**where, "node": "attests", "doc_id": doc_id}
    question = _ask(SUPPORT, f"{prefix}/attests/{doc_id}", document, sentence, extra)
    return replace(question, submitter=submitter) if submitter else question


def ask_said_before(prefix: str, earlier: Sequence[str], sentence: str, /, **where: Any) -> Support:
    """Ask whether a sentence follows from earlier ones that cite something."""
    extra = {**where, "node": "said_before"}
    return _ask(SUPPORT, f"{prefix}/said_before", "\n".join(earlier), sentence, extra)


def ask_negative(prefix: str, report: str, sentence: str, /, **where: Any) -> Support:
    """Ask whether a sentence of a report says that something is not known or found."""
    extra = {**where, "node": "negative"}
    return _ask(NEGATIVE, f"{prefix}/negative", report, sentence, extra)


def ask_needs_citation(prefix: str, report: str, sentence: str, /, **where: Any) -> Support:
    """Ask whether a sentence of a report needs a citation."""
    extra = {**where, "node": "needs_citation"}
    return _ask(NEEDS_CITATION, f"{prefix}/needs_citation", report, sentence, extra)


def ask_unanswerable(prefix: str, sentence: str, nugget: Nugget, /, **where: Any) -> Support:
    """Ask whether a negative statement says that a nugget's question has no answer."""
    return Support(
        id=f"{prefix}/unanswerable/{nugget.id}",
        text=sentence,
        statement=nugget.text,
        task=UNANSWERABLE,
        group=where["topic_id"],
        extra={**where, "node": "unanswerable", "nugget_id": nugget.id},
    )


def _ask(task: str, name: str, text: str, sentence: str, extra: dict[str, Any]) -> Support:
    group, cites = extra["topic_id"], task == SUPPORT
    return Support(name, text, sentence, task=task, group=group, extra=extra, cites=cites)
