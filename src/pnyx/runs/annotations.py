"""A judge's labels for very many pairs, streaming and resumable: `pnyx annotate apply`."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from pnyx._version import __version__
from pnyx.corpora.parquet import require_parquet, write_parquet
from pnyx.errors import InputError
from pnyx.files import atomic_text, json_line, read_jsonl
from pnyx.judge.answers import Answer, Judged, Unscored
from pnyx.judge.base import Judge
from pnyx.judge.questions import Support
from pnyx.judge.results import MANIFEST, tally
from pnyx.runs.engine import BLOCK, answer_items
from pnyx.runs.journal import Journal, partial_of, read_json
from pnyx.runs.pairs import PairSource
from pnyx.runs.results import now, write_manifest

__all__ = ["SUFFIXES", "Applied", "annotation_row", "apply_judge", "manifest_path"]

SUFFIXES = (".jsonl", ".jsonl.gz", ".parquet")
"""Endings of a file of annotations; each is one format."""

_SMALL = 200
"""Carried fields that are longer as JSON are texts, and left out."""

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
    "with_text": "made with another choice of --with-text",
}
"""Field of the manifest that must be the same -> what is wrong where it is not."""


@dataclass(frozen=True, slots=True)
class Applied:
    """What came of labelling pairs.

    Attributes:
        counts: `asked`, `scored`, `unscored` and `reasons`, of all pairs.
        kept: how many annotations were there from an earlier run of the same.
        manifest: what `PATH.manifest.json` says.
    """

    path: Path
    counts: Mapping[str, Any]
    kept: int
    manifest: Mapping[str, Any]


def annotation_row(
    pair: Support, answer: Answer, judge: str, *, with_text: bool = False
) -> dict[str, Any]:
    """Return a pair's line in a file of annotations; it is also a line of `answers`."""
    judged = answer if isinstance(answer, Judged) else None
    question_id, doc_id = pair.extra.get("question_id"), pair.extra.get("doc_id")
    row = {name: value for name, value in pair.extra.items() if _small(value)}
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


def _small(value: Any) -> bool:
    return len(value if isinstance(value, str) else json.dumps(value)) <= _SMALL


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
) -> Applied:
    """Label pairs and write the labels to a file, continuing where an earlier run stopped.

        pairs = pairs_of_corpus("my.index", "questions.md")
        applied = apply_judge(EncoderJudge(), pairs, "annotations.parquet")

    Args:
        judge: answers `relevance` questions.
        pairs: in an order that is the same each time.
        out: the file; its ending says in which of `SUFFIXES`.
        settings: what decides the judge's answers beside its name, ready for JSON.
        with_text: write the texts, too.
        block: pairs judged together, at least 1.
        on_start: called before any pair is judged with the count of known annotations, and of
            damaged ones that are judged again.
        take: called with each label, in order, when all are there; not for `.parquet`.

    Raises:
        InputError: `out` has another ending, or holds something else; there are no pairs, or
            others than when this file was begun.
        MissingExtra: `.parquet` without pyarrow.
        ModelError: the judge cannot go on; what it said is kept for the next run.
    """
    path = Path(out)
    _check_name(path)
    about = {
        "format": "pnyx-annotations",
        "format_version": 1,
        "judge": {"name": judge.name, **(settings or {})},
        "inputs": dict(pairs.about) if isinstance(pairs, PairSource) else {},
        "with_text": with_text,
    }
    before = _finished(path, about)
    if before is not None:
        _hand_over((row for _, row in read_jsonl(path)), take)
        return Applied(path, before["counts"], before["counts"]["asked"], before)

    def row_of(pair: Support, answer: Answer) -> dict[str, Any]:
        return annotation_row(pair, answer, judge.name, with_text=with_text)

    def same(found: Mapping[str, Any]) -> bool:
        return _refuse_other(found, about, partial_of(path), "was begun with annotations")

    started = now()
    with Journal(path, about, same) as journal:
        if on_start is not None:
            on_start(journal.kept, journal.damaged)
        if answer_items(judge, pairs, journal, row_of, block=block) == 0:
            raise InputError("found no pairs of question and document, expected at least one")
        counts = tally(journal.rows())
        times = {"started": started, "finished": now()}
        manifest = {**about, "pnyx": __version__, "card": judge.card, "counts": counts, **times}
        write_manifest(manifest_path(path), manifest)
        _write(path, journal.rows)
        _hand_over(journal.rows(), take)
        journal.remove()
    return Applied(path, counts, journal.kept, manifest)


def _check_name(path: Path) -> None:
    if not path.name.endswith(SUFFIXES):
        raise InputError(f"expected a name that ends in one of {', '.join(SUFFIXES)}", path=path)
    if path.suffix == ".parquet":
        require_parquet()  # now, not after all is judged


def _hand_over(rows: Iterable[Mapping[str, Any]], take: Take | None) -> None:
    if take is not None:
        for row in rows:
            take(row)


def manifest_path(out: str | Path) -> Path:
    """Return where the manifest of a finished file of annotations is."""
    return Path(f"{out}.{MANIFEST}")


def _finished(out: Path, about: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the manifest of a file that this judge has finished on these inputs, if there is."""
    if not out.exists():
        return None
    found = read_json(manifest_path(out))
    if found is None:
        raise InputError("exists already, and not as annotations: name another file", path=out)
    _refuse_other(found, about, out, "holds the annotations")
    return found


def _refuse_other(
    found: Mapping[str, Any], about: Mapping[str, Any], path: Path, holds: str
) -> bool:
    for name, what in _SAME.items():
        if found.get(name) != json.loads(json.dumps(about.get(name))):
            raise InputError(f"{holds} {what}: name another file, or remove this one", path=path)
    return True


def _write(path: Path, rows: Callable[[], Iterator[dict[str, Any]]]) -> None:
    if path.suffix == ".parquet":
        write_parquet(path, rows, _TYPES)
        return
    with atomic_text(path) as stream:
        stream.writelines(json_line(row) + "\n" for row in rows())
