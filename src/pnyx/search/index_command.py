"""`pnyx index`: documents or arguments to a searchable index with features."""

from __future__ import annotations

import contextlib
import dataclasses
import shlex
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pnyx.cli import EXIT_INTERRUPTED
from pnyx.cli.options import Outcome, say, say_account, warn
from pnyx.cli.params import verb
from pnyx.core.errors import InputError, OptionError, PnyxError, count_of, escaped, shorten
from pnyx.core.native import advise_compiling
from pnyx.core.network import is_remote
from pnyx.core.progress import counted
from pnyx.core.spec import opts_of
from pnyx.search.corpus_options import CorpusSpec, Makers, quality_model, say_long, topics_line
from pnyx.search.open_engine import engine_type
from pnyx.search.options import ClusterSpec, FeatureSpec
from pnyx.search.plan import FEATURES

if TYPE_CHECKING:
    from pnyx.search.refresh import Refreshed


@verb("index", gone={"--lexical": "--words-only indexes words only"})
@click.argument("corpus", nargs=-1)
def command(
    corpus: tuple[str, ...],
    spec: CorpusSpec,
    features: FeatureSpec,
    cluster: ClusterSpec,
    as_json: bool,
) -> int | Outcome:
    """Index documents or arguments, so that they can be searched.

    CORPUS is one or more files, folders or ir_datasets: ids; `-` is standard input. A folder may
    contain texts, Markdown, web pages, PDF, Word, OpenDocument, e-books, e-mails and tables.

    \b
    Example:
      $ pnyx demo --files-only --out ex
      $ pnyx index ex/arguments.jsonl --out my.index
      my.index: 128 documents, 10,863 tokens, 0.3 MB, ...
      my.index: quality of 128 documents, ...
      my.index: vectors of 128 documents, ...

    \b
    More: pnyx index --help-all, docs/start/tour.md, docs/recipes/opensearch.md.
    \f
    The index is a folder that is created atomically. Then the quality of each document is predicted
    and its text embedded, which takes longest; meanwhile the index can be searched by words. If
    this is interrupted, --update continues. Documents added later rank as if all had been indexed
    at once, and get the features that the index has.

    The outcome for the files of a folder is printed. --add with a folder or file that is in the
    index already refreshes it: new, changed and deleted files. With --force, the index at --out is
    replaced once the words of the new one are indexed.

    Instead of a folder, opensearch://HOST:PORT/NAME is an index in a cluster, into which an index
    folder can also be copied (docs/recipes/opensearch.md).

    \b
      pnyx index more.csv --column text=body --add my.index
      pnyx index --update my.index --clusters
    """
    folder = spec.folder(features, corpus)
    if is_remote(folder):
        from pnyx.search.index_remote import index_remote

        return index_remote(corpus, folder, spec, features, cluster, as_json=as_json)
    if cluster.shards is not None or cluster.replicas is not None:
        raise OptionError("--shards and --replicas require opensearch://HOST:PORT/NAME")
    features = _features(folder, spec, features)

    def tell(line: str) -> None:
        if not as_json:
            click.echo(f"{escaped(folder)}: {line}", err=True)

    row: dict[str, object] = {"index": folder}
    if spec.update is None:
        features, is_changed = _read_corpus(corpus, folder, spec, features, row, tell)
        if not is_changed:
            return Outcome(row, ascii=True)
    with Makers(features) as makers:
        for done, name in enumerate(features.named):
            try:
                row[name], line = _WORK[name](folder, features, makers)
            except (KeyboardInterrupt, PnyxError) as error:
                return _stopped(folder, features, features.named[done:], error, spec)
            tell(line)
    if spec.add is not None:
        _warn_of_missing(folder)
    return Outcome(row, ascii=True)


