"""`pnyx doctor`: what is installed, what an endpoint can do, and what will be used."""

from __future__ import annotations

import contextlib
import shutil
import sys
import textwrap
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from pnyx.app.judge_specs import ModelSpec
from pnyx.app.spec import file_opt, opt
from pnyx.cli.common.options import print_result
from pnyx.cli.common.params import verb
from pnyx.cli.installed import VARIABLES, installed, packaged, plugged, stored
from pnyx.cli.store import in_units
from pnyx.errors import ModelError, PnyxError, shorten

if TYPE_CHECKING:
    from pnyx.models.chat.types import Reply

_SECONDS = 60.0
_LONGEST_REPLY = 256
"""Far more than the answer takes: models that think before they answer need it."""
_SPENT = ("prompt_tokens", "completion_tokens", "reasoning_tokens", "without_usage", "cost_usd")


class DoctorSpec(ModelSpec):
    """What is examined."""

    llm: tuple[str, ...] = file_opt(
        (),
        "Language model to test, as for pnyx judge. Repeatable.",
        metavar="SPEC",
        shown="$PNYX_LLM, else none",
    )
    store: str | None = file_opt(
        None, "Judgement store to inspect.", shown="$PNYX_STORE, else the user's data folder"
    )
    timeout: float = opt(20.0, "Timeout of one request, in seconds.", within="[0.1, 60]")


@verb("doctor", without={"spec": "concurrency"})
def command(spec: DoctorSpec, as_json: bool) -> None:
    """Show what is installed, what an endpoint supports, and what will be used.

    Without --llm and $PNYX_LLM nothing is asked over the network. Each --llm is sent a few small
    requests (their number and tokens are shown), within a minute for all. They bypass the
    judgement store, since they test the server's current state. Exit status 2: something required
    or named cannot be used.

    \b
    Example:
      pnyx doctor
      pnyx doctor --llm http://127.0.0.1:8000/v1#my-model
      pnyx doctor --llm local --json
    """
    by = "--llm" if spec.llm or not spec.models else "$PNYX_LLM"
    report: dict[str, Any] = {**installed(), "plugins": plugged(), "packaged": packaged()}
    report["store"] = stored(spec.store)
    report["endpoints"] = _endpoints(tuple(dict.fromkeys(spec.models)), spec.timeout)
    report["will_use"] = _will_use(report, by)
    report["problems"] = _problems(report)
    print_result(report, "\n".join(_page(report)), as_json=as_json, err=False, ensure_ascii=False)
    if report["problems"]:
        more = len(report["problems"]) - 1
        raise ModelError(report["problems"][0] + (f" (and {more} more)" if more else ""))


def _endpoints(specs: Sequence[str], timeout: float) -> list[dict[str, Any]]:
    """Probe each endpoint in turn; they share a minute, and none stops another."""
    rows = []
    deadline = time.monotonic() + _SECONDS
    for left, spec in zip(range(len(specs), 0, -1), specs, strict=True):
        seconds = max(1.0, (deadline - time.monotonic()) / left)
        try:
            rows.append(_endpoint(spec, timeout, seconds))
        except PnyxError as error:
            rows.append({"model": "", "usable": False, "problem": str(error)})
    return rows


def _endpoint(spec: str, timeout: float, seconds: float) -> dict[str, Any]:
    """Return what one endpoint can do; InputError where the specification cannot be used."""
    from pnyx.models.chat.ledger import Ledger
    from pnyx.models.chat.opening import endpoint_from
    from pnyx.models.chat.prices import price_of
    from pnyx.models.chat.probe import probe
    from pnyx.models.http.flow import run_blocking
    from pnyx.models.http.responses import RetryPolicy

    retry = RetryPolicy(timeout=timeout, attempts=2, connect_attempts=1, longest_wait=2.0)
    model = endpoint_from(spec, retry=retry)
    price = price_of(model.model)
    ledger = model.ledger = Ledger(price)
    request, probability = _question()
    try:
        found = run_blocking(
            lambda: probe(model, request, probability, timeout=timeout, seconds=seconds)
        )
    finally:
        if (close := getattr(model, "close", None)) is not None:
            close()
    method = None  # how `--probability auto` will have P(yes)
    with contextlib.suppress(ValueError):
        if found.reply is not None:
            method = "stated" if probability(found.reply) is None else "token"
    return {
        **found.as_json(),
        "probability": method,
        "price_usd_per_million": None if price is None else asdict(price),
        **{name: count for name, count in ledger.row().items() if name in _SPENT},
    }


def _question() -> tuple[Any, Callable[[Reply], float | None]]:
    """Return a request as a judge makes it, and what reads P(yes) of a reply's tokens, if any."""
    from pnyx.judge.forms import form_of
    from pnyx.judge.forms.base import FormCall
    from pnyx.judge.llm.judge import Asking
    from pnyx.judge.llm.prompting import load_prompt
    from pnyx.judge.llm.reading import probability_of_yes
    from pnyx.judge.questions import Support

    prompt = load_prompt("support-direct")
    asking = Asking(prompts={"support": prompt}, max_tokens=_LONGEST_REPLY)
    questions = [Support("doctor", "The bus is red and the car is blue.", "The bus is red.")]

    def read(reply: Reply) -> float | None:
        (reading,) = form_of(prompt).read(FormCall(prompt, questions), reply.text)
        return probability_of_yes(reply, reading.span) if reading and reading.span else None

    return asking.request(questions), read


