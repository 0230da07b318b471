"""Recognising a file's format from its first bytes, so that `--format` is rarely needed."""

from __future__ import annotations

import json
import re
from pathlib import Path

from pnyx.corpora.base import Kind
from pnyx.corpora.folder import SUFFIXES
from pnyx.corpora.irdatasets import PREFIX
from pnyx.corpora.jsonstream import top_level_keys
from pnyx.corpora.trec import BEIR_HEADER
from pnyx.errors import InputError, shorten
from pnyx.files import read_head

__all__ = ["sniff"]

_HEAD_BYTES = 1 << 18

_JSON_LINES: tuple[tuple[str, str, frozenset[str]], ...] = tuple(
    (name, kind, frozenset(keys.split()))
    for name, kind, keys in (
        ("argsme", "evidence", "arguments"),
        ("idebate", "evidence", "debate premise conclusion side"),
        ("arguments", "evidence", "conclusion"),
        ("arguments", "evidence", "premises"),
        ("ragtime", "responses", "metadata responses"),
        ("rag25", "responses", "metadata answer"),
        ("rag24", "responses", "answer topic_id"),
        ("answers", "items", "id task value judge"),
        ("search-results", "items", "question_id results"),
        ("berds", "perspectives", "org_q perspectives"),
        ("debate-claims", "items", "id claim perspectives"),
        ("drafts", "items", "id question perspectives"),
        ("berds", "perspectives", "question perspectives"),
        ("berds-expansions", "perspectives", "org_q text"),
        ("perspectives", "perspectives", "id question_id text stance"),
        ("support-items", "items", "id text statement"),
        ("labelled-pairs", "items", "id question document value"),
        ("relevance-items", "items", "id question document"),
        ("stance-items", "items", "id text question stance"),
        ("preference-items", "items", "id a b question"),
        ("argument-pairs", "items", "id a b"),
        ("survey-questions", "items", "id question options"),
        ("ranking-items", "items", "id query documents"),
        ("labels", "items", "id value"),
        ("topics", "questions", "request_id"),
        ("topics", "questions", "narrative_id"),
        ("questions", "questions", "qid query"),
        ("questions", "questions", "id text definition"),
        ("questions", "questions", "id text description"),
        ("questions", "questions", "id text narrative"),
        ("beir", "evidence", "_id title text"),
        ("beir", "evidence", "_id text"),
        ("beir-queries", "questions", "_id text"),
        ("jsonl", "evidence", "text"),
        ("pyserini", "evidence", "id contents"),
        ("jsonl", "evidence", "contents"),
        ("questions", "questions", "text"),
        ("questions", "questions", "query"),
        ("questions", "questions", "question"),
        ("topics", "questions", "id title"),
        ("topics", "questions", "topic_id title"),
        ("rating-items", "items", "id text"),
        ("perspectives", "perspectives", "text"),
    )
)
"""Format, kind and the fields that its first line has; the first that fits counts."""

_HEADING = re.compile(
    rb"(#[ \t][^\n]*\n\s*)?##[ \t][^\n]*"
    rb"(?P<view>\n(?:[ \t\r]*\n)*[-*+][ \t]+(?:pro|con|neutral|view)(?:[ \t]+\(\S+\))?:)?"
)
"""A Markdown file of questions, and whether the first has a perspective below it."""

_FALLBACK: dict[Kind | None, str] = {"questions": "questions", "responses": "rag25"}
_PLAIN_FALLBACK: dict[Kind | None, str] = {
    "run": "run",
    "qrels": "qrels",
    "questions": "topics-tsv",
}
"""Where only one format can be meant: its reader will say what is wrong, and where."""


def sniff(source: str, kind: Kind | None = None, columns: tuple[str, ...] = ()) -> str:
    """Return the name of the format of `source`; mapped `columns` in a header make it a table's."""
    if not source:  # which would stand for the current folder
        raise InputError("found an empty name, expected a file")
    if source.startswith(PREFIX):
        return "ir_datasets"
    if source != "-" and Path(source).is_dir():
        return _folder(source)
    if source != "-" and Path(source).suffix.lower() in SUFFIXES and kind in (None, "evidence"):
        name = _columns(_head(source), (), None) if source.endswith(".txt") else None
        return "folder" if name is None or kind == "evidence" else name
    return _by_content(_head(source), source, kind, columns)


