"""Trials that worsen items step by step: a judge's score must fall (ConQRet, 6.2 to 6.4)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from pnyx.audit.trials.contradictions import Edit, contradict_text, names_in
from pnyx.audit.trials.trial_items import (
    Poser,
    Stress,
    documents_of,
    label_of,
    rotated_texts,
    spread,
    text_of,
    topic_of,
)
from pnyx.core.errors import InputError
from pnyx.judging.questions import JudgeQuestion, Preference, Ranking, Rating, Support

Made = Mapping[str, str]
"""Sentence -> its contradiction by a language model."""


def pose_noise(items: Sequence[JudgeQuestion], stress: Stress, _: Made | None = None) -> Poser:
    """Replace shares of each topic's texts, or of each item's documents, by other topics'."""
    _refuse(items, "noise", Preference, "which of two is better need not change with documents")
    noisy = _Noise(items, stress)
    poser = Poser(items)
    for level in sorted(set(stress.levels)):
        for index in range(len(items)):
            changed, out = noisy.at(index, level)
            poser.put(index, (level,), changed, replaced=out)
    poser.facts["labelled"] = sum(label_of(item) is not None for item in items)
    return poser


def pose_hallucination(
    items: Sequence[JudgeQuestion], stress: Stress, edits: Made | None = None
) -> Poser:
    """Contradict sentences of a statement that must follow, or of an argument with its documents.

    Of two arguments, the second becomes the first with that many sentences contradicted.
    """
    _check_contradicting(items, "hallucination")
    poser = Poser(items)
    lying = _Lying(items, stress, edits)
    for index, item in enumerate(items):
        if why := lying.why_not(index):
            poser.left_out[why] += 1
            continue
        for count in sorted(set(stress.sentences)):
            edit = lying.at(index, count)
            if len(edit.how) == count:
                poser.put(index, (count,), _with_text(item, edit.text), edits=list(edit.how))
    _check_reached(poser, {cell[0] for cell in poser.cells}, "hallucination")
    poser.facts["edits"] = lying.tally()
    return poser


def pose_joint(items: Sequence[JudgeQuestion], stress: Stress, edits: Made | None = None) -> Poser:
    """Combine each level of noise with each count of contradicted sentences (Figure 4)."""
    _check_contradicting(items, "joint")
    _refuse(items, "joint", Preference, "which of two is better need not change with documents")
    poser = Poser(items)
    noisy, lying = _Noise(items, stress), _Lying(items, stress, edits)
    for index in range(len(items)):
        if why := lying.why_not(index):
            poser.left_out[why] += 1
            continue
        for level in sorted(set(stress.levels)):
            changed, replaced = noisy.at(index, level)
            for count in sorted(set(stress.sentences)):
                edit = lying.at(index, count)
                if len(edit.how) == count:
                    carried = {"replaced": replaced, "edits": list(edit.how)}
                    question = _with_text(changed, edit.text)
                    poser.put(index, (level, count), question, **carried)
    _check_reached(poser, {cell[1] for cell in poser.cells}, "joint")
    poser.facts["edits"] = lying.tally()
    return poser


class _Noise:
    """Items with shares of their documents replaced."""

    def __init__(self, items: Sequence[JudgeQuestion], stress: Stress) -> None:
        bare = sum(not documents_of(item) for item in items)
        if bare:
            raise InputError(f"noise: {bare} of {len(items)} items have no documents to replace")
        self._items, self._others = items, rotated_texts(items, stress.seed)
        if isinstance(items[0], Support):  # one text each: a share of the texts of a topic
            topics: dict[str, list[int]] = {}
            for index, item in enumerate(items):
                topics.setdefault(topic_of(item), []).append(index)
            shares = spread(map(len, topics.values()), stress.seed)
            at = {
                index: share
                for places, item_shares in zip(topics.values(), shares, strict=True)
                for index, share in zip(places, item_shares, strict=True)
            }
            self._places = [[at[index]] for index in range(len(items))]
        else:
            self._places = spread((len(documents_of(item)) for item in items), stress.seed)

    def at(self, index: int, level: float) -> tuple[JudgeQuestion, list[int]]:
        """Return an item at a level, and which of its documents are replaced."""
        item, texts = self._items[index], documents_of(self._items[index])
        chosen = [share < level for share in self._places[index]]
        mixed = tuple(
            other if gone else text
            for text, other, gone in zip(texts, self._others[index], chosen, strict=True)
        )
        out = [number for number, is_replaced in enumerate(chosen) if is_replaced]
        if isinstance(item, Support):
            return (replace(item, text=mixed[0]) if out else item), out
        if isinstance(item, Ranking):
            return replace(item, texts=mixed), out
        return replace(item, documents=mixed), out


class _Lying:
    """Items with sentences contradicted."""

    def __init__(self, items: Sequence[JudgeQuestion], stress: Stress, edits: Made | None) -> None:
        self._items, self._made, self._seed = items, edits, stress.seed
        self._names = names_in(text_of(item) for item in items[:2000])
        self._full: dict[int, Edit] = {}

    def why_not(self, index: int) -> str:
        """Return why an item takes no part, or ""."""
        if label_of(self._items[index]) is False:
            return "labelled no"
        return "" if self.at(index, 1).how else "no sentence that can be contradicted"

    def at(self, index: int, count: int) -> Edit:
        """Return an item's text with `count` sentences contradicted, or as many as possible."""
        item = self._items[index]
        text, seed = contradictable(item), f"{self._seed}/{item.id}"
        return contradict_text(text, count, self._names, seed, self._made)

    def tally(self) -> dict[str, int]:
        """Return how many first edits were made in each way."""
        counts: dict[str, int] = {}
        for index in range(len(self._items)):
            if not self.why_not(index):
                (how,) = self.at(index, 1).how
                counts[how] = counts.get(how, 0) + 1
        return dict(sorted(counts.items()))


def contradictable(item: JudgeQuestion) -> str:
    """Return the text of an item that a contradiction makes false."""
    return item.statement if isinstance(item, Support) else text_of(item)


def _with_text(item: JudgeQuestion, text: str) -> JudgeQuestion:
    if isinstance(item, Support):
        return replace(item, statement=text)
    if isinstance(item, Preference):
        return replace(item, b=text)
    return replace(item, text=text) if isinstance(item, Rating) else item


def _check_contradicting(items: Sequence[JudgeQuestion], trial: str) -> None:
    task = items[0].task
    if isinstance(items[0], Ranking) or task in ("relevance", "stance"):
        raise InputError(
            f"{trial} does not apply to {task}: a text that says the opposite is as much about "
            "the question as before"
        )
    bare = sum(not documents_of(item) for item in items)
    if bare and not isinstance(items[0], Preference):
        raise InputError(
            f"{trial}: {bare} of {len(items)} items have no documents from which a judge could "
            "detect contradictions"
        )


def _check_reached(poser: Poser, counts: set[float | str], trial: str) -> None:
    if poser.cells and len(counts) < 2:
        raise InputError(f"{trial}: no item has as many sentences that can be contradicted")


def _refuse(items: Sequence[JudgeQuestion], trial: str, kind: type, why: str) -> None:
    if isinstance(items[0], kind):
        raise InputError(f"{trial} does not apply to {items[0].task}: {why}")
