"""`pnyx build draft`: questions with opposing perspectives, of what people wrote or were asked."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeVar

import click

from pnyx.app.judge_specs import AskedSpec
from pnyx.app.spec import opt
from pnyx.cli import EXIT_UNSCORED
from pnyx.cli.building import (
    DraftsSpec,
    asked_model,
    check_markdown,
    print_draft_plan,
    print_summary,
)
from pnyx.cli.options import ColumnSpec, warn
from pnyx.cli.params import json_option, takes, verb
from pnyx.cli.progress import reporting
from pnyx.errors import OptionError, shorten

if TYPE_CHECKING:
    from pnyx.drafts.drafting import Drafted

__all__ = ["draft"]

T = TypeVar("T")

_SHOWN = 5
"""Sources without a draft that are named in warnings; --dropped has all of them."""
_KINDS = {"pairs": "pairs of arguments", "claims": "claims", "survey": "survey questions"}


_CLAIMS = ("--from claims", lambda spec: spec.kind == "claims")


@dataclass(frozen=True, kw_only=True)
class DraftSpec(ColumnSpec):
    """What is drafted, and how."""

    heading: ClassVar[str] = "Source"

    kind: Literal["pairs", "claims", "survey"] = opt(
        ...,
        "What SOURCE holds: pairs of contradicting arguments, claims with the views on them, or "
        "survey questions with answers to choose from.",
        "--from",
    )
    sample: int | None = opt(None, "Sample this many sources, keeping their order.", low=1)
    seed: int = opt(
        0, "Random seed of --sample.", needs=("--sample", lambda s: s.sample is not None), rare=True
    )
    rules: bool = opt(
        True,
        "claims: turn claims into questions by rule if that is safe, and ask the model about the "
        "others; or ask it about all.",
        "--rules/--no-rules",
        shown="--rules",
        needs=_CLAIMS,
    )
    pool: str | None = opt(
        None,
        "claims: Perspectrum's file of texts.",
        metavar="FILE",
        raw=True,
        shown="the one beside SOURCE",
        needs=_CLAIMS,
        rare=True,
    )

    def check(self, asked: AskedSpec) -> None:
        """Refuse choices that would change nothing, and to ask nobody.

        Raises:
            OptionError: there are such.
        """
        self.check_needs()
        if self.columns and self.kind == "claims":
            raise OptionError("--column goes with --from pairs or survey")
        if not asked.asks_models and self.kind != "claims":
            raise OptionError(f"a language model drafts from {_KINDS[self.kind]}: it needs --llm")
        if not asked.asks_models and not self.rules:
            raise OptionError("--no-rules goes with --llm")
        asked.check()

    def read(self, source: str) -> list[Any]:
        """Return the sources that are drafted from."""
        from pnyx.corpora.draft_sources import read_argument_pairs, read_claims, read_survey

        if self.kind == "pairs":
            found: list[Any] = list(
                read_argument_pairs(source, columns=self.mapping, on_warning=warn)
            )
        elif self.kind == "survey":
            found = list(read_survey(source, columns=self.mapping))
        else:
            found = list(read_claims(source, pool=self.pool, on_warning=warn))
        return _drawn(found, self.sample, self.seed)


@verb("draft", short_help="Draft questions with opposing perspectives.")
@click.argument("source", type=click.Path())
@takes("spec", DraftSpec)
@takes("output", DraftsSpec)
@takes("asked", AskedSpec)
@json_option
def draft(source: str, spec: DraftSpec, output: DraftsSpec, asked: AskedSpec, as_json: bool) -> int:
    """Draft questions with opposing perspectives from SOURCE.

    \b
    --from pairs    JSONL with a, b (id), or the ArguAna counterargs corpus: the
                    model writes the question and both answers to it.
    --from claims   JSONL with claim, perspectives (text, stance), Perspectrum, or
                    any arguments with topic, conclusion and stance (Debatewise,
                    ProCon, idebate): the claim becomes a question, the views stay
                    as they are. Needs no model where rules are sure.
    --from survey   JSONL with question, options, or a table like OpinionQA's
                    info.csv: a question with a perspective for each end of the
                    scale, or for each choice.

    --out is needed without --plan. If stopped, run the same command again; nothing is asked twice.
    Exit status 3: for some sources there is no usable reply; they are in --dropped, and never
    become a perspective.

    \b
    Example:
      pnyx build draft arguments.jsonl.gz --from pairs --llm openai:gpt-4o --plan
      pnyx build draft perspectrum.json --from claims --out drafts.md
      pnyx build draft info.csv --from survey --llm local --out drafts.jsonl
    """
    from pnyx.drafts.drafting import draft_questions

    spec.check(asked)
    if not asked.plan:
        output.check(as_json=as_json, SOURCE=source)
    sources = spec.read(source)
    check_markdown(
        output.out, [{"id": one.id, "question": "?", "perspectives": []} for one in sources]
    )
    with asked_model(asked) as model:
        with reporting() as report:
            drafted = draft_questions(sources, model, rules=spec.rules, on_done=report)
        if asked.plan:
            print_draft_plan(model, asked, len(sources), _KINDS[spec.kind], as_json=as_json)
            return 0
    lack = "without a usable reply" if asked.asks_models else "for a language model (--llm)"
    return _write(drafted, _KINDS[spec.kind], output, lack, as_json=as_json)


def _drawn(sources: list[T], count: int | None, seed: int) -> list[T]:
    """Draw `count` of the sources, in their order; all where there are no more."""
    if count is None or count >= len(sources):
        return sources
    places = sorted(random.Random(seed).sample(range(len(sources)), count))
    return [sources[place] for place in places]


def _write(
    drafted: Sequence[Drafted], what: str, output: DraftsSpec, lack: str, *, as_json: bool
) -> int:
    from pnyx.corpora.base import encode
    from pnyx.corpora.drafts import write_drafts
    from pnyx.files import atomic_text

    out = str(output.out)
    kept = [one.draft for one in drafted if one.draft is not None]
    without = [one for one in drafted if one.draft is None]
    write_drafts(out, kept)
    if output.dropped is not None:
        with atomic_text(output.dropped) as stream:
            for one in without:
                status = "failed" if one.failed else "unfit"
                row = {"id": one.source_id, "status": status, "reason": one.reason}
                stream.write(encode(row, one.source_id))
    _warn(drafted, without, output.dropped)
    failed = sum(one.failed for one in without)
    by = Counter(str(row["drafted_by"]) for row in kept)
    summary = {
        "sources": len(drafted),
        "drafts": len(kept),
        "unfit": len(without) - failed,
        "failed": failed,
        "by": dict(by),
    }
    made = ", ".join(f"{count} {shorten(name, 60)}" for name, count in by.most_common())
    line = f"{len(kept)} drafts of {len(drafted)} {what}" + (f" ({made})" if made else "")
    line += f"; {len(without) - failed} unfit" if len(without) > failed else ""
    line += f"; {failed} {lack}" if failed else ""
    print_summary(f"{line}; see {shorten(out, 200)}", summary, as_json=as_json)
    return EXIT_UNSCORED if failed else 0


def _warn(drafted: Sequence[Drafted], without: Sequence[Drafted], dropped: str | None) -> None:
    """Name the first sources that nobody could decide on, and say what is odd about drafts."""
    failed = [one for one in without if one.failed]
    for one in failed[:_SHOWN]:
        warn(f"{shorten(one.source_id, 40)}: no draft: {shorten(one.reason, 300)}")
    if len(failed) > _SHOWN:
        where = f"see {shorten(dropped, 200)}" if dropped else "--dropped FILE lists them"
        warn(f"{len(failed) - _SHOWN} more have none; {where}")
    repaired = sum(bool(one.problems) for one in drafted)
    if repaired:
        warn(f"{repaired} replies were read after a repair turn")
