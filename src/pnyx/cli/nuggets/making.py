"""`pnyx nuggets create` and `merge`: banks drafted from relevant documents, and made one."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import IO, TYPE_CHECKING, Any

import click

from pnyx.app.judge_specs import PaidModelSpec
from pnyx.app.nugget_specs import BankSpec, CreateSpec, MergeSpec, NuggetJudgeSpec
from pnyx.app.open_judge import open_judge
from pnyx.app.open_models import open_model
from pnyx.cli import EXIT_UNSCORED
from pnyx.cli.common.answering import plan_asked, say_judge
from pnyx.cli.common.options import (
    print_result,
    refuse_same_file,
    refuse_two_outputs,
    say,
    warn_first,
)
from pnyx.cli.common.params import Raw, verb
from pnyx.cli.common.progress import reporting, watched
from pnyx.errors import InputError, OptionError, escaped, shorten
from pnyx.judge.tasks import TASKS
from pnyx.restricted import hides_text

if TYPE_CHECKING:
    from pnyx.drafts.creating import DraftedBank, NuggetSource
    from pnyx.drafts.merging import MergedBanks
    from pnyx.judge.store.completions import StoredModel
    from pnyx.records import NuggetBank, Question


@verb(
    "create", resumes=True, restricts=True, short_help="Draft nugget banks from relevant documents."
)
def create(own: CreateSpec, bank: BankSpec, model: PaidModelSpec, as_json: bool) -> int:
    """Draft a nugget bank for each topic from its relevant documents.

    With --llm as nuggetizer does: window after window of passages with the list so far in view,
    then which are vital and which okay. Each answer, or claim, names the documents that attest it.
    Every reply is kept in the judgement store: the command, killed and given again, goes on.

    Without --llm claims are sentences of the documents, those that say the same as one: a first
    list to edit. Nothing tells which are vital.

    Look through what comes of it, edit it, and have the rest rated by --from. Exit status 3: some
    windows got no usable reply.

    \b
    Example:
      pnyx nuggets create --run bm25.run --qrels qrels.txt --index my.index \\
        --topics topics.jsonl --llm openai:gpt-4o-mini --no-rate --out draft.jsonl
      pnyx nuggets create --from draft.jsonl --topics topics.jsonl \\
        --llm openai:gpt-4o-mini --out bank.jsonl
    """
    own.check()
    model.check()
    bank.check(plan=model.plan)
    refuse_two_outputs("--out", bank.out, as_json=as_json)
    refuse_same_file("--out", bank.out, **{"--from": own.edited, "--run": own.run})
    with open_model(model, say, model) as llm, reporting("nuggets") as show:
        drafted = _drafted(own, bank, llm, show)
        if model.plan:
            line = f"{len(drafted)} topics for {escaped('' if llm is None else llm.name)}"
            plan_asked(llm, model, line, {"topics": len(drafted)}, as_json=as_json)
            return 0
    warn_first(
        [f"{escaped(one.bank.topic_id, 40)}: {p}" for one in drafted for p in one.problems],
        "problems",
    )
    kept = [one.bank for one in drafted if one.bank.nuggets]
    _write(bank, kept)
    failed = sum(one.failed for one in drafted)
    row = _summary(drafted, kept, bank)
    by = "sentences of the documents" if llm is None else escaped(llm.name)
    line = (
        f"{escaped(str(bank.out), 200)}: {row['nuggets']} nuggets of {len(kept)} of "
        f"{len(drafted)} topics by {by}; importance of {row['rated']} of {row['nuggets']}"
    )
    print_result(row, line, as_json=as_json)
    return EXIT_UNSCORED if failed or len(kept) < len(drafted) else 0


def _summary(
    drafted: Sequence[DraftedBank], kept: Sequence[NuggetBank], bank: BankSpec
) -> dict[str, Any]:
    nuggets = [nugget for one in kept for nugget in one.nuggets]
    return {
        "out": bank.out,
        "topics": len(drafted),
        "banks": len(kept),
        "nuggets": len(nuggets),
        "rated": sum(bool(one.importance) for one in nuggets),
        "asked": sum(one.asked for one in drafted),
        "failed": sum(one.failed for one in drafted),
    }


def _drafted(
    own: CreateSpec, bank: BankSpec, llm: StoredModel | None, show: Any
) -> list[DraftedBank]:
    from pnyx.drafts.creating import DraftedBank, create_banks, rate_banks
    from pnyx.drafts.extracting import extract_banks, without_quotations

    hides = hides_text() and not own.allow_text_in_banks
    if own.edited is not None:
        pairs = _edited(own)
        _writer(bank)(io.StringIO(), (one for one, _ in pairs))  # or it is refused unpaid
        if llm is None or not own.rate:
            return [DraftedBank(one) for one, _ in pairs]
        return rate_banks(pairs, llm, on_done=show)
    if llm is None:
        if own.style == "questions":
            raise OptionError("--style questions goes with --llm: without it claims are quoted")
        if hides:
            quoted = "without --llm nuggets are sentences of documents"
            raise OptionError(f"--no-text: {quoted}; --allow-text-in-banks writes them")
        return extract_banks(_sources(own), most=own.most, on_done=show)
    sources = _sources(own)
    drafted = create_banks(
        sources,
        llm,
        style=own.style or "questions",
        most=own.most,
        window=own.window,
        words=own.words,
        rate=own.rate,
        on_done=show,
    )
    if not hides:
        return drafted
    return [without_quotations(d, s.documents) for d, s in zip(drafted, sources, strict=True)]


def _edited(own: CreateSpec) -> list[tuple[NuggetBank, Question]]:
    """Return the banks of a draft, each with its topic: of --topics, or by its title."""
    from pnyx.corpora import read_nugget_banks
    from pnyx.records import Question
    from pnyx.runs.pairs import questions_by_id

    topics = {} if own.topics is None else questions_by_id(own.topics)
    found = []
    for bank in read_nugget_banks(str(own.edited)):
        topic = topics.get(bank.topic_id) or Question(bank.topic_id, bank.title)
        if not topic.text.strip():
            shown = escaped(bank.topic_id, 40)
            raise InputError(f"topic {shown!r} has no title; --topics names a file of them")
        found.append((bank, topic))
    return found


def _sources(own: CreateSpec) -> list[NuggetSource]:
    from pnyx.drafts.sources import sources_of

    return sources_of(
        str(own.index),
        str(own.topics),
        run=own.run,
        qrels=own.qrels,
        level=own.level,
        depth=own.depth,
    )


def _writer(bank: BankSpec) -> Callable[[IO[str], Iterable[NuggetBank]], None]:
    from pnyx.corpora import FORMATS

    writer = FORMATS[bank.format].writer
    assert writer is not None  # noqa: S101 - the choices of --format are those that are written
    return writer


def _write(bank: BankSpec, banks: Iterable[NuggetBank]) -> None:
    from pnyx.files import atomic_text

    with atomic_text(str(bank.out)) as stream:
        _writer(bank)(stream, banks)


@verb(
    "merge",
    resumes=True,
    short_help="Make one bank of several for each topic.",
    without={"spec": "student cascade cheap"},
)
@click.argument("banks", nargs=-1, required=True, metavar="BANK...", type=Raw())
def merge(
    banks: tuple[str, ...], own: MergeSpec, bank: BankSpec, spec: NuggetJudgeSpec, as_json: bool
) -> int:
    """Make one bank of all banks of each topic: what says the same is there once.

    Duplicates are found by the packaged encoder and confirmed by the judge, each way round. Their
    answers and references are united, and a merged nugget is vital where at least half of those
    that say so are. Questions of which one wants all answers (AND) and another any (OR) stay apart,
    as do two AND of different answers. What a nugget was merged of stays with it, and in --report.
    The order of BANK does not matter. Exit status 3: the judge said nothing of some pairs, which
    stay apart.

    Without --llm questions are merged in the same words only, as the packaged judge takes questions
    on one subject for the same; answers and claims also where they nearly say the same.

    \b
    Example:
      pnyx nuggets merge a.jsonl b.jsonl --report merged.jsonl --out banks.jsonl
    """
    from pnyx.corpora import read_nugget_banks
    from pnyx.drafts.merging import CANDIDATES_FROM, CLOSE_FROM, merge_banks
    from pnyx.files import atomic_text, json_line

    spec.check()
    if spec.plan:
        raise OptionError("--plan: what is asked of answers follows on what is said of nuggets")
    bank.check(plan=False)
    refuse_two_outputs("--out", bank.out, as_json=as_json)
    for path in banks:
        refuse_same_file("--out", bank.out, BANK=path)
    given = [(path, one) for path in banks for one in read_nugget_banks(path)]
    if own.run_id is not None:  # the format may not hold it
        _writer(bank)(io.StringIO(), (replace(one, run_id=own.run_id) for _, one in given))
    with (
        open_judge(TASKS["nugget"], spec, say) as opened,
        watched(opened.judge, opened.models) as judge,
    ):
        usual = CANDIDATES_FROM if opened.models else CLOSE_FROM
        near = usual if own.candidates_from is None else own.candidates_from
        merged = merge_banks(
            given,
            judge,
            candidates_from=near,
            cautious=not opened.models,
            run_id=own.run_id or "",
        )
    if own.report is not None:
        with atomic_text(own.report) as stream:
            stream.writelines(json_line(row) + "\n" for row in merged.report)
    _write(bank, merged.banks)
    say_judge(opened.judge.name, opened.judge.card)
    _say_merged(bank, merged, as_json=as_json)
    return EXIT_UNSCORED if merged.unscored else 0


def _say_merged(bank: BankSpec, merged: MergedBanks, *, as_json: bool) -> None:
    """Print how many nuggets are left of how many; which stay apart though they ask the same."""
    warn_first(
        [
            f"{escaped(row['topic_id'], 40)}: {shorten(row['first']['text'], 60)!r} "
            f"({escaped(row['first']['bank'], 40)}) and {shorten(row['second']['text'], 60)!r} "
            f"({escaped(row['second']['bank'], 40)}) ask the same and stay apart: {row['apart']}"
            for row in merged.apart
        ],
        "questions stay apart",
    )
    left = sum(len(one.nuggets) for one in merged.banks)
    row = {
        "out": bank.out,
        "topics": len(merged.banks),
        "given": merged.given,
        "left": left,
        "compared": len(merged.report),
        "unscored": merged.unscored,
        "apart": len(merged.apart),
    }
    line = (
        f"{escaped(str(bank.out), 200)}: {left} nuggets of {merged.given} on "
        f"{len(merged.banks)} topics; {len(merged.report)} pairs compared"
    )
    print_result(row, line, as_json=as_json)
