"""`pnyx corpus`: corpora made of others, or of the web."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import click

from pnyx.app.spec import opt
from pnyx.cli.corpus_web import PassageSpec, web
from pnyx.cli.knowing import counted
from pnyx.cli.options import ColumnSpec, refuse_same_file, warn
from pnyx.cli.params import Command, Group, json_option, takes
from pnyx.errors import InputError, OptionError, shorten

if TYPE_CHECKING:
    from pnyx.records import Evidence

__all__ = ["command"]


@click.group(cls=Group, name="corpus", no_args_is_help=True)
def command() -> None:
    """Make a corpus to search: documents cut into passages, or the web's answers to questions.

    \b
    Example:
      pnyx corpus split wikipedia.jsonl.gz --words 100 --out passages.jsonl.gz
      pnyx corpus web questions.jsonl --search serper --out web \\
        --contact me@example.org
    """


@dataclass(frozen=True, kw_only=True)
class SplitSpec(PassageSpec, ColumnSpec):
    """How documents are read, cut and written."""

    heading: ClassVar[str] = "Output"

    out: str = opt(
        "-",
        "File to write; .gz compresses.",
        "-o",
        "--out",
        metavar="FILE",
        raw=True,
        shown="- (stdout)",
    )
    format: str | None = opt(
        None, "Format of the corpus.", metavar="NAME", shown="recognised", rare=True
    )

    def read(self, sources: tuple[str, ...]) -> Iterator[Evidence]:
        """Yield the documents of all sources.

        Raises:
            InputError: one is broken, or two documents have the same id.
        """
        from pnyx.corpora import read_evidence

        several = len(sources) > 1
        seen: set[str] = set()
        for source in sources:
            columns = self.mapping
            for record in read_evidence(
                source, format=self.format, columns=columns, on_warning=warn
            ):
                if several:  # each reader tells the ids of its own source apart
                    if record.id in seen:
                        problem = f"duplicate id {shorten(record.id)!r}, also in an earlier source"
                        raise InputError(problem, path=source)
                    seen.add(record.id)
                yield record


@command.command(cls=Command)
@click.argument("sources", nargs=-1, required=True, metavar="IN...")
@takes("spec", SplitSpec)
@json_option
def split(sources: tuple[str, ...], spec: SplitSpec, as_json: bool) -> None:
    """Split documents into passages for pnyx index.

    IN is whatever pnyx index reads; `-` is standard input. Passages of the document D are called
    D#0, D#1 ..., in order, with D's title and fields; `origin` says D, `passage` the number.

    \b
    Example:
      pnyx corpus split debatewise.json pages/ --words 100 --out passages.jsonl
      pnyx corpus split psgs.tsv.gz -o - | pnyx index - --out my.index
    """
    from pnyx.corpora import write_jsonl
    from pnyx.corpora.segment import split_evidence
    from pnyx.files import atomic_text

    out = spec.out
    if as_json and out == "-":
        raise OptionError("--json needs --out FILE, as the passages themselves go to stdout")
    for source in sources:
        refuse_same_file("--out", out, IN=source)
    read = passages = 0

    def records() -> Iterator[Evidence]:
        nonlocal read
        for record in spec.read(sources):
            read += 1
            if advance is not None:
                advance(read)
            yield record

    with counted("splitting", "records") as advance, atomic_text(out) as stream:
        for passage in split_evidence(records(), spec.words, sentences=spec.sentences):
            write_jsonl(stream, [passage])
            passages += 1
    if as_json:
        click.echo(json.dumps({"documents": read, "passages": passages, "out": out}))
    elif out != "-":
        click.echo(f"{shorten(out, 200)}: {passages:,} passages of {read:,} documents", err=True)


command.add_command(web)
