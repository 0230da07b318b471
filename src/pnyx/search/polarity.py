"""Whether two claims on one matter agree, by words that reverse a claim: "ban", "keep", "not".

The words are in `weights/directions.json`; docs/explain/decisions/sides.md reports how reliable
this is.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import Stemmer

MOST = 1_000
"""Maximum characters read from a topic or a question."""

FORM_WORDS = frozenset(
    "a an the this that these those of to in on for be is are was were been being do does did has"
    " have had should would could can may must will shall it there we you they i house believes"
    " believe supports support motion resolved".split()
)
_NEGATIONS = frozenset("not no never cannot nor neither without".split())
_ORDERED = frozenset("than befor over instead rather replac outweigh".split())
"""Stems of words between two things whose order matters."""


def same_words(topic: str, question: str) -> int:
    """Compare topic and question by stems: 1 same, -1 one negates the other, 0 unknown."""
    topic_words, topic_negated = _content(topic)
    question_words, question_negated = _content(question)
    if not topic_words or sorted(topic_words) != sorted(question_words):
        return 0
    if topic_words != question_words and not _ORDERED.isdisjoint(topic_words):
        return 0
    return 1 if topic_negated == question_negated else -1


@functools.lru_cache(maxsize=4096)
def _content(text: str) -> tuple[list[str], bool]:
    words = re.findall(r"\w+(?:['’]\w+)?", text.casefold())
    negative = [w in _NEGATIONS or w.endswith(("n't", "n’t")) for w in words]
    content = [w for w, no in zip(words, negative, strict=True) if not no and w not in FORM_WORDS]
    return _stemmer().stemWords(content), sum(negative) % 2 == 1


@functools.cache
def _stemmer() -> Stemmer.Stemmer:
    import Stemmer

    return Stemmer.Stemmer("english")


def _stem(word: str) -> str:
    """Return a word's stem; a joined phrase (`get_rid`) is a stem already."""
    word = word.removesuffix("'s")
    stem: str = word if "_" in word else _stemmer().stemWord(word)
    return stem


class _Lexicon(NamedTuple):
    """Words of `directions.json`: stem -> 1 or -1; the others unchanged."""

    signs: Mapping[str, int]
    negations: frozenset[str]
    form: frozenset[str]
    phrases: Mapping[str, str]
    antonyms: Sequence[tuple[frozenset[str], frozenset[str]]]


@functools.cache
def _lexicon() -> _Lexicon:
    text = resources.files("pnyx.search").joinpath("weights", "directions.json").read_text("utf-8")
    row = json.loads(text)
    signs = {_stem(word): 1 for word in row["plus"].split()}
    signs |= {_stem(word): -1 for word in row["minus"].split()}
    pairs = [pair.split("/") for pair in row["antonyms"]]
    return _Lexicon(
        signs,
        frozenset(row["negations"].split()),
        frozenset(row["form"].split()),
        row["phrases"],
        [(_stems(first), _stems(other)) for first, other in pairs],
    )


def _stems(words: str) -> frozenset[str]:
    return frozenset(map(_stem, words.split()))


_MOTION = re.compile(
    r"^(resolved:? |(this|the) house,? |th[bwt]{1,3} )((would|should|believes?|supports?) )?"
    r"(that )?"
    r"|^(do you think|is it time to|it is time to) (that )?"
)
_REASON = re.compile(r",? (?:because|unless|since)\b|, for\b")
_CONTRAST = re.compile(r", not [^,;:]*")
_NEXT_CLAUSE = re.compile(r"[,;:] (?:so )?| and | so ")
_MODAL = re.compile(r"\b(?:should|ought|must|has to|have to)\b")
_COMPARED = frozenset("than before over instead_of rather_than replace replaces outweigh".split())
_PASSIVE = "replaced_by"
_NEAR = 4
"""Words on each side of "than" that are compared."""


@functools.cache
def _phrases() -> re.Pattern[str]:
    longest = sorted(_lexicon().phrases, key=len, reverse=True)
    return re.compile(rf"\b(?:{'|'.join(map(re.escape, longest))})\b")


def _tidy(text: str) -> str:
    line = " ".join(text[:MOST].split()).casefold().replace("’", "'")
    line = _MOTION.sub("", line.replace("(junior)", ""))
    line = re.sub(r"\bcan't\b|\bcannot\b", "can not", line)
    return re.sub(r"n't\b", " not", line.replace("won't", "will not"))


