"""The report of `pnyx doctor` for people, from its JSON."""

from __future__ import annotations

import shutil
import sys
import textwrap
from collections.abc import Iterator, Sequence
from typing import Any

from pnyx.core.errors import shorten
from pnyx.display.results import in_units

VARIABLES = {
    "PNYX_LLM": "the language model without --llm",
    "PNYX_STORE": "the judgement store without --store",
    "PNYX_API_KEY": "key for any endpoint",
    "OPENAI_API_KEY": "key for openai:MODEL",
    "PNYX_LOCAL_CONTEXT": "context size of a local model, in tokens",
    "SERPER_API_KEY": "key for `pnyx files web --search serper`",
    "PNYX_CACHE": "folder of the catalogues of pnyx view",
    "PNYX_PROGRESS": "0 hides progress bars of calls in Python",
    "PNYX_TOKEN": "the token for visitors of served pages without --token",
    "PNYX_CONTACT": "the contact for fetching web pages without --contact",
    "HTTP_PROXY": "proxy for http://",
    "HTTPS_PROXY": "proxy for https://",
    "ALL_PROXY": "proxy for all",
    "NO_PROXY": "hosts reached without a proxy",
}
"""Environment variables that Pnyx reads, and their use. Their values are never shown."""

_LABEL = 20
_WIDEST = 110
_MOST_LISTED = 6


def doctor_page(report: dict[str, Any]) -> Iterator[str]:
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
        yield (
            "Plugins",
            [
                (
                    f"{row['kind']} {row['name']}",
                    f"CANNOT BE USED: {row['problem']}" if row["problem"] else row["package"],
                )
                for row in report["plugins"]
            ],
        )
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
    missing = ", ".join(name for name, p in names.items() if not p["enough"])
    return f"not installed ({missing}): {extra['install']}"


def _packaged(row: dict[str, Any]) -> Iterator[tuple[str, str]]:
    if row["intact"]:
        yield "encoder", f"{row['encoder']}: intact (SHA-256), embeds"
        yield "judge", f"{row['judge']}, for {', '.join(row['tasks'])}"
        for task, judge in row["judges"].items():
            yield (
                f"  {task}",
                f"{judge['judge']}: {judge['card']}" if judge["card"] else judge["judge"],
            )
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
    size = f"{row['replies']:,} replies, {in_units(row['bytes'])}" if row["exists"] else "none yet"
    yield "state", f"{size}, {access}"


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
    late = "; out of time, the rest was not tested" if row["late"] else ""
    yield "this probe", f"{_spent(row)}{late}"


def _abilities(row: dict[str, Any]) -> Iterator[tuple[str, str]]:
    window = row["window"]
    yield "window", f"{window:,} tokens ({row['window_from']})" if window else "not published"
    if row["cuts_prompts"] is not None:
        cut = "CUT OFF without an error: raise the server's context (Ollama: OLLAMA_CONTEXT_LENGTH)"
        yield "long prompts", cut if row["cuts_prompts"] else "taken whole"
    for shape in row["shapes"]:
        used = "; judges use it" if shape["form"] == row["used"] else ""
        detail = f" ({shape['detail']})" if shape["detail"] else ""
        yield shape["form"], f"{shape['outcome']}{detail}{used}"
    yield "logprobs", _logprobs(row)
    method = {"token": "from the tokens' probabilities", "stated": "as the model states it"}
    yield "P(yes) by auto", method.get(row["probability"], "unknown: no reply could be read")
    if row["refused"] is not None:
        yield "refused", ", ".join(row["refused"]) or "no parameter"
        yield "output limit", row["limit"] or "none is accepted"
    yield "usage", ", ".join(row["usage"]) or "not reported"
    yield "cached tokens", "reported" if "cached_tokens" in row["usage"] else "not reported"
    if row["reasoning_tokens"]:
        yield "thinking", f"it thinks before it answers: {row['reasoning_tokens']:,} tokens here"


def _listed(row: dict[str, Any]) -> str:
    models = row["published"]["models"]
    if models is None:
        return f"not listed ({row['published']['problem']})"
    listed = ", ".join(models[:_MOST_LISTED]) or "none"
    more = f" and {len(models) - _MOST_LISTED:,} more" if len(models) > _MOST_LISTED else ""
    there = "" if row["model"] in models else f"; {row['model']} IS NOT AMONG THEM"
    return f"{listed}{more}{there}"


def _logprobs(row: dict[str, Any]) -> str:
    alternatives, alone = row["alternatives"], row["alternatives_alone"]
    if alternatives:
        return f"given, up to {alternatives} alternatives of a token"
    if alone:
        return f"given (up to {alone} alternatives), but not together with an answer's shape"
    return "not known" if alternatives is None else "not given"


def _price(row: dict[str, Any]) -> str:
    price = row["price_usd_per_million"]
    if price is None:
        return "unknown (--set prices=FILE of pnyx judge)"
    input_prices = f"${price['input']:g} in, ${price['cached_input']:g} in from cache"
    return f"{input_prices}, ${price['output']:g} out, for a million tokens"


def _spent(row: dict[str, Any]) -> str:
    tokens = f"{row['prompt_tokens']:,} prompt and {row['completion_tokens']:,} completion tokens"
    uncounted = f" ({row['without_usage']} replies without a count)" if row["without_usage"] else ""
    cost = "" if row["cost_usd"] is None else f", ${row['cost_usd']:.4f}"
    return f"{row['requests']} requests, {tokens}{uncounted}{cost}, {row['seconds']:.1f} s"
