"""What the steps of `pnyx build` share: the one model that is asked, and the files they write."""

from __future__ import annotations

import contextlib
import io
import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from pnyx.app.judge_specs import AskedSpec
from pnyx.app.open_models import books, open_models, prices_of
from pnyx.cli.options import refuse_same_file, say
from pnyx.errors import InputError, shorten

if TYPE_CHECKING:
    from pnyx.judge.completions import StoredModel

__all__ = [
    "asked_model",
    "check_markdown",
    "check_spending",
    "check_written",
    "force_option",
    "print_draft_plan",
    "print_summary",
]

_SPENDING = ("budget", "budget_tokens", "prices", "offline", "plan")

force_option = click.option(
    "--force", is_flag=True, help="Replace --out, with what was edited there."
)


def check_spending(context: click.Context, options: Mapping[str, Any]) -> None:
    """Refuse what means nothing where no language model is named."""
    if options["llm"]:
        return
    for name in _SPENDING:
        if context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            flag = "--from-store" if name == "offline" else f"--{name.replace('_', '-')}"
            raise click.UsageError(f"{flag} is for a language model: it needs --llm")


def check_written(
    out: str | None, dropped: str | None, options: Mapping[str, Any], **inputs: str | None
) -> None:
    """Refuse to write over what is read, or over drafts that somebody may have edited.

    Args:
        out: where drafts go; may be missing for a plan.
        dropped: where goes what is left out, if anywhere.
        options: with `force`, `as_json` and, of commands that have one, `plan`.
        inputs: what they are -> files that are read.
    """
    if options.get("plan"):
        return
    if out is None:
        raise click.UsageError("Missing option '--out'.")
    printed = [flag for flag, path in (("--out", out), ("--dropped", dropped)) if path == "-"]
    printed += ["--json"] if options["as_json"] else []
    if len(printed) > 1:
        raise click.UsageError(f"{printed[0]} and {printed[1]} both write to standard output")
    refuse_same_file("--out", out, **inputs)
    if dropped is not None:
        refuse_same_file("--dropped", dropped, **inputs, **{"--out": out})
    if not options["force"] and out != "-" and Path(out).is_file():
        raise InputError("exists, and may have been edited; --force replaces it", path=out)


def check_markdown(path: str | None, rows: Iterable[Mapping[str, Any]]) -> None:
    """Refuse drafts that a Markdown file cannot hold, before anything is spent on them.

    Args:
        path: the file that is to be written.
        rows: what is known of them beforehand.
    """
    from pnyx.corpora.drafts import is_markdown
    from pnyx.corpora.drafts_markdown import write_drafts_markdown

    if path is not None and is_markdown(path):
        write_drafts_markdown(io.StringIO(), rows)


def _spec(options: Mapping[str, Any]) -> AskedSpec:
    names = ("store", "concurrency", "timeout", *_SPENDING)
    return AskedSpec(**{name: options[name] for name in names})


@contextlib.contextmanager
def asked_model(options: Mapping[str, Any]) -> Iterator[StoredModel | None]:
    """Open the one language model that --llm names, with its books; None without --llm.

    Args:
        options: those of `model_options` and `spending_options`.
    """
    with open_models(
        _spec(options),
        options["llm"],
        say,
        offline=options["offline"] or options["plan"],
        ledger=books(_spec(options)),
    ) as models:
        if len(models) > 1:
            names = ", ".join(model.name for model in models)
            raise InputError(f"--llm: expected one model, found {shorten(names)}")
        yield models[0] if models else None


def print_draft_plan(model: StoredModel, options: Mapping[str, Any], count: int, what: str) -> None:
    """Print what a model that was asked offline would have been asked.

    Args:
        model: offline.
        options: those of `spending_options`, with `as_json`.
        count: how many `what` there are.
        what: e.g. `claims`.
    """
    from pnyx.cli.planning import print_planned
    from pnyx.judge.plan import planned_models

    planned = planned_models([model], {model.name: prices_of(_spec(options))(model.name)})
    head = {"sources": count}
    print_planned(
        f"{count} {what} for {shorten(model.name)}", head, planned, as_json=options["as_json"]
    )


def print_summary(line: str, summary: Mapping[str, Any], *, as_json: bool) -> None:
    """Say what was done: on standard output as JSON, else on standard error."""
    if as_json:
        click.echo(json.dumps(summary, ensure_ascii=False))
    else:
        click.echo(line, err=True)
