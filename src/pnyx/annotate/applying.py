"""A judge's labels for very many pairs, streaming and resumable: `pnyx annotate apply`.

    pairs = pairs_of_corpus("my.index", "questions.md")
    applied = apply_judge(PackagedJudge(), pairs, "annotations.parquet")

DIRAS (section 2) labels every pair of question and document, so that what a retriever misses is
seen, too. Pairs are read, judged in blocks and written as they come; nothing but the block under
way is in memory, and a run that was killed goes on where it stopped, whatever the judge.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pnyx._version import __version__
from pnyx.annotate.pairs import PairSource
from pnyx.annotate.partial import Partial, finished_manifest, manifest_path, pair_key
from pnyx.corpora.parquet import require_parquet, write_parquet
from pnyx.errors import InputError, ModelError
from pnyx.files import atomic_text, json_line
from pnyx.judge.answers import Answer, Judged, Unscored
from pnyx.judge.base import Judge, ask
from pnyx.judge.questions import Support
from pnyx.judge.results import tally

__all__ = ["BLOCK", "SUFFIXES", "Applied", "annotation_row", "apply_judge"]

BLOCK = 1024
"""Pairs judged together: enough to keep every core or request busy, few enough to hold."""

SUFFIXES = (".jsonl", ".jsonl.gz", ".parquet")
"""Endings of a file of annotations; each is one format."""

_LEAST = 256
"""A block of long documents is cut short, but not below this many pairs ..."""
_CHARACTERS = 32 * 1024 * 1024
"""... unless its texts, each counted once, are longer than twice this."""
_SMALL = 200
"""Carried fields that are longer as JSON are texts, and left out."""

_TYPES = {
    **dict.fromkeys(("id", "question_id", "doc_id", "group", "task"), str),
    "value": bool,
    "probability": float,
    **dict.fromkeys(("unscored", "judge", "prompt_hash"), str),
}
"""Column of a table of annotations -> its type."""

_TEXTS = ("question", "definition", "document")


@dataclass(frozen=True, slots=True)
class Applied:
    """What came of labelling pairs.

    Attributes:
        path: the file of annotations.
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
    """Return a pair's line in a file of annotations; it is also a line of `answers`.

    Args:
        pair: what was asked.
        answer: what the judge said.
        judge: its name.
        with_text: add `question`, `definition` and `document`.
    """
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
    if isinstance(value, str):
        return len(value) <= _SMALL
    return len(json.dumps(value)) <= _SMALL


def apply_judge(
    judge: Judge,
    pairs: PairSource | Iterable[Support],
    out: str | Path,
    *,
    settings: Mapping[str, Any] | None = None,
    with_text: bool = False,
    block: int = BLOCK,
    on_start: Callable[[int], None] | None = None,
    on_damaged: Callable[[int], None] | None = None,
) -> Applied:
    """Label pairs and write the labels to a file, resuming where an earlier run stopped.

    Args:
        judge: answers `relevance` questions.
        pairs: in an order that is the same each time.
        out: the file; its ending says in which of `SUFFIXES`.
        settings: what decides the judge's answers beside its name, ready for JSON.
        with_text: write the texts, too.
        block: pairs judged together, at least 1.
        on_start: called with how many pairs need not be judged any more, before the first is.
        on_damaged: called with how many annotations of an earlier run are damaged, if any are;
            these pairs are judged again.

    Returns:
        The counts. Where the same judge has labelled the same pairs to this file before, nothing
        is judged.

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
    before = finished_manifest(path, about)
    if before is not None:
        return Applied(path, before["counts"], before["counts"]["asked"], before)
    started = _now()
    with Partial(path, about) as partial:
        kept = partial.done + partial.begun
        if on_damaged is not None and partial.damaged:
            on_damaged(partial.damaged)
        if on_start is not None:
            on_start(kept)
        applying = _Applying(judge, partial, with_text)
        for some in _blocks(_remaining(pairs, partial), block):
            applying.judge_block(some)
        if partial.done == 0:
            raise InputError("found no pairs of question and document, expected at least one")
        counts = tally(partial.rows())
        manifest = {
            **about,
            "pnyx": __version__,
            "card": judge.card,
            "counts": counts,
            "started": started,
            "finished": _now(),
        }
        with atomic_text(manifest_path(path)) as stream:
            stream.write(json.dumps(manifest, indent=2, ensure_ascii=False) + "\n")
        _finish(path, partial)
        partial.remove()
    return Applied(path, counts, kept, manifest)


def _check_name(path: Path) -> None:
    if not path.name.endswith(SUFFIXES):
        expected = ", ".join(SUFFIXES)
        raise InputError(f"expected a name that ends in one of {expected}", path=path)
    if path.suffix == ".parquet":
        require_parquet()  # now, not after all is judged


def _remaining(pairs: Iterable[Support], partial: Partial) -> Iterator[Support]:
    """Yield the pairs that are not done, after making sure that the others are as they were."""
    position = -1
    for position, pair in enumerate(pairs):
        if position < partial.done:
            partial.check(position, pair)
        else:
            yield pair
    if position + 1 < partial.done:
        problem = f"was begun with other inputs ({position + 1} pairs are left of {partial.done})"
        raise InputError(f"{problem}: name another file, or remove this one", path=partial.folder)


def _blocks(pairs: Iterable[Support], size: int) -> Iterator[list[Support]]:
    """Yield pairs in blocks, shorter ones where their texts are long."""
    some: list[Support] = []
    texts: set[int] = set()
    length = 0
    for pair in pairs:
        some.append(pair)
        if id(pair.text) not in texts:  # one text of many pairs is there once
            texts.add(id(pair.text))
            length += len(pair.text)
        long = length >= _CHARACTERS and (len(some) >= _LEAST or length >= 2 * _CHARACTERS)
        if len(some) >= size or long:
            yield some
            some, texts, length = [], set(), 0
    if some:
        yield some


@dataclass(slots=True)
class _Applying:
    """The judging of one block after the other."""

    judge: Judge
    partial: Partial
    with_text: bool

    def judge_block(self, pairs: list[Support]) -> None:
        """Judge what is not known of a block, and write the block down."""
        first = self.partial.done
        keys = [pair_key(pair) for pair in pairs]
        rows = [
            self.partial.known(first + place, pair, keys[place]) for place, pair in enumerate(pairs)
        ]
        open_places = [place for place, row in enumerate(rows) if row is None]

        def receive(number: int, answer: Answer) -> None:
            place = open_places[number]
            pair = pairs[place]
            row = annotation_row(pair, answer, self.judge.name, with_text=self.with_text)
            rows[place] = row
            self.partial.record(first + place, keys[place], row)

        try:
            if open_places:
                ask(self.judge, [pairs[place] for place in open_places], receive)
        except ModelError as error:
            kept = self.partial.done + self.partial.begun
            note = f"; {kept} annotations are kept for the next run" if kept else ""
            raise ModelError(f"{error}{note}") from error
        self.partial.commit(keys, [row for row in rows if row is not None])


def _finish(path: Path, partial: Partial) -> None:
    """Put the file in place, in the format that its name asks for."""
    if path.suffix == ".parquet":
        write_parquet(path, partial.rows, _TYPES)
    elif path.suffix == ".gz":
        with atomic_text(path) as stream:
            for row in partial.rows():
                stream.write(json_line(row) + "\n")
    else:
        partial.take_rows()


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
