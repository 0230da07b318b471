"""The texts that judgements are about, from prompts, files or reports, and the replies to them."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, Final

from pnyx.core.errors import PnyxError, shorten
from pnyx.core.records import Document, judged_text
from pnyx.core.restricted_mode import hides_text
from pnyx.display.text import Segment, cut, locate
from pnyx.judging.answers import asked_of
from pnyx.judging.questions import JudgeQuestion
from pnyx.judging.runs.engine import item_bytes
from pnyx.judging.store.store import Store
from pnyx.judging.tasks import TASKS
from pnyx.models.chat.types import Message
from pnyx.web.results.catalogue import Catalogue
from pnyx.web.results.records import JudgementRow, SentenceRow, SourceRow
from pnyx.web.results.report_texts import ReportTexts


@dataclass(frozen=True, slots=True)
class Exchange:
    """One call to a model: the request as it was sent, and the reply as it was received."""

    key: str  # its key in the store
    problem: str = ""  # why there is no reply to show
    model: str = ""  # the requested model
    messages: tuple[Message, ...] = ()  # as sent, in order
    parameters: Mapping[str, Any] = field(default_factory=dict, hash=False)
    schema: Mapping[str, Any] | None = field(default=None, hash=False)
    reply: str = ""  # as received
    replied_by: str = ""  # the model's name in the reply
    finish_reason: str = ""  # why the reply ended
    usage: Mapping[str, int] = field(default_factory=dict, hash=False)
    created_at: str = ""  # UTC, ISO 8601
    pnyx_version: str = ""  # of the program that asked


def replies_of(row: Mapping[str, Any], store: Store) -> list[Exchange]:
    """Return the calls behind a line of `answers.jsonl`; a missing one has a `problem`."""
    return [exchange_at(key, store) for key in asked_of(row)]


def exchange_at(key: str, store: Store) -> Exchange:
    """Return the exchange at a key of a store."""
    try:
        row = store.row(key)
    except (PnyxError, ValueError) as error:
        return Exchange(key, str(error))
    if row is None:
        failed = store.failure(key)
        return Exchange(key, f"no reply came: {failed}" if failed else "it is not in this store")
    request, reply = row.request, row.reply
    decided = {k: v for k, v in request.canonical().items() if k not in ("messages", "schema")}
    return Exchange(
        key,
        model=row.model,
        messages=request.messages,
        parameters={k: v for k, v in decided.items() if v is not None},
        schema=request.schema,
        reply=reply.text,
        replied_by=reply.model,
        finish_reason=reply.finish_reason,
        usage=dict(reply.usage),
        created_at=row.created_at,
        pnyx_version=row.pnyx_version,
    )


_KEY: Final = ("source", "run", "topic")
_CLIPPED: Final = 80
"""Characters of each text that a row of a list shows."""

_LARGEST: Final = 128 * 1024 * 1024
"""Bytes of an items file that is still read to be shown."""

_OPENING: Final = re.compile(r"<<<([a-z ]{1,40}) (\w{1,64})")
_JUDGED: Final = ("document", "text", "passage", "report", "argument", "sentence", "earlier")
_FIELDS: Final = (
    "question query topic text document a b statement claim perspective argument argument_2 "
    "guideline definition criterion stance"
).split()
"""Fields of an item that were judged, in display order."""

_NAMES: Final = {"text": "text", "query": "question", "a": "first", "b": "second"}
_OTHER_FIELDS: Final = ("question", "guideline", "criterion", "documents")


@dataclass(frozen=True, slots=True)
class AskedText:
    """A text of a question: its label, its content, and whether it was the judged text."""

    label: str
    segments: tuple[Segment, ...]
    judged: bool = False

    @property
    def words(self) -> list[str]:
        """The words of the text, ignoring markup and spacing."""
        return "".join(segment.text for segment in self.segments).split()


def marked(text: str, *evidence: str) -> tuple[Segment, ...]:
    """Return a text cut around the first evidence in it."""
    span = locate(text, *evidence) if any(evidence) else None
    return cut(text, {} if span is None else {"e": span})


def text_of(row: Mapping[str, Any], name: str) -> str:
    """Return a field of a line that is a text; empty for anything else."""
    value = row.get(name)
    return value if isinstance(value, str) else ""


# Calls behind a judgement -------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class CallsBehind:
    """The calls behind a judgement, in order, from `store`; `problem`: why they are not shown."""

    calls: Sequence[Exchange] = ()
    problem: str = ""
    store: str = ""


def calls_behind(source: SourceRow, line: Mapping[str, Any], store: str = "") -> CallsBehind:
    """Return the calls behind a line, from the named store, or else the manifest's."""
    if not asked_of(line):
        lost = "The line has the hash of a prompt, but does not name its calls."
        none = "No language model was asked, so there is no prompt."
        return CallsBehind(problem=lost if line.get("prompt_hash") else none)
    if hides_text():
        problem = "Prompts and replies contain texts, which are hidden (--no-text)."
        return CallsBehind(problem=problem)
    path = _store(source, store)
    if path is None:
        return CallsBehind(problem=_missing(source, store))
    try:
        with Store(path, read_only=True) as opened:
            return CallsBehind(replies_of(line, opened), store=str(path))
    except PnyxError as error:
        return CallsBehind(problem=f"{error}.")


