"""`pnyx build draft` and `filter`: questions with opposing perspectives (BERDS)."""

from __future__ import annotations

import io
import random
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from pnyx.cli import EXIT_UNSCORED
from pnyx.cli.judge_runs import plan_asked
from pnyx.cli.options import ColumnSpec, print_result, refuse_same_file, say, warn, warn_first
from pnyx.cli.params import verb
from pnyx.core.errors import InputError, OptionError, escaped, shorten
from pnyx.core.progress import reporting
from pnyx.core.spec import Spec, file_opt, opt, out_opt
from pnyx.judging.open_models import open_model
from pnyx.judging.options import AskedSpec

if TYPE_CHECKING:
    from pnyx.judging.store.completions import StoredModel
    from pnyx_build.drafts.draft import Drafted
    from pnyx_build.drafts.filters import Filtered

_SHOWN = 5
"""Undecided questions that are printed; the file has all of them."""
_KINDS = {"pairs": "pairs of arguments", "claims": "claims", "survey": "survey questions"}


class DraftsSpec(Spec, heading="Output"):
    """Where drafts are written."""

    out: str | None = out_opt(None, "Drafts to write; - is stdout.", metavar="DRAFTS")
    dropped: str | None = out_opt(None, "Where to write dropped drafts, with the reasons.")
    force: bool = opt(False, "Overwrite --out, including edits.")

    def check(self, *, as_json: bool, needed: Iterable[str] = ("out",), **inputs: str) -> None:
        """Raise if `inputs`, or drafts that may have been edited, would be overwritten."""
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
    """Raise for drafts that a Markdown file cannot hold, before spending anything on them."""
    from pnyx_build.drafts.files import is_markdown
    from pnyx_build.drafts.markdown import write_drafts_markdown

    if path is not None and is_markdown(path):
        write_drafts_markdown(io.StringIO(), rows)


def _print_plan(
    model: StoredModel | None, options: AskedSpec, count: int, what: str, *, as_json: bool
) -> None:
    """Print the cost plan of a model asked offline about `count` of `what`."""
    assert model is not None  # noqa: S101 - without --llm there is no plan
    line = f"{count} {what} for {shorten(model.name)}"
    plan_asked(model, options, line, {"sources": count}, as_json=as_json)


class DraftSpec(ColumnSpec, heading="Source", rare="seed pool"):
    """Options of `pnyx build draft`."""

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
        "claims: use rules if that is safe; ask the model only about the other claims.",
        needs="kind=claims",
    )
    pool: str | None = file_opt(
        None,
        "claims: Perspectrum's file of texts.",
        default_text="next to SOURCE",
        needs="kind=claims",
    )

    def check(self, options: AskedSpec) -> None:
        """Raise for options without effect, and if no model is given."""
        self.check_needs()
        if self.columns and self.kind == "claims":
            raise OptionError("--column requires --from pairs or survey")
        if not options.asks_models and self.kind != "claims":
            raise OptionError(f"drafting from {_KINDS[self.kind]} requires --llm")
        if not options.asks_models and not self.rules:
            raise OptionError("--no-rules requires --llm")
        options.check()

    def read(self, source: str) -> list[Any]:
        """Return the sources to draft from."""
        from pnyx_build.drafts.sources import (
            read_argument_pairs,
            read_claims,
            read_survey,
        )

        sources: list[Any]
        if self.kind == "pairs":
            sources = [*read_argument_pairs(source, columns=self.mapping, on_warning=warn)]
        elif self.kind == "survey":
            sources = [*read_survey(source, columns=self.mapping)]
        else:
            sources = [*read_claims(source, pool=self.pool, on_warning=warn)]
        if self.sample is None or self.sample >= len(sources):
            return sources
        drawn = random.Random(self.seed).sample(range(len(sources)), self.sample)
        return [sources[number] for number in sorted(drawn)]


