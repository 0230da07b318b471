"""`pnyx build filter`: what of the drafts is fit for a benchmark."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from pnyx.cli import EXIT_UNSCORED
from pnyx.cli.building import (
    asked_model,
    check_markdown,
    check_spending,
    check_written,
    force_option,
    print_draft_plan,
    print_summary,
)
from pnyx.cli.options import json_option, model_options, spending_options, warn
from pnyx.cli.progress import reporting
from pnyx.cli.values import NumberRange
from pnyx.errors import shorten

if TYPE_CHECKING:
    from pnyx.drafts.filtering import Filtered

__all__ = ["filter_"]

_SIMILAR = 0.9
_SHOWN = 5


@click.command(name="filter", short_help="Drop what is not fit for a benchmark, and say why.")
@click.argument("drafts", type=click.Path())
@click.option("--out", metavar="DRAFTS", help="Drafts that are kept; - is stdout.")
@click.option("--dropped", metavar="FILE", help="The others, each with its reason.")
@click.option(
    "--personal/--no-personal",
    default=True,
    show_default=True,
    help="Ask the language model whether a question is about the asked person's own life.",
)
@click.option(
    "--similar",
    type=NumberRange(0, 1, min_open=True),
    default=_SIMILAR,
    show_default=True,
    help="Report questions whose cosine with an earlier one is so high.",
)
@click.option("--drop-similar", is_flag=True, help="Drop them, too.")
@force_option
@model_options
@spending_options
@json_option
@click.pass_context
def filter_(context: click.Context, /, drafts: str, out: str | None, **options: Any) -> int:
    """Keep what of DRAFTS is fit for a benchmark; write the others to --dropped.

    \b
    Dropped is what
      sides       has fewer than two perspectives, two in the same words, or one side only;
      personal    is about the asked person's own life, as the model says (BERDS, Table 12);
      repeated    asks in the same words as an earlier question;
      similar     is too like an earlier one, with --drop-similar: else it is only reported;
      undecided   the model gave no usable reply on. Exit status 3.

    DRAFTS may also be survey questions that are still to be drafted, so that nothing is spent on
    personal ones. To take a draft back, move its line from --dropped to the kept ones. Stopped at
    any moment, the same command asks nothing twice.

    \b
    Example:
      pnyx build filter drafts.md --llm openai:gpt-4o --out kept.md --dropped dropped.jsonl
    """
    from pnyx.corpora.drafts import read_drafts
    from pnyx.drafts.filtering import filter_drafts

    if options["personal"] and not options["llm"]:
        raise click.UsageError(
            "a language model tells personal questions: it needs --llm, or --no-personal"
        )
    if not options["personal"]:
        if context.get_parameter_source("llm") is ParameterSource.COMMANDLINE:
            raise click.UsageError("--llm and --no-personal exclude each other")
        options["llm"] = ()
    check_spending(context, options)
    if options["dropped"] is None and not options["plan"]:
        raise click.UsageError("Missing option '--dropped'.")
    check_written(out, options["dropped"], options, DRAFTS=drafts)
    rows = read_drafts(drafts, also=("survey-questions",))
    for path in (out, options["dropped"]):
        check_markdown(path, rows)
    with asked_model(options) as model:
        with reporting() as report:
            found = filter_drafts(
                rows,
                model,
                similar=options["similar"],
                drop_similar=options["drop_similar"],
                on_done=report,
            )
        if options["plan"]:
            assert model is not None  # noqa: S101 - without --llm there is no plan
            print_draft_plan(model, options, len(rows), "questions")
            return 0
    return _write(found, len(rows), str(out), options)


def _write(found: Filtered, asked: int, out: str, options: dict[str, Any]) -> int:
    from pnyx.corpora.drafts import write_drafts

    write_drafts(options["dropped"], [one.written() for one in found.dropped])
    write_drafts(out, found.kept)
    _say(found, options["similar"])
    undecided = found.counts.get("undecided", 0)
    nearest = found.nearest
    summary = {
        "questions": asked,
        "kept": len(found.kept),
        "dropped": found.counts,
        "similar": [{"id": s.id, "of": s.of, "cosine": round(s.cosine, 3)} for s in found.similar],
        "nearest": None if nearest is None else round(nearest.cosine, 3),
    }
    reasons = ", ".join(f"{count} {reason}" for reason, count in found.counts.items())
    line = f"{len(found.kept)} of {asked} kept" + (f"; dropped: {reasons}" if reasons else "")
    print_summary(f"{line}; see {shorten(out, 200)}", summary, as_json=options["as_json"])
    return EXIT_UNSCORED if undecided else 0


def _say(found: Filtered, threshold: float) -> None:
    """Say which questions are alike, and how near the nearest others come."""
    kept = {row["id"] for row in found.kept}
    alike = [one for one in found.similar if one.id in kept]
    for one in alike[:_SHOWN]:
        ids = f"{shorten(one.id, 40)} and {shorten(one.of, 40)}"
        warn(f"{ids} are alike (cosine {one.cosine:.3f}), and both are kept")
    if len(alike) > _SHOWN:
        warn(f"{len(alike) - _SHOWN} more are like an earlier one; `similar` in each says which")
    if found.nearest is not None:
        one = found.nearest
        ids = f"{shorten(one.of, 40)} and {shorten(one.id, 40)}"
        line = f"pnyx: below {threshold:g}, the most alike are {ids} (cosine {one.cosine:.3f})"
        click.echo(line, err=True)
    undecided = [one for one in found.dropped if one.reason == "undecided"]
    for left in undecided[:_SHOWN]:
        warn(f"{shorten(str(left.row['id']), 40)}: undecided: {shorten(left.detail, 300)}")
