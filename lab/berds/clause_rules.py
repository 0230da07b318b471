"""Parse a question or statement at its verb, with closed lists of words."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path


def word_set(text: str) -> frozenset[str]:
    """Return the words of a text."""
    return frozenset(text.split())


_LISTS = tomllib.loads(Path(__file__).with_name("claim_words.toml").read_text("utf-8"))


def _listed(name: str) -> frozenset[str]:
    return word_set(_LISTS[name])


MODALS = word_set("should must can could will would may might shall")
BE = word_set("is are was were")
DO = word_set("do does did")
HAVE = word_set("has have had")
FINITE = MODALS | BE | DO | HAVE
NEGATED = {
    "shouldn't": "should", "can't": "can", "cannot": "can", "couldn't": "could", "won't": "will",
    "wouldn't": "would", "mustn't": "must", "isn't": "is", "aren't": "are", "wasn't": "was",
    "weren't": "were", "don't": "do", "doesn't": "does", "didn't": "did", "hasn't": "has",
    "haven't": "have", "hadn't": "had",
}  # fmt: skip
_NEVER = word_set("none nobody nothing nowhere neither")
PRONOUNS = word_set("we i you he she it they there this that these those everyone nobody anyone")
_ADVERBS = word_set(
    "not also always ever never still really actually only just even ultimately necessarily "
    "generally fully completely automatically routinely legally more less no already often simply"
)
_BEFORE_VERB = word_set(
    "not also always ever never still really actually already often just simply"
)
"""Adverbs between a subject and its verb: "Do top earners already pay enough?"."""
_NOT_BEFORE_VERB = word_set(
    "a an the of for in on to by with from at as and or their his her its our your my who that "
    "which whose this these those no any all some more most non without under against about into"
)
_LINKS = word_set(
    "off over than like near behind inside outside between during after before through up down "
    "out around within upon per via plus but not have been being be"
)
_OPENS_OBJECT = word_set("a an the our your their his her its my us them him me people")
_SUBJECTS = word_set("we i you he she they")
SUBORDINATE = word_set("when if because while although whether until unless")
RELATIVE = word_set("who that which whom where when if")
VERBS = _listed("verbs")
_PREDICATES = _listed("predicates")
_ADJECTIVE = re.compile(r"\w{3,}(less|ful|ous|able|ible|ic|al|ive|ent|ant|ary|ish|ier)$")
_DETERMINED = [[word] for word in "a an the our their your its people us them".split()]
_DEGREES = [[word] for word in "far too enough well badly".split()]
_STATES = re.compile(
    r"in (need|favour|favor|danger|crisis|order|decline)$|out of|up to|at (risk|fault)$"
)
"""Predicates that begin with a preposition."""
_PARTICIPLES = _listed("participles")


_CANNOT = re.compile(r"(?<=\b[Cc])an not (?!only\b)")


def sentence(*parts: str) -> str:
    """Join parts into a sentence with a capital letter and a full stop."""
    text = " ".join(part for part in parts if part)
    text = _CANNOT.sub("annot ", text)
    return text[:1].upper() + text[1:] + "."


_GERUND = re.compile(r"[A-Z]\w+ing (the|an?|our|their) ")


def lowered(text: str) -> str:
    """Start a text in lower case if its first word cannot be a name."""
    first = text.split(" ", 1)[0].lower()
    is_common = first in PRONOUNS - {"i"} | _NOT_BEFORE_VERB or _GERUND.match(text)
    return text[:1].lower() + text[1:] if is_common else text


def from_question(words: list[str]) -> tuple[str, str] | None:
    """Move the leading auxiliary after the subject; None if the end of the subject is unclear."""
    auxiliary = words[0].lower().replace("’", "'")
    auxiliary = NEGATED.get(auxiliary, auxiliary)
    rest = words[1:]
    if len(rest) < 2:
        return None
    end = subject_end(auxiliary, rest)
    if end is None:
        return None
    subject, verb = " ".join(rest[:end]), rest[end:]
    if auxiliary == "ought" and "to" not in [word.lower() for word in verb[:2]]:
        verb = ["not", "to", *verb[1:]] if verb[0].lower() == "not" else ["to", *verb]
    if auxiliary == "ought" and verb[0].lower() == "not":
        return sentence(subject, "ought", *verb), sentence(subject, "ought", *verb[1:])
    if verb[0].lower() == "not":
        verb = verb[1:]
        return (sentence(subject, auxiliary, "not", *verb), sentence(subject, auxiliary, *verb))
    verb[0] = verb[0].lower() if verb[0].istitle() else verb[0]  # "Should Water Be Banned?"
    if verb[0] == "ever" and len(verb) > 1:
        head, tail = _asserted(subject, auxiliary, verb[1:])
        return sentence(*head, *tail), sentence(*head, "never", *tail)
    head, tail = _asserted(subject, auxiliary, verb)
    asserted = [*head, *tail]
    con = sentence(subject, auxiliary, "not", *verb)
    if verb[0] == "still":
        before, after = _asserted(subject, auxiliary, verb[1:])
        con = sentence(*before, "no longer", *after)
    if "no" in verb[:2] or _NEVER.intersection(verb[:2]):
        con = sentence("It is not true that", lowered(" ".join(asserted)))
    return sentence(*asserted), con


def _asserted(subject: str, auxiliary: str, verb: list[str]) -> tuple[list[str], list[str]]:
    """Return subject and predicate of the assertion, without the "do" of a question."""
    if auxiliary == "do":
        return [subject], verb
    first = next((i for i, word in enumerate(verb) if not _is_passed(word)), 0)
    if auxiliary == "does" and verb[first].lower() in VERBS:  # "Does anybody really need a gun?"
        return [subject], [*verb[:first], third_person(verb[first]), *verb[first + 1 :]]
    return [subject, auxiliary], verb


def subject_end(auxiliary: str, rest: list[str]) -> int | None:
    """Return how many words after the auxiliary are its subject, or None if that is unclear."""
    lower = [word.lower().strip(",;:") for word in rest]
    if lower[0] in PRONOUNS and (lower[0] not in word_set("this that these those")):
        return 1
    if auxiliary == "ought":
        begins = _is_infinitive
    elif auxiliary in MODALS | DO:
        begins = _is_verb
    elif auxiliary in BE:
        begins = _is_predicate
    elif auxiliary in HAVE:
        begins = is_participle
    else:
        return None
    for position in range(1, len(lower)):
        if lower[position] in SUBORDINATE:
            return None  # the next verb belongs to another clause
        if begins(lower, position):
            while position > 1 and _is_passed(lower[position - 1]):
                position -= 1
            return position
    return _before_object(lower) if auxiliary in MODALS | DO | {"ought"} else None


def _before_object(lower: list[str]) -> int | None:
    """Return the position of an unlisted verb before "the" and so on: "Do reporters hound the"."""
    for position in range(1, len(lower) - 1):
        before, word, after = lower[position - 1 : position + 2]
        free = word.isalpha() and word not in _NOT_BEFORE_VERB | _LINKS | FINITE | _ADVERBS
        if after in _OPENS_OBJECT and free and not word.endswith(("ing", "ed", "ly", "s")):
            return None if before in _NOT_BEFORE_VERB | _LINKS else position
    return None


def _is_passed(word: str) -> bool:
    return word in _ADVERBS or _is_adverb(word)


def _is_adverb(word: str) -> bool:
    return len(word) > 4 and word.endswith("ly") and word not in {"family", "supply", "monopoly"}


def _is_infinitive(lower: list[str], position: int) -> bool:
    if lower[position] == "not":
        return lower[position + 1 : position + 2] == ["to"]
    return lower[position] == "to" or _is_verb(lower, position)


def _is_verb(lower: list[str], position: int) -> bool:
    before, word = lower[position - 1], lower[position]
    if before in _BEFORE_VERB and position > 1:
        return True
    if before in _SUBJECTS and position > 1:
        return False  # "Do the foods we eat matter?"
    if before in _NOT_BEFORE_VERB | MODALS | RELATIVE:
        return False
    if word == "be":
        return True
    # "Should drug use be legal?": a later bare "be" is more reliable, unless after a modal.
    later = any(
        w == "be" and lower[i] not in MODALS | {"to", "not"}
        for i, w in enumerate(lower[position + 1 :], start=position)
    )
    return word in VERBS and not later


def _is_predicate(lower: list[str], position: int) -> bool:
    before, word = lower[position - 1], lower[position]
    if before in _NOT_BEFORE_VERB:
        return False
    if position == 1 and before.endswith("ing") and word in {"a", "an", "the"}:
        return False  # "Is ending a life ...?": "a life" is the object, not the predicate
    last = position == len(lower) - 1
    return (
        word in _PREDICATES
        or _is_adverb(word)
        or (position > 1 and word == "being")
        or (
            last and (len(lower) == 2 or word in _PARTICIPLES or _ADJECTIVE.match(word) is not None)
        )
        or (word in _PARTICIPLES and lower[position + 1 : position + 2] in _DEGREES)
        or (
            position > 1
            and word.endswith("ing")
            and lower[position + 1 : position + 2] in _DETERMINED
        )
        or (word == "there" and before in _ADVERBS)
        or _STATES.match(" ".join(lower[position : position + 2])) is not None
    )


def is_participle(lower: list[str], position: int) -> bool:
    """Return whether the word at a position is a participle, as after "have"."""
    if lower[position - 1] in _NOT_BEFORE_VERB:
        return False
    return lower[position] in _PARTICIPLES or lower[position].endswith("ed")


def third_person(verb: str) -> str:
    """Return the form of a verb after "it"."""
    if verb.lower() == "have":
        return "has"
    if verb.endswith(("s", "x", "z", "ch", "sh", "o")):
        return verb + "es"
    if verb.endswith("y") and verb[-2:-1] not in tuple("aeiou"):
        return verb[:-1] + "ies"
    return verb + "s"


def from_statement(words: list[str]) -> tuple[str, str] | None:
    """Negate a declarative sentence at its finite auxiliary; None if it has none."""
    lower = [word.lower().replace("’", "'") for word in words]
    pro = sentence(*words)
    subordinate = (i for i, word in enumerate(lower) if word in {"because", "although", "while"})
    end = min(next(subordinate, len(words)), len(words) - 1)
    for group in (MODALS | {"ought"}, BE | HAVE | DO):
        for position in range(1, end):
            plain = NEGATED.get(lower[position], lower[position])
            if plain in group and lower[position - 1] not in RELATIVE:
                con = _negated_at(words, lower, position, plain)
                if con is not None:
                    return pro, con
    if len(words) > 1 and lower[0] in VERBS:
        imperative = [lower[0], *words[1:]]
        return sentence("We should", *imperative), sentence("We should not", *imperative)
    if len(words) > 2 and holds_a_verb(lower):
        return pro, sentence("It is not true that", lowered(" ".join(words)))
    return None


def _negated_at(words: list[str], lower: list[str], position: int, plain: str) -> str | None:
    """Add or remove a negation at the auxiliary; None if it is the main verb."""
    head, tail = words[:position], words[position + 1 :]
    if plain != lower[position]:  # "cannot", "isn't"
        return sentence(*head, plain, *tail)
    if lower[position + 1] in ("not", "never"):
        return sentence(*head, words[position], *tail[1:]) if len(tail) > 1 else None
    if plain in DO or (plain in HAVE and not is_participle(lower, position + 1)):
        return None  # "they have rights", "we did well"
    if lower[position + 1] == "still":
        return sentence(*head, words[position], "no longer", *tail[1:])
    return sentence(*head, words[position], "not", *tail)


def holds_a_verb(lower: list[str]) -> bool:
    """Return whether a word after the first is a form of a listed verb."""
    forms = (word.removesuffix("s") for word in lower[1:])
    return any(
        form in VERBS or form.removesuffix("e") in VERBS or word in HAVE
        for form, word in zip(forms, lower[1:], strict=True)
    )
