"""The result of `pnyx argue`: both sides of one question, cited and judged."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol

from pnyx._version import __version__
from pnyx.cases.plan import ARGUED
from pnyx.cases.side_choice import Expected
from pnyx.core.errors import InputError, shorten
from pnyx.core.records import (
    SIDES,
    Citation,
    Evidence,
    Question,
    Response,
    Sentence,
    Side,
    document_id,
)
from pnyx.core.tabular import MOST_COLUMNS, Result, cut_to, width_of
from pnyx.judging.answers import Answer, verdict_fields
from pnyx.judging.judge_names import introduced
from pnyx.judging.statements import side_names, statements_of
from pnyx.search.topics import LabelledTopic, near_topics
from pnyx.stats.base import Measured

if TYPE_CHECKING:
    from pnyx.cases.model_sides import Weighing

LIKELIHOODS: Final[Mapping[str, float]] = {"very likely": 0.8, "likely": 0.6, "possibly": ARGUED}
"""Words for the probability that a passage argues its side, by the least probability.

Below the last one it is "unlikely", which occurs only with a lower `--certainty`.
"""

LIKELY_SIDE: Final = 0.65
"""Probability below which a reader is warned that the documents may not argue a side; chosen on
development folders and debates (docs/explain/decisions/likelihoods.md)."""


@dataclass(frozen=True, slots=True)
class ArguedSide:
    """One side of the question: its argument, and what the judges say of each part.

    Attributes:
        side: `pro` answers the question with yes, `con` with no.
        response: the argument; each sentence's `extra["role"]` is `conclusion` or `premise`.
        support: for each (sentence position, cited document id): does the document support it?
        relevance: for each cited document id: does it help to answer the question?
        stance: for each cited document id: does it serve this side?
        measures: name -> value, in the order to show (`sentence_precision`, ...).
        considered: how many retrieved documents were put on this side.
        chances: cited document id -> how likely it argues this side, in [0, 1]: the product of both
            verdicts' probabilities. Documents for which nobody states both are left out, as are
            those with a label of the corpus.
        likely: how likely the documents read argue this side at all, in [0, 1]; None where no
            document has a probability, or one is argued with that has none.
        uncited: documents that were put on this side and that no sentence cites; the likeliest
            first.
        less_sure: documents that are likelier on this side than on the other, but not as likely as
            was asked for: not argued with; the likeliest first.
        problems: what was removed or went wrong while writing, one line each, for people.
        failed: there was evidence, but the writer returned nothing usable.
    """

    side: Side
    response: Response
    support: Mapping[tuple[int, str], Answer]
    relevance: Mapping[str, Answer]
    stance: Mapping[str, Answer]
    measures: Mapping[str, Measured]
    considered: int
    chances: Mapping[str, float] = field(default_factory=dict)
    likely: float | None = None
    problems: tuple[str, ...] = ()
    failed: bool = False
    less_sure: tuple[Undecided, ...] = ()
    uncited: tuple[Undecided, ...] = ()

    @property
    def argued(self) -> bool:
        """Whether this side has an argument."""
        return bool(self.response.sentences)

    @property
    def doubtful(self) -> bool:
        """Whether the documents may not argue this side although something is cited for it."""
        return self.argued and self.likely is not None and self.likely < LIKELY_SIDE

    def chance(self, sentence: Sentence) -> float | None:
        """Return the highest probability that a cited document argues this side.

        None if unknown.
        """
        chances = [
            p
            for citation in sentence.citations
            if (p := self.chances.get(citation.doc_id)) is not None
        ]
        return max(chances, default=None)


@dataclass(frozen=True, slots=True)
class Undecided:
    """A document about the question whose side is too uncertain, with its verdicts."""

    doc_id: str
    relevance: Answer
    stance: Mapping[Side, Answer]


_RENDERERS: Final = {".html": "render_html", ".md": "render_markdown", ".json": "render_json"}
"""Ending of a file -> the function of `pnyx.cases` that writes a case in that format."""


@dataclass(frozen=True, slots=True, repr=False)
class Case(Result):
    """A question with its argued sides; a notebook shows both, `render_html` has everything.

    Attributes:
        question: as asked.
        sides: those requested, pro before con; one without evidence has no sentences.
        documents: every document that is cited, on a side, less sure or undecided, by id.
        judges: judge name -> its card, one line on how reliable it is.
        settings: label -> value, how this was made (index, model, writer, version, date).
        quality: document id -> share of the index's documents with lower predicted quality, in [0,
            1]; empty if the index does not store it.
        undecided: documents about the question that lean to none of these sides.
        about: how many retrieved documents are about the question, on whatever side; not those with
            a verdict missing.
        certainty: the least probability of arguing a side from which a document is used.
        expected_about: how many retrieved documents are about the question by their probabilities.
        passed_over: how many retrieved documents are not about the question.
        unscored: number of retrieved documents without a verdict on relevance or stance.
        unscored_reason: why, for most of these; empty where none is missing.
        search_problems: notes for the reader on the search, one line each.
        search_unscored: how many questions of the search to a judge or model have no answer.
        question_notes: notes for the reader on the question, one line each.
        topics: topics of the retrieved documents' labels, and whether these count.
        weighed: how far a language model decided the sides; None if none was asked.
    """

    question: Question
    sides: tuple[ArguedSide, ...]
    documents: Mapping[str, Evidence]
    judges: Mapping[str, str]
    settings: Mapping[str, str] = field(default_factory=dict)
    quality: Mapping[str, float] = field(default_factory=dict)
    undecided: tuple[Undecided, ...] = ()
    about: int = 0
    expected_about: Expected = Expected()  # noqa: RUF009 - frozen
    certainty: float = ARGUED
    passed_over: int = 0
    unscored: int = 0
    unscored_reason: str = ""
    search_problems: tuple[str, ...] = ()
    search_unscored: int = 0
    question_notes: tuple[str, ...] = ()
    topics: tuple[LabelledTopic, ...] = ()
    weighed: Weighing | None = None

    @property
    def claims(self) -> tuple[str, str]:
        """The claims of pro and con: the question with "Yes." and "No.", or claims of its own."""
        return statements_of(self.question)

    @property
    def names(self) -> Mapping[Side, str]:
        """The words after "the case for", by side: "yes" or "no", an alternative, or a claim."""
        return dict(zip(SIDES, side_names(self.question), strict=True))

    @property
    def pro(self) -> ArguedSide | None:
        """The side that answers the question with yes; None if it was not requested."""
        return self._side("pro")

    @property
    def con(self) -> ArguedSide | None:
        """The side that answers the question with no; None if it was not requested."""
        return self._side("con")

    def _side(self, name: Side) -> ArguedSide | None:
        return next((side for side in self.sides if side.side == name), None)

    def save(self, path: str | Path) -> None:
        """Write the case as `pnyx argue` does, all or nothing: .html, .md or .json by its name.

        That is `render_html`, `render_markdown`, or `render_json`, which is what `--json` prints.

        Raises:
            InputError: the name ends in none of these.
            PnyxError: the file cannot be written.
        """
        import pnyx
        from pnyx.core.files import write_text

        render = _RENDERERS.get(Path(path).suffix.lower())
        if render is None:
            raise InputError(f"expected a name that ends in {', '.join(_RENDERERS)}", path=path)
        write_text(path, getattr(pnyx.cases, render)(self))

    def rows(self) -> list[dict[str, Any]]:
        """Return one flat object for each citation of a sentence, with its verdict of support.

        `chance` is how likely the cited document argues this side, in [0, 1], `likelihood` that in
        words.
        """
        return [
            {
                "side": side.side,
                "sentence": position,
                "role": sentence.extra.get("role"),
                "chance": side.chances.get(doc_id),
                "likelihood": likelihood(side.chances.get(doc_id)),
                "text": sentence.text,
                "doc_id": doc_id or None,
                "document": document and document_id(document),
                "passage": document and document.passage and document.passage.number,
                "supported": getattr(answer, "value", None),
                "probability": getattr(answer, "probability", None),
            }
            for side in self.sides
            for position, sentence in enumerate(side.response.sentences)
            for doc_id in [citation.doc_id for citation in sentence.citations] or [""]
            for answer in [side.support.get((position, doc_id))]
            for document in [self.documents.get(doc_id)]
        ]

    def __repr__(self) -> str:
        lines = [shorten(self.question.text, MOST_COLUMNS)]
        for side in self.sides:
            doubt = f" ({warning(side)})" if side.doubtful else ""
            lines.append(f"The case for {shorten(self.names[side.side], 60)}{doubt}:")
            lines += sentence_lines(side.response.sentences, 8) or [f"  {why_empty(self, side)}"]
        lines += [f"Judge {line}" for line in introduced(self.judges)[:3]]
        return "\n".join(cut_to(line, MOST_COLUMNS) for line in lines)

    def _repr_html_(self) -> str:
        parts = [f"<h4>{_safe(self.question.text)}</h4>"]
        for side in self.sides:
            parts.append(f"<p><b>The case for {_safe(self.names[side.side])}</b></p>")
            parts += [f"<p><i>{warning(side)}</i></p>"] if side.doubtful else []
            lines = "".join(f"<li>{_shown(sentence)}</li>" for sentence in side.response.sentences)
            parts.append(f"<ul>{lines}</ul>" if lines else f"<p>{_safe(why_empty(self, side))}</p>")
        judges = (f"Judge {line}" for line in introduced(self.judges))
        return "".join([*parts, *(f"<p><small>{_safe(each)}</small></p>" for each in judges)])

    @property
    def near_topics(self) -> tuple[LabelledTopic, ...]:
        """Topics that the question may mean, if no labels count."""
        return near_topics(self.topics)

    @property
    def model_unscored(self) -> int:
        """The number of passages without a language model's answer, which another judge decided."""
        return 0 if self.weighed is None else self.weighed.unscored

    @property
    def complete(self) -> bool:
        """Whether every verdict was given and every side with evidence was written."""
        written = not any(side.failed for side in self.sides)
        missing = self.unscored + self.search_unscored + self.model_unscored
        return written and missing == 0 and not any(r["unscored"] for r in verdict_rows(self))


