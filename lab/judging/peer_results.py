"""Parsers for the output of Pnyx and its peers."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias


class Figure(NamedTuple):
    """A figure, with its interval if it has one."""

    value: float
    low: float | None = None
    high: float | None = None

    def __str__(self) -> str:
        if self.low is None or self.high is None:
            return f"{self.value:.2f}"
        return f"{self.value:.2f} [{self.low:.2f}, {self.high:.2f}]"


Figures: TypeAlias = dict[str, Figure]
"""By name: kappa, tpr, tnr, rate (corrected), first (share of the first slot), flips."""


class Run(NamedTuple):
    """The folder of a peer's run, and its output."""

    folder: Path
    output: str


Reader: TypeAlias = Callable[[Run], Figures]


def _load(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def _stated(output: str, names: dict[str, str]) -> Figures:
    """Return the figures in lines such as `kappa 0.18 [0.01, 0.35]`, by the peer's names."""
    figures = {}
    for key, name in names.items():
        number = r"(-?\d+\.?\d*(?:e-?\d+)?)"
        stated = re.search(rf"^ *{name}:? +{number}(?:,? +\[?{number},? +{number})?", output, re.M)
        if stated:
            value, low, high = (None if part is None else float(part) for part in stated.groups())
            assert value is not None
            figures[key] = Figure(value, low, high)
    if not figures:
        raise ValueError("no figure in the output")
    return figures


def _pnyx(run: Run) -> Figures:
    check, rated = _load(run.folder / "check.json"), _load(run.folder / "all.json")
    measures = check["judges"][0]["measures"]
    names = {"kappa": "kappa", "tpr": "sensitivity", "tnr": "specificity"}
    figures = {key: _measured(measures[name]) for key, name in names.items()}
    figures["rate"] = _measured(rated["judges"][0]["rate"]["prediction_powered"])
    return figures | _stated(run.output, {"first": "text shown first wins, ties as half"})


def _measured(row: dict[str, Any]) -> Figure:
    return Figure(row["value"], row["low"], row["high"])


def _judgekeeper(run: Run) -> Figures:
    report = _load(run.folder / "judgekeeper-report" / "report.json")
    headline = report["headline"]
    figures = {"kappa": Figure(headline["kappa_mean"])}
    for key in ("tpr", "tnr"):
        interval = headline[f"{key}_ci"]
        figures[key] = Figure(headline[f"{key}_mean"], interval["lo"], interval["hi"])
    return figures


def _truescore(run: Run) -> Figures:
    names = {"kappa": "Cohen κ", "tpr": "sensitivity", "tnr": "specificity", "rate": "corrected"}
    pairs = re.search(r"first_position_rate=(\S+), low=(\S+), high=(\S+),", run.output)
    first = {"first": Figure(*map(float, pairs.groups()))} if pairs else {}
    return _stated(run.output, names) | first


def _judgegate(run: Run) -> Figures:
    report = json.loads(run.output[run.output.index("{") :])
    interval = report["interval"]
    recalls = {row["label"]: Figure(row["recall"]) for row in report["per_class"]}
    kappa = Figure(report["kappa"], interval["low"], interval["high"])
    return {"kappa": kappa, "tpr": recalls["pass"], "tnr": recalls["fail"]}


def _judgekit(run: Run) -> Figures:
    report = _load(run.folder / "audit" / "report.json")
    rows = {row["name"]: row for row in report["agreement"] + report["probes"]}
    names = {"kappa": "cohen kappa", "first": "position preference", "flips": "swap flip rate"}
    return {key: Figure(rows[name]["value"], *rows[name]["ci"]) for key, name in names.items()}


def _evalproof(run: Run) -> Figures:
    rate = re.search(r"^\| PPI \| ([\d.]+)% \| \[([\d.]+)%, ([\d.]+)%\]", run.output, re.M)
    rates = re.search(r"TPR ([\d.]+)% · FPR ([\d.]+)% · .* κ ([\d.]+)", run.output)
    if rate is None or rates is None:
        raise ValueError("no figure in the output")
    tpr, fpr, kappa = map(float, rates.groups())
    return {
        "kappa": Figure(kappa),
        "tpr": Figure(tpr / 100),
        "tnr": Figure(1 - fpr / 100),
        "rate": Figure(*(float(part) / 100 for part in rate.groups())),
    }


def _judgy(run: Run) -> Figures:
    return _stated(run.output, {"rate": "rate"})


def _juryrig(run: Run) -> Figures:
    return _stated(run.output, {"kappa": "kappa", "first": "first", "flips": "flips"})


def _judgemetry(run: Run) -> Figures:
    share = re.search(r"P\(first\) ([\d.]+)% \[([\d.]+)%, ([\d.]+)%\]", run.output)
    if share is None:
        raise ValueError("no figure in the output")
    return {"first": Figure(*(float(part) / 100 for part in share.groups()))}


def _judgecal(run: Run) -> Figures:
    return _stated(run.output, {"first": "first_pick_rate", "flips": "flip_rate_decisive"})


READERS: dict[str, Reader] = {
    "pnyx": _pnyx,
    "judgekeeper": _judgekeeper,
    "truescore": _truescore,
    "judgegate": _judgegate,
    "judgekit": _judgekit,
    "evalproof": _evalproof,
    "judgy": _judgy,
    "juryrig": _juryrig,
    "judgemetry": _judgemetry,
    "judgecal": _judgecal,
}

VERDICTS = {
    "pnyx": r"^(?:Below|Above|Reaches|Cannot|Not trust|Trust).*",
    "judgekeeper": r"^Not trustworthy.*|^Usable.*",
    "truescore": r"^FINDING.*",
    "judgegate": r'"verdict": "([A-Z]+)"',
    "judgekit": r"^FLAG .*",
    "judgemetry": r"^Position .*",
}
"""Peer -> pattern of the line that says whether the judge is good enough; others have none."""


def sentence(name: str, output: str) -> str:
    """Return the verdict of a peer in words; empty if it gives none."""
    if name not in VERDICTS:
        return ""
    stated = re.search(VERDICTS[name], output, re.M)
    if stated is None:
        return ""
    return re.sub(r"\s+", " ", stated.group(stated.lastindex or 0))
