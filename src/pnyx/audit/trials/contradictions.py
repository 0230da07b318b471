"""Sentences made false by rules: another number, a negation, another name.

The edit's truth value is as well known as the sentence's: a text that supports the sentence does
not support the edit. A sentence that no rule can change safely is left alone.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from pnyx.formats.text.segment import split_sentences

_AUXILIARIES: Final = frozenset("is are was were should must can could will would".split())
_NEGATIONS: Final = frozenset("no nor not never cannot neither none nobody nothing without".split())
_OTHER_CLAUSE: Final = frozenset(
    "who whom whose which that what why how because although while whereas if unless when where"
    " whether since until as but has have had does did ought may might shall".split()
)
_JOINS: Final = frozenset("and or".split())
_NOT_BEFORE: Final = frozenset(
    "a an the to of free good ill own no his her its my our your their".split()
)
"""Words before "will", "can" or "must" where it is a noun: "the will of the people"."""
_LOWERED: Final = frozenset(
    "a an the this that these those all it there we they he she our their people many most"
    " some".split()
)
_LEAST_DENIED: Final = 4
_LEANING: Final = frozenset(
    "and but or nor so yet however therefore thus also because then hence moreover".split()
)
"""First words of sentences that cannot follow "that"."""
_MARKS: Final = re.compile(r"[,;:?!()\"“”—–]")
_NOT: Final = re.compile(r"n['’]t$")
_HOUSE: Final = re.compile(r"^this house (?:would|should) (?=\w)", re.IGNORECASE)


def negated(sentence: str) -> str | None:
    """Return a sentence with "not" after its first auxiliary, or without it if it is there.

    None if there is no auxiliary, another clause before it, or another negation.
    """
    words = sentence.split()
    position = _first_auxiliary(words)
    if position is None:
        return None
    before, after = words[:position], words[position + 1 :]
    if after[0].lower() == "not":
        return " ".join([*before, words[position], *after[1:]]) if len(after) > 1 else None
    if after[0].lower().strip(".,;:!?") in _NEGATIONS:
        return None
    verb = ["cannot"] if words[position] == "can" else [words[position], "not"]
    return " ".join([*before, *verb, *after])


def denied(sentence: str) -> str | None:
    """Return "It is not true that ..." for four or more words; None for a question."""
    words = sentence.split()
    first = words[0].lower() if words else ""
    if len(words) < _LEAST_DENIED or "?" in sentence or first.strip(",") in _LEANING:
        return None
    start = first if first in _LOWERED else words[0]
    return " ".join(["It is not true that", start, *words[1:]])


def as_question(claim: str) -> str | None:
    """Return the question that a claim answers with yes; None if it has a second verb."""
    words = _HOUSE.sub("We should ", " ".join(claim.split()).rstrip(".! ")).split()
    position = _first_auxiliary(words)
    if position is None or words[position + 1].lower() == "not":
        return None
    behind = {word.lower() for word in words[position + 1 :]}
    if not (_AUXILIARIES | _OTHER_CLAUSE | _JOINS).isdisjoint(behind):
        return None
    if _MARKS.search(" ".join(words)):
        return None
    first = words[0].lower() if words[0].lower() in _LOWERED else words[0]
    return (
        " ".join([words[position].title(), first, *words[1:position], *words[position + 1 :]]) + "?"
    )


def _first_auxiliary(words: list[str]) -> int | None:
    """Return the position of a sentence's first auxiliary, in its main clause; None if unclear."""
    low = [word.lower().strip(".,;:!?") for word in words]
    position = next((at for at, word in enumerate(low) if word in _AUXILIARIES), 0)
    if not 0 < position < len(words) - 1 or low[position - 1] in _NOT_BEFORE:
        return None
    subject = low[:position]
    if not _OTHER_CLAUSE.isdisjoint(subject) or _MARKS.search(" ".join(words[:position])):
        return None
    negations = [at for at, word in enumerate(low) if word in _NEGATIONS or _NOT.search(word)]
    return position if negations in ([], [position + 1]) else None


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
