"""Published corpora of arguments.

args.me: `{"arguments": [...]}`, streaming (Ajjour et al., KI 2019); an argument takes the side of
its premises if they agree. Debatewise and ProCon: the raw dumps next to Perspectrum (Chen et al.,
NAACL 2019). idebate: the ArguAna counterargs corpus (Wachsmuth et al., ACL 2018).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import IO, Any, cast

from pnyx.core.compression import ENDINGS
from pnyx.core.errors import InputError, shorten
from pnyx.core.records import SIDES, Argument, Evidence, Premise, Side, Stance
from pnyx.formats.base import (
    Row,
    encode,
    format_of,
    located,
    scan_json_objects,
    scanned,
    with_options,
)
from pnyx.formats.documents.evidence import argument_row, check_body, only_arguments, parse_argument
from pnyx.formats.fields import Fields, a_list, an_object, within
from pnyx.formats.jsonstream import scan_items
from pnyx.formats.text.pages import slug_of

_SIDES: tuple[tuple[str, Side], ...] = (("for", "pro"), ("against", "con"))
_GOES_ON = re.compile(r"[a-z,.;:!?)\]’”%]")  # also a link
_OPEN_END = re.compile(r"[(\[“]$")


def parse_argsme(row: Any) -> Argument:
    """Read an argument of args.me, with the side of its premises and the address of its context."""
    if "premises" not in an_object(row, expected="a JSON object"):
        raise InputError("no premises")
    argument = parse_argument(row)
    context = argument.extra.get("context")
    if context is not None:
        an_object(context, "context")
    return replace(
        argument,
        stance=argument.stance if "stance" in row else _shared(argument.premises),
        source=argument.source if "source" in row else _named(context, "sourceDomain"),
        url=argument.url if "url" in row else _named(context, "sourceUrl"),
    )


def _shared(premises: Iterable[Premise]) -> Stance | None:
    stances = {p.stance for p in premises}
    return cast("Stance | None", stances.pop()) if len(stances) == 1 else None


def _named(context: Mapping[str, Any] | None, name: str) -> str:
    value = (context or {}).get(name)
    return value if isinstance(value, str) else ""


def _argsme_row(argument: Argument) -> dict[str, Any]:
    row = argument_row(argument)
    for name in ("stance", "text", "topic", "source", "url"):
        row.pop(name, None)
    row["premises"] = [_premise_row(p) for p in argument.premises]
    context = argument.extra.get("context")
    context = context if isinstance(context, dict) else None
    derived = {
        "stance": _shared(argument.premises),
        "source": _named(context, "sourceDomain"),
        "url": _named(context, "sourceUrl"),
        "topic": "",
        "body": None,
    }
    for name, value in derived.items():
        actual = getattr(argument, name)
        if actual != value:
            row["text" if name == "body" else name] = actual
    return row


def _premise_row(premise: Premise) -> dict[str, Any]:
    row: dict[str, Any] = {"text": premise.text}
    if premise.stance is not None:
        row["stance"] = premise.stance.upper()
    return {**row, **premise.extra}


def _write(stream: IO[str], records: Iterable[Evidence]) -> None:
    stream.write('{"arguments":[')
    separator = "\n"
    for record in records:
        row = _argsme_row(only_arguments(record, "args.me holds"))
        _check_integers(row, record.id)
        stream.write(separator + encode(row, record.id).rstrip("\n"))
        separator = ",\n"
    stream.write("\n]}\n")


def _check_integers(value: Any, record_id: str) -> None:
    """Reject integers of more than 64 bits, which a streaming JSON parser cannot represent."""
    if isinstance(value, dict | list):
        for child in value.values() if isinstance(value, dict) else value:
            _check_integers(child, record_id)
    elif isinstance(value, int) and not -(2**63) <= value < 2**63:
        quoted_id = json.dumps(record_id)
        raise InputError(f"{shorten(quoted_id)}: the integer {shorten(value, 30)} has over 64 bits")


def _scan_argsme(source: str) -> Iterator[Row[Argument]]:
    rows = scan_items(source, "arguments", "argument")
    return scanned(source, parse_argsme, rows=rows, unit="argument")


def _scan_debates(source: str, name: str, premises: Any) -> Iterator[Row[Argument]]:
    """Yield every point of every debate; a fault in a debate is reported once, by its number."""
    used: dict[str, int] = {}
    number = 0
    for row in scan_items(source, None, "debate"):
        if isinstance(row, InputError):
            yield row
            continue
        try:
            arguments = list(_debate(row[1], name, premises, used))
        except InputError as error:
            yield located(error, source, row[0], "debate")
            continue
        for argument in arguments:
            number += 1
            yield number, argument


def _debate(row: Any, name: str, premises: Any, used: dict[str, int]) -> Iterator[Argument]:
    fields = Fields(an_object(row, expected="a JSON object"))
    url, topic = fields.required("url"), fields.required("claim_title")
    try:
        slug = slug_of(url)
    except ValueError as error:  # square brackets without an IPv6 address
        problem = f"url: found {shorten(url, 60)!r}, expected an address ({error})"
        raise InputError(problem) from error
    used[slug] = used.get(slug, 0) + 1
    if used[slug] > 1:
        slug = f"{slug}~{used[slug]}"
    tags = fields.take("topic")
    shared = {"topics": tags} if tags else {}
    for side, stance in _SIDES:
        key = f"perspectives_{side}"
        for position, point in enumerate(a_list(fields.take(key), key), start=1):
            conclusion, pieces, extra = _point(point, f"{key}[{position}]")
            texts = [text for text in premises(pieces) if text]
            if not conclusion and not texts:
                continue
            yield Argument(
                id=f"{slug}-{side}-{position}",
                conclusion=conclusion,
                premises=tuple(Premise(text) for text in texts),
                stance=stance,
                topic=topic.strip(),
                source=name,
                url=url,
                extra={**shared, **extra},
            )


def _point(value: Any, where: str) -> tuple[str, tuple[str, ...], dict[str, Any]]:
    """Return title, pieces of text and what else is there."""
    with within(where):
        fields = Fields(an_object(value))
        title = fields.text("perspective_title").strip()
        inner = Fields(an_object(fields.take("argument"), "argument"))
        pieces = inner.strings("description")
    extra = {k: v for k, v in {**inner.rest, **fields.rest}.items() if v not in ([], "", None)}
    return title, pieces, extra


def _paragraphs(pieces: tuple[str, ...]) -> list[str]:
    """Rejoin pieces that were one sentence before a link was cut out of it."""
    groups: list[list[str]] = []
    for piece in filter(None, map(str.strip, pieces)):
        if groups and (_GOES_ON.match(piece) or _OPEN_END.search(groups[-1][-1])):
            groups[-1].append(piece)
        else:
            groups.append([piece])
    return [_joined(group) for group in groups]


def _joined(pieces: tuple[str, ...] | list[str]) -> str:
    text = " ".join(p.strip() for p in pieces if p.strip())
    return re.sub(r"(?<!\s)\s++(?=[,.;:!?](?:\s|$))", "", text)


def _scan_idebate(source: str) -> Iterator[Row[Argument]]:
    """Points and counters of idebate; `debates.jsonl(.gz)` next to it has topic and url."""
    debates = _debates(source)

    def parse(row: dict[str, Any]) -> Argument:
        fields = Fields(row)
        identifier = fields.identifier("id")
        slug = fields.required("debate")
        premise = fields.text("premise").strip()
        stance = fields.choice("stance", SIDES)
        if stance is None:
            raise InputError("no stance, expected pro or con")
        conclusion = fields.text("conclusion").strip()
        about = debates.get(_key(row)) or debates.get((slug,), {})
        argument = Argument(
            id=identifier,
            conclusion=conclusion,
            premises=(Premise(premise),) if premise else (),
            stance="pro" if stance == "pro" else "con",
            topic=about.get("title") or slug,
            source="idebate",
            url=about.get("url", ""),
            extra={**fields.rest, "debate": slug},
        )
        return check_body(argument)

    return scanned(source, parse)


def _key(row: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(str(row.get(name)) for name in ("split", "theme", "debate"))


def _debates(source: str) -> dict[tuple[Any, ...], dict[str, str]]:
    """Read title and url of each debate; by split, theme and slug, as slugs alone may repeat."""
    if source == "-":
        return {}
    for name in (*(f"debates.jsonl{ending}" for ending in ENDINGS), "debates.jsonl"):
        beside = Path(source).with_name(name)
        if beside.is_file():
            break
    else:
        return {}
    debates: dict[tuple[Any, ...], dict[str, str]] = {}
    slugs: dict[str, int] = {}
    for row in scan_json_objects(str(beside)):
        if isinstance(row, InputError):
            raise row
        fields = Fields(row[1])
        about = {"title": fields.text("title").strip(), "url": fields.text("url")}
        debates[_key(row[1])] = about
        slug = str(row[1].get("debate"))
        slugs[slug] = slugs.get(slug, 0) + 1
        debates[(slug,)] = about
    for slug, count in slugs.items():
        if count > 1:
            del debates[(slug,)]  # ambiguous
    return debates


ARGSME = format_of("argsme", with_options(_scan_argsme), _write)
FORMATS = (
    ARGSME,
    # Each paragraph of a point is a premise; pieces cut at links are rejoined.
    format_of(
        "debatewise", with_options(lambda source: _scan_debates(source, "debatewise", _paragraphs))
    ),
    # A point's pieces, which were cut at links, are one running text.
    format_of(
        "procon",
        with_options(lambda source: _scan_debates(source, "procon", lambda p: [_joined(p)])),
    ),
    format_of("idebate", with_options(_scan_idebate)),
)
