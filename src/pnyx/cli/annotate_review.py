"""`pnyx annotate review`: disagreements with labels, for people to check."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pnyx.cli.options import json_option, refuse_same_file, warn
from pnyx.errors import InputError, shorten

if TYPE_CHECKING:
    from pnyx.annotate.reviewing import Disagreement
    from pnyx.measure.gold import Truth

__all__ = ["review", "truth_from", "truth_options"]


def truth_options(function: Any) -> Any:
    """Add --labels, --qrels, --relevant-from, --unjudged and --judge, which `truth_from` takes."""
    for option in (
        click.option("--judge", metavar="NAME", help="Whose annotations, where there are several."),
        click.option(
            "--unjudged",
            type=click.Choice(["skip", "irrelevant"]),
            default="skip",
            show_default=True,
            help="What pairs are that the qrels lack.",
        ),
        click.option(
            "--relevant-from",
            type=int,
            default=1,
            show_default=True,
            help="Least grade of the qrels that is relevant.",
        ),
        click.option("--qrels", metavar="QRELS", help="TREC or BEIR qrels, in place of --labels."),
        click.option("--labels", metavar="LABELS", help="People's labels (JSONL), by id."),
    ):
        function = option(function)
    return function


def truth_from(options: dict[str, Any]) -> Truth:
    """Return what --labels or --qrels say.

    Raises:
        InputError: the file cannot be read.
        UsageError: both are given, or neither.
    """
    from pnyx.measure.gold import truth_of_labels, truth_of_qrels

    labels, qrels = options["labels"], options["qrels"]
    if (labels is None) == (qrels is None):
        raise click.UsageError("give either --labels LABELS or --qrels QRELS")
    if labels is not None:
        return truth_of_labels(labels)
    unjudged = options["unjudged"] == "irrelevant"
    return truth_of_qrels(qrels, least=options["relevant_from"], unjudged=unjudged)


def _edges(_: click.Context, __: click.Parameter, value: str) -> tuple[float, ...]:
    try:
        return tuple(float(part) for part in value.split(","))
    except ValueError:
        shown = shorten(value, 40)
        raise click.BadParameter(f"found {shown!r}, expected numbers like 0.9,0.95") from None


@click.command(short_help="Disagreements with labels, for people to check.")
@click.argument("annotations", type=click.Path())
@truth_options
@click.option(
    "--out",
    required=True,
    type=click.Path(dir_okay=False),
    help="What people fill in: .csv, else JSONL; - is stdout.",
)
@click.option(
    "--per-bin",
    type=click.IntRange(1),
    default=25,
    show_default=True,
    help="Drawn of each bin of confidence, for relevant and for irrelevant labels.",
)
@click.option(
    "--edges",
    callback=_edges,
    default="0.9,0.95,0.98",
    show_default=True,
    help="Confidences that part the bins.",
)
@click.option("--seed", type=int, default=0, show_default=True, help="Of the draw.")
@click.option("--items", type=click.Path(), help="Relevance items that hold the pairs' texts.")
@click.option("--index", type=click.Path(), help="Index that holds the documents.")
@click.option("--topics", type=click.Path(), help="The questions, with --index.")
@json_option
def review(annotations: str, out: str, as_json: bool, **options: Any) -> int:
    """Draw pairs on which ANNOTATIONS and existing labels disagree, for people to check.

    As many are drawn of each stratum: a bin of the judge's confidence, by what the labels say.
    People write judge, labels or unclear into `right`; pnyx measure review reads the file. Texts
    come from ANNOTATIONS (made --with-text), from --items, or from --index with --topics.

    \b
    Example:
      pnyx annotate review labels.jsonl --qrels qrels.txt --index my.index --topics questions.md \\
        --out review.csv
      pnyx measure review review.csv
    """
    from pnyx.annotate.reviewing import draw_disagreements, write_review
    from pnyx.judge.verdicts import read_annotations

    if as_json and out == "-":
        raise click.UsageError("--json and --out - both write to standard output")
    if (options["index"] is None) != (options["topics"] is None):
        raise click.UsageError("--index and --topics go together")
    inputs = {name: options[name] for name in ("labels", "qrels", "items", "topics")}
    refuse_same_file("--out", out, ANNOTATIONS=annotations, **inputs)
    _keep_answers(out)
    drawn, counts = draw_disagreements(
        read_annotations(annotations, judge=options["judge"]),
        truth_from(options),
        per_stratum=options["per_bin"],
        edges=options["edges"],
        seed=options["seed"],
    )
    if not counts["labelled"]:
        raise InputError("no scored annotation has a label", path=annotations)
    drawn = _with_texts(drawn, options)
    lacking = sum(not one.document for one in drawn)
    if lacking:
        warn(f"{lacking} of {len(drawn)} pairs have no text (--items, or --index and --topics)")
    write_review(out, drawn)
    found = {**counts, "drawn": len(drawn)}
    if as_json:
        click.echo(json.dumps(found))
    else:
        click.echo(
            f"{len(drawn)} drawn of {counts['disagreements']} disagreements, in "
            f"{counts['labelled']} labelled pairs of {counts['annotations']}",
            err=True,
        )
    return 0


def _keep_answers(out: str) -> None:
    """Refuse to write over what people have filled in.

    Raises:
        InputError: the file is a review with answers, or cannot be read as one.
    """
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


def _with_texts(drawn: Sequence[Disagreement], options: dict[str, Any]) -> list[Disagreement]:
    """Add the texts of pairs from an items file or an index."""
    from pnyx.corpora import read_items, read_questions

    out = list(drawn)
    if options["items"] is not None:
        places = {one.id: place for place, one in enumerate(out)}
        for _, row in read_items(options["items"], "relevance-items"):
            if row["id"] in places:
                place = places[row["id"]]
                out[place] = replace(
                    out[place],
                    question=row["question"],
                    definition=row.get("definition") or "",
                    document=row["document"],
                )
    if options["index"] is not None:
        from pnyx.records import judged_text
        from pnyx.search.index import Index

        opened = Index.open(options["index"])
        asked = {q.id: q for q in read_questions(options["topics"])}
        for place, one in enumerate(out):
            question = asked.get(one.question_id)
            if question is not None and one.doc_id in opened:
                out[place] = replace(
                    one,
                    question=question.text,
                    definition=question.definition,
                    document=judged_text(opened.document(one.doc_id)),
                )
    return out
