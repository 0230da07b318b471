"""Published tables of arguments, as CSV or TSV: IBM Debater, ArgKP and UKP.

IBM Debater: argument quality (Gretz et al., AAAI 2020), claim stance (Bar-Haim et al., EACL 2017),
evidence sentences (Shnarch et al., ACL 2018). ArgKP and the key point analysis of 2021 (Bar-Haim et
al., ACL 2020; Friedman et al., 2021). UKP sentential arguments (Stab et al., EMNLP 2018).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from pnyx.core.errors import InputError, shorten
from pnyx.core.files import read_head
from pnyx.core.records import Argument, Document, Evidence, Premise, Stance
from pnyx.formats.base import Row, format_of, scanned, with_options
from pnyx.formats.documents.tables import delimiter_of, scan_cells
from pnyx.formats.fields import unlike

_STANCES: Mapping[str, Stance | None] = {
    "1": "pro", "pro": "pro", "argument_for": "pro",
    "-1": "con", "con": "con", "argument_against": "con",
    "0": "neutral", "": None,
}  # fmt: skip
_HEAD_BYTES = 1 << 16
_NO_ARGUMENT = ("noargument", "no_argument")


@dataclass(frozen=True, slots=True)
class _Layout:
    """The columns of a published table, in lower case.

    `needed` identifies the table. Without a column `stance`, the rows are documents, not arguments.
    `once`: rows may repeat an argument, which is read once.
    """

    name: str
    needed: str
    text: str
    topic: str
    stance: str = ""
    id: str = ""
    url: str = ""
    title: str = ""
    once: bool = False


_LAYOUTS = (
    _Layout("IBM Debater", "argument topic stance_wa", "argument", "topic", "stance_wa"),
    _Layout("ArgKP", "arg_id argument topic stance", "argument", "topic", "stance", "arg_id"),
    _Layout(
        "ArgKP", "key_point_id key_point topic stance", "key_point", "topic", "stance",
        "key_point_id",
    ),
    _Layout(
        "ArgKP", "topic argument key_point stance label", "argument", "topic", "stance", once=True
    ),
    _Layout(
        "IBM Debater", "topictext claims.claimcorrectedtext claims.stance",
        "claims.claimcorrectedtext", "topictext", "claims.stance", "claims.claimid",
    ),
    _Layout(
        "IBM Debater", "topic|candidate|label|candidate masked", "candidate", "topic",
        url="wikipedia url", title="wikipedia article name",
    ),
    _Layout(
        "UKP", "topic retrievedurl archivedurl annotation", "sentence", "topic", "annotation",
        url="archivedurl",
    ),
)  # fmt: skip
_IDS_ALONE = {"arg_id", "key_point_id", "label"}
"""Columns of the file of labels of key point analysis, which has no texts."""


def is_argument_table(names: Iterable[str]) -> bool:
    """Return whether a table with these columns is one of the published ones."""
    columns = {name.strip().lower() for name in names}
    return columns == _IDS_ALONE or _layout(columns) is not None


def _layout(columns: set[str]) -> _Layout | None:
    for layout in _LAYOUTS:
        needed = layout.needed.split("|" if "|" in layout.needed else " ")
        if columns.issuperset(needed):
            return layout
    return None


def _checked(names: list[str], source: str, line: int) -> _Layout:
    columns = {name.lower() for name in names}
    layout = _layout(columns)
    if columns == _IDS_ALONE:
        problem = "found pairs of ids without texts (labels of ArgKP); index arguments_*.csv"
    elif layout is None:
        columns_of_file = ", ".join(shorten(name, 30) for name in names[:8])
        problem = (
            f"found the columns {columns_of_file}, of no published table of arguments; "
            "read it as csv, with --column text=NAME"
        )
    elif layout.text not in columns:
        problem = (
            f"no column {layout.text}: the texts of this corpus ({layout.name}) are published "
            "separately; add them with the program in its archive"
        )
    else:
        return layout
    raise InputError(problem, path=source, line=line)


def _scan(source: str) -> Iterator[Row[Evidence]]:
    layouts: list[_Layout] = []  # the line of the header, which is checked before any row is read

    def check(names: list[str], line: int) -> None:
        layouts.append(_checked(names, source, line))

    def rows() -> Iterator[Row[tuple[int, dict[str, str]]]]:
        seen = set[tuple[str, ...]]()
        number = 0
        delimiter = delimiter_of(read_head(source, _HEAD_BYTES))
        for row in scan_cells(source, delimiter, check):
            if isinstance(row, InputError):
                yield row
                continue
            line, cells = row
            if layouts[0].once:
                key = _argument_key(layouts[0], cells)
                if key in seen:
                    continue
                seen.add(key)
            number += 1
            yield line, (number, cells)

    return scanned(source, lambda numbered: _record(layouts[0], *numbered), rows=rows())


def _argument_key(layout: _Layout, row: Mapping[str, str]) -> tuple[str, ...]:
    cells = {name.lower(): cell for name, cell in row.items()}
    return tuple(cells[name] for name in (layout.topic, layout.text, layout.stance))


def _record(layout: _Layout, number: int, row: Mapping[str, str]) -> Evidence:
    columns = {name.lower(): name for name in row}
    fields = (layout.text, layout.topic, layout.id, layout.url, layout.title)
    rest = {name: cell for name, cell in row.items() if cell and name.lower() not in fields}

    def cell(name: str) -> str:
        return row[columns[name]].strip() if name in columns else ""

    text, topic = cell(layout.text), cell(layout.topic)
    if not text:
        raise InputError(f"{columns[layout.text]} is empty")
    identifier = cell(layout.id) or str(number)
    stance = cell(layout.stance).lower()
    if not layout.stance or stance in _NO_ARGUMENT:
        extra = {"topic": topic, **rest} if topic else rest
        url, title = cell(layout.url), cell(layout.title)
        return Document(identifier, text, title, url, layout.name, extra)
    if stance not in _STANCES:
        raise unlike(cell(layout.stance), columns[layout.stance], "1, -1, pro or con")
    rest.pop("stance", None)
    return Argument(
        id=identifier,
        conclusion="",
        premises=(Premise(text),),
        stance=_STANCES[stance],
        topic=topic,
        source=layout.name,
        url=cell(layout.url),
        extra=rest,
    )


FORMATS = (format_of("argument-table", with_options(_scan)),)