def _read_corpus(
    corpus: tuple[str, ...],
    folder: str,
    spec: CorpusSpec,
    features: FeatureSpec,
    row: dict[str, object],
    tell: Callable[[str], None],
) -> tuple[FeatureSpec, bool]:
    """Index or refresh CORPUS; return the features to make, and whether there is anything to do."""
    refreshed, added = _refresh(corpus, folder, spec, tell)
    if refreshed:
        row["refreshed"] = [dataclasses.asdict(refresh) for refresh in refreshed]
        features = _after_refresh(folder, features, refreshed)
    if added:
        statistics, line = _build(added, folder, spec)
        row |= statistics
        tell(line)
    return features, bool(added) or any(refreshed) or bool(_incomplete(folder))


def _warn_of_missing(folder: str) -> None:
    """Say which features the added documents do not have yet."""
    incomplete = _incomplete(folder)
    if behind := [name for name in _FLAGS if name in incomplete]:
        flags = " ".join(_FLAGS[name] for name in behind)
        if "quality" in behind:
            flags += _model_of(_manifest(folder)["features"]["quality"])
        what, shown_folder = " and ".join(sorted(behind)), escaped(folder)
        warn(f"the added documents have no {what} yet: pnyx index --update {shown_folder} {flags}")


def _stopped(
    folder: str, features: FeatureSpec, rest: Iterable[str], error: BaseException, spec: CorpusSpec
) -> int:
    """Say what is left to do; raise the error if it was one."""
    command = _update(folder, features, rest)
    if isinstance(error, KeyboardInterrupt):
        say(f"interrupted; to continue: {command}")
        return EXIT_INTERRUPTED
    if spec.update is None:
        say(f"the words are indexed; {command} continues after this error:")
    raise error


def _update(folder: str, features: FeatureSpec, names: Iterable[str]) -> str:
    """Return the command that makes features of an index, with the options chosen for them."""
    flags = dict.fromkeys(names, True)
    parts = [f"--{name}" for name in flags]
    for field, _ in opts_of(FeatureSpec):
        value = getattr(features, field.name)
        if isinstance(value, bool) or not features.given(field.name):
            continue
        with contextlib.suppress(OptionError):  # the option requires a feature that already exists
            FeatureSpec.from_row({**flags, field.name: value}).check_needs()
            parts += [features.flag(field.name), shlex.quote(str(value))]
    return f"pnyx index --update {shlex.quote(escaped(folder))} {' '.join(parts)}"


def _refresh(
    corpus: tuple[str, ...], folder: str, spec: CorpusSpec, tell: Callable[[str], None]
) -> tuple[list[Refreshed], tuple[str, ...]]:
    """Refresh the index from sources that it was made from; also return the others."""
    if spec.add is None:
        return [], corpus
    from pnyx.search.refresh import is_source, refresh_index

    refreshed, others = [], []
    for path in corpus:
        if not is_source(folder, path):
            others.append(path)
            continue
        if spec.format is not None or spec.mapping or spec.unit is not None:
            raise OptionError(
                f"{escaped(path)} is indexed already: a refresh keeps --format, --column and --unit"
            )
        with counted("indexing") as advance:
            done = refresh_index(
                folder,
                path,
                on_account=say_account,
                on_warning=warn,
                on_progress=advance,
                strict_files=spec.strict_files,
            )
        tell(f"{done.line()}, {count_of(done.documents, 'document')}")
        refreshed.append(done)
    return refreshed, tuple(others)


def _after_refresh(
    folder: str, features: FeatureSpec, refreshed: Iterable[Refreshed]
) -> FeatureSpec:
    """Return the features to make after documents were removed: topics and graph again."""
    dropped = {name for done in refreshed for name in done.dropped}
    if "clusters" in dropped and features.assign:
        return dataclasses.replace(features, assign=False, clusters=True)
    remade = {"clusters": features.clusters, "vectors_ann": features.ann}
    for name, flag in (("clusters", "--clusters"), ("vectors_ann", "--ann")):
        if name in dropped and not remade[name]:
            shown_folder = escaped(folder)
            warn(f"documents were removed: run pnyx index --update {shown_folder} {flag} again")
    return features


