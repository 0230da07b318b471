"""Nugget banks as lists: the submissions to RAGTIME 2026, and nuggetizer's banks.

What these know nothing of (ids, the parts of a nugget, a nuggetizer nugget's answers) stands in
the field `pnyx`. What would mislead their readers is refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from pnyx.corpora.benchmarks.nugget_checks import (
    ASSIGNED_BANK,
    ASSIGNED_NUGGET,
    SUBMITTED,
    checked,
    one_of,
    whole_number,
)
from pnyx.corpora.benchmarks.nugget_parts import (
    Ids,
    Own,
    aggregator_of,
    answer_list,
    answer_rows,
    carried_metadata,
    importance_of,
    metadata_row,
    placed,
    raw_importance,
    reference_rows,
    references_of,
    shown,
    with_own,
)
from pnyx.corpora.benchmarks.nugget_v3 import nugget_v3, sub_nuggets_of, v3_nugget_row
from pnyx.corpora.fields import Fields, a_list, an_object, string, within
from pnyx.errors import InputError, shorten
from pnyx.records import Nugget, NuggetAnswer, NuggetBank

_MAX_RUN_ID = 25
_JOINS = ("AND", "OR")
_IMPORTANCES = ("vital", "okay", "failed")


def _completed(found: Nugget, own: Own, topic: str, ids: Ids) -> Nugget:
    """Return a nugget with what stands of it in `pnyx`; `ids` gains its id."""
    with within("pnyx"):
        identifier = own.text("id") or ids.default(found.text)
        if identifier in ids:
            raise InputError(f"the id {shown(identifier)} is given twice")
        ids.add(identifier)
        return replace(
            found,
            id=identifier,
            aggregator=found.aggregator or aggregator_of(own.take("aggregator_type")),
            references=found.references or references_of(own.take("references")),
            sub_nuggets=sub_nuggets_of(own.take("sub_nuggets"), topic),
        )


def _carried(nugget: Nugget, topic: str, ids: Ids) -> dict[str, Any]:
    """Return what `pnyx` must hold of a nugget in either dialect; `ids` gains its id."""
    if nugget.is_claim and nugget.answers:
        raise InputError(f"the claim {shown(nugget.text)} has answers, expected a question")
    aggregator_of(nugget.aggregator or None)
    own: dict[str, Any] = {}
    if nugget.id != ids.default(nugget.text):
        own["id"] = nugget.id
    ids.add(nugget.id)
    if nugget.references:
        own["references"] = reference_rows(nugget.references)
    if nugget.sub_nuggets:
        own["sub_nuggets"] = [v3_nugget_row(one, topic) for one in nugget.sub_nuggets]
    return own


# RAGTIME 2026 -------------------------------------------------------------------------------------

_RAGTIME26 = ("metadata", "nugget_bank", "query_id", "title_query", "claim_bank", "nuggets")
"""Fields of the dialect, and those by which another would be recognised."""

_SUBMITTED_BANK = {"format_version": string}
_LISTED = ("question", "aggregator_type", "importance", "answers")


def check_run_id(bank: NuggetBank) -> None:
    """Refuse a run_id that is too long to be submitted to RAGTIME 2026."""
    if len(bank.run_id) > _MAX_RUN_ID:
        problem = f"found {len(bank.run_id)} characters, expected at most {_MAX_RUN_ID}"
        raise InputError(f"metadata: run_id {shown(bank.run_id)}: {problem}")


def parse_ragtime26(row: Mapping[str, Any]) -> NuggetBank:
    """Read a bank with `metadata` and a list of questions."""
    fields = Fields(row)
    own = Own(fields)
    meta = Fields(an_object(fields.take("metadata"), "metadata"))
    with within("metadata"):
        topic = meta.identifier("topic_id")
        team, run = meta.text("team_id"), meta.text("run_id")
        checked(meta.rest, {"run_desc": string})
    checked(fields.rest, _SUBMITTED_BANK)
    ids = Ids()
    nuggets = []
    for place, one in enumerate(a_list(fields.take("nugget_bank"), "nugget_bank")):
        with within(f"nugget_bank[{place}]"):
            nuggets.append(_listed(one, topic, ids))
    title = own.text("title")
    metadata = carried_metadata(own, meta.rest)
    return NuggetBank(topic, tuple(nuggets), title, run, team, metadata, own.further(fields.rest))


def _listed(value: Any, topic: str, ids: Ids) -> Nugget:
    fields = Fields(an_object(value))
    own = Own(fields)
    text = fields.required("question")
    aggregator = aggregator_of(fields.take("aggregator_type"), _JOINS)
    importance, kept = importance_of(fields.take("importance"))
    given = fields.take("answers")
    answers = () if given is None else answer_list(a_list(given, "answers"), SUBMITTED)
    checked(fields.rest, SUBMITTED)
    found = Nugget("", text, answers, aggregator=aggregator, importance=importance)
    if own.take("claim") is True:
        said = answers[0] if len(answers) == 1 else NuggetAnswer("")
        if said.text != text or said.extra:
            raise InputError("pnyx: a claim is its own and only answer, found another")
        found = replace(found, answers=(), is_claim=True, references=said.references)
    return replace(_completed(found, own, topic, ids), extra=own.further({**fields.rest, **kept}))


def row_ragtime26(bank: NuggetBank) -> dict[str, Any]:
    """Return the object of a bank; a claim is a question that is its own answer."""
    check_run_id(bank)
    metadata, own_metadata = metadata_row(bank, submitted=True)
    held, own = placed(bank.extra, _RAGTIME26, _SUBMITTED_BANK)
    if bank.title:
        own["title"] = bank.title
    if own_metadata:
        own["metadata"] = own_metadata
    ids = Ids()
    rows = [_listed_row(one, bank.topic_id, ids) for one in bank.nuggets]
    return with_own({"metadata": metadata, "nugget_bank": rows, **held}, own)


def _listed_row(nugget: Nugget, topic: str, ids: Ids) -> dict[str, Any]:
    if nugget.aggregator not in ("", "Default", *_JOINS):
        problem = f"expected AND or OR in this format, found {nugget.aggregator}"
        raise InputError(f"{shown(nugget.text)}: aggregator_type: {problem}")
    importance, extra = raw_importance(nugget)
    held, own = placed(extra, _LISTED, SUBMITTED)
    own |= _carried(nugget, topic, ids)
    row: dict[str, Any] = {"question": nugget.text}
    if nugget.aggregator in _JOINS:
        row["aggregator_type"] = nugget.aggregator
    elif nugget.aggregator:
        own["aggregator_type"] = nugget.aggregator
    if importance is not None:
        row["importance"] = importance
    if nugget.is_claim:
        own["claim"] = True
        own.pop("references", None)
    row["answers"] = answer_rows(nugget.expected, SUBMITTED)
    return with_own({**row, **held}, own)


# nuggetizer ---------------------------------------------------------------------------------------

_NUGGETIZER = ("qid", "query", "nuggets", "run_id", "nugget_bank", "claim_bank", "banks")
_TEXTS = ("text", "importance")


def parse_nuggetizer(row: Mapping[str, Any]) -> NuggetBank:
    """Read a bank that was created or assigned by nuggetizer, or TREC RAG's without a query."""
    fields = Fields(row)
    own = Own(fields)
    topic = fields.identifier("qid")
    title, run = fields.text("query"), fields.text("run_id")
    checked(fields.rest, ASSIGNED_BANK)
    ids = Ids()
    nuggets = []
    for where, is_own, one in _entries(fields, own):
        with within(where):
            read = nugget_v3(one, topic, ids) if is_own else _text(one, topic, ids)
            nuggets.append(read)
    title = title or own.text("title")
    team = own.text("team_id")
    metadata = carried_metadata(own, {})
    return NuggetBank(topic, tuple(nuggets), title, run, team, metadata, own.further(fields.rest))


