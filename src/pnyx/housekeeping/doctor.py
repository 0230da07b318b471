"""`pnyx doctor`: what is installed, what an endpoint can do, and what will be used."""

from __future__ import annotations

import contextlib
import os
import platform
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from importlib import metadata
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import click

from pnyx._version import __version__
from pnyx.cli.options import print_result
from pnyx.cli.params import verb
from pnyx.core.errors import ModelError, PluginError, PnyxError, shorten
from pnyx.core.plugins import KINDS, LEFT_OUT, loaded, plugins
from pnyx.core.plugins import installed as installed_plugins
from pnyx.core.rooms import offered
from pnyx.core.spec import file_opt, opt
from pnyx.display.results_doctor import VARIABLES, doctor_page
from pnyx.formats.text_types import LanguageModelName
from pnyx.judging.options import ModelSpec

if TYPE_CHECKING:
    from pnyx.models.chat.types import Reply

_SECONDS = 60.0
_LONGEST_REPLY = 256
"""Far more tokens than the answer takes: reasoning models need them."""
_SPENT = ("prompt_tokens", "completion_tokens", "reasoning_tokens", "without_usage", "cost_usd")


_REQUIREMENT = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]*)[^;]*?(?:>=\s*([0-9.]+))?[^;]*(?:;(.*))?$")
_EXTRA = re.compile(r"extra\s*==\s*['\"]([^'\"]+)['\"]")


class DoctorSpec(ModelSpec):
    """Options of `pnyx doctor`."""

    llm: tuple[LanguageModelName, ...] = file_opt(
        (), metavar="SPEC", default_text="$PNYX_LLM, else none"
    )
    store: str | None = file_opt(None, default_text="$PNYX_STORE, else the user's data folder")
    timeout: float = opt(20.0, "Timeout of one request, in seconds.", within="[0.1, 60]")


@verb("doctor", without={"spec": "concurrency wait"})
def command(spec: DoctorSpec, as_json: bool) -> None:
    """Show what is installed, what an endpoint supports, and what will be used.

    Without --llm and $PNYX_LLM, no network request is made. Exit status 2: something required or
    named cannot be used.

    \b
    Example:
      $ pnyx doctor
      pnyx ..., Python ...
      ...
      Packaged
      ...

    \b
    More: pnyx doctor --help-all, docs/recipes/language-models.md.
    \f
    Each --llm is sent a few small requests (their number and tokens are shown), within a minute for
    all. They bypass the judgement store, since they test the server's current state.

    \b
      pnyx doctor --llm http://127.0.0.1:8000/v1#my-model
      pnyx doctor --llm local --json
    """
    by = "--llm" if spec.llm or not spec.models else "$PNYX_LLM"
    report: dict[str, Any] = {**installed(), "plugins": plugged(), "packaged": packaged()}
    report["store"] = stored(spec.store)
    report["endpoints"] = _endpoints(tuple(dict.fromkeys(spec.models)), spec)
    report["will_use"] = _will_use(report, by)
    report["problems"] = _problems(report)
    print_result(
        report, "\n".join(doctor_page(report)), as_json=as_json, err=False, ensure_ascii=False
    )
    if report["problems"]:
        more = len(report["problems"]) - 1
        raise ModelError(report["problems"][0] + (f" (and {more} more)" if more else ""))


def _endpoints(specs: Sequence[str], chosen: DoctorSpec) -> list[dict[str, Any]]:
    """Probe each endpoint in turn, within a minute for all; a failure does not stop the others."""
    rows = []
    deadline = time.monotonic() + _SECONDS
    for left, spec in zip(range(len(specs), 0, -1), specs, strict=True):
        seconds = max(1.0, (deadline - time.monotonic()) / left)
        try:
            rows.append(_endpoint(spec, chosen, seconds))
        except PnyxError as error:
            rows.append({"model": "", "usable": False, "problem": str(error)})
    return rows


def _endpoint(spec: str, chosen: DoctorSpec, seconds: float) -> dict[str, Any]:
    """Return the capabilities of one endpoint; InputError if its specification is invalid."""
    from pnyx.models.chat.ledger import Ledger
    from pnyx.models.chat.open_endpoint import endpoint_from
    from pnyx.models.chat.prices import price_of
    from pnyx.models.chat.probe import probe
    from pnyx.models.http.flow import run_blocking
    from pnyx.models.http.responses import RetryPolicy

    timeout = chosen.timeout
    retry = RetryPolicy(
        timeout=timeout, attempts=2, connect_attempts=1, longest_wait=2.0, loading=seconds / 2
    )
    model = endpoint_from(spec, retry=retry, fields=chosen.fields)
    price = price_of(model.model)
    ledger = model.ledger = Ledger(price)
    request, probability = _question()
    try:
        probed = run_blocking(
            lambda: probe(model, request, probability, timeout=timeout, seconds=seconds)
        )
    finally:
        if (close := getattr(model, "close", None)) is not None:
            close()
    method = None  # how `--probability auto` will obtain P(yes)
    with contextlib.suppress(ValueError):
        if probed.reply is not None:
            method = "stated" if probability(probed.reply) is None else "token"
    return {
        **probed.as_json(),
        "probability": method,
        "price_usd_per_million": None if price is None else asdict(price),
        **{name: count for name, count in ledger.row().items() if name in _SPENT},
    }


