"""What is installed, packaged, stored and set: the part of `pnyx doctor` that asks nobody."""

from __future__ import annotations

import contextlib
import os
import platform
import re
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from types import ModuleType
from typing import Any

import click

from pnyx._version import __version__
from pnyx.errors import PluginError, PnyxError
from pnyx.plugins import KINDS, LEFT_OUT, loaded, plugins
from pnyx.plugins import installed as installed_plugins

VARIABLES = {
    "PNYX_LLM": "the language model where --llm is not given",
    "PNYX_STORE": "the judgement store where --store is not given",
    "PNYX_API_KEY": "key for any endpoint",
    "OPENAI_API_KEY": "key for openai:MODEL",
    "PNYX_LOCAL_CONTEXT": "tokens of context of a local model",
    "SERPER_API_KEY": "key for `pnyx corpus web --search serper`",
    "PNYX_CACHE": "folder of the catalogues of pnyx view",
    "PNYX_TOKEN": "what visitors of served pages must bring, where --token is not given",
    "PNYX_CONTACT": "who fetches web pages, where --contact is not given",
    "HTTP_PROXY": "proxy for http://",
    "HTTPS_PROXY": "proxy for https://",
    "ALL_PROXY": "proxy for all",
    "NO_PROXY": "what no proxy is used for",
}
"""Variables of the environment that count, and what for. Their values are never shown."""

_REQUIREMENT = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]*)[^;]*?(?:>=\s*([0-9.]+))?[^;]*(?:;(.*))?$")
_EXTRA = re.compile(r"extra\s*==\s*['\"]([^'\"]+)['\"]")


def installed() -> dict[str, Any]:
    """Return versions, extras with the command that installs each, and variables that are set."""
    core: dict[str, dict[str, Any]] = {}
    extras: dict[str, dict[str, dict[str, Any]]] = {}
    for line in _requirements():
        found = _REQUIREMENT.match(line)
        if found is None:
            continue
        name, least, marker = found[1], found[2], found[3] or ""
        extra = _EXTRA.search(marker)
        group = extras.setdefault(extra[1], {}) if extra else core
        group[name] = _package(name, least)
    return {
        "pnyx": __version__,
        "python": platform.python_version(),
        "platform": f"{platform.system()} {platform.machine()}",
        "dependencies": core,
        "extras": {
            name: {
                "installed": all(package["enough"] for package in packages.values()),
                "packages": packages,
                "install": f"pip install 'pnyx[{name}]'",
            }
            for name, packages in sorted(extras.items())
        },
        "environment": {name: bool(_variable(name)) for name in VARIABLES},
    }


def plugged() -> list[dict[str, str]]:
    """Return each plugin that is installed, and why it cannot be used, if so."""
    from pnyx.cli import COMMANDS
    from pnyx.corpora import Format
    from pnyx.corpora.reading import all_formats
    from pnyx.judge.llm.prompting import prompt_names
    from pnyx.measure.perspectives.table import PERSPECTIVE_MEASURES, PerspectiveMeasure
    from pnyx.measure.reports.registry import REPORT_MEASURES, ReportMeasure

    types = (ReportMeasure, PerspectiveMeasure)
    # Reading each registry finds out what is left out.
    plugins("commands", COMMANDS), plugins("judges"), all_formats(), prompt_names()
    list(loaded("measures", {**REPORT_MEASURES, **PERSPECTIVE_MEASURES}, types))
    expected: dict[str, Any] = {
        "commands": click.Command,
        "judges": Callable,
        "formats": Format,
        "measures": types,
        "prompts": ModuleType,
    }
    rows = []
    for one in (one for kind in KINDS for one in installed_plugins(kind)):
        problem = LEFT_OUT.get(one, "")
        try:
            one.load(expected[one.kind])
        except PluginError as error:
            problem = str(error)
        row = {"kind": one.kind, "name": one.name, "package": one.package, "problem": problem}
        rows.append(row)
    return rows


