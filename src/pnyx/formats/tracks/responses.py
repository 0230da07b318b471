"""Checking one response against the rules of a track.

The raw row is checked, not a `Response`: a track may accept what cannot be read as one (a reference
given twice), and reject what can (too many citations). Each finding is about one thing, in terms of
the track's own field names. Order and conditions are those of autojudge-base 1.0, so that both find
the same.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from pnyx.core.errors import InputError, shorten
from pnyx.formats.fields import a_list, an_object, string, unlike
from pnyx.formats.text.segment import UNITS, count_length
from pnyx.formats.tracks.requests import ReportRequest
from pnyx.formats.tracks.rules import Problem, TrackRules, run_id_problems

_TOPIC_IDS: Final = ("topic_id", "narrative_id", "request_id")
_STYLES: Final = {"rag24": "indices", "neuclir": "a list of ids", "ragtime": "a map of scores"}


@dataclass(frozen=True, slots=True)
class Submitted:
    """A response as submitted."""

    metadata: Mapping[str, Any]  # or the whole row of a flat layout
    key: str  # the field that holds its sentences
    sentences: tuple[tuple[str | None, Any], ...]  # text and citations; None if it is not text
    tags: tuple[str, ...]  # kind of citations of each; empty without any
    references: tuple[str, ...] | None  # None if missing
    row: Mapping[str, Any]  # the whole line

    @property
    def topic_id(self) -> str:
        """The topic's id; empty if missing."""
        ids = (self.metadata.get(name) for name in _TOPIC_IDS)
        return next((str(value) for value in ids if _is_id(value)), "")

    @property
    def run_id(self) -> str:
        """The run's name; empty if it is not text."""
        name = self.metadata.get("run_id")
        return name if isinstance(name, str) else ""

    @property
    def texts(self) -> list[str]:
        """The sentences that are text."""
        return [text for text, _ in self.sentences if text is not None]

    def cited(self, number: int) -> list[str]:
        """Return the ids that a sentence cites; invalid indices are left out."""
        citations = self.sentences[number][1] or ()
        if self.tags[number] != "rag24":
            return list(citations)
        references = self.references or ()
        return [references[citation] for citation in citations if 0 <= citation < len(references)]


def _is_id(value: Any) -> bool:
    if isinstance(value, str):
        return bool(value.strip())
    return isinstance(value, int) and not isinstance(value, bool)


def submitted(row: Mapping[str, Any], rules: TrackRules) -> Submitted:
    """Parse a line; InputError if no rule can be checked on it."""
    if rules.flat and "metadata" in row:
        raise InputError(f"found metadata, {rules.track} has run_id and topic_id beside the answer")
    metadata = row if rules.flat else an_object(row.get("metadata"), "metadata")
    other = "answer" if rules.sentences_key == "responses" else "responses"
    key = rules.sentences_key
    key = other if row.get(key) is None and row.get(other) is not None else key
    values = row.get(key)
    if values is None:
        raise InputError(f"no {rules.sentences_key}, expected a list of sentences")
    references = row.get("references")
    if references is not None:
        places = enumerate(a_list(references, "references", "a list of ids"))
        references = tuple(string(reference, f"references[{i}]") for i, reference in places)
    sentences = [
        _sentence(sentence, f"{key}[{i}]")
        for i, sentence in enumerate(a_list(values, key, "a list of sentences"))
    ]
    documents = row.get("documents")
    if documents is not None:
        an_object(documents, "documents")
    _check_ids(metadata)
    if rules.typed_metadata:
        for name, (expected, fits) in _TYPES.items():
            if name not in metadata or (metadata[name] is None and name not in _NEVER_NULL):
                continue
            if not fits(metadata[name]):
                raise unlike(metadata[name], f"metadata.{name}", expected)
    return Submitted(
        metadata, key, tuple(s[:2] for s in sentences), tuple(s[2] for s in sentences),
        references, row,
    )  # fmt: skip


def _check_ids(metadata: Mapping[str, Any]) -> None:
    named = {name: str(metadata[name]) for name in _TOPIC_IDS if _is_id(metadata.get(name))}
    if len(set(named.values())) > 1:
        (name, first), (again, second) = list(named.items())[:2]
        if first == second:
            again, second = list(named.items())[2]
        problem = f"{name} is {shorten(first, 40)!r}, {again} is {shorten(second, 40)!r}"
        raise InputError(f"{problem}: expected the same topic")


_TASKS: Final = ("multilingual", "english", "rag")


