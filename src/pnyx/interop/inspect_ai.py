"""A scorer for Inspect (`inspect_ai`): does the given text support the model's answer?"""

from __future__ import annotations

from inspect_ai.scorer import CORRECT, INCORRECT, Score, Scorer, Target, accuracy, scorer, stderr
from inspect_ai.solver import TaskState

from pnyx.judging.answers import Judged
from pnyx.judging.base import Judge, ask_async
from pnyx.judging.questions import Support


@scorer(metrics=[accuracy(), stderr()])  # type: ignore[untyped-decorator]
def supported(judge: Judge | None = None, text: str | None = None) -> Scorer:
    """Return a scorer: is the model's answer supported by a text?

    A sample that the judge leaves unscored has no score, and does not count as wrong.

    Args:
        judge: answers questions of support; by default the packaged judge.
        text: key of the sample's metadata that holds the text; by default the target is the text.
    """
    asked_of = judge or _packaged()

    async def score(state: TaskState, target: Target) -> Score | None:
        source = target.text if text is None else str(state.metadata[text])
        question = Support(str(state.sample_id), source, state.output.completion, cites=True)
        (answer,) = await ask_async(asked_of, [question])
        if not isinstance(answer, Judged):
            return None
        return Score(
            value=CORRECT if answer.value else INCORRECT,
            answer=state.output.completion,
            explanation=answer.explanation or None,
            metadata={"probability": answer.probability, "judge": answer.provenance.judge},
        )

    return score


def _packaged() -> Judge:
    from pnyx.judging.students.judge import CITATION, PackagedJudge

    return PackagedJudge(CITATION)
