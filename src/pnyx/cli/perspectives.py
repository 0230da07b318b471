"""`pnyx perspectives`: the perspectives on a question, from a model, an index or a file."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from pnyx.cli import EXIT_UNSCORED
from pnyx.cli.options import json_option, model_options, open_model, warn
from pnyx.errors import InputError, shorten

if TYPE_CHECKING:
    from pnyx.records import Perspective, Question
    from pnyx.search.perspectives import PerspectiveSet, PerspectiveSource

__all__ = ["command"]

_COUNT = 8
_SHOWN = 1000
_SHOWN_DOCUMENTS = 3


@click.command(name="perspectives")
@click.argument("question")
@click.option("--index", type=click.Path(), help="Take the conclusions of this index.")
@click.option("--file", type=click.Path(), help="Take those of a file (JSONL; also BERDS's).")
@click.option(
    "-n",
    "--count",
    type=click.IntRange(1, 50),
    help="At most so many  [default: 8; all of a --file].",
)
@click.option(
    "--open",
    "open_question",
    is_flag=True,
    help="Yes or no does not answer it: ask the language model for answers without sides.",
)
@click.option("--id", "topic_id", help="Question id, also in --file  [default: from the question].")
@click.option("--out", type=click.Path(), help="Write them as JSONL, which --file reads.")
@model_options
@json_option
@click.pass_context
def command(ctx: click.Context, /, question: str, as_json: bool, **options: Any) -> int:
    """List the distinct perspectives on QUESTION, each with its side and where it comes from.

    They come from a language model (--llm), or with none from the conclusions in an index
    (--index) or from a file (--file). Exit status 3: the model gave no usable answer.

    \b
    Example:
      pnyx perspectives "Should zoos be phased out?" --index my.index -n 6
      pnyx perspectives "Should zoos be phased out?" --llm openai:gpt-4o-mini --out views.jsonl
    """
    from pnyx.cli.argue import question_id
    from pnyx.records import Question
    from pnyx.search.perspectives import perspectives_of

    if options["out"] == "-" and as_json:
        raise click.UsageError("--json and --out - both write to standard output")
    if re.search(r"[\ud800-\udfff]", question):  # bytes of the command line that are not UTF-8
        raise InputError("QUESTION is not UTF-8")
    asked = Question(options["topic_id"] or question_id(question), question)
    with _source(ctx, options) as source:
        found = perspectives_of(asked, source)
    _write(asked, found, options["out"], as_json)
    for problem in found.problems:
        warn(problem)
    return EXIT_UNSCORED if found.failed else 0


@contextlib.contextmanager
def _source(ctx: click.Context, options: dict[str, Any]) -> Iterator[PerspectiveSource]:
    """Open what --llm, --index or --file names; $PNYX_LLM counts where neither of the others is."""
    named = [name for name in ("index", "file") if options[name] is not None]
    from_environment = ctx.get_parameter_source("llm") is click.core.ParameterSource.ENVIRONMENT
    if options["llm"] and not (named and from_environment):
        named.append("llm")
    if len(named) != 1:
        raise click.UsageError("give one of --llm, --index and --file")
    if options["open_question"] and named != ["llm"]:
        raise click.UsageError("--open is for a language model: it needs --llm")
    count = options["count"]
    if named == ["file"]:
        from pnyx.search.perspectives import FilePerspectives

        yield FilePerspectives(options["file"], count=count)
    elif named == ["index"]:
        from pnyx.search.index import Index
        from pnyx.search.perspectives_index import IndexPerspectives

        yield IndexPerspectives(Index.open(options["index"]), count=count or _COUNT)
    else:
        from pnyx.search.perspectives import LlmPerspectives

        prompt = "perspectives-open" if options["open_question"] else "perspectives"
        with open_model(
            options["llm"], options["store"], options["concurrency"], options["timeout"]
        ) as model:
            if model is None:
                raise click.UsageError("--llm is empty")
            yield LlmPerspectives(model, count=count or _COUNT, prompt=prompt)


def _write(asked: Question, found: PerspectiveSet, out: str | None, as_json: bool) -> None:
    if out is not None and found.perspectives:
        from dataclasses import replace

        from pnyx.corpora.perspectives import perspective_line
        from pnyx.files import atomic_text

        with atomic_text(out) as stream:
            for one in found.perspectives:
                extra = {**one.extra, "question": asked.text}
                own = replace(one, question_id=asked.id, extra=extra)
                stream.write(perspective_line(own))
    if as_json:
        printed = {
            "question": {"id": asked.id, "text": asked.text},
            "source": found.source,
            "perspectives": [_row(one) for one in found.perspectives],
            "problems": list(found.problems),
        }
        click.echo(json.dumps(printed, indent=1))
    elif out != "-":
        for number, one in enumerate(found.perspectives, start=1):
            click.echo(_lines(number, one))


def _row(one: Perspective) -> dict[str, Any]:
    return {**one.extra, "id": one.id, "text": one.text, "stance": one.stance}


def _lines(number: int, one: Perspective) -> str:
    """Show a perspective on two lines; its text may come from a hostile document."""
    side = one.stance or "?"
    return (
        f"{number:>3}  {side:<7}  {shorten(one.text, _SHOWN)}\n{'':14}{shorten(_origin(one), 200)}"
    )


def _origin(one: Perspective) -> str:
    origin = str(one.extra.get("origin", ""))
    documents = one.extra.get("documents")
    if not isinstance(documents, list):
        return origin
    shown = ", ".join(map(str, documents[:_SHOWN_DOCUMENTS]))
    more = f" and {len(documents) - _SHOWN_DOCUMENTS} more"
    by = f"; side by {one.extra['side_by']}" if one.extra.get("side_by") else ""
    return f"{origin}: {shown}{more if len(documents) > _SHOWN_DOCUMENTS else ''}{by}"
