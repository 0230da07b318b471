"""Documents cut into passages of a fixed number of words, as in BERDS (4.2) and DPR."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from pnyx.corpora.segment import split_sentences, split_words
from pnyx.errors import InputError, shorten
from pnyx.records import Argument, Document, Evidence

__all__ = ["split_evidence", "split_passages"]


def split_passages(text: str, words: int, *, sentences: bool = False) -> list[str]:
    """Cut text into disjoint verbatim passages of at most `words` words.

    Between `sentences` only, if asked; one that is longer than a passage is cut all the same.
    """
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
    stance as fields, its conclusion as title; it counts once in each, in the title or in the text.

    Args:
        records: documents or arguments.
        words: the most words of a passage, at least 1.
        sentences: cut between sentences only, where they are not longer than a passage.

    Raises:
        InputError: a record has a field of its own named `origin` or `passage`.
        ValueError: `words` is below 1.
    """
    for record in records:
        extra = _extra(record)
        text = _running_text(record)
        for number, passage in enumerate(split_passages(text, words, sentences=sentences)):
            yield Document(
                id=f"{record.id}#{number}",
                text=passage,
                title="" if _repeats(record, passage) else record.title,
                url=record.url,
                source=record.source,
                extra={**extra, "origin": record.id, "passage": number},
            )


def _running_text(record: Evidence) -> str:
    """Return what is cut: of an argument what follows its conclusion, if anything does."""
    if not isinstance(record, Argument):
        return record.text
    conclusion, body = record.conclusion.strip(), (record.body or "").strip()
    if record.body is None:
        rest = replace(record, conclusion="").text
    else:
        said = re.match(re.escape(conclusion) + r"(?!\w)[.:!?…]*", body) if conclusion else None
        rest = body[said.end() :] if said else body
    return rest if rest.strip() else record.text


def _repeats(record: Evidence, passage: str) -> bool:
    return isinstance(record, Argument) and record.conclusion.strip() in passage


def _extra(record: Evidence) -> dict[str, Any]:
    extra = dict(record.extra)
    if record.id == f"{extra.get('origin')}#{extra.get('passage')}":  # a passage that is cut again
        del extra["origin"], extra["passage"]
    clash = sorted({"origin", "passage"} & set(extra))
    if clash:
        name = shorten(record.id)
        raise InputError(
            f"{name!r} has a field {clash[0]}, which is to say where a passage is from"
        )
    if isinstance(record, Argument):
        extra |= {k: v for k in ("topic", "stance") if (v := getattr(record, k))}
    return extra
