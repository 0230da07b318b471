"""A report of eleven sentences that takes every path of the judgment tree, with its verdicts.

The tables say what a judge answers; `JUDGED` says, worked out by hand from the tree, what must come
of it. Whoever measures judged reports computes each figure from `JUDGED` by hand.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from pnyx.core.nuggets import Nugget, NuggetAnswer, NuggetBank, NuggetReference
from pnyx.core.records import Citation, CitationStyle, Document, Response, Sentence
from pnyx.formats import write_responses
from pnyx.judging.answers import Judged, Provenance, Unscored
from pnyx.judging.base import Emit
from pnyx.judging.questions import JudgeQuestion, Support

RUN, TOPIC = "run-a", "7"


def _refs(*ids: str) -> tuple[NuggetReference, ...]:
    return tuple(map(NuggetReference, ids))


BANK = NuggetBank(
    TOPIC,
    (
        Nugget(
            "n1",
            "What did the fare reform change?",
            (
                NuggetAnswer("Fares were halved.", _refs("d1")),
                NuggetAnswer("Night buses became free.", _refs("d2")),
            ),
            aggregator="AND",
            importance="vital",
        ),
        Nugget(
            "n2",
            "How did ridership respond?",
            (
                NuggetAnswer("Ridership rose by a third.", _refs("d1", "d3")),
                NuggetAnswer("Ridership doubled.", _refs("d9")),
            ),
            aggregator="OR",
            importance="okay",
        ),
        Nugget("n3", "The reform was paid for by parking fees.", is_claim=True, importance="okay"),
        Nugget("n4", "How many jobs did the reform create?", importance="vital"),
    ),
    title="What came of the fare reform in Halden?",
)
"""n1 is an AND of two answers, n2 an OR, n3 a claim, n4 known to have no answer."""

DOCUMENTS = {
    "d1": "Halden halved its fares in May. By autumn a third more people rode the buses.",
    "d2": "Night buses in Halden have been free since June.",
    "d3": "Ridership in Halden rose by a third within half a year.",
    "d5": "Parking in Halden became dearer, and the fees pay for the buses.",
    "d6": "Halden lies on a fjord.",
}
"""Of d7, which sentence 7 cites, there is no text; d5 and d6 are not in the bank."""

REPORT: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("The city of Halden halved its bus fares.", ("d1",)),
    ("Within half a year a third more people rode the buses.", ("d1", "d3")),
    ("Night buses are free, and the drivers were paid more.", ("d2",)),
    ("Parking fees pay for the reform.", ("d5",)),
    ("Halden lies on a fjord.", ("d6",)),
    ("It is not known how many jobs the reform created.", ()),
    ("Shops on the high street sold more.", ("d7",)),
    ("No study of air quality has been found.", ()),
    ("This report sums up what came of the reform.", ()),
    ("A third more people took the bus within half a year.", ()),
    ("Taxi drivers lost a tenth of their income.", ()),
)

YES = {
    # Is a document relevant, that the bank does not name? By nugget and answer.
    f"{TOPIC}/relevant/d5/n3/0",
    # Does the document attest the sentence?
    f"{RUN}/{TOPIC}/1/attests/d1",
    f"{RUN}/{TOPIC}/2/attests/d1",
    f"{RUN}/{TOPIC}/2/attests/d3",
    f"{RUN}/{TOPIC}/4/attests/d5",
    f"{RUN}/{TOPIC}/5/attests/d6",
    # Which answers does the sentence give?
    f"{RUN}/{TOPIC}/1/answers/n1/0",
    f"{RUN}/{TOPIC}/2/answers/n2/0",
    f"{RUN}/{TOPIC}/4/answers/n3/0",
    # Is it a negative statement, and is it confirmed?
    f"{RUN}/{TOPIC}/6/negative",
    f"{RUN}/{TOPIC}/6/unanswerable/n4",
    f"{RUN}/{TOPIC}/8/negative",
    # Does it need a citation, and was it said before?
    f"{RUN}/{TOPIC}/10/needs_citation",
    f"{RUN}/{TOPIC}/10/said_before",
    f"{RUN}/{TOPIC}/11/needs_citation",
}
"""Ids of the questions that are answered with yes; every other one that the tree asks is a no."""

STEPS: tuple[tuple[tuple[str, str, float | None, str], ...], ...] = (
    (
        ("relevant=yes attests=yes", "reward", 1.0, "d1"),
        ("attests=yes answers=yes", "reward", 1.0, "n1"),
    ),
    (
        ("relevant=yes attests=yes", "reward", 1.0, "d1"),
        ("relevant=yes attests=yes", "reward", 1.0, "d3"),
        ("attests=yes answers=yes", "reward", 1.0, "n2"),
    ),
    (("relevant=yes attests=no", "penalty", -1.0, "d2"),),
    (
        ("relevant=yes attests=yes", "reward", 1.0, "d5"),
        ("attests=yes answers=yes", "reward", 1.0, "n3"),
    ),
    (("relevant=no", "penalty", -1.0, "d6"),),
    (("negative=yes unanswerable=yes", "reward", 1.0, ""),),
    (
        ("relevant=unscored attests=unscored", "unscored", None, "d7"),
        ("attests=unscored answers=no", "neutral", 0.0, ""),
    ),
    (("negative=yes unanswerable=no", "penalty", -1.0, ""),),
    (("negative=no needs_citation=no", "neutral", 0.0, ""),),
    (("negative=no needs_citation=yes said_before=yes", "neutral", 0.0, ""),),
    (("negative=no needs_citation=yes said_before=no", "penalty", -1.0, ""),),
)
"""Each sentence's ways through the tree: path, outcome, weight, and what it is about."""

