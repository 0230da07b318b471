"""`pnyx.open`: documents of any kind, searched and argued with as on the command line."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, overload

from pnyx.cases.open_citations import CitationSpec, WritingModels, open_writing_models
from pnyx.cases.options import ArgueSpec
from pnyx.core.errors import InputError, shorten
from pnyx.core.progress import counting, showing
from pnyx.core.records import Question, RunEntry, Unit, as_question
from pnyx.core.spec import Spec, opts_of
from pnyx.reports.writing_options import SubmissionSpec, WriteReportSpec
from pnyx.search.options import SearchSpec, StageSpec

if TYPE_CHECKING:
    from pnyx.cases.case import Case
    from pnyx.formats import ReportRequest
    from pnyx.judging.store.completions import StoredModel
    from pnyx.reports.writing.report import Report
    from pnyx.search.engine import DocumentIndex
    from pnyx.search.hits import SearchHits

_LEFT: Final[dict[type[Spec], dict[type[Spec], str]]] = {
    WriteReportSpec: {
        SearchSpec: " ".join(field.name for field, _ in opts_of(StageSpec)),
        SubmissionSpec: "layout style metadata_fields documents",
    },
}
"""Fields that do not apply to a report; here, it is not written to a file."""


@dataclass(frozen=True, slots=True)
class Collection:
    """Documents to search and argue with.

    The options of the methods are those of `pnyx search`, `pnyx argue` and `pnyx report`, with
    their defaults; `--set dense-weight=.5` is `dense_weight=.5`, and `lambda` is `lam`.

    Attributes:
        index: what is searched.
        name: where it is, for people.
        llm: language model as in `--llm`; None for that of `$PNYX_LLM`. Without either, the
            packaged judge answers, and sentences are quoted.
    """

    index: DocumentIndex
    name: str
    llm: str | None = None

    def __len__(self) -> int:
        return len(self.index)

    @overload
    def search(
        self, question: Question | str, k: int | None = None, *, unit: Unit = ..., **options: Any
    ) -> SearchHits: ...

    @overload
    def search(
        self,
        question: Iterable[Question | str],
        k: int | None = None,
        *,
        unit: Unit = ...,
        **options: Any,
    ) -> list[SearchHits]: ...

    def search(
        self,
        question: Question | str | Iterable[Question | str],
        k: int | None = None,
        *,
        unit: Unit = "passage",
        **options: Any,
    ) -> SearchHits | list[SearchHits]:
        """Return the best `k` documents for a question, by default 10, good arguments first.

        Of several questions, one result each, ranked by the model alone, as `--topics` does. With
        `unit="document"`, only the best passage of each document that was split is returned.

        Raises:
            InputError: no question, an unknown option or a value that it does not take, or an index
                that lacks what the search needs.
            ModelError: the language model or the embedder cannot be used.
        """
        from pnyx.judging.counted_judge import default_judge
        from pnyx.search.open_search import open_searcher

        (spec,) = _specs(options, SearchSpec)
        spec.check_needs()
        judged = spec.asks_model or spec.diversify == "perspectives"
        with self._model(needed=spec.asks_model) as model:
            judge = default_judge(model) if judged else None
            searcher = open_searcher(self.index, spec, model, judge, warn_in_python, unit)
            if isinstance(question, Question | str):
                return searcher.show(question, k)
            return _counted(searcher.search(question, k))

    def run(
        self,
        questions: Iterable[Question | str] | Mapping[str, Any] | str | Path,
        k: int = 1000,
        *,
        unit: Unit = "document",
        **options: Any,
    ) -> list[RunEntry]:
        """Return a TREC run of the best `k` documents for questions.

        These are texts, records, a file, a data frame (qid, query), or a dict of id -> text.
        Documents that are split rank by their best passage; with `unit="passage"` passages rank.
        """
        from pnyx.formats import read_questions

        is_read = isinstance(questions, str | Path | Mapping) or hasattr(questions, "columns")
        topics: Any = read_questions(questions) if is_read else questions
        return [
            entry
            for result in self.search(topics, k, unit=unit, **options)
            for entry in result.run_entries()
        ]

    def argue(self, question: Question | str, **options: Any) -> Case:
        """Argue both sides of a question, each sentence cited, each citation judged.

        Raises as `search` does.
        """
        from pnyx.cases.argument import argue
        from pnyx.cases.case import with_settings
        from pnyx.cases.open_writer import argue_plan, open_writer
        from pnyx.judging.counted_judge import default_judge, spending_line, watched
        from pnyx.search.open_search import open_searcher
        from pnyx.search.split_documents import size_of

        spec, search, citations = _specs(options, ArgueSpec, SearchSpec, CitationSpec)
        posed = as_question(question)
        argued = spec.asked_for(posed.text, posed.id, posed.claims)
        definition = argued.definition or posed.definition
        argued = replace(posed, definition=definition, claims=argued.claims)
        with self._writing_models(citations) as opened:
            model = opened.llm
            if model is None and spec.given("asked"):
                raise InputError("asked requires llm: there is no language model")
            judge = default_judge(model)
            searcher = open_searcher(self.index, search, model, judge, warn_in_python)
            writer, plan = open_writer(spec, model), argue_plan(spec)
            with watched(judge, opened.models, reporting=showing) as watching:
                case = argue(
                    searcher,
                    argued,
                    judge=watching,
                    writer=writer,
                    citation_judge=watching.alongside(opened.citation_judge),
                    plan=plan,
                    model=model,
                )
        cost = {} if model is None else {"cost": spending_line(model)}
        return with_settings(case, index=f"{self.name} ({size_of(self.index)})", **cost)

    def report(self, request: ReportRequest | Question | str, **options: Any) -> Report:
        """Write the report to a request, or to a question, under the limits of `options`.

        Raises as `search` does.
        """
        from pnyx.cases.limits import limits_of
        from pnyx.formats import ReportRequest
        from pnyx.judging.counted_judge import watched
        from pnyx.reports.writing.report import report
        from pnyx.reports.writing_options import open_reporter, report_plan, rules_of
        from pnyx.search.open_search import open_searcher

        spec, submission, search, citations = _specs(
            options, WriteReportSpec, SubmissionSpec, SearchSpec, CitationSpec
        )
        if not isinstance(request, ReportRequest):
            question = as_question(request)
            request = ReportRequest(question.id, question.text)
        rules = rules_of(submission)
        limits, plan = limits_of(request, rules, spec.limit), report_plan(spec, submission, rules)
        with self._writing_models(citations) as opened:
            model = opened.llm
            writer = open_reporter(spec, model, plan)
            searcher = open_searcher(self.index, search, model, None, warn_in_python)
            writing_model, judge = model if writer.asks else None, opened.citation_judge
            with watched(judge, opened.models, reporting=showing) as watching:
                return report(
                    searcher,
                    request,
                    limits,
                    judge=watching,
                    writer=writer,
                    plan=plan,
                    model=writing_model,
                )

    async def search_async(
        self, question: Question | str, k: int | None = None, **options: Any
    ) -> SearchHits:
        """Search within a running event loop; see `search`."""
        import anyio

        return await anyio.to_thread.run_sync(lambda: self.search(question, k, **options))

    async def argue_async(self, question: Question | str, **options: Any) -> Case:
        """Argue within a running event loop; see `argue`."""
        import anyio

        return await anyio.to_thread.run_sync(lambda: self.argue(question, **options))

    def _writing_models(self, citations: CitationSpec) -> AbstractContextManager[WritingModels]:
        from pnyx.judging.options import PaidModelSpec

        spec = PaidModelSpec(llm=(self.llm,) if self.llm else ())
        return open_writing_models(spec, citations, warn_in_python)

    @contextmanager
    def _model(self, *, needed: bool = True) -> Iterator[StoredModel | None]:
        from pnyx.judging.open_models import open_model
        from pnyx.judging.options import PaidModelSpec

        spec = PaidModelSpec(llm=(self.llm,) if self.llm else ()) if needed else None
        with open_model(spec, warn_in_python, spec, cost=False) as model:
            yield model


def open(  # noqa: A001 - as gzip.open
    documents: object,
    to: str | Path | None = None,
    *,
    llm: str | None = None,
    columns: Mapping[str, str] | None = None,
    features: Iterable[str] | None = None,
    unit: Unit | None = None,
) -> Collection:
    """Open documents to search and argue with.

    Args:
        documents: an index folder, or the address of an index; a file or folder of documents; or
            what a program has: a data frame of pandas or polars, dicts with a `text`, texts,
            records. Documents without an index are indexed first; a collection is returned
            unchanged.
        to: index folder to create; by default a temporary one, deleted with the collection.
        llm: language model as in `--llm`; by default that of `$PNYX_LLM`, if there is one.
        columns: Pnyx field -> the name that the documents have for it, e.g. `{"text": "body"}`.
        features: what a new index stores in addition to words, by default `vectors` and `quality`,
            as `pnyx index` makes them (about 25 documents of 175 words a second and core).
        unit: index whole documents or passages of longer ones; by default passages of a folder and
            of files of prose.

    Raises:
        InputError: there are no documents, one is wrong (the line names it), or `to` exists.
    """
    from pnyx.formats import read_evidence
    from pnyx.search.build import build_index
    from pnyx.search.open_engine import open_index, stands_for_index
    from pnyx.search.plan import FEATURES
    from pnyx.search.sources import SourceReader

    is_searchable = isinstance(documents, Collection) or (
        isinstance(documents, str | Path) and stands_for_index(documents)
    )
    if is_searchable and (to is not None or columns or features is not None or unit is not None):
        raise InputError(
            "to, columns, features and unit require documents that are not indexed yet"
        )
    if isinstance(documents, Collection):
        return documents if llm is None else replace(documents, llm=llm)
    if is_searchable:
        return Collection(open_index(str(documents)), str(documents), llm)
    records: object = documents
    if isinstance(documents, str | Path):
        records = SourceReader(
            [str(documents)], columns=columns, on_warning=warn_in_python, unit=unit
        )
    elif unit is not None:
        raise InputError("unit requires a file or folder of documents")
    elif columns:
        records = read_evidence(documents, columns=columns)
    index = build_index(records, to, features=FEATURES if features is None else features)
    named = documents if isinstance(documents, str | Path) else type(documents).__name__
    return Collection(index, str(to or named), llm)


def _specs(options: Mapping[str, Any], *kinds: type[Spec]) -> Any:
    """Return specs of these kinds; each option goes to the first that has it."""
    rest, specs, known_names = dict(options), [], set[str]()
    for kind in kinds:
        left = _LEFT.get(kinds[0], {}).get(kind, "").split()
        names = {field.name for field, _ in opts_of(kind)}.difference(left)
        known_names |= names
        specs.append(kind.from_row({name: rest.pop(name) for name in names if name in rest}))
    for name in rest:
        expected = ", ".join(sorted(known_names))
        raise InputError(f"no option {shorten(name, 40)!r}, expected one of {expected}")
    return specs


def _counted(items: Iterable[SearchHits]) -> list[SearchHits]:
    with counting(None, "searching") as advance:
        done: list[SearchHits] = []
        for item in items:
            done.append(item)
            advance(len(done))
        return done


def warn_in_python(line: str) -> None:
    """Issue a Python warning in place of a line on standard error."""
    warnings.warn(line.removeprefix("warning: "), stacklevel=4)
