"""`pnyx corpus`: passages of documents, and corpora of the web."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from pnyx.app.spec import Spec, file_opt, opt
from pnyx.cli import EXIT_UNSCORED
from pnyx.cli.common.options import EvidenceSpec, OutSpec, print_result, refuse_same_file, say
from pnyx.cli.common.params import Group, verb
from pnyx.cli.common.progress import counted, reporting
from pnyx.errors import InputError, OptionError, shorten

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pnyx.corpora.benchmarks.search_results import QuestionResults
    from pnyx.records import Evidence, Question
    from pnyx.web.corpus import WebCorpus, WebPlan
    from pnyx.web.search import SearchApi

__all__ = ["command"]

_APIS = ("serper",)
_SHOWN = 5


@click.group(cls=Group, name="corpus", no_args_is_help=True)
def command() -> None:
    """Make a corpus to search: split documents into passages, or search the web for questions.

    \b
    Example:
      pnyx corpus split wikipedia.jsonl.gz --words 100 --out passages.jsonl.gz
      pnyx corpus web questions.jsonl --search serper --out web \\
        --contact me@example.org
    """


class PassageSpec(Spec, heading="Passages"):
    """How texts are split."""

    words: int = opt(100, "Maximum words of a passage.", low=1)
    sentences: bool = opt(
        False, "Split between sentences; only sentences longer than a passage are split."
    )


class SplitSpec(PassageSpec, EvidenceSpec, OutSpec):
    """How documents are read, split and written."""


@verb("split", group=command)
@click.argument("sources", nargs=-1, required=True, metavar="IN...")
def split(sources: tuple[str, ...], spec: SplitSpec, as_json: bool) -> None:
    """Split documents into passages for pnyx index.

    IN is whatever pnyx index reads; `-` is standard input. Passages of the document D are called
    D#0, D#1 ..., in order, with D's title and fields; `origin` says D, `passage` the number.

    \b
    Example:
      pnyx corpus split debatewise.json pages/ --words 100 --out passages.jsonl
      pnyx corpus split psgs.tsv.gz -o - | pnyx index - --out my.index
    """
    from pnyx.corpora import write_jsonl
    from pnyx.corpora.text.segment import split_evidence
    from pnyx.files import atomic_text

    spec.check_json("passages", as_json=as_json)
    for source in sources:
        refuse_same_file("--out", spec.out, IN=source)
    read = passages = 0

    def records() -> Iterator[Evidence]:
        nonlocal read
        seen: set[str] = set()
        for source in sources:
            for record in spec.read(source):
                if len(sources) > 1:  # each reader compares the ids of its own source
                    if record.id in seen:
                        problem = f"duplicate id {shorten(record.id)!r}, also in an earlier source"
                        raise InputError(problem, path=source)
                    seen.add(record.id)
                read += 1
                advance(read)
                yield record

    with counted("splitting") as advance, atomic_text(spec.out) as stream:
        for passage in split_evidence(records(), spec.words, sentences=spec.sentences):
            write_jsonl(stream, [passage])
            passages += 1
    line = f"{shorten(spec.out, 200)}: {passages:,} passages of {read:,} documents"
    row = {"documents": read, "passages": passages, "out": spec.out}
    print_result(row, line if spec.out != "-" else "", as_json=as_json)


# From the web ------------------------------------------------------------------------------------


class ResultSpec(Spec, heading="Search", rare="search_url"):
    """What searches, and where everything goes."""

    out: str = file_opt(..., "Folder to write.", metavar="FOLDER")
    search: str = file_opt(
        ..., f"API to search with ({', '.join(_APIS)}), or a file of results.", metavar="API|FILE"
    )
    search_url: str | None = opt(
        None,
        "Address of the API.",
        metavar="URL",
        shown="the provider's",
        needs=("an API, not with a file of results", lambda spec: spec.search in _APIS),
    )
    results: int = opt(10, "Results of each search (BERDS: 100).", within="[1, 1000]")


class FetchSpec(
    Spec, heading="Fetching", rare="timeout max_mb delay concurrency retry allow_private"
):
    """How pages are fetched."""

    contact: str = opt(
        "",
        "Your e-mail address or web page, told to the sites; required.",
        metavar="ADDRESS",
        env="PNYX_CONTACT",
        shown="$PNYX_CONTACT",
    )
    timeout: float = opt(30.0, "Timeout of one page, in seconds.", within="[0.1, 600]")
    max_mb: float = opt(
        5.0, "Maximum size of one page, unpacked, in megabytes.", within="[0.001, 100]"
    )
    delay: float = opt(
        1.0, "Seconds between requests to a host; robots.txt may ask for more.", within="[0, 60]"
    )
    concurrency: int = opt(16, "Hosts asked at once.", within="[1, 200]")
    retry: bool = opt(False, "Retry transient failures (no connection, timeout, HTTP 5xx).")
    allow_private: tuple[str, ...] = opt(
        (),
        "DANGEROUS: fetch from this network too (10.1.2.0/24), at any port. Authors of pages or "
        "search results can then access it. Repeatable.",
        metavar="NETWORK",
    )


class WebSpec(FetchSpec, PassageSpec, ResultSpec):
    """How a corpus is made of the web."""

    def plan(self) -> WebPlan:
        """Return what is done with the results."""
        from pnyx.web.addresses import network
        from pnyx.web.corpus import WebPlan
        from pnyx.web.fetch import FetchLimits

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
        from pnyx.corpora.benchmarks.search_results import read_search_results

        return {found.question_id: found for found in read_search_results(self.search)}


@verb(
    "web",
    group=command,
    resumes=True,
    short_help="Build a corpus for each question from web pages.",
)
@click.argument("questions")
def web(questions: str, spec: WebSpec, as_json: bool) -> int:
    """Search the web for each of QUESTIONS, and build a corpus of the pages found.

    QUESTIONS is any file of questions, or of perspectives on them (also BERDS's). --search is an
    API, whose key is read from the environment (serper: SERPER_API_KEY), or a file of results
    (OUT/results.jsonl of an earlier run), which costs nothing. A search with --results N takes up
    to N/10 queries.

    Pages are fetched politely: robots.txt is obeyed, each host gets one request at a time with a
    pause, and --contact identifies you. Only public addresses are fetched from, at ports 80 and
    443, and never through a proxy. PDF files are left out.

    \b
    OUT/passages/*.jsonl   passages of --words words for pnyx index, a file for
                           each question
    OUT/pages.jsonl        status of each page
    OUT/results.jsonl      the results of the searches
    OUT/manifest.json      counts, settings, and which file is for which question
    OUT/archive.sqlite     all that was searched and fetched

    Running the command again resumes, even after a crash, and searches and fetches nothing twice;
    with other --words it only splits again. Exit status 3: a question was not searched for, or a
    page has no text.

    \b
    Example:
      pnyx corpus web questions.jsonl --search serper --out web \\
        --results 100 --contact me@example.org
      pnyx index web/passages/0001-q1.jsonl --out q1.index
    """
    from pnyx.web.corpus import build_web_corpus

    plan = spec.plan()
    asked = _questions(questions)
    search = spec.open()
    with reporting() as report:
        made = build_web_corpus(asked, spec.out, search, plan, report)
    _report(made, as_json)
    return 0 if made.complete else EXIT_UNSCORED


def _questions(path: str) -> list[Question]:
    """Read questions, or those that a file of perspectives is about."""
    from pnyx.corpora import FORMATS, read_questions, sniff
    from pnyx.corpora.benchmarks.perspectives import read_perspectives
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
    counts = made.manifest["counts"]
    pages = dict(counts["pages"])
    asked, _, text = (pages.pop(name) for name in ("asked", "fetched", "text"))
    why = ", ".join(f"{count} {outcome}" for outcome, count in pages.items())
    line = (
        f"{counts['passages']:,} passages of {text:,} pages for {counts['searched']} of "
        f"{counts['questions']} questions"
    )
    line += f"; {asked - text:,} of {asked:,} pages without text: {why}" if why else ""
    line = f"{line}; see {shorten(str(made.path), 200)}"
    print_result(made.manifest, line, as_json=as_json, err=False, ensure_ascii=False)
    if as_json:
        return
    missing = made.manifest["not_searched"]
    for question, reason in list(missing.items())[:_SHOWN]:
        say(f"not searched: {shorten(question, 60)}: {shorten(reason, 200)}")
    if len(missing) > _SHOWN:
        say(f"not searched: {len(missing) - _SHOWN} more, see manifest.json")
