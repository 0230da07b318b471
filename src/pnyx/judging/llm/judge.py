"""A language model as a judge: a prompt, a strict reading of its reply, a probability.

A reply that is unreadable after one repair turn is `Unscored`:
docs/explain/decisions/judge-engine.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from pnyx.core.errors import escaped, shorten
from pnyx.judging.answers import Answer, Judged, Provenance, Unscored, after
from pnyx.judging.base import Emit, refuse_other_kinds
from pnyx.judging.forms import form_of
from pnyx.judging.forms.base import FormCall, Readings, ReplyReading
from pnyx.judging.judge_names import UNMEASURED
from pnyx.judging.llm.expected_scores import expected_cells
from pnyx.judging.llm.json_objects import UnreadableReply
from pnyx.judging.llm.leniency import watching_departures
from pnyx.judging.llm.requests import Asking, Item, Probability
from pnyx.judging.llm.structured_replies import (
    chances_of_words,
    cut_reason,
    probability_of_yes,
    repair_turn,
)
from pnyx.judging.passages import find_evidence
from pnyx.judging.questions import JudgeQuestion, Preference, Ranking, Rating, Support, blank
from pnyx.judging.store.completions import STOPS_ALL, StoredModel
from pnyx.judging.store.store import Store
from pnyx.judging.tasks import TASKS
from pnyx.models.chat.open_endpoint import endpoint_from
from pnyx.models.chat.types import CallFailed, ChatRequest, Reply
from pnyx.models.http.flow import run_all

_METHOD = {"auto": "token", "tok": "token", "ask": "stated", "both": "token+stated"}


class LlmJudge:
    """Asks a chat model according to `asking`; answers all four kinds of question.

    Args:
        model: the model, or its name; its replies are then kept in the default store.
        asking: how it is asked.
    """

    kinds: frozenset[type] = frozenset({Support, Rating, Preference, Ranking})

    def __init__(self, model: StoredModel | str, asking: Asking | None = None) -> None:
        if isinstance(model, str):
            model = StoredModel(endpoint_from(model), Store())
        self.model = model
        self.asking = asking or Asking()

    @property
    def name(self) -> str:
        """The model's name; expected scores make a different judge from stated ones."""
        return f"{self.model.name} expected" if self.asking.expected else self.model.name

    @property
    def card(self) -> str:
        """The card of this judge before it is measured: for a local model, its notice."""
        notice = getattr(self.model.endpoint, "notice", "")
        return notice or (f"no measured card for {escaped(self.name)}: {UNMEASURED}")

    async def answer(self, questions: Sequence[JudgeQuestion], emit: Emit) -> None:
        """Answer each question through `emit`; see `pnyx.judging.base.Judge`."""
        refuse_other_kinds(self, questions)
        items: list[Item] = []
        for position, question in enumerate(questions):
            if problem := blank(question) or _no_task(question):
                emit(position, Unscored(problem, Provenance(self.name)))
            else:
                items.append((position, question))

        async def settle(unit: Sequence[Item]) -> None:
            answers = await self._settle([question for _, question in unit])
            for (position, _), answer in zip(unit, answers, strict=True):
                emit(position, answer)

        async with self.model.running():
            # A local model caches only one text: the swapped question must follow directly.
            both_ways = any(question.swapped is not None for _, question in items)
            in_turn = both_ways and getattr(self.model.endpoint, "in_turn", False)
            await run_all(
                self.asking.units(items), settle, workers=1 if in_turn else self.model.concurrency
            )

    async def _settle(self, questions: Sequence[Any]) -> list[Answer]:
        if questions[0].swapped is None:
            return await self._call(questions)
        return [await self._both_ways(questions[0])]

    async def _both_ways(self, question: Any) -> Answer:
        """Ask a question and the swapped one: only an agreement of both is an answer."""
        (first,) = await self._call([question])
        if isinstance(first, Unscored):
            request = self.asking.request([question])
            roomier = replace(request, max_tokens=self.asking.most_tokens(request))
            if any(self.model.key(variant) in self.model.missing for variant in (request, roomier)):
                await self._call([question.swapped])  # a plan counts both
            return first
        (turned,) = await self._call([question.swapped])
        both = (*first.provenance.asked, *turned.provenance.asked)
        if isinstance(turned, Unscored):
            return after(both, replace(turned, reason=f"{turned.reason} (asked with b first)"))
        settled: Judged = question.settled(first, turned)
        return after(both, settled)

    async def _call(self, questions: Sequence[Any]) -> list[Answer]:
        first = self.asking.request(questions)
        request, outcome = await self.model.whole(first, self.asking.most_tokens(first))
        answers = await self._answered(questions, first, request, outcome)
        keys = self.model.sent(first, request, outcome)
        return [after(keys, answer) for answer in answers]

    async def _answered(
        self,
        questions: Sequence[Any],
        first: ChatRequest,
        request: ChatRequest,
        outcome: Reply | CallFailed,
    ) -> list[Answer]:
        """Return the answers from a call's outcome, after further calls if necessary."""
        if isinstance(outcome, Reply) and (fault := cut_reason(outcome, request)):
            self.model.heed(outcome.text, fault)
        if len(questions) > 1 and _better_split(outcome, request):
            return await self._split(questions)
        if isinstance(outcome, CallFailed) or cut_reason(outcome, request):
            return self._failed(questions, request, outcome)
        try:
            readings = self._read(questions, outcome)
        except UnreadableReply as error:
            most = self.asking.most_tokens(first)
            return await self._repair(questions, request, outcome, error, most)
        return await self._completed(questions, readings, request, outcome, {})

    async def _repair(
        self,
        questions: Sequence[Any],
        request: ChatRequest,
        reply: Reply,
        error: UnreadableReply,
        most: int,
    ) -> list[Answer]:
        turn = repair_turn(request, reply, error)
        again, outcome = await self.model.whole(turn, most)
        answers = await self._repaired(questions, request, reply, error, again, outcome)
        keys = self.model.sent(turn, again, outcome)
        return [after(keys, answer) for answer in answers]

    async def _repaired(
        self,
        questions: Sequence[Any],
        request: ChatRequest,
        reply: Reply,
        problem: UnreadableReply,
        again: ChatRequest,
        outcome: Reply | CallFailed,
    ) -> list[Answer]:
        usable, source, notes = problem.readings, (request, reply), {}
        if isinstance(outcome, Reply) and not cut_reason(outcome, again):
            try:
                readings = self._read(questions, outcome)
            except UnreadableReply as second:
                problem = second
                if second.readings:
                    usable, source, notes = second.readings, (again, outcome), {"repaired": True}
            else:
                notes = {"repaired": True}
                return await self._completed(questions, readings, again, outcome, notes)
        elif isinstance(outcome, CallFailed) and outcome.reason.startswith(STOPS_ALL):
            return self._failed(questions, again, outcome)
        if len(questions) > 1:
            return await self._split(questions)
        if usable:
            return await self._completed(questions, usable, *source, notes)
        if isinstance(outcome, Reply):
            self.model.note_unreadable(again, str(problem))
        return await self._renewed(questions, request, reply, problem)

    async def _renewed(
        self,
        questions: Sequence[Any],
        request: ChatRequest,
        reply: Reply,
        problem: UnreadableReply,
    ) -> list[Answer]:
        """Ask again if the unreadable reply is from an earlier run; unscored if in vain."""
        fresh = await self.model.ask_again(request)
        if fresh is not None and not cut_reason(fresh, request):
            try:
                readings = self._read(questions, fresh)
            except UnreadableReply as error:
                problem, reply = error, fresh
            else:
                return await self._completed(questions, readings, request, fresh, {})
        self.model.note_unreadable(request, str(problem))
        provenance = self._provenance(questions, request, reply)
        return [Unscored(f"schema: {problem}", provenance, reply.text, {"repaired": False})]

    async def _completed(
        self,
        questions: Sequence[Any],
        readings: Sequence[ReplyReading | None],
        request: ChatRequest,
        reply: Reply,
        notes: Mapping[str, Any],
    ) -> list[Answer]:
        """Turn readings into answers; questions missing in a batch reply are asked again alone."""
        left_out = [q for q, reading in zip(questions, readings, strict=True) if reading is None]
        again: list[Answer] = []
        if left_out and len(left_out) < len(questions):
            again = await self._call(left_out)
        elif left_out and len(questions) > 1:
            return await self._split(questions)
        provenance = self._provenance(questions, request, reply)
        later = iter(again)
        shared = {**notes, "batch": len(questions)} if len(questions) > 1 else notes
        return [
            self._judged(question, reading, reply, provenance, shared)
            if reading is not None
            else next(later, Unscored("missing: not in the reply", provenance, reply.text))
            for question, reading in zip(questions, readings, strict=True)
        ]

    async def _split(self, questions: Sequence[Any]) -> list[Answer]:
        middle = len(questions) // 2
        return [*await self._call(questions[:middle]), *await self._call(questions[middle:])]

    def _read(self, questions: Sequence[Any], reply: Reply) -> Readings:
        prompt = self.asking.prompt(questions)
        call = FormCall(prompt, questions, self.asking.sample)
        with watching_departures() as departures:
            try:
                readings = form_of(prompt).read(call, reply.text)
            except UnreadableReply as error:
                self.model.heed(reply.text, None if error.readings else str(error))
                raise UnreadableReply(str(error), _marked(error.readings, departures)) from error
        self.model.heed(reply.text, None if any(readings) else "nothing that was asked for")
        return _marked(readings, departures)

    def _judged(
        self,
        question: Any,
        reading: ReplyReading,
        reply: Reply,
        provenance: Provenance,
        notes: Mapping[str, Any],
    ) -> Answer:
        notes, wanted = {**notes, **reading.notes}, self.asking.probability
        probability, method = None, provenance.method
        if reading.words and not question.yes_no and reading.span is not None and wanted != "ask":
            chances = chances_of_words(reply, reading.span, reading.words)
            notes |= {"chances": [chances]} if chances else {}
        if question.yes_no:
            token = self._token(reply, reading)
            if wanted == "tok" and token is None:
                return Unscored("logprobs: none for the answer", provenance, reply.text, notes)
            probability, method, by_method = _probability(wanted, token, reading.stated)
            notes |= {"probabilities": by_method} if len(by_method) > 1 else {}
        unrated = reading.notes.get("dimensions", {})
        if isinstance(question, Rating) and len(unrated) == len(question.dimensions):
            reason = next(iter(unrated.values()))
            return Unscored(reason, provenance, reply.text, notes)
        if self.asking.expected and isinstance(question, Rating):
            cells, expectations = expected_cells(question, reading, reply)
            of_tokens = replace(provenance, method="token")
            return question.compose(
                cells, of_tokens, notes={**notes, **expectations}, raw=reply.text
            )
        return Judged(
            value=reading.value,
            provenance=replace(provenance, method=method),
            probability=probability,
            explanation=reading.explanation,
            evidence=find_evidence(reading.quote, getattr(question, "text", "")),
            raw=reply.text,
            notes=notes,
        )

    def _token(self, reply: Reply, reading: ReplyReading) -> float | None:
        if self.asking.probability == "ask" or reading.span is None:
            return None
        return probability_of_yes(reply, reading.span, reading.words)

    def _failed(
        self, questions: Sequence[Any], request: ChatRequest, outcome: Reply | CallFailed
    ) -> list[Answer]:
        if isinstance(outcome, Reply):
            reason, raw = cut_reason(outcome, request) or "", outcome.text
        else:
            reason, raw = outcome.reason, ""
        provenance = self._provenance(questions, request, outcome)
        return [Unscored(reason, provenance, raw) for _ in questions]

    def _provenance(
        self, questions: Sequence[Any], request: ChatRequest, outcome: Reply | CallFailed
    ) -> Provenance:
        prompt = self.asking.prompt(questions)
        details: dict[str, Any] = {"prompt": prompt.label, "prompt_file": prompt.hash}
        if isinstance(outcome, Reply):
            details |= {
                "model": outcome.model,
                "finish_reason": outcome.finish_reason,
                "response_format": outcome.response_format,
                "usage": dict(outcome.usage),
            }
        method = _METHOD[self.asking.probability] if questions[0].yes_no else "stated"
        return Provenance(self.name, request.hash, method, details)


