"""What each side of a contentious question asserts, as a full sentence, by closed word lists.

Where these are not sure, the sides are "Yes: ..." and "No: ...": clumsy, but never wrong.
"""

from __future__ import annotations

import re
from itertools import pairwise


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_MODALS = _words("should must can could will would may might shall")
_BE = _words("is are was were")
_DO = _words("do does did")
_HAVE = _words("has have had")
_NEGATED = {
    "shouldn't": "should", "can't": "can", "cannot": "can", "couldn't": "could", "won't": "will",
    "wouldn't": "would", "mustn't": "must", "isn't": "is", "aren't": "are", "wasn't": "was",
    "weren't": "were", "don't": "do", "doesn't": "does", "didn't": "did", "hasn't": "has",
    "haven't": "have", "hadn't": "had",
}  # fmt: skip
_PRONOUNS = _words("we i you he she it they there this that these those everyone nobody anyone")
_ADVERBS = _words(
    "not also always ever never still really actually only just even ultimately necessarily "
    "generally fully completely automatically routinely legally more no"
)
_NOT_BEFORE_VERB = _words(
    "a an the of for in on to by with from at as and or their his her its our your my who that "
    "which whose this these those no any all some more most non"
)
_RELATIVE = _words("who that which whom where when if")
_VERBS = _words(
    "abandon abolish accept achieve act adopt affect allow apologise apologize apply appoint "
    "attempt arm ban be become begin benefit block boycott break bring build buy carry cause cease "
    "censor change charge choose close comply compensate condemn consider contribute control cost "
    "create "
    "criminalise criminalize cut decrease decriminalise decriminalize defend deliver denounce deny "
    "depend deserve destroy deter develop disband discourage do donate drink drive drop eat "
    "eliminate embrace encourage end enforce engage enhance ensure enter establish exist expand "
    "expel fail fight follow force form fund get give go grant guarantee harm have help hire hold "
    "hurt ignore implement impose improve increase influence intervene introduce invade invest "
    "join keep kill lead learn leave legalise legalize let limit live lose lower maintain make "
    "mandate matter mean need negotiate nationalise nationalize obey offer outweigh own "
    "participate pay perform permit play prevent privatise privatize prioritise prioritize "
    "produce prohibit promote prosecute protect provide publish pull punish pursue raise receive "
    "recognise recognize reduce reflect refuse regulate reintroduce reject relax remain remove "
    "resign retire "
    "repeal replace require respect restore restrict return save scrap seek sell send serve "
    "share speak spend stay stop study subsidise subsidize support sustain take talk tax teach "
    "threaten trade treat trust try undermine use vaccinate violate vote wear withdraw work worsen"
)
_PREDICATES = _words(
    "a an the able acceptable adequate always appropriate bad beneficial best better compatible "
    "constitutional corrupt cruel dangerous dead desirable doomed dying effective essential "
    "ethical evil fair feasible flat free good great harmful healthy helpful human immoral "
    "important "
    "impossible inevitable inherently justifiable justified legal legitimate likely moral more "
    "morally much natural necessary necessarily needed no not obsolete outdated overpaid "
    "overpopulated overrated possible primarily profitable racist rational ready real really "
    "reliable responsible right safe sexist still sustainable too true unethical unfair useful "
    "unsafe useless valid viable worse worth worthwhile wrong"
)
_PARTICIPLES = _words("been become begun broken done failed given gone gotten grown led lost made")
_ALTERNATIVE = re.compile(r" or (bad|worse|wrong|harmful|false|evil|unfair|more|less|not)\b", re.I)
"""A choice between two opposites has no single claim: "Is it good or bad?"."""

_OPINION = re.compile(
    r"^((this|the) house|th[bw]?) +(believes?|thinks) +(that +)?"
    r"|^(overall, )?do you (think|believe|feel) (?!in\b|about\b|of\b|like\b|the same\b)(that )?",
    re.IGNORECASE,
)
"""What introduces the claim proper: "This House believes that ...", "Do you think ...?"."""


def claims(question: str) -> tuple[str, str]:
    """Return (pro, con), what the two sides of a question, a motion or a claim assert.

    "Is golf a sport?" gives "Golf is a sport." and "Golf is not a sport."; what cannot be taken
    apart safely gives "Yes: ..." and "No: ...".
    """
    line = " ".join(question.split())
    core = re.sub(r"(?<![\s?!.…])[\s?!.…]++$", "", line)
    core = re.sub(r",? or not$", "", core, flags=re.IGNORECASE)
    words = core.split(" ")
    claim = _OPINION.sub("", core)
    asks = claim == core and ("?" in line or words[0].lower() in _MODALS | _BE | _DO)
    if "?" in core or ("?" in line and _ALTERNATIVE.search(core)):
        return _unsure(line)
    pair = _from_question(words) if asks else _from_statement(claim.split(" "))
    if pair is None and words[0].lower() == "do":
        pair = _from_question(words)  # "You believe ...": what is believed cannot be negated
    return pair if pair is not None else _unsure(line)


