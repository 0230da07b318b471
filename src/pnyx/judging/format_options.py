"""The spec of the format in which a language model is asked. This module loads no model."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from pnyx.core.errors import InputError, OptionError, shorten
from pnyx.core.spec import Spec, file_opt, opt
from pnyx.formats.text_types import (
    FileName,
    Words,
)

if TYPE_CHECKING:
    from pnyx.judging.dimensions.own import OwnDimensions
    from pnyx.judging.formats import JudgingFormat
    from pnyx.judging.options import JudgeSpec
    from pnyx.judging.questions import JudgeQuestion, PairSource
    from pnyx.judging.tasks import Task

JudgeSpecT = TypeVar("JudgeSpecT", bound="JudgeSpec")


class FormatSpec(
    Spec, heading="Asking", rare="format dimensions", settings="nuggets scale shots examples"
):
    """The format in which a language model is asked about a task's items."""

    format: Words | None = opt(
        None,
        "",
        "--judge-format",
        metavar="NAME",
        default_text="the task's first; without a language model, support for rag",
        replaces=("--format",),
    )
    nuggets: int | None = opt(
        None,
        "rag: number of points by which query-rubric and rag-rubric grade.",
        within="[1, 50]",
        default_text="20",
    )
    scale: Literal["3", "5", "boolean"] | None = opt(
        None, "quality: points of the scale, or true and false.", default_text="3"
    )
    shots: int = opt(
        0, "quality: rated texts shown as examples (few-shot).", within="[0, 100]", needs="examples"
    )
    examples: FileName | None = file_opt(
        None,
        "Rated texts from which shots are taken (docs/recipes/judging-quality.md).",
        needs="shots",
    )

    dimensions: FileName | None = file_opt(None, metavar="FILE.toml")

    @cached_property
    def own(self) -> OwnDimensions | None:
        """The dimensions of the file, if one is named."""
        from pnyx.judging.dimensions.own import read_own

        return None if self.dimensions is None else read_own(self.dimensions)

    @property
    def settings(self) -> dict[str, Any]:
        """The settings that affect the answers besides the judge, for a manifest."""
        row = {} if self.nuggets is None else {"nuggets": self.nuggets}
        return row if self.own is None else {**row, "dimensions": self.own.row()}

    def read(self, task: Task, items: str, **how: Any) -> Sequence[JudgeQuestion]:
        """Read an items file; InputError also if it names unknown dimensions.

        `how`: options of `Task.read`.
        """
        return task.read(items, **how, **self._dimensions)

    def texts(self, task: Task, responses: str) -> list[JudgeQuestion]:
        """Return the questions of `quality` about the texts of responses."""
        from pnyx.formats.fields import Fields
        from pnyx.judging.runs.responses import texts_of_responses

        rows = texts_of_responses(responses)
        return [task.question(Fields(row), **self._dimensions) for row in rows]

    @property
    def _dimensions(self) -> dict[str, Any]:
        return {} if self.own is None else {"custom": self.own}

    def prompted(self, judge: JudgeSpecT) -> JudgeSpecT:
        """Return a spec whose prompt uses only the dimensions of the file."""
        if self.own is None or judge.prompt is not None:
            return judge
        return replace(judge, prompt="quality-own")

    def chosen(self, task: Task, judge: JudgeSpec) -> JudgingFormat | None:
        """Return the format for a task, or None; OptionError for an unavailable option."""
        named = None if self.format is None else task.format(self.format)
        self._check_rated(task, judge)
        if judge.asks_models:
            return self._sized(named or next(iter(task.formats), None))
        if named is not None and (not named.packaged or judge.answered_by):
            raise OptionError(f"--judge-format {named.name} requires a language model (--judge)")
        packaged = [] if judge.answered_by else [form for form in task.formats if form.packaged]
        return self._sized(named or next(iter(packaged), None))

    def prepared(
        self, task: Task, judge: JudgeSpec, items: PairSource | Sequence[JudgeQuestion]
    ) -> tuple[JudgingFormat | None, PairSource | Sequence[JudgeQuestion]]:
        """Return the format for the items, and their questions in that format."""
        form = self.chosen(task, judge)
        if form is not None or self.scale is not None:
            items = self.shaped(task, items, form)
        packaged = not (judge.asks_models or judge.answered_by)
        if task.name == "quality" and packaged and isinstance(items, Sequence):
            from pnyx.judging.students.overall_quality import overall_only

            items = overall_only(items)
        return form, items

    def _check_rated(self, task: Task, judge: JudgeSpec) -> None:
        """Refuse a scale or examples that would have no effect."""
        self.check_needs()
        for name in ("scale", "shots", "dimensions"):
            if self.given(name) and not task.scales:
                raise OptionError(f"{self.flag(name)} requires quality, not {task.name}")
            if self.dimensions is not None and self.given(name) and name != "dimensions":
                raise OptionError(f"{self.flag(name)}: the file of --dimensions already sets it")
        if self.dimensions is not None and not judge.asks_models:
            raise OptionError("--dimensions requires a language model (--judge)")
        if self.own is not None and judge.expected_scores:
            from pnyx.judging.llm.expected_scores import points_of

            points_of(self.own.scale)
        if self.shots and not judge.asks_models:
            raise OptionError("--set shots requires a language model (--judge)")
        if judge.prompt is not None:
            self._check_prompt(judge.prompt)

    def _sized(self, form: JudgingFormat | None) -> JudgingFormat | None:
        """Return a format with the requested number of generated points."""
        if self.nuggets is None:
            return form
        if form is None or not form.makes_points:
            raise OptionError("--set nuggets requires --judge-format query-rubric or rag-rubric")
        return form.with_points(self.nuggets)

    def _check_prompt(self, name: str) -> None:
        """Refuse a prompt that does not use a chosen option."""
        from pnyx.judging.llm.prompts import load_prompt

        inputs = load_prompt(name).inputs
        for option, needed in (("scale", "levels"), ("shots", "shots")):
            if self.given(option) and needed not in inputs:
                raise OptionError(
                    f"{self.flag(option)}: prompt {shorten(name, 60)} does not use {needed}"
                )

    def shaped(
        self, task: Task, questions: Iterable[JudgeQuestion], form: JudgingFormat | None
    ) -> list[JudgeQuestion]:
        """Return the final questions: with the scale, in the format, with examples."""
        result: list[Any] = list(questions)
        if self.scale is not None:
            bounds = task.scales[self.scale].bounds
            result = [replace(question, scale=bounds) for question in result]
        if form is not None:
            result = [form.shape(question) for question in result]
        if self.examples is None:
            return result
        from pnyx.judging.shots import RatedPool, read_rated

        pool = RatedPool(read_rated(self.examples, task.name), self.shots)
        try:
            return [pool.shown(question) for question in result]
        except InputError as error:
            raise InputError(error.problem, path=self.examples) from error
