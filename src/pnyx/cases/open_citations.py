"""Choose the judge of citations, and open the language models that write and judge."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from pnyx.core.errors import OptionError
from pnyx.core.spec import Spec, opt
from pnyx.formats.text_types import LanguageModelName

if TYPE_CHECKING:
    from pnyx.judging.base import Judge
    from pnyx.judging.open_models import Say
    from pnyx.judging.options import PaidModelSpec
    from pnyx.judging.store.completions import StoredModel

PACKAGED: Final = "packaged"
MODEL: Final = "model"
CITATIONS_PER_CALL: Final = 20
"""Most citations judged in one call."""
DOCUMENTS_PER_CALL: Final = 8
"""Most cited documents shown in one call."""


class CitationSpec(Spec, heading="Language model"):
    """The judge of a language model's citations."""

    citation_judge: LanguageModelName = opt(
        MODEL,
        "Who judges the citations of what a language model wrote: model (the one that writes), "
        "packaged (the packaged judge, which refuses more correct citations), or another language "
        "model, as for --llm.",
        metavar="packaged|model|SPEC",
    )

    @property
    def other_model(self) -> str | None:
        """The language model that only judges citations, if one is named."""
        return None if self.citation_judge in (PACKAGED, MODEL) else self.citation_judge


@dataclass(frozen=True, slots=True)
class WritingModels:
    """The writing model, and the judge of citations."""

    llm: StoredModel | None
    citation_judge: Judge
    models: tuple[StoredModel, ...] = ()


@contextlib.contextmanager
def open_writing_models(
    model: PaidModelSpec, citations: CitationSpec, say: Say
) -> Iterator[WritingModels]:
    """Open the model of --llm and the judge of citations; they share store and budget.

    OptionError: --citation-judge without --llm, as quotations need no judge.
    """
    named, other = model.models, citations.other_model
    if citations.given("citation_judge") and not named:
        raise OptionError("--citation-judge requires --llm: quotations need no judge")
    if not named:
        yield WritingModels(None, citation_judge(None))
        return
    from pnyx.judging.open_models import one_model, open_models

    if other is None:
        with open_models(model, named, say, model) as opened:
            llm = one_model(opened)
            judges = None if citations.citation_judge == PACKAGED else llm
            yield WritingModels(llm, citation_judge(judges), tuple(opened))
        return
    from pnyx.models.chat.open_endpoint import endpoint_from

    with open_models(model, [*named, other], say, model) as opened:
        writing = {endpoint_from(name).model for name in named}
        judging = endpoint_from(other).model
        llm = one_model([judge for judge in opened if judge.name in writing])
        (judges,) = (judge for judge in opened if judge.name == judging)
        yield WritingModels(llm, citation_judge(judges), tuple(opened))


def citation_judge(model: StoredModel | None) -> Judge:
    """Return a language model as a judge of citations, or else the packaged judge.

    A model judges all sentences that cite a few documents in one call.
    """
    if model is None:
        from pnyx.judging.students.judge import CITATION, PackagedJudge

        return PackagedJudge(CITATION)
    from pnyx.judging.llm.judge import LlmJudge
    from pnyx.judging.llm.prompts import load_prompt
    from pnyx.judging.llm.requests import Asking

    prompts = {"support": load_prompt("support-citations")}
    return LlmJudge(model, Asking(prompts, batch=CITATIONS_PER_CALL, texts=DOCUMENTS_PER_CALL))
