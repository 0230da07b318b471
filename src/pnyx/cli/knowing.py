"""What `pnyx index` makes known of each document beside its words: quality, topics, vectors."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from pnyx.cli.options import warn
from pnyx.errors import InputError, shorten

if TYPE_CHECKING:
    from pnyx.models.embedding import Embedder
    from pnyx.search.quality import TextQuality

__all__ = ["KNOWING", "check_knowing", "counted", "know", "knowing_options", "warn_of_rest"]

KNOWING = ("quality", "vectors", "ann", "clusters", "assign")
"""The flags, in the order in which they are carried out: topics may use the vectors."""

F = TypeVar("F", bound=Callable[..., Any])

_OPTIONS = (
    click.option(
        "--quality",
        is_flag=True,
        help="Predict how good an argument each document is (docs/model-cards/quality.md).",
    ),
    click.option(
        "--quality-model",
        metavar="FOLDER",
        help="With --quality: a model of pnyx quality train  [default: the packaged one].",
    ),
    click.option(
        "--clusters",
        is_flag=True,
        help="Find the topics: k-means over embedded texts, in place of former ones.",
    ),
    click.option(
        "--assign",
        is_flag=True,
        help="Give documents that were added to the nearest of the topics that there are.",
    ),
    click.option(
        "--vectors",
        is_flag=True,
        help="Embed every document, for dense and hybrid search; only what is new.",
    ),
    click.option(
        "--ann",
        is_flag=True,
        help="Build a graph of the vectors, for a million documents or more.",
    ),
    click.option(
        "--cluster-count",
        type=click.IntRange(1),
        metavar="K",
        help="With --clusters: how many  [default: 300, fewer on small corpora].",
    ),
    click.option(
        "--space",
        type=click.Choice(["text", "conclusion", "dual"]),
        help="With --clusters: whole texts, at no cost after --vectors; conclusions alone, which "
        "is quicker than embedding texts; or premises beside conclusions  [default: text].",
    ),
    click.option(
        "--seed", type=click.IntRange(0, 2**32 - 1), help="With --clusters  [default: 0]."
    ),
    click.option(
        "--embedder",
        metavar="SPEC",
        help="For topics and vectors: minilm-int8 (packaged) or http://HOST:PORT/v1#MODEL  "
        "[default: minilm-int8].",
    ),
)


def knowing_options(function: F) -> F:
    """Add --quality, --clusters, --assign, --vectors and --ann with what belongs to them."""
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


def check_knowing(folder: str, options: dict[str, Any], *, exists: bool) -> None:
    """Refuse what cannot be done before minutes are spent on indexing.

    Raises:
        UsageError: options that exclude each other or would change nothing.
        InputError: --assign or --ann without what they need, or an unknown embedder.
        MissingExtra: a library is not installed.
    """
    for name in ("cluster_count", "space", "seed"):
        if options[name] is not None and not options["clusters"]:
            raise click.UsageError(f"--{name.replace('_', '-')} goes with --clusters")
    _check_quality(options)
    embeds = options["clusters"] or options["assign"] or options["vectors"]
    if options["embedder"] is not None and not embeds:
        raise click.UsageError("--embedder goes with --clusters, --assign or --vectors")
    if options["clusters"] and options["assign"]:
        raise click.UsageError("--clusters and --assign exclude each other")
    if options["assign"] and not (exists and _has(folder, "clusters")):
        raise InputError("--assign: the index has no topics yet: --clusters finds them")
    if options["ann"] and not (options["vectors"] or (exists and _has(folder, "vectors"))):
        raise InputError("--ann: the index has no vectors yet: give --vectors too")
    if options["ann"]:
        from pnyx.search.dense import graph_library

        graph_library()
    if options["clusters"]:
        from pnyx.search.topic_points import k_means_engine

        k_means_engine()
    if embeds:
        _embedder(options)


def _check_quality(options: dict[str, Any]) -> None:
    if options["quality_model"] is not None:
        if not options["quality"]:
            raise click.UsageError("--quality-model goes with --quality")
        _quality_model(options)


def know(folder: str, as_json: bool, options: dict[str, Any]) -> dict[str, object]:
    """Carry the flags out; return what `--json` says of each."""
    found: dict[str, object] = {}
    for name, work in _WORK.items():
        if options[name]:
            found[name], said = work(folder, options)
            if not as_json:
                click.echo(f"{shorten(folder, 200)}: {said}", err=True)
    return found


def _quality_model(options: dict[str, Any]) -> TextQuality:
    if options["quality_model"] is None:
        from pnyx.search.quality import QualityModel

        return QualityModel.load()
    from pnyx.search.quality_files import read_quality_model

    return read_quality_model(options["quality_model"])


def _quality(folder: str, options: dict[str, Any]) -> tuple[dict[str, object], str]:
    from pnyx.search.quality import score_documents

    with counted("predicting quality", "documents") as advance:
        stats = score_documents(folder, _quality_model(options), advance)
    unscored = f"; {stats.unscored:,} hold no word and get a neutral one" if stats.unscored else ""
    said = f"quality of {stats.documents:,} documents ({stats.added:,} new), {stats.model}"
    return dataclasses.asdict(stats), f"{said}, {stats.seconds:.1f} s{unscored}"


def _clusters(folder: str, options: dict[str, Any]) -> tuple[dict[str, object], str]:
    from pnyx.search.clusters import DEFAULT_SPACE, cluster_documents, cluster_new_documents

    with counted("embedding texts", "texts") as advance:
        if options["assign"]:
            made = cluster_new_documents(folder, _embedder(options), on_progress=advance)
        else:
            made = cluster_documents(
                folder,
                _embedder(options),
                k=options["cluster_count"],
                space=options["space"] or DEFAULT_SPACE,
                seed=options["seed"] or 0,
                on_progress=advance,
            )
    said = (
        f"{len(made):,} topics of {len(made.cluster):,} documents, {made.meta['distinct']:,} "
        f"different points ({made.space}), {shorten(made.embedder, 60)}, {made.meta['engine']}"
    )
    if made.meta["assigned"]:
        said += f"; {made.meta['assigned']:,} documents were added since to the nearest"
    return dict(made.meta), said


def _vectors(folder: str, options: dict[str, Any]) -> tuple[dict[str, object], str]:
    from pnyx.search.vectors import embed_documents

    embedder = _embedder(options)
    with counted("embedding documents", "documents") as advance:
        stats = embed_documents(folder, embedder, on_progress=advance)
    said = (
        f"vectors of {stats.documents:,} documents ({stats.documents - stats.reused:,} new), "
        f"{shorten(embedder.name, 60)}, {stats.seconds:.1f} s"
    )
    return {"embedder": embedder.name, **dataclasses.asdict(stats)}, said


def _ann(folder: str, _: dict[str, Any]) -> tuple[dict[str, object], str]:
    from pnyx.search.dense import build_ann
    from pnyx.search.index import Index

    with counted("building the graph", "vectors") as advance:
        build_ann(folder, on_progress=advance)
    documents = len(Index.open(folder))
    return {"documents": documents}, f"a graph of {documents:,} vectors"


_WORK: dict[str, Callable[[str, dict[str, Any]], tuple[dict[str, object], str]]] = {
    "quality": _quality,
    "vectors": _vectors,
    "ann": _ann,
    "clusters": _clusters,
    "assign": _clusters,
}


def _embedder(options: dict[str, Any]) -> Embedder:
    from pnyx.models.embedding import embedder_from

    return embedder_from(options["embedder"])


# What is there -----------------------------------------------------------------------------------

_FLAGS = {"quality": "--quality", "clusters": "--assign", "vectors": "--vectors"}


def warn_of_rest(folder: str) -> None:
    """Say so where the index knows of its first documents what it does not of the new ones."""
    from pnyx.search.manifest import read_manifest

    manifest = read_manifest(Path(folder))
    behind = [
        name
        for name, entry in manifest.get("features", {}).items()
        if name in _FLAGS and entry["documents"] != manifest["statistics"]["documents"]
    ]
    if behind:
        flags = " ".join(_FLAGS[name] for name in _FLAGS if name in behind)
        if "quality" in behind:
            flags += _model_of(manifest["features"]["quality"])
        what = " and ".join(sorted(behind))
        warn(
            f"the added documents have no {what} yet: pnyx index --update "
            f"{shorten(folder, 200)} {flags}"
        )


def _model_of(quality: Any) -> str:
    """Return what must be added so that the new documents are scored by the model of the others."""
    from pnyx.search.quality import QualityModel

    name = quality.get("meta", {}).get("model", "")
    if name == QualityModel.load().name:
        return ""
    return f" --quality-model FOLDER (that of {shorten(name, 60)})"


def _has(folder: str, feature: str) -> bool:
    from pnyx.search.manifest import read_manifest

    return feature in read_manifest(Path(folder)).get("features", {})


@contextmanager
def counted(doing: str, what: str) -> Iterator[Callable[[int], None] | None]:
    """Show a counter on a terminal; stay quiet otherwise."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console

    with Console(stderr=True).status(doing) as status:
        yield lambda count: status.update(f"{doing}: {count:,} {what}")
