"""`pnyx prompt`: the packaged prompts, and exactly what would be sent."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

import click

from pnyx.cli.options import Outcome
from pnyx.cli.params import verb
from pnyx.core.errors import InputError, OptionError, shorten
from pnyx.core.spec import Spec, opt
from pnyx.judging.llm.prompts import Prompt
from pnyx.judging.llm.templates import block, listed_inputs
from pnyx.judging.open_judge import check_batch, check_probability

if TYPE_CHECKING:
    from pnyx.judging.questions import JudgeQuestion
    from pnyx.judging.tasks import Task
    from pnyx.models.chat.types import ChatRequest


_GONE = {
    "list": "pnyx prompt without NAME lists the prompts",
    "show": "use pnyx prompt NAME [ITEMS]",
}
"""Words that were commands below `pnyx prompt` -> what to use."""


class PromptSpec(Spec, settings="batch probability"):
    """Options of `pnyx prompt`."""

    item: str | None = opt(
        None, "Item to show.", "--item", metavar="ID", default_text="the first", replaces=("--id",)
    )
    batch: int = opt(
        1, "support, nugget: statements about one text in one call.", within="[1, 100]"
    )
    probability: Literal["auto", "ask", "tok", "both"] = opt("auto", "P(yes), as for pnyx judge.")
    sample: int = opt(0, "Number of the repeat (--set samples=N of pnyx judge).", low=0)
    raw: bool = opt(False, "Show the prompt file itself.")


@verb("prompt")
@click.argument("prompt", metavar="[NAME]", required=False)
@click.argument("items", required=False)
def command(prompt: str | None, items: str | None, spec: PromptSpec) -> Outcome | None:
    """List the packaged prompts, or show the request that NAME makes for an item of ITEMS.

    NAME is a prompt, a task or a .toml file. Without ITEMS the task's own example is shown.

    \b
    Example:
      $ pnyx prompt relevance
      prompt relevance@2, max_tokens 700, temperature 0, top_logprobs 10
      prompt_hash 50341b5dd32f3b1e49df6e99c87764467ebe08a71e8cef166c9507ace89763e0
      ...
      You decide whether a document helps to answer a question.

    \b
    More: pnyx prompt --help-all, docs/recipes/language-models.md.
    \f
    Without NAME, list the packaged prompts: name, version, language, task, inputs, source, hash. A
    prompt that is not asked about items, such as argue, is shown with sample inputs. What is
    printed is what is sent: the messages, the JSON schema of the reply, the parameters, and the
    hash that is kept with each answer.

    \b
      pnyx prompt relevance items.jsonl --item 7
      pnyx prompt quality --sample 2
      pnyx prompt support --raw
    """
    if prompt is None:
        for name in spec.row():
            raise OptionError(f"{spec.flag(name)} requires NAME")
        return _list()
    if prompt in _GONE:
        raise OptionError(f"{prompt} was removed: {_GONE[prompt]}")
    return _show(prompt, items, spec)


def _list() -> Outcome:
    """Return the packaged prompts."""
    from pnyx.judging.llm.prompts import load_prompt, prompt_names

    prompts = [load_prompt(name) for name in prompt_names()]
    names = ("name", "version", "language", "task", "inputs", "max_tokens", "source", "hash")
    rows = [{name: getattr(prompt, name) for name in names} for prompt in prompts]
    width = max(len(prompt.label) for prompt in prompts)
    lines = [
        f"{p.label:{width}}  {p.language}  {p.task}: {', '.join(p.inputs)}\n"
        f"{'':{width}}  {p.source}"
        for p in prompts
    ]
    return Outcome(rows, "\n".join(lines))


def _show(prompt: str, items: str | None, spec: PromptSpec) -> Outcome | None:
    """Return the request that a prompt makes; print the prompt file itself with --raw."""
    from pnyx.judging.llm.prompts import load_prompt, prompt_bytes
    from pnyx.judging.llm.requests import Asking
    from pnyx.judging.tasks import TASKS

    name = TASKS[prompt].prompts[0] if prompt in TASKS else prompt
    if spec.raw:
        click.echo(prompt_bytes(name), nl=False)
        return None
    loaded = load_prompt(name)
    if loaded.task not in TASKS:
        if items is not None:
            raise InputError(f"prompt {loaded.label} is not asked about items: leave out ITEMS")
        return _request(loaded, loaded.request(sample_inputs(loaded), schema=_schema(name)), ())
    task = TASKS[loaded.task]
    if spec.batch > 1:
        check_batch(task, None if loaded.name == task.prompts[0] else loaded)
    if spec.given("probability"):
        check_probability(task, [loaded])
    prompts = {} if loaded.name == task.many and spec.batch > 1 else {task.name: loaded}
    asking = Asking(prompts, probability=spec.probability, batch=spec.batch, sample=spec.sample)
    if items is not None:
        read_items = task.read(items)
    else:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "example.jsonl"
            path.write_text(task.example + "\n", encoding="utf-8")
            read_items = task.read(str(path))
    questions = _in_format(task, loaded, read_items)
    calls = ([question for _, question in u] for u in asking.units(list(enumerate(questions))))
    for call in calls:
        if spec.item is None or any(question.id == spec.item for question in call):
            return _request(asking.prompt(call), asking.request(call), call)
    raise InputError(f"no item has the id {shorten(str(spec.item))!r}")


def _schema(name: str) -> Mapping[str, Any] | None:
    """Return the reply schema of a writer's prompt; None for other prompts."""
    from pnyx.cases.replies import points_reply, sentences_reply
    from pnyx.judging.llm.structured_replies import schema_of

    shapes = {"argue": points_reply, "argue-prose": points_reply, "report": sentences_reply}
    return schema_of(shapes[name]()) if name in shapes else None


