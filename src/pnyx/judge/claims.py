"""What each side of a contentious question asserts, as a full sentence, by closed word lists.

Where these are not sure, the sides are the question with "Yes." or "No." behind it: clumsy, but
never wrong.
"""

from __future__ import annotations

import re
import tomllib
from importlib import resources
from itertools import pairwise

from pnyx.judge.wordings import AUXILIARIES, matter, plain, rivals
from pnyx.records import Question


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_LISTS = tomllib.loads(
    resources.files("pnyx.judge").joinpath("claim_words.toml").read_text("utf-8")
)


def _listed(name: str) -> frozenset[str]:
    return _words(_LISTS[name])


_MODALS = _words("should must can could will would may might shall")
_BE = _words("is are was were")
_DO = _words("do does did")
_HAVE = _words("has have had")
_FINITE = _MODALS | _BE | _DO | _HAVE
_NEGATED = {
    "shouldn't": "should", "can't": "can", "cannot": "can", "couldn't": "could", "won't": "will",
    "wouldn't": "would", "mustn't": "must", "isn't": "is", "aren't": "are", "wasn't": "was",
    "weren't": "were", "don't": "do", "doesn't": "does", "didn't": "did", "hasn't": "has",
    "haven't": "have", "hadn't": "had",
}  # fmt: skip
_NEVER = _words("none nobody nothing nowhere neither")
_PRONOUNS = _words("we i you he she it they there this that these those everyone nobody anyone")
_ADVERBS = _words(
    "not also always ever never still really actually only just even ultimately necessarily "
    "generally fully completely automatically routinely legally more no already often simply"
)
_BEFORE_VERB = _words("not also always ever never still really actually already often just simply")
"""Adverbs behind a subject, which the verb follows: "Do top earners already pay enough?"."""
_NOT_BEFORE_VERB = _words(
    "a an the of for in on to by with from at as and or their his her its our your my who that "
    "which whose this these those no any all some more most non without under against about into"
)
_SUBJECTS = _words("we i you he she they")
_SUBORDINATE = _words("when if because while although whether until unless")
_RELATIVE = _words("who that which whom where when if")
_VERBS = _listed("verbs")
_PREDICATES = _listed("predicates")
_ADJECTIVE = re.compile(r"\w{3,}(less|ful|ous|able|ible|ic|al|ive|ent|ant|ary|ish|ier)$")
_DETERMINED = [[word] for word in "a an the our their your its people us them".split()]
_STATES = re.compile(
    r"in (need|favour|favor|danger|crisis|order|decline)$|out of|up to|at (risk|fault)$"
)
"""Predicates that begin with a preposition."""
_PARTICIPLES = _listed("participles")
_ALTERNATIVE = re.compile(
    r" or (bad|good|worse|better|wrong|right|harmful|helpful|useful|useless|false|true|evil|unfair"
    r"|more|less)\b",
    re.IGNORECASE,
)
"""A choice between two opposites: "Is it good or bad?"."""

_OPINION = re.compile(
    r"^((this|the) house|th[bw]?) +(believes?|thinks) +(that +)?"
    r"|^(overall, )?do you (think|believe|feel) (?!in\b|about\b|of\b|like\b|the same\b)(that )?",
    re.IGNORECASE,
)
"""What introduces the claim proper: "This House believes that ...", "Do you think ...?"."""


_SIGNS = re.compile(r"(?<![\s?!.…])[\s?!.…]++$")
_SECOND = re.compile(r",? or (?:is|are|do|does|should|can|will|would|must)\b.*$", re.IGNORECASE)
"""The other of two questions: "Are zoos cruel, or do they protect animals?"."""
_CONDITION = re.compile(
    r"^((?:if|when|as long as|even if|once|since|although) [^,?]+|(?:given|assuming|in|with|without"
    rf"|for|under|after|before|during|at) [^,?]+(?=, (?:{AUXILIARIES})\b)), ",
    re.IGNORECASE,
)


def claims(question: str) -> tuple[str, str]:
    """Return (pro, con), what the two sides of a question, a motion or a claim assert.

    "Is golf a sport?" gives "Golf is a sport." and "Golf is not a sport."; of two alternatives the
    first is pro's. What cannot be taken apart safely gives the question with "Yes." and "No."
    behind it, and what asks nothing "Yes: ..." and "No: ...".
    """
    line = plain(" ".join(question.split()), _VERBS)
    core = re.sub(r",? or not$", "", _SIGNS.sub("", line), flags=re.IGNORECASE)
    if told := matter(core):
        return _good_or_bad(*told)
    if "?" in line and (choice := _ALTERNATIVE.search(core)):
        return _of_alternatives(core, choice) or _unsure(line)
    if both := rivals(core, _VERBS):
        pros = [claims(one if one.endswith(".") else f"{one}?")[0] for one in both]
        if all(map(is_plain, pros)):
            return pros[0], pros[1]
    if "?" in line:
        core = _SECOND.sub("", core)
    condition = _CONDITION.match(core)
    if "?" in line and condition:
        pair = _claims(core[condition.end() :], "?")
        return _under(condition[1], pair, core) if pair else _unsure(line)
    if pair := _claims(core, line):
        return _of_quantity(*pair)
    return _good_or_bad(core) if _is_noun(core, line) else _unsure(line)


