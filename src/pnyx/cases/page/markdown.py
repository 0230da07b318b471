"""One argued question as Markdown, for terminals, issues and version control.

Text of documents, writers and judges is escaped and on one line (CommonMark with GitHub's
extensions): it can neither end its list item nor become a link or HTML.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pnyx.cases.case import Case
from pnyx.cases.page.build import view_case
from pnyx.cases.page.model import (
    CaseView,
    MeasureView,
    ReferenceView,
    SentenceView,
    SideView,
    UndecidedView,
)
from pnyx.cases.page.notes import asked_back
from pnyx.display.text import escape_markdown, markdown_link

_MAX_QUOTE = 400


def render_markdown(case: Case) -> str:
    """Return the report of a case as CommonMark; its text may be hostile."""
    page = view_case(case)
    parts = [
        [f"# {escape_markdown(page.question)}"],
        [page.number] if page.number else [],
        list(map(escape_markdown, asked_back(case))),
        *([f"**{escape_markdown(doubt)}**"] for doubt in page.doubts),
        *([line] for side in page.sides for line in _side(side, page.certainty)),
        ["## References"],
        [line for ref in page.references for line in _reference(ref)] or ["No passages are cited."],
        *_undecided(page),
        ["## How this was made"],
        list(_made(page)),
    ]
    return "\n\n".join("\n".join(lines) for lines in parts if lines) + "\n"


def _undecided(page: CaseView) -> Iterator[list[str]]:
    """Yield the passages about the question that are on neither side."""
    if page.undecided:
        yield ["## Undecided passages"]
        yield [
            "These passages argue for one side, but it is not clear which. Neither side cites them."
        ]
        yield [_not_cited(passage) for passage in page.undecided]


def _not_cited(passage: UndecidedView) -> str:
    checks = "; ".join(f"{c.question} {escape_markdown(c.verdict.phrase)}" for c in passage.checks)
    position = f", {escape_markdown(passage.passage_label)}" if passage.passage_label else ""
    title, opening = escape_markdown(passage.title), escape_markdown(passage.opening)
    return f"- **{title}**{position}, {checks}: {opening}"


def _side(side: SideView, certainty: str) -> Iterator[str]:
    yield f"## {escape_markdown(side.wording.heading)}"
    if side.warning:
        yield f"**{escape_markdown(side.warning)}**"
    if side.empty:
        yield f"*{escape_markdown(side.empty)} This says nothing about which side is right.*"
    if side.measures:
        yield _measures(side.measures)
    yield from _points(side)
    if side.uncited:
        yield f"### Also on this side, not quoted: {_case_for(side)}"
        yield "\n".join(map(_not_cited, side.uncited))
    if side.less_sure:
        yield f"### Less likely: {_case_for(side)}"
        yield (
            f"Passages that may argue this side, but with a probability below {certainty}. "
            "They are not used in the argument."
        )
        yield "\n".join(map(_not_cited, side.less_sure))


def _case_for(side: SideView) -> str:
    heading = side.wording.heading
    return escape_markdown(heading[:1].lower() + heading[1:])


def _points(side: SideView) -> Iterator[str]:
    quoted = {state for state, _, _ in side.tally} == {"quoted"}
    if quoted:
        yield "Every sentence is quoted verbatim."
    for group in side.groups:
        if group.conclusion is not None:
            likely = f", {group.likelihood}" if group.likelihood else ""
            yield f"**{_text(group.conclusion)}**{_marks(group.conclusion, quoted)}{likely}"
        if group.premises:
            yield "\n".join(f"- {_text(p)}{_marks(p, quoted)}" for p in group.premises)


def _measures(measures: Sequence[MeasureView]) -> str:
    from pnyx.display.tables import Column, Table

    columns = [
        Column("measure", "measure"),
        Column("value"),
        Column("95 % interval"),
        Column("base"),
    ]
    rows = [[m.label, m.value, m.interval or "none", m.base] for m in measures]
    if not any(m.interval for m in measures):
        del columns[2]
        for row in rows:
            del row[2]
    return Table(columns, rows).markdown().rstrip()


def _text(sentence: SentenceView) -> str:
    return escape_markdown(sentence.text) or "(no text)"


def _marks(sentence: SentenceView, quoted: bool) -> str:
    """Return a sentence's label and citations, and its support unless all are `quoted`."""
    numbers = "".join(f" [{c.number}]" for c in sentence.citations)
    support = "" if quoted else f": {sentence.wording.sign} {sentence.wording.word}"
    return f"{numbers} ({sentence.label}{support})"


def _reference(ref: ReferenceView) -> Iterator[str]:
    about = [f"**{escape_markdown(ref.title)}**", escape_markdown(ref.passage_label)]
    about += [escape_markdown(ref.source)]
    about += [f"id {escape_markdown(ref.id)}", markdown_link(ref.url)]
    if ref.quality:
        about.append(f"quality {ref.quality}")
    if ref.stance:
        about.append(f"corpus label {escape_markdown(ref.stance)}")
    yield f"- [{ref.number}] {', '.join(part for part in about if part)}"
    for cited in ref.cited_by:
        quote = cited.evidence
        if len(quote) > _MAX_QUOTE:
            quote = quote[: _MAX_QUOTE - 1] + "…"
        quoted = f": “{escape_markdown(quote)}”" if quote else ""
        yield f"  - {cited.label}: {escape_markdown(cited.verdict.phrase)}{quoted}"
    for check in ref.checks:
        yield f"  - {check.question} {escape_markdown(check.verdict.phrase)}"


def _made(page: CaseView) -> Iterator[str]:
    for label, value in page.settings:
        yield f"- {escape_markdown(label)}: {escape_markdown(value)}"
    yield f"- {page.placed}"
    yield from (f"- {escape_markdown(label)}" for label in page.labels)
    yield from (f"- Judge {escape_markdown(line)}" for line in page.introduced)
    for side in page.sides:
        for problem in side.problems:
            yield f"- Problem on the {side.side} side: {escape_markdown(problem)}"
