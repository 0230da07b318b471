"""Rules with closed word lists for what each side of a contentious question asserts.

The packaged reader was trained on statements made by these rules; Pnyx itself no longer uses them
(docs/explain/decisions/questions.md). If no rule applies safely, the sides are the question
followed by "Yes." or "No.".
"""

from __future__ import annotations

import functools
import re
from itertools import pairwise

from clause_rules import (
    BE,
    DO,
    FINITE,
    HAVE,
    MODALS,
    NEGATED,
    PRONOUNS,
    RELATIVE,
    SUBORDINATE,
    VERBS,
    from_question,
    from_statement,
    holds_a_verb,
    is_participle,
    lowered,
    sentence,
    third_person,
    word_set,
)
from wording_rules import AUXILIARIES, matter, plain, rivals

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
_SECOND = re.compile(
    r",? or (?:is|are|do|does|should|can|will|would|must)\b.*$"
    r"|,? and if so\b.*$"
    r"|, and (?:is|are|do|does|should|can|will|would|must) (?:it|they|we|he|she)\b.*$",
    re.IGNORECASE,
)
"""The second of two questions: "Are zoos cruel, or do they protect animals?"."""
_TOLD = re.compile(
    rf"^([^?]{{9,}}[^\s?.!]{{2}}[.!]) ((?:{AUXILIARIES}|why|when|do you)\b[^.?!]+\?)$",
    re.IGNORECASE,
)
"""A question after an introduction: "I live by a zoo. Should it be closed?"."""
_POINTS = re.compile(
    rf"^(?:{AUXILIARIES}|(?:do|would) you \w+|when (?:is|are))(?:n['’]t)? "
    r"(?:that|this|these|those|it|they|he|she|such)\b",
    re.IGNORECASE,
)
_EXPLETIVE = re.compile(r"^\w+(?:n['’]t)? (?:not )?it .*\b(?:to|that|for|if|time)\b", re.IGNORECASE)
_THERE = re.compile(
    r"There (?:is|are) (?!(?:an?|the|too|enough|already|still|such|any|some|no|not|more|less|fewer"
    r"|much|many|only|always|never|one|nothing|something|really|so|as|\w+ly)\b)"
)
"""A noun without an article after "there is": its negation is "no life", not "not life"."""
_CONDITION = re.compile(
    r"^((?:if|when|as long as|even if|once|since|although) [^,?]+|(?:given|assuming|in|with|without"
    rf"|for|under|after|before|during|at) [^,?]+(?=, (?:{AUXILIARIES})\b)), ",
    re.IGNORECASE,
)


@functools.lru_cache(maxsize=1024)
def claims(question: str) -> tuple[str, str]:
    """Return (pro, con), the assertions of both sides of a question, a motion or a claim.

    "Is golf a sport?" gives "Golf is a sport." and "Golf is not a sport."; of two alternatives the
    first is pro's. A question that cannot be parsed safely is followed by "Yes." and "No."; a text
    without a question follows "Yes: " and "No: ".
    """
    line = " ".join(question.split())
    context, line = _TOLD.match(line), plain(line, VERBS)
    if context and "?" in line:
        return _after(context[1], context[2])
    core = re.sub(r",? or not$", "", _SIGNS.sub("", line), flags=re.IGNORECASE)
    if named := matter(core):
        return _good_or_bad(*named)
    if "?" in line and (choice := _ALTERNATIVE.search(core)):
        return _of_alternatives(core, choice) or _unsure(line)
    if both := rivals(core, VERBS):
        pros = [claims(rival if rival.endswith(".") else f"{rival}?")[0] for rival in both]
        if all(map(is_plain, pros)) and pros[0].lower() != pros[1].lower():
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