def sentence_lines(sentences: Sequence[Sentence], most: int) -> list[str]:
    """Return a line for each of the first sentences, cut before its citations, for `print`."""
    lines = []
    for sentence in sentences[:most]:
        cited = ", ".join(shorten(citation.doc_id, 30) for citation in sentence.citations[:2])
        cited += ", …" if len(sentence.citations) > 2 else ""
        end = f" [{cited}]" if cited else ""
        room = MOST_COLUMNS - len("  ") - width_of(end)
        lines.append(f"  {cut_to(shorten(sentence.text, MOST_COLUMNS), room)}{end}")
    hidden = len(sentences) - most
    return [*lines, f"  {hidden} more: .to_frame()"] if hidden > 0 else lines


def _shown(sentence: Sentence) -> str:
    cited = ", ".join(citation.doc_id for citation in sentence.citations)
    text = f"<b>{_safe(sentence.text)}</b>" * (sentence.extra.get("role") == "conclusion")
    return (text or _safe(sentence.text)) + (f" <small>[{_safe(cited)}]</small>" if cited else "")


def _safe(text: str) -> str:
    return escape(shorten(text, 2000))


def with_settings(case: Case, **more: str) -> Case:
    """Add settings that only the caller knows (such as the index), and the version."""
    return replace(case, settings={**more, **case.settings, "version": f"pnyx {__version__}"})


