"""`pnyx build draft` and `filter`: questions with opposing perspectives (BERDS)."""

from __future__ import annotations

import io
import random
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import click

from pnyx.app.judge_specs import AskedSpec
from pnyx.app.open_models import open_model
from pnyx.app.spec import Spec, file_opt, opt, out_opt
from pnyx.cli import EXIT_UNSCORED
from pnyx.cli.common.answering import plan_asked
from pnyx.cli.common.options import (
    ColumnSpec,
    print_result,
    refuse_same_file,
    say,
    warn,
    warn_first,
)
from pnyx.cli.common.params import verb
from pnyx.cli.common.progress import reporting
from pnyx.errors import InputError, OptionError, escaped, shorten

if TYPE_CHECKING:
    from pnyx.drafts.drafting import Drafted
    from pnyx.drafts.filtering import Filtered
    from pnyx.judge.store.completions import StoredModel

T = TypeVar("T")

_SHOWN = 5
"""Sources without a draft, and similar questions, that are named; files have all of them."""
_KINDS = {"pairs": "pairs of arguments", "claims": "claims", "survey": "survey questions"}


class DraftsSpec(Spec, heading="Output"):
    """Where drafts are written."""

    out: str | None = out_opt(None, "Drafts to write; - is stdout.", metavar="DRAFTS")
    dropped: str | None = out_opt(None, "Where to write what is left out, with the reasons.")
    force: bool = opt(False, "Overwrite --out, including edits.")

    def check(self, *, as_json: bool, needed: Iterable[str] = ("out",), **inputs: str) -> None:
        """Refuse to write over `inputs`, or over drafts that somebody may have edited."""
        for name in needed:
            if getattr(self, name) is None:
                raise OptionError(f"Missing option '--{name}'.")
        out = str(self.out)
        written = {"--out": out, "--dropped": self.dropped, "--json": "-" if as_json else None}
        printed = [flag for flag, path in written.items() if path == "-"]
        if len(printed) > 1:
            raise OptionError(f"{printed[0]} and {printed[1]} both write to standard output")
        refuse_same_file("--out", out, **inputs)
        if self.dropped is not None:
            refuse_same_file("--dropped", self.dropped, **inputs)
        if not self.force and out != "-" and Path(out).is_file():
            raise InputError("exists, and may have been edited; --force replaces it", path=out)


def _check_markdown(path: str | None, rows: Iterable[Mapping[str, Any]]) -> None:
    """Refuse drafts that a Markdown file cannot hold, before anything is spent on them."""
    from pnyx.corpora.benchmarks.drafts import is_markdown
    from pnyx.corpora.benchmarks.markdown import write_drafts_markdown

    if path is not None and is_markdown(path):
        write_drafts_markdown(io.StringIO(), rows)


def _print_plan(
    model: StoredModel | None, asked: AskedSpec, count: int, what: str, *, as_json: bool
) -> None:
    """Print what a model that was asked offline would have been asked about `count` of `what`."""
    assert model is not None  # noqa: S101 - without --llm there is no plan
    line = f"{count} {what} for {shorten(model.name)}"
    plan_asked(model, asked, line, {"sources": count}, as_json=as_json)


# Draft -------------------------------------------------------------------------------------------


class DraftSpec(ColumnSpec, heading="Source", rare="seed pool"):
    """What is drafted, and how."""

    kind: Literal["pairs", "claims", "survey"] = opt(
        ...,
        "What SOURCE holds: pairs of contradicting arguments, claims with views on them, or "
        "survey questions with answers to choose from.",
        "--from",
    )
    sample: int | None = opt(None, "Sample this many sources, keeping their order.", low=1)
    seed: int = opt(0, "Random seed of --sample.", needs="sample")
    rules: bool = opt(
        True,
        "claims: use rules where that is safe; ask the model only about the others.",
        needs="kind=claims",
    )
    pool: str | None = file_opt(
        None, "claims: Perspectrum's file of texts.", shown="beside SOURCE", needs="kind=claims"
    )

    def check(self, asked: AskedSpec) -> None:
        """Refuse choices that would change nothing, and to ask nobody."""
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
        from pnyx.corpora.benchmarks.draft_sources import (
            read_argument_pairs,
            read_claims,
            read_survey,
        )

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
@click.argument("source")
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
    _check_markdown(
        output.out, [{"id": one.id, "question": "?", "perspectives": []} for one in sources]
    )
    with open_model(asked, say, asked) as model:
        with reporting() as report:
            drafted = draft_questions(sources, model, rules=spec.rules, on_done=report)
        if asked.plan:
            _print_plan(model, asked, len(sources), _KINDS[spec.kind], as_json=as_json)
            return 0
    lack = "without a usable reply" if asked.asks_models else "for a language model (--llm)"
    return _write_drafts(drafted, _KINDS[spec.kind], output, lack, as_json=as_json)


