"""`pnyx files split` and `pnyx files web`: passages of documents, and corpora from the web."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from pnyx.cli.options import EvidenceSpec, Outcome, OutSpec, refuse_same_file, say, warn
from pnyx.cli.params import verb
from pnyx.core.errors import InputError, escaped, shorten
from pnyx.core.progress import counted, reporting
from pnyx.core.spec import Spec, file_opt, opt, out_opt
from pnyx.crawl.options import SEARCH_HELP, FetchSpec, WebSearchSpec
from pnyx.formats.text_types import SourceName

if TYPE_CHECKING:
    from pnyx.core.records import Evidence, Question
    from pnyx.crawl.corpus import WebPlan

_SHOWN = 5


class PassageSpec(Spec, heading="Passages"):
    """How texts are split."""

    words: int = opt(100, low=1)
    sentences: bool = opt(
        False,
        "Split between sentences; only sentences longer than a passage are split.",
        "--whole-sentences",
        replaces=("--sentences",),
    )


class SplitSpec(PassageSpec, EvidenceSpec, OutSpec):
    """How documents are read, split and written."""


@verb("split", short_help="Split documents into passages for pnyx index.")
@click.argument("sources", nargs=-1, required=True, metavar="IN...")
def split(sources: tuple[str, ...], spec: SplitSpec, as_json: bool) -> Outcome:
    """Split documents into passages for pnyx index.

    IN is whatever pnyx index reads; `-` is standard input. Passages of the document D are called
    D#0, D#1 ..., in order, with D's title and fields; `origin` says D, `passage` the number.

    \b
    Example:
      $ pnyx demo --files-only --out ex
      $ pnyx files split ex/arguments.jsonl --words 50 --out passages.jsonl
      passages.jsonl: 363 passages of 128 documents

    \b
    More: pnyx files split --help-all, docs/recipes/passages.md.
    \f
    \b
      pnyx files split psgs.tsv.gz -o - | pnyx index - --out my.index
    """
    from pnyx.core.files import atomic_text
    from pnyx.formats import write_jsonl
    from pnyx.formats.text.segment import split_evidence

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
    line = f"{escaped(spec.out)}: {passages:,} passages of {read:,} documents"
    row = {"documents": read, "passages": passages, "out": spec.out}
    return Outcome(row, line if spec.out != "-" else "", err=True, ascii=True)


# From the web ------------------------------------------------------------------------------------


class ResultSpec(WebSearchSpec, heading="Search", rare="search_url"):
    """The search API and the output folder."""

    out: str = out_opt(..., metavar="FOLDER", writes="files")
    search: SourceName = file_opt(..., SEARCH_HELP, metavar="API|FILE")


class WebSpec(FetchSpec, PassageSpec, ResultSpec):
    """Options for a corpus from the web."""

    def plan(self) -> WebPlan:
        """Return the plan for fetching and splitting the results."""
        from pnyx.crawl.corpus import WebPlan

        self.check_contact()
        self.check_needs()
        return self.make(WebPlan)


@verb(
    "web",
    resumes=True,
    short_help="Build a corpus for each question from web pages.",
)
@click.argument("questions")
def web(questions: str, spec: WebSpec, as_json: bool) -> int:
    """Search the web for each of QUESTIONS, and build a corpus of the pages found.

    QUESTIONS is any file of questions, or of perspectives on them (also BERDS's). --search is an
    API, whose key is read from the environment (serper: SERPER_API_KEY), or a file of results
    (OUT/results.jsonl of an earlier run), which costs nothing.

    \b
    Example:
      $ pnyx files web questions.jsonl --search serper --results 100 --out web \\
          --contact me@example.org
      $ pnyx index web/passages/0001-q1.jsonl --out q1.index

    \b
    More: pnyx files web --help-all, docs/start/tour.md.
    \f
    A search with --results N takes up to N/10 queries. Pages are fetched politely: robots.txt is
    obeyed, each host gets one request at a time with a pause, and --contact identifies you. Pages
    are fetched only from public addresses, at ports 80 and 443, and never through a proxy. PDF
    files are left out.

    \b
    OUT/passages/*.jsonl   passages of --words words for pnyx index, a file for
                           each question
    OUT/pages.jsonl        status of each page
    OUT/results.jsonl      the results of the searches
    OUT/manifest.json      counts, settings, and which file is for which question
    OUT/archive.sqlite     all searches and fetched pages

    Running the command again resumes, even after a crash, without repeating searches or fetches;
    with other --words it only splits again. Exit status 3: a question was not searched for, or a
    page has no text.
    """
    from pnyx.crawl.corpus import build_web_corpus

    plan = spec.plan()
    topics = _questions(questions)
    search = spec.open_search()
    assert search is not None  # noqa: S101 - it is required
    with reporting() as report:
        corpus = build_web_corpus(topics, spec.out, search, plan, report)
    counts, missing = corpus.manifest["counts"], corpus.manifest["not_searched"]
    pages = dict(counts["pages"])
    tried, _, text = (pages.pop(name) for name in ("asked", "fetched", "text"))
    why = ", ".join(f"{count} {outcome}" for outcome, count in pages.items())
    line = (
        f"{counts['passages']:,} passages of {text:,} pages for {counts['searched']} of "
        f"{counts['questions']} questions"
    )
    line += f"; {tried - text:,} of {tried:,} pages without text: {why}" if why else ""
    line = f"{line}; see {escaped(str(corpus.path))}"
    status = Outcome(corpus.manifest, line, not corpus.complete).show(as_json=as_json)
    for question, reason in () if as_json else list(missing.items())[:_SHOWN]:
        say(f"not searched: {shorten(question, 60)}: {shorten(reason, 200)}")
    if len(missing) > _SHOWN and not as_json:
        say(f"not searched: {len(missing) - _SHOWN} more, see manifest.json")
    return status


def _questions(path: str) -> list[Question]:
    """Read questions, or the questions of a file of perspectives."""
    from pnyx.core.records import Question
    from pnyx.formats import find_format, read_questions
    from pnyx.formats.perspectives import read_perspectives

    try:
        about_perspectives = find_format(path).kind == "perspectives"
    except InputError:
        about_perspectives = False  # The reader of questions reports what is wrong.
    if not about_perspectives:
        return list(read_questions(path, on_warning=warn))
    views = read_perspectives(path, gold=True)
    texts = {view.question_id: str(view.extra.get("question") or "") for view in views}
    return [Question(identifier, text or identifier) for identifier, text in texts.items()]
