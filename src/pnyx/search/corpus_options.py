"""Options of `pnyx index` for the corpus and for the index made from it."""

from __future__ import annotations

import contextlib
from functools import cached_property
from typing import TYPE_CHECKING, Literal

from pnyx.cli.options import EvidenceSpec, say, say_account, warn
from pnyx.core.errors import OptionError
from pnyx.core.spec import file_opt, opt, out_opt
from pnyx.formats.text_types import SourceName
from pnyx.search.options import FeatureSpec

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pnyx.judging.students.surface_quality import TextQuality
    from pnyx.judging.workers import Workers
    from pnyx.models.embed.embedder import Embedder
    from pnyx.search.features.clusters import Clusters
    from pnyx.search.sources import SourceReader


class CorpusSpec(EvidenceSpec, heading="Index", rare="fields language unit"):
    """Which index is made and how the corpus is read."""

    out: SourceName | None = out_opt(None, metavar="FOLDER", writes="folder")
    add: SourceName | None = file_opt(None, "Existing index to add to.", metavar="FOLDER")
    update: SourceName | None = file_opt(
        None,
        "Existing index to add features to, without a CORPUS: those named, else the "
        "usual ones that are missing or incomplete.",
        metavar="FOLDER",
    )
    force: bool = opt(False)
    fields: tuple[Literal["topic"], ...] = opt((), "Also search this field.")
    unit: Literal["document", "passage"] | None = opt(
        None, default_text="passage for folders and files of prose, document for collections"
    )
    language: str | None = opt(
        None, "Stemmer: a Snowball language, or none.", metavar="NAME", default_text="english"
    )

    def reader(self, corpus: Sequence[str]) -> SourceReader:
        """Return a reader of all sources, which reports what became of their files."""
        from pnyx.search.sources import SourceReader

        return SourceReader(
            corpus,
            format=self.format,
            columns=self.mapping,
            on_warning=warn,
            on_account=say_account,
            strict_files=self.strict_files,
            unit=self.unit,
        )

    def folder(self, features: FeatureSpec, corpus: tuple[str, ...]) -> str:
        """Return the index folder; OptionError for options that cannot be combined."""
        named = [path for path in (self.out, self.add, self.update) if path is not None]
        if len(named) != 1:
            raise OptionError(
                "give one of --out (a new index), --add (add documents to an index) and --update "
                "(add features to an index)"
            )
        if self.update is not None and corpus:
            raise OptionError("--update takes no CORPUS; use --add to add documents")
        if self.update is not None and self.unit is not None:
            raise OptionError("--unit requires --out or --add: an index keeps its documents")
        if self.update is not None and features.lexical:
            raise OptionError("--words-only requires --out or --add")
        if self.update is None and not corpus:
            raise OptionError("Missing argument 'CORPUS...'.")
        if self.out is None and (self.fields or self.language or self.force):
            raise OptionError(
                "--fields, --language and --force require --out: an existing index keeps its own"
            )
        return named[0]


class Makers(contextlib.ExitStack):
    """Computes features, here or in workers, which are connected to when first needed."""

    def __init__(self, spec: FeatureSpec) -> None:
        self._spec = spec
        super().__init__()

    @cached_property
    def _workers(self) -> Workers:
        from pnyx.judging.workers import open_workers

        return self.enter_context(open_workers(str(self._spec.engine)))

    def embedder(self) -> Embedder:
        """Return the embedder for documents."""
        from pnyx.models.embed.embedder import embedder_from

        if self._spec.engine is None:
            return embedder_from(self._spec.embedder)
        return self._workers.embedder()

    def quality(self) -> TextQuality:
        """Return the model that predicts quality."""
        if self._spec.engine is None or self._spec.quality_model is not None:
            return quality_model(self._spec)
        return self._workers.quality()


def say_long(reader: SourceReader) -> None:
    """Say how many long documents of a collection were not split."""
    from pnyx.formats.text.passages import WHOLE_WORDS

    if count := reader.long_documents:
        documents = "1 document is" if count == 1 else f"{count:,} documents are"
        say(f"{documents} longer than {WHOLE_WORDS} words; --unit passage splits such documents")


def quality_model(spec: FeatureSpec) -> TextQuality:
    """Return the model that predicts quality: the packaged one, or the user's."""
    if spec.quality_model is None:
        from pnyx.judging.students.surface_quality import QualityModel

        return QualityModel.load()
    from pnyx.search.quality_models import read_quality_model

    return read_quality_model(spec.quality_model)


def topics_line(clusters: Clusters) -> str:
    """Return a line with the number of topics and of their documents."""
    line = f"{len(clusters):,} topics of {len(clusters.cluster):,} documents"
    if clusters.meta["assigned"]:
        line += f"; {clusters.meta['assigned']:,} documents were later added to the nearest topic"
    return line
