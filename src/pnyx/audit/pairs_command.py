"""`pnyx audit pairs`: pairs of arguments, one of which was written by the judge itself."""

from __future__ import annotations

from typing import Any

import click

from pnyx.cli.judge_runs import plan_asked
from pnyx.cli.options import Outcome, refuse_two_outputs, say, warn_first
from pnyx.cli.params import verb
from pnyx.core.errors import InputError, OptionError, escaped, shorten
from pnyx.core.progress import reporting
from pnyx.core.spec import Spec, opt, out_opt
from pnyx.display.text import many
from pnyx.judging.open_models import open_model
from pnyx.judging.options import AskedSpec


class OwnTextsSpec(Spec, heading="Pairs"):
    """For which items to write, and where the pairs go."""

    out: str | None = out_opt(
        None, "Preference items to write; required without --plan.", metavar="PAIRS"
    )
    limit: int = opt(0, "Items at most, drawn by --seed; 0 for all.", low=0, default_text="all")
    seed: int = opt(0, "Random seed.")


@verb("pairs", resumes=True, short_help="Have a judge write texts that it will then judge.")
@click.argument("items")
def pairs(items: str, spec: OwnTextsSpec, model: AskedSpec, as_json: bool) -> int | Outcome:
    """Have a judge (--llm) argue the question of each of ITEMS from its documents.

    ITEMS are those of pnyx judge rag, with an argument, or responses of pnyx argue that embed their
    texts. Each gives a pair of an argument by the judge and the item's own, of similar length, as a
    preference item; a_by and b_by say who wrote which, but no judge sees that. An item names its
    writer in `by`, as responses of pnyx argue do; items written by the judge itself are left out.
    Does the judge prefer its own texts more often than people, or another judge, do?
    docs/reference/measures.md defines how this is measured. Exit status 3: some items got no
    argument.

    \b
    Example:
      pnyx audit pairs items.jsonl --llm openai:gpt-4o-mini --out pairs.jsonl
      pnyx label preference pairs.jsonl --out people.jsonl
      pnyx audit run pairs.jsonl --trial self --judge openai:gpt-4o-mini \\
        --writer gpt-4o-mini --control people.jsonl --out self
    """
    from pnyx.audit.trials.own_arguments import write_pairs
    from pnyx.audit.trials.trial_items import Stress, sampled
    from pnyx.core.files import write_jsonl
    from pnyx.judging.runs.responses import holds_responses, items_of_responses
    from pnyx.judging.tasks import TASKS

    model.check()
    if spec.out is None and not model.plan:
        raise OptionError("Missing option '--out'.")
    refuse_two_outputs("--out", spec.out, as_json=as_json)
    responses = holds_responses(items)
    read: Any = items_of_responses(items, None, None) if responses else TASKS["rag"].read(items)
    chosen: Any = sampled(list(read), Stress(limit=spec.limit, seed=spec.seed))
    if not any(item.text.strip() for item in chosen):
        raise InputError("no item has an argument to compare another with", path=items)
    with open_model(model, say, model) as llm, reporting("pairs") as show:
        if llm is None:
            raise OptionError("writing arguments requires a language model: add --llm")
        written = write_pairs(chosen, llm, show)
        if model.plan:
            count = len(chosen) - sum(written.left_out.values())
            line = f"{many(count, 'argument')} by {escaped(llm.name)}"
            return plan_asked(llm, model, line, {"items": count}, as_json=as_json)
    warn_first([shorten(problem, 200) for problem in written.problems], "items without an argument")
    write_jsonl(str(spec.out), written.rows)
    failed = len(written.problems)
    row = {"out": spec.out, "items": len(chosen), "pairs": len(written.rows), "failed": failed}
    line = f"{escaped(str(spec.out))}: {many(len(written.rows), 'pair')} of {len(chosen)} items"
    left = "".join(f"; {count} with {why}" for why, count in written.left_out.items())
    return Outcome({**row, "left_out": dict(written.left_out)}, line + left, failed, err=True)