def packaged() -> dict[str, Any]:
    """Return whether the packaged weights are intact, their judges and cards, the local model.

    Everything is really opened: the weights are compared with their SHA-256 and embed a text.
    """
    from pnyx.judge.tasks import TASKS

    row: dict[str, Any] = {"encoder": None, "intact": False, "problem": "", "judge": None}
    row |= {"card": "", "perspectives": None}
    row |= {"tasks": [], "needs_llm": list(TASKS)}
    try:
        from pnyx.models.embed.encoder import load_encoder
        from pnyx.students.judge import PackagedJudge, load_perspective_student

        encoder = load_encoder()
        length = float((encoder.encode(["A text of no importance."]) ** 2).sum())
        judge = PackagedJudge()
        perspectives = load_perspective_student()
    except PnyxError as error:
        row["problem"] = str(error)
    else:
        row |= {"encoder": encoder.name, "judge": judge.name, "card": judge.card}
        row["perspectives"] = {"judge": perspectives.name, "card": perspectives.card}
        row["intact"] = abs(length - 1) < 1e-3
        row["problem"] = "" if row["intact"] else f"an embedding has length {length:.3f}, not 1"
        row["tasks"] = [
            name
            for name, task in TASKS.items()
            if name in judge.tasks or any(form.packaged for form in task.formats)
        ]
        row["needs_llm"] = [name for name in TASKS if name not in row["tasks"]]
    return {**row, "local": _local()}


def stored(path: str | None) -> dict[str, Any]:
    """Return where the judgement store is and what it holds. None is made, none is changed."""
    from pnyx.judge.store.maintenance import store_stats
    from pnyx.judge.store.store import default_store_path

    file = default_store_path() if path is None else Path(path)
    row: dict[str, Any] = {"path": str(file), "exists": False, "bytes": None, "replies": None}
    row |= {"problem": ""}
    with contextlib.suppress(OSError):
        row["exists"] = file.exists()
    try:
        if row["exists"]:
            stats = store_stats(file)
            row |= {"bytes": stats.bytes, "replies": stats.replies}
        row["writable"] = _writable(file)
    except (PnyxError, OSError) as error:
        row |= {"writable": False, "problem": str(error)}
    return row


def _requirements() -> list[str]:
    """Return the requirements of this package, empty where it runs without being installed."""
    try:
        return metadata.requires("pnyx") or []
    except metadata.PackageNotFoundError:
        return []


def _package(name: str, least: str | None) -> dict[str, Any]:
    try:
        version: str | None = metadata.version(name)
    except metadata.PackageNotFoundError:
        version = None
    enough = version is not None and (least is None or _release(version) >= _release(least))
    return {"version": version, "least": least, "enough": enough}


def _release(version: str) -> tuple[int, ...]:
    """Return the numbers a version begins with; trailing zeros do not count."""
    found = re.match(r"[0-9]+(?:\.[0-9]+)*", version)
    numbers = [int(part) for part in found.group().split(".")] if found else [0]
    while len(numbers) > 1 and not numbers[-1]:
        numbers.pop()
    return tuple(numbers)


def _variable(name: str) -> str:
    lower = os.environ.get(name.lower(), "") if name.endswith("_PROXY") else ""
    return os.environ.get(name, "") or lower


def _local() -> dict[str, Any]:
    """Return whether `--llm local` could be used; nothing is loaded."""
    from pnyx.models.chat.opening import endpoint_from

    try:
        model = endpoint_from("local")
    except PnyxError as error:
        return {"model": None, "notice": "", "problem": str(error)}
    return {"model": model.model, "notice": getattr(model, "notice", ""), "problem": ""}


def _writable(file: Path) -> bool:
    """Say whether the store could be written or, where there is none, made."""
    if file.exists():
        return os.access(file, os.W_OK) and os.access(file.parent, os.W_OK)
    folder = file.parent
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    return folder.is_dir() and os.access(folder, os.W_OK | os.X_OK)
