"""The page of one judgement: what was asked, what was said, by whom, and the calls behind it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from pnyx.judge.tasks import TASKS
from pnyx.serve.inspecting.asking import NotThereError
from pnyx.serve.inspecting.exchanges import blocks_of, exchanges_of
from pnyx.serve.inspecting.items import item_texts
from pnyx.serve.inspecting.pages import Page, Shown
from pnyx.serve.inspecting.texts import Asked, asked_in, asked_of_report, marked, passages_of
from pnyx.serve.inspecting.wording import NODES, of_value

if TYPE_CHECKING:
    from pnyx.serve.inspecting.catalogue import Catalogue
    from pnyx.serve.inspecting.records import Judgement, ReportAt, Source
    from pnyx.serve.rendering import Links

_LONG: Final = 3000
"""Characters of a message or reply that are shown at once; longer ones are folded."""

_WIDTH: Final = 360
"""Of the line of probabilities, in the units of its picture."""


def show_judgement(
    catalogue: Catalogue, _links: Links, parts: tuple[str, ...], _: int = 1
) -> Shown:
    """Show the judgement of a source's n-th line."""
    source, n = parts
    if not (n.isascii() and n.isdecimal() and len(n) < 10):
        raise NotThereError("there is no such judgement")
    found = catalogue.judgement(source, int(n))
    held = catalogue.source(source)
    row = catalogue.row(found)
    behind = exchanges_of(held, row, catalogue.store)
    evidence = _text(row, "evidence")
    report, sentences = _report_of(catalogue, found, row)
    asked = _asked(catalogue, found, row, asked_in(blocks_of(behind.calls), row, evidence))
    place, before, after = _neighbours(catalogue, found)
    values = {
        "judgement": found,
        "source": held,
        "row": row,
        "verdict": of_value(found.value, found.probability, found.unscored, row.get("scale")),
        "line": _line(found, row),
        "asked": asked,
        "node": NODES.get(_text(row, "node"), ("",))[0],
        "task": TASKS[found.task].asks if found.task in TASKS else "",
        "evidence": evidence,
        "explanation": _text(row, "explanation"),
        "behind": behind,
        "schemas": [json.dumps(one.schema, indent=1, ensure_ascii=False) for one in behind.calls],
        "long": _LONG,
        "card": _text(held.about, "card"),
        "prompts": _prompts(held, found.task),
        "notes": _notes(row),
        "report": report,
        "sentences": sentences,
        "place": place,
        "before": before,
        "after": after,
    }
    return Shown("inspecting/judgement.html.j2", values)


def _asked(
    catalogue: Catalogue, found: Judgement, row: Mapping[str, Any], told: list[Asked]
) -> list[Asked]:
    """Return what was asked about; of a call with several questions (`told`), its own."""
    notes = row.get("notes")
    is_own = not (isinstance(notes, dict) and notes.get("batch"))
    if told and is_own:
        return told
    evidence = _text(row, "evidence")
    items = item_texts(catalogue.source(found.source), found.item)
    own = [Asked(name, marked(text, evidence if n == 0 else ""), n == 0)
           for n, (name, text) in enumerate(items)]  # fmt: skip
    own = own or asked_in((), catalogue.item(found), evidence)
    own = own or list(_of_report(catalogue, found, row, evidence))
    if told and not any(one.judged for one in own):
        shared = [one for one in told if one.judged]
        own = [*shared, *(one for one in own if not any(_same(one, other) for other in shared))]
    return own or told


def _same(one: Asked, other: Asked) -> bool:
    """Tell whether two texts say the same, whatever is marked in them and however it is spaced."""
    texts = ["".join(part.text for part in text.segments).split() for text in (one, other)]
    return texts[0] == texts[1]


def _report_of(
    catalogue: Catalogue, found: Judgement, row: Mapping[str, Any]
) -> tuple[ReportAt | None, list[int]]:
    """Return the report that a judgement counts in, and its sentences there, from 1."""
    if found.run and found.topic:
        places = [one.n + 1 for one in catalogue.sentences_of(found)]
        own = catalogue.reports(source=found.source, run=found.run, topic=found.topic)
        return (own[0] if own else None), places
    if found.topic:  # the ids of `pnyx argue` begin with the topic and the run
        number = row.get("sentence")
        for at in catalogue.reports(source=found.source, topic=found.topic, kind="response"):
            if found.item.startswith(f"{at.topic}/{at.run}/"):
                inside = isinstance(number, int) and 0 <= number < at.sentences
                return at, [number + 1] if inside else []  # type: ignore[operator]
    return None, []


