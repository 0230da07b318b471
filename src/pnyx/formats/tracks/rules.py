"""The rules of each track, as data: from autojudge-base if it is installed, else from Pnyx."""

from __future__ import annotations

import dataclasses
import importlib.metadata
import importlib.util
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

from pnyx.core.errors import InputError, shorten
from pnyx.formats.text.segment import UNITS, LengthUnit

Problem: TypeAlias = tuple[str, str]
"""The category of a finding, and what was found and expected."""

CATEGORIES: Final = tuple(
    "structural empty_answer blank_sentence citation_format citation_count citation_duplicate "
    "reference_index citation_score docid_pattern references_present references_missing "
    "references_duplicate references_undeclared references_uncited references_max metadata "
    "metadata_recommended run_id_length run_id_characters run_id_mixed length response_length "
    "sentences_key duplicate_topics missing_topics new_topics narrative".split()
)
"""The categories of findings, with the names of autojudge-base where they exist."""

Severity: TypeAlias = Literal["error", "warning"]


@dataclass(frozen=True, slots=True)
class Finding:
    """A finding about a submission: its category, severity and location.

    Attributes:
        category: what it is about, one of `CATEGORIES`.
        problem: what was found and what was expected.
        severity: whether the track rejects it or only warns.
        line: 1-based line of the file; None for the whole file.
        topic: the topic's id; empty if unknown.
    """

    category: str
    problem: str
    severity: Severity = "error"
    line: int | None = None
    topic: str = ""


DEFAULT_SMELLS: Final = (
    "empty_answer",
    "blank_sentence",
    "duplicate_topics",
    "references_duplicate",
)
"""Default categories of warnings (autojudge-base, `track_spec.py`)."""

_KINDS: Final = ("cited_only", "retrieval_list", "none", "ignore")
_TAGS: Final = ("rag24", "ragtime", "neuclir")


@dataclass(frozen=True, slots=True)
class TrackRules:
    """A track's requirements for a response, named as in autojudge-base's `track_specs.yml`.

    Attributes:
        track: its name.
        sentence_type: accepted kinds of citations, the first is written: `rag24` (indices into
            references), `neuclir` (ids), `ragtime` (id to score).
        sentences_key: `answer` or `responses`.
        topic_id_field: the field of the topic's id.
        mandatory_metadata: fields that must be present and not blank.
        recommended_metadata: fields whose absence is a warning.
        forbid_extra_metadata: whether other fields are forbidden.
        require_exact_narrative: whether the topic's text must be copied unchanged.
        run_id_max_len: maximum characters of a run's name.
        docid_pattern: how a document's id begins (`re.match`).
        collection_ids: the collection's names, for messages.
        references_kind: `cited_only` (exactly what is cited), `retrieval_list` (what is cited and
            more), `none` (must be absent) or `ignore`.
        references_optional: whether they may be absent or empty.
        references_max: maximum number of references.
        max_citations_per_sentence: maximum number in a sentence.
        length_unit: how length is counted.
        length_limit: the limit of all responses.
        length_limit_request_field: the field of a request with the limit, instead.
        smells: categories that are warnings.
        run_id_pattern: what the whole name of a run must match.
        flat: whether there is no `metadata`: its fields are next to the answer.
        one_run: whether a file must contain only one run.
        response_length: whether the answer states its own length.
        check_duplicate_citations: whether a sentence may cite a document only once.
        references_required: whether `references` must be present even if it is not checked.
        typed_metadata: whether metadata of another type than autojudge-base's is rejected, such
            as an integer as `topic_id` (`narrative_id` may be one).
        nuggets: format of the nugget banks that can be submitted; empty if none can.
        source: where the rules come from.
    """

    track: str
    task: str
    sentence_type: tuple[str, ...]
    sentences_key: str
    topic_id_field: str
    mandatory_metadata: tuple[str, ...]
    recommended_metadata: tuple[str, ...] = ()
    forbid_extra_metadata: bool = False
    require_exact_narrative: bool = False
    run_id_max_len: int | None = None
    docid_pattern: str | None = None
    collection_ids: tuple[str, ...] = ()
    references_kind: str = "cited_only"
    references_optional: bool = False
    references_max: int | None = None
    max_citations_per_sentence: int | None = None
    length_unit: LengthUnit = "words"
    length_limit: int | None = None
    length_limit_request_field: str | None = None
    smells: tuple[str, ...] = DEFAULT_SMELLS
    run_id_pattern: str | None = None
    flat: bool = False
    one_run: bool = False
    response_length: bool = False
    check_duplicate_citations: bool = False
    references_required: bool = False
    typed_metadata: bool = True
    nuggets: str = ""
    source: str = "pnyx"

    @property
    def narrative_field(self) -> str:
        """The field of the topic's text."""
        return "topic" if self.flat else "narrative"


