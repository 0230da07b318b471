"""The statements of the two sides of a question: the question with "Yes." and with "No.".

Some questions have no two sides ("How many flats were built?"). In doubt, a question counts as a
yes/no question. It is not parsed grammatically: docs/explain/decisions/questions.md.
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from typing import Final

from pnyx.core.errors import shorten
from pnyx.core.records import Question

AUXILIARIES: Final = (
    "is|are|was|were|do|does|did|should|shall|can|could|will|would|must|may|might"
    "|has|have|had|ought"
)
"""Words that start a yes/no question, as a part of a regular expression."""
END_MARKS: Final = " ?!.…"

_WORD = re.compile(r"\w")
_SENTENCE_END = re.compile(r"(?<=[.!?;:]) ")
_OPENS = re.compile(
    r"(?:so |and |but |well |then )?(?:(?:in|at|to|by|from|under|on) )?"
    r"(?P<word>who|whom|whose|what|which|when|where|why|how)(?P<short>['’]s)?(?![\w'’-])",
    re.IGNORECASE,
)
_PROPOSES = re.compile(
    r"(?:so |and |but |well |then )?(?:how about|what about|what if|why not|why do(?:n['’]t| not))"
    r" \w",
    re.IGNORECASE,
)
"""Words that start a proposal, with which one can agree: "How about banning zoos?"."""
_AUXILIARY = re.compile(rf"(?:and \w+ )?(?:{AUXILIARIES})\b", re.IGNORECASE)
_CLAUSE = re.compile(rf", (?:{AUXILIARIES})(?:n['’]t)?\b", re.IGNORECASE)
"""A question after a clause: "When prices rise, should rents be capped?"."""
_TAG = re.compile(
    r", (?:right|no|true|correct|yes|agreed"
    r"|(?:is|are|was|were|do|does|did)n['’]t (?:it|he|she|they|we|that))$",
    re.IGNORECASE,
)
_QUANTITY = re.compile(
    r"(?:much|many|long|often|far|old|big|high|large|fast|likely|come)\b", re.IGNORECASE
)
_FORM = 'ask it as "Should ...?", "Is ...?" or "Does ...?"'


def why_no_sides(question: str) -> str:
    """Return one line on why yes or no cannot answer a question, and what to ask instead; or ""."""
    line = " ".join(question.split())
    if not _WORD.search(line):
        return f"a question without words cannot be answered with yes or no: {_FORM}"
    if not is_open(line):
        return ""
    return f"“{shorten(line, 200)}” cannot be answered with yes or no: {_FORM}"


def is_open(question: str) -> bool:
    """Decide whether a question clearly asks who, what, which, when, where, why or how."""
    sentences = _SENTENCE_END.split(" ".join(question.split()))
    asking = [sentence for sentence in sentences if sentence.rstrip("\"'”’) ").endswith("?")]
    if asking and asking[-1] == sentences[-1]:
        return all(
            _is_open(sentence.rstrip(END_MARKS + "\"'”’)"), asks=True) for sentence in asking
        )
    return len(sentences) == 1 and _is_open(sentences[0].rstrip(END_MARKS), asks=False)


def _is_open(sentence: str, *, asks: bool) -> bool:
    sentence = sentence.lstrip("\"'“‘¿¡(")
    opening = _OPENS.match(sentence)
    if opening is None or _PROPOSES.match(sentence) or _TAG.search(sentence):
        return False
    word, rest = opening["word"].casefold(), sentence[opening.end() :].lstrip()
    if not rest or rest.startswith(","):  # "Why?", "Why, then, do rents rise?"
        return asks
    if _CLAUSE.search(rest) or (" or " in rest and re.search(r"[,:] ", rest)):
        return False  # "Which is better, coal or gas?" names two sides
    inverted = bool(opening["short"]) or _AUXILIARY.match(rest) is not None
    if not asks or word in ("when", "where"):
        counted = word == "how" and _QUANTITY.match(rest) is not None
        return (inverted or counted) and len(sentence.split()) <= 12
    return True


@dataclass(frozen=True, slots=True)
class QuestionSides:
    """The two sides of a question, pro first.

    Attributes:
        statements: the statement of each side, for a judge or a language model.
        names: the names of the sides: "yes" and "no", or the two alternatives.
    """

    statements: tuple[str, str]
    names: tuple[str, str] = ("yes", "no")


_ANSWERS = " Yes.", " No."
_BEGINS_QUESTION = re.compile(
    rf"(?!do not\b|don['’]t\b|(?:may|might|will|must|have|had)\b)(?:{AUXILIARIES})(?:n['’]t)? \w",
    re.IGNORECASE,
)
"""Beginning of a question typed without its question mark; not of an order ("Do not ...")."""
_QUOTED = 'Is it right to say: "{}"?'
"""How a claim becomes a question. Chosen on titles of development debates (243 passages): the right
side is found in 0.827 (AUROC 0.893), with the title itself as the question in 0.802 (0.879):
docs/explain/decisions/questions.md."""
_LONGEST_NAME = 200


@functools.lru_cache(maxsize=1024)
def sides_of(text: str) -> QuestionSides:
    """Return both sides of a question, a motion or a claim.

    "Is golf a sport?" has the statements "Is golf a sport? Yes." and "Is golf a sport? No.", "Cash
    or card?" has "Cash or card? Cash." and "Cash or card? Card.", and the claim "Golf is a sport"
    has 'Is it right to say: "Golf is a sport"? Yes.' and "... No.".
    """
    line = " ".join(text.split())
    if line.endswith(tuple(f"?{answer}" for answer in _ANSWERS)):  # a statement, which is pro's
        question, _, _ = line.rpartition(" ")
        yes, no = (question + answer for answer in _ANSWERS)
        return QuestionSides((yes, no)) if line == yes else QuestionSides((no, yes), ("no", "yes"))
    core = line.rstrip(END_MARKS)
    asks = "?" in line[len(core) :]
    if pair := _alternatives(core, asks=asks):
        first, second = (f"{core}? {name[:1].upper()}{name[1:]}." for name in pair)
        return QuestionSides((first, second), pair)
    if asks or _BEGINS_QUESTION.match(core):
        question = f"{core[:1].upper()}{core[1:]}?"
    else:
        question = _QUOTED.format((core if line.endswith(".") else line).replace('"', "'"))
    return QuestionSides((question + _ANSWERS[0], question + _ANSWERS[1]))


def statements(text: str) -> tuple[str, str]:
    """Return the statements of pro and con on a question, a motion or a claim; see `sides_of`."""
    return sides_of(text).statements


def statements_of(question: Question) -> tuple[str, str]:
    """Return the statements of pro and con: the question's own claims, or else `statements`."""
    return question.claims or statements(question.text)


