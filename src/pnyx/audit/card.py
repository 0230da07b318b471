"""A one-page card of a judge: its questions, its agreement, its trials, and when not to use it.

The rules for advising against a use are in `_advice` and in docs/reference/measures.md; the page
contains no other judgement.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pnyx._version import __version__
from pnyx.audit.outcomes import outcomes_of
from pnyx.audit.trials.trials import TRIALS
from pnyx.core.errors import InputError, shorten
from pnyx.core.files import read_json
from pnyx.core.folders import file_in
from pnyx.judging.answers import ANSWERS, MANIFEST
from pnyx.judging.measures.agreement import measure_agreement
from pnyx.judging.measures.raters import measure_raters
from pnyx.stats.base import BOOTSTRAP, Bootstrap, distinct_text

LEAST_ALPHA = 0.667
"""Krippendorff's minimum alpha for even tentative conclusions (2004, 11.4)."""
MOST_ECE = 0.1
MOST_UNSCORED = 0.05

_ADVICE = {
    "noise": "Do not use it to estimate how many of the retrieved documents are irrelevant",
    "hallucination": "Do not use it to find statements that the documents contradict",
    "joint": "Do not use it where irrelevant documents and false statements occur together",
    "order": "Do not rely on one verdict in one order: ask in several and combine",
    "length": "Do not compare texts of different lengths with it",
    "injection": "Do not let it judge texts by strangers who know that a judge reads them",
    "paraphrase": "Do not base a decision on one wording of the question or text",
    "repeat": "Do not base a decision on one of its answers: ask several times and combine",
    "stance": "Do not ask it about one side only: it says yes to both",
    "self": "Do not let it compare its own texts with those of others",
    "format": "Do not compare texts in different formats with it",
    "asker": "Do not tell it which answer is hoped for",
    "verbosity": "Do not compare terse texts with wordy ones",
}
"""Trial -> the advice if it is failed."""
_SUMMED = {"task", "judge", "source", "outcome", "problems", "primary", "measures", "counts",
           "interval"}  # fmt: skip
"""Fields of a summary that a card shows."""
_CALIBRATION = ("auroc", "average_precision", "ece", "brier", "auroc_correct")


