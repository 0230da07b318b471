"""Merge the shards of a run into the files of a run without shards."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from pnyx.core.errors import InputError
from pnyx.core.files import read_json, read_jsonl, write_json
from pnyx.core.folders import file_hash, refuse_device, refuse_devices
from pnyx.core.placement import placed_together
from pnyx.core.rooms import required
from pnyx.judging.answers import ANSWERS, MANIFEST, tally
from pnyx.judging.runs.results import (
    ANNOTATIONS,
    RESULTS,
    check_folder,
    check_name,
    manifest_path,
    write_annotations,
    write_answers,
)
from pnyx.judging.runs.shards import POSITION

_OF_ITSELF = (
    "shard counts started finished answers_sha256 store tokens models reports python record"
)
"""Fields of a manifest that differ between the shards of a run."""

_SUMMED = ("store", "tokens", "models")


def merge_results(shares: Sequence[str | Path], out: str | Path) -> dict[str, Any]:
    """Write the results of the same run without `--shard`; return its manifest.

    The answers are the same byte by byte. The manifest has the sums of calls and costs, the first
    start and the last end.

    Args:
        shares: results folders, or files of annotations, of all shards of a run, in any order.
        out: the folder, or the file, to write.

    Raises:
        InputError: a shard is missing, damaged, given twice, or from another run; `out` has other
            content.
    """
    manifests: dict[str, dict[str, Any]] = {}
    for path in map(str, shares):
        if path in manifests:
            raise InputError("is given twice, expected each share once", path=path)
        manifests[path] = _manifest(Path(path))
    manifest = _of_one_run(manifests)
    by_number = sorted(manifests, key=lambda path: int(manifests[path]["shard"]["number"]))
    paths = [Path(path) for path in by_number]
    target = Path(out)
    with placed_together():
        if manifest["format"] == RESULTS:
            _merge_folders(paths, target, manifest)
        else:
            _merge_files(paths, target, manifest)
    return manifest


def _manifest(path: Path) -> dict[str, Any]:
    manifest = read_json(path / MANIFEST if path.is_dir() else manifest_path(path)) or {}
    shard = manifest.get("shard")
    is_share = manifest.get("format") in (RESULTS, ANNOTATIONS) and isinstance(shard, dict)
    if not is_share:
        raise InputError("is not a finished share of a run (--shard)", path=path)
    _check_shard(manifest, path)
    if path.is_dir():
        refuse_devices(path)
    if path.is_dir() and file_hash(path / ANSWERS) != manifest["answers_sha256"]:
        raise InputError(
            f"is not what {MANIFEST} says: judge this share again", path=path / ANSWERS
        )
    return manifest


def _check_shard(manifest: Mapping[str, Any], path: Path) -> None:
    """Raise InputError unless a shard's manifest has the expected fields."""
    from pnyx.formats.rows import checked
    from pnyx.judging.runs.manifests import ShareManifest, ShareOfResults

    try:
        checked(ShareOfResults if manifest["format"] == RESULTS else ShareManifest, manifest)
    except InputError as error:
        problem = f"{MANIFEST} is damaged ({error.problem}): judge this share again"
        raise InputError(problem, path=path) from error


def _of_one_run(manifests: Mapping[str, dict[str, Any]]) -> dict[str, Any]:
    """Return the manifest of the run; InputError unless all shards belong to one run."""
    (first, manifest), *others = manifests.items()
    decided = _decided(manifest)
    for path, other in others:
        if different := [n for n, value in _decided(other).items() if decided.get(n) != value]:
            raise InputError(
                f"is a share of another run than {first}: {different[0]} differs", path=path
            )
    by_number: dict[int, str] = {}
    for path, other in manifests.items():
        number = other["shard"]["number"]
        if number in by_number:
            raise InputError(f"is share {number}, as is {by_number[number]}", path=path)
        by_number[number] = path
    of = manifest["shard"]["of"]
    if missing := [str(n) for n in range(1, of + 1) if n not in by_number]:
        raise InputError(f"shares are missing of {of}: {', '.join(missing)}")
    whole = {name: value for name, value in manifest.items() if name != "shard"}
    record = whole.get("record")
    if record:  # on one machine it would be the same, except for the shard
        options = {k: v for k, v in record["options"].items() if k != "shard"}
        whole["record"] = {**record, "options": options}
    every = list(manifests.values())
    for name in _SUMMED:
        if any(name in m for m in every):
            try:
                whole[name] = _summed([m[name] for m in every])
            except (KeyError, ValueError) as error:
                problem = f"{MANIFEST} is damaged: {name} is missing or of another type"
                raise InputError(problem, path=", ".join(manifests)) from error
    return whole | {
        "started": min(m["started"] for m in every),
        "finished": max(m["finished"] for m in every),
    }


