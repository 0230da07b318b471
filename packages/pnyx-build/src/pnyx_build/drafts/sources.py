"""Pairs, claims and surveys from which questions are drafted (BERDS, 4.1 and Appendix B)."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from pnyx.core.errors import InputError, shorten
from pnyx.core.files import read_head
from pnyx.core.records import STANCES, Argument
from pnyx.formats.base import Row, parse_rows, scan_json_objects, scanned, strict
from pnyx.formats.documents.tables import scan_cells
from pnyx.formats.fields import Fields, a_list, rename, unlike
from pnyx.formats.items import ITEM_FORMATS
from pnyx.formats.jsonstream import scan_items, top_level_keys
from pnyx.formats.reading import read_evidence
from pnyx.formats.recognition import sniff
from pnyx.formats.text.words import clean, words_of

_POOL = "perspective_pool_v1.0.json"
_MAX_TEXT = 2000
"""Characters of a claim, a question or an answer."""
_MAX_OPTIONS = 50


@dataclass(frozen=True, slots=True)
class ArgumentPair:
    """Two arguments that contradict each other; `id` is unique in its file."""

    id: str
    a: str
    b: str


@dataclass(frozen=True, slots=True)
class DebateClaim:
    """A claim or question, one line, with (text, side) of each view; pro agrees with it."""

    id: str
    claim: str
    views: tuple[tuple[str, str | None], ...]


@dataclass(frozen=True, slots=True)
class SurveyQuestion:
    """A survey's question with the answers to choose from, in the order of their scale."""

    id: str
    question: str
    options: tuple[str, ...]


def read_argument_pairs(
    path: str,
    *,
    columns: Mapping[str, str] | None = None,
    on_warning: Callable[[str], None] | None = None,
) -> list[ArgumentPair]:
    """Read pairs of contradicting arguments.

    Args:
        path: JSON Lines with `a`, `b` and maybe `id` (else it is the line); or the ArguAna
            counterargs corpus, where a point and its counter form a pair.
        columns: `id`, `a`, `b` -> the file's name for it.
        on_warning: called with one line for points without a counter.

    Raises:
        InputError: at the first fault, naming file and line; also if the file has no records.
    """
    if not columns and _sniffed(path) == "idebate":
        return _countered(path, on_warning)

    def parse(numbered: tuple[int, dict[str, Any]]) -> ArgumentPair:
        fields = {"id": str(numbered[0]), **rename(numbered[1], columns or {})}
        pair = ITEM_FORMATS["argument-pairs"].parse(fields)
        return ArgumentPair(pair["id"], pair["a"], pair["b"])

    rows = (
        row if isinstance(row, InputError) else (row[0], row) for row in scan_json_objects(path)
    )
    return _all(rows, parse, path, "pairs of arguments")


def _countered(path: str, on_warning: Callable[[str], None] | None) -> list[ArgumentPair]:
    """Pair the points of idebate with their counters: same debate, side and number."""
    points: dict[tuple[str, ...], Argument] = {}
    pairs: dict[tuple[str, ...], ArgumentPair] = {}
    read = read_evidence(path, format="idebate", on_warning=on_warning)
    for argument in cast("Iterator[Argument]", read):
        names = ("split", "theme", "debate", "side", "number")
        key = tuple(str(argument.extra.get(name)) for name in names)
        if argument.extra.get("type") == "point":
            points[key] = argument
        elif key in points:
            pairs[key] = ArgumentPair(points[key].id, points[key].text, argument.text)
    left = len(points) - len(pairs)
    if not pairs:
        raise InputError("holds no point with its counter", path=path)
    if left and on_warning is not None:
        on_warning(f"{left:,} of {len(points):,} points have no counter")
    return list(pairs.values())


def read_claims(
    path: str,
    *,
    pool: str | None = None,
    on_warning: Callable[[str], None] | None = None,
) -> list[DebateClaim]:
    """Read claims with the views on them; views in the same words count once.

    Args:
        path: JSON Lines with `id`, `claim` and `perspectives` (`text`, `stance`); Perspectrum; or
            any corpus of arguments, whose topics are the claims and whose conclusions the views.
        pool: Perspectrum's file of texts; by default the one next to it.
        on_warning: called with one line for what was left out.

    Raises:
        InputError: at the first fault, naming file and line; also if the file has no records.
    """
    opening, keys = top_level_keys(read_head(path, 1 << 16).removeprefix(b"\xef\xbb\xbf"))
    if opening == "[" and {"cId", "perspectives"} <= set(keys):
        return _perspectrum(path, pool)
    if _sniffed(path) == "debate-claims":

        def parse(row: dict[str, Any]) -> DebateClaim:
            fields = ITEM_FORMATS["debate-claims"].parse(row)
            views = (v if isinstance(v, dict) else {"text": v} for v in fields["perspectives"])
            sided = ((view["text"], view.get("stance")) for view in views)
            return _claim(fields["id"], fields["claim"], sided)

        return _all(scan_json_objects(path), parse, path, "claims")
    return _topics(path, on_warning)


def _claim(claim_id: str, text: str, views: Iterable[tuple[str, Any]]) -> DebateClaim:
    """Make a claim whose views each occur once."""
    seen: dict[tuple[str, ...], tuple[str, str | None]] = {}
    for view, stance in views:
        line = _line(view, "perspective")
        side = Fields({"stance": stance}).choice("stance", STANCES)
        if line:
            seen.setdefault((side or "", *words_of(line)), (line, side))
    return DebateClaim(claim_id, _line(text, "claim"), tuple(seen.values()))


def _line(text: str, name: str) -> str:
    line = clean(text)
    if len(line) > _MAX_TEXT:
        raise InputError(f"{name}: {len(line):,} characters, expected at most {_MAX_TEXT:,}")
    return line


