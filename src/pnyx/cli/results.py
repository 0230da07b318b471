"""`pnyx results`: merge the shares of a run that several machines judged."""

from __future__ import annotations

import click

from pnyx.cli.options import Outcome
from pnyx.cli.params import Group, Raw, verb
from pnyx.core.errors import escaped
from pnyx.core.spec import Spec, out_opt


class WholeSpec(Spec, heading="Output"):
    """Where the whole run is written."""

    out: str = out_opt(
        ..., "Results folder, or file of annotations, to write.", metavar="RESULTS", writes="folder"
    )


@click.group(cls=Group, name="results", no_args_is_help=True)
def command() -> None:
    """Merge the shares of a run that several machines have judged (--shard I/N).

    \b
    Example:
      pnyx judge support items.jsonl --shard 1/2 --out share1
      pnyx judge support items.jsonl --shard 2/2 --out share2
      pnyx results merge share1 share2 --out results
    """


@verb("merge", group=command, short_help="Merge the shares of a run.")
@click.argument("shares", nargs=-1, required=True, metavar="SHARE...", type=Raw())
def merge(shares: tuple[str, ...], spec: WholeSpec) -> Outcome:
    """Write the files that the run would have written without --shard.

    SHARE is a results folder of pnyx judge, or a file of annotations (pnyx annotate apply,
    verdicts.jsonl of pnyx bench perspectives); all shares of the run are needed, each once, with
    the same items, judge, prompts and settings. The answers are byte-identical to those of an
    unsharded run. Exit status 3: some items are unscored.

    \b
    Example:
      pnyx results merge share1 share2 --out results
      pnyx results merge 1.jsonl 2.jsonl 3.jsonl --out annotations.parquet
    """
    from pnyx.judging.runs.merge import merge_results

    manifest = merge_results(shares, spec.out)
    counts = manifest["counts"]
    line = f"{counts['scored']} of {counts['asked']} scored, in {len(shares)} shares"
    nodes = manifest.get("reports", {"nodes": {}})["nodes"].values()
    unscored = counts["unscored"] or any(row["scored"] < row["asked"] for row in nodes)
    return Outcome(manifest, f"{line}; see {escaped(spec.out)}", unscored)