def _entries(fields: Fields, own: Own) -> Iterator[tuple[str, bool, Any]]:
    """Yield (place, whether it stands in `pnyx`, nugget), those of `pnyx` where they belong."""
    listed = a_list(fields.take("nuggets"), "nuggets")
    value = own.take("nuggets")
    beside = enumerate([] if value is None else a_list(value, "pnyx: nuggets"))
    given = count = 0
    for number, one in beside:
        where = f"pnyx: nuggets[{number}]"
        entry = Fields(an_object(one, where))
        place = whole_number(entry.take("place"), f"{where}: place")
        if not count <= place <= number + len(listed):
            expected = f"from {count} to {number + len(listed)}"
            raise InputError(f"{where}: found place {shorten(place, 20)}, expected one {expected}")
        for at in range(given, place - number):
            yield f"nuggets[{at}]", False, listed[at]
        given, count = place - number, place + 1
        yield where, True, entry.take("nugget")
    for at in range(given, len(listed)):
        yield f"nuggets[{at}]", False, listed[at]


def _text(value: Any, topic: str, ids: Ids) -> Nugget:
    fields = Fields(an_object(value))
    own = Own(fields)
    text = fields.required("text")
    one_of_three = fields.take("importance")
    checked({"importance": one_of_three}, {"importance": one_of(_IMPORTANCES)})
    importance, kept = importance_of(one_of_three or own.take("importance"))
    checked(fields.rest, ASSIGNED_NUGGET)
    answers = own.take("answers")
    found = Nugget("", text, is_claim=answers is None, importance=importance)
    if answers is not None:
        with within("pnyx"):
            found = replace(found, answers=answer_list(a_list(answers, "answers"), {}))
    return replace(_completed(found, own, topic, ids), extra=own.further({**fields.rest, **kept}))


