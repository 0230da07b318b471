"""Recognise tables and JSON of topics, runs and qrels by their columns and keys."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from pnyx.core.errors import InputError, shorten
from pnyx.formats.base import Kind
from pnyx.formats.jsonstream import scores_or_texts, top_level_keys

TOPIC = ("qid", "query_id", "queryid", "topic_id", "topicid", "q_id", "topic", "topic_number")
DOCUMENT = (
    "docno", "doc_id", "docid", "document_id", "document", "corpus_id", "doc", "pid", "passage_id",
)  # fmt: skip
SCORE = ("score",)
RANK = ("rank",)
TAG = ("tag", "run_id", "run", "run_name", "system", "name")
GRADE = ("label", "relevance", "rel", "grade", "relevance_label", "judgment", "judgement")
SUBTOPIC = ("iteration", "subtopic", "subtopic_id", "iter")
QUESTION_ID = (*TOPIC, "id", "_id", "number", "request_id", "narrative_id")
QUESTION = ("query", "question", "title", "text", "narrative", "problem_statement")
_DOCUMENT_TEXT = frozenset(
    "text contents content body segment passage premises premise conclusion answer response "
    "comment message post review measure value".split()
)

_NAMES: Mapping[Kind, str] = {"questions": "topics", "run": "run", "qrels": "qrels"}
"""Kind -> prefix of the names of its formats."""
_SHAPES: Mapping[str, Kind] = {"scores": "run", "grades": "qrels"}


def _plain(name: str) -> str:
    return name.strip().lower().replace("-", "_").replace(" ", "_")


def column_of(names: Iterable[str], usual: Iterable[str]) -> str | None:
    """Return the column with the first of the usual names, in any spelling."""
    columns = {_plain(name): name for name in reversed(list(names))}
    return next((columns[name] for name in usual if name in columns), None)


def kind_of_columns(names: Iterable[str], kind: Kind | None = None) -> Kind | None:
    """Return the kind of a table with these columns; None if that is unclear or not `kind`."""
    columns = list(names)
    plain = {_plain(name) for name in columns}
    topic, document, grade, score = (
        not plain.isdisjoint(usual) for usual in (TOPIC, DOCUMENT, GRADE, SCORE)
    )
    if topic and document and (grade or score):
        if kind == "run":
            return kind
        beir = {"query_id", "corpus_id"} <= plain and "rank" not in plain
        by_columns: Kind = "qrels" if grade or beir else "run"
        return by_columns if kind in (None, by_columns) else None
    if document or kind not in (None, "questions"):
        return None
    if kind is None and not plain.isdisjoint(_DOCUMENT_TEXT):
        return None
    texts = QUESTION if kind == "questions" or topic else ("query", "question")
    has_questions = not plain.isdisjoint(QUESTION_ID) and not plain.isdisjoint(texts)
    return "questions" if has_questions else None


def format_of_table(head: bytes, source: str, kind: Kind | None) -> str | None:
    """Return the format of a table of topics, a run or qrels by its columns; else None."""
    if head.startswith(b"PAR1"):
        columns: Iterable[str] = _parquet_columns(source)
    elif head.lstrip()[:1] in (b"{", b"["):
        opening, columns = top_level_keys(head)
        if opening == "{":
            shape = scores_or_texts(head)
            if shape and (shape != "texts" or {*QUESTION, *QUESTION_ID}.isdisjoint(columns)):
                return _format_of_json(shape, source, kind)
            if kind_of_columns(columns, kind) == "questions":
                return None  # JSON Lines of questions are another format
    else:
        from pnyx.formats.documents.tables import delimiter_of, first_line

        names = first_line(head).split(delimiter_of(head))
        columns = [name.strip().strip('"') for name in names]
    table_kind = kind_of_columns(columns, kind)
    return None if table_kind is None else f"{_NAMES[table_kind]}-table"


def _format_of_json(shape: str, source: str, kind: Kind | None) -> str | None:
    if kind in ("run", "qrels"):
        return f"{_NAMES[kind]}-json" if shape in ("scores", "grades") else None
    named = any(word in Path(source).name.lower() for word in ("topic", "quer", "question"))
    if shape in ("texts", "fields"):
        return "topics-json" if kind == "questions" or (kind is None and named) else None
    return f"{_SHAPES[shape]}-json" if kind is None else None


def _parquet_columns(source: str) -> list[str]:
    from pnyx.formats.documents.tables import require_parquet

    require_parquet()
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        return [str(name) for name in pq.read_schema(source).names]
    except (OSError, ValueError, pa.ArrowException) as error:
        problem = f"cannot be read as Parquet: {shorten(str(error))}"
        raise InputError(problem, path=source) from error
