"""`pnyx doctor`: what is installed, what an endpoint can do, and what will be used."""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import click

from pnyx.app.judge_specs import ModelSpec
from pnyx.app.spec import opt
from pnyx.cli.params import json_option, takes, verb
from pnyx.errors import ModelError, PnyxError, shorten

if TYPE_CHECKING:
    from pnyx.models.replies import Reply

__all__ = ["command"]

_SECONDS = 60.0
_LONGEST_REPLY = 256
"""Far more than the answer takes: models that think before they answer need it."""
_SPENT = ("prompt_tokens", "completion_tokens", "reasoning_tokens", "without_usage", "cost_usd")


@dataclass(frozen=True, kw_only=True)
class DoctorSpec(ModelSpec):
    """What is examined."""

    llm: tuple[str, ...] = opt(
        (),
        "Language model to ask what it supports, as for pnyx judge. Repeatable.",
        metavar="SPEC",
        raw=True,
        shown="$PNYX_LLM, else none",
    )
    store: str | None = opt(
        None,
        "Judgement store to look at.",
        metavar="FILE",
        raw=True,
        shown="$PNYX_STORE, else the one in the user's data folder",
    )
    timeout: float = opt(20.0, "Timeout of one request, in seconds.", low=0.1, high=60)


@verb("doctor")
@takes("spec", DoctorSpec, without=("concurrency",))
@json_option
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
    from pnyx.cli.installed import installed, packaged, stored

    by = "--llm" if spec.llm or not spec.models else "$PNYX_LLM"
    report: dict[str, Any] = {**installed(), "packaged": packaged(), "store": stored(spec.store)}
    report["endpoints"] = _endpoints(tuple(dict.fromkeys(spec.models)), spec.timeout)
    report["will_use"] = _will_use(report, by)
    report["problems"] = _problems(report)
    if as_json:
        click.echo(json.dumps(report, ensure_ascii=False))
    else:
        from pnyx.cli.doctor_page import page

        for line in page(report):
            click.echo(line)
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
    from pnyx.judge.base import run_blocking
    from pnyx.models.chat import Patience, endpoint_from
    from pnyx.models.ledger import Ledger
    from pnyx.models.prices import price_of
    from pnyx.models.probe import probe

    patience = Patience(timeout=timeout, attempts=2, connect_attempts=1, longest_wait=2.0)
    model = endpoint_from(spec, patience=patience)
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
    from pnyx.judge.llm import Asking
    from pnyx.judge.prompting import load_prompt
    from pnyx.judge.questions import Support
    from pnyx.judge.reading import probability_of_yes

    prompt = load_prompt("support-direct")
    asking = Asking(prompts={"support": prompt}, max_tokens=_LONGEST_REPLY)
    questions = [Support("doctor", "The bus is red and the car is blue.", "The bus is red.")]

    def read(reply: Reply) -> float | None:
        (reading,) = form_of(prompt).read(prompt, questions, 0, reply.text)
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
