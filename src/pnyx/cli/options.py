"""Options that several verbs share, and what they open."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from pnyx.judge.base import Judge
    from pnyx.judge.completions import StoredModel

__all__ = ["EXIT_UNSCORED", "default_judge", "json_option", "model_options", "open_model"]

EXIT_UNSCORED = 3
"""Finished, but something is unscored."""

F = TypeVar("F", bound=Callable[..., Any])

json_option = click.option("--json", "as_json", is_flag=True, help="Machine-readable output.")


def model_options(function: F) -> F:
    """Add --llm, --store, --concurrency and --timeout, which `open_model` takes."""
    for option in (
        click.option(
            "--timeout",
            type=click.FloatRange(0.1, 3600),
            default=120.0,
            show_default=True,
            help="Seconds for one attempt at the language model.",
        ),
        click.option(
            "--concurrency",
            type=click.IntRange(1, 1000),
            default=8,
            show_default=True,
            help="Requests to the language model at once.",
        ),
        click.option(
            "--store",
            type=click.Path(dir_okay=False),
            default=None,
            help="Where a model's replies are kept  [default: $PNYX_STORE, else the user's data "
            "folder].",
        ),
        click.option(
            "--llm",
            metavar="SPEC",
            envvar="PNYX_LLM",
            default=None,
            help="Language model: http://HOST:PORT/v1#MODEL or openai:MODEL  [default: $PNYX_LLM, "
            "else the packaged encoder].",
        ),
    ):
        function = option(function)
    return function


@contextlib.contextmanager
def open_model(
    llm: str | None, store: str | None, concurrency: int, timeout: float
) -> Iterator[StoredModel | None]:
    """Open the language model that --llm names, with its store; None without --llm.

    Raises:
        InputError: the specification or the store cannot be used.
    """
    if llm is None:
        yield None
        return
    from pnyx.judge.completions import StoredModel
    from pnyx.judge.store import Store
    from pnyx.models.chat import Patience, endpoint_from

    endpoint = endpoint_from(llm, patience=Patience(timeout=timeout))
    with Store(store) as opened:
        yield StoredModel(endpoint, opened, concurrency)


def default_judge(model: StoredModel | None) -> Judge:
    """Return the language model as a judge, or the packaged encoder without one."""
    if model is None:
        from pnyx.judge.encoder import EncoderJudge

        return EncoderJudge()
    from pnyx.judge.llm import LlmJudge

    return LlmJudge(model)