ATTESTED = (True, True, False, True, True, False, None, False, False, False, False)
"""Whether each citation attests the sentence; None where the text of one is missing."""

NUGGETS: dict[str, tuple[tuple[bool | None, ...], bool | None]] = {
    "n1": ((True, False), False),
    "n2": ((True, False), True),
    "n3": ((True,), True),
    "n4": ((), None),
}
"""Nugget -> whether each answer is given, and whether the nugget is answered."""

ASKED = {
    "nugget": 2 * 5 + 4 * 5,
    "support": 8,
    "negative": 5,
    "unanswerable": 2,
    "needs-citation": 3,
}
"""How many questions of each task the tree asks: d5 and d6 may each give any of 5 answers, and so
may sentences 1, 2, 4 and 7; nothing attests 3, and what attests 5 is not relevant."""


def response(style: CitationStyle = "ids") -> Response:
    """The report, as a record; `scores` gives each citation a score, as RAGTIME's has."""
    score = 0.5 if style == "scores" else None
    sentences = tuple(
        Sentence(text, tuple(Citation(one, score) for one in cited)) for text, cited in REPORT
    )
    references = tuple(dict.fromkeys(one for _, cited in REPORT for one in cited))
    documents = {one: Document(one, text) for one, text in DOCUMENTS.items()}
    return Response(TOPIC, RUN, sentences, references, documents=documents)


class PlannedJudge:
    """Answers by the id of a question: yes for those named, no for others; keeps what was asked.

    `unscored` names ids that get no answer.
    """

    kinds: frozenset[type] = frozenset({Support})
    card = "answers as planned"

    def __init__(
        self, yes: set[str] | None = None, unscored: Sequence[str] = (), partial: Sequence[str] = ()
    ) -> None:
        self.name = "planned"
        self.yes = YES if yes is None else yes
        self.unscored, self.partial = set(unscored), set(partial)
        self.asked: list[JudgeQuestion] = []

    async def answer(self, questions: Sequence[JudgeQuestion], emit: Emit) -> None:
        by = Provenance(self.name, method="label")
        for position, question in enumerate(questions):
            self.asked.append(question)
            notes = {"partial": True} if question.id in self.partial else {}
            if question.id in self.unscored:
                emit(position, Unscored("refusal: it would not say", by))
            else:
                emit(position, Judged(question.id in self.yes, by, notes=notes))


