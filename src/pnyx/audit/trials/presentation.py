"""Trials that change who asks, who wrote a text, or its format: a verdict must stay the same."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from pnyx.audit.trials.answer_values import PREFERRED
from pnyx.audit.trials.harmless_changes import CLEAN, Made, marked_text, touched, with_touched
from pnyx.audit.trials.patterns import CONTROL, lengthened, patterns
from pnyx.audit.trials.trial_items import Poser, Stress
from pnyx.core.errors import InputError
from pnyx.core.records import SIDES
from pnyx.formats.text.segment import split_sentences, word_weight
from pnyx.judging.questions import AGAIN, TURNED, JudgeQuestion, Preference, Rating, Support
from pnyx.judging.statements import statements

OWN, OTHER = "by the judge", CONTROL
_TOLD_BY_GUIDELINE = ("support", "nugget", "relevance", "stance")
"""Yes-no tasks whose packaged prompts show a guideline."""
_LONGER = 1.05
"""Minimum length ratio of a wordy version; shorter ones are left out."""


def pose_repeat(items: Sequence[JudgeQuestion], stress: Stress, _: Made | None = None) -> Poser:
    """Ask the same question again, in the same words, without using stored replies."""
    poser = Poser(items)
    for index, item in enumerate(items):
        poser.put(index, CLEAN, item)
        for number in range(1, stress.repeats + 1):
            poser.put(index, ("again", number), item, **{AGAIN: number})
    return poser


def pose_stance(items: Sequence[JudgeQuestion], _: Stress, __: Made | None = None) -> Poser:
    """Ask about the other side of the same question: no text argues for both."""
    poser = Poser(items)
    for index, item in enumerate(items):
        side = item.extra.get("stance")
        if not isinstance(item, Support) or not item.question or side not in SIDES:
            poser.left_out["no side (stance) of a question is asked for"] += 1
            continue
        other = SIDES[1 - SIDES.index(side)]
        statement = statements(item.question)[SIDES.index(other)]
        claim = item.opposite or statement
        opposite = item.statement if item.opposite else ""
        turned = replace(item, statement=claim, opposite=opposite)
        poser.put(index, CLEAN, item)
        poser.put(index, ("turned",), turned, stance=other)
    return poser


def pose_self(items: Sequence[JudgeQuestion], stress: Stress, _: Made | None = None) -> Poser:
    """State above a text that the judge, or another model, wrote it; or ask about such texts."""
    if stress.writer:
        return _pose_written(items, stress.writer)
    poser, notes = Poser(items), patterns()["writers"]
    for index, item in enumerate(items):
        marked = marked_text(item, stress)
        if not touched(item, marked).strip():
            poser.left_out["no text of its own"] += 1
            continue
        poser.put(index, CLEAN, item, **marked)
        for way in (OWN, OTHER):
            note = notes["own" if way == OWN else "other"].strip()
            signed = _changed(item, marked, f"{note}\n\n{touched(item, marked)}")
            poser.put(index, (way,), signed, **marked)
    return poser


def _pose_written(items: Sequence[JudgeQuestion], writer: str) -> Poser:
    """Ask which of two arguments is better, one of which was written by the judge."""
    if items[0].task != "preference":
        raise InputError(f"self: --judge-name requires preference, not {items[0].task}")
    poser = Poser(items)
    for index, item in enumerate(items):
        if [item.extra.get("a_by"), item.extra.get("b_by")].count(writer) != 1:
            poser.left_out["not one of both (a_by, b_by) by the writer"] += 1
        elif item.extra.get("label") not in PREFERRED:
            poser.left_out["no label: a, b or tie"] += 1
        else:
            by = {"a_by": item.extra["b_by"], "b_by": item.extra["a_by"]}
            label = TURNED[item.extra["label"]]
            poser.put(index, CLEAN, item)
            poser.put(index, ("swapped",), item.swapped, **by, label=label)
    return poser


def pose_format(items: Sequence[JudgeQuestion], stress: Stress, _: Made | None = None) -> Poser:
    """Format the same words as a list, with emphasis, or below a heading."""
    poser = Poser(items)
    for index, item in enumerate(items):
        marked = marked_text(item, stress)
        original = touched(item, marked)
        set_ = {way: make(original) for way, make in FORMATS.items()}
        set_ = {way: text for way, text in set_.items() if text != original}
        if not set_:
            poser.left_out["one sentence or none"] += 1
            continue
        poser.put(index, CLEAN, item, **marked)
        for way, text in set_.items():
            poser.put(index, (way,), _changed(item, marked, text), **marked)
    return poser


def pose_asker(items: Sequence[JudgeQuestion], _: Stress, __: Made | None = None) -> Poser:
    """State next to the question what the asker hopes for, in either direction, or nothing."""
    first = items[0]
    accepts_guideline = isinstance(first, Support) and first.task in _TOLD_BY_GUIDELINE
    if not (accepts_guideline or isinstance(first, Rating) or first.task == "preference"):
        raise InputError(f"asker does not apply to {first.task}: its prompt shows only the text")
    poser, askers = Poser(items), patterns()["askers"]
    for index, item in enumerate(items):
        poser.put(index, CLEAN, item)
        for target, verdict in _hopes(item).items():
            for asker in askers:
                statement = asker["says"].strip().replace("VERDICT", verdict)
                poser.put(index, (asker["name"], target), _told(item, statement))
            poser.put(index, (CONTROL, target), _told(item, patterns()["asker_control"].strip()))
    return poser


def pose_verbosity(items: Sequence[JudgeQuestion], stress: Stress, _: Made | None = None) -> Poser:
    """Say the same in more words; of two arguments, the second is the wordier first."""
    poser = Poser(items)
    for index, item in enumerate(items):
        marked = marked_text(item, stress)
        text = touched(item, marked)
        wordy = lengthened(text)
        if wordy == text or word_weight(wordy) < _LONGER * word_weight(text):
            poser.left_out["no rule says it in more words"] += 1
            continue
        if isinstance(item, Preference):
            poser.put(index, CLEAN, replace(item, b=item.a))
            poser.put(index, ("wordy",), replace(item, b=wordy))
        else:
            poser.put(index, CLEAN, item, **marked)
            changed = _changed(item, marked, wordy)
            poser.put(index, ("wordy",), changed, **marked)
    return poser


# Changes -----------------------------------------------------------------------------------------


def _changed(item: JudgeQuestion, marked: Mapping[str, int], text: str) -> JudgeQuestion:
    """Return an item with its text replaced; of two arguments, the first one."""
    if isinstance(item, Preference):
        return replace(item, a=text)
    return with_touched(item, marked, lambda _: text)


def _hopes(item: JudgeQuestion) -> dict[str, str]:
    """Return direction -> the asker's belief."""
    if isinstance(item, Support):
        return {word: f'the right answer is "{word}"' for word in ("yes", "no")}
    if isinstance(item, Preference):
        starts = {side: " ".join(getattr(item, side).split()[:6]) for side in ("a", "b")}
        return {
            side: f'the better argument is the one that begins with "{start}"'
            for side, start in starts.items()
        }
    ends = zip(("lowest", "highest"), getattr(item, "scale", ()), strict=True)
    return {name: f"the text deserves {end:g} on every dimension" for name, end in ends}


