"""Select drafts suitable for a benchmark; every dropped draft has a reason.

Perspectives must differ and take both sides; questions must not be about the respondent's own
life, as decided by a language model (BERDS, section 4.1, Table 12), nor repeat an earlier one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from pnyx.core.errors import shorten
from pnyx.core.records import SIDES
from pnyx.formats.text.words import words_of
from pnyx.judging.llm.concurrent import Progress, each
from pnyx.judging.llm.prompts import load_prompt
from pnyx.judging.llm.structured_replies import ask_structured
from pnyx.judging.store.completions import StoredModel
from pnyx_build.drafts.replies import PersonalReply

SIMILAR = 0.9
"""Cosine of the packaged encoder from which two questions are reported as similar.

Of the six pairs of BERDS development questions above it, two ask different things, so pairs are not
dropped by default.
"""

_MAX_QUESTION = 2000


class Similar(NamedTuple):
    """Two similar questions: `id` of the later, `of` of the earlier one."""

    id: str
    of: str
    cosine: float


@dataclass(frozen=True, slots=True)
class Filtered:
    """The remaining and the dropped drafts, in order.

    A dropped draft has `dropped`: the `reason` (`sides`, `personal`, `repeated`, `similar`,
    `undecided`) and the `detail`. `similar` are questions at or above the threshold, kept or not;
    `nearest` the two most alike below it, None if fewer than two were compared.
    """

    remaining: tuple[Mapping[str, Any], ...]
    dropped: tuple[Mapping[str, Any], ...]
    similar: tuple[Similar, ...]
    nearest: Similar | None

    @property
    def counts(self) -> dict[str, int]:
        """How many were dropped, by reason."""
        return dict(Counter(draft["dropped"]["reason"] for draft in self.dropped))


def filter_drafts(
    drafts: Sequence[Mapping[str, Any]],
    model: StoredModel | None = None,
    *,
    similar: float = SIMILAR,
    drop_similar: bool = False,
    on_done: Progress | None = None,
) -> Filtered:
    """Check drafts, or questions that are still to be drafted (rows without `perspectives`).

    A question is compared with those that are kept before it.

    Args:
        drafts: rows with `id` and `question`.
        model: detects questions about the respondent's own life; None skips that check.
        similar: cosine from which two questions count as similar, in (0, 1].
        drop_similar: drop such a question; one in the same words is always dropped.
        on_done: called for each question that the model has been asked about.

    Raises:
        ModelError: the model cannot be asked at all.
    """
    rows = [{k: v for k, v in row.items() if k not in ("dropped", "similar")} for row in drafts]
    faults: dict[int, tuple[str, str]] = {}
    for number, row in enumerate(rows):
        if detail := _side_fault(row):
            faults[number] = "sides", detail
    if model is not None:
        left = [number for number in range(len(rows)) if number not in faults]
        personal = _personal([rows[number] for number in left], model, on_done)
        faults |= {n: fault for n, fault in zip(left, personal, strict=True) if fault is not None}
    left = [number for number in range(len(rows)) if number not in faults]
    alike, nearest = _alike([rows[number] for number in left], similar, drop_similar)
    for n, (reason, pair) in alike.items():
        number = left[n]
        if reason == "repeated" or drop_similar:
            faults[number] = reason, f"repeats {pair.of} (cosine {pair.cosine:.3f})"
        else:
            earlier = {"id": pair.of, "cosine": round(pair.cosine, 3)}
            rows[number] = {**rows[number], "similar": earlier}
    keys = ("reason", "detail")
    return Filtered(
        remaining=tuple(row for number, row in enumerate(rows) if number not in faults),
        dropped=tuple(
            {**rows[number], "dropped": dict(zip(keys, faults[number], strict=True))}
            for number in sorted(faults)
        ),
        similar=tuple(pair for _, pair in alike.values()),
        nearest=nearest,
    )


def _side_fault(row: Mapping[str, Any]) -> str:
    """Return why a draft does not have different perspectives on both sides, if it has any."""
    if "perspectives" not in row:
        return ""
    seen: set[tuple[str, ...]] = set()
    for view in row["perspectives"]:
        words = words_of(view["text"])
        if words in seen:
            return f"two perspectives have the same words: {shorten(view['text'], 100)!r}"
        seen.add(words)
    if len(seen) < 2:
        return f"found {len(seen)} perspective, expected two"
    sides = {view.get("stance") for view in row["perspectives"]}.intersection(SIDES)
    if len(sides) == 1:
        return f"no perspective is {'con' if 'pro' in sides else 'pro'}"
    return ""


def _personal(
    rows: Sequence[Mapping[str, Any]], model: StoredModel, on_done: Progress | None
) -> list[tuple[str, str] | None]:
    """Return the fault of each question that is personal or undecided."""

    async def fault(row: Mapping[str, Any]) -> tuple[str, str] | None:
        # A draft from a survey is judged by what a person was asked.
        source = row.get("drafted_from")
        surveyed = source.get("question") if isinstance(source, Mapping) else None
        question = str(surveyed or row["question"])[:_MAX_QUESTION]
        request = load_prompt("personal").request({"question": question})
        reply, problems = await ask_structured(model, request, PersonalReply)
        if reply is None:
            return "undecided", problems[-1]
        return ("personal", shorten(reply.reason.strip(), 300)) if reply.personal == "yes" else None

    return each(rows, fault, model, on_done, "filtering")


def _alike(
    rows: Sequence[Mapping[str, Any]], threshold: float, drop: bool
) -> tuple[dict[int, tuple[str, Similar]], Similar | None]:
    """Return the similarity of each question to an earlier kept one, and the nearest others."""
    if len(rows) < 2:
        return {}, None
    from pnyx.models.embed.encoder import load_encoder

    vectors = load_encoder().encode([str(row["question"]) for row in rows])
    alike: dict[int, tuple[str, Similar]] = {}
    nearest: Similar | None = None
    words: dict[tuple[str, ...], int] = {}
    stay = np.zeros(len(rows), dtype=np.bool_)
    for number, row in enumerate(rows):
        cosines = np.where(stay[:number], vectors[:number] @ vectors[number], -2.0)
        before = words.setdefault(words_of(str(row["question"])), number)
        if before < number:
            cosine = min(float(vectors[before] @ vectors[number]), 1.0)
            alike[number] = "repeated", Similar(row["id"], rows[before]["id"], cosine)
            continue
        if number and cosines.max() >= -1.0:
            best = int(cosines.argmax())
            pair = Similar(row["id"], rows[best]["id"], min(float(cosines[best]), 1.0))
            if pair.cosine >= threshold:
                alike[number] = "similar", pair
            elif nearest is None or pair.cosine > nearest.cosine:
                nearest = pair
        stay[number] = not (drop and number in alike)
    return alike, nearest
