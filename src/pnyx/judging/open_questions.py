"""Questions without two sides, as yes or no cannot answer them: "How many flats were built?".

In doubt, a question counts as a yes/no question; docs/explain/decisions/questions.md says why.
"""

from __future__ import annotations

import re
from typing import Final

from pnyx.core.errors import shorten

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
