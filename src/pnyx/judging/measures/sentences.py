"""Measures of a judged report's sentences and citations (Auto-ARGUE, 2.2).

Everything is three-valued: an open question is neither true nor false, and counts as asked, but not
as scored. If sentences are marked as repetitions (`JudgedSentence.repeats`), a yes counts once for
all of them, and each no counts: repeating a sentence gains nothing, and hides nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Iterator
from unicodedata import normalize

from pnyx.formats.reports.judged_report import NO_TEXT, JudgedReport, JudgedSentence, all_of
from pnyx.stats.base import Measured


def share(truths: Iterable[bool | None]) -> Measured:
    """Return the share of true among known values; None if nothing is known."""
    every = list(truths)
    decided = [truth for truth in every if truth is not None]
    return Measured(sum(decided) / len(decided) if decided else None, len(decided), len(every))


def _share_once(truths: Iterable[tuple[Hashable, bool | None]]) -> Measured:
    """Return the share of true among known values; true values with one key count once."""
    every = list(truths)
    true = dict.fromkeys(key for key, truth in every if truth)
    return share([True] * len(true) + [truth for _, truth in every if not truth])


def _by_group(report: JudgedReport) -> Iterator[tuple[int, JudgedSentence]]:
    """Yield the sentences, each after the position of the sentence it repeats, or its own."""
    for position, sentence in enumerate(report.sentences):
        yield position if sentence.repeats is None else sentence.repeats, sentence


def _found(sentence: JudgedSentence, node: str) -> bool | None:
    finding = sentence.findings.get(node)
    return None if finding is None else finding.value


def _not(value: bool | None) -> bool | None:
    return None if value is None else not value


def needs_citation(sentence: JudgedSentence) -> bool | None:
    """Return whether sentence precision counts a sentence: it has citations or needs them.

    A sentence without citations needs them unless it is a negative statement, needs none, or
    repeats a statement cited before; None if that is open.
    """
    if sentence.citations:
        return True
    negative, said_before = _found(sentence, "negative"), _found(sentence, "said_before")
    needed = _found(sentence, "needs_citation")
    return all_of((_not(negative), needed, _not(said_before)))


def sentence_precision(report: JudgedReport) -> Measured:
    """Return the share of sentences that each of their citations attests.

    The base is the sentences that have citations or need them (`needs_citation`); those without
    citations are not attested. Neutral and negative sentences without citations are left out, as in
    Auto-ARGUE, whose score files divide by `sentences_with_citations_or_requiring_citations`.
    """
    return _precision(_by_group(report))


def _precision(sentences: Iterable[tuple[int, JudgedSentence]]) -> Measured:
    counted = [(group, s, needs_citation(s)) for group, s in sentences]
    return _share_once(
        (group, sentence.attested if needed else None)
        for group, sentence, needed in counted
        if needed is not False
    )


def sentence_precision_own(report: JudgedReport) -> Measured:
    """Return the sentence precision of sentences that do not quote a document; see `quoted`."""
    return _precision(pair for pair in _by_group(report) if not pair[1].quoted)


def sentence_precision_all(report: JudgedReport) -> Measured:
    """Return the share of all sentences that have citations and are attested by all of them."""
    return _share_once((group, sentence.attested) for group, sentence in _by_group(report))


def citation_precision(report: JudgedReport) -> Measured:
    """Return the share of citations, once per document and sentence, that attest the sentence."""
    return _share_once(
        ((group, citation.doc_id), citation.attests.value)
        for group, sentence in _by_group(report)
        for citation in sentence.citations
    )


def citation_relevance(report: JudgedReport) -> Measured:
    """Return the share of citations whose document is relevant: it attests a nugget's answer.

    The sentence need not contain that answer.
    """
    return _share_once(
        ((group, citation.doc_id), citation.relevant.value)
        for group, sentence in _by_group(report)
        for citation in sentence.citations
    )


def citation_recall(report: JudgedReport) -> Measured:
    """Return the share of the bank's relevant documents that the report cites.

    Documents that attest an answer of the bank are relevant. This is not the citation recall of
    ALCE, which is a share of sentences.
    """
    cited = _cited(report)
    return share(doc_id in cited for doc_id in dict.fromkeys(report.relevant))


def negatives_confirmed(report: JudgedReport) -> Measured:
    """Return the share of negative statements without citations that a nugget confirms.

    A nugget without answers confirms that the collection has none. Sentences that may be negative
    also count as asked.
    """
    return _share_once(
        (group, _found(sentence, "unanswerable") if negative else None)
        for group, sentence in _by_group(report)
        if not sentence.citations and (negative := _found(sentence, "negative")) is not False
    )


# Rewards and penalties ----------------------------------------------------------------------------


def reward(report: JudgedReport) -> Measured:
    """Return the sum of the rewards; None if a step is unscored, as it could add to it."""
    return _summed(report, lambda weight: max(weight, 0.0))


def penalty(report: JudgedReport) -> Measured:
    """Return the sum of the penalties, at most 0; None if a step is unscored."""
    return _summed(report, lambda weight: min(weight, 0.0))


def net_reward(report: JudgedReport) -> Measured:
    """Return the sum of rewards and penalties; None if a step is unscored."""
    return _summed(report, lambda weight: weight)


def reward_per_step(report: JudgedReport) -> Measured:
    """Return the mean of the scored steps' rewards and penalties, even if some are unscored."""
    weights = _weights(report)
    scored = [weight for weight in weights if weight is not None]
    mean = math.fsum(scored) / len(scored) if scored else None
    return Measured(mean, len(scored), len(weights))


