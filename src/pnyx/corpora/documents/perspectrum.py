"""Perspectrum (Chen et al., NAACL 2019): claims with perspectives, and its pools of texts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pnyx.compression import ENDINGS
from pnyx.corpora.base import Row, format_of, located, unique, with_options
from pnyx.corpora.fields import Fields, a_list, an_object
from pnyx.corpora.jsonstream import scan_items
from pnyx.errors import InputError, shorten
from pnyx.records import Argument, Document, Evidence, Premise, Side

_SIDES: Mapping[str, Side | None] = {
    "support": "pro", "mildly_support": "pro", "mildly-support": "pro",
    "undermine": "con", "mildly_undermine": "con", "mildly-undermine": "con",
    "not-a-perspective": None,
}  # fmt: skip
_POOLS = {"pId": "perspective_pool_v1.0.json", "eId": "evidence_pool_v1.0.json"}


def is_perspectrum(keys: frozenset[str]) -> bool:
    """Say whether a JSON list of objects with these keys is a file of Perspectrum."""
    return {"cId", "perspectives"} <= keys or any({key, "text"} <= keys for key in _POOLS)


def _pool(source: str, key: str) -> dict[int, str] | None:
    """Return id -> text of a pool in the same folder; None if it is not there."""
    if source == "-":
        return None
    for ending in ("", *ENDINGS):
        path = Path(source).with_name(_POOLS[key] + ending)
        if path.is_file():
            return {identifier: text for _, identifier, text, _ in _texts(str(path), key)}
    return None


def _texts(source: str, key: str) -> Iterator[tuple[int, int, str, str]]:
    for row in scan_items(source, None, "text"):
        if isinstance(row, InputError):
            raise row
        try:
            yield (row[0], *_text(row[1], key))
        except InputError as error:
            raise located(error, source, row[0], "text") from error


def _text(row: Any, key: str) -> tuple[int, str, str]:
    fields = Fields(an_object(row, expected="a JSON object"))
    return _number(fields.take(key), key), fields.required("text"), fields.text("source")


def _number(value: Any, name: str) -> int:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    raise InputError(f"{name}: found {shorten(value, 40)}, expected an integer")


def _scan(source: str) -> Iterator[Row[Evidence]]:
    return unique(_rows(source), lambda record: record.id, source, unit="item")


def _rows(source: str) -> Iterator[Row[Evidence]]:
    pools: dict[str, dict[int, str] | None] = {}
    number = 0
    for row in scan_items(source, None, "item"):
        if isinstance(row, InputError):
            yield row
            continue
        try:
            records = list(_records(row[1], source, pools))
        except InputError as error:
            at = error if error.path else located(error, source, row[0], "item")
            yield at
            if error.path:  # a pool is missing or broken, which every claim needs
                return
            continue
        for record in records:
            number += 1
            yield number, record


def _records(row: Any, source: str, pools: dict[str, dict[int, str] | None]) -> Iterator[Evidence]:
    keys = an_object(row, expected="a JSON object")
    for key in _POOLS:
        if key in keys and "cId" not in keys:
            identifier, text, origin = _text(row, key)
            yield Document(f"{key[0]}{identifier}", text, source=origin)
            return
    if not pools:
        pools |= {key: _pool(source, key) for key in _POOLS}
    texts, evidence = pools["pId"], pools["eId"] or {}
    if texts is None:
        needed = f"needs {_POOLS['pId']} in the same folder, which has the texts"
        raise InputError(needed, path=source)
    yield from _claim(Fields(row), texts, evidence)


def _claim(
    fields: Fields, texts: Mapping[int, str], evidence: Mapping[int, str]
) -> Iterator[Argument]:
    claim = _number(fields.take("cId"), "cId")
    topic, origin = fields.required("text"), fields.text("source")
    for place, value in enumerate(fields.listed("perspectives"), start=1):
        cluster = an_object(value, f"perspectives[{place}]")
        label = str(cluster.get("stance_label_3", "")).lower()
        if label not in _SIDES:
            raise InputError(f"stance_label_3: found {shorten(label, 30)}, expected support")
        ids = [_number(one, "pids") for one in a_list(cluster.get("pids"), "pids")]
        wordings = [texts[one] for one in ids if one in texts]
        if _SIDES[label] is None or not wordings:
            continue
        premises = a_list(cluster.get("evidence", []), "evidence")
        known = [evidence[one] for one in premises if isinstance(one, int) and one in evidence]
        yield Argument(
            id=f"{claim}-{place}",
            conclusion=wordings[0],
            premises=tuple(map(Premise, known)),
            stance=_SIDES[label],
            topic=topic,
            source=origin or "perspectrum",
            extra={"pids": ids, **({"paraphrases": wordings[1:]} if wordings[1:] else {})},
        )


FORMATS = (format_of("perspectrum", with_options(_scan)),)
