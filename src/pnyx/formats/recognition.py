"""Recognition of a file's format by its first bytes."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path

from pnyx.core.compression import plain_name
from pnyx.core.errors import InputError, MissingExtra, PluginError, shorten
from pnyx.core.files import read_head
from pnyx.core.plugins import APART, loaded, plugins
from pnyx.formats.base import Format, Kind, table
from pnyx.formats.documents import folder
from pnyx.formats.documents.file_readers import ALONE
from pnyx.formats.format_table import FORMATS, kind_of
from pnyx.formats.jsonstream import top_level_keys


def format_named(name: str) -> Format | None:
    """Return a format, also a plugin's; PluginError if that is broken or not installed."""
    if name in FORMATS:
        return FORMATS[name]
    if plugin := plugins("formats", FORMATS).get(name):
        loaded_format: Format = plugin.load(Format)
        return loaded_format
    if name in APART:
        raise PluginError(f"the format {name} is a plugin: pip install {APART[name]}")
    return None


def all_formats() -> dict[str, Format]:
    """Return all formats by name, those of plugins last."""
    return {**FORMATS, **dict(loaded("formats", FORMATS, Format))}


_DATASET = "ir_datasets:"
_HEAD_BYTES = 1 << 18

_JSON_LINES = tuple(
    (name, frozenset(keys.split()))
    for name, _, keys in (line.partition(": ") for line in table()["recognised"])
)
"""Format and the fields of its first line; the first match is used."""

_HEADING = re.compile(
    rb"(#[ \t][^\n]*\n\s*)?##[ \t][^\n]*"
    rb"(?P<view>\n(?:[ \t\r]*\n)*[-*+][ \t]+(?:pro|con|neutral|view)(?:[ \t]+\(\S+\))?:)?"
)
"""A Markdown file of questions, and whether the first has a perspective below it."""

_FALLBACK: dict[Kind | None, str] = {
    "questions": "questions",
    "responses": "rag25",
    "nuggets": "nuggetbank-v3",
}
_LINES: dict[Kind | None, str] = {"run": "run", "qrels": "qrels"}
_PLAIN_FALLBACK: dict[Kind | None, str] = {**_LINES, "questions": "topics-tsv"}
"""Formats used if no other is possible: their readers will say what is wrong, and where."""

_ARGUED = re.compile(rb'"(?:pros|cons)"\s*:\s*\[\s*\{')
"""A debate page with an argument; ConQRet's published pages have none."""

_MAPPED = re.compile(rb'"nugget_bank"\s*:\s*\{')
"""A nugget bank that is keyed by the nuggets' text."""

_IN_TABLES = (None, "questions", "run", "qrels")
"""Kinds of records that `retrieval_columns` recognises."""

_ID = "[^ \t]+"  # as in the readers: other white space of Unicode is part of an id
_RUN = re.compile(rf"{_ID}[ \t]+{_ID}[ \t]+{_ID}[ \t]+[+-]?\d+[ \t]+{_ID}[ \t]+{_ID}")
_QRELS = re.compile(rf"{_ID}[ \t]+{_ID}[ \t]+{_ID}[ \t]+[+-]?\d+(\.0+)?")


def sniff(source: str, kind: Kind | None = None, columns: tuple[str, ...] = ()) -> str:
    """Return the name of the format of `source`; mapped `columns` in a header indicate a table."""
    if not source:  # which would mean the current folder
        raise InputError("found an empty name, expected a file")
    if source.startswith(_DATASET):
        return "ir_datasets"
    if _is_folder(source):
        return _folder(source, kind)
    suffix = Path(source).suffix.lower()
    if source != "-" and suffix in ALONE and kind in (None, "evidence"):
        if suffix == ".parquet" and kind is None and (table := _of_parquet(source)):
            return table
        if suffix == ".txt" and _is_kialo(_head(source)):
            return "kialo"
        name = _of_text(source) if suffix in (".txt", ".md", ".markdown") and kind is None else None
        return name or "folder"
    return _by_content(_head(source), source, kind, columns)


def _is_kialo(head: bytes) -> bool:
    from pnyx.formats.documents.kialo import BEGINNING

    return BEGINNING.match(head) is not None


def _of_table(head: bytes, source: str, kind: Kind | None) -> str | None:
    """Return the format of a table of topics, a run or qrels; None for other tables."""
    from pnyx.formats.runs.retrieval_columns import format_of_table

    return format_of_table(head, source, kind)


