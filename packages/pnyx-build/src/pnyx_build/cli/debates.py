"""`pnyx build debates`, `pairs` and `stats`: a benchmark of debate pages (ConQRet)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pnyx.cli import EXIT_UNSCORED
from pnyx.cli.options import print_result, say
from pnyx.cli.params import verb
from pnyx.core.errors import InputError, escaped
from pnyx.core.progress import reporting
from pnyx.core.spec import Spec, file_opt, opt, out_opt
from pnyx.crawl.options import SEARCH_HELP, FetchSpec, WebSearchSpec
from pnyx.formats.text_types import SourceName

if TYPE_CHECKING:
    from pnyx.core.records import Debate
    from pnyx_build.debates.benchmark import BuiltDebates, DebatesPlan
    from pnyx_build.debates.judged_pairs import GatheredSource

_HTML = (".html", ".htm", ".xhtml")


class SourceSearchSpec(WebSearchSpec, rare="search_url results"):
    """Options of the search for sources."""

    search: SourceName | None = file_opt(
        None, f"{SEARCH_HELP} Used for sources without a link, or with a dead one.", needs="fetch"
    )
    results: int = opt(
        1, "Results of a search to try until one has text.", within="[1, 100]", needs="search"
    )


class BenchmarkSpec(Spec, heading="Benchmark"):
    """Options of `pnyx build debates`."""

    out: str = out_opt(..., "Folder to write.", metavar="FOLDER", writes="files")
    train: float = opt(0.7, "Share of the topics in the train split.", within="(0, 1]")
    seed: int = opt(0, "Random seed of the split and of irrelevant documents.")
    plan: bool = opt(False, "Only count pages, sources and searches.")
    fetch: bool = opt(False, "Fetch the text of the sources.")


class DebatesSpec(FetchSpec, SourceSearchSpec, BenchmarkSpec):
    """How a benchmark is made from debate pages."""

    def debates_plan(self) -> DebatesPlan:
        """Return the plan for the pages."""
        from pnyx.crawl.corpus import WebPlan
        from pnyx_build.debates.benchmark import DebatesPlan

        self.check_needs()
        if not self.fetch:
            return DebatesPlan(self.train, self.seed)
        if not self.plan:
            self.check_contact()
        return DebatesPlan(self.train, self.seed, self.make(WebPlan))


@verb("debates", resumes=True, short_help="Build a benchmark of evidence from debate pages.")
@click.argument("pages", nargs=-1, required=True, metavar="PAGES...")
def debates(pages: tuple[str, ...], spec: DebatesSpec, as_json: bool) -> int:
    """Build a benchmark of arguments and their evidence from debate PAGES (ConQRet, section 4).

    PAGES are saved web pages (.html), folders of them, or files of debates
    (docs/reference/formats.md). Sources on a page of their own are read from NAME.footnotes.html
    next to NAME.html. The documents that a side's arguments cite, in footnotes or links, are
    relevant to that side; an equal number of documents of other topics are not. Topics in different
    splits have no document in common.

    \b
    Example:
      pnyx build debates saved/*.html --out bench --plan
      pnyx build debates saved/*.html --out bench --fetch --search serper \\
        --contact me@example.org
      pnyx build stats bench

    \b
    More: pnyx build debates --help-all.
    \f
    Without --fetch, a document contains only a source's title. With --fetch, each source (web page
    or PDF file) is fetched, with the limits of pnyx files web. With --search, a source without a
    link, or with a dead link, is searched for by its title, which costs one query.

    \b
    OUT/{train,test}_queries.csv, _qrels.csv, _pages.jsonl
                           topics, judged pairs by stance, and debates, in the
                           formats of ConQRet
    OUT/documents.jsonl    the documents, for pnyx index
    OUT/sources.jsonl      the outcome of each source
    OUT/manifest.json      counts and settings
    OUT/archive.sqlite     all searches and fetched pages

    Running the command again resumes, even after a crash, and searches and fetches nothing twice.
    Exit status 3: a source has no text.
    """
    from pnyx_build.debates.benchmark import build_debates
    from pnyx_build.debates.judged_pairs import gather_sources

    plan = spec.debates_plan()
    read = list(_read(pages))
    if spec.plan:
        return _print_plan(*gather_sources(read), spec, as_json=as_json)
    search = spec.open_search()
    with reporting() as report:
        built = build_debates(read, spec.out, plan, search, report)
    _report(built, as_json=as_json)
    return 0 if built.complete or not spec.fetch else EXIT_UNSCORED


def _read(pages: Iterable[str]) -> Iterator[Debate]:
    """Yield the debates of saved pages, folders of them, and files of debates."""
    from pnyx.formats import read_debates
    from pnyx_build.debates.page import FOOTNOTES, read_debate_page

    for page in pages:
        path = Path(page)
        if page != "-" and path.is_dir():
            files = sorted(
                file
                for file in path.iterdir()
                if file.suffix.lower() in _HTML and not file.name.endswith(FOOTNOTES)
            )
            if not files:
                raise InputError(f"holds no file that ends in {', '.join(_HTML)}", path=page)
            yield from map(read_debate_page, files)
        elif page.endswith(FOOTNOTES):
            continue  # as in pages/*.html: it is read with its main page
        elif path.suffix.lower() in _HTML:
            yield read_debate_page(path)
        else:
            yield from read_debates(page)


def _print_plan(
    pages: list[Debate], sources: list[GatheredSource], spec: DebatesSpec, *, as_json: bool
) -> int:
    linked = sum(bool(source.url) for source in sources)
    searched = 0 if spec.search is None else len(sources) - linked
    row = {
        "debates": len(pages),
        "pro": sum(len(page.pros) for page in pages),
        "con": sum(len(page.cons) for page in pages),
        "sources": len(sources),
        "linked": linked,
        "fetched": linked if spec.fetch else 0,
        "searches": searched,
    }
    line = (
        f"{len(pages)} debates with {row['pro']} pro and {row['con']} con arguments, "
        f"{len(sources)} sources, {linked} of them with a link"
    )
    if spec.fetch:
        line += f"; {linked} to fetch, at least {searched} to search for"
    print_result(row, line, as_json=as_json, err=False)
    return 0


def _report(built: BuiltDebates, *, as_json: bool) -> None:
    counts: dict[str, Any] = dict(built.manifest["counts"])
    splits = counts["splits"]
    pairs = ", ".join(f"{of['pairs']:,} of {of['topics']} {name}" for name, of in splits.items())
    line = (
        f"{counts['documents']:,} documents of {counts['sources']:,} sources; judged pairs: "
        f"{pairs} topics; see {escaped(str(built.path))}"
    )
    print_result(built.manifest, line, as_json=as_json, err=False, ensure_ascii=False)
    if as_json:
        return
    if counts["outcomes"] is not None and not built.complete:
        why = {name: count for name, count in counts["outcomes"].items() if name != "text"}
        say("without text: " + ", ".join(f"{count} {name}" for name, count in why.items()))
    for name, of in splits.items():
        missing = of["pro"] + of["con"] - of["irrelevant"]
        if missing > 0:
            say(f"{name}: {missing} irrelevant pairs are missing: there are too few documents")