@verb("draft", short_help="Draft questions with opposing perspectives.")
@click.argument("source")
def draft(
    source: str, spec: DraftSpec, output: DraftsSpec, options: AskedSpec, as_json: bool
) -> int:
    """Draft questions with opposing perspectives from SOURCE.

    \b
    --from pairs    JSONL with a, b (id), or the ArguAna counterargs corpus: the
                    model writes the question and both answers to it.
    --from claims   JSONL with claim, perspectives (text, stance), Perspectrum, or
                    any arguments with topic, conclusion and stance (Debatewise,
                    ProCon, idebate): the claim becomes a question, the views stay
                    as they are. Needs no model if rules are certain.
    --from survey   JSONL with question, options, or a table like OpinionQA's
                    info.csv: a question with a perspective for each end of the
                    scale, or for each choice.

    --out is needed without --plan. If stopped, run the same command again; nothing is asked twice.
    Exit status 3: some sources got no usable reply; they are in --dropped and do not become
    perspectives.

    \b
    Example:
      pnyx build draft arguments.jsonl.gz --from pairs --llm openai:gpt-4o --plan
      pnyx build draft perspectrum.json --from claims --out drafts.md
      pnyx build draft info.csv --from survey --llm local --out drafts.jsonl
    """
    from pnyx_build.drafts.draft import draft_questions

    spec.check(options)
    if not options.plan:
        output.check(as_json=as_json, SOURCE=source)
    sources = spec.read(source)
    _check_markdown(
        output.out, [{"id": each.id, "question": "?", "perspectives": []} for each in sources]
    )
    with open_model(options, say, options) as model:
        with reporting() as report:
            drafted = draft_questions(sources, model, rules=spec.rules, on_done=report)
        if options.plan:
            _print_plan(model, options, len(sources), _KINDS[spec.kind], as_json=as_json)
            return 0
    lack = "without a usable reply" if options.asks_models else "for a language model (--llm)"
    return _write_drafts(drafted, _KINDS[spec.kind], output, lack, as_json=as_json)


def _write_drafts(
    drafted: Sequence[Drafted], what: str, output: DraftsSpec, lack: str, *, as_json: bool
) -> int:
    from pnyx.core.files import atomic_text
    from pnyx.core.placement import placed_together
    from pnyx.formats.base import encode
    from pnyx_build.drafts.files import write_drafts

    out = str(output.out)
    drafts = [outcome.draft for outcome in drafted if outcome.draft is not None]
    without = [outcome for outcome in drafted if outcome.draft is None]
    with placed_together():
        write_drafts(out, drafts)
        if output.dropped is not None:
            with atomic_text(output.dropped) as stream:
                for lost in without:
                    status = "failed" if lost.failed else "unfit"
                    row = {"id": lost.source_id, "status": status, "reason": lost.reason}
                    stream.write(encode(row, lost.source_id))
    failures = [lost for lost in without if lost.failed]
    lines = [f"{shorten(o.source_id, 40)}: no draft: {shorten(o.reason, 300)}" for o in failures]
    where = f"see {shorten(output.dropped, 200)}" if output.dropped else "--dropped FILE lists them"
    warn_first(lines, f"have none; {where}")
    if repaired := sum(bool(outcome.problems) for outcome in drafted):
        warn(f"{repaired} replies were read after a repair turn")
    failed = len(failures)
    by = Counter(str(row["drafted_by"]) for row in drafts)
    summary = {
        "sources": len(drafted),
        "drafts": len(drafts),
        "unfit": len(without) - failed,
        "failed": failed,
        "by": dict(by),
    }
    sources = ", ".join(f"{count} {shorten(name, 60)}" for name, count in by.most_common())
    line = f"{len(drafts)} drafts of {len(drafted)} {what}" + (f" ({sources})" if sources else "")
    line += f"; {len(without) - failed} unfit" if len(without) > failed else ""
    line += f"; {failed} {lack}" if failed else ""
    print_result(summary, f"{line}; see {escaped(out)}", as_json=as_json, ensure_ascii=False)
    return EXIT_UNSCORED if failed else 0


class FilterSpec(Spec, heading="Filter"):
    """Options of `pnyx build filter`."""

    personal: bool = opt(
        True,
        "Ask the model if a question is about the respondent's own life.",
    )
    similar: float = opt(
        0.9, "Report questions whose cosine with an earlier one is at least this.", within="(0, 1]"
    )
    drop_similar: bool = opt(False, "Also drop them.")

    def check(self, options: AskedSpec) -> None:
        """Raise for options without effect, and if no model is given."""
        if self.personal and not options.asks_models:
            raise OptionError("--personal requires --llm; without it, give --no-personal")
        for name in () if self.personal else options.row():
            raise OptionError(f"{options.flag(name)} and --no-personal exclude each other")
        options.check()


