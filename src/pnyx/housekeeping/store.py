"""`pnyx store`: show, clean and export a judgement store."""

from __future__ import annotations

import re
from dataclasses import asdict
from datetime import timedelta

from pnyx.cli.options import Outcome, say, warn
from pnyx.cli.params import verb
from pnyx.core.errors import OptionError, count_of, escaped, shorten
from pnyx.core.spec import Spec, file_opt, opt, out_opt
from pnyx.display.results import in_units, store_lines


class StoreSpec(Spec, rare="store finish damaged unreadable"):
    """Options of `pnyx store`."""

    store: str | None = file_opt(None, default_text="$PNYX_STORE, else the user's data folder")
    model: str | None = opt(
        None, "Only replies of this model.", "--of-model", metavar="NAME", replaces=("--model",)
    )
    older_than: str | None = opt(
        None, "Only replies older than this: 36h, 90d, 12w.", metavar="AGE"
    )
    finish: str | None = opt(
        None, "Only replies that ended this way: length, refusal ...", metavar="REASON"
    )
    damaged: bool = opt(False, "Only damaged replies.")
    unreadable: bool = opt(False, "Only replies without a readable answer.")
    export: str | None = out_opt(
        None,
        "",
    )
    delete: bool = opt(False, "Delete the selected replies, and shrink the file.")

    @property
    def criteria(self) -> list[str]:
        """The flags that select replies."""
        names = ("model", "older_than", "finish", "damaged", "unreadable")
        return [self.flag(name) for name in names if self.given(name)]

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


@verb(
    "store",
    restricts=True,
    gone={
        "stats": "use pnyx store",
        "gc": "use pnyx store --delete, with --older-than, --of-model, --finish ...; without "
        "--delete it only says what would be deleted",
        "export": "use pnyx store --export FILE",
        "merge": "use pnyx files merge OTHER... --out STORE",
    },
)
def command(spec: StoreSpec, as_json: bool) -> Outcome | None:
    """Show what the judgement store holds; delete or export replies.

    It keeps every reply of a language model, so that no reply is paid for twice. To merge the
    stores of several machines: pnyx files merge.

    \b
    Example:
      $ echo '{"id": "1", "text": "It is hot.", "statement": "Hot."}' > a.jsonl
      $ pnyx judge support a.jsonl --judge local --set max-tokens=20 \\
          --store judgements.sqlite --out results
      $ pnyx store --store judgements.sqlite
      judgements.sqlite: 1 reply, ...
      ...
        ended by: length 1

    \b
    More: pnyx store --help-all, docs/recipes/language-models.md.
    \f
    Without options, count the replies of each model, how they ended, and the tokens they took. With
    --of-model, --older-than, --finish, --damaged or --unreadable, count the replies that meet all
    of these; with --delete, delete them. Deleted replies are requested, and paid for, again when
    needed. Judges may run meanwhile.

    --export writes replies, or those of --of-model, with their requests, as lines of JSON, sorted
    by key: equal stores produce equal files; .gz compresses, - is standard output. With --no-text
    the lines contain neither requests nor replies, and no store can read them.

    \b
      pnyx store --older-than 90d --finish length
      pnyx store --older-than 90d --finish length --delete
      pnyx store --export replies.jsonl.gz
    """
    if spec.export is not None:
        return _export(spec, spec.export, as_json=as_json)
    if spec.criteria:
        return _select(spec)
    if spec.delete:
        raise OptionError(
            "--delete requires at least one of --of-model, --older-than, --finish, --damaged and "
            "--unreadable"
        )
    from pnyx.judging.store.maintenance import store_stats

    totals = store_stats(spec.store)
    return Outcome(asdict(totals), store_lines(totals))


def _select(spec: StoreSpec) -> Outcome:
    """Count the selected replies, or delete them."""
    from pnyx.judging.store.maintenance import clear_store

    cleared = clear_store(
        spec.store,
        older_than=spec.age,
        model=spec.model,
        finish=spec.finish,
        damaged=spec.damaged,
        unreadable=spec.unreadable,
        dry_run=not spec.delete,
    )
    if cleared.not_compacted:
        warn(
            f"the replies are deleted, but the file was not made smaller: {cleared.not_compacted};"
            " the same command tries again"
        )
    line = f"{count_of(cleared.replies, 'reply', 'replies')} ({in_units(cleared.content_bytes)})"
    if cleared.dry_run:
        line += " would be deleted by --delete"
    else:
        sizes = f"{in_units(cleared.bytes_before)} before, {in_units(cleared.bytes_after)} now"
        line += f" deleted; the file: {sizes}"
    return Outcome(asdict(cleared), line)


def _export(spec: StoreSpec, out: str, *, as_json: bool) -> Outcome | None:
    """Write replies as JSON Lines; with --json and a file, return a summary."""
    from pnyx.judging.store.maintenance import export_store

    refused = [flag for flag in spec.criteria if flag != "--of-model"] + ["--delete"] * spec.delete
    if refused:
        raise OptionError(f"--export and {refused[0]} exclude each other")
    count = export_store(spec.store, out, model=spec.model)
    if as_json and out != "-":
        return Outcome({"out": out, "replies": count})
    to = "" if out == "-" else f" to {escaped(out)}"
    say(f"{count_of(count, 'reply', 'replies')} exported{to}")
    return None
