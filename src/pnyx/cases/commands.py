"""`pnyx argue`: a cited pro and con argument on a question."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from pnyx.cases.open_citations import CitationSpec, open_writing_models
from pnyx.cases.open_writer import argue_plan, open_writer
from pnyx.cases.options import ArgueSpec
from pnyx.cli import EXIT_UNSCORED
from pnyx.cli.options import check_question, say
from pnyx.cli.params import verb
from pnyx.core.errors import OptionError, count_of, shorten
from pnyx.core.records import CitationStyle
from pnyx.core.spec import Spec, opt, out_opt
from pnyx.formats.text_types import SourceName
from pnyx.judging.counted_judge import default_judge, spending_line, watched
from pnyx.judging.judge_names import introduced
from pnyx.judging.options import PaidModelSpec
from pnyx.search.common_index import IndexCommand, open_documents
from pnyx.search.open_search import open_searcher
from pnyx.search.options import SearchSpec

if TYPE_CHECKING:
    from pnyx.cases.case import Case, Draft, Writer
    from pnyx.core.records import Evidence, Question, Side
    from pnyx.judging.base import Judge
    from pnyx.judging.store.completions import StoredModel


class ArgumentOutputSpec(Spec, heading="Output", rare="style topic_id"):
    """The output files of the argument."""

    out: str | None = out_opt(None)
    html: str | None = out_opt(None)
    md: str | None = out_opt(None, "Write the report as Markdown.")
    style: CitationStyle = opt("ids")
    topic_id: str | None = opt(None, "", "--id", default_text="from the question")


@verb(
    "argue",
    kind=IndexCommand,
    without={"search": "stance certainty"},
    rare={
        "model": "plan budget",
        "citations": "citation_judge",
        "search": "model rerank threshold diversify",
        "argue": "retrieve per_side definition",
    },
)
@click.argument("index")
@click.argument("question")
def command(
    index: SourceName,
    question: str,
    output: ArgumentOutputSpec,
    spec: ArgueSpec,
    search: SearchSpec,
    model: PaidModelSpec,
    citations: CitationSpec,
    as_json: bool,
) -> int:
    """Argue a question from INDEX: each sentence cited, each citation judged.

    INDEX is an index, or a file or folder of documents, which are indexed first. Without --llm,
    sentences are quoted and the packaged judge decides: no key and no network are needed. The
    report is printed as Markdown unless --html, --md or --out names a file.

    \b
    Example:
      $ pnyx demo --files-only --out ex
      $ pnyx argue ex/rent "Does rent control reduce the supply of housing?" \\
          --html report.html
      the case for yes: 10 sentences from 4 documents; on the question 0.80; ...
      the case for no: 4 sentences from 2 documents; on the question 0.67; on ...

    \b
    More: pnyx argue --help-all, docs/start/tour.md.
    \f
    Documents are indexed in a folder next to them: documents.index. The next command uses it, with
    the files that changed indexed again.

    With --llm the model reads the question, decides which side each passage argues and writes the
    text; the report says how far it decided and what it cost. --out writes TREC RAG JSONL, one line
    a side. Documents with less than --certainty are listed, not argued with.

    \b
      pnyx argue my.index "Should voting be compulsory?" --llm local --plan
      pnyx argue my.index "Should voting be compulsory?" --llm LLM --prose 300
    """
    from pnyx.cases.argument import argue
    from pnyx.cases.case import with_settings
    from pnyx.core.placement import placed_together
    from pnyx.search.split_documents import size_of

    check_question(question)
    output.check_needs()
    model.check()
    if spec.given("asked") and not model.asks_models:
        raise OptionError("--asked requires --llm")
    topic = spec.asked_for(question, output.topic_id or "")
    opened = open_documents(index)
    with (
        open_writing_models(model, citations, say) as models,
        watched(default_judge(models.llm), models.models) as judge,
    ):
        deciding: Judge = judge
        citing: Judge = judge.alongside(models.citation_judge)
        if model.plan:
            from pnyx.cases.stand_ins import StandInJudge

            deciding, citing = StandInJudge(deciding), StandInJudge(citing)
        case = argue(
            open_searcher(opened, search, models.llm, deciding, say),
            topic,
            judge=deciding,
            writer=_writer(spec, models.llm, plan=model.plan),
            citation_judge=citing,
            plan=replace(argue_plan(spec), most=model.plan),
            model=models.llm,
        )
        if model.plan:
            return _print_plan(case, models.models, model, as_json=as_json)
    cost = {} if models.llm is None else {"cost": spending_line(models.llm)}
    case = with_settings(case, index=f"{index} ({size_of(opened)})", **cost)
    printed = not (output.out or output.html or as_json)
    with placed_together():
        if output.out:
            write_responses_file(output.out, [case], output.style)
        write_pages(case, html=output.html, md=output.md or ("-" if printed else None))
    if as_json:
        from pnyx.cases.rows import render_json

        click.echo(render_json(case), nl=False)
    _say(case, paged=bool(printed or output.html or output.md), printed=printed)
    return 0 if case.complete else EXIT_UNSCORED


def _writer(spec: ArgueSpec, llm: StoredModel | None, *, plan: bool) -> Writer:
    writer = open_writer(spec, llm)
    if not plan:
        quick = type(writer).__name__ == "ExtractiveWriter"
        return writer if quick or sys.stderr.isatty() else _Told(writer)
    from pnyx.cases.stand_ins import StandInWriter

    return StandInWriter(writer, spec.points, spec.words)


def _print_plan(
    case: Case, models: Sequence[StoredModel], model: PaidModelSpec, *, as_json: bool
) -> int:
    """Print the most calls that the argument may need."""
    from pnyx.cli.judge_runs import plan_asked

    sentences = sum(len(side.response.sentences) for side in case.sides)
    line = f"an argument of at most {sentences} sentences"
    plan_asked(models, model, line, {"sentences": sentences}, as_json=as_json)
    return 0


def write_pages(case: Case, *, html: str | None, md: str | None) -> None:
    """Write the report as one HTML file and as Markdown, if names are given."""
    from pnyx.core.files import write_text

    if html:
        from pnyx.cases.page.report import render_html

        write_text(html, render_html(case))
    if md:
        from pnyx.cases.page.markdown import render_markdown

        write_text(md, render_markdown(case))


def write_responses_file(path: str, cases: list[Case], style: CitationStyle) -> None:
    """Write the responses of cases as TREC RAG JSONL, empty ones for sides without evidence."""
    from pnyx.cases.citations import submitted_response
    from pnyx.core.files import atomic_text
    from pnyx.formats import write_responses

    sides = [side for case in cases for side in case.sides]
    responses = [submitted_response(side, scores=style == "scores") for side in sides]
    with atomic_text(path) as stream:
        write_responses(stream, responses, style)


def _say(case: Case, *, paged: bool, printed: bool) -> None:
    """Print a summary on stderr, since stdout may be a pipe; leave out what a written page says."""
    from pnyx.cases.page import notes
    from pnyx.cases.page.model import measure_wording
    from pnyx.display.text import one_line

    lines: list[str] = []
    less: list[str] = []
    for side in case.sides:
        count = len(side.response.sentences)
        if side.less_sure:
            less.append(f"{len(side.less_sure)} for {one_line(case.names[side.side])}")
        if not side.considered:
            continue
        sources = len(side.response.references)
        line = f"the case for {one_line(case.names[side.side])}: {count_of(count, 'sentence')}"
        line += f" from {count_of(sources, 'document')}"
        for name in ("on_the_question", "on_this_side"):
            value = side.measures.get(name)
            if value is not None and value.value is not None:
                line += f"; {measure_wording(name).label.lower()} {value.value:.2f}"
        lines.append(line + notes.said_of_precision(side.response, side.support, side.measures))
        lines += [f"  {problem}" for problem in side.problems]
    if less:
        lines.append(f"less likely, listed only: {', '.join(less)}")
    if case.undecided:
        undecided = count_of(len(case.undecided), "passage")
        lines.append(f"undecided: {undecided} that may argue either side")
    lines += [*filter(None, [notes.said_of_number(case)]), *notes.asked_back(case)]
    lines += notes.doubts(case)
    lines += [] if paged else notes.label_notes(case.topics)
    lines += [f"judge {line}" for line in introduced(case.judges)]
    lines = [] if printed else lines
    lines += [f"search: {problem}" for problem in case.search_problems]
    if case.unscored:
        reason = shorten(case.unscored_reason, 200)
        lines.append(f"a verdict is missing for {count_of(case.unscored, 'passage')}: {reason}")
    click.echo("\n".join(lines), err=True, nl=bool(lines))


class _Told:
    """A writer that logs when it starts: a language model may take minutes for a side."""

    def __init__(self, writer: Writer) -> None:
        self._writer, self.name = writer, writer.name

    async def write(self, question: Question, side: Side, documents: Sequence[Evidence]) -> Draft:
        click.echo(f"pnyx: writing {side} from {len(documents)} passages: {self.name}", err=True)
        return await self._writer.write(question, side, documents)
