"""The records that the rooms exchange: frozen and typed, with the field's own terms as names."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias, get_args
from unicodedata import normalize

from pnyx.core.errors import InputError, shorten

__all__ = [
    "CITATION_STYLES",
    "NODES",
    "SIDES",
    "STANCES",
    "UNITS",
    "Argument",
    "Citation",
    "CitationStyle",
    "Debate",
    "DebatePoint",
    "Document",
    "Evidence",
    "LeaderboardCell",
    "Node",
    "Passage",
    "Perspective",
    "Premise",
    "Qrel",
    "Question",
    "Response",
    "RunEntry",
    "Sentence",
    "Side",
    "Source",
    "Stance",
    "Unit",
    "as_question",
    "document_id",
    "judged_text",
    "md5_of",
    "question_id",
]

Stance: TypeAlias = Literal["pro", "con", "neutral"]
"""The side that a text takes on its topic."""

STANCES: tuple[Stance, ...] = get_args(Stance)
"""All stances."""

Side: TypeAlias = Literal["pro", "con"]
"""A side that can be argued: `pro` answers the question with yes, `con` with no."""

SIDES: tuple[Side, ...] = get_args(Side)
"""Both sides, in the order in which they are argued and displayed."""

CitationStyle: TypeAlias = Literal["ids", "scores", "indices"]
"""A list of document ids, a map from id to confidence, or indices into `references`."""

CITATION_STYLES: tuple[CitationStyle, ...] = get_args(CitationStyle)
"""All styles of citing."""


Unit: TypeAlias = Literal["document", "passage"]
"""The units that are indexed and retrieved: whole documents, or passages of them."""

UNITS: tuple[Unit, ...] = get_args(Unit)
"""Both units."""

Node: TypeAlias = Literal[
    "relevant", "attests", "answers", "negative", "unanswerable", "needs_citation", "said_before"
]
"""The question that is asked about a report at a node of the judgment tree (Auto-ARGUE, Fig. 1).

Is a cited document relevant? Does it attest the sentence? Does the sentence give an answer? Is a
sentence without citations a negative statement? Does an unanswerable nugget confirm it? Does it
need a citation? Was it said and cited before?
"""

NODES: tuple[Node, ...] = get_args(Node)
"""All nodes."""


def extra_fields() -> Any:
    """Return a dataclass field for the other fields of a file, which are kept unchanged."""
    return field(default_factory=dict, hash=False, repr=False)


@dataclass(frozen=True, slots=True)
class Passage:
    """The source of a passage.

    Attributes:
        document: id of the document that contains it.
        number: its position in the document, from 1.
        count: the number of passages in the document.
        heading: the headings above it, outermost first, or "".
        speaker: the person who says or wrote it, or "".
    """

    document: str
    number: int = 1
    count: int = 1
    heading: str = ""
    speaker: str = ""

    @property
    def is_part(self) -> bool:
        """Whether the document has other passages as well."""
        return self.count > 1

    @property
    def place(self) -> str:
        """Its position in words, "passage 3 of 9"; empty for a whole document."""
        return f"passage {self.number:,} of {self.count:,}" if self.is_part else ""

    @property
    def described(self) -> str:
        """Its position, heading and speaker in words, quoted from the document."""
        return ", ".join(
            filter(
                None,
                [
                    self.place,
                    f"under “{self.heading}”" if self.heading else "",
                    f"by {self.speaker}" if self.speaker else "",
                ],
            )
        )

    def fields(self) -> dict[str, str | int]:
        """Return it as additional fields of a document in a file."""
        return {
            "document": self.document,
            "passage": self.number,
            "passages": self.count,
            "heading": self.heading,
            "speaker": self.speaker,
        }


@dataclass(frozen=True, slots=True)
class Document:
    """A passage or page of evidence. `id` is unique within a corpus; `text` is plain text.

    `passage` says which part of a longer document it is, under which heading and by whom.
    """

    id: str
    text: str
    title: str = ""
    url: str = ""
    source: str = ""
    extra: Mapping[str, Any] = extra_fields()
    passage: Passage | None = None


@dataclass(frozen=True, slots=True)
class Premise:
    """A reason given for a conclusion; `stance` is its side *towards that conclusion* (args.me)."""

    text: str
    stance: Side | None = None
    extra: Mapping[str, Any] = extra_fields()


@dataclass(frozen=True, slots=True)
class Argument:
    """A conclusion with the premises given for it.

    `stance` is the side taken on `topic`, or on `conclusion` if the source names no topic
    (args.me). It is None if the source does not say. `body` is the source's own running text if
    there is one; otherwise the text is the conclusion and the premises joined. `passage` says which
    part of a longer argument this is.
    """

    id: str
    conclusion: str
    premises: tuple[Premise, ...] = ()
    stance: Stance | None = None
    topic: str = ""
    source: str = ""
    url: str = ""
    body: str | None = None
    extra: Mapping[str, Any] = extra_fields()
    passage: Passage | None = None

    @property
    def title(self) -> str:
        """The conclusion, which a ranked list shows in bold."""
        return self.conclusion

    @property
    def text(self) -> str:
        """The whole argument as running text."""
        if self.body is not None:
            return self.body
        parts = (self.conclusion, *(p.text for p in self.premises))
        return " ".join(_ended(part) for part in parts if part.strip())


def _ended(part: str) -> str:
    """End a headline-like part with a full stop, so that joining keeps sentences apart."""
    part = part.strip()
    return part if part[-1] in ".!?…\"'”’)" else part + "."


Evidence: TypeAlias = Document | Argument
"""Anything that can be indexed, retrieved and cited."""


def document_id(evidence: Evidence) -> str:
    """Return the id of the document that contains a passage, or a whole document's own id."""
    return evidence.id if evidence.passage is None else evidence.passage.document