def _whole(value: Any) -> bool:
    """Return whether a value is a whole number, perhaps as text or with a fraction of 0."""
    if isinstance(value, str):
        return re.fullmatch(r"\s*[+-]?\d+(\.0*)?\s*", value) is not None
    return isinstance(value, int) or (isinstance(value, float) and value.is_integer())


_TYPES: Final[Mapping[str, tuple[str, Callable[[Any], bool]]]] = {
    **dict.fromkeys(
        ("topic_id", "request_id", "narrative", "type", "description", "run_desc"),
        ("text", lambda value: isinstance(value, str)),
    ),
    "narrative_id": (
        "text or a whole number",
        lambda v: isinstance(v, str) or (_whole(v) and not isinstance(v, bool)),
    ),
    **dict.fromkeys(("limit", "use_starter_kit"), ("a whole number", _whole)),
    "task": (f"one of {', '.join(_TASKS)}", lambda value: value in _TASKS),
    "collection_ids": (
        "a list of text",
        lambda value: isinstance(value, list) and all(isinstance(item, str) for item in value),
    ),
    **dict.fromkeys(
        ("creator", "extra", "evaldata"), ("an object", lambda value: isinstance(value, dict))
    ),
}
"""Field of the metadata -> what it must be (autojudge-base, `ReportMetaData`)."""

_NEVER_NULL: Final = ("topic_id", "creator", "extra")


def _sentence(value: Any, where: str) -> tuple[str | None, Any, str]:
    """Return text, citations and their kind."""
    fields = an_object(value, where)
    text = fields.get("text")
    if text is not None:
        string(text, f"{where}.text")
    citations = fields.get("citations")
    if citations is None or citations == []:
        return text, citations, ""
    if isinstance(citations, dict):
        return text, citations, "ragtime"
    for source in a_list(citations, f"{where}.citations", "a list or an object"):
        if isinstance(source, bool) or not isinstance(source, str | int):
            raise unlike(source, f"{where}.citations", "ids or indices")
    kinds = {isinstance(citation, str) for citation in citations}
    if len(kinds) > 1:
        raise InputError(f"{where}.citations: found ids and indices, expected only one of them")
    return text, citations, "neuclir" if kinds.pop() else "rag24"


def problems_of(
    response: Submitted, rules: TrackRules, request: ReportRequest | None
) -> Iterator[Problem]:
    """Yield the findings for a response; for an empty one only that it is empty."""
    if response.key != rules.sentences_key:
        yield "sentences_key", f"found {response.key}, {rules.track} writes {rules.sentences_key}"
    yield from _identity(response, rules)
    if not response.sentences:
        yield "empty_answer", f"{response.key} has no sentences"
        return
    if not any(text.strip() for text in response.texts):
        yield "empty_answer", f"all sentences of {response.key} are blank"
        return
    yield from _metadata(response, rules)
    yield from _sentences(response, rules)
    yield from _references(response, rules)
    yield from _length(response, rules, request)


_NAMES: Final = ("team_id", "run_id")


def _identity(response: Submitted, rules: TrackRules) -> Iterator[Problem]:
    """Yield findings that prevent even an empty response from being counted."""
    where = "" if rules.flat else "metadata."
    if not response.topic_id:
        yield "metadata", f"{where}{rules.topic_id_field} is missing"
    for name in _NAMES:
        value = response.metadata.get(name)
        if value is None and name in rules.mandatory_metadata:
            yield "metadata", f"{where}{name} is missing"
        elif value is not None and not isinstance(value, str):
            yield "metadata", f"{where}{name}: found {shorten(value, 40)}, expected text"


def _metadata(response: Submitted, rules: TrackRules) -> Iterator[Problem]:
    where = "" if rules.flat else "metadata."
    mandatory = [name for name in rules.mandatory_metadata if name not in _TOPIC_IDS]
    for category, names in (
        ("metadata", mandatory),
        ("metadata_recommended", rules.recommended_metadata),
    ):
        for name in names:
            value = response.metadata.get(name)
            if value is None and name not in _NAMES:
                yield category, f"{where}{name} is missing"
            elif isinstance(value, str) and not value.strip():
                yield category, f"{where}{name} is empty"
    if rules.forbid_extra_metadata:
        for name in response.metadata:
            if name not in rules.mandatory_metadata:
                yield "metadata", f"{where}{shorten(name, 40)}: the track allows no further fields"
    yield from run_id_problems(response.run_id, rules)


