"""Topics, runs and qrels as tables with a header, or as JSON: PyTerrier, ranx, pytrec_eval, pandas.

A table is CSV (with commas, semicolons or tabs), Parquet, a JSON list of objects or JSON Lines. The
JSON of ranx and pytrec_eval is one object: topic -> document -> score or grade.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import chain
from operator import attrgetter
from pathlib import Path
from typing import Any, TypeVar

from pnyx.compression import plain_name
from pnyx.corpora.base import (
    Kind,
    Options,
    Row,
    format_of,
    scan_json_objects,
    scanned,
    unique,
    with_options,
)
from pnyx.corpora.benchmarks.questions import parse_question
from pnyx.corpora.benchmarks.trec import parse_float, parse_grade, trec_eval_order
from pnyx.corpora.cells import is_missing
from pnyx.corpora.documents.tables import read_parquet, scan_cells
from pnyx.corpora.fields import an_object, number, unlike
from pnyx.corpora.jsonstream import scan_items, scores_or_texts, top_level_keys
from pnyx.errors import InputError, MissingExtra, escaped, shorten
from pnyx.files import read_head
from pnyx.records import Qrel, Question, RunEntry

T = TypeVar("T")

_TOPIC = ("qid", "query_id", "queryid", "topic_id", "topicid", "q_id", "topic", "topic_number")
_DOCUMENT = (
    "docno", "doc_id", "docid", "document_id", "document", "corpus_id", "doc", "pid", "passage_id",
)  # fmt: skip
_SCORE = ("score",)
_RANK = ("rank",)
_TAG = ("tag", "run_id", "run", "run_name", "system", "name")
_GRADE = ("label", "relevance", "rel", "grade", "relevance_label", "judgment", "judgement")
_SUBTOPIC = ("iteration", "subtopic", "subtopic_id", "iter")
_QUESTION_ID = (*_TOPIC, "id", "_id", "number", "request_id", "narrative_id")
_QUESTION = ("query", "question", "title", "text", "narrative", "problem_statement")
_DOCUMENT_TEXT = frozenset(
    "text contents content body segment passage premises premise conclusion answer response "
    "comment message post review measure value".split()
)

_NAMES: Mapping[Kind, str] = {"questions": "topics", "run": "run", "qrels": "qrels"}
"""Kind -> what the names of its formats begin with."""
_SHAPES: Mapping[str, Kind] = {"scores": "run", "grades": "qrels"}
_DELIMITERS = ",;\t"
_HEAD_BYTES = 1 << 16


# Columns ------------------------------------------------------------------------------------------


def _plain(name: str) -> str:
    return name.strip().lower().replace("-", "_").replace(" ", "_")


def _column(names: Iterable[str], usual: Iterable[str]) -> str | None:
    """Return the column with the first of the usual names, however it is written."""
    known = {_plain(name): name for name in reversed(list(names))}
    return next((known[name] for name in usual if name in known), None)


def kind_of_columns(names: Iterable[str], kind: Kind | None = None) -> Kind | None:
    """Return what a table with these columns holds, if it is `kind` where that is given."""
    columns = list(names)
    known = {_plain(name) for name in columns}
    has = [_column(columns, usual) is not None for usual in (_TOPIC, _DOCUMENT, _GRADE, _SCORE)]
    topic, document, grade, score = has
    if topic and document and (grade or score):
        beir = {"query_id", "corpus_id"} <= known and "rank" not in known
        found: Kind = "qrels" if (grade or beir) and not (grade and kind == "run") else "run"
        return found if kind in (None, found) or (score and kind == "run") else None
    if document or kind not in (None, "questions"):
        return None
    if kind is None and not known.isdisjoint(_DOCUMENT_TEXT):
        return None
    identified = _column(columns, _QUESTION_ID) is not None
    asks = _QUESTION if kind == "questions" or topic else ("query", "question")
    return "questions" if identified and _column(columns, asks) is not None else None


def _delimiter(line: str) -> str:
    return max(_DELIMITERS, key=line.count)


def _first_line(head: bytes) -> str:
    return head.lstrip(b"\r\n").partition(b"\n")[0].decode("utf-8", "replace").rstrip("\r")


def format_of_table(head: bytes, source: str, kind: Kind | None) -> str | None:
    """Return the format of a table of topics, a run or qrels by its columns; None if it is none."""
    if head.startswith(b"PAR1"):
        columns: Iterable[str] = _parquet_columns(source)
    elif head.lstrip()[:1] in (b"{", b"["):
        opening, columns = top_level_keys(head)
        if opening == "{":
            shape = scores_or_texts(head)
            if shape and (shape != "texts" or {*_QUESTION, *_QUESTION_ID}.isdisjoint(columns)):
                return _format_of_json(shape, source, kind)
            if kind_of_columns(columns, kind) == "questions":
                return None  # JSON Lines of questions are a format of their own
    else:
        line = _first_line(head)
        columns = [name.strip().strip('"') for name in line.split(_delimiter(line))]
    found = kind_of_columns(columns, kind)
    return None if found is None else f"{_NAMES[found]}-table"


def _format_of_json(shape: str, source: str, kind: Kind | None) -> str | None:
    if kind in ("run", "qrels"):
        return f"{_NAMES[kind]}-json" if shape in ("scores", "grades") else None
    named = any(word in Path(source).name.lower() for word in ("topic", "quer", "question"))
    if shape in ("texts", "fields"):
        return "topics-json" if kind == "questions" or (kind is None and named) else None
    return f"{_SHAPES[shape]}-json" if kind is None else None


def _parquet_columns(source: str) -> list[str]:
    try:
        import pyarrow.parquet as pq
    except ImportError as error:
        raise MissingExtra("Parquet", "tables") from error
    import pyarrow as pa

    try:
        return [str(name) for name in pq.read_schema(source).names]
    except (OSError, ValueError, pa.ArrowException) as error:
        problem = f"cannot be read as Parquet: {shorten(str(error))}"
        raise InputError(problem, path=source) from error


# Rows ---------------------------------------------------------------------------------------------


def _rows(source: str) -> tuple[Iterator[Row[dict[str, Any]]], str]:
    """Return the rows of a table, and what a row's number counts."""
    head = read_head(source, _HEAD_BYTES)
    if head.startswith(b"PAR1"):
        return iter(read_parquet(source)), "row"
    start = head.lstrip()[:1]
    if start == b"[":
        return scan_items(source, None, "row"), "row"
    if start == b"{":
        return scan_json_objects(source), "line"
    return scan_cells(source, _delimiter(_first_line(head))), "line"


