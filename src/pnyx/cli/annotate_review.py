"""`pnyx annotate review`: disagreements with labels, for people to check."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import click

from pnyx.app.measure_specs import TruthSpec
from pnyx.app.spec import Spec, opt
from pnyx.cli.options import refuse_same_file, refuse_two_outputs, warn
from pnyx.cli.params import json_option, takes, verb
from pnyx.errors import InputError

if TYPE_CHECKING:
    from pnyx.annotate.reviewing import Disagreement

__all__ = ["review"]


@dataclass(frozen=True, kw_only=True)
class ReviewSpec(Spec):
    """Which disagreements people are to check."""

    heading: ClassVar[str] = "Sample"

    out: str = opt(
        ..., "What people fill in: .csv, else JSONL; - is stdout.", metavar="FILE", raw=True
    )
    per_bin: int = opt(
        25, "Pairs sampled per confidence bin, for relevant and for irrelevant labels.", low=1
    )
    edges: tuple[float, ...] = opt(
        (0.9, 0.95, 0.98), "Boundaries of the confidence bins.", metavar="P[,P...]", each=True
    )
    seed: int = opt(0, "Random seed of the sample.")


@dataclass(frozen=True, kw_only=True)
class TextsSpec(Spec):
    """Where the texts of pairs come from."""

    heading: ClassVar[str] = "Texts"

    items: str | None = opt(
        None, "Relevance items that hold the pairs' texts.", metavar="FILE", raw=True
    )
    index: str | None = opt(
        None,
        "Index that holds the documents.",
        metavar="INDEX",
        raw=True,
        needs=("--topics", lambda spec: spec.topics is not None),
    )
    topics: str | None = opt(
        None,
        "The questions, with --index.",
        metavar="FILE",
        raw=True,
        needs=("--index", lambda spec: spec.index is not None),
    )

    def add_to(self, drawn: Sequence[Disagreement]) -> list[Disagreement]:
        """Return pairs with their texts, as far as these are found."""
        from pnyx.corpora import read_items, read_questions

        out = list(drawn)
        if self.items is not None:
            places = {one.id: place for place, one in enumerate(out)}
            for _, row in read_items(self.items, "relevance-items"):
                if row["id"] in places:
                    place = places[row["id"]]
                    out[place] = replace(
                        out[place],
                        question=row["question"],
                        definition=row.get("definition") or "",
                        document=row["document"],
                    )
        if self.index is not None:
            from pnyx.records import judged_text
            from pnyx.search.index import Index

            opened = Index.open(self.index)
            asked = {q.id: q for q in read_questions(str(self.topics))}
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


@verb("review", short_help="Sample disagreements with labels, for people to check.")
@click.argument("annotations")
@takes("own", ReviewSpec)
@takes("truth", TruthSpec)
@takes("texts", TextsSpec)
@json_option
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