def _sentences(response: Submitted, rules: TrackRules) -> Iterator[Problem]:
    used = next((tag for tag in response.tags if tag), "")
    for number, (text, citations) in enumerate(response.sentences):
        where = f"{response.key}[{number}]"
        tag = response.tags[number]
        if (tag or used) != used or (used == "ragtime" and citations == []):
            style = _STYLES.get(tag, "an empty list")
            yield "citation_format", f"{where} cites by {style}, others by {_STYLES[used]}"
            continue
        if tag and tag not in rules.sentence_type:
            accepted = " or ".join(_STYLES[name] for name in rules.sentence_type)
            yield "citation_format", f"{where} cites by {_STYLES[tag]}, expected {accepted}"
            continue
        if text is None or not text.strip():
            yield "blank_sentence", f"{where} has no text"
        yield from _citations(response, number, where, rules)


def _citations(
    response: Submitted, number: int, where: str, rules: TrackRules
) -> Iterator[Problem]:
    citations = response.sentences[number][1] or ()
    most, count = rules.max_citations_per_sentence, len(citations)
    if most is not None and count > most:
        yield "citation_count", f"{where} has {count} citations, expected at most {most}"
    if rules.check_duplicate_citations and len(set(citations)) < count:
        yield "citation_duplicate", f"{where} cites a document twice"
    if response.tags[number] == "rag24":
        size = len(response.references or ())
        for index in citations:
            if not 0 <= index < size:
                problem = (
                    f"{where} cites index {shorten(index, 20)} with {size} references (from 0)"
                )
                yield "reference_index", problem
    elif isinstance(citations, dict):
        for doc_id, score in citations.items():
            if isinstance(score, bool) or not isinstance(score, int | float):
                problem = f"score of {shorten(doc_id, 60)!r}: found {shorten(score, 20)}"
                yield "citation_score", f"{where}: {problem}, expected a number"
    yield from _doc_ids(response.cited(number), where, rules)


def _doc_ids(ids: Iterator[str] | list[str], where: str, rules: TrackRules) -> Iterator[Problem]:
    if rules.docid_pattern is None:
        return
    for doc_id in ids:
        if not re.match(rules.docid_pattern, doc_id):
            of = f" of {rules.collection_ids[0]}" if rules.collection_ids else ""
            problem = f"{where}: {shorten(doc_id, 60)!r} is not an id{of}"
            yield "docid_pattern", f"{problem} (expected {rules.docid_pattern})"


def _references(response: Submitted, rules: TrackRules) -> Iterator[Problem]:
    references = response.references
    if references is None and rules.references_required:
        yield "references_missing", "no references"
    if rules.references_kind == "ignore":
        return
    if rules.references_kind == "none":
        if references:
            yield "references_present", f"found references, {rules.track} has none"
        return
    if rules.references_optional and not references:
        return
    if references is None:
        yield "references_missing", "no references"
        return
    if len(set(references)) < len(references):
        twice = next(d for i, d in enumerate(references) if d in references[:i])
        yield "references_duplicate", f"references: {shorten(twice, 60)!r} is given twice"
    yield from _doc_ids(list(references), "references", rules)
    yield from _declared(response, references, rules)


def _declared(
    response: Submitted, references: tuple[str, ...], rules: TrackRules
) -> Iterator[Problem]:
    """Yield the differences between the references and the cited documents."""
    cited = {
        doc_id for number in range(len(response.sentences)) for doc_id in response.cited(number)
    }
    if missing := sorted(cited - set(references)):
        problem = f"{len(missing)} cited documents are not in references"
        yield "references_undeclared", f"{problem}, the first is {shorten(missing[0], 60)!r}"
    most = rules.references_max
    if most is not None and len(references) > most:
        yield (
            "references_max",
            f"references has {len(references)} documents, expected at most {most}",
        )
    if uncited := sorted(set(references) - cited):
        problem = f"{len(uncited)} documents of references are not cited"
        yield "references_uncited", f"{problem}, the first is {shorten(uncited[0], 60)!r}"


def _length(
    response: Submitted, rules: TrackRules, request: ReportRequest | None
) -> Iterator[Problem]:
    length = count_length(response.texts, rules.length_unit)
    limit = rules.length_limit
    if limit is None and rules.length_limit_request_field is not None and request is not None:
        limit = getattr(request, rules.length_limit_request_field, None)
    unit = UNITS[rules.length_unit]
    if limit is not None and length > limit:
        yield "length", f"{response.key} has {length} {unit}, expected at most {limit}"
    if rules.response_length:
        declared = response.row.get("response_length")
        if declared is None:
            yield "metadata", "response_length is missing"
        elif declared != length:
            problem = f"response_length is {shorten(declared, 20)}"
            yield "response_length", f"{problem}, {response.key} has {length} {unit}"
