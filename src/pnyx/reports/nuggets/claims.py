"""Nuggets without a language model: claims quoted from relevant documents.

They are quoted, not understood: a sentence says more, or less, than one fact, and it is not known
which are vital. They serve as a first list for people to edit, with references.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from pnyx.core.errors import InputError, shorten
from pnyx.core.nuggets import Nugget, NuggetBank, NuggetReference
from pnyx.core.records import Evidence, Question, judged_text, md5_of
from pnyx.formats.text.words import clean, words_of
from pnyx.judging.llm.concurrent import Progress
from pnyx.judging.passages import read_sentences, tokens
from pnyx.models.embed.embedder import Embedder
from pnyx.models.embed.encoder import load_encoder
from pnyx.reports.nuggets.model_banks import MOST_NUGGETS, DraftedBank, NuggetSource

SAME_FROM = 0.8
"""Minimum cosine of two sentences that count as one claim (docs/lab/nuggets.md)."""

_SHORTEST, _LONGEST = 6, 40
EXTRACTING = (
    f"sentences of {_SHORTEST} to {_LONGEST} words from the relevant documents, those of a cosine "
    f"of {SAME_FROM} or more as one; most documents first, then closest to the topic"
)
"""The rule in words."""

_HIDDEN = "a sentence of its documents, left out (no_text):"
_IN_A_ROW = 8
"""Minimum length of a run of a document's words that is a quotation, unlike names and figures."""

_WHOLE = re.compile(r"[^\W_a-z].*[.!。！]['\"”’)]*", re.DOTALL)
"""Begins with a capital, a number or a script without case, and ends like an assertion."""
_LEANS = re.compile(
    r"(he|she|it|they|this|these|those|that|such|his|her|its|their|but|however|and|so|thus|also|"
    r"then|therefore|moreover|furthermore|meanwhile|here|there|we|our|you|your|i|my)\b",
    re.IGNORECASE,
)
"""Opening of a sentence that depends on the one before it."""


def extract_banks(
    sources: Sequence[NuggetSource],
    *,
    embedder: Embedder | None = None,
    most: int = MOST_NUGGETS,
    on_done: Progress | None = None,
) -> list[DraftedBank]:
    """Extract a bank of claims for each topic, in order, by `EXTRACTING`; importance is left empty.

    Args:
        sources: topics with their relevant documents.
        embedder: finds sentences that say the same; the packaged one by default.
        most: maximum claims per topic, at least 1.
        on_done: called with each topic that is done.
    """
    model = embedder or load_encoder()
    drafts = []
    for number, source in enumerate(sources, 1):
        drafts.append(_extract(source, model, most))
        if on_done is not None:
            on_done(number, len(sources), "extracting")
    return drafts


def _extract(source: NuggetSource, embedder: Embedder, most: int) -> DraftedBank:
    where: dict[str, dict[str, None]] = {}
    for document in source.documents:
        for sentence in _claims(judged_text(document)):
            where.setdefault(sentence, {})[document.id] = None
    sentences = list(where)
    problems = [] if sentences else ["no sentence of a relevant document makes sense on its own"]
    nuggets = _grouped(sentences, where, source.topic, embedder)[:most] if sentences else []
    claims = tuple(
        Nugget(md5_of(text), text, is_claim=True, references=tuple(map(NuggetReference, ids)))
        for text, ids in nuggets
    )
    bank = NuggetBank(source.topic.id, claims, title=source.topic.text)
    return DraftedBank(bank, tuple(problems))


def _claims(text: str) -> Iterator[str]:
    """Yield the sentences that make sense on their own."""
    for sentence in read_sentences(text):
        line = clean(sentence)
        count = len(words_of(line))
        if _SHORTEST <= count <= _LONGEST and _WHOLE.fullmatch(line) and not _LEANS.match(line):
            yield line


def _grouped(
    sentences: Sequence[str],
    where: dict[str, dict[str, None]],
    topic: Question,
    embedder: Embedder,
) -> list[tuple[str, list[str]]]:
    """Return each distinct claim with all documents that state it in similar words, best first."""
    about = " ".join(filter(None, (topic.text, topic.description)))
    vectors: npt.NDArray[np.float32] = embedder.encode([*sentences, about])
    near = vectors[:-1] @ vectors[-1]
    representatives: list[int] = []
    documents: list[dict[str, None]] = []
    for index in np.argsort(-near, kind="stable").tolist():
        cosines = vectors[representatives] @ vectors[index] if representatives else np.zeros(1)
        best = int(cosines.argmax())
        if representatives and cosines[best] >= SAME_FROM:
            documents[best].update(where[sentences[index]])
        else:
            representatives.append(index)
            documents.append(dict(where[sentences[index]]))
    order = sorted(range(len(representatives)), key=lambda i: -len(documents[i]))
    return [(sentences[representatives[i]], list(documents[i])) for i in order]


# Restricted mode ----------------------------------------------------------------------------------


def hidden_claims(bank: NuggetBank) -> NuggetBank:
    """Return an extracted bank without its sentences; a claim's id, a hash, identifies it."""
    hidden = (replace(nugget, text=f"{_HIDDEN} {nugget.id}") for nugget in bank.nuggets)
    return replace(bank, nuggets=tuple(hidden))


def restored_claims(bank: NuggetBank, documents: Mapping[str, Evidence | None]) -> NuggetBank:
    """Return a bank with the sentences of these documents that `hidden_claims` left out."""
    if not any(nugget.text.startswith(_HIDDEN) for nugget in bank.nuggets):
        return bank
    named = {r.doc_id for nugget in bank.nuggets for r in nugget.references}
    texts = (documents.get(doc_id) for doc_id in sorted(named))
    texts_by_hash = {
        md5_of(line): line for text in texts if text for line in _claims(judged_text(text))
    }
    return replace(
        bank,
        nuggets=tuple(_restored(nugget, bank.topic_id, texts_by_hash) for nugget in bank.nuggets),
    )


def _restored(nugget: Nugget, topic_id: str, texts_by_hash: Mapping[str, str]) -> Nugget:
    if not nugget.text.startswith(_HIDDEN):
        return nugget
    if nugget.id not in texts_by_hash:
        where = f"nugget {shorten(nugget.id, 40)!r} of topic {shorten(topic_id, 40)!r}"
        raise InputError(f"{where}: its sentence was left out and is in none of the documents")
    return replace(nugget, text=texts_by_hash[nugget.id])


def without_quotations(drafted: DraftedBank, documents: Sequence[Evidence]) -> DraftedBank:
    """Return a drafted bank without nuggets that quote eight words in a row from a document."""
    document_runs = {run for document in documents for run in _in_a_row(judged_text(document))}
    nuggets = tuple(
        nugget
        for nugget in drafted.bank.nuggets
        if not any(
            document_runs & set(_in_a_row(text))
            for text in (nugget.text, *(a.text for a in nugget.answers))
        )
    )
    quoting = len(drafted.bank.nuggets) - len(nuggets)
    problems = [f"{quoting} nuggets quote a document and are left out (no_text)"] if quoting else []
    bank = replace(drafted.bank, nuggets=nuggets)
    return replace(drafted, bank=bank, problems=(*drafted.problems, *problems))


def _in_a_row(text: str) -> Iterator[tuple[str, ...]]:
    words = tokens(text)
    return (tuple(words[n : n + _IN_A_ROW]) for n in range(len(words) - _IN_A_ROW + 1))
