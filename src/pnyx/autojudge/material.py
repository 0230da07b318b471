"""What a judge of a campaign works on: reports, topics and documents, in a fixed order."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pnyx.autojudge.asking import say
from pnyx.autojudge.convert import question_of, response_of
from pnyx.errors import InputError, PnyxError, escaped
from pnyx.records import Evidence, Question, Response

if TYPE_CHECKING:
    from autojudge_base import Report, Request

__all__ = ["Material", "material_of"]

_IR_DATASETS = "ir_datasets:"
_CORPUS = ("corpus.jsonl", "corpus.jsonl.gz")


@dataclass(frozen=True, slots=True)
class Material:
    """Everything that is judged.

    Attributes:
        responses: on the topics, by run, then topic: the same in whatever order they came.
        questions: topic -> the topic.
        rows: the same as JSON, for what decides the answers.
        documents: id -> document of the corpus; only what is cited.
    """

    responses: Sequence[Response]
    questions: Mapping[str, Question]
    rows: Sequence[str]
    documents: Mapping[str, Evidence]

    def cited(self, topic_id: str) -> dict[str, Evidence | None]:
        """Return the cited documents of a topic, by id; None where one has no text."""
        found: dict[str, Evidence | None] = {}
        for response in self.responses:
            if response.topic_id != topic_id:
                continue
            for doc_id in _cited(response):
                found[doc_id] = found.get(doc_id) or self._document(response, doc_id)
        return dict(sorted(found.items()))

    def _document(self, response: Response, doc_id: str) -> Evidence | None:
        document = response.documents.get(doc_id) or self.documents.get(doc_id)
        return document if document is not None and document.text.strip() else None


def _cited(response: Response) -> set[str]:
    return {one.doc_id for sentence in response.sentences for one in sentence.citations}


def material_of(
    reports: Iterable[Report] | None, topics: Sequence[Request], corpus: str | None
) -> Material:
    """Return what the runner hands over as records; reports on other topics are left out.

    Raises:
        InputError: a report or topic cannot be read, or the corpus cannot.
    """
    questions = {one.request_id: question_of(one) for one in topics}
    pairs = [(response_of(one), one.model_dump_json(exclude_none=True)) for one in reports or ()]
    kept = [pair for pair in pairs if pair[0].topic_id in questions]
    kept.sort(key=lambda pair: (pair[0].run_id, pair[0].topic_id))
    if len(kept) < len(pairs):
        say(f"warning: {len(pairs) - len(kept)} reports on other topics are left out")
    responses = [response for response, _ in kept]
    rows = [row for _, row in kept]
    rows += sorted(one.model_dump_json(exclude_none=True) for one in topics)
    wanted = {doc_id for one in responses for doc_id in _cited(one) if doc_id not in one.documents}
    return Material(responses, questions, rows, _documents(corpus, wanted))


def _documents(corpus: str | None, wanted: set[str]) -> dict[str, Evidence]:
    """Return those documents of a corpus that are cited; lines that cannot be read are counted."""
    if corpus is None or not wanted:
        return {}
    from pnyx.corpora import check, find_format

    source = _source(corpus)
    found: dict[str, Evidence] = {}
    faults: list[PnyxError] = []
    for row in check(source, find_format(source)):
        if isinstance(row, PnyxError):
            faults.append(row)
            continue
        record = row[1]
        if getattr(record, "id", None) in wanted:
            found[record.id] = record
    if faults:
        say(
            f"warning: {len(faults)} documents of the corpus cannot be read; the first: {faults[0]}"
        )
    if len(found) < len(wanted):
        say(f"warning: {len(wanted) - len(found)} of {len(wanted)} cited documents are not there")
    return found


def _source(corpus: str) -> str:
    """Return what `--corpus` names as a source of documents: a file, a folder or a data set."""
    path = Path(corpus).expanduser()
    if path.is_dir():
        return next((str(path / one) for one in _CORPUS if (path / one).exists()), str(path))
    if path.exists():
        return str(path)
    if "://" in corpus:
        found = escaped(corpus, 60)
        raise InputError(f"--corpus: found the address {found!r}, expected a file, a folder or a "
                         "data set of ir_datasets")  # fmt: skip
    return corpus if corpus.startswith(_IR_DATASETS) else f"{_IR_DATASETS}{corpus}"
