"""Open what a search needs, from a user's options."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

from pnyx.core.errors import OptionError
from pnyx.search.plan import AUTO, PERSPECTIVES, Listwise, SearchPlan

if TYPE_CHECKING:
    from pnyx.core.records import Unit
    from pnyx.judging.base import Judge
    from pnyx.judging.open_models import Say
    from pnyx.judging.store.completions import StoredModel
    from pnyx.search.engine import Engine
    from pnyx.search.options import ScoringSpec, SearchSpec
    from pnyx.search.perspectives import PerspectiveSource
    from pnyx.search.pipeline import Searcher
    from pnyx.search.plan import Scoring


def open_searcher(
    index: Engine,
    spec: SearchSpec,
    model: StoredModel | None,
    judge: Judge | None,
    say: Say,
    unit: Unit = "passage",
) -> Searcher:
    """Return a searcher of an index for a spec; without a `judge`, the packaged one reranks."""
    from pnyx.models.embed.embedder import embedder_from
    from pnyx.search.pipeline import Searcher

    plan = _plan(spec, listwise=model is not None and not spec.judges_each)
    plan = replace(plan, scoring=_resolve_model(index, plan.scoring, spec.embedder, say), unit=unit)
    _check_used(spec, plan)
    embeds = plan.scoring.embeds or spec.embedder is not None
    return Searcher(
        index,
        plan,
        embedder=embedder_from(spec.embedder) if embeds else None,
        judge=judge,
        perspectives=open_perspectives(index, spec, model, spec.count, judge)
        if spec.diversify == "perspectives"
        else None,
    )


def scoring_of(spec: ScoringSpec) -> Scoring:
    """Return the scoring model of a spec."""
    from pnyx.search.plan import Scoring

    parameters = _given(spec, "mu k1 b wc wq")
    others = _given(spec, "lexical fusion dense_weight feedback")
    return Scoring(spec.model, parameters, flat=spec.flat, **others)


def _given(spec: ScoringSpec, names: str) -> dict[str, Any]:
    return {n: v for n in names.split() if (v := getattr(spec, n)) is not None}


def _plan(spec: SearchSpec, *, listwise: bool) -> SearchPlan:
    rerank: Literal["listwise", "pointwise"] | None = None
    if spec.judged:
        rerank = "listwise" if listwise else "pointwise"
    usual = Listwise()
    window = spec.window or usual.window
    return SearchPlan(
        scoring=scoring_of(spec),
        rerank=rerank,
        listwise=Listwise(window, spec.step or min(usual.step, window)),
        diversify=spec.diversify,
        topics=spec.topic,
        good_first=spec.model == AUTO,
        **_given(spec, "lam depth threshold stance certainty"),
    )


def _resolve_model(index: Engine, scoring: Scoring, embedder: str | None, say: Say) -> Scoring:
    """Resolve `auto`; a user who names an embedder always gets a hybrid if there are vectors."""
    from pnyx.models.embed.embedder import PACKAGED, embedder_from
    from pnyx.search.ranking.scores import choose_scoring

    named = scoring.model == AUTO and embedder not in (None, PACKAGED)
    chosen = choose_scoring(index, scoring, embedder_from(embedder).name if named else PACKAGED)
    if not chosen.note:
        return chosen.scoring
    if embedder is not None:
        return replace(scoring, model="hybrid")
    say(f"warning: ranked by {chosen.scoring}, without the index's vectors: {chosen.note}")
    return chosen.scoring


def _check_used(spec: SearchSpec, plan: SearchPlan) -> None:
    """Reject options that have no effect with the model that `auto` became."""
    if spec.embedder is not None and not (plan.scoring.embeds or plan.diversify == "mmr"):
        raise OptionError(
            "--set embedder requires --model touche, dense or hybrid, or --diversify mmr"
        )
    if plan.rerank == "pointwise":
        for name in ("window", "step"):
            if spec.given(name):
                raise OptionError(f"{spec.flag(name)} requires --rerank with --llm")
    spec.check_needs(model=plan.scoring.model)


def open_perspectives(
    index: Engine,
    spec: SearchSpec,
    model: StoredModel | None,
    most: int | None,
    judge: Judge | None = None,
) -> PerspectiveSource:
    """Return the source of perspectives on a question: a file, the model or the index itself."""
    if spec.perspectives is not None:
        from pnyx.search.perspectives import FilePerspectives

        return FilePerspectives(spec.perspectives, count=most)
    count = most or PERSPECTIVES
    if model is not None:
        from pnyx.search.perspectives import LlmPerspectives

        return LlmPerspectives(model, count=count)
    from pnyx.search.perspectives_index import IndexPerspectives
    from pnyx.search.topics import TopicMatcher

    return IndexPerspectives(index, count=count, judge=judge, matcher=TopicMatcher(spec.topic))
