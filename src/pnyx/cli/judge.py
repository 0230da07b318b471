"""`pnyx judge`: a judge's answers to a task's questions over an items file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from pnyx.cli.judge_runs import ResultsSpec, answer_into, needs_out
from pnyx.cli.options import ColumnSpec, say
from pnyx.cli.params import verb
from pnyx.core.errors import OptionError
from pnyx.core.rooms import RoomCommands
from pnyx.core.spec import file_opt, opt, topics_opt
from pnyx.formats.text_types import FileName, SourceName, Words
from pnyx.judging.format_options import FormatSpec
from pnyx.judging.options import JudgeSpec
from pnyx.judging.questions import Support
from pnyx.judging.tasks import TASKS

if TYPE_CHECKING:
    from pnyx.judging.formats import JudgingFormat
    from pnyx.judging.open_judge import SupportOf
    from pnyx.judging.questions import JudgeQuestion, PairSource
    from pnyx.judging.rag.rag_items import RagItems


class ItemSpec(
    ColumnSpec, heading="Items of runs", rare="depth as_citations as_perspectives words columns"
):
    """Sources of items other than an items file, and the names of the columns of one."""

    columns: tuple[Words, ...] = opt((), "", "--column", "--columns", metavar="FIELD=COLUMN")
    runs: tuple[FileName, ...] = file_opt((), "", "--run", metavar="RUN")
    index: SourceName | None = file_opt(None, metavar="INDEX")
    topics: FileName | None = topics_opt(None)
    perspectives: FileName | None = file_opt(None)
    depth: int = opt(10, low=1)
    as_citations: bool = opt(
        False, "support: statements are sentences that cite the text, and must follow from it."
    )
    as_perspectives: bool = opt(
        False,
        "support: ask a language model whether the text supports the statement, explicitly or by "
        "implication. The packaged judge is always asked this.",
    )
    words: int | None = opt(None, low=0, default_text="100, as in BERDS", needs="perspectives")

    def read(
        self, task: str, items: str | None, file_format: FormatSpec
    ) -> tuple[str, PairSource | Sequence[JudgeQuestion]]:
        """Return where the questions come from, and the questions."""
        self.check_needs()
        sense = [self.flag(n) for n in ("as_citations", "as_perspectives") if getattr(self, n)]
        if sense and task != "support":
            raise OptionError(f"{sense[0]} requires the task support, not {task}")
        if self.as_citations and (self.as_perspectives or self.perspectives is not None):
            other = [*sense[1:], "--perspectives"][0]
            raise OptionError(f"{sense[0]} and {other} exclude each other")
        if task == "rag" and items is not None and not self.runs and self.perspectives is None:
            return items, self._arguments(items)
        sources = (self.index, self.topics, self.perspectives)
        if items is not None and not self.runs and sources == (None, None, None):
            return items, self._read(task, items, file_format)
        views = self.perspectives
        relevance = task == "relevance" and self.topics and len(self.runs) == 1 and views is None
        support = task == "support" and views is not None and self.topics is None
        if items is not None or not self.runs or self.index is None or not (relevance or support):
            raise OptionError(
                "expected ITEMS, or, for relevance, --run with --index and --topics, or, for "
                "support, --run with --index and --perspectives"
            )
        from pnyx.judging.perspectives import PASSAGE_WORDS
        from pnyx.judging.runs.pairs import pairs_of_perspectives, pairs_of_run

        if relevance:
            (run,) = self.runs
            topics = str(self.topics)
            return run, pairs_of_run(run, self.index, topics, self.depth, by_document=False)
        words = PASSAGE_WORDS if self.words is None else self.words
        pairs = pairs_of_perspectives(self.runs, self.index, str(views), self.depth, words)
        return ", ".join(self.runs), pairs

    def _read(self, task: str, items: str, file_format: FormatSpec) -> Sequence[JudgeQuestion]:
        if task == "quality":
            from pnyx.judging.runs.responses import holds_responses

            if holds_responses(items):
                return file_format.texts(TASKS[task], items)
        questions: Sequence[Any] = file_format.read(
            TASKS[task], items, columns=self.mapping, on_rag=_say_read
        )
        if self.as_perspectives:
            return [replace(question, from_answer=False) for question in questions]
        if self.as_citations:
            return [replace(question, cites=True) for question in questions]
        return questions

    @property
    def support_of(self) -> SupportOf:
        """What kind of text support is judged for, if an option says so."""
        if self.as_citations:
            return "citations"
        return "perspectives" if self.as_perspectives or self.perspectives is not None else ""

    def _arguments(self, items: str) -> Sequence[JudgeQuestion]:
        """Return the arguments of an items file, or of a file of responses."""
        from pnyx.judging.runs.responses import holds_responses, items_of_responses

        if holds_responses(items):
            return items_of_responses(items, self.index, self.topics)
        if self.index is not None or self.topics is not None:
            raise OptionError("--index and --topics require a file of responses (pnyx argue)")
        return TASKS["rag"].read(items, columns=self.mapping, on_rag=_say_read)


@verb(
    "judge",
    resumes=True,
    restricts=True,
    records=True,
    words=RoomCommands("judge"),
)
@click.argument("task", type=click.Choice(list(TASKS)), metavar="TASK")
@click.argument("items", required=False)
def command(
    task: str,
    items: FileName | None,
    results: ResultsSpec,
    pool: ItemSpec,
    file_format: FormatSpec,
    spec: JudgeSpec,
    as_json: bool,
) -> int:
    """Answer a task's question for each line of ITEMS (JSONL; - is standard input).

    \b
    support     does the text support it?     nugget      does it give the answer?
    relevance   does it help to answer?       stance      does it take this side?
    quality     how good, on 15 dimensions?   preference  which of two is better?
    rag         argument with its evidence?   sides, ranking: --help-all

    \b
    Example:
      $ echo '{"id": "1", "text": "Fares fell by 10 % in 2024.",' \\
          '"statement": "Tickets became cheaper."}' > a.jsonl
      $ pnyx judge support a.jsonl --out results
      judge packaged; accuracy: pnyx doctor
      1 of 1 scored by packaged; see results
      1 of 1 statement is supported (100 %).

    \b
    More: pnyx judge --help-all, docs/recipes/supported-answers.md.
    \f
    \b
    task        question                        fields of an item
    support     does the text support it?       id, text, statement
    nugget      does it give the answer?        id, text, statement; question
    relevance   does it help to answer?         id, question, document
    stance      does it argue for a side?       id, text, question, stance
    quality     how good, on 15 dimensions?     id, text
    rag         argument with its evidence?     id, query, documents, argument
    preference  which of two is better?         id, a, b, question
    sides       for which side is it?           id, text, question
    ranking     which order suits best?         id, query, documents

    Dimensions of your own for quality: see pnyx judge dimensions --help. Reports with citations:
    see pnyx judge report --help. Parts of that:

    \b
    negative        does it say that there is no answer? id, text, statement
    needs-citation  does it need a source?               id, text, statement
    unanswerable    does it say what is unknown?         id, text, statement

    For support and rag, ITEMS may also be a table or JSON of questions, contexts and answers, as of
    ragas, DeepEval or TruLens: support judges each sentence of an answer against its contexts;
    --column names the columns of question, contexts, answer, id and run_id. For relevance and
    support, --run makes items of the documents of a TREC run (support: of several), with --index
    and --topics, and for support --perspectives.

    --judge-format for quality: listwise (all dimensions in one call) or pointwise (one dimension
    per call); for rag: rag-direct, direct, static-rubric, g-eval, query-rubric, rag-rubric,
    listwise-rag, listwise-rag-fine or support.

    RESULTS (--out, required without --plan) gets answers.jsonl, in the order of ITEMS, and
    manifest.json. Every reply of a language model is kept in the judgement store: running the
    command again, even after a crash, asks only what is missing. Exit status 3: finished, but some
    items are unscored.

    \b
      pnyx judge support ragas.csv --column answer=reply --out answers
      pnyx judge support a.jsonl --judge http://127.0.0.1:8000/v1#my-model --plan
      pnyx judge support a.jsonl --judge openai:gpt-4o-mini --out model
      pnyx judge relevance --run a.run --index my.index --topics a.tsv --out rel
      pnyx judge support --run bm25.run --run dense.run --index my.index \\
        --perspectives views.jsonl --depth 5 --out covered
      pnyx judge support sentences.jsonl --as-citations --out attested
    """
    needs_out(results.out, spec)
    shard = results.share
    file_format.chosen(TASKS[task], spec)  # reports a wrong choice before items are read
    source, items_read = pool.read(task, items, file_format)
    spec = file_format.prompted(spec)
    form, questions = file_format.prepared(TASKS[task], spec, items_read)
    if form is not None:
        _say_left_out(task, form)
    elif task == "quality":
        _say_overall(items_read, questions)
    return answer_into(
        results.out,
        task,
        source,
        questions,
        spec,
        as_json=as_json,
        support_of=_support_of(pool, questions),
        form=form,
        settings=file_format.settings,
        shard=shard,
        summarises=True,
    )


def _say_read(items: RagItems) -> None:
    """Say which RAG records were read, and which rows were skipped."""
    for line in items.lines():
        say(line)


def _support_of(pool: ItemSpec, questions: PairSource | Sequence[JudgeQuestion]) -> SupportOf:
    """Return the kind of text support is judged for, by an option or else by the items."""
    if isinstance(questions, Sequence) and any(
        isinstance(question, Support) and question.from_answer for question in questions
    ):
        return pool.support_of or "answers"
    return pool.support_of


def _say_overall(
    items: PairSource | Sequence[JudgeQuestion], questions: PairSource | Sequence[JudgeQuestion]
) -> None:
    """Say which dimensions the packaged judge does not rate, for items that name none."""
    from pnyx.judging.dimensions import dimensions_of
    from pnyx.judging.students.overall_quality import OVERALL

    if not (isinstance(items, Sequence) and isinstance(questions, Sequence)):
        return
    pairs: Any = zip(items, questions, strict=True)
    if any(before.dimensions != after.dimensions == (OVERALL,) for before, after in pairs):
        others = ", ".join(name for name in dimensions_of("quality") if name != OVERALL)
        say(f"the packaged judge rates {OVERALL} only; {others} need a language model (--judge)")


def _say_left_out(task: str, form: JudgingFormat) -> None:
    """Say which dimensions of the task this format does not rate."""
    if task == "rag" and form.name == "support":
        say(
            "support measures context_relevance and groundedness; answer_relevance and preference "
            "need a language model (--judge) and another --judge-format"
        )
