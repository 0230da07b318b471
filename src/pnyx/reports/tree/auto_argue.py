"""Judged reports in Auto-ARGUE's format, `*.judgments.jsonl`: a report with judgements per line.

A line has `report`, as it was submitted, and `judgments`: for each sentence its text, the cited
documents with their texts, and the findings, each with a `judgment_type_id`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from pnyx.core.errors import InputError, shorten
from pnyx.core.nuggets import NuggetBank
from pnyx.core.records import Document, Node
from pnyx.formats.reports.judged_report import (
    ANSWERED_ONLY,
    JudgedAnswer,
    JudgedCitation,
    JudgedNugget,
    JudgedReport,
    JudgedSentence,
    NodeAnswer,
    TreePath,
)
from pnyx.reports.tree.opened_sentence import citation_steps, uncited_steps
from pnyx.reports.tree.plan import Weights
from pnyx.reports.tree.repetition import repeated_sentences

KEYS: Final = frozenset({"report", "judgments"})
"""Identifies a line; no other format of judged reports has both."""

BEGINNING: Final = '{"report"'
"""Start of each line, as it is written."""

NAME: Final = "Auto-ARGUE"
_NOT_SAID: Final = NodeAnswer(None, NAME, "Auto-ARGUE says nothing of it")
_UNCITED: Final[Mapping[str, tuple[Node, bool]]] = {
    "NEGATIVE": ("negative", True),
    "REQUIRES_CITATION": ("needs_citation", True),
    "FIRST_INSTANCE": ("said_before", False),
}
"""Part of the type of a judgement on an uncited sentence -> node, and the value that means yes."""
_TITLE, _CONTENT = "Title: ", "Content: "

Row = Mapping[str, Any]


def report_of(row: Row) -> JudgedReport:
    """Return a report; InputError, without its position, if a field is invalid."""
    try:
        about = row["report"]["metadata"]
        topic, run = str(about["topic_id"]), str(about["run_id"])
        nuggets: dict[str, dict[str, list[int]]] = {}
        importance: dict[str, str] = {}
        sentences = [
            _sentence(judged, n, nuggets, importance) for n, judged in enumerate(row["judgments"])
        ]
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        problem = f"{type(error).__name__}: {shorten(str(error), 60)}"
        raise InputError(f"expected a judged report of Auto-ARGUE ({problem})") from error
    judged_nuggets = tuple(
        JudgedNugget(question, question, importance[question], answers=tuple(
            JudgedAnswer(text, given=True, sentences=tuple(dict.fromkeys(places)))
            for text, places in answers.items()
        ))
        for question, answers in nuggets.items()
    )  # fmt: skip
    repeats = repeated_sentences([sentence.text for sentence in sentences])
    pairs = zip(sentences, repeats, strict=True)
    judged = tuple(replace(sentence, repeats=other) for sentence, other in pairs)
    return JudgedReport(topic, run, judged, judged_nuggets, notes=(ANSWERED_ONLY,))


def documents_of(row: Row) -> dict[str, Document]:
    """Return id -> document for those that a line embeds; a text may begin with a title."""
    documents: dict[str, Document] = {}
    for judged in row["judgments"]:
        for cited in judged["citations"]:
            title, text = "", str(cited.get("text") or "")
            if text.startswith(_TITLE):
                title, _, text = text.removeprefix(_TITLE).partition("\n\n")
                text = text.removeprefix(_CONTENT)
            documents.setdefault(str(cited["doc_id"]), Document(str(cited["doc_id"]), text, title))
    return documents


def completed(report: JudgedReport, bank: NuggetBank | None) -> JudgedReport:
    """Return a report that also lists the nuggets it misses, if its topic has a bank."""
    if bank is None or ANSWERED_ONLY not in report.notes:
        return report
    unmatched = {nugget.text: nugget for nugget in report.nuggets}
    nuggets = []
    for nugget in bank.nuggets:
        ready_answers = unmatched.pop(nugget.text, JudgedNugget(nugget.text, nugget.text)).answers
        by_text = {answer.text: answer for answer in ready_answers}
        answers = [
            by_text.pop(answer.text, JudgedAnswer(answer.text, given=False))
            for answer in nugget.expected
        ]
        listed = JudgedNugget.of(nugget, [*answers, *by_text.values()])
        nuggets.append(replace(listed, id=nugget.text))
    nuggets += unmatched.values()
    notes = tuple(note for note in report.notes if note != ANSWERED_ONLY)
    moved = {
        (n.id, n_old): n_new
        for n in report.nuggets
        for n_old, answer in enumerate(n.answers)
        for n_new, other in enumerate(next(m for m in nuggets if m.id == n.id).answers)
        if other.text == answer.text
    }
    sentences = tuple(
        replace(s, answers=tuple((nugget, moved[nugget, n]) for nugget, n in s.answers))
        for s in report.sentences
    )
    return replace(report, nuggets=tuple(nuggets), notes=notes, sentences=sentences)


def _sentence(
    judged: Row, n: int, nuggets: dict[str, dict[str, list[int]]], importance: dict[str, str]
) -> JudgedSentence:
    cited = dict.fromkeys(str(citation["doc_id"]) for citation in judged["citations"])
    relevant, attests = (dict.fromkeys(cited, _NOT_SAID) for _ in range(2))
    findings: dict[str, NodeAnswer] = {}
    pairs: dict[tuple[str, int], None] = {}
    for judgment in judged["judgments"]:
        kind, response = str(judgment["judgment_type_id"]), judgment["response"]
        by = "lookup" if judgment.get("evaluator") in (None, "null") else NAME
        doc = str((judgment.get("provenance") or {}).get("doc_id"))
        if kind == "CITED_DOCUMENT_RELEVANCE":
            relevant[doc] = NodeAnswer(_truth(response["is_relevant"]), by)
        elif kind == "SENTENCE_ATTESTED":
            attests[doc] = NodeAnswer(_truth(response["is_attested"]), by)
        elif kind == "SENTENCE_ANSWERS_QUESTION":
            for question, answer, weight in _matched(response):
                answers = nuggets.setdefault(question, {})
                importance[question] = importance.get(question) or weight
                answers.setdefault(answer, []).append(n)
                pairs[question, list(answers).index(answer)] = None
            findings["answers"] = NodeAnswer(bool(pairs), by)
        else:
            findings |= _uncited(kind, response, by)
    citations = [JudgedCitation(doc, relevant[doc], attests[doc]) for doc in cited]
    weights = Weights()
    ways = citation_steps(citations, weights) if citations else uncited_steps(findings, weights)
    answered = (TreePath(("answers=yes",), "reward", weights.answered, q) for q, _ in pairs)
    steps = (*ways, *answered)
    return JudgedSentence(str(judged["text"]), tuple(citations), findings, tuple(pairs), steps)


def _matched(response: Row) -> Iterator[tuple[str, str, str]]:
    """Yield (question, answer, importance) for each answer that is given."""
    for nugget in response["matched_nuggets"]:
        for answer in nugget["matched_answer"]:
            yield str(nugget["question_text"]), str(answer), str(nugget.get("importance") or "")


def _truth(value: object) -> bool | None:
    if value is not None and not isinstance(value, bool):
        raise TypeError(f"found {value!r}, expected true, false or null")
    return value


def _uncited(kind: str, response: Row, by: str) -> dict[str, NodeAnswer]:
    """Return the finding on a sentence without citations; nothing for an unknown type."""
    yes_or_no = next((value for value in response.values() if isinstance(value, bool)), None)
    named = next((node for part, node in _UNCITED.items() if part in kind), None)
    if named is None or yes_or_no is None:
        return {}
    return {named[0]: NodeAnswer(yes_or_no is named[1], by)}
