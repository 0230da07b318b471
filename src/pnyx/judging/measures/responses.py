"""Sentence and citation precision of a response with judged citations (`pnyx argue`).

The measures have the same definitions as those of a judged report. A sentence that appears word for
word in the passage that it cites supports itself: such quotations are counted separately, and not
in the measures.
"""

from __future__ import annotations

from collections.abc import Mapping

from pnyx.core.records import Response
from pnyx.formats.reports.judged_report import (
    JudgedCitation,
    JudgedReport,
    JudgedSentence,
    NodeAnswer,
)
from pnyx.judging.answers import Answer, Judged, is_quoted
from pnyx.judging.measures import sentences
from pnyx.stats.base import Measured
from pnyx.stats.intervals import share_of

Support = Mapping[tuple[int, str], Answer]
"""(position of the sentence, document id) -> whether the document supports the sentence."""

_LACKING = {
    "negative": NodeAnswer(False, "rule"),
    "needs_citation": NodeAnswer(True, "rule", "each sentence of an argument needs a citation"),
    "said_before": NodeAnswer(False, "rule"),
}


def judged_response(response: Response, support: Support) -> JudgedReport:
    """Return a response as a judged report; every sentence needs a citation, by rule.

    Citations of quoted passages are left out, and sentences without any others.
    """
    judged = []
    for position, sentence in enumerate(response.sentences):
        every = dict.fromkeys(citation.doc_id for citation in sentence.citations)
        cited = [doc_id for doc_id in every if not is_quoted(support.get((position, doc_id)))]
        if every and not cited:
            continue
        citations = (
            JudgedCitation(doc_id, NodeAnswer(None), _attests(support.get((position, doc_id))))
            for doc_id in cited
        )
        findings = {} if cited else _LACKING
        judged.append(JudgedSentence(sentence.text, tuple(citations), findings))
    return JudgedReport(response.topic_id, response.run_id, tuple(judged))


def _attests(answer: Answer | None) -> NodeAnswer:
    return NodeAnswer(answer.value is True if isinstance(answer, Judged) else None)


def sentence_precision(response: Response, support: Support) -> Measured:
    """Return the share of scored sentences supported by all their citations (Wilson, 95 %).

    A sentence without citations is not supported. One with a missing verdict is unscored, unless
    another verdict on it is a no.
    """
    return _with_interval(sentences.sentence_precision(judged_response(response, support)))


def citation_precision(response: Response, support: Support) -> Measured:
    """Return the share of scored citations, once per sentence, that support their sentence."""
    return _with_interval(sentences.citation_precision(judged_response(response, support)))


def precisions(response: Response, support: Support) -> dict[str, Measured]:
    """Return sentence and citation precision by name; empty if everything is quoted."""
    judged = judged_response(response, support)
    if response.sentences and not judged.sentences:
        return {}
    return {
        "sentence_precision": _with_interval(sentences.sentence_precision(judged)),
        "citation_precision": _with_interval(sentences.citation_precision(judged)),
    }


def _with_interval(measured: Measured) -> Measured:
    yes = 0 if measured.value is None else round(measured.value * measured.scored)
    return share_of(yes, measured.scored, measured.asked)