def _of_parquet(source: str) -> str | None:
    """Return the format of topics, a run or qrels; None for documents, or without pyarrow."""
    try:
        return _of_table(_head(source), source, None)
    except (InputError, MissingExtra):
        return None  # the reader of documents says what is wrong


def _of_text(source: str) -> str | None:
    """Return the format of Pnyx that a text or Markdown file has; None for a document."""
    head = _head(source)
    if source.lower().endswith(".txt"):
        return _plain(head, source, (), None)
    heading = _HEADING.match(head.lstrip())
    return heading and _of_heading(heading)


def _of_heading(heading: re.Match[bytes]) -> str:
    return "guidelines" if heading["view"] is None else "drafts-markdown"


def _is_folder(source: str) -> bool:
    try:
        return source != "-" and Path(source).is_dir()
    except OSError:  # such as a name that is too long, reported when opening it
        return False


def _head(source: str) -> bytes:
    return read_head(source, _HEAD_BYTES)


def _by_content(head: bytes, source: str, kind: Kind | None, columns: tuple[str, ...]) -> str:
    if not head.strip():
        if kind == "run":
            return kind  # its reader reports that it is empty
        raise InputError("is empty", path=source)
    if kind == "leaderboard":
        from pnyx.formats.reports.leaderboards import sniff_leaderboard

        return sniff_leaderboard(source).name
    opening = head.lstrip()[:1]
    if head.startswith(b"PAR1"):
        name = _of_table(head, source, kind)
    elif opening in b"{[":
        name = _json(head, kind, source)
    elif heading := _HEADING.match(head.lstrip()):
        name = _of_heading(heading)
    elif opening == b"<":
        markup = _of_markup(head) if kind in (None, "questions") else None
        name = markup or _of_plugin(head, kind) or _LINES.get(kind)
    else:
        name = _plain(head, source, columns, kind)
        if name is None and Path(plain_name(source)).suffix in (".csv", ".tsv"):
            name = Path(plain_name(source)).suffix[1:]
        name = name or _of_plugin(head, kind) or _PLAIN_FALLBACK.get(kind)
    if name is None:
        beginning = shorten(repr(head[:60].decode("utf-8", "replace")), 50)
        raise InputError(f"the format cannot be recognised from {beginning}: name it", path=source)
    return name


def _of_markup(head: bytes) -> str | None:
    from pnyx.formats.runs.trec_topics import RECOGNISED

    if RECOGNISED.search(head):
        return "trec-topics"
    return "touche-topics" if b"<topic" in head else None


folder.recognise_by(lambda path: FORMATS.get(sniff(path)))


def _folder(source: str, kind: Kind | None) -> str:
    from pnyx.formats.documents.evidence import BEIR_FILES

    path = Path(source)
    if folder.is_index_folder(path):
        raise InputError("is an index, expected a corpus", path=source)
    if any((path / name).is_file() for name in BEIR_FILES):
        return "beir"
    if kind in (None, "nuggets") and (files := _bank_files(source)):
        name = _json(_head(files[0]), kind, files[0])
        kind_of_files = kind_of(name) if name is not None and name in FORMATS else ""
        if kind_of_files == "nuggets":
            return str(name)
        if kind_of_files == "responses":
            problem = f"is a folder of responses, expected a file, such as {shorten(files[0], 60)}"
            raise InputError(problem, path=source)
    return "folder"


def _bank_files(source: str) -> list[str]:
    from pnyx.formats.reports.nuggets import bank_files

    return bank_files(source)


def _json(head: bytes, kind: Kind | None, source: str) -> str | None:
    opening, keys = top_level_keys(head)
    fields = frozenset(keys)
    if table := _of_table(head, source, kind) if kind in _IN_TABLES else None:
        return table
    if opening == "[":
        return _json_list(head, kind, fields)
    for name, needed in _JSON_LINES:
        if kind in (None, kind_of(name)) and needed <= fields:
            is_queries = "quer" in Path(source).name.lower() and "title" not in fields
            if name == "beir" and kind is None and is_queries:
                return "beir-queries"
            if name == "debate-arguments" and not _ARGUED.search(head):
                return "debate-sources"
            if name == "ragtime26-nuggets" and _MAPPED.search(head):
                return "nuggetbank-v3"
            return str(name)
    return _other_json(head, kind, source)


