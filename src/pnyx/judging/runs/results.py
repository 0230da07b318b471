"""The output of a run: the results folder of `pnyx judge`, and a file of annotations."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import platform
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, TypeAlias

from pnyx._version import __version__
from pnyx.core.errors import InputError, PnyxError, escaped
from pnyx.core.files import atomic_text, json_line, read_json, read_jsonl, write_json, write_jsonl
from pnyx.core.folders import refuse_device, refuse_devices
from pnyx.core.placement import placed_together, temporary_of
from pnyx.core.restricted_mode import hides_text
from pnyx.judging.answers import (
    ANSWERS,
    MANIFEST,
    Answer,
    Judged,
    Unscored,
    answer_rows,
    now,
    tally,
)
from pnyx.judging.base import Judge
from pnyx.judging.questions import JudgeQuestion, PairSource, Support
from pnyx.judging.runs.engine import BLOCK, Journal, answer_items, only_begun, partial_of
from pnyx.judging.runs.shards import Dealt, Shard

RESULTS, ANNOTATIONS = "pnyx-results", "pnyx-annotations"
_FORMAT_VERSION = 1


def judge_into(
    out: str | Path,
    task: str,
    judge: Judge,
    items: Iterable[JudgeQuestion],
    facts: Callable[[int], Mapping[str, Any]],
    *,
    settings: Mapping[str, Any] | None = None,
    from_rows: bool = True,
    on_start: Callable[[int, int], None] | None = None,
    also: Callable[[Iterator[list[dict[str, Any]]]], None] | None = None,
    shard: Shard | None = None,
) -> dict[str, Any]:
    """Ask a judge about items, write answers and a manifest to a folder; return the manifest.

    After an interruption, the same call continues from the existing answers.

    Args:
        out: the folder; empty, new, or with results of the same run.
        task: name of the task.
        judge: answers the items.
        items: can be iterated over twice, in the same order.
        facts: returns the other fields of the manifest, given the number of items.
        settings: what affects the answers besides the judge's name, ready for JSON.
        from_rows: continue from the written rows. False if the judge asks language models: their
            replies are in the judgement store, and unscored items are asked again.
        on_start: called before anything is asked with the numbers of items and of known answers.
        also: called with the lines of each item's answer, in order, at the end.
        shard: the shard of the items to judge; all of them by default.
    """
    folder, started = Path(out), now()
    dealt = Dealt(items, shard)
    count = sum(1 for _ in dealt)
    run: dict[str, Any] = {"task": task, "judge": judge.name, "items_sha256": dealt.sha256}
    if shard is not None:
        run["shard"] = shard.about(settings or {})
    with results_journal(out, run, settings or {}, from_rows=from_rows) as journal:
        if on_start is not None:
            on_start(count, journal.reused)
        answer_items(judge, items if shard is None else dealt, journal, answer_rows)
        with placed_together():
            counts, answers = write_answers(folder, dealt.marked(journal.rows()))
            manifest = results_manifest(run, counts, facts(dealt.count), started, answers)
            manifest |= (
                {"kept": journal.reused} if journal.reused else {}
            )  # `started` is of the last part
            write_json(folder / MANIFEST, manifest)
        if also is not None:
            also(journal.rows())
    return manifest


@contextlib.contextmanager
def results_journal(
    out: str | Path, run: Mapping[str, Any], settings: Mapping[str, Any], *, from_rows: bool
) -> Iterator[Journal]:
    """Yield the journal of a run in its folder, which is kept only if the run is unfinished."""
    if str(out) in ("", "-"):
        raise InputError(f"found {str(out)!r}, expected the name of a folder for the results")
    folder = Path(out)
    about, same = same_results(run, settings, from_rows=from_rows)
    existed = os.path.lexists(folder)
    check_folder(folder, run)
    try:
        with Journal(folder / ANSWERS, about, same, lasting=from_rows) as journal:
            yield journal
            journal.remove()
    finally:
        if not existed:
            with contextlib.suppress(OSError):
                folder.rmdir()  # only if there is nothing to continue from


def same_results(
    run: Mapping[str, Any], settings: Mapping[str, Any], *, from_rows: bool
) -> tuple[dict[str, Any], Callable[[Mapping[str, Any]], bool]]:
    """Return a journal's description, and a function that decides whether an earlier one counts."""
    about = {"format": RESULTS, **run, "settings": json.loads(json.dumps(settings))}
    about |= {"no_text": True} if hides_text() else {}  # its rows have fewer fields
    return about, lambda manifest: from_rows and manifest == about


def write_answers(
    folder: Path, answers: Iterable[Iterable[Mapping[str, Any]]]
) -> tuple[dict[str, Any], str]:
    """Write answers.jsonl from the rows of each answer; return its counts and its SHA-256."""
    digest = hashlib.sha256()
    with atomic_text(folder / ANSWERS) as stream:

        def written() -> Iterator[Mapping[str, Any]]:
            for row in chain.from_iterable(answers):
                line = json_line(row) + "\n"
                digest.update(line.encode())
                stream.write(line)
                yield row

        counts = tally(written())
    return counts, digest.hexdigest()


