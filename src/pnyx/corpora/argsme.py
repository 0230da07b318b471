"""The args.me corpus: `{"arguments": [...]}`, streaming (Ajjour et al., KI 2019).

An argument takes the side of its premises where they agree; source and url come from `context`.
What args.me has no place for is written as a further field, which other readers skip.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import IO, Any, cast

from pnyx.corpora.base import Format, Row, encode, scanned, with_options
from pnyx.corpora.evidence import argument_row, only_arguments, parse_argument
from pnyx.corpora.jsonstream import scan_items
from pnyx.errors import InputError, shorten
from pnyx.records import Argument, Evidence, Premise, Stance

__all__ = ["FORMATS"]

_UNIT = "argument"


def _parse(row: Any) -> Argument:
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


def _scan(source: str) -> Iterator[Row[Argument]]:
    rows = scan_items(source, "arguments", _UNIT)
    return scanned(source, _parse, rows=rows, unit=_UNIT)


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


def _write(stream: IO[str], records: Iterable[Evidence]) -> None:
    stream.write('{"arguments":[')
    separator = "\n"
    for record in records:
        row = _argsme_row(only_arguments(record, "args.me holds"))
        _check_integers(row, record.id)
        stream.write(separator + encode(row, record.id).rstrip("\n"))
        separator = ",\n"
    stream.write("\n]}\n")


def _check_integers(value: Any, record_id: str) -> None:
    """Refuse integers of more than 64 bits, which a streaming JSON parser cannot hold."""
    if isinstance(value, dict | list):
        for child in value.values() if isinstance(value, dict) else value:
            _check_integers(child, record_id)
    elif isinstance(value, int) and not -(2**63) <= value < 2**63:
        shown = json.dumps(record_id)
        raise InputError(f"{shorten(shown)}: the integer {shorten(value, 30)} has over 64 bits")


FORMATS = (
    Format(
        "argsme",
        "evidence",
        'the args.me corpus: {"arguments": [...]}, read as a stream',
        with_options(_scan),
        '{"arguments":[\n{"id": "c1-2019", "conclusion": "Tea is healthy", "premises": '
        '[{"text": "It holds antioxidants.", "stance": "PRO"}], '
        '"context": {"sourceId": "c1", "sourceDomain": "debate.org"}}\n]}\n',
        _write,
    ),
)