def _other_json(head: bytes, kind: Kind | None, source: str) -> str | None:
    """Return the format of JSON with unknown keys, if only one is possible."""
    first = head.lstrip().partition(b"\n")[0].strip()
    if kind in ("run", "qrels"):
        return f"{kind}-json"
    if first == b"{":
        problem = "is one JSON document over many lines in no known format; expected JSON lines"
        raise InputError(problem, path=source)
    try:
        json.loads(first)
    except (ValueError, RecursionError):
        return _FALLBACK.get(kind, "jsonl")
    return _of_plugin(head, kind) or (None if kind is None else _FALLBACK.get(kind, "jsonl"))


def _json_list(head: bytes, kind: Kind | None, keys: frozenset[str]) -> str | None:
    from pnyx.formats.documents.perspectrum import is_perspectrum

    if kind in (None, "evidence") and is_perspectrum(keys):
        return "perspectrum"
    if kind not in (None, "evidence") or "perspectives_for" not in keys:
        return None
    return "procon" if b"procon.org" in head else "debatewise"


def _of_plugin(head: bytes, kind: Kind | None) -> str | None:
    """Return the format of a plugin that recognises a file in no other format."""
    for name, plugin in loaded("formats", FORMATS, Format):
        recognises = plugin.recognises if kind in (None, plugin.kind) else None
        if recognises is not None and recognises(head):
            return name
    return None


def _plain(head: bytes, source: str, mapped: tuple[str, ...], kind: Kind | None) -> str | None:
    leaderboard = _leaderboard(head, source) if kind is None else None
    return leaderboard or _columns(head, mapped, kind)


def _leaderboard(head: bytes, source: str) -> str | None:
    """Return the format of a leaderboard; more of a large one is read to be certain."""
    from pnyx.formats.reports.leaderboards import recognised, sniff_leaderboard

    size = _HEAD_BYTES
    try:
        return recognised(head, source, sure=False, size=size)
    except InputError:
        if len(head) < size:
            raise
    return sniff_leaderboard(source).name


def _columns(head: bytes, mapped: tuple[str, ...], kind: Kind | None) -> str | None:
    from pnyx.formats.conqret import QRELS_HEADER, QUERIES_HEADER
    from pnyx.formats.documents.tables import first_line
    from pnyx.formats.runs.trec import BEIR_HEADER

    line = first_line(head)
    headers: tuple[tuple[str, Kind, str], ...] = (
        (BEIR_HEADER, "qrels", "beir-qrels"),
        (QRELS_HEADER, "qrels", "conqret-qrels"),
        (QUERIES_HEADER, "questions", "conqret-queries"),
    )
    for header, of_kind, name in headers:
        if line == header and (kind in (None, of_kind) or header == BEIR_HEADER):
            return name
    table = _of_table(head, "", kind) if kind in _IN_TABLES else None
    if table and (table != "topics-table" or line.count("\t") != 1):
        return table  # a header of two columns with a tab is one of `topics-tsv`
    if kind in (None, "run") and _RUN.fullmatch(line.strip(" \t")):
        return "run"
    if kind in (None, "qrels") and _QRELS.fullmatch(line.strip(" \t")):
        return "qrels"
    if kind in (None, "evidence") and _is_kialo(head):
        return "kialo"
    if kind in (None, "evidence") and (evidence_table := _evidence_table(line, mapped)):
        return evidence_table
    if kind in (None, "questions") and line.count("\t") == 1:
        return "topics-tsv"
    return None


def _evidence_table(line: str, mapped: tuple[str, ...]) -> str | None:
    from pnyx.formats.documents.argument_tables import is_argument_table

    for name, delimiter in (("tsv", "\t"), ("csv", ",")):
        cells = [cell.strip().strip('"') for cell in line.split(delimiter)]
        if len(cells) > 1:
            if not mapped and is_argument_table(cells):
                return "argument-table"
            if _is_header(cells, mapped):
                return name
    return None


def _is_header(header: list[str], mapped: tuple[str, ...]) -> bool:
    if mapped:
        return set(mapped) <= set(header)
    return not {"id", "_id", "docid", "doc_id", "docno"}.isdisjoint(header)


def find_format(
    source: str,
    name: str | None = None,
    kind: Kind | None = None,
    columns: Mapping[str, str] | None = None,
) -> Format:
    """Return the format `name`, or recognise that of `source`; InputError if none fits."""
    if name is None:
        name = sniff(source, kind, tuple((columns or {}).values()))
    format_ = format_named(name)
    if format_ is None or kind not in (None, format_.kind):
        names = ", ".join(f.name for f in all_formats().values() if kind in (None, f.kind))
        raise InputError(f"no format {name!r} here, expected one of {names}", path=source)
    return format_
