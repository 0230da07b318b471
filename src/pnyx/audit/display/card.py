"""A judge's card as one page: HTML without network access or scripts, or Markdown."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pnyx.cases.page.report import environment, page_policy, template_file
from pnyx.core.errors import escaped
from pnyx.display.plots import reliability_plot
from pnyx.display.tables import Column, Table
from pnyx.display.text import clean, escape_markdown
from pnyx.display.trials import curve_plot, measures_table, rater_parts, trial_lines, trial_tables
from pnyx.judging.judge_names import short_name
from pnyx.judging.measures.binary import ReliabilityBin

Row = Mapping[str, Any]
Part = Table | str | tuple[str, str]
"""Part of a section: a table, a paragraph, or a picture (its description, its SVG)."""


def card_markdown(card: Row) -> str:
    """Return a card (`pnyx.audit.make_card`) as Markdown; tables replace the pictures."""
    lines = [f"# {escape_markdown(_title(card))}\n"]
    for heading, parts in card_sections(card):
        lines.append(f"## {escape_markdown(heading)}\n")
        for part in parts:
            if isinstance(part, Table):
                lines.append(part.markdown())
            elif isinstance(part, str):
                lines.append(f"{escape_markdown(clean(part))}\n")
    return "\n".join(lines)


def card_html(card: Row) -> str:
    """Return a card as one self-contained HTML document; all of its text may be hostile."""
    return page_html(_title(card), list(card_sections(card)), card["pnyx"])


def page_html(title: str, sections: Sequence[tuple[str, Sequence[Part]]], version: str) -> str:
    """Return parts under headings as one self-contained page, light and dark, without scripts."""
    from markupsafe import Markup

    css = template_file("tokens.css") + template_file("card.css")
    shown_sections = [(heading, [_shown(part) for part in parts]) for heading, parts in sections]
    return (
        environment()
        .get_template("card.html.j2")
        .render(
            title=title,
            sections=shown_sections,
            version=version,
            csp=Markup(page_policy(style=css)),  # noqa: S704 - no input
            css=Markup(css),  # noqa: S704 - the package's own file
        )
    )


def _shown(part: Part) -> dict[str, Any]:
    from markupsafe import Markup

    if isinstance(part, Table):
        return {"table": Markup(part.html())}  # noqa: S704 - which escapes every cell
    if isinstance(part, str):
        return {"text": clean(part)}
    caption, svg = part
    data = base64.b64encode(svg.encode()).decode()
    return {"picture": f"data:image/svg+xml;base64,{data}", "told": clean(caption)}


def _title(card: Row) -> str:
    return f"Judge {escaped(short_name(card['judge']), 120)}"


def card_sections(card: Row) -> Iterator[tuple[str, Sequence[Part]]]:
    """Yield the parts of a card under their headings."""
    yield "When not to use it", _advice(card)
    yield "What it was asked", _asked(card)
    for result in card["asked"]:
        if parts := _agreement(result):
            yield f"Agreement with people: {result['task']}", parts
        if parts := _calibration(result):
            yield f"Calibration: {result['task']}", parts
    for row in card["trials"]:
        yield f"Trial: {row['trial']}, {row['task']}", _trial(row)


def _advice(card: Row) -> list[Part]:
    parts: list[Part] = []
    if card["not_for"]:
        rows = [(advice["advice"], advice["why"]) for advice in card["not_for"]]
        parts.append(Table((Column("advice", "name"), Column("because", "name")), rows))
    else:
        parts.append("No measurement speaks against using it.")
    if card["not_known"]:
        unknown: list[Sequence[Any]] = [(unknown_fact,) for unknown_fact in card["not_known"]]
        parts.append(Table((Column("not known", "name"),), unknown))
    if card["own_card"]:
        parts.append(f"Its own description: {card['own_card']}")
    return parts


def _asked(card: Row) -> list[Part]:
    columns = (
        Column("task", "name"),
        Column("items", "name"),
        Column("answers", "counts"),
        Column("tokens per answer", "name"),
        Column("dollars per answer", "name"),
        Column("prompt", "name"),
    )
    rows: list[Sequence[Any]] = []
    for result in card["asked"]:
        prompts = ", ".join(result["prompts"]) or "none: no language model"
        rows.append((result["task"], _source(result["items"]), *_spent(result), prompts))
    for row in card["trials"]:
        name = f"{row['task']}, trial {row['trial']}"
        rows.append((name, _source(row["source"]), *_spent(row), ""))
    return [Table(columns, rows)]


def _spent(result: Row) -> tuple[tuple[int, int], str, str]:
    """Return answers scored of those asked, tokens and dollars per answer."""
    counts, cost = result["counts"], result["cost"]
    tokens = cost["tokens_per_answer"]
    token_text = "not known" if tokens is None else f"{tokens:,}"
    return (counts["scored"], counts["asked"]), token_text, _dollars(cost["usd_per_answer"])


def _source(items: Row) -> str:
    return f"{escaped(str(items['path']), 80)} ({items['count']})"


def _dollars(value: float | None) -> str:
    return "not known" if value is None else f"{value:.6f}".rstrip("0").rstrip(".") or "0"


def _agreement(result: Row) -> list[Part]:
    parts: list[Part] = [*rater_parts(result.get("agreement", {}).get("compared", ()))]
    if not parts and result.get("measures"):
        parts = [measures_table(result["measures"], "answers")]
    return parts


def _calibration(result: Row) -> list[Part]:
    calibration = result.get("calibration")
    if not calibration:
        return []
    parts: list[Part] = [measures_table(calibration["measures"], "answers")]
    bins = [
        ReliabilityBin(
            b["from"], b["to"], b["count"], b["mean_probability"], b["share"], b["low"], b["high"]
        )
        for b in calibration["reliability"]
    ]
    if any(bin_.count for bin_ in bins):
        note = "Dots: mean probability and share of yes; lines: Wilson's 95 %."
        parts.append(("Reliability diagram", reliability_plot(bins, result["task"], [note])))
    return parts


def _trial(row: Row) -> list[Part]:
    svg = curve_plot(row)
    picture: list[Part] = [(f"Score by level in trial {row['trial']}", svg)] if svg else []
    interval = row["interval"]
    drawn = (
        f"95 % intervals: {interval['draws']} draws of {interval['clusters']} "
        f"{interval['clustered_by']}s"
    )
    return [
        *(f"{line[:1].upper()}{line[1:]}." for line in trial_lines(row)),
        *picture,
        *trial_tables(row),
        *([drawn] if interval["draws"] else []),
    ]
