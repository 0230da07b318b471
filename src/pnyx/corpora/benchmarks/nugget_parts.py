"""The parts of nugget banks and their rows of JSON: references, answers, nuggets.

What a dialect cannot hold at a place stands there in the field `pnyx`, which its other readers
ignore, so that converting there and back gives what was.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from pnyx.corpora.benchmarks.nugget_checks import (
    AGGREGATORS,
    REFERENCE,
    Checks,
    checked,
    fitting,
    grade,
)
from pnyx.corpora.fields import Fields, a_list, an_object, merged, unlike, within
from pnyx.errors import InputError, shorten
from pnyx.records import Nugget, NuggetAnswer, NuggetBank, NuggetReference

OWN = "pnyx"
"""The field, at every level, of what the dialect cannot hold there."""


class Own:
    """What stands in the field `pnyx` of a row, taken one after the other."""

    def __init__(self, fields: Fields) -> None:
        value = fields.take(OWN)
        self._fields = Fields({} if value is None else an_object(value, OWN))

    def take(self, name: str) -> Any:
        """Remove and return an entry, None where it is not there."""
        return self._fields.take(name)

    def text(self, name: str) -> str:
        """Remove and return an entry that is text, empty where it is not there."""
        with within(OWN):
            return self._fields.text(name)

    def further(self, rest: Mapping[str, Any]) -> dict[str, Any]:
        """Return the fields that are left, with those that stood here; what is unknown is refused.

        The key under which a map filed the row stays with it.
        """
        with within(OWN):
            carried = self._fields.take("extra")
            result = {**rest, **_apart(rest, {} if carried is None else an_object(carried))}
            if key := self._fields.text("key"):
                result[OWN] = {"key": key}
            for name in self._fields.rest:
                raise InputError(f"found an unknown field {shorten(name, 40)}")
            return result


def _apart(fields: Mapping[str, Any], others: Mapping[str, Any]) -> Mapping[str, Any]:
    for name in others:
        if name in fields:
            raise InputError(f"extra: {shorten(name, 40)} is also a field of its own")
    return others


def placed(
    extra: Mapping[str, Any], owned: Iterable[str], checks: Checks
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the further fields that a dialect can hold, and what its field `pnyx` must hold."""
    rest = dict(extra)
    own = dict(rest.pop(OWN, {}))
    taken = frozenset(owned)
    held = {k: v for k, v in rest.items() if k not in taken and fitting(k, v, checks)}
    if len(held) < len(rest):
        own["extra"] = {k: v for k, v in rest.items() if k not in held}
    return held, own


