"""`pnyx files split`: passages of documents."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from pnyx.cli.options import EvidenceSpec, Outcome, OutSpec, refuse_same_file
from pnyx.cli.params import verb
from pnyx.core.errors import InputError, count_of, escaped, shorten
from pnyx.core.progress import counted
from pnyx.core.spec import Spec, opt

if TYPE_CHECKING:
    from pnyx.core.records import Evidence


class PassageSpec(Spec, heading="Passages"):
    """How texts are split."""

    words: int = opt(100, low=1)
    sentences: bool = opt(
        False,
        "Split between sentences; only sentences longer than a passage are split.",
        "--whole-sentences",
        replaces=("--sentences",),
    )


class SplitSpec(PassageSpec, EvidenceSpec, OutSpec):
    """How documents are read, split and written."""


@verb("split", short_help="Split documents into passages for pnyx index.")
@click.argument("sources", nargs=-1, required=True, metavar="IN...")
def split(sources: tuple[str, ...], spec: SplitSpec, as_json: bool) -> Outcome:
    """Split documents into passages for pnyx index.

    IN is whatever pnyx index reads; `-` is standard input. Passages of the document D are called
    D#0, D#1 ..., in order, with D's title and fields; `origin` says D, `passage` the number.

    \b
    Example:
      $ pnyx demo --files-only --out ex
      $ pnyx files split ex/arguments.jsonl --words 50 --out passages.jsonl
      passages.jsonl: 363 passages of 128 documents

    \b
    More: pnyx files split --help-all, docs/recipes/passages.md.
    \f
    \b
      pnyx files split psgs.tsv.gz -o - | pnyx index - --out my.index
    """
    from pnyx.core.files import atomic_text
    from pnyx.formats import write_jsonl
    from pnyx.formats.text.segment import split_evidence

    spec.check_json("passages", as_json=as_json)
    for source in sources:
        refuse_same_file("--out", spec.out, IN=source)
    read = passages = 0

    def records() -> Iterator[Evidence]:
        nonlocal read
        seen: set[str] = set()
        for source in sources:
            for record in spec.read(source):
                if len(sources) > 1:  # each reader compares the ids of its own source
                    if record.id in seen:
                        problem = f"duplicate id {shorten(record.id)!r}, also in an earlier source"
                        raise InputError(problem, path=source)
                    seen.add(record.id)
                read += 1
                advance(read)
                yield record

    with counted("splitting") as advance, atomic_text(spec.out) as stream:
        for passage in split_evidence(records(), spec.words, sentences=spec.sentences):
            write_jsonl(stream, [passage])
            passages += 1
    counts = f"{count_of(passages, 'passage')} of {count_of(read, 'document')}"
    line = f"{escaped(spec.out)}: {counts}"
    row = {"documents": read, "passages": passages, "out": spec.out}
    return Outcome(row, line if spec.out != "-" else "", err=True, ascii=True)