def _in_format(
    task: Task, prompt: Prompt, questions: Sequence[JudgeQuestion]
) -> Sequence[JudgeQuestion]:
    """Return the first format's question with this prompt; points are not invented."""
    form = next((form for form in task.formats if prompt.name in form.prompts), None)
    if form is None:
        return questions
    parts = [part for question in questions for part in form.parts(form.shape(question))]
    return [part.question for part in parts if form.prompt_of(part) == prompt.name]


def _request(prompt: Prompt, request: ChatRequest, questions: Sequence[JudgeQuestion]) -> Outcome:
    parameters = {
        "max_tokens": request.max_tokens,
        "temperature": request.temperature,
        "top_logprobs": request.logprobs,
    }
    sent = {
        "prompt": prompt.label,
        "prompt_hash": request.hash,
        "items": [question.id for question in questions],
        "messages": [{"role": m.role, "content": m.content} for m in request.messages],
        "schema": request.schema,
        "parameters": parameters,
    }
    settings = ", ".join(f"{name} {value:g}" for name, value in parameters.items())
    lines = [f"prompt {prompt.label}, {settings}", f"prompt_hash {request.hash}"]
    lines += [f"\n--- {message.role}\n{_visible(message.content)}" for message in request.messages]
    schema = "set by the command that asks"
    if request.schema is not None:
        schema = json.dumps(request.schema, ensure_ascii=False)
    lines.append(f"\n--- schema of the reply\n{schema}")
    return Outcome(sent, "\n".join(lines))


def _visible(text: str) -> str:
    """Return a text that is safe for a terminal: control characters are spelt out."""
    return "".join(
        c if c.isprintable() or c in "\n\t" else c.encode("unicode_escape").decode() for c in text
    )


_DOCUMENTS: Final = (
    "Free buses\nRidership rose by a third in the year after fares were abolished.",
    "The city pays 4 million a year for the fares that it no longer takes.",
)
_SAMPLES: Final[dict[str, str | Sequence[str]]] = {
    "background": "I am on the council of a small town.",
    "citations": "at most 3",
    "cited": "yes",
    "claim": "Should buses be free? Yes.",
    "count": "5",
    "criterion": "",
    "documents": _DOCUMENTS,
    "documents_language": "English",
    "examples": _DOCUMENTS[:1],
    "limit": "2000 characters",
    "material": _DOCUMENTS,
    "names": "clarity, length",
    "no": "Towns should charge for their buses.",
    "passages": _DOCUMENTS,
    "points": "4",
    "premises": "3",
    "problem": "points.0.conclusion: Field required",
    "purpose": "How polite and how plain are our letters?",
    "question": "Should buses be free?",
    "questions": "How many more people ride?\nWho pays?",
    "request": "Should buses be free? What did towns find that tried it?",
    "room": "5",
    "sentence": "Ridership rose by a third.",
    "side": "pro",
    "stance": "pro",
    "statements": ("Ridership rose.", "Fares paid for a tenth of the costs."),
    "text": "Ridership rose by a third in the year after fares were abolished.",
    "topic": "Should buses be free?",
    "words": "300",
    "yes": "Towns should make their buses free.",
}
"""Name of an input -> its sample."""


def sample_inputs(prompt: Prompt) -> dict[str, str | Sequence[str]]:
    """Return a text, or a list of texts, for each input of a prompt, as its templates use it."""
    listed = {**listed_inputs(prompt.system), **listed_inputs(prompt.user)}
    return {name: _sample(name, as_list=listed.get(name, False)) for name in prompt.inputs}


def _sample(name: str, *, as_list: bool) -> str | Sequence[str]:
    sample = _SAMPLES.get(name, f"({name})")
    if as_list:
        return [sample] if isinstance(sample, str) else sample
    if isinstance(sample, str):
        return sample
    return "\n\n".join(f"Document {n}:\n{block('DOCUMENT', t)}" for n, t in enumerate(sample, 1))