@verb("filter", short_help="Drop unsuitable drafts, with the reason.")
@click.argument("drafts")
def filter_(
    drafts: str, output: DraftsSpec, spec: FilterSpec, options: AskedSpec, as_json: bool
) -> int:
    """Keep the DRAFTS suitable for a benchmark; write the others to --dropped.

    \b
    A question is dropped if it
      sides       has fewer than two perspectives, two in the same words, or only
                  one side;
      personal    is about the respondent's own life, according to the model
                  (BERDS, Table 12);
      repeated    asks in the same words as an earlier question;
      similar     is too similar to an earlier one (with --drop-similar;
                  otherwise only reported);
      undecided   got no usable reply from the model. Exit status 3.

    DRAFTS may also be survey questions before drafting, which saves the cost of drafting personal
    ones. To restore a draft, move its line from the --dropped file to the --out file. --out and
    --dropped are needed without --plan. If stopped, run the same command again; nothing is asked
    twice.

    \b
    Example:
      pnyx build filter drafts.md --llm openai:gpt-4o \\
        --out kept.md --dropped dropped.jsonl
    """
    from pnyx_build.drafts.files import read_drafts, write_drafts
    from pnyx_build.drafts.filters import filter_drafts

    spec.check(options)
    if not options.plan:
        output.check(as_json=as_json, needed=("dropped", "out"), DRAFTS=drafts)
    rows = read_drafts(drafts, also=("survey-questions",))
    for path in (output.out, output.dropped):
        _check_markdown(path, rows)
    with open_model(options if spec.personal else None, say, options) as model:
        with reporting() as report:
            filtered = filter_drafts(
                rows, model, similar=spec.similar, drop_similar=spec.drop_similar, on_done=report
            )
        if options.plan:
            _print_plan(model, options, len(rows), "questions", as_json=as_json)
            return 0
    _say_similar(filtered, spec.similar)
    out, counts, nearest = str(output.out), filtered.counts, filtered.nearest
    write_drafts(str(output.dropped), filtered.dropped)
    write_drafts(out, filtered.remaining)
    similar = [{"id": s.id, "of": s.of, "cosine": round(s.cosine, 3)} for s in filtered.similar]
    summary = {
        "questions": len(rows),
        "kept": len(filtered.remaining),
        "dropped": counts,
        "similar": similar,
        "nearest": None if nearest is None else round(nearest.cosine, 3),
    }
    line = f"{len(filtered.remaining)} of {len(rows)} kept"
    if counts:
        line += "; dropped: " + ", ".join(f"{count} {reason}" for reason, count in counts.items())
    print_result(summary, f"{line}; see {escaped(out)}", as_json=as_json, ensure_ascii=False)
    return EXIT_UNSCORED if counts.get("undecided") else 0


def _say_similar(filtered: Filtered, threshold: float) -> None:
    """Say which questions are similar, and how similar the next ones are."""
    kept_ids = {row["id"] for row in filtered.remaining}
    alike = [
        f"{shorten(pair.id, 40)} and {shorten(pair.of, 40)} are similar "
        f"(cosine {pair.cosine:.3f}), and both are kept"
        for pair in filtered.similar
        if pair.id in kept_ids
    ]
    warn_first(alike, "are similar to an earlier one, named in `similar`")
    if (nearest := filtered.nearest) is not None:
        ids = f"{shorten(nearest.of, 40)} and {shorten(nearest.id, 40)}"
        say(f"below {threshold:g}, the most alike are {ids} (cosine {nearest.cosine:.3f})")
    undecided = [row for row in filtered.dropped if row["dropped"]["reason"] == "undecided"]
    for row in undecided[:_SHOWN]:
        why = shorten(row["dropped"]["detail"], 300)
        warn(f"{shorten(str(row['id']), 40)}: undecided: {why}")
