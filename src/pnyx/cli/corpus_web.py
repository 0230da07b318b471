"""`pnyx corpus web`: a corpus for each question out of what a web search finds for it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import click

from pnyx.app.spec import Spec, opt
from pnyx.cli import EXIT_INTERRUPTED, EXIT_UNSCORED
from pnyx.cli.options import say
from pnyx.cli.params import json_option, takes, verb
from pnyx.cli.progress import reporting
from pnyx.errors import InputError, OptionError, shorten

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pnyx.corpora.search_results import QuestionResults
    from pnyx.records import Question
    from pnyx.web.corpus import WebCorpus, WebPlan
    from pnyx.web.search import SearchApi

__all__ = ["PassageSpec", "web"]

_APIS = ("serper",)
_SHOWN = 5

_HELP = """Search the web for each of QUESTIONS, and make a corpus of the pages that are found.

QUESTIONS is any file of questions, or of perspectives on them (also BERDS's). --search is an API,
whose key is read from the environment (serper: SERPER_API_KEY), or a file of results
(OUT/results.jsonl of an earlier run), which costs nothing. A search with --results N takes up to
N/10 queries.

Pages are fetched politely: robots.txt is obeyed, each host gets one request at a time with a pause,
and --contact identifies you. Only public addresses are fetched from, at ports 80 and 443, and never
through a proxy. PDF files are left out.

\b
OUT/passages/*.jsonl   passages of --words words for pnyx index, a file for
                       each question
OUT/pages.jsonl        what became of each page
OUT/results.jsonl      the results of the searches
OUT/manifest.json      counts, settings, and which file is for which question
OUT/archive.sqlite     all that was searched and fetched

Running the command again resumes, even after a crash, and searches and fetches nothing twice; with
other --words it only splits again. Exit status 3: a question was not searched for, or a page has no
text.
"""

_EXAMPLE = """\b
Example:
  pnyx corpus web questions.jsonl --search serper --out web \\
    --results 100 --contact me@example.org
  pnyx index web/passages/0001-q1.jsonl --out q1.index
"""


@dataclass(frozen=True, kw_only=True)
class ResultSpec(Spec):
    """What searches, and where everything goes."""

    heading: ClassVar[str] = "Search"

    out: str = opt(..., "Folder to write.", metavar="FOLDER", raw=True)
    search: str = opt(
        ...,
        f"API to search with ({', '.join(_APIS)}), or a file of results.",
        metavar="API|FILE",
        raw=True,
    )
    search_url: str | None = opt(
        None,
        "Address of the API.",
        metavar="URL",
        shown="the provider's",
        needs=("an API, not with a file of results", lambda spec: spec.search in _APIS),
        rare=True,
    )
    results: int = opt(10, "Results of each search (BERDS: 100).", low=1, high=1000)


@dataclass(frozen=True, kw_only=True)
class PassageSpec(Spec):
    """How texts are cut."""

    heading: ClassVar[str] = "Passages"

    words: int = opt(100, "Maximum words of a passage.", low=1)
    sentences: bool = opt(
        False, "Split between sentences; only sentences longer than a passage are split."
    )


@dataclass(frozen=True, kw_only=True)
class FetchSpec(Spec):
    """How pages are fetched."""

    heading: ClassVar[str] = "Fetching"

    contact: str = opt(
        "",
        "Your e-mail address or web page, for the sites that are asked; required.",
        metavar="ADDRESS",
        env="PNYX_CONTACT",
        shown="$PNYX_CONTACT",
    )
    timeout: float = opt(30.0, "Timeout of one page, in seconds.", low=0.1, high=600, rare=True)
    max_mb: float = opt(
        5.0, "Maximum size of one page, unpacked, in megabytes.", low=0.001, high=100, rare=True
    )
    delay: float = opt(
        1.0,
        "Seconds between two requests to a host; more if its robots.txt says so.",
        low=0,
        high=60,
        rare=True,
    )
    concurrency: int = opt(16, "Hosts asked at once.", low=1, high=200, rare=True)
    retry: bool = opt(
        False, "Retry transient failures (no connection, timeout, HTTP 5xx).", rare=True
    )
    allow_private: tuple[str, ...] = opt(
        (),
        "DANGEROUS: fetch from this network too (10.1.2.0/24), at any port. Authors of pages or "
        "search results can then access it. Repeatable.",
        metavar="NETWORK",
        rare=True,
    )


@dataclass(frozen=True, kw_only=True)
class WebSpec(FetchSpec, PassageSpec, ResultSpec):
    """How a corpus is made of the web."""

    def plan(self) -> WebPlan:
        """Return what is done with the results.

        Raises:
            OptionError: nobody is named to the sites, or an option would change nothing.
            InputError: a value cannot be used.
        """
        from pnyx.web.corpus import WebPlan
        from pnyx.web.fetch import FetchLimits
        from pnyx.web.targets import network

        if not self.contact:
            raise OptionError("Missing option '--contact' (or $PNYX_CONTACT).")
        self.check_needs()
        return WebPlan(
            contact=self.contact,
            results=self.results,
            words=self.words,
            sentences=self.sentences,
            limits=FetchLimits(
                seconds=self.timeout,
                bytes=int(self.max_mb * 1_000_000),
                delay=self.delay,
                concurrency=self.concurrency,
            ),
            private=tuple(network(one) for one in self.allow_private),
            retry=self.retry,
        )

    def open(self) -> SearchApi | Mapping[str, QuestionResults]:
        """Open what --search names."""
        if self.search in _APIS:
            from pnyx.web.search import APIS

            return APIS[self.search](self.search_url)
        from pnyx.corpora.search_results import read_search_results

        return {found.question_id: found for found in read_search_results(self.search)}


@verb("web", short_help="Build a corpus for each question from web pages.", help=_HELP,
      epilog=_EXAMPLE)  # fmt: skip
@click.argument("questions")
@takes("spec", WebSpec)
@json_option
def web(questions: str, spec: WebSpec, as_json: bool) -> int:
    """Make a corpus of the web; see `_HELP`."""
    from pnyx.web.corpus import build_web_corpus

    plan = spec.plan()
    asked = _questions(questions)
    search = spec.open()
    try:
        with reporting() as report:
            made = build_web_corpus(asked, spec.out, search, plan, report)
    except KeyboardInterrupt:
        say("interrupted; the same command goes on where it stopped")
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
        say(f"not searched: {shorten(question, 60)}: {shorten(reason, 200)}")
    if len(missing) > _SHOWN:
        say(f"not searched: {len(missing) - _SHOWN} more, see manifest.json")
