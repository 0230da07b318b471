"""A corpus for each question from the results of a web search (BERDS, 4.2).

    OUT/archive.sqlite     what was searched and fetched, each committed before it is used
    OUT/results.jsonl      the results of the searches, for reuse
    OUT/pages.jsonl        the outcome of each page
    OUT/passages/*.jsonl   one file for each question: what `pnyx index` reads
    OUT/manifest.json      counts, settings and which file is for which question

Everything else is rebuilt from the archive on each run.
"""

from __future__ import annotations

import hashlib
import platform
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from pnyx._version import __version__
from pnyx.core.errors import InputError, shorten
from pnyx.core.files import atomic_folder, atomic_text, json_line, own_folder, write_json
from pnyx.core.records import Document, Question
from pnyx.crawl.addresses import FetchPolicy, Network
from pnyx.crawl.archive import PAGE_FIELDS, Archive
from pnyx.crawl.fetch import Fetcher, FetchLimits, addresses, agent_of, fetch_all, require_robots
from pnyx.crawl.fetch_result import OUTCOMES, TEXT, now
from pnyx.crawl.search import SearchApi, Searched, look_up, search_all
from pnyx.formats.documents.evidence import write_jsonl
from pnyx.formats.runs.search_results import QuestionResults, write_search_results
from pnyx.formats.text.pages import extractor_name
from pnyx.formats.text.segment import split_evidence
from pnyx.models.http.flow import run_blocking

_LONGEST_PREFIX = 64
_FETCHED = (TEXT, "no_text", "unreadable")

ARCHIVE = "archive.sqlite"
Report = Callable[[int, int, str], None]


def write_passages(
    folder: Path,
    archive: Archive,
    searches: Sequence[QuestionResults],
    words: int,
    sentences: bool,
) -> dict[str, dict[str, Any]]:
    """Write `passages/`, all or nothing; return question id -> `file`, counts and `repeated`."""
    counts: dict[str, dict[str, Any]] = {}
    with atomic_folder(folder / "passages", replace=True) as temporary:
        for number, search in enumerate(searches, start=1):
            name = f"{number:04d}-{_slug(search.question_id)}.jsonl"
            count: Counter[str] = Counter()
            documents = _documents(search, archive, count)
            with (temporary / name).open("w", encoding="utf-8", newline="\n") as stream:
                for passage in split_evidence(documents, words, sentences=sentences):
                    write_jsonl(stream, [passage])
                    count["passages"] += 1
            if not count["passages"]:  # an empty file is no corpus
                (temporary / name).unlink()
            counts[search.question_id] = {
                "file": f"passages/{name}" if count["passages"] else None,
                "results": len(search.results),
                **{what: count[what] for what in ("pages", "repeated", "passages")},
            }
    return counts


def write_pages(
    path: Path, archive: Archive, searches: Sequence[QuestionResults]
) -> dict[str, int]:
    """Write the outcome of each page, one a line, and count `asked`, `fetched` and outcomes."""
    counts = Counter[str]()
    with atomic_text(path) as stream:
        for url in addresses(result.url for search in searches for result in search.results):
            page = archive.page(url)
            if page is not None:
                counts[page.outcome] += 1
                row = {name: getattr(page, name) for name in PAGE_FIELDS}
                stream.write(json_line(row) + "\n")
    fetched = sum(counts[outcome] for outcome in _FETCHED)
    outcomes = {outcome: counts[outcome] for outcome in OUTCOMES if counts[outcome]}
    return {"asked": counts.total(), "fetched": fetched, TEXT: 0, **outcomes}


def _documents(
    search: QuestionResults, archive: Archive, count: Counter[str]
) -> Iterator[Document]:
    """Yield the pages of a question that have text, each text once."""
    seen: set[bytes] = set()
    for result in search.results:
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
        yield Document(
            id=f"{_prefix(search.question_id)}/{result.rank}",
            text=page.text,
            title=page.title or result.title,
            url=page.final_url,
            source=urlsplit(page.final_url).hostname or "",
            extra={
                "question_id": search.question_id,
                "rank": result.rank,
                "retrieved_at": page.retrieved_at,
            },
        )


def _prefix(question_id: str) -> str:
    """Return the prefix of the ids of a question's documents; ids in runs cannot contain spaces."""
    if len(question_id) <= _LONGEST_PREFIX and not re.search(r"\s", question_id):
        return question_id
    digest = hashlib.blake2b(question_id.encode("utf-8", "replace"), digest_size=4).hexdigest()
    return f"{_slug(question_id)[:40].rstrip('.-')}-{digest}"


def _slug(identifier: str) -> str:
    return re.sub(r"[^A-Za-z0-9._-]+", "-", identifier)[:60].strip(".-") or "question"