def make_card(
    folders: Sequence[str | Path],
    labels: Sequence[str | Path] = (),
    *,
    bootstrap: Bootstrap = BOOTSTRAP,
    left_out: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """Return the known facts about one judge, ready for JSON.

    Args:
        folders: results of `pnyx judge` and of `pnyx audit run`, all of one judge.
        labels: people's labels of the results' items.
        bootstrap: settings of the intervals of agreement.
        left_out: trials that do not apply to these items -> why.

    Raises:
        InputError: a folder is neither or is damaged, two are of different judges, or labels match
            no results.
    """
    if not folders:
        raise InputError("expected results of pnyx judge or of pnyx audit run, found none")
    try:
        return _card_of(folders, labels, bootstrap, left_out)
    except (TypeError, ValueError, LookupError, AttributeError) as error:
        problem = f"holds a file that pnyx did not write in this form ({shorten(str(error), 80)})"
        raise InputError(
            f"{problem}: judge again or run the trial again", path=", ".join(map(str, folders))
        ) from error


def _card_of(
    folders: Sequence[str | Path],
    labels: Sequence[str | Path],
    bootstrap: Bootstrap,
    left_out: Mapping[str, str] | None,
) -> dict[str, Any]:
    results: list[dict[str, Any]] = []
    trials: list[dict[str, Any]] = []
    judges: dict[str, str] = {}
    for folder in folders:
        manifest, summary = _read(Path(folder))
        judges.setdefault(manifest["judge"], str(folder))
        if summary is None:
            results.append(_asked(Path(folder), manifest))
        else:
            cost_fields = {"cost": cost_of(manifest), "items_sha256": manifest["items_sha256"]}
            trials.append({**summary, **cost_fields})
    if len(judges) > 1:
        first, second = list(judges)[:2]
        raise InputError(
            f"is of a different judge ({shorten(second, 60)!r}) than {judges[first]} "
            f"({shorten(first, 60)!r}): a card describes one",
            path=judges[second],
        )
    if labels and not results:
        raise InputError("--labels requires results of pnyx judge, found only those of trials")
    for result in results if labels else ():
        result |= _agreeing(result["folder"], labels, bootstrap, need=len(results) == 1)
    if labels and not any("agreement" in result for result in results):
        raise InputError("no label belongs to an answer of these results")
    card = {
        "format": "pnyx-card",
        "format_version": 1,
        "pnyx": __version__,
        "judge": next(iter(judges)),
        "own_card": next((entry["card"] for entry in (*results, *trials) if entry.get("card")), ""),
        "asked": results,
        "trials": trials,
        **({"left_out": dict(left_out)} if left_out else {}),
    }
    advice = list(_advice(card))
    return {**card, "not_for": advice, "not_known": list(_unknown(card))}


def _read(folder: Path) -> tuple[dict[str, Any], dict[str, Any] | None]:
    """Return the manifest of a folder, and the summary if it is a trial's."""
    manifest = read_json(folder / MANIFEST)
    if manifest is None or file_in(folder, ANSWERS) is None:
        raise InputError(
            "expected a finished results folder of pnyx judge or pnyx audit run", path=folder
        )
    if "trial" not in manifest:
        return manifest, None
    summary = read_json(folder / "summary.json")
    if summary is None or summary.get("trial") not in TRIALS or not summary.keys() >= _SUMMED:
        raise InputError("has no complete summary of its trial: run the trial again", path=folder)
    return manifest, summary


def _asked(folder: Path, manifest: Mapping[str, Any]) -> dict[str, Any]:
    counts = manifest["counts"]
    prompts = [f"{prompt['name']}@{prompt['version']}" for prompt in manifest.get("prompts", ())]
    row = {
        "folder": str(folder),
        "task": manifest["task"],
        "items": manifest["items"],
        "items_sha256": manifest["items_sha256"],
        "counts": counts,
        "card": manifest.get("card", ""),
        "prompts": prompts,
        "settings": manifest.get("settings", {}),
        "answered": manifest.get("finished", ""),
        "cost": cost_of(manifest),
    }
    measures = read_json(folder / "measures.json")
    return row if measures is None else row | _measured(measures)


def _agreeing(
    folder: str, labels: Sequence[str | Path], bootstrap: Bootstrap, *, need: bool
) -> dict[str, Any]:
    """Return agreement and calibration by labels; empty if the labels are for other items."""
    try:
        raters = measure_raters(folder, list(labels), bootstrap=bootstrap).row()
    except InputError:
        if need:
            raise
        return {}
    try:
        agreement = measure_agreement(folder, labels[0], bootstrap=bootstrap)
    except InputError:  # for preferences, only agreement is measured
        return {"agreement": raters}
    outcomes = outcomes_of(agreement.joined)
    return {
        "agreement": raters,
        **_measured(agreement.row()),
        **({"outcomes": outcomes} if outcomes else {}),
    }


def _measured(row: Mapping[str, Any]) -> dict[str, Any]:
    measures = row.get("measures", {})
    calibration_measures = {
        name: measures[name]
        for name in _CALIBRATION
        if name in measures and measures[name]["scored"]  # a judge may state no probabilities
    }
    others = {name: value for name, value in measures.items() if name not in _CALIBRATION}
    calibration = (
        {"measures": calibration_measures, "reliability": row.get("reliability", [])}
        if calibration_measures
        else None
    )
    return {"calibration": calibration, "measures": others}


def cost_of(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """Return calls, stored ones, and tokens and dollars per answer; None if unknown."""
    models = manifest.get("models", ())
    if not models:
        return {"calls": 0, "from_store": 0, "tokens_per_answer": 0, "usd_per_answer": 0.0}
    store, tokens = manifest.get("store", {}), manifest.get("tokens", {})
    calls = sum(store.get(name, 0) for name in ("asked", "shared"))
    stored, answers = store.get("from_store", 0), manifest["counts"]["asked"]
    total = sum(tokens.get(name, 0) for name in ("prompt_tokens", "completion_tokens"))
    costs = [model.get("spent", {}).get("cost_usd") for model in models]
    is_priced = calls and not stored and answers and None not in costs
    return {
        "calls": calls + stored,
        "from_store": stored,
        "tokens_per_answer": round(total / answers) if total and answers else None,
        "usd_per_answer": sum(costs) / answers if is_priced else None,
    }


# What it is not for ------------------------------------------------------------------------------


def _advice(card: Mapping[str, Any]) -> Iterator[dict[str, str]]:
    """Yield uses to avoid, each with the figure that says why."""
    for trial in card["trials"]:
        if trial["outcome"] == "failed":
            yield {"advice": _ADVICE[trial["trial"]], "why": _why(trial)}
    for trial in card["asked"]:
        yield from _by_results(trial)


def _why(trial: Mapping[str, Any]) -> str:
    problems = "; ".join(problem["said"] for problem in trial["problems"])
    return f"trial {trial['trial']} on {trial['task']} failed: {problems}"


def _by_results(result: Mapping[str, Any]) -> Iterator[dict[str, str]]:
    counts, task = result["counts"], result["task"]
    share = counts["unscored"] / counts["asked"] if counts["asked"] else 0.0
    if share > MOST_UNSCORED:
        why = f"{counts['unscored']} of {counts['asked']} {task} items are unscored"
        yield {"advice": "Do not rely on an answer to every item", "why": why}
    compared = result.get("agreement", {}).get("compared", ())
    people = [c for c in compared if c["kind"] != "human-judge"]
    for comparison in (c for c in compared if c["kind"] == "human-judge"):
        name = alpha_of(task)
        alpha = comparison["mean"].get(name, {}).get("value")
        if alpha is not None and alpha < LEAST_ALPHA:
            alpha_text = distinct_text(alpha, LEAST_ALPHA)
            rater = comparison["between"][1]
            why = f"{name} with {rater} is {alpha_text}, below {LEAST_ALPHA} ({task})"
            yield {"advice": "Do not replace people's verdicts with its verdicts", "why": why}
        for other in people:
            high, low = comparison["mean"][name]["high"], other["mean"][name]["low"]
            if high is not None and low is not None and high < low:
                most, least = distinct_text(high, low), distinct_text(low, high)
                why = f"{name} at most {most} with people, who have at least {least} ({task})"
                yield {"advice": "People agree with each other better than it does", "why": why}
    calibration = result.get("calibration") or {"measures": {}}
    ece, auroc = (calibration["measures"].get(name) for name in ("ece", "auroc"))
    if ece and ece["value"] is not None and ece["value"] > MOST_ECE:
        why = f"ECE {distinct_text(ece['value'], MOST_ECE)}, above {MOST_ECE} ({task})"
        yield {"advice": "Do not read its probabilities as chances: recalibrate them", "why": why}
    lowest = None
    if auroc and auroc["value"] is not None:
        lowest = auroc["value"] if auroc["low"] is None else auroc["low"]
    if auroc and lowest is not None and lowest <= 0.5:
        why = f"AUROC {auroc['value']:.3f}, from {lowest:.3f} ({task})"
        yield {"advice": "Do not rank by its probabilities: not shown better than chance",
               "why": why}  # fmt: skip


def alpha_of(task: str) -> str:
    """Return the version of Krippendorff's alpha to use for a task."""
    return "alpha_ordinal" if task not in ("support", "relevance", "stance") else "alpha_nominal"


def _unknown(card: Mapping[str, Any]) -> Iterator[str]:
    """Yield what was not measured, a line each."""
    done = {trial["trial"] for trial in card["trials"]}
    left_out: Mapping[str, str] = card.get("left_out", {})
    missing = [name for name in TRIALS if name not in done and name not in left_out]
    if missing:
        yield f"trials that were not run: {', '.join(missing)}"
    yield from (f"trial {name}: left out: {why}" for name, why in left_out.items())
    for trial in card["trials"]:
        if trial["outcome"] in ("unclear", "unscored"):
            yield f"trial {trial['trial']} on {trial['task']}: {trial['outcome']}"
    if not any("agreement" in result or "measures" in result for result in card["asked"]):
        yield "agreement with people: no labels were given"
    if not any(result.get("calibration") for result in card["asked"]):
        yield "calibration: no probabilities with labels"