NO_OPPOSITE = (
    "claim: no statement that can be negated by rule: ask a question that yes or no answers"
)
"""Why a claim without an `opposite` is not judged."""


def opposite(claim: str) -> str | None:
    """Return the claim's negation, or None where no rule gives one."""
    pro, con = claims(claim)
    return None if pro.startswith("Yes: ") else con


_OPENS_CLAUSE = _RELATIVE | _words("what why how because while although whether than as since")
"""Words after which an auxiliary may be another clause's: "What the UN should do is ..."."""
_PREPOSITIONS = _words("of for in on to by with from at as and or")


_ENDING = re.compile(r"(?:(?<![\s!.…])(?<!\b[A-Z])|(?<=\b[A-Z][\s!.…]))[\s!.…]++$")
"""Signs at the end of a claim, but for the full stop of "the U.S."; it begins where a run of signs
does, so that no run is gone through twice."""


def question_from(claim: str) -> str | None:
    """Return the yes-no question that a claim answers with yes; None where that is not sure.

    A claim that ends in a question mark is returned as it is; one with a "not" gives None.
    """
    line = " ".join(claim.split())
    if line.endswith("?"):
        return line
    core = _OPINION.sub("", _ENDING.sub("", line))
    core = re.sub(r"^(this|the) house (would|should) ", "We should ", core, flags=re.IGNORECASE)
    words = core.split(" ")
    lower = [word.lower().replace("’", "'") for word in words]
    if {"not", "never", *_NEGATED, *"?;:"}.intersection([*lower, *core]):
        return None
    finite = _MODALS | _BE | _HAVE | _DO
    if any(a in ("and", "or", "but") and b in finite for a, b in pairwise(lower)):
        return None  # two predicates, of which only one can be asked for
    found = _moved_to_front(words, lower)
    if found is None:
        return None
    question = " ".join(found) + "?"
    return question if claims(question)[0].lower() == claims(core)[0].lower() else None


def _moved_to_front(words: list[str], lower: list[str]) -> list[str] | None:
    """Return the words with their auxiliary, or a form of "do", in front of the subject."""
    for begins in (_is_modal, _is_auxiliary):
        place = next((i for i in range(1, len(words) - 1) if begins(lower, i)), None)
        if place is not None:
            if _OPENS_CLAUSE.intersection(lower[:place]):
                return None
            subject = [_lowered(words[0]), *words[1:place]]
            return [words[place].title(), *subject, *words[place + 1 :]]
    places = [i for i, word in enumerate(lower) if _base(word)]
    if len(places) != 1 or lower[places[0]] in _BE | _DO | _HAVE | {"be"} or len(words) < 2:
        return None  # "Drug use harms people": which of the two is the verb?
    place = places[0]
    if place == 0:
        order = lower[0] in _VERBS and lower[1] not in _PREPOSITIONS
        return ["Should we", lower[0], *words[1:]] if order else None
    plural = re.search(r"[^su]s$|^(we|you|they|people|men|women|children)$", lower[place - 1])
    third = lower[place] not in _VERBS
    if _OPENS_CLAUSE.intersection(lower[:place]) or not (third or plural):
        return None
    return [
        "Does" if third else "Do",
        *[_lowered(words[0]), *words[1:place]],
        *[_base(lower[place]), *words[place + 1 :]],
    ]


def _is_modal(lower: list[str], place: int) -> bool:
    return lower[place] in _MODALS


def _is_auxiliary(lower: list[str], place: int) -> bool:
    return lower[place] in _BE or (lower[place] in _HAVE and _is_participle(lower, place + 1))


def _base(word: str) -> str:
    """Return the verb that a word is a form of, if it is in the list, else nothing."""
    if word in _VERBS:
        return word
    return next((verb for verb in _VERBS if _third_person(verb) == word), "")


def _unsure(line: str) -> tuple[str, str]:
    return f"Yes: {line}".strip(), f"No: {line}".strip()


def _sentence(*parts: str) -> str:
    text = " ".join(part for part in parts if part)
    return text[:1].upper() + text[1:] + "."


def _lowered(text: str) -> str:
    first = text.split(" ", 1)[0].lower()
    known = first in _PRONOUNS - {"i"} | _NOT_BEFORE_VERB
    return text[:1].lower() + text[1:] if known else text