def _drawn(sources: list[T], count: int | None, seed: int) -> list[T]:
    """Draw `count` of the sources, in their order; all where there are no more."""
    if count is None or count >= len(sources):
        return sources
    places = sorted(random.Random(seed).sample(range(len(sources)), count))
    return [sources[place] for place in places]


def _write_drafts(
    drafted: Sequence[Drafted], what: str, output: DraftsSpec, lack: str, *, as_json: bool
) -> int:
    from pnyx.corpora.base import encode
    from pnyx.corpora.benchmarks.drafts import write_drafts
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
    _warn_of_drafts(drafted, without, output.dropped)
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
    print_result(summary, f"{line}; see {escaped(out)}", as_json=as_json, ensure_ascii=False)
    return EXIT_UNSCORED if failed else 0


def _warn_of_drafts(
    drafted: Sequence[Drafted], without: Sequence[Drafted], dropped: str | None
) -> None:
    """Name the first sources that nobody could decide on, and say what is odd about drafts."""
    failed = [one for one in without if one.failed]
    lines = [f"{shorten(o.source_id, 40)}: no draft: {shorten(o.reason, 300)}" for o in failed]
    where = f"see {shorten(dropped, 200)}" if dropped else "--dropped FILE lists them"
    warn_first(lines, f"have none; {where}")
    repaired = sum(bool(one.problems) for one in drafted)
    if repaired:
        warn(f"{repaired} replies were read after a repair turn")


# Filter ------------------------------------------------------------------------------------------


class FilterSpec(Spec, heading="Filter"):
    """What is dropped."""

    personal: bool = opt(
        True,
        "Ask the model if a question is about the respondent's own life.",
    )
    similar: float = opt(
        0.9, "Report questions whose cosine with an earlier one is at least this.", within="(0, 1]"
    )
    drop_similar: bool = opt(False, "Drop them, too.")

    def check(self, asked: AskedSpec) -> None:
        """Refuse choices that would change nothing, and to ask nobody."""
        if self.personal and not asked.asks_models:
            raise OptionError("--personal goes with --llm; without one, give --no-personal")
        for name in () if self.personal else asked.row():
            raise OptionError(f"{asked.flag(name)} and --no-personal exclude each other")
        asked.check()


@verb("filter", short_help="Drop unsuitable drafts, with the reason.")
@click.argument("drafts")
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
    from pnyx.corpora.benchmarks.drafts import read_drafts
    from pnyx.drafts.filtering import filter_drafts

    spec.check(asked)
    if not asked.plan:
        output.check(as_json=as_json, needed=("dropped", "out"), DRAFTS=drafts)
    rows = read_drafts(drafts, also=("survey-questions",))
    for path in (output.out, output.dropped):
        _check_markdown(path, rows)
    with open_model(asked if spec.personal else None, say, asked) as model:
        with reporting() as report:
            found = filter_drafts(
                rows, model, similar=spec.similar, drop_similar=spec.drop_similar, on_done=report
            )
        if asked.plan:
            _print_plan(model, asked, len(rows), "questions", as_json=as_json)
            return 0
    _say_similar(found, spec.similar)
    return _write_kept(found, len(rows), str(output.out), str(output.dropped), as_json=as_json)


def _write_kept(found: Filtered, asked: int, out: str, dropped: str, *, as_json: bool) -> int:
    from pnyx.corpora.benchmarks.drafts import write_drafts

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
    print_result(summary, f"{line}; see {escaped(out)}", as_json=as_json, ensure_ascii=False)
    return EXIT_UNSCORED if found.counts.get("undecided") else 0


def _say_similar(found: Filtered, threshold: float) -> None:
    """Say which questions are alike, and how near the nearest others come."""
    kept = {row["id"] for row in found.kept}
    alike = [
        f"{shorten(one.id, 40)} and {shorten(one.of, 40)} are alike (cosine {one.cosine:.3f}), "
        "and both are kept"
        for one in found.similar
        if one.id in kept
    ]
    warn_first(alike, "are like an earlier one; `similar` in each says which")
    if found.nearest is not None:
        one = found.nearest
        ids = f"{shorten(one.of, 40)} and {shorten(one.id, 40)}"
        say(f"below {threshold:g}, the most alike are {ids} (cosine {one.cosine:.3f})")
    undecided = [one for one in found.dropped if one.reason == "undecided"]
    for left in undecided[:_SHOWN]:
        warn(f"{shorten(str(left.row['id']), 40)}: undecided: {shorten(left.detail, 300)}")
