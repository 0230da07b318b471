"""`pnyx build pairs` and `stats`: a benchmark's judged pairs as items, and its size."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from pnyx.cli.options import print_result, refuse_same_file, warn
from pnyx.cli.params import verb
from pnyx.core.errors import InputError, OptionError, escaped, shorten
from pnyx.core.spec import Spec, file_opt, opt, out_opt, topics_opt
from pnyx.formats.text_types import SourceName

if TYPE_CHECKING:
    from pnyx.core.records import Evidence


class PairsSpec(Spec, heading="Pairs"):
    """Options of `pnyx build pairs`."""

    topics: str = topics_opt(...)
    documents: SourceName = file_opt(
        ..., "The documents: a corpus, or debate pages.", metavar="CORPUS"
    )
    out: str = out_opt(..., "Relevance items to write; - is stdout.", metavar="ITEMS")
    labels: str | None = out_opt(None, "Labels to write.", metavar="LABELS")
    stance: Literal["none", "pro", "con", "both"] = opt(
        "none", "Ask about the question, or whether a document helps to argue a side."
    )
    negatives: Literal["all", "other-side", "irrelevant"] = opt(
        "all",
        "Negatives for the documents of a side.",
        needs=("--stance pro, con or both", lambda spec: spec.stance != "none"),
    )


@verb("pairs", short_help="Turn judged pairs into items for a relevance judge.")
@click.argument("qrels")
def pairs(qrels: str, spec: PairsSpec, as_json: bool) -> int:
    """Turn QRELS (TREC, BEIR or ConQRet) into items and labels for pnyx judge relevance.

    \b
    --stance none   each document once: does it help with the question?
    --stance pro    does it help to argue the side? Yes for its documents; no for
                    those of the other side alone, and for irrelevant ones
    --stance both   as for pro, and as for con

    \b
    --negatives other-side   only those: can the judge distinguish sides?
    --negatives irrelevant   only those: can it distinguish topics?

    Documents that are not in the corpus are left out and counted.

    \b
    Example:
      pnyx build pairs bench/train_qrels.csv --topics bench/train_queries.csv \\
        --documents bench/documents.jsonl --out items.jsonl --labels labels.jsonl
      pnyx judge relevance items.jsonl --out judged
      pnyx measure judged --labels labels.jsonl
    """
    from pnyx.core.files import atomic_text
    from pnyx.core.placement import placed_together
    from pnyx.formats import read_evidence, read_qrels, read_questions
    from pnyx.formats.base import encode
    from pnyx_build.debates.items import relevance_items

    spec.check_needs()
    if as_json and "-" in (spec.out, spec.labels):
        raise OptionError("--json and a file to standard output exclude each other")
    refuse_same_file("--out", spec.out, QRELS=qrels, **{"--labels": spec.labels})
    judged = list(read_qrels(qrels))
    wanted = {q.doc_id for q in judged}
    questions = {question.id: question for question in read_questions(spec.topics)}
    documents = read_evidence(spec.documents, on_warning=warn)
    corpus: dict[str, Evidence] = {d.id: d for d in documents if d.id in wanted}
    items, missing = relevance_items(judged, questions, corpus, spec.stance, spec.negatives)
    if not items:
        raise InputError("holds none of the judged documents", path=spec.documents)
    with placed_together():
        with atomic_text(spec.out) as stream:
            for item in items:
                row = {name: value for name, value in item.items() if name != "value"}
                stream.write(encode(row, item["id"]))
        if spec.labels is not None:
            with atomic_text(spec.labels) as stream:
                for item in items:
                    row = {name: item[name] for name in ("id", "value", "group")}
                    stream.write(encode(row, item["id"]))
    if missing:
        examples = ", ".join(shorten(doc_id, 40) for doc_id in missing[:3])
        warn(f"{len(missing)} judged documents are not in the corpus: {examples}")
    relevant = sum(item["value"] for item in items)
    line = f"{len(items):,} pairs, {relevant:,} relevant; see {escaped(spec.out)}"
    result = {"pairs": len(items), "relevant": relevant, "missing": len(missing)}
    print_result(result, line if spec.out != "-" else "", as_json=as_json)
    return 0


class StatsSpec(Spec, heading="Output"):
    """Options of `pnyx build stats`."""

    plot: str | None = out_opt(None, "Histogram of document lengths to write (SVG).")


@verb("stats", short_help="Show the size of a benchmark: topics, pairs, lengths.")
@click.argument("folder")
def stats(folder: str, spec: StatsSpec, as_json: bool) -> int:
    """Show the size of the benchmark in FOLDER, as in ConQRet's Table 2 and Figure 2.

    FOLDER is the output of pnyx build debates, or ConQRet itself. Lengths are in words: those of
    documents.jsonl or, if it is missing, of the sources' titles.

    \b
    Example:
      pnyx build stats bench --plot lengths.svg
    """
    from pnyx.core.files import write_text
    from pnyx.display.tables import Column, Table
    from pnyx.formats import read_conqret, read_evidence
    from pnyx.formats.conqret import splits_of
    from pnyx.formats.debates import bare_title
    from pnyx_build.debates.statistics import ROWS, lengths_of, lengths_plot, statistics_of

    topics = {split: read_conqret(folder, split) for split in splits_of(folder)}
    splits = {split: statistics_of(of) for split, of in topics.items()}
    documents = Path(folder, "documents.jsonl")
    if documents.is_file():
        what, texts = "documents", [document.text for document in read_evidence(str(documents))]
    else:
        pages = [topic.debate for of in topics.values() for topic in of if topic.debate]
        titles = {s.doc_id or f"{p.id} {s.id}": bare_title(s) for p in pages for s in p.sources}
        what, texts = "titles of sources", [title for title in titles.values() if title]
    lengths = lengths_of(texts)
    if spec.plot is not None:
        if lengths is None:
            raise InputError("holds no documents to draw the lengths of", path=folder)
        write_text(spec.plot, lengths_plot(lengths["bins"], what))
    if as_json:
        row = {"splits": splits, "lengths_of": what, "words": lengths}
        print_result(row, "", as_json=True)
        return 0
    rows = []
    for name, label in ROWS.items():
        values = (counts[name] for counts in splits.values())
        rows.append((label, *(f"{v:.1f}" if isinstance(v, float) else v for v in values)))
    click.echo(Table([Column(""), *(Column(split, "count") for split in splits)], rows).text())
    if lengths is not None:
        click.echo(_histogram(lengths, what))
    return 0


def _histogram(lengths: Mapping[str, Any], what: str) -> str:
    """Draw the lengths as bars of text."""
    most = max(count for _, _, count in lengths["bins"])
    lines = [
        "{documents:,} {what}: median {median:,.0f} words, mean {mean:,.0f}, 80 % within "
        "{tenth:,.0f} to {ninetieth:,.0f}, longest {longest:,}".format(what=what, **lengths)
    ]
    for low, high, count in lengths["bins"]:
        label = f"{low:,}-{high - 1:,}"
        lines.append(f"{label:>17}  {'█' * round(40 * count / most):40}  {count:,}")
    return "\n".join(lines)
