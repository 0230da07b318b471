"""Open the judges that a spec names: a single one, several combined, recalibrated, or a cascade."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

from pnyx.core.errors import InputError, OptionError, PluginError, shorten
from pnyx.core.plugins import plugins
from pnyx.judging.open_models import Say, open_models
from pnyx.judging.opened_judge import OpenedJudge, names_student, settings_of

if TYPE_CHECKING:
    from pnyx.judging.base import Judge
    from pnyx.judging.formats import JudgingFormat
    from pnyx.judging.llm.judge import LlmJudge
    from pnyx.judging.llm.prompts import Prompt
    from pnyx.judging.options import JudgeSpec
    from pnyx.judging.store.completions import StoredModel
    from pnyx.judging.tasks import Task
    from pnyx.judging.workers import Workers

SupportOf: TypeAlias = Literal["", "perspectives", "citations", "answers"]

_PERSPECTIVE_PROMPT = "support-perspective"
"""Asks the question of BERDS; the default ones ask whether statements follow. One per call."""
_PERSPECTIVES_PROMPT = "support-perspective-many"
"""Asks the same about several perspectives in one call."""

_WARM = 0.7
"""Temperature of repeats if nothing can be reordered: at 0 all would be equal."""


@contextlib.contextmanager
def open_judge(
    task: Task,
    spec: JudgeSpec,
    say: Say,
    *,
    support_of: SupportOf = "",
    form: JudgingFormat | None = None,
    several: Mapping[str, str] | None = None,
    replacements: Mapping[str, str] | None = None,
    models: Sequence[StoredModel] | None = None,
) -> Iterator[OpenedJudge]:
    """Open the judge that a spec names.

    Args:
        task: the task of the questions.
        spec: which judge answers, and how.
        say: called with messages for the user.
        support_of: the meaning of support. A language model is asked about perspectives with the
            prompt of BERDS; so is the packaged judge, unless support is about citations.
        form: the format in which a language model is asked; None for the task's default.
        several: for a judge of several tasks: task -> the prompt for questions that share a call;
            empty for the task's own.
        replacements: task of `several` -> the prompt that replaces that prompt and the default one.
        models: the language models, if they are open already; they stay open.

    Raises:
        InputError: a file cannot be used, or options exclude each other.
    """
    spec.check()
    if spec.answered_by in ("labels", "results"):
        yield OpenedJudge(_answered_before(spec))
        return
    cheap = None if names_student(spec.cheap) else spec.cheap
    if cheap is not None:
        _check_cheap(cheap, spec)
    named = [*spec.models, *([cheap] if cheap is not None else [])]
    with contextlib.ExitStack() as stack:
        opening = open_models(spec, named, say, spec)
        context = opening if models is None else contextlib.nullcontext(list(models))
        opened = stack.enter_context(context)
        workers = _workers(spec, stack, say)
        make = _Maker(task, spec, support_of, form, several or {}, replacements or {}, workers)
        judge = make.combined(opened[: len(opened) - 1] if cheap is not None else opened)
        if spec.calibration is not None:
            from pnyx.judging.calibration.recalibration import Recalibrated, read_calibration

            judge = Recalibrated(judge, read_calibration(spec.calibration))
        if spec.threshold is not None:
            from pnyx.judging.calibration.recalibration import WithThreshold

            judge = WithThreshold(judge, spec.threshold)
        if spec.cascade is not None:
            from pnyx.judging.panel import cascade_from

            first = make.first(opened[-1] if cheap is not None else None)
            judge = cascade_from(spec.cascade, first, judge)
        prompts = [
            {"name": prompt.name, "version": prompt.version, "hash": prompt.hash}
            for prompt in (make.prompts() if opened else ())
        ]
        settings = settings_of(spec) | ({} if form is None else {"format": form.name})
        yield OpenedJudge(judge, opened, prompts, settings)


def _workers(spec: JudgeSpec, stack: contextlib.ExitStack, say: Say) -> Workers | None:
    """Connect to the workers of `engine`, if there is work for them."""
    if spec.engine is None or spec.plan:
        return None
    if spec.models:
        say("this process asks the language models, and keeps their limits, budget and store")
    if spec.models and spec.cascade is None:
        return None
    from pnyx.judging.workers import open_workers

    return stack.enter_context(open_workers(spec.engine))


def _check_cheap(cheap: str, spec: JudgeSpec) -> None:
    """Refuse a language model that is no cheaper than the one it precedes."""
    from pnyx.models.chat.open_endpoint import endpoint_from

    if not spec.models:
        expected = "a student's folder; a language model is for --judge"
        raise OptionError(f"--set cheap: found {shorten(cheap, 60)!r}, expected {expected}")
    name = endpoint_from(cheap).model  # addresses of one model are opened as one
    if name in {endpoint_from(model).model for model in spec.models}:
        raise InputError(f"cheap and --judge name the same model, {shorten(name, 60)!r}")


def _answered_before(spec: JudgeSpec) -> Judge:
    from pnyx.judging.lookup import HumanLabels, Lookup

    labels = spec.names.labels
    return Lookup(str(spec.names.results)) if labels is None else HumanLabels(labels)


@dataclass(frozen=True, slots=True)
class _Maker:
    """Builds the judges of a spec for a task."""

    task: Task
    spec: JudgeSpec
    support_of: SupportOf
    form: JudgingFormat | None = None
    several: Mapping[str, str] = field(default_factory=dict, hash=False)
    replacements: Mapping[str, str] = field(default_factory=dict, hash=False)
    workers: Workers | None = None

    def combined(self, models: Sequence[StoredModel]) -> Judge:
        """Return one judge from one or several models, each asked once or several times."""
        if models:
            if self.spec.given("probability"):
                check_probability(self.task, self.prompts())
            if self.spec.expected_scores and (self.form is None or not self.form.by_tokens):
                way = self.task.name if self.form is None else f"--judge-format {self.form.name}"
                raise OptionError(
                    f"expected-scores requires quality, and rag --judge-format g-eval, not {way}"
                )
            if self.spec.expected_scores and self.spec.samples > 1:
                raise OptionError("samples and expected-scores estimate the same: choose one")
            from pnyx.judging.panel import Panel

            judges = [self._repeated(model) for model in models]
            return judges[0] if len(judges) == 1 else Panel(judges, self.spec.combine)
        return self._local()

    def first(self, cheap: StoredModel | None) -> Judge:
        """Return the first judge of a cascade."""
        if cheap is not None:
            return self._llm(cheap)
        if self.spec.cheap is None:
            return self._local()
        if self.spec.names.student is not None:
            from pnyx.judging.students.student import read_student

            last = read_student(self.spec.names.student)
            if read_student(self.spec.cheap).digest == last.digest:
                raise InputError("cheap and --judge are the same student")
        return self._student("--set cheap", self.spec.cheap)

    def _local(self) -> Judge:
        """Return the judge without a language model: the named student, or the packaged one."""
        names = self.spec.names
        if names.plugin is not None:
            return self._of_plugin(names.plugin)
        if names.student is not None:
            return self._student("--judge", names.student)
        from pnyx.judging.students.judge import PackagedJudge

        if self.form is not None:
            from pnyx.judging.llm.prompts import load_prompt
            from pnyx.judging.panel import Formatted

            return Formatted(
                lambda n: self._placed(PackagedJudge, self._packaged(load_prompt(n).task)),
                self.form,
                self.task.kind,
            )
        return self._placed(PackagedJudge, *map(self._packaged, self.several or (self.task.name,)))

    def _placed(self, make: Callable[..., Judge], *args: str) -> Judge:
        """Return a judge that runs here, or in the workers."""
        return make(*args) if self.workers is None else self.workers.judge(make, *args)

    def _packaged(self, task: str) -> str:
        """Return the packaged judge's name of a task; parts of reports are citations."""
        from pnyx.judging.students.judge import ANSWER, CITATION

        if task == "support" and (self.form or self.support_of == "answers"):
            return ANSWER
        cited = self.several or self.support_of == "citations"
        return CITATION if task == "support" and cited else task

    def _of_plugin(self, name: str) -> Judge:
        from pnyx.judging.base import Judge
        from pnyx.judging.tasks import TASKS

        judges = plugins("judges")
        tasks = tuple(self.several) or (self.task.name,)
        judge = judges[name].load(Callable)(*tasks)
        if not isinstance(judge, Judge):
            raise PluginError(f"{judges[name]} makes {type(judge).__name__}, expected a Judge")
        for task in tasks:
            if TASKS[task].kind not in judge.kinds:
                raise OptionError(f"--judge {name} does not answer {task}")
        return judge

    def _student(self, option: str, folder: str) -> Judge:
        from pnyx.judging.students.student import open_student

        if self.task.name != "relevance":
            raise InputError(f"{option}: a student answers relevance, not {self.task.name}")
        there = folder if self.workers is None else str(Path(folder).absolute())
        return self._placed(open_student, there)

    def _repeated(self, model: StoredModel) -> Judge:
        if self.spec.samples == 1:
            return self._llm(model)
        from pnyx.judging.panel import Repeats

        return Repeats(lambda n: self._llm(model, n), self.spec.samples, self.spec.combine)

    def _llm(self, model: StoredModel, sample: int = 0) -> Judge:
        if self.form is None or self.form.plain(self.task.prompts[0]):
            return self._asking(model, sample, self._prompt())
        from pnyx.judging.panel import Formatted

        form, named = self.form, self._format_prompts(self.form)
        prompts = dict(zip(form.prompts, named, strict=False))
        judge = Formatted(lambda n: self._asking(model, sample, prompts[n]), form, self.task.kind)
        if not form.rubric:
            return judge
        from pnyx.judging.llm.nuggets import NuggetJudge

        return NuggetJudge(model, judge, named[-1])

    def _format_prompts(self, form: JudgingFormat) -> list[Prompt]:
        """Return a format's prompts, the first replaced by the named one; the last makes points."""
        from pnyx.judging.llm.prompts import load_prompt

        rest = [*form.prompts[1:], *filter(None, [form.rubric])]
        usual = load_prompt(form.prompts[0])
        prompt = self._prompt() or usual
        if prompt.form != usual.form and not form.plain(self.task.prompts[0]):
            raise InputError(
                f"prompt {shorten(prompt.name)}: its form is {shorten(prompt.form, 40)}; "
                f"--judge-format {form.name} takes prompts of the form {usual.form}"
            )
        return [prompt, *map(load_prompt, rest)]

    def _asking(self, model: StoredModel, sample: int, prompt: Prompt | None) -> LlmJudge:
        from pnyx.judging.llm.judge import LlmJudge
        from pnyx.judging.llm.requests import Asking

        asking = Asking(
            prompts=self._lists() if prompt is None else {prompt.task: prompt},
            probability=self.spec.probability,
            batch=self.spec.batch,
            sample=sample,
            temperature=self._temperature(),
            max_tokens=self.spec.max_tokens,
            expected=self.spec.expected_scores,
        )
        return LlmJudge(model, asking)

    def _temperature(self) -> float:
        if self.spec.temperature is not None:
            return self.spec.temperature
        from pnyx.judging.forms import form_of

        prompt = self.prompts()[0]
        reorders = form_of(prompt).reorders(prompt)
        return _WARM if self.spec.samples > 1 and not reorders else 0.0

    def _prompt(self) -> Prompt | None:
        usual = None
        if self.support_of == "perspectives":
            usual = _PERSPECTIVE_PROMPT if self.spec.batch == 1 else _PERSPECTIVES_PROMPT
        name = self.spec.prompt or usual
        if name is None:
            return None
        from pnyx.judging.llm.prompts import load_prompt

        prompt = load_prompt(name)
        if prompt.task != self.task.name:
            raise InputError(f"prompt {shorten(name)}: it asks {prompt.task}, not {self.task.name}")
        return prompt

    def _lists(self) -> dict[str, Prompt]:
        """Return the prompts that are neither the tasks' default ones nor those for several."""
        from pnyx.judging.llm.prompts import load_prompt

        named = {**(self.several if self.spec.batch > 1 else {}), **self.replacements}
        return {task: load_prompt(name) for task, name in named.items() if name}

    def prompts(self) -> list[Prompt]:
        """Return all prompts for a language model."""
        from pnyx.judging.llm.prompts import load_prompt

        if self.several:
            from pnyx.judging.tasks import TASKS

            tasks = [TASKS[name] for name in self.several if name not in self.replacements]
            batched = (self.several[task.name] or task.many for task in tasks)
            names = [
                *(task.prompts[0] for task in tasks),
                *(batched if self.spec.batch > 1 else ()),
                *self.replacements.values(),
            ]
            return [load_prompt(name) for name in dict.fromkeys(names)]
        prompt = self._prompt()
        if self.form is not None:
            return self._format_prompts(self.form)
        if self.spec.batch == 1:
            return [prompt or load_prompt(self.task.prompts[0])]
        check_batch(self.task, prompt)
        return (
            [prompt] if prompt else [load_prompt(self.task.many), load_prompt(self.task.prompts[0])]
        )


def check_probability(task: Task, prompts: Sequence[Prompt]) -> None:
    """Check that answers to some of a task's prompts have a probability."""
    from pnyx.judging.forms import form_of

    if not any(getattr(f.kind, "yes_no", False) or f.by_token for f in map(form_of, prompts)):
        raise OptionError(
            f"probability requires questions that are answered by one word, not {task.name}"
        )


def check_batch(task: Task, prompt: Prompt | None) -> None:
    """Check that a task, and a prompt instead of its default, takes several questions per call."""
    if not task.many:
        raise InputError(f"batch: task {task.name} asks one question per call")
    if prompt is not None and not prompt.takes_several:
        raise InputError(f"batch: prompt {prompt.label} takes one statement per call")
