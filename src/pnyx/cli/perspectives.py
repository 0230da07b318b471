"""`pnyx perspectives`: the perspectives on a question, from a model, an index or a file."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import click

from pnyx.app.judge_specs import ModelSpec
from pnyx.app.open_models import open_model
from pnyx.app.spec import Spec, opt
from pnyx.cli import EXIT_UNSCORED
from pnyx.cli.options import say, warn
from pnyx.cli.params import json_option, takes, verb
from pnyx.errors import InputError, OptionError, shorten

if TYPE_CHECKING:
    from pnyx.records import Perspective, Question
    from pnyx.search.perspectives import PerspectiveSet, PerspectiveSource

__all__ = ["command"]

_COUNT = 8
_SHOWN = 1000
_SHOWN_DOCUMENTS = 3


@dataclass(frozen=True, kw_only=True)
class SourceSpec(Spec):
    """Where perspectives come from, and where they are written."""

    heading: ClassVar[str] = "Perspectives"

    index: str | None = opt(None, "Take the conclusions of this index.", metavar="INDEX", raw=True)
    file: str | None = opt(
        None, "Take those of a file (JSONL; also BERDS's).", metavar="FILE", raw=True
    )
    count: int | None = opt(
        None, "How many, at most.", "-n", "--count", low=1, high=50, shown="8; all of a --file"
    )
    open_question: bool = opt(
        False,
        "Yes or no does not answer it: ask the language model for answers without sides.",
        "--open",
    )
    out: str | None = opt(
        None, "Write them as JSONL, which --file reads.", metavar="FILE", raw=True
    )
    topic_id: str | None = opt(
        None, "Question id, also in --file.", "--id", shown="from the question"
    )


@verb("perspectives")
@click.argument("question")
@takes("spec", SourceSpec)
@takes("model", ModelSpec)
@json_option
def command(question: str, spec: SourceSpec, model: ModelSpec, as_json: bool) -> int:
    """List the distinct perspectives on QUESTION, each with its side and where it comes from.

    They come from a language model (--llm), or with none from the conclusions in an index
    (--index) or from a file (--file). Exit status 3: the model gave no usable answer.

    \b
    Example:
      pnyx perspectives "Should zoos be phased out?" --index my.index -n 6
      pnyx perspectives "Should zoos be phased out?" --llm local --out views.jsonl
    """
    from pnyx.cli.argue import question_id
    from pnyx.records import Question
    from pnyx.search.perspectives import perspectives_of

    if spec.out == "-" and as_json:
        raise OptionError("--json and --out - both write to standard output")
    if re.search(r"[\ud800-\udfff]", question):  # bytes of the command line that are not UTF-8
        raise InputError("QUESTION is not UTF-8")
    asked = Question(spec.topic_id or question_id(question), question)
    with _source(spec, model) as source:
        found = perspectives_of(asked, source)
    _write(asked, found, spec.out, as_json)
    for problem in found.problems:
        warn(problem)
    return EXIT_UNSCORED if found.failed else 0


@contextlib.contextmanager
def _source(spec: SourceSpec, model: ModelSpec) -> Iterator[PerspectiveSource]:
    """Open what --llm, --index or --file names; $PNYX_LLM counts where neither of the others is."""
    named = [name for name in ("index", "file") if getattr(spec, name) is not None]
    if model.llm or (model.models and not named):
        named.append("llm")
    if len(named) != 1:
        raise OptionError("give one of --llm, --index and --file")
    if spec.open_question and named != ["llm"]:
        raise OptionError("--open goes with --llm")
    if spec.file is not None:
        from pnyx.search.perspectives import FilePerspectives

        yield FilePerspectives(spec.file, count=spec.count)
    elif spec.index is not None:
        from pnyx.search.index import Index
        from pnyx.search.perspectives_index import IndexPerspectives

        yield IndexPerspectives(Index.open(spec.index), count=spec.count or _COUNT)
    else:
        from pnyx.search.perspectives import LlmPerspectives

        prompt = "perspectives-open" if spec.open_question else "perspectives"
        with open_model(model, say) as llm:
            if llm is None:
                raise OptionError("--llm is empty")
            yield LlmPerspectives(llm, count=spec.count or _COUNT, prompt=prompt)


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