def _after(before: str, question: str) -> tuple[str, str]:
    """Read a question after other sentences, which are kept if the question refers to them."""
    pair = claims(question)
    if not is_plain(pair[0]):  # "Is that legal?"
        short = re.sub(r"^(\S+) th(?:at|is)\b", r"\1 it", question)
        pair = claims(re.sub(r"^(\S+) th(?:ese|ose)\b", r"\1 they", short))
    if not is_plain(pair[0]):
        return _unsure(f"{before} {question}")
    if _EXPLETIVE.match(question) or not _POINTS.match(question):
        return pair
    return f"{before} {pair[0]}", f"{before} {pair[1]}"


def _good_or_bad(matter: str, good: bool = True) -> tuple[str, str]:
    stem = gerund[1].lower() if (gerund := re.match(r"(\w+)ing ", matter)) else ""
    act = not VERBS.isdisjoint((stem, f"{stem}e", stem[:-1]))  # "banning fireworks is"
    verb = "are" if re.search(r"[^su]s$", matter) and not act else "is"
    pair = sentence(matter, verb, "a good thing"), sentence(matter, verb, "a bad thing")
    return pair if good else pair[::-1]


def _is_noun(core: str, line: str) -> bool:
    """Return whether a short line only names a topic: "Death penalty"."""
    words = core.lower().split(" ")
    excluded = FINITE | SUBORDINATE | {"ought", "who", "why", "how", "what", "which", "or"}
    excluded |= VERBS if words[0] not in ("a", "an", "the") else set()
    bare = all(word.strip("'’-").isalpha() for word in words) and not line.endswith(".")
    if not bare or len(words) > 6 or not excluded.isdisjoint(words) or words[0] in PRONOUNS:
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
        return pro, sentence("It is not true that", lowered(pro.rstrip(".")))
    if first in ("Anyone", "Anybody") and " not " in con:
        free = rest.split(" ", 1)[0] in MODALS  # "Anybody may": all may
        return pro if free else f"Some{first[3:]} {rest}", f"Nobody {rest}"
    if pro.startswith("There is such a "):
        return pro, pro.replace(" such a ", " no such ", 1)
    if thing := _THERE.match(pro):
        return pro, f"{thing[0]}no {pro[thing.end() :]}"
    some = re.match(r"There (is|are) any ", pro)
    if some:
        tail = pro[some.end() :]
        return f"There {some[1]} some {tail}", f"There {some[1]} no {tail}"
    return pro, con


def _claims(core: str, line: str) -> tuple[str, str] | None:
    words = core.split(" ")
    claim = _OPINION.sub("", core)
    opens = words[0].lower() in MODALS | BE | DO | {"ought"}
    asks = claim == core and ("?" in line or opens)
    if "?" in core or "the fact that" in core:
        return None
    pair = from_question(words) if asks else from_statement(claim.split(" "))
    if pair is None and claim != core:
        if holds_a_verb(claim.lower().split(" ")):
            return sentence(claim), sentence("It is not true that", lowered(claim))
        if words[0].lower() == "do":
            return from_question(words)  # "Do you feel safe?": no claim of its own
    return pair


def _of_alternatives(core: str, choice: re.Match[str]) -> tuple[str, str] | None:
    """Return what two opposites assert: "Is it good or bad?" gives "It is good." and its rival."""
    before, after = core[: choice.start()], core[choice.end() :]
    pro = _claims(before + after, "?")
    head = before.rsplit(" ", 1)[0]
    con = _claims(f"{head} {choice[1].lower()}{after}", "?")
    return (pro[0], con[0]) if pro and con else None


def _under(condition: str, pair: tuple[str, str], core: str) -> tuple[str, str]:
    """Put the condition before both claims; these start in lower case if their subject does."""
    first = pair[0].split(" ", 1)[0]
    small = f" {first.lower()} " in core
    pro, con = (claim[:1].lower() + claim[1:] if small else lowered(claim) for claim in pair)
    condition = condition[:1].upper() + condition[1:]
    return f"{condition}, {pro}", f"{condition}, {con}"


_YES, _NO = "? Yes.", "? No."


def is_plain(claim: str) -> bool:
    """Return whether a claim is an ordinary sentence, not a question with its answer."""
    return not claim.startswith(("Yes: ", "No: ")) and not claim.endswith((_YES, _NO))


