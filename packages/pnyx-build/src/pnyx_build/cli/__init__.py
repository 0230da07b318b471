"""`pnyx build`: benchmarks of perspectives, step by step (BERDS), and of debates (ConQRet)."""

from __future__ import annotations

import click

from pnyx.cli.options import print_result, refuse_same_file
from pnyx.cli.params import Group, verb
from pnyx.core.errors import OptionError, escaped
from pnyx.core.spec import Spec, out_opt
from pnyx.judging.measures.options import SidesSpec
from pnyx_build.cli.debates import debates
from pnyx_build.cli.drafts import DraftsSpec, draft, filter_
from pnyx_build.cli.judged_pairs import pairs, stats


@click.group(cls=Group, name="build", no_args_is_help=True)
def command() -> None:
    """Build a benchmark of questions with opposing perspectives, or of debates with evidence.

    Perspectives (BERDS, section 4.1): draft, filter, import and export read and write drafts, JSON
    Lines, or Markdown if the name ends in .md. Review and edit them between the steps, as described
    in docs/recipes/perspectives.md.

    Debates (ConQRet, section 4): debates turns saved web pages into documents and judged pairs;
    pairs and stats read what it writes, and ConQRet's own files.

    \b
    Example:
      pnyx build draft args.jsonl --from pairs --llm local --out drafts.md
      pnyx build filter drafts.md --llm local --out kept.md --dropped out.md
      pnyx build export kept.md --questions q.jsonl --perspectives views.jsonl
      pnyx build debates saved/*.html --out bench --fetch --contact me@example.org
    """


class ImportSpec(SidesSpec, DraftsSpec):
    """Where perspectives are written as drafts."""


class DraftsOutputSpec(Spec, heading="Output"):
    """Where finished drafts are written."""

    questions: str | None = out_opt(None, "Questions to write (JSONL); - is stdout.")
    perspectives: str | None = out_opt(None, "Perspectives to write (JSONL); - is stdout.")

    def check(self, drafts: str, *, as_json: bool) -> None:
        """Raise if nothing would be written, or an output would overwrite another file."""
        questions, perspectives = self.questions, self.perspectives
        if questions is None and perspectives is None:
            raise OptionError("give --questions, --perspectives or both")
        if [questions, perspectives].count("-") + as_json > 1:
            raise OptionError("only one of --questions, --perspectives and --json can be printed")
        refuse_same_file("--questions", questions, DRAFTS=drafts)
        refuse_same_file("--perspectives", perspectives, DRAFTS=drafts)


@verb(
    "import",
    short_help="Turn a file of perspectives, such as those of BERDS, into drafts.",
    without={"spec": "dropped"},
)
@click.argument("source", metavar="FILE")
def import_(source: str, spec: ImportSpec, as_json: bool) -> int:
    """Turn FILE into drafts: any file of perspectives, either file of BERDS, or other drafts.

    From BERDS's query expansion, it takes the perspectives that a retrieval must cover.

    \b
    Example:
      pnyx build import kialo_query_exp.dev.jsonl --sides order --out drafts.md
    """
    from pnyx_build.drafts.files import read_drafts, with_sides, write_drafts

    spec.check(as_json=as_json, FILE=source)
    out = str(spec.out)
    rows = read_drafts(source)
    if spec.sides == "order":
        rows = [with_sides(row) for row in rows]
    write_drafts(out, rows)
    count = sum(len(row["perspectives"]) for row in rows)
    line = f"{len(rows)} drafts with {count} perspectives; see {escaped(out)}"
    row = {"drafts": len(rows), "perspectives": count}
    print_result(row, line, as_json=as_json, ensure_ascii=False)
    return 0


@verb("export", short_help="Write finished drafts as questions and perspectives.")
@click.argument("drafts")
def export(drafts: str, output: DraftsOutputSpec, as_json: bool) -> int:
    """Write DRAFTS as two files, for searching and measuring.

    Other fields of a draft (its source, its author) are kept with the question.

    \b
    Example:
      pnyx build export kept.md --questions q.jsonl --perspectives views.jsonl
      pnyx search my.index --topics q.jsonl --out bm25.run
      pnyx judge support --run bm25.run --perspectives views.jsonl \\
        --index my.index --out judged
    """
    from pnyx.core.files import atomic_text
    from pnyx.core.placement import placed_together
    from pnyx.formats.perspectives import write_perspectives
    from pnyx.formats.questions import write_questions
    from pnyx_build.drafts.files import finished, read_drafts

    output.check(drafts, as_json=as_json)
    questions, views = finished(read_drafts(drafts))
    with placed_together():
        if output.questions is not None:
            with atomic_text(output.questions) as stream:
                write_questions(stream, questions)
        if output.perspectives is not None:
            with atomic_text(output.perspectives) as stream:
                write_perspectives(stream, views)
    line = f"{len(questions)} questions with {len(views)} perspectives"
    summary = {"questions": len(questions), "perspectives": len(views)}
    print_result(summary, line, as_json=as_json, ensure_ascii=False)
    return 0


for _command in (import_, draft, filter_, export, debates, pairs, stats):
    command.add_command(_command)