def _named_store(source: SourceRow) -> str:
    stated = source.about.get("store")
    path = stated.get("path") if isinstance(stated, Mapping) else None
    return path if isinstance(path, str) and "\0" not in path else ""


def _store(source: SourceRow, store: str) -> Path | None:
    """Return the store's file; one named by the manifest may be next to the results."""
    if store:
        return Path(store) if Path(store).is_file() else None
    named = _named_store(source)
    return _beside(source, named) if named else None


def _beside(source: SourceRow, name: str) -> Path | None:
    """Return the file that a source names, relative to the working folder or to the source."""
    folder = Path(source.path)
    paths = (Path(name), folder / name, folder.parent / name, folder / Path(name).name)
    return next((path for path in paths if path.is_file()), None)


def _missing(source: SourceRow, store: str) -> str:
    named = store or _named_store(source)
    if not named:
        return "The results do not name their judgement store: give it with --store FILE."
    how = "" if store else ": give another with --store FILE"
    return f"The judgement store {named} is not on this machine{how}."


def prompt_blocks(calls: Iterable[Exchange]) -> list[tuple[str, str]]:
    """Return the (label, text) pairs in the first call: document, statement ..."""
    for call in calls:
        for message in call.messages:
            if message.role == "user":
                blocks = list(_blocks(message.content))
                if blocks:
                    return blocks
    return []


def _blocks(text: str) -> Iterator[tuple[str, str]]:
    """Yield the text between a line `<<<NAME TOKEN` and the next `NAME TOKEN>>>`."""
    lines = text.split("\n")
    ends: dict[str, list[int]] = {}
    for number in range(len(lines) - 1, -1, -1):  # the next one of a name is last in its list
        if lines[number].endswith(">>>"):
            ends.setdefault(lines[number], []).append(number)
    after = 0
    for number, line in enumerate(lines):
        opening = _OPENING.fullmatch(line) if number >= after else None
        closing = ends.get(f"{opening[1]} {opening[2]}>>>", []) if opening else []
        while closing and closing[-1] <= number:
            closing.pop()
        if opening and closing:
            after = closing[-1] + 1
            yield opening[1], "\n".join(lines[number + 1 : closing[-1]])


# Documents ----------------------------------------------------------------------------------------


def documents_of(catalogue: Catalogue, run: str, topic: str) -> dict[str, Document]:
    """Return id -> document, with a text, of those that a run's responses embed."""
    documents: dict[str, Document] = {}
    if not hides_text():
        for report in catalogue.reports(run=run, topic=topic):
            for name, document in catalogue.report_texts(report).documents().items():
                if document.text.strip():
                    documents.setdefault(name, document)
    return documents


# What was asked -----------------------------------------------------------------------------------


def asked_texts(
    catalogue: Catalogue,
    judgement: JudgementRow,
    line: Mapping[str, Any],
    blocks: Sequence[tuple[str, str]],
) -> list[AskedText]:
    """Return the judged texts: from the prompt, only this question's if it has several."""
    evidence = text_of(line, "evidence")
    stated = _texts(blocks, evidence) or _fields(line, evidence)
    notes = line.get("notes")
    if stated and not (isinstance(notes, dict) and notes.get("batch")):
        return stated
    texts = _of_items(catalogue.source(judgement.source), judgement.item, evidence)
    texts = texts or _fields(catalogue.item(judgement), evidence)
    texts = texts or list(_of_reports(catalogue, judgement, line, evidence))
    if not any(text.judged for text in texts):
        texts = [*_of_collection(catalogue, judgement, evidence), *texts]
    if stated and not any(text.judged for text in texts):
        shared = [text for text in stated if text.judged]
        shared_words = [text.words for text in shared]
        texts = [*shared, *(text for text in texts if text.words not in shared_words)]
    return texts or stated


def listed_texts(catalogue: Catalogue, rows: Sequence[JudgementRow | SentenceRow]) -> list[str]:
    """Return the clipped text of each row of a list; empty if unknown."""
    listed = _Listed(catalogue)
    texts = (
        listed.of_sentence(row) if isinstance(row, SentenceRow) else listed.of_judgement(row)
        for row in (() if hides_text() else rows)
    )
    return [" · ".join(shorten(text, _CLIPPED) for text in some[:3]) for some in texts]


