"""`pnyx files merge`: one run from the shares of several machines, or one judgement store."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import click

from pnyx.cli.options import Outcome
from pnyx.cli.params import Raw, verb
from pnyx.core.errors import InputError, OptionError, count_of, escaped
from pnyx.core.spec import Spec, out_opt

_STORE, _SHARE = "a judgement store or its export", "a share of a run"


class MergedFilesSpec(Spec, heading="Output"):
    """Where the merged output is written."""

    out: str | None = out_opt(
        None,
        metavar="OUT",
        writes="folder",
        default_text="of stores: $PNYX_STORE, else the user's data folder",
    )


@verb(
    "merge",
    short_help="Merge the shares of a run (--shard), or judgement stores.",
    gone={"--store": "use --out"},
)
@click.argument("inputs", nargs=-1, required=True, metavar="INPUT...", type=Raw())
def command(inputs: tuple[str, ...], spec: MergedFilesSpec) -> Outcome:
    """Merge the output of several machines: the shares of a run, or judgement stores.

    Shares (--shard I/N) are results folders of pnyx judge, or files of annotations (pnyx annotate
    label, verdicts.jsonl of pnyx compare retrievers). All shares of the run are needed, each once,
    with the same items, judge, prompts and settings. The files are byte-identical to those of an
    unsharded run. Exit status 3: some items are unscored.

    Stores are judgement stores (SQLite), or files of pnyx store --export (- is standard input). The
    replies are added to the store OUT. If OUT has another reply to the same request, it keeps its
    own. An error in any INPUT leaves OUT as it was.

    \b
    Example:
      $ pnyx demo --files-only --out ex
      $ pnyx judge support ex/items.jsonl --shard 1/2 --out share1
      $ pnyx judge support ex/items.jsonl --shard 2/2 --out share2
      $ pnyx files merge share1 share2 --out results
      240 of 240 scored, in 2 shares; see results

    \b
    More: pnyx files merge --help-all, docs/recipes/many-machines.md.
    \f
    Annotations are files of pnyx annotate label, or verdicts.jsonl of pnyx compare retrievers. All
    shares of the run are needed, each once, with the same items, judge, prompts and settings. Exit
    status 3: some items are unscored.

    Stores are judgement stores (SQLite), or files of pnyx store --export (- is standard input).
    Their replies are added to the store OUT, which is created if missing. If OUT has another reply
    to the same request, it keeps its own. An error in any INPUT leaves OUT as it was.

    \b
      pnyx files merge 1.jsonl 2.jsonl 3.jsonl --out annotations.parquet
      pnyx files merge gpu1.sqlite gpu2.jsonl.gz --out judgements.sqlite
    """
    kinds = {path: _kind(path) for path in inputs}
    first = kinds[inputs[0]]
    for path, kind in kinds.items():
        if kind != first:
            problem = f"is read as {kind}, and {inputs[0]} as {first}: merge them separately"
            raise InputError(problem, path=path)
    return _merge_stores(inputs, spec.out) if first == _STORE else _merge_shares(inputs, spec.out)


def _kind(path: str) -> str:
    """Return what an input is: a folder, or a file with a manifest, is a share of a run."""
    from pnyx.judging.runs.results import manifest_path

    if path == "-":
        return _STORE
    if not Path(path).exists():
        raise InputError(f"is not there, expected {_SHARE}, or {_STORE}", path=path)
    return _SHARE if Path(path).is_dir() or manifest_path(path).exists() else _STORE


def _merge_shares(shares: Sequence[str], out: str | None) -> Outcome:
    """Write the files that the run would have written without --shard."""
    from pnyx.judging.runs.merge import merge_results

    if out is None:
        raise OptionError("the shares of a run require --out")
    manifest = merge_results(shares, out)
    counts = manifest["counts"]
    line = f"{counts['scored']} of {counts['asked']} scored, in {len(shares)} shares"
    nodes = manifest.get("reports", {"nodes": {}})["nodes"].values()
    unscored = counts["unscored"] or any(row["scored"] < row["asked"] for row in nodes)
    return Outcome(manifest, f"{line}; see {escaped(out)}", unscored)


def _merge_stores(others: Sequence[str], out: str | None) -> Outcome:
    """Add the missing replies of each store or exported file to a store."""
    from pnyx.judging.store.maintenance import merge_stores

    merged = merge_stores(others, out)
    names = ("replies", "added", "present", "conflicts")
    totals = {name: sum(getattr(source, name) for source in merged) for name in names}
    lines = []
    for source in merged:
        line = (
            f"{escaped(source.path)}: {count_of(source.replies, 'reply', 'replies')}, "
            f"{source.added:,} added, {source.present:,} already present"
        )
        if source.conflicts:
            line += f", {source.conflicts:,} differ from the store's reply, which is kept"
        lines.append(line)
    return Outcome({**totals, "sources": list(map(asdict, merged))}, "\n".join(lines))