def _will_use(report: dict[str, Any], by: str) -> dict[str, str]:
    """Return which judge and writer the plain commands would use, and why."""

    def use(judge: str, judge_why: str, writer: str, writer_why: str) -> dict[str, str]:
        why = {"judge_why": judge_why, "writer": writer, "writer_why": writer_why}
        return {"judge": judge, **why}

    named, packaged = report["endpoints"], report["packaged"]
    usable = [row for row in named if row["usable"]]
    models = list(dict.fromkeys(row["model"] for row in usable))
    if not named:
        return use(
            packaged["judge"] or "none",
            "the packaged judge, as neither --llm nor $PNYX_LLM names a model; "
            f"{', '.join(packaged['needs_llm'])} need one",
            "extractive",
            "it quotes sentences from the passages; a language model would write",
        )
    if not models:
        why = f"nothing that {by} names can be used"
        return use("none", why, "none", why)
    left_out = len(named) - len(usable)
    but = f"; {left_out} more cannot be used" if left_out else ""
    if len(models) > 1:
        why = f"a panel of the models named by {by}{but}"
        one = "pnyx argue takes one model: give it one --llm"
        return use(" + ".join(models), why, "none", one)
    at = f", at {len(usable)} addresses" if len(usable) > 1 else ""
    also = "the model that judges also writes; --writer extractive quotes instead"
    return use(models[0], f"named by {by}{at}{but}", models[0], also)


def _problems(report: dict[str, Any]) -> list[str]:
    """Return a line for each thing that is needed or named and cannot be used."""
    lines = [
        f"the dependency {name} is {_found(package)}: reinstall pnyx"
        for name, package in report["dependencies"].items()
        if not package["enough"]
    ]
    lines += [report["packaged"]["problem"], report["store"]["problem"]]
    lines += [row["problem"] for row in report["endpoints"] if not row["usable"]]
    store = report["store"]
    if report["endpoints"] and not (store["writable"] or store["problem"]):
        lines.append(f"{store['path']}: the judgement store cannot be written")
    return [shorten(line, 400) for line in lines if line]


def _found(package: dict[str, Any]) -> str:
    version, least = package["version"], package["least"]
    return "missing" if version is None else f"{version}, expected at least {least}"


# The page ----------------------------------------------------------------------------------------

_LABEL = 20
_WIDEST = 110
_MOST_LISTED = 6


def _page(report: dict[str, Any]) -> Iterator[str]:
    """Yield the lines of a report; on a terminal they are wrapped to its width."""
    width = min(_WIDEST, shutil.get_terminal_size().columns) if sys.stdout.isatty() else 0
    yield f"pnyx {report['pnyx']}, Python {report['python']}, {report['platform']}"
    for title, facts in _sections(report):
        yield f"\n{title}"
        for label, text in facts:
            yield from _line(label, text, width)


def _line(label: str, text: str, width: int) -> list[str]:
    start = f"  {label:<{_LABEL}}"
    text = shorten(text, 1000)
    if width <= _LABEL + 20:
        return [f"{start}{text}"]
    indent = " " * (_LABEL + 2)
    return textwrap.wrap(text, width, initial_indent=start, subsequent_indent=indent) or [start]


def _sections(report: dict[str, Any]) -> Iterator[tuple[str, Sequence[tuple[str, str]]]]:
    yield "Dependencies", [(name, _version(p)) for name, p in report["dependencies"].items()]
    yield "Extras", [(name, _extra(extra)) for name, extra in report["extras"].items()]
    if report["plugins"]:
        facts = [(f"{one['kind']} {one['name']}", _plugin(one)) for one in report["plugins"]]
        yield "Plugins", facts
    yield "Packaged", list(_packaged(report["packaged"]))
    yield "Judgement store", list(_store(report["store"]))
    environment = report["environment"]
    yield (
        "Environment (values are not shown)",
        [
            (name, f"set: {VARIABLES[name]}") if is_set else (name, "not set")
            for name, is_set in environment.items()
        ],
    )
    for row in report["endpoints"]:
        yield f"Language model {shorten(row['model'], 100)}".rstrip(), list(_endpoint_facts(row))
    use = report["will_use"]
    yield (
        "What will be used",
        [
            ("pnyx judge", f"{use['judge']}: {use['judge_why']}"),
            ("pnyx argue", f"judge as above, writer {use['writer']}: {use['writer_why']}"),
        ],
    )


def _version(package: dict[str, Any]) -> str:
    if package["version"] is None:
        return "MISSING: reinstall pnyx"
    return str(package["version"]) + ("" if package["enough"] else f" (needs {package['least']})")