class _Listed:
    """The texts of the rows of one list; each report is read once."""

    def __init__(self, catalogue: Catalogue) -> None:
        self.catalogue = catalogue
        self.sources = {source.name: source for source in catalogue.sources()}
        self.reports = cache(lambda *key: catalogue.reports(**dict(zip(_KEY, key, strict=True))))
        self.report_texts = cache(catalogue.report_texts)
        self.texts = cache(catalogue.texts)

    def of_sentence(self, row: SentenceRow) -> list[str]:
        texts = map(self.texts, self.reports(row.source, row.run, row.topic))
        return next(([some[row.n - 1]] for some in texts if row.n <= len(some)), [])

    def of_judgement(self, row: JudgementRow) -> list[str]:
        line = self.catalogue.line(row)
        fields = _fields(line, "") or _of_items(self.sources[row.source], row.item, "")
        fields = fields or _fields(self.catalogue.item(row), "")
        if not fields and row.run and row.topic:
            reports = self.reports(row.source, row.run, row.topic)
            fields = [
                text
                for report in reports
                for text in _of_report(self.report_texts(report), row, line)
            ]
        if not any(text.judged for text in fields):
            fields = [*_of_collection(self.catalogue, row, ""), *fields]
        return [" ".join(text.words) for text in fields]


def _texts(pairs: Iterable[tuple[str, str]], evidence: str) -> list[AskedText]:
    return [
        AskedText(label, marked(text, evidence if label in _JUDGED else ""), label in _JUDGED)
        for label, text in pairs
    ]


def _fields(row: Mapping[str, Any], evidence: str) -> list[AskedText]:
    return _texts([(n, row[n]) for n in _FIELDS if text_of(row, n).strip()], evidence)


def _of_items(source: SourceRow, item: str, evidence: str) -> list[AskedText]:
    """Return an item's texts, only from the file that was judged (SHA-256 in the manifest)."""
    stated, digest = source.about.get("items"), source.about.get("items_sha256")
    name = stated.get("path") if isinstance(stated, Mapping) else None
    readable = isinstance(name, str) and isinstance(digest, str) and source.task in TASKS
    if not readable or hides_text() or "\0" in str(name):
        return []
    path = _beside(source, str(name))
    if path is None or path.stat().st_size > _LARGEST:
        return []
    items = _items(str(path), path.stat().st_mtime_ns, source.task, str(digest))
    texts = _question_texts(items[item]) if item in items else []
    return [
        AskedText(label, marked(text, evidence if n == 0 else ""), n == 0)
        for n, (label, text) in enumerate(texts)
    ]


@lru_cache(maxsize=4)
def _items(path: str, _changed: int, task: str, digest: str) -> dict[str, JudgeQuestion]:
    try:
        questions = TASKS[task].read(path)
    except PnyxError:
        return {}
    hashed = hashlib.sha256()
    for question in questions:
        hashed.update(item_bytes(question))
    return {q.id: q for q in questions} if hashed.hexdigest() == digest else {}


def _question_texts(question: Any) -> list[tuple[str, str]]:
    texts: list[tuple[str, str]] = []
    for name in dict.fromkeys((*question.judged, *_OTHER_FIELDS)):
        value = getattr(question, name, "")
        several = isinstance(value, tuple)
        label = name.removesuffix("s") if several else _NAMES.get(name, name)
        for n, text in enumerate(value if several else [value], 1):
            if isinstance(text, str) and text.strip():
                texts.append((f"{label} {n}" if several else label, text))
    return texts


def _of_collection(
    catalogue: Catalogue, judgement: JudgementRow, evidence: str
) -> Iterator[AskedText]:
    """Yield the document and the perspective, if the index and their file were given."""
    document = catalogue.passage(judgement.doc) if judgement.doc else None
    if document is not None:
        yield AskedText("document", marked(judged_text(document), evidence), judged=True)
    perspective = catalogue.perspectives.get((judgement.topic, judgement.perspective))
    if perspective is not None and not hides_text():
        yield AskedText("perspective", marked(perspective.text))


def _of_reports(
    catalogue: Catalogue, judgement: JudgementRow, line: Mapping[str, Any], evidence: str
) -> Iterator[AskedText]:
    """Yield the judged texts, if given reports or responses contain them."""
    run, topic = judgement.run, judgement.topic
    if not topic:
        return
    if judgement.doc:
        responses = catalogue.reports(run=run, topic=topic, kind="response")
        documents: dict[str, Document] = {}
        for name in dict.fromkeys(response.run for response in responses):
            documents |= documents_of(catalogue, name, topic)
        if judgement.doc in documents:
            text = documents[judgement.doc].text
            yield AskedText("document", marked(text, evidence), judged=True)
    reports = catalogue.reports(source=judgement.source, topic=topic, kind="judged")
    report = next((report for report in reports if not run or report.run == run), None)
    if report is not None:
        yield from _of_report(catalogue.report_texts(report), judgement, line)


def _of_report(
    texts: ReportTexts, judgement: JudgementRow, line: Mapping[str, Any]
) -> Iterator[AskedText]:
    """Yield the judged texts of a report, from the report itself."""
    for label, text in texts.asked(judgement, line):
        yield AskedText(label, marked(text))