def _told(item: JudgeQuestion, statement: str) -> JudgeQuestion:
    """Return an item with a statement added where its prompt shows it with the question."""
    name = "guideline" if isinstance(item, Support) else "question"
    instructions = getattr(item, name)
    changes: dict[str, Any] = {name: f"{instructions}\n{statement}" if instructions else statement}
    return replace(item, **changes)


def _listed(text: str, mark: Callable[[int], str]) -> str:
    sentences = [" ".join(sentence.split()) for sentence in split_sentences(text)]
    if len(sentences) < 2:
        return text
    return "\n".join(f"{mark(n)} {sentence}" for n, sentence in enumerate(sentences, 1))


def _emphasised(text: str) -> str:
    first, rest = _begun(text)
    return f"**{first}**{rest}" if rest and "*" not in text else text


def _headed(text: str) -> str:
    first, rest = _begun(text)
    return f"## {first}\n\n{rest.strip()}" if rest else text


def _begun(text: str) -> tuple[str, str]:
    """Return the first sentence and the rest, which is empty if there is only one."""
    sentences = split_sentences(text)
    first = sentences[0] if len(sentences) > 1 else ""
    return first, text.strip()[len(first) :] if first else ""


FORMATS: dict[str, Callable[[str], str]] = {
    "bullets": lambda text: _listed(text, lambda _: "-"),
    "numbers": lambda text: _listed(text, lambda n: f"{n}."),
    "emphasis": _emphasised,
    "heading": _headed,
}
"""Way -> the function that formats a text so in Markdown, with the same words."""
