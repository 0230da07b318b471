"""Nugget banks as objects of JSON: one set of fields, laid out in four ways.

A nugget's fields have the names of the NuggetBank format, version 3 (Auto-ARGUE, autojudge-base),
in every dialect; what a dialect's own readers do not support is among its further fields.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import fields, replace
from functools import partial
from typing import Any

from pnyx.core.errors import InputError, shorten
from pnyx.core.nuggets import Nugget, NuggetAnswer, NuggetBank, NuggetReference
from pnyx.core.records import md5_of
from pnyx.formats.base import check_depth
from pnyx.formats.fields import Fields, a_list, within
from pnyx.formats.reports.nugget_rows import (
    BankRowV3,
    ClaimRow,
    NuggetAnswerRow,
    NuggetAnswerRowV3,
    NuggetQuestionRow,
    NuggetRow,
    NuggetRowV3,
    SubmittedBankRow,
    SubmittedRow,
    TextBankRow,
    TextRow,
)
from pnyx.formats.rows import checked

_LONGEST_RUN_ID = 25

# Names, and further fields of a row -------------------------------------------------------------


class _Names(dict[str, int]):
    """Keys or ids in use -> the last number that was tried for the same text."""

    def __init__(self, joint: str) -> None:
        self._joint = joint

    def free(self, name: str) -> str:
        """Return a name, with a number if it is taken."""
        free = name
        while free in self:
            self[name] += 1
            free = f"{name}{self._joint}{self[name]}"
        return free

    def take(self, name: str) -> str:
        """Take and return a name."""
        self.setdefault(name, 1)
        return name


def shown(text: str) -> str:
    """Return a text for messages."""
    return repr(shorten(text, 60))


def _entries(value: Any, name: str) -> Iterator[tuple[str, Any]]:
    """Yield (path, entry) of a map or a list; nothing if it is null."""
    if isinstance(value, dict):
        for key, entry in value.items():
            yield f"{name}[{shorten(repr(key), 60)}]", entry
    elif value is not None:
        for position, entry in enumerate(a_list(value, name, "a map or a list")):
            yield f"{name}[{position}]", entry


def _filed(rows: Iterable[dict[str, Any]], name: str) -> dict[str, dict[str, Any]]:
    """Return rows as a map, with the text of the field `name` as key."""
    keys = _Names(" #")
    return {keys.take(keys.free(row[name])): row for row in rows}


def _rest(row: Mapping[str, Any], *names: str) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name not in names}


def _further(
    row: dict[str, Any], extra: Mapping[str, Any], reserved: Iterable[str]
) -> dict[str, Any]:
    """Return a row with further fields; reject those that would be read as something else."""
    if clash := {*row, *reserved}.intersection(extra):
        raise InputError(f"the format has another use for the field {shorten(min(clash), 40)}")
    return {**row, **extra}


# Nuggets ------------------------------------------------------------------------------------------

_PARTS = ("aggregator_type", "importance", "answers", "references", "sub_nuggets")


def _references(rows: Iterable[Any] | None) -> tuple[NuggetReference, ...]:
    references = ({"doc_id": row} if isinstance(row, str) else row for row in rows or ())
    return tuple(NuggetReference(str(row["doc_id"]), _rest(row, "doc_id")) for row in references)


def _reference_rows(references: Iterable[NuggetReference]) -> list[dict[str, Any]]:
    return [_further({"doc_id": reference.doc_id}, reference.extra, ()) for reference in references]


def _answers(value: Any, model: type[NuggetAnswerRow]) -> Iterator[NuggetAnswer]:
    for where, row in _entries(value, "answers"):
        with within(where):
            text = checked(model, row).answer
            references = _references(row.get("references"))
            yield NuggetAnswer(text, references, _rest(row, "answer", "references"))


def _answer_rows(answers: Iterable[NuggetAnswer], *, listed: bool) -> list[dict[str, Any]]:
    """Return answers; in lists always with references, where a mere id is text."""
    rows = []
    for answer in answers:
        row: dict[str, Any] = {"answer": answer.text}
        references: list[Any] = _reference_rows(answer.references)
        if listed:
            references = [each["doc_id"] if len(each) == 1 else each for each in references]
        if references or listed:
            row["references"] = references
        rows.append(_further(row, answer.extra, ("references",)))
    return rows


def _read(
    row: Any, topic: str, ids: _Names, model: type[NuggetRow], is_claim: bool | None = None
) -> Nugget:
    """Read a nugget of a list, its kind by its fields, or of version 3; add its id to `ids`."""
    checked_row: Any = checked(model, row)
    v3 = isinstance(checked_row, NuggetRowV3)
    if is_claim is None:
        is_claim = (
            checked_row.answers is None if model is TextRow else checked_row.claim_id is not None
        )
    name = next(name for name in ("question", "claim", "text") if name in model.model_fields)
    id_name = "claim_id" if is_claim else "question_id"
    identifier = getattr(checked_row, id_name)
    if identifier in ids:
        raise InputError(f"{id_name} {shown(identifier)} is given twice")
    text = getattr(checked_row, name)
    extra = _rest(row, name, id_name, "query_id" if v3 else name, *_PARTS)
    if isinstance(checked_row.importance, int):
        extra["importance"] = checked_row.importance
    if v3 and checked_row.query_id is not None and str(checked_row.query_id) != topic:
        extra["query_id"] = checked_row.query_id
    answers = tuple(_answers(checked_row.answers, NuggetAnswerRowV3 if v3 else NuggetAnswerRow))
    references = _references(row.get("references"))
    if model is SubmittedRow and is_claim:  # a question that is its own answer
        if len(answers) != 1 or answers[0].text != text or answers[0].extra or references:
            raise InputError("a claim is its own and only answer, found another")
        references, answers = answers[0].references, ()
    return Nugget(
        ids.take(identifier or ids.free(md5_of(text))),
        text,
        answers,
        is_claim,
        checked_row.aggregator_type or "",
        "" if checked_row.importance is None else str(checked_row.importance),
        references,
        _listed(checked_row.sub_nuggets or (), "sub_nuggets", topic),
        extra,
    )


def _read_v3(row: Any, topic: str, ids: _Names, is_claim: bool) -> Nugget:
    if is_claim and isinstance(row, dict) and row.get("answers") is not None:
        raise InputError("a claim has answers, expected a question")
    return _read(row, topic, ids, ClaimRow if is_claim else NuggetQuestionRow, is_claim)


def _listed(
    rows: Iterable[Any], name: str, topic: str, model: type[NuggetRow] | None = None
) -> tuple[Nugget, ...]:
    """Read a list of nuggets: of a dialect of lists, or of version 3 if `model` is None."""
    ids, nuggets = _Names("-"), []
    for position, row in enumerate(rows):
        with within(f"{name}[{position}]"):
            if model is None:
                is_claim = "claim" in row and "question" not in row
                nuggets.append(_read_v3(row, topic, ids, is_claim))
            else:
                nuggets.append(_read(row, topic, ids, model))
    return tuple(nuggets)


def _v3_row(nugget: Nugget, topic: str) -> dict[str, Any]:
    name = "claim" if nugget.is_claim else "question"
    extra = dict(nugget.extra)
    query_id = extra.pop("query_id", topic)
    if not isinstance(query_id, str) and (nugget.is_claim or query_id is not None):
        raise InputError(f"{name} {shown(nugget.id)}: query_id is not text, as it must be there")
    row = {name: nugget.text, f"{name}_id": nugget.id, "query_id": query_id}
    answers = None
    if nugget.answers or not nugget.is_claim:
        answers = _filed(_answer_rows(nugget.answers, listed=False), "answer")
    return _with_parts(row, replace(nugget, extra=extra), topic, answers)


def _listed_row(nugget: Nugget, topic: str, ids: _Names, name: str) -> dict[str, Any]:
    """Return a nugget of a list; an id is left out if it equals the default."""
    row: dict[str, Any] = {name: nugget.text}
    is_answer = name == "question" and nugget.is_claim
    default = ids.free(md5_of(nugget.text))
    id_name = "claim_id" if nugget.is_claim else "question_id"
    if is_answer or ids.take(nugget.id) != default:
        row[id_name] = nugget.id
    answers = None
    if name == "question" or not nugget.is_claim:
        answers = _answer_rows(nugget.expected, listed=True)
    if is_answer:
        nugget = replace(nugget, references=())
    return _with_parts(row, nugget, topic, answers, id_name)


def _with_parts(
    row: dict[str, Any], nugget: Nugget, topic: str, answers: Any, *names: str
) -> dict[str, Any]:
    extra = dict(nugget.extra)
    parts = {
        "aggregator_type": nugget.aggregator or None,
        "importance": extra.pop("importance", nugget.importance or None),
        "answers": answers,
        "references": _reference_rows(nugget.references) or None,
        "sub_nuggets": [_v3_row(sub_nugget, topic) for sub_nugget in nugget.sub_nuggets] or None,
    }
    with within(shown(nugget.text)):
        row |= {name: value for name, value in parts.items() if value is not None}
        return _further(row, extra, (*names, *_PARTS))


# Banks --------------------------------------------------------------------------------------------

_RUN = ("team_id", "run_id")


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and value != ""


def _metadata(bank: NuggetBank, **named: str) -> dict[str, Any]:
    """Return metadata with the bank's own names, without empty ones."""
    head = {"team_id": bank.team_id, **named, "run_id": bank.run_id}
    return {**{name: value for name, value in head.items() if value}, **bank.metadata}


