"""Who answers: the packaged judges, or the language model of the environment, kept in its cache."""

from __future__ import annotations

import contextlib
import hashlib
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from pnyx.errors import InputError, ModelError, PnyxError, escaped
from pnyx.restricted import no_text

if TYPE_CHECKING:
    from pnyx.app.judge_specs import JudgeSpec
    from pnyx.autojudge.settings import Settings
    from pnyx.judge.store.completions import StoredModel

__all__ = ["asked", "phase", "say"]

T = TypeVar("T")

_STORE, _DONE = "pnyx.sqlite", "pnyx.done"
_KEY = "PNYX_API_KEY"


def say(line: str) -> None:
    """Print a line about the work on standard error, where the runner prints its own."""
    print(f"pnyx: {line}", file=sys.stderr)  # noqa: T201


@contextlib.contextmanager
def phase(settings: Settings) -> Iterator[None]:
    """Do a part of the work, restricted if it is to be; errors made on purpose are one line."""
    import click

    restricted = no_text(PnyxError) if settings.no_text else contextlib.nullcontext()
    try:
        with restricted:
            yield
    except PnyxError as error:
        raise click.ClickException(str(error)) from None


def asked(
    settings: Settings, llm: Any, inputs: Iterable[str], work: Callable[[StoredModel | None], T]
) -> T:
    """Return what `work` makes with the model, None for the packaged judges.

    Replies are kept in `$CACHE_DIR`. Where the endpoint is gone, the same work is done again from
    there, but only if it was once finished there: what then had no answer has none now.

    Args:
        settings: whether a model is asked.
        llm: autojudge-base's configuration of it.
        inputs: what decides the questions, in an order that is always the same.
        work: may be called twice.

    Raises:
        InputError: the environment names no model.
        ModelError: the model cannot be asked, and this work was not finished before.
    """
    if not settings.uses_llm:
        return work(None)
    done = _Done(llm, inputs)
    try:
        with _opened(llm, offline=False) as model:
            result = work(model)
    except ModelError as error:
        if not done.before():
            raise
        say(f"{error}; this work was finished before: all is read from {done.path.parent}")
        with _opened(llm, offline=True) as model:
            return work(model)
    done.remember()
    return result


@contextlib.contextmanager
def _opened(llm: Any, *, offline: bool) -> Iterator[StoredModel]:
    from pnyx.app.open_models import open_models

    spec = _spec(llm, offline=offline)
    had = os.environ.get(_KEY)
    if llm.api_key and not had:
        os.environ[_KEY] = llm.api_key
    try:
        with open_models(spec, spec.llm, say, spec) as models:
            yield models[0]
    finally:
        if llm.api_key and not had:
            del os.environ[_KEY]


def _spec(llm: Any, *, offline: bool) -> JudgeSpec:
    from pnyx.app.judge_specs import JudgeSpec

    if not llm.base_url:
        raise InputError("uses_llm: OPENAI_BASE_URL is not set, expected the model's address")
    store = None if llm.cache_dir is None else str(Path(llm.cache_dir) / _STORE)
    if store is None:
        say("warning: CACHE_DIR is not set; replies are kept in the store of this user")
    address = llm.base_url.rstrip("/")
    return JudgeSpec(llm=(f"{address}#{llm.model}",), store=store, offline=offline)


class _Done:
    """Which work was once finished with this cache: a line of SHA-256 each."""

    def __init__(self, llm: Any, inputs: Iterable[str]) -> None:
        from pnyx.judge.store.store import default_store_path

        folder = default_store_path().parent if llm.cache_dir is None else Path(llm.cache_dir)
        self.path = folder / _DONE
        digest = hashlib.sha256(repr(llm.model).encode())
        for one in inputs:
            digest.update(hashlib.sha256(one.encode("utf-8", "surrogatepass")).digest())
        self._line = digest.hexdigest()

    def before(self) -> bool:
        """Tell whether this work was finished."""
        return self.path.exists() and self._line in self.path.read_text().split()

    def remember(self) -> None:
        """Note that it is."""
        if self.before():
            return
        try:
            with self.path.open("a", encoding="ascii") as stream:
                stream.write(self._line + "\n")
        except OSError as error:
            place = escaped(str(self.path))
            raise PnyxError(f"{place}: cannot be written: {error.strerror}") from error
