"""The material that a judge of a campaign works on: reports, topics, documents, in fixed order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pnyx.core.compression import ENDINGS
from pnyx.core.errors import InputError, PnyxError, escaped
from pnyx.core.folders import file_in
from pnyx.core.records import Evidence, Question, Response
from pnyx.reports.autojudge.answerer import say
from pnyx.reports.autojudge.convert import question_of, response_of

if TYPE_CHECKING:
    from autojudge_base import Report, Request

_IR_DATASETS = "ir_datasets:"
_CORPUS = ("corpus.jsonl", *(f"corpus.jsonl{ending}" for ending in ENDINGS))


@dataclass(frozen=True, slots=True)
class Material:
    """Everything that is judged."""

    responses: Sequence[Response]  # on the topics, by run, then topic, in one order
    questions: Mapping[str, Question]  # topic -> the topic
    rows: Sequence[str]  # the same as JSON, for a hash of what affects the answers
    documents: Mapping[str, Evidence] | None  # by id, only cited ones; None without a corpus

    def cited(self, topic_id: str) -> dict[str, Evidence | None]:
        """Return a topic's cited documents by id: the corpus's text, else the most common one."""
        texts: dict[str, list[Evidence]] = {}
        for response in self.responses:
            if response.topic_id == topic_id:
                documents: Mapping[str, Evidence] = (
                    response.documents if self.documents is None else self.documents
                )
                for doc_id in _cited(response):
                    versions = texts.setdefault(doc_id, [])
                    document = documents.get(doc_id)
                    if document is not None and document.text.strip():
                        versions.append(document)
        return {doc_id: _most_given(versions) for doc_id, versions in sorted(texts.items())}


def _most_given(documents: Sequence[Evidence]) -> Evidence | None:
    counts = Counter(document.text for document in documents)
    return max(documents, key=lambda document: counts[document.text], default=None)


def _cited(response: Response) -> set[str]:
    return {citation.doc_id for sentence in response.sentences for citation in sentence.citations}


def material_of(
    reports: Iterable[Report] | None, topics: Sequence[Request], corpus: str | None
) -> Material:
    """Convert the runner's objects to records; reports on other topics are left out."""
    questions = {topic.request_id: question_of(topic) for topic in topics}
    pairs = [
        (response_of(report), report.model_dump_json(exclude_none=True)) for report in reports or ()
    ]
    on_topic = [pair for pair in pairs if pair[0].topic_id in questions]
    on_topic.sort(key=lambda pair: (pair[0].run_id, pair[0].topic_id))
    if len(on_topic) < len(pairs):
        say(f"warning: {len(pairs) - len(on_topic)} reports on other topics are left out")
    responses = [response for response, _ in on_topic]
    rows = [row for _, row in on_topic]
    rows += sorted(topic.model_dump_json(exclude_none=True) for topic in topics)
    wanted = {doc_id for response in responses for doc_id in _cited(response)}
    return Material(responses, questions, rows, _documents(corpus, wanted))


def _documents(corpus: str | None, wanted: set[str]) -> dict[str, Evidence] | None:
    """Return the cited documents of a corpus; lines that cannot be read are counted."""
    if corpus is None:
        return None
    from pnyx.formats import check, find_format

    source = _source(corpus)
    by_id: dict[str, Evidence] = {}
    faults: list[PnyxError] = []
    for row in check(source, find_format(source)):
        if isinstance(row, PnyxError):
            faults.append(row)
            continue
        record = row[1]
        if getattr(record, "id", None) in wanted:
            by_id[record.id] = record
    if faults:
        say(
            f"warning: {len(faults)} documents of the corpus cannot be read; the first: {faults[0]}"
        )
    if len(by_id) < len(wanted):
        missing = f"{len(wanted) - len(by_id)} of {len(wanted)} cited documents"
        say(f"warning: {missing} are not in the corpus (unknown_documents)")
    return by_id


def _source(corpus: str) -> str:
    """Return the source of documents that `--corpus` names: a file, a folder or a data set."""
    path = Path(corpus).expanduser()
    if path.is_dir():
        files = (file_in(path, name) for name in _CORPUS)
        return next((str(file) for file in files if file is not None), str(path))
    if path.exists():
        return str(path)
    if "://" in corpus:
        address = escaped(corpus, 60)
        raise InputError(f"--corpus: found the address {address!r}, expected a file, a folder or a "
                         "data set of ir_datasets")  # fmt: skip
    return corpus if corpus.startswith(_IR_DATASETS) else f"{_IR_DATASETS}{corpus}"