def _by_content(head: bytes, source: str, kind: Kind | None, columns: tuple[str, ...]) -> str:
    if not head.strip():
        raise InputError("is empty", path=source)
    opening = head.lstrip()[:1]
    if opening in b"{[":
        name = _json(head, kind, source)
    elif found := _HEADING.match(head.lstrip()):
        name = "guidelines" if found["view"] is None else "drafts-markdown"
    elif opening == b"<":
        name = "touche-topics" if b"<topic" in head else None
    else:
        name = _columns(head, columns, kind)
        if name is None and Path(source.removesuffix(".gz")).suffix in (".csv", ".tsv"):
            name = Path(source.removesuffix(".gz")).suffix[1:]
        name = name or _PLAIN_FALLBACK.get(kind)
    if name is None:
        if head.startswith((b"\xff\xfe", b"\xfe\xff")):
            raise InputError("found UTF-16, expected UTF-8 (convert it with iconv)", path=source)
        shown = shorten(repr(head[:60].decode("utf-8", "replace")), 50)
        raise InputError(f"the format cannot be told from {shown}: name it", path=source)
    return name


def _folder(source: str) -> str:
    folder = Path(source)
    manifest = folder / "manifest.json"
    if manifest.is_file() and b'"pnyx-index"' in manifest.read_bytes()[:_HEAD_BYTES]:
        raise InputError("is an index, expected a corpus", path=source)
    if (folder / "corpus.jsonl").is_file() or (folder / "corpus.jsonl.gz").is_file():
        return "beir"
    return "folder"


def _head(source: str) -> bytes:
    """Return the first bytes, decompressed; they stay there to be read."""
    return read_head(source, _HEAD_BYTES).removeprefix(b"\xef\xbb\xbf")


def _json(head: bytes, kind: Kind | None, source: str) -> str | None:
    opening, keys = top_level_keys(head)
    found = frozenset(keys)
    if opening == "[":
        if kind not in (None, "evidence") or "perspectives_for" not in found:
            return None
        return "procon" if b"procon.org" in head else "debatewise"
    for name, of_kind, needed in _JSON_LINES:
        if kind in (None, of_kind) and needed <= found:
            if name == "beir" and kind is None and "title" not in found and _queries(source):
                return "beir-queries"
            return name
    first = head.lstrip().partition(b"\n")[0].strip()
    if first in (b"{", b"[", b"[{"):
        problem = "is one JSON document over many lines, of no known format; expected JSON lines"
        raise InputError(problem, path=source)
    try:
        json.loads(first)
    except (ValueError, RecursionError):
        return _FALLBACK.get(kind, "jsonl")
    return None if kind is None else _FALLBACK.get(kind, "jsonl")


def _queries(source: str) -> bool:
    return "quer" in Path(source).name.lower()


_ID = "[^ \t]+"  # as the readers have it: other white space of Unicode is part of an id
_RUN = re.compile(rf"{_ID}[ \t]+{_ID}[ \t]+{_ID}[ \t]+[+-]?\d+[ \t]+{_ID}[ \t]+{_ID}")
_QRELS = re.compile(rf"{_ID}[ \t]+{_ID}[ \t]+{_ID}[ \t]+[+-]?\d+(\.0+)?")


def _columns(head: bytes, mapped: tuple[str, ...], kind: Kind | None) -> str | None:
    line = head.lstrip(b"\r\n").partition(b"\n")[0].decode("utf-8", "replace").rstrip("\r")
    if line == BEIR_HEADER:
        return "beir-qrels"
    if kind in (None, "run") and _RUN.fullmatch(line.strip(" \t")):
        return "run"
    if kind in (None, "qrels") and _QRELS.fullmatch(line.strip(" \t")):
        return "qrels"
    for name, delimiter in (("tsv", "\t"), ("csv", ",")):
        header = [cell.strip().strip('"') for cell in line.split(delimiter)]
        if len(header) > 1 and kind in (None, "evidence") and _is_header(header, mapped):
            return name
    if kind in (None, "questions") and line.count("\t") == 1:
        return "topics-tsv"
    return None


def _is_header(header: list[str], mapped: tuple[str, ...]) -> bool:
    if mapped:
        return set(mapped) <= set(header)
    return not {"id", "_id", "docid", "doc_id", "docno"}.isdisjoint(header)
