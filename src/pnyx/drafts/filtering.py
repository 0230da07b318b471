"""Which drafts are fit for a benchmark: nothing is dropped without its reason.

Perspectives must differ and take both sides; questions must not be about the asked person's own
life, which a language model tells (BERDS, section 4.1, Table 12), nor be asked already.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from pnyx.corpora.benchmarks.drafts import words_of
from pnyx.drafts.drafting import Progress, each
from pnyx.drafts.replies import personal_reply
from pnyx.errors import shorten
from pnyx.judge.llm.prompting import load_prompt
from pnyx.judge.llm.reading import ask_structured
from pnyx.judge.store.completions import StoredModel
from pnyx.records import SIDES

SIMILAR = 0.9
"""Cosine of the packaged encoder from which two questions are reported as alike. Of the six pairs
of BERDS development questions from there on, two ask different things, so they are not dropped
unasked."""

Embed: TypeAlias = Callable[[Sequence[str]], npt.NDArray[np.float32]]
_MAX_QUESTION = 2000


@dataclass(frozen=True, slots=True)
class Dropped:
    """A draft dropped for `sides`, `personal`, `repeated`, `similar` or `undecided`."""

    row: Mapping[str, Any]
    reason: str
    detail: str

    def written(self) -> dict[str, Any]:
        """Return the draft with the reason, for a file."""
        return {**self.row, "dropped": {"reason": self.reason, "detail": self.detail}}


@dataclass(frozen=True, slots=True)
class Similar:
    """Two questions that are alike: `id` of the later, `of` of the one before it."""

    id: str
    of: str
    cosine: float


@dataclass(frozen=True, slots=True)
class Filtered:
    """What is kept, and what is dropped, in order.

    `similar` are questions at or above the threshold, kept or not; `nearest` the two most alike
    below it, None where fewer than two were compared.
    """

    kept: tuple[Mapping[str, Any], ...]
    dropped: tuple[Dropped, ...]
    similar: tuple[Similar, ...]
    nearest: Similar | None

    @property
    def counts(self) -> dict[str, int]:
        """How many were dropped, by reason."""
        return dict(Counter(one.reason for one in self.dropped))


def filter_drafts(
    drafts: Sequence[Mapping[str, Any]],
    model: StoredModel | None = None,
    *,
    similar: float = SIMILAR,
    drop_similar: bool = False,
    embed: Embed | None = None,
    on_done: Progress | None = None,
) -> Filtered:
    """Check drafts, or questions that are still to be drafted (rows without `perspectives`).

    A question is compared with those that are kept before it.

    Args:
        drafts: rows with `id` and `question`.
        model: tells questions about the asked person's own life; None leaves that check out.
        similar: cosine of two questions from which they are alike, in (0, 1].
        drop_similar: drop such a question, not only one in the same words, which always is.
        embed: makes unit vectors of questions, [n, d]; the packaged encoder by default.
        on_done: told of each question that the model has been asked about.

    Raises:
        ModelError: the model cannot be asked at all.
    """
    rows = [{k: v for k, v in row.items() if k not in ("dropped", "similar")} for row in drafts]
    faults: dict[int, tuple[str, str]] = {}
    for place, row in enumerate(rows):
        if detail := _side_fault(row):
            faults[place] = "sides", detail
    if model is not None:
        left = [place for place in range(len(rows)) if place not in faults]
        found = _personal([rows[place] for place in left], model, on_done)
        faults |= {left[n]: fault for n, fault in found.items()}
    left = [place for place in range(len(rows)) if place not in faults]
    alike, nearest = _alike([rows[place] for place in left], similar, embed, drop_similar)
    for n, (reason, one) in alike.items():
        place = left[n]
        told = {"id": one.of, "cosine": round(one.cosine, 3)}
        if reason == "repeated" or drop_similar:
            faults[place] = reason, f"asked already by {one.of} (cosine {one.cosine:.3f})"
        else:
            rows[place] = {**rows[place], "similar": told}
    return Filtered(
        kept=tuple(row for place, row in enumerate(rows) if place not in faults),
        dropped=tuple(Dropped(rows[place], *faults[place]) for place in sorted(faults)),
        similar=tuple(one for _, one in alike.values()),
        nearest=nearest,
    )


def _side_fault(row: Mapping[str, Any]) -> str:
    """Return why a draft lacks two different perspectives on both sides, if it has any at all."""
    if "perspectives" not in row:
        return ""
    seen: set[tuple[str, ...]] = set()
    for view in row["perspectives"]:
        words = words_of(view["text"])
        if words in seen:
            return f"two perspectives say the same words: {shorten(view['text'], 100)!r}"
        seen.add(words)
    if len(seen) < 2:
        return f"found {len(seen)} perspective, expected two"
    sides = {view.get("stance") for view in row["perspectives"]}.intersection(SIDES)
    if len(sides) == 1:
        return f"no perspective is {'con' if 'pro' in sides else 'pro'}"
    return ""


def _personal(
    rows: Sequence[Mapping[str, Any]], model: StoredModel, on_done: Progress | None
) -> dict[int, tuple[str, str]]:
    """Return the places of questions about the asked person, or that nobody could decide on."""

    async def fault(row: Mapping[str, Any]) -> tuple[str, str] | None:
        request = load_prompt("personal").request({"question": _asked(row)})
        reply, problems = await ask_structured(model, request, personal_reply())
        if reply is None:
            return "undecided", problems[-1]
        return ("personal", shorten(reply.reason.strip(), 300)) if reply.personal == "yes" else None

    found = each(rows, fault, model, on_done, "filtering")
    return {place: told for place, told in enumerate(found) if told is not None}


def _asked(row: Mapping[str, Any]) -> str:
    """Return what a person was asked: of a draft from a survey, the survey's own question."""
    source = row.get("drafted_from")
    own = source.get("question") if isinstance(source, Mapping) else None
    return str(own or row["question"])[:_MAX_QUESTION]


def _alike(
    rows: Sequence[Mapping[str, Any]], threshold: float, embed: Embed | None, drop: bool
) -> tuple[dict[int, tuple[str, Similar]], Similar | None]:
    """Return place -> how a question is like an earlier one that stays; and the nearest others."""
    if len(rows) < 2:
        return {}, None
    if embed is None:
        from pnyx.models.embed.encoder import load_encoder

        embed = load_encoder().encode
    vectors = embed([str(row["question"]) for row in rows])
    found: dict[int, tuple[str, Similar]] = {}
    nearest: Similar | None = None
    words: dict[tuple[str, ...], int] = {}
    stay = np.zeros(len(rows), dtype=np.bool_)
    for place, row in enumerate(rows):
        cosines = np.where(stay[:place], vectors[:place] @ vectors[place], -2.0)
        before = words.setdefault(words_of(str(row["question"])), place)
        if before < place:
            cosine = min(float(vectors[before] @ vectors[place]), 1.0)
            found[place] = "repeated", Similar(row["id"], rows[before]["id"], cosine)
            continue
        if place and cosines.max() >= -1.0:
            best = int(cosines.argmax())
            one = Similar(row["id"], rows[best]["id"], min(float(cosines[best]), 1.0))
            if one.cosine >= threshold:
                found[place] = "similar", one
            elif nearest is None or one.cosine > nearest.cosine:
                nearest = one
        stay[place] = not (drop and place in found)
    return found, nearest
