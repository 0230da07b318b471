"""A benchmark of debate pages, written in the layout of ConQRet (docs/reference/formats.md).

Searches and pages are committed to the archive before they are used; everything else is rebuilt
each time.
"""

from __future__ import annotations

import platform
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from pnyx._version import __version__
from pnyx.core.errors import InputError
from pnyx.core.files import atomic_text, json_line, own_folder, write_json
from pnyx.core.placement import placed_together
from pnyx.core.records import Debate, Document
from pnyx.formats.conqret import (
    SPLITS,
    ConqretTopic,
    Split,
    topic_qrels,
    write_qrels,
    write_queries,
)
from pnyx.formats.debates import write_debates
from pnyx.formats.documents.evidence import write_jsonl
from pnyx.formats.runs.search_results import write_search_results
from pnyx_build.debates.judged_pairs import (
    GatheredSource,
    gather_sources,
    judge_pairs,
    split_topics,
)
from pnyx_build.debates.source_texts import FoundSource, Report, Search, fetch_sources
from pnyx_build.debates.statistics import lengths_of, statistics_of
from pnyx_crawl.archive import Archive
from pnyx_crawl.corpus import ARCHIVE, WebPlan, fetch_settings
from pnyx_crawl.fetch_result import TEXT, now
from pnyx_crawl.search import Searched

_MANIFEST = "manifest.json"


@dataclass(frozen=True, slots=True)
class DebatesPlan:
    """How a benchmark is made from debates.

    Attributes:
        train: share of the topics in the train split, in (0, 1]; ConQRet: 0.7.
        seed: of the split, and of the draw of irrelevant documents.
        web: how sources are searched and fetched; None: a document is only a source's title.
    """

    train: float = 0.7
    seed: int = 0
    web: WebPlan | None = None


@dataclass(frozen=True, slots=True)
class BuiltDebates:
    """A benchmark: its folder and the content of its manifest.json."""

    path: Path
    manifest: Mapping[str, Any]

    @property
    def complete(self) -> bool:
        """Whether every source has a text."""
        counts = self.manifest["counts"]
        return bool(counts["documents"] == counts["sources"])


def build_debates(
    debates: Iterable[Debate],
    out: str | Path,
    plan: DebatesPlan,
    search: Search | None = None,
    on_progress: Report = lambda _done, _of, _word: None,
) -> BuiltDebates:
    """Make a benchmark of debates: documents, judged pairs by side, and a split by topic.

    Searches and pages that are already in the folder are not requested again, even if an earlier
    run was interrupted.

    Args:
        debates: with distinct ids.
        out: the folder; new, empty, or one that this function made.
        plan: how.
        search: how to search for sources without a working link; None: not at all.
        on_progress: called with the steps done, their total, and the current step.

    Raises:
        InputError: the folder holds something else, or two debates have the same id.
        PnyxError: the search API no longer answers, or the folder cannot be written; earlier
            searches and pages are kept.
    """
    pages, sources = gather_sources(list(debates))
    if not pages:
        raise InputError("there is no debate")
    folder = own_folder(out, {ARCHIVE, _MANIFEST}, "a benchmark of pnyx build debates")
    settings: dict[str, Any] = {"train": plan.train, "seed": plan.seed, "fetch": None}
    if plan.web is not None:
        settings["fetch"] = fetch_settings(plan.web)
    started = now()
    about = {
        "format": "pnyx-debates",
        "format_version": 1,
        "pnyx": __version__,
        "python": platform.python_version(),
        "settings": settings,
    }
    if not (folder / _MANIFEST).exists():  # first, so that the folder is recognised after a kill
        write_json(folder / _MANIFEST, {**about, "started": started})
    fetched, searched = None, Searched()
    if plan.web is not None:
        with Archive(folder / ARCHIVE) as archive:
            fetched, searched = fetch_sources(sources, archive, plan.web, search, on_progress)
    if searched.results:
        with atomic_text(folder / "results.jsonl") as stream:
            write_search_results(stream, searched.results.values())
    documents = _documents(sources, fetched)
    splits = split_topics(pages, plan.train, plan.seed)
    topics = judge_pairs(pages, splits, {document.id for document in documents}, plan.seed)
    manifest = {
        **about,
        "counts": _counts(topics, documents, sources, fetched),
        "this_run": {"searches": searched.requests},
        "started": started,
        "finished": now(),
    }
    with placed_together():
        _write(folder, topics, documents, sources, fetched)
        write_json(folder / _MANIFEST, manifest)
    return BuiltDebates(folder, manifest)


def _documents(
    sources: Sequence[GatheredSource], fetched: Mapping[str, FoundSource] | None
) -> list[Document]:
    """Return the sources with a text: the fetched one, or else their titles."""
    documents = []
    for source in sources:
        more: dict[str, Any] = {"debates": list(source.debates)}
        if fetched is None:
            if source.title:
                documents.append(Document(source.id, source.title, url=source.url, extra=more))
            continue
        result = fetched[source.id]
        page = result.page
        if result.outcome == TEXT and page is not None:
            more |= {"reference": source.title, "via": result.via}
            more["retrieved_at"] = page.retrieved_at
            host = urlsplit(page.final_url).hostname or ""
            title = page.title or source.title
            documents.append(Document(source.id, page.text, title, page.final_url, host, more))
    return documents


def _write(
    folder: Path,
    topics: Mapping[Split, Sequence[ConqretTopic]],
    documents: Sequence[Document],
    sources: Sequence[GatheredSource],
    fetched: Mapping[str, FoundSource] | None,
) -> None:
    for split in SPLITS:
        pages = [topic.debate for topic in topics[split] if topic.debate is not None]
        with atomic_text(folder / f"{split}_queries.csv") as stream:
            write_queries(stream, [topic.question for topic in topics[split]])
        with atomic_text(folder / f"{split}_qrels.csv") as stream:
            write_qrels(stream, topic_qrels(topics[split]))
        with atomic_text(folder / f"{split}_pages.jsonl") as stream:
            write_debates(stream, pages)
    with atomic_text(folder / "documents.jsonl") as stream:
        write_jsonl(stream, documents)
    with atomic_text(folder / "sources.jsonl") as stream:
        for source in sources:
            row: dict[str, Any] = {"id": source.id, "title": source.title, "url": source.url}
            row["debates"] = list(source.debates)
            if fetched is not None:
                result = fetched[source.id]
                row |= {"outcome": result.outcome, "via": result.via}
                row["final_url"] = result.page.final_url if result.page is not None else ""
                row["detail"] = result.detail
            stream.write(json_line(row) + "\n")


def _counts(
    topics: Mapping[Split, Sequence[ConqretTopic]],
    documents: Sequence[Document],
    sources: Sequence[GatheredSource],
    fetched: Mapping[str, FoundSource] | None,
) -> dict[str, Any]:
    outcomes = via = None
    if fetched is not None:
        outcomes = dict(Counter(result.outcome for result in fetched.values()))
        via = dict(Counter(page.via for page in fetched.values() if page.outcome == TEXT))
    return {
        "debates": sum(map(len, topics.values())),
        "sources": len(sources),
        "documents": len(documents),
        "linked": sum(bool(source.url) for source in sources),
        "outcomes": outcomes,
        "via": via,
        "splits": {split: statistics_of(topics[split]) for split in SPLITS},
        "words": lengths_of(document.text for document in documents),
    }
