"""Nugget banks of what the cited, relevant documents say."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from pnyx.autojudge.asking import say
from pnyx.autojudge.relevance import graded
from pnyx.errors import escaped, shorten

if TYPE_CHECKING:
    from pnyx.autojudge.asking import Answerer
    from pnyx.autojudge.material import Material
    from pnyx.autojudge.settings import Settings
    from pnyx.drafts.creating import DraftedBank, NuggetSource
    from pnyx.records import NuggetBank


def created(material: Material, answerer: Answerer, chosen: Settings) -> list[NuggetBank]:
    """Return a bank for each topic with nuggets, by topic; the others are named on stderr."""
    drafted = _drafted(_sources(material, answerer), answerer, chosen)
    for one in drafted:
        topic = escaped(one.bank.topic_id, 40)
        if one.failed:
            say(f"nuggets of {topic}: {one.failed} of {one.asked} replies could not be read")
        for problem in one.problems:
            say(f"nuggets of {topic}: {shorten(problem, 120)}")
    banks = [one.bank for one in drafted if one.bank.nuggets]
    count = sum(len(bank.nuggets) for bank in banks)
    say(f"{count} nuggets are created for {len(banks)} of {len(drafted)} topics")
    return banks


def _sources(material: Material, answerer: Answerer) -> list[NuggetSource]:
    from pnyx.drafts.creating import NuggetSource

    relevant = {(one.topic_id, one.doc_id) for one in graded(material, answerer, ()) if one.grade}
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
    from pnyx.app.judge_specs import JudgeSpec
    from pnyx.app.open_models import open_model
    from pnyx.drafts.creating import create_banks
    from pnyx.drafts.extracting import extract_banks, hidden_claims, without_quotations

    hides, most = chosen.no_text and not chosen.allow_text_in_banks, chosen.most_nuggets
    spec = answerer.spec(JudgeSpec)
    with open_model(spec, say, spec) as model:
        if model is None:
            found = extract_banks(sources, most=most)
            return [replace(d, bank=hidden_claims(d.bank)) for d in found] if hides else found
        found = create_banks(sources, model, most=most)
    if not hides:
        return found
    return [without_quotations(d, s.documents) for d, s in zip(found, sources, strict=True)]