def why_empty(case: Case, side: ArguedSide) -> str:
    """Say why a side has no argument, in a sentence or two; empty if it has one."""
    if side.argued:
        return ""
    if side.considered:
        fault = (
            "the writer returned nothing usable" if side.failed else "no sentence could be drawn"
        )
        return f"{passages(side.considered).capitalize()} argued this side, but {fault}."
    message = "No passage that argues a side of the question was found."
    if side.less_sure:
        message = (
            f"No passage is likely enough to argue this side (at least {percent(case.certainty)}): "
            f"{passages(len(side.less_sure))} may argue it, listed below."
        )
    elif case.about:
        message = (
            f"No passage was found for this side. {passages(case.about).capitalize()} "
            f"{'argues' if case.about == 1 else 'argue'} the other side, or it is not clear which."
        )
    elif case.unscored:
        message = "It is unknown whether any passage argues this side."
    if case.unscored:
        reason = shorten(" ".join(case.unscored_reason.split()), 200)
        message += f" For {passages(case.unscored)} a verdict is missing: {reason}."
    return message


def passages(count: int) -> str:
    """Return the number of passages in words, starting in lower case."""
    return "one passage" if count == 1 else f"{count} passages"


def likelihood(chance: float | None) -> str:
    """Return a probability of arguing a side in words; empty where there is none."""
    if chance is None:
        return ""
    return next((word for word, least in LIKELIHOODS.items() if chance >= least), "unlikely")


