"""Nugget banks of what the cited, relevant documents say."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pnyx.autojudge.asking import say
from pnyx.autojudge.relevance import graded
from pnyx.errors import InputError, escaped, shorten

if TYPE_CHECKING:
    from pnyx.autojudge.asking import Answerer
    from pnyx.autojudge.material import Material
    from pnyx.drafts.nuggets.creating import DraftedBank, NuggetSource
    from pnyx.records import NuggetBank

__all__ = ["created"]


def created(material: Material, answerer: Answerer, most: int) -> list[NuggetBank]:
    """Return a bank for each topic, by topic; empty where no cited document is relevant.

    A language model makes questions with answers; without one, sentences are quoted as claims.

    Raises:
        InputError: no cited document has a text.
    """
    sources = _sources(material, answerer)
    if not any(source.documents for source in sources):
        raise InputError(
            "nuggets: no cited document with a text is relevant; the option --corpus names the "
            "documents, --nugget-banks banks that are there, --no-create-nuggets goes on without"
        )
    drafted = _drafted(sources, answerer, most)
    for one in drafted:
        for problem in one.problems:
            say(f"nuggets of {escaped(one.bank.topic_id, 40)}: {shorten(problem, 120)}")
    count = sum(len(one.bank.nuggets) for one in drafted)
    say(f"{count} nuggets are created for {len(drafted)} topics")
    return [one.bank for one in drafted]


def _sources(material: Material, answerer: Answerer) -> list[NuggetSource]:
    from pnyx.drafts.nuggets.creating import NuggetSource

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


def _drafted(sources: list[NuggetSource], answerer: Answerer, most: int) -> list[DraftedBank]:
    from pnyx.app.judge_specs import JudgeSpec
    from pnyx.app.open_models import open_model
    from pnyx.drafts.nuggets.creating import create_banks
    from pnyx.drafts.nuggets.extracting import extract_banks

    spec = answerer.spec(JudgeSpec)
    with open_model(spec, say, spec) as model:
        if model is None:
            return extract_banks(sources, most=most)
        return create_banks(sources, model, most=most)
