"""Pairs of arguments, one of them written by the judge, to test if it prefers its own texts."""

from __future__ import annotations

import re
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pnyx.audit.trials.model_edits import shortened, text_reply
from pnyx.formats.text.segment import word_weight
from pnyx.judging.llm.concurrent import Progress, each
from pnyx.judging.llm.prompts import load_prompt
from pnyx.judging.llm.structured_replies import ask_structured
from pnyx.judging.questions import Rating
from pnyx.judging.store.completions import StoredModel

_CITES = re.compile(r"\[\d+\]")
_DOCUMENTS = 20


@dataclass(frozen=True, slots=True)
class WrittenPairs:
    """Preference items, each of an argument by the model and the item's own.

    Attributes:
        rows: items as JSON; `a_by` and `b_by` say who wrote which.
        problems: why the model wrote nothing for some items, a line each.
        left_out: why no argument was requested for others -> how many.
    """

    rows: Sequence[Mapping[str, Any]]
    problems: Sequence[str]
    left_out: Mapping[str, int]


def write_pairs(
    items: Sequence[Rating], model: StoredModel, on_done: Progress | None = None
) -> WrittenPairs:
    """Let a model argue each item's question from its documents, at about the item's length.

    Args:
        items: of the task rag, with an argument; the first 20 documents are shown.
        model: its stored replies are used again instead of asking twice.
        on_done: called with each item that is done.

    Raises:
        ModelError: the model cannot be reached.
    """
    there = [item for item in items if item.text.strip()]
    argued = [item for item in there if item.extra.get("by") != model.name]
    left_out = {
        "no argument": len(items) - len(there),
        "an argument by the judge": len(there) - len(argued),
    }
    problems: list[str] = []

    async def work(item: Rating) -> str:
        request = load_prompt("answer").request({
            "question": item.question,
            "side": item.stance,
            "documents": [shortened(text) for text in item.documents[:_DOCUMENTS]],
            "words": str(word_weight(item.text)),
            "cited": "yes" if _CITES.search(item.text) else "",
        })  # fmt: skip
        reply, faults = await ask_structured(model, request, text_reply())
        text = "" if reply is None else str(reply.text).strip()
        if not text:
            problems.append(f"{item.id}: {faults[-1] if faults else 'the text is empty'}")
        return text

    texts = each(argued, work, model, on_done, "writing")
    pairs = zip(argued, texts, strict=True)
    rows = [_row(item, text, model.name) for item, text in pairs if text]
    return WrittenPairs(rows, problems, {why: n for why, n in left_out.items() if n})


def _row(item: Rating, argument: str, name: str) -> dict[str, Any]:
    """Return a pair with the judge's text in first or second position."""
    by = str(item.extra.get("by") or "other")
    sides = {"a": (argument, name), "b": (item.text, by)}
    if zlib.crc32(item.id.encode()) % 2:  # by id only, so that labels stay valid for a longer list
        sides = {"a": sides["b"], "b": sides["a"]}
    return {
        "id": item.id,
        "question": item.question,
        **{side: text for side, (text, _) in sides.items()},
        "documents": list(item.documents),
        "group": item.group,
        **{f"{side}_by": who for side, (_, who) in sides.items()},
    }