def _no_column(what: str, row: Mapping[str, Any]) -> InputError:
    found = ", ".join(shorten(name, 30) for name in list(row)[:8]) or "none"
    return InputError(f"no {what} (columns found: {found})")


def _text(row: Mapping[str, Any], usual: tuple[str, ...], what: str) -> str:
    """Return a cell that must be there as text; a whole number counts as its digits."""
    name = _column(row, usual)
    if name is None:
        raise _no_column(f"{what} column, such as {usual[0]}", row)
    value = row[name]
    if isinstance(value, float) and value.is_integer():
        value = int(value)  # pandas writes ids as numbers if one of the cells is empty
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    if not isinstance(value, str):
        raise unlike(value, name, "an id")
    if not value.strip():
        raise InputError(f"{name} is empty")
    return value


def _number(value: Any, name: str) -> float:
    return parse_float(value.strip(), name) if isinstance(value, str) else number(value, name)


def entry_of_row(row: object, tag: str = "run") -> RunEntry:
    """Return the run entry of a table's row; its rank is 0 where the table has none."""
    cells = an_object(row)
    rank, score = _column(cells, _RANK), _column(cells, _SCORE)
    if score is None:
        raise _no_column("score column", cells)
    named = _column(cells, _TAG)
    name = cells[named] if named is not None and isinstance(cells[named], str) else ""
    place = 0.0 if rank is None else _number(cells[rank], rank)
    if not place.is_integer():
        raise unlike(cells[str(rank)], str(rank), "an integer")
    return RunEntry(
        _text(cells, _TOPIC, "topic"),
        _text(cells, _DOCUMENT, "document"),
        int(place),
        _number(cells[score], score),
        "_".join(name.split()) or tag,
    )


