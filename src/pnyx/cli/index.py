"""`pnyx index`: documents or arguments to a searchable index."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

import click

from pnyx.app.search_specs import FeatureSpec
from pnyx.app.spec import Spec, opt
from pnyx.cli.knowing import check_features, counted, make_features, warn_of_rest
from pnyx.cli.options import column_mapping, warn
from pnyx.cli.params import json_option, takes, verb
from pnyx.errors import OptionError, shorten

if TYPE_CHECKING:
    from pnyx.records import Evidence
    from pnyx.search.index import IndexStats

__all__ = ["command"]


@dataclass(frozen=True, kw_only=True)
class CorpusSpec(Spec):
    """Which index is made, and how the corpus is read."""

    heading: ClassVar[str] = "Index"

    out: str | None = opt(None, "Folder to create.", metavar="FOLDER", raw=True)
    add: str | None = opt(
        None, "Existing index to add to, instead of --out.", metavar="FOLDER", raw=True
    )
    update: str | None = opt(
        None,
        "Existing index to add features to, without a CORPUS.",
        metavar="FOLDER",
        raw=True,
    )
    force: bool = opt(False, "Replace the index at --out when the new one is ready.")
    format: str | None = opt(
        None, "Format of the corpus.", metavar="NAME", shown="recognised", rare=True
    )
    columns: tuple[str, ...] = opt(
        (),
        "Which column or key of the source holds a field, e.g. text=body. Repeatable.",
        "--column",
        metavar="FIELD=COLUMN",
        rare=True,
    )
    fields: tuple[Literal["topic"], ...] = opt((), "Also search this field.", rare=True)
    language: str | None = opt(
        None,
        "Stemmer: english, another Snowball language, or none.",
        metavar="NAME",
        shown="english",
        rare=True,
    )

    def folder(self, features: FeatureSpec, corpus: tuple[str, ...]) -> str:
        """Return the index folder that is meant.

        Raises:
            OptionError: choices do not go together.
        """
        named = [one for one in (self.out, self.add, self.update) if one is not None]
        if len(named) != 1:
            raise OptionError(
                "give one of --out (a new index), --add (an existing one to add to) and --update "
                "(an existing one as it is)"
            )
        if self.update is not None and (corpus or not features.named):
            raise OptionError(
                "--update goes with --quality, --clusters, --assign, --vectors or --ann and "
                "without a CORPUS"
            )
        if self.update is None and not corpus:
            raise OptionError("Missing argument 'CORPUS...'.")
        if self.out is None and (self.fields or self.language or self.force):
            raise OptionError(
                "--fields, --language and --force belong to --out: an index keeps its own"
            )
        return named[0]


@verb("index")
@click.argument("corpus", nargs=-1)
@takes("spec", CorpusSpec)
@takes("features", FeatureSpec)
@json_option
def command(
    corpus: tuple[str, ...], spec: CorpusSpec, features: FeatureSpec, as_json: bool
) -> None:
    """Index documents or arguments, so that they can be searched.

    CORPUS is one or more files, folders or ir_datasets: ids; `-` is standard input. The index is a
    folder. It appears when it is complete, and adding documents later ranks as if all had been
    indexed at once.

    \b
    Example:
      pnyx index arguments.jsonl --out my.index
      pnyx index more.csv --column text=body --add my.index
      pnyx index --update my.index --quality --clusters --vectors
      pnyx search my.index "Should voting be compulsory?" --model touche
    """
    folder = spec.folder(features, corpus)
    row: dict[str, object] = {"index": folder}
    check_features(folder, features, exists=spec.out is None)
    if spec.update is None:
        row |= _build(corpus, folder, spec, as_json)
    row |= make_features(folder, features, as_json=as_json)
    if spec.add is not None:
        warn_of_rest(folder)
    if as_json:
        click.echo(json.dumps(row))


def _build(
    corpus: tuple[str, ...], folder: str, spec: CorpusSpec, as_json: bool
) -> dict[str, object]:
    from pnyx.search.build import add_to_index, build_index

    records = _read(corpus, spec.format, column_mapping(spec.columns))
    with counted("indexing", "records") as advance:
        if spec.add is not None:
            stats = add_to_index(records, folder, on_progress=advance).statistics
        else:
            stats = build_index(
                records,
                folder,
                fields=spec.fields,
                language=spec.language or "english",
                replace=spec.force,
                on_progress=advance,
            ).statistics
    if not as_json:
        _report(stats, folder)
    if stats.tokens == 0:
        warn("no document holds a word, so nothing can be found")
    return dataclasses.asdict(stats)


def _read(
    corpus: tuple[str, ...], format_: str | None, columns: dict[str, str]
) -> Iterator[Evidence]:
    from pnyx.corpora import read_evidence

    for source in corpus:
        yield from read_evidence(source, format=format_, columns=columns, on_warning=warn)


def _report(stats: IndexStats, folder: str) -> None:
    added = "" if stats.added == stats.documents else f" ({stats.added:,} added)"
    click.echo(
        f"{shorten(folder, 200)}: {stats.documents:,} documents{added}, {stats.tokens:,} tokens, "
        f"{stats.bytes / 1e6:.1f} MB, {stats.seconds:.1f} s",
        err=True,
    )
