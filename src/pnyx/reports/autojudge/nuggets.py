"""Nugget banks from the cited, relevant documents."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from pnyx.core.errors import escaped, shorten
from pnyx.reports.autojudge.answerer import say
from pnyx.reports.autojudge.relevance import graded

if TYPE_CHECKING:
    from pnyx.core.nuggets import NuggetBank
    from pnyx.reports.autojudge.answerer import Answerer
    from pnyx.reports.autojudge.material import Material
    from pnyx.reports.autojudge.settings import Settings
    from pnyx.reports.nuggets.model_banks import DraftedBank, NuggetSource


def created(material: Material, answerer: Answerer, chosen: Settings) -> list[NuggetBank]:
    """Return a bank for each topic with nuggets, by topic; other topics are named on stderr."""
    drafted = _drafted(_sources(material, answerer), answerer, chosen)
    for draft in drafted:
        topic = escaped(draft.bank.topic_id, 40)
        if draft.failed:
            say(f"nuggets of {topic}: {draft.failed} of {draft.calls} replies could not be read")
        for problem in draft.problems:
            say(f"nuggets of {topic}: {shorten(problem, 120)}")
    banks = [draft.bank for draft in drafted if draft.bank.nuggets]
    count = sum(len(bank.nuggets) for bank in banks)
    say(f"created {count} nuggets for {len(banks)} of {len(drafted)} topics")
    return banks


def _sources(material: Material, answerer: Answerer) -> list[NuggetSource]:
    from pnyx.reports.nuggets.model_banks import NuggetSource

    relevant = {
        (pair.topic_id, pair.doc_id) for pair in graded(material, answerer, ()) if pair.grade
    }
    return [
        NuggetSource(
            material.questions[topic],
            tuple(
                document
                for doc_id, document in material.cited(topic).items()
                if document is not None and (topic, doc_id) in relevant
            ),
        )
        for topic in sorted(material.questions)
    ]


def _drafted(
    sources: list[NuggetSource], answerer: Answerer, chosen: Settings
) -> list[DraftedBank]:
    from pnyx.judging.open_models import open_model
    from pnyx.judging.options import JudgeSpec
    from pnyx.reports.nuggets.claims import extract_banks, hidden_claims, without_quotations
    from pnyx.reports.nuggets.model_banks import create_banks

    hides, most = chosen.no_text and not chosen.allow_text_in_banks, chosen.most_nuggets
    spec = answerer.spec(JudgeSpec)
    with open_model(spec, say, spec) as model:
        if model is None:
            drafts = extract_banks(sources, most=most)
            return [replace(d, bank=hidden_claims(d.bank)) for d in drafts] if hides else drafts
        drafts = create_banks(sources, model, most=most)
    if not hides:
        return drafts
    return [without_quotations(d, s.documents) for d, s in zip(drafts, sources, strict=True)]