def qrel_of_row(row: object) -> Qrel:
    """Return the judgement of a table's row."""
    cells = an_object(row)
    grade, subtopic = _column(cells, (*_GRADE, *_SCORE)), _column(cells, _SUBTOPIC)
    if grade is None:
        raise _no_column("label or relevance column", cells)
    part = "" if subtopic is None or cells[subtopic] in (None, "") else str(cells[subtopic])
    return Qrel(
        _text(cells, _TOPIC, "topic"),
        _text(cells, _DOCUMENT, "document"),
        _grade(cells[grade], grade),
        part.strip() or "0",
    )


def _grade(value: Any, name: str) -> int:
    if isinstance(value, str):
        return parse_grade(value.strip())
    exact = number(value, name)
    if not float(exact).is_integer():
        raise unlike(value, name, "an integer")
    return int(exact)


def question_of_row(row: object) -> Question:
    """Return the question of a table's row; further columns are kept."""
    cells = {str(name): value for name, value in an_object(row).items() if not is_missing(value)}
    identifier = _text(cells, _QUESTION_ID, "id")
    text = _column(cells, _QUESTION)
    if text is None:
        raise _no_column("query, question or title column", cells)
    rest = {name: value for name, value in cells.items() if name != text and value != ""}
    del rest[str(_column(cells, _QUESTION_ID))]
    return parse_question({**rest, "id": identifier, "text": cells[text]})


def ranked_entries(rows: Iterable[Row[RunEntry]]) -> Iterator[Row[RunEntry]]:
    """Yield the entries of a run without ranks, each with its place by score in its topic."""
    held = list(rows)
    topics: dict[str, dict[str, float]] = {}
    for row in held:
        if not isinstance(row, InputError):
            topics.setdefault(row[1].topic_id, {})[row[1].doc_id] = row[1].score
    places = {
        (topic, doc): place
        for topic, scores in topics.items()
        for place, (_, doc) in enumerate(trec_eval_order(scores), 1)
    }
    for row in held:
        if isinstance(row, InputError):
            yield row
        else:
            number_, entry = row
            yield number_, replace(entry, rank=places[entry.topic_id, entry.doc_id])


# Formats ------------------------------------------------------------------------------------------


def _tag(source: str) -> str:
    """Return the tag of a run that states none: the name of its file."""
    stem = "" if source == "-" else Path(plain_name(source)).stem
    return "_".join(stem.split()) or "run"


_PAIR = attrgetter("topic_id", "doc_id")
_JUDGED = attrgetter("topic_id", "subtopic", "doc_id")


def _scan_run_table(source: str) -> Iterator[Row[RunEntry]]:
    rows, unit = _rows(source)
    tag = _tag(source)
    has_ranks = True

    def parse(row: object) -> RunEntry:
        nonlocal has_ranks
        has_ranks = _column(an_object(row), _RANK) is not None
        return entry_of_row(row, tag)

    entries = scanned(source, parse, _PAIR, rows=rows, what="topic and document", unit=unit)
    first = next(entries, None)
    if first is None:
        return
    every = chain((first,), entries)
    yield from every if has_ranks else ranked_entries(every)


def _scan_qrels_table(source: str) -> Iterator[Row[Qrel]]:
    rows, unit = _rows(source)
    what = "topic, subtopic and document"
    return scanned(source, qrel_of_row, _JUDGED, rows=rows, what=what, unit=unit)