def _good_or_bad(matter: str, good: bool = True) -> tuple[str, str]:
    stem = gerund[1].lower() if (gerund := re.match(r"(\w+)ing ", matter)) else ""
    act = not _VERBS.isdisjoint((stem, f"{stem}e", stem[:-1]))  # "banning fireworks is"
    verb = "are" if re.search(r"[^su]s$", matter) and not act else "is"
    pair = _sentence(matter, verb, "a good thing"), _sentence(matter, verb, "a bad thing")
    return pair if good else pair[::-1]


def _is_noun(core: str, line: str) -> bool:
    """Tell whether it names a matter and says nothing of it: "Death penalty", "A tax on sugar?".

    A verb may be in no list: what does not ask is one only where it is too short for a sentence.
    """
    words = core.lower().split(" ")
    known = _FINITE | _SUBORDINATE | {"ought", "who", "why", "how", "what", "which", "or"}
    known |= _VERBS if words[0] not in ("a", "an", "the") else set()
    bare = all(word.strip("'’-").isalpha() for word in words) and not line.endswith(".")
    if not bare or len(words) > 6 or not known.isdisjoint(words) or words[0] in _PRONOUNS:
        return False
    before = next((i for i, w in enumerate(words) if w in _PREPOSITIONS), len(words))
    short = before <= 2 or (before == 3 and not any(w.endswith("s") for w in words[:2]))
    return "?" in line or short


def _of_quantity(pro: str, con: str) -> tuple[str, str]:
    """Negate "everyone", "nobody" and "any" as people do: "Not everyone must vote."."""
    first, rest = pro.split(" ", 1)
    if first in ("Everyone", "Everybody", "Every") and " not " in con:
        return pro, f"Not {first.lower()} {rest}"
    if first in ("Nobody", "None") or pro.startswith("No one "):
        return pro, _sentence("It is not true that", _lowered(pro.rstrip(".")))
    if first in ("Anyone", "Anybody") and " not " in con:
        free = rest.split(" ", 1)[0] in _MODALS  # "Anybody may": all may
        return pro if free else f"Some{first[3:]} {rest}", f"Nobody {rest}"
    some = re.match(r"There (is|are) any ", pro)
    if some:
        tail = pro[some.end() :]
        return f"There {some[1]} some {tail}", f"There {some[1]} no {tail}"
    return pro, con


def _claims(core: str, line: str) -> tuple[str, str] | None:
    words = core.split(" ")
    claim = _OPINION.sub("", core)
    opens = words[0].lower() in _MODALS | _BE | _DO | {"ought"}
    asks = claim == core and ("?" in line or opens)
    if "?" in core or "the fact that" in core:
        return None
    pair = _from_question(words) if asks else _from_statement(claim.split(" "))
    if pair is None and claim != core and len(claim.split()) > 1:
        return _sentence(claim), _sentence("It is not true that", _lowered(claim))
    return pair


def _of_alternatives(core: str, choice: re.Match[str]) -> tuple[str, str] | None:
    """Return what two opposites assert: "Is it good or bad?" gives "It is good." and its rival."""
    before, after = core[: choice.start()], core[choice.end() :]
    pro = _claims(before + after, "?")
    head = before.rsplit(" ", 1)[0]
    con = _claims(f"{head} {choice[1].lower()}{after}", "?")
    return (pro[0], con[0]) if pro and con else None


def _under(condition: str, pair: tuple[str, str], core: str) -> tuple[str, str]:
    """Put the condition before both claims, which begin as small as their subject was written."""
    first = pair[0].split(" ", 1)[0]
    small = f" {first.lower()} " in core
    pro, con = (claim[:1].lower() + claim[1:] if small else _lowered(claim) for claim in pair)
    condition = condition[:1].upper() + condition[1:]
    return f"{condition}, {pro}", f"{condition}, {con}"


def claims_of(question: Question) -> tuple[str, str]:
    """Return (pro, con) of a question: those that it brings, else what its text is read as."""
    return question.claims or claims(question.text)


_YES, _NO = "? Yes.", "? No."


def is_plain(claim: str) -> bool:
    """Tell whether a claim is a sentence of its own, not a question with its answer."""
    return not claim.startswith(("Yes: ", "No: ")) and not claim.endswith((_YES, _NO))


def opposite(claim: str) -> str | None:
    """Return the claim's negation, or None where no rule gives one."""
    pro, con = claims(claim)
    bare = pro.endswith(("a good thing.", "a bad thing.")) and " thing" not in claim
    return con if is_plain(pro) and not bare else None  # a matter alone has no negation