def _from_question(words: list[str]) -> tuple[str, str] | None:
    """Move the leading auxiliary behind the subject; None where the subject's end is unclear."""
    auxiliary = words[0].lower().replace("’", "'")
    auxiliary = _NEGATED.get(auxiliary, auxiliary)
    rest = words[1:]
    if len(rest) < 2:
        return None
    end = _subject_end(auxiliary, rest)
    if end is None:
        return None
    subject, verb = " ".join(rest[:end]), rest[end:]
    if verb[0].lower() == "not":
        verb = verb[1:]
        return (_sentence(subject, auxiliary, "not", *verb), _sentence(subject, auxiliary, *verb))
    verb[0] = verb[0].lower() if verb[0].istitle() else verb[0]  # "Should Water Be Banned?"
    con = _sentence(subject, auxiliary, "not", *verb)
    if verb[0] == "still":
        con = _sentence(subject, auxiliary, "no longer", *verb[1:])
    if "no" in verb[:2]:
        con = _sentence("It is not true that", _lowered(subject), *verb)
    if auxiliary == "do":
        return _sentence(subject, *verb), con
    if auxiliary == "does" and verb[0].lower() in _VERBS:
        return _sentence(subject, _third_person(verb[0]), *verb[1:]), con
    return _sentence(subject, auxiliary, *verb), con


def _subject_end(auxiliary: str, rest: list[str]) -> int | None:
    """Return how many of the words after the auxiliary are its subject, or None if unsure."""
    lower = [word.lower().strip(",;:") for word in rest]
    if lower[0] in _PRONOUNS and (lower[0] not in _words("this that these those")):
        return 1
    if auxiliary in _MODALS | _DO:
        begins = _is_verb
    elif auxiliary in _BE:
        begins = _is_predicate
    elif auxiliary in _HAVE:
        begins = _is_participle
    else:
        return None
    for place in range(1, len(lower)):
        if begins(lower, place):
            while place > 1 and (lower[place - 1] in _ADVERBS or _is_adverb(lower[place - 1])):
                place -= 1
            return place
    return None


def _is_adverb(word: str) -> bool:
    return len(word) > 4 and word.endswith("ly") and word not in {"family", "supply", "monopoly"}


def _is_verb(lower: list[str], place: int) -> bool:
    before, word = lower[place - 1], lower[place]
    if before in _NOT_BEFORE_VERB | _MODALS | _RELATIVE:
        return False
    if word == "be":
        return True
    # "Should drug use be legal?": a later bare "be" is the surer sign, unless after a modal.
    later = any(
        w == "be" and lower[i] not in _MODALS | {"to", "not"}
        for i, w in enumerate(lower[place + 1 :], start=place)
    )
    return word in _VERBS and not later


def _is_predicate(lower: list[str], place: int) -> bool:
    before, word = lower[place - 1], lower[place]
    if before in _NOT_BEFORE_VERB:
        return False
    return word in _PREDICATES or _is_adverb(word) or (place > 1 and word == "being")


def _is_participle(lower: list[str], place: int) -> bool:
    if lower[place - 1] in _NOT_BEFORE_VERB:
        return False
    return lower[place] in _PARTICIPLES or lower[place].endswith("ed")


def _third_person(verb: str) -> str:
    if verb.lower() == "have":
        return "has"
    if verb.endswith(("s", "x", "z", "ch", "sh", "o")):
        return verb + "es"
    if verb.endswith("y") and verb[-2:-1] not in tuple("aeiou"):
        return verb[:-1] + "ies"
    return verb + "s"


def _from_statement(words: list[str]) -> tuple[str, str] | None:
    """Negate a declarative sentence at its finite auxiliary; None where none is found."""
    lower = [word.lower().replace("’", "'") for word in words]
    pro = _sentence(*words)
    subordinate = (i for i, word in enumerate(lower) if word in {"because", "although", "while"})
    end = min(next(subordinate, len(words)), len(words) - 1)
    for group in (_MODALS | {"ought"}, _BE | _HAVE | _DO):
        for place in range(1, end):
            plain = _NEGATED.get(lower[place], lower[place])
            if plain in group and lower[place - 1] not in _RELATIVE:
                con = _negated_at(words, lower, place, plain)
                if con is not None:
                    return pro, con
    if len(words) > 1 and lower[0] in _VERBS:
        imperative = [lower[0], *words[1:]]
        return _sentence("We should", *imperative), _sentence("We should not", *imperative)
    if len(words) > 2 and _holds_a_verb(lower):
        return pro, _sentence("It is not true that", _lowered(" ".join(words)))
    return None


def _negated_at(words: list[str], lower: list[str], place: int, plain: str) -> str | None:
    """Negate, or take the negation away, at the auxiliary; None where it is the main verb."""
    head, tail = words[:place], words[place + 1 :]
    if plain != lower[place]:  # "cannot", "isn't"
        return _sentence(*head, plain, *tail)
    if lower[place + 1] == "not":
        return _sentence(*head, words[place], *tail[1:]) if len(tail) > 1 else None
    if plain in _DO or (plain in _HAVE and not _is_participle(lower, place + 1)):
        return None  # "they have rights", "we did well"
    if lower[place + 1] == "still":
        return _sentence(*head, words[place], "no longer", *tail[1:])
    return _sentence(*head, words[place], "not", *tail)


def _holds_a_verb(lower: list[str]) -> bool:
    forms = (word.removesuffix("s") for word in lower[1:])
    return any(
        form in _VERBS or form.removesuffix("e") in _VERBS or word in _HAVE
        for form, word in zip(forms, lower[1:], strict=True)
    )
