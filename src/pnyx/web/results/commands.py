"""`pnyx view`: results in a browser."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pnyx.cli.options import print_result, say, warn_first
from pnyx.cli.params import Raw, verb
from pnyx.core.errors import InputError, OptionError
from pnyx.web.ask.options import ServerSpec, ViewSpec

if TYPE_CHECKING:
    from pnyx.web.results.catalogue import Catalogue
    from pnyx.web.results.open_catalogue import CurrentCatalogue

_LOOK_SECONDS = 1.0


@verb("view", restricts=True)
@click.argument("results", nargs=-1, required=True, metavar="RESULTS...", type=Raw())
def command(results: tuple[str, ...], view: ViewSpec, server: ServerSpec, as_json: bool) -> int:
    """Look at results in a browser: leaderboards, topics, reports, judgements, figures.

    RESULTS are results folders of any command, responses, runs, leaderboards, calibrations, nugget
    banks, or folders of these, recognised by content. They are never changed.

    \b
    Example:
      $ pnyx demo --files-only --out ex
      $ pnyx judge support ex/items.jsonl --out results
      $ pnyx view results
      pnyx: 1 source, 8 topics, 240 judgements: http://127.0.0.1:8321/ ...

    \b
    More: pnyx view --help-all, docs/recipes/viewing-figures.md.
    \f
    RESULTS may also be what pnyx measure and pnyx audit print with --json. A catalogue of them is
    kept in the user's cache folder, so that a second start is instant, and files that change are
    read again. Whatever is unscored comes first in every list.

    The answers so far of an unfinished run are shown, too; with --watch open pages follow it. With
    --qrels all runs are measured: a leaderboard with 95 % intervals, and each run compared with
    --baseline (p corrected by Holm-Bonferroni), the numbers of pnyx measure retrieval.

    With --export the same pages are written as files, to publish with a paper. With --json the
    sources that were read are printed, and nothing is served. With --no-text pages show no text of
    a document, report or reason.

    \b
      pnyx view judged measured.json --port 9000
      pnyx view demo --export demo-pages
      pnyx view bm25.run my.run --qrels qrels.txt
      pnyx view judged --watch
    """
    from pnyx.web.results.export import check_export
    from pnyx.web.server import check_server

    view.check_needs()
    if as_json and (view.export is not None or view.watch):
        raise OptionError("--json excludes --export and --watch")
    check_server(server)
    if view.export is not None:
        check_export(view.export)  # checked before anything is read
    current = _opened(results, view)
    catalogue = current.get()
    warn_first([s.problem for s in catalogue.sources() if s.problem], "more were not read")
    if view.export is not None:
        return _export(current, view)
    if as_json:
        print_result(_read(catalogue), "", as_json=True, err=False, ensure_ascii=False)
        return 0
    from pnyx.web.results.application import view_app
    from pnyx.web.server import run_app

    app = view_app(current, token=server.token or "", watch=view.watch)
    run_app(app, server, _line(catalogue), say)
    return 0


def _opened(results: Sequence[str], view: ViewSpec) -> CurrentCatalogue:
    """Open results; with --watch, wait until they exist."""
    from pnyx.web.results.open_catalogue import CurrentCatalogue
    from pnyx.web.results.sources import RunQrels

    store, waits = _store(view), False
    qrels = None if view.qrels is None else RunQrels(view.qrels, view.baseline or "")
    while True:
        try:
            return CurrentCatalogue(results, fresh=view.fresh, store=store, qrels=qrels, say=say)
        except InputError as error:
            if not view.watch:
                raise
            if not waits:
                say(f"waiting for results: {error}")
            waits = True
            time.sleep(_LOOK_SECONDS)


def _export(current: CurrentCatalogue, view: ViewSpec) -> int:
    """Write the pages; with --watch, again whenever the results have changed."""
    while True:
        catalogue, version = current.get(), current.version
        try:
            _write_pages(current.paths, catalogue, view)
        except InputError as error:  # a run has finished meanwhile and moved its files
            if not view.watch:
                raise
            say(str(error))
        while view.watch and current.version == version:
            time.sleep(_LOOK_SECONDS)
            current.get()
        if not view.watch:
            return 0


def _write_pages(results: Sequence[str], catalogue: Catalogue, view: ViewSpec) -> None:
    from pnyx.core.progress import reporting
    from pnyx.web.results.export import export_pages
    from pnyx.web.results.routes import site_of

    out = str(view.export)
    with reporting("pages") as show:
        exported = export_pages(
            catalogue,
            site_of(results, watch=view.watch),
            out,
            most=view.judgements or None,
            progress=lambda done, of: show(done, of, ""),
        )
    pages = sum(exported.pages.values())
    left = "; ".join(exported.left_out_words())
    size = f"{exported.bytes / 1e6:,.1f} MB"
    say(f"{out}: {pages:,} pages, {exported.files:,} other files, {size}; open index.html")
    if left:
        say(f"left out: {left} (--judgements 0 writes all)")


def _store(view: ViewSpec) -> str:
    """Return the named judgement store, if it is valid; empty for none."""
    if view.store is None:
        return ""
    from pnyx.judging.store.store import Store

    Store(view.store, read_only=True).close()
    return view.store


def _line(catalogue: Catalogue) -> str:
    """Return a summary of what was read, with the number of unscored items."""
    line = _read(catalogue)
    counts = (
        (len(line["sources"]), "sources"),
        (line["runs"], "runs"),
        (line["topics"], "topics"),
        (line["asked"], "judgements"),
    )
    phrases = [f"{n:,} {words[:-1] if n == 1 else words}" for n, words in counts if n]
    unscored = line["asked"] - line["scored"]
    return ", ".join(phrases) + (f", {unscored:,} unscored" if unscored else "")


def _read(catalogue: Catalogue) -> dict[str, Any]:
    sources = catalogue.sources()
    return {
        "sources": [
            {
                "name": source.name,
                "path": str(Path(source.path)),
                "kind": source.kind,
                "task": source.task,
                "judge": source.judge,
                "scored": source.scored,
                "asked": source.asked,
                "problem": source.problem or None,
            }
            for source in sources
        ],
        "runs": len(catalogue.runs()),
        "topics": len(catalogue.topics()),
        "scored": sum(source.scored for source in sources),
        "asked": sum(source.asked for source in sources),
    }