def _question() -> tuple[Any, Callable[[Reply], float | None]]:
    """Return a request as a judge makes it, and the reader of P(yes) from tokens, if any."""
    from pnyx.judging.forms import form_of
    from pnyx.judging.forms.base import FormCall
    from pnyx.judging.llm.prompts import load_prompt
    from pnyx.judging.llm.requests import Asking
    from pnyx.judging.llm.structured_replies import probability_of_yes
    from pnyx.judging.questions import Support

    prompt = load_prompt("support-direct")
    asking = Asking(prompts={"support": prompt}, max_tokens=_LONGEST_REPLY)
    questions = [Support("doctor", "The bus is red and the car is blue.", "The bus is red.")]

    def read(reply: Reply) -> float | None:
        (reading,) = form_of(prompt).read(FormCall(prompt, questions), reply.text)
        return probability_of_yes(reply, reading.span) if reading and reading.span else None

    return asking.request(questions), read


def _will_use(report: dict[str, Any], by: str) -> dict[str, str]:
    """Return which judge and writer the plain commands would use, and why."""
    named, packaged = report["endpoints"], report["packaged"]
    usable = [row for row in named if row["usable"]]
    models = list(dict.fromkeys(row["model"] for row in usable))
    left_out = len(named) - len(usable)
    but = f"; {left_out} more cannot be used" if left_out else ""
    at = f", at {len(usable)} addresses" if len(usable) > 1 else ""
    judge = writer = "none"
    if not named:
        judge, writer = packaged["judge"] or "none", "extractive"
        judge_why = "the packaged judge, as neither --llm nor $PNYX_LLM names a model; "
        judge_why += f"{', '.join(packaged['needs_llm'])} need one"
        writer_why = "it quotes sentences from the passages; a language model would write"
    elif not models:
        judge_why = writer_why = f"nothing named by {by} can be used"
    elif len(models) > 1:
        judge, judge_why = " + ".join(models), f"a panel of the models named by {by}{but}"
        writer_why = "pnyx argue takes one model: give it one --llm"
    else:
        judge = writer = models[0]
        judge_why = f"named by {by}{at}{but}"
        writer_why = "the model that judges also writes; --writer extractive quotes instead"
    return {"judge": judge, "judge_why": judge_why, "writer": writer, "writer_why": writer_why}


def _problems(report: dict[str, Any]) -> list[str]:
    """Return a line for each required or named component that cannot be used."""
    lines = []
    for name, package in report["dependencies"].items():
        if not package["enough"]:
            version, least = package["version"], package["least"]
            there = "missing" if version is None else f"{version}, expected at least {least}"
            lines.append(f"the dependency {name} is {there}: reinstall pnyx")
    lines += [report["packaged"]["problem"], report["store"]["problem"]]
    lines += [row["problem"] for row in report["endpoints"] if not row["usable"]]
    store = report["store"]
    if report["endpoints"] and not (store["writable"] or store["problem"]):
        lines.append(f"{store['path']}: the judgement store cannot be written")
    return [shorten(line, 400) for line in lines if line]


# What is installed, packaged and stored ----------------------------------------------------------


def installed() -> dict[str, Any]:
    """Return versions, extras with the command that installs each, and variables that are set."""
    core: dict[str, dict[str, Any]] = {}
    extras: dict[str, dict[str, dict[str, Any]]] = {}
    lines: list[str] = []
    with contextlib.suppress(metadata.PackageNotFoundError):  # run from source, not installed
        lines = metadata.requires("pnyx") or []
    for match in filter(None, map(_REQUIREMENT.match, lines)):
        name, least, marker = match[1], match[2], match[3] or ""
        extra = _EXTRA.search(marker)
        version: str | None = None
        with contextlib.suppress(metadata.PackageNotFoundError):
            version = metadata.version(name)
        enough = version is not None and (least is None or _release(version) >= _release(least))
        package = {"version": version, "least": least, "enough": enough}
        (extras.setdefault(extra[1], {}) if extra else core)[name] = package
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
        "environment": {
            name: any(os.environ.get(n) for n in (name, *[name.lower()] * name.endswith("_PROXY")))
            for name in VARIABLES
        },
    }