def results_manifest(
    run: Mapping[str, Any],
    counts: Mapping[str, Any],
    facts: Mapping[str, Any],
    started: str,
    answers: str,
) -> dict[str, Any]:
    """Return the manifest of a finished run."""
    return {
        "format": RESULTS,
        "format_version": _FORMAT_VERSION,
        "pnyx": __version__,
        "python": platform.python_version(),
        **run,
        "counts": counts,
        **facts,
        **({"no_text": True} if hides_text() else {}),
        "started": started,
        "finished": now(),
        "answers_sha256": answers,
    }


def check_folder(folder: Path, run: Mapping[str, Any]) -> None:
    """Raise InputError if a folder has anything except the results of this run."""
    try:
        if not os.path.lexists(folder):
            return
        if not folder.is_dir():
            raise InputError("found a file, expected a folder for the results", path=folder)
        refuse_devices(folder)
        partial = partial_of(folder / ANSWERS)
        begun = _only_begun(folder, partial)
    except OSError as error:
        excerpt = escaped(str(folder))
        raise PnyxError(f"{excerpt}: cannot be written: {error.strerror}") from error
    # In this order: a run that ends meanwhile writes the first before it removes the second.
    read = {path: read_json(path) for path in (partial / MANIFEST, folder / MANIFEST)}
    manifests = [
        manifest for path, manifest in read.items() if manifest is not None or path.exists()
    ]
    results = [
        manifest
        for manifest in manifests
        if manifest is not None and manifest.get("format") == RESULTS
    ]
    if len(results) < len(manifests) or not (results or begun):
        raise InputError("contains files that are not results of pnyx judge", path=folder)
    for manifest in results:
        expected = {"shard": None, **run}
        different = [name for name, value in expected.items() if manifest.get(name) != value]
        if different:
            what = "other items" if different == ["items_sha256"] else f"another {different[0]}"
            raise InputError(f"holds the results for {what}: name another folder", path=folder)


def _only_begun(folder: Path, partial: Path) -> bool:
    """Return whether a folder is empty, or a run was killed in it before its first manifest."""
    with contextlib.suppress(FileNotFoundError):  # another run has just ended without an answer
        names = {entry.name for entry in folder.iterdir() if not temporary_of(entry.name)}
        if names == {partial.name} and partial.is_dir():
            return only_begun(partial)
        return not names
    return True


SUFFIXES = (".jsonl", ".jsonl.gz", ".parquet")
"""Suffixes of files of annotations; each is one format."""

_SMALL = 200
"""Copied fields that are longer than this as JSON are texts, and left out."""

_TYPES = {
    **dict.fromkeys(("id", "question_id", "doc_id", "group", "task"), str),
    "value": bool,
    "probability": float,
    **dict.fromkeys(("unscored", "judge", "prompt_hash"), str),
}
"""Column of a table of annotations -> its type."""

Take: TypeAlias = Callable[[Mapping[str, Any]], None]

_TEXTS = ("question", "definition", "document")

_SAME = {
    "judge": "of another judge, or of the same with other settings",
    "inputs": "of other inputs",
    "shard": "with another --shard",
    "with_text": "made with another choice of --with-text",
}
"""Manifest field that must be equal -> description of a difference."""


@dataclass(frozen=True, slots=True)
class Applied:
    """The result of labelling pairs.

    Attributes:
        counts: `asked`, `scored`, `unscored` and `reasons`, of all pairs.
        reused: number of annotations from an earlier, interrupted run.
        manifest: the content of `PATH.manifest.json`.
    """

    path: Path
    counts: Mapping[str, Any]
    reused: int
    manifest: Mapping[str, Any]


def _annotation_row(
    pair: Support, answer: Answer, judge: str, *, with_text: bool = False
) -> dict[str, Any]:
    """Return a pair's line in a file of annotations; it is also a line of `answers`."""
    judged = answer if isinstance(answer, Judged) else None
    question_id, doc_id = pair.extra.get("question_id"), pair.extra.get("doc_id")
    row = {
        name: value
        for name, value in pair.extra.items()
        if len(value if isinstance(value, str) else json.dumps(value)) <= _SMALL
    }
    row |= {
        "id": pair.id,
        "question_id": str(question_id) if question_id is not None else pair.group or None,
        "doc_id": None if doc_id is None else str(doc_id),
        "group": pair.group or (None if question_id is None else str(question_id)),
        "task": pair.task,
        "value": bool(judged.value) if judged else None,
        "probability": judged.probability if judged else None,
        "unscored": answer.reason if isinstance(answer, Unscored) else None,
        "judge": judge,
        "prompt_hash": answer.provenance.prompt_hash,
    }
    if with_text:
        row |= dict(zip(_TEXTS, (pair.question, pair.guideline, pair.text), strict=True))
    return {name: row[name] for name in (*_TYPES, *(n for n in row if n not in _TYPES))}


