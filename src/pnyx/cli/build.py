"""`pnyx build`: a benchmark of questions with opposing perspectives, step by step (BERDS)."""

from __future__ import annotations

from typing import Any

import click

from pnyx.cli.build_draft import draft
from pnyx.cli.build_filter import filter_
from pnyx.cli.building import check_written, force_option, print_summary
from pnyx.cli.options import json_option, refuse_same_file
from pnyx.cli.params import Group
from pnyx.errors import shorten

__all__ = ["command"]


@click.group(cls=Group, name="build", no_args_is_help=True)
def command() -> None:
    """Build a benchmark of questions with opposing perspectives (BERDS, section 4.1).

    Each step reads and writes drafts: JSON Lines, or Markdown where the name ends in .md. Read and
    edit them in between; docs/perspectives.md goes through it.

    \b
    Example:
      pnyx build draft arguments.jsonl.gz --from pairs --llm openai:gpt-4o --out drafts.md
      pnyx build filter drafts.md --llm openai:gpt-4o --out kept.md --dropped dropped.jsonl
      pnyx build export kept.md --questions questions.jsonl --perspectives views.jsonl
    """


@command.command(name="import", short_help="Perspectives of a file, also BERDS's, as drafts.")
@click.argument("source", metavar="FILE", type=click.Path())
@click.option("--out", required=True, metavar="DRAFTS", help="Drafts to write; - is stdout.")
@click.option(
    "--sides",
    type=click.Choice(["stance", "order"]),
    default="stance",
    show_default=True,
    help="Which perspective supports the question: as the file says, or the first of two that "
    "have no stance, as in BERDS.",
)
@force_option
@json_option
def import_(source: str, out: str, **options: Any) -> int:
    """Turn FILE into drafts: any file of perspectives, both of BERDS's, or other drafts.

    Of BERDS's query expansion it takes the perspectives that a retrieval must cover.

    \b
    Example:
      pnyx build import kialo_query_exp.dev.jsonl --sides order --out drafts.md
    """
    from pnyx.corpora.drafts import read_drafts, with_sides, write_drafts

    check_written(out, None, options, FILE=source)
    rows = read_drafts(source)
    if options["sides"] == "order":
        rows = [with_sides(row) for row in rows]
    write_drafts(out, rows)
    count = sum(len(row["perspectives"]) for row in rows)
    line = f"{len(rows)} drafts with {count} perspectives; see {shorten(out, 200)}"
    print_summary(line, {"drafts": len(rows), "perspectives": count}, as_json=options["as_json"])
    return 0


@command.command(short_help="Finished drafts as questions and perspectives.")
@click.argument("drafts", type=click.Path())
@click.option("--questions", metavar="FILE", help="Questions to write (JSONL); - is stdout.")
@click.option("--perspectives", metavar="FILE", help="Perspectives to write (JSONL); - is stdout.")
@json_option
def export(drafts: str, questions: str | None, perspectives: str | None, as_json: bool) -> int:
    """Write DRAFTS as the two files that searching and measuring read.

    What else a draft holds (where it comes from, who wrote it) goes along with its question.

    \b
    Example:
      pnyx build export kept.md --questions questions.jsonl --perspectives views.jsonl
      pnyx search my.index --topics questions.jsonl --out bm25.run
      pnyx judge support --run bm25.run --perspectives views.jsonl --index my.index --out judged
    """
    from pnyx.corpora.drafts import finished, read_drafts
    from pnyx.corpora.perspectives import write_perspectives
    from pnyx.corpora.questions import write_questions
    from pnyx.files import atomic_text

    if questions is None and perspectives is None:
        raise click.UsageError("give --questions, --perspectives or both")
    if [questions, perspectives].count("-") + as_json > 1:
        raise click.UsageError("only one of --questions, --perspectives and --json can be printed")
    for flag, path in (("--questions", questions), ("--perspectives", perspectives)):
        if path is not None:
            refuse_same_file(flag, path, DRAFTS=drafts)
    if questions is not None and perspectives is not None:
        refuse_same_file("--perspectives", perspectives, **{"--questions": questions})
    asked, views = finished(read_drafts(drafts))
    if questions is not None:
        with atomic_text(questions) as stream:
            write_questions(stream, asked)
    if perspectives is not None:
        with atomic_text(perspectives) as stream:
            write_perspectives(stream, views)
    line = f"{len(asked)} questions with {len(views)} perspectives"
    summary = {"questions": len(asked), "perspectives": len(views)}
    print_summary(line, summary, as_json=as_json)
    return 0


for _command in (draft, filter_):
    command.add_command(_command)
