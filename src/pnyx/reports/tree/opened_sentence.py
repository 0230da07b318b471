"""A sentence on its way through the tree, and the documents that it cites."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pnyx.core.nuggets import NuggetBank
from pnyx.core.records import Node
from pnyx.formats.reports.judged_report import (
    COLLECTION,
    RULE,
    JudgedCitation,
    JudgedSentence,
    NodeAnswer,
    TreePath,
    all_of,
    any_of,
)
from pnyx.judging.answers import Answer, Unscored
from pnyx.judging.questions import Support
from pnyx.reports.tree.node_questions import (
    ask_answers,
    ask_attests,
    ask_needs_citation,
    ask_negative,
    ask_said_before,
    ask_unanswerable,
)
from pnyx.reports.tree.own_text import is_own_text
from pnyx.reports.tree.plan import MAX_SENTENCE, ReportPlan, Weights
from pnyx.reports.tree.word_rules import ANSWER_RULE, contains, gives, plain_words, repeats

_BLANK = "the sentence has no words: it says nothing"
_TOO_LONG = f"the sentence has more than {MAX_SENTENCE:,} characters"
_WORST_IS_YES = ("needs_citation",)
"""Nodes at which yes counts against a sentence; at all others no does."""

Pair = tuple[str, int]
"""A nugget's id, and the position of an answer."""


class TopicBank:
    """The plan of a topic, and the nuggets of its bank, if it has one."""

    def __init__(self, topic_id: str, bank: NuggetBank | None, plan: ReportPlan) -> None:
        self.id, self.plan, self.has_bank = topic_id, plan, bank is not None
        self.bank = bank or NuggetBank(topic_id)
        self.attesting = self.bank.attesting
        self.answerable = [nugget for nugget in self.bank.nuggets if nugget.expected]
        self.unanswerable = [nugget for nugget in self.bank.nuggets if nugget.unanswerable]


class NodeAnswers:
    """Answers to questions; one yes settles the node."""

    def __init__(self, prefix: str) -> None:
        self._prefix = prefix
        self._values: list[bool | None] = []
        self._by = self._yes = self._open = ""
        self._probability: float | None = None

    def take(self, answer: Answer, named: str) -> bool | None:
        """Receive an answer about something with a name, and return its value."""
        answered = _finding_of(answer)
        self._by = self._by or answered.by
        self._values.append(answered.value)
        if answered.value is None:
            self._open = self._open or answered.why
        elif answered.probability is not None:
            self._probability = max(answered.probability, self._probability or 0.0)
        if answered.value and not self._yes:
            self._yes = f"{named}: {answered.why}" if answered.why else named
        return answered.value

    def finding(self) -> NodeAnswer:
        """Return the combined finding of the answers."""
        value = any_of(self._values)
        why = self._yes if value else self._open if value is None else ""
        chance = None if value is None else self._probability
        return NodeAnswer(value, self._by, why, chance, self._prefix)


def _finding_of(answer: Answer, id_: str = "", *, worst: bool = False) -> NodeAnswer:
    """Return the finding of one answer; `worst` is what counts against the report at this node."""
    by = answer.provenance.judge
    if isinstance(answer, Unscored):
        if is_own_text(answer):
            return NodeAnswer(worst, RULE, answer.reason, None, id_)
        return NodeAnswer(None, by, answer.reason, None, id_)
    return NodeAnswer(answer.value is True, by, answer.explanation, answer.probability, id_)


