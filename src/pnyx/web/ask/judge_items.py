"""A judge's answers to submitted items, as lines of `answers.jsonl`."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pnyx.core.errors import InputError, shorten
from pnyx.formats.fields import Fields
from pnyx.formats.items import ITEM_FORMATS
from pnyx.judging.answers import answer_rows, tally
from pnyx.judging.base import ask
from pnyx.judging.open_judge import open_judge
from pnyx.judging.options import PaidModelSpec
from pnyx.judging.tasks import TASKS
from pnyx.web.api.rows import AnswersRow
from pnyx.web.ask.choices import MOST_ITEMS, judge_choices

if TYPE_CHECKING:
    from pnyx.judging.open_models import Say
    from pnyx.judging.questions import JudgeQuestion
    from pnyx.judging.store.completions import StoredModel


def judge_items(
    task: str,
    items: Sequence[Any],
    row: Mapping[str, Any],
    server: PaidModelSpec,
    model: StoredModel | None,
    say: Say,
) -> AnswersRow:
    """Judge items, given as objects as in an items file; InputError, ModelError."""
    if task not in TASKS:
        name = shorten(repr(task), 40)
        raise InputError(f"task: found {name}, expected one of: {', '.join(TASKS)}")
    spec, formatted = judge_choices(server, row)
    formatted.chosen(TASKS[task], spec)
    form, prepared = formatted.prepared(TASKS[task], spec, _questions(task, items))
    questions = list(prepared)
    with contextlib.ExitStack() as stack:
        models = [] if model is None else [model]
        opened = stack.enter_context(open_judge(TASKS[task], spec, say, form=form, models=models))
        answers = ask(opened.judge, questions)
        rows = [
            line
            for question, answer in zip(questions, answers, strict=True)
            for line in answer_rows(question, answer)
        ]
        judged = {"task": task, "judge": opened.judge.name, "card": opened.judge.card}
        return AnswersRow.model_validate({**judged, "answers": rows, "counts": tally(rows)})


def _questions(task: str, items: Sequence[Any]) -> list[JudgeQuestion]:
    if not isinstance(items, list | tuple) or not items:
        raise InputError("items: expected a list of at least one object")
    if len(items) > MOST_ITEMS:
        raise InputError(f"items: found {len(items)}, expected at most {MOST_ITEMS}")
    form = ITEM_FORMATS[TASKS[task].items]
    seen: dict[Any, int] = {}
    questions = []
    for position, item in enumerate(items):
        if not isinstance(item, Mapping):
            raise InputError(
                f"items[{position}]: found {shorten(repr(item), 40)}, expected an object"
            )
        try:
            parsed = form.parse(item)
            first = seen.setdefault(form.identity(parsed), position)
            if first != position:
                raise InputError(f"repeats the id of items[{first}]")
            questions.append(TASKS[task].question(Fields(parsed)))
        except InputError as error:
            raise InputError(f"items[{position}]: {error.problem}") from error
    return questions
