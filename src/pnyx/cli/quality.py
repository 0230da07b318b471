"""`pnyx quality`: a model of argument quality of one's own, from people's ratings."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from pnyx.cli.options import column_mapping, column_option, json_option
from pnyx.cli.params import Group
from pnyx.cli.progress import reporting
from pnyx.cli.tables import table
from pnyx.errors import shorten

if TYPE_CHECKING:
    from pnyx.search.quality_making import MadeModel

__all__ = ["command"]


@click.group(cls=Group, name="quality", no_args_is_help=True)
def command() -> None:
    """Train a model of argument quality on people's ratings, for `pnyx index --quality-model`.

    \b
    Example:
      pnyx quality train webis-argquality20-arguments.csv --out mine
      pnyx index arguments.jsonl --out my.index --quality --quality-model mine
    """


@command.command()
@click.argument("rated", type=click.Path())
@click.option("--out", required=True, metavar="MODEL", help="Folder of the model to write.")
@click.option(
    "--method",
    type=click.Choice(["packaged", "paper"]),
    default="packaged",
    show_default=True,
    help="The packaged model's recipe, or the Touché paper's two steps: an SVM (argument or not), "
    "then a support vector regression of the quality.",
)
@column_option
@click.option("--name", metavar="NAME", help="Of the model  [default: the folder's].")
@click.option(
    "--folds",
    type=click.IntRange(2, 1000),
    default=10,
    show_default=True,
    help="Parts in which topics are left out, to measure it; texts, where no topics are given.",
)
@click.option("--force", is_flag=True, help="Replace the folder if it exists.")
@json_option
def train(rated: str, as_json: bool, **options: Any) -> None:
    """Train and measure a model of argument quality on RATED texts.

    RATED is a table (.csv, .tsv) or JSONL, gzip or not: text, quality (any scale), is_argument
    (true or false) and topic, of which the last two may lack. Webis-ArgQuality-20 and
    IBM-ArgQ-Rank-30kArgs are read as they were published. The figures are of models that had not
    seen the text's topic, beside the length alone, which is hard to beat. MODEL gets numbers that
    cannot execute, quality.json and card.md.

    \b
    Example:
      pnyx quality train webis-argquality20-arguments.csv --method paper --out paper
      pnyx quality train rated.csv --column quality=stars --out mine
    """
    from pnyx.corpora.rated import read_rated
    from pnyx.search.quality_making import make_quality_model

    rows = read_rated(rated, column_mapping(options["columns"]))
    with reporting() as report:
        made = make_quality_model(
            rows,
            options["out"],
            options["method"],
            name=options["name"],
            folds=options["folds"],
            replace=options["force"],
            report=report,
        )
    if as_json:
        click.echo(json.dumps(made.row()))
    else:
        click.echo("\n".join(_report(made, options["out"])))


def _report(made: MadeModel, out: str) -> list[str]:
    from pnyx.search.quality_making import LABELS, figure_cells

    counts = made.counts
    topics = f" of {counts['topics']} topics" if counts["topics"] else ""
    arguments = (
        "all taken for arguments"
        if counts["arguments"] == counts["texts"]
        else f"{counts['arguments']} of them arguments"
    )
    left = "topics" if counts["topics"] else "texts"
    shown = shorten(out, 200)
    lines = [
        f"{counts['texts']} texts{topics}, {arguments}; each predicted with its "
        f"{'topic' if counts['topics'] else 'fold'} left out; 95 % intervals of draws of {left}",
        "",
        *table([("measure", *made.figures), *figure_cells(made.figures)]),
    ]
    if made.as_in_the_paper:
        found = ", ".join(f"{LABELS[name]} {v:.4f}" for name, v in made.as_in_the_paper.items())
        lines += ["", f"as in the paper, 10 folds in the file's order, words of all: {found}"]
    used = f"pnyx index --quality --quality-model {shown}"
    return [*lines, "", f"wrote {made.name} to {shown}: use it by {used}"]
