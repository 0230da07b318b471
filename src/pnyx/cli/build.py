"""`pnyx build`: a benchmark of questions with opposing perspectives, step by step (BERDS)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import click

from pnyx.app.spec import Spec, opt
from pnyx.cli.build_draft import draft
from pnyx.cli.build_filter import filter_
from pnyx.cli.building import DraftsSpec, print_summary
from pnyx.cli.options import refuse_same_file
from pnyx.cli.params import Command, Group, json_option, takes
from pnyx.errors import OptionError, shorten

__all__ = ["command"]


@click.group(cls=Group, name="build", no_args_is_help=True)
def command() -> None:
    """Build a benchmark of questions with opposing perspectives (BERDS, section 4.1).

    Each step reads and writes drafts: JSON Lines, or Markdown where the name ends in .md. Read and
    edit them in between; docs/perspectives.md goes through it.

    \b
    Example:
      pnyx build draft args.jsonl --from pairs --llm local --out drafts.md
      pnyx build filter drafts.md --llm local --out kept.md --dropped out.md
      pnyx build export kept.md --questions q.jsonl --perspectives views.jsonl
    """


@dataclass(frozen=True, kw_only=True)
class ImportSpec(DraftsSpec):
    """Where perspectives are written as drafts."""

    sides: Literal["stance", "order"] = opt(
        "stance",
        "Which perspective supports the question: as the file says, or the first of two that have "
        "no stance, as in BERDS.",
    )


@dataclass(frozen=True, kw_only=True)
class ExportSpec(Spec):
    """Where finished drafts are written."""

    heading: ClassVar[str] = "Output"

    questions: str | None = opt(
        None, "Questions to write (JSONL); - is stdout.", metavar="FILE", raw=True
    )
    perspectives: str | None = opt(
        None, "Perspectives to write (JSONL); - is stdout.", metavar="FILE", raw=True
    )

    def check(self, drafts: str, *, as_json: bool) -> None:
        """Refuse to write nothing, two results to one place, or over what is read.

        Raises:
            OptionError: that is asked for.
        """
        questions, perspectives = self.questions, self.perspectives
        if questions is None and perspectives is None:
            raise OptionError("give --questions, --perspectives or both")
        if [questions, perspectives].count("-") + as_json > 1:
            raise OptionError("only one of --questions, --perspectives and --json can be printed")
        for flag, path in (("--questions", questions), ("--perspectives", perspectives)):
            if path is not None:
                refuse_same_file(flag, path, DRAFTS=drafts)
        if questions is not None and perspectives is not None:
            refuse_same_file("--perspectives", perspectives, **{"--questions": questions})


@command.command(
    name="import", cls=Command, short_help="Turn a file of perspectives, also BERDS's, into drafts."
)
@click.argument("source", metavar="FILE", type=click.Path())
@takes("spec", ImportSpec, without=("dropped",))
@json_option
def import_(source: str, spec: ImportSpec, as_json: bool) -> int:
    """Turn FILE into drafts: any file of perspectives, both of BERDS's, or other drafts.

    Of BERDS's query expansion it takes the perspectives that a retrieval must cover.

    \b
    Example:
      pnyx build import kialo_query_exp.dev.jsonl --sides order --out drafts.md
    """
    from pnyx.corpora.drafts import read_drafts, with_sides, write_drafts

    spec.check(as_json=as_json, FILE=source)
    out = str(spec.out)
    rows = read_drafts(source)
    if spec.sides == "order":
        rows = [with_sides(row) for row in rows]
    write_drafts(out, rows)
    count = sum(len(row["perspectives"]) for row in rows)
    line = f"{len(rows)} drafts with {count} perspectives; see {shorten(out, 200)}"
    print_summary(line, {"drafts": len(rows), "perspectives": count}, as_json=as_json)
    return 0


@command.command(cls=Command, short_help="Write finished drafts as questions and perspectives.")
@click.argument("drafts", type=click.Path())
@takes("output", ExportSpec)
@json_option
def export(drafts: str, output: ExportSpec, as_json: bool) -> int:
    """Write DRAFTS as the two files that searching and measuring read.

    Other fields of a draft (its source, its author) are kept with the question.

    \b
    Example:
      pnyx build export kept.md --questions q.jsonl --perspectives views.jsonl
      pnyx search my.index --topics q.jsonl --out bm25.run
      pnyx judge support --run bm25.run --perspectives views.jsonl \\
        --index my.index --out judged
    """
    from pnyx.corpora.drafts import finished, read_drafts
    from pnyx.corpora.perspectives import write_perspectives
    from pnyx.corpora.questions import write_questions
    from pnyx.files import atomic_text

    output.check(drafts, as_json=as_json)
    asked, views = finished(read_drafts(drafts))
    if output.questions is not None:
        with atomic_text(output.questions) as stream:
            write_questions(stream, asked)
    if output.perspectives is not None:
        with atomic_text(output.perspectives) as stream:
            write_perspectives(stream, views)
    line = f"{len(asked)} questions with {len(views)} perspectives"
    summary = {"questions": len(asked), "perspectives": len(views)}
    print_summary(line, summary, as_json=as_json)
    return 0


for _command in (draft, filter_):
    command.add_command(_command)
