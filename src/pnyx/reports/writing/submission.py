"""Reports in the format of a track: its layout, its citations, its metadata."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from pnyx.core.errors import InputError, shorten
from pnyx.core.records import Citation, CitationStyle, Response
from pnyx.formats import Finding, ReportRequest, TrackRules, response_row
from pnyx.formats.reports.responses import Layout
from pnyx.formats.tracks.responses import problems_of, submitted
from pnyx.formats.tracks.rules import run_id_problems

NO_VERDICT: Final = 0.5
"""Score of a citation that no judge could decide, if the style requires a score."""

_STYLES: Final[dict[str, CitationStyle]] = {
    "rag24": "indices",
    "neuclir": "ids",
    "ragtime": "scores",
}
_FILLED: Final[dict[str, Any]] = {
    "type": "automatic",
    "task": "english",
    "use_starter_kit": 0,
}
"""Default values of metadata fields."""

_OWN: Final = ("team_id", "run_id", "topic_id", "narrative_id", "request_id", "narrative", "topic")
"""Fields that are set by the response itself."""


@dataclass(frozen=True, slots=True)
class ResponseForm:
    """The format of responses."""

    layout: Layout = "ragtime"  # of the line
    style: CitationStyle = "scores"  # of the citations
    metadata: Mapping[str, Any] | None = None  # further fields of the metadata
    rules: TrackRules | None = None  # the track's; None for none in particular

    def row(self, response: Response) -> dict[str, Any]:
        """Return the line of a response with scored citations; InputError if it cannot hold it."""

        def scored(citation: Citation) -> Citation:
            if self.style != "scores":
                return replace(citation, score=None)
            return replace(citation, score=NO_VERDICT if citation.score is None else citation.score)

        sentences = (
            replace(sentence, citations=tuple(map(scored, sentence.citations)))
            for sentence in response.sentences
        )
        response = replace(response, sentences=tuple(sentences))
        fields = {} if self.layout == "rag24" else {**response.metadata, **(self.metadata or {})}
        response = replace(response, metadata=fields)
        row = response_row(response, self.style, self.layout)
        if self.rules is not None and self.rules.references_kind == "none":
            del row["references"]
        return row

    def minded(self, row: Mapping[str, Any], request: ReportRequest) -> list[Finding]:
        """Return what the track objects to in a line."""
        if self.rules is None:
            return []
        return [
            Finding(category, problem, "warning" if category in self.rules.smells else "error")
            for category, problem in problems_of(submitted(row, self.rules), self.rules, request)
        ]


def form_of(
    rules: TrackRules | None,
    *,
    layout: Layout | None = None,
    style: CitationStyle | None = None,
    metadata: Mapping[str, str] | None = None,
    run: str = "",
    described: str = "pnyx report",
) -> ResponseForm:
    """Return the format of responses for a track; `described` is the `run_desc` if it has one.

    `metadata` adds fields and replaces defaults. InputError, before any model is asked: the track
    does not accept the layout, the style or the name of the run, or a field is set by the response
    itself.
    """
    metadata_fields = dict(metadata or {})
    if clash := sorted(set(metadata_fields).intersection(_OWN)):
        raise InputError(f"metadata: {clash[0]} is filled in from the request, team and run")
    if rules is None:
        return ResponseForm(layout or "ragtime", style or "scores", metadata_fields)
    for _, problem in run_id_problems(run, rules):
        raise InputError(f"{rules.track}: {problem}")
    wanted: Layout = "rag24" if rules.flat else "ragtime"
    wanted = "rag25" if wanted == "ragtime" and rules.sentences_key == "answer" else wanted
    if layout not in (None, wanted):
        raise InputError(f"{rules.track}: found the layout {layout}, expected {wanted}")
    accepted = [_STYLES[tag] for tag in rules.sentence_type]
    if style is not None and style not in accepted:
        raise InputError(
            f"{rules.track}: found the style {style}, expected {' or '.join(accepted)}"
        )
    if rules.flat and metadata_fields:
        raise InputError(
            f"{rules.track} has no metadata, found {shorten(next(iter(metadata_fields)), 40)}"
        )
    required = (*rules.mandatory_metadata, *rules.recommended_metadata)
    available = {**_FILLED, "run_desc": described}
    filled = {name: available[name] for name in required if name in available}
    missing = [name for name in required if name not in (*_OWN, *filled, *metadata_fields)]
    if missing and not rules.flat:
        raise InputError(f"{rules.track} requires metadata {missing[0]}: add it")
    return ResponseForm(wanted, style or accepted[0], {**filled, **metadata_fields}, rules)
