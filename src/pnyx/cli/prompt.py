"""`pnyx prompt`: the packaged prompts, and exactly what would be sent."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pnyx.app.open_judge import check_batch
from pnyx.cli.params import Group, json_option
from pnyx.errors import InputError, shorten

if TYPE_CHECKING:
    from pnyx.judge.llm import Asking
    from pnyx.judge.prompting import Prompt
    from pnyx.judge.questions import JudgeQuestion
    from pnyx.models.replies import ChatRequest

__all__ = ["command"]


@click.group(cls=Group, name="prompt", no_args_is_help=True)
def command() -> None:
    """List the packaged prompts, or show exactly what a language model would be sent.

    \b
    Example:
      pnyx prompt list
      pnyx prompt show support items.jsonl --id 7
    """


@command.command(name="list")
@json_option
def list_(as_json: bool) -> None:
    """List the packaged prompts: name, version, language, task, inputs, source, hash.

    \b
    Example:
      pnyx prompt list --json
    """
    from pnyx.judge.prompting import load_prompt, prompt_names

    prompts = [load_prompt(name) for name in prompt_names()]
    if as_json:
        click.echo(json.dumps([_row(prompt) for prompt in prompts], ensure_ascii=False))
        return
    width = max(len(prompt.label) for prompt in prompts)
    for prompt in prompts:
        inputs = ", ".join(prompt.inputs)
        click.echo(f"{prompt.label:{width}}  {prompt.language}  {prompt.task}: {inputs}")
        click.echo(f"{'':{width}}  {prompt.source}")


def _row(prompt: Prompt) -> dict[str, Any]:
    names = ("name", "version", "language", "task", "inputs", "max_tokens", "source", "hash")
    return {name: getattr(prompt, name) for name in names}


@command.command()
@click.argument("prompt")
@click.argument("items", required=False)
@click.option("--id", "identifier", metavar="ID", help="Item to show  [default: the first].")
@click.option("--batch", type=click.IntRange(1, 100), default=1, help="As for pnyx judge.")
@click.option(
    "--probability",
    type=click.Choice(["auto", "ask", "tok", "both"]),
    default="auto",
    show_default=True,
    help="As for pnyx judge.",
)
@click.option("--sample", type=click.IntRange(0), default=0, help="Number of the repeat.")
@click.option("--raw", is_flag=True, help="Show the prompt file itself.")
@json_option
def show(
    prompt: str,
    items: str | None,
    identifier: str | None,
    batch: int,
    probability: Any,
    sample: int,
    raw: bool,
    as_json: bool,
) -> None:
    """Show what PROMPT (a name, a task or a .toml file) becomes for an item of ITEMS.

    Without ITEMS the task's own example is shown. What is printed is what is sent: the messages,
    the JSON schema of the reply, the parameters, and the hash that goes with each answer.

    \b
    Example:
      pnyx prompt show relevance items.jsonl --id 7
      pnyx prompt show quality --sample 2
      pnyx prompt show support --raw
    """
    from pnyx.judge.llm import Asking
    from pnyx.judge.prompting import load_prompt, prompt_bytes
    from pnyx.judge.tasks import TASKS

    if raw:
        click.echo(prompt_bytes(prompt), nl=False)
        return
    loaded = load_prompt(prompt)
    if loaded.task not in TASKS:
        raise InputError(
            f"prompt {loaded.label} is not put to items; --raw shows its file", path=None
        )
    task = TASKS[loaded.task]
    if batch > 1:
        check_batch(task, None if loaded.name == task.prompts[0] else loaded)
    prompts = {} if loaded.name == task.many and batch > 1 else {task.name: loaded}
    asking = Asking(prompts, probability=probability, batch=batch, sample=sample)
    questions = task.read(items) if items is not None else _example(task.example, task.read)
    shown = _call(asking, questions, identifier)
    _print(asking.prompt(shown), asking.request(shown), shown, as_json)


def _example(line: str, read: Any) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "example.jsonl"
        path.write_text(line + "\n", encoding="utf-8")
        return read(str(path))


def _call(
    asking: Asking, questions: Sequence[JudgeQuestion], identifier: str | None
) -> list[JudgeQuestion]:
    """Return the questions of the call that answers one item."""
    units = asking.units(list(enumerate(questions)))
    for unit in units:
        if identifier is None or any(question.id == identifier for _, question in unit):
            return [question for _, question in unit]
    raise InputError(f"no item has the id {shorten(str(identifier))!r}")


def _print(
    prompt: Prompt, request: ChatRequest, questions: Sequence[JudgeQuestion], as_json: bool
) -> None:
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
    if as_json:
        click.echo(json.dumps(sent, ensure_ascii=False))
        return
    shown = ", ".join(f"{name} {value:g}" for name, value in parameters.items())
    click.echo(f"prompt {prompt.label}, {shown}")
    click.echo(f"prompt_hash {request.hash}")
    for message in request.messages:
        click.echo(f"\n--- {message.role}\n{_visible(message.content)}")
    click.echo(f"\n--- schema of the reply\n{json.dumps(request.schema, ensure_ascii=False)}")


def _visible(text: str) -> str:
    """Return a text that does nothing to a terminal: control characters are spelt out."""
    return "".join(
        c if c.isprintable() or c in "\n\t" else c.encode("unicode_escape").decode() for c in text
    )
