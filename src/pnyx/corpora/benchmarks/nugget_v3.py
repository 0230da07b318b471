"""Nugget banks in the NuggetBank format, version 3 (Auto-ARGUE, autojudge-base): maps by text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from pnyx.corpora.benchmarks.nugget_checks import (
    ANSWER,
    BANK,
    NUGGET,
    checked,
    grade,
    whole_number,
)
from pnyx.corpora.benchmarks.nugget_parts import (
    Ids,
    Keys,
    Own,
    aggregator_of,
    answer_list,
    answer_rows,
    carried_metadata,
    entries,
    filed,
    importance_of,
    is_text,
    keyed,
    md5_of,
    metadata_row,
    placed,
    raw_importance,
    reference_rows,
    references_of,
    shown,
    with_own,
)
from pnyx.corpora.fields import Fields, a_list, an_object, string, unlike, within
from pnyx.errors import InputError
from pnyx.records import Nugget, NuggetBank

VERSION = "v3"
_VERSION = "format_version"
_OWNED = ("query_id", "title_query", "nugget_bank", "claim_bank", "metadata")
_QUESTION = ("question", "question_id")
_CLAIM = ("claim", "claim_id")
_OWNED_NUGGET = (
    "query_id",
    "aggregator_type",
    "importance",
    "answers",
    "references",
    "sub_nuggets",
)


def parse_v3(row: Mapping[str, Any]) -> NuggetBank:
    """Read a bank; without `query_id` its topic is what autojudge takes in its place."""
    fields = Fields(row)
    own = Own(fields)
    title = fields.text("title_query")
    value = fields.take("metadata")
    metadata = {} if value is None else dict(an_object(value, "metadata"))
    topic = _topic(fields, title, metadata)
    checked(fields.rest, BANK)
    run = _run_of(metadata, topic)
    version = fields.take(_VERSION)
    if version is not None and string(version, _VERSION) != VERSION:
        fields.rest[_VERSION] = version
    nuggets = _nuggets(fields, topic, own.take("order"))
    metadata = carried_metadata(own, metadata)
    return NuggetBank(
        topic, nuggets, title, metadata=metadata, extra=own.further(fields.rest), **run
    )


def _topic(fields: Fields, title: str, metadata: Mapping[str, Any]) -> str:
    if fields.rest.get("query_id") not in (None, ""):
        return fields.identifier("query_id")
    fields.rest.pop("query_id", None)
    if title:
        return md5_of(title)
    for name in ("topic_id", "query_id"):
        if metadata.get(name) is not None:
            return Fields(metadata).identifier(name)
    raise InputError("no query_id")


def _run_of(metadata: dict[str, Any], topic: str) -> dict[str, str]:
    """Take team and run out of the metadata where they are text, and then also the topic."""
    names = ("team_id", "run_id")
    found = {name: metadata.pop(name) for name in names if is_text(metadata.get(name))}
    if found and metadata.get("topic_id") == topic:
        del metadata["topic_id"]
    return found


def _nuggets(fields: Fields, topic: str, order: Any) -> tuple[Nugget, ...]:
    found: list[Nugget] = []
    ids = Ids()
    for name, is_claim in (("nugget_bank", False), ("claim_bank", True)):
        taken = Keys()
        for where, key, entry in entries(fields.take(name), name):
            with within(where):
                one = nugget_v3(entry, topic, ids, is_claim=is_claim)
                found.append(replace(one, extra=keyed(dict(one.extra), one.text, key, taken)))
    if order is None:
        return tuple(found)
    places = [whole_number(one, "pnyx: order") for one in a_list(order, "pnyx: order")]
    if sorted(places) != list(range(len(found))):
        raise unlike(order, "pnyx: order", f"each place of {len(found)} nuggets once")
    ordered = dict(zip(places, found, strict=True))
    return tuple(ordered[place] for place in range(len(found)))


def row_v3(bank: NuggetBank) -> dict[str, Any]:
    """Return the object of a bank; questions and claims that are mixed keep their order."""
    metadata, own_metadata = metadata_row(bank, submitted=False)
    owned = _OWNED if _is_other_version(bank.extra.get(_VERSION)) else (*_OWNED, _VERSION)
    held, own = placed(bank.extra, owned, BANK)
    places = [i for kind in (False, True) for i, n in enumerate(bank.nuggets) if n.is_claim is kind]
    row: dict[str, Any] = {"query_id": bank.topic_id}
    if bank.title:
        row["title_query"] = bank.title
    row[_VERSION] = held.pop(_VERSION, VERSION)
    row["nugget_bank"] = _file((n for n in bank.nuggets if not n.is_claim), bank.topic_id)
    if claims := _file((n for n in bank.nuggets if n.is_claim), bank.topic_id):
        row["claim_bank"] = claims
    if metadata:
        row["metadata"] = metadata
    if own_metadata:
        own["metadata"] = own_metadata
    if places != sorted(places):
        own["order"] = places
    return with_own({**row, **held}, own)


def _is_other_version(value: Any) -> bool:
    return isinstance(value, str) and value not in ("", VERSION, "RAGTIME26")


# Nuggets ------------------------------------------------------------------------------------------


def nugget_v3(value: Any, topic: str, ids: Ids, *, is_claim: bool | None = None) -> Nugget:
    """Read a question or claim of the NuggetBank format; `ids` gains its id.

    Whether it is a claim is told by its fields where `is_claim` is None.
    """
    fields = Fields(an_object(value))
    own = Own(fields)
    if is_claim is None:
        is_claim = "claim" in fields.rest and "question" not in fields.rest
    name, id_name = _CLAIM if is_claim else _QUESTION
    text = fields.required(name)
    identifier = _identifier(fields, id_name, text, ids)
    importance, kept = importance_of(fields.take("importance"))
    if is_claim and fields.rest.get("answers") is not None:
        raise InputError("a claim has answers, expected a question")
    answers = answer_list(fields.take("answers"), ANSWER)
    references = references_of(fields.take("references"))
    aggregator = aggregator_of(fields.take("aggregator_type"))
    subs = sub_nuggets_of(fields.take("sub_nuggets"), topic)
    checked(fields.rest, NUGGET)
    other = fields.take("query_id")
    if other is not None and str(other) != topic:
        kept["query_id"] = grade(other, "query_id")
    extra = own.further({**fields.rest, **kept})
    return Nugget(
        identifier, text, answers, is_claim, aggregator, importance, references, subs, extra
    )


def _identifier(fields: Fields, name: str, text: str, ids: Ids) -> str:
    given = fields.rest.get(name)
    if given is None or given == "":
        fields.rest.pop(name, None)
        found = ids.default(text)
    else:
        found = fields.identifier(name)
        if found in ids:
            raise InputError(f"{name} {shown(found)} is given twice")
    ids.add(found)
    return found


def sub_nuggets_of(value: Any, topic: str) -> tuple[Nugget, ...]:
    """Read the parts of a nugget, themselves questions and claims."""
    if value is None:
        return ()
    name = "sub_nuggets"
    ids = Ids()
    found = []
    for place, one in enumerate(a_list(value, name)):
        with within(f"{name}[{place}]"):
            found.append(nugget_v3(one, topic, ids))
    return tuple(found)


def v3_nugget_row(nugget: Nugget, topic: str) -> dict[str, Any]:
    """Return the row of a nugget in the NuggetBank format."""
    if nugget.is_claim and nugget.answers:
        raise InputError(f"the claim {shown(nugget.text)} has answers, expected a question")
    aggregator_of(nugget.aggregator or None)
    importance, extra = raw_importance(nugget)
    name, id_name = _CLAIM if nugget.is_claim else _QUESTION
    query_id = extra.get("query_id")
    if isinstance(query_id, str) and query_id.strip() and query_id != topic:
        del extra["query_id"]
    else:
        query_id = topic
    held, own = placed(extra, (name, id_name, *_OWNED_NUGGET), NUGGET)
    row: dict[str, Any] = {name: nugget.text, id_name: nugget.id, "query_id": query_id}
    if nugget.aggregator:
        row["aggregator_type"] = nugget.aggregator
    if importance is not None:
        row["importance"] = importance
    if not nugget.is_claim:
        rows = answer_rows(nugget.answers, ANSWER, plain=False)
        row["answers"] = filed((one["answer"], one) for one in rows)
    if nugget.references:
        row["references"] = reference_rows(nugget.references)
    if nugget.sub_nuggets:
        row["sub_nuggets"] = [v3_nugget_row(one, topic) for one in nugget.sub_nuggets]
    return with_own({**row, **held}, own)


def _file(nuggets: Iterable[Nugget], topic: str) -> dict[str, dict[str, Any]]:
    """Return nuggets as a map keyed by their text."""
    return filed((one.text, v3_nugget_row(one, topic)) for one in nuggets)