def _of_report(
    catalogue: Catalogue, found: Judgement, row: Mapping[str, Any], evidence: str
) -> Iterator[Asked]:
    """Yield what was asked about, where reports or responses that were given hold it."""
    held: dict[str, tuple[str, str, str]] = {}
    if found.doc and found.run and found.topic:
        held = passages_of(catalogue, found.run, found.topic)
    elif found.doc and found.topic:
        for at in catalogue.reports(topic=found.topic, kind="response"):
            held |= passages_of(catalogue, at.run, found.topic)
    if found.doc in held:
        yield Asked("document", marked(held[found.doc][2], evidence), judged=True)
    if not found.topic:
        return
    run = found.run
    reports = catalogue.reports(source=found.source, topic=found.topic, kind="judged")
    own = next((one for one in reports if not run or one.run == run), None)
    if own is not None:
        number = row.get("sentence")
        place = number - 1 if isinstance(number, int) else -1
        yield from asked_of_report(found, row, catalogue.judged_report(own), place)


def _neighbours(catalogue: Catalogue, found: Judgement) -> tuple[int, int | None, int | None]:
    """Return the place in the source's list, the unscored first, and who is before and after."""
    source, doubt = catalogue.one("SELECT source, doubt FROM judgement WHERE id = ?", found.id)
    own = (source, doubt, found.n)
    less = "FROM judgement WHERE source = ? AND (doubt, n) < (?, ?)"
    more = "FROM judgement WHERE source = ? AND (doubt, n) > (?, ?)"
    ((count,),) = catalogue.all(f"SELECT count(*) {less}", *own)
    before = catalogue.all(f"SELECT n {less} ORDER BY doubt DESC, n DESC LIMIT 1", *own)
    after = catalogue.all(f"SELECT n {more} ORDER BY doubt, n LIMIT 1", *own)
    return count + 1, before[0][0] if before else None, after[0][0] if after else None


def _line(found: Judgement, row: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return where the probability stands on its line, and the threshold if it is known."""
    chance = found.probability
    if chance is None:
        return None
    threshold = row.get("threshold")
    known = isinstance(threshold, int | float) and not isinstance(threshold, bool)
    known = known and 0 <= threshold <= 1  # type: ignore[operator]
    at = float(threshold) if known else None  # type: ignore[arg-type]
    return {
        "width": _WIDTH,
        "chance": chance,
        "x": round(chance * _WIDTH, 1),
        "threshold": at,
        "t": None if at is None else round(at * _WIDTH, 1),
    }


def _prompts(source: Source, task: str) -> list[dict[str, str]]:
    """Return name, version and hash of the prompts that a task's questions may have got."""
    told = source.about.get("prompts")
    every = [one for one in told if isinstance(one, dict)] if isinstance(told, list) else []
    known = TASKS.get(task)
    own = {*known.prompts, known.many} if known else set()
    chosen = [one for one in every if one.get("name") in own] or every
    return [
        {name: str(one.get(name, "")) for name in ("name", "version", "hash")} for one in chosen
    ]


def _notes(row: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return an answer's notes, each with what it means, ready to be shown."""
    from pnyx.judge.answers import NOTES

    notes = row.get("notes")
    if not isinstance(notes, dict):
        return []
    return [
        (f"{name}: {json.dumps(value, ensure_ascii=False)}", NOTES.get(name, ""))
        for name, value in notes.items()
    ]


def _text(row: Mapping[str, Any], name: str) -> str:
    value = row.get(name)
    return value if isinstance(value, str) else ""


def _every(catalogue: Catalogue) -> Iterator[tuple[Sequence[str], int]]:
    for source in catalogue.sources():
        for n in range(1, source.asked + 1):
            yield (source.name, str(n)), 1


PAGES: tuple[Page, ...] = (
    Page("judgement", show_judgement, least=2, most=2, addresses=_every),  # type: ignore[arg-type]
)
