"""Write pairs of arguments, one of which the judge itself writes, for the trial self."""

from __future__ import annotations

from typing import Any

from pnyx.audit.trial_run import StressSpec
from pnyx.cli.judge_runs import plan_asked
from pnyx.cli.options import Outcome, refuse_two_outputs, say, warn_first
from pnyx.core.errors import InputError, OptionError, count_of, escaped, shorten
from pnyx.core.progress import reporting
from pnyx.core.spec import opts_of
from pnyx.judging.open_models import open_model
from pnyx.judging.options import JudgeSpec, ModelSpec, PaidModelSpec


def write_own_pairs(
    items: str, out: str, options: StressSpec, spec: JudgeSpec, as_json: bool
) -> int | Outcome:
    """Write a preference item for each of the items of rag that has an argument.

    They are those of pnyx judge rag, or responses of pnyx argue that embed their texts.
    """
    from pnyx.audit.trials.own_arguments import write_pairs
    from pnyx.audit.trials.trial_items import Stress, sampled
    from pnyx.core.files import write_jsonl
    from pnyx.judging.runs.responses import holds_responses, items_of_responses
    from pnyx.judging.tasks import TASKS

    _check(options, spec)
    refuse_two_outputs("--write-pairs", out, as_json=as_json)
    responses = holds_responses(items)
    read: Any = items_of_responses(items, None, None) if responses else TASKS["rag"].read(items)
    chosen: Any = sampled(list(read), Stress(limit=options.limit, seed=options.seed))
    if not any(item.text.strip() for item in chosen):
        raise InputError("no item has an argument to compare another with", path=items)
    model = spec.make(ModelSpec, llm=spec.models)
    with open_model(model, say, spec) as llm, reporting("pairs") as show:
        if llm is None:
            raise OptionError("writing arguments requires a language model: add --judge")
        written = write_pairs(chosen, llm, show)
        if spec.plan:
            count = len(chosen) - sum(written.left_out.values())
            line = f"{count_of(count, 'argument')} by {escaped(llm.name)}"
            return plan_asked(llm, spec, line, {"items": count}, as_json=as_json)
    warn_first([shorten(problem, 200) for problem in written.problems], "items without an argument")
    write_jsonl(out, written.rows)
    failed = len(written.problems)
    row = {"out": out, "items": len(chosen), "pairs": len(written.rows), "failed": failed}
    line = f"{escaped(out)}: {count_of(len(written.rows), 'pair')} of {len(chosen)} items"
    left = "".join(f"; {count} with {why}" for why, count in written.left_out.items())
    return Outcome({**row, "left_out": dict(written.left_out)}, line + left, failed, err=True)


def _check(options: StressSpec, spec: JudgeSpec) -> None:
    """Reject options that have no effect on the pairs."""
    spec.check("labels", "results", "student", "plugin")
    usable = {field.name for field, _ in opts_of(PaidModelSpec)} | {"judge", "limit", "seed"}
    for chosen in (options, spec):
        for field, _ in opts_of(type(chosen)):
            if chosen.given(field.name) and field.name not in usable:
                raise OptionError(f"{chosen.flag(field.name)} has no effect with --write-pairs")
