"""`pnyx annotate`: relevance labels at scale, from definitions to pairs (DIRAS)."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import IO, TYPE_CHECKING

import click

from pnyx.app.judge_specs import ModelSpec, WriterSpec
from pnyx.app.measure_specs import TruthSpec
from pnyx.app.open_judge import default_judge
from pnyx.app.open_models import open_model
from pnyx.app.open_search import open_searcher
from pnyx.app.search_specs import SearchSpec
from pnyx.app.spec import Spec, file_opt, opt, out_opt
from pnyx.cli.annotate.distil import apply, distil
from pnyx.cli.annotate.label import label
from pnyx.cli.common.options import (
    Outcome,
    print_result,
    refuse_same_file,
    refuse_two_outputs,
    say,
    warn,
    warn_undefined,
)
from pnyx.cli.common.params import Group, verb
from pnyx.errors import InputError, OptionError, shorten

if TYPE_CHECKING:
    from pnyx.annotate.reviewing import Disagreement
    from pnyx.records import Question


@click.group(cls=Group, name="annotate", no_args_is_help=True)
def command() -> None:
    """Annotate relevance at scale: from definitions and a teacher's labels to a small judge.

    \b
    Example:
      pnyx annotate define questions.jsonl --llm openai:gpt-4o-mini --out q.md
      pnyx annotate sample my.index q.md --out pairs.jsonl
      pnyx annotate label pairs.jsonl --llm openai:gpt-4o-mini --out labels
      pnyx annotate distil labels --out student
      pnyx annotate apply --all --index my.index --topics q.md \\
        --student student --out annotations.jsonl
    """


class DefineSpec(Spec, heading="Definitions"):
    """Where definitions go, and what they are drafted from."""

    out: str = out_opt(
        ..., "Questions with definitions: Markdown for .md, else JSONL; - is stdout."
    )
    examples: str | None = file_opt(
        None, "Passages that people found relevant, as relevance items with question_id."
    )


@verb("define", group=command, short_help="Draft definitions of what is relevant to each question.")
@click.argument("questions")
def define(questions: str, own: DefineSpec, model: WriterSpec, as_json: bool) -> Outcome:
    """Draft what is relevant to each of QUESTIONS (any questions file) that has no definition.

    From the question alone, or (--examples) with passages that were found relevant. Edit the
    result: it decides what every later step counts as relevant. Exit status 3: the model gave no
    usable definition for some questions; they are written without one.

    \b
    Example:
      pnyx annotate define questions.jsonl --llm openai:gpt-4o-mini --out q.md
    """
    from pnyx.annotate.definitions import draft_definitions
    from pnyx.corpora import read_questions
    from pnyx.files import atomic_text

    refuse_two_outputs("--out", own.out, as_json=as_json)
    asked = list(read_questions(questions))
    _writer(own.out)(io.StringIO(), asked)  # what it cannot hold is refused before it is paid for
    shown = _examples(own.examples, asked) if own.examples is not None else {}
    with open_model(model, say) as llm:
        if llm is None:
            raise OptionError("a language model drafts definitions: it needs --llm")
        drafted = draft_definitions(asked, llm, shown)
    for draft in drafted:
        for problem in draft.problems:
            warn(f"{shorten(draft.question.id, 40)}: {problem}")
    with atomic_text(own.out) as stream:
        _writer(own.out)(stream, (draft.question for draft in drafted))
    failed = sum(draft.failed for draft in drafted)
    had = sum(bool(question.definition.strip()) for question in asked)
    row = {"questions": len(asked), "drafted": len(asked) - had - failed, "failed": failed}
    return Outcome(row, "", failed, ascii=True)


def _examples(path: str, asked: list[Question]) -> dict[str, list[str]]:
    """Read relevant passages by question."""
    from pnyx.files import read_jsonl

    known = {question.id for question in asked}
    found: dict[str, list[str]] = {}
    for number, row in read_jsonl(path):
        topic, text = row.get("question_id"), row.get("document")
        if not isinstance(text, str) or not text.strip():
            raise InputError("document: expected a text", path=path, line=number)
        if topic not in known:
            shown = shorten(str(topic), 40)
            raise InputError(f"question_id {shown!r} is no question's", path=path, line=number)
        found.setdefault(str(topic), []).append(text)
    return found


def _writer(out: str) -> Callable[[IO[str], Iterable[Question]], None]:
    """Return what writes questions in the format that a file's name says."""
    from pnyx.corpora.benchmarks.markdown import write_guidelines
    from pnyx.corpora.benchmarks.questions import write_questions

    markdown = Path(out).suffix.lower() in (".md", ".markdown")
    return write_guidelines if markdown else write_questions