def nugget_bank() -> dict[str, Any]:
    """The bank as a line of NuggetBank v3."""
    questions, claims = {}, {}
    for one in BANK.nuggets:
        if one.is_claim:
            claims[one.text] = {"claim": one.text, "claim_id": one.id, "query_id": TOPIC}
            claims[one.text] |= {"importance": one.importance, "references": []}
            continue
        answers = {
            answer.text: {
                "answer": answer.text,
                "references": [{"doc_id": doc_id} for doc_id in answer.doc_ids],
            }
            for answer in one.answers
        }
        questions[one.text] = {
            "question": one.text,
            "question_id": one.id,
            "query_id": TOPIC,
            "importance": one.importance,
            "answers": answers,
        }
        if one.aggregator:
            questions[one.text]["aggregator_type"] = one.aggregator
    return {
        "query_id": TOPIC,
        "title_query": BANK.title,
        "format_version": "v3",
        "nugget_bank": questions,
        "claim_bank": claims,
    }


def write_files(folder: Path, style: CitationStyle = "ids") -> tuple[str, str]:
    """Write report and bank, and return their names."""
    run, bank = folder / f"run-{style}.jsonl", folder / "bank.jsonl"
    with run.open("w", encoding="utf-8") as stream:
        write_responses(stream, [response(style)], style, "ragtime")
    bank.write_text(json.dumps(nugget_bank()) + "\n", encoding="utf-8")
    return str(run), str(bank)


def questions() -> list[Support]:
    """Every question that the tree asks of the report."""
    from pnyx.reports.tree.walk import judge_reports

    judge = PlannedJudge()
    judge_reports([response()], [BANK], judge)
    return [one for one in judge.asked if isinstance(one, Support)]


def write_labels(path: Path) -> str:
    """Write the verdicts as labels of people."""
    rows = [{"id": one.id, "value": one.id in YES} for one in questions()]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return str(path)


_BLOCK = re.compile(r"^<<<(\w+) (\w+)\n(.*?)\n\1 \2>>>$", re.MULTILINE | re.DOTALL)
_MARKS = {
    "which sentences of a report say that something": "negative",
    "which sentences of a report need a source": "needs-citation",
    "to which of several questions a sentence says": "unanswerable",
    "how far a text gives": "nugget",
    "document supports": "support",
}
_LABELS = {
    "negative": ("report", "sentence"),
    "needs-citation": ("report", "sentence"),
    "unanswerable": ("sentence", "question"),
    "nugget": ("text", "statement"),
    "support": ("document", "statement"),
}
"""Task -> the labels of the blocks with the text and with what is asked about it."""


def scripted(prompt: str) -> str:
    """Reply to a prompt of the tree by `YES`, as a language model would: one or many at a time.

    A nugget that the published tree asks of no such sentence (`--credit any`) is a no.
    """
    truth = {(q.task, q.text, q.statement): q.id in YES for q in questions()}
    return answering(prompt, lambda *asked: _true(truth, asked))


def answering(prompt: str, is_yes: Callable[[str, str, str], bool]) -> str:
    """Reply to a prompt of the tree by what is true of task, text and statement."""
    task = next(name for mark, name in _MARKS.items() if mark in prompt)
    blocks = [(one[1], one[3]) for one in _BLOCK.finditer(prompt)]
    of_text, of_asked = _LABELS[task]
    text = [body for label, body in blocks if label == of_text][-1]
    asked = [body for label, body in blocks if label == of_asked]
    several = task not in ("nugget", "support") or "named by its number" in prompt
    for listing in [body for label, body in blocks if label == "information"][-1:]:
        lines = [line.partition(". ") for line in listing.splitlines()]
        given = [
            {"number": int(number), "answer": "support", "confidence": 0.9}
            for number, _, said in lines
            if number.isdigit() and is_yes(task, text, said)
        ]
        return json.dumps({"given": given})
    verdicts = [_verdict(task, is_yes(task, text, one)) for one in asked]
    if not several:
        return json.dumps({**verdicts[0], **({} if task == "nugget" else {"evidence": ""})})
    return json.dumps({str(number): one for number, one in enumerate(verdicts, 1)})


def _true(truth: dict[tuple[str, str, str], bool], key: tuple[str, str, str]) -> bool:
    return truth.get(key, False) if key[0] == "nugget" else truth[key]


def _verdict(task: str, yes: bool) -> dict[str, Any]:
    words = ("not_support", "support") if task == "nugget" else ("no", "yes")
    return {"reason": "as planned", "answer": words[yes], "confidence": 0.9}
