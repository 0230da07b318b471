"""Prompts: data files with a name and a version, rendered around text that nobody trusts.

A document may say "ignore your instructions" or imitate the end of its own block. It cannot: each
block is closed by a mark that depends on a hash of the block's content and does not occur in it.
The mark depends on that block alone, so that requests about one document share their beginning.
"""

from __future__ import annotations

import hashlib
import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from importlib import resources
from typing import TYPE_CHECKING, Any

from pnyx.errors import InputError, shorten
from pnyx.models.replies import ChatRequest, Message, printable

if TYPE_CHECKING:
    import jinja2

__all__ = ["Prompt", "block", "load_prompt", "parse_prompt", "prompt_bytes", "prompt_names"]

_FOLDER = "prompts"

_SPECIAL = re.compile(
    r"<(?=\|)|<(?=/?(?:s|bos|eos|start_of_turn|end_of_turn)>)|<(?=<SYS>>)|\[(?=/?INST\])",
    re.IGNORECASE,
)
"""Starts of control tokens that chat templates give a meaning to."""


def block(label: str, text: str) -> str:
    """Return untrusted text between two marks that it cannot contain.

    Control tokens of chat templates are broken up by a space; all else stays as it is.

    Args:
        label: what the text is, one word for the model to refer to.
        text: anything.
    """
    text = _SPECIAL.sub(lambda match: match.group() + " ", printable(text).replace("\0", "\ufffd"))
    nonce, salt = "", 0
    while not nonce or nonce in text:  # a second round is needed once in never
        nonce = hashlib.sha256(f"{salt}\n{text}".encode()).hexdigest()[:16]
        salt += 1
    return f"<<<{label} {nonce}\n{text}\n{label} {nonce}>>>"


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt file.

    Attributes:
        name: the task it is for.
        version: raised with every change of wording.
        language: of the wording, as a BCP 47 tag.
        source: the paper that the question comes from.
        inputs: the names that `render` needs, each a text or a list of texts.
        max_tokens: the longest reply asked for.
        task: the task whose questions it asks.
        per_item_tokens: how much longer the reply may be for each listed item.
        system: template of the system message; `block(label, text)` is available in both.
        user: template of the user message.
        schema: JSON schema of the reply.
        hash: SHA-256 of the file.
    """

    name: str
    version: int
    language: str
    source: str
    inputs: tuple[str, ...]
    max_tokens: int
    task: str
    per_item_tokens: int
    system: str = field(repr=False)
    user: str = field(repr=False)
    schema: Mapping[str, Any] | None = field(repr=False, hash=False)
    hash: str

    @property
    def label(self) -> str:
        """Name and version, as in `support@1`."""
        return f"{self.name}@{self.version}"

    def render(self, **inputs: str | Sequence[str]) -> tuple[Message, ...]:
        """Return the messages for given inputs.

        Raises:
            TypeError: an input is missing or unknown.
        """
        if set(inputs) != set(self.inputs):
            wanted, found = ", ".join(sorted(self.inputs)), ", ".join(sorted(inputs))
            raise TypeError(f"prompt {self.label} needs the inputs {wanted}; found {found}")
        return tuple(
            Message(role, _template(template).render(inputs).strip())
            for role, template in (("system", self.system), ("user", self.user))
            if template.strip()
        )

    def request(
        self,
        inputs: Mapping[str, str | Sequence[str]],
        *,
        items: int = 0,
        schema: Mapping[str, Any] | None = None,
    ) -> ChatRequest:
        """Return the whole request for given inputs; its `hash` is the rendered prompt's.

        Args:
            inputs: as for `render`.
            items: how many items the reply must speak of one by one.
            schema: takes the place of the file's own, where it depends on the inputs.
        """
        return ChatRequest(
            messages=self.render(**inputs),
            schema=self.schema if schema is None else schema,
            schema_name=re.sub(r"[^A-Za-z0-9_-]", "_", self.name),
            max_tokens=self.max_tokens + items * self.per_item_tokens,
        )


@cache
def _environment() -> jinja2.Environment:
    import jinja2
    import jinja2.sandbox

    environment = jinja2.sandbox.ImmutableSandboxedEnvironment(
        undefined=jinja2.StrictUndefined, autoescape=False, trim_blocks=True, lstrip_blocks=True
    )
    environment.globals = {"block": block}
    return environment


@lru_cache(maxsize=256)
def _template(source: str) -> jinja2.Template:
    """Compile a template once: it is rendered for every question."""
    return _environment().from_string(source)


_FIELDS: dict[str, type | tuple[type, ...]] = {
    "name": str,
    "version": int,
    "language": str,
    "source": str,
    "inputs": list,
    "max_tokens": int,
    "system": str,
    "user": str,
    "schema": (str, dict),
}
_OPTIONAL: dict[str, type] = {"task": str, "per_item_tokens": int}


def parse_prompt(content: bytes, *, path: str) -> Prompt:
    """Read a prompt file.

    Args:
        content: the file's bytes: TOML with the fields of `Prompt`; `schema` is a table or a
            string of JSON.
        path: shown in errors.

    Raises:
        InputError: not TOML, a field is missing, unknown or of the wrong type, or a template or
            schema is broken.
    """
    import jinja2

    try:
        table = tomllib.loads(content.decode("utf-8"))
    except ValueError as error:
        raise InputError(f"not valid TOML: {shorten(str(error))}", path=path) from error
    for name, kind in _FIELDS.items():
        if not isinstance(table.get(name), kind):
            found = "nothing" if name not in table else shorten(repr(table[name]), 40)
            raise InputError(f"field {name!r}: found {found}", path=path)
    for name, kind in _OPTIONAL.items():
        if not isinstance(table.setdefault(name, kind()), kind):
            raise InputError(f"field {name!r}: found {shorten(repr(table[name]), 40)}", path=path)
    unknown = sorted(set(table) - set(_FIELDS) - set(_OPTIONAL))
    if unknown:
        raise InputError(f"found the unknown field {shorten(unknown[0])!r}", path=path)
    try:
        schema = table["schema"]
        schema = json.loads(schema) if isinstance(schema, str) else schema
        for template in (table["system"], table["user"]):
            _environment().parse(template)
    except (ValueError, jinja2.TemplateError) as error:
        raise InputError(f"broken template or schema: {shorten(str(error))}", path=path) from error
    digest = hashlib.sha256(content).hexdigest()
    table["task"] = table["task"] or table["name"]
    fields = {**table, "inputs": tuple(table["inputs"]), "schema": schema or None}
    return Prompt(**fields, hash=digest)


@cache
def load_prompt(name: str) -> Prompt:
    """Return a packaged prompt by its name.

    Raises:
        InputError: there is none of that name.
    """
    return parse_prompt(prompt_bytes(name), path=f"{name}.toml")


def prompt_bytes(name: str) -> bytes:
    """Return the file of a packaged prompt.

    Raises:
        InputError: there is none of that name.
    """
    if name not in prompt_names():
        raise InputError(f"no prompt {shorten(name)!r}; there are {', '.join(prompt_names())}")
    return resources.files("pnyx.judge").joinpath(_FOLDER, f"{name}.toml").read_bytes()


@cache
def prompt_names() -> tuple[str, ...]:
    """Return the names of the packaged prompts."""
    folder = resources.files("pnyx.judge").joinpath(_FOLDER)
    names = (entry.name for entry in folder.iterdir())
    return tuple(sorted(name.removesuffix(".toml") for name in names if name.endswith(".toml")))
