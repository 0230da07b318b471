"""`pnyx search`: ranked evidence for a question, or a TREC run for a file of topics."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Container, Iterator, Sequence
from typing import TYPE_CHECKING, Literal

import click

from pnyx.cli import EXIT_UNSCORED
from pnyx.cli.judge_runs import plan_asked
from pnyx.cli.options import print_result, say, warn
from pnyx.cli.params import verb
from pnyx.core.errors import InputError, OptionError, count_of, escaped, shorten
from pnyx.core.rooms import RoomCommands
from pnyx.core.spec import Spec, opt, out_opt, topics_opt
from pnyx.formats.text_types import SourceName
from pnyx.judging.counted_judge import default_judge, watched
from pnyx.judging.open_models import open_model
from pnyx.judging.options import PaidModelSpec
from pnyx.search.common_index import IndexCommand, missing_question, open_documents
from pnyx.search.open_search import open_searcher
from pnyx.search.options import SearchSpec
from pnyx.search.split_documents import place_of

if TYPE_CHECKING:
    from pnyx.core.records import Question
    from pnyx.judging.base import Judge
    from pnyx.judging.store.completions import StoredModel
    from pnyx.search.engine import Engine
    from pnyx.search.hits import RetrievedDocument, SearchHits
    from pnyx.search.pipeline import Searcher

_EXCERPT_CHARS = 160
_RUN = 1000
_SHOWN_TOPICS = 5


class RunSpec(Spec, heading="Results", rare="unit tag"):
    """Topics to search for, and the run to write."""

    topics: str | None = topics_opt(None)
    out: str | None = out_opt(None, metavar="RUN")
    k: int | None = opt(
        None,
        "Documents to return per question.",
        "-k",
        low=1,
        default_text="10; 1000 with --topics; all with --threshold",
    )
    unit: Literal["document", "passage"] | None = opt(
        None, default_text="passage; document with --topics"
    )
    tag: str | None = opt(
        None, "Run tag.", default_text="the model and later stages", needs="topics"
    )

    def check(self, question: str | None, *, as_json: bool, plan: bool) -> None:
        """Reject options that cannot be combined."""
        if (question is None) == (self.topics is None):
            raise OptionError("give either a QUESTION or --topics FILE")
        if (self.topics is None) != (self.out is None) and not (plan and self.out is None):
            raise OptionError("--topics and --out must be given together")
        self.check_needs()
        if self.topics is not None and as_json and not plan:
            raise OptionError("--json requires a QUESTION; --topics writes a TREC run")
        if self.tag is not None and (not self.tag or self.tag.split() != [self.tag]):
            tag = shorten(self.tag, 40)
            raise InputError(f"--tag is {tag!r}, expected one word without spaces")


@verb(
    "search",
    kind=IndexCommand,
    rare={"model": "plan budget"},
    words=RoomCommands("search"),
)
@click.argument("index")
@click.argument("question", required=False)
def command(
    index: SourceName,
    question: str | None,
    run: RunSpec,
    search: SearchSpec,
    model: PaidModelSpec,
    as_json: bool,
) -> int:
    """Rank the documents of INDEX for QUESTION, in plain text.

    INDEX is an index, or a file or folder of documents, which are indexed first. --topics searches
    for all questions of a file, and --out writes a TREC run.

    \b
    Example:
      $ pnyx demo --files-only --out ex
      $ pnyx search ex/arguments.jsonl "Should voting be compulsory?" -k 2
         1    0.7998  compulsory-voting-09  [neutral]
            Whether to oblige people to vote depends on which failure of ...
      ...
         2    0.7970  compulsory-voting-07  [con]
            Punishing people for not voting treats a symptom, and it sends ...

    \b
    More: pnyx search --help-all, docs/start/tour.md.
    \f
    Documents are indexed as by pnyx argue. A label of the corpus, e.g. [pro], is shown where its
    topic is about the question. In an index of passages, passages are ranked, or with --unit
    document whole documents by their best passage. auto, the default model, also shows people good
    arguments first. --stance ranks the documents of a side first.

    With --json, a list of hits (fields: docs/recipes/serving.md). Exit status 3: a judge or a
    language model left something unanswered.

    \b
      pnyx search my.index --topics topics.jsonl --out run.trec
      pnyx search my.index "Should voting be compulsory?" --threshold 0.7
      pnyx search my.index --topics topics.jsonl --rerank --llm local --plan
    """
    if question is None and run.topics is None:
        raise InputError(missing_question())
    run.check(question, as_json=as_json, plan=model.plan)
    if run.topics and search.topic:
        raise OptionError("--topic requires a QUESTION")
    if model.llm and not search.asks_model:
        raise OptionError(
            "--llm requires --rerank, --threshold, --stance or --diversify perspectives"
        )
    model.check()
    opened = open_documents(index)
    named_model = model if search.asks_model else None
    with open_model(named_model, say, model) as llm, _judge(llm, search) as judge:
        unit = run.unit or ("passage" if run.topics is None else "document")
        searcher = open_searcher(opened, search, llm, judge, say, unit)
        questions = _questions(question, run)
        if model.plan:
            for _ in searcher.search(questions, run.k):
                pass
            count = count_of(len(questions), "question")
            plan_asked(llm, model, count, {"questions": len(questions)}, as_json=as_json)
            return 0
        if run.topics is not None:
            return _write_run(searcher, questions, run, search)
        return _show(searcher, questions[0], run.k, as_json)


@contextlib.contextmanager
def _judge(model: StoredModel | None, search: SearchSpec) -> Iterator[Judge | None]:
    """Open the judge only if it is needed: the packaged judge takes a while to load."""
    if not (search.asks_model or search.diversify == "perspectives"):
        yield None
        return
    with watched(default_judge(model), [model] if model is not None else []) as judge:
        yield judge


def _questions(text: str | None, run: RunSpec) -> list[Question]:
    """Return the question, or those of the file of topics."""
    from pnyx.core.records import Question, question_id
    from pnyx.formats import read_questions

    if run.topics is None:
        text = re.sub(r"[\ud800-\udfff]", "\ufffd", str(text))  # bytes that are not UTF-8
        return [Question(question_id(text), text)]
    questions = list(read_questions(run.topics, on_warning=warn))
    if not questions:
        raise InputError("found no topics, expected at least one", path=run.topics)
    return questions


# One question ------------------------------------------------------------------------------------


def _show(searcher: Searcher, question: Question, k: int | None, as_json: bool) -> int:
    from pnyx.formats.text.language import other_language
    from pnyx.search.hits import has_all, hit_row, list_hits
    from pnyx.search.sides import label_topic

    result = searcher.show(question, k)
    for problem in result.problems:
        warn(problem)
    if not result.hits:
        warn(_why_empty(result, searcher))
    elif not _has_words(searcher, question):
        warn("no word of the question is in the index; showing the documents nearest to it by "
             "vectors alone")  # fmt: skip
    ids = [hit.doc_id for hit in result.hits]
    listed = list_hits(result, searcher, explained=as_json)
    clustered = has_all(searcher.engine, "clusters")
    for problem in searcher.matcher.problems(label_topic(hit.document) for hit in listed):
        warn(problem)
    if note := other_language(question.text, (hit.document.text for hit in listed)):
        warn(note)
    if as_json:
        rows = [hit_row(hit).model_dump() for hit in listed]
        print_result(rows, "", as_json=True, indent=1)
        return EXIT_UNSCORED if result.unscored else 0
    blocks = list(map(_lines, listed))
    if clustered and result.hits:
        blocks.append(_facets(searcher.engine, ids))
    print_result(None, "\n".join(blocks), as_json=False, err=False)
    return EXIT_UNSCORED if result.unscored else 0


def _has_words(searcher: Searcher, question: Question) -> bool:
    """Return whether a word of the question is in the index."""
    from pnyx.search.plan import Scoring

    return bool(searcher.engine.retrieve(question.text, Scoring("bm25"), 1))


def _why_empty(result: SearchHits, searcher: Searcher) -> str:
    """Say why a question has no documents."""
    if not result.candidates:
        return "no word of the question is in the index"
    judged = min(result.candidates, searcher.plan.depth)
    return f"none of the best {judged} reaches a probability of {searcher.plan.threshold:g}"


def _lines(retrieved: RetrievedDocument) -> str:
    """Show a hit on a few lines: rank, title, excerpt. All is escaped."""
    hit, document, sided = retrieved.hit, retrieved.document, retrieved.sided
    first = f"{hit.rank:>4}  {hit.score:8.4f}  {shorten(hit.doc_id, 100)}"
    if retrieved.probability is not None:
        first += f"  P {retrieved.probability:.3f}"
    if retrieved.match is not None and retrieved.side_of_label:
        turned = "" if retrieved.side_of_label == retrieved.stance else (
            f": {retrieved.stance} on “{shorten(retrieved.match.topic, 80)}”"
        )  # fmt: skip
        first += f"  [{retrieved.side_of_label}{turned}]"
    if sided is not None and sided.side:
        first += f"  argues {sided.side}, by {shorten(sided.by, 60)}"
    if location := place_of(document):
        first += f"  {shorten(location, _EXCERPT_CHARS)}"
    title = " ".join(document.title.split())
    text = " ".join(document.text[: 20 * _EXCERPT_CHARS].split()).removeprefix(title)
    parts = [shorten(part, _EXCERPT_CHARS) for part in (title, text.lstrip(" .")) if part]
    if retrieved.perspective is not None:
        parts.append(f"for: {shorten(retrieved.perspective.text, _EXCERPT_CHARS)}")
    return "\n".join([first, *(f"      {part}" for part in parts)])


def _facets(engine: Engine, ids: Sequence[str]) -> str:
    """Show what the hits are about: the topic clusters, the most frequent first."""
    from pnyx.search.features.clusters import facets

    values = facets(engine, ids)
    lines = [
        f"{facet.count:>4}  {shorten(facet.label, 80)}  ({shorten(', '.join(facet.terms), 80)})"
        for facet in values
    ]
    return "\n".join(["topics:", *lines])


# A run -------------------------------------------------------------------------------------------


def _write_run(
    searcher: Searcher, questions: Sequence[Question], run: RunSpec, search: SearchSpec
) -> int:
    from pnyx.core.files import atomic_text
    from pnyx.formats import write_run
    from pnyx.formats.runs.run_ids import SafeIds
    from pnyx.formats.runs.trec import a_token, as_ranked

    for question in questions:  # reject ids that a run cannot hold before any model is called
        a_token(question.id, "topic")
    tag = run.tag or _tag(searcher, search)
    empty: list[str] = []
    below: list[str] = []
    unscored = written = 0
    ids = SafeIds(lambda name: isinstance(searcher.engine, Container) and name in searcher.engine)
    with atomic_text(str(run.out)) as stream:
        limit = _RUN if search.threshold is None else None
        for result in searcher.search(questions, run.k or limit):
            topic = result.question.id
            for problem in result.problems:
                warn(f"{shorten(topic, 40)}: {problem}")
            if not result.hits:
                (below if result.candidates else empty).append(topic)
            unscored += result.unscored
            written += len(result.hits)
            write_run(stream, as_ranked(ids.entries(result.run_entries(tag))))
            if ids.changed and str(run.out) == "-":
                raise InputError(
                    f"the id {shorten(next(iter(ids.changed)), 60)!r} contains blanks, which a run "
                    "cannot hold: give --out FILE, and FILE.ids.jsonl will map such ids"
                )
    for topics, what in (
        (empty, "have no word in common with the index"),
        (below, "have no document that reaches the threshold"),
    ):
        if topics:
            names = ", ".join(shorten(topic, 40) for topic in topics[:_SHOWN_TOPICS])
            more = ", ..." if len(topics) > _SHOWN_TOPICS else ""
            warn(f"{len(topics)} of {len(questions)} topics {what}: {names}{more}")
    if str(run.out) != "-" and (mapped := ids.write_map(str(run.out))):
        say(
            f"{len(ids.changed):,} ids with blanks or line ends were changed in the run; "
            f"{escaped(str(mapped))} maps them to the documents' own"
        )
    counts = f"{count_of(written, 'document')} for {count_of(len(questions), 'topic')}"
    say(f"{escaped(str(run.out))}: {counts}, tag {tag}")
    return EXIT_UNSCORED if unscored else 0


def _tag(searcher: Searcher, search: SearchSpec) -> str:
    judged = "rerank" if search.rerank else None
    if search.threshold is not None:
        judged = f"p{search.threshold:g}"
    stages = [judged, search.diversify, search.stance]
    return "-".join(filter(None, [searcher.plan.scoring.model, *stages]))