class SampleSpec(Spec, heading="Sample"):
    """Which pairs are sampled; see `pnyx.annotate.sampling.PairSample`."""

    out: str = out_opt(..., "Relevance items to write; - is stdout.")
    cutoff: int = opt(20, "Rank that separates the top from the rest.", low=1)
    top: int = opt(10, "Pairs sampled from the top, per question.", low=0)
    rest: int = opt(10, "Pairs sampled from all other documents, per question.", low=0)
    seed: int = opt(0, "Random seed of the sample.")


@verb(
    "sample",
    group=command,
    short_help="Sample pairs of question and document to label.",
    without={"search": "stance certainty topic"},
)
@click.argument("index")
@click.argument("questions")
def sample(
    index: str, questions: str, own: SampleSpec, search: SearchSpec, model: ModelSpec, as_json: bool
) -> Outcome:
    """Sample pairs of QUESTIONS and documents of INDEX: some near the top, as many of the rest.

    Each line is a relevance item with its question's definition, its stratum, its rank and its
    sampling weight. The sample of a question does not depend on the other questions.

    \b
    Example:
      pnyx annotate sample my.index questions.md --model hybrid --out pairs.jsonl
    """
    from pnyx.annotate.sampling import PairSample, sample_pairs
    from pnyx.corpora import read_questions
    from pnyx.files import atomic_text, json_line
    from pnyx.search.index import Index

    refuse_two_outputs("--out", own.out, as_json=as_json)
    plan = PairSample(own.cutoff, own.top, own.rest, own.seed)
    asked = list(read_questions(questions))
    opened = Index.open(index)
    counts: Counter[str] = Counter()
    with open_model(model if search.asks_model else None, say) as llm, atomic_text(own.out) as out:
        judge = default_judge(llm) if llm is not None else None
        searcher = open_searcher(opened, search, llm, judge, say)
        for pair in sample_pairs(searcher, asked, plan):
            counts[pair.stratum] += 1
            out.write(json_line(pair.row()) + "\n")
    warn_undefined([(question.id, question.definition) for question in asked])
    parts = f"{counts['top']} of the top {plan.k}, {counts['rest']} of the rest"
    line = f"{sum(counts.values())} pairs of {len(asked)} questions: {parts}"
    return Outcome({"questions": len(asked), **counts}, line, err=True, ascii=True)


for _command in (label, distil, apply):
    command.add_command(_command)


# Review ------------------------------------------------------------------------------------------


class ReviewSpec(Spec, heading="Sample"):
    """Which disagreements people are to check."""

    out: str = out_opt(..., "What people fill in: .csv, else JSONL; - is stdout.")
    per_bin: int = opt(
        25, "Pairs sampled per confidence bin, for relevant and for irrelevant labels.", low=1
    )
    edges: tuple[float, ...] = opt(
        (0.9, 0.95, 0.98), "Boundaries of the confidence bins.", metavar="P[,P...]", each=True
    )
    seed: int = opt(0, "Random seed of the sample.")


