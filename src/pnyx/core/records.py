"""The records that flow between the rooms: frozen and typed; field names are the field's own."""

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
    "Nugget",
    "NuggetAnswer",
    "NuggetBank",
    "NuggetReference",
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
"""Both sides, in the order in which they are argued and shown."""

CitationStyle: TypeAlias = Literal["ids", "scores", "indices"]
"""A list of document ids, a map from id to confidence, or indices into `references`."""

CITATION_STYLES: tuple[CitationStyle, ...] = get_args(CitationStyle)
"""All styles of citing."""


Unit: TypeAlias = Literal["document", "passage"]
"""What is indexed and found: whole documents, or passages of them."""

UNITS: tuple[Unit, ...] = get_args(Unit)
"""Both units."""

Node: TypeAlias = Literal[
    "relevant", "attests", "answers", "negative", "unanswerable", "needs_citation", "said_before"
]
"""What is found out of a report at a node of the tree (Auto-ARGUE, Fig. 1).

Is a cited document relevant; does it attest the sentence; does the sentence give an answer; is a
sentence without citations a negative statement; does an unanswerable nugget confirm it; does it
need a citation; was it said and cited before?
"""

NODES: tuple[Node, ...] = get_args(Node)
"""All nodes."""


def _extra() -> Any:
    return field(default_factory=dict, hash=False, repr=False)


@dataclass(frozen=True, slots=True)
class Passage:
    """Where a passage is from.

    Attributes:
        document: id of the document that it is a part of.
        number: its place in the document, from 1.
        count: how many passages the document has.
        heading: the headings above it, from the outermost, or "".
        speaker: who says or wrote it, or "".
    """

    document: str
    number: int = 1
    count: int = 1
    heading: str = ""
    speaker: str = ""

    @property
    def is_part(self) -> bool:
        """Whether the document has other passages, too."""
        return self.count > 1

    @property
    def place(self) -> str:
        """Its place in words, "passage 3 of 9"; empty for a whole document."""
        return f"passage {self.number:,} of {self.count:,}" if self.is_part else ""

    @property
    def described(self) -> str:
        """Its place, heading and speaker in words; the texts are as in the document."""
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
        """Return it as further fields of a document in a file."""
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
    extra: Mapping[str, Any] = _extra()
    passage: Passage | None = None


@dataclass(frozen=True, slots=True)
class Premise:
    """A reason given for a conclusion; `stance` is its side *towards that conclusion* (args.me)."""

    text: str
    stance: Side | None = None
    extra: Mapping[str, Any] = _extra()


@dataclass(frozen=True, slots=True)
class Argument:
    """A conclusion with the premises given for it.

    `stance` is the side taken on `topic`; where a source names no topic (args.me), the side taken
    on `conclusion`. None where the source does not say. `body` holds the running text where the
    source has one of its own; otherwise the text is conclusion and premises joined. `passage` says
    which part of a longer argument it is.
    """

    id: str
    conclusion: str
    premises: tuple[Premise, ...] = ()
    stance: Stance | None = None
    topic: str = ""
    source: str = ""
    url: str = ""
    body: str | None = None
    extra: Mapping[str, Any] = _extra()
    passage: Passage | None = None

    @property
    def title(self) -> str:
        """The conclusion: what a ranked list shows in bold."""
        return self.conclusion

    @property
    def text(self) -> str:
        """The whole argument as running text."""
        if self.body is not None:
            return self.body
        parts = (self.conclusion, *(p.text for p in self.premises))
        return " ".join(_ended(part) for part in parts if part.strip())


def _ended(part: str) -> str:
    """Close a headline-like part with a full stop, so that joining never glues sentences."""
    part = part.strip()
    return part if part[-1] in ".!?…\"'”’)" else part + "."


Evidence: TypeAlias = Document | Argument
"""Anything that can be indexed, retrieved and cited."""


def document_id(evidence: Evidence) -> str:
    """Return the id of the document that a passage is from; of a whole document, its own."""
    return evidence.id if evidence.passage is None else evidence.passage.document


def judged_text(document: Evidence) -> str:
    """Return what is judged of a document (docs/decisions/judged-text.md): title and text.

    Of a passage, the headings above it and its speaker are lines before the text.
    """
    text, title = document.text, document.title.strip()
    said = not title or (isinstance(document, Argument) and title in text)
    lines = [] if said else [title]
    if (passage := document.passage) is not None:
        lines += [passage.heading] if passage.heading else []
        lines += [f"{passage.speaker}:"] if passage.speaker else []
    return "\n".join([*lines, text])


@dataclass(frozen=True, slots=True)
class Question:
    """A question to be argued, or a TREC topic; `definition` says what is relevant (DIRAS).

    `claims`: what pro and con assert, where that is given and not read off the text.
    """

    id: str
    text: str
    description: str = ""
    narrative: str = ""
    definition: str = ""
    extra: Mapping[str, Any] = _extra()
    claims: tuple[str, str] | None = None


def md5_of(text: str) -> str:
    """Return the MD5 of a text, the id that autojudge gives a nugget or topic without one."""
    return hashlib.md5(text.encode(errors="surrogatepass"), usedforsecurity=False).hexdigest()


def question_id(question: str) -> str:
    """Make a topic id of a question: its words, joined by hyphens, at most 60 characters."""
    words = re.findall(r"\w+", question.casefold())
    return "-".join(words)[:60].strip("-") or "question"


def as_question(asked: Question | str) -> Question:
    """Return a question as it is, or made of its text; InputError for anything else."""
    if isinstance(asked, Question):
        return asked
    if isinstance(asked, str) and asked.strip():
        text = normalize("NFC", asked)  # as documents are: a letter typed in two characters is one
        return Question(question_id(text), text)
    found = "an empty text" if isinstance(asked, str) else shorten(type(asked).__name__, 40)
    raise InputError(f"found {found}, expected a question: its text, or a Question")