def _parse_v3(row: Mapping[str, Any]) -> NuggetBank:
    """Read a bank; without `query_id`, its topic is derived as in autojudge."""
    bank = checked(BankRowV3, row)
    title, metadata = bank.title_query or "", dict(bank.metadata or {})
    topic = bank.query_id or (md5_of(title) if title else "")
    for name in ("topic_id", "query_id"):
        if not topic and metadata.get(name) is not None:
            topic = Fields(metadata).identifier(name)
    if not topic:
        raise InputError("no query_id")
    run = {name: metadata.pop(name) for name in _RUN if _is_text(metadata.get(name))}
    if run and metadata.get("topic_id") == topic:
        del metadata["topic_id"]
    extra = _rest(row, "query_id", "title_query", "metadata", "nugget_bank", "claim_bank")
    if extra.get("format_version") in (None, "v3"):
        extra.pop("format_version", None)
    ids = _Names("-")
    nuggets = []
    for name, is_claim in (("nugget_bank", False), ("claim_bank", True)):
        for where, entry in _entries(getattr(bank, name), name):
            with within(where):
                nuggets.append(_read_v3(entry, topic, ids, is_claim))
    return NuggetBank(topic, tuple(nuggets), title, metadata=metadata, extra=extra, **run)


def _row_v3(bank: NuggetBank) -> dict[str, Any]:
    """Return the object of a bank; questions come before claims."""
    row: dict[str, Any] = {"query_id": bank.topic_id}
    if bank.title:
        row["title_query"] = bank.title
    extra = dict(bank.extra)
    row["format_version"] = extra.pop("format_version", "v3")
    for name, is_claim in (("question", False), ("claim", True)):
        rows = [
            _v3_row(nugget, bank.topic_id) for nugget in bank.nuggets if nugget.is_claim is is_claim
        ]
        if rows or not is_claim:
            row["claim_bank" if is_claim else "nugget_bank"] = _filed(rows, name)
    ran = bank.team_id or bank.run_id
    if metadata := _metadata(bank, topic_id=bank.topic_id if ran else ""):
        row["metadata"] = metadata
    return _further(row, extra, ("title_query", "nugget_bank", "claim_bank", "metadata"))