def apply_judge(
    judge: Judge,
    pairs: PairSource | Iterable[Support],
    out: str | Path,
    *,
    settings: Mapping[str, Any] | None = None,
    with_text: bool = False,
    block: int = BLOCK,
    on_start: Callable[[int, int], None] | None = None,
    take: Take | None = None,
    shard: Shard | None = None,
) -> Applied:
    """Label pairs and write the labels to a file, continuing where an earlier run stopped.

        pairs = pairs_of_corpus("my.index", "questions.md")
        applied = apply_judge(EncoderJudge(), pairs, "annotations.parquet")

    Args:
        judge: answers `relevance` questions.
        pairs: in an order that is the same each time.
        out: the file; its suffix, one of `SUFFIXES`, determines the format.
        settings: what affects the judge's answers besides its name, ready for JSON.
        with_text: also write the texts.
        block: number of pairs judged together, at least 1.
        on_start: called before any pair is judged with the number of known annotations, and of
            damaged ones that are judged again.
        take: called with each label, in order, at the end; not for `.parquet`.
        shard: the shard of the pairs to label, not for `.parquet`; all by default.

    Raises:
        InputError: `out` has another suffix, or other content; there are no pairs, or other pairs
            than in the interrupted run.
        MissingExtra: `.parquet` without pyarrow.
        ModelError: the judge cannot continue; its answers are kept for the next run.
    """
    path = Path(out)
    if path.suffix == ".parquet" and shard is not None:
        raise InputError(
            "a share is .jsonl or .jsonl.gz; pnyx files merge makes .parquet of them", path=path
        )
    check_name(path)
    about: dict[str, Any] = {
        "format": ANNOTATIONS,
        "format_version": 1,
        "judge": {"name": judge.name, **(settings or {})},
        "inputs": dict(pairs.about) if isinstance(pairs, PairSource) else {},
        "with_text": with_text,
        **({} if shard is None else {"shard": shard.about({})}),
    }
    dealt = None if shard is None else Dealt(pairs, shard)
    before = _finished(path, about)
    if before is not None:
        _hand_over((row for _, row in read_jsonl(path)), take)
        return Applied(path, before["counts"], before["counts"]["asked"], before)

    def same(manifest: Mapping[str, Any]) -> bool:
        return _refuse_other(manifest, about, partial_of(path), "was begun with annotations")

    row_of = partial(_annotation_row, judge=judge.name, with_text=with_text)
    started = now()
    with Journal(path, about, same) as journal:
        if on_start is not None:
            on_start(journal.reused, journal.damaged)
        count = answer_items(judge, dealt or pairs, journal, row_of, block=block)
        if (dealt.count if dealt else count) == 0:
            raise InputError("found no pairs of question and document, expected at least one")
        counts = tally(journal.rows())
        times = {"started": started, "finished": now()}
        manifest = {**about, "pnyx": __version__, "card": judge.card, "counts": counts, **times}
        if dealt is not None:
            manifest |= {"items_sha256": dealt.sha256, "items": {"count": dealt.count}}
        with placed_together():
            write_json(manifest_path(path), manifest)
            write_annotations(
                path, journal.rows if dealt is None else lambda: dealt.marked(journal.rows())
            )
        _hand_over(journal.rows(), take)
        journal.remove()
    return Applied(path, counts, journal.reused, manifest)


def check_name(path: Path) -> None:
    """Refuse a file name without a suffix of annotations."""
    if not path.name.endswith(SUFFIXES):
        raise InputError(f"expected a name that ends in one of {', '.join(SUFFIXES)}", path=path)
    if path.suffix == ".parquet":
        from pnyx.formats.documents.tables import require_parquet

        require_parquet()  # now, not after everything is judged


def _hand_over(rows: Iterable[Mapping[str, Any]], take: Take | None) -> None:
    if take is not None:
        for row in rows:
            take(row)


def manifest_path(out: str | Path) -> Path:
    """Return the path of the manifest of a finished file of annotations."""
    return Path(f"{out}.{MANIFEST}")


def _finished(out: Path, about: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the manifest of a file that this judge has finished on these inputs, or None."""
    refuse_device(manifest_path(out))
    if not out.exists():
        return None
    manifest = read_json(manifest_path(out))
    counts = {} if manifest is None else manifest.get("counts")
    whole = isinstance(counts, dict) and counts.keys() >= tally(()).keys()
    if manifest is None or not whole or not isinstance(manifest.get("card"), str):
        raise InputError("exists already, and not as annotations: name another file", path=out)
    _refuse_other(manifest, about, out, "holds the annotations")
    return manifest


def _refuse_other(
    manifest: Mapping[str, Any], about: Mapping[str, Any], path: Path, holds: str
) -> bool:
    for name, what in _SAME.items():
        if manifest.get(name) != json.loads(json.dumps(about.get(name))):
            raise InputError(f"{holds} {what}: name another file, or remove this one", path=path)
    return True


def write_annotations(path: Path, rows: Callable[[], Iterator[dict[str, Any]]]) -> None:
    """Write a file of annotations in the format of its suffix."""
    if path.suffix == ".parquet":
        from pnyx.formats.documents.tables import write_parquet

        write_parquet(path, rows, _TYPES)
    else:
        write_jsonl(path, rows())
