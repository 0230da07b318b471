"""The judgment tree: from what was found out of a sentence to its rewards and penalties."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from pnyx.judge.reports.plan import Weights
from pnyx.judge.reports.records import Finding, JudgedCitation, Step, any_of
from pnyx.records import Node


def said(node: Node, value: bool | None) -> str:
    """Return a node that was passed, as a path shows it."""
    return f"{node}={'unscored' if value is None else 'yes' if value else 'no'}"


def credited(citations: Sequence[JudgedCitation]) -> bool | None:
    """Return whether a relevant citation attests the sentence; False without citations."""
    return any_of(_both(one.relevant.value, one.attests.value) for one in citations)


def _both(one: bool | None, other: bool | None) -> bool | None:
    return False if False in (one, other) else None if None in (one, other) else True


def citation_steps(citations: Sequence[JudgedCitation], weights: Weights) -> Iterator[Step]:
    """Yield the way of each citation: is the document relevant, does it attest the sentence?"""
    for one in citations:
        relevant, attests = one.relevant.value, one.attests.value
        path: tuple[str, ...] = (said("relevant", relevant),)
        if relevant is False:
            yield Step(path, "penalty", weights.irrelevant, one.doc_id)
            continue
        path = (*path, said("attests", attests))
        if relevant and attests is not None:
            if attests:
                yield Step(path, "reward", weights.attested, one.doc_id)
            else:
                yield Step(path, "penalty", weights.unattested, one.doc_id)
        elif attests is False and weights.irrelevant == weights.unattested:
            yield Step(path, "penalty", weights.unattested, one.doc_id)  # the same either way
        else:
            yield Step(path, "unscored", None, one.doc_id)


def uncited_steps(findings: Mapping[str, Finding], weights: Weights) -> Iterator[Step]:
    """Yield the way of a sentence without citations; the nodes that were passed are there."""
    path: tuple[str, ...] = ()
    order: tuple[Node, ...] = ("negative", "unanswerable", "needs_citation", "said_before")
    value: bool | None = None
    last: Node = "negative"
    for node in order:
        if node in findings:
            last, value = node, findings[node].value
            path = (*path, said(node, value))
    if value is None:
        yield Step(path, "unscored", None)
    elif last == "unanswerable" and value:
        yield Step(path, "reward", weights.confirmed)
    elif last == "unanswerable":
        yield Step(path, "penalty", weights.unconfirmed)
    elif last == "said_before" and not value:
        yield Step(path, "penalty", weights.uncited)
    else:
        yield Step(path, "neutral", 0.0)