def _parse_ragtime26(row: Mapping[str, Any]) -> NuggetBank:
    """Read a bank as submitted to RAGTIME 2026: `metadata`, and a list of questions."""
    bank = checked(SubmittedBankRow, row)
    by = bank.metadata
    nuggets = _listed(bank.nugget_bank, "nugget_bank", by.topic_id, SubmittedRow)
    metadata = _rest(row["metadata"], "topic_id", "title_query", *_RUN)
    named = by.title_query or "", by.run_id or "", by.team_id or ""
    extra = _rest(row, "metadata", "nugget_bank")
    return NuggetBank(by.topic_id, nuggets, *named, metadata, extra)


def _row_ragtime26(bank: NuggetBank) -> dict[str, Any]:
    """Return the object of a bank; a claim is a question that is its own answer."""
    _check_run_id(bank)
    if not isinstance(bank.extra.get("format_version", ""), str):
        raise InputError("the bank's format_version is not text, expected text or no such field")
    metadata = _metadata(bank, topic_id=bank.topic_id)
    if bank.title:
        metadata["title_query"] = bank.title
    ids = _Names("-")
    rows = [_listed_row(nugget, bank.topic_id, ids, "question") for nugget in bank.nuggets]
    # These fields would identify another dialect.
    others = ("query_id", "title_query", "claim_bank", "nuggets", "banks")
    return _further({"metadata": metadata, "nugget_bank": rows}, bank.extra, others)


def _check_run_id(bank: NuggetBank) -> None:
    """Reject a run_id that is too long to be submitted to RAGTIME 2026."""
    if len(bank.run_id) > _LONGEST_RUN_ID:
        problem = f"found {len(bank.run_id)} characters, expected at most {_LONGEST_RUN_ID}"
        raise InputError(f"metadata: run_id {shown(bank.run_id)}: {problem}")


