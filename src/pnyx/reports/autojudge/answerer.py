"""The answerer: the packaged judges, or the language model of the environment with its cache."""

from __future__ import annotations

import contextlib
import hashlib
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from pnyx.core.errors import InputError, ModelError, PnyxError, escaped
from pnyx.core.restricted_mode import no_text

if TYPE_CHECKING:
    from pnyx.judging.options import JudgeSpec
    from pnyx.reports.autojudge.settings import Settings

T = TypeVar("T")
S = TypeVar("S", bound="JudgeSpec")

_STORE, _DONE = "pnyx.sqlite", "pnyx.done"
_KEY, _LLM = "PNYX_API_KEY", "PNYX_LLM"
"""Environment variables: the key of OPENAI_API_KEY, and the model set by the workflow here."""


def say(line: str) -> None:
    """Print a progress line on standard error, where the runner prints its own."""
    print(f"pnyx: {line}", file=sys.stderr)  # noqa: T201


@contextlib.contextmanager
def phase(settings: Settings) -> Iterator[None]:
    """Run a part of the work, restricted if so set; expected errors become one line."""
    import click

    restricted = no_text(PnyxError) if settings.no_text else contextlib.nullcontext()
    try:
        with restricted:
            yield
    except PnyxError as error:
        raise click.ClickException(str(error)) from None


@dataclass(frozen=True, slots=True)
class Answerer:
    """Answers questions: a language model with its store, or the packaged judges."""

    choices: Mapping[str, Any]

    def spec(self, kind: type[S]) -> S:
        """Return a spec with these choices."""
        return kind(**self.choices)


def asked(settings: Settings, llm: Any, inputs: Iterable[str], work: Callable[[Answerer], T]) -> T:
    """Return the result of `work` with the answerer; without an endpoint, from stored replies."""
    with _environment({_LLM: None, _KEY: llm.api_key if settings.uses_llm else None}):
        if not settings.uses_llm:
            return work(Answerer({}))
        done = _Done(llm, inputs)
        try:
            result = work(_model(llm, offline=False))
        except ModelError as error:
            if not done.before():
                raise
            say(f"{error}; this work was finished earlier: reading it from {done.path.parent}")
            return work(_model(llm, offline=True))
        done.remember()
        return result


@contextlib.contextmanager
def _environment(values: Mapping[str, str | None]) -> Iterator[None]:
    """Set environment variables temporarily; None unsets one."""
    before = {name: os.environ.get(name) for name in values}
    try:
        _set(values)
        yield
    finally:
        _set(before)


def _set(values: Mapping[str, str | None]) -> None:
    for name, value in values.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value


def _model(llm: Any, *, offline: bool) -> Answerer:
    if not llm.base_url:
        raise InputError("uses_llm: OPENAI_BASE_URL is not set, expected the model's address")
    if llm.cache_dir is None and not offline:
        say("warning: CACHE_DIR is not set; replies are kept in this user's store")
    store = None if llm.cache_dir is None else str(Path(llm.cache_dir) / _STORE)
    address = f"{llm.base_url.rstrip('/')}#{llm.model}"
    return Answerer({"judge": (address,), "store": store, "offline": offline})


class _Done:
    """Records which work was finished with this cache: a line of SHA-256 each."""

    def __init__(self, llm: Any, inputs: Iterable[str]) -> None:
        from pnyx.judging.store.store import default_store_path

        folder = default_store_path().parent if llm.cache_dir is None else Path(llm.cache_dir)
        self.path = folder / _DONE
        digest = hashlib.sha256(repr(llm.model).encode())
        for text in inputs:
            digest.update(hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest())
        self._line = digest.hexdigest()

    def before(self) -> bool:
        """Return whether this work was finished."""
        return self.path.is_file() and self._line in self.path.read_text().split()

    def remember(self) -> None:
        """Record that it is finished."""
        if self.before():
            return
        try:
            with self.path.open("a", encoding="ascii") as stream:
                stream.write(f"\n{self._line}\n")  # a full disk may have left a partial line
        except OSError as error:
            path = escaped(str(self.path))
            raise PnyxError(f"{path}: cannot be written: {error.strerror}") from error
