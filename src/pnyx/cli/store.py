"""`pnyx store`: what the judgement store holds; clear out, export and merge stores."""

from __future__ import annotations

import json
import re
from dataclasses import asdict
from datetime import timedelta
from typing import TYPE_CHECKING

import click

from pnyx.cli.options import warn
from pnyx.cli.params import Group, json_option
from pnyx.errors import shorten

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pnyx.judge.store_tools import Cleared, ModelStats, StoreStats

__all__ = ["command", "in_units"]

store_option = click.option(
    "--store",
    type=click.Path(),
    default=None,
    help="The store  [default: $PNYX_STORE, else the one in the user's data folder].",
)


def _age(_: click.Context, __: click.Parameter, value: str | None) -> timedelta | None:
    """Read a length of time: a whole number with h, d or w."""
    if value is None:
        return None
    found = re.fullmatch(r"([0-9]{1,15})([hdw])", value)
    if found is None:
        raise click.BadParameter(f"found {shorten(value, 40)!r}, expected e.g. 36h, 90d or 12w")
    hours = int(found[1]) * {"h": 1, "d": 24, "w": 168}[found[2]]
    return timedelta(hours=min(hours, 24 * 999_999_999))


@click.group(cls=Group, name="store", no_args_is_help=True)
def command() -> None:
    """Look into the judgement store, clear it out, export it, or merge stores of several machines.

    Every reply of a language model is kept in it, so that none is paid for twice.

    \b
    Example:
      pnyx store stats
      pnyx store gc --finish length --dry-run
      pnyx store export --out replies.jsonl.gz
      pnyx store merge replies.jsonl.gz other-machine.sqlite
    """


@command.command()
@store_option
@json_option
def stats(store: str | None, as_json: bool) -> None:
    """Count the replies of each model, how they ended, and the tokens they took.

    \b
    Example:
      pnyx store stats --store judgements.sqlite --json
    """
    from pnyx.judge.store_tools import store_stats

    found = store_stats(store)
    if as_json:
        click.echo(json.dumps(found.as_json(), ensure_ascii=False))
        return
    _print_stats(found)


def _print_stats(found: StoreStats) -> None:
    click.echo(
        f"{shorten(found.path, 200)}: {_replies(found.replies)}, {in_units(found.bytes)} on disk"
    )
    if found.damaged:
        click.echo(f"damaged: {found.damaged:,} (pnyx store gc --damaged deletes them)")
    for model in found.models:
        ends = (
            f"{shorten(name, 40) or '(not stated)'} {count:,}"
            for name, count in model.finish_reasons.items()
        )
        click.echo(f"\n{shorten(model.model, 100)}")
        click.echo(f"  {_replies(model.replies)}, {model.first} to {model.last}")
        click.echo(f"  ended by: {', '.join(ends)}")
        click.echo(f"  tokens: {', '.join(_tokens(model))}")
        click.echo(f"  with token alternatives: {model.with_alternatives:,}")


def _tokens(model: ModelStats) -> Iterator[str]:
    for name, count in model.tokens.items():
        stated = "" if count.replies == model.replies else f" (stated by {count.replies:,})"
        total = "not stated" if count.total is None else f"{count.total:,}{stated}"
        yield f"{name.removesuffix('_tokens')} {total}"


