"""Prompts: data files with a name and a version, rendered around untrusted text."""

from __future__ import annotations

import hashlib
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable
from types import ModuleType
from typing import Any

from pnyx.core.errors import InputError, shorten
from pnyx.core.files import guarded, open_text
from pnyx.core.plugins import loaded
from pnyx.judging.llm.templates import TemplateFault, check_template, listed_inputs, rendered
from pnyx.models.chat.types import ChatRequest, Message

MAX_TOKENS = 1_000_000
"""The maximum of `max_tokens`."""

_FOLDER = "prompts"
_MAX_BYTES = 256 * 1024


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt file; its templates `system` and `user` may use `block(label, text)`."""

    name: str  # of the file, and of the task unless `task` says otherwise
    version: int  # incremented with every change of wording
    language: str  # of the wording, as a BCP 47 tag
    source: str  # the paper that the question is from
    inputs: tuple[str, ...]  # the arguments of `render`
    max_tokens: int  # token limit of the reply
    task: str
    per_item_tokens: int  # additional tokens for each listed item
    form: str  # a key of `pnyx.judging.forms.FORMS`, or empty
    system: str = field(repr=False)
    user: str = field(repr=False)
    hash: str  # SHA-256 of the file
    path: str = field(default="", compare=False, repr=False)

    @property
    def label(self) -> str:
        """Name and version, as in `support@1`."""
        return f"{self.name}@{self.version}"

    @property
    def takes_several(self) -> bool:
        """Whether it asks several yes/no questions per call: about one text, or any."""
        return "statements" in self.inputs or "listing" in self.inputs or self.takes_texts

    @property
    def takes_texts(self) -> bool:
        """Whether the questions of one call may be about different texts."""
        return "material" in self.inputs

    def render(self, **inputs: str | Sequence[str]) -> tuple[Message, ...]:
        """Return the messages; TypeError for wrong inputs, InputError if they do not fit."""
        if set(inputs) != set(self.inputs):
            wanted, names = ", ".join(sorted(self.inputs)), ", ".join(sorted(inputs))
            raise TypeError(f"prompt {self.label} needs the inputs {wanted}; found {names}")
        messages = []
        for role, template in (("system", self.system), ("user", self.user)):
            if template.strip():
                try:
                    messages.append(Message(role, rendered(template, inputs)))
                except TemplateFault as error:
                    problem = f"prompt {shorten(self.label, 60)}, {role}: {error}"
                    raise InputError(problem, path=self.path or None) from error
        return tuple(messages)

    def check_inputs(self, there: Mapping[str, bool]) -> None:
        """Check that a prompt's inputs exist; `there`: name -> whether it is a list or a text."""
        expected = ", ".join(sorted(there))
        for name in self.inputs:
            if name not in there:
                raise self.fault(
                    f"inputs: found {shorten(name, 40)!r}, expected some of {expected}"
                )
        for template in (self.system, self.user):
            try:
                used = listed_inputs(template)
            except TemplateFault as error:
                raise self.fault(str(error)) from error
            for name, as_list in used.items():
                if name in there and there[name] != as_list:
                    what = "a list: {% for NAME in LIST %}" if there[name] else "a text"
                    raise self.fault(f"{shorten(name, 40)!r} is {what}")

    def fault(self, problem: str) -> InputError:
        """Return an error about the prompt."""
        return InputError(f"prompt {shorten(self.label, 60)}: {problem}", path=self.path or None)

    def request(
        self,
        inputs: Mapping[str, str | Sequence[str]],
        *,
        items: int = 0,
        schema: Mapping[str, Any] | None = None,
    ) -> ChatRequest:
        """Return the request for inputs, with tokens for `items` and the JSON schema of a reply."""
        return ChatRequest(
            messages=self.render(**inputs),
            schema=schema,
            schema_name=re.sub(r"[^A-Za-z0-9_-]", "_", self.name),
            max_tokens=self.max_tokens + items * self.per_item_tokens,
        )


_FIELDS: dict[str, type] = {
    "name": str,
    "version": int,
    "language": str,
    "source": str,
    "inputs": list,
    "max_tokens": int,
    "system": str,
    "user": str,
}
_OPTIONAL: dict[str, type] = {"task": str, "per_item_tokens": int, "form": str}
_RANGES = {
    "version": (0, 2**31 - 1),
    "max_tokens": (1, MAX_TOKENS),
    "per_item_tokens": (0, MAX_TOKENS),
}


