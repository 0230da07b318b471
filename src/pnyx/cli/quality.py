"""`pnyx quality`: a model of argument quality of one's own, from people's ratings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import click

from pnyx.app.spec import opt, out_opt
from pnyx.cli.common.options import ColumnSpec, print_result
from pnyx.cli.common.params import Group, verb
from pnyx.cli.common.progress import reporting
from pnyx.errors import escaped
from pnyx.view.tables import Column, Table, filled

if TYPE_CHECKING:
    from pnyx.search.quality.making import MadeModel


@click.group(cls=Group, name="quality", no_args_is_help=True)
def command() -> None:
    """Train a model of argument quality on people's ratings, for `pnyx index --quality-model`.

    \b
    Example:
      pnyx quality train webis-argquality20-arguments.csv --out mine
      pnyx index args.jsonl --out my.index --quality-model mine
    """


class TrainSpec(ColumnSpec, heading="Model"):
    """Which model is trained, and where it goes."""

    out: str = out_opt(..., "Folder of the model to write.", metavar="MODEL", writes="folder")
    method: Literal["packaged", "paper"] = opt(
        "packaged",
        "Recipe of the packaged model, or of the Touché paper: an SVM (argument or not), then a "
        "support vector regression.",
    )
    name: str | None = opt(None, "Name of the model.", metavar="NAME", shown="the folder's")
    folds: int = opt(
        10, "Cross-validation folds over topics; over texts without topics.", within="[2, 1000]"
    )
    force: bool = opt(False, "Replace the folder if it exists.")


@verb("train", group=command)
@click.argument("rated")
def train(rated: str, spec: TrainSpec, as_json: bool) -> None:
    """Train and measure a model of argument quality on RATED texts.

    RATED is a table (.csv, .tsv) or JSONL, gzip or not: text, quality (any scale), and optionally
    is_argument (true or false) and topic. Webis-ArgQuality-20 and IBM-ArgQ-Rank-30kArgs are read as
    they were published. The figures are for held-out topics, compared with text length alone, which
    is hard to beat. MODEL contains weights that cannot execute code, quality.json and card.md.

    \b
    Example:
      pnyx quality train webis-argquality20.csv --method paper --out paper
      pnyx quality train rated.csv --column quality=stars --out mine
    """
    from pnyx.corpora.benchmarks.rated import read_rated
    from pnyx.search.quality.making import make_quality_model

    rows = read_rated(rated, spec.mapping)
    with reporting() as report:
        made = make_quality_model(
            rows,
            spec.out,
            spec.method,
            name=spec.name,
            folds=spec.folds,
            replace=spec.force,
            report=report,
        )
    print_result(made.row(), "\n\n".join(_report(made, spec.out)), as_json=as_json, err=False)


def _report(made: MadeModel, out: str) -> list[str]:
    from pnyx.search.quality.making import LABELS, figure_cells

    counts = made.counts
    topics = f" of {counts['topics']} topics" if counts["topics"] else ""
    arguments = (
        "all taken for arguments"
        if counts["arguments"] == counts["texts"]
        else f"{counts['arguments']} of them arguments"
    )
    left = "topics" if counts["topics"] else "texts"
    shown = escaped(out)
    title = (
        f"{counts['texts']} texts{topics}, {arguments}; each predicted with its "
        f"{'topic' if counts['topics'] else 'fold'} left out; 95 % intervals of draws of {left}"
    )
    columns = [Column("measure"), *(Column(name, "figure") for name in made.figures)]
    parts = [Table(columns, figure_cells(made.figures), title=title).text()]
    if made.as_in_the_paper:
        found = ", ".join(f"{LABELS[name]} {v:.4f}" for name, v in made.as_in_the_paper.items())
        parts.append(
            filled(f"as in the paper, 10 folds in the file's order, words of all: {found}")
        )
    used = f"pnyx index --quality --quality-model {shown}"
    return [*parts, f"wrote {made.name} to {shown}: use it by\n{used}"]