def side_names(question: Question) -> tuple[str, str]:
    """Return the names of both sides for "the case for": yes and no, or the alternatives."""
    pair = question.claims or sides_of(question.text).names
    first, second = (
        f"“{name}”" if question.claims or name.startswith("to ") or name in _ADJECTIVES else name
        for name in (shorten(name.rstrip(END_MARKS), _LONGEST_NAME) for name in pair)
    )
    return first, second


def opposite(statement: str) -> str:
    """Return the statement of the other side."""
    return statements(statement)[1]


# Two alternatives ---------------------------------------------------------------------------------

_MOST_WORDS = 6  # in one alternative
_NOT_A_THING = frozenset(
    "not more less fewer later both neither nothing else so other others another even whether if"
    " when".split()
)
_OPPOSITES = re.compile(
    r"(?:is|are|was|were) [^,;:?]* (good|right|true|fair|safe|useful|helpful|better) or"
    r" (bad|wrong|false|unfair|dangerous|useless|harmful|worse)\b",
    re.IGNORECASE,
)
_ADJECTIVES = frozenset(re.findall(r"[a-z]{3,}", _OPPOSITES.pattern))
_ARTICLES = frozenset("the a an our your my their".split())
_CHOOSING = (
    "adopt", "build", "buy", "choose", "drive", "fund", "go by", "go to", "invest in", "live in",
    "move to", "pick", "prefer", "ride", "study", "switch to", "take", "travel by", "use", "visit",
    "vote for",
)  # fmt: skip
_VERSUS = re.compile(r" (?:vs\.?|versus) ", re.IGNORECASE)
_WHICH = re.compile(r"(?:which|who|what) ", re.IGNORECASE)
_BETTER_TO = re.compile(
    r"is it (?:better|best|cheaper|healthier|safer|wiser) (?=to )", re.IGNORECASE
)
_REVERSED = frozenset(("the other way round", "the other way around", "vice versa"))


def _alternatives(core: str, *, asks: bool) -> tuple[str, str] | None:
    """Return the two alternatives of a question; None if that is not certain."""
    rivals = _VERSUS.split(core)
    if len(rivals) == 2 and all(0 < len(name.split()) <= 4 for name in rivals):
        return rivals[0], rivals[1]
    parts = core.split(" or ")
    if not asks or len(parts) != 2:
        return None
    if opposites := _OPPOSITES.match(core):  # "Is sugar good or bad for children?"
        return opposites[1], opposites[2]
    pair = _around_or(parts[0].removesuffix(","), parts[1])
    words = [name.casefold().split() for name in pair or ()]
    fit = all(
        0 < len(name_words) <= _MOST_WORDS and name_words[0] not in _NOT_A_THING
        for name_words in words
    )
    return pair if pair and fit and words[0] != words[1] else None


def _around_or(before: str, after: str) -> tuple[str, str] | None:
    """Return the alternatives before and after the "or" of a question."""
    low, last = before.casefold(), after.casefold()
    if compared := _compared(before, after):
        return compared
    if any(mark in before + after for mark in ";?") or "," in after:
        return None
    if _WHICH.match(before):  # "Which is better, coal or gas?"
        head, comma, first = before.replace(":", ",").partition(", ")
        return (first.removeprefix("either "), after) if comma and "," not in first else None
    if _BETTER_TO.match(before) and last.startswith("to "):  # "Is it better to rent or to buy?"
        first = before[len("is it ") :].partition(" ")[2]
        return None if " than " in last else (first, after)
    article = last.split(" ", 1)[0]
    if low.startswith(("should ", "shall ")) and article in _ARTICLES:
        start = low.rfind(f" {article} ")
        head = low[:start] if start > 0 else ""
        chooses = head.endswith(tuple(f" {verb}" for verb in _CHOOSING))
        return (before[start + 1 :], after) if chooses and len(last.split()) <= 4 else None
    few = len(low.split()) == len(last.split()) <= 2  # "Cash or card?"
    named = few and not re.match(rf"(?:{AUXILIARIES})\b", low)
    return (before, after) if named else None


def _compared(before: str, after: str) -> tuple[str, str] | None:
    """Return the two things compared in "Is A better than B, or the other way round?"."""
    verb, _, rest = before.partition(" ")
    things, than, second = rest.partition(" than ")
    words = things.split()
    if verb.casefold() not in ("is", "are") or not than or len(words) < 2:
        return None
    comparative = 2 if words[-2].casefold() in ("more", "less") else 1
    first = " ".join(words[:-comparative])
    again = f"{verb} {second} ".casefold()
    turned = after.casefold() in _REVERSED or f"{after} ".casefold().startswith(again)
    return (first, second) if first and turned else None
