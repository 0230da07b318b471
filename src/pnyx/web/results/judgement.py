"""The page of one judgement: the question, the answer, the judge, and its model calls."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from pnyx.core.rooms import load, named
from pnyx.judging.answers import NOTES
from pnyx.judging.tasks import TASKS
from pnyx.web.results import words as wording
from pnyx.web.results.catalogue import Catalogue
from pnyx.web.results.pages import Address, Content, PageRoute, Parts, is_number
from pnyx.web.results.records import JudgementRow, NotFoundError, ReportRow, SourceRow
from pnyx.web.results.texts import asked_texts, calls_behind, prompt_blocks, text_of

_LONG: Final = 3000
"""Characters of a message or reply that are shown at once; longer ones are folded."""

_WIDTH: Final = 360
"""Length of the line of probabilities, in the units of its picture."""


def _show(catalogue: Catalogue, address: Address) -> Content:
    name, n = address.parts
    if not is_number(n):
        raise NotFoundError("there is no such judgement")
    judgement = catalogue.judgement(name, int(n))
    source, line = catalogue.source(name), catalogue.line(judgement)
    behind = calls_behind(source, line, catalogue.store)
    report, sentences = _report_of(catalogue, judgement, line)
    rank, before, after = _neighbours(catalogue, judgement)
    task = TASKS.get(judgement.task)
    notes = line.get("notes")
    values = {
        "judgement": judgement,
        "source": source,
        "line": line,
        "worded": wording.worded(judgement.value, judgement.probability, scale=line.get("scale")),
        "shows_probability": not isinstance(judgement.value, int | float | list)
        or isinstance(judgement.value, bool),
        "threshold": _threshold(line),
        "width": _WIDTH,
        "asked": asked_texts(catalogue, judgement, line, prompt_blocks(behind.calls)),
        "node": _question(line),
        "task": task.asks if task else "",
        "evidence": text_of(line, "evidence"),
        "explanation": text_of(line, "explanation"),
        "behind": behind,
        "schema_of": _schema,
        "long": _LONG,
        "card": text_of(source.about, "card"),
        "prompts": _prompts(source, judgement.task),
        "notes": [
            (f"{name}: {json.dumps(value, ensure_ascii=False)}", NOTES.get(name, ""))
            for name, value in (notes.items() if isinstance(notes, dict) else ())
        ],
        "batch": line["notes"].get("batch") if isinstance(line.get("notes"), dict) else None,
        "report": report,
        "sentences": sentences,
        "place": rank,
        "before": before,
        "after": after,
    }
    return Content("judgement", values)


def _schema(schema: Mapping[str, Any]) -> tuple[str, int]:
    """Return a schema as JSON, with one of several identical fields, and their number."""
    fields = schema.get("properties")
    alike = [*fields.values()] if isinstance(fields, dict) else []
    count = len(alike) if len(alike) > 1 and all(other == alike[0] for other in alike) else 0
    if count:
        name = min(fields, key=lambda name: (len(name), name))  # type: ignore[arg-type]
        schema = {**schema, "properties": {name: alike[0]}, "required": [name]}
    return json.dumps(schema, indent=1, ensure_ascii=False), count


def _report_of(
    catalogue: Catalogue, judgement: JudgementRow, line: Mapping[str, Any]
) -> tuple[ReportRow | None, list[int]]:
    """Return the report that a judgement belongs to, and its sentences there, from 1."""
    source, run, topic = judgement.source, judgement.run, judgement.topic
    if run and topic:
        numbers = sentences_resting_on(catalogue, judgement)
        reports = catalogue.reports(source=source, run=run, topic=topic)
        return (reports[0] if reports else None), numbers
    if topic:  # ids of `pnyx argue` start with the topic and the run
        position = line.get("sentence")
        for report in catalogue.reports(source=source, topic=topic, kind="response"):
            if judgement.item.startswith(f"{topic}/{report.run}/"):
                inside = isinstance(position, int) and 0 <= position < report.sentences
                return report, [position + 1] if inside else []  # type: ignore[operator]
    return None, []


def sentences_resting_on(catalogue: Catalogue, judgement: JudgementRow) -> list[int]:
    """Return the sentences, from 1, whose findings depend on a judgement, in its run's report."""
    if not (judgement.run and judgement.topic):
        return []
    try:
        report = catalogue.report(judgement.source, judgement.run, judgement.topic)
    except NotFoundError:
        return []
    item = judgement.item
    places = {
        position
        for position, _, _, name in catalogue.report_texts(report).findings()
        if item == name or item.startswith(f"{name}/")
    }
    return [position + 1 for position in sorted(places)]


def _question(line: Mapping[str, Any]) -> str:
    """Return a line's question about a part of a report; empty if no room knows it."""
    kinds = map(load, named("REPORTS").values())
    return next((question for kind in kinds if (question := kind.question(line))), "")


def _neighbours(catalogue: Catalogue, judgement: JudgementRow) -> tuple[int, int, int]:
    """Return the position in the source's table, and its neighbours; 0 for none."""
    source = catalogue.source(judgement.source).id
    key = (source, judgement.doubt, judgement.n)
    less = "FROM judgement WHERE source = ? AND (doubt, n) < (?, ?)"
    more = "FROM judgement WHERE source = ? AND (doubt, n) > (?, ?)"
    ((count,),) = catalogue.all(f"SELECT count(*) {less}", *key)
    before = catalogue.all(f"SELECT n {less} ORDER BY doubt DESC, n DESC LIMIT 1", *key)
    after = catalogue.all(f"SELECT n {more} ORDER BY doubt, n LIMIT 1", *key)
    return count + 1, before[0][0] if before else 0, after[0][0] if after else 0


def _threshold(line: Mapping[str, Any]) -> float | None:
    value = line.get("threshold")
    valid = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1
    return float(value) if valid else None  # type: ignore[arg-type]


def _prompts(source: SourceRow, task: str) -> list[dict[str, str]]:
    """Return name, version and hash of the prompts that a task's questions may have used."""
    stated, task_form = source.about.get("prompts"), TASKS.get(task)
    every = [p for p in stated if isinstance(p, dict)] if isinstance(stated, list) else []
    names = {*task_form.prompts, task_form.many} if task_form else set()
    chosen = [prompt for prompt in every if prompt.get("name") in names] or every
    return [{key: str(p.get(key, "")) for key in ("name", "version", "hash")} for p in chosen]


def _judgements(catalogue: Catalogue) -> Iterator[tuple[Parts, int]]:
    for source in catalogue.sources():
        for n in range(1, source.asked + 1):
            yield (source.name, str(n)), 1


PAGES: Final = (PageRoute("judgement", _show, _judgements, least=2, most=2),)