def _words(line: str) -> list[str]:
    line = _phrases().sub(lambda match: _lexicon().phrases[match[0]], line)
    line = re.sub(r"\btoo \w+", "excessive", line)
    line = re.sub(r"(?<=\w)-free\b", " without", line)
    return re.findall(r"\w+(?:'\w+)?", line)


def _main_clause(line: str) -> str:
    """Return the clause that asserts: "People suffer, so it must end" is about ending it."""
    if line.endswith("?"):
        return line
    line = _REASON.split(_CONTRAST.sub("", line))[0] or line
    first, *others = _NEXT_CLAUSE.split(line)
    with_modal = [clause for clause in others if _MODAL.search(clause)]
    return with_modal[0] if len(with_modal) == 1 and not _MODAL.search(first) else line


@dataclass(frozen=True, slots=True)
class Reading:
    """A claim or a question reduced to its direction and stems."""

    sign: int  # -1 if an odd number of its words reverse it, else 1
    matter: frozenset[str]  # stems of what it is about
    content: frozenset[str]  # these and the stems of reversing words
    about: str  # `matter` as words
    stems: frozenset[str]  # of all its words
    order: tuple[frozenset[str], ...]  # stems before and after "than"


@functools.lru_cache(maxsize=4096)
def read_claim(text: str) -> Reading:
    """Parse a claim or a question: its first 1,000 characters."""
    lexicon, line = _lexicon(), _tidy(text)
    words = _words(line)
    empty = lexicon.negations | lexicon.form
    content = {word: _stem(word) for word in words if word not in empty}
    about = [word for word, stem in content.items() if stem not in lexicon.signs]
    clause = _words(_main_clause(line))
    sign = -1 if sum(word in lexicon.negations for word in clause) % 2 else 1
    for stem in {content[word] for word in clause if word in content}:
        sign *= lexicon.signs.get(stem, 1)
    return Reading(
        sign,
        frozenset(content[word] for word in about),
        frozenset(content.values()),
        " ".join(about),
        frozenset(map(_stem, words)),
        _order(words, content, about),
    )


def _order(
    words: Sequence[str], content: Mapping[str, str], about: Sequence[str]
) -> tuple[frozenset[str], ...]:
    for position, word in enumerate(words):
        if word in _COMPARED or word == _PASSIVE:
            before = [content[w] for w in words[:position] if w in about][-_NEAR:]
            after = [content[w] for w in words[position + 1 :] if w in about][:_NEAR]
            if before and after:
                pair = frozenset(before), frozenset(after)
                return pair[::-1] if word == _PASSIVE else pair
    return ()


class PolarityMatch(NamedTuple):
    """Whether two claims agree: 1 or -1; how many words are unexplained."""

    agree: int
    unknown: int


def compare(a: Reading, b: Reading) -> PolarityMatch:
    """Compare two claims word by word; more `unknown` stems make `agree` less reliable."""
    agree, explained = a.sign * b.sign, frozenset[str]()
    for first, other in _lexicon().antonyms:
        sides = [(bool(first & r.stems), bool(other & r.stems)) for r in (a, b)]
        if sorted(sides) == [(False, True), (True, False)]:
            agree, explained = -agree, explained | first | other
    if _crossed(a.order, b.order):
        agree = -agree
    unshared = (a.matter - b.content) | (b.matter - a.content)
    return PolarityMatch(agree, len(unshared - explained))


def _crossed(a: Sequence[frozenset[str]], b: Sequence[frozenset[str]]) -> bool:
    """Return whether one names first what the other names second."""
    if not a or not b:
        return False
    return len(a[0] & b[1]) + len(a[1] & b[0]) > len(a[0] & b[0]) + len(a[1] & b[1])


def bare_claim(text: str) -> str:
    """Return a question or a claim without the form of a motion."""
    line = " ".join(text[:MOST].split())
    line = re.sub(r"^(this|the) house,? (would|should) ", "We should ", line, flags=re.I)
    line = re.sub(r"^th[bwt]{1,3} |^(this|the) house (supports|prefers) ", "", line, flags=re.I)
    return line.rstrip("?. ")
