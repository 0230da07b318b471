"""One page on a judge: what it was asked, how far it agrees, what trials show, when not to use it.

The rules by which something is advised against are in `_advice` and in docs/measures.md; there is
no other judgement on the page.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pnyx._version import __version__
from pnyx.audit.outcomes import outcomes_of
from pnyx.audit.trials.trials import TRIALS
from pnyx.core.devices import file_in
from pnyx.core.errors import InputError, shorten
from pnyx.core.files import read_json
from pnyx.judging.answers import ANSWERS, MANIFEST
from pnyx.judging.measures.agreement import measure_agreement
from pnyx.judging.measures.raters import measure_raters
from pnyx.stats.base import BOOTSTRAP, Bootstrap, distinct_text

LEAST_ALPHA = 0.667
"""Krippendorff's least alpha from which even tentative conclusions may be drawn (2004, 11.4)."""
MOST_ECE = 0.1
MOST_UNSCORED = 0.05

_ADVICE = {
    "noise": "Do not use it to tell how much of what was retrieved is irrelevant",
    "hallucination": "Do not use it to find statements that the documents contradict",
    "joint": "Do not use it where documents are irrelevant and statements are false at once",
    "order": "Do not use one verdict of it in one order: ask in several and combine",
    "length": "Do not compare texts of different lengths with it",
    "injection": "Do not let it judge texts of strangers who know that a judge reads them",
    "paraphrase": "Do not rest a decision on one wording of the question or text",
    "repeat": "Do not rest a decision on one answer of it: ask several times and combine",
    "stance": "Do not ask it about one side alone: it says yes to both",
    "self": "Do not let it judge texts of its own beside others'",
    "format": "Do not compare texts in different formats with it",
    "asker": "Do not tell it what is hoped for",
    "verbosity": "Do not compare terse texts with wordy ones",
}
"""Trial -> what follows where it is failed."""
_SUMMED = {"task", "judge", "source", "outcome", "problems", "primary", "measures", "counts",
           "interval"}  # fmt: skip
"""What a summary holds that a card shows of it."""
_CALIBRATION = ("auroc", "average_precision", "ece", "brier", "auroc_correct")


