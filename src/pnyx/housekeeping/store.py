"""`pnyx store`: inspect, clean and export judgement stores."""

from __future__ import annotations

import re
from dataclasses import asdict
from datetime import timedelta

import click

from pnyx.cli.options import Outcome, say, warn
from pnyx.cli.params import Group, verb
from pnyx.core.errors import OptionError, escaped, shorten
from pnyx.core.spec import Spec, file_opt, opt, out_opt
from pnyx.display.results import in_units, many_replies, store_lines


class StoreSpec(Spec, rare="store"):
    """The judgement store to use."""

    store: str | None = file_opt(
        None, "The store.", default_text="$PNYX_STORE, else the user's data folder"
    )


class ClearSpec(StoreSpec):
    """Selects replies to delete."""

    older_than: str | None = opt(
        None, "Only replies older than this: 36h, 90d, 12w.", metavar="AGE"
    )
    model: str | None = opt(None, "Only replies of this model.", metavar="NAME")
    finish: str | None = opt(
        None, "Only replies that ended this way: length, refusal ...", metavar="REASON"
    )
    damaged: bool = opt(False, "Only damaged replies.")
    unreadable: bool = opt(False, "Only replies without a readable answer.")
    dry_run: bool = opt(False, "Only say what would be deleted.")

    @property
    def age(self) -> timedelta | None:
        """The minimum age: a whole number of hours, days or weeks."""
        if self.older_than is None:
            return None
        match = re.fullmatch(r"([0-9]{1,15})([hdw])", self.older_than)
        if match is None:
            age = shorten(self.older_than, 40)
            raise OptionError(f"--older-than: found {age!r}, expected e.g. 36h, 90d or 12w")
        hours = int(match[1]) * {"h": 1, "d": 24, "w": 168}[match[2]]
        return timedelta(hours=min(hours, 24 * 999_999_999))


class ExportSpec(StoreSpec):
    """Options of `pnyx store export`."""

    model: str | None = opt(None, "Only the replies of this model.", metavar="NAME")
    out: str = out_opt("-", "File to write; .gz compresses.", default_text="- (stdout)")


@click.group(cls=Group, name="store", no_args_is_help=True)
def command() -> None:
    """Inspect, clean and export the judgement store.

    It keeps every reply of a language model, so that no reply is paid for twice. To merge the
    stores of several machines: pnyx files merge.

    \b
    Example:
      pnyx store stats
      pnyx store gc --finish length --dry-run
      pnyx store export --out replies.jsonl.gz
    """


@verb("stats", group=command)
def stats(spec: StoreSpec) -> Outcome:
    """Count the replies of each model, how they ended, and the tokens they took.

    \b
    Example:
      pnyx store stats --store judgements.sqlite --json
    """
    from pnyx.judging.store.maintenance import store_stats

    totals = store_stats(spec.store)
    return Outcome(asdict(totals), store_lines(totals))


@verb("gc", group=command, short_help="Delete replies, and shrink the file.")
def gc(spec: ClearSpec) -> Outcome:
    """Delete replies that meet all criteria given (at least one), and shrink the file.

    Deleted replies are requested, and paid for, again when needed. Judges may run meanwhile.

    \b
    Example:
      pnyx store gc --older-than 90d --finish length --dry-run
    """
    named = (spec.older_than, spec.model, spec.finish) != (None, None, None)
    if not (named or spec.damaged or spec.unreadable):
        raise OptionError(
            "expected at least one of --older-than, --model, --finish, --damaged and --unreadable"
        )
    from pnyx.judging.store.maintenance import clear_store

    cleared = clear_store(
        spec.store,
        older_than=spec.age,
        model=spec.model,
        finish=spec.finish,
        damaged=spec.damaged,
        unreadable=spec.unreadable,
        dry_run=spec.dry_run,
    )
    if cleared.not_compacted:
        warn(
            f"the replies are deleted, but the file was not made smaller: {cleared.not_compacted};"
            " the same command tries again"
        )
    line = f"{many_replies(cleared.replies)} ({in_units(cleared.content_bytes)})"
    if cleared.dry_run:
        line += " would be deleted"
    else:
        sizes = f"{in_units(cleared.bytes_before)} before, {in_units(cleared.bytes_after)} now"
        line += f" deleted; the file: {sizes}"
    return Outcome(asdict(cleared), line)


@verb("export", group=command, restricts=True)
def export(spec: ExportSpec, as_json: bool) -> Outcome | None:
    """Write every reply as a line of JSON, with its request, sorted by key.

    Equal stores produce equal files. With --json and --out FILE, standard output gets a summary.
    With --no-text the lines contain neither requests nor replies, and no store can read them.

    \b
    Example:
      pnyx store export --model my-model --out replies.jsonl.gz
    """
    from pnyx.judging.store.maintenance import export_store

    count = export_store(spec.store, spec.out, model=spec.model)
    if as_json and spec.out != "-":
        return Outcome({"out": spec.out, "replies": count})
    to = "" if spec.out == "-" else f" to {escaped(spec.out)}"
    say(f"{many_replies(count)} exported{to}")
    return None


command.gone = {"merge": "use pnyx files merge OTHER... --out STORE"}