def _build(corpus: tuple[str, ...], folder: str, spec: CorpusSpec) -> tuple[dict[str, object], str]:
    from pnyx.search.build import add_to_index, build_index

    records = spec.reader(corpus)
    with counted("indexing") as advance:
        if spec.add is not None:
            built = add_to_index(records, folder, on_progress=advance)
        else:
            built = build_index(
                records,
                folder,
                fields=spec.fields,
                language=spec.language or "english",
                replace=spec.force,
                on_progress=advance,
            )
    stats = built.statistics
    say_long(records)
    if stats.tokens == 0:
        warn("no document contains a word, so nothing can be found")
    if advice := advise_compiling(stats.documents):
        say(advice)
    added = "" if stats.added == stats.documents else f" ({stats.added:,} added)"
    documents = count_of(stats.documents, "document")
    if stats.passages:
        whole = stats.documents - stats.passages + stats.split_documents
        passages = count_of(stats.documents, "passage")
        documents = f"{count_of(whole, 'document')} in {passages}"
    return dataclasses.asdict(stats), (
        f"{documents}{added}, {count_of(stats.tokens, 'token')}, "
        f"{stats.bytes / 1e6:.1f} MB, {stats.seconds:.1f} s"
    )


# Features: quality, vectors, their graph, topics -------------------------------------------------


def _features(folder: str, spec: CorpusSpec, requested: FeatureSpec) -> FeatureSpec:
    """Return the features to make, checked: those requested and those every index gets."""
    if engine_type(folder):
        raise OptionError(f"{escaped(folder)} is read-only, expected a folder")
    if spec.out is not None:
        features = requested.of_new_index()
        _check_features(features, {})
        _refuse_existing(folder, spec, features)
        return features
    there = _manifest(folder).get("features", {})
    # If no feature is named, --update completes the default features and those the index has.
    features = (
        requested if requested.named and spec.add is None else requested.of_grown_index(there)
    )
    features = features if spec.add is not None or requested.named else features.of_new_index()
    _check_features(features, there)
    if spec.add is not None:
        _check_makers(folder, requested, features, there)
    return features


def _refuse_existing(folder: str, spec: CorpusSpec, features: FeatureSpec) -> None:
    """Refuse to overwrite an index; for an unfinished one, say how to continue."""
    from pnyx.search.lexical.manifest import is_index

    if spec.force or not is_index(Path(folder)):
        return
    more = "use --add to add documents, --force to replace it"
    if incomplete := [name for name in features.named if name in _incomplete(folder, FEATURES)]:
        without = f"without {' and '.join(incomplete)} of all its documents"
        advice = f"{_update(folder, features, incomplete)} makes them"
        raise InputError(f"exists already, {without}: {advice}; {more}", path=folder)
    raise InputError(f"exists already: {more}", path=folder)


def _check_makers(
    folder: str, requested: FeatureSpec, spec: FeatureSpec, there: Mapping[str, Any]
) -> None:
    """Refuse to extend a feature with another model than its own, unless it is to be remade."""
    from pnyx.models.embed.embedder import embedder_from

    def refuse(feature: str, key: str, name: str, how: str) -> None:
        made_by = there[feature].get("meta", {}).get(key, name)
        if made_by != name:
            its = f"its {feature} are" if feature.endswith("s") else f"its {feature} is"
            advice = f"name it by {how}, or add words only (--words-only)"
            raise InputError(f"{its} by {shorten(str(made_by), 60)}: {advice}", path=folder)

    if spec.quality and not requested.quality:
        refuse("quality", "model", quality_model(spec).name, "--quality-model FOLDER")
    for feature, named in (("vectors", requested.vectors), ("clusters", requested.clusters)):
        if feature in there and not named and spec.embeds:
            refuse(feature, "embedder", embedder_from(spec.embedder).name, "--embedder")


def _check_features(spec: FeatureSpec, there: Mapping[str, Any]) -> None:
    """Reject impossible requests before minutes are spent on indexing."""
    from pnyx.models.embed.embedder import embedder_from

    spec.check()
    if spec.quality_model is not None:
        quality_model(spec)
    if spec.assign and "clusters" not in there:
        raise InputError("--assign: the index has no topics yet; use --clusters")
    if spec.ann and not (spec.vectors or "vectors" in there):
        raise InputError("--ann: the index has no vectors yet; add --vectors")
    if spec.ann:
        from pnyx.search.ranking.dense import graph_library

        graph_library()
    if spec.clusters:
        from pnyx.search.features.topic_points import k_means_engine

        k_means_engine()
    if spec.embeds:
        embedder_from(spec.embedder)


