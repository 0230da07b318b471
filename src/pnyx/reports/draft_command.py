"""`pnyx nuggets create` and `merge`: draft banks from relevant documents, and merge banks."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import IO, TYPE_CHECKING, Any

import click

from pnyx.cli.judge_runs import plan_asked, say_judge
from pnyx.cli.options import Outcome, refuse_same_file, refuse_two_outputs, say, warn_first
from pnyx.cli.params import Raw, verb
from pnyx.core.errors import InputError, OptionError, escaped
from pnyx.core.progress import reporting
from pnyx.core.restricted_mode import hides_text
from pnyx.judging.counted_judge import watched
from pnyx.judging.open_judge import open_judge
from pnyx.judging.open_models import open_model
from pnyx.judging.options import PaidModelSpec
from pnyx.judging.tasks import TASKS
from pnyx.reports.lines import apart_lines
from pnyx.reports.nugget_options import BankSpec, CreateSpec, MergeSpec, NuggetJudgeSpec

if TYPE_CHECKING:
    from pnyx.core.nuggets import NuggetBank
    from pnyx.core.records import Question
    from pnyx.judging.store.completions import StoredModel
    from pnyx.reports.nuggets.merge import MergedBanks
    from pnyx.reports.nuggets.model_banks import DraftedBank


@verb(
    "create", resumes=True, restricts=True, short_help="Draft nugget banks from relevant documents."
)
def create(spec: CreateSpec, bank: BankSpec, model: PaidModelSpec, as_json: bool) -> int | Outcome:
    """Draft a nugget bank for each topic from its relevant documents.

    With --llm it works as nuggetizer does: the model reads passages in windows, extends its list,
    then says which nuggets are vital and which okay. Without --llm, claims are sentences of the
    documents.

    \b
    Example:
      $ pnyx demo --files-only --out ex
      $ pnyx index ex/arguments.jsonl --out my.index
      $ pnyx nuggets create --qrels ex/qrels.txt --index my.index \\
          --topics ex/questions.md --most 3 --out bank.jsonl
      bank.jsonl: 24 nuggets of 8 of 8 topics by sentences of the documents; ...

    \b
    More: pnyx nuggets create --help-all, docs/recipes/nuggets.md.
    \f
    Each answer, or claim, names the documents that attest it. Every reply is kept in the judgement
    store: run the command again to resume it. Without --llm, claims that say the same are counted
    as one: a first list to edit. It does not say which are vital.

    The documents are those of grade --level or more of --qrels, the best first; with --run, the
    first --depth documents of a run, of these those that the qrels call relevant. Review and edit
    the draft, and let --from rate the rest: no documents are read. --out gets one bank per line,
    and is required without --plan. Exit status 3: some windows got no usable reply.

    \b
      pnyx nuggets create --run bm25.run --qrels qrels.txt --index my.index \\
        --topics topics.jsonl --llm openai:gpt-4o-mini --no-rate --out draft.jsonl
      pnyx nuggets create --from draft.jsonl --topics topics.jsonl \\
        --llm openai:gpt-4o-mini --out bank.jsonl
    """
    from pnyx.core.files import atomic_text

    spec.check()
    model.check()
    bank.check(plan=model.plan)
    refuse_two_outputs("--out", bank.out, as_json=as_json)
    refuse_same_file("--out", bank.out, **{"--from": spec.edited, "--run": spec.run})
    with open_model(model, say, model) as llm, reporting("nuggets") as show:
        drafted = _drafted(spec, bank, llm, show)
        if model.plan:
            line = f"{len(drafted)} topics for {escaped('' if llm is None else llm.name)}"
            return plan_asked(llm, model, line, {"topics": len(drafted)}, as_json=as_json)
    warn_first(
        [f"{escaped(draft.bank.topic_id, 40)}: {p}" for draft in drafted for p in draft.problems],
        "problems",
    )
    usable = [draft.bank for draft in drafted if draft.bank.nuggets]
    with atomic_text(str(bank.out)) as stream:
        _writer(bank)(stream, usable)
    nuggets = [nugget for drafted_bank in usable for nugget in drafted_bank.nuggets]
    row: dict[str, Any] = {
        "out": bank.out,
        "topics": len(drafted),
        "banks": len(usable),
        "nuggets": len(nuggets),
        "rated": sum(bool(nugget.importance) for nugget in nuggets),
        "asked": sum(draft.calls for draft in drafted),
        "failed": sum(draft.failed for draft in drafted),
    }
    by = "sentences of the documents" if llm is None else escaped(llm.name)
    line = (
        f"{escaped(str(bank.out), 200)}: {row['nuggets']} nuggets of {len(usable)} of "
        f"{len(drafted)} topics by {by}; importance of {row['rated']} of {row['nuggets']}"
    )
    unscored = row["failed"] or len(usable) < len(drafted)
    return Outcome(row, line, unscored, err=True, ascii=True)


def _drafted(
    spec: CreateSpec, bank: BankSpec, llm: StoredModel | None, show: Any
) -> list[DraftedBank]:
    from pnyx.reports.nuggets.claims import extract_banks, without_quotations
    from pnyx.reports.nuggets.model_banks import DraftedBank, create_banks, rate_banks
    from pnyx.reports.nuggets.sources import sources_of

    hides = hides_text() and not spec.allow_text_in_banks
    if spec.edited is not None:
        pairs = _edited(spec)
        _writer(bank)(io.StringIO(), (draft for draft, _ in pairs))  # fail before paying a model
        if llm is None or not spec.rate:
            return [DraftedBank(draft) for draft, _ in pairs]
        return rate_banks(pairs, llm, on_done=show)
    if llm is None:
        if spec.style == "questions":
            raise OptionError(
                "--nugget-style questions requires --llm: without it claims are quoted"
            )
        if hides:
            quoted = "without --llm nuggets are sentences of documents"
            raise OptionError(f"--no-text: {quoted}; --allow-text-in-banks writes them")
    sources = sources_of(
        str(spec.index),
        str(spec.topics),
        run=spec.run,
        qrels=spec.qrels,
        level=spec.level,
        depth=spec.depth,
    )
    if llm is None:
        return extract_banks(sources, most=spec.most, on_done=show)
    drafted = create_banks(
        sources,
        llm,
        style=spec.style or "questions",
        most=spec.most,
        window=spec.window,
        words=spec.words,
        rate=spec.rate,
        on_done=show,
    )
    if not hides:
        return drafted
    return [without_quotations(d, s.documents) for d, s in zip(drafted, sources, strict=True)]


def _edited(spec: CreateSpec) -> list[tuple[NuggetBank, Question]]:
    """Return the banks of a draft, each with its topic: of --topics, or by its title."""
    from pnyx.core.records import Question
    from pnyx.formats import read_nugget_banks
    from pnyx.judging.runs.pairs import questions_by_id

    topics = {} if spec.topics is None else questions_by_id(spec.topics)
    pairs = []
    for bank in read_nugget_banks(str(spec.edited)):
        topic = topics.get(bank.topic_id) or Question(bank.topic_id, bank.title)
        if not topic.text.strip():
            topic_id = escaped(bank.topic_id, 40)
            raise InputError(
                f"topic {topic_id!r} has no title; name a file of topics with --topics"
            )
        pairs.append((bank, topic))
    return pairs


def _writer(bank: BankSpec) -> Callable[[IO[str], Iterable[NuggetBank]], None]:
    from pnyx.formats import FORMATS

    writer = FORMATS[bank.format].writer
    assert writer is not None  # noqa: S101 - the choices of --to are those that are written
    return writer


@verb(
    "merge",
    resumes=True,
    short_help="Merge several banks into one for each topic.",
    without={"spec": "cascade cheap"},
)
@click.argument("banks", nargs=-1, required=True, metavar="BANK...", type=Raw())
def merge(
    banks: tuple[str, ...], options: MergeSpec, bank: BankSpec, spec: NuggetJudgeSpec, as_json: bool
) -> Outcome:
    """Merge all banks of each topic into one, in which everything is stated once.

    Duplicates are found by the packaged encoder and confirmed by the judge, in both directions.
    Their answers and references are combined.

    \b
    Example, after that of pnyx nuggets create:
      $ pnyx nuggets merge bank.jsonl bank.jsonl --out banks.jsonl
      judge packaged (weak: treat as hints); accuracy: pnyx doctor
      banks.jsonl: 24 nuggets of 48 on 8 topics; 24 pairs compared

    \b
    More: pnyx nuggets merge --help-all, docs/recipes/nuggets.md.
    \f
    A merged nugget is vital if at least half of the rated ones are. Questions of which one wants
    all answers (AND) and another any (OR) stay separate, as do two AND questions with different
    answers. Each merged nugget keeps a record of its parts, also in --report. The order of BANK
    does not matter. Exit status 3: the judge gave no verdict on some pairs, which stay separate.

    Without a language model, questions are merged only if they have the same words, because the
    packaged judge confuses questions on one subject; answers and claims also if they say nearly the
    same.
    """
    from pnyx.core.files import atomic_text, write_jsonl
    from pnyx.core.placement import placed_together
    from pnyx.formats import read_nugget_banks
    from pnyx.reports.nuggets.merge import CANDIDATES_FROM, CLOSE_FROM, merge_banks

    spec.check("student")
    if spec.plan:
        raise OptionError("--plan: questions on answers depend on verdicts on nuggets")
    bank.check(plan=False)
    refuse_two_outputs("--out", bank.out, as_json=as_json)
    for path in banks:
        refuse_same_file("--out", bank.out, BANK=path)
    named_banks = [(path, read) for path in banks for read in read_nugget_banks(path)]
    if options.run_id is not None:  # fail early if the format cannot hold it
        _writer(bank)(io.StringIO(), (replace(b, run_id=options.run_id) for _, b in named_banks))
    with (
        open_judge(TASKS["nugget"], spec, say) as opened,
        watched(opened.judge, opened.models) as judge,
    ):
        usual = CANDIDATES_FROM if opened.models else CLOSE_FROM
        near = usual if options.candidates_from is None else options.candidates_from
        merged = merge_banks(
            named_banks,
            judge,
            candidates_from=near,
            cautious=not opened.models,
            run_id=options.run_id or "",
        )
    with placed_together():
        if options.report is not None:
            write_jsonl(options.report, merged.report)
        with atomic_text(str(bank.out)) as stream:
            _writer(bank)(stream, merged.banks)
    say_judge(opened.judge.name, opened.judge.card)
    warn_first(apart_lines(merged), "questions stay separate")
    return _merged_outcome(str(bank.out), merged)


def _merged_outcome(out: str, merged: MergedBanks) -> Outcome:
    left = sum(len(topic.nuggets) for topic in merged.banks)
    row = {
        "out": out,
        "topics": len(merged.banks),
        "given": merged.nuggets_in,
        "left": left,
        "compared": len(merged.report),
        "unscored": merged.unscored,
        "apart": len(merged.apart),
    }
    line = (
        f"{escaped(out, 200)}: {left} nuggets of {merged.nuggets_in} on "
        f"{len(merged.banks)} topics; {len(merged.report)} pairs compared"
    )
    return Outcome(row, line, merged.unscored, err=True, ascii=True)