def row_nuggetizer(bank: NuggetBank, *, query: bool = True) -> dict[str, Any]:
    """Return the object of a bank; unanswerable questions stand in `pnyx`, where none is counted.

    A bank of TREC RAG 2025 has no `query`.
    """
    held, own = placed(bank.extra, _NUGGETIZER, ASSIGNED_BANK)
    named = {"title": "" if query else bank.title, "team_id": bank.team_id}
    own |= {name: value for name, value in named.items() if value}
    if bank.metadata:
        own["metadata"] = dict(bank.metadata)
    row: dict[str, Any] = {"query": bank.title} if query else {}
    row["qid"] = bank.topic_id
    if bank.run_id:
        row["run_id"] = bank.run_id
    ids = Ids()
    rows, beside = [], []
    for place, one in enumerate(bank.nuggets):
        if one.unanswerable:
            beside.append({"place": place, "nugget": v3_nugget_row(one, bank.topic_id)})
            ids.add(one.id)
        else:
            rows.append(_text_row(one, bank.topic_id, ids))
    if beside:
        own["nuggets"] = beside
    return with_own({**row, **held, "nuggets": rows}, own)


def _text_row(nugget: Nugget, topic: str, ids: Ids) -> dict[str, Any]:
    if nugget.aggregator == "NOT":
        problem = "what must not be said would count as what should, in this format"
        raise InputError(f"{shown(nugget.text)}: aggregator_type NOT: {problem}")
    importance, extra = raw_importance(nugget)
    held, own = placed(extra, _TEXTS, ASSIGNED_NUGGET)
    own |= _carried(nugget, topic, ids)
    if nugget.aggregator:
        own["aggregator_type"] = nugget.aggregator
    row: dict[str, Any] = {"text": nugget.text}
    if importance in _IMPORTANCES:
        row["importance"] = importance
    elif importance is not None:
        own["importance"] = importance
    if nugget.answers:
        own["answers"] = answer_rows(nugget.answers, {})
    return with_own({**row, **held}, own)