def _topics(path: str, on_warning: Callable[[str], None] | None) -> list[DebateClaim]:
    """Read the topics of arguments, named by their words; a repeated name gets a number."""
    topics: dict[str, list[tuple[str, str | None]]] = {}
    left = 0
    for argument in read_evidence(path, on_warning=on_warning):
        if not isinstance(argument, Argument):
            raise InputError("holds documents, expected arguments or claims", path=path)
        topic, conclusion = clean(argument.topic), argument.conclusion
        views = topics.setdefault(topic, []) if argument.topic.strip() else None
        if views is None or not conclusion.strip() or argument.stance is None:
            left += 1
        else:
            views.append((conclusion, argument.stance))
    if left and on_warning is not None:
        on_warning(f"{left:,} arguments have no topic, conclusion or stance, left out")
    claims, used = [], Counter[str]()
    for topic, views in topics.items():
        if not views:
            continue
        slug = "-".join(words_of(topic))[:60].strip("-") or "topic"
        used[slug] += 1
        name = slug if used[slug] == 1 else f"{slug}~{used[slug]}"
        try:
            claims.append(_claim(name, topic, views))
        except InputError as error:
            raise InputError(error.problem, path=path) from error
    if not claims:
        raise InputError("holds no arguments on a topic", path=path)
    return claims


def _perspectrum(path: str, pool: str | None) -> list[DebateClaim]:
    """Read Perspectrum: the first perspective of each cluster with the same meaning."""
    beside = Path(path).with_name(_POOL)
    if pool is None and (path == "-" or not beside.is_file()):
        raise InputError(f"its texts are in {_POOL}, expected next to it or as --pool", path=path)
    source = pool or str(beside)

    def pooled(row: Any) -> tuple[str, str]:
        fields = Fields(row if isinstance(row, dict) else {})
        return fields.identifier("pId"), fields.required("text")

    read = parse_rows(scan_items(source, None, "perspective"), pooled, source, "perspective")
    texts = dict(text for _, text in strict(read, source, "perspectives"))

    def view(cluster: Any) -> tuple[str, str | None]:
        ids = cluster.get("pids") if isinstance(cluster, dict) else None
        if not isinstance(ids, list) or not ids:
            raise unlike(cluster, "perspectives", "pids")
        if str(ids[0]) not in texts:
            raise InputError(f"perspective {shorten(str(ids[0]), 40)} is not in the pool")
        sides = {"SUPPORT": "pro", "UNDERMINE": "con"}
        return texts[str(ids[0])], sides.get(str(cluster.get("stance_label_3")))

    def parse(row: Any) -> DebateClaim:
        fields = Fields(row if isinstance(row, dict) else {})
        name, text = fields.identifier("cId"), fields.required("text")
        clusters = a_list(fields.take("perspectives"), "perspectives")
        return _claim(name, text, map(view, clusters))

    return _all(scan_items(path, None, "claim"), parse, path, "claims", "claim")


_NO_ANSWER = re.compile(
    r"(refused?|no answer|no opinion|not sure|unsure|(i )?do(n['’]?t| not) know|dk|na|n/a"
    r"|(i )?(would )?(prefer|rather) not( to)? (say|answer)|(dk|don['’]?t know)/(ref|refused)"
    r"|not applicable|skipped|web blank)",
    re.IGNORECASE,
)
"""Answers that do not state a view."""


def read_survey(path: str, *, columns: Mapping[str, str] | None = None) -> list[SurveyQuestion]:
    """Read survey questions; answers that do not state a view (refused, don't know) are left out.

    Args:
        path: JSON Lines with `id`, `question`, `options`; or a CSV table like OpinionQA's
            `info.csv` (`key`, `question`, `references`: a list in Python's own writing, never
            executed).
        columns: `id`, `question`, `options` -> the file's name for it.

    Raises:
        InputError: at the first fault, naming file and line; also if the file has no records.
    """
    table = read_head(path, 64).removeprefix(b"\xef\xbb\xbf").lstrip()[:1] not in (b"{", b"")
    named = {**({"id": "key", "options": "references"} if table else {}), **(columns or {})}

    def parse(row: dict[str, Any]) -> SurveyQuestion:
        renamed = rename(row, named)
        if table:  # a list in Python's notation: ['Yes', "Don't know"]
            cell = str(renamed["options"])
            try:
                renamed["options"] = ast.literal_eval(cell[: _MAX_TEXT * _MAX_OPTIONS])
            except (ValueError, SyntaxError, MemoryError, RecursionError) as error:
                problem = f"options: found {shorten(cell, 40)!r}, expected a list like"
                raise InputError(f"{problem} ['Yes', 'No']") from error
        fields = ITEM_FORMATS["survey-questions"].parse(renamed)
        options = [_line(option, "options") for option in fields["options"]]
        views = tuple(o for o in options if not _NO_ANSWER.fullmatch(o.strip(" .()[]")))
        if not 2 <= len(views) <= _MAX_OPTIONS:
            problem = f"options: found {len(views)} that state a view"
            raise InputError(f"{problem}, expected 2 to {_MAX_OPTIONS}")
        return SurveyQuestion(fields["id"], _line(fields["question"], "question"), views)

    rows = scan_cells(path, ",") if table else scan_json_objects(path)
    return _all(rows, parse, path, "survey questions")


def _sniffed(path: str) -> str | None:
    try:
        return sniff(path)
    except InputError:
        return None  # the reader will report the fault


def _all(
    rows: Iterable[Row[Any]],
    parse: Callable[[Any], Any],
    path: str,
    plural: str,
    unit: str = "line",
) -> list[Any]:
    records = strict(scanned(path, parse, rows=rows, unit=unit), path, plural)
    return [record for _, record in records]