def _marked(readings: Sequence[ReplyReading | None], departures: set[str]) -> Readings:
    """Return the readings of a reply, with a note on its departures from the requested form."""
    if not departures:
        return list(readings)
    return [
        r
        and replace(
            r, notes={**r.notes, "lenient": sorted({*r.notes.get("lenient", ()), *departures})}
        )
        for r in readings
    ]


def _no_task(question: JudgeQuestion) -> str:
    task = TASKS.get(question.task)
    if task is None:
        return f"task: no prompt for {shorten(question.task, 40)!r}"
    if type(question) is not task.kind:
        return f"task: {task.name} asks {task.kind.__name__} questions"
    return question.fault()


def _better_split(outcome: Reply | CallFailed, request: ChatRequest) -> bool:
    """Return whether fewer questions per call would help: one refusal must not affect others."""
    if isinstance(outcome, CallFailed):
        return outcome.reason.startswith(("too_long", "empty"))
    return cut_reason(outcome, request) is not None


def _probability(
    wanted: Probability, token: float | None, stated: float | None
) -> tuple[float | None, str, dict[str, float]]:
    """Return P(yes), the method that gave it, and the result of each method."""
    by_method = {"token": token, "stated": stated}
    probabilities = {name: round(p, 6) for name, p in by_method.items() if p is not None}
    if wanted == "both" and len(probabilities) > 1:
        mean = round(sum(probabilities.values()) / len(probabilities), 6)
        return mean, "token+stated", probabilities
    method = "token" if token is not None else "stated"
    return probabilities.get(method), method, probabilities
