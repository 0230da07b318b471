"""Sentences and passages of running text, verbatim; lengths; texts cut to a number of words."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any, Final, Literal, TypeAlias

from pnyx.core.errors import InputError, shorten
from pnyx.core.records import Argument, Document, Evidence

_LONE_SURROGATE = re.compile("[\ud800-\udfff]")

_PIECE = 20_000
"""Longest stretch passed to the segmenter; a longer one is a hostile or broken text."""

_WORD = re.compile(r"\S{1,64}")
"""A longer run of characters counts as several words."""

_LETTERS_PER_WORD = 8


def split_sentences(text: str, language: str = "en") -> list[str]:
    """Split text into its sentences (ISO 639-1 rules), verbatim and without outer white space."""
    from sentencex import segment

    sentences: list[str] = []
    for paragraph in text.split("\n"):
        for start in range(0, len(paragraph), _PIECE):
            piece = paragraph[start : start + _PIECE]
            # The segmenter rejects lone surrogates; each is replaced by one character.
            whole, at = _LONE_SURROGATE.sub("\ufffd", piece), 0
            for sentence in segment(language, whole):
                at = whole.index(sentence, at) + len(sentence)
                sentences.append(piece[at - len(sentence) : at].strip())
    return [s for s in sentences if s]


def split_words(text: str, words: int) -> list[str]:
    """Cut text into passages of `words` words (at most 64 characters each), the last shorter."""
    if words < 1:
        raise ValueError(f"the number of words is {words}, expected at least 1")
    spans = [match.span() for match in _WORD.finditer(text)]
    pieces = [spans[start : start + words] for start in range(0, len(spans), words)]
    return [text[piece[0][0] : piece[-1][1]] for piece in pieces]


def split_passages(text: str, words: int, *, sentences: bool = False) -> list[str]:
    """Cut text into passages of at most `words` words, optionally between `sentences` that fit."""
    if not sentences:
        return split_words(text, words)
    passages: list[str] = []
    start = end = count = 0
    for sentence in split_sentences(text):
        begin = text.index(sentence, end)
        pieces = split_words(sentence, 1)
        if count + len(pieces) > words:
            passages += [text[start:end]] if count else []
            count = 0
        if len(pieces) > words:
            passages += split_words(sentence, words)
        else:
            start = start if count else begin
            count += len(pieces)
        end = begin + len(sentence)
    return [*passages, text[start:end]] if count else passages


def split_evidence(
    records: Iterable[Evidence], words: int = 100, *, sentences: bool = False
) -> Iterator[Document]:
    """Yield the passages of each record, in order, one record in memory at a time.

    A passage is called `ID#0`, `ID#1` ... and keeps title, url, source and unknown fields; `origin`
    holds the record's id and `passage` the number. Passages of an argument keep its topic and
    stance as fields, its conclusion as title; it is in each once, in the title or in the text.

    Args:
        records: documents or arguments.
        words: maximum words of a passage, at least 1.
        sentences: cut only between sentences, if they are not longer than a passage.

    Raises:
        InputError: a record has a field of its own named `origin` or `passage`.
        ValueError: `words` is below 1.
    """
    for record in records:
        extra = _extra(record)
        text = _running_text(record)
        for number, passage in enumerate(split_passages(text, words, sentences=sentences)):
            repeated = isinstance(record, Argument) and record.conclusion.strip() in passage
            yield Document(
                id=f"{record.id}#{number}",
                text=passage,
                title="" if repeated else record.title,
                url=record.url,
                source=record.source,
                extra={**extra, "origin": record.id, "passage": number},
            )


def _running_text(record: Evidence) -> str:
    """Return the text to cut: for an argument, the text after its conclusion, if any."""
    if not isinstance(record, Argument):
        return record.text
    conclusion, body = record.conclusion.strip(), (record.body or "").strip()
    if record.body is None:
        rest = replace(record, conclusion="").text
    else:
        conclusion_match = (
            re.match(re.escape(conclusion) + r"(?!\w)[.:!?…]*", body) if conclusion else None
        )
        rest = body[conclusion_match.end() :] if conclusion_match else body
    return rest if rest.strip() else record.text


def _extra(record: Evidence) -> dict[str, Any]:
    extra = dict(record.extra)
    if record.id == f"{extra.get('origin')}#{extra.get('passage')}":  # a passage that is cut again
        del extra["origin"], extra["passage"]
    clash = sorted({"origin", "passage"} & set(extra))
    if clash:
        name = shorten(record.id)
        raise InputError(
            f"{name!r} has a field {clash[0]}, which is reserved for the origin of a passage"
        )
    if isinstance(record, Argument):
        extra |= {k: v for k in ("topic", "stance") if (v := getattr(record, k))}
    return extra


def word_weight(text: str) -> int:
    """Count the words of a text; a long word counts as several."""
    return sum(map(_one, text.split()))


def _one(word: str) -> int:
    return 1 + len(word) // _LETTERS_PER_WORD


def trim(text: str, words: int) -> str:
    """Return the first `words` words (see `word_weight`), with ` …` if anything is lost."""
    trimmed: list[str] = []
    left = words
    for word in text.split():
        left -= _one(word)
        if left < 0:
            if not trimmed:
                trimmed.append(word[: words * _LETTERS_PER_WORD])
            return " ".join(trimmed) + " …"
        trimmed.append(word)
    return " ".join(trimmed)


def named_words(text: str) -> frozenset[str]:
    """Return the numbers of a text, and its capitalised words except the first."""
    words = re.findall(r"\w+", text)
    return frozenset(
        word
        for position, word in enumerate(words)
        if any(c.isdigit() for c in word) or (position and word[:1].isupper())
    )


# Lengths as evaluation campaigns count them -------------------------------------------------------

LengthUnit: TypeAlias = Literal["words", "nfkc-words", "chars"]
"""Words between white space, the same after NFKC, or characters after NFKC."""

UNITS: Final[dict[LengthUnit, str]] = {
    "words": "words",
    "nfkc-words": "words",
    "chars": "characters",
}
"""Names of units in messages."""


def count_length(texts: Iterable[str], unit: LengthUnit) -> int:
    """Return the length of sentences in words, or in characters after NFKC as in RAGTIME."""
    joined = " ".join(texts)
    if unit != "words":
        joined = unicodedata.normalize("NFKC", joined)
    return len(joined) if unit == "chars" else len(joined.split())
