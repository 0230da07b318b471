"""What a judge is asked at each node; an id says where in the tree a question stands."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from pnyx.judge.questions import Support
from pnyx.records import Nugget

NUGGET, SUPPORT, NEGATIVE = "nugget", "support", "negative"
NEEDS_CITATION, UNANSWERABLE = "needs-citation", "unanswerable"

REPORT_TASKS: Final = (NUGGET, SUPPORT, NEGATIVE, NEEDS_CITATION, UNANSWERABLE)
"""The tasks that a judge of reports answers."""


def ask_answers(
    prefix: str, text: str, nuggets: Sequence[Nugget], node: str, /, **where: Any
) -> Iterator[Support]:
    """Ask of a text which answers of the nuggets it gives: of a sentence, or of a document."""
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


def ask_attests(prefix: str, document: str, sentence: str, doc_id: str, /, **where: Any) -> Support:
    """Ask whether a document attests a sentence that cites it."""
    extra = {**where, "node": "attests", "doc_id": doc_id}
    group = where["topic_id"]
    return Support(f"{prefix}/attests/{doc_id}", document, sentence, group=group, extra=extra)


def ask_said_before(prefix: str, earlier: Sequence[str], sentence: str, /, **where: Any) -> Support:
    """Ask whether a sentence follows from earlier ones that cite something."""
    extra = {**where, "node": "said_before"}
    text, group = "\n".join(earlier), where["topic_id"]
    return Support(f"{prefix}/said_before", text, sentence, group=group, extra=extra)


def ask_negative(prefix: str, report: str, sentence: str, /, **where: Any) -> Support:
    """Ask whether a sentence of a report says that something is not known or found."""
    return _of_report(NEGATIVE, f"{prefix}/negative", report, sentence, "negative", where)


def ask_needs_citation(prefix: str, report: str, sentence: str, /, **where: Any) -> Support:
    """Ask whether a sentence of a report needs a citation."""
    name = f"{prefix}/needs_citation"
    return _of_report(NEEDS_CITATION, name, report, sentence, "needs_citation", where)


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


def _of_report(
    task: str, name: str, report: str, sentence: str, node: str, where: dict[str, Any]
) -> Support:
    extra = {**where, "node": node}
    return Support(name, report, sentence, task=task, group=where["topic_id"], extra=extra)