def other_side(claim: str) -> str:
    """Return what stands against a claim: its negation, by rule or with "It is not true that"."""
    for this, other in ((_YES, _NO), (_NO, _YES)):
        if claim.endswith(this):
            return claim.removesuffix(this) + other
    for this, other in (("Yes: ", "No: "), ("No: ", "Yes: ")):
        if claim.startswith(this):
            return other + claim.removeprefix(this)
    if claim.rstrip().endswith("?"):
        return claims(claim)[1]
    return opposite(claim) or _sentence("It is not true that", _lowered(_ENDING.sub("", claim)))


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
    if any(a in ("and", "or", "but") and b in _FINITE for a, b in pairwise(lower)):
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
            subject = _lowered(" ".join(words[:place]))
            return [words[place].title(), subject, *words[place + 1 :]]
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
        _lowered(" ".join(words[:place])),
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
    asked = _SIGNS.sub("", line) if line.endswith("?") else ""
    if asked:
        return asked + _YES, asked + _NO
    return f"Yes: {line}".strip(), f"No: {line}".strip()


def _sentence(*parts: str) -> str:
    text = " ".join(part for part in parts if part)
    return text[:1].upper() + text[1:] + "."


_GERUND = re.compile(r"[A-Z]\w+ing (the|an?|our|their) ")


def _lowered(text: str) -> str:
    first = text.split(" ", 1)[0].lower()
    known = first in _PRONOUNS - {"i"} | _NOT_BEFORE_VERB or _GERUND.match(text)
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
    if auxiliary == "ought" and verb[0].lower() == "not":
        return _sentence(subject, "ought", *verb), _sentence(subject, "ought", *verb[1:])
    if verb[0].lower() == "not":
        verb = verb[1:]
        return (_sentence(subject, auxiliary, "not", *verb), _sentence(subject, auxiliary, *verb))
    verb[0] = verb[0].lower() if verb[0].istitle() else verb[0]  # "Should Water Be Banned?"
    if verb[0] == "ever" and len(verb) > 1:
        claim = _sentence(subject, auxiliary, *verb[1:])
        return claim, _sentence(subject, auxiliary, "never", *verb[1:])
    asserted = [subject, auxiliary, *verb]
    if auxiliary == "do":
        asserted = [subject, *verb]
    elif auxiliary == "does" and verb[0].lower() in _VERBS:
        asserted = [subject, _third_person(verb[0]), *verb[1:]]
    con = _sentence(subject, auxiliary, "not", *verb)
    if verb[0] == "still":
        con = _sentence(subject, auxiliary, "no longer", *verb[1:])
    if "no" in verb[:2] or _NEVER.intersection(verb[:2]):
        con = _sentence("It is not true that", _lowered(" ".join(asserted)))
    return _sentence(*asserted), con


def _subject_end(auxiliary: str, rest: list[str]) -> int | None:
    """Return how many of the words after the auxiliary are its subject, or None if unsure."""
    lower = [word.lower().strip(",;:") for word in rest]
    if lower[0] in _PRONOUNS and (lower[0] not in _words("this that these those")):
        return 1
    if auxiliary == "ought":
        begins = _is_infinitive
    elif auxiliary in _MODALS | _DO:
        begins = _is_verb
    elif auxiliary in _BE:
        begins = _is_predicate
    elif auxiliary in _HAVE:
        begins = _is_participle
    else:
        return None
    for place in range(1, len(lower)):
        if lower[place] in _SUBORDINATE:
            return None  # what follows is the verb of another clause
        if begins(lower, place):
            while place > 1 and (lower[place - 1] in _ADVERBS or _is_adverb(lower[place - 1])):
                place -= 1
            return place
    return None


def _is_adverb(word: str) -> bool:
    return len(word) > 4 and word.endswith("ly") and word not in {"family", "supply", "monopoly"}


def _is_infinitive(lower: list[str], place: int) -> bool:
    if lower[place] == "not":
        return lower[place + 1 : place + 2] == ["to"]
    return lower[place] == "to" or _is_verb(lower, place)


def _is_verb(lower: list[str], place: int) -> bool:
    before, word = lower[place - 1], lower[place]
    if before in _BEFORE_VERB and place > 1:
        return True
    if before in _SUBJECTS and place > 1:
        return False  # "Do the foods we eat matter?"
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
    if place == 1 and before.endswith("ing") and word in {"a", "an", "the"}:
        return False  # "Is ending a life ...?": what is ended, not what ending is
    last = place == len(lower) - 1
    return (
        word in _PREDICATES
        or _is_adverb(word)
        or (place > 1 and word == "being")
        or (
            last and (len(lower) == 2 or word in _PARTICIPLES or _ADJECTIVE.match(word) is not None)
        )
        or (place > 1 and word.endswith("ing") and lower[place + 1 : place + 2] in _DETERMINED)
        or _STATES.match(" ".join(lower[place : place + 2])) is not None
    )


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
    if lower[place + 1] in ("not", "never"):
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