class RelevantDocument:
    """A cited document; `settled` is None until `take` has received the judge's answers."""

    def __init__(self, doc_id: str, text: str, lacks: NodeAnswer | None, prefix: str) -> None:
        self.doc_id, self.text, self.lacks, self.prefix = doc_id, text, lacks, prefix
        self.settled: NodeAnswer | None = None
        self._gathered = NodeAnswers(prefix)

    @property
    def made_up(self) -> bool:
        """Whether its citation is a no because the collection has no document with this id."""
        return self.lacks is not None and self.lacks.value is False

    @property
    def unknown(self) -> bool:
        """Whether a judge must still decide if it is relevant."""
        return self.settled is None and self.relevant.value is None

    def take(self, question: Support, answer: Answer) -> None:
        """Receive the answer whether it gives an answer of the bank."""
        self._gathered.take(answer, f"nugget {question.extra['nugget_id']}")

    @property
    def relevant(self) -> NodeAnswer:
        """Whether it attests any answer of the bank."""
        return self._gathered.finding() if self.settled is None else self.settled


class OpenSentence:
    """A sentence of an open report; `earlier` ones have words and a citation that is not made up.

    `given`, `open` and `partial` hold the answers that it gives, that are unscored, and that it
    gives partly.
    """

    def __init__(
        self,
        topic: TopicBank,
        where: Mapping[str, Any],
        text: str,
        documents: Sequence[RelevantDocument],
        report: str,
        earlier: Sequence[str],
    ) -> None:
        self._topic, self._plan, self._where = topic, topic.plan, where
        self.text, self.documents = text, documents
        self._report, self._earlier = report, earlier
        self.blank = not any(character.isalnum() for character in text)
        self.too_long = self._plan.is_too_long(text)
        self.own_text = False
        self.given: dict[Pair, None] = {}
        self.open: dict[Pair, None] = {}
        self.partial: dict[Pair, None] = {}
        self._findings: dict[str, NodeAnswer] = {}
        self._attests: dict[str, NodeAnswer] = {}
        self._prefix = f"{where['run_id']}/{topic.id}/{where['sentence']}"
        self._unanswerable = NodeAnswers(f"{self._prefix}/unanswerable")
        self._answers = NodeAnswers(f"{self._prefix}/answers")

    def questions(self, stage: int) -> Iterator[Support]:
        """Yield the questions of a stage; see `opened.STAGES`."""
        if self.documents:
            yield from (self._attested, self._answered)[stage - 1]() if stage else ()
        elif self.blank:
            self._findings["negative"] = NodeAnswer(False, RULE, _BLANK)
            self._findings["needs_citation"] = NodeAnswer(False, RULE, _BLANK)
        elif self.too_long:
            for node in ("negative", "needs_citation", "said_before"):
                self._findings[node] = NodeAnswer(node in _WORST_IS_YES, RULE, _TOO_LONG)
        else:
            yield from (self._negative, self._follows, self._last)[stage]()

    @property
    def quoted(self) -> bool:
        """Whether each document that it cites contains it word for word."""
        texts = [document.text for document in self.documents]
        return bool(texts) and not self.blank and all(contains(text, self.text) for text in texts)

    # With citations ------------------------------------------------------------------------------

    def _attested(self) -> Iterator[Support]:
        for document in self.documents:
            if document.lacks is not None and document.lacks.by == COLLECTION:
                self._attests[document.doc_id] = document.lacks
            elif document.unknown and self._plan.least and self._plan.attest == "relevant":
                self._attests[document.doc_id] = document.relevant
            elif document.relevant.value is False and self._plan.attest == "relevant":
                why = "not asked, for the document is not relevant"
                self._attests[document.doc_id] = NodeAnswer(False, RULE, why)
            elif self.blank or self.too_long:
                why = _BLANK if self.blank else _TOO_LONG
                self._attests[document.doc_id] = NodeAnswer(False, RULE, why)
            elif document.lacks is not None:
                self._attests[document.doc_id] = document.lacks
            else:
                run = self._where["run_id"] if self._plan.strict else ""
                yield ask_attests(
                    self._prefix, document.text, self.text, document.doc_id, run, **self._where
                )

    @property
    def _citations(self) -> tuple[JudgedCitation, ...]:
        return tuple(
            JudgedCitation(document.doc_id, document.relevant, self._attests[document.doc_id])
            for document in self.documents
        )

    @property
    def _credit(self) -> bool | None:
        """Whether it can give answers."""
        if self.blank or self.too_long:
            return False
        if self._plan.credit == "attested":
            return credited(self._citations)
        return self._plan.credit == "any" or self.cites

    @property
    def cites(self) -> bool:
        """Whether it cites a document that is not made up."""
        return any(not document.made_up for document in self.documents)

    def _answered(self) -> Iterator[Support]:
        if self._credit is False or not self._topic.answerable:
            return
        if self._plan.least and self._plan.credit == "attested" and self._credit is None:
            answers = (answer for c in self._citations for answer in (c.relevant, c.attests))
            if any(a.value is None and a.by not in ("lookup", COLLECTION) for a in answers):
                return  # a judge may yet say no
        if self._plan.answers == "lookup":
            self._look_up()
            return
        prefix, nuggets = f"{self._prefix}/answers", self._topic.answerable
        yield from ask_answers(prefix, self.text, nuggets, "answers", **self._where)

    def _look_up(self) -> None:
        words, cited = plain_words(self.text), {document.doc_id for document in self.documents}
        for nugget in self._topic.answerable:
            for n, answer in enumerate(nugget.expected):
                if gives(words, cited, answer):
                    self._give((nugget.id, n))
        value = True if self.given else None if self.open else False
        self._findings["answers"] = NodeAnswer(value, RULE, ANSWER_RULE)

    def _give(self, pair: Pair) -> None:
        """Count an answer that is certainly given; the bank vouches for unavailable texts."""
        attesting = self._topic.attesting
        vouched = any(pair in attesting.get(d.doc_id, ()) for d in self.documents if not d.text)
        (self.given if self._credit or vouched else self.open)[pair] = None

    # Without citations ---------------------------------------------------------------------------

    def _negative(self) -> Iterator[Support]:
        yield ask_negative(self._prefix, self._report, self.text, **self._where)

    def _follows(self) -> Iterator[Support]:
        """Ask what depends on whether the statement is negative."""
        negative = self._findings["negative"].value
        unknown = negative is None and self._plan.every
        if negative is False or unknown:
            yield ask_needs_citation(self._prefix, self._report, self.text, **self._where)
        if negative or unknown:
            if not self._topic.unanswerable:
                value = False if self._topic.has_bank else None
                why = "bank: it has no nugget without an answer"
                none = "bank: there is none for the topic"
                said_so = NodeAnswer(value, "lookup", none if value is None else why)
                self._findings["unanswerable"] = said_so
            for nugget in self._topic.unanswerable:
                yield ask_unanswerable(self._prefix, self.text, nugget, **self._where)

    def _last(self) -> Iterator[Support]:
        """Ask whether it was said before, and, if all sentences may give answers, which ones."""
        needs = self._findings.get("needs_citation")
        if needs is not None and (needs.value or (needs.value is None and self._plan.every)):
            if not self._earlier:
                why = "nothing is cited before it"
                self._findings["said_before"] = NodeAnswer(False, RULE, why)
            elif repeats(self.text, self._earlier):
                why = "an earlier sentence with a citation has the same words"
                self._findings["said_before"] = NodeAnswer(True, RULE, why)
            else:
                yield ask_said_before(self._prefix, self._earlier, self.text, **self._where)
        yield from self._answered()

    # Results -------------------------------------------------------------------------------------

    def take(self, question: Support, answer: Answer) -> None:
        """Receive an answer to one of `questions`."""
        extra, node = question.extra, question.extra["node"]
        self.own_text |= is_own_text(answer)
        if node == "attests":
            self._attests[extra["doc_id"]] = _finding_of(answer, question.id)
        elif node == "unanswerable":
            self._unanswerable.take(answer, f"nugget {extra['nugget_id']}")
            self._findings[node] = self._unanswerable.finding()
        elif node == "answers":
            self._take_answer((extra["nugget_id"], extra["answer"]), answer)
        else:
            self._findings[node] = _finding_of(answer, question.id, worst=node in _WORST_IS_YES)

    def _take_answer(self, pair: Pair, answer: Answer) -> None:
        value = self._answers.take(answer, f"nugget {pair[0]}")
        if value:
            self._give(pair)
        elif value is None:
            self.open[pair] = None
        elif answer.notes.get("partial"):
            self.partial[pair] = None

    def judged(self) -> JudgedSentence:
        """Return the judged sentence."""
        findings = dict(self._findings)
        finding = self._answers.finding()
        if finding.by:
            value = True if self.given else None if self.open else False
            findings["answers"] = NodeAnswer(
                value, finding.by, finding.why, finding.probability, finding.id
            )
        return JudgedSentence(
            self.text,
            self._citations,
            findings,
            tuple(self.given),
            tuple(self._steps(findings)),
            tuple(self.open),
            self.quoted,
        )

    def _steps(self, findings: dict[str, NodeAnswer]) -> Iterator[TreePath]:
        weights = self._plan.weights
        if self.documents:
            yield from citation_steps(self._citations, weights)
        else:
            yield from uncited_steps(findings, weights)
        path: tuple[str, ...] = ()
        if self.documents and self._plan.credit == "attested":
            path = (said("attests", credited(self._citations)),)
        for nugget, _ in self.given:
            yield TreePath((*path, said("answers", True)), "reward", weights.answered, nugget)
        if "answers" in findings and not self.given:
            value = findings["answers"].value
            outcome: Any = "neutral" if value is False else "unscored"
            yield TreePath((*path, said("answers", value)), outcome, None if value is None else 0.0)