def parse_prompt(content: bytes, *, path: str) -> Prompt:
    """Read a prompt file (TOML); InputError for an invalid field or template."""
    table = _table(content, path)
    inputs = table["inputs"]
    if not all(isinstance(name, str) and name.isidentifier() for name in inputs):
        raise InputError(f"inputs: found {shorten(repr(inputs), 60)}, expected names", path=path)
    if len(set(inputs)) != len(inputs):
        raise InputError("inputs: found a name twice", path=path)
    if not table["name"].strip() or not (table["system"] + table["user"]).strip():
        raise InputError("expected a name, and text in system or user", path=path)
    for role in ("system", "user"):
        try:
            check_template(table[role], inputs)
            listed_inputs(table[role])
        except TemplateFault as error:
            line, column = _line_of(content, table[role], error.line)
            raise InputError(f"{role}{column}: {error}", path=path, line=line) from error
    table["task"] = table["task"] or table["name"]
    fields = {**table, "inputs": tuple(inputs)}
    return Prompt(**fields, hash=hashlib.sha256(content).hexdigest(), path=path)


def _table(content: bytes, path: str) -> dict[str, Any]:
    try:
        table = tomllib.loads(content.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise InputError(f"not valid TOML: {shorten(str(error))}", path=path) from error
    for name, make in _OPTIONAL.items():
        table.setdefault(name, make())
    for name, kind in (_FIELDS | _OPTIONAL).items():
        if not isinstance(table.get(name), kind) or isinstance(table[name], bool):
            value = "nothing" if name not in table else shorten(_shown(table[name]), 40)
            raise InputError(f"field {name!r}: found {value}", path=path)
    for name, (low, high) in _RANGES.items():
        if not low <= table[name] <= high:
            value = shorten(_shown(table[name]), 40)
            raise InputError(f"field {name!r}: found {value}, expected {low} to {high}", path=path)
    unknown = sorted(set(table) - set(_FIELDS) - set(_OPTIONAL))
    if "schema" in unknown:
        raise InputError("found a schema, expected form, the name of one", path=path)
    if unknown:
        raise InputError(f"found the unknown field {shorten(unknown[0])!r}", path=path)
    return table


def _shown(value: object) -> str:
    try:
        return repr(value)
    except (ValueError, RecursionError):  # 0x... of thousands of digits
        return "a number of thousands of digits"


def _line_of(content: bytes, template: str, line: int | None) -> tuple[int | None, str]:
    """Return the line in the file, or else the name of the line in a template with escapes."""
    if line is None:
        return None, ""
    text = content.decode("utf-8").replace("\r\n", "\n")
    begins = text.find(template)
    if begins < 0:
        return None, f", line {line}"
    return text.count("\n", 0, begins) + line, ""


def load_prompt(name: str) -> Prompt:
    """Return a prompt: a packaged one by its name, or a file whose path ends in `.toml`."""
    return parse_prompt(prompt_bytes(name), path=name) if _is_path(name) else _packaged(name)


def prompt_bytes(name: str) -> bytes:
    """Return the bytes of a prompt file; see `load_prompt`."""
    if not _is_path(name):
        file = _packaged_files().get(name) or _plugin_files().get(name)
        if file is None:
            raise InputError(f"no prompt {shorten(name)!r}; there are {', '.join(prompt_names())}")
        return file.read_bytes()
    with open_text(name) as stream:
        content: bytes = guarded(lambda: stream.read(_MAX_BYTES + 1), name)
    if len(content) > _MAX_BYTES:
        raise InputError(f"is longer than {_MAX_BYTES // 1024} KB", path=name)
    return content


def _is_path(name: str) -> bool:
    return name.endswith(".toml")


@cache
def _packaged(name: str) -> Prompt:
    return parse_prompt(prompt_bytes(name), path=f"{name}.toml")


def prompt_names() -> tuple[str, ...]:
    """Return the names of the packaged prompts and of those of plugins."""
    return tuple(sorted({**_packaged_files(), **_plugin_files()}))


@cache
def _packaged_files() -> dict[str, Traversable]:
    return _files_of(resources.files("pnyx.judging").joinpath(_FOLDER))


def _files_of(folder: Traversable) -> dict[str, Traversable]:
    files = (file for file in folder.iterdir() if file.name.endswith(".toml"))
    return {file.name.removesuffix(".toml"): file for file in files}


def _plugin_files() -> dict[str, Traversable]:
    """Return the prompts of plugins: entry point `NAME = "PACKAGE"` for NAME.toml in PACKAGE."""
    modules = loaded("prompts", _packaged_files(), ModuleType)
    return {name: resources.files(package).joinpath(f"{name}.toml") for name, package in modules}
