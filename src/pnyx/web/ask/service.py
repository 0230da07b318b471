"""What `pnyx serve` answers from: one index, one judge, opened once.

Expensive work is done in few threads with bounded queues; equal requests share running and recent
results. `choices` checks everything that a request may choose.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeVar

from pnyx.cases.open_citations import citation_judge
from pnyx.cases.open_writer import argue_plan, open_writer
from pnyx.cases.options import ArgueSpec
from pnyx.core.errors import IndexFolderError, InputError, PnyxError, shorten
from pnyx.core.native import advise_compiling
from pnyx.core.network import is_remote
from pnyx.core.records import Question, question_id
from pnyx.formats.fields import Fields
from pnyx.formats.items import ITEM_FORMATS
from pnyx.judging.answers import answer_rows, tally
from pnyx.judging.base import ask
from pnyx.judging.counted_judge import Watched, default_judge
from pnyx.judging.documents import find_document
from pnyx.judging.judge_names import short_name
from pnyx.judging.open_judge import open_judge
from pnyx.judging.open_models import Say, open_model
from pnyx.judging.options import PaidModelSpec
from pnyx.judging.tasks import TASKS
from pnyx.models.http.flow import LeftError, cores
from pnyx.search.hits import has_all
from pnyx.search.open_search import open_perspectives
from pnyx.search.options import SearchSpec
from pnyx.search.plan import FOUND
from pnyx.search.split_documents import size_of
from pnyx.search.topics import prepare_topics
from pnyx.web.api.rows import AnswersRow
from pnyx.web.ask.choices import (
    MOST_HITS,
    MOST_ITEMS,
    MOST_VIEWS,
    chosen,
    chosen_for,
    judge_choices,
    question_text,
    whole,
)
from pnyx.web.ask.coverage import cover
from pnyx.web.ask.examples import label_topics
from pnyx.web.ask.job import Job, Step
from pnyx.web.ask.open_index import OpenIndex
from pnyx.web.ask.pool import Pool, SharedResults
from pnyx.web.ask.search_answer import SearchAnswer, find

if TYPE_CHECKING:
    from pnyx.cases.case import Case
    from pnyx.core.records import Evidence
    from pnyx.judging.base import Judge
    from pnyx.judging.questions import JudgeQuestion
    from pnyx.judging.store.completions import StoredModel
    from pnyx.search.engine import DocumentIndex
    from pnyx.web.api.rows import CoverageRow


def judge_items(
    task: str,
    items: Sequence[Any],
    row: Mapping[str, Any],
    server: PaidModelSpec,
    model: StoredModel | None,
    say: Say,
) -> AnswersRow:
    """Judge items, given as objects as in an items file; InputError, ModelError."""
    if task not in TASKS:
        name = shorten(repr(task), 40)
        raise InputError(f"task: found {name}, expected one of: {', '.join(TASKS)}")
    spec, formatted = judge_choices(server, row)
    formatted.chosen(TASKS[task], spec)
    form, prepared = formatted.prepared(TASKS[task], spec, _questions(task, items))
    questions = list(prepared)
    with contextlib.ExitStack() as stack:
        models = [] if model is None else [model]
        opened = stack.enter_context(open_judge(TASKS[task], spec, say, form=form, models=models))
        answers = ask(opened.judge, questions)
        rows = [
            line
            for question, answer in zip(questions, answers, strict=True)
            for line in answer_rows(question, answer)
        ]
        judged = {"task": task, "judge": opened.judge.name, "card": opened.judge.card}
        return AnswersRow.model_validate({**judged, "answers": rows, "counts": tally(rows)})


def _questions(task: str, items: Sequence[Any]) -> list[JudgeQuestion]:
    if not isinstance(items, list | tuple) or not items:
        raise InputError("items: expected a list of at least one object")
    if len(items) > MOST_ITEMS:
        raise InputError(f"items: found {len(items)}, expected at most {MOST_ITEMS}")
    form = ITEM_FORMATS[TASKS[task].items]
    seen: dict[Any, int] = {}
    questions = []
    for position, item in enumerate(items):
        if not isinstance(item, Mapping):
            raise InputError(
                f"items[{position}]: found {shorten(repr(item), 40)}, expected an object"
            )
        try:
            parsed = form.parse(item)
            first = seen.setdefault(form.identity(parsed), position)
            if first != position:
                raise InputError(f"repeats the id of items[{first}]")
            questions.append(TASKS[task].question(Fields(parsed)))
        except InputError as error:
            raise InputError(f"items[{position}]: {error.problem}") from error
    return questions


T = TypeVar("T")

_PREPARED_AT_ONCE: Final = 8
_QUICK: Final = (max(2, min(4, cores())), 400)
_QUICK_REMOTE: Final = (24, 400)
_SLOW: Final = (2, 64)
"""Threads, and the length of their queue.

