"""The args.me corpus: `{"arguments": [...]}`, streaming (Ajjour et al., KI 2019).

The stance of an args.me premise is its side towards the conclusion; an argument takes the side of
its premises where they agree. `context` is carried along whole in `extra`; source and url are read
from it. What args.me has no place for (topic, a stance of the argument's own, a body) is written
as a further field of the argument, which other readers skip.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import IO, Any, cast

from pnyx.corpora.base import Row, encode, parse_rows, unique
from pnyx.corpora.evidence import argument_row, evidence_id, parse_argument
from pnyx.corpora.jsonstream import scan_items
from pnyx.errors import InputError, shorten
from pnyx.records import Argument, Evidence, Premise, Stance

__all__ = [
    "check_integers",
    "parse_argsme",
    "scan_argsme",
    "write_argsme",
]

_UNIT = "argument"


def parse_argsme(row: Any) -> Argument:
    """Read one argument of args.me.

    Raises:
        InputError: a field is missing, empty or of the wrong type.
    """
    if not isinstance(row, dict):
        raise InputError(f"found {shorten(row, 40)}, expected a JSON object")
    if "premises" not in row:
        raise InputError("no premises")
    argument = parse_argument(row)
    context = argument.extra.get("context")
    if context is not None and not isinstance(context, dict):
        raise InputError(f"context: found {shorten(context, 40)}, expected an object")
    return replace(
        argument,
        stance=argument.stance if "stance" in row else _shared(argument.premises),
        source=argument.source if "source" in row else _named(context, "sourceDomain"),
        url=argument.url if "url" in row else _named(context, "sourceUrl"),
    )


def _shared(premises: Iterable[Premise]) -> Stance | None:
    stances = {p.stance for p in premises}
    return cast("Stance | None", stances.pop()) if len(stances) == 1 else None


def _named(context: Mapping[str, Any] | None, name: str) -> str:
    value = (context or {}).get(name)
    return value if isinstance(value, str) else ""


def scan_argsme(source: str) -> Iterator[Row[Argument]]:
    """Yield the arguments, numbered from 1 in the order of the file."""
    rows = parse_rows(scan_items(source, "arguments", _UNIT), parse_argsme, source, _UNIT)
    yield from unique(rows, evidence_id, source, unit=_UNIT)


def _argsme_row(argument: Argument) -> dict[str, Any]:
    row = argument_row(argument)
    for name in ("stance", "text", "topic", "source", "url"):
        row.pop(name, None)
    row["premises"] = [_premise_row(p) for p in argument.premises]
    context = argument.extra.get("context")
    context = context if isinstance(context, dict) else None
    derived = {
        "stance": _shared(argument.premises),
        "source": _named(context, "sourceDomain"),
        "url": _named(context, "sourceUrl"),
        "topic": "",
        "body": None,
    }
    for name, value in derived.items():
        actual = getattr(argument, name)
        if actual != value:
            row["text" if name == "body" else name] = actual
    return row


def _premise_row(premise: Premise) -> dict[str, Any]:
    row: dict[str, Any] = {"text": premise.text}
    if premise.stance is not None:
        row["stance"] = premise.stance.upper()
    return {**row, **premise.extra}


def write_argsme(stream: IO[str], records: Iterable[Evidence]) -> None:
    """Write one JSON document, an argument a line.

    Raises:
        InputError: a record is a plain document, which has no conclusion and premises.
    """
    stream.write('{"arguments":[')
    separator = "\n"
    for record in records:
        if not isinstance(record, Argument):
            shown = shorten(record.id)
            raise InputError(f"{shown!r} is a plain document, and args.me holds arguments")
        row = _argsme_row(record)
        check_integers(row, record.id)
        stream.write(separator + encode(row, record.id).rstrip("\n"))
        separator = ",\n"
    stream.write("\n]}\n")


def check_integers(value: Any, record_id: str) -> None:
    """Refuse integers that a streaming JSON parser cannot hold.

    Raises:
        InputError: an integer has more than 64 bits.
    """
    if isinstance(value, dict | list):
        for child in value.values() if isinstance(value, dict) else value:
            check_integers(child, record_id)
    elif isinstance(value, int) and not -(2**63) <= value < 2**63:
        shown = json.dumps(record_id)
        raise InputError(f"{shorten(shown)}: the integer {shorten(value, 30)} has over 64 bits")