def _decided(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields that are equal in all shards of a run."""
    left = {k: v for k, v in manifest.items() if k not in _OF_ITSELF.split()}
    left["items"] = manifest["items"]["count"]  # each machine has its own path
    shard = manifest["shard"]
    return left | {"number of shares": shard["of"], "settings": shard["settings_sha256"]}


def _summed(values: Sequence[Any]) -> Any:
    """Return the sum of numbers, by field and position; names are listed, and None stays None.

    ValueError: the values have several types.
    """
    if all(isinstance(value, dict) for value in values):
        names = dict.fromkeys(name for value in values for name in value)
        return {name: _summed([v[name] for v in values if name in v]) for name in names}
    if all(isinstance(value, list) and len(value) == len(values[0]) for value in values):
        return [_summed(some) for some in zip(*values, strict=True)]
    if None in values:
        return None
    if all(isinstance(value, int | float) for value in values):
        return sum(values)
    if all(isinstance(value, str) for value in values):
        return ", ".join(dict.fromkeys(values))
    raise ValueError("values of several types")


def _rows(path: Path) -> Iterator[tuple[Any, dict[str, Any]]]:
    """Yield the rows of a shard, each after its position in the whole run."""
    for number, row in read_jsonl(path):
        position = row.pop(POSITION, None)
        if type(position) is not int:
            raise InputError(f"{POSITION} is missing or damaged", path=path, line=number)
        yield position, row


def _answers(paths: Sequence[Path], count: int | None) -> Iterator[list[dict[str, Any]]]:
    """Yield the rows of each item of a run with `count` items, or of each block of its reports."""
    merged = heapq.merge(*map(_rows, paths), key=lambda pair: pair[0])
    expected = 0
    for position, rows in groupby(merged, key=lambda pair: pair[0]):
        if count is not None and position != expected:
            break
        expected += 1
        yield [row for _, row in rows]
    if count is not None and expected > count:
        raise InputError(f"the shares have {expected} items, expected {count}", path=paths[0])
    if count is not None and expected < count:
        raise InputError(f"item {expected + 1} of {count} is in none of the shares", path=paths[0])


def _merge_folders(paths: Sequence[Path], out: Path, manifest: dict[str, Any]) -> None:
    names = ("task", "judge", "items_sha256", "plan")
    run = {name: manifest[name] for name in names if name in manifest}
    check_folder(out, run)
    count = None if "plan" in manifest else manifest["items"]["count"]
    answers = _answers([path / ANSWERS for path in paths], count)
    manifest["counts"], manifest["answers_sha256"] = write_answers(out, answers)
    if "plan" in manifest:
        required("MERGED_RESULTS", "plan")(paths, out, manifest)
    write_json(out / MANIFEST, manifest)


def _merge_files(paths: Sequence[Path], out: Path, manifest: dict[str, Any]) -> None:
    check_name(out)
    refuse_device(manifest_path(out))
    if out.exists():
        raise InputError("exists already: name another file", path=out)
    count = manifest.pop("items")["count"]
    del manifest["items_sha256"]

    def rows() -> Iterator[dict[str, Any]]:
        return (row for rows in _answers(paths, count) for row in rows)

    manifest["counts"] = tally(rows())
    write_annotations(out, rows)
    write_json(manifest_path(out), manifest)
