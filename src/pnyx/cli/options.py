"""Options that several verbs share, and what they open."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from os.path import realpath
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from pnyx.app.spec import Spec, opt
from pnyx.cli.values import NumberRange
from pnyx.errors import InputError, shorten

if TYPE_CHECKING:
    from pnyx.judge.base import Judge
    from pnyx.judge.completions import StoredModel
    from pnyx.judge.store import Store
    from pnyx.models.ledger import Ledger
    from pnyx.models.replies import ChatModel

__all__ = [
    "ColumnSpec",
    "column_mapping",
    "default_judge",
    "json_option",
    "model_options",
    "open_model",
    "open_models",
    "refuse_same_file",
    "say",
    "warn",
    "warn_undefined",
]

_SIGN_SECONDS = 10.0

F = TypeVar("F", bound=Callable[..., Any])

json_option = click.option("--json", "as_json", is_flag=True, help="Machine-readable output.")


@dataclass(frozen=True, kw_only=True)
class ColumnSpec(Spec):
    """How the columns of a source are called."""

    columns: tuple[str, ...] = opt(
        (),
        "Which column or key of the source holds a field, e.g. text=body. Repeatable.",
        "--column",
        metavar="FIELD=COLUMN",
        rare=True,
    )

    @property
    def mapping(self) -> dict[str, str]:
        """Field -> column.

        Raises:
            InputError: one is not FIELD=COLUMN, or a field is given twice.
        """
        return column_mapping(self.columns)


def refuse_same_file(flag: str, out: str, /, **others: str | Path | None) -> None:
    """Refuse to write a file over one that the same command needs.

    Args:
        flag: the option that names `out`.
        out: what is to be written; `-` is standard output.
        others: what they are -> names of other files, whether they exist yet or not.

    Raises:
        click.UsageError: `out` is one of them.
    """
    for what, other in others.items():
        if "-" not in (out, other) and other and realpath(out) == realpath(other):
            raise click.UsageError(f"{flag} names the same file as {what}: it would be lost")


def column_mapping(columns: Iterable[str]) -> dict[str, str]:
    """Return what `--column` says as field -> column.

    Raises:
        InputError: one is not FIELD=COLUMN, or a field is given twice.
    """
    mapping: dict[str, str] = {}
    for column in columns:
        field, equals, name = column.partition("=")
        if not (field and equals and name):
            raise InputError(f"--column {shorten(column, 40)}: expected FIELD=COLUMN")
        if field in mapping:
            raise InputError(f"--column {shorten(column, 40)}: {shorten(field, 40)} is given twice")
        mapping[field] = name
    return mapping


def say(line: str) -> None:
    """Print a line about the work on standard error."""
    click.echo(f"pnyx: {line}", err=True)


def warn(line: str) -> None:
    """Print a warning on standard error."""
    click.echo(f"pnyx: warning: {line}", err=True)


def warn_undefined(lacking: int, questions: int) -> None:
    """Warn that questions lack a definition of relevance, if any do."""
    if lacking:
        warn(f"{lacking} of {questions} questions have no definition (pnyx annotate define)")


def model_options(function: F) -> F:
    """Add --llm, --store, --concurrency and --timeout, which `open_models` takes."""
    for option in (
        click.option(
            "--timeout",
            type=NumberRange(0.1, 3600),
            default=120.0,
            show_default=True,
            help="Seconds for one attempt at the language model.",
        ),
        click.option(
            "--concurrency",
            type=click.IntRange(1, 1000),
            default=32,
            show_default=True,
            help="The most requests to a language model at once; fewer as long as it asks for it.",
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
            multiple=True,
            help="Language model: http://HOST:PORT/v1#MODEL, openai:MODEL, local (packaged, tiny) "
            "or gguf:PATH. Repeatable: one model at several addresses, or several models  "
            "[default: $PNYX_LLM, else the packaged judge].",
        ),
    ):
        function = option(function)
    return function


@contextlib.contextmanager
def open_model(
    llm: Sequence[str], store: str | None, concurrency: int, timeout: float
) -> Iterator[StoredModel | None]:
    """Open the one language model that --llm names, with its store; None without --llm.

    Raises:
        InputError: the specifications or the store cannot be used, or name several models.
    """
    with open_models(llm, store=store, concurrency=concurrency, timeout=timeout) as models:
        if len(models) > 1:
            names = ", ".join(model.name for model in models)
            raise InputError(f"--llm: expected one model, found {shorten(names)}")
        yield models[0] if models else None


@contextlib.contextmanager
def open_models(
    specs: Sequence[str],
    *,
    store: str | None,
    concurrency: int,
    timeout: float,
    offline: bool = False,
    ledger: Callable[[str, int], Ledger] | None = None,
) -> Iterator[list[StoredModel]]:
    """Open language models with their store; addresses of one model share its questions.

    Args:
        specs: as given to --llm; none opens no store.
        store: the store's file; the usual one by default.
        concurrency: the most requests to a model at once.
        timeout: seconds for one attempt.
        offline: ask nothing, only the store.
        ledger: makes what keeps the books of a model, given its name and how many models there
            are.

    Raises:
        InputError: a specification or the store cannot be used.
    """
    if not specs:
        yield []
        return
    from pnyx.judge.completions import StoredModel
    from pnyx.judge.store import Store

    endpoints = _by_model(specs, timeout, concurrency)
    sign = _sign_of_life()
    for endpoint in endpoints:
        endpoint.on_retry = sign
        endpoint.on_wait = _say
        if ledger is not None:
            endpoint.ledger = ledger(endpoint.model, len(endpoints))
    with Store.for_reading(store) if offline else Store(store) as opened:
        try:
            yield [StoredModel(e, opened, offline=offline) for e in endpoints]
        finally:
            _warn_damaged(opened, offline)


def _warn_damaged(store: Store, offline: bool) -> None:
    """Say that replies were met that cannot be used."""
    if store.damaged:
        number = len(store.damaged)
        key, damage = next(iter(store.damaged.items()))
        one = number == 1
        warn(
            f"{shorten(str(store.path), 200)}: {number} stored {'reply' if one else 'replies'} "
            f"{'is' if one else 'are'} damaged and {'counts' if one else 'count'} as missing"
            f"{'' if offline else ', so that the question is asked again'} "
            f"({shorten(key, 12)} {damage})"
        )


def _by_model(specs: Sequence[str], timeout: float, concurrency: int) -> list[ChatModel]:
    """Return one model for each name, behind all of its addresses."""
    from pnyx.models.chat import Patience, endpoint_from

    patience = Patience(timeout=timeout)
    by_name: dict[str, list[Any]] = {}
    for spec in dict.fromkeys(specs):
        endpoint = endpoint_from(spec, patience=patience, concurrency=concurrency)
        by_name.setdefault(endpoint.model, []).append(endpoint)
    models: list[ChatModel] = []
    for endpoints in by_name.values():
        if len(endpoints) > 1:
            from pnyx.models.pool import EndpointPool

            models.append(EndpointPool(endpoints))
        else:
            models += endpoints
    return models


def _sign_of_life() -> Callable[[str], None]:
    """Return what says, now and then, that a language model is being asked again."""
    said = time.monotonic()

    def say(line: str) -> None:
        nonlocal said
        if time.monotonic() - said > _SIGN_SECONDS:
            said = time.monotonic()
            click.echo(f"pnyx: asking the model again: {line}", err=True)

    return say


def _say(line: str) -> None:
    click.echo(f"pnyx: {line}", err=True)


def default_judge(model: StoredModel | None) -> Judge:
    """Return the language model as a judge, or the packaged judge without one."""
    if model is None:
        from pnyx.students.packaged import PackagedJudge

        return PackagedJudge()
    from pnyx.judge.llm import LlmJudge

    return LlmJudge(model)