def judged_text(document: Evidence) -> str:
    """Return the text of a document that is judged: title and text.

    For a passage, its headings and speaker are lines before the text. The reasons are in
    docs/explain/decisions/judged-text.md.
    """
    text, title = document.text, document.title.strip()
    has_title = not title or (isinstance(document, Argument) and title in text)
    lines = [] if has_title else [title]
    if (passage := document.passage) is not None:
        lines += [passage.heading] if passage.heading else []
        lines += [f"{passage.speaker}:"] if passage.speaker else []
    return "\n".join([*lines, text])


@dataclass(frozen=True, slots=True)
class Question:
    """A question to be argued, or a TREC topic; `definition` says what is relevant (DIRAS).

    `claims`: the statements of pro and con, if they are given rather than derived from the text.
    """

    id: str
    text: str
    description: str = ""
    narrative: str = ""
    definition: str = ""
    extra: Mapping[str, Any] = extra_fields()
    claims: tuple[str, str] | None = None


def md5_of(text: str) -> str:
    """Return the MD5 of a text, which autojudge uses as the id of a nugget or topic without one."""
    return hashlib.md5(text.encode(errors="surrogatepass"), usedforsecurity=False).hexdigest()


def question_id(question: str) -> str:
    """Make a topic id from a question: its words, joined by hyphens, at most 60 characters."""
    words = re.findall(r"\w+", question.casefold())
    return "-".join(words)[:60].strip("-") or "question"


def as_question(question: Question | str) -> Question:
    """Return a question as it is, or make one from its text; InputError for anything else."""
    if isinstance(question, Question):
        return question
    if isinstance(question, str) and question.strip():
        text = normalize(
            "NFC", question
        )  # as for documents: a letter of two characters becomes one
        return Question(question_id(text), text)
    description = (
        "an empty text" if isinstance(question, str) else shorten(type(question).__name__, 40)
    )
    raise InputError(f"found {description}, expected a question: its text, or a Question")