@dataclass(frozen=True, slots=True)
class WebPlan:
    """How a corpus is made from the web.

    Attributes:
        contact: e-mail address or web page of the person who fetches; sent to the sites.
        results: results of each search that are fetched, at least 1.
        words: the most words of a passage, at least 1.
        sentences: whether passages end at sentence boundaries.
        limits: how far a page is followed.
        private: networks to fetch from although they are not public. Dangerous.
        retry: whether to retry pages with transient failures.
    """

    contact: str
    results: int = 10
    words: int = 100
    sentences: bool = False
    limits: FetchLimits = field(default_factory=FetchLimits)
    private: tuple[Network, ...] = ()
    retry: bool = False


@dataclass(frozen=True, slots=True)
class WebCorpus:
    """A corpus: its folder, and what its manifest.json says."""

    path: Path
    manifest: Mapping[str, Any]

    @property
    def complete(self) -> bool:
        """Whether every question was searched for, and every page has its text."""
        counts = self.manifest["counts"]
        pages = counts["pages"]
        return bool(counts["searched"] == counts["questions"] and pages["text"] == pages["asked"])


def build_web_corpus(
    questions: Iterable[Question],
    out: str | Path,
    search: SearchApi | Mapping[str, QuestionResults],
    plan: WebPlan,
    on_progress: Report = lambda _done, _of, _word: None,
) -> WebCorpus:
    """Search for each question, fetch the results, and split their text into passages.

    Searches and pages that are already in the folder are not requested again, even if an earlier
    run was interrupted.

    Args:
        questions: with distinct ids.
        out: the folder; new, empty, or one that this function made.
        search: what to search with, or results: question id -> results.
        plan: how.
        on_progress: called with the steps done, their total, and the current step.

    Raises:
        InputError: the folder holds something else, the contact is invalid, or a question comes
            twice.
        MissingExtra: the reader of web pages is not installed.
        PnyxError: the search API stops answering, or the folder cannot be written; earlier searches
            and fetches are kept.
    """
    settings = {
        **fetch_settings(plan),
        "words": plan.words,
        "sentences": plan.sentences,
    }
    distinct = _distinct(questions)
    folder = own_folder(out, {ARCHIVE}, "a corpus of pnyx files web")
    started = now()
    searched = Searched()
    with Archive(folder / ARCHIVE) as archive:
        try:
            if isinstance(search, Mapping):
                look_up(distinct, search, plan.results, searched)
            else:
                wanted = (distinct, search, archive, plan.results, searched, on_progress)
                run_blocking(lambda: search_all(*wanted))
        finally:
            results = [searched.results[q.id] for q in distinct if q.id in searched.results]
            if results:
                with atomic_text(folder / "results.jsonl") as stream:
                    write_search_results(stream, results)
        fetched = run_blocking(lambda: _fetch(results, archive, plan, on_progress))
        files = write_passages(folder, archive, results, plan.words, plan.sentences)
        pages = write_pages(folder / "pages.jsonl", archive, results)
    manifest = {
        "format": "pnyx-web-corpus",
        "format_version": 1,
        "pnyx": __version__,
        "python": platform.python_version(),
        "settings": settings,
        "counts": {"questions": len(distinct), **_counts(results, files), "pages": pages},
        "this_run": {"searches": searched.requests, "pages": fetched},
        "not_searched": {topic: shorten(why, 200) for topic, why in searched.failed.items()},
        "questions": files,
        "started": started,
        "finished": now(),
    }
    write_json(folder / "manifest.json", manifest)
    return WebCorpus(folder, manifest)


def _counts(
    searches: Sequence[QuestionResults], files: Mapping[str, Mapping[str, Any]]
) -> dict[str, int]:
    return {
        "searched": len(searches),
        "results": sum(len(search.results) for search in searches),
        "repeated": sum(count["repeated"] for count in files.values()),
        "passages": sum(count["passages"] for count in files.values()),
    }


async def _fetch(
    searches: Sequence[QuestionResults], archive: Archive, plan: WebPlan, on_progress: Report
) -> int:
    fetcher = Fetcher(plan.contact, archive, FetchPolicy(plan.private), plan.limits)
    urls = addresses(result.url for search in searches for result in search.results)
    return await fetch_all(urls, fetcher, archive, on_progress, retry=plan.retry)


def fetch_settings(plan: WebPlan) -> dict[str, Any]:
    """Return the manifest's entries on search and fetching; MissingExtra without a page reader."""
    require_robots()
    return {
        "agent": agent_of(plan.contact),
        "extractor": extractor_name(),
        "results": plan.results,
        "seconds": plan.limits.seconds,
        "bytes": plan.limits.bytes,
        "redirects": plan.limits.redirects,
        "delay": plan.limits.delay,
        "private": [str(network) for network in plan.private],
    }


def _distinct(questions: Iterable[Question]) -> list[Question]:
    distinct = list(questions)
    seen: set[str] = set()
    for question in distinct:
        if question.id in seen:
            raise InputError(f"duplicate question id {shorten(question.id)!r}")
        seen.add(question.id)
    return distinct
