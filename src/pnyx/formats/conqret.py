"""ConQRet (Dhole et al., NAACL 2025): its tables of queries and of judged pairs, and its folder.

A folder contains, for each split, `SPLIT_queries.csv`, `SPLIT_qrels.csv` and, if available,
the pages (`SPLIT_pages.jsonl` or `procon_SPLIT_public.jsonl`) and `documents.jsonl`.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path
from typing import IO, Any, Literal, TypeAlias, get_args

from pnyx.core.errors import InputError, shorten
from pnyx.core.records import SIDES, Debate, Qrel, Question, Side
from pnyx.formats.base import Options, Row, format_of, parse_rows, scanned, unique, with_options
from pnyx.formats.debates import read_debates
from pnyx.formats.documents.tables import scan_cells, write_cells

QRELS_HEADER = "qid,docno,label,stance"
QUERIES_HEADER = "qid,query"

Split: TypeAlias = Literal["train", "test"]
SPLITS: tuple[Split, ...] = get_args(Split)

_NO_SIDE = "0"
"""The subtopic of a pair without a stance, as in plain qrels."""
_PAGES = ("{}_pages.jsonl", "procon_{}_public.jsonl")


# The two tables -----------------------------------------------------------------------------------


def _cells(source: str, header: str) -> Iterator[Row[dict[str, str]]]:
    def check(names: list[str], line: int) -> None:
        if names != header.split(","):
            header_found = shorten(",".join(names), 60)
            problem = f"found {header_found!r}, expected the header {header}"
            raise InputError(problem, path=source, line=line)

    return scan_cells(source, ",", check)


def _qrel(cells: Mapping[str, str]) -> Qrel:
    label, stance = cells["label"], cells["stance"]
    if label not in ("0", "1"):
        raise InputError(f"label: found {shorten(label, 30)!r}, expected 0 or 1")
    if stance not in (*SIDES, ""):
        raise InputError(f"stance: found {shorten(stance, 30)!r}, expected pro, con or nothing")
    for name in ("qid", "docno"):
        if not cells[name].strip():
            raise InputError(f"{name} is empty")
    return Qrel(cells["qid"], cells["docno"], int(label), stance or _NO_SIDE)


def _scan_qrels(source: str, options: Options) -> Iterator[Row[Qrel]]:
    """Yield each judged pair once: irrelevant ones were drawn with replacement, some twice."""
    options.refuse_columns(source)
    seen: set[Qrel] = set()
    repeated = 0

    def distinct() -> Iterator[Row[Qrel]]:
        nonlocal repeated
        for row in parse_rows(_cells(source, QRELS_HEADER), _qrel, source):
            if not isinstance(row, InputError):
                if row[1] in seen:
                    repeated += 1
                    continue
                seen.add(row[1])
            yield row

    key = attrgetter("topic_id", "doc_id", "subtopic")
    yield from unique(distinct(), key, source, "qid, docno and stance")
    if repeated and options.on_warning is not None:
        rows = "row that repeats another was" if repeated == 1 else "rows that repeat others were"
        options.on_warning(f"{repeated} {rows} left out")


def write_qrels(stream: IO[str], qrels: Iterable[Qrel]) -> None:
    """Write judged pairs; InputError for a grade or subtopic that the table cannot hold."""

    def rows() -> Iterator[tuple[str, ...]]:
        yield tuple(QRELS_HEADER.split(","))
        for q in qrels:
            if q.grade not in (0, 1) or q.subtopic not in (*SIDES, _NO_SIDE):
                row_text = shorten(f"{q.topic_id} {q.subtopic} {q.doc_id} {q.grade}", 80)
                raise InputError(f"{row_text!r}: expected grade 0 or 1, and subtopic pro, con or 0")
            _check_filled("a qrel", q.topic_id, q.doc_id)
            stance = "" if q.subtopic == _NO_SIDE else q.subtopic
            yield q.topic_id, q.doc_id, str(q.grade), stance

    write_cells(stream, rows())


def _query(cells: Mapping[str, str]) -> Question:
    for name in ("qid", "query"):
        if not cells[name].strip():
            raise InputError(f"{name} is empty")
    return Question(cells["qid"], cells["query"])


def write_queries(stream: IO[str], questions: Iterable[Question]) -> None:
    """Write queries; InputError for a question that is more than an id and a text."""

    def rows() -> Iterator[tuple[str, ...]]:
        yield tuple(QUERIES_HEADER.split(","))
        for q in questions:
            if q != Question(q.id, q.text) or q.extra:
                raise InputError(f"{shorten(q.id)!r}: the format holds only an id and a text")
            _check_filled(repr(shorten(q.id)), q.id, q.text)
            yield q.id, q.text

    write_cells(stream, rows())


def _check_filled(what: str, *values: str) -> None:
    if not all(value.strip() and "\0" not in value for value in values):
        raise InputError(f"{what}: the format cannot hold an empty value or a NUL character")


def _scan_queries(source: str) -> Iterator[Row[Question]]:
    return scanned(source, _query, rows=_cells(source, QUERIES_HEADER), what="qid")


FORMATS = (
    format_of("conqret-qrels", _scan_qrels, write_qrels),
    format_of("conqret-queries", with_options(_scan_queries), write_queries),
)


# The folder ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ConqretTopic:
    """A topic: its query, the relevant documents of each side, irrelevant ones, and its page.

    `relevant` has the ids of the documents that a side's arguments cite; `irrelevant` are of
    documents drawn from other topics. `debate` is None if the page is not available.
    """

    question: Question
    relevant: Mapping[Side, tuple[str, ...]]
    irrelevant: tuple[str, ...] = ()
    debate: Debate | None = None

    @property
    def judged(self) -> bool:
        """Whether any pair of it is judged."""
        return bool(self.irrelevant or any(self.relevant.values()))


def topic_qrels(topics: Iterable[ConqretTopic]) -> Iterator[Qrel]:
    """Yield the judged pairs of topics: the side is the subtopic, 0 for irrelevant documents."""
    for topic in topics:
        for side in SIDES:
            for document in topic.relevant[side]:
                yield Qrel(topic.question.id, document, 1, side)
        for document in topic.irrelevant:
            yield Qrel(topic.question.id, document, 0, _NO_SIDE)


def splits_of(folder: str | Path) -> tuple[Split, ...]:
    """Return the splits in a folder; InputError if there are none."""
    splits = tuple(s for s in SPLITS if Path(folder, f"{s}_queries.csv").is_file())
    if not splits:
        problem = "is not a ConQRet folder, expected train_queries.csv or test_queries.csv in it"
        raise InputError(problem, path=folder)
    return splits


def read_conqret(folder: str | Path, split: Split = "train") -> list[ConqretTopic]:
    """Read the topics of a split, in the order of its queries; some may have no judged pair.

    Args:
        folder: as published, or as `pnyx build debates` writes it.
        split: `train` or `test`.

    Raises:
        InputError: a file is broken or missing, or a pair belongs to no query.
    """
    base = Path(folder)
    queries, qrels = (str(base / f"{split}_{name}.csv") for name in ("queries", "qrels"))
    questions = {topic.id: topic for topic in FORMATS[1].reader(queries)}
    relevant: dict[str, dict[Side, list[str]]] = {
        question: {"pro": [], "con": []} for question in questions
    }
    irrelevant: dict[str, list[str]] = {question: [] for question in questions}
    for q in FORMATS[0].reader(qrels):
        if q.topic_id not in questions:
            problem = f"qid {shorten(q.topic_id)!r} is not in {split}_queries.csv"
            raise InputError(problem, path=qrels)
        if q.grade == 0:
            irrelevant[q.topic_id].append(q.doc_id)
            continue
        for side in SIDES:
            if q.subtopic in (side, _NO_SIDE):
                relevant[q.topic_id][side].append(q.doc_id)
    pages = _pages(base, split, questions, relevant)
    return [
        ConqretTopic(
            question,
            {side: tuple(relevant[topic_id][side]) for side in SIDES},
            tuple(irrelevant[topic_id]),
            pages.get(topic_id),
        )
        for topic_id, question in questions.items()
    ]


def _pages(
    base: Path,
    split: Split,
    questions: Mapping[str, Question],
    relevant: Mapping[str, Mapping[Side, list[str]]],
) -> dict[str, Debate]:
    """Join topics with their pages: by id, by address (titles2.json), else by the cited sources."""
    path = next((base / n for p in _PAGES if (base / (n := p.format(split))).is_file()), None)
    if path is None:
        return {}
    debates = list(read_debates(str(path)))
    by_id = {debate.id: debate for debate in debates}
    addresses = _addresses(base / "titles2.json")
    wanted = (debate for debate in debates if debate.url and debate.url.rstrip("/") in addresses)
    by_address = {addresses[debate.url.rstrip("/")]: debate for debate in wanted}
    citing = {s.doc_id: debate for debate in debates for s in debate.sources if s.doc_id}
    pages: dict[str, Debate] = {}
    for identifier in questions:
        sides = relevant[identifier].values()
        votes = Counter(citing[d].id for docs in sides for d in docs if d in citing)
        most = by_id[votes.most_common(1)[0][0]] if votes else None
        page = by_id.get(identifier) or by_address.get(identifier) or most
        if page is not None:
            pages[identifier] = page
    return pages


def _addresses(path: Path) -> dict[str, str]:
    """Return address (without a slash at its end) -> qid, from ConQRet's titles2.json."""
    if not path.is_file():
        return {}
    try:
        value: Any = json.loads(path.read_text(encoding="utf-8"))
        return {str(url).rstrip("/"): str(about["qid"]) for url, about in value.items()}
    except (ValueError, RecursionError, OSError, AttributeError, TypeError, KeyError) as error:
        problem = f"expected an object: address -> titles and qid ({shorten(str(error), 60)})"
        raise InputError(problem, path=path) from error
