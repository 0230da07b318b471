"""Sentences made false by rules: another number, a negation, another name.

The edit's truth value is as well known as the sentence's: a text that supports the sentence does
not support the edit. A sentence that no rule can change safely is left alone.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from pnyx.formats.text.auxiliaries import denied, negated
from pnyx.formats.text.segment import split_sentences

_NUMBER = re.compile(r"(?<![\w.,$€£-])\$?(\d{1,3}(?:,\d{3})+|\d+)(\.\d+)?(?![\w-]|[.,]\d)")
_SPELLED = "two three four five six seven eight nine ten eleven twelve".split()
_WORD_NUMBER = re.compile(rf"\b({'|'.join(_SPELLED)})\b", re.IGNORECASE)
_YEARS = range(1000, 2100)
_NAME = re.compile(r"(?<![.!?:\"“”'(] )(?<!^)\b[A-Z][\w’'-]+(?: [A-Z][\w’'-]+)*\b")
_NO_NAME = frozenset(
    "I I'm I've I'd I'll Yes No The A An This That These Those It He She We You They But And Or If"
    " In On At As For Of To Mr Mrs Ms Dr God Internet English French German".split()
)
_UNSURE = re.compile(
    r"\b(all|every|each|any|no|none|few|many|most|some|only|if|whether|unless|may|might|could)\b",
    re.IGNORECASE,
)
"""With these, the negation may also be true ("some are", "some are not")."""
_QUOTED = re.compile(r"[\"“”]")


@dataclass(frozen=True, slots=True)
class Edit:
    """A text with some sentences changed."""

    text: str
    how: tuple[str, ...] = ()  # each was: `number`, `negation`, `name` or `model`
    changed: tuple[tuple[str, str], ...] = ()  # (before, after) of each


def contradict_sentence(
    sentence: str, names: Sequence[str], rng: random.Random
) -> tuple[str, str] | None:
    """Return a contradiction of a sentence, maybe with other texts' names, and how it was made."""
    ways = [
        (how, changed)
        for how, changed in (
            ("number", _other_number(sentence, rng)),
            ("negation", _negated(sentence)),
            ("name", _other_name(sentence, names, rng)),
        )
        if changed is not None and changed != sentence
    ]
    if not ways or sentence.rstrip().endswith("?"):
        return None
    how, contradiction = rng.choice(ways)
    return contradiction, how


def contradict_text(
    text: str,
    count: int,
    names: Sequence[str],
    seed: str,
    model_edits: Mapping[str, str] | None = None,
) -> Edit:
    """Contradict `count` sentences, with those of lower counts; `model_edits` replace rules."""
    sentences = split_sentences(text)
    edits: dict[int, tuple[str, str]] = {}
    for index, sentence in enumerate(sentences):
        if model_edits is not None:
            if sentence in model_edits:
                edits[index] = model_edits[sentence], "model"
        elif contradiction := contradict_sentence(
            sentence, names, random.Random(f"{seed}/{index}")
        ):
            edits[index] = contradiction
    order = sorted(edits)
    random.Random(seed).shuffle(order)
    chosen = sorted(order[:count])
    start, parts = 0, []
    for index, sentence in enumerate(sentences):
        at = text.index(sentence, start)
        after = edits[index][0] if index in chosen else sentence
        parts += [text[start:at], after]
        start = at + len(sentence)
    whole = "".join([*parts, text[start:]])
    return Edit(
        whole,
        tuple(edits[index][1] for index in chosen),
        tuple((sentences[index], edits[index][0]) for index in chosen),
    )


def names_in(texts: Iterable[str]) -> tuple[str, ...]:
    """Return the capitalised names within the sentences of texts, each once."""
    names: dict[str, None] = {}
    for text in texts:
        for sentence in split_sentences(text[:5000]):
            for match in _NAME.finditer(sentence):
                if match[0].split()[0] not in _NO_NAME and len(match[0]) > 2:
                    names[match[0]] = None
    return tuple(names)


def _other_number(sentence: str, rng: random.Random) -> str | None:
    match = _NUMBER.search(sentence)
    if match is None:
        word = _WORD_NUMBER.search(sentence)
        if word is None:
            return None
        at = _SPELLED.index(word[1].lower())
        other = rng.choice([word for n, word in enumerate(_SPELLED) if abs(n - at) >= 3])
        return _put(sentence, word, other.capitalize() if word[1][0].isupper() else other)
    digits, fraction = match[1], match[2] or ""
    number = int(digits.replace(",", ""))
    new = _far_from(number, sentence[match.end() :], rng)
    written = f"{new:,}" if "," in digits else str(new)
    dollar = "$" if match[0].startswith("$") else ""
    return _put(sentence, match, f"{dollar}{written}{fraction}")


def _far_from(number: int, after: str, rng: random.Random) -> int:
    """Return a number of the same kind that is clearly not a rounding of this one."""
    if after.lstrip().startswith(("%", "percent", "per cent")) and number <= 100:
        step = rng.randint(30, 45)
        return number + step if number < 50 else number - step
    if number in _YEARS:
        return number - rng.randint(11, 39)
    return number * rng.randint(3, 9) + rng.randint(1, 3)


def _put(sentence: str, match: re.Match[str], new: str) -> str:
    return sentence[: match.start()] + new + sentence[match.end() :]


def _negated(sentence: str) -> str | None:
    if _UNSURE.search(sentence) or _QUOTED.search(sentence) or len(sentence) > 400:
        return None
    return negated(sentence) or denied(sentence)


def _other_name(sentence: str, names: Sequence[str], rng: random.Random) -> str | None:
    names_in_sentence = [
        m for m in _NAME.finditer(sentence) if m[0].split()[0] not in _NO_NAME and len(m[0]) > 2
    ]
    if not names_in_sentence:
        return None
    match = rng.choice(names_in_sentence)
    lower = sentence.lower()
    words = len(match[0].split())
    others = [n for n in names if n.lower() not in lower and len(n.split()) == words]
    return _put(sentence, match, rng.choice(others)) if others else None