def make_card(
    folders: Sequence[str | Path],
    labels: Sequence[str | Path] = (),
    *,
    bootstrap: Bootstrap = BOOTSTRAP,
    left_out: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """Return what is known of one judge, ready for JSON.

    Args:
        folders: results of `pnyx judge` and of `pnyx audit stress`, all of one judge.
        labels: people's labels of the results' items.
        bootstrap: how the intervals of agreement are drawn.
        left_out: trials that have no meaning for these items -> why.

    Raises:
        InputError: a folder is neither or is damaged, two are of different judges, or labels go
            with none.
    """
    if not folders:
        raise InputError("expected results of pnyx judge or of pnyx audit stress, found none")
    try:
        return _card_of(folders, labels, bootstrap, left_out)
    except (TypeError, ValueError, LookupError, AttributeError) as error:
        problem = f"holds a file that is not as pnyx writes it ({shorten(str(error), 80)})"
        raise InputError(
            f"{problem}: judge or try again", path=", ".join(map(str, folders))
        ) from error


def _card_of(
    folders: Sequence[str | Path],
    labels: Sequence[str | Path],
    bootstrap: Bootstrap,
    left_out: Mapping[str, str] | None,
) -> dict[str, Any]:
    asked: list[dict[str, Any]] = []
    trials: list[dict[str, Any]] = []
    judges: dict[str, str] = {}
    for folder in folders:
        manifest, summary = _read(Path(folder))
        judges.setdefault(manifest["judge"], str(folder))
        if summary is None:
            asked.append(_asked(Path(folder), manifest))
        else:
            known = {"cost": cost_of(manifest), "items_sha256": manifest["items_sha256"]}
            trials.append({**summary, **known})
    if len(judges) > 1:
        first, second = list(judges)[:2]
        raise InputError(
            f"is of another judge ({shorten(second, 60)!r}) than {judges[first]} "
            f"({shorten(first, 60)!r}): a card is of one",
            path=judges[second],
        )
    if labels and not asked:
        raise InputError("--labels needs results of pnyx judge, found those of trials only")
    for one in asked if labels else ():
        one |= _agreeing(one["folder"], labels, bootstrap, need=len(asked) == 1)
    if labels and not any("agreement" in one for one in asked):
        raise InputError("no label belongs to an answer of these results")
    card = {
        "format": "pnyx-card",
        "format_version": 1,
        "pnyx": __version__,
        "judge": next(iter(judges)),
        "own_card": next((one["card"] for one in (*asked, *trials) if one.get("card")), ""),
        "asked": asked,
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
            "expected a finished results folder of pnyx judge or pnyx audit stress", path=folder
        )
    if "trial" not in manifest:
        return manifest, None
    summary = read_json(folder / "summary.json")
    if summary is None or summary.get("trial") not in TRIALS or not summary.keys() >= _SUMMED:
        raise InputError("holds no whole summary of its trial: run the trial again", path=folder)
    return manifest, summary


def _asked(folder: Path, manifest: Mapping[str, Any]) -> dict[str, Any]:
    counts = manifest["counts"]
    prompts = [f"{one['name']}@{one['version']}" for one in manifest.get("prompts", ())]
    found = {
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
    return found if measures is None else found | _measured(measures)


def _agreeing(
    folder: str, labels: Sequence[str | Path], bootstrap: Bootstrap, *, need: bool
) -> dict[str, Any]:
    """Return agreement and calibration by labels; nothing where they are of other items."""
    try:
        raters = measure_raters(folder, list(labels), bootstrap=bootstrap).row()
    except InputError:
        if need:
            raise
        return {}
    try:
        found = measure_agreement(folder, labels[0], bootstrap=bootstrap)
    except InputError:  # of preferences only agreement is measured
        return {"agreement": raters}
    kept = outcomes_of(found.joined)
    return {"agreement": raters, **_measured(found.row()), **({"outcomes": kept} if kept else {})}


def _measured(row: Mapping[str, Any]) -> dict[str, Any]:
    measures = row.get("measures", {})
    kept = {name: measures[name] for name in _CALIBRATION if name in measures}
    others = {name: value for name, value in measures.items() if name not in kept}
    calibration = {"measures": kept, "reliability": row.get("reliability", [])} if kept else None
    return {"calibration": calibration, "measures": others}


def cost_of(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """Return calls, stored ones, and tokens and dollars an answer; None where not told."""
    models = manifest.get("models", ())
    if not models:
        return {"calls": 0, "from_store": 0, "tokens_per_answer": 0, "usd_per_answer": 0.0}
    store, tokens = manifest.get("store", {}), manifest.get("tokens", {})
    asked = sum(store.get(name, 0) for name in ("asked", "shared"))
    stored, answers = store.get("from_store", 0), manifest["counts"]["asked"]
    total = sum(tokens.get(name, 0) for name in ("prompt_tokens", "completion_tokens"))
    costs = [model.get("spent", {}).get("cost_usd") for model in models]
    known = asked and not stored and answers and None not in costs
    return {
        "calls": asked + stored,
        "from_store": stored,
        "tokens_per_answer": round(total / answers) if total and answers else None,
        "usd_per_answer": sum(costs) / answers if known else None,
    }


# What it is not for ------------------------------------------------------------------------------


def _advice(card: Mapping[str, Any]) -> Iterator[dict[str, str]]:
    """Yield what to leave, and the figure that says why."""
    for one in card["trials"]:
        if one["outcome"] == "failed":
            yield {"advice": _ADVICE[one["trial"]], "why": _why(one)}
    for one in card["asked"]:
        yield from _by_results(one)


def _why(one: Mapping[str, Any]) -> str:
    said = "; ".join(problem["said"] for problem in one["problems"])
    return f"trial {one['trial']} on {one['task']} failed: {said}"


def _by_results(one: Mapping[str, Any]) -> Iterator[dict[str, str]]:
    counts, task = one["counts"], one["task"]
    share = counts["unscored"] / counts["asked"] if counts["asked"] else 0.0
    if share > MOST_UNSCORED:
        why = f"{counts['unscored']} of {counts['asked']} {task} items are unscored"
        yield {"advice": "Do not count on an answer to every item", "why": why}
    compared = one.get("agreement", {}).get("compared", ())
    people = [c for c in compared if c["kind"] != "human-judge"]
    for own in (c for c in compared if c["kind"] == "human-judge"):
        name = alpha_of(task)
        alpha = own["mean"].get(name, {}).get("value")
        if alpha is not None and alpha < LEAST_ALPHA:
            shown = distinct_text(alpha, LEAST_ALPHA)
            why = f"{name} with {own['between'][1]} is {shown}, below {LEAST_ALPHA} ({task})"
            yield {"advice": "Do not put its verdicts in the place of people's", "why": why}
        for other in people:
            high, low = own["mean"][name]["high"], other["mean"][name]["low"]
            if high is not None and low is not None and high < low:
                most, least = distinct_text(high, low), distinct_text(low, high)
                why = f"{name} at most {most} with people, who have at least {least} ({task})"
                yield {"advice": "People agree with each other better than it does", "why": why}
    calibration = one.get("calibration") or {"measures": {}}
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
    """Return which of Krippendorff's alphas counts for a task."""
    return "alpha_ordinal" if task not in ("support", "relevance", "stance") else "alpha_nominal"


def _unknown(card: Mapping[str, Any]) -> Iterator[str]:
    """Yield what nobody has measured, a line each."""
    done = {one["trial"] for one in card["trials"]}
    left_out: Mapping[str, str] = card.get("left_out", {})
    missing = [name for name in TRIALS if name not in done and name not in left_out]
    if missing:
        yield f"trials that were not run: {', '.join(missing)}"
    yield from (f"trial {name}: left out: {why}" for name, why in left_out.items())
    for one in card["trials"]:
        if one["outcome"] in ("unclear", "unscored"):
            yield f"trial {one['trial']} on {one['task']}: {one['outcome']}"
    if not any("agreement" in one or "measures" in one for one in card["asked"]):
        yield "agreement with people: no labels were given"
    if not any(one.get("calibration") for one in card["asked"]):
        yield "calibration: no probabilities with labels"
