"""`pnyx index` into an OpenSearch cluster: streamed, visible to searches once complete."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pnyx.cli import EXIT_INTERRUPTED
from pnyx.cli.options import Outcome, say
from pnyx.core.errors import InputError, OptionError, escaped, shorten
from pnyx.core.progress import counted
from pnyx.search.corpus_options import CorpusSpec, Makers, quality_model, say_long, topics_line
from pnyx.search.options import ClusterSpec, FeatureSpec

if TYPE_CHECKING:
    from collections.abc import Callable

    from pnyx.search.features.clusters import Clusters
    from pnyx.search.opensearch.index import RemoteIndex
    from pnyx.search.opensearch.load import LoadPlan, LoadStats


def index_remote(
    corpus: tuple[str, ...],
    where: str,
    spec: CorpusSpec,
    features: FeatureSpec,
    cluster: ClusterSpec,
    *,
    as_json: bool,
) -> int | Outcome:
    """Load, add to or update the index at an address; see `command` of `pnyx index`."""
    from pnyx.models.embed.embedder import CutCounter, cut_line
    from pnyx.search.opensearch import load as loading

    if features.ann:
        raise OptionError("--ann requires an index folder; a cluster compares all vectors")
    if (features.clusters or features.assign) and spec.update is None:
        raise OptionError("--clusters and --assign require --update, once an index is loaded")
    if spec.out is None and (cluster.shards is not None or cluster.replicas is not None):
        raise OptionError("--shards and --replicas require --out: an existing index keeps its own")
    chosen = features.of_new_index() if spec.out is not None else _grown(where, spec, features)
    chosen.check()
    folder = _folder(corpus)
    if folder is not None and (spec.fields or spec.language or spec.add is not None):
        raise OptionError("an index folder can only be copied unchanged into a new index (--out)")
    try:
        with Makers(chosen) as makers, counted("indexing") as advance:
            plan = _plan(spec, chosen, cluster, makers)
            counter = None if plan.embedder is None else CutCounter(plan.embedder)
            plan = replace(plan, embedder=counter)
            if spec.update is not None:
                stats = _update(where, plan, chosen, makers, advance)
            elif folder is not None:
                stats = loading.copy(folder, where, plan, advance, words_only=features.lexical)
            else:
                records = spec.reader(corpus)
                load = loading.load if spec.out is not None else loading.add
                stats = load(records, where, plan, advance)
                say_long(records)
    except KeyboardInterrupt:
        say("interrupted; run the same command to continue")
        return EXIT_INTERRUPTED
    if counter and (line := cut_line(counter.cut, getattr(counter, "max_tokens", None))):
        say(line)
    row = {"index": where, **asdict(stats)}
    if not as_json:
        click.echo(f"{escaped(where)}: {_line(stats, chosen)}", err=True)
    return Outcome(row, ascii=True)


def _update(
    where: str,
    plan: LoadPlan,
    features: FeatureSpec,
    makers: Makers,
    advance: Callable[[int], None],
) -> LoadStats:
    from pnyx.search.opensearch.load import LoadPlan, update

    if not (features.clusters or features.assign):
        return update(where, plan, advance)
    topics = _topics(features, makers)
    if features.quality or features.vectors:
        update(where, plan, advance)  # topics may use the new vectors
    return update(where, LoadPlan(), advance, topics)


def _topics(spec: FeatureSpec, makers: Makers) -> Callable[[RemoteIndex], Clusters]:
    """Return the function that finds the topics of an index, or assigns its added documents."""
    from pnyx.search.features import clusters
    from pnyx.search.features.topic_points import TopicSource, k_means_engine
    from pnyx.search.opensearch.load import topics_so_far

    embedder = makers.embedder()
    if spec.clusters:
        k_means_engine()  # a missing library is reported before vectors are made

    def find(index: RemoteIndex) -> Clusters:
        source = TopicSource(index, index.vectors_at)
        if spec.assign:
            found_clusters = clusters.assign_clusters(source, topics_so_far(index), embedder)
        else:
            space = spec.space or clusters.DEFAULT_SPACE
            found_clusters = clusters.find_clusters(
                source, embedder, spec.cluster_count, space, spec.seed or 0
            )
        say(topics_line(found_clusters))
        return found_clusters

    return find


def _line(stats: Any, features: FeatureSpec) -> str:
    added = "" if stats.added == stats.documents else f" ({stats.added:,} added)"
    waited = f", {stats.waited:.1f} s of them waiting for room" if stats.waited else ""
    names = "".join(f", {name}" for name in features.named)
    return (
        f"{stats.documents:,} documents{added}, {stats.tokens:,} tokens{names}, "
        f"{stats.bytes / 1e6:.1f} MB, shards: {stats.shards}, {stats.seconds:.1f} s{waited}"
    )


def _folder(corpus: tuple[str, ...]) -> str | None:
    """Return the index folder to copy, if the corpus is one."""
    from pnyx.search.lexical.manifest import is_index

    folders = [name for name in corpus if name != "-" and is_index(Path(name))]
    if folders and len(corpus) > 1:
        raise InputError("an index folder must be the only CORPUS", path=folders[0])
    return folders[0] if folders else None


def _plan(
    spec: CorpusSpec, features: FeatureSpec, cluster: ClusterSpec, makers: Makers
) -> LoadPlan:
    from pnyx.search.opensearch.load import LoadPlan

    return LoadPlan(
        language=spec.language or "english",
        fields=spec.fields,
        shards=cluster.shards or 1,
        replicas=cluster.replicas or 0,
        quality=makers.quality() if features.quality else None,
        embedder=makers.embedder() if features.vectors else None,
        replace=spec.force,
    )


def _grown(where: str, spec: CorpusSpec, requested: FeatureSpec) -> FeatureSpec:
    """Return the features for added documents by the index's own models, or those to remake."""
    from pnyx.models.embed.embedder import embedder_from
    from pnyx.search.opensearch.index import RemoteIndex

    index = RemoteIndex.open(where)
    if spec.update is not None:
        topics = index.feature_info("clusters")
        behind = topics is not None and topics.documents != len(index)
        return requested if requested.named else replace(requested.of_new_index(), assign=behind)
    grown = requested.of_grown_index([n for n in ("quality", "vectors") if index.feature_info(n)])
    models = {}
    if grown.quality:
        models["quality"] = quality_model(grown).name
    if grown.vectors:
        models["vectors"] = embedder_from(grown.embedder).name
    for name, by in models.items():
        info = index.feature_info(name)
        if info is None:
            raise InputError(f"the index has no {name}: use --update to make it", path=where)
        if info.made_by != by:
            how = {"quality": "--quality-model FOLDER", "vectors": "--embedder"}[name]
            advice = f"name it by {how}, or add words only (--words-only)"
            raise InputError(f"its {name}: by {shorten(info.made_by, 60)}: {advice}", path=where)
    return grown
