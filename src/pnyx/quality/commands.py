"""`pnyx judge dimensions`: rating dimensions drafted by a language model."""

from __future__ import annotations

import click

from pnyx.cli.judge_runs import plan_asked
from pnyx.cli.options import Outcome, refuse_two_outputs, say, warn_first
from pnyx.cli.params import verb
from pnyx.core.errors import InputError, OptionError, count_of, escaped
from pnyx.core.files import clean_text
from pnyx.judging.open_models import open_model
from pnyx.judging.options import AskedSpec
from pnyx.quality.options import RubricSpec


@verb("dimensions", resumes=True, short_help="Draft your own dimensions with a language model.")
@click.argument("task")
def dimensions(task: str, spec: RubricSpec, model: AskedSpec, as_json: bool) -> int | Outcome:
    """Draft dimensions on which to rate texts for TASK, described in your own words.

    Writes a file for --dimensions: the meaning of each dimension and each score, and example texts
    with scores, all written by the model. Correct it, and set reviewed = true, before you use it.

    \b
    Example:
      $ pnyx judge dimensions "Are our letters to customers polite?" \\
          --llm http://127.0.0.1:8000/v1#my-model --plan
      a rubric by my-model
      my-model
        calls              1 (0 from the store)
        prompt tokens      ... to 1,6...

    \b
    More: pnyx judge dimensions --help-all, docs/recipes/judging-quality.md.
    \f
    Exit status 3: the model gave no usable rubric, and no file is written. --out is required
    without --plan; --force replaces it, including your edits.

    \b
      pnyx judge dimensions "Are our letters to customers polite and plain?" \\
        --llm openai:gpt-4o-mini --out letters.toml
      pnyx judge quality letters.jsonl --dimensions letters.toml \\
        --judge openai:gpt-4o-mini --out rated
    """
    from pnyx.core.files import atomic_text
    from pnyx.quality.rubrics import draft_rubric

    if not task.strip():
        raise InputError("TASK is empty, expected a description of what to rate")
    model.check()
    spec.check(plan=model.plan)
    refuse_two_outputs("--out", spec.out, as_json=as_json)
    with open_model(model, say, model) as llm:
        if llm is None:
            raise OptionError("drafting dimensions requires a language model: add --llm")
        drafted = draft_rubric(clean_text(task), llm, low=spec.low, high=spec.high, most=spec.most)
        if model.plan:
            line = f"a rubric by {escaped(llm.name)}"
            return plan_asked(llm, model, line, {"rubrics": 1}, as_json=as_json)
    warn_first(drafted.problems, "problems")
    rubric, out = drafted.dimensions, str(spec.out)
    if drafted.toml is None or rubric is None:
        none: dict[str, object] = {"out": None, "dimensions": [], "examples": 0}
        return Outcome(none, "no usable rubric: nothing was written", True, err=True)
    with atomic_text(out) as stream:
        stream.write(drafted.toml)
    row = {
        "out": out,
        "dimensions": list(rubric.dimensions),
        "examples": len(rubric.examples),
    }
    summary = f"{', '.join(rubric.dimensions)}; {count_of(len(rubric.examples), 'example')}"
    line = f"{escaped(out)}: {summary}. A draft: correct it, then set reviewed = true"
    return Outcome(row, line, err=True)