def _scan_topics_table(source: str, options: Options) -> Iterator[Row[Question]]:
    options.refuse_columns(source)
    rows, unit = _rows(source)
    warn = options.on_warning

    def parse(row: object) -> Question:
        nonlocal warn
        if warn is not None:
            names = [str(_column(an_object(row), usual)) for usual in (_QUESTION_ID, _QUESTION)]
            shown = " and ".join(shorten(name, 30) for name in names)
            warn(f"{escaped(source)}: topics are read from the columns {shown}")
            warn = None
        return question_of_row(row)

    return scanned(source, parse, rows=rows, unit=unit)


def members(
    source: Iterable[Row[tuple[str, Any]]], parse: Callable[[str, str, Any], T]
) -> Iterator[Row[T]]:
    """Yield what `parse` makes of topic, document and value; rows are numbered by their topic."""
    for row in source:
        if isinstance(row, InputError):
            yield row
            continue
        place, (topic, documents) = row
        try:
            values = an_object(documents, shorten(topic, 40), "an object of documents")
            made = [parse(topic, document, value) for document, value in values.items()]
        except InputError as error:
            yield InputError(f"topic {place}: {error.problem}")
            continue
        yield from ((place, one) for one in made)


def entry_of_member(tag: str) -> Callable[[str, str, Any], RunEntry]:
    """Return the parser of topic, document and score, as ranx and pytrec_eval have them."""

    def parse(topic: str, document: str, score: Any) -> RunEntry:
        _filled(topic, document)
        return RunEntry(topic, document, 0, number(score, f"score of {shorten(document, 40)}"), tag)

    return parse


def qrel_of_member(topic: str, document: str, grade: Any) -> Qrel:
    """Return the judgement of topic, document and grade, as ranx and pytrec_eval have them."""
    _filled(topic, document)
    return Qrel(topic, document, _grade(grade, f"grade of {shorten(document, 40)}"))


def _filled(topic: str, document: str) -> None:
    if not topic.strip() or not document.strip():
        raise InputError("an id is empty")


def _named(rows: Iterable[Row[T]], source: str) -> Iterator[Row[T]]:
    """Add the file's name to faults that have none."""
    for row in rows:
        if isinstance(row, InputError) and row.path is None:
            yield InputError(row.problem, path=source)
        else:
            yield row


def _scan_json(
    source: str, parse: Callable[[str, str, Any], T], key: Callable[[T], Hashable]
) -> Iterator[Row[T]]:
    rows = _named(members(scan_items(source, None, "topic", members=True), parse), source)
    return unique(rows, key, source, "topic and document", "topic")


def _scan_run_json(source: str) -> Iterator[Row[RunEntry]]:
    return ranked_entries(_scan_json(source, entry_of_member(_tag(source)), _PAIR))


def _scan_qrels_json(source: str) -> Iterator[Row[Qrel]]:
    return _scan_json(source, qrel_of_member, _JUDGED)


def question_of_member(member: tuple[str, Any]) -> Question:
    """Return the question of an id and its text, or an object of its fields."""
    identifier, value = member
    if isinstance(value, str):
        value = {"text": value}
    row = an_object(value, shorten(identifier, 40), "a text or an object with one")
    return question_of_row({**row, "qid": identifier})


def _scan_topics_json(source: str) -> Iterator[Row[Question]]:
    rows = scan_items(source, None, "topic", members=True)
    return scanned(source, question_of_member, rows=rows, unit="topic")


FORMATS = (
    format_of("topics-table", _scan_topics_table),
    format_of("topics-json", with_options(_scan_topics_json)),
    format_of("run-table", with_options(_scan_run_table)),
    format_of("run-json", with_options(_scan_run_json)),
    format_of("qrels-table", with_options(_scan_qrels_table)),
    format_of("qrels-json", with_options(_scan_qrels_json)),
)