def with_own(row: dict[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row with the field `pnyx`, if there is something to hold."""
    return {**row, OWN: dict(own)} if own else row


def shown(text: str) -> str:
    """Return a text as it is shown in messages."""
    return repr(shorten(text, 60))


# Metadata: where RAGTIME 2026, and what autojudge makes of it, name topic, team and run ----------


def is_text(value: Any) -> bool:
    """Whether a value can name a team or run."""
    return isinstance(value, str) and value != ""


def metadata_row(bank: NuggetBank, *, submitted: bool) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the metadata as they are written, and those that `pnyx` must hold.

    A `submitted` bank always names its topic there; another one beside its team or run.
    """
    run = {name: value for name in ("team_id", "run_id") if (value := getattr(bank, name))}
    head = {"team_id": run["team_id"]} if "team_id" in run else {}
    if submitted or (run and "topic_id" not in bank.metadata):
        head["topic_id"] = bank.topic_id
    head |= run
    rest: dict[str, Any] = {}
    own: dict[str, Any] = {}
    for name, value in bank.metadata.items():
        names_run = name in ("team_id", "run_id") and (submitted or is_text(value))
        wrong = submitted and name == "run_desc" and not isinstance(value, str | None)
        (own if name in head or names_run or wrong else rest)[name] = value
    return {**head, **rest}, own


def carried_metadata(own: Own, metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return the metadata with those that stand in `pnyx`."""
    carried = own.take("metadata")
    return {**metadata, **({} if carried is None else an_object(carried, f"{OWN}: metadata"))}


# Keys and ids -------------------------------------------------------------------------------------


class _Names:
    """Keys or ids that are taken; equal texts are numbered, each after the one before."""

    def __init__(self, joint: str) -> None:
        self._joint = joint
        self._taken: set[str] = set()
        self._last: dict[str, int] = {}

    def __contains__(self, name: object) -> bool:
        return name in self._taken

    def add(self, name: str) -> None:
        """Take a name."""
        self._taken.add(name)

    def free(self, text: str) -> str:
        """Return the name of a text: itself, with a number where it is taken."""
        if text not in self._taken:
            return text
        number = self._last.get(text, 2)
        while (name := f"{text}{self._joint}{number}") in self._taken:
            number += 1
        self._last[text] = number
        return name


class Keys(_Names):
    """The keys of a map: the entries' texts."""

    def __init__(self) -> None:
        super().__init__(" #")


class Ids(_Names):
    """The ids of nuggets: where they have none, the MD5 of their texts."""

    def __init__(self) -> None:
        super().__init__("-")

    def default(self, text: str) -> str:
        """Return the id of a nugget that has none."""
        return self.free(md5_of(text))


def md5_of(text: str) -> str:
    """Return the MD5 of a text, as autojudge names nuggets and topics."""
    return hashlib.md5(text.encode(errors="surrogatepass"), usedforsecurity=False).hexdigest()


def entries(value: Any, name: str) -> Iterator[tuple[str, str | None, Any]]:
    """Yield (place, key, entry) of a map or a list; nothing where it is null."""
    if value is None:
        return
    if isinstance(value, dict):
        for key, entry in value.items():
            yield f"{name}[{shorten(repr(key), 60)}]", key, entry
        return
    for place, entry in enumerate(a_list(value, name, "a map or a list")):
        yield f"{name}[{place}]", None, entry


def keyed(extra: dict[str, Any], text: str, key: str | None, taken: Keys) -> dict[str, Any]:
    """Note a key that is not the one by which the text would be filed."""
    default = taken.free(text)
    taken.add(default if key is None else key)
    return extra if key in (None, default) else {**extra, OWN: {"key": key}}


def filed(rows: Iterable[tuple[str, dict[str, Any]]]) -> dict[str, dict[str, Any]]:
    """Return (text, row) pairs as a map, each under its own key or its text's."""
    result: dict[str, dict[str, Any]] = {}
    taken = Keys()
    for text, row in rows:
        own = dict(row.pop(OWN, {}))
        key = own.pop("key", None) or taken.free(text)
        if key in result:
            raise InputError(f"two entries under the key {shown(key)}")
        taken.add(key)
        result[key] = with_own(row, own)
    return result


# References and answers ---------------------------------------------------------------------------


def references_of(value: Any, name: str = "references") -> tuple[NuggetReference, ...]:
    """Read references: document ids, or objects with `doc_id`."""
    if value is None:
        return ()
    given = enumerate(a_list(value, name))
    return tuple(_reference(one, f"{name}[{place}]") for place, one in given)


def _reference(value: Any, where: str) -> NuggetReference:
    with within(where):
        if isinstance(value, str):
            value = {"doc_id": value}
        fields = Fields(an_object(value, "", "a document id or an object"))
        checked(fields.rest, REFERENCE)
        return NuggetReference(fields.identifier("doc_id"), fields.rest)


def reference_rows(references: Iterable[NuggetReference]) -> list[dict[str, Any]]:
    """Return the rows of references."""
    rows = [merged({"doc_id": one.doc_id}, one.extra, ()) for one in references]
    for row in rows:
        checked(row, REFERENCE)
    return rows


def answer_list(value: Any, checks: Checks, name: str = "answers") -> tuple[NuggetAnswer, ...]:
    """Read answers, a list or a map keyed by their text."""
    taken = Keys()
    return tuple(
        _answer(one, key, where, checks, taken) for where, key, one in entries(value, name)
    )


def _answer(value: Any, key: str | None, where: str, checks: Checks, taken: Keys) -> NuggetAnswer:
    with within(where):
        fields = Fields(an_object(value))
        own = Own(fields)
        text = fields.required("answer")
        references = references_of(fields.take("references"))
        checked(fields.rest, checks)
        extra = keyed(own.further(fields.rest), text, key, taken)
        return NuggetAnswer(text, references, extra)


def answer_rows(
    answers: Iterable[NuggetAnswer], checks: Checks, *, plain: bool = True
) -> list[dict[str, Any]]:
    """Return the rows of answers.

    With `plain` there always are references, and one that is only an id is its text.
    """
    return [_answer_row(one, checks, plain) for one in answers]


def _answer_row(answer: NuggetAnswer, checks: Checks, plain: bool) -> dict[str, Any]:
    references: list[Any] = reference_rows(answer.references)
    if plain:
        references = [r["doc_id"] if len(r) == 1 else r for r in references]
    held, own = placed(answer.extra, ("answer", "references"), checks)
    row: dict[str, Any] = {"answer": answer.text}
    if references or plain:
        row["references"] = references
    return with_own({**row, **held}, own)


# Nuggets ------------------------------------------------------------------------------------------


def importance_of(value: Any) -> tuple[str, dict[str, Any]]:
    """Return an importance as text; an integer also stays as it is, among the further fields."""
    if value is None or grade(value, "importance") == "":
        return "", {}
    return str(value), {} if isinstance(value, str) else {"importance": value}


def raw_importance(nugget: Nugget) -> tuple[int | str | None, dict[str, Any]]:
    """Return an importance as it was given, None where there is none, and the further fields."""
    extra = dict(nugget.extra)
    if "importance" not in extra:
        return nugget.importance or None, extra
    given = extra.pop("importance")
    if not isinstance(given, int) or str(given) != nugget.importance:
        raise unlike(given, "importance", f"the integer of {shown(nugget.importance)}")
    return given, extra


def aggregator_of(value: Any, known: Iterable[str] = AGGREGATORS) -> str:
    """Return an aggregator that a dialect knows, empty where there is none."""
    if value is None or value in tuple(known):
        return value or ""
    raise unlike(value, "aggregator_type", f"one of {', '.join(known)}")
