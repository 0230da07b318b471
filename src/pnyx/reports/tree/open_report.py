"""Reports on their way through the tree: the next questions, and the findings so far."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from pnyx.core.errors import shorten
from pnyx.core.nuggets import Nugget, NuggetBank
from pnyx.core.records import Evidence, Response, judged_text
from pnyx.formats.reports.judged_report import (
    COLLECTION,
    RULE,
    JudgedAnswer,
    JudgedNugget,
    JudgedReport,
    NodeAnswer,
)
from pnyx.judging.answers import Answer
from pnyx.judging.questions import Support
from pnyx.reports.tree.node_questions import ask_answers
from pnyx.reports.tree.opened_sentence import OpenSentence, RelevantDocument, TopicBank
from pnyx.reports.tree.plan import MAX_SENTENCE, ReportPlan
from pnyx.reports.tree.repetition import repeated_sentences
from pnyx.reports.tree.word_rules import share_held

STAGES: Final = 3
"""Relevance and negative statements; attestation and what depends on `negative`; answers, and
whether something was said before."""


@dataclass(frozen=True, slots=True)
class DocumentSources:
    """Where texts and relevance come from; a collection, if there is one, takes precedence."""

    documents: Callable[[str], Evidence | None] | None = None
    qrels: Mapping[str, Mapping[str, int]] = field(default_factory=dict)


_UNKNOWN = "unknown: the collection holds no document of this id"
_EMPTY = "the document is empty, and attests nothing"


def _lacking(why: str) -> NodeAnswer:
    return NodeAnswer(None, "lookup", f"no text: {why}")


class OpenTopic(TopicBank):
    """Several runs' reports on one topic, which share the findings about documents."""

    def __init__(
        self,
        topic_id: str,
        bank: NuggetBank | None,
        responses: Mapping[str, Response | None],
        plan: ReportPlan,
        sources: DocumentSources,
    ) -> None:
        super().__init__(topic_id, bank, plan)
        self.sources = sources
        self._documents: dict[tuple[str, str], RelevantDocument] = {}
        self._first: dict[str, str] = {}
        self.texts: dict[str, set[str]] = {}
        self.missing = [run for run, response in responses.items() if response is None]
        self.reports = {
            run: OpenReport(self, read) for run, read in responses.items() if read is not None
        }

    def document(self, response: Response, doc_id: str) -> RelevantDocument:
        """Return what is known about a cited document: its text, and whether it is relevant."""
        text, lacks = self._text(response, doc_id)
        key = doc_id, text
        self.texts.setdefault(doc_id, set()).add(text)
        if key not in self._documents:
            first = self._first.setdefault(doc_id, text) == text
            prefix = f"{self.id}/relevant/{doc_id}"
            named = prefix if first else f"{response.run_id}/{prefix}"
            document = RelevantDocument(doc_id, text, lacks, named)
            document.settled = self._looked_up(doc_id, document)
            self._documents[key] = document
        return self._documents[key]

    def _text(self, response: Response, doc_id: str) -> tuple[str, NodeAnswer | None]:
        """Return a cited document's text, from the collection first, else the finding instead."""
        if self.sources.documents is None:
            embedded = response.documents.get(doc_id)
            if embedded is not None and embedded.text.strip():
                return judged_text(embedded), None
            return "", _lacking("the response embeds none, and no collection is given")
        documents = self.sources.documents(doc_id)
        if documents is not None:
            text = judged_text(documents)
            if text.strip():
                return text, None
            if self.plan.strict:
                return "", NodeAnswer(False, RULE, _EMPTY)
            return "", _lacking("that of the document is empty")
        if doc_id in self.attesting or doc_id in self.sources.qrels.get(self.id, {}):
            named = "the collection does not hold the document, which the bank or the qrels name"
            return "", _lacking(named)
        value = False if self.plan.unknown_documents == "no" else None
        return "", NodeAnswer(value, COLLECTION, _UNKNOWN)

    def _looked_up(self, doc_id: str, document: RelevantDocument) -> NodeAnswer | None:
        """Return whether a document is relevant, if that can be looked up."""
        if doc_id in self.attesting:
            nugget, _ = self.attesting[doc_id][0]
            return NodeAnswer(True, "lookup", f"the bank names it for nugget {nugget}")
        grade = self.sources.qrels.get(self.id, {}).get(doc_id)
        if grade is not None:
            return NodeAnswer(grade >= self.plan.min_grade, "lookup", f"grade {grade} in the qrels")
        if document.made_up:
            return document.lacks
        if not self.has_bank:
            return NodeAnswer(None, "lookup", "bank: there is none for the topic")
        if not self.answerable:
            return NodeAnswer(None, "lookup", "bank: no nugget has an answer")
        return document.lacks

    def questions(self, stage: int) -> Iterator[Support]:
        """Yield the questions of a stage, given the answers to the earlier ones."""
        if stage == 0:
            for document in self._documents.values():
                if document.settled is None:
                    where = {"topic_id": self.id, "doc_id": document.doc_id}
                    nuggets = self.answerable
                    prefix, text = document.prefix, document.text
                    yield from ask_answers(prefix, text, nuggets, "relevant", **where)
        for report in self.reports.values():
            yield from report.questions(stage)

    def take(self, question: Support, answer: Answer) -> None:
        """Receive an answer to one of `questions`."""
        extra = question.extra
        if extra["node"] == "relevant":
            self._documents[extra["doc_id"], question.text].take(question, answer)
        else:
            self.reports[extra["run_id"]].take(question, answer)

    def judged(self) -> Iterator[JudgedReport]:
        """Yield the judged reports, run by run."""
        for report in self.reports.values():
            yield report.judged()
        for run in self.missing:
            yield JudgedReport(self.id, run, missing=True, notes=("no report on this topic",))


