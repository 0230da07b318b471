"""`pnyx build filter`: what of the drafts is fit for a benchmark."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import click

from pnyx.app.judge_specs import AskedSpec
from pnyx.app.spec import Spec, opt
from pnyx.cli import EXIT_UNSCORED
from pnyx.cli.building import (
    DraftsSpec,
    asked_model,
    check_markdown,
    print_draft_plan,
    print_summary,
)
from pnyx.cli.options import say, warn
from pnyx.cli.params import json_option, takes, verb
from pnyx.cli.progress import reporting
from pnyx.errors import OptionError, shorten

if TYPE_CHECKING:
    from pnyx.drafts.filtering import Filtered

__all__ = ["filter_"]

_SHOWN = 5


@dataclass(frozen=True, kw_only=True)
class FilterSpec(Spec):
    """What is dropped."""

    heading: ClassVar[str] = "Filter"

    personal: bool = opt(
        True,
        "Ask the language model whether a question is about the respondent's own life.",
        "--personal/--no-personal",
        shown="--personal",
    )
    similar: float = opt(
        0.9,
        "Report questions whose cosine with an earlier one is at least this.",
        low=0,
        high=1,
        above=True,
    )
    drop_similar: bool = opt(False, "Drop them, too.")

    def check(self, asked: AskedSpec) -> None:
        """Refuse choices that would change nothing, and to ask nobody.

        Raises:
            OptionError: there are such.
        """
        if self.personal and not asked.asks_models:
            raise OptionError("--personal goes with --llm; without one, give --no-personal")
        for name in () if self.personal else asked.row():
            raise OptionError(f"{asked.flag(name)} and --no-personal exclude each other")
        asked.check()


@verb("filter", short_help="Drop unsuitable drafts, with the reason.")
@click.argument("drafts", type=click.Path())
@takes("output", DraftsSpec)
@takes("spec", FilterSpec)
@takes("asked", AskedSpec)
@json_option
def filter_(
    drafts: str, output: DraftsSpec, spec: FilterSpec, asked: AskedSpec, as_json: bool
) -> int:
    """Keep the DRAFTS suitable for a benchmark; write the others to --dropped.

    \b
    A question is dropped if it
      sides       has fewer than two perspectives, two in the same words, or one
                  side only;
      personal    is about the respondent's own life, as the model says (BERDS,
                  Table 12);
      repeated    asks in the same words as an earlier question;
      similar     is too similar to an earlier one (with --drop-similar;
                  otherwise only reported);
      undecided   got no usable reply from the model. Exit status 3.

    DRAFTS may also be survey questions that are still to be drafted, so that nothing is spent on
    personal ones. To take a draft back, move its line from --dropped to the kept ones. --out and
    --dropped are needed without --plan. If stopped, run the same command again; nothing is asked
    twice.

    \b
    Example:
      pnyx build filter drafts.md --llm openai:gpt-4o \\
        --out kept.md --dropped dropped.jsonl
    """
    from pnyx.corpora.drafts import read_drafts
    from pnyx.drafts.filtering import filter_drafts

    spec.check(asked)
    if not asked.plan:
        output.check(as_json=as_json, needed=("dropped", "out"), DRAFTS=drafts)
    rows = read_drafts(drafts, also=("survey-questions",))
    for path in (output.out, output.dropped):
        check_markdown(path, rows)
    with asked_model(asked if spec.personal else None) as model:
        with reporting() as report:
            found = filter_drafts(
                rows,
                model,
                similar=spec.similar,
                drop_similar=spec.drop_similar,
                on_done=report,
            )
        if asked.plan:
            print_draft_plan(model, asked, len(rows), "questions", as_json=as_json)
            return 0
    _say(found, spec.similar)
    return _write(found, len(rows), str(output.out), str(output.dropped), as_json=as_json)


def _write(found: Filtered, asked: int, out: str, dropped: str, *, as_json: bool) -> int:
    from pnyx.corpora.drafts import write_drafts

    write_drafts(dropped, [one.written() for one in found.dropped])
    write_drafts(out, found.kept)
    nearest = found.nearest
    summary = {
        "questions": asked,
        "kept": len(found.kept),
        "dropped": found.counts,
        "similar": [{"id": s.id, "of": s.of, "cosine": round(s.cosine, 3)} for s in found.similar],
        "nearest": None if nearest is None else round(nearest.cosine, 3),
    }
    reasons = ", ".join(f"{count} {reason}" for reason, count in found.counts.items())
    line = f"{len(found.kept)} of {asked} kept" + (f"; dropped: {reasons}" if reasons else "")
    print_summary(f"{line}; see {shorten(out, 200)}", summary, as_json=as_json)
    return EXIT_UNSCORED if found.counts.get("undecided") else 0


def _say(found: Filtered, threshold: float) -> None:
    """Say which questions are alike, and how near the nearest others come."""
    kept = {row["id"] for row in found.kept}
    alike = [one for one in found.similar if one.id in kept]
    for one in alike[:_SHOWN]:
        ids = f"{shorten(one.id, 40)} and {shorten(one.of, 40)}"
        warn(f"{ids} are alike (cosine {one.cosine:.3f}), and both are kept")
    if len(alike) > _SHOWN:
        warn(f"{len(alike) - _SHOWN} more are like an earlier one; `similar` in each says which")
    if found.nearest is not None:
        one = found.nearest
        ids = f"{shorten(one.of, 40)} and {shorten(one.id, 40)}"
        say(f"below {threshold:g}, the most alike are {ids} (cosine {one.cosine:.3f})")
    undecided = [one for one in found.dropped if one.reason == "undecided"]
    for left in undecided[:_SHOWN]:
        warn(f"{shorten(str(left.row['id']), 40)}: undecided: {shorten(left.detail, 300)}")
