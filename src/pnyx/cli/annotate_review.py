"""`pnyx annotate review` and `reviewed`: disagreements for people to check, and what they say."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pnyx.cli.options import json_option, refuse_same_file, warn
from pnyx.cli.tables import interval, number, table
from pnyx.cli.values import NumberRange
from pnyx.errors import InputError, shorten

if TYPE_CHECKING:
    from pnyx.annotate.reviewing import Disagreement
    from pnyx.measure.gold import Truth
    from pnyx.measure.reviewed import Cell, Reviewed

__all__ = ["review", "reviewed", "truth_from", "truth_options"]


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
    help="What people fill in: .csv, .md, else JSONL; - is stdout.",
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
    People write judge, labels or unclear into `right`; pnyx annotate reviewed reads the file. Texts
    come from ANNOTATIONS (made --with-text), from --items, or from --index with --topics.

    \b
    Example:
      pnyx annotate review labels.jsonl --qrels qrels.txt --index my.index --topics questions.md \\
        --out review.csv
      pnyx annotate reviewed review.csv
    """
    from pnyx.annotate.review_files import write_review
    from pnyx.annotate.reviewing import draw_disagreements
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
    from pnyx.annotate.review_files import read_review

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
        from pnyx.search.index import Index
        from pnyx.search.stored import searched_text

        opened = Index.open(options["index"])
        asked = {q.id: q for q in read_questions(options["topics"])}
        for place, one in enumerate(out):
            question = asked.get(one.question_id)
            if question is not None and one.doc_id in opened:
                out[place] = replace(
                    one,
                    question=question.text,
                    definition=question.definition,
                    document=searched_text(opened.document(one.doc_id)),
                )
    return out


@click.command(name="reviewed", short_help="What people say of the disagreements.")
@click.argument("review", type=click.Path())
@click.option(
    "--threshold",
    type=NumberRange(0, 1),
    default=0.95,
    show_default=True,
    help="Confidences above it against those at most it.",
)
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Of intervals.")
@json_option
def reviewed(review: str, threshold: float, seed: int, as_json: bool) -> int:
    """Say how often the judge is right where it disagrees with the labels, by people's answers.

    REVIEW is what pnyx annotate review wrote, filled in. Shares by the judge's confidence and by
    what the labels say, as in DIRAS's Tables 5 and 8, with Wilson's 95 % intervals; pairs that are
    unclear or have no answer count for neither side and are counted. Below, an estimate of how all
    disagreements would be answered, by the sizes of the strata.

    \b
    Example:
      pnyx annotate reviewed review.csv --json
    """
    from pnyx.annotate.review_files import read_review
    from pnyx.measure.reviewed import measure_review

    checked = read_review(review)
    found = measure_review(checked, threshold=threshold, seed=seed)
    if as_json:
        click.echo(json.dumps(found.row(), allow_nan=False))
        return 0
    click.echo("\n".join(_report(found, checked[0].judge)))
    return 0


def _report(found: Reviewed, judge: str) -> list[str]:
    at = f"{found.threshold:g}"
    share = "" if found.share_above is None else f" ({found.share_above:.2%} above {at})"
    rows: list[Sequence[str]] = [("confidence", "labels", "judge is right", "95 % interval",
                                  "clear of asked", "unclear", "open")]  # fmt: skip
    named = {f"at most {at}": found.table["at_most"], f"above {at}": found.table["above"]}
    named |= {f"({low:g}, {high:g}]": cells for (low, high), cells in found.bins.items()}
    named["any"] = found.table["any"]
    for name, cells in named.items():
        rows += [
            _row(name if i == 0 else "", of, cell) for i, (of, cell) in enumerate(cells.items())
        ]
    estimate = found.estimate
    lines = [
        f"disagreements of {shorten(judge) or 'the judge'} with labels{share}",
        "",
        *table(rows, left=2),
        "",
        f"estimate for all {estimate.disagreements} disagreements, by the sizes of the strata:",
    ]
    for what, m in (
        ("the judge is right", estimate.judge),
        ("the labels are right", estimate.labels),
        ("unclear", estimate.unclear),
    ):
        shown = "-" if m.value is None else f"{m.value:.0f}"
        if m.low is not None and m.high is not None:
            shown += f" [{m.low:.0f}, {m.high:.0f}]"
        lines.append(f"  {what}: {shown}")
    if estimate.left_out:
        lines.append(f"  nothing is said of {estimate.left_out} in strata without an answer")
    return lines


def _row(name: str, of: str, cell: Cell) -> Sequence[str]:
    m = cell.accuracy
    counts = f"{m.scored} of {m.asked}", str(cell.unclear), str(m.asked - cell.answered)
    return (name, of, number(m.value), interval(m.low, m.high), *counts)
