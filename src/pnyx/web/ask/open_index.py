"""An index that is kept open for searches, and reopened when it changes on the disk."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from pnyx.core.errors import PnyxError
from pnyx.search.open_engine import index_state, open_index
from pnyx.search.open_search import open_searcher

if TYPE_CHECKING:
    from pnyx.judging.base import Judge
    from pnyx.judging.open_models import Say
    from pnyx.judging.store.completions import StoredModel
    from pnyx.search.engine import DocumentIndex
    from pnyx.search.options import SearchSpec
    from pnyx.search.pipeline import Searcher

State = tuple[int | str, ...]
"""Identifies a state of the index."""

_SEARCHERS: Final = 64


@dataclass(slots=True)
class _Generation:
    state: State
    index: DocumentIndex
    searchers: OrderedDict[Hashable, Searcher] = field(default_factory=OrderedDict)


class OpenIndex:
    """A server's index, with the model and judge of its searches; safe in several threads."""

    def __init__(self, path: str, model: StoredModel | None, judge: Judge | None, say: Say) -> None:
        self._where, self.name = path, Path(path).name
        self._model, self._judge, self._say = model, judge, say
        self._lock = threading.Lock()
        self._now = self._opened()

    def _opened(self) -> _Generation:
        try:
            state = index_state(self._where)
        except OSError:
            state = ()
        return _Generation(state, open_index(self._where))

    def _latest(self) -> _Generation:
        with self._lock:
            try:
                changed = index_state(self._where) != self._now.state
            except OSError:  # being replaced; the open index remains usable
                changed = False
            if changed:
                try:
                    self._now = self._opened()
                except PnyxError as error:
                    self._say(f"warning: the index changed and cannot be used: {error}")
                    raise
            return self._now

    @property
    def state(self) -> State:
        """The current index on the disk; reopened if it has changed."""
        return self._latest().state

    @property
    def index(self) -> DocumentIndex:
        """The current index."""
        return self._latest().index

    def searcher(self, spec: SearchSpec) -> Searcher:
        """Return a searcher for a spec; equal specs share one."""
        now = self._latest()
        key = repr(spec)
        with self._lock:
            if key in now.searchers:
                now.searchers.move_to_end(key)
                return now.searchers[key]
        searcher = open_searcher(now.index, spec, self._model, self._judge, self._say)
        with self._lock:
            shared = now.searchers.setdefault(key, searcher)
            while len(now.searchers) > _SEARCHERS:
                now.searchers.popitem(last=False)
            return shared
