"""Perspectrum (Chen et al., NAACL 2019): claims with perspectives, and its pools of texts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pnyx.core.compression import ENDINGS
from pnyx.core.errors import InputError, escaped, shorten
from pnyx.core.records import Argument, Document, Evidence, Premise, Side
from pnyx.formats.base import Options, Row, format_of, located, parse_rows, strict, unique
from pnyx.formats.fields import Fields, a_list, an_object
from pnyx.formats.jsonstream import scan_items

_SIDES: Mapping[str, Side | None] = {
    "support": "pro", "mildly_support": "pro", "mildly-support": "pro",
    "undermine": "con", "mildly_undermine": "con", "mildly-undermine": "con",
    "not-a-perspective": None,
}  # fmt: skip
_POOLS = {"pId": "perspective_pool_v1.0.json", "eId": "evidence_pool_v1.0.json"}


def is_perspectrum(keys: frozenset[str]) -> bool:
    """Return whether a JSON list of objects with these keys is a file of Perspectrum."""
    return {"cId", "perspectives"} <= keys or any({key, "text"} <= keys for key in _POOLS)


class _Pools:
    """The texts of perspectives and of evidence by id, from files in the folder of `source`."""

    def __init__(self, source: str) -> None:
        perspectives = _pool(source, "pId")
        if perspectives is None:
            needed = f"needs {_POOLS['pId']} in the same folder, which has the texts"
            raise InputError(needed, path=source)
        self.perspectives = perspectives
        self._source, self._evidence = source, _pool(source, "eId")
        self._cited = self._missing = 0

    def premises(self, ids: Sequence[int]) -> tuple[Premise, ...]:
        """Return the pieces of evidence in the pool, and count the missing ones."""
        texts = self._evidence or {}
        premises = tuple(Premise(texts[identifier]) for identifier in ids if identifier in texts)
        self._cited += len(ids)
        self._missing += len(ids) - len(premises)
        return premises

    def warning(self) -> str:
        """Say how many pieces of evidence are left out; empty if none."""
        if not self._missing:
            return ""
        where = "in the same folder" if self._evidence is None else "complete"
        left = f"{self._missing:,} of {self._cited:,} pieces of evidence are left out"
        return f"{escaped(self._source)}: {left}, as {_POOLS['eId']} is not {where}"


def _pool(source: str, key: str) -> dict[int, str] | None:
    """Return id -> text of a pool in the same folder; None if it is missing."""
    if source == "-":
        return None
    for ending in ("", *ENDINGS):
        path = Path(source).with_name(_POOLS[key] + ending)
        if path.is_file():
            return {identifier: text for identifier, text, _ in _texts(str(path), key)}
    return None


def _texts(source: str, key: str) -> Iterator[tuple[int, str, str]]:
    rows = parse_rows(scan_items(source, None, "text"), lambda row: _text(row, key), source, "text")
    return (text for _, text in strict(rows, source, "texts"))


def _text(row: Any, key: str) -> tuple[int, str, str]:
    fields = Fields(an_object(row, expected="a JSON object"))
    return _number(fields.take(key), key), fields.required("text"), fields.text("source")


def _number(value: Any, name: str) -> int:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    raise InputError(f"{name}: found {shorten(value, 40)}, expected an integer")


def _scan(source: str, options: Options) -> Iterator[Row[Evidence]]:
    options.refuse_columns(source)
    return unique(_rows(source, options), lambda record: record.id, source, unit="item")


def _rows(source: str, options: Options) -> Iterator[Row[Evidence]]:
    pools: _Pools | None = None
    number = 0
    for row in scan_items(source, None, "item"):
        if isinstance(row, InputError):
            yield row
            continue
        try:
            item = an_object(row[1], expected="a JSON object")
            if "cId" in item or _POOLS.keys().isdisjoint(item):
                pools = pools or _Pools(source)
                records: list[Evidence] = list(_arguments(Fields(item), pools))
            else:
                key = next(key for key in _POOLS if key in item)
                identifier, text, origin = _text(item, key)
                records = [Document(f"{key[0]}{identifier}", text, source=origin)]
        except InputError as error:
            if error.path:  # a pool that every claim needs is missing or broken
                yield error
                return
            yield located(error, source, row[0], "item")
            continue
        for record in records:
            number += 1
            yield number, record
    if pools is not None and options.on_warning is not None and (warning := pools.warning()):
        options.on_warning(warning)


def _arguments(fields: Fields, pools: _Pools) -> Iterator[Argument]:
    """Yield an argument for each perspective on a claim."""
    claim = _number(fields.take("cId"), "cId")
    topic, origin = fields.required("text"), fields.text("source")
    for position, value in enumerate(fields.listed("perspectives"), start=1):
        cluster = an_object(value, f"perspectives[{position}]")
        label = str(cluster.get("stance_label_3", "")).lower()
        if label not in _SIDES:
            raise InputError(f"stance_label_3: found {shorten(label, 30)}, expected support")
        if _SIDES[label] is None:
            continue
        ids = _numbers(cluster.get("pids"), "pids")
        missing = [identifier for identifier in ids if identifier not in pools.perspectives]
        if missing or not ids:
            problem = f"pids: found {missing[0] if missing else 'none'}, expected ids"
            raise InputError(f"{problem} of {_POOLS['pId']}")
        wording, *paraphrases = [pools.perspectives[identifier] for identifier in ids]
        yield Argument(
            id=f"{claim}-{position}",
            conclusion=wording,
            premises=pools.premises(_numbers(cluster.get("evidence", []), "evidence")),
            stance=_SIDES[label],
            topic=topic,
            source=origin or "perspectrum",
            extra={"pids": ids, **({"paraphrases": paraphrases} if paraphrases else {})},
        )


def _numbers(value: Any, name: str) -> list[int]:
    return [_number(number, name) for number in a_list(value, name)]


FORMATS = (format_of("perspectrum", _scan),)
