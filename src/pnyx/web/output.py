"""Files made from the archive: passages for each question, the pages, a manifest."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from pnyx.corpora.evidence import write_jsonl
from pnyx.corpora.search_results import QuestionResults, SearchResult
from pnyx.corpora.split import split_evidence
from pnyx.files import atomic_folder, atomic_text, json_line
from pnyx.records import Document
from pnyx.web.archive import PAGE_FIELDS, Archive
from pnyx.web.fetch import addresses
from pnyx.web.outcomes import OUTCOMES, TEXT, Fetched

__all__ = ["write_pages", "write_passages"]

_LONGEST_PREFIX = 64
_FETCHED = (TEXT, "no_text", "unreadable")


def write_passages(
    folder: Path,
    archive: Archive,
    found: Sequence[QuestionResults],
    words: int,
    sentences: bool,
) -> dict[str, dict[str, Any]]:
    """Write `passages/` with a file for each question that has any, all of them or none.

    Returns question id -> `file` (None where it has no passage), `results`, `pages`, `repeated`
    (pages that are another result's again) and `passages`.
    """
    counts: dict[str, dict[str, Any]] = {}
    with atomic_folder(folder / "passages", replace=True) as temporary:
        for number, asked in enumerate(found, start=1):
            name = f"{number:04d}-{_slug(asked.question_id)}.jsonl"
            count: Counter[str] = Counter()
            documents = _documents(asked, archive, count)
            with (temporary / name).open("w", encoding="utf-8", newline="\n") as stream:
                for passage in split_evidence(documents, words, sentences=sentences):
                    write_jsonl(stream, [passage])
                    count["passages"] += 1
            if not count["passages"]:  # an empty file is no corpus
                (temporary / name).unlink()
            counts[asked.question_id] = {
                "file": f"passages/{name}" if count["passages"] else None,
                "results": len(asked.results),
                **{what: count[what] for what in ("pages", "repeated", "passages")},
            }
    return counts


def write_pages(path: Path, archive: Archive, found: Sequence[QuestionResults]) -> dict[str, int]:
    """Write the outcome of each page, one a line, and count `asked`, `fetched` and outcomes."""
    counts = Counter[str]()
    with atomic_text(path) as stream:
        for url in addresses(result.url for asked in found for result in asked.results):
            page = archive.page(url)
            if page is not None:
                counts[page.outcome] += 1
                row = {name: getattr(page, name) for name in PAGE_FIELDS}
                stream.write(json_line(row) + "\n")
    fetched = sum(counts[outcome] for outcome in _FETCHED)
    outcomes = {outcome: counts[outcome] for outcome in OUTCOMES if counts[outcome]}
    return {"asked": counts.total(), "fetched": fetched, TEXT: 0, **outcomes}


def _documents(asked: QuestionResults, archive: Archive, count: Counter[str]) -> Iterator[Document]:
    """Yield the pages of a question that have text, each text once."""
    seen: set[bytes] = set()
    for result in asked.results:
        (url,) = addresses([result.url])
        page = archive.page(url, text=True)
        if page is None or page.outcome != TEXT:
            continue
        key = hashlib.blake2b(page.text.encode(), digest_size=16).digest()
        if key in seen:
            count["repeated"] += 1
            continue
        seen.add(key)
        count["pages"] += 1
        yield _document(asked.question_id, result, page)


def _prefix(question_id: str) -> str:
    """Return what the ids of a question's documents begin with; runs hold no id with a blank."""
    if len(question_id) <= _LONGEST_PREFIX and not re.search(r"\s", question_id):
        return question_id
    digest = hashlib.blake2b(question_id.encode("utf-8", "replace"), digest_size=4).hexdigest()
    return f"{_slug(question_id)[:40].rstrip('.-')}-{digest}"


def _document(question_id: str, result: SearchResult, page: Fetched) -> Document:
    return Document(
        id=f"{_prefix(question_id)}/{result.rank}",
        text=page.text,
        title=page.title or result.title,
        url=page.final_url,
        source=urlsplit(page.final_url).hostname or "",
        extra={
            "question_id": question_id,
            "rank": result.rank,
            "retrieved_at": page.retrieved_at,
        },
    )


def _slug(identifier: str) -> str:
    return re.sub(r"[^A-Za-z0-9._-]+", "-", identifier)[:60].strip(".-") or "question"