def _weights(report: JudgedReport) -> list[float | None]:
    """Return the weights of all steps; repetitions get a reward for the same content once."""
    rewarded: set[tuple[int, tuple[str, ...], str]] = set()
    weights = []
    for group, sentence in _by_group(report):
        for step in sentence.steps:
            reward = (group, step.path[-1:], step.about)
            if step.outcome != "reward" or reward not in rewarded:
                weights.append(step.weight)
            if step.outcome == "reward":
                rewarded.add(reward)
    return weights


def _summed(report: JudgedReport, part: Callable[[float], float]) -> Measured:
    weights = _weights(report)
    scored = [weight for weight in weights if weight is not None]
    total = math.fsum(map(part, scored)) if len(scored) == len(weights) else None
    return Measured(total, len(scored), len(weights))


# Lengths and counts -------------------------------------------------------------------------------


def _cited(report: JudgedReport) -> set[str]:
    return {citation.doc_id for sentence in report.sentences for citation in sentence.citations}


def _count(count: int) -> Measured:
    return Measured(float(count), 1, 1)


def sentences(report: JudgedReport) -> Measured:
    """Return the number of sentences."""
    return _count(len(report.sentences))


def words(report: JudgedReport) -> Measured:
    """Return the number of words separated by white space, after NFKC, as in TREC RAG."""
    return _length(report, lambda text: len(text.split()))


def characters(report: JudgedReport) -> Measured:
    """Return the number of characters of the sentences, after NFKC, as in RAGTIME."""
    return _length(report, len)


def _length(report: JudgedReport, of: Callable[[str], int]) -> Measured:
    """Return the length of all sentences; None if their texts were left out (`--no-text`)."""
    if NO_TEXT in report.notes:
        return Measured(None, 0, 0)
    return _count(sum(of(normalize("NFKC", sentence.text)) for sentence in report.sentences))


def citations(report: JudgedReport) -> Measured:
    """Return the number of citations, each document once per sentence."""
    return _count(sum(len(sentence.citations) for sentence in report.sentences))


def cited_documents(report: JudgedReport) -> Measured:
    """Return the number of documents cited."""
    return _count(len(_cited(report)))
