"""Questions about a text on a contentious question: does it help, and which side does it take?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from pnyx.core.records import SIDES, Side
from pnyx.judging.questions import Preference, Support
from pnyx.judging.statements import statements


def ask_relevance(
    item_id: str,
    question: str,
    document: str,
    *,
    definition: str = "",
    stance: Side | None = None,
    group: str = "",
    extra: Mapping[str, Any] | None = None,
) -> Support:
    """Ask whether a document helps to answer `question`, or to argue one side (`stance`) of it."""
    return Support(
        id=item_id,
        text=document,
        statement=question if stance is None else statements(question)[SIDES.index(stance)],
        task="relevance",
        question=question,
        guideline=definition,
        group=group,
        extra=extra or {},
    )


def ask_stance(
    item_id: str,
    question: str,
    text: str,
    side: Side,
    *,
    guideline: str = "",
    group: str = "",
    extra: Mapping[str, Any] | None = None,
    claims: tuple[str, str] | None = None,
) -> Support:
    """Ask whether a text argues for one side; `claims` replaces its two statements."""
    relevance = ask_relevance(
        item_id, question, text, definition=guideline, stance=side, group=group, extra=extra
    )
    if claims is None:
        return replace(relevance, task="stance")
    claim, opposite = claims if side == SIDES[0] else claims[::-1]
    return replace(relevance, task="stance", statement=claim, opposite=opposite)


def ask_claims(
    item_id: str,
    question: str,
    text: str,
    *,
    definition: str = "",
    group: str = "",
    extra: Mapping[str, Any] | None = None,
    claims: tuple[str, str] | None = None,
) -> Preference:
    """Ask which side a text argues for, pro's statement (`a`) or con's; `claims` replaces both."""
    pro, con = claims or statements(question)
    return Preference(
        id=item_id,
        a=pro,
        b=con,
        question=question,
        task="sides",
        criterion=definition,
        documents=(text,),
        group=group,
        extra=extra or {},
    )
