"""What `pnyx index` makes known of each document beside its words: quality, topics, vectors."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pnyx.cli.options import warn
from pnyx.errors import InputError, shorten

if TYPE_CHECKING:
    from pnyx.app.search_specs import FeatureSpec
    from pnyx.models.embedding import Embedder
    from pnyx.search.quality import TextQuality

__all__ = ["check_features", "counted", "make_features", "warn_of_rest"]


def check_features(folder: str, spec: FeatureSpec, *, exists: bool) -> None:
    """Refuse what cannot be done before minutes are spent on indexing.

    Raises:
        InputError: --assign or --ann without what they need, or an unknown embedder.
        OptionError: options exclude each other or would change nothing.
        MissingExtra: a library is not installed.
    """
    spec.check()
    if spec.quality_model is not None:
        _quality_model(spec)
    if spec.assign and not (exists and _has(folder, "clusters")):
        raise InputError("--assign: the index has no topics yet: --clusters finds them")
    if spec.ann and not (spec.vectors or (exists and _has(folder, "vectors"))):
        raise InputError("--ann: the index has no vectors yet: give --vectors too")
    if spec.ann:
        from pnyx.search.dense import graph_library

        graph_library()
    if spec.clusters:
        from pnyx.search.topic_points import k_means_engine

        k_means_engine()
    if spec.embeds:
        _embedder(spec)


def make_features(folder: str, spec: FeatureSpec, *, as_json: bool) -> dict[str, object]:
    """Make the features; return what `--json` says of each."""
    found: dict[str, object] = {}
    for name in spec.named:
        found[name], said = _WORK[name](folder, spec)
        if not as_json:
            click.echo(f"{shorten(folder, 200)}: {said}", err=True)
    return found


def _quality_model(spec: FeatureSpec) -> TextQuality:
    if spec.quality_model is None:
        from pnyx.search.quality import QualityModel

        return QualityModel.load()
    from pnyx.search.quality_files import read_quality_model

    return read_quality_model(spec.quality_model)


def _quality(folder: str, spec: FeatureSpec) -> tuple[dict[str, object], str]:
    from pnyx.search.quality import score_documents

    with counted("predicting quality", "documents") as advance:
        stats = score_documents(folder, _quality_model(spec), advance)
    unscored = f"; {stats.unscored:,} hold no word and get a neutral one" if stats.unscored else ""
    said = f"quality of {stats.documents:,} documents ({stats.added:,} new), {stats.model}"
    return dataclasses.asdict(stats), f"{said}, {stats.seconds:.1f} s{unscored}"


def _clusters(folder: str, spec: FeatureSpec) -> tuple[dict[str, object], str]:
    from pnyx.search.clusters import DEFAULT_SPACE, cluster_documents, cluster_new_documents

    with counted("embedding texts", "texts") as advance:
        if spec.assign:
            made = cluster_new_documents(folder, _embedder(spec), on_progress=advance)
        else:
            made = cluster_documents(
                folder,
                _embedder(spec),
                k=spec.cluster_count,
                space=spec.space or DEFAULT_SPACE,
                seed=spec.seed or 0,
                on_progress=advance,
            )
    said = (
        f"{len(made):,} topics of {len(made.cluster):,} documents, {made.meta['distinct']:,} "
        f"different points ({made.space}), {shorten(made.embedder, 60)}, {made.meta['engine']}"
    )
    if made.meta["assigned"]:
        said += f"; {made.meta['assigned']:,} documents were added since to the nearest"
    return dict(made.meta), said


def _vectors(folder: str, spec: FeatureSpec) -> tuple[dict[str, object], str]:
    from pnyx.search.vectors import embed_documents

    embedder = _embedder(spec)
    with counted("embedding documents", "documents") as advance:
        stats = embed_documents(folder, embedder, on_progress=advance)
    said = (
        f"vectors of {stats.documents:,} documents ({stats.documents - stats.reused:,} new), "
        f"{shorten(embedder.name, 60)}, {stats.seconds:.1f} s"
    )
    return {"embedder": embedder.name, **dataclasses.asdict(stats)}, said


def _ann(folder: str, _: FeatureSpec) -> tuple[dict[str, object], str]:
    from pnyx.search.dense import build_ann
    from pnyx.search.index import Index

    with counted("building the graph", "vectors") as advance:
        build_ann(folder, on_progress=advance)
    documents = len(Index.open(folder))
    return {"documents": documents}, f"a graph of {documents:,} vectors"


_WORK: dict[str, Callable[[str, FeatureSpec], tuple[dict[str, object], str]]] = {
    "quality": _quality,
    "vectors": _vectors,
    "ann": _ann,
    "clusters": _clusters,
    "assign": _clusters,
}


def _embedder(spec: FeatureSpec) -> Embedder:
    from pnyx.models.embedding import embedder_from

    return embedder_from(spec.embedder)


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