def _parse_nuggetizer(row: Mapping[str, Any]) -> NuggetBank:
    """Read a bank that was created or assigned by nuggetizer, or TREC RAG's without a query."""
    bank = checked(TextBankRow, row)
    title_name = "query" if "query" in row else "title_query"
    nuggets = _listed(bank.nuggets, "nuggets", bank.qid, TextRow)
    extra = _rest(row, "qid", "nuggets", title_name, "metadata", *_RUN)
    named = Fields(row).text(title_name), bank.run_id or "", bank.team_id or ""
    return NuggetBank(bank.qid, nuggets, *named, bank.metadata or {}, extra)


def _row_nuggetizer(bank: NuggetBank, *, query: bool = True) -> dict[str, Any]:
    """Return the object of a bank; one of TREC RAG 2025 has no `query`."""
    row: dict[str, Any] = {"query": bank.title} if query else {}
    row["qid"] = bank.topic_id
    metadata = {"run_id": bank.run_id, "team_id": bank.team_id, "metadata": dict(bank.metadata)}
    if not query:
        metadata["title_query"] = bank.title
    row |= {name: value for name, value in metadata.items() if value}
    reserved = (*metadata, "query", "nuggets", "nugget_bank", "claim_bank", "banks")
    ids = _Names("-")
    rows = [_listed_row(nugget, bank.topic_id, ids, "text") for nugget in bank.nuggets]
    return {**_further(row, bank.extra, reserved), "nuggets": rows}


# Dialects -----------------------------------------------------------------------------------------

_DIALECTS: dict[
    str, tuple[Callable[[Mapping[str, Any]], NuggetBank], Callable[[NuggetBank], dict[str, Any]]]
] = {
    "nuggetbank-v3": (_parse_v3, _row_v3),
    "ragtime26-nuggets": (_parse_ragtime26, _row_ragtime26),
    "nuggetizer": (_parse_nuggetizer, _row_nuggetizer),
    "rag25-nuggets": (_parse_nuggetizer, partial(_row_nuggetizer, query=False)),
}


def dialect_of(row: Mapping[str, Any]) -> str:
    """Return the name of the dialect of a bank; InputError if it has none."""
    if "nuggets" in row:
        return "nuggetizer" if "query" in row else "rag25-nuggets"
    if "nugget_bank" in row or "claim_bank" in row:
        listed = isinstance(row.get("nugget_bank"), list)
        named = not {"query_id", "title_query", "claim_bank"}.isdisjoint(row)
        return "ragtime26-nuggets" if listed and not named else "nuggetbank-v3"
    names_found = ", ".join(shorten(name, 30) for name in list(row)[:8]) or "none"
    raise InputError(
        f'expected "nugget_bank", "claim_bank" or "nuggets" (fields found: {names_found})'
    )


def parse_nugget_bank(row: Mapping[str, Any], name: str | None = None) -> NuggetBank:
    """Read one bank from a JSON object.

    Args:
        row: the object.
        name: the dialect, a format of kind `nuggets`; recognised by its fields if None.

    Raises:
        InputError: it is not a bank of the dialect, or has no nuggets.
    """
    bank = _DIALECTS[name or dialect_of(row)][0](row)
    if not bank.nuggets:
        raise InputError(f"the bank of topic {shown(bank.topic_id)} holds no nuggets")
    if name == "ragtime26-nuggets":
        _check_run_id(bank)
    return bank


def nugget_bank_row(bank: NuggetBank, name: str) -> dict[str, Any]:
    """Return a bank as a JSON object in a dialect; reading it gives the same bank.

    `nuggetbank-v3` stores questions and claims separately, so there questions come first.

    Raises:
        InputError: the dialect cannot represent something, or would read it differently.
    """
    if name == "nuggetbank-v3":
        nuggets = tuple(sorted(bank.nuggets, key=lambda nugget: nugget.is_claim))
        extra = {k: v for k, v in bank.extra.items() if (k, v) != ("format_version", "RAGTIME26")}
        bank = replace(bank, nuggets=nuggets, extra=extra)
    with within(f"bank of topic {shown(bank.topic_id)}"):
        row = _DIALECTS[name][1](bank)
        check_depth(row)
        with within(f"{name} cannot hold it"):
            back = parse_nugget_bank(row, name)
        if back != bank:
            raise InputError(f"{name} cannot hold {_lost(bank, back)}")
    return row


def _lost(bank: NuggetBank, back: NuggetBank) -> str:
    """Name what is lost when a bank is written and read back as another."""
    for nugget, read in zip(bank.nuggets, back.nuggets, strict=False):
        for each in fields(Nugget):
            if getattr(nugget, each.name) != getattr(read, each.name):
                return f"the {each.name} of {shown(nugget.text)}"
    same = (f.name for f in fields(NuggetBank) if getattr(bank, f.name) != getattr(back, f.name))
    return f"its {next(same)}"
