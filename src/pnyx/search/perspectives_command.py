"""`pnyx perspectives`: the perspectives on a question, from a model, an index or a file."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from pnyx.cli.options import Outcome, check_question, refuse_two_outputs, say, warn
from pnyx.cli.params import verb
from pnyx.core.errors import OptionError
from pnyx.core.spec import Spec, file_opt, opt, out_opt
from pnyx.display.results import perspective_lines
from pnyx.formats.text_types import SourceName
from pnyx.judging.open_models import open_model
from pnyx.judging.options import WriterSpec
from pnyx.search.common_index import IndexCommand, open_documents
from pnyx.search.plan import PERSPECTIVES

if TYPE_CHECKING:
    from pnyx.search.perspectives import PerspectiveSource


class SourceSpec(Spec, heading="Perspectives"):
    """Where perspectives come from and where they are written."""

    index: SourceName | None = file_opt(None, metavar="INDEX")
    file: str | None = file_opt(None, "Take those of a file (JSONL; also BERDS's).")
    count: int | None = opt(
        None,
        "Maximum number.",
        "-n",
        "--count",
        within="[1, 50]",
        default_text="8; all of a --file",
    )
    open_question: bool = opt(
        False,
        "Not a yes/no question: ask the language model for answers without sides.",
        "--open-question",
        replaces=("--open",),
    )
    out: str | None = out_opt(None)
    topic_id: str | None = opt(None, "", "--id", default_text="from the question")


@verb("perspectives", kind=IndexCommand)
@click.argument("question")
def command(question: str, spec: SourceSpec, model: WriterSpec, as_json: bool) -> int:
    """List the distinct perspectives on QUESTION, with side and source.

    They come from a language model (--llm), the conclusions in an index (--index) or a file
    (--file). --out writes JSON Lines, which --file reads.

    \b
    Example:
      $ pnyx demo --files-only --out ex
      $ pnyx index ex/arguments.jsonl --out my.index
      $ pnyx perspectives "Should zoos be phased out?" --index my.index -n 2
        1  pro      After seeing this film my daughter cried, so obviously all ...
                    index my.index: zoos-11; side by corpus label
        2  con      Zoos have always been there, so they should always be there.
                    index my.index: zoos-15; side by corpus label

    \b
    More: pnyx perspectives --help-all, docs/recipes/perspectives.md.
    \f
    Exit status 3: the model gave no usable answer.
    """
    from pnyx.core.files import atomic_text
    from pnyx.core.records import Question, question_id
    from pnyx.formats.perspectives import perspective_line
    from pnyx.search.perspectives import perspectives_of

    refuse_two_outputs("--out", spec.out, as_json=as_json)
    check_question(question)
    topic = Question(spec.topic_id or question_id(question), question)
    with _source(spec, model) as source:
        perspectives = perspectives_of(topic, source)
    if spec.out is not None and perspectives.perspectives:
        with atomic_text(spec.out) as stream:
            for view in perspectives.perspectives:
                extra = {**view.extra, "question": topic.text}
                stream.write(perspective_line(replace(view, question_id=topic.id, extra=extra)))
    row = {
        "question": {"id": topic.id, "text": topic.text},
        "source": perspectives.source,
        "perspectives": [
            {**view.extra, "id": view.id, "text": view.text, "stance": view.stance}
            for view in perspectives.perspectives
        ],
        "problems": list(perspectives.problems),
    }
    text = "" if spec.out == "-" else perspective_lines(perspectives.perspectives)
    status = Outcome(row, text, perspectives.failed, indent=1, ascii=True).show(as_json=as_json)
    for problem in perspectives.problems:
        warn(problem)
    return status


@contextlib.contextmanager
def _source(spec: SourceSpec, model: WriterSpec) -> Iterator[PerspectiveSource]:
    """Open what --llm, --index or --file names; $PNYX_LLM is used if none is given."""
    named = [name for name in ("index", "file") if getattr(spec, name) is not None]
    if model.llm or (model.models and not named):
        named.append("llm")
    if len(named) != 1:
        raise OptionError("give one of --llm, --index and --file")
    if spec.open_question and named != ["llm"]:
        raise OptionError("--open-question requires --llm")
    if spec.file is not None:
        from pnyx.search.perspectives import FilePerspectives

        yield FilePerspectives(spec.file, count=spec.count)
    elif spec.index is not None:
        from pnyx.search.perspectives_index import IndexPerspectives

        yield IndexPerspectives(open_documents(spec.index), count=spec.count or PERSPECTIVES)
    else:
        from pnyx.search.perspectives import LlmPerspectives

        prompt = "perspectives-open" if spec.open_question else "perspectives"
        with open_model(model, say) as llm:
            if llm is None:
                raise OptionError("--llm is empty")
            yield LlmPerspectives(llm, count=spec.count or PERSPECTIVES, prompt=prompt)