def _count_line(count: int, documents: int) -> str:
    """Return the number of documents, and of new ones if not all are new."""
    new = f" ({count:,} new)" if count < documents else ""
    return f"{count_of(documents, 'document')}{new}"


def _quality(folder: str, _: FeatureSpec, makers: Makers) -> tuple[dict[str, object], str]:
    from pnyx.search.document_quality import score_documents

    with counted("predicting quality", _documents(folder)) as advance:
        stats = score_documents(folder, makers.quality(), advance)
    unscored = f"; {stats.unscored:,} without words get a neutral one" if stats.unscored else ""
    return dataclasses.asdict(stats), (
        f"quality of {_count_line(stats.added, stats.documents)}, {stats.seconds:.1f} s{unscored}"
    )


def _clusters(folder: str, spec: FeatureSpec, makers: Makers) -> tuple[dict[str, object], str]:
    from pnyx.search.features import clusters

    embedder = makers.embedder()
    with counted("embedding texts") as advance:
        if spec.assign:
            result = clusters.cluster_new_documents(folder, embedder, on_progress=advance)
        else:
            result = clusters.cluster_documents(
                folder,
                embedder,
                k=spec.cluster_count,
                space=spec.space or clusters.DEFAULT_SPACE,
                seed=spec.seed or 0,
                on_progress=advance,
            )
    return dict(result.meta), topics_line(result)


def _vectors(folder: str, _: FeatureSpec, makers: Makers) -> tuple[dict[str, object], str]:
    from pnyx.models.embed.embedder import cut_line
    from pnyx.search.features.vectors import embed_documents

    embedder = makers.embedder()
    with counted("embedding documents", _documents(folder)) as advance:
        stats = embed_documents(folder, embedder, on_progress=advance)
    new = _count_line(stats.documents - stats.reused, stats.documents)
    if line := cut_line(stats.cut, stats.max_tokens):
        say(line)
    line = f"vectors of {new}, {stats.seconds:.1f} s"
    return {"embedder": embedder.name, **dataclasses.asdict(stats)}, line


def _ann(folder: str, _: FeatureSpec, __: Makers) -> tuple[dict[str, object], str]:
    from pnyx.search.ranking.dense import build_ann

    documents = _documents(folder)
    with counted("building the graph", documents) as advance:
        build_ann(folder, on_progress=advance)
    return {"documents": documents}, f"a graph of {documents:,} vectors"


_WORK: dict[str, Callable[[str, FeatureSpec, Makers], tuple[dict[str, object], str]]] = {
    "quality": _quality,
    "vectors": _vectors,
    "ann": _ann,
    "clusters": _clusters,
    "assign": _clusters,
}
_FLAGS = {"quality": "--quality", "clusters": "--assign", "vectors": "--vectors"}


def _incomplete(folder: str, expected: Iterable[str] = ()) -> set[str]:
    """Return the existing or `expected` features that some documents do not have."""
    features = _manifest(folder).get("features", {})
    documents = _documents(folder)
    behind = {name for name, feature in features.items() if feature["documents"] != documents}
    return behind | set(expected).difference(features)


def _documents(folder: str) -> int:
    documents: int = _manifest(folder)["statistics"]["documents"]
    return documents


def _model_of(quality: Any) -> str:
    """Return the option that scores new documents with the same model as the others."""
    from pnyx.judging.students.surface_quality import QualityModel

    name = quality.get("meta", {}).get("model", "")
    if name == QualityModel.load().name:
        return ""
    return f" --quality-model FOLDER (that of {shorten(name, 60)})"


def _manifest(folder: str) -> Any:
    from pnyx.search.lexical.manifest import read_manifest

    return read_manifest(Path(folder))