# The tree ---------------------------------------------------------------------------------------


def said(node: Node, value: bool | None) -> str:
    """Return a passed node in the form that a path shows."""
    return f"{node}={'unscored' if value is None else 'yes' if value else 'no'}"


def credited(citations: Sequence[JudgedCitation]) -> bool | None:
    """Return whether a relevant citation attests the sentence; False without citations."""
    return any_of(all_of((c.relevant.value, c.attests.value)) for c in citations)


def citation_steps(citations: Sequence[JudgedCitation], weights: Weights) -> Iterator[TreePath]:
    """Yield the path of each citation: is the document relevant, does it attest the sentence?"""
    for citation in citations:
        relevant, attests = citation.relevant.value, citation.attests.value
        path: tuple[str, ...] = (said("relevant", relevant),)
        if relevant is False:
            yield TreePath(path, "penalty", weights.irrelevant, citation.doc_id)
            continue
        path = (*path, said("attests", attests))
        if relevant and attests is not None:
            if attests:
                yield TreePath(path, "reward", weights.attested, citation.doc_id)
            else:
                yield TreePath(path, "penalty", weights.unattested, citation.doc_id)
        elif attests is False and weights.irrelevant == weights.unattested:
            # The outcome is the same either way.
            yield TreePath(path, "penalty", weights.unattested, citation.doc_id)
        else:
            yield TreePath(path, "unscored", None, citation.doc_id)


def uncited_steps(findings: Mapping[str, NodeAnswer], weights: Weights) -> Iterator[TreePath]:
    """Yield the path of a sentence without citations; `findings` has the passed nodes."""
    path: tuple[str, ...] = ()
    order: tuple[Node, ...] = ("negative", "unanswerable", "needs_citation", "said_before")
    value: bool | None = None
    last: Node = "negative"
    for node in order:
        if node in findings:
            last, value = node, findings[node].value
            path = (*path, said(node, value))
    if value is None:
        yield TreePath(path, "unscored", None)
    elif last == "unanswerable" and value:
        yield TreePath(path, "reward", weights.confirmed)
    elif last == "unanswerable":
        yield TreePath(path, "penalty", weights.unconfirmed)
    elif last == "said_before" and not value:
        yield TreePath(path, "penalty", weights.uncited)
    else:
        yield TreePath(path, "neutral", 0.0)