_FIELDS: Final = {field.name: field for field in dataclasses.fields(TrackRules)}


def _rules(track: str, row: Mapping[str, Any], source: str, path: str | Path) -> TrackRules:
    """Build rules from a row of the file; null means the default, unknown keys are ignored."""
    values = {k: v for k, v in row.items() if v is not None and k in _FIELDS}
    values = {k: tuple(v) if isinstance(v, list) else v for k, v in values.items()}
    if isinstance(values.get("sentence_type"), str):
        values["sentence_type"] = (values["sentence_type"],)
    try:
        rules = TrackRules(**{**values, "track": track, "source": source})
        _check(rules)
    except (TypeError, ValueError, re.error) as error:
        raise InputError(f"track {shorten(track, 40)}: {error}", path=path) from None
    return rules


def _check(rules: TrackRules) -> None:
    """Raise ValueError for values that no check supports, which would have no effect."""
    unknown = [smell for smell in rules.smells if smell not in CATEGORIES]
    unknown += [tag for tag in rules.sentence_type if tag not in _TAGS]
    if rules.references_kind not in _KINDS:
        unknown.append(rules.references_kind)
    if rules.length_unit not in UNITS:
        unknown.append(rules.length_unit)
    if unknown:
        raise ValueError(f"found {shorten(unknown[0], 40)!r}, which no check knows")
    for pattern in (rules.docid_pattern, rules.run_id_pattern):
        re.compile(pattern or "")


@cache
def _packaged() -> dict[str, Any]:
    with Path(__file__).with_name("tracks.toml").open("rb") as stream:
        return tomllib.load(stream)


@cache
def packaged_rules() -> dict[str, TrackRules]:
    """Return the rules that come with Pnyx, by track."""
    path = Path(__file__).with_name("tracks.toml")
    data = _packaged()
    rows = {name: _with_more(name, row) for name, row in data["tracks"].items()} | data["own"]
    return {name: _rules(name, row, "pnyx", path) for name, row in rows.items()}


def _with_more(track: str, row: Mapping[str, Any]) -> dict[str, Any]:
    """Add what autojudge-base's file does not contain."""
    return {**row, **_packaged()["more"].get(track, {})}


@cache
def _installed() -> tuple[Path, Mapping[str, Any]] | None:
    """Return autojudge-base's file and specs, found without importing it; None if not installed."""
    spec = importlib.util.find_spec("autojudge_base")
    if spec is None or not spec.submodule_search_locations:
        return None
    path = Path(next(iter(spec.submodule_search_locations)), "track_specs.yml")
    if not path.is_file():  # versions before 1.0
        return None
    import yaml

    try:
        rows = yaml.safe_load(path.read_text("utf-8"))["specs"]
    except (yaml.YAMLError, TypeError, KeyError) as error:
        raise InputError(f"expected specs of tracks: {error!r}", path=path) from None
    return path, rows


def track_rules(track: str) -> TrackRules:
    """Return the rules of a track, from autojudge-base if it is installed.

    Raises:
        InputError: there are no rules for it; the message lists the tracks with rules.
    """
    name = _packaged()["aliases"].get(track, track)
    installed = _installed()
    if installed is not None and isinstance(installed[1].get(name), dict):
        path, rows = installed
        source = f"autojudge-base {importlib.metadata.version('autojudge-base')}"
        return _rules(name, _with_more(name, rows[name]), source, path)
    packaged = packaged_rules()
    if name not in packaged:
        tracks = ", ".join(dict.fromkeys([*packaged, *(installed[1] if installed else ())]))
        raise InputError(f"no track {shorten(track, 40)!r}, expected one of {tracks}")
    return packaged[name]


def run_id_problems(run_id: str, rules: TrackRules) -> Iterator[Problem]:
    """Yield the findings for the name of a run."""
    most = rules.run_id_max_len
    if most is not None and len(run_id) > most:
        yield "run_id_length", f"run_id has {len(run_id)} characters, expected at most {most}"
    if run_id and rules.run_id_pattern and not re.fullmatch(rules.run_id_pattern, run_id):
        problem = f"run_id: found {shorten(run_id, 40)!r}, expected English letters, digits, -, _"
        yield "run_id_characters", f"{problem} and ., not first a full stop"