@dataclass(frozen=True, slots=True)
class Perspective:
    """One view on a question, as a full-sentence claim (BERDS); `stance` is its side on it."""

    id: str
    question_id: str
    text: str
    stance: Stance | None = None
    extra: Mapping[str, Any] = _extra()


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
    extra: Mapping[str, Any] = _extra()


@dataclass(frozen=True, slots=True)
class Response:
    """A cited answer or report to one topic by one run (TREC RAG, RAGTIME, NeuCLIR, DRAGUN).

    `references` lists the document ids, possibly more than are cited. `documents` holds cited
    texts where the file embeds them. `metadata` carries every further metadata field unchanged.
    """

    topic_id: str
    run_id: str
    sentences: tuple[Sentence, ...]
    references: tuple[str, ...] = ()
    team_id: str = ""
    topic: str = ""
    documents: Mapping[str, Document] = _extra()
    metadata: Mapping[str, Any] = _extra()
    extra: Mapping[str, Any] = _extra()


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
    """What one run has by one measure: on a topic, or over all of them.

    Attributes:
        run_id: the system that is measured.
        topic_id: the topic; `all` where the value is over all topics (trec_eval).
        measure: its name.
        value: finite; None where nothing could be scored, which is never 0.
    """

    run_id: str
    topic_id: str
    measure: str
    value: float | None
    extra: Mapping[str, Any] = _extra()

    @property
    def over_all(self) -> bool:
        """Whether it is over all topics, not on one."""
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
    """What a debate page cites: `id` is its number on the page, `doc_id` its document's id.

    `title` is the bibliographic line, `url` its link; both may be empty, and so may the ids.
    """

    id: str
    title: str = ""
    url: str = ""
    doc_id: str = ""
    extra: Mapping[str, Any] = _extra()


@dataclass(frozen=True, slots=True)
class DebatePoint:
    """One argument of a side: a headline, and paragraphs with the ids of the sources they cite.

    `citations` has an entry for each paragraph, or is empty where nothing is known of them.
    """

    title: str
    paragraphs: tuple[str, ...] = ()
    citations: tuple[tuple[str, ...], ...] = ()
    extra: Mapping[str, Any] = _extra()

    @property
    def cited(self) -> tuple[str, ...]:
        """The sources that it cites, each once, in order."""
        return tuple(dict.fromkeys(one for cited in self.citations for one in cited))


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
    extra: Mapping[str, Any] = _extra()

    @property
    def topic(self) -> str:
        """What is asked, or the title of a page that does not ask."""
        return self.question or self.title

    def side(self, side: Side) -> tuple[DebatePoint, ...]:
        """Return the arguments of a side."""
        return self.pros if side == "pro" else self.cons


@dataclass(frozen=True, slots=True)
class NuggetReference:
    """A document that attests an answer or a claim; `extra` holds offsets, collection and so on."""

    doc_id: str
    extra: Mapping[str, Any] = _extra()


@dataclass(frozen=True, slots=True)
class NuggetAnswer:
    """An answer to a nugget's question, with the documents that attest it."""

    text: str
    references: tuple[NuggetReference, ...] = ()
    extra: Mapping[str, Any] = _extra()

    @property
    def doc_ids(self) -> tuple[str, ...]:
        """The documents that attest it, each once, in order."""
        return tuple(dict.fromkeys(reference.doc_id for reference in self.references))


@dataclass(frozen=True, slots=True)
class Nugget:
    """Something an ideal report says: a question with its answers (ARGUE), or a plain claim.

    `id` is unique within a bank. A claim has no answers: it is its own answer, and `references`
    attest it. A question without answers is known to have none in the collection. `aggregator` is
    `AND` (all answers are wanted), `OR` (one is enough), or what else a bank says; empty where it
    does not say. `importance` is `vital`, `okay`, or what else a bank says; empty likewise.
    `sub_nuggets` are the parts of it that a bank names; their ids are unique among them.
    """

    id: str
    text: str
    answers: tuple[NuggetAnswer, ...] = ()
    is_claim: bool = False
    aggregator: str = ""
    importance: str = ""
    references: tuple[NuggetReference, ...] = ()
    sub_nuggets: tuple[Nugget, ...] = ()
    extra: Mapping[str, Any] = _extra()

    @property
    def expected(self) -> tuple[NuggetAnswer, ...]:
        """What a report can say to give it: its answers, or the claim itself."""
        return (NuggetAnswer(self.text, self.references),) if self.is_claim else self.answers

    @property
    def unanswerable(self) -> bool:
        """Whether its question is known to have no answer in the collection."""
        return not self.is_claim and not self.answers


@dataclass(frozen=True, slots=True)
class NuggetBank:
    """The nuggets of one topic. `title` is the topic's text; `metadata` and `extra` are unchanged.

    `run_id` and `team_id` are those of a submitted bank (RAGTIME 2026); empty elsewhere.
    """

    topic_id: str
    nuggets: tuple[Nugget, ...] = ()
    title: str = ""
    run_id: str = ""
    team_id: str = ""
    metadata: Mapping[str, Any] = _extra()
    extra: Mapping[str, Any] = _extra()

    @property
    def attesting(self) -> dict[str, list[tuple[str, int]]]:
        """Document id -> the (nugget id, position of the answer) pairs that it attests."""
        found: dict[str, list[tuple[str, int]]] = {}
        for nugget in self.nuggets:
            for place, answer in enumerate(nugget.expected):
                for doc_id in answer.doc_ids:
                    found.setdefault(doc_id, []).append((nugget.id, place))
        return found
