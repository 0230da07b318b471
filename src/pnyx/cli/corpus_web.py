"""`pnyx corpus web`: a corpus for each question out of what a web search finds for it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from pnyx.cli import EXIT_INTERRUPTED, EXIT_UNSCORED
from pnyx.cli.options import json_option
from pnyx.cli.progress import reporting
from pnyx.cli.values import NumberRange
from pnyx.errors import InputError, shorten

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pnyx.corpora.search_results import QuestionResults
    from pnyx.records import Question
    from pnyx.web.corpus import WebCorpus, WebPlan
    from pnyx.web.search import SearchApi

__all__ = ["web"]

_APIS = ("serper",)
_SHOWN = 5

_HELP = """Search the web for each of QUESTIONS, and make a corpus of the pages that are found.

QUESTIONS is any file of questions, or of perspectives on them (also BERDS's). --search is an API,
whose key is read from the environment (serper: SERPER_API_KEY), or a file of results
(OUT/results.jsonl of an earlier run), which costs nothing. A search with --results N takes up to
N/10 queries.

Pages are fetched politely: robots.txt holds, one request at a time to a host and a rest after it,
and --contact tells sites who asks. Only public addresses are fetched from, at ports 80 and 443,
and never through a proxy. PDF files are left out.

\b
OUT/passages/*.jsonl   passages of --words words, one file for each question: pnyx index reads them
OUT/pages.jsonl        what became of each page
OUT/results.jsonl      the results of the searches
OUT/manifest.json      counts, settings, and which file is for which question
OUT/archive.sqlite     all that was searched and fetched

The same command goes on where it stopped, even after a crash, and searches and fetches nothing
twice; with other --words it only cuts anew. Exit status 3: a question was not searched for, or a
page has no text.
"""

_EXAMPLE = """\b
Example:
  pnyx corpus web questions.jsonl --search serper --results 100 --contact me@example.org --out web
  pnyx index web/passages/0001-q1.jsonl --out q1.index
"""


def _networks(_: click.Context, __: click.Parameter, values: tuple[str, ...]) -> tuple[Any, ...]:
    """Read networks."""
    if not values:
        return ()
    from pnyx.web.targets import network

    try:
        return tuple(network(value) for value in values)
    except InputError as error:
        raise click.BadParameter(str(error)) from None


@click.command(name="web", short_help="What the web has on questions.", help=_HELP, epilog=_EXAMPLE)
@click.argument("questions")
@click.option("--out", required=True, type=click.Path(file_okay=False), help="Folder to write.")
@click.option(
    "--search",
    required=True,
    metavar="API|FILE",
    help=f"What to search with ({', '.join(_APIS)}), or a file of results.",
)
@click.option(
    "--search-url", metavar="URL", help="Address of the API, where it is not the usual one."
)
@click.option(
    "--results",
    type=click.IntRange(1, 1000),
    default=10,
    show_default=True,
    help="Results of each search (BERDS: 100).",
)
@click.option(
    "--words",
    type=click.IntRange(1),
    default=100,
    show_default=True,
    help="The most words of a passage.",
)
@click.option("--sentences", is_flag=True, help="Cut between sentences, as pnyx corpus split does.")
@click.option(
    "--contact",
    envvar="PNYX_CONTACT",
    metavar="ADDRESS",
    help="Your e-mail address or web page, for the sites that are asked; needed  "
    "[default: $PNYX_CONTACT].",
)
@click.option(
    "--timeout",
    type=NumberRange(0.1, 600),
    default=30.0,
    show_default=True,
    help="Seconds for one page.",
)
@click.option(
    "--max-mb",
    type=NumberRange(0.001, 100),
    default=5.0,
    show_default=True,
    help="Megabytes of one page, unpacked.",
)
@click.option(
    "--delay",
    type=NumberRange(0, 60),
    default=1.0,
    show_default=True,
    help="Seconds between two requests to a host; more where its robots.txt says so.",
)
@click.option(
    "--concurrency",
    type=click.IntRange(1, 200),
    default=16,
    show_default=True,
    help="Hosts asked at once.",
)
@click.option(
    "--retry",
    is_flag=True,
    help="Fetch again what failed in a way that may pass (no connection, time, HTTP 5xx).",
)
@click.option(
    "--allow-private",
    multiple=True,
    callback=_networks,
    metavar="NETWORK",
    help="DANGEROUS: fetch from this network too (10.1.2.0/24), at any port. Whoever writes a "
    "page or a search result can then read what is there. Repeatable.",
)
@json_option
def web(questions: str, out: str, as_json: bool, **options: Any) -> int:
    """Make a corpus of the web; see `_HELP`."""
    from pnyx.web.corpus import build_web_corpus

    if not options["contact"]:
        raise click.UsageError("Missing option '--contact' (or $PNYX_CONTACT).")
    asked = _questions(questions)
    search = _search(options)
    try:
        with reporting() as report:
            made = build_web_corpus(asked, out, search, _plan(options), report)
    except KeyboardInterrupt:
        click.echo("pnyx: interrupted; the same command goes on where it stopped", err=True)
        return EXIT_INTERRUPTED
    _report(made, as_json)
    return 0 if made.complete else EXIT_UNSCORED


def _questions(path: str) -> list[Question]:
    """Read questions, or those that a file of perspectives is about."""
    from pnyx.corpora import FORMATS, read_questions, sniff
    from pnyx.corpora.perspectives import read_perspectives
    from pnyx.records import Question

    try:
        about_perspectives = FORMATS[sniff(path)].kind == "perspectives"
    except InputError:
        about_perspectives = False  # the reader of questions says what is wrong
    if not about_perspectives:
        return list(read_questions(path))
    views = read_perspectives(path, gold=True)
    texts = {one.question_id: str(one.extra.get("question") or "") for one in views}
    return [Question(identifier, text or identifier) for identifier, text in texts.items()]


def _search(options: dict[str, Any]) -> SearchApi | Mapping[str, QuestionResults]:
    """Open what --search names."""
    name = options["search"]
    if name in _APIS:
        from pnyx.web.search import APIS

        return APIS[name](options["search_url"])
    if options["search_url"] is not None:
        raise click.UsageError("--search-url goes with an API, not with a file of results")
    from pnyx.corpora.search_results import read_search_results

    return {found.question_id: found for found in read_search_results(name)}


def _plan(options: dict[str, Any]) -> WebPlan:
    from pnyx.web.corpus import WebPlan
    from pnyx.web.fetch import FetchLimits

    return WebPlan(
        contact=options["contact"],
        results=options["results"],
        words=options["words"],
        sentences=options["sentences"],
        limits=FetchLimits(
            seconds=options["timeout"],
            bytes=int(options["max_mb"] * 1_000_000),
            delay=options["delay"],
            concurrency=options["concurrency"],
        ),
        private=options["allow_private"],
        retry=options["retry"],
    )


def _report(made: WebCorpus, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps(made.manifest, ensure_ascii=False))
        return
    counts = made.manifest["counts"]
    pages = dict(counts["pages"])
    asked, _, text = (pages.pop(name) for name in ("asked", "fetched", "text"))
    why = ", ".join(f"{count} {outcome}" for outcome, count in pages.items())
    line = (
        f"{counts['passages']:,} passages of {text:,} pages for {counts['searched']} of "
        f"{counts['questions']} questions"
    )
    line += f"; {asked - text:,} of {asked:,} pages without text: {why}" if why else ""
    click.echo(f"{line}; see {shorten(str(made.path), 200)}")
    missing = made.manifest["not_searched"]
    for question, reason in list(missing.items())[:_SHOWN]:
        click.echo(f"pnyx: not searched: {shorten(question, 60)}: {shorten(reason, 200)}", err=True)
    if len(missing) > _SHOWN:
        more = len(missing) - _SHOWN
        click.echo(f"pnyx: not searched: {more} more, see manifest.json", err=True)
