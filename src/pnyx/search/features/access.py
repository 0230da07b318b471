"""Features of the documents of an index in addition to words: quality, vectors, clusters.

A feature is a set of arrays aligned with document numbers, in a checked, memory-mapped file,
always replaced as a whole. It may cover only the first documents of an index that has since grown.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from pnyx.core.errors import InputError
from pnyx.core.folders import locked
from pnyx.search.lexical.manifest import (
    FEATURE_NAME,
    contents,
    damaged,
    read_manifest,
    remove_leftovers,
    write_manifest,
    writing,
)
from pnyx.search.lexical.storage import SegmentFile, SegmentWriter


@dataclass(frozen=True, slots=True)
class Feature:
    """A feature, open for reading, of the first `documents`; `meta` says how it was made."""

    name: str
    documents: int
    meta: Mapping[str, Any]
    file: SegmentFile
    shapes: Mapping[str, tuple[int, ...]]

    def array(self, section: str) -> NDArray[Any]:
        """Return a whole section, verified, read-only, in its original shape."""
        values, shape = self.file.section(section).whole(), self.shapes.get(section)
        if shape is None or values.size != math.prod(shape):
            raise damaged(self.file.folder, f"section {section} of {self.name} has another shape")
        return values.reshape(shape)


def put_feature(
    path: str | Path,
    name: str,
    arrays: Mapping[str, NDArray[Any]],
    *,
    documents: int,
    meta: Mapping[str, Any],
) -> None:
    """Write an index's feature, all or nothing; InputError if the number of documents differs."""
    if not FEATURE_NAME.fullmatch(name):
        raise ValueError(f"feature {name!r}: expected small letters and _")
    folder = Path(path)
    with locked(folder), writing(path):
        manifest = read_manifest(folder)
        if manifest["statistics"]["documents"] != documents:
            count = manifest["statistics"]["documents"]
            raise InputError(f"has {count} documents, expected {documents}", path=path)
        remove_leftovers(folder, manifest)
        old = manifest.get("features", {}).get(name, {"file": "-0."})["file"]
        number = int(old.rpartition("-")[2].partition(".")[0]) + 1
        entry = write_feature(folder, name, number, arrays, documents=documents, meta=meta)
        features = {**manifest.get("features", {}), name: entry}
        write_manifest(folder, contents(manifest, features=features))
        remove_leftovers(folder, read_manifest(folder))


def write_feature(
    folder: Path,
    name: str,
    number: int,
    arrays: Mapping[str, NDArray[Any]],
    *,
    documents: int,
    meta: Mapping[str, Any],
) -> dict[str, Any]:
    """Write the file of a feature; return its entry in the manifest."""
    with SegmentWriter(folder / f"feature-{name}-{number:06d}.data") as writer:
        for section, values in arrays.items():
            dtype = values.dtype.newbyteorder("<").str.lstrip("|")
            writer.array(section, dtype, values)
        entry: dict[str, Any] = writer.finish()
    return entry | {
        "documents": documents,
        "meta": dict(meta),
        "shapes": {section: list(values.shape) for section, values in arrays.items()},
    }


def read_feature(path: str | Path, manifest: Mapping[str, Any], name: str) -> Feature | None:
    """Open a feature by an index's manifest; None if there is none of that name."""
    entry = manifest.get("features", {}).get(name)
    if entry is None:
        return None
    shapes = {section: tuple(shape) for section, shape in entry["shapes"].items()}
    file = SegmentFile(Path(path), entry)
    return Feature(name, entry["documents"], entry["meta"], file, shapes)
