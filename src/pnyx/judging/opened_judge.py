"""An open judge, and the parts of it and its spec that affect the answers, for manifests."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pnyx.judging.base import Judge
    from pnyx.judging.options import JudgeSpec
    from pnyx.judging.store.completions import StoredModel


@dataclass(frozen=True, slots=True)
class OpenedJudge:
    """A judge and its models, prompts and settings."""

    judge: Judge
    models: Sequence[StoredModel] = ()
    prompts: Sequence[dict[str, Any]] = ()
    settings: dict[str, Any] = field(default_factory=dict)


def names_student(cheap: str | None) -> bool:
    """Return whether `cheap` names a student's folder rather than a language model."""
    if cheap is None:
        return False
    from pnyx.judging.students.student import MANIFEST

    # Any other folder counts as well, so that the error message is about the folder.
    return (Path(cheap) / MANIFEST).is_file() or (cheap != "local" and Path(cheap).is_dir())


_FILES = ("calibration", "cascade", "cheap")
"""Settings that name a file or folder that affects the answers."""


def deciding_settings(opened: OpenedJudge, spec: JudgeSpec) -> dict[str, Any]:
    """Return what affects the answers besides the judge's name; files by their content."""
    from pnyx.core.folders import file_hash

    settings = {k: v for k, v in opened.settings.items() if k not in (*_FILES, "student")}
    named = {name: path for name in _FILES if (path := getattr(spec, name)) is not None}
    if not names_student(spec.cheap):
        named.pop("cheap", None)  # a model, which is part of the judge's name
    for kind in ("labels", "results", "student"):
        if (path := getattr(spec.names, kind)) is not None:
            named[kind] = path
    return {
        "prompts": list(opened.prompts),
        "settings": settings if opened.models else {},
        "files": {name: file_hash(path) for name, path in named.items()},
        "from_store": spec.offline or spec.plan,
    }


def manifest_facts(opened: OpenedJudge, source: str, count: int) -> dict[str, Any]:
    """Return the part of a manifest about the judge, the items and the calls."""
    from pnyx.core.errors import printable

    facts: dict[str, Any] = {
        "items": {"path": printable(source), "count": count},
        "card": opened.judge.card,
    }
    if not opened.models:
        return facts
    counts = [model.counts for model in opened.models]
    names = ("from_store", "asked", "asked_again", "shared", "failed", "missing")
    tokens = Counter[str]()
    for count_of_model in counts:
        tokens.update(count_of_model.tokens)
    return facts | {
        "models": [
            {
                "name": model.name,
                "endpoint": model.endpoint.address,
                "response_format": model.endpoint.response_format,
                "retries": model.endpoint.retries,
                **({"spent": model.endpoint.ledger.row()} if model.endpoint.ledger else {}),
            }
            for model in opened.models
        ],
        "prompts": list(opened.prompts),
        "settings": opened.settings,
        "store": {
            "path": printable(str(opened.models[0].store.path)),
            **{name: sum(getattr(count, name) for count in counts) for name in names},
        },
        "tokens": dict(tokens),
    }


def settings_of(spec: JudgeSpec) -> dict[str, Any]:
    """Return the settings of a spec that affect the answers."""
    names = "probability batch samples combine temperature max_tokens threshold calibration cascade"
    settings = {n: v for n in names.split() if (v := getattr(spec, n)) is not None}
    settings |= {"student": spec.names.student} if spec.names.student is not None else {}
    settings |= {"expected_scores": True} if spec.expected_scores else {}
    # The judge's name includes the model that is asked first; its address may contain secrets.
    return settings | ({"cheap": spec.cheap} if names_student(spec.cheap) else {})