def plugged() -> list[dict[str, str]]:
    """Return each plugin that is installed, and why it cannot be used, if so."""
    from pnyx.formats import Format
    from pnyx.formats.recognition import all_formats
    from pnyx.judging.llm.prompts import prompt_names
    from pnyx.judging.students.student import StudentKind, plugin_kinds
    from pnyx.perspectives.measures.table import PERSPECTIVE_MEASURES, PerspectiveMeasure
    from pnyx.reports.measures.registry import REPORT_MEASURES, ReportMeasure
    from pnyx.search.engine import EngineType

    types = (ReportMeasure, PerspectiveMeasure)
    # Loading each registry shows which plugins are skipped.
    plugins("commands", {door.name for door in offered("COMMANDS")})
    plugins("judges"), plugin_kinds(), all_formats(), prompt_names()
    list(loaded("measures", {**REPORT_MEASURES, **PERSPECTIVE_MEASURES}, types))
    expected: dict[str, Any] = {
        "commands": click.Command,
        "judges": Callable,
        "students": StudentKind,
        "formats": Format,
        "measures": types,
        "prompts": ModuleType,
        "engines": EngineType,
        "workers": Callable,
    }
    rows = []
    for plugin in (plugin for kind in KINDS for plugin in installed_plugins(kind)):
        row = {"kind": plugin.kind, "name": plugin.name, "package": plugin.package}
        row["problem"] = LEFT_OUT.get(plugin, "")
        try:
            plugin.load(expected[plugin.kind])
        except PluginError as error:
            row["problem"] = str(error)
        rows.append(row)
    return rows


def packaged() -> dict[str, Any]:
    """Return whether the packaged weights are intact, their judges and cards, the local model."""
    from pnyx.judging.tasks import TASKS
    from pnyx.models.chat.open_endpoint import endpoint_from

    row: dict[str, Any] = {"encoder": None, "intact": False, "problem": "", "judge": None}
    row |= {"card": "", "perspectives": None, "judges": {}}
    row |= {"tasks": [], "needs_llm": list(TASKS)}
    try:
        from pnyx.judging.students.judge import PackagedJudge, load_perspective_student
        from pnyx.models.embed.encoder import load_encoder

        encoder = load_encoder()
        length = float((encoder.encode(["A text of no importance."]) ** 2).sum())
        judge = PackagedJudge()
        perspectives = load_perspective_student()
    except PnyxError as error:
        row["problem"] = str(error)
    else:
        row |= {"encoder": encoder.name, "judge": judge.name, "card": judge.card}
        row["perspectives"] = {"judge": perspectives.name, "card": perspectives.card}
        by_task = {task: PackagedJudge(task) for task in judge.tasks}
        row["judges"] = {task: {"judge": j.name, "card": j.card} for task, j in by_task.items()}
        row["intact"] = abs(length - 1) < 1e-3
        row["problem"] = "" if row["intact"] else f"an embedding has length {length:.3f}, not 1"
        row["tasks"] = [
            name
            for name, task in TASKS.items()
            if name in judge.tasks or any(form.packaged for form in task.formats)
        ]
        row["needs_llm"] = [name for name in TASKS if name not in row["tasks"]]
    row["local"] = {"model": None, "notice": "", "problem": ""}
    try:
        model = endpoint_from("local")  # the model is not loaded
        row["local"] |= {"model": model.model, "notice": getattr(model, "notice", "")}
    except PnyxError as error:
        row["local"]["problem"] = str(error)
    return row


def stored(path: str | None) -> dict[str, Any]:
    """Return the location and contents of the judgement store, without creating or changing it."""
    from pnyx.judging.store.maintenance import store_stats
    from pnyx.judging.store.store import default_store_path

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


def _release(version: str) -> tuple[int, ...]:
    """Return the leading numbers of a version, without trailing zeros."""
    match = re.match(r"[0-9]+(?:\.[0-9]+)*", version)
    numbers = [int(part) for part in match.group().split(".")] if match else [0]
    while len(numbers) > 1 and not numbers[-1]:
        numbers.pop()
    return tuple(numbers)


def _writable(file: Path) -> bool:
    """Return whether the store can be written or, if missing, created."""
    if file.exists():
        return os.access(file, os.W_OK) and os.access(file.parent, os.W_OK)
    folder = file.parent
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    return folder.is_dir() and os.access(folder, os.W_OK | os.X_OK)
