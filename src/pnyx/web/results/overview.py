"""The first page of results, and the page of each source with its summary in words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any, Final

from pnyx.core.errors import InputError
from pnyx.web.results.boards import bar_of, definitions_of, leaderboard
from pnyx.web.results.catalogue import Catalogue
from pnyx.web.results.kinds import JUDGEMENTS, SOURCES
from pnyx.web.results.pages import Address, Content, PageRoute, Parts
from pnyx.web.results.reader import KINDS
from pnyx.web.results.records import SourceRow
from pnyx.web.results.routes import page_routes
from pnyx.web.results.texts import listed_texts

_MOST_ANSWERS: Final = 100_000
"""Most answers of a source that is summarised: pages are made while people wait."""
_MOST_SOURCES: Final = 10
"""Sources that are summarised on one page."""


@dataclass(frozen=True, slots=True)
class SourceSummary:
    """The summary of one source, and warnings."""

    source: str
    sentences: Sequence[str]
    warnings: Sequence[str]


def summaries_of(sources: Sequence[SourceRow]) -> list[SourceSummary]:
    """Return summaries of the first results that can be summarised."""
    return list(islice(_summaries(sources), _MOST_SOURCES))


def _summaries(sources: Sequence[SourceRow]) -> Iterator[SourceSummary]:
    for source in sources:
        path = source.files.get("answers")
        if source.kind != "results" or path is None or not 0 < source.asked <= _MOST_ANSWERS:
            continue
        try:
            status = Path(path).stat()
            sentences, warnings = _sentences(path, status.st_size, status.st_mtime_ns)
        except OSError:  # removed since the results were read
            continue
        if sentences:
            yield SourceSummary(source.name, sentences, warnings)


@lru_cache(maxsize=64)
def _sentences(path: str, _size: int, _changed: int) -> tuple[Sequence[str], Sequence[str]]:
    from pnyx.display.summary import summary_lines, warning_lines
    from pnyx.judging.measures.summary import summarise_answers

    try:
        summary = summarise_answers(path)
    except InputError:  # answers without a summary; the list of sources says what is broken
        return (), ()
    return summary_lines(summary), warning_lines(summary)


def _show_first(catalogue: Catalogue, _address: Address) -> Content:
    sources = catalogue.sources()
    read = [source for source in sources if not source.problem]
    total, scored = sum(s.asked for s in read), sum(s.scored for s in read)
    runs = catalogue.runs()
    values = {
        "kind": SOURCES,
        "problems": [source for source in sources if source.problem],
        "summaries": summaries_of(read),
        "boards": [leaderboard(catalogue, s.name) for s in read if s.kind == "retrieval"],
        # Unscored sources come first, then kinds in their order.
        "sources": sorted(read, key=lambda s: (s.asked == s.scored, KINDS.index(s.kind))),
        "has_cost": any(source.dollars is not None for source in read),
        "counts": {
            "runs": len(runs),
            "topics": len(catalogue.topics()),
            "reports": sum(run.reports for run in runs),
            "judgements": total,
        },
        "unscored": total - scored,
    }
    return Content("overview", values)


def _show_source(catalogue: Catalogue, address: Address) -> Content:
    source = catalogue.source(address.part(0))
    measures = catalogue.values(source=source.name)
    first = catalogue.judgements(source=source.name).rows[:10] if source.asked else ()
    values = {
        "kind": JUDGEMENTS,
        "source": source,
        "summaries": summaries_of([source]),
        "facts": list(_facts(source)),
        "values": measures,
        "bar_of": bar_of,
        "definitions": definitions_of(value.measure for value in measures),
        "shown_in": [link for page in page_routes() for link in page.of_source(catalogue, source)],
        "first": first,
        "texts": listed_texts(catalogue, first),
    }
    return Content("source", values)


_LABELS: Final = {
    "path": "File", "kind": "Kind", "task": "Task", "judge": "Judge", "finished": "Finished",
    "card": "About the judge", "started": "Started", "pnyx": "Version of Pnyx",
    "seed": "Seed", "prompt": "Prompt", "prompts": "Prompts", "models": "Models",
    "cost": "Cost", "items": "Items",
    "inputs": "Inputs", "plan": "Rules", "settings": "Settings",
}  # fmt: skip
"""Properties of a source, and their labels."""


def _facts(source: SourceRow) -> Iterator[tuple[str, str]]:
    fields = {name: getattr(source, name) for name in ("path", "kind", "task", "judge", "finished")}
    facts: dict[str, Any] = {**source.about, **fields}
    for name, label in _LABELS.items():
        if facts.get(name) not in (None, "", {}, []):
            yield label, _words(facts[name])


def _words(value: Any) -> str:
    if isinstance(value, dict):
        return "; ".join(f"{k}: {_words(v)}" for k, v in value.items() if v not in (None, "", {}))
    return ", ".join(map(_words, value)) if isinstance(value, list) else str(value)


def _sources(catalogue: Catalogue) -> Iterator[tuple[Parts, int]]:
    for source in catalogue.sources():
        yield (source.name,), 1


PAGES: Final = (
    PageRoute("", _show_first, nav="Results"),
    PageRoute("source", _show_source, _sources, least=1, most=1),
)