class TextsSpec(Spec, heading="Texts"):
    """Where the texts of pairs come from."""

    items: str | None = file_opt(None, "Relevance items that hold the pairs' texts.")
    index: str | None = file_opt(
        None, "Index that holds the documents.", metavar="INDEX", needs="topics"
    )
    topics: str | None = file_opt(None, "The questions, with --index.", needs="index")

    def add_to(self, drawn: Sequence[Disagreement]) -> list[Disagreement]:
        """Return pairs with their texts, as far as these are found."""
        from pnyx.corpora import read_items, read_questions

        def filled(one: Disagreement, question: str, definition: str, document: str) -> None:
            out[places[one.id]] = replace(
                one, question=question, definition=definition, document=document
            )

        out = list(drawn)
        places = {one.id: place for place, one in enumerate(out)}
        if self.items is not None:
            for _, row in read_items(self.items, "relevance-items"):
                if row["id"] in places:
                    definition = row.get("definition") or ""
                    one = out[places[row["id"]]]
                    filled(one, row["question"], definition, row["document"])
        if self.index is not None:
            from pnyx.records import judged_text
            from pnyx.search.index import Index

            opened = Index.open(self.index)
            asked = {q.id: q for q in read_questions(str(self.topics))}
            for one in drawn:
                question = asked.get(one.question_id)
                if question is not None and one.doc_id in opened:
                    text = judged_text(opened.document(one.doc_id))
                    filled(one, question.text, question.definition, text)
        return out


@verb("review", group=command, short_help="Sample disagreements with labels, for people to check.")
@click.argument("annotations")
def review(
    annotations: str, own: ReviewSpec, truth: TruthSpec, texts: TextsSpec, as_json: bool
) -> int:
    """Sample pairs on which ANNOTATIONS and existing labels disagree, for people to check.

    Equally many are sampled from each stratum: a bin of the judge's confidence crossed with the
    label. People write judge, labels or unclear into `right`; pnyx measure review reads the file.
    Texts come from ANNOTATIONS (made --with-text), from --items, or from --index with --topics.

    \b
    Example:
      pnyx annotate review labels.jsonl --qrels qrels.txt \\
        --index my.index --topics questions.md --out review.csv
      pnyx measure review review.csv
    """
    from pnyx.annotate.reviewing import draw_disagreements, write_review
    from pnyx.judge.verdicts import read_annotations

    refuse_two_outputs("--out", own.out, as_json=as_json)
    texts.check_needs()
    inputs = {"labels": truth.labels, "qrels": truth.qrels, "items": texts.items}
    refuse_same_file("--out", own.out, ANNOTATIONS=annotations, topics=texts.topics, **inputs)
    _keep_answers(own.out)
    drawn, counts = draw_disagreements(
        read_annotations(annotations, judge=truth.judge),
        truth.truth(),
        per_stratum=own.per_bin,
        edges=own.edges,
        seed=own.seed,
    )
    if not counts["labelled"]:
        raise InputError("no scored annotation has a label", path=annotations)
    drawn = texts.add_to(drawn)
    lacking = sum(not one.document for one in drawn)
    if lacking:
        warn(f"{lacking} of {len(drawn)} pairs have no text (--items, or --index and --topics)")
    write_review(own.out, drawn)
    found = {**counts, "drawn": len(drawn)}
    line = (
        f"{len(drawn)} drawn of {counts['disagreements']} disagreements, in "
        f"{counts['labelled']} labelled pairs of {counts['annotations']}"
    )
    print_result(found, line, as_json=as_json)
    return 0


def _keep_answers(out: str) -> None:
    """Refuse to write over what people have filled in."""
    from pnyx.annotate.reviewing import read_review

    if out == "-" or not Path(out).is_file():
        return
    try:
        answered = sum(bool(one.right) for one in read_review(out))
    except InputError as error:
        if error.line is None:  # nothing in it
            return
        problem = f"exists already, and has a fault ({error.problem}): name another file"
        raise InputError(problem, path=out, line=error.line) from error
    if answered:
        raise InputError(f"holds {answered} answers of people: name another file", path=out)