@command.command()
@click.option("--older-than", callback=_age, metavar="AGE", help="Older than this: 36h, 90d, 12w.")
@click.option("--model", metavar="NAME", help="Of this model, by the name that was asked for.")
@click.option("--finish", metavar="REASON", help="That ended so: length, refusal ...")
@click.option("--damaged", is_flag=True, help="That cannot be read any more.")
@click.option("--dry-run", is_flag=True, help="Only say what would be deleted.")
@store_option
@json_option
def gc(
    older_than: timedelta | None,
    model: str | None,
    finish: str | None,
    damaged: bool,
    dry_run: bool,
    store: str | None,
    as_json: bool,
) -> None:
    """Delete replies that meet all criteria given (at least one), and shrink the file.

    What is deleted is asked, and paid, again when it is needed. Judges may run meanwhile.

    \b
    Example:
      pnyx store gc --older-than 90d --finish length --dry-run
    """
    if not damaged and (older_than, model, finish) == (None, None, None):
        raise click.UsageError(
            "expected at least one of --older-than, --model, --finish and --damaged"
        )
    from pnyx.judge.store_tools import clear_store

    cleared = clear_store(
        store,
        older_than=older_than,
        model=model,
        finish=finish,
        damaged=damaged,
        dry_run=dry_run,
    )
    if cleared.not_compacted:
        warn(
            f"the replies are deleted, but the file was not made smaller: {cleared.not_compacted};"
            " the same command tries again"
        )
    if as_json:
        click.echo(json.dumps(cleared.as_json(), ensure_ascii=False))
    else:
        click.echo(_cleared_line(cleared))


def _cleared_line(cleared: Cleared) -> str:
    what = f"{_replies(cleared.replies)} ({in_units(cleared.content_bytes)})"
    if cleared.dry_run:
        return f"{what} would be deleted"
    sizes = f"{in_units(cleared.bytes_before)} before, {in_units(cleared.bytes_after)} now"
    return f"{what} deleted; the file: {sizes}"


@command.command()
@click.option("--model", metavar="NAME", help="Only the replies of this model.")
@click.option(
    "--out",
    metavar="FILE",
    default="-",
    show_default=True,
    help="File to write; compressed if it ends in .gz; - is standard output.",
)
@store_option
@json_option
def export(model: str | None, out: str, store: str | None, as_json: bool) -> None:
    """Write every reply as a line of JSON, with what was asked, sorted by key.

    Equal stores make equal files. With --json and --out FILE, standard output gets a summary.

    \b
    Example:
      pnyx store export --model my-model --out replies.jsonl.gz
    """
    from pnyx.judge.store_tools import export_store

    count = export_store(store, out, model=model)
    if as_json and out != "-":
        click.echo(json.dumps({"out": out, "replies": count}, ensure_ascii=False))
    else:
        place = "" if out == "-" else f" to {shorten(out, 200)}"
        click.echo(f"pnyx: {_replies(count)} exported{place}", err=True)


@command.command()
@click.argument("others", nargs=-1, required=True, metavar="OTHER...")
@store_option
@json_option
def merge(others: tuple[str, ...], store: str | None, as_json: bool) -> None:
    """Add the replies of each OTHER, a store or an exported file, that are not there yet.

    Where both have a reply to the same request, that of the store stays. All or nothing: an error
    in any OTHER leaves the store as it was.

    \b
    Example:
      pnyx store merge gpu1.sqlite gpu2.jsonl.gz --store judgements.sqlite
    """
    from pnyx.judge.store_tools import merge_stores

    merged = merge_stores(others, store)
    if as_json:
        totals = {
            name: sum(getattr(source, name) for source in merged)
            for name in ("replies", "added", "present", "conflicts")
        }
        sources = [asdict(source) for source in merged]
        click.echo(json.dumps({**totals, "sources": sources}, ensure_ascii=False))
        return
    for source in merged:
        line = (
            f"{shorten(source.path, 200)}: {_replies(source.replies)}, {source.added:,} added, "
            f"{source.present:,} present already"
        )
        if source.conflicts:
            line += f", {source.conflicts:,} with another text than the store's, which stays"
        click.echo(line)


def _replies(count: int) -> str:
    return f"{count:,} {'reply' if count == 1 else 'replies'}"


def in_units(count: int) -> str:
    """Return a number of bytes for people."""
    for unit, name in ((10**9, "GB"), (10**6, "MB"), (10**3, "KB")):
        if count >= unit:
            return f"{count / unit:,.1f} {name}"
    return f"{count} bytes"
