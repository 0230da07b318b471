"""`pnyx build draft`: questions with opposing perspectives, of what people wrote or were asked."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

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
from pnyx.cli.options import (
    column_mapping,
    column_option,
    json_option,
    model_options,
    spending_options,
    warn,
)
from pnyx.cli.progress import reporting
from pnyx.errors import shorten

if TYPE_CHECKING:
    from pnyx.drafts.drafting import Drafted

__all__ = ["draft"]

T = TypeVar("T")

_SHOWN = 5
"""Sources without a draft that are named in warnings; --dropped has all of them."""
_KINDS = {"pairs": "pairs of arguments", "claims": "claims", "survey": "survey questions"}


@click.command(short_help="Draft questions with opposing perspectives.")
@click.argument("source", type=click.Path())
@click.option(
    "--from",
    "kind",
    required=True,
    type=click.Choice(list(_KINDS)),
    help="What SOURCE holds: pairs of contradicting arguments, claims with the views on them, or "
    "survey questions with answers to choose from.",
)
@click.option(
    "--out", metavar="DRAFTS", help="Drafts to write; - is stdout. Needed without --plan."
)
@click.option("--dropped", metavar="FILE", help="Sources that gave no draft, and why (JSONL).")
@click.option(
    "--sample", type=click.IntRange(1), metavar="N", help="Draw so many sources, in their order."
)
@click.option("--seed", type=int, default=0, show_default=True, help="Of --sample.")
@click.option(
    "--rules/--no-rules",
    default=True,
    show_default=True,
    help="claims: let rules turn a claim into a question where they are sure; the model is asked "
    "about the others, or about all.",
)
@click.option(
    "--pool",
    metavar="FILE",
    help="claims: Perspectrum's file of texts  [default: the one beside SOURCE].",
)
@column_option
@force_option
@model_options
@spending_options
@json_option
@click.pass_context
def draft(context: click.Context, /, source: str, out: str | None, **options: Any) -> int:
    """Draft questions with opposing perspectives from SOURCE.

    \b
    --from pairs    JSONL with a, b (id), or the ArguAna counterargs corpus: the model writes the
                    question and both answers to it.
    --from claims   JSONL with claim, perspectives (text, stance), Perspectrum, or any arguments
                    with topic, conclusion and stance (Debatewise, ProCon, idebate): the claim
                    becomes a question, the views stay as they are. Needs no model where rules
                    are sure.
    --from survey   JSONL with question, options, or a table like OpinionQA's info.csv: a question
                    with a perspective for each end of the scale, or for each choice.

    Stopped at any moment, the same command asks nothing twice. Exit status 3: for some sources
    there is no usable reply; they are in --dropped, and never become a perspective.

    \b
    Example:
      pnyx build draft arguments.jsonl.gz --from pairs --sample 250 --llm openai:gpt-4o --plan
      pnyx build draft perspectrum_with_answers_v1.0.json --from claims --out drafts.md
      pnyx build draft info.csv --from survey --llm openai:gpt-4o --out drafts.jsonl
    """
    from pnyx.drafts.drafting import draft_questions

    kind = options["kind"]
    _check_usage(context, kind, options)
    check_spending(context, options)
    check_written(out, options["dropped"], options, SOURCE=source)
    sources = _drawn(_read(source, kind, options), options["sample"], options["seed"])
    check_markdown(out, [{"id": one.id, "question": "?", "perspectives": []} for one in sources])
    with asked_model(options) as model:
        with reporting() as report:
            drafted = draft_questions(sources, model, rules=options["rules"], on_done=report)
        if options["plan"]:
            assert model is not None  # noqa: S101 - without --llm there is no plan
            print_draft_plan(model, options, len(sources), _KINDS[kind])
            return 0
    return _write(drafted, kind, str(out), options)


def _check_usage(context: click.Context, kind: str, options: Mapping[str, Any]) -> None:
    for name, of in (
        ("rules", ("claims",)),
        ("pool", ("claims",)),
        ("columns", ("pairs", "survey")),
    ):
        given = context.get_parameter_source(name) is ParameterSource.COMMANDLINE
        if given and kind not in of:
            flag = "--column" if name == "columns" else f"--{name}"
            raise click.UsageError(f"{flag} is for --from {' or '.join(of)}")
    if (
        context.get_parameter_source("seed") is ParameterSource.COMMANDLINE
        and not options["sample"]
    ):
        raise click.UsageError("--seed is for --sample")
    if kind != "claims" and not options["llm"]:
        raise click.UsageError(f"a language model drafts from {_KINDS[kind]}: it needs --llm")
    if not options["rules"] and not options["llm"]:
        raise click.UsageError("--no-rules leaves it to a language model: it needs --llm")


def _read(source: str, kind: str, options: Mapping[str, Any]) -> list[Any]:
    from pnyx.corpora.draft_sources import read_argument_pairs, read_claims, read_survey

    columns = column_mapping(options["columns"])
    if kind == "pairs":
        return list(read_argument_pairs(source, columns=columns, on_warning=warn))
    if kind == "survey":
        return list(read_survey(source, columns=columns))
    return list(read_claims(source, pool=options["pool"], on_warning=warn))


def _drawn(sources: list[T], count: int | None, seed: int) -> list[T]:
    """Draw `count` of the sources, in their order; all where there are no more."""
    if count is None or count >= len(sources):
        return sources
    places = sorted(random.Random(seed).sample(range(len(sources)), count))
    return [sources[place] for place in places]


def _write(drafted: Sequence[Drafted], kind: str, out: str, options: Mapping[str, Any]) -> int:
    from pnyx.corpora.base import encode
    from pnyx.corpora.drafts import write_drafts
    from pnyx.files import atomic_text

    kept = [one.draft for one in drafted if one.draft is not None]
    without = [one for one in drafted if one.draft is None]
    write_drafts(out, kept)
    if options["dropped"] is not None:
        with atomic_text(options["dropped"]) as stream:
            for one in without:
                status = "failed" if one.failed else "unfit"
                row = {"id": one.source_id, "status": status, "reason": one.reason}
                stream.write(encode(row, one.source_id))
    _warn(drafted, without, options["dropped"])
    failed = sum(one.failed for one in without)
    by = Counter(str(row["drafted_by"]) for row in kept)
    summary = {
        "sources": len(drafted),
        "drafts": len(kept),
        "unfit": len(without) - failed,
        "failed": failed,
        "by": dict(by),
    }
    made = ", ".join(f"{count} {shorten(name, 60)}" for name, count in by.most_common())
    line = f"{len(kept)} drafts of {len(drafted)} {_KINDS[kind]}" + (f" ({made})" if made else "")
    line += f"; {len(without) - failed} unfit" if len(without) > failed else ""
    lack = "without a usable reply" if options["llm"] else "for a language model (--llm)"
    line += f"; {failed} {lack}" if failed else ""
    print_summary(f"{line}; see {shorten(out, 200)}", summary, as_json=options["as_json"])
    return EXIT_UNSCORED if failed else 0


def _warn(drafted: Sequence[Drafted], without: Sequence[Drafted], dropped: str | None) -> None:
    """Name the first sources that nobody could decide on, and say what is odd about drafts."""
    failed = [one for one in without if one.failed]
    for one in failed[:_SHOWN]:
        warn(f"{shorten(one.source_id, 40)}: no draft: {shorten(one.reason, 300)}")
    if len(failed) > _SHOWN:
        where = f"see {shorten(dropped, 200)}" if dropped else "--dropped FILE lists them"
        warn(f"{len(failed) - _SHOWN} more have none; {where}")
    repaired = sum(bool(one.problems) for one in drafted)
    if repaired:
        warn(f"{repaired} replies were read after a repair turn")