@dataclass(frozen=True, slots=True)
class Perspective:
    """One view on a question, as a full-sentence claim (BERDS); `stance` is its side on it."""

    id: str
    question_id: str
    text: str
    stance: Stance | None = None
    extra: Mapping[str, Any] = extra_fields()


@dataclass(frozen=True, slots=True)
class Citation:
    """A sentence's reference to a document, with the writer's confidence in [0, 1] if given."""

    doc_id: str
    score: float | None = None


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of a response with the documents it cites, in order."""

    text: str
    citations: tuple[Citation, ...] = ()
    extra: Mapping[str, Any] = extra_fields()


@dataclass(frozen=True, slots=True)
class Response:
    """A cited answer or report to one topic by one run (TREC RAG, RAGTIME, NeuCLIR, DRAGUN).

    `references` lists the document ids, possibly more than are cited. `documents` holds cited texts
    if the file embeds them. `metadata` has all other metadata fields, unchanged.
    """

    topic_id: str
    run_id: str
    sentences: tuple[Sentence, ...]
    references: tuple[str, ...] = ()
    team_id: str = ""
    topic: str = ""
    documents: Mapping[str, Document] = extra_fields()
    metadata: Mapping[str, Any] = extra_fields()
    extra: Mapping[str, Any] = extra_fields()


@dataclass(frozen=True, slots=True)
class RunEntry:
    """One line of a TREC run: `topic Q0 doc rank score tag`."""

    topic_id: str
    doc_id: str
    rank: int
    score: float
    tag: str = "pnyx"


@dataclass(frozen=True, slots=True)
class LeaderboardCell:
    """The value of one run by one measure, on one topic or over all topics.

    Attributes:
        run_id: the system that was measured.
        topic_id: the topic; `all` for a value over all topics (trec_eval).
        measure: its name.
        value: finite; None if nothing could be scored, which is never 0.
    """

    run_id: str
    topic_id: str
    measure: str
    value: float | None
    extra: Mapping[str, Any] = extra_fields()

    @property
    def over_all(self) -> bool:
        """Whether it is a value over all topics."""
        return self.topic_id == "all"


@dataclass(frozen=True, slots=True)
class Qrel:
    """One line of TREC qrels; in diversity qrels `subtopic` numbers a perspective or nugget."""

    topic_id: str
    doc_id: str
    grade: int
    subtopic: str = "0"


@dataclass(frozen=True, slots=True)
class Source:
    """A source cited by a debate page: `id` is its number on the page, `doc_id` its document's id.

    `title` is the bibliographic line, `url` its link; both may be empty, and so may the ids.
    """

    id: str
    title: str = ""
    url: str = ""
    doc_id: str = ""
    extra: Mapping[str, Any] = extra_fields()


@dataclass(frozen=True, slots=True)
class DebatePoint:
    """One argument of a side: a headline, and paragraphs with the ids of the sources they cite.

    `citations` has an entry for each paragraph, or is empty if they are unknown.
    """

    title: str
    paragraphs: tuple[str, ...] = ()
    citations: tuple[tuple[str, ...], ...] = ()
    extra: Mapping[str, Any] = extra_fields()

    @property
    def cited(self) -> tuple[str, ...]:
        """The sources that it cites, without duplicates, in order."""
        return tuple(dict.fromkeys(source for cited in self.citations for source in cited))


@dataclass(frozen=True, slots=True)
class Debate:
    """A debate page: both sides of a question with their sources (ConQRet, appendix A)."""

    id: str
    title: str
    question: str = ""
    introduction: tuple[str, ...] = ()
    pros: tuple[DebatePoint, ...] = ()
    cons: tuple[DebatePoint, ...] = ()
    sources: tuple[Source, ...] = ()
    url: str = ""
    extra: Mapping[str, Any] = extra_fields()

    @property
    def topic(self) -> str:
        """The question, or the title of a page without a question."""
        return self.question or self.title

    def side(self, side: Side) -> tuple[DebatePoint, ...]:
        """Return the arguments of a side."""
        return self.pros if side == "pro" else self.cons
