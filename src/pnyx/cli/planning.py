"""`--plan`: calls, tokens and dollars before anything is spent."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from pnyx.errors import shorten

if TYPE_CHECKING:
    from pnyx.app.open_judge import Opened
    from pnyx.judge.plan import PlannedModel
    from pnyx.judge.questions import JudgeQuestion
    from pnyx.models.prices import Price

__all__ = ["print_plan", "print_planned"]


def print_plan(
    opened: Opened,
    questions: Sequence[JudgeQuestion],
    prices: Mapping[str, Price | None],
    as_json: bool,
) -> int:
    """Print what judging would ask of each model, and return the exit status."""
    from pnyx.judge.plan import plan_run

    planned = plan_run(opened.judge, opened.models, questions, prices)
    head = {"judge": opened.judge.name, "questions": len(questions)}
    print_planned(
        f"{len(questions)} questions for {shorten(opened.judge.name)}",
        head,
        planned,
        as_json=as_json,
    )
    return 0


def print_planned(
    line: str, head: Mapping[str, Any], planned: Sequence[PlannedModel], *, as_json: bool
) -> None:
    """Print what models would be asked.

    Args:
        line: what it is for.
        head: the same for `--json`.
        planned: the models.
        as_json: whether it is printed as JSON.
    """
    if as_json:
        click.echo(json.dumps(_row(head, planned), ensure_ascii=False))
        return
    click.echo(line)
    if not planned:
        click.echo("  no language model is asked: no calls, no cost")
    for model in planned:
        _print_model(model)
    if any(model.estimate.requests for model in planned):
        click.echo(
            "Repair turns, second tries after replies cut off, calls that must be split and "
            "failed attempts may come on top; "
            "--budget or --budget-tokens sets a limit that holds whatever happens."
        )


def _row(head: Mapping[str, Any], planned: Sequence[PlannedModel]) -> dict[str, Any]:
    return {
        **head,
        "models": [
            {
                "model": model.model,
                "from_store": model.from_store,
                "calls": model.estimate.requests,
                "second_tries": model.second_tries,
                "learnt_from": model.learnt_from,
                **{k: v for k, v in asdict(model.estimate).items() if k != "requests"},
            }
            for model in planned
        ],
    }


def _print_model(model: PlannedModel) -> None:
    estimate = model.estimate
    click.echo(f"{shorten(model.model)}")
    click.echo(f"  calls              {estimate.requests:,} ({model.from_store:,} from the store)")
    if not estimate.requests:
        return
    if model.second_tries:
        click.echo(f"  of these again     {model.second_tries:,} expected, after replies cut off")
    basis = (
        f"5th to 95th percentile of {model.learnt_from:,} stored replies"
        if model.learnt_from
        else "from the fewest to the most possible"
    )
    click.echo(f"  prompt tokens      {_range(estimate.prompt_tokens)} ({basis})")
    click.echo(f"  completion tokens  {_range(estimate.completion_tokens)}")
    if estimate.cost_usd is None:
        click.echo("  price              not known; --prices gives it")
    else:
        low, high = estimate.cost_usd
        click.echo(f"  price              ${low:.4f} to ${high:.4f}")


def _range(tokens: tuple[int, int]) -> str:
    return f"{tokens[0]:,} to {tokens[1]:,}"