def _extra(extra: dict[str, Any]) -> str:
    names = extra["packages"]
    if extra["installed"]:
        return "installed: " + ", ".join(f"{name} {p['version']}" for name, p in names.items())
    lacking = ", ".join(name for name, p in names.items() if not p["enough"])
    return f"not installed ({lacking}): {extra['install']}"


def _plugin(row: dict[str, str]) -> str:
    return f"CANNOT BE USED: {row['problem']}" if row["problem"] else row["package"]


def _packaged(row: dict[str, Any]) -> Iterator[tuple[str, str]]:
    if row["intact"]:
        yield "encoder", f"{row['encoder']}: intact (SHA-256), embeds"
        yield "judge", f"{row['judge']}, for {', '.join(row['tasks'])}: {row['card']}"
        perspectives = row["perspectives"]
        yield "perspectives", f"{perspectives['judge']}: {perspectives['card']}"
    else:
        yield "encoder", f"DAMAGED: {row['problem']}"
    local = row["local"]
    yield (
        "--llm local",
        f"{local['model']}: {local['notice']}" if local["model"] else local["problem"],
    )


def _store(row: dict[str, Any]) -> Iterator[tuple[str, str]]:
    yield "file", row["path"]
    if row["problem"]:
        yield "state", f"CANNOT BE USED: {row['problem']}"
        return
    access = "writable" if row["writable"] else "NOT WRITABLE"
    held = (
        "none yet" if not row["exists"] else f"{row['replies']:,} replies, {in_units(row['bytes'])}"
    )
    yield "state", f"{held}, {access}"


def _endpoint_facts(row: dict[str, Any]) -> Iterator[tuple[str, str]]:
    if "address" not in row:  # never opened
        yield "state", f"CANNOT BE USED: {row['problem']}"
        return
    yield "address", row["address"]
    if row["notice"]:
        yield "notice", row["notice"]
    yield "state", "usable" if row["usable"] else f"CANNOT BE USED: {row['problem']}"
    if row["usable"] and row["problem"]:
        yield "trouble", row["problem"]
    if row["published"] is not None:
        yield "models", _listed(row)
    if row["usable"]:
        yield from _abilities(row)
        yield "price", _price(row)
    late = "; it ran out of time, the rest was not asked" if row["late"] else ""
    yield "this probe", f"{_spent(row)}{late}"


def _abilities(row: dict[str, Any]) -> Iterator[tuple[str, str]]:
    window = row["window"]
    yield "window", f"{window:,} tokens ({row['window_from']})" if window else "not published"
    for shape in row["shapes"]:
        used = "; judges use it" if shape["form"] == row["used"] else ""
        detail = f" ({shape['detail']})" if shape["detail"] else ""
        yield shape["form"], f"{shape['outcome']}{detail}{used}"
    yield "logprobs", _logprobs(row)
    method = {"token": "from the tokens' probabilities", "stated": "as the model states it"}
    yield "P(yes) by auto", method.get(row["probability"], "not known: no reply could be read")
    if row["refused"] is not None:
        yield "refused", ", ".join(row["refused"]) or "no parameter"
        yield "output limit", row["limit"] or "none is taken"
    yield "usage", ", ".join(row["usage"]) or "not reported"
    yield "cached tokens", "reported" if "cached_tokens" in row["usage"] else "not reported"
    if row["reasoning_tokens"]:
        yield "thinking", f"it thinks before it answers: {row['reasoning_tokens']:,} tokens here"


def _listed(row: dict[str, Any]) -> str:
    models = row["published"]["models"]
    if models is None:
        return f"not listed ({row['published']['problem']})"
    shown = ", ".join(models[:_MOST_LISTED]) or "none"
    more = f" and {len(models) - _MOST_LISTED:,} more" if len(models) > _MOST_LISTED else ""
    there = "" if row["model"] in models else f"; {row['model']} IS NOT AMONG THEM"
    return f"{shown}{more}{there}"


def _logprobs(row: dict[str, Any]) -> str:
    given, alone = row["alternatives"], row["alternatives_alone"]
    if given:
        return f"given, up to {given} alternatives of a token"
    if alone:
        return f"given (up to {alone} alternatives), but not together with an answer's shape"
    return "not known" if given is None else "not given"


def _price(row: dict[str, Any]) -> str:
    price = row["price_usd_per_million"]
    if price is None:
        return "not known (--prices FILE of pnyx judge)"
    known = f"${price['input']:g} in, ${price['cached_input']:g} in from cache"
    return f"{known}, ${price['output']:g} out, for a million tokens"


def _spent(row: dict[str, Any]) -> str:
    tokens = f"{row['prompt_tokens']:,} prompt and {row['completion_tokens']:,} completion tokens"
    uncounted = f" ({row['without_usage']} replies without a count)" if row["without_usage"] else ""
    cost = "" if row["cost_usd"] is None else f", ${row['cost_usd']:.4f}"
    return f"{row['requests']} requests, {tokens}{uncounted}{cost}, {row['seconds']:.1f} s"
