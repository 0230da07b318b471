"""The journal next to a labels file: one line per action, written to disk before it counts.

`LABELS.journal/` holds manifest.json (the task, the items and how they are shared out) and
acts.jsonl. LABELS is made from it, so nothing is lost if the process dies.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
from collections.abc import Iterator, Mapping
from io import FileIO
from pathlib import Path
from typing import Any, Final

from pnyx.core.errors import InputError
from pnyx.core.files import atomic_text, disk_errors, json_line, read_json
from pnyx.core.folders import locked, refuse_devices
from pnyx.core.placement import append, make_folder
from pnyx.web.label.label_log import Act

_MANIFEST, _ACTS = "manifest.json", "acts.jsonl"
_KIND: Final = "pnyx-labels-journal"
_KEY: Final = "secret"


def journal_of(labels: str | Path) -> Path:
    """Return the folder of the journal of a labels file."""
    return Path(f"{labels}.journal")


class LabelJournal:
    """The actions of annotators.

    A context manager that holds the folder's lock. `about` identifies the labelling: InputError if
    the journal was begun with something else or is damaged, or if LABELS is another file; PnyxError
    if another process uses it. Annotators' tokens are derived from `secret`.
    """

    def __init__(self, labels: str | Path, about: Mapping[str, Any]) -> None:
        self.labels, self.folder = Path(labels), journal_of(labels)
        self._about = dict(about)
        self._open = contextlib.ExitStack()
        self.secret = ""

    def __enter__(self) -> LabelJournal:
        manifest = self.folder / _MANIFEST
        if self.labels.exists() and not manifest.exists():
            problem = "exists and was not written by pnyx label: name another file"
            raise InputError(problem, path=self.labels)
        with disk_errors(self.folder):
            make_folder(self.folder, 0o700)
        try:
            self._open.enter_context(locked(self.folder, "these labels"))
            with disk_errors(self.folder):
                self._begin(manifest)
        except BaseException:
            self._open.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(OSError):  # a full disk was reported already
            self._open.close()

    def _begin(self, manifest: Path) -> None:
        refuse_devices(self.folder)
        if manifest.exists():
            self._check(read_json(manifest))
        else:
            self.secret = secrets.token_hex(16)
            with atomic_text(manifest) as stream:
                json.dump({"kind": _KIND, _KEY: self.secret, **self._about}, stream)
                stream.flush()
                os.fsync(stream.fileno())
            manifest.chmod(0o600)  # anybody who reads it can label in another's name
        acts = (self.folder / _ACTS).open("a+b", buffering=0)
        self._stream: FileIO = self._open.enter_context(acts)
        self._end = self._whole()
        self._stream.truncate(self._end)
        handle = os.open(self.folder, os.O_RDONLY)  # so that the file names are on the disk too
        try:
            os.fsync(handle)
        finally:
            os.close(handle)

    def _check(self, header: dict[str, Any] | None) -> None:
        if header is None or header.get("kind") != _KIND or not header.get(_KEY):
            raise InputError("is damaged, or not a journal of pnyx label", path=self.folder)
        for name, wanted in self._about.items():
            if header.get(name) != wanted:
                here, there = _shown(wanted), _shown(header.get(name))
                problem = f"was begun with other {name}" if name == "items" else (
                    f"was begun with {name} {there}, found {here}"
                )  # fmt: skip
                raise InputError(f"{problem}: name another file with --out", path=self.labels)
        self.secret = header[_KEY]

    def _whole(self) -> int:
        """Return the end of the last complete line: a kill or a full disk may cut the last."""
        size = self._stream.seek(0, os.SEEK_END)
        tail, at = b"", size
        while at > 0 and b"\n" not in tail:
            at = max(0, at - 65536)
            self._stream.seek(at)
            tail = self._stream.read(size - at) or b""
        return at + tail.rfind(b"\n") + 1 if b"\n" in tail else 0

    def acts(self) -> Iterator[Act]:
        """Yield the stored acts; InputError, with the line, if the file is damaged."""
        path = self.folder / _ACTS
        with path.open("rb") as stream:
            for number, line in enumerate(stream, 1):
                try:
                    row = json.loads(line)
                    if not isinstance(row, dict):
                        raise ValueError
                    yield Act.of_row(row)
                except (ValueError, RecursionError, InputError) as error:
                    raise InputError("is damaged", path=path, line=number) from error

    def add(self, act: Act) -> None:
        """Append an act; when this returns, it is on the disk completely or not at all."""
        line = (json_line(act.row()) + "\n").encode("utf-8", "replace")
        with disk_errors(self.folder):
            self._end = append(self._stream, self._end, line, sync=True)


def _shown(value: Any) -> str:
    if isinstance(value, list):
        return ",".join(map(str, value)) or "none"
    return "none" if value is None else str(value)