Waiting for a cluster or a language model uses no CPU, so they get more.
"""
_SLOW_MODEL: Final = (8, 64)
_KEPT_SEARCHES: Final = 512
_KEPT: Final = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerSettings:
    """The server's options; requests may override those that `choices` allows."""

    index: str  # folder of the index
    search: SearchSpec = field(default_factory=SearchSpec)  # options of its search
    argue: ArgueSpec = field(default_factory=ArgueSpec)  # options of arguments
    model: PaidModelSpec = field(default_factory=PaidModelSpec)  # with its store and its budget


@contextlib.contextmanager
def open_service(asking: ServerSettings, say: Say) -> Iterator[AskService]:
    """Open the service; InputError for an invalid choice, IndexFolderError if there is no index."""
    asking.model.check()
    with open_model(asking.model, say, asking.model) as model:
        service = AskService(asking, model, say)
        try:
            yield service
        finally:
            service.close()


class AskService:
    """Answers questions from one index, in one event loop; `ready` after `warm_up`."""

    def __init__(self, asking: ServerSettings, model: StoredModel | None, say: Say) -> None:
        self.asking, self._model, self._say = asking, model, say
        self.judge: Judge = default_judge(model)
        self._citation_judge = citation_judge(model)
        self.opened = OpenIndex(asking.index, model, self.judge, say)
        self.opened.searcher(asking.search)  # invalid choices raise at the start
        open_writer(asking.argue, model)
        self._quick = Pool("search", *(_QUICK_REMOTE if is_remote(asking.index) else _QUICK))
        self._slow = Pool("ask", *(_SLOW if model is None else _SLOW_MODEL), yielding=True)
        self._searches, self._others = SharedResults(_KEPT_SEARCHES), SharedResults(_KEPT)
        self._jobs: dict[Any, Job] = {}
        self.ready = False

    @property
    def name(self) -> str:
        """The index's name, for people."""
        return self.opened.name

    @property
    def index(self) -> DocumentIndex:
        """The current index on the disk; reopened if it has changed."""
        return self.opened.index

    @property
    def documents(self) -> int:
        """The current number of documents in the index."""
        return len(self.opened.index)

    @property
    def model_name(self) -> str:
        """The language model's name; empty if none is used."""
        return "" if self._model is None else self._model.name

    async def work(self, work: Callable[[], T]) -> T:
        """Do work that asks a judge, off the event loop. Raises Busy, and what `work` raises."""
        return await self._slow.run(work)

    def described(self) -> tuple[str, ...]:
        """Return what is served, in words: the size, the search, the judge and the writer."""
        writer = self.model_name or "sentences are quoted; no language model is asked"
        searcher = self.opened.searcher(self.asking.search)
        index = self.index
        features = [name for name in ("quality", "vectors", "clusters") if has_all(index, name)]
        size = size_of(index) + (f" with {', '.join(features)}" if features else "")
        judge = f"judge {short_name(self.judge.name)}"
        return size, searcher.described, judge, writer

    def close(self) -> None:
        """Drop queued work; running arguments stop at their next step."""
        for job in self._jobs.values():
            job.give_up()
        self._quick.close()
        self._slow.close()

    # Searching ----------------------------------------------------------------------------------

    async def search(
        self,
        question: str,
        row: Mapping[str, Any] | None = None,
        *,
        k: int | str = FOUND,
        facet: int | str | None = None,
        every_topic: bool = False,
    ) -> SearchAnswer:
        """Return the best `k`, of one topic if asked (`facet`); InputError, Busy, ModelError.

        `every_topic` is that of `list_hits`.
        """
        text = question_text(question)
        spec = chosen(self.asking.search, row or {})
        count = whole("k", k, 1, MOST_HITS)
        number = None if facet is None else whole("facet", facet, 0, 1_000_000)
        pool = self._slow if spec.asks_model or spec.diversify == "perspectives" else self._quick

        def once() -> SearchAnswer:
            searcher = self.opened.searcher(spec)
            question = Question(question_id(text), text)
            index = self.opened.index
            return find(searcher, index, question, count, number, every_topic=every_topic)

        def work() -> SearchAnswer:
            try:
                return once()
            except IndexFolderError:  # from an index that was replaced meanwhile
                return once()

        key = ("search", text, repr(spec), count, number, every_topic, self.opened.state)
        answer: SearchAnswer = await self._searches.ask(key, lambda: pool.run(work))
        return answer

    async def document(self, doc_id: str) -> Evidence | None:
        """Return a document by its id; None if the index does not have it."""

        def work() -> Evidence | None:
            return find_document(self.opened.index, doc_id)

        return await self._quick.run(work)

    async def perspectives(
        self, question: str, row: Mapping[str, Any] | None = None, *, k: int | str = FOUND
    ) -> CoverageRow:
        """Return perspectives and which of `k` documents cover each; raises as `search` does."""
        text, spec, most, count = self._viewed(question, row, k)

        def work() -> CoverageRow:
            from pnyx.judging.students.judge import PackagedJudge

            question = Question(question_id(text), text)
            searcher = self.opened.searcher(spec)
            results = searcher.show(question, count)
            documents = searcher.engine.fetch([hit.doc_id for hit in results.hits])
            source = open_perspectives(self.opened.index, spec, self._model, most)
            return cover(question, source, documents, PackagedJudge("support"))

        key = ("perspectives", text, repr(spec), most, count, self.opened.state)
        coverage: CoverageRow = await self._others.ask(key, lambda: self._slow.run(work))
        return coverage

    def known_perspectives(self, question: str, *, k: int) -> CoverageRow | None:
        """Return a recent result of `perspectives`; None if it would have to be computed."""
        text, spec, most, count = self._viewed(question, None, k)
        key = ("perspectives", text, repr(spec), most, count, self.opened.state)
        coverage: CoverageRow | None = self._others.get(key)
        return coverage

    def _viewed(
        self, question: str, row: Mapping[str, Any] | None, k: int | str
    ) -> tuple[str, SearchSpec, int | None, int]:
        """Return the question, the search options, and the most perspectives and documents."""
        options = dict(row or {})
        most = options.pop("count", None)
        return (
            question_text(question),
            chosen(self.asking.search, options),
            self.asking.search.count if most is None else whole("count", most, 1, MOST_VIEWS),
            whole("k", k, 1, MOST_HITS),
        )

    # Arguing ------------------------------------------------------------------------------------

    async def argue(
        self, question: str, row: Mapping[str, Any] | None = None
    ) -> AsyncGenerator[Step, None]:
        """Yield the steps of an argument, last the `Case`; raises as `search` does."""
        text = question_text(question)
        spec, search = chosen_for(self.asking.argue, self.asking.search, row or {})
        argued = spec.asked_for(text)
        key = ("argue", text, repr(spec), repr(search), self.opened.state)
        stored = self._others.get(key)
        if stored is not None:
            for step in stored:
                yield step
            return
        job = self._jobs.get(key)
        if job is None:
            job = self._jobs[key] = Job()
            asyncio.ensure_future(self._run(key, job, argued, spec, search))  # noqa: RUF006
        async with contextlib.aclosing(job.follow(lambda: self._forget(key, job))) as steps:
            async for step in steps:
                yield step

    async def case(self, question: str, row: Mapping[str, Any] | None = None) -> Case:
        """Return the argument; see `argue`."""
        async with contextlib.aclosing(self.argue(question, row)) as steps:
            async for step in steps:
                if step.case is not None:
                    return step.case
        raise LeftError("the argument was cancelled")

    def _forget(self, key: Any, job: Job) -> None:
        if self._jobs.get(key) is job:
            del self._jobs[key]

    async def _run(
        self, key: Any, job: Job, question: Question, spec: ArgueSpec, search: SearchSpec
    ) -> None:
        case: Case | None = None
        error: BaseException | None = None
        try:
            case = await self._slow.run(lambda: self._argue(job, question, spec, search), job.gone)
        except (Exception, asyncio.CancelledError) as failed:
            error = failed
        job.end(case, error)
        if case is not None:
            self._others.put(key, tuple(job.steps))
        self._forget(key, job)

    def _argue(self, job: Job, question: Question, spec: ArgueSpec, search: SearchSpec) -> Case:
        from pnyx.cases.argument import argue
        from pnyx.cases.case import with_settings

        if job.left:
            raise LeftError("nobody is waiting for this any more")
        searcher = self.opened.searcher(search)
        judge = Watched(self.judge, job.count)
        case = argue(
            searcher,
            question,
            judge=judge,
            writer=open_writer(spec, self._model),
            citation_judge=judge.alongside(self._citation_judge),
            plan=argue_plan(spec),
            tell=job.tell,
            model=self._model,
        )
        return with_settings(case, index=f"{self.name} ({size_of(searcher.engine)})")

    # Judging ------------------------------------------------------------------------------------

    async def judge_items(
        self, task: str, items: Sequence[Any], row: Mapping[str, Any] | None = None
    ) -> AnswersRow:
        """Return a judge's answers to an items file's objects; raises as `search` does."""
        return await self._slow.run(
            lambda: judge_items(task, items, row or {}, self.asking.model, self._model, self._say)
        )

    # Warming up ---------------------------------------------------------------------------------

    async def warm_up(self) -> None:
        """Load the models for the first question; `ready` is set when done."""
        started = time.monotonic()
        try:
            await self._quick.run(self._load)
            await self._quick.run(self.opened.index.compile)
            if advice := advise_compiling(len(self.opened.index)):
                self._say(advice)
        except PnyxError as error:
            self._say(f"warning: {error}")
        self.ready = True
        self._say(f"ready after {time.monotonic() - started:.1f} s")
        topics = await self._slow.run(lambda: label_topics(self.opened.index))
        for start in range(0, len(topics), _PREPARED_AT_ONCE):
            some = topics[start : start + _PREPARED_AT_ONCE]
            await self._slow.run(partial(prepare_topics, some))

    def _load(self) -> None:
        index = self.opened.index
        if not len(index):
            return
        words = next(iter(index.documents_at([0]))).text[:200]
        searcher = self.opened.searcher(self.asking.search)
        if searcher.plan.rerank or searcher.plan.asks_sides:  # asking a model may cost money
            index.retrieve(words, searcher.plan.scoring, FOUND, searcher.embedder)
            return
        find(searcher, index, Question("warm-up", words), FOUND)