def opposite(claim: str) -> str | None:
    """Return the negation of a claim, or None if no rule gives one."""
    pro, con = claims(claim)
    bare = pro.endswith(("a good thing.", "a bad thing.")) and " thing" not in claim
    return con if is_plain(pro) and not bare else None  # a matter alone has no negation


_OPENS_CLAUSE = RELATIVE | word_set("what why how because while although whether than as since")
"""Words after which an auxiliary may belong to another clause: "What the UN should do is ..."."""
_PREPOSITIONS = word_set("of for in on to by with from at as and or")


_ENDING = re.compile(r"(?:(?<![\s!.…])(?<!\b[A-Z])|(?<=\b[A-Z][\s!.…]))[\s!.…]++$")
"""Punctuation at the end of a claim, except the full stop of "the U.S."; the match starts at the
start of the run, so that no run is scanned twice."""


def question_from(claim: str) -> str | None:
    """Return the yes-no question to which a claim is the answer yes; None if that is uncertain."""
    line = " ".join(claim.split())
    if line.endswith("?"):
        return line
    core = _OPINION.sub("", _ENDING.sub("", line))
    core = re.sub(r"^(this|the) house (would|should) ", "We should ", core, flags=re.IGNORECASE)
    words = core.split(" ")
    lower = [word.lower().replace("’", "'") for word in words]
    if {"not", "never", *NEGATED, *"?;:"}.intersection([*lower, *core]):
        return None
    if any(a in ("and", "or", "but") and b in FINITE for a, b in pairwise(lower)):
        return None  # two predicates, and the question would ask for only one
    order = _moved_to_front(words, lower)
    if order is None:
        return None
    question = " ".join(order) + "?"
    return question if claims(question)[0].lower() == claims(core)[0].lower() else None


def _moved_to_front(words: list[str], lower: list[str]) -> list[str] | None:
    """Return the words with their auxiliary, or a form of "do", in front of the subject."""
    for begins in (_is_modal, _is_auxiliary):
        position = next((i for i in range(1, len(words) - 1) if begins(lower, i)), None)
        if position is not None:
            if _OPENS_CLAUSE.intersection(lower[:position]):
                return None
            subject = lowered(" ".join(words[:position]))
            return [words[position].title(), subject, *words[position + 1 :]]
    places = [i for i, word in enumerate(lower) if _base(word)]
    if len(places) != 1 or lower[places[0]] in BE | DO | HAVE | {"be"} or len(words) < 2:
        return None  # "Drug use harms people": which of the two is the verb?
    position = places[0]
    if position == 0:
        order = lower[0] in VERBS and lower[1] not in _PREPOSITIONS
        return ["Should we", lower[0], *words[1:]] if order else None
    plural = re.search(r"[^su]s$|^(we|you|they|people|men|women|children)$", lower[position - 1])
    third = lower[position] not in VERBS
    if _OPENS_CLAUSE.intersection(lower[:position]) or not (third or plural):
        return None
    return [
        "Does" if third else "Do",
        lowered(" ".join(words[:position])),
        *[_base(lower[position]), *words[position + 1 :]],
    ]


def _is_modal(lower: list[str], position: int) -> bool:
    return lower[position] in MODALS


def _is_auxiliary(lower: list[str], position: int) -> bool:
    return lower[position] in BE or (lower[position] in HAVE and is_participle(lower, position + 1))


def _base(word: str) -> str:
    """Return the listed verb that a word is a form of, or an empty string."""
    if word in VERBS:
        return word
    return next((verb for verb in VERBS if third_person(verb) == word), "")


def _unsure(line: str) -> tuple[str, str]:
    question = _SIGNS.sub("", line) if line.endswith("?") else ""
    if question:
        question = question[:1].upper() + question[1:]
        return question + _YES, question + _NO
    return f"Yes: {line}".strip(), f"No: {line}".strip()