def percent(share: float) -> str:
    """Return a share as a whole percentage."""
    return f"{100 * share:.0f} %"


def warning(side: ArguedSide) -> str:
    """Return the warning about a side that the documents may not argue; empty for others."""
    if side.likely is None or not side.doubtful:
        return ""
    chance = percent(side.likely)
    return f"Your documents may not argue this side: the probability that they do is {chance}"


def verdict_rows(case: Case) -> Iterator[dict[str, Any]]:
    """Yield every verdict shown in a case as a line of `answers.jsonl` (docs/reference/formats.md).

    `side` and `doc_id` name what was judged, and `sentence` (0-based) for `support`.
    """
    for side in case.sides:
        run = side.response.run_id
        for (position, doc_id), answer in side.support.items():
            row = _row(case, side, "support", f"{run}/{position}/{doc_id}", doc_id, answer)
            yield {**row, "sentence": position}
        for task, answers in (("relevance", side.relevance), ("stance", side.stance)):
            for doc_id, answer in answers.items():
                yield _row(case, side, task, f"{run}/{task}/{doc_id}", doc_id, answer)


def _row(
    case: Case, side: ArguedSide, task: str, row_id: str, doc_id: str, answer: Answer
) -> dict[str, Any]:
    return {
        "id": f"{case.question.id}/{row_id}",
        "task": task,
        "group": case.question.id,
        "dimension": None,
        **verdict_fields(answer),
        "side": side.side,
        "doc_id": doc_id,
    }


@dataclass(frozen=True, slots=True)
class Draft:
    """One side's argument as written, its sentences in reading order."""

    sentences: tuple[Sentence, ...]
    problems: tuple[str, ...] = ()  # for people
    failed: bool = False  # whether the writer returned nothing usable
    quotes: bool = False  # whether sentences are quoted whole, so that no judge is needed


class Writer(Protocol):
    """Argues one side of a question from the given documents, citing them."""

    @property
    def name(self) -> str: ...  # noqa: D102

    async def write(self, question: Question, side: Side, documents: Sequence[Evidence]) -> Draft:
        """Write the argument for `side` from `documents` (best first), citing their ids."""


def sentence(role: str, text: str, citations: Iterable[str]) -> Sentence:
    """Return a `conclusion`, which opens a point, or a `premise`, a reason for it."""
    return Sentence(text, tuple(Citation(c) for c in dict.fromkeys(citations)), {"role": role})
