"""`pnyx annotate`: relevance labels at scale, from definitions to pairs (DIRAS)."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import IO, TYPE_CHECKING

import click

from pnyx.cli.options import Outcome, refuse_two_outputs, say, warn, warn_undefined
from pnyx.cli.params import Group, verb
from pnyx.core.errors import InputError, OptionError, shorten
from pnyx.core.spec import Spec, file_opt, opt, out_opt
from pnyx.formats.text_types import SourceName
from pnyx.judging.counted_judge import default_judge
from pnyx.judging.open_models import open_model
from pnyx.judging.options import ModelSpec, WriterSpec
from pnyx.relevance.distil_command import distil
from pnyx.relevance.label_command import label
from pnyx.search.common_index import IndexCommand, open_documents
from pnyx.search.open_search import open_searcher
from pnyx.search.options import SearchSpec

if TYPE_CHECKING:
    from pnyx.core.records import Question


@click.group(cls=Group, name="annotate", no_args_is_help=True)
def command() -> None:
    """Annotate relevance at scale: from definitions and a teacher's labels to a small judge.

    \b
    Example:
      $ pnyx demo --files-only --out ex
      $ pnyx annotate sample ex/arguments.jsonl ex/questions.md --out pairs.jsonl
      $ pnyx annotate label pairs.jsonl --judge ex/labels.jsonl --out labels
      $ pnyx annotate distil labels --kind lexical --out student
      $ pnyx judge relevance pairs.jsonl --judge student --out results
      judge student:student; accuracy: pnyx doctor
      160 of 160 scored by student:student; see results

    \b
    More: docs/recipes/annotate.md.
    """


class DefineSpec(Spec, heading="Definitions"):
    """Where to write definitions, and what to draft them from."""

    out: str = out_opt(...)
    examples: str | None = file_opt(None)


@verb("define", group=command, short_help="Draft definitions of what is relevant to each question.")
@click.argument("questions")
def define(questions: str, spec: DefineSpec, model: WriterSpec, as_json: bool) -> Outcome:
    """Draft a definition of relevance for each of QUESTIONS (any questions file) without one.

    The model sees the question alone, or also passages judged relevant (--examples). Edit the
    result: it decides what every later step counts as relevant.

    \b
    Example:
      $ pnyx annotate define questions.jsonl --llm openai:gpt-4o-mini --out q.md

    \b
    More: pnyx annotate define --help-all, docs/recipes/annotate.md.
    \f
    --out is Markdown for .md, else JSONL; - is stdout. --examples are relevance items with
    question_id. Exit status 3: the model gave no usable definition for some questions; they are
    written without one.
    """
    from pnyx.core.files import atomic_text
    from pnyx.formats import read_questions
    from pnyx.relevance.definitions import draft_definitions

    refuse_two_outputs("--out", spec.out, as_json=as_json)
    topics = list(read_questions(questions, on_warning=warn))
    _writer(spec.out)(io.StringIO(), topics)  # fail on unwritable questions before paying a model
    examples = _examples(spec.examples, topics) if spec.examples is not None else {}
    with open_model(model, say) as llm:
        if llm is None:
            raise OptionError("drafting definitions requires a language model: add --llm")
        drafted = draft_definitions(topics, llm, examples)
    for draft in drafted:
        for problem in draft.problems:
            warn(f"{shorten(draft.question.id, 40)}: {problem}")
    with atomic_text(spec.out) as stream:
        _writer(spec.out)(stream, (draft.question for draft in drafted))
    failed = sum(draft.failed for draft in drafted)
    had = sum(bool(question.definition.strip()) for question in topics)
    row = {"questions": len(topics), "drafted": len(topics) - had - failed, "failed": failed}
    return Outcome(row, "", failed, ascii=True)


def _examples(path: str, questions: list[Question]) -> dict[str, list[str]]:
    """Read relevant passages by question."""
    from pnyx.core.files import read_jsonl

    question_ids = {question.id for question in questions}
    examples: dict[str, list[str]] = {}
    for number, row in read_jsonl(path):
        topic, text = row.get("question_id"), row.get("document")
        if not isinstance(text, str) or not text.strip():
            raise InputError("document: expected a text", path=path, line=number)
        if topic not in question_ids:
            topic_text = shorten(str(topic), 40)
            raise InputError(f"question_id {topic_text!r} is unknown", path=path, line=number)
        examples.setdefault(str(topic), []).append(text)
    return examples


def _writer(out: str) -> Callable[[IO[str], Iterable[Question]], None]:
    """Return the writer of questions for a file's format, chosen by its extension."""
    from pnyx.formats.markdown import write_guidelines
    from pnyx.formats.questions import write_questions

    markdown = Path(out).suffix.lower() in (".md", ".markdown")
    return write_guidelines if markdown else write_questions


class SampleSpec(Spec, heading="Sample"):
    """Which pairs to sample; see `pnyx.relevance.sampling.PairSample`."""

    out: str = out_opt(...)
    cutoff: int = opt(20, low=1)
    top: int = opt(10, "Pairs sampled from the top, per question.", low=0)
    rest: int = opt(10, "Pairs sampled from all other documents, per question.", low=0)
    seed: int = opt(0)


@verb(
    "sample",
    group=command,
    kind=IndexCommand,
    short_help="Sample pairs of question and document to label.",
    without={"search": "stance certainty topic"},
)
@click.argument("index")
@click.argument("questions")
def sample(
    index: SourceName,
    questions: str,
    spec: SampleSpec,
    search: SearchSpec,
    model: ModelSpec,
    as_json: bool,
) -> Outcome:
    """Sample pairs of QUESTIONS and documents of INDEX, some from the top and some from the rest.

    Each line is a relevance item with its question's definition, its stratum, its rank and its
    sampling weight. --cutoff separates the top from the rest.

    \b
    Example:
      $ pnyx demo --files-only --out ex
      $ pnyx annotate sample ex/arguments.jsonl ex/questions.md --top 2 --rest 2 \\
          --out pairs.jsonl
      32 pairs of 8 questions: 16 of the top 20, 16 of the rest

    \b
    More: pnyx annotate sample --help-all, docs/recipes/annotate.md.
    \f
    The sample of a question does not depend on the other questions. --out - writes to standard
    output.
    """
    from pnyx.core.files import atomic_text, json_line
    from pnyx.formats import read_questions
    from pnyx.relevance.sampling import PairSample, sample_pairs

    refuse_two_outputs("--out", spec.out, as_json=as_json)
    plan = PairSample(spec.cutoff, spec.top, spec.rest, spec.seed)
    topics = list(read_questions(questions, on_warning=warn))
    opened = open_documents(index)
    counts: Counter[str] = Counter()
    with open_model(model if search.asks_model else None, say) as llm, atomic_text(spec.out) as out:
        judge = default_judge(llm) if llm is not None else None
        searcher = open_searcher(opened, search, llm, judge, say)
        for pair in sample_pairs(searcher, topics, plan):
            counts[pair.stratum] += 1
            out.write(json_line(pair.row()) + "\n")
    warn_undefined([(question.id, question.definition) for question in topics])
    parts = f"{counts['top']} of the top {plan.k}, {counts['rest']} of the rest"
    line = f"{sum(counts.values())} pairs of {len(topics)} questions: {parts}"
    return Outcome({"questions": len(topics), **counts}, line, err=True, ascii=True)


for _command in (label, distil):
    command.add_command(_command)
command.gone = {
    "apply": "use pnyx annotate label, with --annotations-out in place of --out",
    "review": "pnyx view shows where a judge and labels differ, pnyx label relevance ITEMS "
    "--out LABELS collects new labels from people",
}
