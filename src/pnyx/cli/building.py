"""What the steps of `pnyx build` share: the one model that is asked, and the files they write."""

from __future__ import annotations

import contextlib
import io
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import click

from pnyx.app.open_models import books, open_models, prices_of
from pnyx.app.spec import Spec, opt
from pnyx.cli.options import refuse_same_file, say
from pnyx.errors import InputError, OptionError, shorten

if TYPE_CHECKING:
    from pnyx.app.judge_specs import AskedSpec
    from pnyx.judge.completions import StoredModel

__all__ = ["DraftsSpec", "asked_model", "check_markdown", "print_draft_plan", "print_summary"]


@dataclass(frozen=True, kw_only=True)
class DraftsSpec(Spec):
    """Where drafts are written."""

    heading: ClassVar[str] = "Output"

    out: str | None = opt(None, "Drafts to write; - is stdout.", metavar="DRAFTS", raw=True)
    dropped: str | None = opt(
        None, "Where to write what is left out, with the reasons.", metavar="FILE", raw=True
    )
    force: bool = opt(False, "Overwrite --out, including edits.")

    def check(self, *, as_json: bool, needed: Iterable[str] = ("out",), **inputs: str) -> None:
        """Refuse to write over what is read, or over drafts that somebody may have edited.

        Args:
            as_json: whether a summary goes to standard output.
            needed: fields that must be given.
            inputs: what they are -> files that are read.

        Raises:
            OptionError: an option lacks, or two results go to one place.
            InputError: --out is there already.
        """
        for name in needed:
            if getattr(self, name) is None:
                raise OptionError(f"Missing option '--{name}'.")
        out = str(self.out)
        written = {"--out": out, "--dropped": self.dropped, "--json": "-" if as_json else None}
        printed = [flag for flag, path in written.items() if path == "-"]
        if len(printed) > 1:
            raise OptionError(f"{printed[0]} and {printed[1]} both write to standard output")
        refuse_same_file("--out", out, **inputs)
        if self.dropped is not None:
            refuse_same_file("--dropped", self.dropped, **inputs, **{"--out": out})
        if not self.force and out != "-" and Path(out).is_file():
            raise InputError("exists, and may have been edited; --force replaces it", path=out)


def check_markdown(path: str | None, rows: Iterable[Mapping[str, Any]]) -> None:
    """Refuse drafts that a Markdown file cannot hold, before anything is spent on them.

    Args:
        path: the file that is to be written.
        rows: what is known of them beforehand.
    """
    from pnyx.corpora.drafts import is_markdown
    from pnyx.corpora.markdown import write_drafts_markdown

    if path is not None and is_markdown(path):
        write_drafts_markdown(io.StringIO(), rows)


@contextlib.contextmanager
def asked_model(asked: AskedSpec | None) -> Iterator[StoredModel | None]:
    """Open the one language model that a spec names, with its books; None where it names none."""
    if asked is None:
        yield None
        return
    offline = asked.offline or asked.plan
    with open_models(asked, asked.models, say, offline=offline, ledger=books(asked)) as models:
        if len(models) > 1:
            names = ", ".join(model.name for model in models)
            raise InputError(f"--llm: expected one model, found {shorten(names)}")
        yield models[0] if models else None


def print_draft_plan(
    model: StoredModel | None, asked: AskedSpec, count: int, what: str, *, as_json: bool
) -> None:
    """Print what a model that was asked offline would have been asked about `count` of `what`."""
    from pnyx.cli.planning import print_planned
    from pnyx.judge.plan import planned_models

    assert model is not None  # noqa: S101 - without --llm there is no plan
    planned = planned_models([model], {model.name: prices_of(asked)(model.name)})
    line = f"{count} {what} for {shorten(model.name)}"
    print_planned(line, {"sources": count}, planned, as_json=as_json)


def print_summary(line: str, summary: Mapping[str, Any], *, as_json: bool) -> None:
    """Say what was done: on standard output as JSON, else on standard error."""
    if as_json:
        click.echo(json.dumps(summary, ensure_ascii=False))
    else:
        click.echo(line, err=True)