class OpenReport:
    """One report; see `OpenTopic`."""

    def __init__(self, topic: OpenTopic, response: Response) -> None:
        self.topic, self.response = topic, response
        self.text = "\n".join(
            " ".join(sentence.text.split())
            for sentence in response.sentences
            if not topic.plan.is_too_long(sentence.text)
        )
        self.sentences: list[OpenSentence] = []
        earlier: list[str] = []
        for number, sentence in enumerate(response.sentences, 1):
            where = {"run_id": response.run_id, "topic_id": topic.id, "sentence": number}
            cited = dict.fromkeys(citation.doc_id for citation in sentence.citations)
            documents = [topic.document(response, doc_id) for doc_id in cited]
            args = (where, sentence.text, documents, self.text, tuple(earlier))
            self.sentences.append(opened := OpenSentence(topic, *args))
            if opened.cites and not (opened.blank or opened.too_long):
                earlier.append(opened.text)

        self._repeats = repeated_sentences([sentence.text for sentence in response.sentences])

    def questions(self, stage: int) -> Iterator[Support]:
        """Yield the questions about its sentences at a stage."""
        for sentence in self.sentences:
            yield from sentence.questions(stage)

    def take(self, question: Support, answer: Answer) -> None:
        """Receive an answer to one of `questions`."""
        self.sentences[question.extra["sentence"] - 1].take(question, answer)

    def judged(self) -> JudgedReport:
        """Return the judged report."""
        topic = self.topic
        return JudgedReport(
            topic.id,
            self.response.run_id,
            tuple(
                replace(sentence.judged(), repeats=repeated)
                for sentence, repeated in zip(self.sentences, self._repeats, strict=True)
            ),
            tuple(map(self._nugget, topic.bank.nuggets)),
            tuple(topic.attesting),
            notes=(*self._notes(), *self._document_notes()),
            differing=tuple(self._differing()),
        )

    def _differing(self) -> Iterator[tuple[str, float]]:
        """Yield the documents whose text in the report differs from that in the collection."""
        if self.topic.sources.documents is None:
            return
        cited = {d.doc_id: d.text for s in self.sentences for d in s.documents if d.text}
        for doc_id, text in cited.items():
            embedded = self.response.documents.get(doc_id)
            share = None if embedded is None else share_held(embedded.text, text)
            if share is not None:
                yield doc_id, round(share, 4)

    def _nugget(self, nugget: Nugget) -> JudgedNugget:
        answers = (self._answer((nugget.id, n), a.text) for n, a in enumerate(nugget.expected))
        return JudgedNugget.of(nugget, answers)

    def _answer(self, pair: tuple[str, int], text: str) -> JudgedAnswer:
        giving = tuple(n for n, sentence in enumerate(self.sentences) if pair in sentence.given)
        open_ = not giving and any(pair in sentence.open for sentence in self.sentences)
        partial = not giving and any(pair in sentence.partial for sentence in self.sentences)
        return JudgedAnswer(text, True if giving else None if open_ else False, giving, partial)

    def _notes(self) -> Iterator[str]:
        """Yield notes on the report's sentences for readers of its figures."""
        if not self.sentences:
            yield "the report is empty"
        if not self.topic.has_bank:
            yield "no nugget bank for the topic"
        if blank := sum(sentence.blank for sentence in self.sentences):
            yield f"{blank} of {len(self.sentences)} sentences have no words"
        if too_long := sum(sentence.too_long for sentence in self.sentences):
            yield f"{too_long} sentences have more than {MAX_SENTENCE:,} characters: a no"
        if own_text := sum(sentence.own_text for sentence in self.sentences):
            yield f"{own_text} sentences: only the report's own text left them unscored: a no"
        if repeated := len(self._repeats) - self._repeats.count(None):
            yield f"{repeated} sentences repeat another one"

    def _document_notes(self) -> Iterator[str]:
        """Yield notes on the cited documents for readers of the report's figures."""
        lacks = {d.doc_id: d.lacks.why for s in self.sentences for d in s.documents if d.lacks}
        for reason in dict.fromkeys(lacks.values()):
            named = [doc_id for doc_id, why in lacks.items() if why == reason]
            yield f"{len(named)} cited documents: {reason} ({_first_of(named)})"
        if differing := [f"{doc_id}: {share:.0%}" for doc_id, share in self._differing()]:
            yield (
                f"{len(differing)} cited documents: the report embeds another text than the "
                f"collection's, which is judged (words in common: {_first_of(differing)})"
            )
        cited = dict.fromkeys(d.doc_id for s in self.sentences for d in s.documents if d.text)
        if several := [doc_id for doc_id in cited if len(self.topic.texts[doc_id]) > 1]:
            yield (
                f"{len(several)} cited documents: runs embed different texts of the document, and "
                f"no collection says which is right ({_first_of(several)})"
            )
        if quoted := sum(sentence.quoted for sentence in self.sentences):
            yield f"{quoted} sentences quote what they cite: not in sentence_precision_own"


def _first_of(names: Sequence[str]) -> str:
    """Return the first few of some names."""
    return ", ".join(shorten(name, 40) for name in names[:3]) + (", ..." if len(names) > 3 else "")
