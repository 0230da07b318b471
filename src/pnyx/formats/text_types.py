"""Types of texts set by users: each says what the text may name.

The fields of specs and the arguments of commands are annotated with them, so that whoever runs a
record or writes a file of options knows which texts lead to a model, an address or a secret.
"""

from __future__ import annotations

import re
from enum import Enum
from typing import Annotated, TypeAlias


class TextKind(Enum):
    """What a text may name; the value is the noun for messages."""

    WORDS = "words"
    FILE = "a file"
    SOURCE = "an index or a data set"
    LANGUAGE_MODEL = "a language model"
    MODEL = "a model"
    JUDGE = "a judge"
    ADDRESS = "an address"
    REQUEST_FIELDS = "request fields"
    SECRET = "a secret"  # noqa: S105 - the noun


Words: TypeAlias = Annotated[str, TextKind.WORDS]
"""A name, a choice or a sentence: it does not open anything."""
FileName: TypeAlias = Annotated[str, TextKind.FILE]
"""A file or folder on this machine, or a packaged file by its name; never an address."""
SourceName: TypeAlias = Annotated[str, TextKind.SOURCE]
"""A file or folder, or an address: `opensearch://HOST:PORT/NAME`, `ir_datasets:ID`, `ENGINE:X`."""
LanguageModelName: TypeAlias = Annotated[str, TextKind.LANGUAGE_MODEL]
"""A model, which may cost money: `http://HOST:PORT/v1#MODEL`, `openai:MODEL`, `gguf:PATH`."""
ModelName: TypeAlias = Annotated[str, TextKind.MODEL]
"""Another model: an embedder by its address, or the base of a student by its name on a hub."""
JudgeName: TypeAlias = Annotated[str, TextKind.JUDGE]
"""Who answers (`pnyx.judging.judge_kinds`): a language model, a file, or a plugin's judge."""
Address: TypeAlias = Annotated[str, TextKind.ADDRESS]
"""An address that is connected to or listened on, such as a cluster's."""
RequestFields: TypeAlias = Annotated[str, TextKind.REQUEST_FIELDS]
"""Fields that are added to each request to a language model: JSON, or a file that holds it."""
Secret: TypeAlias = Annotated[str, TextKind.SECRET]
"""A key, token or password: not saved in any record or file of options."""

_DRIVE = re.compile(r"[A-Za-z]:")


def is_address_like(text: str) -> bool:
    """Return whether a text could be taken for an address: `SCHEME:REST`, or `//HOST/SHARE`.

    This holds even if a folder with such a name exists.
    """
    if text.startswith(("//", "\\\\")):
        return True
    first = re.split(r"[/\\]", text, maxsplit=1)[0]
    return ":" in first and (first == text or _DRIVE.fullmatch(first) is None)
